//! Durations and percentiles (session-model.md 17): nearest rank, exact up to 100,000 samples.

/// Samples that are kept one by one.
const EXACT: u64 = 100_000;
/// New samples that wait unsorted at least; more where many are sorted already.
const TAIL: usize = 256;
/// Buckets for each doubling beyond the exact samples: a relative error below 1 %.
const STEPS: u32 = 128;

/// Samples of one tool or of a whole session, in nanoseconds.
#[derive(Clone, Debug, Default)]
pub struct Durations {
    len: u64,
    /// All but the newest, ascending; empty once there is a histogram.
    sorted: Vec<u64>,
    /// The newest, as they came: sorted in when there are many, so that a sample costs a few moves.
    tail: Vec<u64>,
    /// Count by bucket; empty while samples are exact.
    histogram: Vec<u64>,
}

impl Durations {
    /// Number of samples.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// True without samples.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// False once percentiles are rounded by up to 1 %.
    pub fn is_exact(&self) -> bool {
        self.histogram.is_empty()
    }

    /// The nearest-rank percentile, 1 to 100, in nanoseconds; 0 without samples.
    pub fn percentile(&self, percent: u32) -> u64 {
        let rank = u128::from(percent.clamp(1, 100)) * u128::from(self.len);
        let at = u64::try_from(rank.div_ceil(100)).unwrap_or(u64::MAX);
        if at == 0 {
            return 0;
        }
        if self.is_exact() {
            self.exact(usize::try_from(at - 1).unwrap_or(usize::MAX))
        } else {
            self.rounded(at)
        }
    }

    /// The sample at a position of both lists together.
    fn exact(&self, at: usize) -> u64 {
        let mut tail = self.tail.clone();
        tail.sort_unstable();
        // How many of the tail are among the first `at` samples: the first number for which the
        // sorted ones that fill the rest are not above the next of the tail.
        let (mut low, mut high) = (at.saturating_sub(self.sorted.len()), at.min(tail.len()));
        while low < high {
            let of_tail = usize::midpoint(low, high);
            let last_sorted = (at - of_tail).checked_sub(1);
            let last_sorted = last_sorted.and_then(|last| self.sorted.get(last));
            if last_sorted.is_some_and(|last| tail.get(of_tail).is_some_and(|next| next < last)) {
                low = of_tail + 1;
            } else {
                high = of_tail;
            }
        }
        let candidates = [tail.get(low), self.sorted.get(at - low)];
        candidates.into_iter().flatten().min().copied().unwrap_or(0)
    }

    fn rounded(&self, at: u64) -> u64 {
        let mut seen = 0;
        for (bucket, count) in self.histogram.iter().enumerate() {
            seen += count;
            if seen >= at {
                return middle_of(bucket);
            }
        }
        0
    }

    /// Adds a sample.
    pub(super) fn add(&mut self, nanos: u64) {
        self.len += 1;
        if self.is_exact() && self.len <= EXACT {
            self.tail.push(nanos);
            if self.tail.len() >= TAIL.max(self.sorted.len() / 8) {
                self.sort_in();
            }
            return;
        }
        let exact = [&mut self.sorted, &mut self.tail].map(std::mem::take);
        for sample in exact.into_iter().flatten() {
            self.count(sample);
        }
        self.count(nanos);
    }

    /// Merges the tail into the sorted samples, from the end, so that nothing is moved twice.
    fn sort_in(&mut self) {
        self.tail.sort_unstable();
        let mut from = self.sorted.len();
        // By an eighth or more each time: doubling would waste half.
        self.sorted.reserve_exact(self.tail.len());
        self.sorted.resize(from + self.tail.len(), 0);
        let mut to = self.sorted.len();
        while let Some(newest) = self.tail.last().copied() {
            to -= 1;
            let largest = from
                .checked_sub(1)
                .and_then(|at| self.sorted.get(at))
                .copied();
            let next = if let Some(largest) = largest.filter(|largest| *largest > newest) {
                from -= 1;
                largest
            } else {
                self.tail.pop();
                newest
            };
            if let Some(place) = self.sorted.get_mut(to) {
                *place = next;
            }
        }
    }

    fn count(&mut self, nanos: u64) {
        let bucket = bucket_of(nanos);
        if self.histogram.len() <= bucket {
            self.histogram.resize(bucket + 1, 0);
        }
        if let Some(count) = self.histogram.get_mut(bucket) {
            *count += 1;
        }
    }
}

/// Small values have a bucket each, larger ones 128 for each doubling.
fn bucket_of(value: u64) -> usize {
    let steps = u64::from(STEPS);
    if value < steps {
        return usize::try_from(value).unwrap_or(0);
    }
    let shift = value.ilog2() - STEPS.ilog2();
    let bucket = u64::from(shift) * steps + (value >> shift);
    usize::try_from(bucket).unwrap_or(0)
}

