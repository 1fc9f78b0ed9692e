//! What the status of a task means for the call that it works for (session-model.md 10.3).

use super::{
    call::{Call, CallId, CallState, WaitingOn},
    call_task::EndObservedBy,
    fact::Fact,
    hops::{HopId, Side},
    machine::{Answer, At, Machine},
    reading::{ErrorFacts, ResultFacts},
    remark::Code,
    tasks::{Task, TaskDialect, is_terminal},
    tokens::Phase,
    wording::shown,
};
use crate::record::Seq;

/// How a status was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Told {
    /// With the handle of the task.
    Handle,
    /// In the answer to the request with this number.
    Poll(Seq),
    /// In a notification.
    Notification,
}

/// What a frame says of a task.
#[derive(Debug)]
pub(super) struct News<'a> {
    /// Who runs it.
    pub(super) side: Side,
    pub(super) id: &'a str,
    /// `None` when it cannot be known.
    pub(super) status: Option<&'a str>,
    /// Inlined result, exact bytes.
    pub(super) result: Option<&'a [u8]>,
    /// Inlined error, exact bytes.
    pub(super) error: Option<&'a [u8]>,
    pub(super) told: Told,
}

impl Machine {
    /// Takes in what a frame says of a task that is known.
    pub(super) fn task_news(&mut self, at: &At, news: &News<'_>, facts: &mut Vec<Fact>) {
        let Some(status) = news.status else { return };
        self.judge_status(at, news, status);
        let word = self.atoms.share(status);
        let ends = is_terminal(status);
        let changed = self.tasks.change(news.side, news.id, |task| {
            // The handle of the extension only announces an outcome.
            let announced =
                news.told == Told::Handle && task.dialect == Some(TaskDialect::Extension);
            if task.terminal.is_none() {
                task.status = Some(std::sync::Arc::clone(&word));
                task.terminal = ends.then_some(at.row.seq);
            }
            if ends && !announced && !task.over {
                (task.over, task.ended_at) = (true, at.ts);
            }
            let core = task.dialect == Some(TaskDialect::Core);
            let hop = task.hop.take_if(|_| ends);
            (task.call, core, announced, hop)
        });
        let Some((call, core, announced, hop)) = changed else {
            return;
        };
        self.free_token(hop);
        let Some(id) = call.filter(|id| self.waits_for_task(*id)) else {
            return;
        };
        self.change(id, facts, |call| {
            call.task_status = Some(word);
            call.switch_input(at, status == "input_required");
            if ends && !announced {
                call.end_observed_by = match news.told {
                    Told::Handle => None,
                    Told::Poll(_) => Some(EndObservedBy::Poll),
                    Told::Notification => Some(EndObservedBy::Notification),
                };
                call.awaits_result = core && status != "cancelled";
            }
        });
        if !announced {
            self.settle_by_status(at, id, (status, core), news, facts);
        }
    }

    /// True while the call's outcome is that of a task.
    pub(super) fn waits_for_task(&self, id: CallId) -> bool {
        self.call(id)
            .is_some_and(|call| call.state == CallState::Pending(WaitingOn::Task))
    }

    fn settle_by_status(
        &mut self,
        at: &At,
        id: CallId,
        (status, core): (&str, bool),
        news: &News<'_>,
        facts: &mut Vec<Fact>,
    ) {
        match status {
            "completed" => self.task_completed(at, id, news.result.filter(|_| !core), facts),
            "failed" => {
                let error = news.error.map(ErrorFacts::read).unwrap_or_default();
                self.finish(at, id, &Answer::Error(error), facts);
            }
            "cancelled" => {
                self.change(id, facts, |call| {
                    call.charge(at.ts, call.responder_acts());
                    call.end = at.ts;
                    call.state = CallState::Cancelled;
                });
            }
            _ => return,
        }
        self.drop_if_unseen(id);
    }

    /// Settles a call with the result of its task.
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

    /// The underlying answer itself came with `tasks/result` (core dialect).
    pub(super) fn task_result(
        &mut self,
        at: &At,
        id: &str,
        (error, result): (Option<&[u8]>, Option<&[u8]>),
        facts: &mut Vec<Fact>,
    ) {
        let Some(task) = self.tasks.get(at.side, id) else {
            return;
        };
        let (call, status) = (task.call, task.status.clone());
        let Some(call) = call else { return };
        let waits = self.waits_for_task(call);
        match (error, result) {
            (None, Some(result)) if waits => {
                self.end_by_result(at, (id, call), facts);
                self.task_completed(at, call, Some(result), facts);
            }
            (None, Some(result)) => self.result_follows(at, call, result, facts),
            (Some(error), _) => {
                let error = ErrorFacts::read(error);
                // A failed look-up says nothing of the task, nor does a code that cannot be read.
                let unclear = error.code == Some(-32_602) || error.code.is_none() && at.redacted;
                if status.as_deref() == Some("failed") {
                    self.change(call, facts, |call| {
                        if std::mem::take(&mut call.awaits_result) {
                            call.error_code = error.code;
                        }
                    });
                } else if waits && !unclear {
                    self.end_by_result(at, (id, call), facts);
                    self.finish(at, call, &Answer::Error(error), facts);
                }
            }
            (None, None) => {}
        }
        self.drop_if_unseen(call);
    }

