//! Frames of a session by their numbers, found again in its log (tui.md T6). Pure: it says what to
//! read next and is told what was read, so that local and remote logs share it.

use std::{collections::VecDeque, path::PathBuf, sync::Arc};

use super::event::{FeedEvent, FeedFrame, Origin};
use crate::record::{LineReader, Place, ReadEvent, Seq, SessionKey};

/// Bytes of one look while the place of the first number is searched for; while no line of the
/// session was seen the look goes on, so far at most.
const LOOK: u64 = 128 << 10;
const LONGEST_LOOK: u64 = 8 << 20;
/// Bytes of one read of frames.
const CHUNK: u64 = 1 << 20;
/// A stretch this short is read instead of searched, and lines may lie so far out of order.
const SLACK: u64 = 1 << 20;
/// Most bytes of lines that are handed on; the frames next to the wanted one stay.
const MOST_BYTES: usize = 32 << 20;
/// Most frames and bytes of one event, so that a turn of the viewer's loop stays short.
const EVENT_FRAMES: usize = 512;
const EVENT_BYTES: usize = 1 << 20;

/// Frames that left memory and are wanted back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recall {
    /// Whose.
    pub key: SessionKey,
    /// The log that holds them.
    pub log: Arc<PathBuf>,
    /// First number.
    pub from: Seq,
    /// Last number.
    pub to: Seq,
    /// The one that is looked for; where not all fit, those far from it are left out.
    pub near: Seq,
}

/// What to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecallStep {
    /// Read these bytes and `push` what came of them; nothing came at the end of the log.
    Read {
        /// From here.
        offset: u64,
        /// So many.
        length: u64,
    },
    /// All was found that is there.
    Done,
}

/// Finds the frames of a `Recall`: the first number by halving the log, the rest by reading on.
#[derive(Debug)]
pub struct Recalling {
    wanted: Recall,
    /// The first number lies behind the one and not behind the other; nothing once it was found.
    search: Option<(u64, u64)>,
    /// Bytes that this look has seen, and its lines once the first of them began.
    looked: u64,
    looking: Option<LineReader>,
    reader: LineReader,
    /// Offset of the next read, and of the last byte that is worth reading.
    at: u64,
    until: u64,
    /// Reading began inside a line.
    is_torn: bool,
    frames: VecDeque<FeedFrame>,
    bytes: usize,
}

impl Recalling {
    /// Begins with a log of this size.
    pub fn new(wanted: Recall, size: u64) -> Self {
        let mut recalling = Self {
            wanted,
            search: Some((0, size)),
            looked: 0,
            looking: None,
            reader: LineReader::at(0),
            at: 0,
            until: size,
            is_torn: false,
            frames: VecDeque::new(),
            bytes: 0,
        };
        recalling.begin_when_found();
        recalling
    }

    /// What to read next.
    pub fn step(&self) -> RecallStep {
        let (offset, most) = match self.search {
            Some((low, high)) => (low.midpoint(high) + self.looked, LOOK.max(self.looked)),
            None => (self.at, CHUNK),
        };
        match self.until.saturating_sub(offset) {
            0 => RecallStep::Done,
            left => RecallStep::Read {
                offset,
                length: left.min(most),
            },
        }
    }

    /// Takes the bytes of the last step.
    pub fn push(&mut self, bytes: &[u8]) {
        if self.search.is_some() {
            self.look(bytes);
            self.begin_when_found();
        } else {
            self.read(bytes);
        }
    }

    /// Halves the stretch that the first number lies in.
    fn look(&mut self, bytes: &[u8]) {
        let Some((low, high)) = self.search else {
            return;
        };
        let middle = low.midpoint(high);
        let mut first = None;
        let mut lines = bytes;
        if self.looking.is_none()
            && let Some(end) = memchr::memchr(b'\n', bytes)
        {
            let begin = middle + self.looked + end as u64 + 1;
            self.looking = Some(LineReader::at(begin));
            lines = bytes.get(end + 1..).unwrap_or_default();
        }
        if let Some(reader) = &mut self.looking {
            reader.push(lines, &mut |event| {
                if let ReadEvent::Line { line, offset } = event
                    && first.is_none()
                    && line.envelope.session_id == self.wanted.key.id
                {
                    first = Some((offset, line.envelope.seq));
                }
            });
        }
        self.looked += bytes.len() as u64;
        let may_go_on = middle + self.looked < self.until && self.looked < LONGEST_LOOK;
        if first.is_none() && !bytes.is_empty() && may_go_on {
            return;
        }
        (self.looked, self.looking) = (0, None);
        // Where nothing is told, reading begins earlier than it must.
        self.search = Some(match first {
            Some((offset, seq)) if seq < self.wanted.from => (offset, high),
            _ => (low, middle),
        });
    }

