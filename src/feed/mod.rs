//! The seam between whatever yields envelopes and whoever shows them.
//!
//! It knows order, duplicates, gaps and growing logs; nothing of sockets, SSH or screens. Start with
//! `event`: all that a viewer can be told and all that it can ask.

mod backoff;
mod channel;
mod conflict;
mod event;
mod follower;
mod held;
mod limits;
mod merge;
mod merge_search;
mod merge_session;
#[cfg(test)]
mod merge_tests;
mod protocol;
mod ranges;
mod recall;

pub use backoff::{Backoff, jittered};
pub use channel::{Closed, FeedReceiver, FeedSender, channel};
pub use event::{
    BodyOutcome, Ending, FeedEvent, FeedFrame, FeedRequest, HostState, LinkState, Listing, Mode,
    Origin, Progress, PromptAnswer, SessionNews, Severity,
};
pub use follower::{FollowStep, Follower, Pushed};
pub use limits::{Looks, MergeLimits, Overflow};
pub use merge::{LogState, Merge, MergeEvent, Offered};
pub use protocol::{FirstLine, SUBSCRIBE_BUSY, first_line};
pub use recall::{Recall, RecallStep, Recalling};
