//! Work on blocking threads: what the desk starts, who waits for each piece of it, and what becomes
//! of those when it breaks off.

use std::{collections::HashMap, io, sync::Arc};

use tokio::task::{Id, JoinError, JoinSet};

use super::{
    body::{read_body, recall},
    desk::Desk,
    logs::Stage,
    piece::{LogPath, LogStat, Piece, read_piece, stat_log},
};
use crate::{
    base::{Clock, Timestamp},
    feed::{BodyOutcome, FeedEvent, Follower, LogState, Recall, Severity},
    record::{Catalogue, Liveness, Place, Seq, SessionKey, liveness_of},
};

/// Logs that are read at the same time.
const READERS: usize = 4;

/// What a job brought.
#[derive(Debug)]
pub(super) enum Done {
    Piece(Box<Piece>),
    Walk {
        catalogue: Result<Catalogue, crate::record::Error>,
        liveness: Vec<(LogPath, Liveness)>,
    },
    Stats(Vec<(LogPath, Option<LogStat>)>),
    /// Whether listed logs are being recorded.
    Liveness(Vec<(LogPath, Liveness)>),
    /// A session's log was looked for by name.
    Sought {
        key: SessionKey,
        path: LogPath,
        stat: Option<LogStat>,
        /// It lies outside the sessions directory.
        elsewhere: bool,
    },
    Body(FeedEvent),
    Recalled(Vec<FeedEvent>),
}

/// What is under way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Job {
    /// Reading a piece of this log.
    Piece(LogPath),
    /// A walk of the sessions directory.
    Walk,
    /// A look at logs that may have grown.
    Look,
    /// Asking whether listed logs are being recorded.
    Liveness,
    /// Looking for this session's log.
    Seek(SessionKey),
    /// Reading this frame back.
    Body(SessionKey, Seq),
    /// Reading these frames back.
    Recall(Box<Recall>),
}

/// The end of a job.
#[derive(Debug)]
pub(super) enum Ended {
    Done(Done),
    /// It broke off, which is a bug.
    Broken(Job, JoinError),
}

/// All jobs that are under way.
#[derive(Debug, Default)]
pub(super) struct Jobs {
    running: JoinSet<Done>,
    under_way: HashMap<Id, Job>,
}

impl Jobs {
    /// Starts a job.
    pub(super) fn start(&mut self, job: Job, body: impl FnOnce() -> Done + Send + 'static) {
        let handle = self.running.spawn_blocking(body);
        self.under_way.insert(handle.id(), job);
    }

    /// The next one that ends; `None` when none is under way. May be dropped while it waits.
    pub(super) async fn next(&mut self) -> Option<Ended> {
        loop {
            let ended = self.running.join_next_with_id().await?;
            let id = ended.as_ref().map_or_else(JoinError::id, |(id, _)| *id);
            let job = self.under_way.remove(&id);
            match (ended, job) {
                (Ok((_, done)), _) => return Some(Ended::Done(done)),
                (Err(error), Some(job)) => return Some(Ended::Broken(job, error)),
                (Err(_), None) => {}
            }
        }
    }

    fn is_under_way(&self, job: &Job) -> bool {
        self.under_way.values().any(|known| known == job)
    }

    fn readers(&self) -> usize {
        let all = self.under_way.values();
        all.filter(|job| matches!(job, Job::Piece(_))).count()
    }
}

impl Desk {
    /// Takes the end of a job.
    pub(super) fn take_ended(&mut self, ended: Ended) {
        match ended {
            Ended::Done(done) => self.take_done(done),
            Ended::Broken(job, error) => self.break_off(job, &error),
        }
    }

