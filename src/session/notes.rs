//! Notifications and tasks: progress, cancellation, and what a task says of the call that it works
//! for (session-model.md 9, 10).

use std::sync::Arc;

use super::{
    call::{CallId, CallState, WaitingOn},
    classify::Parts,
    fact::Fact,
    hops::{HopId, Side, only},
    machine::{Answer, At, Machine},
    reading::{ErrorFacts, Params, ResultFacts},
};
use crate::record::HttpFields;

/// Tasks of one session (session-model.md 22.3).
const MAX_TASKS: usize = 10_000;

/// What is known of a task at one moment.
struct News<'a> {
    /// Who runs it.
    responder: Side,
    id: &'a str,
    status: &'a str,
    result: Option<&'a [u8]>,
}

impl Machine {
    /// Folds a notification.
    pub(super) fn notification(
        &mut self,
        at: &At,
        http: Option<&HttpFields>,
        parts: &Parts<'_>,
        facts: &mut Vec<Fact>,
    ) {
        let mut at = *at;
        if at.side == Side::Client {
            let client = self.peers.client_key(http, at.conn, None, false);
            if at.http {
                at.client = client;
            }
        }
        self.list_news(&at, parts);
        let (Some(method), Some(params)) = (parts.method.as_deref(), parts.params) else {
            return;
        };
        match method {
            "notifications/progress" => {
                self.progress(&at, &Params::read(params, at.redacted), facts);
            }
            "notifications/cancelled" => {
                self.cancel(&at, &Params::read(params, at.redacted), facts);
            }
            "notifications/tasks" | "notifications/tasks/status" => {
                let params = Params::read(params, at.redacted);
                let (Some(id), Some(status)) = (&params.task_id, &params.status) else {
                    return;
                };
                let news = News {
                    responder: at.side,
                    id,
                    status,
                    result: params.task_result,
                };
                self.task_news(&at, &news, facts);
            }
            _ => {}
        }
    }

    /// Ties progress to the request that asked for it.
    fn progress(&mut self, at: &At, params: &Params<'_>, facts: &mut Vec<Fact>) {
        let Some(token) = &params.progress_token else {
            return;
        };
        let named = self.hops.with_token(at.side.other(), token);
        let in_exchange = named
            .clone()
            .find(|(_, hop)| at.exchange != 0 && hop.exchange == at.exchange);
        let found = in_exchange
            .or_else(|| named.clone().find(|(_, hop)| hop.conn == at.conn))
            .map(|(hop, _)| hop)
            .or_else(|| only(named.clone().filter(|(_, hop)| hop.client == at.client)))
            .or_else(|| only(named));
        let Some(call) = found.and_then(|hop| self.hops.get(hop)).map(|hop| hop.call) else {
            return;
        };
        self.tie(at.row, call);
        self.change(call, facts, |call| {
            call.progress_count = call.progress_count.saturating_add(1);
            call.link(at.row);
        });
    }

    /// A task took the call over (session-model.md 10.1).
    pub(super) fn hand_over(
        &mut self,
        at: &At,
        id: CallId,
        result: &ResultFacts<'_>,
        facts: &mut Vec<Fact>,
    ) {
        let Some((task, status)) = &result.task else {
            return;
        };
        let key = (at.side, Arc::<str>::from(task.as_ref()));
        if self.task_order.len() >= MAX_TASKS
            && let Some(oldest) = self.task_order.pop_front()
        {
            self.tasks.remove(&oldest);
        }
        if self.tasks.insert(key.clone(), id).is_none() {
            self.task_order.push_back(key);
        }
        let word = self.atoms.share(status);
        self.change(id, facts, |call| {
            if call.is_open() {
                call.charge(at.ts, true);
                call.state = CallState::Pending(WaitingOn::Task);
                call.task_status = Some(word);
            }
        });
        if !self.call(id).is_some_and(|call| call.is_open()) {
            self.finish(at, id, &Answer::Ok { bytes: 0 }, facts);
        } else if result.task_nested {
            let news = News {
                responder: at.side,
                id: task,
                status,
                result: None,
            };
            self.task_news(at, &news, facts);
        }
    }

