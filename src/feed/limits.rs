//! What a merge may hold, for how long, and how often it looks at a log before it calls a number
//! lost (log-format 10.3, remote.md 9.4).

use std::time::Duration;

/// When a log is looked at while something is missing, counted from when that was noticed.
#[derive(Clone, Copy, Debug)]
pub enum Looks {
    /// At these moments.
    At(&'static [Duration]),
    /// At once, and once more when the hold is over.
    AtOnceAndAfterHold,
}

/// What happens when more is held than may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overflow {
    /// Held frames are delivered; while a log is being read the owner stops taking more of the
    /// session (`Merge::is_full`).
    Deliver,
    /// The largest session's held live frames are dropped and it goes on from its log alone.
    DropLargest,
}

/// What the merge may hold and how long.
#[derive(Clone, Copy, Debug)]
pub struct MergeLimits {
    /// Longest hold of a frame that does not continue its session.
    pub hold: Duration,
    /// Frames held for one session.
    pub frames_per_session: usize,
    /// Bytes held for one session.
    pub bytes_per_session: usize,
    /// Bytes held in all.
    pub bytes_in_all: usize,
    /// Sessions with full state; of the others only the marks are kept.
    pub sessions: usize,
    /// When the log is looked at.
    pub looks: Looks,
    /// What happens at these limits.
    pub overflow: Overflow,
}

/// Moments of log-format 10.3.3.
const HUB_LOOKS: &[Duration] = &[
    Duration::ZERO,
    Duration::from_millis(50),
    Duration::from_millis(200),
    Duration::from_millis(500),
    Duration::from_secs(1),
];

impl MergeLimits {
    /// Limits of the local hub (log-format 13).
    pub const fn hub() -> Self {
        Self {
            hold: Duration::from_millis(250),
            frames_per_session: 1_024,
            bytes_per_session: 8 << 20,
            // Connections that find this full are not read until a log has been.
            bytes_in_all: 64 << 20,
            sessions: 1_000,
            looks: Looks::At(HUB_LOOKS),
            overflow: Overflow::Deliver,
        }
    }

    /// Limits of a remote host whose round trip is known (remote.md 9.4).
    pub fn remote(round_trip: Duration) -> Self {
        Self {
            hold: Duration::from_secs(1) + round_trip * 2,
            frames_per_session: 4_096,
            bytes_per_session: 8 << 20,
            bytes_in_all: 16 << 20,
            sessions: 1_000,
            looks: Looks::AtOnceAndAfterHold,
            overflow: Overflow::DropLargest,
        }
    }

    /// When look number `index` is due after something was found missing; `None` after the last.
    pub(super) fn look(&self, index: usize) -> Option<Duration> {
        match self.looks {
            Looks::At(moments) => moments.get(index).copied(),
            Looks::AtOnceAndAfterHold => [Duration::ZERO, self.hold].get(index).copied(),
        }
    }
}
