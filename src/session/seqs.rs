//! The numbers seen in a session, as intervals: repeats, gaps, what is missing
//! (session-model.md 2.3).

use crate::record::Seq;

/// Intervals kept before the lowest two are joined (session-model.md 2.3.3).
const MAX_INTERVALS: usize = 4_096;

/// A set of sequence numbers.
#[derive(Clone, Debug, Default)]
pub(super) struct Seqs {
    /// Closed intervals, ascending, never touching.
    spans: Vec<(u64, u64)>,
    merged: bool,
}

impl Seqs {
    /// Adds a number; false when it was there.
    pub(super) fn insert(&mut self, seq: Seq) -> bool {
        self.insert_range(seq, seq)
    }

    /// Adds all numbers of a range; false when all were there.
    pub(super) fn insert_range(&mut self, from: Seq, to: Seq) -> bool {
        let (mut low, mut high) = (from.0, to.0.max(from.0));
        if let Some((_, end)) = self.spans.last_mut()
            && end.checked_add(1) == Some(low)
        {
            *end = high;
            return true;
        }
        // Everything that touches or overlaps the new range becomes one span.
        let begin = self
            .spans
            .partition_point(|(_, end)| end.saturating_add(1) < low);
        let after = self
            .spans
            .partition_point(|(start, _)| *start <= high.saturating_add(1));
        if let Some((start, end)) = self.spans.get(begin)
            && *start <= low
            && high <= *end
        {
            return false;
        }
        if let Some(touching) = self.spans.get(begin..after.max(begin))
            && let (Some((start, _)), Some((_, end))) = (touching.first(), touching.last())
        {
            low = low.min(*start);
            high = high.max(*end);
        }
        self.spans.splice(begin..after.max(begin), [(low, high)]);
        if self.spans.len() > MAX_INTERVALS {
            self.join_lowest();
        }
        true
    }

    /// Takes a range out.
    pub(super) fn remove_range(&mut self, from: Seq, to: Seq) {
        let mut kept = Vec::with_capacity(self.spans.len() + 1);
        for (start, end) in self.spans.drain(..) {
            if start < from.0 {
                kept.push((start, end.min(from.0 - 1)));
            }
            if end > to.0 {
                kept.push((start.max(to.0.saturating_add(1)), end));
            }
        }
        self.spans = kept;
    }

    fn join_lowest(&mut self) {
        let second = self.spans.remove(1);
        if let Some(first) = self.spans.first_mut() {
            first.1 = second.1;
        }
        self.merged = true;
    }

    /// True when numbers were given up because there were too many gaps.
    pub(super) fn is_approximate(&self) -> bool {
        self.merged
    }

    /// Numbers before the first, and between first and last, that are not there.
    pub(super) fn head_and_inner(&self) -> (u64, u64) {
        let (Some((first, _)), Some((_, last))) = (self.spans.first(), self.spans.last()) else {
            return (0, 0);
        };
        let all = last - first;
        let seen = self.spans.iter().fold(0_u64, |sum, (start, end)| {
            sum.saturating_add(end - start).saturating_add(1)
        });
        let inner = all.saturating_add(1).saturating_sub(seen);
        (first.saturating_sub(1), inner)
    }

    /// The unseen ranges from number 1 up to the last number seen.
    pub(super) fn holes(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let mut next = 1_u64;
        self.spans.iter().filter_map(move |(start, end)| {
            let hole = (next < *start).then(|| (next, start - 1));
            next = end.saturating_add(1);
            hole
        })
    }

    /// The highest unseen number below the last one seen; 0 without a gap.
    pub(super) fn last_hole(&self) -> u64 {
        self.spans
            .last()
            .map_or(0, |(start, _)| start.saturating_sub(1))
    }

    /// The highest unseen number below `seq`; 0 when all of them were seen.
    pub(super) fn hole_below(&self, seq: Seq) -> u64 {
        let before = seq.0.saturating_sub(1);
        let at = self.spans.partition_point(|(_, end)| *end < before);
        match self.spans.get(at) {
            Some((start, _)) if *start <= before => start.saturating_sub(1),
            _ => before,
        }
    }