/// The value in the middle of a bucket.
fn middle_of(bucket: usize) -> u64 {
    let (bucket, steps) = (bucket as u64, u64::from(STEPS));
    if bucket < 2 * steps {
        return bucket;
    }
    let shift = bucket / steps - 1;
    let low = (bucket - shift * steps) << shift;
    low + (1 << shift) / 2
}

/// Figures of one tool (session-model.md 17).
#[derive(Clone, Debug, Default)]
pub struct ToolStats {
    /// Tool calls, whatever their state.
    pub calls: u64,
    /// Errored calls by anything but `isError`.
    pub protocol_errors: u64,
    /// Calls whose result had `isError`.
    pub tool_errors: u64,
    /// Open calls.
    pub pending: u64,
    /// Cancelled calls, late ones included.
    pub cancelled: u64,
    /// Superseded calls.
    pub superseded: u64,
    /// Largest number of hops.
    pub max_round_trips: u32,
    /// Whole durations.
    pub durations: Durations,
    /// The server's share, once it differs from the whole.
    server: Option<Box<Durations>>,
    /// Bytes of final results.
    pub result_bytes: u64,
    /// Largest of them.
    pub max_result_bytes: u64,
    /// Results whose frame was truncated or redacted.
    pub(super) approximate_results: u64,
}

impl ToolStats {
    /// Bytes of a result are a floor or an estimate: its frame was truncated or redacted.
    pub fn bytes_approximate(&self) -> bool {
        self.approximate_results > 0
    }

    /// The server's share of the durations.
    pub fn server(&self) -> &Durations {
        self.server.as_deref().unwrap_or(&self.durations)
    }

    /// Adds a duration and the server's share of it, in nanoseconds.
    pub(super) fn measure(&mut self, whole: u64, server: u64) {
        if self.server.is_none() && server != whole {
            self.server = Some(Box::new(self.durations.clone()));
        }
        if let Some(shares) = &mut self.server {
            shares.add(server);
        }
        self.durations.add(whole);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(samples: impl IntoIterator<Item = u64>) -> Durations {
        let mut durations = Durations::default();
        for sample in samples {
            durations.add(sample);
        }
        durations
    }

    #[test]
    fn percentiles_are_those_of_the_table_of_17() {
        let cases: [(&[u64], [u64; 3]); 3] = [
            (&[40, 10, 100, 20, 30], [30, 100, 100]),
            (&[25], [25, 25, 25]),
            (&[], [0, 0, 0]),
        ];
        for (samples, expected) in cases {
            let durations = of(samples.iter().copied());
            assert_eq!([50, 95, 99].map(|at| durations.percentile(at)), expected);
        }
    }

    #[test]
    fn shares_of_the_server_are_kept_apart_once_they_differ() {
        let mut tool = ToolStats::default();
        for (whole, server) in [(10, 10), (20, 20), (100, 5), (30, 30)] {
            tool.measure(whole, server);
        }
        assert_eq!(tool.server().len(), 4);
        assert_eq!(
            [25, 50, 75, 100].map(|at| tool.server().percentile(at)),
            [5, 10, 20, 30]
        );
        assert_eq!(
            [25, 50, 75, 100].map(|at| tool.durations.percentile(at)),
            [10, 20, 30, 100]
        );
    }

    #[test]
    fn beyond_the_exact_samples_the_error_stays_below_one_percent() {
        let count = 250_000_u64;
        let durations = of((0..count).map(|at| (at * 7_919) % count * 1_000));
        assert!(!durations.is_exact());
        assert_eq!(durations.len(), count);
        for percent in [1, 50, 95, 99, 100] {
            let exact = (u64::from(percent) * count).div_ceil(100).saturating_sub(1) * 1_000;
            let found = durations.percentile(percent);
            assert!(
                exact.abs_diff(found) * 100 <= exact,
                "p{percent}: {found}, exactly {exact}"
            );
        }
    }

    #[test]
    fn buckets_hold_their_own_middle() {
        for value in [0, 127, 128, 129, 255, 256, 1_000, 1 << 40, u64::MAX] {
            let bucket = bucket_of(value);
            assert_eq!(bucket_of(middle_of(bucket)), bucket, "{value}");
        }
    }

    proptest::proptest! {
        #[test]
        fn exact_percentiles_equal_a_sort(
            samples in proptest::collection::vec(0_u64..1_000, 1..2_000),
            percent in 1_u32..=100,
        ) {
            let durations = of(samples.iter().copied());
            let mut sorted = samples;
            sorted.sort_unstable();
            let at = (percent as usize * sorted.len()).div_ceil(100) - 1;
            proptest::prop_assert_eq!(Some(&durations.percentile(percent)), sorted.get(at));
        }
    }
}
