//! The books over calls: whatever changes one, counters, statistics and the set of open calls follow
//! (session-model.md 5.4, 17).

use std::borrow::Cow;

use super::{
    call::{Call, CallId, CallState, WaitingOn},
    fact::Fact,
    machine::{Answer, At, Machine},
    stats::ToolStats,
};
use crate::record::Seq;

/// Open calls of one session (session-model.md 22.3).
const MAX_OPEN: usize = 100_000;
/// Tool names of one session; further ones are counted together.
pub(super) const MAX_TOOLS: usize = 10_000;
/// Name of what is counted together.
pub(super) const OTHER_TOOLS: &str = "other";

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
        if before.state != after.state {
            self.stream_changed(id);
        }
        self.judge_repeats_of(id, facts);
        if is_over {
            self.calls.settle(id, &self.atoms);
        }
        Some(answer)
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
        self.forgotten.calls += 1;
        self.count_state(share, |count| *count = count.saturating_sub(1));
        if call.is_tool {
            let tool = self.tool(call.operation.as_deref());
            tool.pending = tool.pending.saturating_sub(1);
        }
        self.parked.remove(id);
        self.forget_stream(id);
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
        if is_tool && after.measured && self.slowest.may_take(id, whole) {
            let call = call.into_owned();
            self.slowest.take(&call, whole);
        }
        if is_latency {
            self.times.add(server);
        }
        if !is_tool {
            return;
        }
        if before.is_none() && !self.has_tool(name.as_deref().unwrap_or_default()) {
            self.forgotten.tool_names += 1;
        }
        let tool = self.tool(name.as_deref());
        if let Some(before) = before {
            count_tool(tool, before, |count| *count = count.saturating_sub(1));
        } else {
            tool.calls += 1;
        }
        count_tool(tool, after, |count| *count += 1);
        tool.max_round_trips = tool.max_round_trips.max(after.hops);
        let bytes = tool.result_bytes.saturating_add(after.bytes);
        tool.result_bytes = bytes.saturating_sub(before.map_or(0, |before| before.bytes));
        tool.max_result_bytes = tool.max_result_bytes.max(after.bytes);
        if measured {
            tool.measure(whole, server);
        }
    }

    /// Marks the bytes of a result that was truncated or redacted (session-model.md 17, 21).
    pub(super) fn measured_result(&mut self, at: &At, id: CallId, answer: &Answer) {
        if !(at.truncated || at.redacted) || matches!(answer, Answer::Error(_)) {
            return;
        }
        self.approximate(id, |count| *count = count.saturating_add(1));
    }

    /// Changes the number of results of a tool that are known in part.
    pub(super) fn approximate(&mut self, id: CallId, change: impl Fn(&mut u64)) {
        if let Some(call) = self.call(id).filter(|call| call.is_tool) {
            let name = call.operation.clone();
            change(&mut self.tool(name.as_deref()).approximate_results);
        }
    }

    /// True when figures of a tool have a place of their own.
    fn has_tool(&self, name: &str) -> bool {
        self.tools.len() < MAX_TOOLS || self.tools.contains_key(name)
    }

    fn tool(&mut self, name: Option<&str>) -> &mut ToolStats {
        let name = name.unwrap_or_default();
        let name = if self.has_tool(name) {
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
}

fn count_tool(tool: &mut ToolStats, share: Share, change: fn(&mut u64)) {
    match share.state {
        CallState::Pending(_) | CallState::Streaming => change(&mut tool.pending),
        CallState::Cancelled => change(&mut tool.cancelled),
        CallState::Superseded => change(&mut tool.superseded),
        CallState::Completed | CallState::Failed => {}
    }
    if share.errored && share.tool_error {
        change(&mut tool.tool_errors);
    } else if share.errored {
        change(&mut tool.protocol_errors);
    }
}
