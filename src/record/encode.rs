//! An envelope to its log line (log-format 3).

use std::cell::Cell;

use base64::{Engine as _, engine::general_purpose::STANDARD};

use super::{
    envelope::{Direction, Envelope, HttpFields, Payload, Peek, Seq, Transport},
    write::{
        write_count, write_direction, write_extended, write_key, write_number, write_peek,
        write_routing, write_some, write_status, write_transport, write_true,
    },
};
use crate::{
    base::Timestamp,
    wire::{self, json},
};

/// An encoded line stays under this (log-format 8.3.3).
const LINE_LIMIT: usize = 32 << 20;
/// Room that is kept for the fields behind `text`.
const TAIL_ROOM: usize = 256 << 10;
/// Longest text whose exact bytes go to `text_b64`.
const EXACT_TEXT: usize = 1 << 20;

/// Bytes of the fields that every line has beside the head.
const COMMON_FIELDS: usize = 128;

/// What a frame carries.
#[derive(Clone, Copy, Debug)]
pub enum Content<'a> {
    /// Neither of the two: a blank stderr line.
    Nothing,
    /// Exactly one JSON value, without blanks around it.
    Raw(&'a [u8]),
    /// Anything else, or the kept prefix of a cut frame.
    Text(&'a [u8]),
}

impl<'a> Content<'a> {
    /// The decision of log-format 5.1.
    pub fn of(bytes: &'a [u8]) -> Self {
        match json::whole_value(bytes).and_then(|range| bytes.get(range)) {
            Some(value) => Self::Raw(value),
            None => Self::Text(bytes),
        }
    }
}

/// The place of a frame in the array that it came in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BatchPlace {
    /// Position, from 0.
    pub index: u32,
    /// Length of the array; 0 for the empty one.
    pub size: u32,
}

/// A stdio frame as the recorder sees it, for `Encoder::encode_frame`.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// Its number.
    pub seq: Seq,
    /// Instant of observation.
    pub ts: Timestamp,
    /// Who sent it.
    pub direction: &'a Direction,
    /// What it carries.
    pub content: Content<'a>,
    /// Length on the wire, terminator excluded. Above the length of a `Text`, or beside `Nothing`,
    /// it marks the frame as cut.
    pub length: u64,
    /// Its place in a batch.
    pub batch: Option<BatchPlace>,
}

/// Everything behind the payload that is not the HTTP fields.
#[derive(Debug, Default)]
struct Tail<'a> {
    batch: Option<BatchPlace>,
    truncated: bool,
    redacted: bool,
    wire_bytes: Option<u64>,
    raw_newlines: bool,
    text_b64: Option<&'a [u8]>,
    peek: Option<Peek>,
}

/// Writes envelopes of one session: the constant head is encoded once.
#[derive(Debug)]
pub struct Encoder {
    head: Vec<u8>,
    /// The second that was written last, as text up to the dot.
    second: Cell<(i64, [u8; 20])>,
    line_limit: usize,
}

impl Encoder {
    /// Prepares the head for a session.
    pub fn new(session_id: &str, server_label: &str) -> Self {
        let mut head = b"{\"session_id\":".to_vec();
        json::write_string(&mut head, session_id);
        head.extend_from_slice(b",\"server_label\":");
        json::write_string(&mut head, server_label);
        head.extend_from_slice(b",\"seq\":");
        Self {
            head,
            second: Cell::new((i64::MIN, [0; 20])),
            line_limit: LINE_LIMIT,
        }
    }

    /// Appends the line of `envelope`, LF included. Session id and label are the encoder's.
    pub fn encode(&self, envelope: &Envelope, out: &mut Vec<u8>) {
        let start = out.len();
        self.open(envelope.seq, envelope.ts, out);
        write_direction(out, &envelope.direction);
        write_transport(out, &envelope.transport);
        let mut tail = Tail {
            batch: envelope.batch.then_some(BatchPlace {
                index: envelope.batch_index,
                size: envelope.batch_size,
            }),
            truncated: envelope.truncated,
            redacted: envelope.redacted,
            wire_bytes: envelope.wire_bytes,
            raw_newlines: envelope.raw_newlines,
            text_b64: envelope.text_bytes.as_deref(),
            peek: envelope.peek.as_deref().cloned(),
        };
        match &envelope.payload {
            Payload::Nothing => {}
            Payload::Raw(raw) => tail.raw_newlines |= write_raw(out, raw.bytes()),
            Payload::Text(text) => {
                let (used, exact) = self.write_text(out, start, text);
                if used < text.len() {
                    tail.truncated = true;
                    tail.text_b64 = None;
                    tail.wire_bytes = tail.wire_bytes.or(Some(text.len() as u64));
                } else if !exact && !tail.truncated && text.len() <= EXACT_TEXT {
                    tail.text_b64 = tail.text_b64.or(Some(text));
                }
            }
        }
        close(&tail, envelope.http.as_deref(), out);
    }

