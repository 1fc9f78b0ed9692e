//! The table of local logs: what the directory holds, what was chosen, what was read.

use std::{
    collections::{BTreeSet, HashMap, VecDeque},
    path::PathBuf,
    sync::Arc,
};

use super::piece::{LogPath, LogStat};
use crate::{
    base::{ByteCount, Timestamp},
    feed::{Follower, SessionNews},
    record::{Catalogue, HostName, Liveness, SessionKey},
};

/// A log that changed within this time may change again soon (remote.md 9.1).
const RECENT_NANOS: i64 = 60_000_000_000;

/// How far the reading of a log is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// Only listed.
    Listed,
    /// Chosen; waits for its turn.
    Queued,
    /// A piece of it is being read.
    Reading,
    /// Read to its end, as of that size.
    Read { size: u64 },
    /// It cannot be read.
    Unreadable,
}

/// One log.
#[derive(Debug)]
pub(super) struct Log {
    pub(super) path: LogPath,
    pub(super) stat: LogStat,
    pub(super) stage: Stage,
    /// Away while a piece is being read.
    pub(super) follower: Option<Follower>,
    /// Sessions that were found in it.
    pub(super) keys: BTreeSet<SessionKey>,
    /// Sessions that wait for an answer from it.
    pub(super) askers: Vec<SessionKey>,
    /// It came after the hub had started, so that its frames are live.
    pub(super) fresh: bool,
    /// It lies elsewhere: only lines of this session count (log-format 10.3.5).
    pub(super) only: Option<Arc<str>>,
    pub(super) liveness: Liveness,
    pub(super) damaged: u64,
    /// All lines that were there when it was listed were delivered.
    pub(super) loaded: bool,
    /// Look at it again as soon as the present piece ends.
    pub(super) again: bool,
    /// What was last told of it, and when.
    told: Option<(Told, Timestamp)>,
}

/// What makes a log worth telling about again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Told {
    size: u64,
    modified: Timestamp,
    loaded: bool,
    liveness: Liveness,
    damaged: u64,
}

/// All logs of this machine that the hub knows.
#[derive(Debug)]
pub(super) struct Logs {
    host: HostName,
    by_path: HashMap<LogPath, Log>,
    by_key: HashMap<SessionKey, LogPath>,
    /// Chosen logs in the order of their turns: those whose stage is `Queued`, by their own `Arc`.
    pub(super) queue: VecDeque<LogPath>,
    pub(super) skipped: usize,
}

impl Logs {
    pub(super) fn new(host: HostName) -> Self {
        Self {
            host,
            by_path: HashMap::new(),
            by_key: HashMap::new(),
            queue: VecDeque::new(),
            skipped: 0,
        }
    }

    /// Takes the first walk: the newest `limit` logs are chosen, oldest of them first.
    pub(super) fn begin(&mut self, catalogue: &Catalogue, limit: Option<usize>) {
        self.skipped = catalogue.skipped;
        let limit = limit.unwrap_or(usize::MAX);
        for (rank, file) in catalogue.logs.iter().enumerate() {
            let path = Arc::clone(&file.path);
            self.add(Arc::clone(&path), stat_of(file), false);
            if rank < limit {
                self.queue_last(&path);
            }
        }
        self.queue.make_contiguous().reverse();
    }

    /// Adds a log that is not chosen yet.
    pub(super) fn add(&mut self, path: LogPath, stat: LogStat, fresh: bool) {
        let key = self.key_of_name(&path);
        self.by_key.entry(key).or_insert_with(|| Arc::clone(&path));
        let log = Log {
            path: Arc::clone(&path),
            stat,
            stage: Stage::Listed,
            follower: Some(Follower::new()),
            keys: BTreeSet::new(),
            askers: Vec::new(),
            fresh,
            only: None,
            liveness: Liveness::Unknown,
            damaged: 0,
            loaded: false,
            again: false,
            told: None,
        };
        self.by_path.insert(path, log);
    }

