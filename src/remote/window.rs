//! How many bytes of SFTP reads are outstanding on one connection (remote.md 9.2.4).

use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use tokio::sync::Notify;

/// Bytes outstanding at least.
const FLOOR: u64 = 256 << 10;
/// Bytes outstanding at the start: what the ssh program lets a server send ahead, too.
const START: u64 = 2 << 20;
/// Bytes outstanding at most: the receive window of a channel.
const CEILING: u64 = 16 << 20;
/// How long what arrived counts as what the link moves.
const MEMORY: Duration = Duration::from_secs(2);
/// Grain of that memory.
const GRAIN: Duration = Duration::from_millis(50);
/// Windows in a row without a gain before growing stops.
const PATIENCE: u32 = 3;
/// Windows after which growing is tried again.
const SECOND_TRY: u32 = 64;
/// How many times what is under way at once (the best rate times the shortest wait) may be
/// outstanding: while the rate grows, and then.
const GROWING: u128 = 4;
const GROWN: u128 = 2;

/// The rule as pure arithmetic: it doubles with every window that arrives while the throughput
/// grows, never goes above what the link moved in the last two seconds (as long as there are no two
/// seconds yet, the start counts as moved), and beyond the start holds no more than the link has
/// under way. What is asked for beyond that waits in the server, whose buffers copy themselves as
/// they grow: 16 MiB on a short link made OpenSSH ten times slower.
#[derive(Debug)]
pub(super) struct Growth {
    limit: u64,
    recent: VecDeque<(Duration, u64)>,
    moved: u64,
    /// When reading began without anything remembered.
    began: Option<Duration>,
    lap_start: Duration,
    lap_bytes: u64,
    /// A lap is one window as it was when the lap began: what arrives in bursts then takes a round
    /// trip, too.
    lap_target: u64,
    best_rate: u64,
    flat_laps: u32,
    /// Shortest time from a request to its answer.
    least_wait: Duration,
}

impl Growth {
    pub(super) const fn new() -> Self {
        Self {
            limit: START,
            recent: VecDeque::new(),
            moved: 0,
            began: None,
            lap_start: Duration::ZERO,
            lap_bytes: 0,
            lap_target: START,
            best_rate: 0,
            flat_laps: 0,
            least_wait: Duration::MAX,
        }
    }

    /// Bytes that may be outstanding.
    pub(super) const fn limit(&self) -> u64 {
        self.limit
    }

    /// Reading begins after a pause: the pause is no measure of the link.
    pub(super) fn begin(&mut self, now: Duration) {
        self.forget(now);
        if self.recent.is_empty() {
            self.began = Some(now);
            self.limit = self.limit.max(START);
            self.least_wait = Duration::MAX;
        }
        self.lap_start = now;
        self.lap_bytes = 0;
        self.lap_target = self.limit;
    }

    /// `bytes` arrived at `now`, counted from any fixed moment, `waited` after they were asked for.
    pub(super) fn arrived(&mut self, bytes: u64, waited: Duration, now: Duration) {
        self.remember(bytes, now);
        self.least_wait = self.least_wait.min(waited);
        self.lap_bytes += bytes;
        if self.flat_laps < PATIENCE {
            self.limit += bytes;
        }
        if self.lap_bytes >= self.lap_target {
            self.finish_lap(now);
        }
        self.limit = self
            .limit
            .min(self.under_way().max(START))
            .min(self.moved + self.trust(now))
            .clamp(FLOOR, CEILING);
    }

    /// What the link holds at once, with a margin; everything before the first lap.
    fn under_way(&self) -> u64 {
        if self.best_rate == 0 {
            return u64::MAX;
        }
        let margin = if self.flat_laps < PATIENCE {
            GROWING
        } else {
            GROWN
        };
        let bytes = u128::from(self.best_rate) * self.least_wait.as_micros() / 1_000_000;
        u64::try_from(bytes * margin).unwrap_or(u64::MAX)
    }

    fn finish_lap(&mut self, now: Duration) {
        let micros = now.saturating_sub(self.lap_start).as_micros().max(1);
        let rate = u128::from(self.lap_bytes) * 1_000_000 / micros;
        let rate = u64::try_from(rate).unwrap_or(u64::MAX);
        if rate > self.best_rate.saturating_add(self.best_rate / 16) {
            self.best_rate = rate;
            self.flat_laps = 0;
        } else {
            self.flat_laps += 1;
            if self.flat_laps >= SECOND_TRY {
                self.flat_laps = 0;
                self.best_rate = rate;
            }
        }
        self.lap_start = now;
        self.lap_bytes = 0;
        self.lap_target = self.limit;
    }

    fn remember(&mut self, bytes: u64, now: Duration) {
        self.moved += bytes;
        match self.recent.back_mut() {
            Some((at, sum)) if now.saturating_sub(*at) < GRAIN => *sum += bytes,
            _ => self.recent.push_back((now, bytes)),
        }
        self.forget(now);
    }

    /// What counts as moved besides what was.
    fn trust(&self, now: Duration) -> u64 {
        let began = self.began.unwrap_or_default();
        if now.saturating_sub(began) < MEMORY {
            START
        } else {
            0
        }
    }

