//! Released bodies of rows on screen: read back in the background and kept while their rows are near,
//! so that a row says what it would say with its body in memory (tui.md 6.3, I7).

use std::collections::{HashMap, HashSet};

use super::{
    app::{App, Screen},
    detail::{Described, Words, describe, with_part},
    event::Effect,
    ink::Ink,
    layout::Regions,
    readback::part_of,
    theme::Role,
};
use crate::{
    base::{ByteCount, Shown, Timestamp},
    feed::{BodyOutcome, FeedRequest},
    record::{Decoder, Payload, Place, Seq, SessionKey},
    session::{Body, Row, RowId, Session},
};

/// Most bodies asked for at a time: beside those that a filter asks for they fit what a source queues.
const IN_FLIGHT: usize = 64;
/// A line above this is read only when its frame is opened: a row needs its beginning alone.
const LARGEST: u32 = 256 << 10;
/// Bytes kept; what is on screen is asked for first, what lies a page around it after.
const BYTES_KEPT: usize = 16 << 20;
/// Without an answer for so long a body is asked for again.
const SILENCE_NANOS: i64 = 30_000_000_000;

/// Bodies of one session that were read back.
#[derive(Debug, Default)]
pub(super) struct Bodies {
    key: Option<SessionKey>,
    /// Frames near the screen; the bodies of others are not kept.
    near: HashSet<Seq>,
    /// What was read, or why it cannot be had.
    read: HashMap<Seq, Result<Payload, Shown>>,
    bytes: usize,
    asked: HashMap<(SessionKey, Seq), Timestamp>,
}

impl Bodies {
    /// What is known of a frame's body.
    fn get(&self, key: &SessionKey, seq: Seq) -> Option<&Result<Payload, Shown>> {
        (self.key.as_ref() == Some(key))
            .then(|| self.read.get(&seq))
            .flatten()
    }

    /// Forgets what is not near any more.
    fn keep(&mut self, key: &SessionKey, near: HashSet<Seq>) {
        if self.key.as_ref() != Some(key) {
            self.read.clear();
            self.key = Some(key.clone());
        }
        self.near = near;
        let near = &self.near;
        self.read.retain(|seq, _| near.contains(seq));
        self.bytes = self.read.values().map(length).sum();
    }

    /// True while a row on screen waits for this body.
    pub(super) fn is_asked(&self, key: &SessionKey, seq: Seq) -> bool {
        self.asked.contains_key(&(key.clone(), seq))
    }

    fn is_full(&self) -> bool {
        self.bytes >= BYTES_KEPT
    }

    fn may_ask(&self, key: &SessionKey, seq: Seq) -> bool {
        self.asked.len() < IN_FLIGHT
            && !self.is_full()
            && !self.read.contains_key(&seq)
            && !self.is_asked(key, seq)
    }

    fn expire(&mut self, now: Timestamp) {
        self.asked
            .retain(|_, at| now.nanos_since(*at) < SILENCE_NANOS);
    }

    fn put(&mut self, key: &SessionKey, seq: Seq, body: Result<Payload, Shown>) {
        if self.key.as_ref() == Some(key) && self.near.contains(&seq) {
            self.bytes = self.bytes.saturating_add(length(&body));
            self.read.insert(seq, body);
        }
    }
}

fn length(body: &Result<Payload, Shown>) -> usize {
    match body {
        Ok(Payload::Raw(raw)) => raw.bytes().len(),
        Ok(Payload::Text(text)) => text.len(),
        Ok(Payload::Nothing) | Err(_) => 0,
    }
}