    /// Takes a log out.
    pub(super) fn remove(&mut self, path: &PathBuf) -> Option<Log> {
        let name = self.key_of_name(path);
        let log = self.by_path.remove(path)?;
        for key in log.keys.iter().chain([&name]) {
            if self.by_key.get(key).is_some_and(|of| **of == *path) {
                self.by_key.remove(key);
            }
        }
        if log.stage == Stage::Queued {
            self.queue.retain(|queued| !Arc::ptr_eq(queued, &log.path));
        }
        Some(log)
    }

    pub(super) fn get_mut(&mut self, path: &PathBuf) -> Option<&mut Log> {
        self.by_path.get_mut(path)
    }

    pub(super) fn get(&self, path: &PathBuf) -> Option<&Log> {
        self.by_path.get(path)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Log> {
        self.by_path.values()
    }

    pub(super) fn len(&self) -> usize {
        self.by_path.len()
    }

    pub(super) fn chosen(&self) -> usize {
        let chosen = self.by_path.values();
        chosen.filter(|log| log.stage != Stage::Listed).count()
    }

    pub(super) fn unreadable(&self) -> usize {
        let logs = self.by_path.values();
        logs.filter(|log| log.stage == Stage::Unreadable).count()
    }

    /// The log that holds a session, or would by its name; a later run lies in the log of its id.
    pub(super) fn of_key(&self, key: &SessionKey) -> Option<LogPath> {
        let known = self.by_key.get(key).or_else(|| {
            let (id, run) = key.id.rsplit_once('#')?;
            run.parse::<u32>().ok()?;
            let host = key.host.clone();
            let base = SessionKey {
                host,
                id: id.into(),
            };
            self.by_key.get(&base)
        });
        known.cloned()
    }

    /// Notes that a log holds a session; true when that is new.
    pub(super) fn note_key(&mut self, path: &LogPath, key: &SessionKey) -> bool {
        let Some(log) = self.by_path.get_mut(path) else {
            return false;
        };
        if log.keys.contains(key) {
            return false;
        }
        log.keys.insert(key.clone());
        self.by_key.insert(key.clone(), Arc::clone(path));
        true
    }

    /// Chooses a log for reading, before all others.
    pub(super) fn queue_first(&mut self, path: &LogPath) {
        let Some(log) = self.by_path.get_mut(path) else {
            return;
        };
        let before = std::mem::replace(&mut log.stage, Stage::Queued);
        if before == Stage::Queued {
            self.queue.retain(|queued| !Arc::ptr_eq(queued, &log.path));
        }
        self.queue.push_front(Arc::clone(&log.path));
    }

    /// Chooses a log for reading, behind the others.
    pub(super) fn queue_last(&mut self, path: &LogPath) {
        let Some(log) = self.by_path.get_mut(path) else {
            return;
        };
        let before = std::mem::replace(&mut log.stage, Stage::Queued);
        if before != Stage::Queued {
            self.queue.push_back(Arc::clone(&log.path));
        }
    }

    /// The newest logs that were not chosen, oldest of them first.
    pub(super) fn newest_unchosen(&self, count: Option<usize>) -> Vec<LogPath> {
        let listed = self
            .by_path
            .values()
            .filter(|log| log.stage == Stage::Listed);
        let mut listed: Vec<_> = listed
            .map(|log| (log.stat.modified, Arc::clone(&log.path)))
            .collect();
        listed.sort_by(|one, two| two.0.cmp(&one.0).then_with(|| one.1.cmp(&two.1)));
        listed.truncate(count.unwrap_or(usize::MAX));
        listed.into_iter().rev().map(|(_, path)| path).collect()
    }

    /// Logs that changed within the last minute and were read.
    pub(super) fn recent(&self, now: Timestamp) -> Vec<LogPath> {
        let recent = self.by_path.values().filter(|log| {
            matches!(log.stage, Stage::Read { .. } | Stage::Reading)
                && now.nanos_since(log.stat.modified) < RECENT_NANOS
        });
        recent.map(|log| Arc::clone(&log.path)).collect()
    }

    /// Logs that were read and whose recorder may have gone without a word.
    pub(super) fn recording(&self) -> Vec<LogPath> {
        let read = self.by_path.values().filter(|log| {
            matches!(log.stage, Stage::Read { .. }) && log.liveness == Liveness::Recording
        });
        read.map(|log| Arc::clone(&log.path)).collect()
    }

    /// Logs that are only listed.
    pub(super) fn listed(&self) -> Vec<LogPath> {
        let listed = self
            .by_path
            .values()
            .filter(|log| log.stage == Stage::Listed);
        listed.map(|log| Arc::clone(&log.path)).collect()
    }

    /// The session that a log's name stands for until a line was read.
    pub(super) fn key_of_name(&self, path: &std::path::Path) -> SessionKey {
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        SessionKey {
            host: self.host.clone(),
            id: name.into(),
        }
    }
}

impl Log {
    /// What is to be told of it now, if anything changed since it was told. Growth alone is told
    /// at most once a second.
    pub(super) fn news(&mut self, name: SessionKey, now: Timestamp) -> Vec<SessionNews> {
        let told = Told {
            size: self.stat.size,
            modified: self.stat.modified,
            loaded: self.loaded,
            liveness: self.liveness,
            damaged: self.damaged,
        };
        if let Some((before, at)) = self.told {
            let growth_only = Told {
                size: told.size,
                modified: told.modified,
                ..before
            };
            let soon = now.nanos_since(at) < 1_000_000_000;
            if before == told || (growth_only == told && soon) {
                return Vec::new();
            }
        }
        self.told = Some((told, now));
        if self.keys.is_empty() {
            return vec![self.news_of(name)];
        }
        let keys = self.keys.iter().cloned();
        keys.map(|key| self.news_of(key)).collect()
    }

