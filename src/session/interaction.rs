//! A call as an interaction: its requests one by one, and whose time it was (session-model.md 11.5,
//! export.md 4.7).

use std::sync::Arc;

use super::{
    call::{Call, CallState},
    extra::StateIssue,
    key::JsonId,
    row::RowId,
};
use crate::base::Timestamp;

/// One request of an interaction with its answer.
#[derive(Clone, Debug, PartialEq)]
pub struct HopSummary<'a> {
    /// The request frame.
    pub request: RowId,
    /// Its id as sent, exact JSON text (untrusted).
    pub request_id: &'a JsonId,
    /// Its instant.
    pub request_at: Option<Timestamp>,
    /// The answer frame.
    pub response: Option<RowId>,
    /// Its instant.
    pub response_at: Option<Timestamp>,
    /// The server's share in nanoseconds: for a request of the client the time up to the answer.
    pub server_nanos: u64,
    /// The client's share in nanoseconds: for a request of the client the wait before it.
    pub client_nanos: u64,
    /// Methods that the answer asked for, sorted, each once, at most 16 (untrusted).
    pub asked: &'a [Arc<str>],
    /// The answer asked for something more that is not known.
    pub asked_unknown: bool,
    /// It still waits for its answer.
    pub pending: bool,
    /// What is wrong with the state that it brought back.
    pub state_issue: Option<StateIssue>,
}

/// A call and its requests.
#[derive(Clone, Debug, PartialEq)]
pub struct Interaction<'a> {
    /// Number of requests, exact.
    pub round_trips: u32,
    /// The server's share in nanoseconds, exact.
    pub server_nanos: u64,
    /// The client's share in nanoseconds, exact: `client_turnaround`.
    pub client_nanos: u64,
    /// Sum of the two.
    pub duration_nanos: u64,
    /// The requests in order, at most 256; empty for a call with one request.
    pub hops: Vec<HopSummary<'a>>,
    /// The hops account for both totals; false when some are not listed, or when a task took time.
    pub hops_complete: bool,
    /// Its times say something of the peers: it is settled, not by a reuse of its id and not by a
    /// cancellation without an answer.
    pub is_measurable: bool,
}

impl Call {
    /// The call as an interaction.
    pub fn interaction(&self) -> Interaction<'_> {
        let hops = self.hop_summaries();
        let sum = |share: fn(&HopSummary<'_>) -> u64| {
            hops.iter()
                .fold(0_u64, |sum, hop| sum.saturating_add(share(hop)))
        };
        let sums = (sum(|hop| hop.server_nanos), sum(|hop| hop.client_nanos));
        let listed = u32::try_from(hops.len()).unwrap_or(u32::MAX);
        let hops_complete = self.hop_count < 2
            || listed == self.hop_count && sums == (self.server_nanos, self.client_nanos);
        Interaction {
            round_trips: self.hop_count,
            server_nanos: self.server_nanos,
            client_nanos: self.client_nanos,
            duration_nanos: self.server_nanos.saturating_add(self.client_nanos),
            hops,
            hops_complete,
            is_measurable: match self.state {
                CallState::Completed | CallState::Failed => true,
                CallState::Cancelled => self.late_result,
                CallState::Pending(_) | CallState::Streaming | CallState::Superseded => false,
            },
        }
    }

    fn hop_summaries(&self) -> Vec<HopSummary<'_>> {
        let Some(rounds) = self.rounds.as_ref().filter(|_| self.hop_count > 1) else {
            return Vec::new();
        };
        let pairs = self.hops.iter().zip(&rounds.list);
        pairs
            .map(|(hop, round)| {
                let shares = (round.took, round.waited);
                let (server_nanos, client_nanos) = if self.from_client {
                    shares
                } else {
                    (shares.1, shares.0)
                };
                HopSummary {
                    request: hop.request,
                    request_id: &hop.json_id,
                    request_at: hop.sent,
                    response: hop.answer,
                    response_at: round.answered,
                    server_nanos,
                    client_nanos,
                    asked: &round.asked,
                    asked_unknown: round.asked_unknown,
                    pending: hop.answer.is_none() && self.is_open(),
                    state_issue: round.issue,
                }
            })
            .collect()
    }
}