impl App {
    /// A row with its body, in memory or read back.
    pub(super) fn row<'s>(&self, session: &'s Session, id: RowId) -> Option<Row<'s>> {
        let mut row = session.row(session.position(id)?)?;
        if matches!(row.body, Body::Released)
            && let Some(Ok(payload)) = self.bodies.get(session.key(), id.seq)
        {
            let (bytes, json) = part_of(payload, id);
            row.body = Body::Held { bytes, json };
        }
        Some(row)
    }

    /// Describes a row; where its body is not here, says what is with it.
    pub(super) fn describe(&self, session: &Session, row: &Row<'_>, words: Words) -> Described {
        let signs = &self.settings.signs;
        let mut described = describe(row, session, words, signs);
        if matches!(row.body, Body::Released) {
            let absent = self.absent(session, row);
            described.detail = with_part(described.detail, absent, signs);
        }
        described
    }

    /// What is said in place of a body that is not here.
    pub(super) fn absent(&self, session: &Session, row: &Row<'_>) -> Ink {
        let key = session.key();
        let Some(place) = &row.place else {
            return Ink::lit(Role::Muted, "body not in memory, and no log is known");
        };
        if let Some(Err(reason)) = self.bodies.get(key, row.id.seq) {
            return Ink::lit(Role::Muted, "body not available: ").and(Role::Muted, reason.clone());
        }
        let is_asked = self.bodies.is_asked(key, row.id.seq);
        if place.length > LARGEST || (self.bodies.is_full() && !is_asked) {
            let size = ByteCount(row.size);
            return Ink::say(Role::Muted, format!("{size} on disk, enter shows it"));
        }
        if self.outside.is_down(&key.host) {
            return Ink::lit(Role::Muted, "body on disk");
        }
        Ink::lit(Role::Muted, self.settings.signs.dots)
    }

    /// Asks for the bodies of rows on screen and a page around it that memory has released.
    pub(super) fn ask_rows(&mut self) {
        let is_shown = matches!(
            self.stack.last(),
            Some(Screen::Stream(_) | Screen::Inspector(_))
        );
        let Some(key) = self.stream_key().filter(|_| is_shown).cloned() else {
            return;
        };
        let near = self.released_near(&key);
        self.bodies
            .keep(&key, near.iter().map(|(seq, _)| *seq).collect());
        self.bodies.expire(self.now);
        if self.outside.is_down(&key.host) {
            return;
        }
        for (seq, place) in near {
            if place.length <= LARGEST && self.bodies.may_ask(&key, seq) {
                self.bodies.asked.insert((key.clone(), seq), self.now);
                if self.readback.is_asked(&key, seq) {
                    // One answer serves both.
                    continue;
                }
                let key = key.clone();
                let request = FeedRequest::ReadBody { key, seq, place };
                self.effects.push(Effect::Ask(request));
            }
        }
    }

    /// Frames without their bodies in the order of need: the pair of the one that is inspected, what
    /// is on screen, a page below, a page above.
    fn released_near(&self, key: &SessionKey) -> Vec<(Seq, Place)> {
        let (Some(session), Some(state)) = (self.session(key), self.streams.get(key)) else {
            return Vec::new();
        };
        let page = usize::from(Regions::of(self.size.0, self.size.1).rows());
        let below = state.top.saturating_add(page);
        let listed = (state.top..below.saturating_add(page))
            .chain(state.top.saturating_sub(page)..state.top)
            .filter_map(|index| state.picks.id_at(session, index));
        let pair = match self.stack.last() {
            Some(Screen::Inspector(state)) => pair_of(session, state.id),
            _ => Vec::new(),
        };
        let released = |id: RowId| {
            let row = session.row(session.position(id)?)?;
            let place = row.place.filter(|_| matches!(row.body, Body::Released))?;
            Some((id.seq, place))
        };
        let ids = pair.into_iter().chain(state.selected).chain(listed);
        ids.filter_map(released).collect()
    }

    /// Takes a body that may have been asked for by a row on screen.
    pub(super) fn row_body(&mut self, key: &SessionKey, seq: Seq, outcome: &BodyOutcome) {
        self.bodies.asked.remove(&(key.clone(), seq));
        let body = match outcome {
            BodyOutcome::Line(line) => Decoder::default()
                .decode(line.clone())
                .map(|line| line.envelope.payload)
                .map_err(|_unreadable| Shown::literal("the line in the log is no frame any more")),
            // It is asked for again once the link is back.
            BodyOutcome::Unavailable(_) if self.outside.is_down(&key.host) => return,
            BodyOutcome::Unavailable(reason) => Err(Shown::row(reason.as_bytes())),
        };
        self.bodies.put(key, seq, body);
    }
}

/// Request and answer of the hop that a frame belongs to.
fn pair_of(session: &Session, id: RowId) -> Vec<RowId> {
    let row = session.position(id).and_then(|at| session.row(at));
    let call = row
        .and_then(|row| row.call)
        .and_then(|call| session.call(call));
    let hop = call.and_then(|call| {
        let mut hops = call.hops.iter();
        hops.find(|hop| hop.request == id || hop.answer == Some(id))
            .map(|hop| (hop.request, hop.answer))
    });
    hop.map_or_else(Vec::new, |(request, answer)| {
        std::iter::once(request).chain(answer).collect()
    })
}
