//! Request states that servers issued in this session, by hash, and which of them came back
//! (session-model.md 11.3, 11.4). The states themselves are never kept.

use super::{canonical, hash::Set, recent::Recent};
use crate::record::Seq;

/// States that are remembered (session-model.md 22.3).
const MAX_ISSUED: usize = 4_096;
/// Operations with an answer that could not be read; beyond them it may be of any.
const MAX_HIDDEN: usize = 1_024;

/// What is known of one state.
#[derive(Clone, Copy, Debug)]
pub(super) struct State {
    /// A retry that was linked brought it back, and it was not issued again since.
    pub(super) used: bool,
    /// Hash of the operation it was issued for.
    operation: u64,
    /// It was issued for several operations.
    shared: bool,
}

impl State {
    /// True when it was issued for one operation only, and for another than this one.
    pub(super) fn is_foreign_to(&self, operation: u64) -> bool {
        !self.shared && self.operation != operation
    }
}

/// The states, the least recently used of them forgotten at the bound.
#[derive(Debug)]
pub(super) struct Issued {
    known: Recent<[u8; 16], State>,
    /// Operations of which an answer may have issued a state that could not be read.
    hidden: Set<u64>,
    /// Such an answer may be of any operation.
    hidden_any: bool,
    /// The last request that may have brought back a state that could not be read.
    pub(super) hidden_retry: Seq,
}

impl Default for Issued {
    fn default() -> Self {
        Self {
            known: Recent::new(MAX_ISSUED),
            hidden: Set::default(),
            hidden_any: false,
            hidden_retry: Seq(0),
        }
    }
}

impl Issued {
    /// Notes that a state was issued for an operation.
    pub(super) fn issue(&mut self, state: [u8; 16], operation: u64) {
        if let Some(known) = self.known.use_of(state) {
            known.shared |= known.operation != operation;
            known.used = false;
            return;
        }
        let fresh = State {
            used: false,
            operation,
            shared: false,
        };
        self.known.insert(state, fresh);
    }

    /// Notes that a state was issued in an answer that parked nothing; `None` for an operation that is
    /// not known.
    pub(super) fn saw(&mut self, state: [u8; 16], operation: Option<u64>) {
        let Some(known) = self.known.use_of(state) else {
            self.issue(state, operation.unwrap_or(0));
            if let Some(known) = self.known.use_of(state) {
                known.shared = operation.is_none();
            }
            return;
        };
        known.shared |= operation != Some(known.operation);
    }

    /// Notes an answer that may be interim and hides what it issued; `None` for an operation that is
    /// not known.
    pub(super) fn hide(&mut self, operation: Option<u64>) {
        match operation {
            Some(operation) if self.hidden.len() < MAX_HIDDEN => {
                self.hidden.insert(operation);
            }
            Some(operation) if self.hidden.contains(&operation) => {}
            _ => self.hidden_any = true,
        }
    }

    /// True when a retry of an operation may continue what nobody could read, or what was forgotten.
    pub(super) fn may_be_hidden(&self, operation: u64) -> bool {
        self.hidden_any || self.forgotten() > 0 || self.hidden.contains(&operation)
    }

    /// Notes a linked retry without a state; true when its like was linked before: it may be the same
    /// one, sent again.
    pub(super) fn repeats(&mut self, operation: u64, keys: u64, base: Option<u64>) -> bool {
        let mut like = [0; 16];
        let halves = [canonical::mix(operation, keys), base.unwrap_or(0)];
        for (to, from) in like
            .iter_mut()
            .zip(halves.iter().flat_map(|half| half.to_le_bytes()))
        {
            *to = from;
        }
        let known = self.get(&like).is_some();
        self.issue(like, operation);
        known
    }

    /// Notes that a linked retry brought a state back.
    pub(super) fn use_up(&mut self, state: [u8; 16]) {
        if let Some(known) = self.known.use_of(state) {
            known.used = true;
        }
    }

    /// What is known of a state.
    pub(super) fn get(&self, state: &[u8; 16]) -> Option<State> {
        self.known.get(state).copied()
    }

    /// States that were forgotten at the bound.
    pub(super) fn forgotten(&self) -> u64 {
        self.known.dropped()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(number: u32) -> [u8; 16] {
        let mut state = [0; 16];
        state[..4].copy_from_slice(&number.to_le_bytes());
        state
    }

    #[test]
    fn a_state_is_used_until_it_is_issued_again() {
        let mut issued = Issued::default();
        issued.issue(state(1), 7);
        assert!(!issued.get(&state(1)).unwrap().used);
        issued.use_up(state(1));
        issued.use_up(state(2));
        assert!(issued.get(&state(1)).unwrap().used);
        assert!(issued.get(&state(2)).is_none());
        assert!(issued.get(&state(1)).unwrap().is_foreign_to(8));
        assert!(!issued.get(&state(1)).unwrap().is_foreign_to(7));
        issued.issue(state(1), 8);
        let known = issued.get(&state(1)).unwrap();
        assert!(!known.used && !known.is_foreign_to(9));
    }

    #[test]
    fn the_least_recently_used_are_forgotten_and_counted() {
        let mut issued = Issued::default();
        for number in 0..20_000 {
            issued.issue(state(number), 0);
            issued.use_up(state(0));
        }
        assert!(issued.get(&state(0)).is_some());
        assert!(issued.get(&state(1)).is_none());
        assert_eq!(issued.forgotten(), 20_000 - MAX_ISSUED as u64);
    }
}
