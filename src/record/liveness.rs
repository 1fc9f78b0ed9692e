//! Is a session still being recorded? One rule for every reader (history.md 6.2).

use std::{fs, io, path::Path, time::Duration};

use rustix::{
    fs::{FlockOperation, OFlags, flock},
    io::Errno,
};

use super::{
    catalogue::modified,
    envelope::Envelope,
    head::{self, Head, is_end_record},
    process,
};
use crate::base::Timestamp;

/// A log that changed within this span is being recorded.
const QUIET: Duration = Duration::from_mins(1);
/// The field-set level whose writers hold a lock (log-format 3.8).
const LOCKING_FORMAT: u64 = 7;

/// What the evidence says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Liveness {
    /// A recorder is at work.
    Recording,
    /// The last run has an `end` record.
    Ended,
    /// The recorder is gone without one.
    EndedWithoutRecord,
    /// Nothing proves either; silent since then.
    Unknown,
}

/// What is known of a session; what cannot be known on another machine is `None`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Evidence {
    /// The last run has an `end` record.
    pub has_end: bool,
    /// A producer of the session is connected to us.
    pub is_connected: bool,
    /// A recorder's lock is held on the log.
    pub is_locked: Option<bool>,
    /// `format` of the start record; 0 when it has none.
    pub format: u64,
    /// The process of the session id runs and is older than the log's last change.
    pub process_runs: Option<bool>,
    /// The log's last change, by the clock of its machine.
    pub modified: Option<Timestamp>,
}

impl Evidence {
    /// The first line of history.md 6.2 that applies. `now` is the clock of the log's machine.
    pub fn judge(&self, now: Timestamp) -> Liveness {
        let quiet = i64::try_from(QUIET.as_nanos()).unwrap_or(i64::MAX);
        // A change that lies ahead, of a clock that was set back, proves nothing until it is near.
        let is_recent = |changed| (-quiet..=quiet).contains(&now.nanos_since(changed));
        if self.has_end {
            Liveness::Ended
        } else if self.is_connected || self.is_locked == Some(true) {
            Liveness::Recording
        } else if self.format >= LOCKING_FORMAT && self.is_locked == Some(false) {
            Liveness::EndedWithoutRecord
        } else if self.process_runs == Some(true) || self.modified.is_some_and(is_recent) {
            Liveness::Recording
        } else {
            Liveness::Unknown
        }
    }
}

/// True when a recorder holds its lock on the log, `None` where locks do not work. Does not wait.
pub fn is_locked(log: &Path) -> Option<bool> {
    let file = head::open(log, OFlags::empty()).ok()?;
    try_lock(&file)
}

/// Tries the exclusive lock, which is held until the file is closed: `Some(false)` when it was
/// free, `None` where locks do not work.
pub(super) fn try_lock(file: &fs::File) -> Option<bool> {
    match flock(file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Some(false),
        Err(Errno::WOULDBLOCK) => Some(true),
        Err(_unsupported) => None,
    }
}

/// Applies the rule to a local log by its own tail, lock and process. `Unknown` when it cannot be
/// read.
pub fn liveness_of(log: &Path, now: Timestamp) -> Liveness {
    head::open(log, OFlags::empty())
        .and_then(|mut file| {
            let mut evidence = gather(&mut file)?;
            if !evidence.has_end {
                evidence.is_locked = try_lock(&file);
            }
            Ok(evidence)
        })
        .map_or(Liveness::Unknown, |evidence| evidence.judge(now))
}

/// All the evidence of an open log but its lock.
pub(super) fn gather(file: &mut fs::File) -> io::Result<Evidence> {
    let meta = file.metadata()?;
    if !meta.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let modified = modified(&meta);
    let last = head::last_envelope(file)?;
    let mut evidence = Evidence {
        has_end: last.as_ref().is_some_and(is_end_record),
        modified: Some(modified),
        ..Evidence::default()
    };
    if !evidence.has_end {
        io::Seek::rewind(file)?;
        evidence.format = Head::read(file)?.format;
        evidence.process_runs = last
            .as_ref()
            .and_then(process_of)
            .map(|id| process::ran_before(id, modified));
    }
    Ok(evidence)
}

/// The process number in `<label>-<pid>-<nonce>` or, in older logs, `<label>-<pid>`.
fn process_of(envelope: &Envelope) -> Option<u32> {
    let id = &*envelope.session_id;
    let (head, last) = id.rsplit_once('-')?;
    let is_nonce = last.len() == 12 && last.bytes().all(|byte| byte.is_ascii_hexdigit());
    let number = match head.rsplit_once('-') {
        Some((_, number)) if is_nonce && number.parse::<u32>().is_ok() => number,
        _ => last,
    };
    number.parse().ok().filter(|id| *id > 0)
}

#[cfg(test)]
#[path = "liveness_tests.rs"]
mod tests;
