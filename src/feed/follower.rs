//! A growing log, read in pieces from wherever it lies (log-format 9.3, remote.md 9.3). Pure: it
//! says what to read next and is told what was read.

use std::{
    collections::VecDeque,
    hash::{DefaultHasher, Hasher as _},
    sync::Arc,
};

use crate::record::{Line, LineReader, ReadEvent, Seq};

/// Bytes in front of what was read whose hash shows that the log is still the same (remote.md 9.3).
const SEAL_BYTES: usize = 4 << 10;
/// Of a line that was not read but came live, so many bytes take part in that hash: enough to tell
/// two lines apart, and cheap at 20,000 lines a second.
const PREDICTED_SEAL_BYTES: usize = 256;
/// Most lines that are expected in a log; beyond it the log is read again.
const EXPECTED_LINES: usize = 4_096;

/// What to do next for a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FollowStep {
    /// Nothing: all that the log is known to hold was read.
    Idle,
    /// Read these bytes, in one or many reads, and `push` the answers in order. The first of them
    /// may have been read before: they show whether the log is still the same.
    Read {
        /// From here.
        offset: u64,
        /// So many.
        length: u64,
    },
}

/// What became of bytes that were pushed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pushed {
    /// They continue the log.
    Taken,
    /// The log was replaced: reads under way are void, and it is read again from its start.
    Replaced,
}

/// Follows one log: what was read, a hash of the bytes before it, lines, replacement.
#[derive(Debug, Default)]
pub struct Follower {
    reader: LineReader,
    size: u64,
    identity: Option<(u64, u64)>,
    /// Offset behind the last byte that was taken.
    taken: u64,
    /// The last bytes before it while reading is under way.
    tail: Vec<u8>,
    /// Their hash while it rests.
    seal: Option<Seal>,
    /// Bytes that were read again and are to be compared with the seal.
    again: Vec<u8>,
    /// The one session of the log, and its last number that was read.
    session: Option<(Arc<str>, Seq)>,
    /// The log holds several sessions, so that nothing can be predicted.
    mixed: bool,
    expected: VecDeque<Expected>,
}

/// The bytes before an offset, as a hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Seal {
    length: usize,
    hash: u64,
}

/// A line that came live and that the log will hold.
#[derive(Clone, Copy, Debug)]
struct Expected {
    seq: Seq,
    /// Length with its LF.
    length: u64,
    seal: Seal,
}

impl Follower {
    /// Follows from the start of the log.
    pub fn new() -> Self {
        Self {
            reader: LineReader::at(0),
            ..Self::default()
        }
    }

    /// The log has this size now (and this identity, where the file system shows one).
    pub fn grown(&mut self, size: u64, identity: Option<(u64, u64)>) {
        let replaced = identity.is_some() && self.identity.is_some() && identity != self.identity;
        self.identity = identity.or(self.identity);
        if replaced || size < self.taken {
            self.start_over();
        }
        self.size = size;
        self.skip_expected();
        self.rest();
    }

    /// What to read next.
    pub fn step(&self) -> FollowStep {
        if self.size <= self.taken {
            return FollowStep::Idle;
        }
        let again = self.seal.map_or(0, |seal| seal.length - self.again.len());
        let offset = self.taken - again as u64;
        FollowStep::Read {
            offset,
            length: self.size - offset,
        }
    }

    /// Bytes that were read at the offset of the last `Read` step, or behind those pushed since.
    pub fn push(&mut self, bytes: &[u8], sink: &mut dyn FnMut(ReadEvent)) -> Pushed {
        let mut bytes = bytes;
        if let Some(seal) = self.seal {
            let wanted = seal.length - self.again.len();
            let (again, rest) = bytes.split_at(wanted.min(bytes.len()));
            self.again.extend_from_slice(again);
            bytes = rest;
            if self.again.len() < seal.length {
                return Pushed::Taken;
            }
            self.seal = None;
            self.tail = std::mem::take(&mut self.again);
            if Seal::of(&self.tail) != seal {
                self.start_over();
                return Pushed::Replaced;
            }
        }
        let (session, mixed) = (&mut self.session, &mut self.mixed);
        self.reader.push(bytes, &mut |event| {
            note_session(session, mixed, &event);
            sink(event);
        });
        self.taken += bytes.len() as u64;
        self.size = self.size.max(self.taken);
        self.keep_tail(bytes);
        self.drop_read();
        self.rest();
        Pushed::Taken
    }

    /// The log will not grow any more: a last line without LF that parses is handed on. True when a
    /// torn tail is left.
    pub fn finish(&mut self, sink: &mut dyn FnMut(ReadEvent)) -> bool {
        self.reader.finish(sink)
    }

