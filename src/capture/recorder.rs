//! The recorder's thread: lines out of slices, numbers, batches to log and live stream
//! (capture.md 4).

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    path::PathBuf,
    sync::{Arc, OnceLock, atomic::Ordering},
    thread,
    time::{Duration, Instant},
};

use super::{
    assembly::{Assembly, CutLine},
    handoff::{HandOff, Item, SOURCES, Source, What},
    live::LiveQueue,
    log_file::{OpenLog, Target},
    log_queue::{Batch, LogQueue},
    log_writer::write_log,
    loss::LineCounter,
    notices::Notices,
    scribe::Scribe,
    threads::{LOG, spawn},
};
use crate::{
    base::Clock,
    record::{End, Label, end_record, session_id, start_record},
};

/// How often the queue is looked at during traffic: seldom enough that fewer than one call in a
/// hundred of a fast conversation meets a round.
const LOOK: Duration = Duration::from_millis(5);
/// Without traffic for this long the recorder sleeps.
const IDLE: Duration = Duration::from_millis(500);

/// How a run ended, for its end record.
#[derive(Clone, Debug, Default)]
pub(super) struct Ending {
    /// Exit code of the child, if it exited.
    pub(super) exit_code: Option<i32>,
    /// Name of the signal that ended it.
    pub(super) signal: Option<String>,
    /// Who closed first.
    pub(super) closed_by: &'static str,
}

/// What a recorder needs; made before the launch, used after it.
#[derive(Debug)]
pub(super) struct Recorder {
    /// Where slices come from.
    pub(super) handoff: Arc<HandOff>,
    /// Where the log goes; `None` when there is no place for it.
    pub(super) target: Option<Target>,
    /// Batches on their way to the log.
    pub(super) log: Arc<LogQueue>,
    /// Batches on their way to a hub.
    pub(super) live: Option<Arc<LiveQueue>>,
    /// Lines for standard error.
    pub(super) notices: Arc<Notices>,
    /// The session's identity.
    pub(super) identity: Identity,
    /// Set before the end is asked for.
    pub(super) ending: Arc<OnceLock<Ending>>,
}

/// What the start record says.
#[derive(Clone, Debug)]
pub(super) struct Identity {
    /// Server label.
    pub(super) label: Label,
    /// Session id that was announced; another one is drawn if its log exists.
    pub(super) session_id: String,
    /// Program and arguments.
    pub(super) command: Vec<std::ffi::OsString>,
    /// Working folder.
    pub(super) cwd: Option<PathBuf>,
    /// The clock.
    pub(super) clock: Clock,
    /// When the child was started.
    pub(super) started: Instant,
}

/// Runs the recorder to the end of the run; answers how many frames were observed and are missing in
/// the log. A panic ends observing, not forwarding (capture.md 4.9).
pub(super) fn observe(recorder: Recorder) -> u64 {
    let handoff = Arc::clone(&recorder.handoff);
    let log = Arc::clone(&recorder.log);
    let dropped = guarded(&handoff, &log, || recorder.run());
    // Where no log is, none is incomplete.
    if log.is_gone() { 0 } else { dropped }
}

/// Runs `body`; if it panics, what comes is only counted.
fn guarded(handoff: &HandOff, log: &LogQueue, body: impl FnOnce() -> u64) -> u64 {
    handoff.attend(thread::current());
    if let Ok(dropped) = catch_unwind(AssertUnwindSafe(body)) {
        return dropped;
    }
    log.abandon();
    count_only(handoff) + log.wait_until_written()
}

/// Counts frames until the end of the run.
pub(super) fn count_only(handoff: &HandOff) -> u64 {
    let mut counters = SOURCES.map(|source| LineCounter::new(false, source == Source::Stderr));
    let mut dropped = 0;
    loop {
        let finishing = handoff.is_finishing();
        while let Some(item) = handoff.pop() {
            let [client, server, stderr] = &mut counters;
            let counter = match item.source {
                Source::Client => client,
                Source::Server => server,
                Source::Stderr => stderr,
            };
            match item.what {
                What::Slice(bytes) => counter.count(&bytes),
                What::RestOfLine { .. } | What::End => counter.end(),
                What::Lost => {}
            }
            dropped += counter.take_lines() + take_lost(handoff, item.source);
        }
        if finishing {
            counters.iter_mut().for_each(LineCounter::end);
            let open: u64 = counters.iter_mut().map(LineCounter::take_lines).sum();
            let lost: u64 = SOURCES
                .iter()
                .map(|source| take_lost(handoff, *source))
                .sum();
            return dropped + open + lost;
        }
        handoff.sleep();
    }
}

