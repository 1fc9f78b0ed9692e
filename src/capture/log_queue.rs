//! Batches on their way to the log: few while it takes them, half the budget while it refuses,
//! none after it was given up (capture.md 4.5, 4.6).

use std::{
    collections::VecDeque,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use bytes::Bytes;

use super::{budget::Stage, handoff::HandOff};

/// Batches that wait before the recorder does.
const MOST_WAITING: usize = 4;
/// An end without progress of the log waits this long.
const PATIENCE: Duration = Duration::from_secs(5);
/// A second termination signal leaves this long.
const HURRY: Duration = Duration::from_secs(1);
/// How long the end record may take in a log that was given up.
const LAST_TRY: Duration = Duration::from_millis(200);

/// Whole encoded lines.
#[derive(Clone, Debug)]
pub(super) struct Batch {
    /// The lines, each with its LF.
    pub(super) lines: Bytes,
    /// How many frames they hold.
    pub(super) frames: u64,
}

/// Shared by the recorder, the log writer and the thread that ends the run.
#[derive(Debug)]
pub(super) struct LogQueue {
    handoff: Arc<HandOff>,
    state: Mutex<State>,
    /// For the writer: there is a batch, or the end.
    filled: Condvar,
    /// For the recorder: there is room, or the log was given up.
    emptied: Condvar,
}

#[derive(Debug)]
struct State {
    /// The log was opened, or nothing will be written to one.
    opened: bool,
    waiting: VecDeque<Batch>,
    /// The end record, which is tried even when the log was given up.
    last: Option<Batch>,
    /// Frames of the batch that the writer has.
    writing: Option<u64>,
    written_frames: u64,
    mode: Mode,
    dropped: u64,
    last_progress: Instant,
    finishing: Option<Instant>,
    hurry: Option<Instant>,
    closed: bool,
}

impl State {
    fn has_work(&self) -> bool {
        self.writing.is_some() || !self.waiting.is_empty()
    }

    /// When an end does not wait any longer for a log without progress.
    fn patience(&self) -> Option<Instant> {
        let patient = self.last_progress.max(self.finishing?) + PATIENCE;
        Some(self.hurry.map_or(patient, |hurry| hurry.min(patient)))
    }
}

/// What the log is like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// It takes what it is given.
    Taking,
    /// Writes fail and are tried again.
    Failing,
    /// There is none: it could not be opened, or the user deleted it. What it does not get is no
    /// loss.
    Gone,
    /// The end did not wait any longer, or the writer is gone: what comes is dropped and counted.
    Abandoned,
}

impl LogQueue {
    /// An empty queue.
    pub(super) fn new(handoff: Arc<HandOff>) -> Arc<Self> {
        Arc::new(Self {
            handoff,
            state: Mutex::new(State {
                opened: false,
                waiting: VecDeque::new(),
                last: None,
                writing: None,
                written_frames: 0,
                mode: Mode::Taking,
                dropped: 0,
                last_progress: Instant::now(),
                finishing: None,
                hurry: None,
                closed: false,
            }),
            filled: Condvar::new(),
            emptied: Condvar::new(),
        })
    }

    /// The log was opened, or cannot be.
    pub(super) fn opened(&self) {
        self.lock().opened = true;
    }

    /// When an end does not wait any longer for the opening of the log; `None` once it was opened.
    pub(super) fn opening_limit(&self) -> Option<Instant> {
        let state = self.lock();
        state.patience().filter(|_| !state.opened)
    }

    /// Gives the log a batch: waits for room while it takes, drops and counts when it does not.
    pub(super) fn push(&self, batch: Batch) {
        let mut state = self.lock();
        loop {
            let full = match state.mode {
                Mode::Taking if state.waiting.len() < MOST_WAITING => false,
                Mode::Taking => {
                    state = self.wait_for_room(state);
                    continue;
                }
                Mode::Failing => {
                    self.handoff.budget.held(Stage::Encoded) > self.handoff.budget.half()
                }
                Mode::Gone => return,
                Mode::Abandoned => true,
            };
            if full {
                state.dropped += batch.frames;
                return;
            }
            self.handoff.budget.take(Stage::Encoded, batch.lines.len());
            state.waiting.push_back(batch);
            self.filled.notify_one();
            return;
        }
    }

    /// The end of the run: from now on lack of progress gives the log up.
    pub(super) fn finish(&self) {
        let now = Instant::now();
        let mut state = self.lock();
        state.finishing.get_or_insert(now);
        self.emptied.notify_all();
    }

    /// The user does not want to wait for the end.
    pub(super) fn hurry(&self) {
        let until = Instant::now() + HURRY;
        self.lock().hurry.get_or_insert(until);
        self.emptied.notify_all();
    }

