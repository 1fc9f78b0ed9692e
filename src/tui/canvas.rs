//! What every screen draws with: header, notice line, rules, tables, scrollbar (tui.md 2).

use ratatui::{buffer::Buffer, style::Modifier};

use super::{
    glyphs::Signs,
    ink::{Ink, Spot, draw, fill},
    layout::Regions,
    theme::{Ground, Role, Theme},
};
use crate::base::{Keep, width};

/// A screen being drawn.
pub(super) struct Canvas<'a> {
    /// Cells.
    pub(super) buffer: &'a mut Buffer,
    /// Colours.
    pub(super) theme: Theme,
    /// Signs.
    pub(super) signs: Signs,
    /// Regions.
    pub(super) regions: Regions,
}

/// Which side of its column a cell stands on, and what stays when it is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    /// Left; the beginning stays.
    Left,
    /// Right; the beginning stays.
    Right,
    /// Right; the end stays: ids.
    RightTail,
}

/// One column of a table.
#[derive(Clone, Copy, Debug)]
pub(super) struct Column {
    /// Head.
    pub(super) title: &'static str,
    /// Cells.
    pub(super) width: u16,
    /// Alignment.
    pub(super) side: Side,
    /// Key that sorts by it.
    pub(super) key: Option<char>,
}

/// What the list shows of a longer one.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Extent {
    /// First row on screen.
    pub(super) top: usize,
    /// Rows on screen.
    pub(super) shown: usize,
    /// All rows.
    pub(super) all: usize,
}

