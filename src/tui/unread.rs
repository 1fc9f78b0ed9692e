//! Rows that only their released bodies can tell about: which wait to be read back, which are being
//! read, and what was found (tui.md G7).

use std::collections::{BTreeSet, HashMap};

use crate::{record::Seq, session::RowId};

/// What a stream knows about rows whose bodies lie on disk, for the filter in force.
#[derive(Clone, Debug, Default)]
pub(super) struct Unread {
    /// Not asked for yet; the newest goes first.
    waiting: BTreeSet<RowId>,
    /// Asked for.
    asked: BTreeSet<RowId>,
    /// Whether the words of the filter were found.
    found: HashMap<RowId, bool>,
    /// Nobody could read them.
    failed: BTreeSet<RowId>,
}

impl Unread {
    /// What was found in a row's body; a row that is new is put on the list of those to read.
    pub(super) fn answer(&mut self, id: RowId) -> Option<bool> {
        let known = self.found.get(&id).copied();
        if known.is_none() && !self.asked.contains(&id) && !self.failed.contains(&id) {
            self.waiting.insert(id);
        }
        known
    }

    /// The newest row that waits; it counts as asked for from now on.
    pub(super) fn next(&mut self) -> Option<RowId> {
        let id = self.waiting.pop_last()?;
        self.asked.insert(id);
        Some(id)
    }

    /// Rows of a frame that were asked for; they are no longer.
    pub(super) fn take_asked(&mut self, seq: Seq) -> Vec<RowId> {
        let id = |index| RowId { seq, index };
        let rows: Vec<_> = self.asked.range(id(0)..=id(u32::MAX)).copied().collect();
        for row in &rows {
            self.asked.remove(row);
        }
        rows
    }

    /// Keeps what was found in a body.
    pub(super) fn found(&mut self, id: RowId, is_there: bool) {
        self.found.insert(id, is_there);
    }

    /// Nobody can read this body.
    pub(super) fn failed(&mut self, id: RowId) {
        self.asked.remove(&id);
        self.failed.insert(id);
    }

    /// The answer will not come now: the row waits again.
    pub(super) fn wait_again(&mut self, id: RowId) {
        self.asked.remove(&id);
        self.waiting.insert(id);
    }

    /// Everything that was asked for waits again.
    pub(super) fn all_wait_again(&mut self) {
        self.waiting.append(&mut self.asked);
    }

    /// Rows that a new search does not come by again wait no longer.
    pub(super) fn begin(&mut self) {
        self.waiting.clear();
    }

    /// Forgets rows that the model no longer holds.
    pub(super) fn prune(&mut self, first: RowId) {
        for set in [&mut self.waiting, &mut self.asked, &mut self.failed] {
            if set.first().is_some_and(|id| *id < first) {
                *set = set.split_off(&first);
            }
        }
    }

    /// Rows that are still to be read.
    pub(super) fn left(&self) -> u64 {
        count(self.waiting.len() + self.asked.len())
    }

    /// Rows that could not be read.
    pub(super) fn lost(&self) -> u64 {
        count(self.failed.len())
    }
}

fn count(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}
