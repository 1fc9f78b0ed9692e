//! Frames that tell of tasks: handles, requests about them, their answers, notifications, links
//! (session-model.md 10.1, 10.2).

use std::sync::Arc;

use super::{
    call::{CallId, CallState, WaitingOn},
    classify::Parts,
    fact::Fact,
    hops::{HopId, Side},
    machine::{Answer, At, Machine},
    reading::{Known, Params, ResultFacts},
    remark::Code,
    task_facts::{TaskFacts, related_task},
    task_news::{News, Told},
    tasks::TaskDialect,
    tokens::Phase,
};
use crate::wire::json;

impl Machine {
    /// A task took the call over (session-model.md 10.1).
    pub(super) fn hand_over(
        &mut self,
        at: &At,
        hop: HopId,
        (dialect, task): &(TaskDialect, TaskFacts<'_>),
        facts: &mut Vec<Fact>,
    ) {
        let Some((id, asked)) = self.hops.get(hop).map(|hop| (hop.call, hop.seq)) else {
            return;
        };
        // A call that was failed or overtaken becomes no task, whether it is still in memory or not.
        let takes = self
            .call(id)
            .is_some_and(|call| call.is_open() || call.awaits_late);
        if !takes {
            return;
        }
        let core = *dialect == TaskDialect::Core;
        self.set_token(hop, if core { Phase::Held } else { Phase::Quiet });
        let status = task.status.value();
        let word = status.map(|status| self.atoms.share(status));
        let name: Option<Arc<str>> = task.id.value().map(|id| Arc::from(id.as_ref()));
        let open = self.change(id, facts, |call| {
            call.task_id.clone_from(&name);
            call.task_status = word;
            if call.is_open() {
                call.charge(at.ts, true);
                call.state = CallState::Pending(WaitingOn::Task);
                if name.is_none() {
                    // Nothing can be linked to it: how it ends will not be seen.
                    call.set_maybe_lost();
                }
                return true;
            }
            false
        });
        if open != Some(true) {
            self.finish(at, id, &Answer::Ok { bytes: 0 }, facts);
        }
        let Some(name) = name else { return };
        self.know_task(at, at.side, &name, facts);
        let before = self.tasks.get(at.side, &name).and_then(|task| task.call);
        self.tasks.begin(at.side, &name, id, *dialect);
        if let Some(before) = before.filter(|before| *before != id) {
            self.task_gone(before, facts);
        }
        if core && self.hops.token_mut(hop).is_some() {
            self.tasks
                .change(at.side, &name, |task| task.hop = Some((hop, asked)));
        }
        self.link_task(at, at.side, &name);
        let news = News {
            side: at.side,
            id: &name,
            status: status.map(AsRef::as_ref),
            result: None,
            error: None,
            told: Told::Handle,
        };
        self.task_news(at, &news, facts);
    }

    fn know_task(&mut self, at: &At, side: Side, id: &str, facts: &mut Vec<Fact>) {
        if let Some(forgotten) = self.tasks.add(side, id, at.ts) {
            self.task_forgotten(&forgotten, facts);
        }
    }

    /// Notes on the frame which task it belongs to; answers the call of that task.
    fn link_task(&mut self, at: &At, side: Side, id: &str) -> Option<CallId> {
        let task = self.tasks.get(side, id);
        let (name, call) = match task {
            Some(task) => (Arc::clone(&task.id), task.call),
            None => (Arc::from(id), None),
        };
        let extra = self.extra_mut(at.row)?;
        (extra.task_id, extra.task_call) = (Some(name), call);
        call
    }

    /// A frame that only says which task it was sent for (core dialect).
    pub(super) fn link_related(&mut self, at: &At, value: &[u8]) {
        let Some(id) = related_task(value, at.redacted) else {
            return;
        };
        let found = self.tasks.of_either(at.side, &id);
        let on_server = found.map_or(at.side == Side::Server, |task| task.on_server);
        let side = if on_server {
            Side::Server
        } else {
            Side::Client
        };
        self.link_task(at, side, &id);
    }

    /// A request about a task, or one that was sent for it.
    pub(super) fn task_request(
        &mut self,
        at: &At,
        method: &str,
        params: &Params<'_>,
        facts: &mut Vec<Fact>,
    ) {
        if let Some(link) = params.raw.related_task {
            self.link_related(at, link);
        }
        let about = matches!(
            method,
            "tasks/get" | "tasks/result" | "tasks/update" | "tasks/cancel"
        );
        let (true, Some(id)) = (about, &params.task_id) else {
            return;
        };
        let side = at.side.other();
        self.know_task(at, side, id, facts);
        let call = self.link_task(at, side, id);
        if let (Some(call), "tasks/update") = (call, method) {
            self.task_got_input(at, call, facts);
        }
    }

    /// Folds a notification about a task.
    pub(super) fn task_notification(
        &mut self,
        at: &At,
        params: &Params<'_>,
        facts: &mut Vec<Fact>,
    ) {
        let Some(id) = &params.task_id else { return };
        self.know_task(at, at.side, id, facts);
        self.task_asks(at, id, params.status.as_deref(), params.raw.input_requests);
        if let Some(call) = self.link_task(at, at.side, id) {
            self.tie(at.row, call);
            self.change(call, facts, |call| call.link(at.row));
        }
        let news = News {
            side: at.side,
            id,
            status: params.status.as_deref(),
            result: params.task_result,
            error: params.raw.error,
            told: Told::Notification,
        };
        self.task_news(at, &news, facts);
    }

    /// The answer to a request about a task, or to one that a task sent.
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
        let Some(task) = entry.task_id.as_deref().cloned() else {
            return;
        };
        let (asked, asker) = (entry.seq, entry.side);
        let method = self.call(entry.call).map(|call| Arc::clone(&call.method));
        let read = match (parts.error, parts.result) {
            (None, Some(result)) => Some(ResultFacts::read(result, at.redacted)),
            _ => None,
        };
        match (method.as_deref(), read) {
            (Some("tasks/list"), Some(read)) => {
                self.tasks_listed(at, Told::Poll(asked), &read, facts);
            }
            (Some("tasks/list"), None) => {}
            (Some("tasks/result"), _) => {
                self.link_task(at, at.side, &task);
                let works_for = self.tasks.get(at.side, &task).and_then(|task| task.call);
                if let Some(call) = works_for {
                    self.user_answered(at, call, parts);
                }
                self.task_result(at, &task, (parts.error, parts.result), facts);
            }
            (Some(method @ ("tasks/get" | "tasks/cancel")), Some(read)) => {
                self.link_task(at, at.side, &task);
                let acknowledged = method == "tasks/cancel";
                self.polled(at, (&task, Told::Poll(asked)), &read, acknowledged, facts);
            }
            (Some("tasks/get" | "tasks/cancel" | "tasks/update"), _) => {
                self.link_task(at, at.side, &task);
            }
            _ => {
                let known = self.tasks.get(asker, &task).and_then(|task| task.call);
                if let Some(call) = known {
                    self.task_got_input(at, call, facts);
                }
            }
        }
    }

