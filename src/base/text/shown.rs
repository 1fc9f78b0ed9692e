//! Text for screens: stretches of drawable characters, with the visible forms marked.

use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr};

use super::class::{Class, MOST_MARKS, class_of, write_byte, write_visible};

/// Longest foreign text that a row or a name takes in; the rest cannot be on a screen (J13).
const ROW_BYTES: usize = 4 << 10;
/// The same for one line of a panel.
const BODY_BYTES: usize = 1 << 20;
/// Cells of a tab in a body.
const TAB: &str = "    ";
/// What a mark without a base is put on (J6).
const DOTTED_CIRCLE: char = '\u{25CC}';

/// A stretch of displayable text, and whether it stands for something that could not be shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Printable text, no control or invisible characters.
    pub text: String,
    /// True for the visible form of unsafe characters (`\u001b`), drawn in the `escape` role.
    pub escaped: bool,
}

/// Which end of a text stays when it is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// The beginning; most texts.
    Head,
    /// The end; ids and paths.
    Tail,
}

/// Text that is safe to draw: every character in it has a known width and no effect.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shown {
    pieces: Vec<Piece>,
}

/// What becomes of spaces, tabs and newlines.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Name,
    Row,
    Body,
}

impl Shown {
    /// A literal of the program.
    pub fn literal(text: &'static str) -> Self {
        let mut shown = Self::default();
        shown.push(text, false);
        shown
    }

    /// A name, id or label: one line, controls and odd spaces in visible form.
    pub fn name(text: &[u8]) -> Self {
        convert(clip(text, ROW_BYTES), Form::Name)
    }

    /// A value in a row: one line, newline and tab as `\n` and `\t`.
    pub fn row(text: &[u8]) -> Self {
        convert(clip(text, ROW_BYTES), Form::Row)
    }

    /// One line of a body in a panel: a tab takes four cells, the caller has cut at newlines.
    pub fn body(line: &[u8]) -> Self {
        convert(clip(line, BODY_BYTES), Form::Body)
    }

    /// The stretches, in order.
    pub fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// True without any text.
    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// Terminal cells.
    pub fn width(&self) -> usize {
        self.pieces.iter().map(|piece| width(&piece.text)).sum()
    }

    /// Adds another text behind this one.
    #[must_use]
    pub fn and(mut self, other: &Self) -> Self {
        for piece in &other.pieces {
            self.push(&piece.text, piece.escaped);
        }
        self
    }

    /// The text without the marking of visible forms.
    pub fn plain(&self) -> String {
        self.pieces
            .iter()
            .map(|piece| piece.text.as_str())
            .collect()
    }

    /// The part whose units begin within these bytes of `plain`: what is one cluster stays one.
    #[must_use]
    pub fn between(&self, bytes: std::ops::Range<usize>) -> Self {
        let mut at = 0;
        let mut kept = Self::default();
        for piece in &self.pieces {
            let length = piece.text.len();
            let start = unit_from(&piece.text, bytes.start.saturating_sub(at));
            let end = unit_from(&piece.text, bytes.end.saturating_sub(at));
            if let Some(text) = piece.text.get(start..end) {
                kept.push(text, piece.escaped);
            }
            at += length;
        }
        kept
    }

    /// Bytes of `plain` at which lines of at most `width` cells begin, the first one left out.
    pub fn breaks(&self, width: usize) -> Vec<usize> {
        let (mut breaks, mut at, mut used) = (Vec::new(), 0, 0);
        for (text, _) in self.units() {
            let own = text.width();
            if used > 0 && used + own > width {
                breaks.push(at);
                used = 0;
            }
            used += own;
            at += text.len();
        }
        breaks
    }

    /// At most `width` cells of it; a cut has `elision` (one cell) at the end that went away. A
    /// wide character that would straddle the edge is left out.
    #[must_use]
    pub fn cut(&self, width: usize, keep: Keep, elision: &'static str) -> Self {
        if self.width() <= width {
            return self.clone();
        }
        let Some(room) = width.checked_sub(1) else {
            return Self::default();
        };
        match keep {
            Keep::Head => self.head(room).and(&Self::literal(elision)),
            Keep::Tail => Self::literal(elision).and(&self.tail(room)),
        }
    }

    fn head(&self, room: usize) -> Self {
        let mut left = room;
        let mut kept = Self::default();
        for (text, escaped) in self.units() {
            let width = text.width();
            if width > left {
                break;
            }
            left -= width;
            kept.push(text, escaped);
        }
        kept
    }

    fn tail(&self, room: usize) -> Self {
        let units: Vec<_> = self.units().collect();
        let mut left = room;
        let first = units.iter().rposition(|(text, _)| {
            let fits = text.width() <= left;
            left = left.saturating_sub(text.width());
            !fits
        });
        let mut kept = Self::default();
        for (text, escaped) in units.iter().skip(first.map_or(0, |index| index + 1)) {
            kept.push(text, *escaped);
        }
        kept
    }

    fn units(&self) -> impl Iterator<Item = (&str, bool)> {
        self.pieces
            .iter()
            .flat_map(|piece| clusters(&piece.text).map(|text| (text, piece.escaped)))
    }

    fn push(&mut self, text: &str, escaped: bool) {
        match self.pieces.last_mut() {
            _ if text.is_empty() => {}
            Some(last) if last.escaped == escaped => last.text.push_str(text),
            _ => self.pieces.push(Piece {
                text: text.to_owned(),
                escaped,
            }),
        }
    }
}

