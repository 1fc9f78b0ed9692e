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
/// Of that memory, the part that may always be outstanding: a quarter of a second, so that one fast
/// moment on a busy machine does not keep the window small.
const QUARTER: u64 = 8;
/// Windows in a row without a gain before growing stops.
const PATIENCE: u32 = 3;
/// Windows after which growing is tried again.
const SECOND_TRY: u32 = 64;

/// The rule as pure arithmetic: it doubles with every window that arrives while the throughput
/// grows, and never goes above what the link moved in the last two seconds; as long as there are no
/// two seconds yet, the start counts as moved.
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
        }
        self.lap_start = now;
        self.lap_bytes = 0;
        self.lap_target = self.limit;
    }

    /// `bytes` arrived at `now`, counted from any fixed moment.
    pub(super) fn arrived(&mut self, bytes: u64, now: Duration) {
        self.remember(bytes, now);
        self.lap_bytes += bytes;
        if self.flat_laps < PATIENCE {
            self.limit += bytes;
        }
        if self.lap_bytes >= self.lap_target {
            self.finish_lap(now);
        }
        self.limit = self
            .limit
            .max(self.moved / QUARTER)
            .min(self.moved + self.trust(now))
            .clamp(FLOOR, CEILING);
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

    /// A request of `asked` bytes was answered with `arrived` bytes, or given up with none.
    pub(super) fn give_back(&self, asked: u64, arrived: u64) {
        let mut state = self.lock();
        state.outstanding = state.outstanding.saturating_sub(asked);
        if arrived > 0 {
            state.growth.arrived(arrived, self.started.elapsed());
        }
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
        let mut most = 0;
        while now < Duration::from_secs(seconds) {
            let window = growth.limit();
            let wire = Duration::from_micros(window.saturating_mul(1_000_000) / rate);
            let lap = wire.max(trip);
            let piece = 64 << 10;
            let pieces = window.div_ceil(piece);
            for _ in 0..pieces {
                now += lap / u32::try_from(pieces).unwrap();
                growth.arrived(piece, now);
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
    fn one_fast_moment_does_not_keep_the_window_small() {
        let mut growth = Growth::new();
        let mut now = Duration::ZERO;
        // Some 650 MB/s at first, then 60 MB/s: flat ever after by the best rate.
        for _ in 0..32 {
            now += Duration::from_micros(100);
            growth.arrived(64 << 10, now);
        }
        for _ in 0..2_000 {
            now += Duration::from_millis(1);
            growth.arrived(64 << 10, now);
        }
        assert!(growth.limit() >= 14 << 20, "{}", growth.limit());
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
        window.give_back(START * 4, 0);
        assert!(window.try_take(1));
    }
}
