//! Request frames by id, exchange and progress token, and the search for the one that an answer
//! belongs to (session-model.md 4.4).

use std::{collections::VecDeque, sync::Arc};

use smallvec::SmallVec;

pub(super) use super::client_key::ClientKey;
use super::{asked::Asked, call::CallId, hash::Map, hop_index::HopIndex, key::Key};
use crate::record::Seq;

/// Hops that no longer wait and are remembered (session-model.md 22.3).
const MAX_DONE: usize = 65_536;
/// Hops by which the table grows.
const GROWTH: usize = 4_096;
/// Hops of one id that are looked at.
const MAX_EQUAL: usize = 128;
/// Hops on other connections beyond which an answer is ambiguous (session-model.md 4.4, M3).
const MAX_ELSEWHERE: usize = 64;
/// Hops of one token that are looked at.
const MAX_TOKEN: usize = 16;

/// Who sent a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Side {
    Client,
    Server,
}

impl Side {
    pub(super) fn other(self) -> Self {
        match self {
            Self::Client => Self::Server,
            Self::Server => Self::Client,
        }
    }
}

/// A value for each of the two senders.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PerSide<T> {
    client: T,
    server: T,
}

impl<T> PerSide<T> {
    pub(super) fn of(&mut self, side: Side) -> &mut T {
        match side {
            Side::Client => &mut self.client,
            Side::Server => &mut self.server,
        }
    }
}

/// Place of a hop in the table.
pub(super) type HopId = u32;

/// One request frame.
#[derive(Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent marks, not states of one machine"
)]
pub(super) struct HopEntry {
    pub(super) call: CallId,
    /// Which of the call's hops.
    pub(super) at: u32,
    /// Who sent the request.
    pub(super) side: Side,
    pub(super) key: Option<Key>,
    pub(super) conn: u32,
    pub(super) exchange: u64,
    pub(super) client: ClientKey,
    pub(super) answered: bool,
    /// Unanswered, and its call is open.
    pub(super) waiting: bool,
    pub(super) token: Option<Key>,
    /// Hash of the parameters that a retry repeats.
    pub(super) base: Option<u64>,
    /// Number of the request frame.
    pub(super) seq: Seq,
    /// The request declared a revision of 2026-07-28 or later (true), an earlier one (false), or
    /// none that says anything.
    pub(super) declared: Option<bool>,
    /// The same of what it declared, else of what was negotiated (session-model.md 14.1).
    pub(super) effective: Option<bool>,
    /// The request asked for a task, or its parameters are unknown.
    pub(super) wants_task: bool,
    pub(super) task_id: Option<Arc<str>>,
    /// What the request asked for, where its result may be a listing or cached.
    pub(super) asked: Option<Box<Asked>>,
    /// Tool and arguments as one number; 0 when there is none (session-model.md 18).
    pub(super) signature: u64,
}

/// What an answer is known by.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted<'a> {
    /// Who sent the request.
    pub(super) side: Side,
    pub(super) key: Option<&'a Key>,
    pub(super) conn: u32,
    pub(super) exchange: u64,
    pub(super) client: ClientKey,
    pub(super) http: bool,
    /// Its id says nothing: redacted, cut off, or `null` on an error.
    pub(super) nameless: bool,
    /// It is an error with an HTTP status of 400 and above.
    pub(super) refused: bool,
}

/// All hops that can still be named.
#[derive(Debug, Default)]
pub(super) struct Hops {
    slots: Vec<Option<HopEntry>>,
    free: Vec<HopId>,
    by_key: HopIndex,
    /// Waiting hops of an exchange.
    by_exchange: Map<u64, SmallVec<[HopId; 2]>>,
    by_token: HopIndex,
    /// Waiting requests of the client, by connection.
    waiting_on: Map<u32, u32>,
    done: VecDeque<HopId>,
}

impl Hops {
    pub(super) fn get(&self, id: HopId) -> Option<&HopEntry> {
        self.slots.get(usize::try_from(id).ok()?)?.as_ref()
    }

    /// What a request asked for; its first answer takes it.
    pub(super) fn take_asked(&mut self, id: HopId) -> Option<Box<Asked>> {
        self.get_mut(id)?.asked.take()
    }

    fn get_mut(&mut self, id: HopId) -> Option<&mut HopEntry> {
        self.slots.get_mut(usize::try_from(id).ok()?)?.as_mut()
    }

