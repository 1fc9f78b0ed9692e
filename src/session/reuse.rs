//! Ids that are used again: in flight, after a cancellation, within a session (session-model.md 4.6).

use super::{
    call::{CallId, CallState},
    fact::Fact,
    hash::Map,
    hops::{ClientKey, HopId, PerSide, Side},
    key::Key,
    machine::{At, Machine},
    remark::Code,
    requests::last_request,
    row::RowId,
    wording::shown,
};
use crate::{base::Timestamp, record::Seq};

/// Scopes of one session that are told apart (session-model.md 22.3).
const MAX_SPACES: usize = 1_024;
/// How far a frame may stand before one of the other direction that caused it, in logs that number
/// the two directions independently, in nanoseconds (session-model.md 4.4, M6).
pub(super) const OVERTAKING: i64 = 20_000_000;
/// First level of the log format that numbers both directions in one order.
pub(super) const ORDERED_FORMAT: u64 = 7;

/// What a request has to do with earlier ones of the same id.
#[derive(Debug, Default)]
pub(super) struct Shared {
    /// Answers that may still come for those.
    spare: u32,
    /// It was said to reuse an id in flight, in a log where its answer can take that back.
    accused: Option<Accused>,
}

impl Shared {
    /// One more answer than the request's own may come.
    pub(super) fn one() -> Self {
        Self {
            spare: 1,
            accused: None,
        }
    }

    /// Takes one of the answers that may still come; false when there is none.
    pub(super) fn spend(&mut self) -> bool {
        let any = self.spare > 0;
        self.spare = self.spare.saturating_sub(1);
        any
    }
}

#[derive(Debug)]
struct Accused {
    row: RowId,
    sent: Option<Timestamp>,
    /// The accusation is all that the row is warned for.
    alone: bool,
}

/// The ids of one scope since its last greeting.
#[derive(Debug, Default)]
struct IdSpace {
    start: Seq,
    /// The greeting was answered with a revision that could be read.
    agreed: bool,
    told: PerSide<bool>,
}

/// Scopes that a greeting began; those beyond the bound are not judged.
#[derive(Debug, Default)]
pub(super) struct IdSpaces {
    all: Map<ClientKey, IdSpace>,
    /// Greetings whose scope is not judged.
    pub(super) beyond: u64,
}

impl IdSpaces {
    fn begin(&mut self, client: ClientKey, start: Seq) {
        if self.all.len() < MAX_SPACES || self.all.contains_key(&client) {
            let space = self.all.entry(client).or_default();
            if start > space.start {
                (space.start, space.agreed) = (start, false);
            }
        } else {
            self.beyond += 1;
        }
    }

    /// The greeting of this client was answered.
    pub(super) fn agree(&mut self, client: ClientKey) {
        if let Some(space) = self.all.get_mut(&client) {
            space.agreed = true;
        }
    }

    /// Number of the request that agreed on a revision; `None` while that is not known.
    pub(super) fn agreed(&self, client: ClientKey) -> Option<Seq> {
        let space = self.all.get(&client).filter(|space| space.agreed)?;
        Some(space.start)
    }

    /// Number of the request that began the ids of this client.
    fn start(&self, client: ClientKey) -> Option<Seq> {
        self.all.get(&client).map(|space| space.start)
    }
}

/// The newest request of the same sender, connection, client and id.
struct Before {
    call: CallId,
    seq: Seq,
    exchange: u64,
    client: ClientKey,
    spare: u32,
    waiting: bool,
    answered: bool,
    freed: bool,
    /// As of the hop.
    effective: Option<bool>,
}

impl Machine {
    /// Notes a frame that hides which request it answers or cancels, if it does so.
    pub(super) fn note_nameless(&mut self, at: &At) {
        *self.nameless.of(at.side) = at.row.seq;
    }

    /// True when an unread or nameless frame since a request, or the end of its exchange, may have
    /// ended it (session-model.md 3.4, 21).
    fn may_have_ended(&self, asker: Side, before: &Before) -> bool {
        let exchanges = &self.hops.exchanges;
        let nameless = [Side::Client, Side::Server].map(|side| *self.nameless.get(side));
        *self.last_unlinked.get(asker) > before.seq
            || nameless.into_iter().any(|seq| seq > before.seq)
            || before.effective != Some(false) && exchanges.was_closed(before.exchange, before.seq)
    }

    /// A greeting begins a new space of ids (session-model.md 4.6.4).
    pub(super) fn begin_ids(&mut self, at: &At) {
        self.id_spaces.begin(at.client, at.row.seq);
    }

    /// An `initialize` hop takes the peer of its answer (session-model.md 4.1).
    /// `peer`: its number, 0 without.
    pub(super) fn take_peer(&mut self, at: &At, peer: u32, hop: HopId) {
        if peer == 0 {
            return;
        }
        let Some(entry) = self.hops.get(hop).filter(|hop| hop.client.peer == 0) else {
            return;
        };
        let (call, client, conn, seq) = (entry.call, entry.client, entry.conn, entry.seq);
        let greets = entry.side == Side::Client
            && self
                .call(call)
                .is_some_and(|call| &*call.method == "initialize");
        if !greets || at.side != Side::Server {
            return;
        }
        let named = ClientKey { peer, ..client };
        if let Some(entry) = self.hops.get_mut(hop) {
            entry.client = named;
        }
        self.peers.name_peer(conn, client, named);
        self.id_spaces.begin(named, seq);
    }

