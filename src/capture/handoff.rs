//! The hand-off from the pipes to the recorder: one lock-free queue for all directions, whose order
//! is the order of observation (capture.md 4.2 to 4.4).

use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread::Thread,
    time::Instant,
};

use bytes::Bytes;
use crossbeam_queue::SegQueue;

use super::{
    budget::{Budget, SLICE_COST, Stage},
    loss::LineCounter,
};

/// The recorder is woken early when this much waits.
const EARLY: usize = 1 << 20;

/// Which pipe bytes came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// The client's writing end: our standard input.
    Client,
    /// The server's standard output.
    Server,
    /// The server's standard error.
    Stderr,
}

/// All pipes.
pub(super) const SOURCES: [Source; 3] = [Source::Client, Source::Server, Source::Stderr];

/// Something observed, in the order of observation.
#[derive(Debug)]
pub(super) struct Item {
    /// Where.
    pub(super) source: Source,
    /// When it was read.
    pub(super) at: Instant,
    /// What.
    pub(super) what: What,
}

/// What was observed.
#[derive(Debug)]
pub(super) enum What {
    /// These bytes were read.
    Slice(Bytes),
    /// The line that was open when the budget was full has ended; this many bytes of it were not
    /// handed over.
    RestOfLine {
        /// Bytes, line end excluded, a CR before it included.
        bytes: u64,
        /// True when the last of them is a CR.
        ends_with_cr: bool,
    },
    /// Lines were lost here: their number waits in `Observed::lost`.
    Lost,
    /// The stream has ended.
    End,
}

/// Counters of one pipe that its thread keeps and the recorder reads.
#[derive(Debug, Default)]
pub(super) struct Observed {
    /// All bytes read, line ends included.
    pub(super) bytes: AtomicU64,
    /// Lines that were not handed over and have no number yet.
    pub(super) lost: AtomicU64,
    /// Bytes of the open line that were not handed over.
    pub(super) torn: AtomicU64,
}

/// The queue, its budget, and the recorder's alarm clock.
#[derive(Debug)]
pub(super) struct HandOff {
    queue: SegQueue<Item>,
    /// The budget B.
    pub(super) budget: Budget,
    observed: [Observed; 3],
    recorder: OnceLock<Thread>,
    asleep: AtomicBool,
    finishing: AtomicBool,
}

impl HandOff {
    /// An empty queue with a budget in bytes.
    pub(super) fn new(budget: usize) -> Arc<Self> {
        Arc::new(Self {
            queue: SegQueue::new(),
            budget: Budget::new(budget),
            observed: Default::default(),
            recorder: OnceLock::new(),
            asleep: AtomicBool::new(false),
            finishing: AtomicBool::new(false),
        })
    }

    /// The counters of a pipe.
    pub(super) const fn observed(&self, source: Source) -> &Observed {
        let [client, server, stderr] = &self.observed;
        match source {
            Source::Client => client,
            Source::Server => server,
            Source::Stderr => stderr,
        }
    }

    /// Queues an item; true when the recorder should be woken early.
    fn push(&self, item: Item) -> bool {
        let cost = cost(&item);
        let before = self.budget.take(Stage::Queued, cost);
        self.queue.push(item);
        before < EARLY && before + cost >= EARLY
    }

    /// Takes the next item; its cost leaves the queue's account.
    pub(super) fn pop(&self) -> Option<Item> {
        let item = self.queue.pop()?;
        self.budget.give(Stage::Queued, cost(&item));
        Some(item)
    }

    /// True when nothing waits.
    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Names the thread that empties the queue.
    pub(super) fn attend(&self, recorder: Thread) {
        drop(self.recorder.set(recorder));
    }

    /// Sleeps until something is queued or the end is asked for; called by the recorder only.
    pub(super) fn sleep(&self) {
        self.asleep.store(true, Ordering::SeqCst);
        while self.asleep.load(Ordering::SeqCst) && self.is_empty() && !self.is_finishing() {
            std::thread::park();
        }
        self.asleep.store(false, Ordering::SeqCst);
    }

    /// Wakes the recorder when it sleeps, or when `early` says so. Never waits.
    fn wake(&self, early: bool) {
        // Orders the push before the look at the flag: the recorder sets it, then looks once more.
        std::sync::atomic::fence(Ordering::SeqCst);
        let asleep =
            self.asleep.load(Ordering::Relaxed) && self.asleep.swap(false, Ordering::SeqCst);
        if (asleep || early)
            && let Some(thread) = self.recorder.get()
        {
            thread.unpark();
        }
    }

