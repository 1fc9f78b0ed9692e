//! The part of a body that is on screen: only its lines are made and wrapped (tui.md I6, PF1).

use std::{collections::BTreeMap, ops::Range};

use crate::{
    base::width,
    tui::{
        body::{Body, Line},
        ink::Ink,
    },
};

/// Moves of more lines than this go to an end.
const FAR: usize = 100_000;

/// One line on screen: a logical line, and which bytes of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::tui) struct Piece {
    /// Index of the logical line.
    pub(in crate::tui) line: usize,
    /// Bytes of its text.
    pub(in crate::tui) bytes: Range<usize>,
}

/// A logical line and where its lines on screen begin.
#[derive(Clone, Debug)]
struct Wrapped {
    line: Line,
    starts: Vec<usize>,
    length: usize,
}

/// What of the cursor's line must be on screen when the line is higher than the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Seen {
    /// This one of its lines on screen.
    Row(usize),
    /// The one that holds this byte.
    Byte(usize),
}

impl Default for Seen {
    fn default() -> Self {
        Self::Row(0)
    }
}

/// What is on screen.
#[derive(Clone, Debug, Default)]
pub(in crate::tui) struct Window {
    /// The lines on screen, from the top.
    pub(in crate::tui) pieces: Vec<Piece>,
    /// First logical line, and how many of its lines on screen lie above.
    top: (usize, usize),
    /// Cells of a line that is wrapped.
    room: Option<usize>,
    /// The lines near the screen, by their index.
    made: BTreeMap<usize, Wrapped>,
    height: usize,
    seen: Seen,
}

impl Window {
    /// Makes the lines on screen; `room` is the width when long lines are wrapped.
    pub(in crate::tui) fn prepare(
        &mut self,
        body: &Body,
        room: Option<usize>,
        height: usize,
        cursor: usize,
    ) {
        if self.room != room {
            self.room = room;
            self.made.clear();
            self.top.1 = 0;
        }
        let height = height.max(1);
        self.height = height;
        let rows = self.rows(body, cursor);
        let seen = self.seen_row(cursor).min(rows - 1);
        self.seen = Seen::Row(seen);
        let (first, last) = if rows <= height {
            (0, rows - 1)
        } else {
            (seen, seen)
        };
        let least = self.above(body, (cursor, last), height);
        self.top = self.top.min((cursor, first)).max(least);
        if body.len().saturating_sub(self.top.0) <= height {
            let end = body.len().saturating_sub(1);
            let end = (end, self.rows(body, end) - 1);
            let last = self.above(body, end, height);
            self.top = self.top.min(last);
        }
        self.fill(body, height);
    }

    /// The row of the cursor's line that must be on screen.
    fn seen_row(&self, cursor: usize) -> usize {
        match self.seen {
            Seen::Row(row) => row,
            Seen::Byte(byte) => self.made.get(&cursor).map_or(0, |wrapped| {
                let behind = wrapped.starts.partition_point(|start| *start <= byte);
                behind.saturating_sub(1)
            }),
        }
    }

    /// Brings a byte of the cursor's line on screen.
    pub(in crate::tui) const fn show_byte(&mut self, byte: usize) {
        self.seen = Seen::Byte(byte);
    }

