//! One log as a source: read at once, followed while it grows (history.md 5).

use std::{
    collections::HashSet,
    fs::File,
    io,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, RecvTimeoutError, TryRecvError, sync_channel},
    },
    time::Duration,
};

use super::{
    ahead::{Ahead, AheadReader, Reached},
    body::read_body,
    piece::{LogPath, open_at_once},
};
use crate::{
    base::{Clock, Timestamp},
    feed::{
        BodyOutcome, Closed, Ending, FeedEvent, FeedRequest, FeedSender, LinkState, LogState,
        Merge, MergeEvent, MergeLimits, Origin,
    },
    record::{Error, HostName, Line, Liveness, Place, SessionKey},
};

/// Reads that wait while their lines are passed on; each is of 1 MiB.
const READS_AHEAD: usize = 8;
/// Pause between two looks at requests and at `stop`.
const TURN: Duration = Duration::from_millis(50);

/// Where the log comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OpenedSource {
    /// A regular file; may be followed and read back.
    File(PathBuf),
    /// A FIFO or a device: read to its end.
    Stream(PathBuf),
    /// Standard input.
    StandardInput,
}

/// What is asked of an opened log.
#[derive(Clone, Debug)]
pub struct OpenedLog {
    /// Where it comes from.
    pub source: OpenedSource,
    /// Follow it while it grows.
    pub follow: bool,
    /// The clock.
    pub clock: Clock,
}

/// Reads the log on the calling thread, with one more thread that decodes ahead. Progress, frames
/// and damage go to `feed`; requests for bodies are answered. Returns when `stop` says so, when the
/// viewer is gone, or when the log is read and nobody can ask for bodies any more.
///
/// # Errors
/// When the log cannot be read at all, has no bytes, or holds no envelope.
pub fn run_opened(
    log: &OpenedLog,
    feed: &FeedSender,
    requests: &Receiver<FeedRequest>,
    stop: &dyn Fn() -> bool,
) -> Result<(), Error> {
    let path = path_of(&log.source);
    let input = Input::open(&log.source, &path)?;
    let halt = AtomicBool::new(false);
    let (to, ahead) = sync_channel(READS_AHEAD);
    std::thread::scope(|scope| {
        let reader = AheadReader {
            path: path.clone(),
            clock: log.clock,
            halt: &halt,
            to,
        };
        let follow = log.follow;
        let thread = scope.spawn(move || match input {
            Input::File(file) => reader.read_file(file, follow),
            Input::Stream(stream) => reader.read_stream(stream),
            Input::Standard => reader.read_stream(io::stdin()),
        });
        let opened = Opened::new(log, path, feed);
        let result = opened.run(&ahead, requests, stop);
        halt.store(true, Ordering::Relaxed);
        // A reader that waits for room learns that nobody takes its lines.
        drop(ahead);
        thread.thread().unpark();
        result
    })
}

enum Input {
    File(File),
    Stream(File),
    Standard,
}

impl Input {
    fn open(source: &OpenedSource, path: &Path) -> Result<Self, Error> {
        if matches!(source, OpenedSource::StandardInput) {
            return Ok(Self::Standard);
        }
        let failed = |source: io::Error| match source.kind() {
            io::ErrorKind::NotFound => Error::NotFound {
                name: path.to_string_lossy().into_owned(),
                nearest: Vec::new(),
            },
            _ => Error::Read {
                path: path.to_owned(),
                source,
            },
        };
        // Without waiting for the other end of a FIFO: the wait for its bytes can be stopped.
        let file = open_at_once(path).map_err(failed)?;
        let kind = file.metadata().map_err(failed)?.file_type();
        if kind.is_dir() {
            let path = path.to_owned();
            return Err(Error::IsDirectory { path });
        }
        if kind.is_file() {
            return Ok(Self::File(file));
        }
        Ok(Self::Stream(file))
    }
}

fn path_of(source: &OpenedSource) -> PathBuf {
    match source {
        OpenedSource::File(path) | OpenedSource::Stream(path) => path.clone(),
        OpenedSource::StandardInput => PathBuf::from("-"),
    }
}