    /// What `tasks/get` and `tasks/cancel` show.
    fn polled(
        &mut self,
        at: &At,
        (id, told): (&str, Told),
        read: &ResultFacts<'_>,
        acknowledged: bool,
        facts: &mut Vec<Fact>,
    ) {
        if read.task.id.value().is_some_and(|named| **named != *id) {
            let text = format!(
                "{}: named another task than the one that it was asked for",
                at.side.word(),
            );
            self.remark(at.row, Code::TaskIdDiffers, text);
            return;
        }
        let status = read.task.status.value().map(AsRef::as_ref);
        self.task_asks(at, id, status, read.raw.input_requests);
        if acknowledged {
            let call = self.tasks.change(at.side, id, |task| {
                task.cancel_requested = true;
                task.call
            });
            if let Some(call) = call.flatten().filter(|call| self.waits_for_task(*call)) {
                self.change(call, facts, |call| call.cancel_requested = true);
            }
        }
        let news = News {
            side: at.side,
            id,
            status,
            result: read.inner_result,
            error: read.raw.error,
            told,
        };
        self.task_news(at, &news, facts);
    }

    /// What `tasks/list` shows of the tasks that are known.
    fn tasks_listed(&mut self, at: &At, told: Told, read: &ResultFacts<'_>, facts: &mut Vec<Fact>) {
        for task in json::elements(read.raw.tasks.unwrap_or_default()) {
            let task = TaskFacts::read(task, at.redacted);
            let (Known::Is(id), Known::Is(status)) = (&task.id, &task.status) else {
                continue;
            };
            if self.tasks.get(at.side, id).is_none() {
                continue;
            }
            let news = News {
                side: at.side,
                id,
                status: Some(status),
                result: None,
                error: None,
                told,
            };
            self.task_news(at, &news, facts);
        }
    }
}
