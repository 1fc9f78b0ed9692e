//! What waits for the loop: keys first, then one batch of the feed (style.md 4.5).

use std::{
    collections::VecDeque,
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
    time::Duration,
};

use crossterm::event::{self, Event as Input, KeyEventKind};

use super::{background::Laid, terminal::Watch};
use crate::feed::{FeedEvent, FeedReceiver};

/// Most feed events between two looks at the keys (tui.md 4.1).
const BATCH: usize = 2_048;
/// Longest wait of a helper thread before it looks whether it should end.
const LOOK: Duration = Duration::from_millis(100);
/// Most keys that wait; a paste is one.
const KEYS: usize = 1_024;

/// What a helper thread found.
#[derive(Debug, Default)]
struct State {
    keys: VecDeque<Input>,
    batch: Option<Vec<FeedEvent>>,
    feed_closed: bool,
    input_failed: bool,
    done: Vec<(crate::feed::Severity, crate::base::Shown)>,
    uncopied: Vec<String>,
    laid: Vec<Laid>,
}

/// The place where everything that can wake the loop arrives.
#[derive(Debug, Default)]
pub(super) struct Inbox {
    state: Mutex<State>,
    changed: Condvar,
    stop: AtomicBool,
    /// The program is being suspended: keys are left to others.
    pub(super) still: AtomicBool,
}

/// What the loop takes out at once.
#[derive(Debug, Default)]
pub(super) struct Taken {
    pub(super) keys: Vec<Input>,
    pub(super) batch: Vec<FeedEvent>,
    pub(super) done: Vec<(crate::feed::Severity, crate::base::Shown)>,
    /// Texts that no clipboard program took: the terminal has to (A2).
    pub(super) uncopied: Vec<String>,
    /// Bodies that were laid out in the background.
    pub(super) laid: Vec<Laid>,
    pub(super) input_failed: bool,
}

impl Inbox {
    fn lock(&self) -> MutexGuard<'_, State> {
        // A helper that panicked left whole values behind: the state stays usable.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes what waits, or waits for something up to `most`. `with_feed`: the feed is wanted too.
    pub(super) fn take(&self, most: Duration, with_feed: bool) -> Taken {
        let mut state = self.lock();
        let idle = |state: &mut State| {
            state.keys.is_empty()
                && state.done.is_empty()
                && state.uncopied.is_empty()
                && state.laid.is_empty()
                && !state.input_failed
                && (!with_feed || state.batch.is_none())
        };
        if !most.is_zero() {
            state = self
                .changed
                .wait_timeout_while(state, most, idle)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
        let taken = Taken {
            keys: state.keys.drain(..).collect(),
            batch: if with_feed {
                state.batch.take().unwrap_or_default()
            } else {
                Vec::new()
            },
            done: std::mem::take(&mut state.done),
            uncopied: std::mem::take(&mut state.uncopied),
            laid: std::mem::take(&mut state.laid),
            input_failed: state.input_failed,
        };
        drop(state);
        self.changed.notify_all();
        taken
    }

    /// An effect was done.
    pub(super) fn done(&self, severity: crate::feed::Severity, text: crate::base::Shown) {
        self.lock().done.push((severity, text));
        self.changed.notify_all();
    }

    /// No clipboard program took this text.
    pub(super) fn not_copied(&self, text: String) {
        self.lock().uncopied.push(text);
        self.changed.notify_all();
    }

    /// A body was laid out.
    pub(super) fn laid(&self, laid: Laid) {
        self.lock().laid.push(laid);
        self.changed.notify_all();
    }

    /// Ends the helper threads.
    pub(super) fn stop(&self) {
        self.stop.store(true, Ordering::SeqCst);
        self.changed.notify_all();
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::SeqCst)
    }

    /// Reads keys until told to stop or the terminal goes away.
    fn read_keys(&self, watch: &Watch) {
        while !self.is_stopped() {
            if watch.is_gone() {
                return self.fail();
            }
            if self.still.load(Ordering::SeqCst) {
                std::thread::park_timeout(LOOK);
                continue;
            }
            match event::poll(LOOK) {
                Ok(false) => {}
                Ok(true) if watch.is_gone() => return self.fail(),
                Ok(true) => match event::read() {
                    Ok(input) => self.push(input),
                    Err(_broken) => return self.fail(),
                },
                Err(_broken) => return self.fail(),
            }
        }
    }

    fn fail(&self) {
        self.lock().input_failed = true;
        self.changed.notify_all();
    }

    fn push(&self, input: Input) {
        let pressed = match &input {
            Input::Key(key) => key.kind != KeyEventKind::Release,
            Input::Paste(_) | Input::Resize(..) | Input::FocusGained | Input::FocusLost => true,
            Input::Mouse(_) => false,
        };
        let mut state = self.lock();
        if pressed && state.keys.len() < KEYS {
            state.keys.push_back(input);
        }
        drop(state);
        self.changed.notify_all();
    }

    /// Moves batches from the feed; the next one only when the last was taken.
    fn read_feed(&self, mut feed: FeedReceiver) {
        while !self.is_stopped() {
            let Ok(events) = feed.wait(BATCH, LOOK) else {
                self.lock().feed_closed = true;
                return;
            };
            if events.is_empty() {
                continue;
            }
            let mut state = self.lock();
            while state.batch.is_some() && !self.is_stopped() {
                state = self
                    .changed
                    .wait_timeout(state, LOOK)
                    .unwrap_or_else(PoisonError::into_inner)
                    .0;
            }
            state.batch = Some(events);
            drop(state);
            self.changed.notify_all();
        }
    }
}

/// Starts the two helper threads.
///
/// # Errors
/// The system's reason.
pub(super) fn start(
    inbox: &Arc<Inbox>,
    feed: FeedReceiver,
    watch: Watch,
) -> std::io::Result<[JoinHandle<()>; 2]> {
    let keys = Arc::clone(inbox);
    let events = Arc::clone(inbox);
    Ok([
        std::thread::Builder::new()
            .name("keys".into())
            .spawn(move || keys.read_keys(&watch))?,
        std::thread::Builder::new()
            .name("feed".into())
            .spawn(move || events.read_feed(feed))?,
    ])
}
