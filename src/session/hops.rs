//! Request frames by id, exchange and progress token, and the search for the one that an answer
//! belongs to (session-model.md 4.4).

use std::{
    collections::{BTreeMap, VecDeque},
    num::NonZeroU64,
    sync::Arc,
};

use super::{
    asked::Asked,
    call::CallId,
    exchanges::{Exchanges, Place},
    hash::Map,
    hop_index::HopIndex,
    key::Key,
    reuse::Shared,
    revisions::Counted,
    tokens::Token,
};
pub(super) use super::{
    matching::only,
    side::{ClientKey, PerSide, Side},
};
use crate::{base::Timestamp, record::Seq};

/// Hops that no longer wait and are remembered (session-model.md 22.3).
const MAX_DONE: usize = 65_536;
/// Hops from which on the table grows by an eighth instead of doubling.
const GROWTH: usize = 512;
/// Hops of one id that are looked at.
const MAX_EQUAL: usize = 128;
/// True for frames of one connection; over HTTP an unknown one is like no other.
pub(super) fn same_conn(one: u32, other: u32, http: bool) -> bool {
    one == other && !(http && one == 0)
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
    /// Its progress token.
    pub(super) token: Option<Box<Token>>,
    /// Hash of the parameters that a retry repeats, where it is known.
    pub(super) base: Option<NonZeroU64>,
    /// Number of the request frame.
    pub(super) seq: Seq,
    /// It declared a revision of 2026-07-28 or later (true), an earlier one (false), or neither.
    pub(super) declared: Option<bool>,
    /// The same of what it declared, else of what was negotiated (session-model.md 14.1).
    pub(super) effective: Option<bool>,
    /// What the request was counted under.
    pub(super) counted: Counted,
    /// Its method, the name of its operation were redacted.
    pub(super) hidden_names: (bool, bool),
    /// The request asked for a task, or its parameters are unknown.
    pub(super) wants_task: bool,
    /// The task that it asks about, or works for.
    pub(super) task_id: Option<Box<Arc<str>>>,
    /// Its id is there, and redaction took it away.
    pub(super) hidden: bool,
    /// HTTP refused or failed it: its id may be used again (session-model.md 4.6.4).
    pub(super) freed: bool,
    /// Number and exchange of its answer; 0 without.
    pub(super) answer: Seq,
    pub(super) answered_on: u64,
    /// Another request had the same id and may still be answered.
    pub(super) shared: Option<Box<Shared>>,
    /// What the request asked for, where its result may be a listing or cached.
    pub(super) asked: Option<Box<Asked>>,
    /// Before the answer: tool and arguments as one number, 0 when there is none (session-model.md
    /// 18). Then: its instant in nanoseconds, `i64::MIN` without. One word, since many are remembered.
    pub(super) signature_or_end: u64,
}

impl HopEntry {
    /// Tool and arguments as one number; 0 when there is none, and once it was answered.
    pub(super) fn signature(&self) -> u64 {
        if self.answered {
            0
        } else {
            self.signature_or_end
        }
    }

    /// The instant of its answer.
    pub(super) fn answered_at(&self) -> Option<Timestamp> {
        let nanos = self.signature_or_end.cast_signed();
        (self.answered && nanos != i64::MIN).then(|| Timestamp::from_nanos(nanos))
    }
}

/// What a waiting hop is found by.
#[derive(Clone, Copy)]
struct Waits {
    side: Side,
    conn: u32,
    hidden: bool,
    place: Place,
}

