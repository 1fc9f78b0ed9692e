//! A table that keeps what was used last, up to a bound (session-model.md 22.3).

use std::{collections::VecDeque, hash::Hash};

use super::hash::Map;

/// Uses that wait to be cleared away, beside three for each value.
const MOST_STALE: usize = 64;

/// Values by key; the least recently used leave at the bound. Every step takes constant time on
/// average.
#[derive(Debug)]
pub(super) struct Recent<K, V> {
    /// Each with the turn at which it was used last.
    map: Map<K, (u64, V)>,
    /// Uses in order; only the newest use of a key counts.
    uses: VecDeque<(u64, K)>,
    turn: u64,
    most: usize,
    /// Values that left at the bound.
    dropped: u64,
}

impl<K: Copy + Eq + Hash, V> Recent<K, V> {
    /// An empty table of at most `most` values.
    pub(super) fn new(most: usize) -> Self {
        Self {
            map: Map::default(),
            uses: VecDeque::new(),
            turn: 0,
            most,
            dropped: 0,
        }
    }

    /// Values that left at the bound.
    pub(super) fn dropped(&self) -> u64 {
        self.dropped
    }

    /// The value of a key; looking is no use.
    pub(super) fn get(&self, key: &K) -> Option<&V> {
        self.map.get(key).map(|(_, value)| value)
    }

    /// The value of a key, to be changed without a use.
    pub(super) fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        self.map.get_mut(key).map(|(_, value)| value)
    }

    /// The value of a key, to be changed: a use.
    pub(super) fn use_of(&mut self, key: K) -> Option<&mut V> {
        let turn = self.turn + 1;
        self.map.get_mut(&key)?.0 = turn;
        self.turn = turn;
        self.uses.push_back((turn, key));
        self.drop_stale_uses();
        self.map.get_mut(&key).map(|(_, value)| value)
    }

    fn drop_stale_uses(&mut self) {
        if self.uses.len() > MOST_STALE.max(self.map.len().saturating_mul(4)) {
            let map = &self.map;
            self.uses
                .retain(|(turn, key)| map.get(key).is_some_and(|(used, _)| used == turn));
        }
    }

    /// Sets the value of a key; answers the value that leaves for it at the bound.
    pub(super) fn insert(&mut self, key: K, value: V) -> Option<V> {
        self.turn += 1;
        self.map.insert(key, (self.turn, value));
        self.uses.push_back((self.turn, key));
        let mut left = None;
        while let Some((turn, oldest)) = self.uses.front().copied() {
            let counts = self.map.get(&oldest).is_some_and(|(used, _)| *used == turn);
            if counts && self.map.len() <= self.most {
                break;
            }
            self.uses.pop_front();
            if counts {
                self.dropped += 1;
                left = self.map.remove(&oldest).map(|(_, value)| value);
            }
        }
        self.drop_stale_uses();
        left
    }

    /// Forgets all values, since none is needed any more; they count as no loss.
    pub(super) fn release(&mut self) {
        (self.map, self.uses) = (Map::default(), VecDeque::new());
    }

    /// Takes a value out.
    pub(super) fn remove(&mut self, key: &K) -> Option<V> {
        self.map.remove(key).map(|(_, value)| value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_used_last_stays_and_stale_uses_take_no_room() {
        let mut recent = Recent::new(3);
        for key in 0..3 {
            assert_eq!(recent.insert(key, key * 10), None);
        }
        assert_eq!(recent.use_of(0).copied(), Some(0));
        assert_eq!(recent.insert(3, 30), Some(10));
        assert_eq!((recent.get(&0), recent.get(&1)), (Some(&0), None));
        assert_eq!(recent.remove(&0), Some(0));
        for key in 4..1_000 {
            recent.insert(key, 0);
            recent.use_of(key);
            recent.remove(&key);
        }
        assert_eq!((recent.get(&2), recent.get(&3)), (Some(&20), Some(&30)));
        assert!(recent.uses.len() <= MOST_STALE + 1, "{}", recent.uses.len());
        assert_eq!(recent.dropped(), 1);
    }
}
