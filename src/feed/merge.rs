//! One merge for hub and remote: each frame once, in order, holes never called lost while a log may
//! still hold them (log-format 10.3, remote.md 9.4). Pure: time comes in as an argument.

use std::collections::{BTreeSet, HashMap};

use super::{
    event::{FeedEvent, FeedFrame, Origin},
    limits::{MergeLimits, Overflow},
    merge_session::{Arrival, Mark, SessionMerge},
};
use crate::{
    base::Timestamp,
    record::{HostName, Line, Place, Seq, SessionKey},
};

/// Forgotten sessions whose marks are kept, for each session with full state: some 100 bytes each.
const MARKS_PER_SESSION: usize = 64;

/// What became of an offered line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offered {
    /// Delivered, at once or with held ones.
    Delivered,
    /// Held until a hole is filled or the hold ends.
    Held,
    /// This number is known already.
    Duplicate,
    /// Dropped because of a limit: the session goes on from its log alone.
    Dropped,
}

/// What is known of a session's log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogState {
    /// It is being read, or chosen to be read soon: while its first reading lasts, live frames of
    /// the session are held and no hole is a gap.
    Reading,
    /// It was read to its present end and may grow.
    ReadToEnd,
    /// It was read to its end and nobody writes it any more: its holes are gaps.
    Ended,
    /// There is no log, or it cannot be read at present.
    Absent,
}

/// What the merge tells its owner.
#[derive(Clone, Debug)]
pub enum MergeEvent {
    /// A frame, in its place.
    Frame(Box<FeedFrame>),
    /// The session's log should be read from where it was left, now; answered by `log_state`.
    NeedLog(SessionKey),
    /// Whether something of the session may still come (`FeedEvent::NotLoaded`).
    Pending {
        /// Whose.
        key: SessionKey,
        /// True from the first hole or reading on, false when all of it was read.
        pending: bool,
    },
    /// Numbers that nothing delivered in time.
    Gap {
        /// Whose.
        key: SessionKey,
        /// First.
        from: Seq,
        /// Last.
        to: Seq,
    },
    /// Numbers below the delivered ones that came after all; their frames follow.
    GapFilled {
        /// Whose.
        key: SessionKey,
        /// First.
        from: Seq,
        /// Last.
        to: Seq,
    },
    /// Same number, different content, while both were at hand; one was kept.
    Conflict {
        /// Whose.
        key: SessionKey,
        /// Which number.
        seq: Seq,
    },
}

impl MergeEvent {
    /// What a viewer is told of it.
    ///
    /// # Errors
    /// The session whose log should be read: nothing for a viewer.
    pub fn into_feed(self) -> Result<FeedEvent, SessionKey> {
        Ok(match self {
            Self::NeedLog(key) => return Err(key),
            Self::Frame(frame) => FeedEvent::Frame(frame),
            Self::Pending { key, pending } => FeedEvent::NotLoaded { key, pending },
            Self::Gap { key, from, to } => FeedEvent::Gap { key, from, to },
            Self::GapFilled { key, from, to } => FeedEvent::GapFilled { key, from, to },
            Self::Conflict { key, seq } => FeedEvent::Conflict { key, seq },
        })
    }
}

/// The merge of one host.
#[derive(Debug)]
pub struct Merge {
    limits: MergeLimits,
    sessions: HashMap<SessionKey, SessionMerge>,
    /// Sessions that time changes.
    waiting: BTreeSet<SessionKey>,
    /// Newest run of ids that were used twice.
    runs: HashMap<SessionKey, u32>,
    marks: HashMap<SessionKey, Mark>,
    /// At so many sessions idle ones are looked for.
    crowded: usize,
    held_bytes: usize,
    duplicates: u64,
    conflicts: u64,
}

impl Merge {
    /// An empty merge with these limits.
    pub fn new(limits: MergeLimits) -> Self {
        Self {
            limits,
            sessions: HashMap::new(),
            waiting: BTreeSet::new(),
            runs: HashMap::new(),
            marks: HashMap::new(),
            crowded: limits.sessions,
            held_bytes: 0,
            duplicates: 0,
            conflicts: 0,
        }
    }

    /// Other limits from now on (the round trip became known).
    pub fn set_limits(&mut self, limits: MergeLimits) {
        self.crowded = limits.sessions;
        self.limits = limits;
    }