/// All hops that can still be named.
#[derive(Debug, Default)]
pub(super) struct Hops {
    /// Those from `first` on.
    slots: Vec<Option<HopEntry>>,
    first: HopId,
    /// Those of before the session ended that were never answered.
    left: BTreeMap<HopId, HopEntry>,
    free: Vec<HopId>,
    by_key: HopIndex,
    /// Waiting hops of exchanges.
    pub(super) exchanges: Exchanges,
    pub(super) by_token: HopIndex,
    /// Answered hops with a token, by their last use.
    pub(super) token_order: BTreeMap<u64, HopId>,
    pub(super) last_stamp: u64,
    /// Tokens that were forgotten at a bound.
    pub(super) forgotten_tokens: u64,
    /// Waiting requests of the client, by connection.
    waiting_on: Map<u32, u32>,
    /// Calls whose request was forgotten before it had an answer: none can be linked any more.
    given_up: Vec<CallId>,
    done: VecDeque<HopId>,
    /// Waiting requests whose ids redaction took away.
    hidden: PerSide<u32>,
    /// Hops that were forgotten at the bound.
    forgotten: u64,
    /// Those that were answered before the session ended were forgotten with its end.
    released: bool,
}

impl Hops {
    pub(super) fn get(&self, id: HopId) -> Option<&HopEntry> {
        match id.checked_sub(self.first) {
            Some(at) => self.slots.get(usize::try_from(at).ok()?)?.as_ref(),
            None => self.left.get(&id),
        }
    }

    /// What a request asked for; its first answer takes it.
    pub(super) fn take_asked(&mut self, id: HopId) -> Option<Box<Asked>> {
        self.get_mut(id)?.asked.take()
    }

    pub(super) fn get_mut(&mut self, id: HopId) -> Option<&mut HopEntry> {
        match id.checked_sub(self.first) {
            Some(at) => self.slots.get_mut(usize::try_from(at).ok()?)?.as_mut(),
            None => self.left.get_mut(&id),
        }
    }

    fn take(&mut self, id: HopId) -> Option<HopEntry> {
        let Some(at) = id.checked_sub(self.first) else {
            return self.left.remove(&id);
        };
        let entry = self.slots.get_mut(usize::try_from(at).ok()?)?.take()?;
        self.free.push(id);
        Some(entry)
    }

    /// The session ended: forgets what was answered, since no frame follows. Those that were not
    /// answered stay; an answer that was held up may still come from its log.
    pub(super) fn release(&mut self) {
        let done = std::mem::take(&mut self.done);
        for id in done {
            match self.get(id) {
                Some(hop) if hop.answered => self.forget(id),
                Some(_) => self.done.push_back(id),
                None => {}
            }
        }
        self.free = Vec::new();
        for slot in std::mem::take(&mut self.slots) {
            self.left.extend(slot.map(|hop| (self.first, hop)));
            self.first = self.first.saturating_add(1);
        }
        self.by_key.shrink();
        self.by_token.shrink();
        self.released = true;
    }

