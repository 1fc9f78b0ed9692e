//! What a host's task has done for it: reading logs, listing, asking for sizes, reading a body
//! back. Every job reports through one bounded channel and never touches the host's state.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use futures_util::{StreamExt as _, stream::FuturesUnordered};
use tokio::sync::mpsc;

use super::{
    attach::{Attached, NoSocket},
    body::{read_body, read_frames},
    far_error::SftpError,
    link::Connected,
    listing::{self, FarListing, FarLog},
    logs::{LogPath, Reading},
    range::RangeReader,
    sftp::{Attributes, Kind, Open, Sftp, answers},
};
use crate::{
    feed::{FeedEvent, FollowStep, Follower, Pushed, Recall},
    record::{Place, ReadEvent, Seq, SessionKey},
};

/// Reports that wait for the host's task: with lines of a read of 255 KiB each some four megabytes;
/// a page or a body that was asked for is as large as that.
pub(super) const REPORTS: usize = 16;
/// A turn of a large log.
const TURN: u64 = 8 << 20;
/// Sizes that are asked for at the same time.
const SIZES_AT_ONCE: usize = 32;

/// Logs that were asked for, and what they are; `None`: gone or no regular file any more.
pub(super) type Sizes = Vec<(Arc<str>, Option<Attributes>)>;

/// What a job tells.
#[expect(
    clippy::large_enum_variant,
    reason = "at most 16 of them wait, and the common one is small"
)]
#[derive(Debug)]
pub(super) enum Report {
    /// Lines of a log, in order.
    Lines {
        name: Arc<str>,
        events: Vec<ReadEvent>,
        bytes: u64,
    },
    /// A job gives a log back.
    Read {
        name: Arc<str>,
        follower: Box<Follower>,
        small: bool,
        outcome: Result<Stop, SftpError>,
    },
    /// The directory, by the number of the listing.
    Listed(u64, Result<FarListing, SftpError>),
    /// Sizes of single logs; `None`: gone or no regular file any more.
    Sizes(Result<Sizes, SftpError>),
    /// The socket.
    Attached(Result<Result<Attached, NoSocket>, SftpError>),
    /// Whether the socket is still ours.
    Tested(Result<bool, SftpError>),
    /// How long an answer took; `None`: there was none.
    Pinged(Option<Duration>),
    /// A body that was asked for.
    Body {
        key: SessionKey,
        seq: Seq,
        body: Result<Bytes, String>,
    },
    /// Frames that were asked for again.
    Recalled(Vec<FeedEvent>),
    /// Another SFTP session.
    Sftp(Result<Sftp, SftpError>),
}

/// How reading a log stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// All that was known of it was read.
    End,
    /// Its turn is over.
    Turn,
    /// It is shorter than it was said to be.
    Short,
}

/// Where jobs report to. Sending fails only when the host's task is gone, and then nobody cares.
#[derive(Clone, Debug)]
pub(super) struct Reports(pub(super) mpsc::Sender<Report>);

impl Reports {
    pub(super) async fn tell(&self, report: Report) {
        if self.0.send(report).await.is_err() {
            // The host's task has ended.
        }
    }
}

/// Reads a log to the size that its follower knows.
pub(super) async fn read_log(sftp: Arc<Sftp>, reading: Reading, reports: Reports) {
    let Reading {
        name,
        path,
        mut follower,
        in_turns,
        begins_with_envelope,
        small,
    } = reading;
    let task = Task {
        sftp: &sftp,
        name: &name,
        in_turns,
        begins_with_envelope,
        reports: &reports,
    };
    let outcome = task.follow(&path.to_string_lossy(), &mut follower).await;
    reports
        .tell(Report::Read {
            name,
            follower: Box::new(follower),
            small,
            outcome,
        })
        .await;
}

/// What reading a log needs beside its follower.
struct Task<'a> {
    sftp: &'a Arc<Sftp>,
    name: &'a Arc<str>,
    in_turns: bool,
    begins_with_envelope: bool,
    reports: &'a Reports,
}

