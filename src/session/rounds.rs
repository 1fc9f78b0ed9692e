//! What a call keeps of each request that it took, when it took more than one (session-model.md
//! 11.5). Ordinary calls have none of it.

use std::sync::Arc;

use super::{
    call::{Call, CallState, WaitingOn},
    extra::StateIssue,
};
use crate::base::Timestamp;

/// Rounds that a call keeps; totals stay exact beyond.
pub(super) const MAX_ROUNDS: usize = 256;

/// One request with its answer, beside what its `Hop` says.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Round {
    /// Nanoseconds of the requester before this request.
    pub(super) waited: u64,
    /// Nanoseconds of the responder up to the answer.
    pub(super) took: u64,
    pub(super) answered: Option<Timestamp>,
    /// Methods that the answer asked for, sorted, each once.
    pub(super) asked: Box<[Arc<str>]>,
    /// It asked for something that is not known.
    pub(super) asked_unknown: bool,
    pub(super) issue: Option<StateIssue>,
}

/// The rounds of one call, from its first request on.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Rounds {
    pub(super) list: Vec<Round>,
    /// Nanoseconds of the requester since the last answer.
    waiting: u64,
    /// What is wrong with the state of the request that is about to be added.
    issue: Option<StateIssue>,
}

impl Call {
    /// Begins to keep rounds: the first answer asked for input.
    pub(super) fn keep_rounds(&mut self) {
        if self.rounds.is_none() {
            let took = if self.from_client {
                self.server_nanos
            } else {
                self.client_nanos
            };
            let first = Round {
                took,
                ..Round::default()
            };
            self.rounds = Some(Box::new(Rounds {
                list: vec![first],
                ..Rounds::default()
            }));
        }
    }

    /// The round of a hop.
    pub(super) fn round_mut(&mut self, hop: u32) -> Option<&mut Round> {
        let at = usize::try_from(hop).ok()?;
        self.rounds.as_mut()?.list.get_mut(at)
    }

    /// Notes what is wrong with the request that is about to be added.
    pub(super) fn note_issue(&mut self, issue: Option<StateIssue>) {
        if let Some(rounds) = &mut self.rounds {
            rounds.issue = issue;
        }
    }

    /// A request was added.
    pub(super) fn next_round(&mut self) {
        if let Some(rounds) = &mut self.rounds {
            let waited = std::mem::take(&mut rounds.waiting);
            let issue = rounds.issue.take();
            if rounds.list.len() < MAX_ROUNDS {
                rounds.list.push(Round {
                    waited,
                    issue,
                    ..Round::default()
                });
            }
        }
    }

    /// A share of the call was charged. The time of a task belongs to no request.
    pub(super) fn charge_round(&mut self, nanos: u64, to_responder: bool) {
        let in_task = self.state == CallState::Pending(WaitingOn::Task);
        let hops = usize::try_from(self.hop_count).unwrap_or(usize::MAX);
        let Some(rounds) = self.rounds.as_mut().filter(|_| !in_task) else {
            return;
        };
        if !to_responder {
            rounds.waiting = rounds.waiting.saturating_add(nanos);
        } else if rounds.list.len() == hops
            && let Some(last) = rounds.list.last_mut()
        {
            last.took = last.took.saturating_add(nanos);
        }
    }
}
