//! What is known of a host's logs: which are there, which are chosen, and what is read of them. What
//! is told of them is in `log_news`. Pure: time comes in as an argument.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use super::{
    listing::{FarListing, FarLog},
    log_news::Told,
    names::{fits, stem},
    read_queue::ReadQueue,
};
use crate::{
    base::Timestamp,
    feed::Follower,
    record::{HostName, SessionKey},
};

/// Logs above this size are read in turns.
pub(super) const LARGE: u64 = 64 << 20;
/// Sessions of one log that are told of by name; the frames of all are shown.
const SESSIONS_IN_A_LOG: usize = 4_096;

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
    /// When it last grew, by our clock.
    pub(super) grew: Option<Timestamp>,
    /// Bytes that were read of it.
    pub(super) read: u64,
    /// It lies outside the directory: lines of this session alone are taken from it.
    pub(super) only: Option<Arc<str>>,
    /// The merge was told that it is read or will be soon.
    pub(super) announced: bool,
    /// Its size and kind were told by the host; nothing is concluded before.
    is_seen: bool,
    /// It could not be read as it is: it is tried again when it changes.
    refused: bool,
    pub(super) told: Option<Told>,
}

/// All logs of one host.
#[derive(Debug)]
pub(super) struct Logs {
    host: HostName,
    sessions_dir: Arc<str>,
    pub(super) by_name: HashMap<Arc<str>, Log>,
    /// Names of the last listing, newest first.
    pub(super) order: Vec<Arc<str>>,
    /// Names of logs that no listing tells of, and of those that turned out to be none.
    pub(super) named: Vec<Arc<str>>,
    pub(super) barred: HashSet<Arc<str>>,
    pub(super) by_session: HashMap<Arc<str>, Arc<str>>,
    limit: Option<usize>,
    wanted: Vec<String>,
    pub(super) skipped: usize,
    pub(super) queue: ReadQueue,
    /// Names that were queued since they were asked for.
    new: Vec<Arc<str>>,
    whole: Vec<Arc<str>>,
    /// Producers that are connected to our socket, by session.
    pub(super) producers: HashMap<Arc<str>, i32>,
    /// When growth was noticed that had not come through the socket, by log.
    doubts: HashMap<Arc<str>, Timestamp>,
}

