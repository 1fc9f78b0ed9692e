//! The words of the document for states and kinds (export.md 4.5 to 4.7).

use crate::session::{Call, CallState, DisplayStatus, Kind, StateIssue, WaitingOn};

/// `state` of a call.
pub(super) const fn state(call: &Call) -> &'static str {
    match call.state {
        CallState::Pending(_) => "pending",
        CallState::Streaming => "streaming",
        CallState::Completed => "completed",
        CallState::Failed => "failed",
        CallState::Cancelled => "cancelled",
        CallState::Superseded => "superseded",
    }
}

/// `status` of a call: the first rule that holds.
pub(super) fn status(call: &Call) -> &'static str {
    match call.status() {
        DisplayStatus::Resolved => "resolved",
        DisplayStatus::Streaming => "streaming",
        DisplayStatus::Input
        | DisplayStatus::Pending
        | DisplayStatus::PendingUncertain
        | DisplayStatus::TaskWorking
        | DisplayStatus::TaskInput
        | DisplayStatus::TaskDone
        | DisplayStatus::TaskFailed => "pending",
        DisplayStatus::Superseded => "superseded",
        DisplayStatus::Late => "late_result",
        DisplayStatus::TaskCancelled => "cancelled",
        DisplayStatus::Cancel => "call_cancelled",
        DisplayStatus::Lost => "lost",
        DisplayStatus::Error | DisplayStatus::ToolError | DisplayStatus::Bad => "error",
        DisplayStatus::Ok => "ok",
    }
}

/// `waiting_on` of an open call.
pub(super) const fn waiting_on(call: &Call) -> Option<&'static str> {
    match call.state {
        CallState::Pending(WaitingOn::Responder) => Some("responder"),
        CallState::Pending(WaitingOn::Client) => Some("client"),
        CallState::Pending(WaitingOn::Task) => Some("task"),
        _ => None,
    }
}

/// `direction` of a call.
pub(super) const fn direction(call: &Call) -> &'static str {
    if call.from_client { "c2s" } else { "s2c" }
}

/// `kind` of an event.
pub(super) const fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Request => "request",
        Kind::Response => "response",
        Kind::Notification => "notification",
        Kind::Stderr => "stderr",
        Kind::Invalid => "invalid",
        Kind::Transport => "transport",
        Kind::Other => "other",
    }
}

/// What is wrong with the state of a retry.
pub(super) const fn state_issue(issue: StateIssue) -> &'static str {
    match issue {
        StateIssue::Missing => "missing",
        StateIssue::Invented => "invented",
        StateIssue::Changed => "changed",
    }
}