/// Passes on what the reading thread brings.
pub(super) struct Opened<'a> {
    feed: &'a FeedSender,
    pub(super) host: HostName,
    clock: Clock,
    pub(super) path: LogPath,
    pub(super) is_file: bool,
    pub(super) follow: bool,
    merge: Merge,
    /// Sessions of the log, and that of the line before.
    keys: HashSet<SessionKey>,
    last_key: Option<SessionKey>,
    pub(super) out: Vec<FeedEvent>,
    pub(super) damaged: u64,
    pub(super) first_damage: u64,
    pub(super) position: u64,
    pub(super) size: u64,
    pub(super) second: (u64, Timestamp),
    pub(super) rate: u64,
    pub(super) reported: Timestamp,
    /// All that the log held when it was opened was passed on.
    pub(super) loaded: bool,
    pub(super) liveness: Liveness,
}

/// Why the run goes no further.
enum Leave {
    /// The viewer is gone.
    Closed,
    Refused(Error),
}

impl From<Closed> for Leave {
    fn from(_: Closed) -> Self {
        Self::Closed
    }
}

impl<'a> Opened<'a> {
    fn new(log: &OpenedLog, path: PathBuf, feed: &'a FeedSender) -> Self {
        Self {
            feed,
            host: HostName::local(),
            clock: log.clock,
            path: Arc::new(path),
            is_file: matches!(log.source, OpenedSource::File(_)),
            follow: log.follow && matches!(log.source, OpenedSource::File(_)),
            merge: Merge::new(MergeLimits::hub()),
            keys: HashSet::new(),
            last_key: None,
            out: Vec::new(),
            damaged: 0,
            first_damage: 0,
            position: 0,
            size: 0,
            second: (0, log.clock.now()),
            rate: 0,
            reported: Timestamp::default(),
            loaded: false,
            liveness: Liveness::Unknown,
        }
    }

    fn run(
        mut self,
        ahead: &Receiver<Ahead>,
        requests: &Receiver<FeedRequest>,
        stop: &dyn Fn() -> bool,
    ) -> Result<(), Error> {
        self.tell_host(LinkState::Backfilling);
        match self.turns(ahead, requests, stop) {
            Ok(()) => {}
            Err(Leave::Closed) => return Ok(()),
            Err(Leave::Refused(error)) => return Err(error),
        }
        self.out.push(FeedEvent::End(Ending {
            host: self.host.clone(),
            outcome: "closed".into(),
            duplicates: self.merge.duplicates(),
            damaged: self.damaged,
            conflicts: self.merge.conflicts(),
        }));
        // A viewer that is gone needs no last word.
        self.flush().unwrap_or_default();
        Ok(())
    }

    fn turns(
        &mut self,
        ahead: &Receiver<Ahead>,
        requests: &Receiver<FeedRequest>,
        stop: &dyn Fn() -> bool,
    ) -> Result<(), Leave> {
        let mut reading = true;
        while !stop() {
            let asked = self.answer(requests);
            if reading && self.loaded && asked {
                // Only growth is left to come: whoever asks for bodies is served at once.
                match ahead.try_recv() {
                    Ok(part) => self.take(part)?,
                    Err(TryRecvError::Empty) => {
                        if let Ok(request) = requests.recv_timeout(TURN) {
                            self.answer_one(request);
                        }
                    }
                    Err(TryRecvError::Disconnected) => reading = false,
                }
            } else if reading {
                match ahead.recv_timeout(TURN) {
                    Ok(part) => self.take(part)?,
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => reading = false,
                }
            } else if asked {
                if let Ok(request) = requests.recv_timeout(TURN) {
                    self.answer_one(request);
                }
            } else {
                return Ok(());
            }
            let now = self.clock.now();
            self.merging(|merge, out| merge.tick(now, out));
            self.report(now);
            self.flush()?;
        }
        Ok(())
    }

