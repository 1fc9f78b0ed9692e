//! Signals: caught before the launch, passed on to the child when a process sent them
//! (capture.md 5.5).

use std::{
    io,
    os::{
        fd::{AsFd as _, BorrowedFd},
        unix::net::UnixStream,
    },
};

use rustix::process::{Pid, Signal, kill_process};
use signal_hook::{
    consts::{SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2},
    iterator::{
        backend::SignalDelivery,
        exfiltrator::{WithOrigin, origin::Origin},
    },
    low_level::siginfo::Cause,
};

use super::ignore::ignore;

/// What is passed on.
const FORWARDED: [(i32, Signal); 6] = [
    (SIGTERM, Signal::TERM),
    (SIGINT, Signal::INT),
    (SIGHUP, Signal::HUP),
    (SIGQUIT, Signal::QUIT),
    (SIGUSR1, Signal::USR1),
    (SIGUSR2, Signal::USR2),
];

/// Catches signals from its making on; they wait until somebody takes them.
#[derive(Debug)]
pub(super) struct Signals {
    delivery: SignalDelivery<UnixStream, WithOrigin>,
}

/// A signal that came in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Arrived {
    /// What to send to the child; nothing when the system sent it to the whole group, so that the
    /// child has it already.
    pub(super) forward: Option<Signal>,
    /// It asks for an end: TERM, INT, HUP or QUIT.
    pub(super) asks_for_end: bool,
    /// A repetition of it shortens the drain: TERM or INT.
    pub(super) is_urgent: bool,
}

impl Signals {
    /// Sets the handlers. What was ignored at the start stays ignored, here and in the child.
    ///
    /// # Errors
    /// The system's reason.
    pub(super) fn catch() -> io::Result<Self> {
        let (read, write) = UnixStream::pair()?;
        let ignored = ignored_signals();
        let caught = FORWARDED
            .iter()
            .map(|(number, _)| *number)
            .filter(|number| ignored & (1_u64 << (number - 1)) == 0)
            .chain([SIGCHLD]);
        let delivery = SignalDelivery::with_pipe(read, write, WithOrigin::default(), caught)?;
        Ok(Self { delivery })
    }

    /// What to poll for arrivals.
    pub(super) fn ear(&self) -> BorrowedFd<'_> {
        self.delivery.get_read().as_fd()
    }

    /// Takes what arrived; a changed child is no arrival.
    pub(super) fn take(&mut self) -> Vec<Arrived> {
        self.delivery
            .pending()
            .filter_map(|origin| arrived(origin.signal, is_by_process(&origin)))
            .collect()
    }
}

/// Sends a signal to a child that was not reaped yet; one that just ended needs none.
pub(super) fn send(child: Pid, signal: Signal) {
    ignore(kill_process(child, signal));
}

fn arrived(number: i32, by_process: bool) -> Option<Arrived> {
    let (number, signal) = FORWARDED.iter().find(|(known, _)| *known == number)?;
    Some(Arrived {
        forward: by_process.then_some(*signal),
        asks_for_end: matches!(*number, SIGTERM | SIGINT | SIGHUP | SIGQUIT),
        is_urgent: matches!(*number, SIGTERM | SIGINT),
    })
}

/// The terminal driver's signals go to the whole group; Linux marks them.
#[cfg(target_os = "linux")]
fn is_by_process(origin: &Origin) -> bool {
    !matches!(origin.cause, Cause::Kernel)
}

/// This system does not mark the terminal driver's signals: while our group is the terminal's
/// foreground group, INT and QUIT from any process but the parent are taken for its.
#[cfg(not(target_os = "linux"))]
fn is_by_process(origin: &Origin) -> bool {
    if matches!(origin.cause, Cause::Kernel) {
        return false;
    }
    if !matches!(origin.signal, SIGINT | SIGQUIT) {
        return true;
    }
    let parent = rustix::process::getppid().map(|pid| pid.as_raw_nonzero().get());
    let by_parent = origin
        .process
        .is_some_and(|sender| Some(sender.pid) == parent);
    by_parent || !is_in_foreground()
}

#[cfg(not(target_os = "linux"))]
fn is_in_foreground() -> bool {
    let Ok(terminal) = std::fs::File::open("/dev/tty") else {
        return false;
    };
    rustix::termios::tcgetpgrp(&terminal).is_ok_and(|group| group == rustix::process::getpgrp())
}

/// The signals that are ignored now, as a mask whose bit 0 is signal 1.
#[cfg(target_os = "linux")]
pub fn ignored_signals() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    ignored_mask(&status)
}

/// Other systems tell only through a call that is not safe Rust: there everything is caught.
#[cfg(not(target_os = "linux"))]
pub const fn ignored_signals() -> u64 {
    0
}

#[cfg(target_os = "linux")]
fn ignored_mask(status: &str) -> u64 {
    status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn the_mask_of_ignored_signals_is_read() {
        let status = "Name:\tx\nSigBlk:\t0000000000000002\nSigIgn:\t0000000000001001\n";
        assert_eq!(ignored_mask(status), 0x1001);
        assert_eq!(ignored_mask(""), 0);
    }

    #[test]
    fn only_what_a_process_sent_is_passed_on() {
        let cases = [
            (SIGTERM, true, Some(Signal::TERM), true, true),
            (SIGINT, false, None, true, true),
            (SIGHUP, true, Some(Signal::HUP), true, false),
            (SIGUSR1, true, Some(Signal::USR1), false, false),
        ];
        for (signal, by_process, forward, asks_for_end, is_urgent) in cases {
            let expected = Arrived {
                forward,
                asks_for_end,
                is_urgent,
            };
            assert_eq!(arrived(signal, by_process), Some(expected), "{signal}");
        }
        assert_eq!(arrived(SIGCHLD, true), None);
    }
}
