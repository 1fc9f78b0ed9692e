//! One connection to the hub socket: bytes to lines, at the pace of whoever takes them (log-format
//! 10.1, capture.md 8.3). Nothing is ever written to it.

use tokio::{
    io::AsyncReadExt as _,
    net::UnixStream,
    sync::{mpsc, oneshot},
};

use crate::{
    feed::{FirstLine, first_line},
    record::{Line, LineReader, ReadEvent},
};

/// Bytes taken in one read: some hundreds of ordinary frames.
const CHUNK: usize = 256 << 10;
/// Longest line that may be a subscription, which takes some hundred bytes: a longer first line is
/// not held back.
const SUBSCRIPTION_LIMIT: usize = 4 << 10;

/// Number of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct ConnectionId(pub(super) u64);

/// What a connection tells the hub.
#[derive(Debug)]
pub(super) enum Incoming {
    /// Lines in their order; the connection is read on once `taken` is used or dropped.
    Lines {
        from: ConnectionId,
        lines: Vec<Line>,
        damaged: u64,
        taken: oneshot::Sender<()>,
    },
    /// It has ended.
    Closed(ConnectionId),
}

/// Reads a connection to its end.
pub(super) async fn serve(mut stream: UnixStream, from: ConnectionId, hub: mpsc::Sender<Incoming>) {
    let ended = read(&mut stream, from, &hub).await;
    drop(stream);
    if ended.is_some() {
        // A hub that is gone needs no word of it.
        drop(hub.send(Incoming::Closed(from)).await);
    }
}

/// `None` when the hub is gone.
async fn read(
    stream: &mut UnixStream,
    from: ConnectionId,
    hub: &mpsc::Sender<Incoming>,
) -> Option<()> {
    let mut reader = LineReader::at(0);
    let mut head = Some(Vec::new());
    let mut buffer = vec![0; CHUNK];
    let mut before: Option<oneshot::Receiver<()>> = None;
    loop {
        // An error ends the connection as its end does: the recorder connects again.
        let count = stream.read(&mut buffer).await.unwrap_or(0);
        let chunk = buffer.get(..count).unwrap_or_default();
        let mut batch = Batch::default();
        if count == 0 {
            reader.finish(&mut |event| batch.take(event));
        } else {
            match identify(&mut head, chunk) {
                Identity::Recorder(bytes) => reader.push(&bytes, &mut |event| batch.take(event)),
                Identity::Known => reader.push(chunk, &mut |event| batch.take(event)),
                Identity::NotYet => {}
                Identity::NoRecorder => return Some(()),
            }
        }
        if let Some(taken) = before.take() {
            // Dropped when the hub stops; then the next send says so.
            drop(taken.await);
        }
        if !batch.is_empty() {
            let (sender, receiver) = oneshot::channel();
            before = Some(receiver);
            hub.send(batch.into_incoming(from, sender)).await.ok()?;
        }
        if count == 0 {
            return Some(());
        }
    }
}

/// What is known of a peer after a chunk.
enum Identity {
    /// It is a recorder: all that was held back.
    Recorder(Vec<u8>),
    /// It was known before.
    Known,
    /// Its first line is not complete.
    NotYet,
    /// It wants something that is not offered here.
    NoRecorder,
}

/// Holds the first line back until it is complete; lines about subscriptions never reach the reader.
fn identify(head: &mut Option<Vec<u8>>, chunk: &[u8]) -> Identity {
    let Some(held) = head else {
        return Identity::Known;
    };
    held.extend_from_slice(chunk);
    loop {
        let blanks = held.iter().take_while(|byte| byte.is_ascii_whitespace());
        let blanks = blanks.count();
        held.drain(..blanks);
        let end = memchr::memchr(b'\n', held);
        let Some(end) = end else {
            if held.len() <= SUBSCRIPTION_LIMIT {
                return Identity::NotYet;
            }
            return Identity::Recorder(head.take().unwrap_or_default());
        };
        match first_line(held.get(..end).unwrap_or_default()) {
            FirstLine::Subscribe { .. } => return Identity::NoRecorder,
            FirstLine::Other => {
                held.drain(..=end);
            }
            FirstLine::Recorder | FirstLine::Foreign => {
                return Identity::Recorder(head.take().unwrap_or_default());
            }
        }
    }
}

#[derive(Default)]
struct Batch {
    lines: Vec<Line>,
    damaged: u64,
}

impl Batch {
    fn take(&mut self, event: ReadEvent) {
        match event {
            ReadEvent::Line { line, .. } => self.lines.push(line),
            ReadEvent::Damage(_) => self.damaged += 1,
        }
    }

    fn is_empty(&self) -> bool {
        self.lines.is_empty() && self.damaged == 0
    }

    fn into_incoming(self, from: ConnectionId, taken: oneshot::Sender<()>) -> Incoming {
        Incoming::Lines {
            from,
            lines: self.lines,
            damaged: self.damaged,
            taken,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives `bytes` in chunks until the peer is known; answers what is then handed on.
    fn identified(bytes: &[u8], size: usize) -> Option<Vec<u8>> {
        let mut head = Some(Vec::new());
        let mut given = 0;
        for chunk in bytes.chunks(size) {
            given += chunk.len();
            match identify(&mut head, chunk) {
                Identity::NotYet => assert!(given <= SUBSCRIPTION_LIMIT),
                Identity::NoRecorder => return None,
                Identity::Recorder(mut held) => {
                    assert!(matches!(identify(&mut head, b""), Identity::Known));
                    held.extend_from_slice(&bytes[given..]);
                    return Some(held);
                }
                Identity::Known => panic!("before it was identified"),
            }
        }
        panic!("not identified");
    }

    #[test]
    fn an_endless_first_line_is_not_held_back() {
        let endless = vec![b'x'; 200_000];
        let envelope = [
            br#"{"session_id":"a","text":""#.as_slice(),
            &endless,
            b"\"}\n",
        ]
        .concat();
        for bytes in [&endless, &envelope] {
            for size in [1, 1_000, 70_000, 1 << 20] {
                assert!(identified(bytes, size).as_deref() == Some(bytes));
            }
        }
    }

    #[test]
    fn a_subscriber_is_known_in_any_chunking() {
        let subscribe = b" \n{\"mcpsnoop\":\"subscribe\",\"version\":1}\n";
        let other = b"{\"mcpsnoop\":\"ping\"}\n";
        let recorder = b"{\"session_id\":\"mcpsnoop\"}\n";
        for size in [1, 7, 4_096] {
            assert_eq!(identified(subscribe, size), None);
            assert_eq!(identified(&[&other[..], subscribe].concat(), size), None);
            let both = [&other[..], recorder].concat();
            assert_eq!(identified(&both, size).as_deref(), Some(&recorder[..]));
            assert_eq!(
                identified(b"foreign\n", size).as_deref(),
                Some(&b"foreign\n"[..])
            );
        }
    }
}