    /// Adds a waiting hop.
    pub(super) fn add(&mut self, entry: HopEntry) -> HopId {
        let id = self.free.pop().unwrap_or_else(|| {
            if self.slots.len() == self.slots.capacity() && self.slots.len() >= GROWTH {
                // The table stops growing at its bound: doubling would waste half of it. A small
                // one doubles: a log may hold thousands of short sessions.
                self.slots.reserve_exact(GROWTH);
            }
            self.slots.push(None);
            u32::try_from(self.slots.len() - 1).unwrap_or(u32::MAX)
        });
        if let Some(key) = &entry.key {
            let surplus = self.surplus_of_key(entry.side, key);
            self.by_key.remove((entry.side, key), surplus);
            self.by_key.add((entry.side, key), id);
        }
        if let Some(token) = &entry.token {
            let surplus = self.surplus_of_token(entry.side, token);
            self.by_token.remove((entry.side, token), surplus);
            self.by_token.add((entry.side, token), id);
        }
        if entry.exchange != 0 {
            self.by_exchange.entry(entry.exchange).or_default().push(id);
        }
        if entry.side == Side::Client {
            *self.waiting_on.entry(entry.conn).or_default() += 1;
        }
        if let Some(slot) = usize::try_from(id)
            .ok()
            .and_then(|at| self.slots.get_mut(at))
        {
            *slot = Some(entry);
        }
        id
    }

    /// The hop that is looked at no more when one with the same key comes: the oldest that does not
    /// wait, else the oldest.
    fn surplus_of_key(&self, side: Side, key: &Key) -> Option<HopId> {
        let equal = self.with_key(side, key);
        equal.clone().nth(MAX_EQUAL - 1)?;
        let done = equal.clone().filter(|(_, hop)| !hop.waiting).last();
        done.or(equal.last()).map(|(hop, _)| hop)
    }

    fn surplus_of_token(&self, side: Side, token: &Key) -> Option<HopId> {
        let equal = self.with_token(side, token);
        equal.clone().nth(MAX_TOKEN - 1)?;
        equal.last().map(|(hop, _)| hop)
    }

    /// Notes that the hop was answered.
    pub(super) fn answer(&mut self, id: HopId) {
        self.stop(id);
        if let Some(hop) = self.get_mut(id) {
            hop.answered = true;
        }
    }

    /// Notes that the hop waits no longer; the oldest of these is forgotten at the bound.
    pub(super) fn stop(&mut self, id: HopId) {
        let Some(hop) = self.get_mut(id).filter(|hop| hop.waiting) else {
            return;
        };
        hop.waiting = false;
        let (side, conn, exchange) = (hop.side, hop.conn, hop.exchange);
        self.waits_no_more(id, side, conn, exchange);
        self.done.push_back(id);
        if self.done.len() > MAX_DONE
            && let Some(oldest) = self.done.pop_front()
        {
            self.forget(oldest);
        }
    }

    /// Takes a hop out of every index.
    pub(super) fn forget(&mut self, id: HopId) {
        let slot = usize::try_from(id)
            .ok()
            .and_then(|at| self.slots.get_mut(at));
        let Some(hop) = slot.and_then(Option::take) else {
            return;
        };
        self.free.push(id);
        if hop.waiting {
            self.waits_no_more(id, hop.side, hop.conn, hop.exchange);
        }
        if let Some(key) = &hop.key {
            self.by_key.remove((hop.side, key), Some(id));
        }
        if let Some(token) = &hop.token {
            self.by_token.remove((hop.side, token), Some(id));
        }
    }

    /// Takes a hop out of what is kept of those that wait.
    fn waits_no_more(&mut self, id: HopId, side: Side, conn: u32, exchange: u64) {
        if side == Side::Client
            && let Some(count) = self.waiting_on.get_mut(&conn)
        {
            *count -= 1;
            if *count == 0 {
                self.waiting_on.remove(&conn);
            }
        }
        if let Some(list) = self.by_exchange.get_mut(&exchange) {
            if let Some(at) = list.iter().position(|hop| *hop == id) {
                list.remove(at);
            }
            if list.is_empty() {
                self.by_exchange.remove(&exchange);
            }
        }
    }

    /// Waiting hops of an exchange.
    pub(super) fn of_exchange(&self, exchange: u64) -> &[HopId] {
        match exchange {
            0 => &[],
            _ => self.by_exchange.get(&exchange).map_or(&[], |list| list),
        }
    }