    fn begin_when_found(&mut self) {
        if let Some((low, high)) = self.search
            && high - low <= SLACK
        {
            self.search = None;
            self.at = low.saturating_sub(SLACK);
            self.is_torn = self.at > 0;
        }
    }

    fn read(&mut self, bytes: &[u8]) {
        if bytes.is_empty() {
            self.until = self.at;
        }
        let mut start = 0;
        if self.is_torn {
            match memchr::memchr(b'\n', bytes) {
                Some(end) => {
                    start = end + 1;
                    self.is_torn = false;
                    self.reader = LineReader::at(self.at + start as u64);
                }
                None => start = bytes.len(),
            }
        }
        self.at += bytes.len() as u64;
        let mut reader = std::mem::take(&mut self.reader);
        reader.push(bytes.get(start..).unwrap_or_default(), &mut |event| {
            self.take(event);
        });
        if self.at >= self.until {
            reader.finish(&mut |event| self.take(event));
        }
        self.reader = reader;
    }

    fn take(&mut self, event: ReadEvent) {
        let ReadEvent::Line { line, offset } = event else {
            return;
        };
        let seq = line.envelope.seq;
        if line.envelope.session_id != self.wanted.key.id || seq < self.wanted.from {
            return;
        }
        if seq > self.wanted.to {
            self.until = self.until.min(self.at.max(offset.saturating_add(SLACK)));
            return;
        }
        let length = line.bytes.len();
        self.bytes += length;
        self.frames.push_back(FeedFrame {
            key: self.wanted.key.clone(),
            line,
            place: Some(Place {
                log: Arc::clone(&self.wanted.log),
                offset,
                length: u32::try_from(length).unwrap_or(u32::MAX),
            }),
            origin: Origin::Log,
            arrived: None,
        });
        self.keep_bounds();
    }

    /// Leaves out what is farthest from the wanted number; behind it nothing more is read then.
    fn keep_bounds(&mut self) {
        let near = self.wanted.near.0;
        while self.bytes > MOST_BYTES && self.frames.len() > 1 {
            let seq =
                |frame: Option<&FeedFrame>| frame.map_or(near, |frame| frame.line.envelope.seq.0);
            let before = near.saturating_sub(seq(self.frames.front()));
            let behind = seq(self.frames.back()).saturating_sub(near);
            let dropped = if before >= behind {
                self.frames.pop_front()
            } else {
                self.until = self.at;
                self.frames.pop_back()
            };
            self.bytes -= dropped.map_or(0, |frame| frame.line.bytes.len());
        }
    }

    /// The answer: frames in order, the last event ends it.
    pub fn finish(self) -> Vec<FeedEvent> {
        let mut frames = Vec::from(self.frames);
        frames.sort_by_key(|frame| frame.line.envelope.seq);
        frames.dedup_by_key(|frame| frame.line.envelope.seq);
        let mut events = Vec::new();
        let mut part = Vec::new();
        let mut bytes = 0;
        for frame in frames {
            bytes += frame.line.bytes.len();
            part.push(frame);
            if part.len() == EVENT_FRAMES || bytes >= EVENT_BYTES {
                events.push(self.wanted.answer(std::mem::take(&mut part), None));
                bytes = 0;
            }
        }
        events.push(self.wanted.answer(part, Some(Ok(()))));
        events
    }
}

impl Recall {
    /// The answer when the log cannot be read; the reason is untrusted text.
    pub fn failed(&self, reason: String) -> FeedEvent {
        self.answer(Vec::new(), Some(Err(reason)))
    }

