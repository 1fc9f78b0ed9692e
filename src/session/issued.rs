//! Request states that servers issued in this session, by hash, and which of them came back
//! (session-model.md 11.3, 11.4). The states themselves are never kept.

use super::recent::Recent;

/// States that are remembered (session-model.md 22.3).
const MAX_ISSUED: usize = 4_096;

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
}

impl Default for Issued {
    fn default() -> Self {
        Self {
            known: Recent::new(MAX_ISSUED),
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
