//! Operations that take several requests: an interim answer parks one, a retry continues it, and
//! what a retry did wrong is remarked (session-model.md 11).

use std::{num::NonZeroU64, sync::Arc};

use super::{
    call::{CallId, CallState, WaitingOn},
    extra::StateIssue,
    fact::Fact,
    hops::HopId,
    key::Key,
    machine::{Answer, At, Machine},
    parked::{Continuation, Shape},
    questions::InputRequests,
    reading::{self, Known, Params, ResultFacts},
    remark::Code,
    wording::shown,
};
use crate::record::Seq;

/// The parked operation that a request continues.
#[derive(Debug)]
pub(super) struct Linked {
    pub(super) call: CallId,
    /// What redaction hid of its first request.
    pub(super) hidden: (bool, bool),
    parked: Box<Shape>,
    base: Option<u64>,
    issue: Option<StateIssue>,
    /// It may continue something else, which nobody could read or which was forgotten.
    doubtful: bool,
}

impl Machine {
    /// The parked operation that this request continues; remarks on one that seems to continue
    /// something and does not.
    pub(super) fn continued(
        &mut self,
        at: &At,
        method: &str,
        params: &Params<'_>,
        is_legacy: bool,
    ) -> Option<Linked> {
        self.note_hidden_retry(at, params);
        // The answers in `tasks/update` are for a task.
        if !params.may_be_retry() || method == "tasks/update" {
            return None;
        }
        let retry = self.shape_of_retry(at, method, params);
        let known = match &retry.state {
            Known::Is(state) => self.issued.get(state),
            _ => None,
        };
        match self.parked.take(&retry, known) {
            Continuation::Linked {
                call,
                parked,
                by_state,
            } => {
                if let Known::Is(state) = retry.state {
                    self.issued.use_up(state);
                }
                let same_client = parked.client.is_surely(retry.client);
                let issue = (!by_state && same_client)
                    .then(|| issue_of(&parked.state, &retry.state))
                    .flatten();
                let doubtful = self.is_doubtful(&retry);
                Some(Linked {
                    call,
                    hidden: parked.hidden,
                    parked,
                    base: retry.base,
                    issue,
                    doubtful,
                })
            }
            Continuation::Nothing {
                ambiguous,
                elsewhere,
            } => {
                if !is_legacy {
                    self.remark_unlinked(at, &retry, ambiguous, elsewhere);
                }
                None
            }
        }
    }

    /// True when what the retry really continues may be nothing that is parked.
    fn is_doubtful(&mut self, retry: &Shape) -> bool {
        let operation = retry.operation_hash();
        let again = match (&retry.state, &retry.keys) {
            (Known::Absent, Known::Is(keys)) => {
                self.issued.repeats(operation, keys.sum, retry.base)
            }
            _ => false,
        };
        again
            || retry.is_vague()
            || self.counters.retired_exchanges > 0
            || self.issued.may_be_hidden(operation)
    }

    fn shape_of_retry(&mut self, at: &At, method: &str, params: &Params<'_>) -> Shape {
        let (mut keys, mut state) = (params.answers.clone(), params.state.clone());
        if at.truncated {
            // What lay behind the cut is not known to be absent, and what was cut is not whole.
            (keys, state) = (Known::Unknown, Known::Unknown);
        }
        Shape {
            side: at.side,
            method: self.atoms.share(method),
            operation: self.operation(method, params),
            hidden: reading::hidden(method, params, at.redacted),
            client: at.client,
            keys,
            state,
            base: params.base.filter(|_| !at.truncated && !at.unparsed),
            seq: at.row.seq,
        }
    }

    /// Step 5 of session-model.md 11.3.
    fn remark_unlinked(&mut self, at: &At, retry: &Shape, ambiguous: bool, elsewhere: Option<Seq>) {
        let state = match &retry.state {
            Known::Is(state) => Some(state),
            _ => None,
        };
        let known = state.and_then(|state| self.issued.get(state));
        let operation = retry.operation_hash();
        if let Some(issued) = elsewhere
            && known.is_some_and(|known| known.is_foreign_to(operation))
        {
            let text = format!(
                "client: sent the requestState of frame {} with another request than the one it was issued for",
                issued.0
            );
            // It may have been issued for this request too, and may have come back already.
            let doubtful =
                self.issued.may_be_hidden(operation) || self.issued.hidden_retry > issued;
            self.remark_doubtfully(at, doubtful, Code::MrtrStateElsewhere, text);
        } else if ambiguous {
            let text =
                "client: the retry is ambiguous; it fits several operations that wait for input";
            self.remark(at.row, Code::MrtrUnlinked, text);
        } else if known.is_some_and(|known| known.used) {
            let text = "client: sent a requestState again that it had already brought back";
            self.remark(at.row, Code::MrtrStateReplayed, text);
        } else if retry.state == Known::Absent && matches!(retry.keys, Known::Is(_))
            || known.is_some()
        {
            let text = "client: the retry fits none of the operations that wait for input";
            self.remark(at.row, Code::MrtrUnlinked, text);
        }
    }

