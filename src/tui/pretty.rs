//! A JSON body re-indented (tui.md I2): an index of what stands on each line. Text is made of a line
//! when it is asked for, so that what is drawn is what is converted (I6, PF1).

use std::{ops::Range, sync::Arc};

use bytes::Bytes;

use super::{
    background::Watch,
    body::{INDENT, Line, join_path},
    ink::Ink,
    raw::character_from,
    search::find_in_parts,
    theme::Role,
};
use crate::{
    base::Shown,
    wire::json::{self, SyntaxError},
};

/// Most lines; a body of more stays raw. With it an index holds at most 112 MiB.
const MOST_LINES: usize = 4 << 20;
/// Bytes of a scalar that stand on one line.
pub(super) const PART: usize = 4 << 10;
/// Longest key that is shown whole.
const KEY_BYTES: usize = 4 << 10;
/// Longest path that is told; deeper values have the path of their ancestor.
const PATH_BYTES: usize = 1 << 10;
/// Lines between two looks whether the work is still wanted.
const LOOK: usize = 4_096;
/// No parent, or no index.
const NONE: u32 = u32::MAX;

/// Why a body is not pretty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Why {
    /// It is not JSON.
    Syntax(SyntaxError),
    /// It has more lines than are indexed.
    TooManyLines,
    /// Nobody waits for it any more.
    GivenUp,
}

impl From<SyntaxError> for Why {
    fn from(error: SyntaxError) -> Self {
        Self::Syntax(error)
    }
}

/// What a line shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Scalar,
    /// A scalar that goes on from the line above.
    Part,
    Open,
    Empty,
    Close,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    /// Offset of the first token: the key of a member, else the value.
    start: u32,
    /// Offset of the value, of a closing bracket, or of the part that is shown.
    value: u32,
    /// End of what is shown, and of the whole value.
    shown: u32,
    end: u32,
    /// Line of the container.
    parent: u32,
    /// Place in an array; on a closing line and a part, the line that it belongs to.
    index: u32,
    depth: u16,
    form: Form,
    has_comma: bool,
}

/// The lines of a body.
#[derive(Clone, Debug)]
pub(super) struct Pretty {
    source: Bytes,
    lines: Vec<Entry>,
    /// Strings that stand for what was redacted; looked for only in frames that are marked.
    redacted: bool,
    marks: u64,
}

/// A container that is open while its members are walked.
struct Level {
    close: u8,
    line: u32,
    /// Place of the coming element; objects have none.
    index: Option<u32>,
    at: usize,
    is_first: bool,
}

impl Pretty {
    /// Reads a body through, once.
    pub(super) fn new(source: Bytes, redacted: bool, watch: &Watch) -> Result<Self, Why> {
        let whole = json::whole_value(&source).ok_or_else(|| error_of(&source))?;
        if !watch.goes_on(0, source.len()) {
            return Err(Why::GivenUp);
        }
        let mut pretty = Self {
            source,
            lines: Vec::new(),
            redacted,
            marks: 0,
        };
        pretty.walk(whole, watch)?;
        Ok(pretty)
    }

    /// Lines.
    pub(super) const fn len(&self) -> usize {
        self.lines.len()
    }

    /// Marks of redaction.
    pub(super) const fn marks(&self) -> u64 {
        self.marks
    }

    /// Walks a value without recursion: nesting is foreign.
    fn walk(&mut self, whole: Range<usize>, watch: &Watch) -> Result<(), Why> {
        let mut levels: Vec<Level> = Vec::new();
        self.value(whole.start, whole.start, &mut levels)?;
        while let Some(level) = levels.last_mut() {
            if self.lines.len() >= MOST_LINES {
                return Err(Why::TooManyLines);
            }
            if self.lines.len().is_multiple_of(LOOK) && !watch.goes_on(level.at, self.source.len())
            {
                return Err(Why::GivenUp);
            }
            let at = json::skip_blanks(&self.source, level.at);
            if self.source.get(at) == Some(&level.close) {
                let (line, is_empty) = (level.line, level.is_first);
                levels.pop();
                self.close(line, at, is_empty);
                if let Some(outer) = levels.last_mut() {
                    outer.at = at + 1;
                }
                continue;
            }
            let start = if level.is_first {
                at
            } else {
                if let Some(last) = self.lines.last_mut() {
                    last.has_comma = true;
                }
                json::skip_blanks(&self.source, at + 1)
            };
            level.is_first = false;
            let value = if level.index.is_some() {
                start
            } else {
                let end = json::value_end(&self.source, start, json::MAX_DEPTH)?;
                let colon = json::skip_blanks(&self.source, end);
                json::skip_blanks(&self.source, colon + 1)
            };
            self.value(start, value, &mut levels)?;
        }
        Ok(())
    }