    fn end_by_result(&mut self, at: &At, (task, id): (&str, CallId), facts: &mut Vec<Fact>) {
        let hop = self.tasks.change(at.side, task, |task| {
            (task.over, task.ended_at) = (true, at.ts);
            task.hop.take()
        });
        self.free_token(hop.flatten());
        self.change(id, facts, |call| {
            call.end_observed_by = Some(EndObservedBy::Result);
        });
    }

    /// The result of a task whose end was seen before.
    fn result_follows(&mut self, at: &At, id: CallId, result: &[u8], facts: &mut Vec<Fact>) {
        let Some(call) = self.call(id).filter(|call| call.awaits_result) else {
            return;
        };
        let failed = call.is_tool && ResultFacts::read(result, at.redacted).is_error;
        drop(call);
        let bytes = result.len() as u64;
        let newly = self.change(id, facts, |call| {
            call.awaits_result = false;
            call.result_bytes = bytes;
            let newly = failed && !call.errored;
            if failed {
                call.state = CallState::Failed;
                (call.tool_error, call.errored) = (true, true);
            }
            newly
        });
        if newly == Some(true) {
            self.mark_errored(at.row);
        }
    }

    /// A task that was over and is so no longer, or ends in another way. Only a poll that was sent
    /// after its end was seen, or a notification on stdio, can tell: elsewhere frames overtake each
    /// other.
    fn judge_status(&mut self, at: &At, news: &News<'_>, status: &str) {
        let Some(task) = self.tasks.get(news.side, news.id) else {
            return;
        };
        let (Some(seen), Some(before)) = (task.terminal, task.status.as_deref()) else {
            return;
        };
        let later = match news.told {
            Told::Handle => false,
            Told::Poll(asked) => asked > seen,
            Told::Notification => !at.http,
        };
        // A word that is not known may mean anything.
        let known = is_terminal(status) || matches!(status, "working" | "input_required");
        if later && known && before != status {
            let text = format!(
                "{}: a task stays at its end; {} was {before} in frame {seen} and is {status}",
                news.side.word(),
                shown(news.id.as_bytes()),
            );
            self.remark_since(at, seen, Code::TaskLeftTerminal, text);
        }
    }

    /// A task is over: the token that it held is good no longer (session-model.md 9.5).
    fn free_token(&mut self, hop: Option<(HopId, Seq)>) {
        let Some((hop, asked)) = hop else { return };
        let same = self.hops.get(hop).filter(|known| known.seq == asked);
        let token = same.and_then(|hop| hop.token.as_ref());
        if token.map(|token| token.phase) == Some(Phase::Held) {
            self.set_token(hop, Phase::Ended);
        }
    }

    /// The answer to a question that a task waited for, or its `tasks/update`.
    pub(super) fn task_got_input(&mut self, at: &At, id: CallId, facts: &mut Vec<Fact>) {
        if self.waits_for_task(id) {
            self.change(id, facts, |call| call.switch_input(at, false));
        }
    }

    /// A task was forgotten at the bound: nothing will tell of the end of its call any more.
    pub(super) fn task_forgotten(&mut self, task: &Task, facts: &mut Vec<Fact>) {
        self.forgotten.tasks += 1;
        if let Some(id) = task.call {
            self.task_gone(id, facts);
        }
    }

    /// Nothing can be learned any more of the task that a call became.
    pub(super) fn task_gone(&mut self, id: CallId, facts: &mut Vec<Fact>) {
        let waits = self.waits_for_task(id);
        self.change(id, facts, |call| {
            call.awaits_result = false;
            if waits {
                call.set_maybe_lost();
            }
        });
        self.drop_if_unseen(id);
    }

    /// Drops a call that was settled by a frame that is not its own, after its own rows had left.
    fn drop_if_unseen(&mut self, id: CallId) {
        let Some(first) = self.rows.first().map(super::stored::Stored::id) else {
            return;
        };
        let gone = |call: &Call| call.is_over() && call.last_row < first;
        if self.call(id).is_some_and(|call| gone(&call)) {
            self.drop_call(id);
        }
    }
}
