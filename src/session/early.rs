//! Answers that stand before their requests, in logs of recorders that number the two directions
//! independently (session-model.md 4.4, M6).

use super::{
    classify::Parts,
    fact::Fact,
    key::Key,
    machine::{Answer, At, Machine},
    reading::{ErrorFacts, ResultFacts},
    refused::Verdict,
    reuse::{ORDERED_FORMAT, OVERTAKING, Shared},
};

/// Answers that wait for their request.
const MAX_EARLY: usize = 64;

/// An answer that may have overtaken its request (session-model.md 4.4, M6).
#[derive(Debug)]
pub(super) struct Early {
    pub(super) at: At,
    pub(super) key: Key,
    pub(super) answer: Answer,
    /// A request that was cut was spent for it; and what was said of it is all that it is warned for.
    said: (bool, bool),
}

impl Machine {
    /// Keeps an answer that seems to answer nothing until its request can no longer come.
    pub(super) fn note_early(&mut self, at: At, key: Key, parts: &Parts<'_>, said: (bool, bool)) {
        if self.head.format >= ORDERED_FORMAT {
            return;
        }
        if self.early.len() >= MAX_EARLY {
            self.early.pop_front();
            self.forgotten.early_answers += 1;
        }
        let answer = final_answer(parts, at.redacted);
        self.early.push_back(Early {
            at,
            key,
            answer,
            said,
        });
    }

    /// Forgets answers whose request can no longer come.
    pub(super) fn drop_early(&mut self, at: &At) {
        if !self.early.is_empty()
            && let Some(now) = at.ts
        {
            let side = at.side;
            self.early.retain(|early| {
                early.at.side == side
                    || early
                        .at
                        .ts
                        .is_none_or(|ts| now.nanos_since(ts) <= OVERTAKING)
            });
        }
    }

    /// The answer to this request that was there before it.
    pub(super) fn answer_early(&mut self, at: &At, key: &Key, facts: &mut Vec<Fact>) {
        let fits = |early: &Early| {
            early.at.side != at.side
                && early.key == *key
                && early.at.conn == at.conn
                && (early.at.exchange == at.exchange || early.at.exchange == 0)
        };
        let Some(found) = self.early.iter().position(fits) else {
            return;
        };
        let newest = self.hops.with_key(at.side, key).next().map(|(hop, _)| hop);
        if let (Some(early), Some(hop)) = (self.early.remove(found), newest)
            && let Some(call) = self.take_answer(early.at.row, hop, facts)
        {
            if let Some(entry) = self.hops.get_mut(hop) {
                entry.answered_on = early.at.exchange;
                if !early.said.1 && entry.shared.is_none() {
                    // It may as well be the answer to a request that is not there.
                    entry.shared = Some(Box::new(Shared::one()));
                }
            }
            self.withdraw_unmatched(&early.at, early.said);
            let errored = self.settle_call(&early.at, call, &early.answer, facts);
            let verdict = Verdict {
                fails: matches!(early.answer, Answer::Error(_)),
                code: match &early.answer {
                    Answer::Error(error) => error.code,
                    _ => None,
                },
                own_id: true,
                ..Verdict::default()
            };
            self.judge(&early.at, hop, (&verdict, errored), facts);
        }
    }
}

/// An answer by its members alone.
fn final_answer(parts: &Parts<'_>, redacted: bool) -> Answer {
    match (parts.error, parts.result) {
        (Some(error), _) => Answer::Error(ErrorFacts::read(error)),
        (None, None) => Answer::Error(ErrorFacts::default()),
        (None, Some(result)) => {
            let bytes = result.len() as u64;
            if ResultFacts::read(result, redacted).is_error {
                Answer::ToolError { bytes }
            } else {
                Answer::Ok { bytes }
            }
        }
    }
}