    /// Offers a line from a log or a socket. A line from a socket goes to the newest run of its id.
    pub fn offer(
        &mut self,
        key: &SessionKey,
        line: Line,
        place: Option<Place>,
        origin: Origin,
        now: Timestamp,
        out: &mut Vec<MergeEvent>,
    ) -> Offered {
        let newest = match origin {
            Origin::Log => None,
            Origin::Socket => self.newest_run(key, &line),
        };
        let key = newest.as_ref().unwrap_or(key);
        self.enter(key, now);
        let number = line.envelope.seq;
        let arrival = Arrival {
            line,
            place,
            origin,
            now,
        };
        let known = out.len();
        let Some(answer) = self.change(key, |session, limits| session.offer(arrival, limits, out))
        else {
            return Offered::Dropped;
        };
        if answer == Offered::Duplicate {
            self.duplicates += 1;
        }
        self.count_conflicts(out, known);
        if origin == Origin::Log && number == Seq(1) {
            self.move_to_next_run(key, now, out);
        }
        self.keep_limits(key, answer, now, out)
    }

    /// Tells what is known of a session's log.
    pub fn log_state(
        &mut self,
        key: &SessionKey,
        state: LogState,
        now: Timestamp,
        out: &mut Vec<MergeEvent>,
    ) {
        self.enter(key, now);
        let moved = self
            .change(key, |session, limits| {
                session.log_state(state, limits, now, out);
            })
            .is_some();
        debug_assert!(moved, "entered above");
        let Some(newest) = self.runs.get(key).copied() else {
            return;
        };
        // One file holds all runs of an id, so they share the state of its reading.
        for run in 2..=newest {
            let run_key = numbered(key, run);
            self.enter(&run_key, now);
            self.change(&run_key, |session, limits| {
                session.log_state(state, limits, now, out);
            });
        }
    }

    /// The link is down: every log that may have grown has to be read again before anything that is
    /// missing is called so (remote.md 9.4.5).
    pub fn host_down(&mut self, now: Timestamp, out: &mut Vec<MergeEvent>) {
        let live: Vec<SessionKey> = self
            .sessions
            .iter()
            .filter(|(_, session)| session.has_growing_log())
            .map(|(key, _)| key.clone())
            .collect();
        for key in live {
            self.change(&key, |session, limits| session.read_again(limits, now, out));
        }
    }

    /// Time has passed: deliver what was held long enough, ask for logs, report gaps.
    pub fn tick(&mut self, now: Timestamp, out: &mut Vec<MergeEvent>) {
        let waiting: Vec<SessionKey> = self.waiting.iter().cloned().collect();
        for key in waiting {
            self.change(&key, |session, limits| session.advance(limits, now, out));
        }
    }

    /// When `tick` must be called next.
    pub fn deadline(&self) -> Option<Timestamp> {
        self.waiting
            .iter()
            .filter_map(|key| self.sessions.get(key)?.deadline(&self.limits))
            .min()
    }

    /// True when no more live frames of this session should be taken for now, because its log is
    /// still being read (log-format 10.2.2).
    pub fn is_full(&self, key: &SessionKey) -> bool {
        let newest = self.runs.get(key).map(|run| numbered(key, *run));
        let Some(session) = self.sessions.get(newest.as_ref().unwrap_or(key)) else {
            return false;
        };
        session.is_first_reading()
            && (session.is_above(&self.limits) || self.held_bytes > self.limits.bytes_in_all)
    }

    /// Repeats that were dropped so far.
    pub const fn duplicates(&self) -> u64 {
        self.duplicates
    }

    /// Numbers that were seen with two contents so far.
    pub const fn conflicts(&self) -> u64 {
        self.conflicts
    }

    #[cfg(test)]
    pub(super) fn sessions_in_full(&self) -> usize {
        self.sessions.len()
    }

    #[cfg(test)]
    pub(super) const fn held_bytes(&self) -> usize {
        self.held_bytes
    }

    /// The session that a socket's line belongs to, when it is not the first run of its id.
    fn newest_run(&mut self, key: &SessionKey, line: &Line) -> Option<SessionKey> {
        let mut newest = self.runs.get(key).copied().unwrap_or(1);
        let current = self.sessions.get(&numbered(key, newest));
        // A start record of another moment: a recorder of an older release took the id again
        // (log-format 9.4.2).
        if line.envelope.seq == Seq(1)
            && current.is_some_and(|session| session.is_other_start(line.envelope.ts))
        {
            newest += 1;
            self.runs.insert(key.clone(), newest);
        }
        (newest > 1).then(|| numbered(key, newest))
    }

    /// Held live frames that turned out to be of a later run than the log's lines go there.
    fn move_to_next_run(&mut self, key: &SessionKey, now: Timestamp, out: &mut Vec<MergeEvent>) {
        let take = |session: &mut SessionMerge, _: &MergeLimits| session.take_other_run();
        let Some(moved) = self.change(key, take).filter(|moved| !moved.is_empty()) else {
            return;
        };
        let (base, run) = run_of(key);
        let run = run + 1;
        let newest = self.runs.entry(base.clone()).or_insert(run);
        *newest = run.max(*newest);
        let next = numbered(&base, run);
        self.enter(&next, now);
        self.change(&next, |session, limits| {
            session.log_state(LogState::Reading, limits, now, out);
            for frame in moved {
                session.offer(Arrival::again(frame, now), limits, out);
            }
        });
    }

