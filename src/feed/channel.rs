//! The bounded channel from sources to the viewer: by count and by bytes, usable from tasks and
//! from plain threads.

use std::{
    collections::VecDeque,
    fmt,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use tokio::sync::Notify;

use super::event::{BodyOutcome, FeedEvent};

/// Most events that wait: two turns of a viewer, which takes 2,048 at once.
const EVENT_LIMIT: usize = 4_096;
/// Most bytes of lines that wait; one larger line passes alone.
const BYTE_LIMIT: usize = 8 << 20;

/// The other side is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the other side of the feed is gone")]
pub struct Closed;

/// The source's end; cheap to clone.
pub struct FeedSender {
    shared: Arc<Shared>,
}

/// The viewer's end.
pub struct FeedReceiver {
    shared: Arc<Shared>,
}

/// Makes a channel with the limits above.
pub fn channel() -> (FeedSender, FeedReceiver) {
    let shared = Arc::new(Shared {
        state: Mutex::new(State {
            senders: 1,
            ..State::default()
        }),
        room: Condvar::new(),
        filled: Condvar::new(),
        room_for_tasks: Notify::new(),
        filled_for_tasks: Notify::new(),
    });
    let sender = FeedSender {
        shared: Arc::clone(&shared),
    };
    (sender, FeedReceiver { shared })
}

impl FeedSender {
    /// Hands events over in order; waits for room without blocking the thread. Cancelled in the
    /// middle, it has handed over a front part of them.
    ///
    /// # Errors
    /// When the receiver is gone.
    pub async fn send(&self, events: Vec<FeedEvent>) -> Result<(), Closed> {
        let mut rest = VecDeque::from(events);
        loop {
            // Made before the queue is looked at, so that room that is made in between wakes it.
            let room = self.shared.room_for_tasks.notified();
            if self.shared.put(&mut rest)? {
                return Ok(());
            }
            room.await;
        }
    }

    /// The same from a plain thread.
    ///
    /// # Errors
    /// When the receiver is gone.
    pub fn send_blocking(&self, events: Vec<FeedEvent>) -> Result<(), Closed> {
        let mut rest = VecDeque::from(events);
        while !self.shared.put(&mut rest)? {
            let next = rest.front().map_or(0, weight);
            let full = |state: &mut State| !state.receiver_gone && !state.has_room(next);
            let waited = self.shared.room.wait_while(self.shared.lock(), full);
            drop(waited.unwrap_or_else(PoisonError::into_inner));
        }
        Ok(())
    }

    /// Calls `wake` whenever events become available after there were none, and when the last
    /// sender goes. It replaces an earlier one and is called from the sender's thread.
    pub fn on_ready(&self, wake: Box<dyn Fn() + Send + Sync>) {
        let wake: Arc<dyn Fn() + Send + Sync> = Arc::from(wake);
        let ready = {
            let mut state = self.shared.lock();
            state.wake = Some(Arc::clone(&wake));
            !state.queue.is_empty()
        };
        if ready {
            wake();
        }
    }
}

impl Clone for FeedSender {
    fn clone(&self) -> Self {
        self.shared.lock().senders += 1;
        Self {
            shared: Arc::clone(&self.shared),
        }
    }
}

impl Drop for FeedSender {
    fn drop(&mut self) {
        let wake = {
            let mut state = self.shared.lock();
            state.senders -= 1;
            (state.senders == 0).then(|| state.wake.clone())
        };
        if let Some(wake) = wake {
            self.shared.announce(wake.as_deref());
        }
    }
}

impl fmt::Debug for FeedSender {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("FeedSender")
    }
}

impl FeedReceiver {
    /// Takes up to `most` waiting events without waiting.
    ///
    /// # Errors
    /// When all senders are gone and nothing waits.
    pub fn take(&mut self, most: usize) -> Result<Vec<FeedEvent>, Closed> {
        let state = self.shared.lock();
        self.shared.drain(state, most)
    }

