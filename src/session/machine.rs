//! The fold of one session: everything that follows from its envelopes in order of their numbers
//! (session-model.md 2.2). Frames come in through `frame`; the other files of this room hold the
//! steps.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet, VecDeque},
};

use super::{
    activity::Activity,
    arena::Calls,
    atoms::Atoms,
    call::{Call, CallId},
    counters::Counters,
    early,
    extra::Extra,
    fact::Fact,
    forgotten::Forgotten,
    freshness::Caches,
    hash::{Map, Set},
    head::Head,
    hops::{ClientKey, HopId, Hops, PerSide, Side},
    issued::Issued,
    ledger::Ledger,
    listings::Listings,
    parked::Parked,
    peers::Peers,
    probes::{LoneProbe, Probe},
    progress::Unseen,
    reading::ErrorFacts,
    repeats::Repeats,
    resolving::Refusals,
    reuse::IdSpaces,
    row::RowId,
    row_store::Rows,
    slowest::Slowest,
    stats::{Durations, ToolStats},
    streams::Streams,
    tasks::Tasks,
};
use crate::{base::Timestamp, record::Seq};

/// What the steps need to know of the frame that is folded.
#[derive(Clone, Copy, Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent marks, not states of one machine"
)]
pub(super) struct At {
    pub(super) row: RowId,
    pub(super) ts: Option<Timestamp>,
    pub(super) arrived: Option<Timestamp>,
    /// The highest unseen number below the frame's own.
    pub(super) hole: u64,
    /// Who sent it.
    pub(super) side: Side,
    pub(super) conn: u32,
    pub(super) exchange: u64,
    pub(super) client: ClientKey,
    pub(super) status: u16,
    pub(super) http: bool,
    pub(super) truncated: bool,
    /// An answer over HTTP that was cut shorter than a recorder cuts (session-model.md 8.3).
    pub(super) cut: bool,
    pub(super) redacted: bool,
    /// HTTP refused for want of authorization, and said what is needed (session-model.md 8.4).
    pub(super) challenge: bool,
    /// The recorder could not reach the target.
    pub(super) undelivered: bool,
    /// What its members hold is unknown.
    pub(super) unparsed: bool,
}

/// What an answer says, without its bytes.
#[derive(Debug)]
pub(super) enum Answer {
    Error(ErrorFacts),
    Ok { bytes: u64 },
    ToolError { bytes: u64 },
}

/// Everything that is derived from the envelopes of one session.
#[derive(Debug, Default)]
pub(super) struct Machine {
    pub(super) rows: Rows,
    /// What only some rows have; it goes when they go.
    pub(super) extras: Map<RowId, Box<Extra>>,
    pub(super) atoms: Atoms,
    pub(super) head: Head,
    pub(super) peers: Peers,
    pub(super) counters: Counters,
    /// What left at bounds of stores that do not count it themselves.
    pub(super) forgotten: Forgotten,
    pub(super) calls: Calls,
    pub(super) hops: Hops,
    pub(super) parked: Parked,
    /// States that were issued, and whether they came back.
    pub(super) issued: Issued,
    /// Questions to users.
    pub(super) ledger: Ledger,
    pub(super) tasks: Tasks,
    /// Subscriptions.
    pub(super) streams: Streams,
    /// Frames that hide how long a progress token is good.
    pub(super) unseen: Unseen,
    pub(super) early: early::Waiting,
    /// The row of one of these that left memory, while the answer is read.
    pub(super) ghost: Option<Box<early::Ghost>>,
    pub(super) tools: BTreeMap<Box<str>, ToolStats>,
    /// Stands in for a tool that is not there, which cannot be.
    pub(super) no_tool: ToolStats,
    pub(super) times: Durations,
    pub(super) activity: Activity,
    /// What the server lists, and what clients hold copies of.
    pub(super) listings: Listings,
    pub(super) caches: Caches,
    pub(super) repeats: Repeats,
    pub(super) slowest: Slowest,
    /// Requests `server/discover` that a greeting of the old kind may explain.
    pub(super) probes: VecDeque<Probe>,
    /// A refused probe that is the only request so far.
    pub(super) lone_probe: Option<LoneProbe>,
    /// Refusals that may be made good.
    pub(super) refusals: Refusals,
    /// Cut answers that are the last frame of their exchange so far.
    pub(super) cut: Map<u64, (HopId, RowId)>,
    /// Scopes that a greeting began, with what was said of their ids.
    pub(super) id_spaces: IdSpaces,
    /// Last element of a batch of each side whose place in the array is not known.
    pub(super) last_element: PerSide<u64>,
    /// Exchanges on which the client sent a message.
    pub(super) exchanges: Set<u64>,
    /// Truncated frames of each side that could not be linked.
    pub(super) unlinked: PerSide<u64>,
    /// Number of the last of these: open calls below it are uncertain already.
    pub(super) last_unlinked: PerSide<Seq>,
    /// Number of the last frame of each side that may have answered or cancelled any request: what it
    /// names is hidden.
    pub(super) nameless: PerSide<Seq>,
    /// Open calls by the number of their waiting request.
    pub(super) open: BTreeSet<(Seq, CallId)>,
    /// The highest unseen number.
    pub(super) last_hole: u64,
    /// Open calls whose requester is owed an answer.
    pub(super) owed: u64,
}