    /// Waits until everything is written or given up; answers how many frames were dropped.
    pub(super) fn wait_until_written(&self) -> u64 {
        let mut state = self.lock();
        while state.has_work() && state.mode != Mode::Abandoned {
            state = self.wait_for_room(state);
        }
        if state.mode != Mode::Abandoned {
            return state.dropped;
        }
        // The writer counts what it had begun, unless the disk holds it.
        let until = Instant::now() + LAST_TRY;
        while state.writing.is_some() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            state = wait(&self.emptied, state, left);
        }
        state.dropped + state.writing.unwrap_or(0)
    }

    /// Gives the log its last line, after `wait_until_written`. A log that was given up is tried
    /// once and not waited for.
    pub(super) fn push_last(&self, batch: Batch) {
        let mut state = self.lock();
        if state.mode == Mode::Gone {
            return;
        }
        let given_up = state.mode == Mode::Abandoned;
        let until = Instant::now() + LAST_TRY;
        self.handoff.budget.take(Stage::Encoded, batch.lines.len());
        state.last = Some(batch);
        self.filled.notify_one();
        while state.last.is_some() || state.writing.is_some() {
            let left = until.saturating_duration_since(Instant::now());
            if !given_up && state.mode != Mode::Abandoned {
                state = self.wait_for_room(state);
            } else if left.is_zero() {
                return;
            } else {
                state = wait(&self.emptied, state, left);
            }
        }
    }

    /// Waits until the writer is done with so many frames, `most` at most.
    pub(super) fn wait_for_frames(&self, frames: u64, most: Duration) {
        let until = Instant::now() + most;
        let mut state = self.lock();
        while state.written_frames < frames && state.mode == Mode::Taking {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            state = wait(&self.emptied, state, left);
        }
    }

    /// Ends the writer once it has written what waits.
    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.filled.notify_all();
    }

    /// Nothing can be written any more: what waits and what comes is dropped and counted.
    pub(super) fn abandon(&self) {
        let mut state = self.lock();
        self.give_up(&mut state);
    }

    /// The next batch for the writer; `None` after `patience`.
    pub(super) fn next(&self, patience: Duration) -> Next {
        let mut state = self.lock();
        let until = Instant::now() + patience;
        loop {
            let batch = state.waiting.pop_front().or_else(|| state.last.take());
            if let Some(batch) = batch {
                state.writing = Some(batch.frames);
                self.emptied.notify_all();
                return Next::Batch(batch);
            }
            if state.closed {
                return Next::Closed;
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Next::Nothing;
            }
            state = wait(&self.filled, state, left);
        }
    }

    /// The writer wrote `bytes`; answers the frames dropped while writes failed, if they did.
    pub(super) fn progress(&self, bytes: usize) -> Option<u64> {
        self.handoff.budget.give(Stage::Encoded, bytes);
        let mut state = self.lock();
        state.last_progress = Instant::now();
        if state.mode == Mode::Failing {
            state.mode = Mode::Taking;
            return Some(state.dropped);
        }
        None
    }

    /// The writer's batch is done.
    pub(super) fn written(&self) {
        let mut state = self.lock();
        state.written_frames += state.writing.take().unwrap_or(0);
        self.emptied.notify_all();
    }

    /// A write failed; waits before the next try. True when the log was given up meanwhile.
    pub(super) fn failed(&self, pause: Duration) -> bool {
        let mut state = self.lock();
        if state.mode == Mode::Taking {
            state.mode = Mode::Failing;
            self.emptied.notify_all();
        }
        let until = Instant::now() + pause;
        while state.mode != Mode::Abandoned {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            state = wait(&self.filled, state, left);
        }
        true
    }

    /// The writer gives up the rest of its batch: `frames` of it and `bytes` were not written.
    pub(super) fn drop_rest(&self, bytes: usize, frames: u64) {
        self.handoff.budget.give(Stage::Encoded, bytes);
        self.lock().dropped += frames;
    }

    /// The log could not be opened, or has no name any more.
    pub(super) fn gone(&self) {
        let mut state = self.lock();
        state.mode = Mode::Gone;
        let held: usize = state.waiting.drain(..).map(|batch| batch.lines.len()).sum();
        self.handoff.budget.give(Stage::Encoded, held);
        self.emptied.notify_all();
    }

    /// Frames dropped so far.
    pub(super) fn dropped(&self) -> u64 {
        self.lock().dropped
    }

    /// True when there is no log.
    pub(super) fn is_gone(&self) -> bool {
        self.lock().mode == Mode::Gone
    }

    /// True after the log was given up.
    pub(super) fn is_abandoned(&self) -> bool {
        self.lock().mode == Mode::Abandoned
    }

    /// Waits for the writer, but at an end not beyond its patience.
    fn wait_for_room<'a>(&self, mut state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        let Some(until) = state.patience() else {
            return self
                .emptied
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        };
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            self.give_up(&mut state);
            return state;
        }
        wait(&self.emptied, state, left)
    }

    fn give_up(&self, state: &mut State) {
        if state.mode != Mode::Gone {
            state.mode = Mode::Abandoned;
        }
        for batch in state.waiting.drain(..) {
            state.dropped += batch.frames;
            self.handoff.budget.give(Stage::Encoded, batch.lines.len());
        }
        self.emptied.notify_all();
        self.filled.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What the writer gets.
#[derive(Debug)]
pub(super) enum Next {
    /// Lines to write.
    Batch(Batch),
    /// Nothing for now.
    Nothing,
    /// The end.
    Closed,
}

fn wait<'a>(
    condition: &Condvar,
    state: MutexGuard<'a, State>,
    most: Duration,
) -> MutexGuard<'a, State> {
    condition
        .wait_timeout(state, most)
        .map_or_else(|poisoned| poisoned.into_inner().0, |(state, _)| state)
}

#[cfg(test)]
#[path = "log_queue_tests.rs"]
mod tests;
