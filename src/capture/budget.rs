//! How much the observer may hold: what was handed over and is not yet in the log (capture.md 4.3).

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Kept free for start and control records, and for the last slice of each pipe.
const RESERVE: usize = 1 << 20;
/// What a queued slice costs beside its bytes: its place in the queue.
pub(super) const SLICE_COST: usize = 64;

/// Bytes held, by where they are. All methods are lock-free: the forwarding path calls them.
#[derive(Debug)]
pub(super) struct Budget {
    limit: usize,
    queued: AtomicUsize,
    assembling: AtomicUsize,
    encoded: AtomicUsize,
}

/// Where the bytes are held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// Slices that the recorder has not taken yet.
    Queued,
    /// Lines whose end has not been seen.
    Assembling,
    /// Batches that the log has not taken yet.
    Encoded,
}

impl Budget {
    /// A budget of `limit` bytes.
    pub(super) const fn new(limit: usize) -> Self {
        Self {
            limit,
            queued: AtomicUsize::new(0),
            assembling: AtomicUsize::new(0),
            encoded: AtomicUsize::new(0),
        }
    }

    const fn at(&self, stage: Stage) -> &AtomicUsize {
        match stage {
            Stage::Queued => &self.queued,
            Stage::Assembling => &self.assembling,
            Stage::Encoded => &self.encoded,
        }
    }

    /// Takes `bytes`; answers what the stage held before.
    pub(super) fn take(&self, stage: Stage, bytes: usize) -> usize {
        self.at(stage).fetch_add(bytes, Relaxed)
    }

    /// Gives `bytes` back.
    pub(super) fn give(&self, stage: Stage, bytes: usize) {
        self.at(stage).fetch_sub(bytes, Relaxed);
    }

    /// Bytes that a stage holds.
    pub(super) fn held(&self, stage: Stage) -> usize {
        self.at(stage).load(Relaxed)
    }

    /// True while another slice may be handed over. The last one may reach into the reserve.
    pub(super) fn has_room(&self) -> bool {
        self.used() <= self.limit.saturating_sub(RESERVE)
    }

    /// True when recording may resume after a loss: room for more than the next slice.
    pub(super) fn has_ample_room(&self) -> bool {
        self.used() <= self.limit.saturating_sub(2 * RESERVE)
    }

    /// True while a quarter waits for the log: the pipes then rest before they read.
    pub(super) fn presses(&self) -> bool {
        self.held(Stage::Queued) + self.held(Stage::Encoded) > self.limit / 4
    }

    /// Half of the budget, which batches may fill while the log refuses writes.
    pub(super) const fn half(&self) -> usize {
        self.limit / 2
    }

    fn used(&self) -> usize {
        self.held(Stage::Queued) + self.held(Stage::Assembling) + self.held(Stage::Encoded)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1 << 20;

    #[test]
    fn room_ends_one_mebibyte_before_the_limit_and_assembly_does_not_press() {
        let cases = [
            // queued, assembling, encoded → room, ample room, presses
            (0, 0, 0, true, true, false),
            (4 * MIB, 0, 0, true, true, false),
            (4 * MIB, 0, 1, true, true, true),
            (0, 14 * MIB, 0, true, true, false),
            (0, 14 * MIB, 1, true, false, false),
            (0, 15 * MIB, 0, true, false, false),
            (1, 10 * MIB, 5 * MIB, false, false, true),
        ];
        for (queued, assembling, encoded, room, ample, presses) in cases {
            let budget = Budget::new(16 * MIB);
            budget.take(Stage::Queued, queued);
            budget.take(Stage::Assembling, assembling);
            budget.take(Stage::Encoded, encoded);
            let seen = (budget.has_room(), budget.has_ample_room(), budget.presses());
            assert_eq!(
                seen,
                (room, ample, presses),
                "{queued} {assembling} {encoded}"
            );
            budget.give(Stage::Queued, queued);
            assert_eq!(budget.held(Stage::Queued), 0);
        }
    }
}