    /// Puts events that were taken back in front of what waits, in their order; the limits may be
    /// exceeded by them.
    pub fn put_back(&mut self, events: Vec<FeedEvent>) {
        let mut state = self.shared.lock();
        for event in events.into_iter().rev() {
            state.bytes += weight(&event);
            state.queue.push_front(event);
        }
    }

    /// Waits for events up to `timeout`, then as `take`.
    ///
    /// # Errors
    /// When all senders are gone and nothing waits.
    pub fn wait(&mut self, most: usize, timeout: Duration) -> Result<Vec<FeedEvent>, Closed> {
        let until = Instant::now() + timeout;
        let mut state = self.shared.lock();
        while state.queue.is_empty() && state.senders > 0 {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            let waited = self.shared.filled.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        self.shared.drain(state, most)
    }

    /// Waits for events as a task, then as `take`.
    ///
    /// # Errors
    /// When all senders are gone and nothing waits.
    pub async fn recv(&mut self, most: usize) -> Result<Vec<FeedEvent>, Closed> {
        loop {
            let filled = self.shared.filled_for_tasks.notified();
            let events = self.shared.drain(self.shared.lock(), most)?;
            if !events.is_empty() || most == 0 {
                return Ok(events);
            }
            filled.await;
        }
    }
}

impl Drop for FeedReceiver {
    fn drop(&mut self) {
        let waiting = {
            let mut state = self.shared.lock();
            state.receiver_gone = true;
            state.bytes = 0;
            std::mem::take(&mut state.queue)
        };
        drop(waiting);
        self.shared.room.notify_all();
        self.shared.room_for_tasks.notify_waiters();
    }
}

impl fmt::Debug for FeedReceiver {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("FeedReceiver")
    }
}

struct Shared {
    state: Mutex<State>,
    room: Condvar,
    filled: Condvar,
    room_for_tasks: Notify,
    filled_for_tasks: Notify,
}

#[derive(Default)]
struct State {
    queue: VecDeque<FeedEvent>,
    bytes: usize,
    senders: usize,
    receiver_gone: bool,
    wake: Option<Arc<dyn Fn() + Send + Sync>>,
}

impl State {
    fn has_room(&self, weight: usize) -> bool {
        self.queue.is_empty()
            || (self.queue.len() < EVENT_LIMIT && self.bytes.saturating_add(weight) <= BYTE_LIMIT)
    }
}

impl Shared {
    /// A panic of another thread leaves the queue whole: every change of it is one step.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Moves what fits; true when nothing is left.
    fn put(&self, rest: &mut VecDeque<FeedEvent>) -> Result<bool, Closed> {
        let mut state = self.lock();
        if state.receiver_gone {
            return Err(Closed);
        }
        let was_empty = state.queue.is_empty();
        while let Some(event) = rest.pop_front() {
            let weight = weight(&event);
            if !state.has_room(weight) {
                rest.push_front(event);
                break;
            }
            state.bytes += weight;
            state.queue.push_back(event);
        }
        let wake = (was_empty && !state.queue.is_empty()).then(|| state.wake.clone());
        drop(state);
        if let Some(wake) = wake {
            self.announce(wake.as_deref());
        }
        Ok(rest.is_empty())
    }

    fn drain(
        &self,
        mut state: MutexGuard<'_, State>,
        most: usize,
    ) -> Result<Vec<FeedEvent>, Closed> {
        if state.queue.is_empty() && state.senders == 0 {
            return Err(Closed);
        }
        let count = most.min(state.queue.len());
        let events: Vec<FeedEvent> = state.queue.drain(..count).collect();
        let taken: usize = events.iter().map(weight).sum();
        state.bytes = state.bytes.saturating_sub(taken);
        drop(state);
        if !events.is_empty() {
            self.room.notify_all();
            self.room_for_tasks.notify_waiters();
        }
        Ok(events)
    }

    fn announce(&self, wake: Option<&(dyn Fn() + Send + Sync)>) {
        self.filled.notify_all();
        self.filled_for_tasks.notify_waiters();
        if let Some(wake) = wake {
            wake();
        }
    }
}

