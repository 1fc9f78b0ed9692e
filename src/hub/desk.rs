//! The hub's one place of decisions: lines, logs and requests in, feed events and jobs out. It waits
//! for nothing; `run` moves what it answers.

use std::{path::PathBuf, sync::Arc};

use tokio::sync::oneshot;

use super::{
    connection::{ConnectionId, Incoming},
    jobs::{Done, Jobs},
    logs::{Logs, Stage},
    producers::Producers,
    progress::Backfill,
};
use crate::{
    base::{ByteCount, Clock},
    feed::{
        Ending, FeedEvent, FeedRequest, Listing, LogState, Merge, MergeEvent, MergeLimits, Origin,
        SessionNews,
    },
    record::{Direction, Envelope, HostName, Line, Liveness, Place, SessionKey, StateDir},
};

/// Everything the hub knows.
#[derive(Debug)]
pub(super) struct Desk {
    pub(super) host: HostName,
    pub(super) clock: Clock,
    pub(super) state: StateDir,
    pub(super) merge: Merge,
    pub(super) logs: Logs,
    pub(super) backfill: Backfill,
    /// Events for the viewer, in order.
    pub(super) out: Vec<FeedEvent>,
    pub(super) jobs: Jobs,
    history_limit: Option<usize>,
    pub(super) producers: Producers,
    /// Connections that are not read until a log was.
    stalled: Vec<(SessionKey, oneshot::Sender<()>)>,
    damaged: u64,
    listing: Option<(usize, usize, usize)>,
}

impl Desk {
    pub(super) fn new(
        host: HostName,
        clock: Clock,
        state: StateDir,
        history_limit: Option<usize>,
    ) -> Self {
        Self {
            logs: Logs::new(host.clone()),
            backfill: Backfill::new(host.clone()),
            host,
            clock,
            state,
            merge: Merge::new(MergeLimits::hub()),
            out: Vec::new(),
            jobs: Jobs::default(),
            history_limit,
            producers: Producers::default(),
            stalled: Vec::new(),
            damaged: 0,
            listing: None,
        }
    }

    /// Takes what a connection brought.
    pub(super) fn take_incoming(&mut self, incoming: Incoming) {
        match incoming {
            Incoming::Closed(from) => self.close(from),
            Incoming::Lines {
                from,
                lines,
                damaged,
                taken,
            } => {
                self.damaged += damaged;
                let mut full = None;
                let mut said = Vec::with_capacity(lines.len());
                for line in lines {
                    let key = self.key_of(&line.envelope);
                    self.note_producer(from, &key);
                    self.offer_live(&key, line, &mut said);
                    if full.is_none() && self.merge.is_full(&key) {
                        full = Some(key);
                    }
                }
                self.pass_on(said);
                match full {
                    Some(key) => self.stalled.push((key, taken)),
                    // A connection that is gone needs no answer.
                    None => taken.send(()).unwrap_or_default(),
                }
            }
        }
    }

    /// Takes what a job brought.
    pub(super) fn take_done(&mut self, done: Done) {
        match done {
            Done::Piece(piece) => self.take_piece(*piece),
            Done::Walk {
                catalogue,
                liveness,
            } => {
                self.take_walk(catalogue);
                self.take_gone_recorders(liveness);
            }
            Done::Stats(stats) => {
                for (path, stat) in stats {
                    match stat {
                        Some(stat) => self.take_stat(&path, stat),
                        None => self.remove(&path),
                    }
                }
            }
            Done::Liveness(states) => {
                for (path, liveness) in states {
                    if let Some(log) = self.logs.get_mut(&path)
                        && log.stage == Stage::Listed
                    {
                        log.liveness = liveness;
                    }
                    self.tell(&path);
                }
            }
            Done::Sought {
                key,
                path,
                stat,
                elsewhere,
            } => self.take_sought(&key, &path, stat, elsewhere),
            Done::Body(event) => self.out.push(event),
            Done::Recalled(events) => self.out.extend(events),
        }
    }

    /// Takes what the viewer asks for.
    pub(super) fn take_request(&mut self, request: FeedRequest) {
        match request {
            FeedRequest::LoadOlder(count) => {
                for path in self.logs.newest_unchosen(count) {
                    self.choose_last(&path);
                }
                self.tell_listing();
            }
            FeedRequest::LoadFirst(key) => {
                if let Some(path) = self.logs.of_key(&key)
                    && let Some(log) = self.logs.get(&path)
                    && matches!(log.stage, Stage::Listed | Stage::Queued)
                {
                    self.choose_first(&path);
                    self.tell_listing();
                }
            }
            // The logs of another host are not here, even under the same path.
            FeedRequest::ReadBody { key, .. } if key.host != self.host => {}
            FeedRequest::ReadBody { key, seq, place } => self.read_back(key, seq, place),
            FeedRequest::Recall(wanted) if wanted.key.host != self.host => {}
            FeedRequest::Recall(wanted) => self.recall(wanted),
            // A local hub has no link to take up or give up, and asks nothing.
            FeedRequest::Reconnect(_) | FeedRequest::Disconnect(_) | FeedRequest::Answer { .. } => {
            }
        }
    }

    /// Lets time pass, starts what waits, answers what the merge asks for.
    pub(super) fn settle(&mut self) {
        let now = self.clock.now();
        self.merging(|merge, out| merge.tick(now, out));
        self.start_readers();
        let Self { stalled, merge, .. } = self;
        let waiting = std::mem::take(stalled);
        for (key, taken) in waiting {
            if merge.is_full(&key) {
                stalled.push((key, taken));
            } else {
                taken.send(()).unwrap_or_default();
            }
        }
        self.backfill.tell(now, &mut self.out);
    }

