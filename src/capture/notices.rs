//! Our own lines on standard error: queued by anyone, written between lines of the child by the
//! thread that owns the descriptor (capture.md 3).

use std::{
    io,
    os::fd::{AsFd, BorrowedFd},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use crossbeam_queue::ArrayQueue;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::{ignore::ignore, wake::Bell};
use crate::base;

/// Lines that may wait; more than these in a second are not worth reading.
const MOST: usize = 64;
/// The longest line, LF included: what a pipe takes in one piece.
const LONGEST: usize = 4_096;
/// How long a line is tried.
pub(super) const PATIENCE: Duration = Duration::from_secs(1);

/// A line that waits for standard error to take it.
#[derive(Debug)]
struct Notice {
    line: Vec<u8>,
    until: Instant,
}

/// Takes lines from any thread; nobody waits for a reader.
#[derive(Debug)]
pub(super) struct Notices {
    queue: ArrayQueue<Notice>,
    quiet: bool,
    pub(super) bell: Bell,
    closing: AtomicBool,
    /// Lines neither written nor given up.
    pending: AtomicUsize,
}

impl Notices {
    /// An empty queue; `quiet` leaves out everything but losses and errors.
    ///
    /// # Errors
    /// The system has no descriptors left.
    pub(super) fn new(quiet: bool) -> io::Result<Arc<Self>> {
        Ok(Arc::new(Self {
            queue: ArrayQueue::new(MOST),
            quiet,
            bell: Bell::new()?,
            closing: AtomicBool::new(false),
            pending: AtomicUsize::new(0),
        }))
    }

    /// Says something that `--quiet` leaves out.
    pub(super) fn inform(&self, text: &str) {
        if !self.quiet {
            self.warn(text);
        }
    }

    /// Says something that is always said.
    pub(super) fn warn(&self, text: &str) {
        let notice = Notice {
            line: line_of(text),
            until: Instant::now() + PATIENCE,
        };
        self.pending.fetch_add(1, Ordering::SeqCst);
        if self.queue.push(notice).is_ok() {
            self.bell.ring();
        } else {
            self.pending.fetch_sub(1, Ordering::SeqCst);
        }
    }

    /// Nothing more will be said: the owner writes what waits, then ends.
    pub(super) fn close(&self) {
        self.closing.store(true, Ordering::SeqCst);
        self.bell.ring();
    }

    /// True while a line waits.
    pub(super) fn is_pending(&self) -> bool {
        self.pending.load(Ordering::SeqCst) > 0
    }

    /// True after `close`.
    pub(super) fn is_closing(&self) -> bool {
        self.closing.load(Ordering::SeqCst)
    }
}

/// The owner's end: the lines in their turn.
#[derive(Debug)]
pub(super) struct NoticeWriter {
    notices: Arc<Notices>,
    next: Option<Notice>,
}

impl NoticeWriter {
    /// The only writer of these notices.
    pub(super) const fn new(notices: Arc<Notices>) -> Self {
        Self {
            notices,
            next: None,
        }
    }

    /// Writes what waits as long as `to` takes it at once; given up lines are dropped. True when
    /// nothing waits any more.
    pub(super) fn write_waiting(&mut self, to: BorrowedFd<'_>, between_lines: bool) -> bool {
        loop {
            let Some(notice) = self.next.take().or_else(|| self.notices.queue.pop()) else {
                return true;
            };
            if between_lines && takes_at_once(to) {
                ignore(rustix::io::write(to, &notice.line));
            } else if Instant::now() < notice.until {
                self.next = Some(notice);
                return false;
            }
            self.notices.pending.fetch_sub(1, Ordering::SeqCst);
        }
    }
}

/// True when a write of up to `LONGEST` bytes returns without waiting.
pub(super) fn takes_at_once(fd: impl AsFd) -> bool {
    let mut fds = [PollFd::new(&fd, PollFlags::OUT)];
    let ready = poll(&mut fds, Some(&Timespec::default())).is_ok_and(|count| count > 0);
    let [only] = &fds;
    ready && only.revents().contains(PollFlags::OUT)
}

/// One whole line: prefix, printable text, LF.
fn line_of(text: &str) -> Vec<u8> {
    let mut line = "mcpsnoop: ".to_owned();
    for sign in base::line(text).chars() {
        if line.len() + sign.len_utf8() + 1 > LONGEST {
            break;
        }
        line.push(sign);
    }
    line.push('\n');
    line.into_bytes()
}

#[cfg(test)]
mod tests {
    use std::{io::Read as _, os::unix::net::UnixStream};

    use super::*;

    #[test]
    fn lines_are_one_line_printable_and_short() {
        let cases = [
            ("hello", "mcpsnoop: hello\n"),
            ("a\nb\u{1b}[1m", "mcpsnoop: a\\nb\\u001b[1m\n"),
            ("a\u{202e}b", "mcpsnoop: a\\u202eb\n"),
            ("`ü`", "mcpsnoop: `ü`\n"),
        ];
        for (text, line) in cases {
            assert_eq!(line_of(text), line.as_bytes());
        }
        let long = line_of(&"é\n".repeat(9_000));
        assert!(long.len() <= LONGEST && long.ends_with(b"\n"));
    }

    #[test]
    fn lines_wait_for_the_end_of_the_childs_line() {
        let notices = Notices::new(true).unwrap();
        let mut writer = NoticeWriter::new(Arc::clone(&notices));
        let (mut reader, ours) = UnixStream::pair().unwrap();
        notices.inform("left out");
        notices.warn("one");
        notices.warn("two");
        assert!(!writer.write_waiting(ours.as_fd(), false));
        assert!(writer.write_waiting(ours.as_fd(), true));
        drop((ours, writer));
        let mut said = String::new();
        reader.read_to_string(&mut said).unwrap();
        assert_eq!(said, "mcpsnoop: one\nmcpsnoop: two\n");
    }

    #[test]
    fn a_full_reader_is_not_waited_for() {
        let (_reader, ours) = UnixStream::pair().unwrap();
        ours.set_nonblocking(true).unwrap();
        while rustix::io::write(&ours, &[b'x'; 4_096]).is_ok() {}
        assert!(!takes_at_once(&ours));
        let notices = Notices::new(false).unwrap();
        let mut writer = NoticeWriter::new(Arc::clone(&notices));
        notices.inform("late");
        assert!(!writer.write_waiting(ours.as_fd(), true));
    }
}
