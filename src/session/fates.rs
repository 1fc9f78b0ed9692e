//! What a repeat of a tool call needs to know of either call, kept when the call itself leaves memory
//! (session-model.md 18, 22.2).

use super::{
    call::{Call, CallState, WaitingOn},
    key::JsonId,
    row::RowId,
};

/// How a call stands.
#[derive(Clone, Copy, Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent marks, not states of one machine"
)]
pub(super) struct Fate {
    state: CallState,
    /// Its answer was lost, or HTTP failed in a way that says nothing of whether the tool ran.
    between: bool,
    pub(super) answered: bool,
    cancelled: bool,
    errored: bool,
    tool_error: bool,
    late: bool,
    uncertain: bool,
}

/// A call that left memory.
#[derive(Clone, Debug)]
pub(super) struct Gone {
    pub(super) fate: Fate,
    /// Its request frame, and its id.
    pub(super) row: RowId,
    pub(super) json_id: JsonId,
}

impl Gone {
    pub(super) fn of(call: &Call) -> Option<Self> {
        let last = call.hops.last()?;
        Some(Self {
            fate: Fate::of(call),
            row: last.request,
            json_id: last.json_id.clone(),
        })
    }
}

impl Fate {
    /// One of several requests was answered, perhaps this one; what is settled stays so.
    pub(super) fn doubt(&mut self) {
        self.uncertain |= self.state == CallState::Superseded;
    }

    pub(super) fn of(call: &Call) -> Self {
        Self {
            state: call.state,
            between: call.lost || call.http_status >= 500 && !call.undelivered,
            answered: call.hops.last().is_some_and(|hop| hop.answer.is_some()),
            cancelled: call.cancelled_at.is_some(),
            errored: call.errored,
            tool_error: call.tool_error,
            late: call.late_result,
            uncertain: call.uncertain,
        }
    }

    /// True when a client that sends the call again cannot know how it ended; an answer may have gone
    /// by unrecorded: then it knew.
    pub(super) fn is_unknown(self) -> bool {
        let unknown = match self.state {
            CallState::Pending(on) => on == WaitingOn::Responder,
            CallState::Cancelled | CallState::Superseded => true,
            CallState::Failed => self.between,
            CallState::Streaming | CallState::Completed => false,
        };
        unknown && !self.uncertain
    }

    pub(super) fn is_cancelled(self) -> bool {
        self.cancelled || self.state == CallState::Cancelled
    }

    /// Answered with success, be it late.
    fn ran_well(self) -> bool {
        !self.errored && !self.tool_error && (self.state == CallState::Completed || self.late)
    }
}

/// `None` when nothing is to be said; else whether both ran for certain.
pub(super) fn verdict(earlier: Fate, repeat: Fate) -> Option<bool> {
    if repeat.state == CallState::Failed || repeat.errored || earlier.uncertain {
        return None;
    }
    let cancelled = earlier.cancelled || earlier.state == CallState::Cancelled && !earlier.answered;
    let known = match earlier.state {
        CallState::Failed => !earlier.between,
        CallState::Completed | CallState::Streaming => true,
        CallState::Pending(on) => on != WaitingOn::Responder,
        CallState::Cancelled | CallState::Superseded => earlier.answered && !cancelled,
    };
    (!known).then(|| earlier.ran_well() && repeat.ran_well())
}
