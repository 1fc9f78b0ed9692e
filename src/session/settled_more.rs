//! What only some calls that are over have beside their request and answer: progress, linked frames,
//! a cancellation, a task. Most have none of it (session-model.md 22).

use std::sync::Arc;

use super::{
    call::{Call, Resolved},
    call_task::EndObservedBy,
    progress::Progress,
    row::RowId,
};
use crate::base::Timestamp;

/// Progress and linked frames, and what is rarer.
#[derive(Clone, Debug)]
pub(super) struct More {
    linked: Box<[RowId]>,
    progress: Option<Box<Progress>>,
    rare: Option<Box<Rare>>,
    last_row: RowId,
    progress_count: u32,
}

/// What few calls have.
#[derive(Clone, Debug, PartialEq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent marks, not states of one machine"
)]
struct Rare {
    /// Places of request and answer in an array that an old log holds whole.
    places: (u32, u32),
    server_nanos: u64,
    client_nanos: u64,
    cancelled_at: Option<Timestamp>,
    mark: Option<Timestamp>,
    cancel_reason: Option<Box<str>>,
    task_id: Option<Arc<str>>,
    task_status: Option<Arc<str>>,
    http_status: u16,
    resolved: Option<Resolved>,
    end_observed_by: Option<EndObservedBy>,
    late_result: bool,
    lost: bool,
    retired: bool,
    undelivered: bool,
    cancel_requested: bool,
    task_input: bool,
    refused: bool,
    uncertain: bool,
}

impl More {
    /// What `call` has beyond `view`, which was made without it.
    pub(super) fn of(call: &Call, view: &Call) -> Self {
        let rare = Rare::of(call);
        Self {
            linked: call.linked.as_slice().into(),
            progress: call.progress.clone(),
            rare: (rare != Rare::of(view)).then(|| Box::new(rare)),
            last_row: call.last_row,
            progress_count: call.progress_count,
        }
    }

    /// Gives it back.
    pub(super) fn add_to(&self, call: &mut Call) {
        call.linked = self.linked.to_vec();
        call.progress.clone_from(&self.progress);
        call.progress_count = self.progress_count;
        call.last_row = self.last_row;
        if let Some(rare) = &self.rare {
            rare.add_to(call);
        }
    }

    /// The last frame that was linked to the call.
    pub(super) fn last_row(&self) -> RowId {
        self.last_row
    }
}

impl Rare {
    fn of(call: &Call) -> Self {
        let hop = call.hops.first();
        let place = |row: Option<RowId>| row.unwrap_or_default().index;
        Self {
            places: (
                place(hop.map(|hop| hop.request)),
                place(hop.and_then(|hop| hop.answer)),
            ),
            server_nanos: call.server_nanos,
            client_nanos: call.client_nanos,
            cancelled_at: call.cancelled_at,
            mark: call.mark,
            cancel_reason: call.cancel_reason.clone(),
            task_id: call.task_id.clone(),
            task_status: call.task_status.clone(),
            http_status: call.http_status,
            resolved: call.resolved,
            end_observed_by: call.end_observed_by,
            late_result: call.late_result,
            lost: call.lost,
            retired: call.retired,
            undelivered: call.undelivered,
            cancel_requested: call.cancel_requested,
            task_input: call.task_input,
            refused: call.refused,
            uncertain: call.uncertain,
        }
    }

    fn add_to(&self, call: &mut Call) {
        if let Some(hop) = call.hops.first_mut() {
            hop.request.index = self.places.0;
            if let Some(answer) = &mut hop.answer {
                answer.index = self.places.1;
            }
        }
        (call.server_nanos, call.client_nanos) = (self.server_nanos, self.client_nanos);
        (call.cancelled_at, call.mark) = (self.cancelled_at, self.mark);
        call.cancel_reason.clone_from(&self.cancel_reason);
        call.task_id.clone_from(&self.task_id);
        call.task_status.clone_from(&self.task_status);
        (call.http_status, call.resolved) = (self.http_status, self.resolved);
        (call.end_observed_by, call.cancel_requested) =
            (self.end_observed_by, self.cancel_requested);
        (call.late_result, call.lost, call.retired) = (self.late_result, self.lost, self.retired);
        (call.undelivered, call.refused) = (self.undelivered, self.refused);
        call.task_input = self.task_input;
        if self.uncertain {
            call.set_maybe_lost();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_stays_small() {
        assert!(size_of::<More>() <= 56, "{}", size_of::<More>());
        assert!(size_of::<Rare>() <= 120, "{}", size_of::<Rare>());
    }
}
