//! The model: from envelopes to sessions, calls, counters (session-model.md).
//!
//! Pure, synchronous, deterministic; it knows no screen, no file and no clock. Start with `model`,
//! then `row` and `call`, the two things that a viewer reads.

mod accounts;
mod activity;
mod answers;
mod arena;
mod asked;
mod atoms;
mod cache;
mod call;
mod canonical;
mod classify;
mod client_key;
mod counters;
mod definition;
mod early;
mod extra;
mod fact;
mod filter;
mod filter_match;
mod filter_parse;
mod filter_text;
mod frame;
mod freshness;
mod hash;
mod head;
mod hop_index;
mod hops;
mod inventory;
mod inventory_fold;
mod key;
mod late;
mod listing;
mod listings;
mod machine;
mod model;
mod notes;
mod order;
mod parked;
mod peers;
mod probes;
mod reading;
mod recent;
mod refusals;
mod remark;
mod repeat_remark;
mod repeats;
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
mod slowest;
mod stats;
mod stored;

pub use call::{Call, CallId, CallState, DisplayStatus, Hop, Resolved, WaitingOn};
pub use counters::Counters;
pub use definition::{Cost, Definition, ListKind};
pub use extra::{Extra, StateIssue};
pub use fact::Fact;
pub use filter::{Filter, FilterError, FilterScope};
pub use inventory::{Costs, Inventory, ListingOverflow, Usage};
pub use model::{Limits, Model};
pub use remark::{Code, Level, Remark};
pub use repeats::RepeatedCall;
pub use row::{Body, Kind, Row, RowFlags, RowId};
pub use session::{Client, Health, Implementation, Session, Source};
pub use slowest::SlowCall;
pub use stats::{Durations, ToolStats};

#[cfg(test)]
mod filter_tests;
#[cfg(test)]
mod listing_tests;
#[cfg(test)]
mod property_tests;
#[cfg(test)]
mod sample_tests;
#[cfg(test)]
mod table_tests;
