//! One logical operation and its outcome (session-model.md 5, 6).

use std::sync::Arc;

use smallvec::SmallVec;

use super::{
    call_task::EndObservedBy, hops::HopId, key::JsonId, progress::Progress, rounds::Rounds,
    row::RowId,
};
use crate::{base::Timestamp, record::Seq};

/// Hops and linked frames that a call keeps; totals stay exact beyond (session-model.md 11.5).
const KEPT: usize = 256;

/// Index of a call in its session, in request order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallId(pub u32);

/// Who has to act next while a call is pending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitingOn {
    /// The responder.
    Responder,
    /// The requester: it was asked for input.
    Client,
    /// A task.
    Task,
}

/// State of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallState {
    /// Open.
    Pending(WaitingOn),
    /// An open stream.
    Streaming,
    /// Ended well.
    Completed,
    /// Ended badly.
    Failed,
    /// Given up.
    Cancelled,
    /// Its id was taken by a newer request.
    Superseded,
}

/// What made a refusal good (session-model.md 8.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Resolved {
    /// The client came back with authorization.
    Auth,
    /// A client that knows both eras greeted an old server.
    Era,
    /// The client went on with a version that the server supports.
    Version,
    /// An expired session was begun anew.
    Session,
    /// The user was asked elsewhere and the client came back.
    Elicitation,
}

impl Resolved {
    /// The word of exports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Auth => "auth",
            Self::Era => "era",
            Self::Version => "version",
            Self::Session => "session",
            Self::Elicitation => "elicitation",
        }
    }
}

/// The status word that a viewer shows (session-model.md 5.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DisplayStatus {
    /// `bad`.
    Bad,
    /// `resolved`.
    Resolved,
    /// `streaming`.
    Streaming,
    /// `input`.
    Input,
    /// `pending`.
    Pending,
    /// `pending?`: possibly answered in a frame that was not recorded.
    PendingUncertain,
    /// `working`, or an unknown word: open, and a task has it.
    TaskWorking,
    /// `input_required`: open, and its task waits for the requester.
    TaskInput,
    /// `completed`: open, its task is done and its result is still to come.
    TaskDone,
    /// `failed`: open, its task failed and its error is still to come.
    TaskFailed,
    /// `cancelled`: its task was cancelled.
    TaskCancelled,
    /// `superseded`, shown as `reused-id`.
    Superseded,
    /// `late`.
    Late,
    /// `cancel`.
    Cancel,
    /// `lost`.
    Lost,
    /// `error`, without `isError`.
    Error,
    /// `error`, by `isError`.
    ToolError,
    /// `ok`.
    Ok,
}

/// One request frame of an operation with its answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Hop {
    /// The request frame.
    pub request: RowId,
    /// Its id as sent, exact JSON text.
    pub json_id: JsonId,
    /// Its instant.
    pub sent: Option<Timestamp>,
    /// The answer frame.
    pub answer: Option<RowId>,
}

