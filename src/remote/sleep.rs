//! Noticing that this machine slept (remote.md 9.5.1). The monotonic clock stands still meanwhile, so
//! the wall clock is looked at too. Pure but for `rest`: readings come in as arguments.

use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use crate::base::ClockReading;

/// A pause between two looks above which everything may have changed meanwhile.
const SLEPT: Duration = Duration::from_secs(30);
/// Pause between two looks while nothing else happens.
const LOOK: Duration = Duration::from_secs(1);

/// Looks at both clocks every few seconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Vigil {
    last: ClockReading,
}

impl Vigil {
    /// Begins now.
    pub(super) const fn new(now: ClockReading) -> Self {
        Self { last: now }
    }

    /// True when more than half a minute went by since the last look, on either clock: the machine
    /// slept, this process was stopped, or the wall clock was set, which costs one needless test.
    pub(super) fn has_slept(&mut self, now: ClockReading) -> bool {
        let steady = now.steady.saturating_duration_since(self.last.steady);
        let wall = now.wall.nanos_since(self.last.wall);
        let wall = Duration::from_nanos(u64::try_from(wall).unwrap_or(0));
        self.last = now;
        steady.max(wall) > SLEPT
    }
}

/// Waits until a moment, or until the machine has slept on the way: a network that was not there
/// before may be there after it. Without a moment it never ends.
pub(super) async fn rest(until: Option<Instant>, read: impl Fn() -> ClockReading) {
    rest_looking(until, LOOK, read).await;
}

async fn rest_looking(until: Option<Instant>, pause: Duration, read: impl Fn() -> ClockReading) {
    let Some(until) = until else {
        return std::future::pending().await;
    };
    let mut vigil = Vigil::new(read());
    while Instant::now() < until {
        sleep_until(until.min(Instant::now() + pause)).await;
        if vigil.has_slept(read()) {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use futures_util::FutureExt as _;

    use super::*;
    use crate::base::Timestamp;

    /// Readings of clocks that the test sets.
    struct Clocks {
        begun: std::time::Instant,
        steady: Cell<Duration>,
        wall: Cell<i64>,
    }

    impl Clocks {
        fn new() -> Self {
            Self {
                begun: std::time::Instant::now(),
                steady: Cell::default(),
                wall: Cell::new(1_000),
            }
        }

        fn go(&self, steady: u64, wall: i64) -> ClockReading {
            self.steady
                .set(self.steady.get() + Duration::from_secs(steady));
            self.wall.set(self.wall.get() + wall);
            ClockReading {
                steady: self.begun + self.steady.get(),
                wall: Timestamp::from_nanos(self.wall.get() * 1_000_000_000),
            }
        }
    }

    #[test]
    fn sleep_shows_on_either_clock() {
        let cases = [
            ("nothing happened", 2, 2, false),
            ("just not enough", 30, 30, false),
            ("the machine slept", 2, 3_600, true),
            ("the process was stopped", 31, 31, true),
            ("the wall clock went back", 2, -3_600, false),
            (
                "the wall clock went back while the process stood",
                31,
                -5,
                true,
            ),
        ];
        for (name, steady, wall, slept) in cases {
            let clocks = Clocks::new();
            let mut vigil = Vigil::new(clocks.go(0, 0));
            assert_eq!(vigil.has_slept(clocks.go(steady, wall)), slept, "{name}");
            assert!(!vigil.has_slept(clocks.go(2, 2)), "{name}: told once");
        }
    }

    #[tokio::test]
    async fn a_rest_ends_when_the_machine_wakes() {
        let clocks = Clocks::new();
        let looks = Cell::new(0);
        let read = || {
            looks.set(looks.get() + 1);
            // It sleeps for an hour between the third and the fourth look.
            clocks.go(1, if looks.get() == 4 { 3_600 } else { 1 })
        };
        let hour = Instant::now() + Duration::from_hours(1);
        rest_looking(Some(hour), Duration::from_millis(1), read).await;
        assert_eq!(looks.get(), 4);
        let soon = Instant::now() + Duration::from_millis(20);
        let awake = || clocks.go(0, 0);
        rest_looking(Some(soon), Duration::from_millis(1), awake).await;
        assert!(Instant::now() >= soon);
        assert_eq!(rest(None, awake).now_or_never(), None);
    }
}
