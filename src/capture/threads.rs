//! Threads that are left behind at the end of the run.

use std::{io, thread};

/// Starts a named thread.
///
/// # Errors
/// The system has no threads left.
pub(super) fn spawn(name: &str, body: impl FnOnce() + Send + 'static) -> io::Result<()> {
    thread::Builder::new()
        .name(name.to_owned())
        .spawn(body)
        .map(drop)
}
