//! Threads that are left behind at the end of the run, and what ends with one that panics.

use std::{io, thread};

/// Makes frames and lines out of what was read.
pub(super) const RECORDER: &str = "recorder";
/// Appends to the log.
pub(super) const LOG: &str = "log";
/// Sends to a hub.
pub(super) const LIVE: &str = "live";

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

/// The one line about a panic: where it was, and what has ended with its thread (capture.md 4.9).
pub(super) fn said_of_panic(thread: Option<&str>, place: &str) -> String {
    let ended = match thread {
        Some(RECORDER | LOG) => ": recording has ended, traffic goes on",
        Some(LIVE) => ": the live stream has ended, recording and traffic go on",
        _ => "",
    };
    format!("internal error at {place}{ended}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_says_in_one_line_what_has_ended() {
        let cases = [
            (
                Some(RECORDER),
                "internal error at a.rs:1: recording has ended, traffic goes on",
            ),
            (
                Some(LOG),
                "internal error at a.rs:1: recording has ended, traffic goes on",
            ),
            (
                Some(LIVE),
                "internal error at a.rs:1: the live stream has ended, recording and traffic go on",
            ),
            (Some("stdin"), "internal error at a.rs:1"),
            (None, "internal error at a.rs:1"),
        ];
        for (thread, line) in cases {
            assert_eq!(said_of_panic(thread, "a.rs:1"), line);
        }
    }
}