    /// A live line was delivered that its recorder appends to this log in the same form: when the
    /// log has grown by just that, it need not be read (remote.md 9.4.6). Answers at which offset
    /// the line should lie.
    pub fn predicted(&mut self, line: &Line) -> Option<u64> {
        let seq = line.envelope.seq;
        let known = self.session.as_ref().map(|(id, _)| id);
        if self.mixed || known.is_some_and(|id| **id != *line.envelope.session_id) {
            return None;
        }
        if known.is_none() && seq == Seq(1) && self.taken == 0 {
            self.session = Some((Arc::clone(&line.envelope.session_id), Seq(0)));
        }
        let last = self
            .expected
            .back()
            .map_or_else(|| self.last_read(), |expected| expected.seq);
        if seq <= last {
            return None;
        }
        if seq.0 != last.0 + 1 || self.expected.len() >= EXPECTED_LINES {
            self.expected.clear();
        }
        let before: u64 = self.expected.iter().map(|expected| expected.length).sum();
        self.expected.push_back(Expected::new(line));
        self.is_in_step().then(|| self.reader.confirmed() + before)
    }

    /// Predictions are void: what comes next is read.
    pub fn distrust(&mut self) {
        self.expected.clear();
    }

    /// Offset behind the last complete line.
    pub fn confirmed(&self) -> u64 {
        self.reader.confirmed()
    }

    fn last_read(&self) -> Seq {
        self.session.as_ref().map_or(Seq(0), |(_, seq)| *seq)
    }

    /// The expected lines continue what was read.
    fn is_in_step(&self) -> bool {
        let next = self.last_read().0 + 1;
        let front = self.expected.front();
        front.is_some_and(|expected| expected.seq.0 == next)
    }

    /// Passes over lines that came live, if the log has grown by exactly some of them.
    fn skip_expected(&mut self) {
        let at_line_start = self.taken == self.reader.confirmed() && self.again.is_empty();
        if self.size <= self.taken || !at_line_start || !self.is_in_step() {
            return;
        }
        let mut end = self.taken;
        let fits = self.expected.iter().position(|expected| {
            end += expected.length;
            end >= self.size
        });
        let Some(last) = fits.filter(|_| end == self.size) else {
            return;
        };
        let skipped: Vec<Expected> = self.expected.drain(..=last).collect();
        let bytes = self.size - self.taken;
        self.reader.skip(bytes, skipped.len() as u64);
        self.taken = self.size;
        self.tail = Vec::new();
        if let Some(last) = skipped.last() {
            self.seal = Some(last.seal);
            if let Some((_, seq)) = &mut self.session {
                *seq = last.seq;
            }
        }
    }

    /// Expected lines that were read meanwhile are expected no more.
    fn drop_read(&mut self) {
        let last = self.last_read();
        while self.expected.front().is_some_and(|line| line.seq <= last) {
            self.expected.pop_front();
        }
    }

    fn keep_tail(&mut self, bytes: &[u8]) {
        let (_, last) = bytes.split_at(bytes.len().saturating_sub(SEAL_BYTES));
        let excess = (self.tail.len() + last.len()).saturating_sub(SEAL_BYTES);
        self.tail.drain(..excess);
        self.tail.extend_from_slice(last);
    }

    /// All was read: a hash is enough from now on.
    fn rest(&mut self) {
        if self.size == self.taken && self.seal.is_none() && !self.tail.is_empty() {
            self.seal = Some(Seal::of(&self.tail));
            self.tail = Vec::new();
        }
    }

    fn start_over(&mut self) {
        let (size, identity) = (self.size, self.identity);
        *self = Self {
            size,
            identity,
            ..Self::new()
        };
    }
}

impl Seal {
    fn of(bytes: &[u8]) -> Self {
        // Not against an adversary: who can write the log needs no collision.
        let mut hash = DefaultHasher::new();
        hash.write(bytes);
        Self {
            length: bytes.len(),
            hash: hash.finish(),
        }
    }
}

impl Expected {
    fn new(line: &Line) -> Self {
        let bytes: &[u8] = &line.bytes;
        let (_, last) = bytes.split_at(bytes.len().saturating_sub(PREDICTED_SEAL_BYTES));
        Self {
            seq: line.envelope.seq,
            length: bytes.len() as u64 + 1,
            seal: Seal::of(&[last, b"\n"].concat()),
        }
    }
}

/// Keeps the session and last number of a log, and whether it holds several.
fn note_session(session: &mut Option<(Arc<str>, Seq)>, mixed: &mut bool, event: &ReadEvent) {
    let ReadEvent::Line { line, .. } = event else {
        return;
    };
    let envelope = &line.envelope;
    match session {
        Some((id, seq)) if **id == *envelope.session_id => *seq = envelope.seq.max(*seq),
        Some(_) => *mixed = true,
        None => *session = Some((Arc::clone(&envelope.session_id), envelope.seq)),
    }
}

#[cfg(test)]
#[path = "follower_tests.rs"]
mod tests;