impl Canvas<'_> {
    /// Draws a line; answers the cells used.
    pub(super) fn put(&mut self, x: u16, y: u16, most: u16, ink: &Ink, ground: Ground) -> u16 {
        let spot = Spot {
            x,
            y,
            width: most,
            ground,
        };
        draw(self.buffer, self.theme, spot, ink)
    }

    /// Draws a line whose last cell is before `right`; answers where it begins.
    pub(super) fn put_right(&mut self, right: u16, y: u16, ink: &Ink) -> u16 {
        let cells = cells(ink.width()).min(right);
        self.put(right - cells, y, cells, ink, Ground::Page);
        right - cells
    }

    /// Puts a ground under a whole line.
    pub(super) fn band(&mut self, y: u16, ground: Ground) {
        let spot = Spot {
            x: 0,
            y,
            width: self.regions.width,
            ground,
        };
        fill(self.buffer, self.theme, spot);
    }

    /// The header: crumbs on the left, which go from the left, states on the right (L5, L6).
    pub(super) fn header(&mut self, crumbs: &[Ink], right: &Ink) {
        let edge = self.regions.width;
        let start = self.put_right(edge.saturating_sub(1), 0, right);
        let room = usize::from(start.saturating_sub(2));
        let mut from = 0;
        let mut left = join_crumbs(crumbs);
        while left.width() > room && from + 1 < crumbs.len() {
            from += 1;
            left = join_crumbs(crumbs.get(from..).unwrap_or_default());
        }
        let left = left.cut(room, self.signs.elision);
        self.put(1, 0, edge, &left, Ground::Page);
    }

    /// `-- title ------ right --`.
    pub(super) fn rule(&mut self, y: u16, title: &Ink, right: &Ink) {
        let edge = self.regions.width;
        let line = Ink::lit(Role::Faint, self.signs.rule);
        for x in 0..edge {
            self.put(x, y, 1, &line, Ground::Page);
        }
        let around = |ink: &Ink| {
            Ink::lit(Role::Faint, " ")
                .join(ink.clone())
                .and_lit(Role::Faint, " ")
        };
        let mut room = usize::from(edge).saturating_sub(4);
        if !right.is_empty() && right.width() + 2 <= room {
            let start = self.put_right(edge.saturating_sub(2), y, &around(right));
            room = usize::from(start).saturating_sub(3);
        }
        if !title.is_empty() {
            let title = around(title).cut(room, self.signs.elision);
            self.put(2, y, edge, &title, Ground::Page);
        }
    }

    /// Column heads: the letter of the sort key underlined, the sorted column strong (N10).
    pub(super) fn heads(&mut self, y: u16, gutter: u16, columns: &[Column], sorted: Option<char>) {
        let mut x = gutter;
        for column in columns {
            let role = if sorted.is_some() && column.key == sorted {
                Role::Strong
            } else {
                Role::Faint
            };
            let title =
                Ink::lit(role, column.title).cut(usize::from(column.width), self.signs.elision);
            let start = match column.side {
                Side::Left => x,
                Side::Right | Side::RightTail => {
                    x + column.width.saturating_sub(cells(title.width()))
                }
            };
            self.put(start, y, column.width, &title, Ground::Page);
            if let Some(at) = column.key.and_then(|key| title.plain().find(key))
                && let Some(cell) = self.buffer.cell_mut((start + cells(at), y))
            {
                cell.modifier |= Modifier::UNDERLINED;
            }
            x += column.width + 1;
        }
    }

    /// The cells of one row.
    pub(super) fn cells(
        &mut self,
        y: u16,
        gutter: u16,
        columns: &[Column],
        inks: &[Ink],
        ground: Ground,
    ) {
        let mut x = gutter;
        for (column, ink) in columns.iter().zip(inks) {
            let room = usize::from(column.width);
            let ink = match column.side {
                Side::RightTail => keep_tail(ink, room, self.signs.elision),
                Side::Left | Side::Right => ink.cut(room, self.signs.elision),
            };
            let start = match column.side {
                Side::Left => x,
                Side::Right | Side::RightTail => {
                    x + column.width.saturating_sub(cells(ink.width()))
                }
            };
            self.put(start, y, column.width, &ink, ground);
            x += column.width + 1;
        }
    }

    /// Thumb and marks in the last cell of the rows (L9).
    pub(super) fn scrollbar(&mut self, first: u16, height: u16, extent: Extent, marks: &[usize]) {
        if self.regions.width < 100 || extent.all <= extent.shown || height == 0 {
            return;
        }
        let line_of = |row: usize| {
            let line = row.saturating_mul(usize::from(height)) / extent.all.max(1);
            cells(line).min(height - 1)
        };
        let last = extent.top + extent.shown.saturating_sub(1);
        let x = self.regions.width - 1;
        for line in 0..height {
            let thumb = (line_of(extent.top)..=line_of(last)).contains(&line);
            let sign = if thumb {
                self.signs.thumb
            } else {
                self.signs.track
            };
            self.put(
                x,
                first + line,
                1,
                &Ink::lit(Role::Faint, sign),
                Ground::Page,
            );
        }
        for mark in marks {
            let line = first + line_of(*mark);
            self.put(x, line, 1, &Ink::lit(Role::Err, "!"), Ground::Page);
        }
    }

    /// Hints on the left, as many whole ones as fit beside `kept` cells of counters, `? help` to the
    /// end; counters on the right. Those that are `idle` now have room, but are not drawn. Answers
    /// the hints that had no room.
    pub(super) fn footer<'h>(
        &mut self,
        hints: &[&'h str],
        idle: &[&str],
        help: bool,
        counters: &[Ink],
        kept: u16,
    ) -> Vec<&'h str> {
        let y = self.regions.footer;
        let edge = self.regions.width.saturating_sub(1);
        let counters = self.counters(counters, usize::from(edge), help);
        let start = self.put_right(edge, y, &counters);
        let kept = edge.saturating_sub(kept.min(edge / 2));
        let (mut fit, mut dropped) = self.fitting(hints, help, start.min(kept));
        fit.retain(|hint| !idle.contains(hint));
        dropped.retain(|hint| !idle.contains(hint));
        let mut line = Ink::default();
        for hint in &fit {
            if !line.is_empty() {
                line = line.and_lit(Role::Faint, "  ");
            }
            line = line.join(hint_ink(hint));
        }
        self.put(1, y, self.regions.width, &line, Ground::Page);
        dropped
    }

    /// Counters joined by dots; the last ones go before `? help` does.
    fn counters(&self, parts: &[Ink], room: usize, help: bool) -> Ink {
        let room = room.saturating_sub(if help { 1 + 6 + 2 } else { 1 });
        let mut line = Ink::default();
        for part in parts {
            let next = if line.is_empty() {
                part.clone()
            } else {
                let dot = line.clone().and_lit(Role::Faint, " ");
                dot.and_lit(Role::Faint, self.signs.separator)
                    .and_lit(Role::Faint, " ")
                    .join(part.clone())
            };
            if next.width() > room && !line.is_empty() {
                break;
            }
            line = next;
        }
        line
    }

    /// The hints that have no room beside counters.
    pub(super) fn without_room<'h>(
        &self,
        hints: &[&'h str],
        counters: &[Ink],
        kept: u16,
    ) -> Vec<&'h str> {
        let edge = self.regions.width.saturating_sub(1);
        let counters = self.counters(counters, usize::from(edge), true);
        let start = edge.saturating_sub(cells(counters.width()));
        let kept = edge.saturating_sub(kept.min(edge / 2));
        self.fitting(hints, true, start.min(kept)).1
    }

    fn fitting<'h>(
        &self,
        hints: &[&'h str],
        help: bool,
        start: u16,
    ) -> (Vec<&'h str>, Vec<&'h str>) {
        let gap = if start + 1 < self.regions.width { 2 } else { 0 };
        let room = usize::from(start).saturating_sub(1 + gap);
        let tail = if help { "? help" } else { "" };
        let mut fit = Vec::new();
        let mut used = width(tail);
        for (index, hint) in hints.iter().enumerate() {
            let more = width(hint) + if used > 0 { 2 } else { 0 };
            if used + more > room {
                let dropped = hints.get(index..).unwrap_or_default().to_vec();
                if help && width(tail) <= room {
                    fit.push("? help");
                }
                return (fit, dropped);
            }
            used += more;
            fit.push(*hint);
        }
        if help && used <= room {
            fit.push("? help");
        }
        (fit, Vec::new())
    }
}