/// Bytes that an event holds on to.
fn weight(event: &FeedEvent) -> usize {
    match event {
        FeedEvent::Frame(frame) => frame.line.bytes.len(),
        FeedEvent::Body {
            outcome: BodyOutcome::Line(bytes),
            ..
        } => bytes.len(),
        FeedEvent::Recalled { frames, .. } => {
            frames.iter().map(|frame| frame.line.bytes.len()).sum()
        }
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use bytes::Bytes;

    use super::*;
    use crate::record::{HostName, Seq, SessionKey};

    fn body(seq: u64, length: usize) -> FeedEvent {
        FeedEvent::Body {
            key: SessionKey {
                host: HostName::local(),
                id: "s".into(),
            },
            seq: Seq(seq),
            outcome: BodyOutcome::Line(Bytes::from(vec![b'x'; length])),
        }
    }

    fn numbers(events: &[FeedEvent]) -> Vec<u64> {
        events
            .iter()
            .filter_map(|event| match event {
                FeedEvent::Body { seq, .. } => Some(seq.0),
                _ => None,
            })
            .collect()
    }

    #[test]
    fn a_plain_thread_waits_for_room_and_keeps_the_order() {
        let (sender, mut receiver) = channel();
        let count = EVENT_LIMIT as u64 * 3;
        let thread = std::thread::spawn(move || {
            sender.send_blocking((0..count).map(|seq| body(seq, 1)).collect())
        });
        let mut seen = Vec::new();
        while let Ok(events) = receiver.wait(2_048, Duration::from_secs(10)) {
            assert!(!events.is_empty(), "no event within the deadline");
            seen.extend(numbers(&events));
        }
        assert_eq!(thread.join().unwrap(), Ok(()));
        assert!(seen.into_iter().eq(0..count));
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn tasks_wait_for_room_by_bytes_and_one_larger_line_passes_alone() {
        let (sender, mut receiver) = channel();
        let lengths = [BYTE_LIMIT + 1, 1, BYTE_LIMIT, 5, BYTE_LIMIT - 5, 1];
        let mut tasks = tokio::task::JoinSet::new();
        tasks.spawn(async move {
            let events = (0..).zip(lengths).map(|(seq, length)| body(seq, length));
            sender.send(events.collect()).await
        });
        let mut seen = Vec::new();
        while let Ok(events) = receiver.recv(10).await {
            let bytes: usize = events.iter().map(weight).sum();
            assert!(bytes <= BYTE_LIMIT || events.len() == 1, "{bytes}");
            seen.extend(numbers(&events));
        }
        assert_eq!(seen, [0, 1, 2, 3, 4, 5]);
        assert_eq!(tasks.join_next().await.unwrap().unwrap(), Ok(()));
    }

    #[test]
    fn the_waker_is_called_once_for_each_time_the_queue_fills() {
        let (sender, mut receiver) = channel();
        let calls = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&calls);
        sender.on_ready(Box::new(move || {
            counter.fetch_add(1, Ordering::SeqCst);
        }));
        sender.send_blocking(vec![body(1, 1)]).unwrap();
        sender.send_blocking(vec![body(2, 1)]).unwrap();
        assert_eq!(calls.load(Ordering::SeqCst), 1);
        assert_eq!(numbers(&receiver.take(10).unwrap()), [1, 2]);
        sender.send_blocking(vec![body(3, 1)]).unwrap();
        assert_eq!(calls.load(Ordering::SeqCst), 2);
        drop(sender);
        assert_eq!(calls.load(Ordering::SeqCst), 3, "the end wakes too");
        let events = receiver.take(10).unwrap();
        receiver.put_back(events);
        assert_eq!(numbers(&receiver.take(10).unwrap()), [3]);
        assert!(receiver.take(10).is_err());
    }

    #[test]
    fn a_sender_that_waits_learns_that_the_receiver_went() {
        let (sender, receiver) = channel();
        let thread = std::thread::spawn(move || {
            sender.send_blocking((0..=EVENT_LIMIT as u64).map(|seq| body(seq, 1)).collect())
        });
        drop(receiver);
        assert_eq!(thread.join().unwrap(), Err(Closed));
    }
}
