//! The fold of one session: everything that follows from its envelopes in order of their numbers
//! (session-model.md 2.2). Frames come in through `frame`; the other files of this room hold the
//! steps.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::Arc,
};

use super::{
    activity::Activity,
    arena::Calls,
    atoms::Atoms,
    call::{Call, CallId, CallState, WaitingOn},
    counters::Counters,
    fact::Fact,
    hash::{Map, Set},
    head::Head,
    hops::{ClientKey, HopId, Hops, PerSide, Side},
    key::Key,
    parked::Parked,
    peers::Peers,
    reading::ErrorFacts,
    row::RowId,
    row_store::Rows,
    stats::{Durations, ToolStats},
};
use crate::{base::Timestamp, record::Seq};

/// Open calls of one session (session-model.md 22.3).
const MAX_OPEN: usize = 100_000;
/// Tool names of one session; further ones are counted together.
const MAX_TOOLS: usize = 10_000;
/// Name of what is counted together.
const OTHER_TOOLS: &str = "other";

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
    /// Who sent it.
    pub(super) side: Side,
    pub(super) conn: u32,
    pub(super) exchange: u64,
    pub(super) client: ClientKey,
    pub(super) status: u16,
    pub(super) http: bool,
    pub(super) truncated: bool,
    pub(super) redacted: bool,
    /// The frame was counted in `errors` when it seemed to answer nothing.
    pub(super) counted: bool,
}

/// An answer that may have overtaken its request (session-model.md 4.4, M6).
#[derive(Debug)]
pub(super) struct Early {
    pub(super) at: At,
    pub(super) key: Key,
    pub(super) answer: Answer,
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
    pub(super) atoms: Atoms,
    pub(super) head: Head,
    pub(super) peers: Peers,
    pub(super) counters: Counters,
    pub(super) calls: Calls,
    pub(super) hops: Hops,
    pub(super) parked: Parked,
    pub(super) tasks: Map<(Side, Arc<str>), CallId>,
    pub(super) task_order: VecDeque<(Side, Arc<str>)>,
    pub(super) early: VecDeque<Early>,
    pub(super) tools: BTreeMap<Box<str>, ToolStats>,
    /// Stands in for a tool that is not there, which cannot be.
    no_tool: ToolStats,
    pub(super) times: Durations,
    pub(super) activity: Activity,
    /// Requests `server/discover` that a greeting of the old kind may explain.
    pub(super) probes: Vec<(CallId, ClientKey)>,
    /// A refused probe that is the only request so far, and the frame that refused it.
    pub(super) lone_probe: Option<(CallId, RowId)>,
    /// Exchanges on which the client sent a message.
    pub(super) exchanges: Set<u64>,
    /// Truncated frames of each side that could not be linked.
    pub(super) unlinked: PerSide<u64>,
    /// Number of the last of these: open calls below it are uncertain already.
    last_unlinked: PerSide<Seq>,
    /// Open calls by the number of their waiting request.
    open: BTreeSet<(Seq, CallId)>,
    /// The highest unseen number.
    last_hole: u64,
    /// Open calls whose requester is owed an answer.
    pub(super) owed: u64,
}

/// What a call adds to the counters.
#[derive(Clone, Copy, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent marks, not states of one machine"
)]
struct Share {
    state: CallState,
    waiting: Seq,
    errored: bool,
    tool_error: bool,
    late: bool,
    uncertain: bool,
    owed: bool,
    measured: bool,
    hops: u32,
    bytes: u64,
}

impl Share {
    fn of(call: &Call) -> Self {
        Self {
            state: call.state,
            waiting: call.waiting_seq,
            errored: call.errored,
            tool_error: call.tool_error,
            late: call.late_result,
            uncertain: call.uncertain,
            owed: call.is_owed(),
            measured: call.is_measured(),
            hops: call.hop_count,
            bytes: call.result_bytes,
        }
    }

    fn is_open(&self) -> bool {
        matches!(self.state, CallState::Pending(_) | CallState::Streaming)
    }
}

impl Machine {
    /// Changes a call; counters, statistics and the set of open calls follow.
    pub(super) fn change<T>(
        &mut self,
        id: CallId,
        facts: &mut Vec<Fact>,
        change: impl FnOnce(&mut Call) -> T,
    ) -> Option<T> {
        let call = self.calls.get_mut(id, &self.atoms)?;
        let before = Share::of(call);
        let answer = change(call);
        let is_over = !call.is_open();
        if is_over {
            call.close();
        }
        let after = Share::of(call);
        let told = |fact: &Fact| *fact == Fact::Opened(id) || *fact == Fact::Changed(id);
        if !facts.iter().rev().take(4).any(told) {
            facts.push(Fact::Changed(id));
        }
        if before != after {
            self.account(id, Some(before), after);
        }
        if is_over {
            self.calls.settle(id, &self.atoms);
        }
        Some(answer)
    }

