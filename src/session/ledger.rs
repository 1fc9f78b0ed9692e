//! The ledger of questions to users: which were asked, which were answered (session-model.md 12). It
//! keeps its rows whatever leaves memory, within its own bounds.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use super::{
    atoms::{bounded, clip},
    call::CallId,
    elicitation::{Elicitation, ElicitationChannel},
    hash::Map,
    machine::At,
    reading::{each, member_text},
    session::Session,
};

/// Questions of one session (session-model.md 12.3).
const MAX_ROWS: usize = 10_000;
/// Bytes that they may take: a form has up to 256 fields.
const MAX_BYTES: usize = 16 << 20;
/// Bytes of an action.
const MAX_ACTION: usize = 1_024;

/// Questions of the newest round of a call, by their places.
#[derive(Clone, Copy, Debug)]
struct Open {
    from: u64,
    to: u64,
    /// How many of them are held.
    held: u64,
}

/// All questions, in the order in which they were seen.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    next: u64,
    rows: BTreeMap<u64, Elicitation>,
    answered: BTreeSet<u64>,
    /// Parked operations whose newest answer asked something.
    rounds: Map<CallId, Open>,
    /// Requests of the server that wait for an answer.
    requests: Map<CallId, u64>,
    /// Questions of tasks, by task and key.
    tasks: Map<(Arc<str>, Box<str>), u64>,
    bytes: usize,
    dropped: u64,
}

impl Ledger {
    /// The rows in the order of session-model.md 12.8.
    pub(super) fn sorted(&self) -> Vec<&Elicitation> {
        let mut rows: Vec<_> = self.rows.values().collect();
        let seq = |row: &Elicitation| row.operation.as_ref().map(|operation| operation.call_seq);
        rows.sort_by(|one, other| {
            let order = |row: &Elicitation| (row.asked_at, seq(row), row.round);
            order(one)
                .cmp(&order(other))
                .then_with(|| one.key.cmp(&other.key))
        });
        rows
    }

    /// Rows that were given up at the bound.
    pub(super) fn dropped(&self) -> u64 {
        self.dropped
    }

    /// The questions of one interim answer, by key: those of earlier rounds can no longer be
    /// answered.
    pub(super) fn open_round(&mut self, call: CallId, rows: Vec<Elicitation>) {
        let from = self.next;
        let held = rows.len() as u64;
        let to = from.saturating_add(held);
        if held > 0 {
            self.rounds.insert(call, Open { from, to, held });
        } else {
            self.rounds.remove(&call);
        }
        for row in rows {
            self.add(row);
        }
    }

    /// A linked retry answers the newest round.
    pub(super) fn answer_round(&mut self, call: CallId, at: &At, responses: Option<&[u8]>) {
        let Some(open) = self.rounds.remove(&call) else {
            return;
        };
        let Some(answers) = responses.map(answers) else {
            return;
        };
        for place in open.from..open.to {
            let key = self.rows.get(&place).map(|row| &*row.key);
            if let Some(answer) = key.and_then(|key| answers.get(key)) {
                self.answer(place, at, Some(answer));
            }
        }
    }

    /// A request of the server that asks the user.
    pub(super) fn open_request(&mut self, row: Elicitation) {
        if let Some(request) = row.request {
            self.requests.insert(request, self.next);
        }
        self.add(row);
    }

    /// True when no such request waits.
    pub(super) fn awaits_none(&self) -> bool {
        self.requests.is_empty()
    }

    /// The client answered such a request with a result or with an error.
    pub(super) fn answer_request(
        &mut self,
        request: CallId,
        at: &At,
        answer: Result<&[u8], Option<i64>>,
    ) {
        let Some(place) = self.requests.remove(&request) else {
            return;
        };
        self.answer(place, at, answer.ok());
        if let (Err(code), Some(row)) = (answer, self.rows.get_mut(&place)) {
            row.answer_error = code;
        }
    }

    /// A question of a task; one that is known is no new row.
    pub(super) fn open_task(&mut self, task: &Arc<str>, row: Elicitation) {
        let key = (Arc::clone(task), row.key.clone());
        if !self.tasks.contains_key(&key) {
            self.tasks.insert(key, self.next);
            self.add(row);
        }
    }

    /// `tasks/update` answers questions of a task.
    pub(super) fn answer_task(&mut self, task: &Arc<str>, at: &At, responses: &[u8]) {
        for (key, answer) in answers(responses) {
            let known = self.tasks.get(&(Arc::clone(task), key)).copied();
            if let Some(place) = known {
                self.answer(place, at, Some(answer));
            }
        }
    }

    /// An answer: its action, and nothing else of it.
    fn answer(&mut self, place: u64, at: &At, answer: Option<&[u8]>) {
        let Some(row) = self.rows.get_mut(&place).filter(|row| row.pending) else {
            return;
        };
        let action = answer.and_then(|answer| member_text(answer, "action", at.redacted));
        self.bytes = self.bytes.saturating_sub(row.weight());
        row.pending = false;
        row.answered_at = at.ts;
        row.action = action.map(|action| clip(&action, MAX_ACTION).into());
        self.bytes += row.weight();
        self.answered.insert(place);
    }

    fn add(&mut self, row: Elicitation) {
        self.bytes += row.weight();
        self.rows.insert(self.next, row);
        self.next += 1;
        while self.rows.len() > MAX_ROWS || self.bytes > MAX_BYTES && self.rows.len() > 1 {
            self.drop_oldest();
        }
    }

    /// The oldest answered row goes first, else the oldest.
    fn drop_oldest(&mut self) {
        let oldest = self.rows.first_key_value().map(|(place, _)| *place);
        let Some(place) = self.answered.pop_first().or(oldest) else {
            return;
        };
        let Some(row) = self.rows.remove(&place) else {
            return;
        };
        self.dropped += 1;
        self.bytes = self.bytes.saturating_sub(row.weight());
        if let Some(request) = row.request {
            self.requests.remove(&request);
        }
        if let Some(task) = row.task {
            self.tasks.remove(&(task, row.key));
        } else if row.channel == ElicitationChannel::Mrtr
            && let Some(call) = row.operation.map(|operation| operation.call)
            && let Some(open) = self.rounds.get_mut(&call)
            && (open.from..open.to).contains(&place)
        {
            open.held -= 1;
            if open.held == 0 {
                self.rounds.remove(&call);
            }
        }
    }
}

impl Session {
    /// Questions that servers put to users, by the time they were asked (session-model.md 12); sorted
    /// anew each time; at most 10,000, which take at most 16 MiB.
    pub fn elicitations(&self) -> Vec<&Elicitation> {
        self.machine.ledger.sorted()
    }
}

/// Members of `inputResponses` by key; the last of one key counts.
fn answers(responses: &[u8]) -> BTreeMap<Box<str>, &[u8]> {
    let mut found = BTreeMap::new();
    each(responses, |key, value| {
        let key = bounded(Cow::Owned(String::from_utf8_lossy(key).into_owned()));
        found.insert(key.into(), value);
    });
    found
}