/// One operation.
#[derive(Clone, Debug, PartialEq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent marks, not states of one machine"
)]
pub struct Call {
    /// Its index.
    pub id: CallId,
    /// Method of the first request (untrusted).
    pub method: Arc<str>,
    /// Name of the tool, prompt or resource (untrusted).
    pub operation: Option<Arc<str>>,
    /// True for a `tools/call` of the client.
    pub is_tool: bool,
    /// True when the client sent it.
    pub from_client: bool,
    /// State.
    pub state: CallState,
    /// Something went wrong.
    pub errored: bool,
    /// The answer was a result with `isError: true`.
    pub tool_error: bool,
    /// The answer came after the cancellation.
    pub late_result: bool,
    /// The answer was lost on the way.
    pub lost: bool,
    /// The answer may lie in a frame that was not recorded.
    pub uncertain: bool,
    /// A refusal that is part of a normal flow and was overcome.
    pub resolved: Option<Resolved>,
    /// Parked, but no longer looked at when retries come (session-model.md 11.6).
    pub retired: bool,
    /// Only a part of the request was recorded.
    pub request_truncated: bool,
    /// Only a part of the answer was recorded.
    pub result_truncated: bool,
    /// HTTP status that refused or failed it; 0 when none.
    pub http_status: u16,
    /// Start: the first request.
    pub start: Option<Timestamp>,
    /// The frame that settled it.
    pub end: Option<Timestamp>,
    /// Local arrival of the newest request frame, while the call is open and when it came live.
    pub arrived: Option<Timestamp>,
    /// Nanoseconds that the server took (session-model.md 6.6: for a request of the server the two
    /// shares swap, so that this is 0).
    pub server_nanos: u64,
    /// Nanoseconds that the client took: between hops, or to answer the server.
    pub client_nanos: u64,
    /// Its request frames with their answers, at most 256 kept.
    pub hops: SmallVec<[Hop; 1]>,
    /// Number of request frames.
    pub hop_count: u32,
    /// Every other frame linked to it: progress, cancellation, duplicates; at most 256 kept.
    pub linked: Vec<RowId>,
    /// Progress notifications seen.
    pub progress_count: u32,
    /// What its progress told, if there was any.
    pub progress: Option<Box<Progress>>,
    /// JSON-RPC error code of the answer, if an integer.
    pub error_code: Option<i64>,
    /// When it was cancelled.
    pub cancelled_at: Option<Timestamp>,
    /// The recorder could not reach the server: it certainly never ran.
    pub undelivered: bool,
    /// Its task (untrusted).
    pub task_id: Option<Arc<str>>,
    /// Reason of the cancellation, clipped to 1 KiB (untrusted).
    pub cancel_reason: Option<Box<str>>,
    /// Status word of its task, as long as the task decides (untrusted).
    pub task_status: Option<Arc<str>>,
    /// The frame that showed the end of its task; `None` without one.
    pub end_observed_by: Option<EndObservedBy>,
    /// The cancellation of its task was acknowledged.
    pub cancel_requested: bool,
    /// Bytes of the final result.
    pub result_bytes: u64,
    /// The operation's first request in its own session, for `continues N`.
    pub request_seq: Seq,
    /// End of the last interval that a share was charged with.
    pub(super) mark: Option<Timestamp>,
    /// An open hop was left without answer when it was cancelled or its answer lost.
    pub(super) awaits_late: bool,
    /// Its task ended and `tasks/result` may still bring what it ended with.
    pub(super) awaits_result: bool,
    /// Its task waits for input of the requester.
    pub(super) task_input: bool,
    /// It ended by an HTTP failure or a lost answer: it gives no duration (session-model.md 17).
    pub(super) refused: bool,
    /// It is over, and a later frame may still change that: make its refusal good, or tell that its
    /// answer was cut on the wire.
    pub(super) may_change: bool,
    /// The last frame that was linked to it.
    pub(super) last_row: RowId,
    /// Number of its newest request.
    pub(super) waiting_seq: Seq,
    /// Its hops that wait, in the table of hops.
    pub(super) waiting_hops: SmallVec<[HopId; 1]>,
    /// Its requests one by one, once an answer asked for input.
    pub(super) rounds: Option<Box<Rounds>>,
    /// An unseen number lies above its newest request.
    gap_after: bool,
    /// A frame that could not be linked may be its answer.
    maybe_lost: bool,
}

impl Call {
    /// The status word (session-model.md 5.3).
    pub fn status(&self) -> DisplayStatus {
        use CallState::{Cancelled, Completed, Failed, Pending, Streaming, Superseded};
        match self.state {
            _ if self.resolved.is_some() => DisplayStatus::Resolved,
            Streaming => DisplayStatus::Streaming,
            Pending(WaitingOn::Client) => DisplayStatus::Input,
            Pending(_) if self.uncertain => DisplayStatus::PendingUncertain,
            Pending(WaitingOn::Task) => self.task_word(),
            Pending(WaitingOn::Responder) => DisplayStatus::Pending,
            Superseded => DisplayStatus::Superseded,
            Cancelled if self.late_result => DisplayStatus::Late,
            Cancelled if self.task_word() == DisplayStatus::TaskCancelled => {
                DisplayStatus::TaskCancelled
            }
            Cancelled => DisplayStatus::Cancel,
            Failed if self.lost => DisplayStatus::Lost,
            Failed if self.tool_error => DisplayStatus::ToolError,
            Failed => DisplayStatus::Error,
            Completed => DisplayStatus::Ok,
        }
    }

    /// Nanoseconds from request to final answer; `None` where session-model.md 6.2 says undefined.
    pub fn duration_nanos(&self) -> Option<u64> {
        let ended = match self.state {
            CallState::Completed | CallState::Failed => true,
            CallState::Cancelled => self.late_result,
            _ => false,
        };
        let forward = match (self.start, self.end) {
            (Some(start), Some(end)) => end >= start,
            _ => false,
        };
        (ended && forward).then(|| self.server_nanos.saturating_add(self.client_nanos))
    }

    /// True when its times count in statistics (session-model.md 17): finished, and answered.
    pub fn is_measured(&self) -> bool {
        self.duration_nanos().is_some() && !self.refused && !self.lost
    }

