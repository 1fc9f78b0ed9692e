//! Numbers frames and writes them as lines of a batch (log-format 5 to 8).

use std::time::Instant;

use bytes::Bytes;

use super::{handoff::Source, log_queue::Batch};
use crate::{
    base::{Clock, Timestamp},
    record::{BatchPlace, Content, Direction, Encoder, Frame, Seq},
    wire::{FramedLine, is_empty_batch, split_batch},
};

/// A batch is cut here; a longer line goes alone (capture.md 4.5).
const BATCH: usize = 256 << 10;
/// What the head of a line may take beside its content.
const HEAD: usize = 1 << 10;

/// The one sequencer of a session.
#[derive(Debug)]
pub(super) struct Scribe {
    encoder: Encoder,
    clock: Clock,
    next: u64,
    last_ts: Timestamp,
    lines: Vec<u8>,
    frames: u64,
}

impl Scribe {
    /// Starts a session at number 1.
    pub(super) fn new(session_id: &str, label: &str, clock: Clock) -> Self {
        Self {
            encoder: Encoder::new(session_id, label),
            clock,
            next: 1,
            last_ts: Timestamp::default(),
            lines: Vec::new(),
            frames: 0,
        }
    }

    /// Writes the frames of a line; full batches go to `out`.
    pub(super) fn line(
        &mut self,
        source: Source,
        line: &FramedLine,
        at: Instant,
        out: &mut impl FnMut(Batch),
    ) {
        let direction = match source {
            Source::Client => &Direction::ClientToServer,
            Source::Server => &Direction::ServerToClient,
            Source::Stderr => return self.stderr_line(line, at, out),
        };
        if line.length == 0 {
            return;
        }
        // The prefix of a cut line is no value, even if it happens to be JSON (log-format 8.3.2).
        let content = if line.is_cut() {
            Content::Text(&line.bytes)
        } else {
            Content::of(&line.bytes)
        };
        match content {
            Content::Raw(value) if value.first() == Some(&b'[') => {
                self.array(direction, value, line.length, at, out);
            }
            content => self.frame(direction, content, line.length, None, at, out),
        }
    }

    /// Writes a record of our own.
    pub(super) fn record(&mut self, raw: &[u8], at: Instant, out: &mut impl FnMut(Batch)) {
        let length = raw.len() as u64;
        self.frame(&Direction::Meta, Content::Raw(raw), length, None, at, out);
    }

    /// Frames that were observed and are not written: their numbers are used up.
    pub(super) const fn skip(&mut self, frames: u64) {
        self.next += frames;
    }

    /// Gives what is written so far.
    pub(super) fn flush(&mut self, out: &mut impl FnMut(Batch)) {
        if self.lines.is_empty() {
            return;
        }
        let mut lines = std::mem::take(&mut self.lines);
        // A round in slow traffic is far smaller than a batch, and the live queue keeps it.
        if lines.len() < lines.capacity() / 2 {
            lines.shrink_to_fit();
        }
        out(Batch {
            lines: Bytes::from(lines),
            frames: std::mem::replace(&mut self.frames, 0),
        });
    }

    /// Every line of standard error is a frame, blank ones too, and none is JSON (capture.md 5.3.4).
    fn stderr_line(&mut self, line: &FramedLine, at: Instant, out: &mut impl FnMut(Batch)) {
        let content = if line.bytes.is_empty() {
            Content::Nothing
        } else {
            Content::Text(&line.bytes)
        };
        self.frame(&Direction::Stderr, content, line.length, None, at, out);
    }

    /// An array is a frame for each element; an empty one is marked, a huge one is itself (8.4).
    fn array(
        &mut self,
        direction: &Direction,
        value: &[u8],
        length: u64,
        at: Instant,
        out: &mut impl FnMut(Batch),
    ) {
        let Some(elements) = split_batch(value) else {
            let place = is_empty_batch(value).then_some(BatchPlace { index: 0, size: 0 });
            self.frame(direction, Content::Raw(value), length, place, at, out);
            return;
        };
        let size = u32::try_from(elements.len()).unwrap_or(u32::MAX);
        for (index, extent) in (0..).zip(elements) {
            let element = value.get(extent).unwrap_or_default();
            let place = Some(BatchPlace { index, size });
            let length = element.len() as u64;
            self.frame(direction, Content::Raw(element), length, place, at, out);
        }
    }

    fn frame(
        &mut self,
        direction: &Direction,
        content: Content<'_>,
        length: u64,
        batch: Option<BatchPlace>,
        at: Instant,
        out: &mut impl FnMut(Batch),
    ) {
        let expected = HEAD
            + match content {
                Content::Raw(bytes) | Content::Text(bytes) => bytes.len(),
                Content::Nothing => 0,
            };
        if self.lines.len() + expected > BATCH {
            self.flush(out);
        }
        if self.lines.capacity() == 0 {
            self.lines.reserve(expected.max(BATCH));
        }
        // Three threads read: a time before its predecessor's is raised to it (log-format 7.3).
        self.last_ts = self.last_ts.max(self.clock.at(at));
        let frame = Frame {
            seq: Seq(self.next),
            ts: self.last_ts,
            direction,
            content,
            length,
            batch,
        };
        self.encoder.encode_frame(&frame, &mut self.lines);
        self.next += 1;
        self.frames += 1;
    }
}
