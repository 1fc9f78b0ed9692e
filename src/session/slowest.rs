//! The slowest tool calls of a session (session-model.md 17).

use std::{cmp::Reverse, sync::Arc};

use super::{
    call::{Call, CallId},
    key::JsonId,
};
use crate::{base::Timestamp, record::Seq};

/// How many are kept.
const MOST: usize = 5;

/// One slow call.
#[derive(Clone, Debug, PartialEq)]
pub struct SlowCall {
    /// Its position among all calls in request order.
    pub call: CallId,
    /// Id of its first request, exact JSON text (untrusted).
    pub id: JsonId,
    /// The tool (untrusted); empty when unnamed.
    pub tool: Arc<str>,
    /// What it took.
    pub nanos: u64,
    /// When it began.
    pub start: Option<Timestamp>,
    /// Number of its first request.
    pub seq: Seq,
    /// It failed in any way.
    pub is_error: bool,
}

impl SlowCall {
    fn rank(&self) -> (Reverse<u64>, Option<Timestamp>, Seq, CallId) {
        (Reverse(self.nanos), self.start, self.seq, self.call)
    }
}

/// The slowest, slowest first.
#[derive(Debug, Default)]
pub(super) struct Slowest(pub(super) Vec<SlowCall>);

impl Slowest {
    /// True when a call of this duration has its place, or is there already.
    pub(super) fn may_take(&self, call: CallId, nanos: u64) -> bool {
        self.0.len() < MOST
            || self
                .0
                .iter()
                .any(|known| known.nanos <= nanos || known.call == call)
    }

    /// Takes a measured call, or what has changed of it.
    pub(super) fn take(&mut self, call: &Call, nanos: u64) {
        let Some(hop) = call.hops.first() else {
            return;
        };
        let slow = SlowCall {
            call: call.id,
            id: hop.json_id.clone(),
            tool: call.operation.clone().unwrap_or_else(|| "".into()),
            nanos,
            start: call.start,
            seq: call.request_seq,
            is_error: call.errored,
        };
        self.0.retain(|known| known.call != slow.call);
        let at = self.0.partition_point(|known| known.rank() < slow.rank());
        self.0.insert(at, slow);
        self.0.truncate(MOST);
    }
}
