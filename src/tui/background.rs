//! Large bodies are laid out on a thread of their own: what is to be done, how far it is, and that
//! nobody waits for it any more (tui.md I6, PF11).

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU8, Ordering},
};

use bytes::Bytes;

use super::body::{Body, Mode, lay_out};
use crate::base::Timestamp;

#[derive(Debug, Default)]
struct State {
    percent: AtomicU8,
    given_up: AtomicBool,
}

/// The worker's end.
#[derive(Clone, Debug, Default)]
pub(super) struct Watch(Arc<State>);

/// The end of who waits; dropping it gives the work up.
#[derive(Debug)]
pub(super) struct Handle(Arc<State>);

impl Watch {
    /// Both ends.
    pub(super) fn pair() -> (Self, Handle) {
        let state = Arc::new(State::default());
        (Self(Arc::clone(&state)), Handle(state))
    }

    /// Tells how far the work is; false when nobody waits for it.
    pub(super) fn goes_on(&self, done: usize, all: usize) -> bool {
        let percent = done.saturating_mul(100) / all.max(1);
        let percent = u8::try_from(percent).unwrap_or(100);
        self.0.percent.store(percent, Ordering::Relaxed);
        !self.0.given_up.load(Ordering::Relaxed)
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.0.given_up.store(true, Ordering::Relaxed);
    }
}

/// A body to be laid out.
#[derive(Clone, Debug)]
pub(super) struct Job {
    /// The body.
    pub(super) source: Bytes,
    /// It was recorded as a JSON value.
    pub(super) json: bool,
    /// How it is to be shown.
    pub(super) mode: Mode,
    /// Marks of redaction are told apart.
    pub(super) redacted: bool,
    watch: Watch,
}

/// A body that was laid out.
#[derive(Clone, Debug)]
pub(super) struct Laid {
    watch: Watch,
    body: Body,
}

impl Job {
    /// Does the work; it takes as long as it takes.
    pub(super) fn run(self) -> Laid {
        let body = lay_out(
            &self.source,
            self.json,
            self.mode,
            self.redacted,
            &self.watch,
        );
        Laid {
            watch: self.watch,
            body,
        }
    }
}

/// A layout that is being made, or was.
#[derive(Debug)]
pub(super) struct Pending {
    /// The mode it is for.
    pub(super) mode: Mode,
    handle: Handle,
    /// When it began.
    since: Option<Timestamp>,
    job: Option<Job>,
    body: Option<Body>,
}

impl Pending {
    /// Asks for a layout.
    pub(super) fn new(source: Bytes, json: bool, mode: Mode, redacted: bool) -> Self {
        let (watch, handle) = Watch::pair();
        Self {
            mode,
            handle,
            since: None,
            job: Some(Job {
                source,
                json,
                mode,
                redacted,
                watch,
            }),
            body: None,
        }
    }

    /// The work, once, to be begun now.
    pub(super) fn begin(&mut self, now: Timestamp) -> Option<Job> {
        let job = self.job.take()?;
        self.since = Some(now);
        Some(job)
    }

    /// Takes the layout if it is the one that is waited for.
    pub(super) fn came(&mut self, laid: &Laid) {
        if Arc::ptr_eq(&self.handle.0, &laid.watch.0) {
            self.body = Some(laid.body.clone());
        }
    }

    /// The layout, once it is there.
    pub(super) fn body(&self) -> Option<&Body> {
        self.body.as_ref()
    }

    /// How far it is, in percent, when it takes longer than a second (D6).
    pub(super) fn percent(&self, now: Timestamp) -> Option<u8> {
        let since = self.since.filter(|_| self.body.is_none())?;
        let waited = now.nanos_since(since) >= 1_000_000_000;
        waited.then(|| self.handle.0.percent.load(Ordering::Relaxed))
    }
}
