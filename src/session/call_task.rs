//! What a call is to others while a task or nobody works for it (session-model.md 5.3, 5.4, 10).

use super::{
    call::{Call, CallState, DisplayStatus, WaitingOn},
    machine::At,
};

/// Which frame showed the end of a task (session-model.md 6.7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndObservedBy {
    /// The answer to a poll: the end is known as exactly as the client polls.
    Poll,
    /// A notification.
    Notification,
    /// The answer to `tasks/result`.
    Result,
}

impl Call {
    /// The word for the status of its task.
    pub(super) fn task_word(&self) -> DisplayStatus {
        match self.task_status.as_deref() {
            Some("input_required") => DisplayStatus::TaskInput,
            Some("completed") => DisplayStatus::TaskDone,
            Some("failed") => DisplayStatus::TaskFailed,
            Some("cancelled") => DisplayStatus::TaskCancelled,
            _ => DisplayStatus::TaskWorking,
        }
    }

    /// True when nothing that may still come changes it.
    pub(super) fn is_over(&self) -> bool {
        !self.is_open() && !self.awaits_late && !self.awaits_result
    }

    /// True while an answer or the outcome of a task is to come, as far as is known.
    pub(super) fn is_awaited(&self) -> bool {
        matches!(
            self.state,
            CallState::Pending(WaitingOn::Responder | WaitingOn::Task)
        ) && !self.uncertain
            && self.resolved.is_none()
    }

    /// Its task begins to wait for input of the requester, or got it: the share that runs changes
    /// (session-model.md 6.3).
    pub(super) fn switch_input(&mut self, at: &At, waits: bool) {
        if waits != self.task_input {
            self.charge(at.ts, self.responder_acts());
            self.task_input = waits;
        }
    }
}
