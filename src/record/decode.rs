//! A log line to an envelope (log-format 9.1).

use std::sync::Arc;

use bytes::Bytes;

use super::{
    envelope::{Direction, Envelope, Payload, Seq, Transport},
    fields::{Found, Slot},
    place::Line,
};
use crate::{
    base::Timestamp,
    wire::{
        Raw,
        json::{self, Fields, SyntaxError},
    },
};

/// Why a line is no envelope.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotEnvelope {
    /// Not one JSON object.
    #[error("not a JSON object")]
    NotObject,
    /// Without `session_id`, `seq` ≥ 1 or `direction`.
    #[error("no session id, sequence number or direction")]
    NotEnvelope,
}

/// Reads lines; keeps the last session ids and labels so that equal ones share memory.
#[derive(Debug, Default)]
pub struct Decoder {
    ids: Recent,
    labels: Recent,
    connections: Recent,
}

impl Decoder {
    /// Reads one line (without LF) whose bytes the payload will share.
    ///
    /// # Errors
    /// When the line is not exactly one object, or that object is no envelope.
    pub fn decode(&mut self, line: Bytes) -> Result<Line, NotEnvelope> {
        let (envelope, end) = self
            .object(&line, 0)
            .map_err(|_place| NotEnvelope::NotObject)?;
        if json::skip_blanks(&line, end) < line.len() {
            return Err(NotEnvelope::NotObject);
        }
        let envelope = envelope.ok_or(NotEnvelope::NotEnvelope)?;
        Ok(Line {
            bytes: line,
            envelope,
        })
    }

    /// Reads one line and copies what it keeps.
    ///
    /// # Errors
    /// As `decode`.
    pub fn decode_slice(&mut self, line: &[u8]) -> Result<Envelope, NotEnvelope> {
        self.decode(Bytes::copy_from_slice(line))
            .map(|line| line.envelope)
    }

    /// Reads the object that begins at `at`, blanks before it skipped, in one pass: the envelope,
    /// `None` when the object is complete and no envelope, and the offset behind it.
    pub(super) fn object(
        &mut self,
        line: &Bytes,
        at: usize,
    ) -> Result<(Option<Envelope>, usize), SyntaxError> {
        let mut fields = Fields::new(line, at);
        let mut found = Found::new(line);
        while let Some(key) = fields.next_key()? {
            found.keep(key, fields.value(json::MAX_DEPTH)?);
        }
        Ok((self.envelope(&found), fields.at()))
    }

    fn envelope(&mut self, found: &Found<'_>) -> Option<Envelope> {
        let session_id = self.ids.share(found.string_value(Slot::SessionId)?);
        let seq = Seq(found.integer(Slot::Seq).filter(|seq| *seq >= 1)?);
        let direction = match found.string_value(Slot::Direction)? {
            b"\"c2s\"" => Direction::ClientToServer,
            b"\"s2c\"" => Direction::ServerToClient,
            b"\"stderr\"" => Direction::Stderr,
            b"\"meta\"" => Direction::Meta,
            other => Direction::parse(&json::string(other)?),
        };
        let transport = match found.string_value(Slot::Transport) {
            Some(b"\"stdio\"") => Transport::Stdio,
            Some(b"\"http\"") => Transport::Http,
            Some(other) => Transport::parse(&json::string(other)?),
            None => Transport::Unknown("".into()),
        };
        Some(Envelope {
            session_id,
            server_label: self
                .labels
                .share(found.string_value(Slot::ServerLabel).unwrap_or(b"\"\"")),
            seq,
            ts: found
                .text(Slot::Ts)
                .and_then(|text| Timestamp::parse(&text)),
            direction,
            transport,
            payload: payload(found),
            batch: found.is_true(Slot::Batch),
            batch_index: found.small(Slot::BatchIndex),
            batch_size: found.small(Slot::BatchSize),
            truncated: found.is_true(Slot::Truncated),
            redacted: found.is_true(Slot::Redacted),
            wire_bytes: found.integer(Slot::WireBytes),
            raw_newlines: found.is_true(Slot::RawNewlines),
            text_bytes: found.base64(Slot::TextB64),
            peek: found.peek().map(Box::new),
            http: found
                .http(|value| self.connections.share(value))
                .map(Box::new),
        })
    }
}

/// `raw` before `text`; only beside a text that says more, `"raw":null` is taken for nothing.
fn payload(found: &Found<'_>) -> Payload {
    let text = || {
        found
            .content(Slot::Text)
            .filter(|text| !text.is_empty())
            .map(Payload::Text)
    };
    match found.slice(Slot::Raw) {
        Some(raw) if raw == "null" => text().unwrap_or(Payload::Raw(Raw::new(raw))),
        Some(raw) => Payload::Raw(Raw::new(raw)),
        None => text().unwrap_or(Payload::Nothing),
    }
}

/// The strings that came last, so that equal ones share memory.
#[derive(Debug, Default)]
struct Recent {
    /// JSON as written, and its text; the one that was used last is in front.
    entries: Vec<(Box<[u8]>, Arc<str>)>,
}

impl Recent {
    /// Sessions that interleave in one log are few.
    const MOST: usize = 16;

    fn share(&mut self, value: &[u8]) -> Arc<str> {
        if let Some((written, text)) = self.entries.first()
            && **written == *value
        {
            return Arc::clone(text);
        }
        let known = self
            .entries
            .iter()
            .position(|(written, _)| **written == *value);
        if let Some(index) = known {
            self.entries.swap(0, index);
        } else {
            let text = json::string(value).unwrap_or_default().into();
            self.entries.truncate(Self::MOST - 1);
            self.entries.push((value.into(), text));
            let last = self.entries.len() - 1;
            self.entries.swap(0, last);
        }
        self.entries
            .first()
            .map_or_else(|| "".into(), |(_, text)| Arc::clone(text))
    }
}

#[cfg(test)]
#[path = "decode_tests.rs"]
mod tests;
