//! Where questions to users come from, and where their answers: interim answers, requests of the
//! server, tasks (session-model.md 12).

use std::sync::Arc;

use super::{
    call::{Call, CallId},
    classify::Parts,
    elicitation::{Elicitation, ElicitationChannel, Interrupted},
    hops::Side,
    key::JsonId,
    machine::{At, Machine},
    questions::{ELICIT, InputRequests, Question},
    reading::{self, ErrorFacts, Params},
};

/// Open calls among which the only one of the client is looked for.
const MAX_SEARCHED: usize = 256;

impl Machine {
    /// The questions of an interim answer.
    pub(super) fn ask_round(&mut self, at: &At, id: CallId, hop: u32, asked: &InputRequests<'_>) {
        let rows = if asked.questions.is_empty() {
            Vec::new()
        } else {
            let operation = self.call(id).map(|call| interrupted(&call));
            let questions = asked.questions.iter();
            questions
                .map(|(key, params)| {
                    let question = Question::read(*params, at.redacted);
                    let mut row =
                        row_of(at, ElicitationChannel::Mrtr, key.as_ref().into(), question);
                    row.operation.clone_from(&operation);
                    row.round = hop.saturating_add(1);
                    row
                })
                .collect()
        };
        self.ledger.open_round(id, rows);
    }

    /// A request of the server that asks the user.
    pub(super) fn ask_user(&mut self, at: &At, id: CallId, parts: &Parts<'_>, params: &Params<'_>) {
        let key = parts.id.map(String::from_utf8_lossy).unwrap_or_default();
        let key = JsonId::new(&key);
        let question = Question::read(parts.params, at.redacted);
        let mut row = row_of(at, ElicitationChannel::Request, (*key).into(), question);
        row.request = Some(id);
        let operation = self
            .operation_of_exchange(at)
            .or_else(|| self.operation_of_task(params, at.redacted))
            .or_else(|| self.only_operation());
        if let Some(call) = operation.and_then(|call| self.call(call)) {
            row.round = call.hop_count;
            row.operation = Some(interrupted(&call));
        }
        self.ledger.open_request(row);
    }

    /// The client answered a request of the server, perhaps one that asks the user.
    pub(super) fn user_answered(&mut self, at: &At, id: CallId, parts: &Parts<'_>) {
        if self.ledger.awaits_none() {
            return;
        }
        let answer = match (parts.error, parts.result) {
            (None, Some(result)) => Ok(result),
            (Some(error), _) => Err(ErrorFacts::read(error).code),
            (None, None) => Err(None),
        };
        self.ledger.answer_request(id, at, answer);
    }

    /// The only waiting request of the client on the exchange.
    fn operation_of_exchange(&self, at: &At) -> Option<CallId> {
        let only = self.hops.exchanges.only(at.exchange, Side::Client)?;
        self.hops.get(only).map(|hop| hop.call)
    }

    fn operation_of_task(&self, params: &Params<'_>, redacted: bool) -> Option<CallId> {
        let task = reading::member_text(params.raw.related_task?, "taskId", redacted)?;
        self.call_of_task(&task)
    }

    /// The open call that a task of the server works for.
    fn call_of_task(&self, task: &str) -> Option<CallId> {
        let call = self.tasks.get(Side::Server, task)?.call?;
        // What is over is interrupted by nothing, and may have left memory.
        self.call(call)?.is_open().then_some(call)
    }

    /// The only open call of the client; none among very many.
    fn only_operation(&self) -> Option<CallId> {
        if self.open.len() > MAX_SEARCHED {
            return None;
        }
        let of_client = |id: &CallId| self.call(*id).is_some_and(|call| call.from_client);
        let mut open = self.open.iter().map(|(_, id)| *id).filter(of_client);
        let first = open.next()?;
        open.next().is_none().then_some(first)
    }

    /// A task of the server says what it waits for.
    pub(super) fn task_asks(
        &mut self,
        at: &At,
        task: &str,
        status: Option<&str>,
        asks: Option<&[u8]>,
    ) {
        if at.side != Side::Server || status != Some("input_required") || asks.is_none() {
            return;
        }
        let asked = InputRequests::read(asks, at.redacted, at.truncated);
        if asked.questions.is_empty() {
            return;
        }
        let call = self.call_of_task(task).and_then(|call| self.call(call));
        let operation = call.as_ref().map(|call| interrupted(call));
        let round = call.as_ref().map_or(1, |call| call.hop_count);
        drop(call);
        let task = self.atoms.share(task);
        for (key, params) in &asked.questions {
            let question = Question::read(*params, at.redacted);
            let mut row = row_of(at, ElicitationChannel::Task, key.as_ref().into(), question);
            row.operation.clone_from(&operation);
            row.round = round;
            row.task = Some(Arc::clone(&task));
            self.ledger.open_task(&task, row);
        }
    }

    /// The client answers what a task waits for.
    pub(super) fn task_answered(&mut self, at: &At, params: &Params<'_>) {
        if let (Some(task), Some(responses)) = (&params.task_id, params.raw.input_responses)
            && at.side == Side::Client
        {
            let task = self.atoms.share(task);
            self.ledger.answer_task(&task, at, responses);
        }
    }

    /// True for a request that asks the user.
    pub(super) fn asks_user(at: &At, method: &str) -> bool {
        at.side == Side::Server && method == ELICIT
    }
}

fn interrupted(call: &Call) -> Interrupted {
    let id = call.hops.first().map(|hop| hop.json_id.clone());
    Interrupted {
        call: call.id,
        call_id: id.unwrap_or_else(|| JsonId::new("")),
        call_seq: call.request_seq,
        method: Arc::clone(&call.method),
        tool: call.operation.clone().filter(|_| call.is_tool),
    }
}

fn row_of(at: &At, channel: ElicitationChannel, key: Box<str>, question: Question) -> Elicitation {
    Elicitation {
        operation: None,
        channel,
        round: 1,
        key,
        mode: question.mode,
        message: question.message,
        fields: question.fields,
        url: question.url,
        host: question.host,
        asked_at: at.ts,
        answered_at: None,
        action: None,
        answer_error: None,
        pending: true,
        task: None,
        request: None,
    }
}