impl Logs {
    pub(super) fn new(host: HostName, limit: Option<usize>, wanted: Vec<String>) -> Self {
        Self {
            host,
            sessions_dir: "".into(),
            by_name: HashMap::new(),
            order: Vec::new(),
            named: Vec::new(),
            barred: HashSet::new(),
            by_session: HashMap::new(),
            limit,
            wanted,
            skipped: 0,
            queue: ReadQueue::default(),
            new: Vec::new(),
            whole: Vec::new(),
            producers: HashMap::new(),
            doubts: HashMap::new(),
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
        self.named.clear();
        self.barred.clear();
        self.by_session.clear();
        self.queue.clear();
        self.doubts.clear();
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
        let mut seen = HashSet::new();
        for far in &listing.logs {
            seen.insert(Arc::clone(&far.name));
            self.note(far, now);
        }
        let gone: Vec<_> = self
            .by_name
            .values()
            .filter(|log| !log.removed && log.only.is_none() && !seen.contains(&log.name))
            .map(|log| Arc::clone(&log.name))
            .collect();
        for name in &gone {
            self.remove(name);
        }
        self.choose();
        gone
    }

    /// A log went away. What was read of it is remembered; a name alone is not, so that a directory
    /// whose names change for ever costs no memory.
    fn remove(&mut self, name: &Arc<str>) {
        let Some(log) = self.by_name.get_mut(name) else {
            return;
        };
        log.removed = true;
        if log.sessions.is_empty() && log.read == 0 && log.follower.is_some() {
            // Where it waits to be read it is passed over.
            self.by_name.remove(name);
            self.doubts.remove(name);
        }
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
        log.is_seen = true;
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
        if log.refused || !log.is_seen {
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
        if self.queue.push(name, log.size) {
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
        self.is_awaited(name)
    }

    /// It waits to be read or is being read.
    pub(super) fn is_awaited(&self, name: &str) -> bool {
        self.queue.contains(name) || self.is_reading(name)
    }

    fn is_reading(&self, name: &str) -> bool {
        self.by_name
            .get(name)
            .is_some_and(|log| log.follower.is_none())
    }

    /// Moves a queued log to the front.
    pub(super) fn first(&mut self, name: &str) {
        self.queue.first(name);
    }

    /// The next log to read, with its follower, if there is room.
    pub(super) fn start(&mut self) -> Option<Reading> {
        loop {
            let (name, small) = self.queue.start()?;
            let others_wait = !self.queue.is_empty();
            let log = self.by_name.get_mut(&name);
            let Some((log, follower)) =
                log.and_then(|log| log.follower.take().map(|follower| (log, follower)))
            else {
                self.queue.done(small);
                continue;
            };
            return Some(Reading {
                in_turns: log.size > LARGE && others_wait,
                begins_with_envelope: log.only.is_some() && follower.confirmed() == 0,
                path: Arc::clone(&log.path),
                name,
                follower,
                small,
            });
        }
    }

    /// A job is done with a log; true when it was read to the size that is known now.
    pub(super) fn finished(&mut self, name: &Arc<str>, follower: Follower, small: bool) -> bool {
        self.queue.done(small);
        let Some(log) = self.by_name.get_mut(name) else {
            return true;
        };
        log.follower = Some(follower);
        self.check(name);
        !self.queue.contains(name)
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
        self.queue.done(small);
        if let Some(log) = self.by_name.get_mut(name) {
            log.follower = Some(follower);
            log.loaded = false;
            log.refused = refused;
        }
    }

    /// Nothing is queued or being read.
    pub(super) fn is_idle(&self) -> bool {
        self.queue.is_empty() && self.reading() == 0
    }

    pub(super) const fn reading(&self) -> usize {
        self.queue.reading()
    }

    /// The link is down: nothing is loaded for certain any more.
    pub(super) fn link_down(&mut self) {
        self.queue.clear();
        self.producers.clear();
        for log in self.by_name.values_mut() {
            log.loaded = false;
        }
    }

    /// A job never came back with its follower.
    pub(super) fn recover(&mut self) {
        self.queue.forget_reading();
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
        if log.sessions.len() >= SESSIONS_IN_A_LOG {
            return false;
        }
        log.sessions.push(Arc::clone(session));
        self.by_session
            .insert(Arc::clone(session), Arc::clone(name));
        true
    }

    /// A log grew, and none of it came through the socket.
    pub(super) fn raise_doubt(&mut self, name: &Arc<str>, now: Timestamp) {
        self.doubts.entry(Arc::clone(name)).or_insert(now);
    }

    /// A line of a log came through the socket.
    pub(super) fn settle_doubt(&mut self, name: &str) {
        self.doubts.remove(name);
    }

    /// True when a doubt is older than this; then all of them are settled by one test.
    pub(super) fn clear_doubts(&mut self, now: Timestamp, age_nanos: i64) -> bool {
        let mut doubts = self.doubts.values();
        let old = doubts.any(|since| now.nanos_since(*since) > age_nanos);
        if old {
            self.doubts.clear();
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
}

/// A log that a job is to read.
#[derive(Debug)]
pub(super) struct Reading {
    pub(super) name: Arc<str>,
    pub(super) path: LogPath,
    pub(super) follower: Follower,
    /// Give the turn back after a few megabytes.
    pub(super) in_turns: bool,
    /// It is read only if it begins with an envelope.
    pub(super) begins_with_envelope: bool,
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
            grew: None,
            read: 0,
            only: None,
            announced: false,
            is_seen: true,
            refused: false,
            told: None,
        }
    }

    /// A log of one session outside the directory, of which nothing but its path is known.
    pub(super) fn named(name: &Arc<str>, path: &str, session: &Arc<str>) -> Self {
        let unknown = FarLog {
            name: Arc::clone(name),
            size: 0,
            modified: 0,
        };
        Self {
            chosen: true,
            sessions: vec![Arc::clone(session)],
            only: Some(Arc::clone(session)),
            announced: true,
            is_seen: false,
            ..Self::new(&unknown, Arc::new(path.into()))
        }
    }
}

#[cfg(test)]
#[path = "logs_tests.rs"]
mod tests;
