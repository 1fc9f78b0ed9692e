//! Lines into the merge and out to the viewer: from logs, from recorders, and the questions that
//! the merge asks of the logs (remote.md 9.3, 9.4).

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
    time::Duration,
};

use super::{
    elsewhere::{is_run_of, named_log},
    logs::Logs,
    names::stem,
    teller::Teller,
};
use crate::{
    base::{ByteCount, Timestamp},
    feed::{FeedEvent, LogState, Merge, MergeEvent, MergeLimits, Origin, SessionNews},
    record::{Line, Liveness, Place, ReadEvent, SessionKey, is_end_record},
};

/// Merge, logs and what connects them.
#[derive(Debug)]
pub(super) struct Intake {
    pub(super) logs: Logs,
    merge: Merge,
    out: Vec<MergeEvent>,
    /// Sessions whose logs the merge asked for while it is not known whether they have one, by the
    /// number of the listing that will tell.
    homeless: HashMap<SessionKey, u64>,
    /// Logs whose present size has to be asked for, because the merge misses something of them.
    pub(super) ask_size: HashSet<Arc<str>>,
    /// Sessions that come only through the socket, as far as they were told.
    live_only: HashSet<SessionKey>,
    /// When a live line of a log's session came last.
    last_live: HashMap<Arc<str>, Timestamp>,
    /// Number of the next listing that begins.
    next_listing: u64,
    pub(super) damaged: u64,
    pub(super) frames: u64,
    /// User id that we have on the host, once it is known.
    pub(super) user: Option<u32>,
}

/// Sessions of which one thing is remembered: the last live line, that a log is looked for, that
/// there is none. A host can name sessions without end.
const REMEMBERED: usize = 4_096;

impl Intake {
    pub(super) fn new(logs: Logs) -> Self {
        Self {
            logs,
            merge: Merge::new(MergeLimits::remote(Duration::ZERO)),
            out: Vec::new(),
            homeless: HashMap::new(),
            ask_size: HashSet::new(),
            live_only: HashSet::new(),
            last_live: HashMap::new(),
            next_listing: 0,
            damaged: 0,
            frames: 0,
            user: None,
        }
    }

    pub(super) fn set_round_trip(&mut self, trip: Duration) {
        self.merge.set_limits(MergeLimits::remote(trip));
    }

    pub(super) const fn duplicates(&self) -> u64 {
        self.merge.duplicates()
    }

    pub(super) const fn conflicts(&self) -> u64 {
        self.merge.conflicts()
    }

    pub(super) fn deadline(&self) -> Option<Timestamp> {
        self.merge.deadline()
    }

    /// True when the merge waits for a listing or a size.
    pub(super) fn wants_listing(&self) -> bool {
        !self.homeless.is_empty()
    }

    pub(super) fn tick(&mut self, now: Timestamp) {
        self.merge.tick(now, &mut self.out);
    }

    /// A listing begins: it answers for everything that was asked before.
    pub(super) const fn begin_listing(&mut self) -> u64 {
        self.next_listing += 1;
        self.next_listing
    }

    /// Lines of a log, in order.
    pub(super) fn lines(
        &mut self,
        name: &Arc<str>,
        events: Vec<ReadEvent>,
        bytes: u64,
        now: Timestamp,
    ) {
        let Some(log) = self.logs.get_mut(name) else {
            return;
        };
        log.read += bytes;
        let path = Arc::clone(&log.path);
        let only = log.only.clone();
        for event in events {
            match event {
                // A log outside the directory may hold sessions that have logs of their own.
                ReadEvent::Line { line, .. }
                    if only
                        .as_ref()
                        .is_some_and(|only| !is_run_of(&line.envelope.session_id, only)) => {}
                ReadEvent::Line { line, offset } => {
                    let place = Place {
                        log: Arc::clone(&path),
                        offset,
                        length: u32::try_from(line.bytes.len()).unwrap_or(u32::MAX),
                    };
                    self.log_line(name, line, place, now);
                }
                ReadEvent::Damage(_) => {
                    self.damaged += 1;
                    if let Some(log) = self.logs.get_mut(name) {
                        log.damaged += 1;
                    }
                }
            }
        }
    }