fn take_lost(handoff: &HandOff, source: Source) -> u64 {
    handoff.observed(source).lost.swap(0, Ordering::SeqCst)
}

impl Recorder {
    /// Opens the log, then records until the end.
    fn run(self) -> u64 {
        let (session_id, open) = self.open_log();
        if open.is_none() {
            self.log.gone();
        }
        self.log.opened();
        let named = open.as_ref().filter(|log| log.named);
        let start = start_record(
            &self.identity.command,
            self.identity.cwd.as_deref(),
            named.map(|log| log.path.as_path()),
        );
        let scribe = Scribe::new(
            &session_id,
            self.identity.label.as_str(),
            self.identity.clock,
        );
        let mut session = Session {
            scribe,
            sinks: Sinks {
                log: Arc::clone(&self.log),
                live: self.live.clone(),
            },
            assemblies: Default::default(),
            handoff: Arc::clone(&self.handoff),
            lost: 0,
        };
        if let Some(open) = open {
            self.start_writer(open);
        }
        session.start(&start, self.identity.started);
        session.record_until_the_end();
        let dropped = session.end(&start, &self.ending);
        self.log.close();
        dropped
    }

    /// The writer is not waited for by name: a disk that hangs would hold the end up.
    fn start_writer(&self, open: OpenLog) {
        let (log, notices) = (Arc::clone(&self.log), Arc::clone(&self.notices));
        let started = spawn(LOG, move || {
            let writing = AssertUnwindSafe(|| write_log(open, &log, &notices));
            if catch_unwind(writing).is_err() {
                log.abandon();
            }
        });
        if started.is_err() {
            self.log.abandon();
        }
    }

    /// Opens the log under the announced id, or under another if that log exists. Whatever goes
    /// wrong, traffic and live stream go on.
    fn open_log(&self) -> (String, Option<OpenLog>) {
        let mut id = self.identity.session_id.clone();
        let Some(target) = &self.target else {
            return (id, None);
        };
        loop {
            let error = match target.open(&id) {
                Ok(log) => {
                    if matches!(target, Target::File(_)) {
                        let path = log.path.display();
                        self.notices.inform(&format!("the log is `{path}`"));
                    }
                    return (id, Some(log));
                }
                Err(error) => error,
            };
            if error.kind() == std::io::ErrorKind::AlreadyExists
                && let Some(other) = new_session_id(&self.identity.label)
                && other != id
                && target.path(&id).exists()
            {
                id = other;
                continue;
            }
            let path = target.path(&id);
            self.notices.warn(&format!(
                "cannot open the log `{}`: {error}; continuing without file trace",
                path.display()
            ));
            return (id, None);
        }
    }
}

/// A session id of this process; `None` when the system has no random numbers.
pub(super) fn new_session_id(label: &Label) -> Option<String> {
    let mut nonce = [0; 6];
    getrandom::fill(&mut nonce).ok()?;
    Some(session_id(label, std::process::id(), nonce))
}

/// Where batches go.
#[derive(Debug)]
struct Sinks {
    log: Arc<LogQueue>,
    live: Option<Arc<LiveQueue>>,
}

impl Sinks {
    /// The live stream has it first: it never waits.
    fn push(&self, batch: Batch) {
        if let Some(live) = &self.live {
            live.push(batch.clone());
        }
        self.log.push(batch);
    }
}

/// A session that is being recorded.
#[derive(Debug)]
struct Session {
    scribe: Scribe,
    sinks: Sinks,
    assemblies: [Assembly; 3],
    handoff: Arc<HandOff>,
    lost: u64,
}

impl Session {
    /// The start record goes ahead alone: each connection to a hub begins with it.
    fn start(&mut self, start: &[u8], at: Instant) {
        let sinks = &self.sinks;
        self.scribe
            .record(start, at, &mut |batch| sinks.push(batch));
        self.scribe.flush(&mut |batch| {
            if let Some(live) = &sinks.live {
                live.start(batch.lines.clone());
            }
            sinks.log.push(batch);
        });
    }

