//! Pauses between tries, as pure arithmetic.

use std::time::Duration;

/// A doubling pause with a ceiling: `first`, twice that, and so on up to `most`.
#[derive(Clone, Debug)]
pub struct Backoff {
    first: Duration,
    most: Duration,
    next: Duration,
}

impl Backoff {
    /// Starts at `first`; never above `most`.
    pub const fn new(first: Duration, most: Duration) -> Self {
        Self {
            first,
            most,
            next: first,
        }
    }

    /// The pause before the coming try.
    pub fn pause(&mut self) -> Duration {
        let pause = self.next;
        self.next = (pause * 2).min(self.most);
        pause
    }

    /// A try succeeded: start over.
    pub const fn reset(&mut self) {
        self.next = self.first;
    }
}

/// `pause` changed by up to a fifth either way; `roll` is a random number (remote.md 9.5.2).
pub fn jittered(pause: Duration, roll: u16) -> Duration {
    let per_mille = 800 + u32::from(roll) % 401;
    pause * per_mille / 1_000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_ceiling_and_start_over() {
        let mut backoff = Backoff::new(Duration::from_millis(200), Duration::from_secs(2));
        let pauses: Vec<_> = (0..6).map(|_| backoff.pause().as_millis()).collect();
        assert_eq!(pauses, [200, 400, 800, 1_600, 2_000, 2_000]);
        backoff.reset();
        assert_eq!(backoff.pause().as_millis(), 200);
    }

    #[test]
    fn jitter_stays_within_a_fifth() {
        let pause = Duration::from_secs(10);
        for roll in 0..=u16::MAX {
            let changed = jittered(pause, roll);
            assert!(
                (8_000..=12_000).contains(&changed.as_millis()),
                "{changed:?}"
            );
        }
    }
}