    /// What a status means for the call, while it is open (session-model.md 10.3).
    fn task_news(&mut self, at: &At, news: &News<'_>, facts: &mut Vec<Fact>) {
        let Some(id) = self
            .tasks
            .get(&(news.responder, Arc::from(news.id)))
            .copied()
        else {
            return;
        };
        let word = self.atoms.share(news.status);
        let fresh = self
            .rows
            .by_id(at.row)
            .is_some_and(|row| row.call().is_none());
        if fresh {
            self.tie(at.row, id);
        }
        let open = self.change(id, facts, |call| {
            if fresh {
                call.link(at.row);
            }
            let open = call.state == CallState::Pending(WaitingOn::Task);
            if open {
                call.task_status = Some(word);
            }
            open
        });
        if open != Some(true) {
            return;
        }
        match news.status {
            "completed" => self.task_completed(at, id, news.result, facts),
            "failed" => self.finish(at, id, &Answer::Error(ErrorFacts::default()), facts),
            "cancelled" => {
                self.change(id, facts, |call| {
                    call.charge(at.ts, true);
                    call.end = at.ts;
                    call.state = CallState::Cancelled;
                });
            }
            _ => {}
        }
    }

    fn task_completed(
        &mut self,
        at: &At,
        id: CallId,
        result: Option<&[u8]>,
        facts: &mut Vec<Fact>,
    ) {
        let is_tool = self.call(id).is_some_and(|call| call.is_tool);
        let bytes = result.map_or(0, |result| result.len() as u64);
        let failed =
            is_tool && result.is_some_and(|result| ResultFacts::read(result, at.redacted).is_error);
        let answer = if failed {
            Answer::ToolError { bytes }
        } else {
            Answer::Ok { bytes }
        };
        self.finish(at, id, &answer, facts);
    }

    /// The answer to `tasks/get`, `tasks/result` or `tasks/cancel` tells of another call.
    pub(super) fn lookup_answered(
        &mut self,
        at: &At,
        hop: HopId,
        parts: &Parts<'_>,
        facts: &mut Vec<Fact>,
    ) {
        let Some(entry) = self.hops.get(hop) else {
            return;
        };
        let Some(task) = entry.task_id.clone() else {
            return;
        };
        let method = self.call(entry.call).map(|call| Arc::clone(&call.method));
        match method.as_deref() {
            Some("tasks/result") => self.task_result(at, &task, parts, facts),
            Some("tasks/get" | "tasks/cancel") => {
                let Some(result) = parts.result else { return };
                let read = ResultFacts::read(result, at.redacted);
                let Some((_, status)) = &read.task else {
                    return;
                };
                let news = News {
                    responder: at.side,
                    id: &task,
                    status,
                    result: read.inner_result,
                };
                self.task_news(at, &news, facts);
            }
            _ => {}
        }
    }

    /// The underlying answer itself (core dialect).
    fn task_result(&mut self, at: &At, task: &Arc<str>, parts: &Parts<'_>, facts: &mut Vec<Fact>) {
        let Some(id) = self.tasks.get(&(at.side, Arc::clone(task))).copied() else {
            return;
        };
        let Some(call) = self.call(id) else {
            return;
        };
        let (is_tool, open) = (call.is_tool, call.is_open());
        match (parts.error, parts.result) {
            (None, Some(result)) if open => self.task_completed(at, id, Some(result), facts),
            (None, Some(result)) => {
                let failed = is_tool && ResultFacts::read(result, at.redacted).is_error;
                let bytes = result.len() as u64;
                let newly = self.change(id, facts, |call| {
                    call.result_bytes = call.result_bytes.max(bytes);
                    let newly = failed && !call.errored;
                    if failed && call.state != CallState::Cancelled {
                        call.state = CallState::Failed;
                        (call.tool_error, call.errored) = (true, true);
                    }
                    newly && call.errored
                });
                if newly == Some(true) {
                    self.mark_errored(at.row);
                }
            }
            (Some(error), _) if open => {
                let error = ErrorFacts::read(error);
                // A failed look-up, not the task's own error (session-model.md 10.3).
                if error.code != Some(-32_602) {
                    self.finish(at, id, &Answer::Error(error), facts);
                }
            }
            _ => {}
        }
    }
}
