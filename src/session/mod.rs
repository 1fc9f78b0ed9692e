//! The model: from envelopes to sessions, calls, counters (session-model.md).
//!
//! Pure, synchronous, deterministic; it knows no screen, no file and no clock. Start with `model`,
//! then `row` and `call`, the two things that a viewer reads.

mod accounts;
mod activity;
mod answers;
mod arena;
mod asked;
mod asking;
mod atoms;
mod batches;
mod cache;
mod call;
mod call_task;
mod cancel;
mod canonical;
mod classify;
mod client;
mod closing;
mod counters;
mod decimal;
mod definition;
mod early;
mod elicitation;
mod exchanges;
mod extra;
mod fact;
mod fates;
mod filter;
mod filter_match;
mod filter_parse;
mod filter_text;
mod forgotten;
mod frame;
mod freshness;
mod hash;
mod head;
mod hop_index;
mod hops;
mod host;
mod interaction;
mod inventory;
mod inventory_fold;
mod issued;
mod issuing;
mod key;
mod key_set;
mod late;
mod ledger;
mod listing;
mod listings;
mod machine;
mod matching;
mod model;
mod notes;
mod order;
mod params;
mod parked;
mod peers;
mod probes;
mod progress;
mod questions;
mod reading;
mod recent;
mod refusals;
mod refused;
mod refusing;
mod remark;
mod repeat_remark;
mod repeated;
mod repeats;
mod requests;
mod resolving;
mod results;
mod retry;
mod reuse;
mod revisions;
mod rounds;
mod row;
mod row_store;
mod seqs;
#[expect(
    clippy::module_inception,
    reason = "the room and its central type have one name"
)]
mod session;
mod settled;
mod settled_more;
mod shape;
mod side;
mod slowest;
mod stated;
mod stats;
mod stored;
mod stream_frames;
mod streams;
mod summary;
mod task_facts;
mod task_frames;
mod task_news;
mod tasks;
mod tokens;
mod unmatched;
mod wording;

pub use call::{Call, CallId, CallState, DisplayStatus, Hop, Resolved, WaitingOn};
pub use call_task::EndObservedBy;
pub use client::{Client, ClientScope, Implementation};
pub use counters::Counters;
pub use definition::{Cost, Definition, ListKind};
pub use elicitation::{
    Elicitation, ElicitationChannel, ElicitationField, ElicitationMode, Interrupted,
};
pub use extra::{Extra, StateIssue};
pub use fact::Fact;
pub use filter::{Filter, FilterError, FilterScope};
pub use forgotten::Forgotten;
pub use interaction::{HopSummary, Interaction};
pub use inventory::{Costs, Inventory, Usage};
pub use model::{Limits, Model};
pub use progress::Progress;
pub use remark::{Code, Level, Remark};
pub use repeats::RepeatedCall;
pub use revisions::{Era, RevisionCount};
pub use row::{Body, Kind, Row, RowFlags, RowId};
pub use session::{Health, Session, Source};
pub use slowest::SlowCall;
pub use stated::{Advert, Extension};
pub use stats::{Durations, ToolStats};
pub use streams::{Filtered, Subscription, SubscriptionEnd, SubscriptionFilter};
pub use tasks::{Task, TaskDialect};

#[cfg(test)]
mod conforming_tests;
#[cfg(test)]
mod filter_tests;
#[cfg(test)]
mod flood_tests;
#[cfg(test)]
mod hostile_tests;
#[cfg(test)]
mod listing_tests;
#[cfg(test)]
mod property_tests;
#[cfg(test)]
mod recorded_tests;
#[cfg(test)]
mod sample_tests;
#[cfg(test)]
mod table_tests;
