//! What answers issue beside what they park: states of calls that are over, of answers that belong to
//! no request, and states that nobody could read (session-model.md 11.3, 11.4, 21). A retry of one of
//! these is no wrong retry of something else.

use super::{
    classify::Parts,
    hops::{HopId, Side},
    machine::{At, Machine},
    parked::operation_hash,
    reading::{Known, Params, ResultFacts, is_redacted},
};
use crate::record::Seq;

/// What is known of the states of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Issue {
    /// It is not interim.
    Nothing,
    /// It has this state; all of it could be read.
    State([u8; 16]),
    /// It has this state, and may have asked for anything.
    Partly([u8; 16]),
    /// It asks without a state.
    Stateless,
    /// It may be interim; its state is not known.
    Hidden,
}

impl Machine {
    /// Notes what the first answer of a hop issues.
    pub(super) fn note_states(
        &mut self,
        at: &At,
        hop: HopId,
        parts: &Parts<'_>,
        read: &ResultFacts<'_>,
    ) {
        let issue = issue_of(at, parts, read);
        if issue == Issue::Nothing {
            return;
        }
        let legacy = self
            .hops
            .get(hop)
            .is_none_or(|hop| hop.declared == Some(false));
        if legacy {
            return;
        }
        let operation = self.operation_of(hop);
        let call = self.hops.get(hop).and_then(|hop| self.call(hop.call));
        let parks = call.is_some_and(|call| call.is_open());
        self.take_issue(issue, operation, parks);
    }

    /// The same of a further answer to a hop, or of one to nothing that is known.
    pub(super) fn note_stray_state(&mut self, at: &At, hop: Option<HopId>, parts: &Parts<'_>) {
        let (None, Some(result)) = (parts.error, parts.result) else {
            return;
        };
        let issue = issue_of(at, parts, &ResultFacts::read(result, at.redacted));
        if hop.is_none() {
            self.unseen.answer = at.row.seq;
        }
        let operation = hop.and_then(|hop| self.operation_of(hop));
        self.take_issue(issue, operation, hop.is_some());
    }

    fn take_issue(&mut self, issue: Issue, operation: Option<u64>, parks: bool) {
        if let Issue::State(state) | Issue::Partly(state) = issue {
            self.issued.saw(state, operation);
        }
        let hides = match issue {
            Issue::Nothing | Issue::State(_) => false,
            Issue::Stateless => !parks,
            Issue::Partly(_) | Issue::Hidden => true,
        };
        if hides {
            self.issued.hide(operation);
        }
    }

    /// Notes answers to these requests that nobody could read; without them, an answer to any.
    pub(super) fn hide_states_of(&mut self, hops: &[HopId]) {
        if hops.is_empty() {
            self.issued.hide(None);
        }
        for hop in hops {
            let operation = self.operation_of(*hop);
            self.issued.hide(operation);
        }
    }

    /// Notes a frame of which nothing is known but its sender.
    pub(super) fn hide_state(&mut self, sender: Side, seq: Seq) {
        self.issued.hide(None);
        if sender == Side::Client {
            self.issued.hidden_retry = seq;
        }
    }

    /// Notes a request that may bring back a state that cannot be read.
    pub(super) fn note_hidden_retry(&mut self, at: &At, params: &Params<'_>) {
        let hidden = params.hidden
            || params.state == Known::Unknown
            || params.answers == Known::Unknown && params.state == Known::Absent;
        if at.truncated || at.unparsed || hidden {
            self.issued.hidden_retry = at.row.seq;
        }
    }

    /// Hash of the operation that a hop is about; `None` when that is not known.
    fn operation_of(&self, hop: HopId) -> Option<u64> {
        let entry = self.hops.get(hop)?;
        let call = self.call(entry.call)?;
        let vague = entry.hidden_names.0 || entry.hidden_names.1;
        (!vague).then(|| operation_hash(entry.side, &call.method, call.operation.as_deref()))
    }
}

fn issue_of(at: &At, parts: &Parts<'_>, read: &ResultFacts<'_>) -> Issue {
    let hides = |value: &[u8]| is_redacted(value, at.redacted);
    let gone = parts
        .result
        .is_some_and(|result| result.first() != Some(&b'{') && hides(result));
    let kind_hidden = read.raw.result_type.is_some_and(hides);
    let interim = read.result_type.as_deref() == Some("input_required");
    if at.truncated || at.unparsed || gone {
        return Issue::Hidden;
    }
    if !interim && !kind_hidden {
        return Issue::Nothing;
    }
    let partly = kind_hidden || read.asks == Known::Unknown;
    match read.state {
        Known::Is(state) if partly => Issue::Partly(state),
        Known::Is(state) => Issue::State(state),
        Known::Absent if !partly => Issue::Stateless,
        Known::Absent | Known::Unknown => Issue::Hidden,
    }
}
