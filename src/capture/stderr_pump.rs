//! The path of the child's standard error, and the only writer of ours.

use std::{os::fd::AsFd as _, process::ChildStderr, sync::Arc, time::Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::{
    handoff::Tap,
    ignore::ignore,
    notices::{NoticeWriter, Notices},
    pump::{Intake, Rests, write_all},
};

/// How soon a line that standard error did not take is tried again.
const RETRY: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 20_000_000,
};

/// Forwards the child's standard error to ours with our own lines between; `on_end` is called when
/// the child's end is closed. Returns after `Notices::close`, when nothing waits any more.
pub(super) fn forward_stderr(
    from: ChildStderr,
    mut tap: Tap,
    notices: &Arc<Notices>,
    on_end: impl FnOnce(),
) {
    let mut path = StderrPath {
        writer: NoticeWriter::new(Arc::clone(notices)),
        open_line: false,
        broken: false,
    };
    let (mut from, mut on_end) = (Some(from), Some(on_end));
    let mut intake = Intake::new();
    let mut rests = Rests::new();
    loop {
        if notices.is_closing() && notices.is_pending() {
            path.close_line();
        }
        let all_said = path.write_waiting();
        if notices.is_closing() && all_said {
            return;
        }
        if !wait(from.as_ref(), notices, all_said) {
            continue;
        }
        rests.before_read(&tap);
        if let Some(chunk) = from.as_ref().and_then(|from| intake.read(from)) {
            tap.hand_over(Instant::now(), &chunk);
            path.pass_on(&chunk);
            tap.wake();
            intake.renew();
        } else {
            from = None;
            tap.end(Instant::now());
            if let Some(on_end) = on_end.take() {
                on_end();
            }
        }
    }
}

/// Waits for bytes of the child or for the bell; true when there is something to read.
fn wait(from: Option<&ChildStderr>, notices: &Notices, all_said: bool) -> bool {
    let ear = notices.bell.ear();
    let bell = PollFd::new(&ear, PollFlags::IN);
    let timeout = (!all_said).then_some(&RETRY);
    let Some(from) = from else {
        ignore(poll(&mut [bell], timeout));
        notices.bell.hush();
        return false;
    };
    let mut fds = [bell, PollFd::new(from, PollFlags::IN)];
    if poll(&mut fds, timeout).is_err() {
        return false;
    }
    let [bell, child] = &fds;
    let (rung, readable) = (!bell.revents().is_empty(), !child.revents().is_empty());
    if rung {
        notices.bell.hush();
    }
    readable
}

/// Where our standard error stands.
#[derive(Debug)]
struct StderrPath {
    writer: NoticeWriter,
    open_line: bool,
    broken: bool,
}

impl StderrPath {
    /// Passes on what the child wrote. When nobody reads, it is still drained and recorded (5.4).
    fn pass_on(&mut self, chunk: &[u8]) {
        if !self.broken {
            self.broken = write_all(&rustix::stdio::stderr(), chunk).is_err();
        }
        self.open_line = chunk.last().is_some_and(|last| *last != b'\n');
    }

    fn write_waiting(&mut self) -> bool {
        let between_lines = !self.open_line;
        self.writer
            .write_waiting(rustix::stdio::stderr().as_fd(), between_lines)
    }

    /// Closes an open line of the child, if standard error takes a byte now.
    fn close_line(&mut self) {
        let stderr = rustix::stdio::stderr();
        if self.open_line && super::notices::takes_at_once(stderr) {
            self.open_line = rustix::io::write(stderr, b"\n").is_err();
        }
    }
}
