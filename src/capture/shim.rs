//! One run of the shim, from launch to exit code.

use std::{
    ffi::OsString,
    io,
    os::unix::process::ExitStatusExt as _,
    path::PathBuf,
    process::{Child, ExitStatus},
    sync::{Arc, OnceLock},
    time::Instant,
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::Pid,
};

use super::{
    ending::{Facts, Verdict},
    error::Error,
    handoff::HandOff,
    ignore::ignore,
    launch::launch,
    live::{LiveQueue, send_live},
    log_file::{Target, check_trace_file},
    log_queue::LogQueue,
    notices::{Notices, PATIENCE},
    priority::stand_back,
    recorder::{Ending, Identity, Recorder, count_only, new_session_id, observe},
    signals::{self, Signals},
    streams::{self, Closer, News, Pipes},
    threads::{LIVE, RECORDER, said_of_panic, spawn},
};
use crate::{
    base::Clock,
    record::{Label, StateDir, session_id},
};

/// What a run is asked to do; checked by the command line before.
#[derive(Clone, Debug)]
pub struct ShimOptions {
    /// Program and arguments, byte for byte.
    pub command: Vec<OsString>,
    /// Server label.
    pub label: Label,
    /// State directory; `None` when there is no safe one.
    pub state: Option<StateDir>,
    /// `--trace-file`.
    pub trace_file: Option<PathBuf>,
    /// `--log-dir`.
    pub log_dir: Option<PathBuf>,
    /// Budget B in bytes (capture.md 4.3).
    pub budget: usize,
    /// No banner, no notices except loss and errors.
    pub quiet: bool,
    /// Working folder for the start record.
    pub cwd: Option<PathBuf>,
    /// The clock.
    pub clock: Clock,
    /// Lines to say first (warnings of the state directory).
    pub warnings: Vec<String>,
}

/// How the command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finished {
    /// By itself, with this status.
    Exited(i32),
    /// By this signal.
    Signalled(i32),
}

/// Runs the shim to its end. Stdin, stdout and stderr are the client's. Must be called on the
/// process's main thread, once: it takes over signals, descriptors and the panic message.
///
/// # Errors
/// When the command could not be started; no log is left then.
pub fn run_shim(options: ShimOptions) -> Result<Finished, Error> {
    if let Some(path) = &options.trace_file {
        check_trace_file(path)?;
    }
    let mut run = Run::prepare(&options)?;
    let child = launch(&options.command)?;
    run.announce(&options);
    let status = run.supervise(child, options)?;
    let dropped = run.end(status);
    run.say_farewell(dropped);
    Ok(finished(status))
}

fn finished(status: ExitStatus) -> Finished {
    status.code().map_or_else(
        || Finished::Signalled(status.signal().unwrap_or(0)),
        Finished::Exited,
    )
}

/// The parts of a run that exist before its child.
#[derive(Debug)]
struct Run {
    handoff: Arc<HandOff>,
    log: Arc<LogQueue>,
    live: Option<Arc<LiveQueue>>,
    notices: Arc<Notices>,
    news: Arc<News>,
    signals: Signals,
    target: Option<Target>,
    session_id: String,
    ending: Arc<OnceLock<Ending>>,
    dropped: Arc<OnceLock<u64>>,
}

impl Run {
    fn prepare(options: &ShimOptions) -> Result<Self, Error> {
        let system = |source| Error::System {
            action: "set up the run",
            source,
        };
        let signals = Signals::catch().map_err(system)?;
        let notices = Notices::new(options.quiet).map_err(system)?;
        let news = News::new().map_err(system)?;
        let handoff = HandOff::new(options.budget);
        let log = LogQueue::new(Arc::clone(&handoff));
        let session_id = new_session_id(&options.label)
            .unwrap_or_else(|| session_id(&options.label, std::process::id(), [0; 6]));
        let run = Self {
            handoff,
            log,
            live: None,
            notices,
            news,
            signals,
            target: target(options),
            session_id,
            ending: Arc::default(),
            dropped: Arc::default(),
        };
        run.tell_panics();
        Ok(run)
    }

    /// A panic is told by one line of ours, between the lines of the child, not by the default
    /// message.
    fn tell_panics(&self) {
        let notices = Arc::clone(&self.notices);
        std::panic::set_hook(Box::new(move |panic| {
            let place = panic.location().map(ToString::to_string);
            let thread = std::thread::current();
            notices.warn(&said_of_panic(thread.name(), &place.unwrap_or_default()));
        }));
    }

    /// Queues the first lines for standard error; they are written before the child's.
    fn announce(&mut self, options: &ShimOptions) {
        for warning in &options.warnings {
            self.notices.warn(warning);
        }
        let words: Vec<_> = options
            .command
            .iter()
            .map(|word| word.to_string_lossy())
            .collect();
        let (words, id) = (words.join(" "), &self.session_id);
        let place = match &self.target {
            // The file is named once it is opened.
            Some(Target::File(_)) => String::new(),
            Some(target) => format!(", log in {}", target.directory().display()),
            None => ", no log".to_owned(),
        };
        self.notices
            .inform(&format!("tracing \"{words}\" (session {id}{place})"));
        if let Some(state) = &options.state {
            match state.socket_trouble() {
                Some(trouble) => self
                    .notices
                    .inform(&format!("{trouble}; live view follows the log")),
                None => self.live = Some(Arc::default()),
            }
        }
    }