    fn answer(&self, frames: Vec<FeedFrame>, end: Option<Result<(), String>>) -> FeedEvent {
        FeedEvent::Recalled {
            key: self.key.clone(),
            from: self.from,
            frames,
            end,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::HostName;

    /// A log of one session; a line holds `padding` bytes beside what it must.
    fn log_of(seqs: impl IntoIterator<Item = u64>, padding: usize) -> Vec<u8> {
        let pad = "x".repeat(padding);
        let line = |seq| {
            format!(
                "{{\"session_id\":\"a-1\",\"server_label\":\"a\",\"seq\":{seq},\"ts\":\"2026-09-01T14:07:00Z\",\"direction\":\"s2c\",\"transport\":\"stdio\",\"text\":\"{pad}\"}}\n"
            )
        };
        seqs.into_iter().map(line).collect::<String>().into_bytes()
    }

    fn wanted(from: u64, to: u64, near: u64) -> Recall {
        Recall {
            key: SessionKey {
                host: HostName::local(),
                id: "a-1".into(),
            },
            log: Arc::new("/s/a-1.jsonl".into()),
            from: Seq(from),
            to: Seq(to),
            near: Seq(near),
        }
    }

    /// The numbers that are found, and how many bytes were read for them.
    fn recalled(log: &[u8], wanted: Recall) -> (Vec<u64>, u64) {
        let mut recalling = Recalling::new(wanted, log.len() as u64);
        let mut read = 0;
        while let RecallStep::Read { offset, length } = recalling.step() {
            let start = usize::try_from(offset).unwrap();
            let end = (start + usize::try_from(length).unwrap()).min(log.len());
            read += length;
            recalling.push(&log[start.min(end)..end]);
        }
        let mut seqs = Vec::new();
        for event in recalling.finish() {
            let FeedEvent::Recalled { frames, .. } = event else {
                panic!("{event:?}");
            };
            for frame in frames {
                let place = frame.place.unwrap();
                let start = usize::try_from(place.offset).unwrap();
                let bytes = &log[start..start + place.length as usize];
                assert_eq!(bytes, &frame.line.bytes[..], "where it lies");
                seqs.push(frame.line.envelope.seq.0);
            }
        }
        (seqs, read)
    }

    #[test]
    fn lines_longer_than_a_look_do_not_send_it_to_the_start() {
        let log = log_of(1..=100, 300_000);
        let (found, read) = recalled(&log, wanted(70, 75, 70));
        assert!(found.iter().copied().eq(70..=75), "{found:?}");
        assert!(read < log.len() as u64 / 2, "{read} of {}", log.len());
    }

    #[test]
    fn a_stretch_of_a_large_log_is_found_by_few_reads() {
        let log = log_of(1..=60_000, 400);
        for (from, to) in [
            (1, 100),
            (30_000, 30_500),
            (59_990, 70_000),
            (70_000, 80_000),
        ] {
            let (seqs, read) = recalled(&log, wanted(from, to, to));
            let expected: Vec<u64> = (from..=to.min(60_000)).collect();
            assert_eq!(seqs, expected);
            assert!(read < 8 << 20, "{read} of {} bytes", log.len());
        }
    }

    #[test]
    fn lines_out_of_order_holes_and_repeats_are_put_right() {
        let log = log_of([1, 2, 5, 4, 4, 9, 7, 12], 10);
        assert_eq!(recalled(&log, wanted(2, 9, 9)).0, [2, 4, 5, 7, 9]);
        assert_eq!(recalled(&[], wanted(2, 9, 9)).0, [0; 0]);
    }

    #[test]
    fn of_too_many_bytes_those_near_the_wanted_number_stay() {
        let log = log_of(1..=50, 1 << 20);
        let (last, _) = recalled(&log, wanted(1, 50, 50));
        assert!(last.len() > 25 && last.ends_with(&[49, 50]), "{last:?}");
        let (first, read) = recalled(&log, wanted(1, 50, 1));
        assert!(first.len() > 25 && first.starts_with(&[1, 2]), "{first:?}");
        assert!(read < 50 << 20, "{read} of {}", log.len());
    }

    #[test]
    fn frames_of_other_sessions_and_damage_are_passed_over() {
        let mut log = log_of(1..=3, 10);
        log.extend_from_slice(b"{\"session_id\":\"b\",\"server_label\":\"b\",\"seq\":4,\"direction\":\"s2c\",\"transport\":\"stdio\"}\noops\n");
        log.extend(log_of(4..=5, 10));
        assert_eq!(recalled(&log, wanted(3, 5, 5)).0, [3, 4, 5]);
    }
}