    /// What is to be told of one of its sessions.
    pub(super) fn news_of(&self, key: SessionKey) -> SessionNews {
        SessionNews {
            key,
            log: Some(Arc::clone(&self.path)),
            size: ByteCount(self.stat.size),
            modified: Some(self.stat.modified),
            loaded: self.loaded,
            liveness: self.liveness,
            damaged: self.damaged,
        }
    }
}

/// A walk's entry as a look at one log gives it.
pub(super) const fn stat_of(file: &crate::record::LogFile) -> LogStat {
    LogStat {
        size: file.size,
        modified: file.modified,
        identity: file.identity,
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;
    use crate::record::LogFile;

    fn path(name: i64) -> LogPath {
        Arc::new(PathBuf::from(format!("/state/sessions/s-{name}.jsonl")))
    }

    /// Logs of these names, the newest first, all chosen.
    fn chosen(names: impl Iterator<Item = i64>) -> Logs {
        let file = |name| LogFile {
            path: path(name),
            size: 1,
            modified: Timestamp::from_nanos(name),
            identity: (1, 1),
        };
        let catalogue = Catalogue {
            logs: names.map(file).collect(),
            ..Catalogue::default()
        };
        let mut logs = Logs::new(HostName::local());
        logs.begin(&catalogue, None);
        logs
    }

    #[test]
    fn a_log_has_one_turn_and_a_removed_one_none() {
        let mut logs = chosen((1..=4).rev());
        let turns = |logs: &Logs| {
            let names = logs.queue.iter().map(|path| path.file_stem().unwrap());
            names
                .map(|name| name.to_string_lossy().into_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(turns(&logs), ["s-1", "s-2", "s-3", "s-4"]);
        logs.queue_last(&path(2));
        logs.queue_first(&path(3));
        assert_eq!(turns(&logs), ["s-3", "s-1", "s-2", "s-4"]);
        let key = |name| logs.key_of_name(&path(name));
        let (first, other) = (key(1), key(9));
        logs.note_key(&path(1), &other);
        assert_eq!(logs.of_key(&other), Some(path(1)));
        logs.remove(&path(1));
        assert_eq!(turns(&logs), ["s-3", "s-2", "s-4"]);
        assert_eq!((logs.of_key(&first), logs.of_key(&other)), (None, None));
    }

    #[test]
    fn ten_thousand_logs_are_chosen_and_removed_in_no_time() {
        let begun = Instant::now();
        let mut logs = chosen(0..10_000);
        (0..10_000).for_each(|name| drop(logs.remove(&path(name))));
        assert_eq!((logs.len(), logs.queue.len()), (0, 0));
        // Some hundred times more than it takes, some tenth of what a look at each for each took.
        assert!(begun.elapsed() < Duration::from_secs(10));
    }
}
