//! When a lost host is tried again, as pure arithmetic (remote.md 9.5).

use std::time::Duration;

use crate::feed::{Backoff, jittered};

const FIRST: Duration = Duration::from_millis(500);
const MOST: Duration = Duration::from_secs(30);
/// A connection that held so long was good, and the pauses start over: it held longer than the
/// longest of them.
const GOOD: Duration = MOST;
/// After so long without a connection the host counts as lost.
const PATIENCE: Duration = Duration::from_mins(15);
/// Pause between tries of a lost host.
const RARE: Duration = Duration::from_mins(5);

/// What to do after a try failed or a connection was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// Try again after this pause; `attempt` counts the tries since the last connection.
    Try { attempt: u32, pause: Duration },
    /// As `Try`, but the host is called lost by now.
    Rarely { attempt: u32, pause: Duration },
    /// No more tries.
    GiveUp,
}

/// The tries of one host.
#[derive(Clone, Debug)]
pub(super) struct Schedule {
    backoff: Backoff,
    attempt: u32,
    most: Option<u32>,
    spent: Duration,
}

impl Schedule {
    /// Gives up after `most` failed tries in a row; `None`: never.
    pub(super) const fn new(most: Option<u32>) -> Self {
        Self {
            backoff: Backoff::new(FIRST, MOST),
            attempt: 0,
            most,
            spent: Duration::ZERO,
        }
    }

    /// A connection held for this long.
    pub(super) const fn connected(&mut self, held: Duration) {
        self.attempt = 0;
        self.spent = Duration::ZERO;
        if held.as_secs() >= GOOD.as_secs() {
            self.backoff.reset();
        }
    }

    /// The user asks for a try: whatever comes of it, the pauses start over.
    pub(super) const fn start_over(&mut self) {
        self.connected(GOOD);
    }

    /// The connection is lost or a try failed; `took` is how long that try lasted, `roll` a random
    /// number.
    pub(super) fn next(&mut self, took: Duration, roll: u16) -> Next {
        self.spent += took;
        if self.most.is_some_and(|most| self.attempt >= most) {
            return Next::GiveUp;
        }
        self.attempt += 1;
        let attempt = self.attempt;
        if self.spent >= PATIENCE {
            let pause = jittered(RARE, roll);
            self.spent += pause;
            return Next::Rarely { attempt, pause };
        }
        let pause = jittered(self.backoff.pause(), roll);
        self.spent += pause;
        Next::Try { attempt, pause }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A roll that changes nothing.
    const EVEN: u16 = 200;

    fn pauses(schedule: &mut Schedule, count: usize) -> Vec<u128> {
        (0..count)
            .map(|_| match schedule.next(Duration::ZERO, EVEN) {
                Next::Try { pause, .. } => pause.as_millis(),
                other => panic!("{other:?}"),
            })
            .collect()
    }

    #[test]
    fn doubles_up_to_half_a_minute() {
        let mut schedule = Schedule::new(None);
        assert_eq!(
            pauses(&mut schedule, 8),
            [500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]
        );
        // A connection that broke again at once does not start the pauses over.
        schedule.connected(Duration::from_secs(5));
        assert_eq!(pauses(&mut schedule, 1), [30_000]);
        schedule.connected(Duration::from_secs(54));
        assert_eq!(pauses(&mut schedule, 2), [500, 1_000]);
        schedule.start_over();
        assert_eq!(pauses(&mut schedule, 1), [500]);
    }

    #[test]
    fn is_lost_after_a_quarter_of_an_hour() {
        let mut schedule = Schedule::new(None);
        let mut waited = Duration::ZERO;
        loop {
            match schedule.next(Duration::from_secs(10), EVEN) {
                Next::Try { pause, .. } => waited += pause + Duration::from_secs(10),
                Next::Rarely { pause, .. } => {
                    assert_eq!(pause, RARE);
                    break;
                }
                Next::GiveUp => panic!("there is no limit"),
            }
            assert!(waited < Duration::from_mins(20));
        }
        assert!(waited >= Duration::from_mins(14), "{waited:?}");
    }

    #[test]
    fn gives_up_after_the_limit() {
        let tries = |most| {
            let mut schedule = Schedule::new(Some(most));
            let mut count = 0;
            while schedule.next(Duration::ZERO, EVEN) != Next::GiveUp {
                count += 1;
            }
            count
        };
        assert_eq!((tries(0), tries(1), tries(5)), (0, 1, 5));
        let mut schedule = Schedule::new(Some(1));
        assert_ne!(schedule.next(Duration::ZERO, EVEN), Next::GiveUp);
        schedule.connected(Duration::from_secs(1));
        assert_ne!(schedule.next(Duration::ZERO, EVEN), Next::GiveUp);
    }
}