    /// Starts the threads, then waits until child and streams have ended.
    fn supervise(&mut self, mut child: Child, options: ShimOptions) -> Result<ExitStatus, Error> {
        let started = Instant::now();
        let system = |source| Error::System {
            action: "start a thread",
            source,
        };
        let (stdin, stdout, stderr) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take());
        if let (Some(stdin), Some(stdout), Some(stderr)) = (stdin, stdout, stderr) {
            let pipes = Pipes {
                stdin,
                stdout,
                stderr,
            };
            streams::start(pipes, &self.handoff, &self.notices, &self.news).map_err(system)?;
        }
        let socket = options.state.as_ref().map(StateDir::socket);
        self.start_observer(options, started).map_err(system)?;
        if let (Some(live), Some(socket)) = (self.live.clone(), socket) {
            spawn(LIVE, move || send_live(&live, &socket)).map_err(system)?;
        }
        self.wait_for_the_end(&mut child)
    }

    fn start_observer(&self, options: ShimOptions, started: Instant) -> io::Result<()> {
        let recorder = Recorder {
            handoff: Arc::clone(&self.handoff),
            target: self.target.clone(),
            log: Arc::clone(&self.log),
            live: self.live.clone(),
            notices: Arc::clone(&self.notices),
            identity: Identity {
                label: options.label,
                session_id: self.session_id.clone(),
                command: options.command,
                cwd: options.cwd,
                clock: options.clock,
                started,
            },
            ending: Arc::clone(&self.ending),
        };
        let (dropped, news) = (Arc::clone(&self.dropped), Arc::clone(&self.news));
        spawn(RECORDER, move || {
            stand_back();
            ignore(dropped.set(observe(recorder)));
            news.bell.ring();
        })
    }

    fn wait_for_the_end(&mut self, child: &mut Child) -> Result<ExitStatus, Error> {
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let mut status = None;
        let mut facts = Facts::default();
        let mut mentioned = false;
        loop {
            for arrived in self.signals.take() {
                if arrived.asks_for_end {
                    self.news.closed_by(Closer::Signal);
                    facts.signalled.get_or_insert_with(Instant::now);
                }
                if let (Some(pid), Some(signal), None) = (pid, arrived.forward, status) {
                    signals::send(pid, signal);
                }
            }
            if status.is_none() {
                status = child.try_wait().map_err(|source| Error::System {
                    action: "wait for the command",
                    source,
                })?;
                if status.is_some() {
                    facts.child_ended = Some(Instant::now());
                    self.news.closed_by(Closer::Server);
                }
            }
            facts.input_ended = self.news.input_ended.get().copied();
            facts.stdout_ended = self.news.stdout_ended.get().copied();
            facts.stderr_ended = self.news.stderr_ended.get().copied();
            let now = Instant::now();
            match (facts.verdict(now), status) {
                (Verdict::Over, Some(status)) => return Ok(status),
                (Verdict::Over, None) => self.poll(None),
                (Verdict::Wait(until), _) => {
                    if !mentioned && facts.mention_at().is_some_and(|at| at <= now) {
                        mentioned = true;
                        self.notices.inform(
                            "the command has ended, another process still holds its standard output",
                        );
                    }
                    self.poll(until);
                }
            }
        }
    }

    /// Sleeps until a signal or news come, or until a moment.
    fn poll(&self, until: Option<Instant>) {
        let timeout = until
            .map(|at| at.saturating_duration_since(Instant::now()))
            .and_then(|left| Timespec::try_from(left).ok());
        let (signals, news) = (self.signals.ear(), self.news.bell.ear());
        let mut fds = [
            PollFd::new(&signals, PollFlags::IN),
            PollFd::new(&news, PollFlags::IN),
        ];
        // An interruption by a signal is a reason to look, too.
        ignore(poll(&mut fds, timeout.as_ref()));
        self.news.bell.hush();
    }

    /// Closes the client's side, then waits for recorder, log and live stream. Answers how many
    /// frames were not written.
    fn end(&mut self, status: ExitStatus) -> u64 {
        streams::close_stdout();
        streams::close_stdin();
        let signal = status.signal();
        drop(self.ending.set(Ending {
            exit_code: status.code(),
            signal: signal.map(signal_name),
            closed_by: self.news.closer(),
        }));
        self.log.finish();
        self.handoff.finish();
        let dropped = loop {
            if self.signals.take().iter().any(|arrived| arrived.is_urgent) {
                self.log.hurry();
            }
            if let Some(dropped) = self.dropped.get() {
                break *dropped;
            }
            let opening_limit = self.log.opening_limit();
            if opening_limit.is_some_and(|limit| limit <= Instant::now()) {
                // The recorder still waits for the disk: the start record and all frames are lost.
                break 1 + count_only(&self.handoff);
            }
            self.poll(opening_limit);
        };
        if let Some(live) = &self.live {
            live.drain();
        }
        dropped
    }

    /// Tells a loss of the log, and waits for standard error as long as a line is tried.
    fn say_farewell(&mut self, dropped: u64) {
        if dropped > 0 {
            self.notices.warn(&format!(
                "dropped {dropped} envelope(s), the saved trace is incomplete"
            ));
        }
        let until = Instant::now() + PATIENCE;
        self.notices.close();
        while self.notices.is_pending()
            && self.news.all_said.get().is_none()
            && Instant::now() < until
        {
            self.poll(Some(until));
        }
    }
}

fn target(options: &ShimOptions) -> Option<Target> {
    let absolute = |path: &PathBuf| match &options.cwd {
        Some(cwd) => cwd.join(path),
        None => path.clone(),
    };
    if let Some(path) = &options.trace_file {
        return Some(Target::File(absolute(path)));
    }
    if let Some(path) = &options.log_dir {
        return Some(Target::Directory(absolute(path)));
    }
    options.state.clone().map(Target::State)
}

fn signal_name(number: i32) -> String {
    signal_hook::low_level::signal_name(number)
        .map_or_else(|| format!("signal {number}"), str::to_owned)
}
