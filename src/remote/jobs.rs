//! What a host's task has done for it: reading logs, listing, asking for sizes, reading a body
//! back. Every job reports through one bounded channel and never touches the host's state.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use futures_util::{StreamExt as _, stream::FuturesUnordered};
use tokio::sync::mpsc;

use super::{
    attach::Attached,
    far_error::SftpError,
    link::Connected,
    listing::{self, FarListing, FarLog},
    logs::Reading,
    names::is_log_name,
    range::RangeReader,
    sftp::{Attributes, Kind, Sftp, answers},
};
use crate::{
    feed::{FeedEvent, FollowStep, Follower, Pushed, Recall, RecallStep, Recalling},
    record::{Decoder, Place, ReadEvent, Seq, SessionKey},
};

/// Reports that wait for the host's task: with a read of 255 KiB each some four megabytes.
pub(super) const REPORTS: usize = 16;
/// A turn of a large log.
const TURN: u64 = 8 << 20;
/// Longest body that is read back (log-format 13: a line).
const LONGEST_BODY: u64 = 128 << 20;
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
    Attached(Result<Result<Attached, String>, SftpError>),
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
        small,
    } = reading;
    let path = path.to_string_lossy();
    let outcome = follow(&sftp, &path, &name, &mut follower, in_turns, &reports).await;
    reports
        .tell(Report::Read {
            name,
            follower: Box::new(follower),
            small,
            outcome,
        })
        .await;
}

async fn follow(
    sftp: &Arc<Sftp>,
    path: &str,
    name: &Arc<str>,
    follower: &mut Follower,
    in_turns: bool,
    reports: &Reports,
) -> Result<Stop, SftpError> {
    let file = sftp.open_file(path).await?;
    let outcome = follow_open(sftp, &file, name, follower, in_turns, reports).await;
    sftp.close_soon(&file);
    outcome
}

async fn follow_open(
    sftp: &Arc<Sftp>,
    file: &super::sftp::Open,
    name: &Arc<str>,
    follower: &mut Follower,
    in_turns: bool,
    reports: &Reports,
) -> Result<Stop, SftpError> {
    loop {
        let FollowStep::Read { offset, length } = follower.step() else {
            return Ok(Stop::End);
        };
        let length = if in_turns { length.min(TURN) } else { length };
        let mut range = RangeReader::new(sftp, file, offset, offset + length);
        let mut replaced = false;
        while let Some(bytes) = range.next().await? {
            let mut events = Vec::new();
            let pushed = follower.push(&bytes, &mut |event| events.push(event));
            let report = Report::Lines {
                name: Arc::clone(name),
                events,
                bytes: bytes.len() as u64,
            };
            reports.tell(report).await;
            if pushed == Pushed::Replaced {
                replaced = true;
                break;
            }
        }
        if !replaced && range.position() < offset + length {
            return Ok(Stop::Short);
        }
        if in_turns {
            return Ok(Stop::Turn);
        }
    }
}

/// Lists the directory.
pub(super) async fn list(sftp: Arc<Sftp>, sessions: Arc<str>, number: u64, reports: Reports) {
    let listing = listing::list(&sftp, &sessions).await;
    reports.tell(Report::Listed(number, listing)).await;
}

/// Asks for the sizes of single logs.
pub(super) async fn sizes(
    sftp: Arc<Sftp>,
    sessions: Arc<str>,
    names: Vec<Arc<str>>,
    reports: Reports,
) {
    let answers = ask_sizes(&sftp, &sessions, names).await;
    reports.tell(Report::Sizes(answers)).await;
}