    /// Appends the line of a stdio frame, LF included, without an envelope in between. Adds by
    /// itself `truncated`, `wire_bytes`, `raw_newlines`, `text_b64` and `peek` where they belong.
    pub fn encode_frame(&self, frame: &Frame<'_>, out: &mut Vec<u8>) {
        let start = out.len();
        self.open(frame.seq, Some(frame.ts), out);
        write_direction(out, frame.direction);
        write_transport(out, &Transport::Stdio);
        let mut tail = Tail {
            batch: frame.batch,
            ..Tail::default()
        };
        let kept = match frame.content {
            Content::Nothing => 0,
            Content::Raw(raw) => {
                tail.raw_newlines = write_raw(out, raw);
                raw.len()
            }
            Content::Text(text) => {
                tail.truncated = frame.length > text.len() as u64;
                let text = if tail.truncated {
                    whole_characters(text)
                } else {
                    text
                };
                let (used, exact) = self.write_text(out, start, text);
                tail.truncated |= used < text.len();
                if tail.truncated && *frame.direction != Direction::Stderr {
                    tail.peek = peek_of(text.get(..used).unwrap_or(text));
                }
                if !exact && !tail.truncated && text.len() <= EXACT_TEXT {
                    tail.text_b64 = Some(text);
                }
                text.len()
            }
        };
        tail.truncated |= matches!(frame.content, Content::Nothing) && frame.length > 0;
        if tail.truncated || frame.length != kept as u64 {
            tail.wire_bytes = Some(frame.length);
        }
        close(&tail, None, out);
    }

    fn open(&self, seq: Seq, ts: Option<Timestamp>, out: &mut Vec<u8>) {
        out.reserve(self.head.len() + COMMON_FIELDS);
        out.extend_from_slice(&self.head);
        write_number(out, seq.0);
        out.extend_from_slice(b",\"ts\":\"");
        if let Some(ts) = ts {
            self.write_time(ts, out);
        }
        out.push(b'"');
    }

    /// RFC 3339 with microseconds; the part up to the second is formatted once a second.
    fn write_time(&self, ts: Timestamp, out: &mut Vec<u8>) {
        let (mut second, mut text) = self.second.get();
        if second != ts.as_secs() {
            let shown = ts.to_string();
            let Some((head, _)) = shown.as_bytes().split_first_chunk::<20>() else {
                return;
            };
            if head.last() != Some(&b'.') {
                // A year with another number of digits.
                out.extend_from_slice(shown.as_bytes());
                return;
            }
            (second, text) = (ts.as_secs(), *head);
            self.second.set((second, text));
        }
        out.extend_from_slice(&text);
        let mut micros = ts.as_nanos().rem_euclid(1_000_000_000) / 1_000;
        let mut digits = *b"000000Z";
        for digit in digits.iter_mut().take(6).rev() {
            *digit += u8::try_from(micros % 10).unwrap_or(0);
            micros /= 10;
        }
        out.extend_from_slice(&digits);
    }

    /// Writes `text` unless it is empty; answers as `json::write_lossy`.
    fn write_text(&self, out: &mut Vec<u8>, line_start: usize, text: &[u8]) -> (usize, bool) {
        if text.is_empty() {
            return (0, true);
        }
        write_key(out, "text");
        let used = out.len() - line_start + TAIL_ROOM;
        json::write_lossy(out, text, self.line_limit.saturating_sub(used))
    }
}

/// Writes what lies behind the payload, in the order of log-format 4.2 and 4.3.
fn close(tail: &Tail<'_>, http: Option<&HttpFields>, out: &mut Vec<u8>) {
    if let Some(http) = http {
        write_routing(out, http);
    }
    write_true(out, "batch", tail.batch.is_some());
    if let Some(http) = http {
        write_some(out, "conn_id", http.conn_id.as_deref());
        write_count(out, "exchange", Some(http.exchange));
        write_true(out, "undelivered", http.undelivered);
    }
    write_true(out, "truncated", tail.truncated);
    write_true(out, "redacted", tail.redacted);
    if let Some(http) = http {
        write_status(out, http);
    }
    write_count(out, "wire_bytes", tail.wire_bytes);
    write_true(out, "raw_newlines", tail.raw_newlines);
    if let Some(exact) = tail.text_b64 {
        write_some(out, "text_b64", Some(&STANDARD.encode(exact)));
    }
    if let Some(peek) = &tail.peek {
        write_peek(out, peek);
    }
    if let Some(batch) = tail.batch {
        write_count(out, "batch_index", Some(u64::from(batch.index)));
        write_count(out, "batch_size", Some(u64::from(batch.size)));
    }
    if let Some(http) = http {
        write_extended(out, http);
    }
    out.extend_from_slice(b"}\n");
}

/// Copies a value; CR and LF, which can only lie between its tokens, become spaces. True when there
/// were any (log-format 5.3).
fn write_raw(out: &mut Vec<u8>, raw: &[u8]) -> bool {
    out.reserve(raw.len() + 16);
    out.extend_from_slice(b",\"raw\":");
    let start = out.len();
    out.extend_from_slice(raw);
    let Some(first) = memchr::memchr2(b'\r', b'\n', raw) else {
        return false;
    };
    for byte in out.iter_mut().skip(start + first) {
        if matches!(byte, b'\r' | b'\n') {
            *byte = b' ';
        }
    }
    true
}

/// A prefix without the beginning of a character that was cut (log-format 8.3.2).
fn whole_characters(text: &[u8]) -> &[u8] {
    for (back, byte) in text.iter().rev().take(3).enumerate() {
        let needed = match byte {
            0x80..=0xbf => continue,
            0xc2..=0xdf => 2,
            0xe0..=0xef => 3,
            0xf0..=0xf4 => 4,
            _ => 1,
        };
        if needed > back + 1 {
            return text.get(..text.len() - back - 1).unwrap_or(text);
        }
        break;
    }
    text
}

fn peek_of(prefix: &[u8]) -> Option<Peek> {
    let found = wire::peek_prefix(prefix);
    let peek = Peek {
        id: found.id.map(bytes::Bytes::copy_from_slice),
        method: found.method.map(Into::into),
        has: found.has.map(|has| has.as_str().into()),
    };
    (peek != Peek::default()).then_some(peek)
}

#[cfg(test)]
#[path = "encode_tests.rs"]
mod tests;
