//! Lines of a log to envelopes, whatever is broken in it (log-format 9.1 to 9.4). Push-driven, so
//! that files, standard input and SFTP reads share it.

use super::{
    place::Line,
    recover::{Cut, Recovery},
};

/// Longest line that is read (log-format 9.1.6).
pub(super) const LINE_LIMIT: usize = 128 << 20;
/// Room for lines that span chunks that is kept from line to line.
const KEPT_ROOM: usize = 1 << 20;

/// A line that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// Line number, from 1.
    pub line: u64,
    /// Offset of its first byte.
    pub offset: u64,
    /// What is wrong.
    pub reason: DamageReason,
}

/// What is wrong with a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DamageReason {
    /// Not JSON, or not an envelope.
    Unreadable,
    /// A run of NUL bytes; an envelope behind it was recovered.
    Nul,
    /// Longer than 128 MiB.
    TooLong,
    /// The front of two glued envelopes; the second was recovered.
    Glued,
}

/// What reading yields.
#[derive(Clone, Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "nearly every event is a line, and is moved once"
)]
pub enum ReadEvent {
    /// An envelope and where its line lies. For a later run under one id the line's envelope has
    /// the renamed id (`ID#2`); its bytes are unchanged. Of several objects on a line each has its
    /// own bytes and offset; one that spans lines has its line breaks replaced by blanks.
    Line {
        /// Bytes and envelope.
        line: Line,
        /// Offset of the first byte.
        offset: u64,
    },
    /// A line that could not be read.
    Damage(Damage),
}

/// Reads a growing log: takes chunks in order, yields envelopes and damage, and knows the offset up
/// to which every line is complete.
#[derive(Debug, Default)]
pub struct LineReader {
    recovery: Recovery,
    /// Offset of the line in progress.
    line_offset: u64,
    /// NUL bytes at its start, which are not held.
    nuls: u64,
    /// The rest of it so far; empty once it is too long.
    held: Vec<u8>,
    /// Its bytes that were dropped because it is too long.
    dropped: u64,
    lines: u64,
    /// The line in progress was handed on before its LF came.
    is_taken: bool,
}

impl LineReader {
    /// A reader that begins at a line start at `offset`. Lines are numbered from there, and a later
    /// run under one id is noticed only if its earlier run lies behind it too.
    pub fn at(offset: u64) -> Self {
        Self {
            line_offset: offset,
            ..Self::default()
        }
    }

    /// Takes the next bytes and hands on what they complete.
    pub fn push(&mut self, chunk: &[u8], sink: &mut dyn FnMut(ReadEvent)) {
        let mut start = 0;
        for end in memchr::memchr_iter(b'\n', chunk) {
            let part = chunk.get(start..end).unwrap_or_default();
            start = end + 1;
            if self.has_partial() {
                self.hold(part);
                let held = std::mem::take(&mut self.held);
                self.complete(&held, 1, sink);
                self.reuse(held);
            } else {
                let nuls = part.iter().take_while(|byte| **byte == 0).count();
                self.nuls = nuls as u64;
                self.complete(part.get(nuls..).unwrap_or_default(), 1, sink);
            }
        }
        self.hold(chunk.get(start..).unwrap_or_default());
    }

    /// The input has ended for now: a last line without LF that parses is handed on. True when a
    /// torn tail is left; it stays, and `push` goes on behind it.
    pub fn finish(&mut self, sink: &mut dyn FnMut(ReadEvent)) -> bool {
        if !self.has_partial() {
            self.recovery.give_up(sink);
            return false;
        }
        if self.dropped > 0 || self.nuls > 0 {
            return true;
        }
        let held = std::mem::take(&mut self.held);
        let mark = self.mark(&held);
        let rest = held.get(mark..).unwrap_or_default();
        let is_complete = self.recovery.is_complete(rest);
        if is_complete {
            self.complete(&held, 0, sink);
            self.is_taken = true;
            self.reuse(held);
        } else {
            self.held = held;
        }
        !is_complete
    }

    /// Offset behind the last complete line, or of an object that is still open over lines: where a
    /// reader that starts anew goes on.
    pub fn confirmed(&self) -> u64 {
        self.recovery
            .join()
            .map_or(self.line_offset, |join| join.offset)
    }

    /// Offset of the next byte that `push` expects.
    pub fn position(&self) -> u64 {
        self.line_offset + self.partial()
    }

    /// Forgets what was pushed beyond `confirmed`, which `push` expects next then.
    pub fn rewind(&mut self) {
        if let Some(join) = self.recovery.join() {
            self.line_offset = join.offset;
            self.lines = join.first_line.saturating_sub(1);
        }
        self.recovery.forget();
        self.held.clear();
        (self.nuls, self.dropped) = (0, 0);
    }

    /// At a line start with nothing held: the next `bytes` bytes are `lines` whole lines that are
    /// known already. Goes on behind them.
    pub fn skip(&mut self, bytes: u64, lines: u64) {
        debug_assert!(!self.has_partial() && self.recovery.join().is_none());
        self.line_offset += bytes;
        self.lines += lines;
        self.recovery.skipped();
        self.is_taken = false;
    }

    /// Lines seen so far, blank ones included.
    pub fn lines(&self) -> u64 {
        self.lines
    }

    /// Bytes held for a line that is not complete.
    pub fn held(&self) -> usize {
        self.held.len()
    }

    fn partial(&self) -> u64 {
        self.nuls + self.dropped + self.held.len() as u64
    }

    fn has_partial(&self) -> bool {
        self.partial() > 0
    }

    fn hold(&mut self, part: &[u8]) {
        let mut part = part;
        if self.held.is_empty() && self.dropped == 0 {
            let nuls = part.iter().take_while(|byte| **byte == 0).count();
            self.nuls += nuls as u64;
            part = part.get(nuls..).unwrap_or_default();
        }
        if self.dropped > 0 || self.held.len() + part.len() > LINE_LIMIT {
            self.dropped += (self.held.len() + part.len()) as u64;
            self.held = Vec::new();
        } else {
            self.held.extend_from_slice(part);
        }
    }

    /// Reads the line in progress, whose held bytes are `bytes`, and begins the next one.
    fn complete(&mut self, bytes: &[u8], end: u64, sink: &mut dyn FnMut(ReadEvent)) {
        let is_rest = std::mem::take(&mut self.is_taken);
        self.lines += u64::from(!is_rest || bytes.iter().any(|byte| *byte != b'\r'));
        let mark = self.mark(bytes);
        let cut = Cut {
            bytes: bytes.get(mark..).unwrap_or_default(),
            offset: self.line_offset + self.nuls + mark as u64,
            line_offset: self.line_offset,
            number: self.lines,
            had_nul: self.nuls > 0,
            is_too_long: self.dropped > 0 || bytes.len() > LINE_LIMIT,
        };
        self.line_offset += self.nuls + self.dropped + bytes.len() as u64 + end;
        (self.nuls, self.dropped) = (0, 0);
        self.recovery.line(cut, sink);
    }

    /// Length of a byte order mark that a tool put in front of the file.
    fn mark(&self, bytes: &[u8]) -> usize {
        let is_marked = self.line_offset == 0 && bytes.starts_with(b"\xef\xbb\xbf");
        if is_marked { 3 } else { 0 }
    }

    fn reuse(&mut self, mut held: Vec<u8>) {
        if held.capacity() <= KEPT_ROOM {
            held.clear();
            self.held = held;
        }
    }
}

#[cfg(test)]
#[path = "reader_tests.rs"]
mod tests;
