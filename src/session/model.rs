//! The fold over all sessions, and the memory that they share (session-model.md 2, 22).

use std::{cmp::Reverse, collections::BinaryHeap, sync::Arc};

use super::{
    fact::Fact,
    hash::Map,
    order::{Order, OrderKey},
    session::{Session, Source},
};
use crate::{
    base::Timestamp,
    record::{Envelope, HostName, Place, Seq, SessionKey},
};

/// What the model may hold (session-model.md 22.1); `None` is no limit.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Bytes of bodies over all sessions.
    pub body_bytes: Option<u64>,
    /// Rows over all sessions.
    pub rows: Option<u64>,
}

impl Limits {
    /// A viewer of live sessions: 64 MiB of bodies, 200,000 rows.
    pub const LIVE: Self = Self {
        body_bytes: Some(64 << 20),
        rows: Some(200_000),
    };
    /// A viewer of one log: all rows, 64 MiB of bodies; released ones are read back.
    pub const FILE: Self = Self {
        body_bytes: Some(64 << 20),
        rows: None,
    };
    /// All rows and no bodies: for whoever reads facts alone, in order of the numbers.
    pub const FACTS: Self = Self {
        body_bytes: Some(0),
        rows: None,
    };
    /// Everything.
    pub const NONE: Self = Self {
        body_bytes: None,
        rows: None,
    };
}

/// All sessions.
#[derive(Debug)]
pub struct Model {
    limits: Limits,
    sessions: Vec<Option<Box<Session>>>,
    /// Places of sessions that were removed.
    free: Vec<usize>,
    index: Map<SessionKey, usize>,
    order: Order,
    /// Hosts whose link is down.
    down: Vec<HostName>,
    /// Only numbers that were given up are missing.
    follows: bool,
    body_bytes: u64,
    rows: u64,
}

impl Model {
    /// An empty model of a feed: only numbers that `gap` gave up are missing, all other unseen
    /// ones may still come.
    pub fn following(limits: Limits) -> Self {
        Self {
            follows: true,
            ..Self::new(limits)
        }
    }

