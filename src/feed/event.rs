//! All that a viewer can be told from outside, and all that it can ask of a source.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;

use super::recall::Recall;
use crate::{
    base::{ByteCount, Timestamp},
    record::{HostName, Line, Liveness, Place, Seq, SessionKey},
};

/// Where a frame came from (remote.md 12).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A log.
    Log,
    /// A recorder's connection to a socket of ours.
    Socket,
}

/// One frame, delivered once, in ascending order within its session except after `GapFilled`.
#[derive(Clone, Debug)]
pub struct FeedFrame {
    /// Whose frame; for a later run under one id the id is renamed.
    pub key: SessionKey,
    /// Exact bytes and envelope.
    pub line: Line,
    /// Where its line lies, if it is known to lie in a log.
    pub place: Option<Place>,
    /// Which way it came.
    pub origin: Origin,
    /// Local arrival of a frame that came live; `None` for history.
    pub arrived: Option<Timestamp>,
}

/// How live frames of a host arrive (remote.md 7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Recorders connect to a socket that is ours.
    Socket,
    /// Logs are looked at every so often.
    Log {
        /// Pause between two looks.
        every: Duration,
    },
    /// No live frames.
    History,
}

/// The link to a host (tui.md 15).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkState {
    /// First connect.
    Connecting,
    /// A reconnect needs an answer from the user.
    LoginNeeded,
    /// Live source open, history being read.
    Backfilling,
    /// Live source open, history read.
    Live,
    /// Link lost, trying again.
    Reconnecting {
        /// Number of the coming try.
        attempt: u32,
        /// When it begins.
        next: Timestamp,
    },
    /// Link lost, not retried or only rarely.
    Lost,
    /// Given up or disconnected by the user.
    Closed,
}

/// What is known of a host's link; sent on every change.
#[derive(Clone, Debug)]
pub struct HostState {
    /// Which host.
    pub host: HostName,
    /// What the user typed, resolved: `user@name:port`; empty for `local`.
    pub target: String,
    /// State of the link.
    pub link: LinkState,
    /// Source of live frames, once there is one.
    pub mode: Option<Mode>,
    /// Why this state or this mode: last error or reason of a fallback. Untrusted text.
    pub reason: Option<String>,
    /// Remote state directory. Untrusted text.
    pub state_dir: Option<String>,
    /// Host's clock minus ours.
    pub clock_offset_ms: Option<i64>,
    /// Round trip.
    pub round_trip: Option<Duration>,
}

/// A log that a source lists; sent again when something of it changes.
#[derive(Clone, Debug)]
pub struct SessionNews {
    /// The session, by the name of its log until a line was read.
    pub key: SessionKey,
    /// Path of the log on its host; `None` when it comes only through a socket. Untrusted text.
    pub log: Option<Arc<std::path::PathBuf>>,
    /// Size of the log.
    pub size: ByteCount,
    /// Last change of the log by its host's clock.
    pub modified: Option<Timestamp>,
    /// All lines that were there when it was listed have been delivered.
    pub loaded: bool,
    /// Whether it is still being recorded.
    pub liveness: Liveness,
    /// Lines that could not be read so far.
    pub damaged: u64,
}

/// What a host has (sent after each change of the totals).
#[derive(Clone, Debug)]
pub struct Listing {
    /// Which host.
    pub host: HostName,
    /// Logs there.
    pub total: usize,
    /// Logs loaded or being loaded.
    pub chosen: usize,
    /// Names that were not opened.
    pub skipped: usize,
}

/// How far a backfill or the reading of a log is.
#[derive(Clone, Debug)]
pub struct Progress {
    /// Which host.
    pub host: HostName,
    /// Sessions read.
    pub sessions_done: usize,
    /// Sessions to read.
    pub sessions_total: usize,
    /// Bytes read.
    pub bytes_done: ByteCount,
    /// Bytes to read; 0 when unknown (standard input).
    pub bytes_total: ByteCount,
    /// Bytes in the last second.
    pub bytes_per_second: ByteCount,
}

/// Result of reading a body back.
#[derive(Clone, Debug)]
pub enum BodyOutcome {
    /// The line's bytes.
    Line(Bytes),
    /// Why it cannot be had. Untrusted text.
    Unavailable(String),
}

