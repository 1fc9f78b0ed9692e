//! Reads released bodies back for the filter: newest first, a bounded number in flight, given up when
//! the filter changes (tui.md G7).

use std::collections::HashMap;

use bytes::Bytes;

use super::{app::App, event::Effect, older};
use crate::{
    base::Timestamp,
    feed::{BodyOutcome, FeedRequest},
    record::{Decoder, Payload, Seq, SessionKey},
    session::RowId,
    wire::json,
};

/// Most bodies asked for at a time: half of what a source queues, so that a frame that is inspected
/// still finds room.
const IN_FLIGHT: usize = 128;
/// Most bytes asked for at a time; one larger body is asked for alone.
const BYTES_IN_FLIGHT: u64 = 8 << 20;
/// Without any answer for so long the requests count as lost and are made again.
const SILENCE_NANOS: i64 = 30_000_000_000;

/// Requests that are not answered yet, whichever filter made them.
#[derive(Debug, Default)]
pub(super) struct Readback {
    asked: HashMap<(SessionKey, Seq), u64>,
    bytes: u64,
    heard: Timestamp,
}

impl Readback {
    fn has_room(&self) -> bool {
        self.asked.len() < IN_FLIGHT && self.bytes < BYTES_IN_FLIGHT
    }

    /// True while the filter waits for this body.
    pub(super) fn is_asked(&self, key: &SessionKey, seq: Seq) -> bool {
        self.asked.contains_key(&(key.clone(), seq))
    }

    fn put(&mut self, key: SessionKey, seq: Seq, length: u64) {
        if self.asked.insert((key, seq), length).is_none() {
            self.bytes += length;
        }
    }

    fn answered(&mut self, key: &SessionKey, seq: Seq, now: Timestamp) {
        if let Some(length) = self.asked.remove(&(key.clone(), seq)) {
            self.bytes = self.bytes.saturating_sub(length);
        }
        self.heard = now;
    }
}

impl App {
    /// Asks for the next bodies that the filter on screen needs.
    pub(super) fn ask_bodies(&mut self) {
        let Some(key) = self.stream_key().cloned() else {
            return;
        };
        if self.outside.is_down(&key.host) {
            return;
        }
        let (Some(state), Some(session)) = (
            self.streams.get_mut(&key),
            older::shown(self.older.as_ref(), &self.analyzer, &key),
        ) else {
            return;
        };
        while self.readback.has_room() {
            let Some(id) = state.picks.next_unread() else {
                return;
            };
            let row = session
                .position(id)
                .and_then(|position| session.row(position));
            let Some(place) = row.and_then(|row| row.place) else {
                state.picks.unreadable(id);
                continue;
            };
            if self.readback.asked.is_empty() {
                self.readback.heard = self.now;
            }
            if self.readback.is_asked(&key, id.seq) {
                continue;
            }
            self.readback
                .put(key.clone(), id.seq, u64::from(place.length));
            if self.bodies.is_asked(&key, id.seq) {
                // One answer serves both.
                continue;
            }
            self.effects.push(Effect::Ask(FeedRequest::ReadBody {
                key: key.clone(),
                seq: id.seq,
                place,
            }));
        }
    }

    /// Takes a body that may have been asked for by a filter.
    pub(super) fn filter_body(&mut self, key: &SessionKey, seq: Seq, outcome: &BodyOutcome) {
        self.readback.answered(key, seq, self.now);
        let is_down = self.outside.is_down(&key.host);
        let (Some(state), Some(session)) = (
            self.streams.get_mut(key),
            older::shown(self.older.as_ref(), &self.analyzer, key),
        ) else {
            return;
        };
        let added = state
            .picks
            .body_came(session, seq, is_down, |id| match outcome {
                BodyOutcome::Line(line) => payload(line, id),
                BodyOutcome::Unavailable(_) => None,
            });
        if !state.follow {
            state.added += added;
        }
    }

    /// Requests that nobody answered are made again.
    pub(super) fn ask_bodies_again(&mut self) {
        if self.readback.asked.is_empty()
            || self.now.nanos_since(self.readback.heard) < SILENCE_NANOS
        {
            return;
        }
        self.readback = Readback::default();
        for state in self.streams.values_mut() {
            state.picks.ask_again();
        }
    }
}

/// The payload of a row out of the line of its frame, and whether it is JSON.
pub(super) fn payload(line: &Bytes, id: RowId) -> Option<(Bytes, bool)> {
    let line = Decoder::default().decode(line.clone()).ok()?;
    Some(part_of(&line.envelope.payload, id))
}

/// The part of a frame's payload that a row stands for: an element of an array, else all of it.
pub(super) fn part_of(payload: &Payload, id: RowId) -> (Bytes, bool) {
    match payload {
        Payload::Raw(raw) => {
            let whole = raw.bytes();
            let index = usize::try_from(id.index).unwrap_or(0);
            let element = json::element_ranges(whole)
                .nth(index)
                .filter(|_| whole.first() == Some(&b'['));
            let bytes = element.map_or_else(|| whole.clone(), |range| whole.slice(range));
            (bytes, true)
        }
        Payload::Text(text) => (text.clone(), false),
        Payload::Nothing => (Bytes::new(), false),
    }
}
