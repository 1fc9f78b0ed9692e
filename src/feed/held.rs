//! Frames of a session that wait for those below them, with the books over what they hold.

use std::collections::BTreeMap;

use super::event::FeedFrame;

/// A frame that waits for those below it.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) frame: Box<FeedFrame>,
    /// One copy came from the log.
    pub(super) in_log: bool,
}

/// The waiting frames by their numbers. Those that only a socket brought are *live*: they are what
/// limits are about, since the log has the others.
#[derive(Debug, Default)]
pub(super) struct HeldFrames {
    frames: BTreeMap<u64, Held>,
    live_bytes: usize,
    log_bytes: usize,
    log_frames: usize,
}

impl HeldFrames {
    /// Holds a frame under a number that is free.
    pub(super) fn insert(&mut self, number: u64, held: Held) {
        if held.in_log {
            self.log_bytes += size(&held);
            self.log_frames += 1;
        } else {
            self.live_bytes += size(&held);
        }
        let before = self.frames.insert(number, held);
        debug_assert!(before.is_none(), "taken out before");
    }

    /// Takes a frame out.
    pub(super) fn remove(&mut self, number: u64) -> Option<Held> {
        let held = self.frames.remove(&number)?;
        if held.in_log {
            self.log_bytes = self.log_bytes.saturating_sub(size(&held));
            self.log_frames = self.log_frames.saturating_sub(1);
        } else {
            self.live_bytes = self.live_bytes.saturating_sub(size(&held));
        }
        Some(held)
    }

    /// Takes all live frames out, in the order of their numbers.
    pub(super) fn take_live(&mut self) -> Vec<FeedFrame> {
        let (log, live): (BTreeMap<_, _>, BTreeMap<_, _>) = std::mem::take(&mut self.frames)
            .into_iter()
            .partition(|(_, held)| held.in_log);
        self.frames = log;
        self.live_bytes = 0;
        live.into_values().map(|held| *held.frame).collect()
    }

    pub(super) fn get(&self, number: u64) -> Option<&Held> {
        self.frames.get(&number)
    }

    /// The lowest number and its frame.
    pub(super) fn first(&self) -> Option<(u64, &Held)> {
        let (number, held) = self.frames.first_key_value()?;
        Some((*number, held))
    }

    /// The highest number.
    pub(super) fn last(&self) -> Option<u64> {
        self.frames.last_key_value().map(|(number, _)| *number)
    }

    /// The highest number that the log has.
    pub(super) fn last_in_log(&self) -> Option<u64> {
        let mut downwards = self.frames.iter().rev();
        let found = downwards.find(|(_, held)| held.in_log);
        found.map(|(number, _)| *number)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// Live frames.
    pub(super) fn live_frames(&self) -> usize {
        self.frames.len() - self.log_frames
    }

    /// Bytes of live frames.
    pub(super) const fn live_bytes(&self) -> usize {
        self.live_bytes
    }

    /// Frames that the log has.
    pub(super) const fn log_frames(&self) -> usize {
        self.log_frames
    }

    /// Bytes of frames that the log has.
    pub(super) const fn log_bytes(&self) -> usize {
        self.log_bytes
    }
}

fn size(held: &Held) -> usize {
    held.frame.line.bytes.len()
}
