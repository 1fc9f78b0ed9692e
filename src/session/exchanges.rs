//! Waiting hops of HTTP exchanges (session-model.md 4.1, 8), found in steps of O(log n) however many
//! requests one exchange carries.

use std::{
    collections::{BTreeMap, BTreeSet},
    hash::BuildHasher as _,
};

use super::{
    hops::{HopEntry, HopId, Side},
    key::Key,
};
use crate::record::Seq;

/// What was said of all hops of an exchange that waited by then. Said again, it concerns only those
/// that came since.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Told {
    /// A response went by unread.
    Unobserved,
    /// The client closed it.
    Client,
    /// The server closed it.
    Server,
    /// The recorder ended it.
    Recorder,
}

/// Where a hop stands.
#[derive(Clone, Copy)]
pub(super) struct Place {
    exchange: u64,
    side: Side,
    seq: Seq,
    /// Hash of its id.
    key: Option<u64>,
}

/// All waiting hops that have an exchange, in the order of their requests.
#[derive(Debug, Default)]
pub(super) struct Exchanges {
    all: BTreeSet<(u64, Side, Seq, HopId)>,
    /// The same by hash of their id.
    by_key: BTreeSet<(u64, Side, u64, Seq, HopId)>,
    /// Subscriptions among them.
    streams: BTreeSet<(u64, Seq, HopId)>,
    /// Number of the record that told it.
    told: BTreeMap<(u64, Side, Told), Seq>,
    hasher: foldhash::fast::RandomState,
}

impl Exchanges {
    /// Where a hop stands.
    pub(super) fn place(&self, hop: &HopEntry) -> Place {
        let key = hop.key.as_ref().filter(|_| hop.exchange != 0);
        Place {
            exchange: hop.exchange,
            side: hop.side,
            seq: hop.seq,
            key: key.map(|key| self.hasher.hash_one(key)),
        }
    }

    /// Adds a hop.
    pub(super) fn add(&mut self, id: HopId, at: Place) {
        if at.exchange == 0 {
            return;
        }
        self.all.insert((at.exchange, at.side, at.seq, id));
        if let Some(key) = at.key {
            self.by_key.insert((at.exchange, at.side, key, at.seq, id));
        }
    }

    /// Notes that the answer of a hop that was added is a stream.
    pub(super) fn listens(&mut self, id: HopId, at: Place) {
        if at.exchange != 0 {
            self.streams.insert((at.exchange, at.seq, id));
        }
    }

    /// Takes a hop out.
    pub(super) fn remove(&mut self, id: HopId, at: Place) {
        if at.exchange == 0 {
            return;
        }
        self.all.remove(&(at.exchange, at.side, at.seq, id));
        if let Some(key) = at.key {
            self.by_key.remove(&(at.exchange, at.side, key, at.seq, id));
        }
        self.streams.remove(&(at.exchange, at.seq, id));
        if !self.told.is_empty() && self.is_idle(at.exchange) {
            for told in [Told::Unobserved, Told::Client, Told::Server, Told::Recorder] {
                for side in [Side::Client, Side::Server] {
                    self.told.remove(&(at.exchange, side, told));
                }
            }
        }
    }

    /// Hops that one side sent on an exchange, from a number on.
    fn since(
        &self,
        exchange: u64,
        side: Side,
        from: Seq,
    ) -> impl DoubleEndedIterator<Item = (Seq, HopId)> {
        let ends = (exchange, side, from, 0)..=(exchange, side, Seq(u64::MAX), HopId::MAX);
        self.all.range(ends).map(|(_, _, seq, id)| (*seq, *id))
    }

    /// Hops that one side sent on an exchange.
    pub(super) fn of(&self, exchange: u64, side: Side) -> impl DoubleEndedIterator<Item = HopId> {
        self.since(exchange, side, Seq(0)).map(|(_, id)| id)
    }

    /// The first of either side.
    pub(super) fn first(&self, exchange: u64) -> Option<HopId> {
        let sides = [Side::Client, Side::Server].into_iter();
        let firsts = sides.filter_map(|side| self.since(exchange, side, Seq(0)).next());
        firsts.min().map(|(_, id)| id)
    }

    /// The only one of a side.
    pub(super) fn only(&self, exchange: u64, side: Side) -> Option<HopId> {
        let mut all = self.of(exchange, side);
        all.next().filter(|_| all.next().is_none())
    }

    /// True when none waits.
    pub(super) fn is_idle(&self, exchange: u64) -> bool {
        self.first(exchange).is_none()
    }

    /// Those that may have this id, newest first.
    pub(super) fn with_key(
        &self,
        exchange: u64,
        side: Side,
        key: &Key,
    ) -> impl Iterator<Item = HopId> {
        let hash = self.hasher.hash_one(key);
        let ends =
            (exchange, side, hash, Seq(0), 0)..=(exchange, side, hash, Seq(u64::MAX), HopId::MAX);
        self.by_key.range(ends).rev().map(|(.., id)| *id)
    }

    /// Subscriptions, oldest first.
    pub(super) fn streams(&self, exchange: u64) -> impl Iterator<Item = HopId> {
        let ends = (exchange, Seq(0), 0)..=(exchange, Seq(u64::MAX), HopId::MAX);
        self.streams.range(ends).map(|(.., id)| *id)
    }

    /// True when the server closed the exchange after a request that waits on it still.
    pub(super) fn was_closed(&self, exchange: u64, seq: Seq) -> bool {
        let told = self.told.get(&(exchange, Side::Client, Told::Server));
        told.is_some_and(|told| *told > seq)
    }

    /// Tells something of the hops of one side; answers those of which it was not told yet.
    pub(super) fn tell(&mut self, exchange: u64, side: Side, told: Told, seq: Seq) -> Vec<HopId> {
        let before = self.told.get(&(exchange, side, told)).copied();
        let from = before.map_or(Seq(0), |before| Seq(before.0.saturating_add(1)));
        let new: Vec<_> = self.since(exchange, side, from).map(|(_, id)| id).collect();
        if !self.is_idle(exchange) {
            let last = seq.max(before.unwrap_or_default());
            self.told.insert((exchange, side, told), last);
        }
        new
    }
}