    /// An empty model: every unseen number of a session that is not loading is missing.
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            sessions: Vec::new(),
            free: Vec::new(),
            index: Map::default(),
            order: Order::default(),
            down: Vec::new(),
            follows: false,
            body_bytes: 0,
            rows: 0,
        }
    }

    /// Folds one envelope. `arrived` is the local arrival of a live frame. Equal repeats have no
    /// effect.
    pub fn ingest(
        &mut self,
        key: &SessionKey,
        envelope: &Envelope,
        place: Option<&Place>,
        arrived: Option<Timestamp>,
        facts: &mut Vec<Fact>,
    ) {
        let at = self.at_or_new(key, facts);
        self.with(at, |session| {
            session.take(envelope, place, arrived, facts);
        });
        self.keep_bounds(Newest(at, envelope.seq));
    }

    /// Changes a session; the shared figures follow.
    fn with(&mut self, at: usize, change: impl FnOnce(&mut Session)) {
        if let Some(session) = self.sessions.get_mut(at).and_then(Option::as_mut) {
            let weigh = |session: &Session| {
                (
                    session.held_bytes + session.late.bytes(),
                    session.row_count() as u64,
                )
            };
            let (first, label) = (session.first(), Arc::clone(session.label()));
            let before = weigh(session);
            change(session);
            let after = weigh(session);
            if first != session.first() || label != *session.label() {
                self.order
                    .remove(&OrderKey::new(first, session.key(), label));
                self.order.insert(OrderKey::of(session), at);
            }
            self.body_bytes = (self.body_bytes + after.0).saturating_sub(before.0);
            self.rows = (self.rows + after.1).saturating_sub(before.1);
        }
    }

    fn at_or_new(&mut self, key: &SessionKey, facts: &mut Vec<Fact>) -> usize {
        if let Some(at) = self.index.get(key) {
            return *at;
        }
        facts.push(Fact::NewSession);
        let up = !self.down.contains(&key.host);
        let holds = self.limits.body_bytes != Some(0);
        let session = Box::new(Session::new(key.clone(), up, self.follows, holds));
        let at = self.free.pop().unwrap_or(self.sessions.len());
        self.order.insert(OrderKey::of(&session), at);
        match self.sessions.get_mut(at) {
            Some(place) => *place = Some(session),
            None => self.sessions.push(Some(session)),
        }
        self.index.insert(key.clone(), at);
        at
    }

    /// Something of the session may still come from a log (true), or all was read (false).
    pub fn set_loading(&mut self, key: &SessionKey, loading: bool) {
        if let Some(session) = self.session_mut(key) {
            session.loading = loading;
        }
    }

    /// The link to the host is up (true) or down (false): while down nothing is called missing.
    pub fn set_link(&mut self, host: &HostName, up: bool) {
        self.down.retain(|known| known != host);
        if !up {
            self.down.push(host.clone());
        }
        for session in self.sessions.iter_mut().flatten() {
            if session.key.host == *host {
                session.link_up = up;
            }
        }
    }

    /// Numbers that nothing can deliver any more.
    pub fn gap(&mut self, key: &SessionKey, from: Seq, to: Seq) {
        if let Some(session) = self.session_mut(key) {
            session.given_up.insert_range(from, to);
        }
    }

    /// Numbers of a gap that turned up; their frames follow.
    pub fn gap_filled(&mut self, key: &SessionKey, from: Seq, to: Seq) {
        if let Some(session) = self.session_mut(key) {
            session.given_up.remove_range(from, to);
        }
    }

    /// Two contents of one number were seen by the source; one was kept.
    pub fn conflict(&mut self, key: &SessionKey, seq: Seq) {
        if let Some(session) = self.session_mut(key) {
            session.conflict(seq);
        }
    }

    /// Whether frames may still come.
    pub fn set_source(&mut self, key: &SessionKey, source: Source) {
        if let Some(session) = self.session_mut(key) {
            session.source = source;
        }
    }

    /// Sorts in late frames that were collected (session-model.md 2.2.2); at most once a second live.
    pub fn settle(&mut self, facts: &mut Vec<Fact>) {
        for at in 0..self.sessions.len() {
            let mut changed = false;
            self.with(at, |session| changed = session.settle(facts));
            if changed {
                let newest = self
                    .session_at(at)
                    .and_then(|session| session.machine.rows.last_id());
                self.keep_bounds(Newest(at, newest.unwrap_or_default().seq));
            }
        }
    }

    /// Takes a session out and gives its memory back.
    pub fn remove(&mut self, key: &SessionKey) -> bool {
        let Some(at) = self.index.remove(key) else {
            return false;
        };
        let Some(session) = self.sessions.get_mut(at).and_then(Option::take) else {
            return false;
        };
        self.free.push(at);
        self.order.remove(&OrderKey::of(&session));
        let bytes = session.held_bytes + session.late.bytes();
        self.body_bytes = self.body_bytes.saturating_sub(bytes);
        self.rows = self.rows.saturating_sub(session.row_count() as u64);
        true
    }

    /// One session.
    pub fn session(&self, key: &SessionKey) -> Option<&Session> {
        self.session_at(*self.index.get(key)?)
    }

    /// All sessions, by first time stamp, then id.
    pub fn sessions(&self) -> impl Iterator<Item = &Session> {
        self.order.all().filter_map(|at| self.session_at(at))
    }

    /// The sessions of a host that have the label of this one, itself included, in no order.
    pub fn namesakes(&self, session: &Session) -> impl Iterator<Item = &Session> {
        let places = self.order.namesakes(session).iter();
        places.filter_map(|at| self.session_at(*at))
    }

    /// Bytes of bodies held.
    pub fn body_bytes(&self) -> u64 {
        self.body_bytes
    }

    fn session_at(&self, at: usize) -> Option<&Session> {
        self.sessions.get(at)?.as_deref()
    }

    fn session_mut(&mut self, key: &SessionKey) -> Option<&mut Session> {
        let at = *self.index.get(key)?;
        self.sessions.get_mut(at)?.as_deref_mut()
    }

    /// Releases bodies and drops rows above the limits, oldest first over all sessions; a little
    /// more than needed, so that it is not done for every frame.
    fn keep_bounds(&mut self, newest: Newest) {
        if let Some(limit) = self.limits.body_bytes
            && self.body_bytes > limit
        {
            self.oldest_first(
                |at, session| session.next_held_ts(newest.filter_at(at)),
                Session::release_next,
                |model| model.body_bytes > limit - limit / 32,
            );
        }
        if let Some(limit) = self.limits.rows
            && self.rows > limit
        {
            self.oldest_first(
                |at, session| session.front_ts(newest.filter_at(at)),
                Session::drop_front,
                |model| model.rows > limit - limit / 256,
            );
        }
    }

    /// Does `step` to the session whose next row is the oldest, while `more` says so.
    fn oldest_first(
        &mut self,
        next: impl Fn(usize, &mut Session) -> Option<i64>,
        step: impl Fn(&mut Session),
        more: impl Fn(&Self) -> bool,
    ) {
        let mut order = BinaryHeap::new();
        for (at, session) in self.sessions.iter_mut().enumerate() {
            if let Some(ts) = session.as_mut().and_then(|session| next(at, session)) {
                order.push(Reverse((ts, at)));
            }
        }
        while more(self)
            && let Some(Reverse((_, at))) = order.pop()
        {
            self.with(at, &step);
            if let Some(ts) = self
                .sessions
                .get_mut(at)
                .and_then(Option::as_mut)
                .and_then(|session| next(at, session))
            {
                order.push(Reverse((ts, at)));
            }
        }
    }
}