    fn log_line(&mut self, name: &Arc<str>, line: Line, place: Place, now: Timestamp) {
        let session = Arc::clone(&line.envelope.session_id);
        let key = self.logs.key(&session);
        if self.logs.saw(name, &session) {
            self.first_of(name, &session, now);
        }
        if let Some(log) = self.logs.get_mut(name) {
            log.ended = is_end_record(&line.envelope);
        }
        self.merge
            .offer(&key, line, Some(place), Origin::Log, now, &mut self.out);
    }

    /// The first line of a session in a log: the session is being read, and the one that the log's
    /// name stood for is not there if it is another.
    fn first_of(&mut self, name: &Arc<str>, session: &Arc<str>, now: Timestamp) {
        let key = self.logs.key(session);
        self.live_only.remove(&key);
        self.homeless.remove(&key);
        self.log_state(&key, LogState::Reading, now);
        let named = self.logs.key(&stem(name).into());
        if !self.logs.is_named(name) && *named.id != **session {
            self.log_state(&named, LogState::Absent, now);
        }
    }

    /// A line from a recorder.
    pub(super) fn live(&mut self, line: Line, arrived: Timestamp, teller: &mut Teller) {
        let session = Arc::clone(&line.envelope.session_id);
        if !self.logs.wants(&session) {
            return;
        }
        if let Some(stamped) = line.envelope.ts {
            teller.bound_clock_offset(stamped, arrived);
        }
        self.look_elsewhere(&line, arrived);
        let mut place = None;
        if let Some(name) = self.logs.log_of(&session) {
            self.logs.load(&name);
            self.take_queued(arrived);
            if self.logs.is_awaited(&name) {
                self.begins(&name, arrived);
            }
            if let Some(log) = self.logs.get_mut(&name) {
                let offset = log
                    .follower
                    .as_mut()
                    .and_then(|follower| follower.predicted(&line));
                place = offset.map(|offset| Place {
                    log: Arc::clone(&log.path),
                    offset,
                    length: u32::try_from(line.bytes.len()).unwrap_or(u32::MAX),
                });
                if log.loaded {
                    log.ended = is_end_record(&line.envelope);
                }
            }
        }
        if let Some(name) = self.logs.log_of(&session) {
            self.logs.settle_doubt(&name);
        }
        if self.last_live.len() < REMEMBERED || self.last_live.contains_key(&session) {
            self.last_live.insert(Arc::clone(&session), arrived);
        }
        let key = self.logs.key(&session);
        self.merge
            .offer(&key, line, place, Origin::Socket, arrived, &mut self.out);
    }

    /// A start record may name a log that no listing shows: it is asked what it is, and read before
    /// the live lines of its session go on.
    fn look_elsewhere(&mut self, line: &Line, now: Timestamp) {
        let session = &line.envelope.session_id;
        let Some(path) = named_log(&line.envelope) else {
            return;
        };
        if let Some(name) = self.logs.name_elsewhere(session, &path) {
            let key = self.logs.key(session);
            self.live_only.remove(&key);
            self.homeless.remove(&key);
            self.log_state(&key, LogState::Reading, now);
            self.ask_size.insert(name);
        }
    }

    /// What a start record named is not, or no more, a log that may be read.
    pub(super) fn bar(&mut self, name: &Arc<str>, now: Timestamp, teller: &mut Teller) {
        let was_there = self.logs.get(name).is_some_and(|log| !log.removed);
        let keys = self.keys_of(name);
        self.ask_size.remove(name);
        if self.logs.bar(name) {
            for key in keys {
                self.has_no_log(key, now, teller);
            }
        } else if was_there {
            for key in keys {
                self.log_state(&key, LogState::Absent, now);
                teller.push(FeedEvent::LogRemoved { key });
            }
        }
    }

