//! Frames for each second of the last 15 minutes, so that released rows still count
//! (session-model.md 20).

use std::collections::VecDeque;

use crate::base::Timestamp;

/// Seconds that are kept.
const KEPT: i64 = 900;

/// Counts by second, ascending.
#[derive(Clone, Debug, Default)]
pub(super) struct Activity {
    seconds: VecDeque<(i64, u32)>,
}

impl Activity {
    /// Counts a timeline frame.
    pub(super) fn count(&mut self, at: Timestamp) {
        let second = at.as_secs();
        let place = match self.seconds.back() {
            Some((last, _)) if *last > second => {
                self.seconds.partition_point(|(known, _)| *known < second)
            }
            Some((last, _)) if *last == second => self.seconds.len() - 1,
            _ => self.seconds.len(),
        };
        if let Some((known, count)) = self.seconds.get_mut(place)
            && *known == second
        {
            *count = count.saturating_add(1);
            return;
        }
        self.seconds.insert(place, (second, 1));
        let newest = self.seconds.back().map_or(second, |(last, _)| *last);
        while let Some((oldest, _)) = self.seconds.front()
            && *oldest < newest.saturating_sub(KEPT)
        {
            self.seconds.pop_front();
        }
    }

    /// `n` equal buckets over the `span` seconds up to `now`, oldest first.
    pub(super) fn buckets(&self, n: usize, span: u32, now: Timestamp) -> Vec<u64> {
        let mut buckets = vec![0_u64; n];
        let (now, span) = (now.as_secs(), i64::from(span.max(1)));
        let from = now.saturating_sub(span);
        let first = self.seconds.partition_point(|(second, _)| *second < from);
        for (second, count) in self.seconds.range(first..) {
            if *second > now {
                break;
            }
            let share = i128::from(second - from) * n as i128 / i128::from(span);
            let at = usize::try_from(share).unwrap_or(usize::MAX);
            if let Some(bucket) = buckets.get_mut(at.min(n.saturating_sub(1))) {
                *bucket += u64::from(*count);
            }
        }
        buckets
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_those_of_the_table_of_20() {
        let now = 1_800_000_000_i64;
        let mut activity = Activity::default();
        for second in [now, now - 60, now - 600, now] {
            activity.count(Timestamp::from_nanos(second * 1_000_000_000));
        }
        let now = Timestamp::from_nanos(now * 1_000_000_000);
        assert_eq!(activity.buckets(8, 120, now), [0, 0, 0, 0, 1, 0, 0, 2]);
        assert_eq!(activity.buckets(0, 120, now), [0_u64; 0]);
        assert_eq!(Activity::default().buckets(3, 0, now), [0, 0, 0]);
    }

    #[test]
    fn old_seconds_go() {
        let mut activity = Activity::default();
        for second in 0..5_000 {
            activity.count(Timestamp::from_nanos(second * 1_000_000_000));
        }
        assert!(activity.seconds.len() <= 901);
    }
}