    /// Hops with a key, newest first.
    pub(super) fn with_key<'a>(
        &'a self,
        side: Side,
        key: &'a Key,
    ) -> impl Iterator<Item = (HopId, &'a HopEntry)> + Clone {
        let fits = move |hop: &HopEntry| hop.side == side && hop.key.as_ref() == Some(key);
        let all = self.by_key.all((side, key));
        all.filter_map(move |id| Some((id, self.get(id).filter(|hop| fits(hop))?)))
    }

    /// Hops with a progress token, newest first.
    pub(super) fn with_token<'a>(
        &'a self,
        side: Side,
        token: &'a Key,
    ) -> impl Iterator<Item = (HopId, &'a HopEntry)> + Clone {
        let fits = move |hop: &HopEntry| hop.side == side && hop.token.as_ref() == Some(token);
        let all = self.by_token.all((side, token));
        all.filter_map(move |id| Some((id, self.get(id).filter(|hop| fits(hop))?)))
    }

    /// True when a request of the client waits on the connection.
    pub(super) fn waits_on(&self, conn: u32) -> bool {
        self.waiting_on.contains_key(&conn)
    }

    /// The request that an answer belongs to, by M1 to M5 of session-model.md 4.4.
    pub(super) fn find(&self, wanted: &Wanted<'_>) -> Option<HopId> {
        let named = wanted
            .key
            .map(|key| self.with_key(wanted.side, key))
            .into_iter()
            .flatten();
        if wanted.exchange != 0
            && let Some((id, _)) = named
                .clone()
                .find(|(_, hop)| hop.exchange == wanted.exchange)
        {
            return Some(id);
        }
        if let Some((id, _)) = named
            .clone()
            .find(|(_, hop)| hop.conn == wanted.conn && (!wanted.http || !hop.answered))
        {
            return Some(id);
        }
        if wanted.http
            && let Some(id) = elsewhere(named.clone(), wanted.client)
        {
            return Some(id);
        }
        let unnamed = wanted.nameless || (wanted.refused && named.clone().next().is_none());
        if unnamed && let [only] = self.of_exchange(wanted.exchange) {
            let fits = self.get(*only).is_some_and(|hop| hop.side == wanted.side);
            return fits.then_some(*only);
        }
        if !wanted.http {
            return None;
        }
        let mut answered = named.filter(|(_, hop)| hop.answered);
        answered
            .clone()
            .find(|(_, hop)| hop.conn == wanted.conn)
            .or_else(|| answered.find(|(_, hop)| hop.client == wanted.client))
            .map(|(id, _)| id)
    }
}

/// M3: the only unanswered hop of the client, whatever its connection.
fn elsewhere<'a>(
    named: impl Iterator<Item = (HopId, &'a HopEntry)> + Clone,
    client: ClientKey,
) -> Option<HopId> {
    let fitting = named.filter(|(_, hop)| !hop.answered && hop.client.agrees(client));
    if fitting.clone().count() > MAX_ELSEWHERE {
        return None;
    }
    let equal = fitting.clone().filter(|(_, hop)| hop.client == client);
    if equal.clone().next().is_some() {
        return only(equal.clone()).or_else(|| only(equal.filter(|(_, hop)| hop.waiting)));
    }
    only(fitting.clone()).or_else(|| only(fitting.filter(|(_, hop)| hop.waiting)))
}

/// The single element.
pub(super) fn only<'a>(mut hops: impl Iterator<Item = (HopId, &'a HopEntry)>) -> Option<HopId> {
    let (id, _) = hops.next()?;
    hops.next().is_none().then_some(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_session_takes_little_and_a_long_one_no_half_too_much() {
        let entry = || HopEntry {
            call: CallId(0),
            at: 0,
            side: Side::Client,
            key: None,
            conn: 0,
            exchange: 0,
            client: ClientKey::default(),
            answered: false,
            waiting: true,
            token: None,
            base: None,
            seq: Seq(1),
            declared: None,
            effective: None,
            wants_task: false,
            task_id: None,
            asked: None,
            signature: 0,
        };
        let mut hops = Hops::default();
        hops.add(entry());
        assert!(hops.slots.capacity() <= 8, "{}", hops.slots.capacity());
        for _ in 0..GROWTH * 3 {
            hops.add(entry());
        }
        assert!(hops.slots.capacity() <= GROWTH * 4);
        assert!(hops.waits_on(0));
        (0..=GROWTH * 3).for_each(|hop| hops.stop(u32::try_from(hop).unwrap()));
        assert!(!hops.waits_on(0));
    }
}
