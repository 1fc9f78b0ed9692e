//! A set of sequence numbers as ranges: numbers come mostly in order, so it stays very short.

/// Most ranges that are kept; beyond it the two lowest become one (session-model.md 2.3.3).
const MOST: usize = 65_536;

/// A set of numbers from 1.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Ranges {
    /// First and last number of each, ascending, with at least one number between two of them.
    list: Vec<(u64, u64)>,
}

impl Ranges {
    /// The highest number; 0 when empty.
    pub(super) fn last(&self) -> u64 {
        self.list.last().map_or(0, |range| range.1)
    }

    /// True when the set holds `number`.
    pub(super) fn contains(&self, number: u64) -> bool {
        let below = self.list.partition_point(|range| range.1 < number);
        self.list.get(below).is_some_and(|range| range.0 <= number)
    }

    /// Adds a number that is not in it.
    pub(super) fn insert(&mut self, number: u64) {
        let at = self.list.partition_point(|range| range.1 < number);
        let joins_next = self
            .list
            .get(at)
            .is_some_and(|next| next.0 == number.saturating_add(1));
        let before = at.checked_sub(1).and_then(|at| self.list.get_mut(at));
        let joins_before = before.as_ref().is_some_and(|range| range.1 + 1 == number);
        match (joins_before, joins_next) {
            (true, true) => {
                let (_, last) = self.list.remove(at);
                if let Some(range) = self.list.get_mut(at - 1) {
                    range.1 = last;
                }
            }
            (true, false) => {
                if let Some(range) = before {
                    range.1 = number;
                }
            }
            (false, true) => {
                if let Some(range) = self.list.get_mut(at) {
                    range.0 = number;
                }
            }
            (false, false) => self.list.insert(at, (number, number)),
        }
        if self.list.len() > MOST {
            let (first, _) = self.list.remove(0);
            if let Some(range) = self.list.first_mut() {
                range.0 = first;
            }
        }
    }

    /// True when every number from `from` to the highest one is in it.
    pub(super) fn is_whole_from(&self, from: u64) -> bool {
        self.list
            .last()
            .is_none_or(|range| range.0 <= from.max(1) || range.1 < from)
    }

    /// The numbers within `from..=to` that are not in it, as ranges.
    pub(super) fn holes(&self, from: u64, to: u64) -> Vec<(u64, u64)> {
        let mut holes = Vec::new();
        let mut next = from.max(1);
        let at = self.list.partition_point(|range| range.1 < next);
        for (first, last) in self.list.iter().skip(at) {
            if *first > to {
                break;
            }
            if *first > next {
                holes.push((next, first - 1));
            }
            next = last.saturating_add(1);
        }
        if next <= to {
            holes.push((next, to));
        }
        holes
    }

    /// The first ranges, lowest first.
    pub(super) fn lowest(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.list.iter().copied()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn behaves_as_a_set(numbers in proptest::collection::vec(1_u64..60, 0..80), from in 1_u64..70) {
            let (mut ranges, mut set) = (Ranges::default(), BTreeSet::new());
            for number in numbers {
                prop_assert_eq!(ranges.contains(number), set.contains(&number));
                if set.insert(number) {
                    ranges.insert(number);
                }
            }
            let last = set.last().copied().unwrap_or(0);
            prop_assert_eq!(ranges.last(), last);
            let holes: Vec<u64> = ranges.holes(from, 65).into_iter().flat_map(|(a, b)| a..=b).collect();
            let missing: Vec<u64> = (from..=65).filter(|number| !set.contains(number)).collect();
            prop_assert_eq!(holes, missing);
            let whole = (from..=last).all(|number| set.contains(&number));
            prop_assert_eq!(ranges.is_whole_from(from), whole);
            let spread: Vec<u64> = ranges.lowest().flat_map(|(a, b)| a..=b).collect();
            prop_assert_eq!(spread, set.into_iter().collect::<Vec<_>>());
        }
    }

    #[test]
    fn too_many_ranges_join_at_the_low_end() {
        let mut ranges = Ranges::default();
        for number in 0..=MOST as u64 {
            ranges.insert(number * 2 + 1);
        }
        assert_eq!(ranges.lowest().count(), MOST);
        assert!(ranges.contains(2) && !ranges.contains(4));
        assert_eq!(ranges.last(), MOST as u64 * 2 + 1);
    }
}