/// The frame that came last: it is never released.
#[derive(Clone, Copy)]
struct Newest(usize, Seq);

impl Newest {
    /// Its number, if it is of the session at this index.
    fn filter_at(self, at: usize) -> Option<Seq> {
        (self.0 == at).then_some(self.1)
    }
}

impl Session {
    /// Time of what leaves next: the records of the recorder, then the oldest row with bytes in
    /// memory, the newest row left out.
    fn next_held_ts(&mut self, newest: Option<Seq>) -> Option<i64> {
        if let Some(oldest) = self.metas.oldest() {
            return Some(oldest);
        }
        let mut position = self.machine.rows.lower_bound(self.next_held);
        while let Some(row) = self.machine.rows.get(position) {
            if row.held.is_some() {
                self.next_held = row.id();
                let is_newest = Some(row.id().seq) == newest;
                return (!is_newest).then(|| row.ts().map_or(i64::MIN, Timestamp::as_nanos));
            }
            position += 1;
        }
        None
    }

    fn release_next(&mut self) {
        if self.metas.oldest().is_some() {
            self.is_whole_no_more();
            return;
        }
        let row = self.machine.rows.by_id_mut(self.next_held);
        if let Some(held) = row.and_then(|row| row.held.take()) {
            self.held_bytes = self.held_bytes.saturating_sub(held.charge);
            self.is_whole_no_more();
        }
    }

    /// Time of the oldest row, the newest row left out.
    fn front_ts(&mut self, newest: Option<Seq>) -> Option<i64> {
        let row = self.machine.rows.first()?;
        let is_newest = self.machine.rows.len() == 1 && Some(row.id().seq) == newest;
        (!is_newest).then(|| row.ts().map_or(i64::MIN, Timestamp::as_nanos))
    }

    fn drop_front(&mut self) {
        let Some(row) = self.machine.rows.pop_front() else {
            return;
        };
        if let Some(held) = &row.held {
            self.held_bytes = self.held_bytes.saturating_sub(held.charge);
        }
        self.is_whole_no_more();
        self.machine.counters.dropped_from_memory += 1;
        self.machine.row_dropped(row.id(), row.call());
    }
}