    /// A call that is held.
    pub(super) fn call(&self, id: CallId) -> Option<Cow<'_, Call>> {
        self.calls.get(id, &self.atoms)
    }

    /// Adds a call.
    pub(super) fn open(&mut self, mut call: Call, facts: &mut Vec<Fact>) {
        call.set_gap_after(self.last_hole);
        let (id, share) = (call.id, Share::of(&call));
        self.calls.add(call);
        facts.push(Fact::Opened(id));
        self.account(id, None, share);
        if self.open.len() > MAX_OPEN
            && let Some((_, oldest)) = self.open.first().copied()
        {
            self.forget(oldest);
        }
    }

    /// Forgets the oldest open call.
    fn forget(&mut self, id: CallId) {
        let Some(call) = self.call(id).map(Cow::into_owned) else {
            return;
        };
        self.calls.remove(id);
        let share = Share::of(&call);
        self.open.remove(&(share.waiting, id));
        self.counters.forgotten_calls += 1;
        self.count_state(share, |count| *count = count.saturating_sub(1));
        if call.is_tool {
            let tool = self.tool(call.operation.as_deref());
            tool.pending = tool.pending.saturating_sub(1);
        }
        self.parked.remove(id);
        for hop in call.waiting_hops {
            self.hops.forget(hop);
        }
    }

    fn account(&mut self, id: CallId, before: Option<Share>, after: Share) {
        if let Some(before) = before {
            self.count_state(before, |count| *count = count.saturating_sub(1));
        }
        self.count_state(after, |count| *count += 1);
        let was_open = before.is_some_and(|before| before.is_open());
        if let Some(before) = before.filter(Share::is_open)
            && (!after.is_open() || before.waiting != after.waiting)
        {
            self.open.remove(&(before.waiting, id));
        }
        if after.is_open() {
            self.open.insert((after.waiting, id));
        } else if was_open {
            self.parked.remove(id);
        }
        self.count_times(id, before, after);
    }

    fn count_state(&mut self, share: Share, change: fn(&mut u64)) {
        let counters = &mut self.counters;
        match share.state {
            CallState::Pending(on) => {
                change(&mut counters.pending);
                match on {
                    WaitingOn::Client => change(&mut counters.parked),
                    WaitingOn::Task => change(&mut counters.open_tasks),
                    WaitingOn::Responder => {}
                }
                if share.uncertain && on != WaitingOn::Client {
                    change(&mut counters.pending_uncertain);
                }
            }
            CallState::Streaming => change(&mut counters.streaming),
            CallState::Completed => change(&mut counters.completed),
            CallState::Failed => change(&mut counters.failed),
            CallState::Cancelled => change(&mut counters.cancelled),
            CallState::Superseded => change(&mut counters.superseded),
        }
        if share.late {
            change(&mut counters.late_results);
        }
        if share.owed {
            change(&mut self.owed);
        }
    }

    fn count_times(&mut self, id: CallId, before: Option<Share>, after: Share) {
        let measured = after.measured && before.is_none_or(|before| !before.measured);
        let Some(call) = self.call(id) else {
            return;
        };
        let (server, whole) = (call.server_nanos, call.duration_nanos().unwrap_or(0));
        let (is_tool, name) = (call.is_tool, call.operation.clone());
        // How long a person took to answer the server is not latency (tui.md 6.4).
        let is_latency = measured && call.from_client;
        drop(call);
        if is_latency {
            self.times.add(server);
        }
        if !is_tool {
            return;
        }
        let tool = self.tool(name.as_deref());
        if let Some(before) = before {
            count_tool(tool, before, |count| *count = count.saturating_sub(1));
        } else {
            tool.calls += 1;
        }
        count_tool(tool, after, |count| *count += 1);
        tool.max_round_trips = tool.max_round_trips.max(after.hops);
        let bytes = after.bytes - before.map_or(0, |before| before.bytes).min(after.bytes);
        tool.result_bytes = tool.result_bytes.saturating_add(bytes);
        tool.max_result_bytes = tool.max_result_bytes.max(after.bytes);
        if measured {
            tool.durations.add(whole);
            tool.server.add(server);
        }
    }

    fn tool(&mut self, name: Option<&str>) -> &mut ToolStats {
        let name = name.unwrap_or_default();
        let name = if self.tools.len() < MAX_TOOLS || self.tools.contains_key(name) {
            name
        } else {
            OTHER_TOOLS
        };
        // An entry would need an owned name each time.
        if !self.tools.contains_key(name) {
            self.tools.insert(name.into(), ToolStats::default());
        }
        self.tools.get_mut(name).unwrap_or(&mut self.no_tool)
    }

    /// Marks a frame as errored; it counts once. A row that was dropped meanwhile was not counted
    /// before: callers mark a frame when it is folded, or skip those that were (`At::counted`).
    pub(super) fn mark_errored(&mut self, row: RowId) {
        let Some(stored) = self.rows.by_id_mut(row) else {
            self.counters.errors += 1;
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
        let Some(id) = call else {
            return;
        };
        if self.calls.is_over_with(id, row) {
            self.calls.remove(id);
        }
    }
}

fn count_tool(tool: &mut ToolStats, share: Share, change: fn(&mut u64)) {
    match share.state {
        CallState::Pending(_) | CallState::Streaming => change(&mut tool.pending),
        CallState::Cancelled => change(&mut tool.cancelled),
        CallState::Superseded => change(&mut tool.superseded),
        CallState::Completed | CallState::Failed => {}
    }
    if share.tool_error {
        change(&mut tool.tool_errors);
    } else if share.errored {
        change(&mut tool.protocol_errors);
    }
}
