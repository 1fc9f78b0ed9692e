//! The live stream to a hub: batches by reference, oldest dropped first, and the thread that sends
//! them (log-format 10.1). It never affects log or traffic.

use std::{
    collections::VecDeque,
    io::Write as _,
    os::unix::net::UnixStream,
    path::Path,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use bytes::Bytes;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::log_queue::Batch;
use crate::feed::Backoff;

/// Bytes that wait for a connected hub.
const CONNECTED: usize = 16 << 20;
/// Bytes that wait without a hub: the log has the rest.
const ALONE: usize = 4 << 20;
/// Envelopes that wait.
const MOST_FRAMES: u64 = 8_192;
/// How often an idle connection is looked at.
const LOOK: Duration = Duration::from_secs(1);
/// What an end waits for the hub.
const DRAIN: Duration = Duration::from_millis(500);

/// Shared by the recorder and the socket writer.
#[derive(Debug, Default)]
pub(super) struct LiveQueue {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    start: Option<Bytes>,
    waiting: VecDeque<Batch>,
    bytes: usize,
    frames: u64,
    connected: bool,
    sending: bool,
    finishing: bool,
}

impl State {
    fn push_back(&mut self, batch: Batch) {
        self.bytes += batch.lines.len();
        self.frames += batch.frames;
        self.waiting.push_back(batch);
        self.trim();
    }

    fn pop_front(&mut self) -> Option<Batch> {
        let batch = self.waiting.pop_front()?;
        self.bytes -= batch.lines.len();
        self.frames -= batch.frames;
        Some(batch)
    }

    fn push_front(&mut self, batch: Batch) {
        self.bytes += batch.lines.len();
        self.frames += batch.frames;
        self.waiting.push_front(batch);
        self.trim();
    }

    /// Discards the oldest: the disk has them, so that this is no loss (log-format 10.1.6).
    fn trim(&mut self) {
        let most = if self.connected { CONNECTED } else { ALONE };
        while self.bytes > most || self.frames > MOST_FRAMES {
            if self.pop_front().is_none() {
                return;
            }
        }
    }
}

impl LiveQueue {
    /// Sets the start record, which opens each connection.
    pub(super) fn start(&self, line: Bytes) {
        self.lock().start = Some(line);
        self.changed.notify_all();
    }

    /// Queues a batch. Never waits for the hub.
    pub(super) fn push(&self, batch: Batch) {
        self.lock().push_back(batch);
        self.changed.notify_all();
    }

    /// Ends the stream: a connected hub gets what is queued, for half a second at most.
    pub(super) fn drain(&self) {
        let until = Instant::now() + DRAIN;
        let mut state = self.lock();
        state.finishing = true;
        self.changed.notify_all();
        while state.connected && (state.sending || !state.waiting.is_empty()) {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            state = self.wait(state, left);
        }
    }

    /// Sleeps between tries to connect; false at the end.
    fn pause(&self, pause: Duration) -> bool {
        let until = Instant::now() + pause;
        let mut state = self.lock();
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if state.finishing || left.is_zero() {
                return !state.finishing;
            }
            state = self.wait(state, left);
        }
    }

    /// The start record, once there is one; `None` at the end.
    fn opening(&self) -> Option<Bytes> {
        let mut state = self.lock();
        loop {
            if let Some(start) = &state.start {
                return Some(start.clone());
            }
            if state.finishing {
                return None;
            }
            state = self.wait(state, LOOK);
        }
    }

    fn set_connected(&self, connected: bool) {
        let mut state = self.lock();
        state.connected = connected;
        state.sending = connected;
        state.trim();
        self.changed.notify_all();
    }

    /// The next batch, an occasion to look at the connection, or the end.
    fn next(&self) -> Next {
        let mut state = self.lock();
        state.sending = false;
        self.changed.notify_all();
        let until = Instant::now() + LOOK;
        loop {
            if let Some(batch) = state.pop_front() {
                state.sending = true;
                return Next::Batch(batch);
            }
            if state.finishing {
                return Next::End;
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Next::Look;
            }
            state = self.wait(state, left);
        }
    }

    /// The connection broke in a batch: what was not sent whole goes first on the next one.
    fn take_back(&self, batch: Batch) {
        let mut state = self.lock();
        state.connected = false;
        state.sending = false;
        state.push_front(batch);
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State>, most: Duration) -> MutexGuard<'a, State> {
        self.changed
            .wait_timeout(state, most)
            .map_or_else(|poisoned| poisoned.into_inner().0, |(state, _)| state)
    }
}

/// What the sender does next.
#[derive(Debug)]
enum Next {
    Batch(Batch),
    Look,
    End,
}

/// Connects again and again and sends until the end.
pub(super) fn send_live(queue: &Arc<LiveQueue>, socket: &Path) {
    let mut backoff = Backoff::new(Duration::from_millis(200), Duration::from_secs(2));
    let Some(start) = queue.opening() else {
        return;
    };
    loop {
        if let Ok(hub) = UnixStream::connect(socket) {
            backoff.reset();
            queue.set_connected(true);
            let ended = serve(queue, hub, &start);
            queue.set_connected(false);
            if ended {
                return;
            }
        }
        if !queue.pause(backoff.pause()) {
            return;
        }
    }
}

/// Serves one connection; true at the end, false when it broke.
fn serve(queue: &LiveQueue, mut hub: UnixStream, start: &Bytes) -> bool {
    if hub.write_all(start).is_err() {
        return false;
    }
    loop {
        match queue.next() {
            Next::Batch(batch) => {
                if let Err(sent) = send(&mut hub, &batch.lines) {
                    queue.take_back(unsent(&batch, sent));
                    return false;
                }
            }
            Next::Look if is_hung_up(&hub) => return false,
            Next::Look => {}
            Next::End => return true,
        }
    }
}

/// Writes everything, or answers how much was taken.
fn send(hub: &mut UnixStream, lines: &[u8]) -> Result<(), usize> {
    let mut sent = 0;
    while let Some(rest) = lines.get(sent..).filter(|rest| !rest.is_empty()) {
        match hub.write(rest) {
            Ok(count) if count > 0 => sent += count,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Ok(_) | Err(_) => return Err(sent),
        }
    }
    Ok(())
}

/// The part of a batch from the line that was interrupted on.
fn unsent(batch: &Batch, sent: usize) -> Batch {
    let before = batch.lines.get(..sent).unwrap_or_default();
    let begin = memchr::memrchr(b'\n', before).map_or(0, |end| end + 1);
    let whole = memchr::memchr_iter(b'\n', before).count() as u64;
    Batch {
        lines: batch.lines.slice(begin..),
        frames: batch.frames.saturating_sub(whole),
    }
}

/// A hub that went away is left at once, so that the next one gets a connection.
fn is_hung_up(hub: &UnixStream) -> bool {
    let mut fds = [PollFd::new(hub, PollFlags::empty())];
    let seen = poll(&mut fds, Some(&Timespec::default()));
    let [hub] = &fds;
    seen.is_ok() && hub.revents().intersects(PollFlags::HUP | PollFlags::ERR)
}

#[cfg(test)]
#[path = "live_tests.rs"]
mod tests;