    /// Judges an id that an earlier request had, and takes that one out of the way of the answers.
    /// `fresh`: the request opens a call of its own; `legacy`: it is made under a revision that forbids
    /// to use an id twice.
    pub(super) fn reuse(
        &mut self,
        at: &At,
        key: Option<&Key>,
        (fresh, legacy): (bool, bool),
        facts: &mut Vec<Fact>,
    ) -> Option<Box<Shared>> {
        // Several clients may hide behind an unknown connection without a peer (findings.md 1.4).
        if at.http && at.conn == 0 && at.client.peer == 0 {
            return None;
        }
        let key = key?;
        let before = self
            .hops
            .with_key(at.side, key)
            .find(|(_, hop)| hop.conn == at.conn && hop.client == at.client);
        let (_, entry) = before?;
        let before = Before {
            call: entry.call,
            seq: entry.seq,
            exchange: entry.exchange,
            client: entry.client,
            spare: entry.shared.as_ref().map_or(0, |shared| shared.spare),
            waiting: entry.waiting,
            answered: entry.answered,
            freed: entry.freed,
            effective: entry.effective,
        };
        if before.waiting {
            return self.reuse_in_flight(at, &before, facts);
        }
        if before.answered {
            if fresh && legacy && !before.freed {
                self.reuse_in_session(at, &before);
            }
            return None;
        }
        // Cancelled and never answered: the answer may still come.
        let spare = before.spare.saturating_add(1);
        (!before.freed).then(|| {
            Box::new(Shared {
                spare,
                accused: None,
            })
        })
    }

    fn reuse_in_flight(
        &mut self,
        at: &At,
        before: &Before,
        facts: &mut Vec<Fact>,
    ) -> Option<Box<Shared>> {
        let call = self.call(before.call)?;
        let text = format!(
            "{}: sent a request with the id of frame {} ({}), which was not answered yet",
            at.side.word(),
            before.seq,
            shown(call.method.as_bytes())
        );
        let uncertain = call.uncertain;
        drop(call);
        let mut shared = Shared {
            spare: before.spare.saturating_add(1),
            accused: None,
        };
        // A frame that was not recorded may be its answer, and clients that redaction hides may be two:
        // nobody is accused on that (2.3.5, 5.4, 21).
        let doubtful = at.hole > before.seq.0
            || uncertain
            || self.may_have_ended(at.side, before)
            || !at.client.is_surely(before.client);
        let new_space = self.id_spaces.start(at.client);
        let same_space = new_space.is_none_or(|start| start <= before.seq);
        if same_space && doubtful {
            self.observe(at.row, Code::IdReusedInFlight, text);
        } else if same_space {
            let alone = !self.warns(at.row);
            self.remark(at.row, Code::IdReusedInFlight, text);
            shared.accused = (self.head.format < ORDERED_FORMAT).then_some(Accused {
                row: at.row,
                sent: at.ts,
                alone,
            });
        }
        let told_apart = at.side == Side::Client
            && at.exchange != 0
            && before.exchange != 0
            && before.exchange != at.exchange;
        if told_apart {
            return None;
        }
        self.supersede(before.call, at.ts, doubtful, facts);
        Some(Box::new(shared))
    }

    fn reuse_in_session(&mut self, at: &At, before: &Before) {
        if at.http && at.client.peer == 0 {
            return;
        }
        let Some(space) = self.id_spaces.all.get_mut(&at.client) else {
            return;
        };
        if before.seq < space.start || std::mem::replace(space.told.of(at.side), true) {
            return;
        }
        let text = format!(
            "{}: used the id of frame {} again, which this revision forbids within a session",
            at.side.word(),
            before.seq
        );
        self.remark_if_read(at, before.seq, Code::IdReusedInSession, text);
    }

    /// In a log that numbers the two directions independently, an answer at once after a request may
    /// have come before it, and be that of the request before: nothing was in flight then.
    pub(super) fn clear_of_reuse(&mut self, at: &At, hop: HopId) {
        let shared = self.hops.get_mut(hop).and_then(|hop| hop.shared.as_mut());
        let Some(accused) = shared.and_then(|shared| shared.accused.take()) else {
            return;
        };
        let near = match (at.ts, accused.sent) {
            (Some(now), Some(sent)) => now.nanos_since(sent).abs() <= OVERTAKING,
            _ => true,
        };
        if near {
            self.withdraw_all(accused.row, &[Code::IdReusedInFlight], accused.alone);
        }
    }

    /// The id of an open call was taken by another; `doubtful`: it may have had its answer by then.
    fn supersede(
        &mut self,
        id: CallId,
        ts: Option<Timestamp>,
        doubtful: bool,
        facts: &mut Vec<Fact>,
    ) {
        let request = self.change(id, facts, |call| {
            call.charge(ts, call.responder_acts());
            if doubtful {
                call.set_maybe_lost();
            }
            call.state = CallState::Superseded;
            call.end = ts;
            (last_request(call), std::mem::take(&mut call.waiting_hops))
        });
        if let Some((request, hops)) = request {
            self.stop_hops(&hops);
            if let Some(request) = request.filter(|_| !doubtful) {
                self.mark_problem(request);
            }
        }
        self.let_go(id);
    }
}