    /// Looks every few milliseconds during traffic and sleeps without it (capture.md 4.4).
    fn record_until_the_end(&mut self) {
        let mut last_traffic = Instant::now();
        loop {
            let finishing = self.handoff.is_finishing();
            if self.round() {
                last_traffic = Instant::now();
            }
            if finishing {
                return;
            }
            if last_traffic.elapsed() < IDLE {
                thread::park_timeout(LOOK);
            } else {
                self.handoff.sleep();
                last_traffic = Instant::now();
            }
        }
    }

    /// Takes all that waits; true when there was something.
    fn round(&mut self) -> bool {
        let mut any = false;
        while let Some(item) = self.handoff.pop() {
            any = true;
            self.take(item);
        }
        let sinks = &self.sinks;
        self.scribe.flush(&mut |batch| sinks.push(batch));
        any
    }

    fn take(&mut self, item: Item) {
        let Item { source, at, what } = item;
        let (scribe, sinks) = (&mut self.scribe, &self.sinks);
        let mut out = |batch| sinks.push(batch);
        let budget = &self.handoff.budget;
        let assembly = assembly_of(&mut self.assemblies, source);
        match what {
            What::Slice(bytes) => assembly.take(&bytes, at, budget, |line| {
                scribe.line(source, &line, at, &mut out);
            }),
            What::RestOfLine {
                bytes,
                ends_with_cr,
            } => {
                let line = assembly.cut(bytes, ends_with_cr, budget);
                self.take_cut(source, line, at);
            }
            What::Lost => self.take_lost(source),
            What::End => {
                if let Some(line) = assembly.end(budget) {
                    scribe.line(source, &line, at, &mut out);
                }
            }
        }
    }

    /// Lines that were lost at this point use up their numbers.
    fn take_lost(&mut self, source: Source) {
        let lost = take_lost(&self.handoff, source);
        self.scribe.skip(lost);
        self.lost += lost;
    }

    /// Writes what is open, waits for the log, then writes the end record with exact counts. Answers
    /// how many frames were not written.
    fn end(&mut self, start: &[u8], ending: &OnceLock<Ending>) -> u64 {
        for source in SOURCES {
            self.end_open_line(source);
            self.take_lost(source);
        }
        let sinks = &self.sinks;
        self.scribe.flush(&mut |batch| sinks.push(batch));
        let dropped = self.sinks.log.wait_until_written();
        let read = |source| self.handoff.observed(source).bytes.load(Ordering::SeqCst);
        let ending = ending.get().cloned().unwrap_or_default();
        let dropped = self.lost + dropped;
        let end = End {
            exit_code: ending.exit_code,
            signal: ending.signal,
            closed_by: ending.closed_by,
            dropped,
            c2s_bytes: read(Source::Client),
            s2c_bytes: read(Source::Server),
        };
        let raw = end_record(start, &end);
        let last = &mut |batch: Batch| {
            if let Some(live) = &sinks.live {
                live.push(batch.clone());
            }
            sinks.log.push_last(batch);
        };
        self.scribe.record(&raw, Instant::now(), last);
        self.scribe.flush(last);
        dropped
    }

    /// A pipe that is left behind has no end: its open line is recorded as far as it was seen, by
    /// the rule for cut lines when a part of it was not handed over.
    fn end_open_line(&mut self, source: Source) {
        let torn = self.handoff.observed(source).torn.load(Ordering::SeqCst);
        let assembly = assembly_of(&mut self.assemblies, source);
        let at = assembly.last_read.unwrap_or_else(Instant::now);
        let budget = &self.handoff.budget;
        let line = match torn {
            0 => assembly.end(budget).map_or(CutLine::Nothing, CutLine::Kept),
            torn => assembly.cut(torn, false, budget),
        };
        self.take_cut(source, line, at);
    }

    /// A line that the budget cut, or what became of it.
    fn take_cut(&mut self, source: Source, line: CutLine, at: Instant) {
        let sinks = &self.sinks;
        match line {
            CutLine::Kept(line) => {
                self.scribe
                    .line(source, &line, at, &mut |batch| sinks.push(batch));
            }
            CutLine::Lost => {
                self.scribe.skip(1);
                self.lost += 1;
            }
            CutLine::Nothing => {}
        }
    }
}

const fn assembly_of(assemblies: &mut [Assembly; 3], source: Source) -> &mut Assembly {
    let [client, server, stderr] = assemblies;
    match source {
        Source::Client => client,
        Source::Server => server,
        Source::Stderr => stderr,
    }
}

#[cfg(test)]
#[path = "recorder_tests.rs"]
mod tests;
