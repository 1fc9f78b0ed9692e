//! Hops by id or token, newest first. Only hashes are kept: the words themselves lie in the table of
//! hops, and whoever looks something up compares them there.

use std::hash::BuildHasher as _;

use super::{
    hash::Map,
    hops::{HopId, Side},
    key::Key,
};

/// No hop.
const NONE: HopId = HopId::MAX;

/// Chains of hops whose words have one hash.
#[derive(Debug, Default)]
pub(super) struct HopIndex {
    hasher: foldhash::fast::RandomState,
    newest: Map<u64, HopId>,
    /// For each hop the next older one of its chain.
    older: Vec<HopId>,
}

impl HopIndex {
    /// All hops that may have this word, newest first.
    pub(super) fn all(&self, word: (Side, &Key)) -> impl Iterator<Item = HopId> + Clone + use<'_> {
        let newest = self.newest.get(&self.hasher.hash_one(word)).copied();
        std::iter::successors(newest, |hop| self.older(*hop))
    }

    /// Adds a hop as the newest with this word.
    pub(super) fn add(&mut self, word: (Side, &Key), hop: HopId) {
        let older = self.newest.insert(self.hasher.hash_one(word), hop);
        let at = usize::try_from(hop).unwrap_or(usize::MAX);
        if self.older.len() <= at {
            self.older.resize(at + 1, NONE);
        }
        self.set_older(hop, older);
    }

    /// Takes a hop out, if it is there.
    pub(super) fn remove(&mut self, word: (Side, &Key), hop: Option<HopId>) {
        let Some(hop) = hop else { return };
        let newer = self.all(word).take_while(|known| *known != hop).last();
        let Some(newer) = newer else {
            let hash = self.hasher.hash_one(word);
            if self.newest.get(&hash) == Some(&hop) {
                match self.older(hop) {
                    Some(older) => self.newest.insert(hash, older),
                    None => self.newest.remove(&hash),
                };
            }
            return;
        };
        if self.older(newer) == Some(hop) {
            let older = self.older(hop);
            self.set_older(newer, older);
        }
    }

    /// Gives back the room of what was taken out.
    pub(super) fn shrink(&mut self) {
        self.newest.shrink_to_fit();
        if self.newest.is_empty() {
            self.older = Vec::new();
        }
    }

    fn older(&self, hop: HopId) -> Option<HopId> {
        let older = self.older.get(usize::try_from(hop).ok()?).copied();
        older.filter(|older| *older != NONE)
    }

    fn set_older(&mut self, hop: HopId, older: Option<HopId>) {
        let place = usize::try_from(hop)
            .ok()
            .and_then(|at| self.older.get_mut(at));
        if let Some(place) = place {
            *place = older.unwrap_or(NONE);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hops_come_newest_first_and_leave_from_everywhere() {
        let word = (Side::Client, &Key::Small(7));
        let other = (Side::Server, &Key::Small(7));
        for gone in 0..4 {
            let mut index = HopIndex::default();
            for hop in 0..4 {
                index.add(word, hop);
            }
            index.add(other, 4);
            index.remove(word, Some(gone));
            index.remove(word, Some(gone));
            let expected: Vec<HopId> = (0..4).rev().filter(|hop| *hop != gone).collect();
            assert_eq!(index.all(word).collect::<Vec<_>>(), expected);
            index.add(word, gone);
            assert_eq!(index.all(word).next(), Some(gone));
            for hop in 0..4 {
                index.remove(word, Some(hop));
            }
            assert_eq!(index.all(word).next(), None);
            assert_eq!(index.all(other).collect::<Vec<_>>(), [4]);
        }
    }
}