    /// The frame that answered its newest request; the error object is read from there again.
    pub fn answer_row(&self) -> Option<RowId> {
        self.hops.last()?.answer
    }

    /// True while it can still get its answer.
    pub fn is_open(&self) -> bool {
        matches!(self.state, CallState::Pending(_) | CallState::Streaming)
    }

    /// True when the `pending` signal fires for it: its requester is still owed an answer
    /// (session-model.md 5.4).
    pub(super) fn is_owed(&self) -> bool {
        let given_up = self.cancel_requested && self.state == CallState::Pending(WaitingOn::Task);
        self.is_awaited() && !given_up && !self.method.starts_with("notifications/")
    }

    /// A call that was just opened.
    pub(super) fn new(id: CallId, method: Arc<str>, seq: Seq, state: CallState) -> Self {
        Self {
            id,
            method,
            operation: None,
            is_tool: false,
            from_client: true,
            state,
            errored: false,
            tool_error: false,
            late_result: false,
            lost: false,
            uncertain: false,
            resolved: None,
            retired: false,
            request_truncated: false,
            result_truncated: false,
            http_status: 0,
            start: None,
            end: None,
            arrived: None,
            server_nanos: 0,
            client_nanos: 0,
            hops: SmallVec::new(),
            hop_count: 0,
            linked: Vec::new(),
            progress_count: 0,
            progress: None,
            error_code: None,
            cancelled_at: None,
            undelivered: false,
            task_id: None,
            cancel_reason: None,
            task_status: None,
            end_observed_by: None,
            cancel_requested: false,
            result_bytes: 0,
            request_seq: seq,
            mark: None,
            awaits_late: false,
            awaits_result: false,
            task_input: false,
            refused: false,
            may_change: false,
            last_row: RowId::default(),
            waiting_seq: seq,
            waiting_hops: SmallVec::new(),
            rounds: None,
            gap_after: false,
            maybe_lost: false,
        }
    }

    /// Notes the highest unseen number of the session.
    pub(super) fn set_gap_after(&mut self, hole: u64) {
        self.gap_after = hole > self.waiting_seq.0;
        self.uncertain = self.gap_after || self.maybe_lost;
    }

    /// Notes that its answer may have gone by unread.
    pub(super) fn set_maybe_lost(&mut self) {
        self.maybe_lost = true;
        self.uncertain = true;
    }

    /// A call that is over has its answer, wherever others may lie, and measures no more time; only
    /// one that lost its id may still have had it in a frame that was not recorded.
    pub(super) fn close(&mut self) {
        let uncertain = self.uncertain && self.state == CallState::Superseded;
        (self.gap_after, self.maybe_lost, self.uncertain) = (false, uncertain, uncertain);
        self.arrived = None;
        if let Some(progress) = &mut self.progress {
            progress.forget_message();
        }
        if !self.awaits_late {
            self.mark = None;
        }
    }

    /// Charges the running share with the time up to `now` (session-model.md 6.3, 6.4): the
    /// responder's while it has to act, else the requester's.
    pub(super) fn charge(&mut self, now: Option<Timestamp>, to_responder: bool) {
        let (Some(now), Some(mark)) = (now, self.mark) else {
            self.mark = self.mark.or(now);
            return;
        };
        let Ok(nanos @ 1..) = u64::try_from(now.nanos_since(mark)) else {
            return;
        };
        let share = if to_responder == self.from_client {
            &mut self.server_nanos
        } else {
            &mut self.client_nanos
        };
        *share = share.saturating_add(nanos);
        self.charge_round(nanos, to_responder);
        self.mark = Some(now);
    }

    /// Adds a request frame.
    pub(super) fn add_hop(&mut self, hop: Hop) {
        self.hop_count = self.hop_count.saturating_add(1);
        self.last_row = self.last_row.max(hop.request);
        if self.hops.len() < KEPT {
            self.hops.push(hop);
        }
        self.next_round();
    }

    /// Links a frame that is neither a request nor an answer.
    pub(super) fn link(&mut self, row: RowId) {
        self.last_row = self.last_row.max(row);
        if self.linked.len() < KEPT {
            self.linked.push(row);
        }
    }

    /// True when the responder has to act next, false when the requester has.
    pub(super) fn responder_acts(&self) -> bool {
        !self.task_input && self.state != CallState::Pending(WaitingOn::Client)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_stays_small() {
        // Those that are open or special are held like this, the others as `Settled`.
        assert!(size_of::<Call>() <= 448, "{}", size_of::<Call>());
    }
}
