//! The part of a body that is on screen: only its lines are made and wrapped (tui.md I6, PF1).

use std::{collections::BTreeMap, ops::Range};

use crate::{
    base::width,
    tui::{
        body::{Body, Line},
        ink::Ink,
    },
};

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
        let least = self.above(body, cursor, height);
        self.top = self.top.min((cursor, 0)).max(least);
        if body.len().saturating_sub(self.top.0) <= height {
            let last = self.above(body, body.len().saturating_sub(1), height);
            self.top = self.top.min(last);
        }
        self.fill(body, height);
    }

    /// The highest top at which the end of a line is on screen; a line that is higher than the screen
    /// begins at its top.
    fn above(&mut self, body: &Body, line: usize, height: usize) -> (usize, usize) {
        let mut used = self.rows(body, line);
        if used >= height {
            return (line, 0);
        }
        let mut at = line;
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