    fn forget(&mut self, now: Duration) {
        while let Some((at, sum)) = self.recent.front()
            && now.saturating_sub(*at) > MEMORY
        {
            self.moved -= *sum;
            self.recent.pop_front();
        }
    }
}

/// The budget that all readers of one connection share.
#[derive(Debug)]
pub(super) struct Window {
    state: Mutex<State>,
    room: Notify,
    started: Instant,
}

#[derive(Debug)]
struct State {
    growth: Growth,
    outstanding: u64,
}

impl Window {
    pub(super) fn new() -> Self {
        Self {
            state: Mutex::new(State {
                growth: Growth::new(),
                outstanding: 0,
            }),
            room: Notify::new(),
            started: Instant::now(),
        }
    }

    /// Takes room for a request of `bytes`; false when there is none.
    pub(super) fn try_take(&self, bytes: u64) -> bool {
        let mut state = self.lock();
        if state.outstanding > 0 && state.outstanding + bytes > state.growth.limit() {
            return false;
        }
        if state.outstanding == 0 {
            state.growth.begin(self.started.elapsed());
        }
        state.outstanding += bytes;
        true
    }

    /// Waits for room, for a reader that has nothing outstanding.
    pub(super) async fn take(&self, bytes: u64) {
        loop {
            let room = self.room.notified();
            if self.try_take(bytes) {
                return;
            }
            room.await;
        }
    }

    /// Takes room whatever the limit.
    pub(super) fn force(&self, bytes: u64) {
        self.lock().outstanding += bytes;
    }

    /// A request of `asked` bytes was answered with `arrived` bytes after a wait.
    pub(super) fn answered(&self, asked: u64, arrived: u64, waited: Duration) {
        let now = self.started.elapsed();
        self.lock().growth.arrived(arrived, waited, now);
        self.give_back(asked);
    }

    /// A request of `asked` bytes was answered, or given up.
    pub(super) fn give_back(&self, asked: u64) {
        let mut state = self.lock();
        state.outstanding = state.outstanding.saturating_sub(asked);
        drop(state);
        self.room.notify_waiters();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Plays a link of `rate` bytes a second with a round trip of `trip` for `seconds`, and answers
    /// the largest and the last limit.
    fn play(rate: u64, trip: Duration, seconds: u64) -> (u64, u64) {
        let mut growth = Growth::new();
        let mut now = Duration::ZERO;
        let (mut most, mut is_empty) = (0, true);
        while now < Duration::from_secs(seconds) {
            let window = growth.limit();
            let wire = Duration::from_micros(window.saturating_mul(1_000_000) / rate);
            let lap = wire.max(trip);
            let piece = 64 << 10;
            let pieces = window.div_ceil(piece);
            for _ in 0..pieces {
                now += lap / u32::try_from(pieces).unwrap();
                let alone = Duration::from_micros(piece * 1_000_000 / rate);
                // Only the first request of all finds the link empty.
                let waited = trip + if is_empty { alone } else { lap };
                is_empty = false;
                growth.arrived(piece, waited, now);
            }
            most = most.max(growth.limit());
        }
        (most, growth.limit())
    }

    #[test]
    fn fills_a_long_fat_link_and_leaves_a_slow_one_alone() {
        let trip = Duration::from_millis(100);
        let (_, last) = play(125_000_000, trip, 4);
        assert!(last >= 12 << 20, "a gigabit at 100 ms needs 12 MiB: {last}");
        let (most, last) = play(2_500_000, trip, 20);
        assert!(
            most <= 5_100_000 + START,
            "two seconds of 20 Mbit/s and the start: {most}"
        );
        assert!(last <= 5_100_000, "two seconds of 20 Mbit/s: {last}");
        assert!(most >= FLOOR);
    }

    #[test]
    fn a_short_link_does_not_fill_the_server() {
        for (rate, trip) in [(400_000_000, 0), (125_000_000, 1), (60_000_000, 2)] {
            let (_, last) = play(rate, Duration::from_millis(trip), 4);
            assert!(last <= START, "{rate} {trip} {last}");
        }
    }

    #[test]
    fn one_fast_moment_does_not_keep_the_window_small() {
        let trip = Duration::from_millis(100);
        let mut growth = Growth::new();
        let mut now = trip;
        // Some 650 MB/s at first, then 120 MB/s: flat ever after by the best rate.
        for _ in 0..32 {
            now += Duration::from_micros(100);
            growth.arrived(64 << 10, trip, now);
        }
        for _ in 0..2_000 {
            now += Duration::from_micros(500);
            growth.arrived(64 << 10, trip, now);
        }
        assert!(growth.limit() >= 12 << 20, "{}", growth.limit());
    }

    #[test]
    fn never_leaves_its_bounds() {
        for rate in [1_000, 100_000, 10_000_000, 5_000_000_000] {
            for trip in [0, 1, 50, 1_000] {
                let (most, last) = play(rate, Duration::from_millis(trip), 3);
                assert!((FLOOR..=CEILING).contains(&most), "{rate} {trip} {most}");
                assert!((FLOOR..=CEILING).contains(&last), "{rate} {trip} {last}");
            }
        }
    }

    #[test]
    fn one_request_larger_than_the_window_passes_alone() {
        let window = Window::new();
        assert!(window.try_take(START * 4));
        assert!(!window.try_take(1));
        window.give_back(START * 4);
        assert!(window.try_take(1));
    }
}
