//! A call that is over, in a quarter of the memory: most calls are one request with one answer, and
//! half a million of them are held beside a million rows (session-model.md 22).

use std::sync::Arc;

use smallvec::smallvec;

use super::{
    atoms::Atoms,
    call::{Call, CallId, CallState, Hop},
    key::JsonId,
    row::RowId,
    settled_more::More,
};
use crate::{base::Timestamp, record::Seq};

/// No name.
const NONE: u32 = u32::MAX;
/// No error code.
const NO_CODE: i32 = i32::MIN;

/// What is kept of such a call; the view is built on demand.
#[derive(Clone, Debug)]
pub(super) struct Settled {
    request: u64,
    start: i64,
    end: i64,
    json_id: JsonId,
    /// What only some calls have.
    more: Option<Box<More>>,
    method: u32,
    operation: u32,
    result_bytes: u32,
    /// `NO_CODE` without one.
    error_code: i32,
    /// Number of the answer, counted from that of the request; 0 without an answer.
    answer: i32,
    state: CallState,
    marks: u8,
}

impl Settled {
    /// The compact form of a call; `None` when it says more than fits in.
    pub(super) fn of(call: &Call, atoms: &Atoms) -> Option<Self> {
        let [hop] = call.hops.as_slice() else {
            return None;
        };
        if !call.is_over() || call.may_change {
            return None;
        }
        let distance = |answer: RowId| {
            let distance = i128::from(answer.seq.0) - i128::from(hop.request.seq.0);
            i32::try_from(distance).ok()
        };
        let operation = match &call.operation {
            Some(name) => atoms.find(name)?,
            None => NONE,
        };
        let code = call.error_code.unwrap_or(NO_CODE.into());
        let mut settled = Self {
            request: hop.request.seq.0,
            start: nanos(call.start),
            end: nanos(call.end),
            json_id: hop.json_id.clone(),
            more: None,
            method: atoms.find(&call.method)?,
            operation,
            result_bytes: u32::try_from(call.result_bytes).ok()?,
            error_code: i32::try_from(code).ok()?,
            answer: hop.answer.map_or(Some(0), distance)?,
            state: call.state,
            marks: marks_of(call),
        };
        // Whatever has no place above shows as a difference.
        let view = settled.call(call.id, atoms)?;
        if view != *call {
            settled.more = Some(Box::new(More::of(call, &view)));
            if settled.call(call.id, atoms)? != *call {
                return None;
            }
        }
        Some(settled)
    }

    /// The call again.
    pub(super) fn call(&self, id: CallId, atoms: &Atoms) -> Option<Call> {
        let request = row(self.request);
        let method = Arc::clone(atoms.name(self.method)?);
        let mut call = Call::new(id, method, request.seq, self.state);
        call.operation = atoms.name(self.operation).map(Arc::clone);
        (call.start, call.end) = (time(self.start), time(self.end));
        call.result_bytes = self.result_bytes.into();
        call.error_code = (self.error_code != NO_CODE).then_some(self.error_code.into());
        let [
            is_tool,
            from_client,
            errored,
            tool_error,
            asked_less,
            told_less,
        ] = [0, 1, 2, 3, 4, 5].map(|bit| self.marks & (1 << bit) != 0);
        (call.is_tool, call.from_client) = (is_tool, from_client);
        (call.errored, call.tool_error) = (errored, tool_error);
        (call.request_truncated, call.result_truncated) = (asked_less, told_less);
        let answer = self.answer();
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
        if let Some(more) = &self.more {
            more.add_to(&mut call);
        }
        Some(call)
    }

    fn answer(&self) -> Option<RowId> {
        let answer = self.request.saturating_add_signed(self.answer.into());
        (self.answer != 0).then(|| row(answer))
    }

    /// The last frame that was linked to it.
    pub(super) fn last_row(&self) -> RowId {
        match &self.more {
            Some(more) => more.last_row(),
            None => row(self.request).max(self.answer().unwrap_or_default()),
        }
    }
}

fn marks_of(call: &Call) -> u8 {
    [
        call.is_tool,
        call.from_client,
        call.errored,
        call.tool_error,
        call.request_truncated,
        call.result_truncated,
    ]
    .iter()
    .enumerate()
    .fold(0, |bits, (bit, on)| bits | (u8::from(*on) << bit))
}

/// The first row of a frame; what lies deeper in a batch is noted as what only some calls have.
fn row(seq: u64) -> RowId {
    RowId {
        seq: Seq(seq),
        index: 0,
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
    use crate::session::call::Resolved;

    fn answered(atoms: &mut Atoms) -> Call {
        let method = atoms.share("tools/call");
        let mut call = Call::new(CallId(7), method, Seq(3), CallState::Completed);
        call.operation = Some(atoms.share("search"));
        call.add_hop(Hop {
            request: row(3),
            json_id: JsonId::new("\"a long id that takes an allocation\""),
            sent: time(1_000),
            answer: Some(row(9)),
        });
        (call.start, call.end, call.server_nanos) = (time(1_000), time(3_500), 2_500);
        call.last_row = row(9);
        call
    }

    #[test]
    fn it_stays_small() {
        assert!(size_of::<Settled>() <= 72, "{}", size_of::<Settled>());
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
    fn what_only_some_calls_have_is_given_back_too() {
        let mut atoms = Atoms::default();
        let changes: [fn(&mut Call); 13] = [
            |call| call.link(row(5)),
            |call| call.link(row(500)),
            |call| call.hops[0].request.index = 3,
            |call| {
                call.hops[0].answer.as_mut().unwrap().index = 4;
                call.last_row.index = 4;
            },
            // Read ahead of its request.
            |call| {
                call.hops[0].answer = Some(row(1));
                call.last_row = row(3);
            },
            |call| call.client_nanos = 1,
            |call| call.cancel_reason = Some("reason".into()),
            |call| (call.progress_count, call.progress) = (3, Some(Box::default())),
            |call| (call.state, call.late_result) = (CallState::Cancelled, true),
            |call| (call.lost, call.refused, call.http_status) = (true, true, 502),
            |call| call.resolved = Some(Resolved::Auth),
            |call| {
                call.state = CallState::Superseded;
                call.set_maybe_lost();
            },
            |call| (call.task_id, call.mark) = (Some("task".into()), time(7)),
        ];
        for (index, change) in changes.into_iter().enumerate() {
            let mut call = answered(&mut atoms);
            change(&mut call);
            let settled = Settled::of(&call, &atoms);
            let settled = settled.unwrap_or_else(|| panic!("change {index}"));
            assert_eq!(
                settled.call(call.id, &atoms).unwrap(),
                call,
                "change {index}"
            );
            assert_eq!(settled.last_row(), call.last_row, "change {index}");
        }
    }

    #[test]
    fn a_call_with_more_to_say_is_not_taken() {
        let mut atoms = Atoms::default();
        let changes: [fn(&mut Call); 8] = [
            |call| call.hops[0].answer = Some(row(3 + (1 << 31))),
            |call| call.state = CallState::Streaming,
            |call| call.awaits_late = true,
            |call| call.may_change = true,
            |call| call.error_code = Some(i64::MAX),
            |call| call.error_code = Some(NO_CODE.into()),
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
