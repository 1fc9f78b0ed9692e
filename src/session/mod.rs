//! The model: from envelopes to sessions, calls, counters (session-model.md).
//!
//! Pure, synchronous, deterministic; it knows no screen, no file and no clock. Start with `model`,
//! then `row` and `call`, the two things that a viewer reads.

mod accounts;
mod activity;
mod answers;
mod arena;
mod atoms;
mod call;
mod canonical;
mod classify;
mod counters;
mod early;
mod fact;
mod filter;
mod filter_match;
mod filter_parse;
mod filter_text;
mod frame;
mod hash;
mod head;
mod hop_index;
mod hops;
mod key;
mod late;
mod machine;
mod model;
mod notes;
mod order;
mod parked;
mod peers;
mod probes;
mod reading;
mod refusals;
mod requests;
mod row;
mod row_store;
mod seqs;
#[expect(
    clippy::module_inception,
    reason = "the room and its central type have one name"
)]
mod session;
mod settled;
mod stats;
mod stored;

pub use call::{Call, CallId, CallState, DisplayStatus, Hop, WaitingOn};
pub use counters::Counters;
pub use fact::Fact;
pub use filter::{Filter, FilterError, FilterScope};
pub use model::{Limits, Model};
pub use row::{Body, Kind, Row, RowFlags, RowId};
pub use session::{Client, Health, Implementation, Session, Source};
pub use stats::{Durations, ToolStats};

#[cfg(test)]
mod filter_tests;
#[cfg(test)]
mod hostile_tests;
#[cfg(test)]
mod property_tests;
#[cfg(test)]
mod sample_tests;
#[cfg(test)]
mod script_tests;