/// A hint: keys in `accent`, words in `faint`.
pub(super) fn hint_ink(hint: &str) -> Ink {
    let mut ink = Ink::default();
    let words: Vec<_> = hint.split(' ').collect();
    let keys = words
        .iter()
        .take_while(|word| word.chars().count() == 1 || **word == "enter")
        .count()
        .max(1);
    for (index, word) in words.iter().enumerate() {
        if index > 0 {
            ink = ink.and_lit(Role::Faint, " ");
        }
        let role = if index < keys {
            Role::Accent
        } else {
            Role::Faint
        };
        ink = ink.and_say(role, word);
    }
    ink
}

/// Cells as the terminal counts them.
pub(super) fn cells(width: usize) -> u16 {
    u16::try_from(width).unwrap_or(u16::MAX)
}

fn join_crumbs(crumbs: &[Ink]) -> Ink {
    let mut left = Ink::default();
    for (index, crumb) in crumbs.iter().enumerate() {
        if index > 0 {
            let brand = left.plain() == "mcpsnoop";
            left = left.and_lit(Role::Faint, if brand { "  " } else { " > " });
        }
        left = left.join(crumb.clone());
    }
    left
}

/// Cuts a line of one stretch so that its end stays.
fn keep_tail(ink: &Ink, room: usize, elision: &'static str) -> Ink {
    match ink.spans() {
        [span] => Ink::of(span.role, span.text.cut(room, Keep::Tail, elision)),
        _ => ink.cut(room, elision),
    }
}

/// Marks the places where `words` occur in a line (T8).
pub(super) fn highlight(ink: &Ink, words: &[&str], ground: Ground) -> Ink {
    let mut out = Ink::default();
    for span in ink.spans() {
        let plain = span.text.plain();
        let mut at = 0;
        for hit in super::search::hits(&plain, words) {
            out = out.and_on(span.role, span.ground, span.text.between(at..hit.start));
            at = hit.end;
            out = out.and_on(span.role, ground, span.text.between(hit));
        }
        out = out.and_on(span.role, span.ground, span.text.between(at..plain.len()));
    }
    out
}

/// Parts with a gap between those that are not empty.
pub(super) fn joined(parts: Vec<Ink>, gap: &'static str) -> Ink {
    let mut line = Ink::default();
    for part in parts.into_iter().filter(|part| !part.is_empty()) {
        line = if line.is_empty() {
            part
        } else {
            line.and_lit(Role::Text, gap).join(part)
        };
    }
    line
}