    /// Makes room for a session and restores its marks.
    fn enter(&mut self, key: &SessionKey, now: Timestamp) {
        if let Some(session) = self.sessions.get_mut(key) {
            session.touch(now);
            return;
        }
        self.forget_idle();
        let (base, run) = run_of(key);
        if run > 1 && self.is_known(&base) {
            let newest = self.runs.entry(base).or_insert(run);
            *newest = run.max(*newest);
        }
        let mark = self.marks.remove(key);
        self.sessions
            .insert(key.clone(), SessionMerge::new(key.clone(), mark, now));
    }

    fn is_known(&self, key: &SessionKey) -> bool {
        self.sessions.contains_key(key) || self.marks.contains_key(key)
    }

    /// Reduces the least recently active ones to marks, down to three quarters of the limit, when
    /// there are too many (log-format 10.3.6).
    fn forget_idle(&mut self) {
        if self.sessions.len() < self.crowded {
            return;
        }
        let mut idle: Vec<(Timestamp, SessionKey)> = self
            .sessions
            .iter()
            .filter(|(_, session)| session.is_idle())
            .map(|(key, session)| (session.active(), key.clone()))
            .collect();
        idle.sort();
        let surplus = self.sessions.len() - self.limits.sessions * 3 / 4;
        idle.truncate(surplus);
        for (_, key) in idle {
            if self.marks.len() >= self.limits.sessions * MARKS_PER_SESSION {
                self.marks.clear();
            }
            if let Some(session) = self.sessions.remove(&key) {
                self.marks.insert(key, session.into_mark());
            }
        }
        // While all of them are needed they are not looked through for each one that comes.
        let needed = self.sessions.len();
        self.crowded = self.limits.sessions.max(needed + needed / 4);
    }

    /// Changes a session and keeps the books over all of them.
    fn change<T>(
        &mut self,
        key: &SessionKey,
        change: impl FnOnce(&mut SessionMerge, &MergeLimits) -> T,
    ) -> Option<T> {
        let session = self.sessions.get_mut(key)?;
        let (bytes, waited) = (session.held_bytes(), session.is_waiting());
        let answer = change(session, &self.limits);
        self.held_bytes = (self.held_bytes + session.held_bytes()).saturating_sub(bytes);
        match (waited, session.is_waiting()) {
            (false, true) => {
                self.waiting.insert(key.clone());
            }
            (true, false) => {
                self.waiting.remove(key);
            }
            _ => {}
        }
        Some(answer)
    }

    fn count_conflicts(&mut self, out: &[MergeEvent], known: usize) {
        let new = out.iter().skip(known);
        let conflicts = new.filter(|event| matches!(event, MergeEvent::Conflict { .. }));
        self.conflicts += conflicts.count() as u64;
    }

    /// Drops the largest session's held live frames while there are too many (remote.md 9.4.4).
    fn keep_limits(
        &mut self,
        key: &SessionKey,
        answer: Offered,
        now: Timestamp,
        out: &mut Vec<MergeEvent>,
    ) -> Offered {
        if self.limits.overflow != Overflow::DropLargest || answer != Offered::Held {
            return answer;
        }
        let limits = self.limits;
        let above = self
            .sessions
            .get(key)
            .is_some_and(|session| session.is_above(&limits));
        let largest = if above {
            key.clone()
        } else if self.held_bytes > limits.bytes_in_all {
            let largest = self
                .sessions
                .values()
                .max_by_key(|session| session.live_bytes());
            largest.map_or_else(|| key.clone(), |session| session.key().clone())
        } else {
            return answer;
        };
        self.change(&largest, |session, limits| {
            session.drop_live(limits, now, out);
        });
        if largest == *key {
            Offered::Dropped
        } else {
            answer
        }
    }
}

/// The key of run `run` of an id.
fn numbered(base: &SessionKey, run: u32) -> SessionKey {
    let id = if run < 2 {
        std::sync::Arc::clone(&base.id)
    } else {
        format!("{}#{run}", base.id).into()
    };
    SessionKey {
        host: HostName(std::sync::Arc::clone(&base.host.0)),
        id,
    }
}

/// The id without its run, and the run.
fn run_of(key: &SessionKey) -> (SessionKey, u32) {
    let split = key.id.rsplit_once('#').and_then(|(id, run)| {
        let run: u32 = run.parse().ok()?;
        (run > 1 && !id.is_empty()).then_some((id, run))
    });
    split.map_or_else(
        || (key.clone(), 1),
        |(id, run)| {
            let host = key.host.clone();
            (
                SessionKey {
                    host,
                    id: id.into(),
                },
                run,
            )
        },
    )
}