    /// Lines of a session were dropped on the way: its log has them.
    pub(super) fn lost(&mut self, session: &str) {
        if let Some(name) = self.logs.log_of(session) {
            self.ask_size.insert(name);
        }
    }

    /// When a live line of one of the log's sessions came last.
    pub(super) fn last_live(&self, name: &str) -> Option<Timestamp> {
        let log = self.logs.get(name)?;
        log.sessions
            .iter()
            .filter_map(|session| self.last_live.get(session))
            .max()
            .copied()
    }

    /// Tells the merge that logs which were queued are being read. One of which nothing came yet is
    /// told when its reading begins: a directory may hold far more than the merge keeps in mind.
    pub(super) fn take_queued(&mut self, now: Timestamp) {
        for name in self.logs.take_new() {
            if self.logs.get(&name).is_some_and(|log| log.announced) {
                self.is_read(&name, now);
            }
        }
        // After a lost link the merge waits for every log to be looked at again.
        for name in self.logs.take_whole() {
            self.read_to_end(&name, now);
        }
    }

    /// A log is being read, or soon: what is missing of its sessions may be in it.
    pub(super) fn is_read(&mut self, name: &Arc<str>, now: Timestamp) {
        if let Some(log) = self.logs.get_mut(name) {
            log.announced = true;
        }
        for key in self.keys_of(name) {
            self.log_state(&key, LogState::Reading, now);
        }
    }

    /// The reading of a log begins.
    pub(super) fn begins(&mut self, name: &Arc<str>, now: Timestamp) {
        if self.logs.get(name).is_some_and(|log| !log.announced) {
            self.is_read(name, now);
        }
    }

    /// A log was read to the size that is known.
    pub(super) fn read_to_end(&mut self, name: &Arc<str>, now: Timestamp) {
        let ended = self.logs.get(name).is_some_and(|log| log.ended);
        let state = if ended {
            LogState::Ended
        } else {
            LogState::ReadToEnd
        };
        for key in self.keys_of(name) {
            self.log_state(&key, state, now);
        }
    }

    /// A log cannot be read at present.
    pub(super) fn unreadable(&mut self, name: &Arc<str>, now: Timestamp) {
        for key in self.keys_of(name) {
            self.log_state(&key, LogState::Absent, now);
        }
    }

    /// All was read and nothing more will come: what is missing is missing. Answers how many logs
    /// have a torn last line.
    pub(super) fn close_all(&mut self, now: Timestamp) -> usize {
        let mut torn = 0;
        let names: Vec<_> = self
            .logs
            .iter()
            .filter(|log| log.loaded)
            .map(|log| Arc::clone(&log.name))
            .collect();
        for name in names {
            // A last line without its end counts when it can be read (log-format 9.3.1).
            let mut last = Vec::new();
            if let Some(log) = self.logs.get_mut(&name)
                && let Some(follower) = &mut log.follower
                && follower.finish(&mut |event| last.push(event))
            {
                torn += 1;
            }
            self.lines(&name, last, 0, now);
            for key in self.keys_of(&name) {
                self.log_state(&key, LogState::Ended, now);
            }
        }
        torn
    }

    /// The link is down.
    pub(super) fn link_down(&mut self, now: Timestamp) {
        self.logs.link_down();
        self.homeless.clear();
        self.ask_size.clear();
        self.merge.host_down(now, &mut self.out);
    }

    fn log_state(&mut self, key: &SessionKey, state: LogState, now: Timestamp) {
        self.merge.log_state(key, state, now, &mut self.out);
    }

    /// The sessions of a log; before a line was read, the one that its name stands for.
    pub(super) fn keys_of(&self, name: &Arc<str>) -> Vec<SessionKey> {
        match self.logs.get(name) {
            Some(log) if !log.sessions.is_empty() => log
                .sessions
                .iter()
                .map(|session| self.logs.key(session))
                .collect(),
            _ => vec![self.logs.key(&stem(name).into())],
        }
    }