    /// A value with what stands before it; a container is opened.
    fn value(&mut self, start: usize, at: usize, levels: &mut Vec<Level>) -> Result<(), Why> {
        let depth = u16::try_from(levels.len()).unwrap_or(u16::MAX);
        let (parent, index) = match levels.last_mut() {
            Some(level) => {
                let index = level.index;
                level.index = index.map(|index| index.saturating_add(1));
                (level.line, index.unwrap_or(NONE))
            }
            None => (NONE, NONE),
        };
        let mut entry = Entry {
            start: offset(start),
            value: offset(at),
            shown: offset(at + 1),
            end: offset(at + 1),
            parent,
            index,
            depth,
            form: Form::Open,
            has_comma: false,
        };
        let close = match self.source.get(at) {
            Some(b'{') => b'}',
            Some(b'[') => b']',
            _ => {
                let end = json::value_end(&self.source, at, json::MAX_DEPTH)?;
                entry.form = Form::Scalar;
                entry.end = offset(end);
                self.scalar(entry, at..end);
                if let Some(level) = levels.last_mut() {
                    level.at = end;
                }
                return Ok(());
            }
        };
        levels.push(Level {
            close,
            line: offset(self.lines.len()),
            index: (close == b']').then_some(0),
            at: at + 1,
            is_first: true,
        });
        self.lines.push(entry);
        Ok(())
    }

    /// The lines of a scalar: a long one takes several.
    fn scalar(&mut self, first: Entry, whole: Range<usize>) {
        if self.redacted && is_redaction_mark(self.source.get(whole.clone()).unwrap_or_default()) {
            self.marks += 1;
        }
        let line = offset(self.lines.len());
        let mut entry = first;
        let mut at = whole.start;
        loop {
            let end = character_from(&self.source, at.saturating_add(PART).min(whole.end));
            let end = end.min(whole.end);
            entry.shown = offset(end);
            self.lines.push(entry);
            if end >= whole.end {
                return;
            }
            at = end;
            (entry.start, entry.value) = (offset(at), offset(at));
            (entry.form, entry.index) = (Form::Part, line);
        }
    }

    fn close(&mut self, line: u32, at: usize, is_empty: bool) {
        let Some(open) = self.lines.get_mut(line as usize) else {
            return;
        };
        open.end = offset(at + 1);
        if is_empty {
            open.form = Form::Empty;
            return;
        }
        let entry = Entry {
            start: offset(at),
            value: offset(at),
            shown: offset(at + 1),
            end: offset(at + 1),
            index: line,
            form: Form::Close,
            has_comma: false,
            ..*open
        };
        self.lines.push(entry);
    }

    /// One line as text.
    pub(super) fn line(&self, index: usize) -> Option<Line> {
        let entry = self.lines.get(index)?;
        let ink = Ink::say(Role::Text, indent(entry));
        Some(Line {
            ink: ink.join(self.content(entry, KEY_BYTES)),
            ..Line::default()
        })
    }

    /// What stands on a line behind its indentation.
    fn content(&self, entry: &Entry, key_bytes: usize) -> Ink {
        let mut ink = Ink::default();
        if entry.start < entry.value {
            let key = self.key(entry);
            let shown = key.get(..character_from(key, key_bytes)).unwrap_or(key);
            ink = ink.and(Role::Accent, Shown::body(shown));
            if shown.len() < key.len() {
                ink = ink.and_lit(Role::Faint, "…");
            }
            ink = ink.and_lit(Role::Faint, ": ");
        }
        let is_object = matches!(self.source.get(entry.value as usize), Some(b'{' | b'}'));
        ink = match (entry.form, is_object) {
            (Form::Open, true) => ink.and_lit(Role::Faint, "{"),
            (Form::Open, false) => ink.and_lit(Role::Faint, "["),
            (Form::Empty, true) => ink.and_lit(Role::Faint, "{}"),
            (Form::Empty, false) => ink.and_lit(Role::Faint, "[]"),
            (Form::Close, true) => ink.and_lit(Role::Faint, "}"),
            (Form::Close, false) => ink.and_lit(Role::Faint, "]"),
            (Form::Scalar | Form::Part, _) => {
                let text = self.bytes(entry.value..entry.shown);
                let is_mark = self.redacted && is_redaction_mark(text);
                let role = if is_mark { Role::Redacted } else { Role::Text };
                ink.and(role, Shown::body(text))
            }
        };
        if entry.has_comma {
            ink = ink.and_lit(Role::Faint, ",");
        }
        ink
    }

