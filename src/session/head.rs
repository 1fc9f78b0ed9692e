//! What the envelopes themselves say of a session: label, transport, command, end
//! (session-model.md 2.4, log-format 8).

use std::sync::Arc;

use crate::{
    base::Timestamp,
    record::{Envelope, Payload, Transport},
    wire::json,
};

/// Words of a command that are kept.
const MAX_WORDS: usize = 256;

/// Fields of the session.
#[derive(Debug, Default)]
pub(super) struct Head {
    pub(super) label: Arc<str>,
    pub(super) transport: Option<Transport>,
    pub(super) command: Option<Vec<String>>,
    pub(super) cwd: Option<String>,
    pub(super) target: Option<String>,
    /// The recorder's level; 7 numbers both directions in one order (session-model.md 4.4, M6).
    pub(super) format: u64,
    pub(super) dropped: Option<u64>,
    pub(super) end: Option<(Option<i32>, Option<String>)>,
    /// Who closed first, in the word of the `end` record.
    pub(super) closed_by: Option<String>,
    /// The server was the first to close.
    pub(super) closed_by_server: bool,
    pub(super) first: Option<Timestamp>,
    pub(super) last: Option<Timestamp>,
}

/// A control record that matters to calls.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Control {
    /// Nothing beyond the head.
    None,
    /// A request body that could not be read.
    Unobserved,
}

impl Head {
    /// Takes what every envelope carries.
    pub(super) fn take(&mut self, envelope: &Envelope) {
        if let Some(ts) = envelope.ts.filter(|ts| ts.as_nanos() != 0) {
            self.first = Some(self.first.map_or(ts, |first| first.min(ts)));
            self.last = Some(self.last.map_or(ts, |last| last.max(ts)));
        }
        if !envelope.server_label.is_empty() && !Arc::ptr_eq(&self.label, &envelope.server_label) {
            self.label = Arc::clone(&envelope.server_label);
        }
        if self.transport.is_none() {
            let empty = matches!(&envelope.transport, Transport::Unknown(word) if word.is_empty());
            self.transport = (!empty).then(|| envelope.transport.clone());
        }
    }

    /// Takes a start or control record; an unreadable one changes nothing.
    pub(super) fn control(&mut self, envelope: &Envelope) -> Control {
        let Payload::Raw(raw) = &envelope.payload else {
            return Control::None;
        };
        let mut event = None;
        let (mut dropped, mut code, mut signal) = (None, None, None);
        let mut closer = None;
        for (name, value) in json::members(raw.bytes()) {
            match name {
                b"command" if value.starts_with(b"[") => {
                    let words = json::elements(value).take(MAX_WORDS);
                    let words: Vec<String> = words
                        .filter_map(|word| json::string(word).map(std::borrow::Cow::into_owned))
                        .collect();
                    self.command = Some(words);
                }
                b"cwd" => self.cwd = text(value).or(self.cwd.take()),
                b"target" => self.target = text(value).or(self.target.take()),
                b"format" => self.format = number(value).unwrap_or(self.format),
                b"event" => event = text(value),
                b"dropped" => dropped = number(value),
                b"exit_code" => code = number::<i32>(value),
                b"signal" => signal = text(value),
                b"closed_by" => closer = text(value),
                _ => {}
            }
        }
        match event.as_deref() {
            Some("end") => {
                self.dropped = dropped.or(self.dropped);
                self.end = Some((code, signal));
                self.closed_by_server = closer.as_deref() == Some("server");
                self.closed_by = closer;
                Control::None
            }
            Some("unobserved") => Control::Unobserved,
            _ => Control::None,
        }
    }
}

fn text(value: &[u8]) -> Option<String> {
    json::string(value)
        .map(std::borrow::Cow::into_owned)
        .filter(|text| !text.is_empty())
}

fn number<T: std::str::FromStr>(value: &[u8]) -> Option<T> {
    std::str::from_utf8(value).ok()?.parse().ok()
}