impl Machine {
    /// A call that is held.
    pub(super) fn call(&self, id: CallId) -> Option<Cow<'_, Call>> {
        self.calls.get(id, &self.atoms)
    }

    /// Marks a frame as errored; it counts once. A row that was dropped meanwhile was not counted
    /// before: a frame is marked while it is read.
    pub(super) fn mark_errored(&mut self, row: RowId) {
        let Some(stored) = self.rows.by_id_mut(row) else {
            let ghost = self.ghost.as_mut().filter(|ghost| ghost.row == row);
            let again = ghost.is_some_and(|ghost| std::mem::replace(&mut ghost.errored, true));
            self.counters.errors += u64::from(!again);
            return;
        };
        if !stored.flags().errored {
            stored.mark(|flags| (flags.errored, flags.problem) = (true, true));
            self.counters.errors += 1;
        }
    }

    /// Takes the mark of a frame back.
    pub(super) fn unmark_errored(&mut self, row: RowId) {
        self.counters.errors = self.counters.errors.saturating_sub(1);
        if let Some(stored) = self.rows.by_id_mut(row) {
            stored.mark(|flags| (flags.errored, flags.problem) = (false, false));
        } else if let Some(ghost) = self.ghost.as_mut().filter(|ghost| ghost.row == row) {
            ghost.errored = false;
        }
    }

    /// Marks a frame for `has:problem`.
    pub(super) fn mark_problem(&mut self, row: RowId) {
        if let Some(stored) = self.rows.by_id_mut(row) {
            stored.mark(|flags| flags.problem = true);
        }
    }

    /// Ties a row to its call.
    pub(super) fn tie(&mut self, row: RowId, call: CallId) {
        if let Some(stored) = self.rows.by_id_mut(row) {
            stored.set_call(call);
        }
    }

    /// Notes the highest unseen number: an open call below it may have been answered there
    /// (session-model.md 2.3.4, 5.4).
    pub(super) fn set_last_hole(&mut self, hole: u64, facts: &mut Vec<Fact>) {
        if hole == self.last_hole {
            return;
        }
        let (low, high) = (hole.min(self.last_hole), hole.max(self.last_hole));
        self.last_hole = hole;
        let touched: Vec<CallId> = self
            .open
            .range((Seq(low), CallId(0))..(Seq(high), CallId(0)))
            .map(|(_, call)| *call)
            .collect();
        for call in touched {
            self.change(call, facts, |call| call.set_gap_after(hole));
        }
    }

    /// The highest unseen number.
    pub(super) fn last_hole(&self) -> u64 {
        self.last_hole
    }

    /// A frame that could not be linked may be the answer of every open call of the other side
    /// (session-model.md 3.4).
    pub(super) fn unlinked_answer(&mut self, sender: Side, seq: Seq, facts: &mut Vec<Fact>) {
        let from = std::mem::replace(self.last_unlinked.of(sender), seq);
        let asked_by_client = sender == Side::Server;
        let touched: Vec<CallId> = self
            .open
            .range((from, CallId(0))..)
            .map(|(_, call)| *call)
            .filter(|call| {
                let call = self.call(*call);
                call.is_some_and(|call| call.from_client == asked_by_client)
            })
            .collect();
        for call in touched {
            self.change(call, facts, Call::set_maybe_lost);
        }
    }

    /// Hops of a call that wait no longer: it was settled without their answer.
    pub(super) fn stop_hops(&mut self, hops: &[HopId]) {
        for hop in hops {
            self.hops.stop(*hop);
        }
    }

    /// A row was dropped: what was settled with it goes too.
    pub(super) fn row_dropped(&mut self, row: RowId, call: Option<CallId>) {
        self.extras.remove(&row);
        // A session whose rows are gone keeps no room for what they had.
        if self.extras.capacity() > 64 && self.extras.len() < self.extras.capacity() / 8 {
            self.extras.shrink_to(self.extras.len() * 2);
        }
        let Some(id) = call else {
            return;
        };
        if self.calls.is_over_with(id, row) {
            self.drop_call(id);
        }
    }
}
