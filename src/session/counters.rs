//! Figures of a session, accumulated at ingest (session-model.md 5.4).

/// Counters; none is derived from the rows that happen to be held.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Timeline frames.
    pub frames: u64,
    /// Request frames.
    pub requests: u64,
    /// Response frames.
    pub responses: u64,
    /// Notification frames.
    pub notifications: u64,
    /// Frames that are no JSON-RPC message where one is required.
    pub invalid: u64,
    /// Lines of standard error.
    pub stderr_lines: u64,
    /// Frames of which only a part was recorded.
    pub truncated: u64,
    /// Frames that are errored, each once.
    pub errors: u64,
    /// Frames with at least one warning.
    pub warnings: u64,
    /// Open calls that do not stream.
    pub pending: u64,
    /// Of these: parked at the requester.
    pub parked: u64,
    /// Of these: answered by a task that is not over.
    pub open_tasks: u64,
    /// Of these: possibly answered in a frame that was not recorded.
    pub pending_uncertain: u64,
    /// Open streams.
    pub streaming: u64,
    /// Calls answered after their cancellation.
    pub late_results: u64,
    /// Cancelled calls.
    pub cancelled: u64,
    /// Calls whose id was reused.
    pub superseded: u64,
    /// Calls that ended well.
    pub completed: u64,
    /// Calls that ended badly.
    pub failed: u64,
    /// Parked calls that stopped being candidates.
    pub retired_exchanges: u64,
    /// Numbers with two contents.
    pub conflicts: u64,
    /// Rows that were dropped at the bound.
    pub dropped_from_memory: u64,
}