    /// Adds a waiting hop.
    pub(super) fn add(&mut self, entry: HopEntry) -> HopId {
        let id = self.free.pop().unwrap_or_else(|| {
            if self.slots.len() == self.slots.capacity() && self.slots.len() >= GROWTH {
                // The table stops growing at its bound: doubling would waste half of it. A small
                // one doubles: a log may hold thousands of short sessions.
                self.slots.reserve_exact(self.slots.len() / 8);
            }
            self.slots.push(None);
            let at = u32::try_from(self.slots.len() - 1).unwrap_or(u32::MAX);
            self.first.saturating_add(at)
        });
        if let Some(key) = &entry.key {
            let surplus = self.surplus_of_key(entry.side, key);
            self.forgotten = self.forgotten.saturating_add(surplus.is_some().into());
            self.by_key.remove((entry.side, key), surplus);
            self.by_key.add((entry.side, key), id);
        }
        self.starts_waiting(id, self.waits(&entry));
        let at = usize::try_from(id - self.first).ok();
        if let Some(slot) = at.and_then(|at| self.slots.get_mut(at)) {
            *slot = Some(entry);
        }
        self.index_token(id);
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

    /// Notes that the hop was answered, in which frame.
    pub(super) fn answer(&mut self, id: HopId, answer: Seq, ts: Option<Timestamp>) {
        self.stop(id);
        if let Some(hop) = self.get_mut(id) {
            (hop.answered, hop.answer) = (true, answer);
            hop.signature_or_end = ts.map_or(i64::MIN, Timestamp::as_nanos).cast_unsigned();
        }
    }

    /// Notes that the hop waits no longer; the oldest of these is forgotten at the bound.
    pub(super) fn stop(&mut self, id: HopId) {
        let Some(hop) = self.get_mut(id).filter(|hop| hop.waiting) else {
            return;
        };
        hop.waiting = false;
        if let Some(waits) = self.get(id).map(|hop| self.waits(hop)) {
            self.waits_no_more(id, waits);
        }
        self.done.push_back(id);
        if self.done.len() > MAX_DONE
            && let Some(oldest) = self.done.pop_front()
        {
            self.forgotten = self.forgotten.saturating_add(1);
            let unanswered = self.get(oldest).filter(|hop| !hop.answered);
            self.given_up.extend(unanswered.map(|hop| hop.call));
            self.forget(oldest);
        }
    }

    /// Calls that can get no answer any more, each once.
    pub(super) fn take_given_up(&mut self) -> Vec<CallId> {
        std::mem::take(&mut self.given_up)
    }

    /// Takes an answer back; the hop waits again or not.
    pub(super) fn unanswer(&mut self, id: HopId, waits: bool) {
        let Some(hop) = self.get_mut(id).filter(|hop| hop.answered) else {
            return;
        };
        (hop.answered, hop.signature_or_end) = (false, 0);
        if !waits || hop.waiting {
            return;
        }
        hop.waiting = true;
        if let Some(waits) = self.get(id).map(|hop| self.waits(hop)) {
            self.starts_waiting(id, waits);
        }
        if let Some(at) = self.done.iter().rposition(|done| *done == id) {
            self.done.remove(at);
        }
    }

    fn waits(&self, hop: &HopEntry) -> Waits {
        Waits {
            side: hop.side,
            conn: hop.conn,
            hidden: hop.hidden,
            place: self.exchanges.place(hop),
        }
    }

    /// Puts a hop into what is kept of those that wait.
    fn starts_waiting(&mut self, id: HopId, waits: Waits) {
        if waits.hidden {
            *self.hidden.of(waits.side) += 1;
        }
        self.exchanges.add(id, waits.place);
        if waits.side == Side::Client {
            *self.waiting_on.entry(waits.conn).or_default() += 1;
        }
    }

    /// Takes a hop out of every index.
    pub(super) fn forget(&mut self, id: HopId) {
        let Some(hop) = self.take(id) else {
            return;
        };
        if hop.waiting {
            self.waits_no_more(id, self.waits(&hop));
        }
        if let Some(key) = &hop.key {
            self.by_key.remove((hop.side, key), Some(id));
        }
        self.forget_token(id, &hop);
    }

    /// Takes a hop out of what is kept of those that wait.
    fn waits_no_more(&mut self, id: HopId, waits: Waits) {
        if waits.hidden {
            let count = self.hidden.of(waits.side);
            *count = count.saturating_sub(1);
        }
        if waits.side == Side::Client
            && let Some(count) = self.waiting_on.get_mut(&waits.conn)
        {
            *count -= 1;
            if *count == 0 {
                self.waiting_on.remove(&waits.conn);
            }
        }
        self.exchanges.remove(id, waits.place);
    }

    /// The answer of a waiting hop is a stream.
    pub(super) fn listens(&mut self, id: HopId) {
        if let Some(place) = self.get(id).map(|hop| self.exchanges.place(hop)) {
            self.exchanges.listens(id, place);
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

    /// Hops that were forgotten at the bound.
    pub(super) fn forgotten(&self) -> u64 {
        self.forgotten
    }

    /// True when an answer to nothing may be one to a request that was forgotten.
    pub(super) fn forgot_any(&self) -> bool {
        self.forgotten > 0 || self.released
    }

    /// True when a request of this side waits whose id redaction took away.
    pub(super) fn hides_one(&mut self, side: Side) -> bool {
        *self.hidden.of(side) > 0
    }

    /// True when a request of the client waits on the connection.
    pub(super) fn waits_on(&self, conn: u32) -> bool {
        self.waiting_on.contains_key(&conn)
    }
}

#[cfg(test)]
#[path = "hops_tests.rs"]
mod tests;