    /// Moves by lines on screen and answers the line that the cursor is on then. Within a line that
    /// is higher than the screen it moves by what is seen of it.
    pub(in crate::tui) fn step(&mut self, body: &Body, cursor: usize, by: isize) -> usize {
        let last = body.len().saturating_sub(1);
        let rows = self.rows(body, cursor);
        let is_high = rows > self.height;
        let shown = self
            .pieces
            .iter()
            .filter(|piece| piece.line == cursor)
            .count();
        let above = if self.top.0 == cursor { self.top.1 } else { 0 };
        let mut left = by.unsigned_abs();
        let mut line = cursor;
        if by >= 0 {
            let row = if is_high {
                (above + shown).max(1) - 1
            } else {
                rows - 1
            };
            let mut below = rows - 1 - row;
            if left > FAR {
                (line, below) = (last, 0);
                self.seen = Seen::Row(self.rows(body, last) - 1);
                left = 0;
            }
            while left > below && line < last {
                left -= below + 1;
                line += 1;
                below = self.rows(body, line) - 1;
            }
            let rows = self.rows(body, line);
            self.seen = Seen::Row((rows - 1 - below + left.min(below)).min(rows - 1));
        } else {
            let mut row = if is_high { above } else { 0 };
            if left > FAR {
                (line, row, left) = (0, 0, 0);
            }
            while left > row && line > 0 {
                left -= row + 1;
                line -= 1;
                row = self.rows(body, line) - 1;
            }
            self.seen = Seen::Row(row - left.min(row));
        }
        line
    }

    /// The highest top at which a row of a line is on screen.
    fn above(&mut self, body: &Body, end: (usize, usize), height: usize) -> (usize, usize) {
        let mut used = end.1 + 1;
        if used >= height {
            return (end.0, used - height);
        }
        let mut at = end.0;
        while let Some(before) = at.checked_sub(1) {
            let rows = self.rows(body, before);
            if used + rows > height {
                return (before, used + rows - height);
            }
            used += rows;
            at = before;
        }
        (at, 0)
    }

    fn fill(&mut self, body: &Body, height: usize) {
        self.pieces.clear();
        let (mut line, mut skip) = self.top;
        while self.pieces.len() < height && line < body.len() {
            self.rows(body, line);
            let Some(wrapped) = self.made.get(&line) else {
                break;
            };
            let ends = wrapped.starts.iter().skip(1).copied();
            let ends = ends.chain([wrapped.length]);
            let all = wrapped.starts.iter().copied().zip(ends);
            let free = height - self.pieces.len();
            let shown = all.skip(skip).take(free);
            self.pieces.extend(shown.map(|(start, end)| Piece {
                line,
                bytes: start..end,
            }));
            (line, skip) = (line + 1, 0);
        }
        self.made = self.made.split_off(&self.top.0);
        self.made.split_off(&line);
    }

    /// Lines on screen of a logical line.
    fn rows(&mut self, body: &Body, index: usize) -> usize {
        if let Some(wrapped) = self.made.get(&index) {
            return wrapped.starts.len();
        }
        let Some(line) = body.line(index) else {
            return 1;
        };
        let line = line.into_owned();
        let mut starts = vec![0];
        if let Some(room) = self.room {
            starts.extend(breaks(&line.ink, room));
        }
        let rows = starts.len();
        let length = line.ink.plain().len();
        let wrapped = Wrapped {
            line,
            starts,
            length,
        };
        self.made.insert(index, wrapped);
        rows
    }

    /// A logical line that is on screen.
    pub(in crate::tui) fn line(&self, index: usize) -> Option<&Line> {
        self.made.get(&index).map(|wrapped| &wrapped.line)
    }

    /// First logical line on screen, and how many are.
    pub(in crate::tui) fn extent(&self) -> (usize, usize) {
        let last = self
            .pieces
            .last()
            .map_or(self.top.0, |piece| piece.line + 1);
        (self.top.0, last.saturating_sub(self.top.0))
    }
}

/// Bytes at which the lines of a wrapped line begin.
fn breaks(ink: &Ink, room: usize) -> Vec<usize> {
    if ink.width() <= room {
        return Vec::new();
    }
    let (mut out, mut used, mut base) = (Vec::new(), 0, 0);
    for span in ink.spans() {
        let plain = span.text.plain();
        let mut at = 0;
        for unit in crate::base::clusters(&plain) {
            let cells = width(unit);
            if used > 0 && used + cells > room {
                out.push(base + at);
                used = 0;
            }
            used += cells;
            at += unit.len();
        }
        base += plain.len();
    }
    out
}