    fn take(&mut self, part: Ahead) -> Result<(), Leave> {
        self.position = part.position;
        self.size = part.size;
        if part.replaced {
            self.damaged = 0;
        }
        for damage in &part.damage {
            if self.damaged == 0 {
                self.first_damage = damage.line;
            }
            self.damaged += 1;
        }
        let mut said = Vec::with_capacity(part.lines.len());
        let now = self.clock.now();
        for (line, offset) in part.lines {
            self.offer(line, offset, now, &mut said);
        }
        self.pass_on(said);
        match part.at {
            Reached::Middle => Ok(()),
            Reached::End {
                liveness,
                torn,
                last,
            } => self.reach_end(liveness, torn, last),
            Reached::Failed(source) => Err(Leave::Refused(Error::Read {
                path: self.path.to_path_buf(),
                source,
            })),
        }
    }

    fn offer(&mut self, line: Line, offset: u64, now: Timestamp, said: &mut Vec<MergeEvent>) {
        let id = &line.envelope.session_id;
        // Equal ids of one log share their memory, so this is what nearly every line meets.
        let same = self.last_key.take().filter(|key| Arc::ptr_eq(&key.id, id));
        let key = same.unwrap_or_else(|| SessionKey {
            host: self.host.clone(),
            id: Arc::clone(id),
        });
        if !self.keys.contains(&key) {
            self.keys.insert(key.clone());
            self.merge.log_state(&key, LogState::Reading, now, said);
            self.tell_session(key.clone());
        }
        let place = self.is_file.then(|| Place {
            log: Arc::clone(&self.path),
            offset,
            length: u32::try_from(line.bytes.len()).unwrap_or(u32::MAX),
        });
        self.merge.offer(&key, line, place, Origin::Log, now, said);
        self.last_key = Some(key);
    }

    fn reach_end(&mut self, liveness: Liveness, torn: bool, last: bool) -> Result<(), Leave> {
        if self.keys.is_empty() {
            let path = self.path.to_path_buf();
            return Err(Leave::Refused(if self.position == 0 {
                Error::Empty { path }
            } else {
                Error::NotALog { path }
            }));
        }
        let over = last || matches!(liveness, Liveness::Ended | Liveness::EndedWithoutRecord);
        let state = if over {
            LogState::Ended
        } else {
            LogState::ReadToEnd
        };
        let now = self.clock.now();
        let keys: Vec<SessionKey> = self.keys.iter().cloned().collect();
        for key in &keys {
            self.merging(|merge, out| merge.log_state(key, state, now, out));
        }
        self.liveness = liveness;
        let first = !std::mem::replace(&mut self.loaded, true);
        for key in keys {
            self.tell_session(key);
        }
        if first {
            self.tell_problems(torn && over);
            self.reported = Timestamp::default();
            self.tell_host(LinkState::Live);
        }
        Ok(())
    }

    /// False when nobody can ask any more.
    fn answer(&mut self, requests: &Receiver<FeedRequest>) -> bool {
        loop {
            match requests.try_recv() {
                Ok(request) => self.answer_one(request),
                Err(TryRecvError::Empty) => return true,
                Err(TryRecvError::Disconnected) => return false,
            }
        }
    }

    fn answer_one(&mut self, request: FeedRequest) {
        let FeedRequest::ReadBody { key, seq, place } = request else {
            return;
        };
        let event = if self.is_file {
            read_body(key, seq, &place)
        } else {
            let outcome =
                BodyOutcome::Unavailable("this log was a stream and is not kept".to_owned());
            FeedEvent::Body { key, seq, outcome }
        };
        self.out.push(event);
    }

    fn merging(&mut self, change: impl FnOnce(&mut Merge, &mut Vec<MergeEvent>)) {
        let mut said = Vec::new();
        change(&mut self.merge, &mut said);
        self.pass_on(said);
    }

    fn pass_on(&mut self, mut said: Vec<MergeEvent>) {
        while !said.is_empty() {
            let mut more = Vec::new();
            for event in said {
                match event.into_feed() {
                    Ok(event) => self.out.push(event),
                    Err(wanted) => {
                        // The reading thread looks at the only source all the time.
                        let (now, state) = (self.clock.now(), LogState::ReadToEnd);
                        self.merge.log_state(&wanted, state, now, &mut more);
                    }
                }
            }
            said = more;
        }
    }

    fn flush(&mut self) -> Result<(), Closed> {
        let events = std::mem::take(&mut self.out);
        if events.is_empty() {
            return Ok(());
        }
        self.feed.send_blocking(events)
    }
}
