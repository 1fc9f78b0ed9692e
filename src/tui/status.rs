//! The STATUS word and the duration of a row (tui.md 6.2).

use super::theme::Role;
use crate::session::{Call, DisplayStatus, Kind, Row};

/// The status of a row, if it has one. With the link down nothing open is claimed to be pending.
pub(super) fn of_row(row: &Row<'_>, call: Option<&Call>, link_down: bool) -> Option<DisplayStatus> {
    let status = match row.kind {
        Kind::Invalid => return Some(DisplayStatus::Bad),
        Kind::Response if row.flags.interim => return Some(DisplayStatus::Input),
        Kind::Request | Kind::Response => match call {
            Some(call) => call.status(),
            None if row.flags.errored => DisplayStatus::Error,
            None => return None,
        },
        Kind::Transport if row.flags.errored => DisplayStatus::Error,
        Kind::Transport => call.map_or(DisplayStatus::Ok, |call| match call.status() {
            resolved @ DisplayStatus::Resolved => resolved,
            _ => DisplayStatus::Ok,
        }),
        Kind::Other => call?.status(),
        Kind::Notification | Kind::Stderr => return None,
    };
    Some(match status {
        DisplayStatus::Pending
        | DisplayStatus::TaskWorking
        | DisplayStatus::TaskInput
        | DisplayStatus::TaskDone
        | DisplayStatus::TaskFailed
            if link_down =>
        {
            DisplayStatus::PendingUncertain
        }
        other => other,
    })
}

/// The word and its role.
pub(super) const fn word(status: DisplayStatus) -> (&'static str, Role) {
    match status {
        DisplayStatus::Bad => ("bad", Role::Bad),
        DisplayStatus::Resolved => ("resolved", Role::Muted),
        DisplayStatus::Streaming => ("streaming", Role::Live),
        DisplayStatus::Input => ("input", Role::Live),
        DisplayStatus::Pending => ("pending", Role::Live),
        DisplayStatus::PendingUncertain => ("pending?", Role::Muted),
        DisplayStatus::TaskWorking => ("t:working", Role::Live),
        DisplayStatus::TaskInput => ("t:input", Role::Live),
        DisplayStatus::TaskDone => ("t:done", Role::Ok),
        DisplayStatus::TaskFailed => ("t:failed", Role::Err),
        DisplayStatus::TaskCancelled => ("t:cancel", Role::Muted),
        DisplayStatus::Superseded => ("reused-id", Role::Warn),
        DisplayStatus::Late => ("late", Role::Warn),
        DisplayStatus::Cancel => ("cancel", Role::Muted),
        DisplayStatus::Lost => ("lost", Role::Err),
        DisplayStatus::Error => ("err", Role::Err),
        DisplayStatus::ToolError => ("toolerr", Role::Warn),
        DisplayStatus::Ok => ("ok", Role::Ok),
    }
}

/// Nanoseconds that an answer took: the whole operation on the answer that settled it, the hop's
/// own time on an interim one.
pub(super) fn latency(row: &Row<'_>, call: &Call) -> Option<u64> {
    let hop = call.hops.iter().find(|hop| hop.answer == Some(row.id));
    let is_last = call.hops.last().and_then(|hop| hop.answer) == Some(row.id);
    if is_last && !call.is_open() && !row.flags.interim {
        return call.duration_nanos();
    }
    let span = row.ts?.nanos_since(hop?.sent?);
    u64::try_from(span).ok()
}
