//! Where a task's own result lies: in the answer to `tasks/result`, or beside the word that told of its
//! end (session-model.md 10).

use std::collections::HashMap;

use crate::session::{CallId, Kind, Row, RowId, Session};

/// How a frame brings what a task ended with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TaskEnd {
    /// It is the answer to `tasks/result`.
    Answer,
    /// It tells of the end, and may hold the result beside it.
    Told,
}

/// The frame of each call that ended with a task.
pub(super) fn ends(session: &Session) -> HashMap<CallId, (RowId, TaskEnd)> {
    let mut ends = HashMap::new();
    if session.tasks().is_empty() {
        return ends;
    }
    for position in 0..session.row_count() {
        let Some(row) = session.row(position) else {
            continue;
        };
        let call = session.extra(row.id).and_then(|extra| extra.task_call);
        if let Some(call) = call
            && let Some(end) = end_of(session, &row, call)
        {
            let known = ends.entry(call).or_insert((row.id, end));
            if (known.1, end) == (TaskEnd::Told, TaskEnd::Answer) {
                *known = (row.id, end);
            }
        }
    }
    ends
}

fn end_of(session: &Session, row: &Row<'_>, call: CallId) -> Option<TaskEnd> {
    if !matches!(row.kind, Kind::Response | Kind::Notification) {
        return None;
    }
    let own = row.call.and_then(|own| session.call(own));
    if row.kind == Kind::Response && own.is_some_and(|own| &*own.method == "tasks/result") {
        return Some(TaskEnd::Answer);
    }
    // The handle itself is the call's answer; it may say at once that the task is over.
    let ended = session.call(call)?.end;
    (ended.is_some() && row.ts == ended).then_some(TaskEnd::Told)
}
