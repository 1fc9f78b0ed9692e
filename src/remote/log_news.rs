//! What is told of a host's logs: how many there are, which are being recorded, what changed, how far
//! loading is. Pure: time comes in as an argument.

use std::sync::Arc;

use super::{
    logs::{Log, Logs},
    names::stem,
};
use crate::{
    base::{ByteCount, Timestamp},
    feed::SessionNews,
    record::Liveness,
};

/// A log that changed within this time is looked at often, and counts as being recorded.
const FRESH_SECONDS: i64 = 60;

/// What was said last of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Told {
    size: u64,
    modified: i64,
    loaded: bool,
    liveness: Liveness,
    damaged: u64,
    sessions: usize,
}

/// How far loading is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Amounts {
    pub(super) sessions_done: usize,
    pub(super) sessions_total: usize,
    pub(super) bytes_done: u64,
    pub(super) bytes_total: u64,
}

impl Logs {
    /// Totals: logs there, chosen ones, names that are not opened.
    pub(super) fn totals(&self) -> (usize, usize, usize) {
        let there = self.by_name.values().filter(|log| !log.removed);
        let chosen = there.clone().filter(|log| log.chosen).count();
        (there.count(), chosen, self.skipped)
    }

    /// Names whose sizes are asked for often: what changed within the last minute.
    pub(super) fn fresh(&self, now: Timestamp, remote_now: Option<i64>) -> Vec<Arc<str>> {
        let newest = self.by_name.values().map(|log| log.modified).max();
        let remote_now = remote_now.or(newest).unwrap_or(0);
        self.by_name
            .values()
            .filter(|log| !log.removed && !log.ended)
            .filter(|log| {
                let grew = log
                    .grew
                    .is_some_and(|grew| now.nanos_since(grew) < FRESH_SECONDS * 1_000_000_000);
                grew || log.modified >= remote_now - FRESH_SECONDS
            })
            .map(|log| Arc::clone(&log.name))
            .collect()
    }

    fn liveness(&self, log: &Log, remote_now: Option<i64>) -> Liveness {
        if log.ended {
            return Liveness::Ended;
        }
        let connected = log
            .sessions
            .iter()
            .any(|session| self.producers.contains_key(session));
        let fresh = remote_now.is_some_and(|now| log.modified >= now - FRESH_SECONDS);
        if connected || fresh {
            Liveness::Recording
        } else {
            Liveness::Unknown
        }
    }

    /// What changed since it was told last.
    pub(super) fn news(&mut self, remote_now: Option<i64>) -> Vec<SessionNews> {
        let names: Vec<_> = self.order.iter().chain(&self.named).cloned().collect();
        let mut news = Vec::new();
        for name in names {
            self.news_of(&name, remote_now, &mut news);
        }
        news
    }

    /// What changed of one log.
    pub(super) fn news_of(
        &mut self,
        name: &Arc<str>,
        remote_now: Option<i64>,
        news: &mut Vec<SessionNews>,
    ) {
        let Some(log) = self.by_name.get(name).filter(|log| !log.removed) else {
            return;
        };
        let told = Told {
            size: log.size,
            modified: log.modified,
            loaded: log.loaded,
            liveness: self.liveness(log, remote_now),
            damaged: log.damaged,
            sessions: log.sessions.len(),
        };
        if log.told.as_ref() == Some(&told) {
            return;
        }
        let own: Arc<str>;
        let ids: &[Arc<str>] = if log.sessions.is_empty() {
            own = stem(name).into();
            std::slice::from_ref(&own)
        } else {
            &log.sessions
        };
        let modified = log.modified.checked_mul(1_000_000_000);
        news.extend(ids.iter().map(|id| SessionNews {
            key: self.key(id),
            log: Some(Arc::clone(&log.path)),
            size: ByteCount(log.size),
            modified: modified.map(Timestamp::from_nanos),
            loaded: log.loaded,
            liveness: told.liveness,
            damaged: log.damaged,
        }));
        if let Some(log) = self.by_name.get_mut(name) {
            log.told = Some(told);
        }
    }

    /// Bytes that were read and that are to be read, of the chosen logs; sessions likewise.
    pub(super) fn amounts(&self) -> Amounts {
        let mut amounts = Amounts::default();
        for log in self
            .by_name
            .values()
            .filter(|log| log.chosen && !log.removed)
        {
            amounts.sessions_total += 1;
            amounts.sessions_done += usize::from(log.loaded);
            // Sizes are what the host says: their sum may be beyond all numbers.
            let done = if log.loaded {
                log.size
            } else {
                log.read.min(log.size)
            };
            amounts.bytes_total = amounts.bytes_total.saturating_add(log.size);
            amounts.bytes_done = amounts.bytes_done.saturating_add(done);
        }
        amounts
    }
}
