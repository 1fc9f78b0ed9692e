//! Clients that know both eras: they ask an old server `server/discover` first, are refused or get no
//! answer, and greet it the old way (session-model.md 8.4, `era`).

use super::{
    call::{CallId, Resolved},
    fact::Fact,
    hops::ClientKey,
    machine::{At, Machine},
    refused::Answered,
    requests::last_request,
    resolving::{Need, Which, is_same_client},
    revisions::Counted,
    row::RowId,
};
use crate::record::Seq;

/// Probes that are remembered while they have no answer.
const MAX_PROBES: usize = 64;
/// Refusals that only a modern server gives.
pub(super) const MODERN_ERRORS: std::ops::RangeInclusive<i64> = -32_022..=-32_020;

/// A request `server/discover`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Probe {
    call: CallId,
    client: ClientKey,
    seq: Seq,
    counted: Counted,
}

/// A refused probe that is the only request so far.
#[derive(Clone, Copy, Debug)]
pub(super) struct LoneProbe {
    call: CallId,
    /// The frame that refused it.
    row: RowId,
    counted: Counted,
}

impl Machine {
    /// Remembers a probe.
    pub(super) fn note_discover(&mut self, at: &At, call: CallId, counted: Counted) {
        if self.probes.len() >= MAX_PROBES {
            self.probes.pop_front();
            self.forgotten.probes += 1;
        }
        self.probes.push_back(Probe {
            call,
            client: at.client,
            seq: at.row.seq,
            counted,
        });
    }

    /// A greeting of the old kind succeeded: what the same client asked before was a probe, or its
    /// session had expired.
    pub(super) fn greeted(&mut self, asked: &Answered, facts: &mut Vec<Fact>) {
        let fits =
            |client: ClientKey, seq: Seq| seq < asked.seq && is_same_client(client, asked.client);
        let all = std::mem::take(&mut self.probes);
        let (silent, others) = all
            .into_iter()
            .partition(|probe| fits(probe.client, probe.seq));
        self.probes = others;
        for probe in silent {
            self.resolve_silent(probe, facts);
        }
        let kinds = [Resolved::Era, Resolved::Session];
        let before = Which::Before(asked.seq);
        self.make_good(&Need::Greeting, &kinds, asked.client, before, facts);
    }

    /// A probe that got no answer, also where the client gave it up or the server closed its exchange;
    /// an answer that comes later does not undo it.
    fn resolve_silent(&mut self, probe: Probe, facts: &mut Vec<Fact>) {
        let Some(call) = self.call(probe.call) else {
            return;
        };
        if call.resolved.is_some() || !(call.is_open() || call.awaits_late) {
            return;
        }
        let request = last_request(&call);
        drop(call);
        let lost = self.change(probe.call, facts, |call| {
            call.resolved = Some(Resolved::Era);
            std::mem::take(&mut call.errored)
        });
        if let (Some(true), Some(row)) = (lost, request) {
            self.unmark_errored(row);
        }
        self.peers.was_probe(probe.call, probe.counted);
    }

    /// A refused probe that is the only request of a stdio session needs nothing further: clients
    /// probe in a process of its own.
    pub(super) fn probe_refused(
        &mut self,
        at: &At,
        call: CallId,
        counted: Counted,
        facts: &mut Vec<Fact>,
    ) {
        let is_lone = !at.http && self.counters.requests == 1;
        if !is_lone {
            return;
        }
        self.change(call, facts, |call| {
            (call.resolved, call.errored) = (Some(Resolved::Era), false);
        });
        self.peers.was_probe(call, counted);
        self.unmark_errored(at.row);
        self.lone_probe = Some(LoneProbe {
            call,
            row: at.row,
            counted,
        });
    }

    /// Another request came after such a probe: unless it is the greeting, the refusal stands.
    pub(super) fn no_lone_probe(&mut self, method: &str, facts: &mut Vec<Fact>) {
        if let Some(lone) = self.lone_probe.take()
            && method != "initialize"
        {
            self.change(lone.call, facts, |call| {
                (call.resolved, call.errored) = (None, true);
            });
            self.peers.made_under(lone.call, lone.counted);
            self.mark_errored(lone.row);
        }
    }
}
