//! Which logs are old enough to go (history.md 7). Choosing only; `PrunePlan::remove` looks again.

use std::{fs, io, path::Path, path::PathBuf, sync::Arc, time::Duration};

use rustix::fs::OFlags;

use super::{
    catalogue::{LogFile, names},
    head::{self, Head},
    liveness::{Liveness, gather, liveness_of, try_lock},
};
use crate::base::Timestamp;

/// A log of which nothing is known is spared this long after its last change (history.md 6.2).
const SPARED: Duration = Duration::from_hours(24);

/// What would be removed and what is kept.
#[derive(Clone, Debug, Default)]
pub struct PrunePlan {
    /// Old enough, oldest first.
    pub candidates: Vec<LogFile>,
    /// Old, but a session is or may be recorded there.
    pub kept_live: usize,
    /// Symlinks, FIFOs, directories and the like.
    pub not_regular: usize,
}

/// What became of the candidates; a log that had vanished already is in none of the lists.
#[derive(Debug, Default)]
pub struct PruneReport {
    /// Gone.
    pub removed: Vec<LogFile>,
    /// Changed since they were chosen, or recorded now.
    pub kept: Vec<Arc<PathBuf>>,
    /// The system refused.
    pub failed: Vec<(Arc<PathBuf>, io::Error)>,
}

/// Chooses the logs last modified before `now` − `older_than`, of these labels if any are given.
///
/// # Errors
/// When the directory cannot be read.
pub fn plan_prune(
    sessions: &Path,
    older_than: Duration,
    labels: &[String],
    now: Timestamp,
) -> Result<PrunePlan, super::Error> {
    let mut plan = PrunePlan::default();
    for path in names(sessions)? {
        let meta = match fs::symlink_metadata(&path) {
            Ok(meta) if meta.is_file() => meta,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            _ => {
                plan.not_regular += 1;
                continue;
            }
        };
        let log = LogFile::of(path, &meta);
        if !is_older(&log, older_than, now) || !has_label(&log, labels) {
            continue;
        }
        if spares(liveness_of(&log.path, now), &log, now) {
            plan.kept_live += 1;
        } else {
            plan.candidates.push(log);
        }
    }
    plan.candidates
        .sort_by(|left, right| (left.modified, &left.path).cmp(&(right.modified, &right.path)));
    Ok(plan)
}

impl PrunePlan {
    /// Removes the candidates, each after a new examination: same file, still old, not recorded.
    pub fn remove(&self, older_than: Duration, now: Timestamp) -> PruneReport {
        let mut report = PruneReport::default();
        for log in &self.candidates {
            match remove(log, older_than, now) {
                Ok(true) => report.removed.push(log.clone()),
                Ok(false) => report.kept.push(Arc::clone(&log.path)),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => report.failed.push((Arc::clone(&log.path), error)),
            }
        }
        report
    }
}

/// False when the log is kept. Its lock is held from the examination until it is gone, so that no
/// recorder can begin in between (log-format 3.8).
fn remove(log: &LogFile, older_than: Duration, now: Timestamp) -> io::Result<bool> {
    let is_same = |meta: &fs::Metadata| {
        let present = LogFile::of(log.path.to_path_buf(), meta);
        meta.is_file() && present.identity == log.identity && is_older(&present, older_than, now)
    };
    if !is_same(&fs::symlink_metadata(&*log.path)?) {
        return Ok(false);
    }
    let mut file = head::open(&log.path, OFlags::NOFOLLOW)?;
    let locked = try_lock(&file);
    if locked == Some(true) || !is_same(&file.metadata()?) {
        return Ok(false);
    }
    let mut evidence = gather(&mut file)?;
    evidence.is_locked = locked;
    if spares(evidence.judge(now), log, now) || !is_same(&fs::symlink_metadata(&*log.path)?) {
        return Ok(false);
    }
    fs::remove_file(&*log.path)?;
    drop(file);
    Ok(true)
}

fn is_older(log: &LogFile, span: Duration, now: Timestamp) -> bool {
    let span = i64::try_from(span.as_nanos()).unwrap_or(i64::MAX);
    now.nanos_since(log.modified) > span
}

fn spares(liveness: Liveness, log: &LogFile, now: Timestamp) -> bool {
    match liveness {
        Liveness::Recording => true,
        Liveness::Unknown => !is_older(log, SPARED, now),
        Liveness::Ended | Liveness::EndedWithoutRecord => false,
    }
}

/// True when no label is asked for, or the log begins with one of them.
fn has_label(log: &LogFile, labels: &[String]) -> bool {
    if labels.is_empty() {
        return true;
    }
    let label = head::open(&log.path, OFlags::NOFOLLOW)
        .and_then(|mut file| Head::read(&mut file))
        .ok()
        .and_then(|head| head.label);
    label.is_some_and(|label| labels.iter().any(|wanted| **wanted == *label))
}

#[cfg(test)]
#[path = "prune_tests.rs"]
mod tests;