    /// Whoever waits for the job learns that nothing comes; a bug is told instead of hidden.
    fn break_off(&mut self, job: Job, error: &JoinError) {
        match job {
            Job::Piece(path) => {
                if let Some(log) = self.logs.get_mut(&path) {
                    // What was read of it came with its follower; repeats are dropped.
                    log.follower = Some(Follower::new());
                    log.damaged = 0;
                }
                self.fail_reading(&path, &io::Error::other(error.to_string()));
                self.tell(&path);
                return;
            }
            Job::Seek(key) => self.tell_log_state(&key, LogState::Absent),
            Job::Body(key, seq) => {
                let outcome = BodyOutcome::Unavailable("reading it broke off".to_owned());
                self.out.push(FeedEvent::Body { key, seq, outcome });
            }
            Job::Recall(wanted) => self
                .out
                .push(wanted.failed("reading it broke off".to_owned())),
            Job::Walk | Job::Look | Job::Liveness => {}
        }
        self.out.push(FeedEvent::Notice {
            host: self.host.clone(),
            severity: Severity::Error,
            text: format!("looking at the logs broke off: {error}"),
        });
    }

    /// Walks the sessions directory, unless a walk is under way.
    pub(super) fn walk(&mut self) {
        if self.jobs.is_under_way(&Job::Walk) {
            return;
        }
        let sessions = self.state.sessions();
        let recording: Vec<_> = self
            .logs
            .recording()
            .into_iter()
            .filter(|path| !self.has_producer(path))
            .collect();
        let clock = self.clock;
        self.jobs.start(Job::Walk, move || Done::Walk {
            catalogue: Catalogue::walk(&sessions),
            liveness: livenesses(recording, &clock),
        });
    }

    /// Looks at the logs that may have grown, unless such a look is under way.
    pub(super) fn look(&mut self) {
        let recent = self.logs.recent(self.clock.now());
        if recent.is_empty() || self.jobs.is_under_way(&Job::Look) {
            return;
        }
        self.jobs.start(Job::Look, move || {
            let stats = recent.into_iter().map(|path| {
                let stat = stat_log(&path);
                (path, stat)
            });
            Done::Stats(stats.collect())
        });
    }

    /// Asks whether these logs are being recorded.
    pub(super) fn ask_liveness(&mut self, paths: Vec<LogPath>) {
        let clock = self.clock;
        self.jobs.start(Job::Liveness, move || {
            Done::Liveness(livenesses(paths, &clock))
        });
    }

    /// Reads a frame back for the viewer.
    pub(super) fn read_back(&mut self, key: SessionKey, seq: Seq, place: Place) {
        let job = Job::Body(key.clone(), seq);
        self.jobs
            .start(job, move || Done::Body(read_body(key, seq, &place)));
    }

    /// Reads frames back for the viewer.
    pub(super) fn recall(&mut self, wanted: Recall) {
        let job = Job::Recall(Box::new(wanted.clone()));
        self.jobs
            .start(job, move || Done::Recalled(recall(&wanted)));
    }

    /// Reads pieces of the logs whose turn it is.
    pub(super) fn start_readers(&mut self) {
        while self.jobs.readers() < READERS
            && let Some((path, follower)) = self.next_turn()
        {
            let clock = self.clock;
            self.jobs.start(Job::Piece(Arc::clone(&path)), move || {
                Done::Piece(Box::new(read_piece(path, follower, &clock)))
            });
        }
    }

    /// Takes the log whose turn it is, with what its reading goes on from.
    fn next_turn(&mut self) -> Option<(LogPath, Follower)> {
        loop {
            let path = self.logs.queue.pop_front()?;
            let Some(log) = self.logs.get_mut(&path) else {
                continue;
            };
            let Some(follower) = log.follower.take() else {
                continue;
            };
            log.stage = Stage::Reading;
            log.again = false;
            for key in log.keys.clone() {
                self.tell_log_state(&key, LogState::Reading);
            }
            return Some((path, follower));
        }
    }
}

