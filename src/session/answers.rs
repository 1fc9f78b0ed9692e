//! Responses: which call they settle, and how (session-model.md 4.4, 5.2).

use super::{
    call::{Call, CallId, CallState},
    classify::Parts,
    fact::Fact,
    fates::Fate,
    hops::{HopId, Side},
    key::Key,
    machine::{Answer, At, Machine},
    matching::{Found, Wanted},
    reading::{self, ErrorFacts, ResultFacts},
    refused::Verdict,
    remark::Code,
    revisions::Counted,
    task_facts::{TaskFacts, handle_of},
    tasks::TaskDialect,
    wording::distance,
};
use crate::{base::Timestamp, record::HttpFields};

/// What an answer asks of the call, beside its outcome.
#[expect(
    clippy::large_enum_variant,
    reason = "one at a time, on the stack, for the length of one frame"
)]
enum Outcome<'a> {
    Final(Answer),
    Interim(ResultFacts<'a>),
    Task((TaskDialect, TaskFacts<'a>)),
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
        let found = self.hops.find(&wanted(at, parts, key.as_ref(), fails));
        let Found::Hop(hop) = found else {
            self.note_stray_state(at, None, parts);
            if !(fails && self.refuse_nameless(at, http, parts, key.as_ref(), facts)) {
                if let (Found::Several, Some(key)) = (found, &key) {
                    self.doubt(at, key, facts);
                }
                self.unmatched(at, http, parts, key, found == Found::Several);
            }
            return;
        };
        let peer = http.and_then(|http| http.peer.as_deref());
        let number = self.peers.number(peer.unwrap_or_default());
        self.take_peer(at, number, hop);
        if self.hops.get(hop).is_some_and(|hop| hop.answered) {
            self.repeated(at, hop, (parts, peer), facts);
            return;
        }
        let by_exchange = key.is_none() || self.hops.get(hop).is_some_and(|hop| hop.key != key);
        let others: Vec<HopId> = if fails && at.status >= 400 && by_exchange {
            let all = self.hops.exchanges.of(at.exchange, Side::Client);
            all.filter(|other| *other != hop).collect()
        } else {
            Vec::new()
        };
        let verdict = Verdict::read(at, self.hops.get(hop), parts);
        self.answered(at, hop, parts, &verdict, facts);
        for other in others {
            self.refuse(at, other, &verdict, facts);
        }
    }

    /// One of several requests was answered, and nobody knows which.
    fn doubt(&mut self, at: &At, key: &Key, facts: &mut Vec<Fact>) {
        let all = self.hops.with_key(at.side.other(), key);
        let fitting = all.filter(|(_, hop)| !hop.answered && hop.client.agrees(at.client));
        for call in fitting.map(|(_, hop)| hop.call).collect::<Vec<_>>() {
            if self.change(call, facts, Call::set_maybe_lost).is_none() {
                self.change_gone(call, Fate::doubt, facts);
            }
        }
    }

    /// True when a cut answer without id can only belong to one request (session-model.md 3.4).
    pub(super) fn names_one(&self, at: &At) -> bool {
        let exchanges = &self.hops.exchanges;
        exchanges.only(at.exchange, at.side.other()).is_some()
    }

    /// Notes on hop and call that this row answers it; `None` when there is no such call any more.
    fn take_answer(&mut self, at: &At, hop: HopId, facts: &mut Vec<Fact>) -> Option<CallId> {
        let row = at.row;
        let entry = self.hops.get(hop)?;
        let (call, index) = (entry.call, entry.at);
        self.attempt_answered(hop);
        self.hops.answer(hop, row.seq, at.ts);
        self.tie(row, call);
        // Only operations of several requests keep it.
        let ts = at.ts.filter(|_| index > 0);
        let held = self.change(call, facts, |call| {
            call.waiting_hops.retain(|waiting| *waiting != hop);
            call.last_row = call.last_row.max(row);
            if let Some(round) = call.round_mut(index) {
                round.answered = ts;
            }
            let index = usize::try_from(index).unwrap_or(usize::MAX);
            if let Some(hop) = call.hops.get_mut(index) {
                hop.answer = Some(row);
            }
        });
        if held.is_none() {
            self.change_gone(call, |fate| fate.answered = true, facts);
        }
        held.map(|()| call)
    }

    /// The first answer of a hop.
    pub(super) fn answered(
        &mut self,
        at: &At,
        hop: HopId,
        parts: &Parts<'_>,
        verdict: &Verdict,
        facts: &mut Vec<Fact>,
    ) {
        let Some(entry) = self.hops.get(hop) else {
            return;
        };
        let superseded = !entry.waiting
            && self
                .call(entry.call)
                .is_some_and(|call| call.state == CallState::Superseded);
        self.note_answer(at, hop);
        let read = match (parts.error, parts.result) {
            (None, Some(result)) => Some(ResultFacts::read(result, at.redacted)),
            _ => None,
        };
        if let Some(read) = &read {
            self.note_states(at, hop, parts, read);
            self.learn(hop, read, at.redacted);
            self.result_learned(at, hop, read, facts);
        }
        self.before_answer(at, hop, facts);
        self.note_status(at, hop, verdict, facts);
        let settles = self
            .hops
            .get(hop)
            .and_then(|hop| self.call(hop.call))
            .is_some_and(|call| call.is_open() || call.awaits_late);
        let related = read.as_ref().and_then(|read| read.raw.related_task);
        let outcome = self.outcome(hop, parts, read, at.redacted);
        let Some(id) = self.take_answer(at, hop, facts) else {
            return;
        };
        if let Some(related) = related {
            self.link_related(at, related);
        }
        if !matches!(outcome, Outcome::Task(_)) {
            self.answer_token(at, hop);
        }
        if superseded {
            self.link_repeated(at, id, facts);
            self.after_reuse(at, parts);
            return;
        }
        let mut errored = false;
        match outcome {
            Outcome::Final(answer) => {
                self.failure_learned(at, hop, &answer);
                self.lookup_answered(at, hop, parts, facts);
                self.user_answered(at, id, parts);
                errored = self.settle_call(at, id, &answer, facts);
            }
            Outcome::Interim(result) => self.park(at, hop, &result, facts),
            Outcome::Task(task) => self.hand_over(at, hop, &task, facts),
        }
        if settles {
            self.judge(at, hop, (verdict, errored), facts);
        }
    }

    /// What later rules about the same id need to know of an answer.
    fn note_answer(&mut self, at: &At, hop: HopId) {
        let Some(entry) = self.hops.get_mut(hop) else {
            return;
        };
        entry.answered_on = at.exchange;
        entry.freed = at.status >= 400;
        if entry.shared.is_some() {
            self.clear_of_reuse(at, hop);
        }
    }

    /// Kinds of answer in the order of session-model.md 5.2.
    fn outcome<'a>(
        &self,
        hop: HopId,
        parts: &Parts<'_>,
        read: Option<ResultFacts<'a>>,
        redacted: bool,
    ) -> Outcome<'a> {
        let call = self.hops.get(hop).and_then(|hop| self.call(hop.call));
        let is_tool = call.as_ref().is_some_and(|call| call.is_tool);
        let Some(read) = read else {
            let error = parts.error.map(ErrorFacts::read);
            return Outcome::Final(Answer::Error(error.unwrap_or_default()));
        };
        let entry = self.hops.get(hop);
        let legacy = entry.is_some_and(|hop| hop.declared == Some(false));
        if read.result_type.as_deref() == Some("input_required") && !legacy {
            return Outcome::Interim(read);
        }
        let method = call.as_ref().map_or("", |call| &*call.method);
        if let Some(task) = entry.and_then(|hop| handle_of(hop, (method, is_tool), &read, redacted))
        {
            return Outcome::Task(task);
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
        self.settle_call(at, id, answer, facts);
    }

    /// The same; true when that made the call errored.
    pub(super) fn settle_call(
        &mut self,
        at: &At,
        id: CallId,
        answer: &Answer,
        facts: &mut Vec<Fact>,
    ) -> bool {
        let settled = self.change(id, facts, |call| {
            let late = call.state == CallState::Cancelled && call.awaits_late;
            if !call.is_open() && !late {
                return (false, call.late_result, None);
            }
            let cancelled_at = late.then_some(call.cancelled_at);
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
            (take_outcome(call, answer), call.late_result, cancelled_at)
        });
        let (errored, late, cancelled_at) = settled.unwrap_or_default();
        self.measured_result(at, id, answer);
        if let Some(cancelled_at) = cancelled_at {
            self.note_late(at, cancelled_at);
        }
        if errored {
            self.mark_errored(at.row);
            self.refusals.failed(at.row);
        }
        if late {
            self.mark_problem(at.row);
        }
        errored
    }

    /// Tells how long after the cancellation an answer came (session-model.md 7.3.1).
    fn note_late(&mut self, at: &At, cancelled_at: Option<Timestamp>) {
        let (who, other) = (at.side.word(), at.side.other().word());
        let text = match distance(cancelled_at, at.ts) {
            Some(distance) => format!("{who}: answered {distance} after the {other} cancelled"),
            None => format!("{who}: answered what the {other} had cancelled"),
        };
        self.remark(at.row, Code::LateAnswer, text);
    }

    /// What results tell of the peers, late ones included (session-model.md 5.2, 14.2).
    fn learn(&mut self, hop: HopId, read: &ResultFacts<'_>, redacted: bool) {
        let Some(entry) = self.hops.get(hop) else {
            return;
        };
        let (side, client, id, counted) = (entry.side, entry.client, entry.call, entry.counted);
        let shared = entry.shared.is_some();
        if side != Side::Client {
            return;
        }
        let initialized = counted.greets;
        let greets = initialized || counted.discovers;
        // An ordinary result names the server in `_meta`; a member `serverInfo` of it is data.
        if let Some(server) = read
            .server
            .as_ref()
            .filter(|_| greets || read.server_in_meta)
        {
            self.peers.serve(server);
        }
        if let (Some(version), true) = (&read.version, initialized) {
            // An answer that may be that of another request proves no agreement.
            if !shared {
                self.id_spaces.agree(client);
            }
            let revision = self.peers.revisions.negotiate(client, version);
            self.peers.made_under(
                id,
                Counted {
                    revision,
                    ..counted
                },
            );
        }
        let stated = &mut self.peers.stated;
        stated.hear_server(&read.raw, greets, read.server_in_meta, redacted);
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
            // After a cancellation it is late, and no error (decisions of the specification).
            (call.tool_error, call.errored) = (true, !call.late_result);
            call.errored
        }
        Answer::Error(error) => {
            call.error_code = error.code;
            let declined = error.code == Some(-1) && &*call.method == "sampling/createMessage";
            let harmless = declined || (call.late_result && error.says_cancelled);
            let owed = !call.method.starts_with("notifications/") && call.resolved.is_none();
            call.errored = !harmless && owed;
            call.errored
        }
    }
}
