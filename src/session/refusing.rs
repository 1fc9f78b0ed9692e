//! Frames that refuse, and how much of what they failed is made good (session-model.md 8.4).

use super::{hash::Map, row::RowId};

/// Frames that refused something that may be made good: each is errored until all is that it failed.
#[derive(Debug, Default)]
pub(super) struct Frames {
    /// The frame that is folded, and how much it failed so far.
    current: (RowId, u32),
    refusing: Map<RowId, Frame>,
}

#[derive(Clone, Copy, Debug)]
struct Frame {
    /// Calls and exchanges that it failed.
    failed: u32,
    /// Its refusals that are remembered.
    remembered: u32,
}

impl Frames {
    /// The frame failed a call, or an exchange without a request.
    pub(super) fn fail(&mut self, row: RowId) {
        if let Some(frame) = self.refusing.get_mut(&row) {
            frame.failed = frame.failed.saturating_add(1);
        } else if self.current.0 == row {
            self.current.1 = self.current.1.saturating_add(1);
        } else {
            self.current = (row, 1);
        }
    }

    /// One of them is remembered.
    pub(super) fn remember(&mut self, row: RowId) {
        let before = match self.current {
            (current, failed) if current == row => failed,
            _ => 0,
        };
        let frame = self.refusing.entry(row).or_insert(Frame {
            failed: before,
            remembered: 0,
        });
        frame.remembered = frame.remembered.saturating_add(1);
    }

    /// A refusal is remembered no more; true when it was made good, and all else that its frame failed.
    pub(super) fn leave(&mut self, row: RowId, made_good: bool) -> bool {
        let Some(frame) = self.refusing.get_mut(&row) else {
            return false;
        };
        frame.remembered = frame.remembered.saturating_sub(1);
        frame.failed = frame.failed.saturating_sub(u32::from(made_good));
        let Frame { failed, remembered } = *frame;
        if remembered == 0 {
            self.refusing.remove(&row);
        }
        made_good && failed == 0
    }

    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.refusing.is_empty()
    }
}
