//! What is known of a host's logs: which are chosen, which are read next, what is told of them.
//! Pure: time comes in as an argument.

use std::{
    collections::{BTreeSet, HashMap, VecDeque},
    sync::Arc,
};

use super::{
    listing::{FarListing, FarLog},
    names::{fits, stem},
};
use crate::{
    base::{ByteCount, Timestamp},
    feed::{Follower, SessionNews},
    record::{HostName, Liveness, SessionKey},
};

/// A log that changed within this time is looked at often, and counts as being recorded.
const FRESH_SECONDS: i64 = 60;
/// Logs above this size are read in turns.
pub(super) const LARGE: u64 = 64 << 20;
/// Logs up to this size are opened without waiting for each other.
pub(super) const SMALL: u64 = 1 << 20;
/// Logs that are read at a time, and small ones.
const LARGE_AT_ONCE: usize = 4;
const SMALL_AT_ONCE: usize = 32;

/// Path of a log, as `Place` and `SessionNews` share it.
pub(super) type LogPath = Arc<std::path::PathBuf>;

/// One log.
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent facts of one log"
)]
#[derive(Debug)]
pub(super) struct Log {
    pub(super) name: Arc<str>,
    /// Absolute path on the host.
    pub(super) path: LogPath,
    /// `None` while a job reads with it.
    pub(super) follower: Option<Follower>,
    pub(super) size: u64,
    /// By the remote clock, seconds.
    pub(super) modified: i64,
    /// It is loaded or being loaded.
    pub(super) chosen: bool,
    /// All that it held when it was listed was read.
    pub(super) loaded: bool,
    /// Sessions whose frames were seen in it, in their order.
    pub(super) sessions: Vec<Arc<str>>,
    /// The last frame of its last run was an end record.
    pub(super) ended: bool,
    pub(super) damaged: u64,
    pub(super) removed: bool,
    /// When growth was noticed that had not come through the socket.
    pub(super) unseen_growth: Option<Timestamp>,
    /// When it last grew, by our clock.
    pub(super) grew: Option<Timestamp>,
    /// Bytes that were read of it.
    pub(super) read: u64,
    /// It could not be read as it is: it is tried again when it changes.
    refused: bool,
    told: Option<Told>,
}

/// What was said last of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Told {
    size: u64,
    modified: i64,
    loaded: bool,
    liveness: Liveness,
    damaged: u64,
    sessions: usize,
}

/// All logs of one host.
#[derive(Debug)]
pub(super) struct Logs {
    host: HostName,
    sessions_dir: Arc<str>,
    by_name: HashMap<Arc<str>, Log>,
    /// Names of the last listing, newest first.
    order: Vec<Arc<str>>,
    by_session: HashMap<Arc<str>, Arc<str>>,
    limit: Option<usize>,
    wanted: Vec<String>,
    skipped: usize,
    queue: VecDeque<Arc<str>>,
    queued: BTreeSet<Arc<str>>,
    /// Names that were queued since they were asked for.
    new: Vec<Arc<str>>,
    whole: Vec<Arc<str>>,
    small_reading: usize,
    large_reading: usize,
    /// Producers that are connected to our socket, by session.
    producers: HashMap<Arc<str>, i32>,
}

impl Logs {
    pub(super) fn new(host: HostName, limit: Option<usize>, wanted: Vec<String>) -> Self {
        Self {
            host,
            sessions_dir: "".into(),
            by_name: HashMap::new(),
            order: Vec::new(),
            by_session: HashMap::new(),
            limit,
            wanted,
            skipped: 0,
            queue: VecDeque::new(),
            queued: BTreeSet::new(),
            new: Vec::new(),
            whole: Vec::new(),
            small_reading: 0,
            large_reading: 0,
            producers: HashMap::new(),
        }
    }

    /// Where the logs lie; another place than before forgets what was known.
    pub(super) fn set_directory(&mut self, sessions_dir: &str) {
        if *self.sessions_dir == *sessions_dir {
            return;
        }
        self.sessions_dir = sessions_dir.into();
        self.by_name.clear();
        self.order.clear();
        self.by_session.clear();
    }

