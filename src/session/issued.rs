//! Request states that servers issued in this session, by hash, and which of them came back
//! (session-model.md 11.3, 11.4). The states themselves are never kept.

use std::collections::VecDeque;

use super::hash::Map;

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
    /// Its newest place in the order of use.
    place: u64,
}

impl State {
    /// True when it was issued for one operation only, and for another than this one.
    pub(super) fn is_foreign_to(&self, operation: u64) -> bool {
        !self.shared && self.operation != operation
    }
}

/// The states, the least recently used of them forgotten at the bound.
#[derive(Debug, Default)]
pub(super) struct Issued {
    known: Map<[u8; 16], State>,
    /// States in order of use; an entry counts when its place is the newest.
    order: VecDeque<([u8; 16], u64)>,
    places: u64,
}

impl Issued {
    /// Notes that a state was issued for an operation.
    pub(super) fn issue(&mut self, state: [u8; 16], operation: u64) {
        let fresh = State {
            used: false,
            operation,
            shared: false,
            place: 0,
        };
        let known = self.known.entry(state).or_insert(fresh);
        known.shared |= known.operation != operation;
        known.used = false;
        self.touch(state);
        while self.known.len() > MAX_ISSUED
            && let Some((oldest, place)) = self.order.pop_front()
        {
            let is_newest = |known: &State| known.place == place;
            if self.known.get(&oldest).is_some_and(is_newest) {
                self.known.remove(&oldest);
            }
        }
    }

    /// Notes that a linked retry brought a state back.
    pub(super) fn use_up(&mut self, state: [u8; 16]) {
        if let Some(known) = self.known.get_mut(&state) {
            known.used = true;
            self.touch(state);
        }
    }

    /// What is known of a state.
    pub(super) fn get(&self, state: &[u8; 16]) -> Option<State> {
        self.known.get(state).copied()
    }

    fn touch(&mut self, state: [u8; 16]) {
        self.places += 1;
        if let Some(known) = self.known.get_mut(&state) {
            known.place = self.places;
        }
        self.order.push_back((state, self.places));
        // One state that comes again and again must not make the order grow.
        if self.order.len() > MAX_ISSUED * 2 {
            let known = &self.known;
            self.order
                .retain(|(state, place)| known.get(state).is_some_and(|one| one.place == *place));
        }
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
    fn the_least_recently_used_are_forgotten_and_repeats_take_nothing() {
        let mut issued = Issued::default();
        for number in 0..20_000 {
            issued.issue(state(number), 0);
            issued.use_up(state(0));
        }
        assert!(issued.get(&state(0)).is_some());
        assert!(issued.get(&state(1)).is_none());
        assert_eq!(issued.known.len(), MAX_ISSUED);
        for _ in 0..100_000 {
            issued.issue(state(0), 0);
        }
        assert!(issued.order.len() <= MAX_ISSUED * 2);
        assert_eq!(issued.known.len(), MAX_ISSUED);
    }
}
