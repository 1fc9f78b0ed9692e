//! The local hub: the socket that recorders write to, the logs behind it, backfill and following
//! (log-format 10, capture.md 8).
//!
//! It knows nothing of screens. Start with `run`, then `desk`.

mod ahead;
mod body;
mod connection;
mod desk;
mod error;
mod jobs;
mod logs;
mod opened;
mod opened_news;
#[cfg(test)]
mod opened_tests;
mod piece;
mod producers;
mod progress;
mod reading;
mod run;
mod seeking;
mod socket;
#[cfg(test)]
mod tests;

pub use error::Error;
pub use opened::{OpenedLog, OpenedSource, run_opened};
pub use run::{HubOptions, HubStatus, run_hub};