    /// The next request of a parked operation.
    pub(super) fn retry(
        &mut self,
        at: &At,
        linked: &Linked,
        (key, params): (Option<&Key>, &Params<'_>),
        facts: &mut Vec<Fact>,
    ) {
        let call = linked.call;
        self.change(call, facts, |call| {
            call.charge(at.ts, false);
            call.note_issue(linked.issue);
            call.state = CallState::Pending(WaitingOn::Responder);
            call.arrived = at.arrived;
        });
        if let Some(row) = self.rows.by_id_mut(at.row) {
            row.mark(|flags| flags.retry = true);
        }
        let root = self
            .call(call)
            .and_then(|call| Some(call.hops.first()?.json_id.clone()));
        if let Some(extra) = self.extra_mut(at.row) {
            (extra.mrtr_root, extra.state_issue) = (root, linked.issue);
        }
        self.remark_state(at, linked);
        self.remark_reused_id(at, linked, key);
        if let (Some(first), Some(second)) = (linked.parked.base, linked.base)
            && first != second
        {
            let text =
                "client: the retry does not repeat the parameters of the request that it continues";
            self.remark(at.row, Code::MrtrParamsChanged, text);
        }
        self.ledger
            .answer_round(call, at, params.raw.input_responses);
    }

    /// The verdict on the state (session-model.md 11.4).
    fn remark_state(&mut self, at: &At, linked: &Linked) {
        let Some(issue) = linked.issue else { return };
        let frame = linked.parked.seq.0;
        let (code, text) = match issue {
            StateIssue::Missing => (
                Code::MrtrStateMissing,
                format!("client: the retry lacks the requestState that frame {frame} issued"),
            ),
            StateIssue::Invented => (
                Code::MrtrStateInvented,
                format!("client: the retry has a requestState, and frame {frame} issued none"),
            ),
            StateIssue::Changed => (
                Code::MrtrStateChanged,
                format!("client: the retry has another requestState than frame {frame} issued"),
            ),
        };
        self.remark_doubtfully(at, linked.doubtful, code, text);
    }

    /// Makes a remark that rests on the absence of an earlier frame; one that could not be read, or was
    /// forgotten, is like a lost one.
    fn remark_doubtfully(&mut self, at: &At, doubtful: bool, code: Code, text: String) {
        let hole = if doubtful { u64::MAX } else { at.hole };
        self.remark_absence(&At { hole, ..*at }, code, text);
    }

    /// A retry needs an id of its own; ids of two clients have nothing to do with one another.
    fn remark_reused_id(&mut self, at: &At, linked: &Linked, key: Option<&Key>) {
        let Some(key) = key.filter(|_| linked.parked.client.is_surely(at.client)) else {
            return;
        };
        let former = self.call(linked.call).and_then(|call| {
            let same = call.hops.iter().find(|hop| {
                let id = hop.json_id.as_bytes();
                !reading::is_redacted(id, true) && Key::read(id).as_ref() == Some(key)
            })?;
            Some((same.request.seq, shown(same.json_id.as_bytes())))
        });
        if let Some((seq, id)) = former {
            let text = format!("client: the retry has the id {id} of frame {}", seq.0);
            self.remark_since(at, seq, Code::MrtrIdReused, text);
        }
    }

    /// An interim answer: the call waits for the client (session-model.md 11.2).
    pub(super) fn park(
        &mut self,
        at: &At,
        hop: HopId,
        result: &ResultFacts<'_>,
        facts: &mut Vec<Fact>,
    ) {
        let Some(entry) = self.hops.get(hop) else {
            return;
        };
        let (id, client, base) = (entry.call, entry.client, entry.base.map(NonZeroU64::get));
        let (side, round, hidden) = (entry.side, entry.at, entry.hidden_names);
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
        let cut = at.truncated;
        let shape = Shape {
            side,
            method: Arc::clone(&call.method),
            operation: call.operation.clone(),
            hidden,
            client,
            keys: unless(cut, &result.asks),
            state: unless(cut, &result.state),
            base,
            seq: at.row.seq,
        };
        let asked = InputRequests::read(result.raw.input_requests, at.redacted, cut);
        let methods = asked.methods.iter().map(|name| self.atoms.share(name));
        let methods: Box<[Arc<str>]> = methods.collect();
        self.change(id, facts, |call| {
            call.charge(at.ts, true);
            call.keep_rounds();
            if let Some(round) = call.round_mut(round) {
                round.answered = at.ts;
                (round.asked, round.asked_unknown) = (methods, asked.unknown);
            }
            call.state = CallState::Pending(WaitingOn::Client);
        });
        self.ask_round(at, id, round, &asked);
        if let Known::Is(state) = shape.state {
            self.issued.issue(state, shape.operation_hash());
        }
        if let Some(retired) = self.parked.add(id, shape) {
            self.counters.retired_exchanges += 1;
            self.change(retired, facts, |call| call.retired = true);
        }
    }
}

/// A value of a frame that may have been cut.
fn unless<T: Clone>(cut: bool, value: &Known<T>) -> Known<T> {
    if cut { Known::Unknown } else { value.clone() }
}

/// Compares what was issued with what came back, on a link by keys.
fn issue_of(issued: &Known<[u8; 16]>, sent: &Known<[u8; 16]>) -> Option<StateIssue> {
    match (issued, sent) {
        (Known::Is(_), Known::Absent) => Some(StateIssue::Missing),
        (Known::Absent, Known::Is(_)) => Some(StateIssue::Invented),
        (Known::Is(one), Known::Is(other)) if one != other => Some(StateIssue::Changed),
        _ => None,
    }
}