/// What `liveness_of` says of each log.
fn livenesses(paths: Vec<LogPath>, clock: &Clock) -> Vec<(LogPath, Liveness)> {
    let now: Timestamp = clock.now();
    paths
        .into_iter()
        .map(|path| {
            let liveness = liveness_of(&path, now);
            (path, liveness)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{HostName, StateDir};

    const ID: &str = "s-1-00000000000a";

    fn line(seq: u64) -> String {
        format!(
            "{{\"session_id\":\"{ID}\",\"server_label\":\"\",\"seq\":{seq},\"ts\":\"2026-09-01T08:00:00Z\",\
             \"direction\":\"stderr\",\"transport\":\"stdio\",\"text\":\"t\"}}\n"
        )
    }

    fn desk(folder: &tempfile::TempDir) -> Desk {
        let state = StateDir::at(folder.path());
        std::fs::create_dir_all(state.sessions()).unwrap();
        Desk::new(HostName::local(), Clock::start(), state, None)
    }

    async fn finish_all(desk: &mut Desk) {
        while let Some(ended) = desk.jobs.next().await {
            desk.take_ended(ended);
            desk.settle();
        }
    }

    fn frames(desk: &mut Desk) -> Vec<u64> {
        let told = std::mem::take(&mut desk.out);
        let frames = told.iter().filter_map(|event| match event {
            FeedEvent::Frame(frame) => Some(frame.line.envelope.seq.0),
            _ => None,
        });
        frames.collect()
    }

    #[tokio::test]
    async fn a_log_whose_reading_broke_off_is_not_waited_for_and_is_read_when_it_grows() {
        let folder = tempfile::tempdir().unwrap();
        let mut desk = desk(&folder);
        let log = desk.state.sessions().join(format!("{ID}.jsonl"));
        std::fs::write(&log, line(1)).unwrap();
        desk.walk();
        let walked = desk.jobs.next().await.unwrap();
        desk.take_ended(walked);
        let (path, _lost) = desk.next_turn().unwrap();
        let key = desk.logs.key_of_name(&path);
        desk.tell_log_state(&key, LogState::Reading);
        desk.logs.get_mut(&path).unwrap().askers.push(key);
        desk.jobs
            .start(Job::Piece(Arc::clone(&path)), || panic!("of a test"));
        let broken = desk.jobs.next().await.unwrap();
        assert!(matches!(&broken, Ended::Broken(Job::Piece(_), _)));
        desk.take_ended(broken);
        assert_eq!(desk.jobs.readers(), 0);
        let told = std::mem::take(&mut desk.out);
        let has = |wanted: fn(&FeedEvent) -> bool| told.iter().any(wanted);
        assert!(has(|event| matches!(
            event,
            FeedEvent::NotLoaded { pending: false, .. }
        )));
        assert!(has(
            |event| matches!(event, FeedEvent::Session(news) if news.loaded)
        ));
        assert!(has(
            |event| matches!(event, FeedEvent::Notice { text, .. } if text.contains("of a test"))
        ));
        finish_all(&mut desk).await;
        assert!(frames(&mut desk).is_empty());
        std::fs::write(&log, line(1) + &line(2)).unwrap();
        desk.walk();
        finish_all(&mut desk).await;
        assert_eq!(frames(&mut desk), [1, 2]);
    }

    #[tokio::test]
    async fn whoever_waits_for_a_job_that_broke_off_is_answered() {
        let folder = tempfile::tempdir().unwrap();
        let mut desk = desk(&folder);
        let key = SessionKey {
            host: HostName::local(),
            id: ID.into(),
        };
        let page = Recall {
            key: key.clone(),
            log: Arc::new("/s/s.jsonl".into()),
            from: Seq(7),
            to: Seq(9),
            near: Seq(7),
        };
        for job in [
            Job::Walk,
            Job::Look,
            Job::Body(key.clone(), Seq(7)),
            Job::Recall(Box::new(page)),
            Job::Seek(key.clone()),
        ] {
            desk.jobs.start(job.clone(), || panic!("of a test"));
            let broken = desk.jobs.next().await.unwrap();
            desk.take_ended(broken);
            assert!(!desk.jobs.is_under_way(&job));
            let told = std::mem::take(&mut desk.out);
            let answered = told.iter().any(|event| match event {
                FeedEvent::Body { seq, outcome, .. } => {
                    *seq == Seq(7) && matches!(outcome, BodyOutcome::Unavailable(_))
                }
                FeedEvent::Recalled { .. } => true,
                _ => false,
            });
            assert_eq!(answered, matches!(job, Job::Body(..) | Job::Recall(_)));
            assert!(matches!(told.last(), Some(FeedEvent::Notice { .. })));
        }
        desk.walk();
        assert!(desk.jobs.is_under_way(&Job::Walk));
    }
}
