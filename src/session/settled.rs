//! A call that is over, in a quarter of the memory: most calls are one request with one answer, and
//! half a million of them are held beside a million rows (session-model.md 22).

use std::sync::Arc;

use smallvec::smallvec;

use super::{
    atoms::Atoms,
    call::{Call, CallId, CallState, Hop},
    key::JsonId,
    row::RowId,
};
use crate::{base::Timestamp, record::Seq};

/// No name.
const NONE: u32 = u32::MAX;

/// What is kept of such a call; the view is built on demand.
#[derive(Clone, Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent marks, not states of one machine"
)]
pub(super) struct Settled {
    request: u64,
    /// 0 without an answer.
    answer: u64,
    start: i64,
    end: i64,
    json_id: JsonId,
    method: u32,
    operation: u32,
    result_bytes: u32,
    error_code: Option<i32>,
    request_index: u16,
    answer_index: u16,
    state: CallState,
    is_tool: bool,
    from_client: bool,
    errored: bool,
    tool_error: bool,
    request_truncated: bool,
    result_truncated: bool,
}

impl Settled {
    /// The compact form of a call; `None` when it says more than fits in.
    pub(super) fn of(call: &Call, atoms: &Atoms) -> Option<Self> {
        let [hop] = call.hops.as_slice() else {
            return None;
        };
        if call.is_open() {
            return None;
        }
        let answer = hop.answer.unwrap_or_default();
        let operation = match &call.operation {
            Some(name) => atoms.find(name)?,
            None => NONE,
        };
        let settled = Self {
            request: hop.request.seq.0,
            answer: answer.seq.0,
            start: nanos(call.start),
            end: nanos(call.end),
            json_id: hop.json_id.clone(),
            method: atoms.find(&call.method)?,
            operation,
            result_bytes: u32::try_from(call.result_bytes).ok()?,
            error_code: call.error_code.and_then(|code| i32::try_from(code).ok()),
            request_index: u16::try_from(hop.request.index).ok()?,
            answer_index: u16::try_from(answer.index).ok()?,
            state: call.state,
            is_tool: call.is_tool,
            from_client: call.from_client,
            errored: call.errored,
            tool_error: call.tool_error,
            request_truncated: call.request_truncated,
            result_truncated: call.result_truncated,
        };
        // Whatever has no place above shows as a difference.
        (settled.call(call.id, atoms)? == *call).then_some(settled)
    }

    /// The call again.
    pub(super) fn call(&self, id: CallId, atoms: &Atoms) -> Option<Call> {
        let request = row(self.request, self.request_index);
        let method = Arc::clone(atoms.name(self.method)?);
        let mut call = Call::new(id, method, request.seq, self.state);
        call.operation = atoms.name(self.operation).map(Arc::clone);
        (call.start, call.end) = (time(self.start), time(self.end));
        call.result_bytes = self.result_bytes.into();
        call.error_code = self.error_code.map(i64::from);
        call.is_tool = self.is_tool;
        call.from_client = self.from_client;
        call.errored = self.errored;
        call.tool_error = self.tool_error;
        call.request_truncated = self.request_truncated;
        call.result_truncated = self.result_truncated;
        let answer = (self.answer != 0).then(|| row(self.answer, self.answer_index));
        call.hops = smallvec![Hop {
            request,
            json_id: self.json_id.clone(),
            sent: call.start,
            answer,
        }];
        call.hop_count = 1;
        call.last_row = request.max(answer.unwrap_or_default());
        let took = match (call.start, call.end) {
            (Some(start), Some(end)) => u64::try_from(end.nanos_since(start)).unwrap_or(0),
            _ => 0,
        };
        if call.from_client {
            call.server_nanos = took;
        } else {
            call.client_nanos = took;
        }
        Some(call)
    }

    /// The last frame that was linked to it.
    pub(super) fn last_row(&self) -> RowId {
        row(self.request, self.request_index).max(row(self.answer, self.answer_index))
    }
}

fn row(seq: u64, index: u16) -> RowId {
    RowId {
        seq: Seq(seq),
        index: index.into(),
    }
}

fn nanos(time: Option<Timestamp>) -> i64 {
    time.map_or(i64::MIN, Timestamp::as_nanos)
}

fn time(nanos: i64) -> Option<Timestamp> {
    (nanos != i64::MIN).then(|| Timestamp::from_nanos(nanos))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(atoms: &mut Atoms) -> Call {
        let method = atoms.share("tools/call");
        let mut call = Call::new(CallId(7), method, Seq(3), CallState::Completed);
        call.operation = Some(atoms.share("search"));
        call.add_hop(Hop {
            request: row(3, 0),
            json_id: JsonId::new("\"a long id that takes an allocation\""),
            sent: time(1_000),
            answer: Some(row(9, 2)),
        });
        (call.start, call.end, call.server_nanos) = (time(1_000), time(3_500), 2_500);
        call.last_row = row(9, 2);
        call
    }

    #[test]
    fn it_stays_small() {
        assert!(size_of::<Settled>() <= 80, "{}", size_of::<Settled>());
    }

    #[test]
    fn what_it_gives_back_is_the_call() {
        let mut atoms = Atoms::default();
        let call = answered(&mut atoms);
        let settled = Settled::of(&call, &atoms).unwrap();
        assert_eq!(settled.call(call.id, &atoms).unwrap(), call);
        assert_eq!(settled.last_row(), call.last_row);
    }

    #[test]
    fn a_call_with_more_to_say_is_not_taken() {
        let mut atoms = Atoms::default();
        let changes: [fn(&mut Call); 8] = [
            |call| call.state = CallState::Streaming,
            |call| call.link(row(5, 0)),
            |call| call.client_nanos = 1,
            |call| call.awaits_late = true,
            |call| call.cancel_reason = Some("reason".into()),
            |call| call.error_code = Some(i64::MAX),
            |call| call.result_bytes = u64::MAX,
            |call| call.method = "not in the table".into(),
        ];
        for (index, change) in changes.into_iter().enumerate() {
            let mut call = answered(&mut atoms);
            change(&mut call);
            assert!(Settled::of(&call, &atoms).is_none(), "change {index}");
        }
    }
}
