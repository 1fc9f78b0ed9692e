//! The keys of `inputRequests` and `inputResponses` as they are compared: by hash, order and repeats
//! do not count (session-model.md 11.2, 11.3).

use smallvec::SmallVec;

/// Keys that are held one by one; larger sets are compared as a whole only.
const MAX_LISTED: usize = 64;

/// A set of keys, not empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct KeySet {
    /// Sum of the hashes.
    pub(super) sum: u64,
    /// The hashes in order; empty above the bound.
    listed: SmallVec<[u64; 1]>,
}

impl KeySet {
    /// The set of these hashes of names; `None` when there are none.
    pub(super) fn new(mut hashes: Vec<u64>) -> Option<Self> {
        hashes.sort_unstable();
        hashes.dedup();
        if hashes.is_empty() {
            return None;
        }
        let sum = hashes
            .iter()
            .fold(0_u64, |sum, hash| sum.wrapping_add(*hash));
        if hashes.len() > MAX_LISTED {
            hashes.clear();
        }
        Some(Self {
            sum,
            listed: SmallVec::from_vec(hashes),
        })
    }

    /// True when all of these keys are among the others and some others are not among these; never
    /// for sets that are not held one by one.
    pub(super) fn is_part_of(&self, whole: &Self) -> bool {
        !self.listed.is_empty()
            && self.listed.len() < whole.listed.len()
            && self
                .listed
                .iter()
                .all(|hash| whole.listed.binary_search(hash).is_ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(hashes: &[u64]) -> KeySet {
        KeySet::new(hashes.to_vec()).unwrap()
    }

    #[test]
    fn order_and_repeats_do_not_count() {
        assert_eq!(set(&[1, 2]), set(&[2, 1, 2]));
        assert_ne!(set(&[1, 2]), set(&[1]));
        assert_eq!(KeySet::new(Vec::new()), None);
    }

    #[test]
    fn a_part_is_proper_and_small() {
        let many: Vec<u64> = (0..100_000).collect();
        let cases = [
            (set(&[1]), set(&[1, 2]), true),
            (set(&[1, 2]), set(&[1, 2]), false),
            (set(&[3]), set(&[1, 2]), false),
            (set(&[1, 2]), set(&[1]), false),
            (set(&[1]), set(&many), false),
            (set(&many), set(&[1]), false),
        ];
        for (part, whole, expected) in cases {
            assert_eq!(part.is_part_of(&whole), expected, "{part:?} {whole:?}");
        }
        assert_ne!(set(&many), set(&many[..99_999]));
    }
}