/// Cells of a text whose characters are all drawable: the sum over its clusters.
pub fn width(text: &str) -> usize {
    if text.is_ascii() {
        text.len()
    } else {
        clusters(text).map(UnicodeWidthStr::width).sum()
    }
}

/// The units that are drawn and cut as one: grapheme clusters of at most two cells; wider ones
/// (long conjuncts) fall into their characters with their marks.
pub fn clusters(text: &str) -> impl Iterator<Item = &str> {
    text.graphemes(true).flat_map(|cluster| {
        let whole = cluster.width() <= 2;
        let mut rest = cluster;
        std::iter::from_fn(move || {
            let end = if whole { rest.len() } else { unit_end(rest) };
            let (unit, tail) = rest.split_at_checked(end)?;
            rest = tail;
            (!unit.is_empty()).then_some(unit)
        })
    })
}

/// Where the first character of a text ends, with its marks as far as they fit two cells.
fn unit_end(text: &str) -> usize {
    let behind = |at: usize, character: char| at + character.len_utf8();
    text.char_indices()
        .skip(1)
        .take_while(|(at, character)| {
            let unit = text.get(..behind(*at, *character)).unwrap_or(text);
            class_of(*character) == Class::Mark && unit.width() <= 2
        })
        .last()
        .map(|(at, character)| behind(at, character))
        .or_else(|| text.chars().next().map(char::len_utf8))
        .unwrap_or(0)
}

/// Where the first unit begins that does not begin before `at`.
fn unit_from(text: &str, at: usize) -> usize {
    if text.is_ascii() || at == 0 {
        return at.min(text.len());
    }
    let starts = clusters(text).scan(0, |next, unit| {
        let start = *next;
        *next += unit.len();
        Some(start)
    });
    let mut starts = starts.skip_while(|start| *start < at);
    starts.next().unwrap_or(text.len())
}

/// At most `most` bytes, ending between characters.
fn clip(text: &[u8], most: usize) -> &[u8] {
    let mut end = most.min(text.len());
    while end < text.len()
        && end > 0
        && most - end < 4
        && text.get(end).is_some_and(|b| b & 0xC0 == 0x80)
    {
        end -= 1;
    }
    text.get(..end).unwrap_or(text)
}

fn convert(bytes: &[u8], form: Form) -> Shown {
    let mut shown = Shown::default();
    if let Ok(text) = std::str::from_utf8(bytes)
        && text
            .bytes()
            .all(|byte| byte == b' ' || byte.is_ascii_graphic())
    {
        shown.push(text, false);
        return shown;
    }
    let mut writer = Writer {
        shown: &mut shown,
        form,
        base: None,
    };
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            writer.put(character);
        }
        for byte in chunk.invalid() {
            let mut form = String::new();
            write_byte(&mut form, *byte);
            writer.escape(&form);
        }
    }
    shown
}

/// True when `mark` lies in the cluster of the character before it: a mark that does not is drawn
/// alone, a Korean vowel only behind a consonant.
fn joins(before: char, mark: char) -> bool {
    let mut pair = String::from(before);
    pair.push(mark);
    pair.graphemes(true).count() == 1
}

/// Puts characters into a text one by one.
struct Writer<'a> {
    shown: &'a mut Shown,
    form: Form,
    /// The character before, and the marks on its base; `None` when there is no base.
    base: Option<(char, usize)>,
}

impl Writer<'_> {
    fn put(&mut self, character: char) {
        match class_of(character) {
            Class::Plain => self.plain(character),
            Class::Mark => self.mark(character),
            Class::Space(width) if self.form != Form::Name => {
                self.shown.push(" ".repeat(width).as_str(), false);
                self.base = Some((' ', 0));
            }
            Class::Unsafe if character == '\t' && self.form == Form::Body => {
                self.shown.push(TAB, false);
                self.base = Some((' ', 0));
            }
            Class::Space(_) | Class::Unsafe => self.unsafe_character(character),
        }
    }

    fn plain(&mut self, character: char) {
        let mut buffer = [0; 4];
        self.shown.push(character.encode_utf8(&mut buffer), false);
        self.base = Some((character, 0));
    }

    fn mark(&mut self, character: char) {
        let (before, marks) = match self.base {
            Some(base) => base,
            None if joins(DOTTED_CIRCLE, character) => {
                self.plain(DOTTED_CIRCLE);
                (DOTTED_CIRCLE, 0)
            }
            None => (' ', 0),
        };
        if !joins(before, character) {
            return match character.width() {
                None | Some(0) => self.unsafe_character(character),
                Some(_) => self.plain(character),
            };
        }
        if marks >= MOST_MARKS {
            let mut form = String::new();
            write_visible(&mut form, character);
            self.shown.push(&form, true);
            return;
        }
        let mut buffer = [0; 4];
        self.shown.push(character.encode_utf8(&mut buffer), false);
        self.base = Some((character, marks + 1));
    }

    fn unsafe_character(&mut self, character: char) {
        let mut form = String::new();
        write_visible(&mut form, character);
        self.escape(&form);
    }

    fn escape(&mut self, form: &str) {
        self.shown.push(form, true);
        self.base = None;
    }
}

#[cfg(test)]
#[path = "shown_tests.rs"]
mod tests;