/// How much a notice matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Worth knowing.
    Info,
    /// Something good.
    Good,
    /// Something is not as it should be.
    Warning,
    /// Something failed.
    Error,
}

/// The last word about a host in a run that ends (remote.md 12).
#[derive(Clone, Debug)]
pub struct Ending {
    /// Which host.
    pub host: HostName,
    /// Why it ended.
    pub outcome: Arc<str>,
    /// Repeats that were dropped.
    pub duplicates: u64,
    /// Lines that could not be read.
    pub damaged: u64,
    /// Same number, different content.
    pub conflicts: u64,
}

/// All that a viewer can be told from outside.
#[derive(Clone, Debug)]
pub enum FeedEvent {
    /// A host's link changed.
    Host(HostState),
    /// What a host has.
    Listing(Listing),
    /// A log appeared or changed.
    Session(SessionNews),
    /// A frame.
    Frame(Box<FeedFrame>),
    /// Numbers that nothing can deliver any more, as far as is known.
    Gap {
        /// Whose.
        key: SessionKey,
        /// First missing number.
        from: Seq,
        /// Last missing number.
        to: Seq,
    },
    /// Numbers of an earlier gap that turned up; their frames follow.
    GapFilled {
        /// Whose.
        key: SessionKey,
        /// First number.
        from: Seq,
        /// Last number.
        to: Seq,
    },
    /// Numbers that are not here yet and may still come: nothing may be concluded from their absence.
    NotLoaded {
        /// Whose.
        key: SessionKey,
        /// True while something of the session may still come, false once all of it was read.
        pending: bool,
    },
    /// Two envelopes with one number and different content were seen; one was kept.
    Conflict {
        /// Whose.
        key: SessionKey,
        /// Their number.
        seq: Seq,
    },
    /// How far a backfill is.
    Progress(Progress),
    /// A body that was asked for.
    Body {
        /// Whose.
        key: SessionKey,
        /// Which frame.
        seq: Seq,
        /// The bytes, or why not.
        outcome: BodyOutcome,
    },
    /// Frames that were asked for again, in one or several parts: they are history that the merge
    /// delivered before, and change nothing.
    Recalled {
        /// Whose.
        key: SessionKey,
        /// First number that was asked for.
        from: Seq,
        /// Frames in ascending order.
        frames: Vec<FeedFrame>,
        /// With the last part: all that the log holds is here, or why not (untrusted text).
        end: Option<Result<(), String>>,
    },
    /// A question that only the user can answer.
    Prompt {
        /// Host that asks.
        host: HostName,
        /// Number to answer to.
        id: u64,
        /// The question. Untrusted text.
        text: String,
        /// Whether the answer may be shown while it is typed.
        echo: bool,
    },
    /// One line for `:messages`. Untrusted text.
    Notice {
        /// Host that it is about.
        host: HostName,
        /// How much it matters.
        severity: Severity,
        /// The line.
        text: String,
    },
    /// A log went away; what is shown stays.
    LogRemoved {
        /// Whose.
        key: SessionKey,
    },
    /// The source has nothing more to say about a host.
    End(Ending),
}

/// Answer to a prompt; wiped when dropped.
#[derive(Clone)]
pub struct PromptAnswer(pub zeroize::Zeroizing<String>);

impl std::fmt::Debug for PromptAnswer {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("PromptAnswer")
    }
}

/// All that a viewer can ask of a source.
#[derive(Clone, Debug)]
pub enum FeedRequest {
    /// Load that many older logs of every host; `None`: all.
    LoadOlder(Option<usize>),
    /// The user looks at this session: load it first.
    LoadFirst(SessionKey),
    /// Read a body back.
    ReadBody {
        /// Whose.
        key: SessionKey,
        /// Which frame.
        seq: Seq,
        /// Where its line lies.
        place: Place,
    },
    /// Read frames back that left memory.
    Recall(Recall),
    /// Try to connect now.
    Reconnect(HostName),
    /// Give the host up.
    Disconnect(HostName),
    /// Answer a prompt; `None` declines.
    Answer {
        /// Number of the prompt.
        id: u64,
        /// What the user typed.
        answer: Option<PromptAnswer>,
    },
}