impl Task<'_> {
    async fn follow(&self, path: &str, follower: &mut Follower) -> Result<Stop, SftpError> {
        let file = self.sftp.open_file(path).await?;
        let outcome = self.follow_open(&file, follower).await;
        self.sftp.close_soon(&file);
        outcome
    }

    async fn follow_open(&self, file: &Open, follower: &mut Follower) -> Result<Stop, SftpError> {
        let mut must_begin = self.begins_with_envelope;
        loop {
            let FollowStep::Read { offset, length } = follower.step() else {
                return Ok(Stop::End);
            };
            let length = if self.in_turns {
                length.min(TURN)
            } else {
                length
            };
            let mut range = RangeReader::new(self.sftp, file, offset, offset + length);
            let mut replaced = false;
            while let Some(bytes) = range.next().await? {
                let mut events = Vec::new();
                let pushed = follower.push(&bytes, &mut |event| events.push(event));
                if must_begin && let Some(first) = events.first() {
                    if matches!(first, ReadEvent::Damage(_)) {
                        return Err(SftpError::NoLog);
                    }
                    must_begin = false;
                }
                let report = Report::Lines {
                    name: Arc::clone(self.name),
                    events,
                    bytes: bytes.len() as u64,
                };
                self.reports.tell(report).await;
                if pushed == Pushed::Replaced {
                    replaced = true;
                    break;
                }
            }
            if !replaced && range.position() < offset + length {
                return Ok(Stop::Short);
            }
            if self.in_turns {
                return Ok(Stop::Turn);
            }
        }
    }
}

/// Lists the directory.
pub(super) async fn list(sftp: Arc<Sftp>, sessions: Arc<str>, number: u64, reports: Reports) {
    let listing = listing::list(&sftp, &sessions).await;
    reports.tell(Report::Listed(number, listing)).await;
}

/// Asks for the sizes of single logs.
pub(super) async fn sizes(sftp: Arc<Sftp>, logs: Vec<(Arc<str>, LogPath)>, reports: Reports) {
    let answers = ask_sizes(&sftp, logs).await;
    reports.tell(Report::Sizes(answers)).await;
}

async fn ask_sizes(sftp: &Sftp, logs: Vec<(Arc<str>, LogPath)>) -> Result<Sizes, SftpError> {
    let mut logs = logs.into_iter();
    let mut running = FuturesUnordered::new();
    let mut found = Vec::new();
    loop {
        while running.len() < SIZES_AT_ONCE
            && let Some((name, path)) = logs.next()
        {
            running.push(async move { (sftp.lstat(&path.to_string_lossy()).await, name) });
        }
        let Some((answer, name)) = running.next().await else {
            return Ok(found);
        };
        match answer {
            Ok(attributes) if attributes.kind == Kind::Regular => {
                found.push((name, Some(attributes)));
            }
            Err(error) if error.ends_session() => return Err(error),
            _ => found.push((name, None)),
        }
    }
}

/// Measures the round trip.
pub(super) async fn ping(link: Arc<Connected>, limit: Duration, reports: Reports) {
    let begun = tokio::time::Instant::now();
    let answered = answers(&link, limit).await;
    let trip = answered.then(|| begun.elapsed());
    reports.tell(Report::Pinged(trip)).await;
}

/// Reads a body back.
pub(super) async fn body(
    sftp: Arc<Sftp>,
    key: SessionKey,
    seq: Seq,
    place: Place,
    reports: Reports,
) {
    let body = read_body(&sftp, &key, seq, &place).await;
    reports.tell(Report::Body { key, seq, body }).await;
}

/// Reads frames back.
pub(super) async fn recall(sftp: Arc<Sftp>, wanted: Recall, reports: Reports) {
    let events = match read_frames(&sftp, &wanted).await {
        Ok(events) => events,
        Err(reason) => vec![wanted.failed(reason)],
    };
    reports.tell(Report::Recalled(events)).await;
}

/// Starts SFTP anew after the server closed its channel.
pub(super) async fn reopen(link: Arc<Connected>, reports: Reports) {
    let sftp = Sftp::open(&link).await;
    if let Ok(sftp) = &sftp {
        sftp.learn_limits().await;
    }
    reports.tell(Report::Sftp(sftp)).await;
}

/// A log's attributes as a listing would give them.
pub(super) fn as_listed(name: &Arc<str>, attributes: &Attributes) -> FarLog {
    FarLog {
        name: Arc::clone(name),
        size: attributes.size,
        modified: attributes.modified,
    }
}

/// Publishes our listener.
pub(super) async fn attach(
    work: impl Future<Output = Result<Result<Attached, NoSocket>, SftpError>>,
    reports: Reports,
) {
    let attached = work.await;
    reports.tell(Report::Attached(attached)).await;
}

/// Tests whether `hub.sock` still leads to us.
pub(super) async fn test(attached: Attached, reports: Reports) {
    let ours = super::publish::is_ours(&*attached.place, &attached.published).await;
    reports.tell(Report::Tested(ours)).await;
}
