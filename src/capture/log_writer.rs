//! The thread that appends batches to the log (capture.md 4.5, 7.1).

use std::{
    io::{self, ErrorKind, Write},
    path::Path,
    time::{Duration, Instant},
};

use super::{
    log_file::{OpenLog, is_deleted},
    log_queue::{LogQueue, Next},
    notices::Notices,
};
use crate::feed::Backoff;

/// How often the log is looked for.
const LOOK: Duration = Duration::from_secs(5);

/// Writes batches until the queue is closed or the log is gone.
pub(super) fn write_log(log: OpenLog, queue: &LogQueue, notices: &Notices) {
    let OpenLog { file, path, .. } = log;
    let writer = Writer {
        queue,
        notices,
        path: &path,
    };
    let mut look_at = Instant::now() + LOOK;
    loop {
        match queue.next(look_at.saturating_duration_since(Instant::now())) {
            Next::Batch(batch) => {
                let usable = writer.write(&file, &batch.lines);
                queue.written();
                if !usable {
                    return;
                }
            }
            Next::Nothing => {}
            Next::Closed => return,
        }
        if Instant::now() >= look_at {
            if is_deleted(&file) {
                let path = path.display();
                notices.warn(&format!(
                    "log `{path}` was deleted, recording to disk has ended"
                ));
                queue.gone();
                return;
            }
            look_at = Instant::now() + LOOK;
        }
    }
}

/// Where a batch goes, and who is told when it does not.
#[derive(Clone, Copy, Debug)]
struct Writer<'a> {
    queue: &'a LogQueue,
    notices: &'a Notices,
    path: &'a Path,
}

impl Writer<'_> {
    /// Writes one batch, in one call where the system takes it; after a partial write the rest comes
    /// first. False when a torn line could not be ended: nothing may follow it.
    fn write(self, mut to: impl Write, lines: &[u8]) -> bool {
        let mut rest = lines;
        let mut backoff = Backoff::new(Duration::from_millis(100), Duration::from_secs(1));
        let mut dropped_before = None;
        while !rest.is_empty() {
            let error = match to.write(rest) {
                Ok(count) if count > 0 => {
                    rest = rest.get(count..).unwrap_or_default();
                    if let Some(dropped) = self.queue.progress(count) {
                        self.tell_recovery(dropped - dropped_before.take().unwrap_or(dropped));
                        backoff.reset();
                    }
                    continue;
                }
                Ok(_) => ErrorKind::WriteZero.into(),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => error,
            };
            if dropped_before.is_none() && !self.queue.is_abandoned() {
                dropped_before = Some(self.queue.dropped());
                self.tell_error(&error);
            }
            if self.queue.failed(backoff.pause()) {
                return self.give_up(to, rest, lines);
            }
        }
        true
    }

    /// The end does not wait for this batch: only a line that was begun is tried once more, so that
    /// the log does not end in a torn one.
    fn give_up(self, mut to: impl Write, rest: &[u8], lines: &[u8]) -> bool {
        let written = lines.len() - rest.len();
        let torn = written > 0 && lines.get(written - 1) != Some(&b'\n');
        let keep = match memchr::memchr(b'\n', rest) {
            Some(end) if torn => end + 1,
            _ => 0,
        };
        let (kept, gone) = rest.split_at_checked(keep).unwrap_or((&[], rest));
        let ended = to.write_all(kept).is_ok();
        let lost = memchr::memchr_iter(b'\n', gone).count() as u64 + u64::from(!ended);
        self.queue.drop_rest(rest.len(), lost);
        ended
    }

    fn tell_error(self, error: &io::Error) {
        let path = self.path.display();
        self.notices.warn(&format!(
            "cannot write the log `{path}`: {error}; trying again"
        ));
    }

    fn tell_recovery(self, lost: u64) {
        self.notices.warn(&format!(
            "the log is written again, {lost} envelope(s) were dropped meanwhile"
        ));
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::VecDeque, sync::Arc};

    use bytes::Bytes;

    use super::*;
    use crate::capture::{handoff::HandOff, log_queue::Batch};

    /// Takes what each step says: so many bytes, or an error.
    struct Disk {
        steps: VecDeque<Option<usize>>,
        content: Vec<u8>,
        queue: Option<Arc<LogQueue>>,
    }

    impl Write for &mut Disk {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if let Some(most) = self.steps.pop_front().unwrap_or(Some(usize::MAX)) {
                let taken = bytes.get(..most).unwrap_or(bytes);
                self.content.extend_from_slice(taken);
                return Ok(taken.len());
            }
            if let Some(queue) = &self.queue {
                queue.abandon();
            }
            Err(ErrorKind::StorageFull.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// Writes three lines to a disk; answers its content, the frames dropped, and usability.
    fn check(steps: &[Option<usize>], abandons: bool) -> (String, u64, bool) {
        let queue = LogQueue::new(HandOff::new(16 << 20));
        let notices = Notices::new(true).unwrap();
        let lines = Bytes::from_static(b"one\ntwo\nthree\n");
        queue.push(Batch {
            lines: lines.clone(),
            frames: 3,
        });
        assert!(matches!(queue.next(LOOK), Next::Batch(_)));
        let mut disk = Disk {
            steps: steps.iter().copied().collect(),
            content: Vec::new(),
            queue: abandons.then(|| Arc::clone(&queue)),
        };
        let writer = Writer {
            queue: &queue,
            notices: &notices,
            path: Path::new("log"),
        };
        let usable = writer.write(&mut disk, &lines);
        queue.written();
        let content = String::from_utf8(disk.content).unwrap();
        (content, queue.wait_until_written(), usable)
    }

    #[test]
    fn a_full_disk_that_recovers_loses_nothing_and_glues_nothing() {
        let whole = ("one\ntwo\nthree\n".to_owned(), 0, true);
        assert_eq!(check(&[], false), whole);
        assert_eq!(check(&[Some(2), None, None, Some(3)], false), whole);
    }

    #[test]
    fn an_abandoned_batch_is_counted_and_a_torn_line_ended() {
        assert_eq!(check(&[None], true), (String::new(), 3, true));
        assert_eq!(check(&[Some(4), None], true), ("one\n".to_owned(), 2, true));
        assert_eq!(
            check(&[Some(5), None], true),
            ("one\ntwo\n".to_owned(), 1, true)
        );
        assert_eq!(
            check(&[Some(5), None, None], true),
            ("one\nt".to_owned(), 2, false)
        );
    }
}