    /// The last word.
    pub(super) fn ending(&self) -> FeedEvent {
        let in_logs: u64 = self.logs.iter().map(|log| log.damaged).sum();
        FeedEvent::End(Ending {
            host: self.host.clone(),
            outcome: "stopped".into(),
            duplicates: self.merge.duplicates(),
            damaged: self.damaged + in_logs,
            conflicts: self.merge.conflicts(),
        })
    }

    pub(super) fn key_of(&self, envelope: &Envelope) -> SessionKey {
        SessionKey {
            host: self.host.clone(),
            id: Arc::clone(&envelope.session_id),
        }
    }

    /// True when a recorder of one of the log's sessions is connected.
    pub(super) fn has_producer(&self, path: &PathBuf) -> bool {
        let Some(log) = self.logs.get(path) else {
            return false;
        };
        log.keys.iter().any(|key| self.producers.is_recording(key))
            || self.producers.is_recording(&self.logs.key_of_name(path))
    }

    /// Changes the merge and passes on what it says.
    pub(super) fn merging<T>(
        &mut self,
        change: impl FnOnce(&mut Merge, &mut Vec<MergeEvent>) -> T,
    ) -> T {
        let mut said = Vec::new();
        let answer = change(&mut self.merge, &mut said);
        self.pass_on(said);
        answer
    }

    /// Passes on what the merge said, and does what it asked for.
    pub(super) fn pass_on(&mut self, said: Vec<MergeEvent>) {
        for event in said {
            match event.into_feed() {
                Ok(event) => self.out.push(event),
                Err(wanted) => self.answer_need(&wanted),
            }
        }
    }

    pub(super) fn tell_log_state(&mut self, key: &SessionKey, state: LogState) {
        let now = self.clock.now();
        self.merging(|merge, out| merge.log_state(key, state, now, out));
    }

    /// Tells what is new of a log, if anything is.
    pub(super) fn tell(&mut self, path: &PathBuf) {
        let now = self.clock.now();
        let recording = self.has_producer(path);
        let name = self.logs.key_of_name(path);
        let Some(log) = self.logs.get_mut(path) else {
            return;
        };
        if recording {
            log.liveness = Liveness::Recording;
        }
        let news = log.news(name, now);
        self.out.extend(news.into_iter().map(FeedEvent::Session));
    }

    pub(super) fn tell_listing(&mut self) {
        let (total, chosen) = (self.logs.len(), self.logs.chosen());
        let skipped = self.logs.skipped + self.logs.unreadable();
        if self.listing.replace((total, chosen, skipped)) == Some((total, chosen, skipped)) {
            return;
        }
        self.out.push(FeedEvent::Listing(Listing {
            host: self.host.clone(),
            total,
            chosen,
            skipped,
        }));
    }

    pub(super) const fn history_limit(&self) -> Option<usize> {
        self.history_limit
    }

    fn offer_live(&mut self, key: &SessionKey, line: Line, said: &mut Vec<MergeEvent>) {
        if line.envelope.direction == Direction::Meta {
            self.note_control(key, &line.envelope);
        }
        let now = self.clock.now();
        let place = self.place_of(key, &line);
        self.merge
            .offer(key, line, place, Origin::Socket, now, said);
    }

    /// Where a live line is expected in its log; a line that is not there is looked for when its
    /// body is read back.
    fn place_of(&mut self, key: &SessionKey, line: &Line) -> Option<Place> {
        let path = self.logs.of_key(key)?;
        let log = self.logs.get_mut(&path)?;
        let offset = log
            .follower
            .as_mut()
            .filter(|_| log.only.is_none())
            .and_then(|follower| follower.predicted(line));
        Some(Place {
            log: path,
            offset: offset.unwrap_or(log.stat.size),
            length: u32::try_from(line.bytes.len()).unwrap_or(u32::MAX),
        })
    }

    /// Remembers which sessions a connection brings.
    fn note_producer(&mut self, from: ConnectionId, key: &SessionKey) {
        if !self.producers.note(from, key) {
            return;
        }
        let Some(path) = self.logs.of_key(key) else {
            self.tell_without_log(key.clone(), Liveness::Recording);
            return;
        };
        let stage = self.logs.get(&path).map(|log| (log.stage, log.loaded));
        match stage {
            Some((Stage::Listed | Stage::Queued, false)) => {
                self.tell_log_state(key, LogState::Reading);
                self.choose_first(&path);
            }
            Some((Stage::Reading, false)) => self.tell_log_state(key, LogState::Reading),
            _ => {}
        }
        if let Some(log) = self.logs.get_mut(&path)
            && !log.loaded
        {
            log.askers.push(key.clone());
        }
        self.tell(&path);
    }

    fn close(&mut self, from: ConnectionId) {
        for (key, has_ended) in self.producers.close(from) {
            if let Some(path) = self.logs.of_key(&key) {
                // Its log says how it ended.
                self.read_on(&path);
            } else if has_ended {
                self.tell_without_log(key, Liveness::Ended);
            } else {
                self.tell_without_log(key, Liveness::Unknown);
            }
        }
    }

    /// Tells of a session that has no log.
    pub(super) fn tell_without_log(&mut self, key: SessionKey, liveness: Liveness) {
        self.out.push(FeedEvent::Session(SessionNews {
            key,
            log: None,
            size: ByteCount(0),
            modified: None,
            loaded: true,
            liveness,
            damaged: 0,
        }));
    }
}