async fn ask_sizes(sftp: &Sftp, sessions: &str, names: Vec<Arc<str>>) -> Result<Sizes, SftpError> {
    let mut names = names.into_iter();
    let mut running = FuturesUnordered::new();
    let mut found = Vec::new();
    loop {
        while running.len() < SIZES_AT_ONCE
            && let Some(name) = names.next()
        {
            running.push(async move {
                let path = format!("{sessions}/{name}");
                (sftp.lstat(&path).await, name)
            });
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

/// Reads a body back: at its place, else anywhere in its log.
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

async fn read_body(
    sftp: &Arc<Sftp>,
    key: &SessionKey,
    seq: Seq,
    place: &Place,
) -> Result<Bytes, String> {
    let path = place.log.to_string_lossy();
    let length = u64::from(place.length);
    let name = path.rsplit('/').next().unwrap_or_default();
    if length > LONGEST_BODY || !is_log_name(name) {
        return Err("the line is too long or lies in no log".to_owned());
    }
    let words = |error: SftpError| error.to_string();
    let file = sftp.open_file(&path).await.map_err(words)?;
    let read = line_at(sftp, &file, key, seq, place.offset, length).await;
    let read = match read {
        Ok(None) => match sftp.lstat(&path).await {
            Ok(attributes) => search(sftp, &file, attributes.size, key, seq).await,
            Err(error) => Err(error),
        },
        other => other,
    };
    sftp.close_soon(&file);
    read.map_err(words)?
        .ok_or_else(|| "the log has no such frame any more".to_owned())
}

/// Reads frames back.
pub(super) async fn recall(sftp: Arc<Sftp>, wanted: Recall, reports: Reports) {
    let events = match read_frames(&sftp, &wanted).await {
        Ok(events) => events,
        Err(reason) => vec![wanted.failed(reason)],
    };
    reports.tell(Report::Recalled(events)).await;
}

async fn read_frames(sftp: &Arc<Sftp>, wanted: &Recall) -> Result<Vec<FeedEvent>, String> {
    let path = wanted.log.to_string_lossy();
    if !is_log_name(path.rsplit('/').next().unwrap_or_default()) {
        return Err("these frames lie in no log".to_owned());
    }
    let words = |error: SftpError| error.to_string();
    let file = sftp.open_file(&path).await.map_err(words)?;
    let read = async {
        let size = sftp.lstat(&path).await?.size;
        let mut recalling = Recalling::new(wanted.clone(), size);
        while let RecallStep::Read { offset, length } = recalling.step() {
            let mut range = RangeReader::new(sftp, &file, offset, offset + length);
            let mut bytes = Vec::new();
            while let Some(part) = range.next().await? {
                bytes.extend_from_slice(&part);
            }
            recalling.push(&bytes);
        }
        Ok(recalling.finish())
    };
    let read = read.await;
    sftp.close_soon(&file);
    read.map_err(words)
}

/// The line at an offset, if it is the frame that is looked for.
async fn line_at(
    sftp: &Arc<Sftp>,
    file: &super::sftp::Open,
    key: &SessionKey,
    seq: Seq,
    offset: u64,
    length: u64,
) -> Result<Option<Bytes>, SftpError> {
    let mut range = RangeReader::new(sftp, file, offset, offset + length);
    let mut line = Vec::new();
    while let Some(bytes) = range.next().await? {
        line.extend_from_slice(&bytes);
    }
    let line = Bytes::from(line);
    let is_it = Decoder::default()
        .decode(line.clone())
        .is_ok_and(|read| read.envelope.seq == seq && is_of(&read.envelope.session_id, key));
    Ok(is_it.then_some(line))
}

/// Looks for a frame in a whole log (it was read live, and lies elsewhere than it should).
async fn search(
    sftp: &Arc<Sftp>,
    file: &super::sftp::Open,
    size: u64,
    key: &SessionKey,
    seq: Seq,
) -> Result<Option<Bytes>, SftpError> {
    let mut reader = crate::record::LineReader::at(0);
    let mut range = RangeReader::new(sftp, file, 0, size);
    let mut found = None;
    while found.is_none()
        && let Some(bytes) = range.next().await?
    {
        reader.push(&bytes, &mut |event| {
            if let ReadEvent::Line { line, .. } = event
                && line.envelope.seq == seq
                && *line.envelope.session_id == *key.id
            {
                found = Some(line.bytes);
            }
        });
    }
    Ok(found)
}

/// A later run has a number behind its id that is not in the line.
fn is_of(id: &str, key: &SessionKey) -> bool {
    *key.id == *id
        || key
            .id
            .strip_prefix(id)
            .is_some_and(|rest| rest.starts_with('#'))
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
    work: impl Future<Output = Result<Result<Attached, String>, SftpError>>,
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
