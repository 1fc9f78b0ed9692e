//! The words of the document for states, kinds and codes (export.md 4.5, 4.6).

use crate::session::{Call, CallState, DisplayStatus, Kind, WaitingOn};

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

/// The name that the specifications give to an error code; other codes belong to whoever sent them
/// (session-model.md 8.5).
pub(super) const fn error_name(code: i64) -> Option<&'static str> {
    Some(match code {
        -32_700 => "parse error",
        -32_600 => "invalid request",
        -32_601 => "method not found",
        -32_602 => "invalid params",
        -32_603 => "internal error",
        -32_020 => "header mismatch",
        -32_021 => "missing required client capability",
        -32_022 => "unsupported protocol version",
        _ => return None,
    })
}
