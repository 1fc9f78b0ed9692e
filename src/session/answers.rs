//! Responses: which call they settle, and how (session-model.md 4.4 to 4.7, 5.2).

use super::{
    call::{Call, CallId, CallState, WaitingOn},
    classify::Parts,
    fact::Fact,
    hops::{HopId, Side, Wanted},
    key::Key,
    machine::{Answer, At, Machine},
    parked::Shape,
    reading::{self, ErrorFacts, ResultFacts},
    row::RowId,
};
use crate::record::HttpFields;

/// What an answer asks of the call, beside its outcome.
enum Outcome<'a> {
    Final(Answer),
    Interim(ResultFacts<'a>),
    Task(ResultFacts<'a>),
}

impl Machine {
    /// Folds a response.
    pub(super) fn response(
        &mut self,
        at: &At,
        http: Option<&HttpFields>,
        parts: &Parts<'_>,
        facts: &mut Vec<Fact>,
    ) {
        let key = parts.id.and_then(|id| reading::key_of(id, at.redacted));
        let fails = parts.error.is_some() || parts.result.is_none();
        let Some(hop) = self.hops.find(&wanted(at, parts, key.as_ref(), fails)) else {
            self.unmatched(at, http, parts, key, fails);
            return;
        };
        let by_exchange = key.is_none() || self.hops.get(hop).is_some_and(|hop| hop.key != key);
        let others: Vec<HopId> = if fails && at.status >= 400 && by_exchange {
            let all = self.hops.of_exchange(at.exchange).iter().copied();
            all.filter(|other| *other != hop).collect()
        } else {
            Vec::new()
        };
        self.answered(at, hop, parts, facts);
        for other in others {
            self.refuse(at, other, facts);
        }
    }

    /// True when a cut answer without id can only belong to one request (session-model.md 3.4).
    pub(super) fn names_one(&self, at: &At) -> bool {
        at.exchange != 0 && self.hops.of_exchange(at.exchange).len() == 1
    }

    fn unmatched(
        &mut self,
        at: &At,
        http: Option<&HttpFields>,
        parts: &Parts<'_>,
        key: Option<Key>,
        fails: bool,
    ) {
        let requests_cut = self.unlinked.of(at.side.other());
        *requests_cut = requests_cut.saturating_sub(1);
        let counted = fails && !(at.status >= 400 && self.is_sanctioned(at, http, true));
        if counted {
            self.mark_errored(at.row);
        }
        if let Some(key) = key {
            self.note_early(At { counted, ..*at }, key, parts);
        }
    }

    /// Notes on hop and call that this row answers it; `None` when there is no such call any more.
    pub(super) fn take_answer(
        &mut self,
        row: RowId,
        hop: HopId,
        facts: &mut Vec<Fact>,
    ) -> Option<CallId> {
        let entry = self.hops.get(hop)?;
        let (call, index) = (entry.call, entry.at);
        self.attempt_answered(hop);
        self.hops.answer(hop);
        self.tie(row, call);
        self.change(call, facts, |call| {
            call.waiting_hops.retain(|waiting| *waiting != hop);
            call.last_row = call.last_row.max(row);
            let index = usize::try_from(index).unwrap_or(usize::MAX);
            if let Some(hop) = call.hops.get_mut(index) {
                hop.answer = Some(row);
            }
        })?;
        Some(call)
    }

    fn answered(&mut self, at: &At, hop: HopId, parts: &Parts<'_>, facts: &mut Vec<Fact>) {
        let Some(entry) = self.hops.get(hop) else {
            return;
        };
        let id = entry.call;
        if entry.answered {
            self.duplicate(at, id, facts);
            return;
        }
        let read = match (parts.error, parts.result) {
            (None, Some(result)) => Some(ResultFacts::read(result, at.redacted)),
            _ => None,
        };
        if let Some(read) = &read {
            self.learn(hop, read);
            self.result_learned(at, hop, read, facts);
        }
        let outcome = self.outcome(hop, parts, read);
        let Some(id) = self.take_answer(at.row, hop, facts) else {
            return;
        };
        match outcome {
            Outcome::Final(answer) => {
                self.failure_learned(at, hop, &answer);
                let greets = matches!(answer, Answer::Ok { .. })
                    && self
                        .call(id)
                        .is_some_and(|call| &*call.method == "initialize" && call.from_client);
                if greets && let Some(client) = self.hops.get(hop).map(|hop| hop.client) {
                    self.greeted(client, facts);
                }
                self.lookup_answered(at, hop, parts, facts);
                self.finish(at, id, &answer, facts);
            }
            Outcome::Interim(result) => self.park(at, hop, &result, facts),
            Outcome::Task(result) => self.hand_over(at, id, &result, facts),
        }
    }

    /// A further answer: linked for display, no other effect (session-model.md 4.7).
    fn duplicate(&mut self, at: &At, call: CallId, facts: &mut Vec<Fact>) {
        if let Some(row) = self.rows.by_id_mut(at.row) {
            row.mark(|flags| flags.duplicate = true);
            row.set_call(call);
        }
        self.change(call, facts, |call| call.link(at.row));
    }

    /// Kinds of answer in the order of session-model.md 5.2.
    fn outcome<'a>(
        &self,
        hop: HopId,
        parts: &Parts<'_>,
        read: Option<ResultFacts<'a>>,
    ) -> Outcome<'a> {
        let call = self.hops.get(hop).and_then(|hop| self.call(hop.call));
        let is_tool = call.is_some_and(|call| call.is_tool);
        let Some(read) = read else {
            let error = parts.error.map(ErrorFacts::read);
            return Outcome::Final(Answer::Error(error.unwrap_or_default()));
        };
        let entry = self.hops.get(hop);
        let legacy = entry.is_some_and(|hop| hop.declared == Some(false));
        if read.result_type.as_deref() == Some("input_required") && !legacy {
            return Outcome::Interim(read);
        }
        let extension = is_tool && read.result_type.as_deref() == Some("task") && !read.task_nested;
        let core = read.task_nested
            && !read.has_content
            && entry.is_some_and(|hop| hop.wants_task)
            && read
                .task
                .as_ref()
                .is_some_and(|(_, status)| !status.is_empty());
        if read.task.is_some() && (extension || core) {
            return Outcome::Task(read);
        }
        let bytes = parts.result.map_or(0, |result| result.len() as u64);
        Outcome::Final(if is_tool && read.is_error {
            Answer::ToolError { bytes }
        } else {
            Answer::Ok { bytes }
        })
    }

    /// Settles a call, or notes a late answer.
    pub(super) fn finish(&mut self, at: &At, id: CallId, answer: &Answer, facts: &mut Vec<Fact>) {
        let settled = self.change(id, facts, |call| {
            let late = call.state == CallState::Cancelled && call.awaits_late;
            if !call.is_open() && !late {
                return (false, call.late_result);
            }
            if late {
                call.charge(at.ts, true);
                call.awaits_late = false;
                call.late_result = true;
            } else {
                call.charge(at.ts, call.responder_acts());
                call.state = match answer {
                    Answer::Ok { .. } => CallState::Completed,
                    Answer::Error(_) | Answer::ToolError { .. } => CallState::Failed,
                };
            }
            call.end = at.ts;
            call.result_truncated |= at.truncated;
            (take_outcome(call, answer), call.late_result)
        });
        let (errored, late) = settled.unwrap_or_default();
        self.measured_result(at, id, answer);
        if errored && !at.counted {
            self.mark_errored(at.row);
        } else if settled.is_some() && !errored && at.counted {
            self.unmark_errored(at.row);
        }
        if late {
            self.mark_problem(at.row);
        }
        self.note_probe(id, answer);
        if errored {
            self.probe_refused(at, id, facts);
        }
    }

    /// A refused probe says nothing of the revision (session-model.md 14.2.2).
    fn note_probe(&mut self, id: CallId, answer: &Answer) {
        if let (Answer::Error(error), Some(call)) = (answer, self.call(id))
            && (error.code == Some(-32_022) || &*call.method == "server/discover")
        {
            self.peers.was_probe(id);
        }
    }

    fn park(&mut self, at: &At, hop: HopId, result: &ResultFacts<'_>, facts: &mut Vec<Fact>) {
        let Some(entry) = self.hops.get(hop) else {
            return;
        };
        let (id, client, base, side) = (entry.call, entry.client, entry.base, entry.side);
        if let Some(row) = self.rows.by_id_mut(at.row) {
            row.mark(|flags| flags.interim = true);
        }
        let Some(call) = self.call(id) else {
            return;
        };
        // A late interim result is a late answer; it does not park (session-model.md 7.3.3).
        if !call.is_open() {
            self.finish(at, id, &Answer::Ok { bytes: 0 }, facts);
            return;
        }
        let shape = Shape {
            side,
            method: std::sync::Arc::clone(&call.method),
            operation: call.operation.clone(),
            client,
            keys: result.asks.clone(),
            state: result.state.clone(),
            base,
        };
        self.change(id, facts, |call| {
            call.charge(at.ts, true);
            call.state = CallState::Pending(WaitingOn::Client);
        });
        if let Some(retired) = self.parked.add(id, shape) {
            self.counters.retired_exchanges += 1;
            self.change(retired, facts, |call| call.retired = true);
        }
    }

    /// What results tell of the peers, late ones included (session-model.md 5.2, 14.2).
    fn learn(&mut self, hop: HopId, read: &ResultFacts<'_>) {
        let Some(entry) = self.hops.get(hop) else {
            return;
        };
        let (side, client, id) = (entry.side, entry.client, entry.call);
        if side != Side::Client {
            return;
        }
        let call = self.call(id);
        let method = call.as_ref().map_or("", |call| &*call.method);
        let initialized = method == "initialize";
        let greets = initialized || method == "server/discover";
        drop(call);
        // An ordinary result names the server in `_meta`; a member `serverInfo` of it is data.
        if let Some(server) = read
            .server
            .as_ref()
            .filter(|_| greets || read.server_in_meta)
        {
            self.peers.serve(server);
        }
        if let (Some(version), true) = (&read.version, initialized) {
            self.peers.negotiate(id, client, version);
        }
        if let (Some(version), true) = (&read.supported, greets) {
            self.peers.supports(version);
        }
    }
}

fn wanted<'a>(at: &At, parts: &Parts<'_>, key: Option<&'a Key>, fails: bool) -> Wanted<'a> {
    let redacted = key.is_none() && parts.id.is_some_and(|id| !reading::is_null(id));
    let cut = at.truncated && parts.id.is_none();
    Wanted {
        side: at.side.other(),
        key,
        conn: at.conn,
        exchange: at.exchange,
        client: at.client,
        http: at.http,
        nameless: key.is_none() && (fails || redacted || cut),
        refused: fails && at.status >= 400,
    }
}

/// Puts an outcome into a call; true when it is an error.
fn take_outcome(call: &mut Call, answer: &Answer) -> bool {
    match answer {
        Answer::Ok { bytes } => {
            call.result_bytes = *bytes;
            false
        }
        Answer::ToolError { bytes } => {
            call.result_bytes = *bytes;
            (call.tool_error, call.errored) = (true, true);
            true
        }
        Answer::Error(error) => {
            call.error_code = error.code;
            let declined = error.code == Some(-1) && &*call.method == "sampling/createMessage";
            let harmless = declined || (call.late_result && error.says_cancelled);
            call.errored = !harmless && !call.method.starts_with("notifications/");
            call.errored
        }
    }
}