    /// Cuts a closed range into stretches that are in the set and such that are not.
    pub(super) fn split(&self, from: u64, to: u64, sink: &mut dyn FnMut(u64, u64, bool)) {
        let mut next = from;
        let at = self.spans.partition_point(|(_, end)| *end < from);
        for (start, end) in self.spans.iter().skip(at) {
            if *start > to {
                break;
            }
            if next < *start {
                sink(next, start - 1, false);
            }
            sink(next.max(*start), to.min(*end), true);
            next = end.saturating_add(1);
        }
        if next <= to {
            sink(next, to, false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(numbers: &[u64]) -> Seqs {
        let mut seqs = Seqs::default();
        for number in numbers {
            seqs.insert(Seq(*number));
        }
        seqs
    }

    #[test]
    fn gaps_are_counted_as_the_table_of_2_3_says() {
        let cases: [(&[u64], u64, u64); 6] = [
            (&[1, 2, 5], 0, 2),
            (&[1, 2, 5, 4], 0, 1),
            (&[1, 2, 5, 4, 3, 3], 0, 0),
            (&[3, 4], 2, 0),
            (&[1, 2, 6], 0, 3),
            (&[2, 1, 4, 3], 0, 0),
        ];
        for (numbers, head, inner) in cases {
            assert_eq!(seen(numbers).head_and_inner(), (head, inner), "{numbers:?}");
        }
    }

    #[test]
    fn the_largest_number_neither_overflows_nor_hangs() {
        let mut seqs = seen(&[1, u64::MAX]);
        assert!(!seqs.insert(Seq(u64::MAX)));
        assert_eq!(seqs.head_and_inner(), (0, u64::MAX - 2));
        assert_eq!(seqs.holes().collect::<Vec<_>>(), [(2, u64::MAX - 1)]);
        assert!(seqs.insert(Seq(u64::MAX - 1)));
        assert_eq!(seqs.last_hole(), u64::MAX - 2);
    }

    #[test]
    fn too_many_gaps_join_the_lowest() {
        let numbers: Vec<u64> = (1..=(MAX_INTERVALS as u64 * 2)).map(|at| at * 2).collect();
        let seqs = seen(&numbers);
        assert_eq!(seqs.spans.len(), MAX_INTERVALS);
        assert!(seqs.is_approximate());
    }

    #[test]
    fn ranges_are_taken_out() {
        let mut seqs = Seqs::default();
        seqs.insert_range(Seq(2), Seq(9));
        seqs.remove_range(Seq(4), Seq(5));
        assert_eq!(seqs.spans, [(2, 3), (6, 9)]);
        let mut parts = Vec::new();
        seqs.split(1, 7, &mut |from, to, known| parts.push((from, to, known)));
        let expected = [(1, 1, false), (2, 3, true), (4, 5, false), (6, 7, true)];
        assert_eq!(parts, expected);
        seqs.remove_range(Seq(1), Seq(20));
        assert_eq!(seqs.spans, []);
    }

    proptest::proptest! {
        #[test]
        fn a_set_by_intervals_is_a_set(numbers in proptest::collection::vec(1_u64..40, 0..60)) {
            let seqs = seen(&numbers);
            let plain: std::collections::BTreeSet<u64> = numbers.iter().copied().collect();
            for number in 1..40 {
                proptest::prop_assert_eq!(seqs.spans.iter().any(|(from, to)| (*from..=*to).contains(&number)), plain.contains(&number));
            }
            let unseen: u64 = seqs.holes().map(|(from, to)| to - from + 1).sum();
            let (head, inner) = seqs.head_and_inner();
            proptest::prop_assert_eq!(unseen, head + inner);
            for number in 1..40 {
                let below = (1..number).rev().find(|number| !plain.contains(number));
                proptest::prop_assert_eq!(seqs.hole_below(Seq(number)), below.unwrap_or(0));
            }
            let last = plain.last().copied().unwrap_or(0);
            proptest::prop_assert_eq!(unseen, last - plain.len() as u64);
        }
    }
}
