//! What only some rows have, kept beside them: remarks, hints, links (session-model.md 3.5).

use std::sync::Arc;

use smallvec::SmallVec;

use super::{
    call::CallId,
    key::JsonId,
    machine::Machine,
    remark::{Code, Level, Remark},
    row::RowId,
};

/// Remarks on one frame; further ones are counted (session-model.md 22.3).
pub(super) const MAX_REMARKS: usize = 63;

/// How the `requestState` of a retry differs from what was issued (session-model.md 11.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StateIssue {
    /// Issued, and not sent back.
    Missing,
    /// Sent back, and never issued.
    Invented,
    /// Another than the issued one.
    Changed,
}

/// The extras of one row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Extra {
    /// Remarks in the order made.
    pub remarks: SmallVec<[Remark; 1]>,
    /// How many more there were.
    pub more_remarks: u32,
    /// One of those was a warning.
    pub(super) more_warnings: bool,
    /// Declared cache lifetime in milliseconds; a declared 0 is kept.
    pub cache_ttl_ms: Option<i64>,
    /// Declared cache scope (untrusted).
    pub cache_scope: Option<Arc<str>>,
    /// Task that the frame belongs to (untrusted).
    pub task_id: Option<Arc<str>>,
    /// The call that this task works for.
    pub task_call: Option<CallId>,
    /// Id of the request that a retry continues, exact JSON text (untrusted).
    pub mrtr_root: Option<JsonId>,
    /// What is wrong with the state of a retry.
    pub state_issue: Option<StateIssue>,
    /// The server said that the headers contradict the body.
    pub mismatch: bool,
    /// The message nests too deep to be read beyond its top level: what its members hold is unknown
    /// (session-model.md 3.2.2).
    pub unparsed_body: bool,
    /// Position of the first element of the frame in its batch, and length of the batch.
    pub(super) batch: Option<(u32, u32)>,
}

impl Extra {
    /// What is said of a fetch inside the lifetime of a copy.
    pub fn cache_stale_refetch(&self) -> Option<&str> {
        let mut all = self.remarks.iter();
        let found = all.find(|remark| remark.code == Code::CacheRefetch);
        found.map(|remark| &*remark.text)
    }

    /// True when a warning is among the remarks.
    pub fn warns(&self) -> bool {
        self.more_warnings
            || self
                .remarks
                .iter()
                .any(|remark| remark.level == Level::Warning)
    }
}

impl Machine {
    /// The extras of a row, to be changed; `None` when the row was dropped.
    pub(super) fn extra_mut(&mut self, row: RowId) -> Option<&mut Extra> {
        if self.rows.by_id(row).is_none() {
            let ghost = self.ghost.as_mut().filter(|ghost| ghost.row == row);
            return ghost.map(|ghost| &mut ghost.extra);
        }
        Some(self.extras.entry(row).or_default())
    }
}