    /// Answers what the merge asks and hands on what it delivers.
    pub(super) fn deliver(&mut self, now: Timestamp, teller: &mut Teller) {
        // Answering may make the merge say more.
        while !self.out.is_empty() {
            for event in std::mem::take(&mut self.out) {
                match event.into_feed() {
                    Ok(event) => {
                        self.frames += u64::from(matches!(event, FeedEvent::Frame(_)));
                        teller.push(event);
                    }
                    Err(key) => self.need_log(&key, now),
                }
            }
            self.take_queued(now);
        }
    }

    /// The merge misses something: its log is read on; if it has grown is asked first.
    fn need_log(&mut self, key: &SessionKey, now: Timestamp) {
        match self.logs.log_of(&key.id) {
            Some(name) => {
                if self.logs.check_now(&name) {
                    self.begins(&name, now);
                } else {
                    self.ask_size.insert(name);
                }
                self.take_queued(now);
            }
            None if self.homeless.len() < REMEMBERED => {
                self.homeless.insert(key.clone(), self.next_listing + 1);
            }
            None => self.log_state(key, LogState::Absent, now),
        }
    }

    /// The sizes of these logs are known now: where nothing has to be read, the merge is told so.
    pub(super) fn sized(&mut self, name: &Arc<str>, now: Timestamp) {
        if self.logs.check_now(name) {
            self.begins(name, now);
            self.take_queued(now);
        } else {
            self.read_to_end(name, now);
        }
    }

    /// A listing is here: sessions that were waiting for it have a log, or come only through the
    /// socket.
    pub(super) fn listed(&mut self, number: u64, now: Timestamp, teller: &mut Teller) {
        self.take_queued(now);
        let waiting: Vec<_> = self
            .homeless
            .iter()
            .filter(|(_, needed)| **needed <= number)
            .map(|(key, _)| key.clone())
            .collect();
        for key in waiting {
            self.homeless.remove(&key);
            if self.logs.log_of(&key.id).is_some() {
                self.need_log(&key, now);
                continue;
            }
            self.has_no_log(key, now, teller);
        }
    }

    /// A session comes only through the socket: its gaps stay (remote.md 9.4.7).
    fn has_no_log(&mut self, key: SessionKey, now: Timestamp, teller: &mut Teller) {
        self.log_state(&key, LogState::Absent, now);
        if self.live_only.len() < REMEMBERED && self.live_only.insert(key.clone()) {
            teller.push(FeedEvent::Session(SessionNews {
                key,
                log: None,
                size: ByteCount(0),
                modified: None,
                loaded: true,
                liveness: Liveness::Recording,
                damaged: 0,
            }));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        feed::channel,
        record::HostName,
        remote::listing::{FarListing, FarLog},
    };

    #[test]
    fn a_full_directory_is_told_to_the_merge_as_it_is_read() {
        let host = HostName("h".into());
        let mut intake = Intake::new(Logs::new(host.clone(), None, Vec::new()));
        intake.logs.set_directory("/s/sessions");
        let (feed, _receiver) = channel();
        let mut teller = Teller::new(feed, host, String::new());
        let now = Timestamp::default();
        let logs = (0..100_000).map(|number| FarLog {
            name: format!("{number}.jsonl").into(),
            size: 9,
            modified: 1,
        });
        let listing = FarListing {
            logs: logs.collect(),
            ..FarListing::default()
        };
        let number = intake.begin_listing();
        intake.logs.listed(&listing, now);
        intake.listed(number, now, &mut teller);
        assert!(intake.out.is_empty(), "{} at once", intake.out.len());
        // What is missing of a log that is being read is not concluded from.
        let reading = intake.logs.start().unwrap();
        intake.begins(&reading.name, now);
        assert!(
            matches!(&*intake.out, [MergeEvent::Pending { pending: true, key }] if *key.id == *"0"),
            "{:?}",
            intake.out
        );
    }
}
