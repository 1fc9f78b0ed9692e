//! Refusals that are part of a normal flow: a client that knows both eras asks an old server
//! `server/discover` first, is refused, and greets it the old way (session-model.md 8.4, `era`).

use super::{
    call::{Call, CallId, CallState, Resolved},
    fact::Fact,
    hops::ClientKey,
    machine::{At, Machine},
    row::RowId,
};

/// Probes that are remembered.
const MAX_PROBES: usize = 64;
/// Refusals that only a modern server gives.
const MODERN_ERRORS: std::ops::RangeInclusive<i64> = -32_022..=-32_020;

impl Machine {
    /// Remembers a probe.
    pub(super) fn note_discover(&mut self, call: CallId, client: ClientKey) {
        if self.probes.len() < MAX_PROBES {
            self.probes.push((call, client));
        }
    }

    /// A greeting of the old kind succeeded: what the same client asked before was a probe.
    pub(super) fn greeted(&mut self, client: ClientKey, facts: &mut Vec<Fact>) {
        let same = |probe: &ClientKey| {
            let (mut one, mut other) = (*probe, client);
            // A new HTTP session changes the peer, not the client.
            (one.peer, other.peer) = (0, 0);
            one.agrees(other)
        };
        for (call, _) in std::mem::take(&mut self.probes)
            .into_iter()
            .filter(|(_, probe)| same(probe))
        {
            self.resolve(call, facts);
        }
    }

    /// A refused probe that is the only request of a stdio session needs nothing further: clients
    /// probe in a process of its own.
    pub(super) fn probe_refused(&mut self, at: &At, call: CallId, facts: &mut Vec<Fact>) {
        let is_probe = self.probes.iter().any(|(probe, _)| *probe == call);
        if is_probe && !at.http && self.counters.requests == 1 {
            self.resolve(call, facts);
            self.lone_probe = Some((call, at.row));
        }
    }

    /// Another request came after such a probe: unless it is the greeting, the refusal stands.
    pub(super) fn no_lone_probe(&mut self, method: &str, facts: &mut Vec<Fact>) {
        if let Some((call, row)) = self.lone_probe.take()
            && method != "initialize"
        {
            self.change(call, facts, |call| {
                (call.resolved, call.errored) = (None, true);
            });
            self.mark_errored(row);
        }
    }

    fn resolve(&mut self, id: CallId, facts: &mut Vec<Fact>) {
        let Some(call) = self.call(id) else {
            return;
        };
        let modern = call
            .error_code
            .is_some_and(|code| MODERN_ERRORS.contains(&code));
        let refused = call.state == CallState::Failed && call.errored && !modern;
        let silent = call.is_open();
        if !(refused || silent) || call.resolved.is_some() {
            return;
        }
        let row = refused.then(|| refusal_of(&call)).flatten();
        self.change(id, facts, |call| {
            (call.resolved, call.errored) = (Some(Resolved::Era), false);
        });
        self.peers.was_probe(id);
        if let Some(row) = row {
            self.unmark_errored(row);
        }
    }
}

/// The frame that refused a call: its answer, or the HTTP frame linked to it.
fn refusal_of(call: &Call) -> Option<RowId> {
    let answer = call.hops.last().and_then(|hop| hop.answer);
    answer.or_else(|| call.linked.last().copied())
}