    /// Asks the recorder to write what is queued and to end.
    pub(super) fn finish(&self) {
        self.finishing.store(true, Ordering::SeqCst);
        self.wake(true);
    }

    /// True after `finish`.
    pub(super) fn is_finishing(&self) -> bool {
        self.finishing.load(Ordering::SeqCst)
    }
}

fn cost(item: &Item) -> usize {
    match &item.what {
        What::Slice(bytes) => bytes.len() + SLICE_COST,
        What::RestOfLine { .. } | What::Lost | What::End => SLICE_COST,
    }
}

/// The sending end of one pipe.
#[derive(Debug)]
pub(super) struct Tap {
    handoff: Arc<HandOff>,
    source: Source,
    open_line: bool,
    losing: Option<LineCounter>,
    early: bool,
}

impl Tap {
    /// A tap for a pipe.
    pub(super) const fn new(handoff: Arc<HandOff>, source: Source) -> Self {
        Self {
            handoff,
            source,
            open_line: false,
            losing: None,
            early: false,
        }
    }

    /// The budget that this tap fills.
    pub(super) fn budget(&self) -> &Budget {
        &self.handoff.budget
    }

    /// Hands over what was read, before it is written onward. Never waits; when the budget is full
    /// the lines are only counted.
    pub(super) fn hand_over(&mut self, at: Instant, bytes: &Bytes) {
        let read = bytes.len() as u64;
        self.observed().bytes.fetch_add(read, Ordering::Relaxed);
        if self.losing.is_none() && self.handoff.budget.has_room() {
            self.queue_slice(at, bytes.clone());
        } else {
            self.lose(at, bytes);
        }
    }

    /// Wakes the recorder if it needs to be; called after the write.
    pub(super) fn wake(&mut self) {
        let early = std::mem::take(&mut self.early);
        self.handoff.wake(early);
    }

    /// The stream has ended.
    pub(super) fn end(&mut self, at: Instant) {
        if let Some(mut counter) = self.losing.take() {
            counter.end();
            self.publish(at, &mut counter);
            self.queue(at, What::Lost);
        }
        self.queue(at, What::End);
        self.early = true;
        self.wake();
    }

    fn queue_slice(&mut self, at: Instant, bytes: Bytes) {
        self.open_line = bytes.last().is_some_and(|last| *last != b'\n');
        self.queue(at, What::Slice(bytes));
    }

    fn queue(&mut self, at: Instant, what: What) {
        let source = self.source;
        self.early |= self.handoff.push(Item { source, at, what });
    }

    fn observed(&self) -> &Observed {
        self.handoff.observed(self.source)
    }

    /// Counts lines instead of handing them over; resumes behind the next line end when there is
    /// room again.
    fn lose(&mut self, at: Instant, bytes: &Bytes) {
        let mut counter = self
            .losing
            .take()
            .unwrap_or_else(|| LineCounter::new(self.open_line, self.source == Source::Stderr));
        if !self.handoff.budget.has_ample_room() {
            counter.count(bytes);
            self.publish(at, &mut counter);
            self.losing = Some(counter);
            return;
        }
        let whole = if counter.is_at_line_start() {
            0
        } else {
            memchr::memchr(b'\n', bytes).map_or(bytes.len(), |end| end + 1)
        };
        let kept = bytes.slice(whole..);
        counter.count(&bytes.slice(..whole));
        self.publish(at, &mut counter);
        if !counter.is_at_line_start() {
            self.losing = Some(counter);
            return;
        }
        self.open_line = false;
        self.queue(at, What::Lost);
        if !kept.is_empty() {
            self.queue_slice(at, kept);
        }
    }

    /// Tells the recorder what the counter has found out.
    fn publish(&mut self, at: Instant, counter: &mut LineCounter) {
        if let Some((bytes, ends_with_cr)) = counter.take_rest() {
            self.queue(
                at,
                What::RestOfLine {
                    bytes,
                    ends_with_cr,
                },
            );
        }
        let torn = counter.missing_so_far();
        self.observed().torn.store(torn, Ordering::SeqCst);
        let lines = counter.take_lines();
        if lines > 0 {
            self.observed().lost.fetch_add(lines, Ordering::SeqCst);
        }
    }
}

#[cfg(test)]
#[path = "handoff_tests.rs"]
mod tests;
