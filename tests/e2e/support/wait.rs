//! Waiting for a condition, never for a span of time.

use std::{
    sync::{Condvar, Mutex, PoisonError},
    time::{Duration, Instant},
};

/// When a wait gives up; long, because CI's two cores are shared by all tests of this binary.
pub(crate) const DEADLINE: Duration = Duration::from_mins(1);

/// Between two looks at something that cannot wake us, as a file.
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// Looks until `look` gives something; `what` names it for the message at the deadline.
pub(crate) fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + DEADLINE;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < end, "waited {DEADLINE:?} for {what}");
        std::thread::sleep(LOOK_AGAIN);
    }
}

/// A value that one thread grows and another waits on.
#[derive(Default)]
pub(crate) struct Watched<T> {
    value: Mutex<T>,
    changed: Condvar,
}

impl<T> Watched<T> {
    pub(crate) fn new(value: T) -> Self {
        Self {
            value: Mutex::new(value),
            changed: Condvar::new(),
        }
    }

    /// Changes the value and wakes who waits.
    pub(crate) fn change<R>(&self, edit: impl FnOnce(&mut T) -> R) -> R {
        let result = edit(&mut self.value.lock().unwrap_or_else(PoisonError::into_inner));
        self.changed.notify_all();
        result
    }

    /// Waits until `look` gives something; `None` at the deadline.
    pub(crate) fn wait<R>(&self, mut look: impl FnMut(&mut T) -> Option<R>) -> Option<R> {
        let end = Instant::now() + DEADLINE;
        let mut value = self.value.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(found) = look(&mut value) {
                return Some(found);
            }
            let left = end.checked_duration_since(Instant::now())?;
            value = self
                .changed
                .wait_timeout(value, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
    }
}