    pub(super) fn key(&self, session: &Arc<str>) -> SessionKey {
        SessionKey {
            host: self.host.clone(),
            id: Arc::clone(session),
        }
    }

    pub(super) fn get(&self, name: &str) -> Option<&Log> {
        self.by_name.get(name)
    }

    pub(super) fn get_mut(&mut self, name: &str) -> Option<&mut Log> {
        self.by_name.get_mut(name)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Log> {
        self.by_name.values()
    }

    /// Totals: logs there, chosen ones, names that are not opened.
    pub(super) fn totals(&self) -> (usize, usize, usize) {
        let there = self.by_name.values().filter(|log| !log.removed);
        let chosen = there.clone().filter(|log| log.chosen).count();
        (there.count(), chosen, self.skipped)
    }

    /// True when frames of this session are wanted.
    pub(super) fn wants(&self, session: &str) -> bool {
        self.wanted.is_empty() || self.wanted.iter().any(|wanted| fits(wanted, session))
    }

    /// The log of a session: the one in which it was seen, else the one of its name.
    pub(super) fn log_of(&self, session: &str) -> Option<Arc<str>> {
        // A later run lies in the same file (log-format 9.4.2).
        let base = session.split_once('#').map_or(session, |(base, _)| base);
        let seen = self
            .by_session
            .get(session)
            .or_else(|| self.by_session.get(base));
        if let Some(name) = seen {
            return Some(Arc::clone(name));
        }
        let name = format!("{base}.jsonl");
        self.by_name
            .get_key_value(name.as_str())
            .filter(|(_, log)| !log.removed)
            .map(|(name, _)| Arc::clone(name))
    }

    /// Takes a listing: chooses, notices growth, queues what has to be read. Answers the names that
    /// went away.
    pub(super) fn listed(&mut self, listing: &FarListing, now: Timestamp) -> Vec<Arc<str>> {
        self.skipped = listing.skipped;
        self.order = listing
            .logs
            .iter()
            .map(|log| Arc::clone(&log.name))
            .collect();
        let mut seen = BTreeSet::new();
        for far in &listing.logs {
            seen.insert(Arc::clone(&far.name));
            self.note(far, now);
        }
        let gone: Vec<_> = self
            .by_name
            .values()
            .filter(|log| !log.removed && !seen.contains(&log.name))
            .map(|log| Arc::clone(&log.name))
            .collect();
        for name in &gone {
            if let Some(log) = self.by_name.get_mut(name) {
                log.removed = true;
            }
        }
        self.choose();
        gone
    }

    /// Takes one size that was asked for.
    pub(super) fn note(&mut self, far: &FarLog, now: Timestamp) {
        let path = || Arc::new(format!("{}/{}", self.sessions_dir, far.name).into());
        let known = self.by_name.contains_key(&far.name);
        let log = self
            .by_name
            .entry(Arc::clone(&far.name))
            .or_insert_with(|| Log::new(far, path()));
        let changed = !known || log.removed || log.size != far.size || log.modified != far.modified;
        log.removed = false;
        if known && log.size != far.size {
            log.grew = Some(now);
            // Seen to grow: it is loaded whatever the limit (remote.md 9.1).
            log.chosen = true;
        }
        log.size = far.size;
        log.modified = far.modified;
        log.refused &= !changed;
        if log.chosen && (changed || !log.loaded) {
            let name = Arc::clone(&far.name);
            self.check(&name);
        }
    }

    /// Chooses the newest logs up to the limit.
    fn choose(&mut self) {
        let limit = self.limit.unwrap_or(usize::MAX);
        let wanted = std::mem::take(&mut self.wanted);
        let names: Vec<_> = self
            .order
            .iter()
            .filter(|name| {
                wanted.is_empty() || wanted.iter().any(|wanted| fits(wanted, stem(name)))
            })
            .take(if wanted.is_empty() { limit } else { usize::MAX })
            .cloned()
            .collect();
        self.wanted = wanted;
        for name in names {
            self.load(&name);
        }
    }

    /// Loads a log that was not chosen so far.
    pub(super) fn load(&mut self, name: &Arc<str>) {
        if let Some(log) = self.by_name.get_mut(name)
            && !log.chosen
        {
            log.chosen = true;
            self.check(name);
        }
    }

    /// Loads that many more of the older logs; `None`: all.
    pub(super) fn load_older(&mut self, more: Option<usize>) {
        self.limit = match (self.limit, more) {
            (Some(limit), Some(more)) => Some(limit.saturating_add(more)),
            _ => None,
        };
        self.choose();
    }

    /// Tells the follower the size, and queues the log if there is something to read.
    fn check(&mut self, name: &Arc<str>) {
        let Some(log) = self.by_name.get_mut(name) else {
            return;
        };
        if log.refused {
            return;
        }
        let Some(follower) = &mut log.follower else {
            // A job reads it; it is looked at again when the job is done.
            return;
        };
        follower.grown(log.size, None);
        if follower.step() == crate::feed::FollowStep::Idle {
            if !std::mem::replace(&mut log.loaded, true) {
                self.whole.push(Arc::clone(name));
            }
            return;
        }
        if self.queued.insert(Arc::clone(name)) {
            self.queue.push_back(Arc::clone(name));
            self.new.push(Arc::clone(name));
        }
    }

    /// Logs that turned out to be read to their end without another read, since the last call.
    pub(super) fn take_whole(&mut self) -> Vec<Arc<str>> {
        std::mem::take(&mut self.whole)
    }

    /// What was queued since the last call.
    pub(super) fn take_new(&mut self) -> Vec<Arc<str>> {
        std::mem::take(&mut self.new)
    }

    /// Reads a log whatever its size says (`NeedLog`, dropped lines); true when a read follows.
    pub(super) fn check_now(&mut self, name: &Arc<str>) -> bool {
        let Some(log) = self.by_name.get_mut(name) else {
            return false;
        };
        log.chosen = true;
        if let Some(follower) = &mut log.follower {
            follower.distrust();
        }
        self.check(name);
        self.first(name);
        self.queued.contains(name) || self.is_reading(name)
    }

    pub(super) fn is_reading(&self, name: &str) -> bool {
        self.by_name
            .get(name)
            .is_some_and(|log| log.follower.is_none())
    }

    /// Moves a queued log to the front.
    pub(super) fn first(&mut self, name: &Arc<str>) {
        if self.queued.contains(name) {
            self.queue.retain(|queued| queued != name);
            self.queue.push_front(Arc::clone(name));
        }
    }

    /// The next log to read, with its follower, if there is room; true when others wait.
    pub(super) fn start(&mut self) -> Option<Reading> {
        let at = self.queue.iter().position(|name| {
            self.by_name.get(name).is_none_or(|log| {
                if log.size <= SMALL {
                    self.small_reading < SMALL_AT_ONCE
                } else {
                    self.large_reading < LARGE_AT_ONCE
                }
            })
        })?;
        let name = self.queue.remove(at)?;
        self.queued.remove(&name);
        let log = self.by_name.get_mut(&name)?;
        let follower = log.follower.take()?;
        let small = log.size <= SMALL;
        if small {
            self.small_reading += 1;
        } else {
            self.large_reading += 1;
        }
        Some(Reading {
            in_turns: log.size > LARGE && !self.queue.is_empty(),
            path: Arc::clone(&log.path),
            name,
            follower,
            small,
        })
    }

    /// A job is done with a log; true when it was read to the size that is known now.
    pub(super) fn finished(&mut self, name: &Arc<str>, follower: Follower, small: bool) -> bool {
        if small {
            self.small_reading = self.small_reading.saturating_sub(1);
        } else {
            self.large_reading = self.large_reading.saturating_sub(1);
        }
        let Some(log) = self.by_name.get_mut(name) else {
            return true;
        };
        log.follower = Some(follower);
        self.check(name);
        !self.queued.contains(name)
    }

    /// A job ended early. `refused`: because of this log, which is not tried again before it
    /// changes; else because of the session, and it is tried again after the next listing.
    pub(super) fn failed(
        &mut self,
        name: &Arc<str>,
        follower: Follower,
        small: bool,
        refused: bool,
    ) {
        self.finished(name, follower, small);
        if self.queued.remove(name) {
            self.queue.retain(|queued| queued != name);
        }
        if let Some(log) = self.by_name.get_mut(name) {
            log.loaded = false;
            log.refused = refused;
        }
    }

    /// Nothing is queued or being read.
    pub(super) fn is_idle(&self) -> bool {
        self.queue.is_empty() && self.reading() == 0
    }

    pub(super) const fn reading(&self) -> usize {
        self.small_reading + self.large_reading
    }

    /// The link is down: nothing is loaded for certain any more.
    pub(super) fn link_down(&mut self) {
        self.queue.clear();
        self.queued.clear();
        self.producers.clear();
        for log in self.by_name.values_mut() {
            log.loaded = false;
        }
    }

    /// A job never came back with its follower.
    pub(super) fn recover(&mut self) {
        self.small_reading = 0;
        self.large_reading = 0;
        for log in self.by_name.values_mut() {
            log.follower.get_or_insert_with(Follower::new);
        }
    }

    /// A frame of this session was seen in this log. True when it is the first.
    pub(super) fn saw(&mut self, name: &Arc<str>, session: &Arc<str>) -> bool {
        let Some(log) = self.by_name.get_mut(name) else {
            return false;
        };
        if log.sessions.last() == Some(session) || self.by_session.get(session) == Some(name) {
            return false;
        }
        log.sessions.push(Arc::clone(session));
        self.by_session
            .insert(Arc::clone(session), Arc::clone(name));
        true
    }

    /// A log grew, and none of it came through the socket.
    pub(super) fn raise_doubt(&mut self, name: &Arc<str>, now: Timestamp) {
        if let Some(log) = self.by_name.get_mut(name) {
            log.unseen_growth.get_or_insert(now);
        }
    }

    /// True when a doubt is older than this; then all of them are settled by one test.
    pub(super) fn clear_doubts(&mut self, now: Timestamp, age_nanos: i64) -> bool {
        let old = self.by_name.values().any(|log| {
            log.unseen_growth
                .is_some_and(|since| now.nanos_since(since) > age_nanos)
        });
        if old {
            for log in self.by_name.values_mut() {
                log.unseen_growth = None;
            }
        }
        old
    }

    /// A recorder connected to our socket or went away.
    pub(super) fn producer(&mut self, session: &Arc<str>, change: i32) {
        let count = self.producers.entry(Arc::clone(session)).or_insert(0);
        *count += change;
        if *count <= 0 {
            self.producers.remove(session);
        }
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
        let names: Vec<_> = self.order.clone();
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
            amounts.bytes_total += log.size;
            if log.loaded {
                amounts.bytes_done += log.size;
            } else {
                amounts.bytes_done += log.read.min(log.size);
            }
        }
        amounts
    }
}

/// How far loading is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Amounts {
    pub(super) sessions_done: usize,
    pub(super) sessions_total: usize,
    pub(super) bytes_done: u64,
    pub(super) bytes_total: u64,
}

/// A log that a job is to read.
#[derive(Debug)]
pub(super) struct Reading {
    pub(super) name: Arc<str>,
    pub(super) path: LogPath,
    pub(super) follower: Follower,
    /// Give the turn back after a few megabytes.
    pub(super) in_turns: bool,
    pub(super) small: bool,
}

impl Log {
    fn new(far: &FarLog, path: LogPath) -> Self {
        Self {
            name: Arc::clone(&far.name),
            path,
            follower: Some(Follower::new()),
            size: far.size,
            modified: far.modified,
            chosen: false,
            loaded: false,
            sessions: Vec::new(),
            ended: false,
            damaged: 0,
            removed: false,
            unseen_growth: None,
            grew: None,
            read: 0,
            refused: false,
            told: None,
        }
    }
}

#[cfg(test)]
#[path = "logs_tests.rs"]
mod tests;
