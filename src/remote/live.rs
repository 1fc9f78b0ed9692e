//! Recorders that connect to our socket: every channel is read at once and always, into one queue
//! that drops instead of waiting (remote.md 8.5, 14.1).

use std::{
    collections::{HashSet, VecDeque},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use bytes::{Bytes, BytesMut};
use russh::ChannelMsg;
use tokio::{
    sync::{Notify, mpsc},
    task::JoinSet,
};

use super::{handler::Incoming, place::Nonces, sftp::close_quietly};
use crate::{
    base::{Clock, Timestamp},
    feed::{FirstLine, SUBSCRIBE_BUSY, first_line},
    record::{Decoder, Line},
};

/// Bytes of lines that wait for the host's task.
const QUEUE_BYTES: usize = 16 << 20;
/// Lines that wait for the host's task.
const QUEUE_LINES: usize = 32_768;
/// Sessions whose dropped lines are remembered; above, every session is looked at.
const LOST_SESSIONS: usize = 1_000;
/// Longest line (log-format 13).
const LINE_LIMIT: usize = 128 << 20;
/// Bytes of unfinished lines over all connections.
const ASSEMBLY_BYTES: usize = 256 << 20;

/// What came from the recorders.
#[derive(Debug)]
pub(super) enum LiveEvent {
    /// A line, and when it arrived.
    Line(Box<Line>, Timestamp),
    /// A recorder of this session is connected (1) or went away (-1).
    Producer(Arc<str>, i32),
}

/// What a look into the queue found.
#[derive(Debug, Default)]
pub(super) struct Taken {
    pub(super) events: Vec<LiveEvent>,
    /// Sessions of which lines were dropped: their logs have them.
    pub(super) lost: HashSet<Arc<str>>,
    /// Lines of unknown sessions were dropped.
    pub(super) lost_any: bool,
    /// Connections that were closed because of what they sent, so far.
    pub(super) foreign: u64,
}

/// The queue between the connections and the host's task.
#[derive(Debug, Default)]
pub(super) struct LiveQueue {
    inner: Mutex<Inner>,
    ready: Notify,
    assembly: AtomicUsize,
}

#[derive(Debug, Default)]
struct Inner {
    events: VecDeque<LiveEvent>,
    bytes: usize,
    lost: HashSet<Arc<str>>,
    lost_any: bool,
    foreign: u64,
}

impl LiveQueue {
    /// Waits until there is something.
    pub(super) async fn ready(&self) {
        loop {
            let ready = self.ready.notified();
            {
                let inner = self.lock();
                if !inner.events.is_empty() || !inner.lost.is_empty() || inner.lost_any {
                    return;
                }
            }
            ready.await;
        }
    }

    /// Takes up to `most` events and all that is known of losses.
    pub(super) fn take(&self, most: usize) -> Taken {
        let mut inner = self.lock();
        let count = inner.events.len().min(most);
        let events: Vec<_> = inner.events.drain(..count).collect();
        let bytes: usize = events.iter().map(weight).sum();
        inner.bytes -= bytes;
        Taken {
            events,
            lost: std::mem::take(&mut inner.lost),
            lost_any: std::mem::take(&mut inner.lost_any),
            foreign: inner.foreign,
        }
    }

    fn push(&self, event: LiveEvent) {
        let mut inner = self.lock();
        let weight = weight(&event);
        let full = inner.events.len() >= QUEUE_LINES || inner.bytes + weight > QUEUE_BYTES;
        match event {
            LiveEvent::Line(line, _) if full => {
                if inner.lost.len() < LOST_SESSIONS {
                    inner.lost.insert(Arc::clone(&line.envelope.session_id));
                } else {
                    inner.lost_any = true;
                }
            }
            event => {
                inner.bytes += weight;
                inner.events.push_back(event);
            }
        }
        drop(inner);
        self.ready.notify_one();
    }

    fn foreign(&self) {
        self.lock().foreign += 1;
    }

    /// Takes room for `bytes` of an unfinished line.
    fn assemble(&self, bytes: usize) -> bool {
        let before = self.assembly.fetch_add(bytes, Ordering::Relaxed);
        if before + bytes > ASSEMBLY_BYTES {
            self.assembly.fetch_sub(bytes, Ordering::Relaxed);
            return false;
        }
        true
    }

    fn disassemble(&self, bytes: usize) {
        self.assembly.fetch_sub(bytes, Ordering::Relaxed);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn weight(event: &LiveEvent) -> usize {
    match event {
        LiveEvent::Line(line, _) => line.bytes.len(),
        LiveEvent::Producer(..) => 0,
    }
}

/// Takes every connection as it comes and reads it, until the link ends or this is dropped.
pub(super) async fn accept(
    mut incoming: mpsc::Receiver<Incoming>,
    queue: Arc<LiveQueue>,
    nonces: Nonces,
    clock: Clock,
) {
    let mut readers = JoinSet::new();
    loop {
        tokio::select! {
            biased;
            connection = incoming.recv() => match connection {
                Some(connection) => {
                    let (queue, nonces) = (Arc::clone(&queue), nonces.clone());
                    readers.spawn(async move {
                        let mut reader = Reader::new(queue, nonces, clock);
                        reader.run(connection).await;
                    });
                }
                None => break,
            },
            Some(_) = readers.join_next() => {}
        }
    }
    while readers.join_next().await.is_some() {}
}

/// What the peer turned out to be.
#[derive(Debug, PartialEq, Eq)]
enum Peer {
    Unknown,
    Recorder,
    /// It gets this and the connection is closed.
    Subscriber(Option<&'static [u8]>),
    Foreign,
}

/// One connection.
struct Reader {
    queue: Arc<LiveQueue>,
    nonces: Nonces,
    clock: Clock,
    decoder: Decoder,
    peer: Peer,
    partial: BytesMut,
    /// The line in progress is too long: it is left out up to its end.
    skipping: bool,
    sessions: HashSet<Arc<str>>,
}

impl Reader {
    fn new(queue: Arc<LiveQueue>, nonces: Nonces, clock: Clock) -> Self {
        Self {
            queue,
            nonces,
            clock,
            decoder: Decoder::default(),
            peer: Peer::Unknown,
            partial: BytesMut::new(),
            skipping: false,
            sessions: HashSet::new(),
        }
    }

    async fn run(&mut self, connection: Incoming) {
        let Incoming {
            mut channel,
            permit: _permit,
            ..
        } = connection;
        while let Some(message) = channel.wait().await {
            match message {
                ChannelMsg::Data { data } => self.data(&data),
                ChannelMsg::Eof | ChannelMsg::Close => break,
                _ => {}
            }
            match self.peer {
                Peer::Unknown | Peer::Recorder => {}
                Peer::Subscriber(answer) => {
                    if let Some(answer) = answer
                        && channel.data_bytes(answer).await.is_err()
                    {
                        break;
                    }
                    break;
                }
                Peer::Foreign => {
                    self.queue.foreign();
                    break;
                }
            }
        }
        close_quietly(&channel).await;
    }

    /// Takes bytes as they come, cuts lines, and hands envelopes on.
    fn data(&mut self, mut data: &[u8]) {
        while let Some(end) = memchr::memchr(b'\n', data) {
            let (head, rest) = data.split_at(end);
            data = rest.get(1..).unwrap_or_default();
            if std::mem::take(&mut self.skipping) {
                continue;
            }
            let line = if self.partial.is_empty() {
                Bytes::copy_from_slice(head)
            } else {
                self.queue.disassemble(self.partial.len());
                self.partial.extend_from_slice(head);
                self.partial.split().freeze()
            };
            self.line(line);
            if matches!(self.peer, Peer::Subscriber(_) | Peer::Foreign) {
                return;
            }
        }
        if self.skipping || data.is_empty() {
            return;
        }
        if self.partial.len() + data.len() > LINE_LIMIT || !self.queue.assemble(data.len()) {
            self.queue.disassemble(self.partial.len());
            self.partial = BytesMut::new();
            self.skipping = true;
            if self.peer == Peer::Unknown {
                self.peer = Peer::Foreign;
            }
            return;
        }
        self.partial.extend_from_slice(data);
    }

    fn line(&mut self, line: Bytes) {
        let line = match line.last() {
            Some(b'\r') => line.slice(..line.len() - 1),
            _ => line,
        };
        if line.iter().all(u8::is_ascii_whitespace) {
            return;
        }
        if self.peer == Peer::Unknown {
            self.peer = match first_line(&line) {
                FirstLine::Recorder => Peer::Recorder,
                FirstLine::Subscribe { nonce } => {
                    let own = nonce.is_some_and(|nonce| self.nonces.arrived(&nonce));
                    Peer::Subscriber((!own).then_some(SUBSCRIBE_BUSY))
                }
                FirstLine::Other | FirstLine::Foreign => Peer::Foreign,
            };
        }
        if self.peer != Peer::Recorder {
            return;
        }
        // A damaged line is left to the log, which is read where the numbers do not follow.
        let Ok(line) = self.decoder.decode(line) else {
            return;
        };
        let session = &line.envelope.session_id;
        if self.sessions.len() < LOST_SESSIONS && self.sessions.insert(Arc::clone(session)) {
            self.queue.push(LiveEvent::Producer(Arc::clone(session), 1));
        }
        self.queue
            .push(LiveEvent::Line(Box::new(line), self.clock.now()));
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.queue.disassemble(self.partial.len());
        for session in self.sessions.drain() {
            self.queue.push(LiveEvent::Producer(session, -1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(session: &str, seq: u64, padding: usize) -> String {
        format!(
            "{{\"session_id\":\"{session}\",\"seq\":{seq},\"direction\":\"c2s\",\"text\":\"{}\"}}\n",
            "x".repeat(padding)
        )
    }

    fn reader() -> Reader {
        Reader::new(Arc::default(), Nonces::default(), Clock::start())
    }

    fn numbers(taken: &Taken) -> Vec<u64> {
        taken
            .events
            .iter()
            .filter_map(|event| match event {
                LiveEvent::Line(line, _) => Some(line.envelope.seq.0),
                LiveEvent::Producer(..) => None,
            })
            .collect()
    }

    #[test]
    fn lines_are_the_same_however_they_are_cut() {
        let text = (1..=20).map(|seq| line("a", seq, 30)).collect::<String>();
        for piece in [1, 2, 7, 64, 10_000] {
            let mut reader = reader();
            for part in text.as_bytes().chunks(piece) {
                reader.data(part);
            }
            let taken = reader.queue.take(100);
            assert_eq!(numbers(&taken), (1..=20).collect::<Vec<_>>(), "{piece}");
            assert_eq!(reader.queue.assembly.load(Ordering::Relaxed), 0);
        }
    }

    #[test]
    fn the_first_line_decides() {
        let cases = [
            (line("a", 1, 0), Peer::Recorder),
            (
                "{\"mcpsnoop\":\"subscribe\",\"version\":1,\"nonce\":\"x\"}\n".to_owned(),
                Peer::Subscriber(Some(SUBSCRIBE_BUSY)),
            ),
            ("GET / HTTP/1.1\r\n".to_owned(), Peer::Foreign),
            ("\r\n \n".to_owned(), Peer::Unknown),
        ];
        for (text, peer) in cases {
            let mut reader = reader();
            reader.data(text.as_bytes());
            assert_eq!(reader.peer, peer, "{text}");
        }
    }

    #[test]
    fn a_full_queue_drops_lines_and_says_whose() {
        let mut reader = reader();
        let megabyte = line("big", 1, 1 << 20);
        for _ in 0..20 {
            reader.data(megabyte.as_bytes());
        }
        let taken = reader.queue.take(100);
        assert!(numbers(&taken).len() < 17, "{}", numbers(&taken).len());
        assert!(taken.lost.contains("big"));
        // There is room again.
        reader.data(line("big", 2, 10).as_bytes());
        assert_eq!(numbers(&reader.queue.take(100)), [2]);
    }

    #[test]
    fn a_damaged_line_does_not_end_a_recorder() {
        let mut reader = reader();
        reader.data(line("a", 1, 0).as_bytes());
        reader.data(b"damaged\n");
        reader.data(line("a", 2, 0).as_bytes());
        assert_eq!(reader.peer, Peer::Recorder);
        assert_eq!(numbers(&reader.queue.take(100)), [1, 2]);
    }
}
