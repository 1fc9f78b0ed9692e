//! Operations that wait for their client to come back, and the request that continues one of them
//! (session-model.md 11.2, 11.3). A wrong link is worse than none.

use std::{collections::VecDeque, sync::Arc};

use super::{
    call::CallId,
    hops::{ClientKey, Side},
    reading::Known,
};

/// Candidates of one session (session-model.md 11.6).
const MAX_PARKED: usize = 1_024;

/// What a retry is compared with.
#[derive(Clone, Debug)]
pub(super) struct Shape {
    pub(super) side: Side,
    pub(super) method: Arc<str>,
    pub(super) operation: Option<Arc<str>>,
    pub(super) client: ClientKey,
    /// Keys that were asked for, or that are answered.
    pub(super) keys: Known<u64>,
    pub(super) state: Known<[u8; 16]>,
    pub(super) base: Option<u64>,
}

impl Shape {
    fn same_operation(&self, other: &Self) -> bool {
        self.side == other.side && self.method == other.method && self.operation == other.operation
    }

    fn same_base(&self, other: &Self) -> bool {
        match (self.base, other.base) {
            (Some(one), Some(other)) => one == other,
            _ => true,
        }
    }

    fn same_presence(&self, other: &Self) -> bool {
        matches!(
            (&self.state, &other.state),
            (Known::Absent, Known::Absent)
                | (Known::Unknown, _)
                | (_, Known::Unknown)
                | (Known::Is(_), Known::Is(_))
        )
    }

    fn same_keys(&self, other: &Self) -> bool {
        matches!((&self.keys, &other.keys), (Known::Is(one), Known::Is(other)) if one == other)
    }
}

/// The candidates, oldest first.
#[derive(Debug, Default)]
pub(super) struct Parked {
    list: VecDeque<(CallId, Shape)>,
}

impl Parked {
    /// Adds a candidate; answers the one that is given up for it.
    pub(super) fn add(&mut self, call: CallId, shape: Shape) -> Option<CallId> {
        self.list.push_back((call, shape));
        if self.list.len() > MAX_PARKED {
            return self.list.pop_front().map(|(call, _)| call);
        }
        None
    }

    /// Takes out the one operation that the request continues.
    pub(super) fn take(&mut self, retry: &Shape) -> Option<CallId> {
        let call = self
            .by_state(retry)
            .or_else(|| self.by_keys(retry, Shape::same_presence))
            .or_else(|| self.by_keys(retry, |_, _| true))?;
        self.remove(call);
        Some(call)
    }

    pub(super) fn remove(&mut self, call: CallId) {
        if let Some(at) = self.list.iter().position(|(known, _)| *known == call) {
            self.list.remove(at);
        }
    }

    fn by_state(&self, retry: &Shape) -> Option<CallId> {
        let Known::Is(_) = retry.state else {
            return None;
        };
        let all: Vec<_> = self
            .list
            .iter()
            .filter(|(_, shape)| shape.state == retry.state && shape.same_operation(retry))
            .collect();
        narrowed(all, |shape| shape.same_base(retry), retry.client)
    }

    fn by_keys(&self, retry: &Shape, also: fn(&Shape, &Shape) -> bool) -> Option<CallId> {
        let all: Vec<_> = self
            .list
            .iter()
            .filter(|(_, shape)| {
                shape.same_operation(retry)
                    && shape.same_keys(retry)
                    && shape.same_base(retry)
                    && also(shape, retry)
            })
            .collect();
        narrowed(all, |_| true, retry.client)
    }
}

/// The only candidate, if need be after two more conditions.
fn narrowed(
    mut all: Vec<&(CallId, Shape)>,
    first: impl Fn(&Shape) -> bool,
    client: ClientKey,
) -> Option<CallId> {
    if all.len() > 1 {
        all.retain(|(_, shape)| first(shape));
    }
    if all.len() > 1 {
        all.retain(|(_, shape)| shape.client == client);
    }
    match all.as_slice() {
        [(call, _)] => Some(*call),
        _ => None,
    }
}
