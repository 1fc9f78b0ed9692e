//! What one envelope changed, by ids.

use super::{call::CallId, row::RowId};

/// One change. Carries no payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fact {
    /// A session was seen for the first time.
    NewSession,
    /// A row was added.
    NewRow(RowId),
    /// A call was opened.
    Opened(CallId),
    /// A call changed its state or figures.
    Changed(CallId),
    /// Rows were sorted anew: what a viewer derived from rows must be derived again.
    Refolded,
    /// A header, label, client or counter changed.
    Summary,
}