    /// All lines as text.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        for (index, entry) in self.lines.iter().enumerate() {
            // A part goes on where the line above ends.
            if entry.form != Form::Part {
                text.push_str(if index > 0 { "\n" } else { "" });
                text.push_str(&indent(entry));
            }
            text.push_str(&self.content(entry, usize::MAX).plain());
        }
        text
    }

    /// Where a word lies in the text of a line; one that goes on in the next line counts here.
    pub(super) fn find(&self, index: usize, word: &str) -> Vec<Range<usize>> {
        let Some(line) = self.line(index) else {
            return Vec::new();
        };
        let goes_on = self
            .lines
            .get(index + 1)
            .filter(|next| next.form == Form::Part);
        let next = goes_on.map_or(&[][..], |next| self.bytes(next.value..next.shown));
        find_in_parts(line.ink.plain(), next, word)
    }

    /// JSON path of the value on a line; the whole has none.
    pub(super) fn path(&self, index: usize) -> Option<Arc<str>> {
        let mut entry = self.own(index)?;
        let mut steps = Vec::new();
        while entry.parent != NONE {
            steps.push(entry);
            entry = self.lines.get(entry.parent as usize)?;
        }
        let mut path = String::new();
        for step in steps.into_iter().rev() {
            let longer = if step.index == NONE {
                let name = json::string(self.key(step)).unwrap_or_default();
                join_path(&path, &name)
            } else {
                format!("{path}[{}]", step.index)
            };
            if longer.len() > PATH_BYTES {
                break;
            }
            path = longer;
        }
        (!path.is_empty()).then(|| path.into())
    }

    /// The key, in its quotes, and where the value lies, if this line begins a string with a key.
    pub(super) fn string_member(&self, index: usize) -> Option<(&[u8], Range<usize>)> {
        let entry = self.lines.get(index)?;
        let value = entry.value as usize;
        let is_string = entry.form == Form::Scalar && self.source.get(value) == Some(&b'"');
        (is_string && entry.start < entry.value)
            .then(|| (self.key(entry), value..entry.end as usize))
    }

    /// Bytes of the value on a line.
    pub(super) fn value_at(&self, index: usize) -> Option<Range<usize>> {
        let line = self.lines.get(index)?;
        if line.form == Form::Close {
            return None;
        }
        let entry = self.own(index)?;
        Some(entry.value as usize..entry.end as usize)
    }

    /// The entry that a closing line or a part belongs to, else the line's own.
    fn own(&self, index: usize) -> Option<&Entry> {
        let entry = self.lines.get(index)?;
        match entry.form {
            Form::Close | Form::Part => self.lines.get(entry.index as usize),
            _ => Some(entry),
        }
    }

    fn key(&self, entry: &Entry) -> &[u8] {
        let start = entry.start as usize;
        let end = json::value_end(&self.source, start, json::MAX_DEPTH).unwrap_or(start);
        self.source.get(start..end).unwrap_or_default()
    }

    fn bytes(&self, range: Range<u32>) -> &[u8] {
        let range = range.start as usize..range.end as usize;
        self.source.get(range).unwrap_or_default()
    }
}

fn indent(entry: &Entry) -> String {
    " ".repeat(usize::from(entry.depth).min(64) * INDENT)
}

/// An offset or a line number; bodies are far smaller than what it holds.
fn offset(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(NONE)
}

fn error_of(bytes: &[u8]) -> SyntaxError {
    let start = json::skip_blanks(bytes, 0);
    match json::value_end(bytes, start, json::MAX_DEPTH) {
        Ok(end) => SyntaxError {
            at: json::skip_blanks(bytes, end),
        },
        Err(error) => error,
    }
}

/// `"[REDACTED]"` or `"[REDACTED#2]"`.
fn is_redaction_mark(text: &[u8]) -> bool {
    text.starts_with(b"\"[REDACTED") && text.ends_with(b"]\"")
}

#[cfg(test)]
#[path = "pretty_tests.rs"]
mod tests;
