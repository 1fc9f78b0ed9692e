//! Fixture P: a TCP proxy on 127.0.0.1 that delays, limits, stalls, cuts, resets and flips bits, each
//! direction on its own and at any byte.

#![expect(
    clippy::unused_result_ok,
    reason = "what is done to a connection may find it gone already"
)]

use std::{
    io::{Read as _, Write as _},
    net::{Shutdown, TcpListener, TcpStream},
    sync::{
        Arc, Mutex, Weak,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
        mpsc,
    },
    thread,
    time::{Duration, Instant},
};

/// Which way bytes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// From the client to the server.
    Up,
    /// From the server to the client.
    Down,
}

/// What happens to a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Both sides see an end (FIN).
    Cut,
    /// Both sides see a reset (RST).
    Reset,
    /// Everything stays open and nothing passes any more, either way.
    Stall,
    /// One bit of the next byte is turned over.
    Flip,
}

/// Bytes on their way at most: 64 KiB each.
const ON_THE_WAY: usize = 1_024;

#[derive(Default)]
struct Shared {
    delay_micros: [AtomicU64; 2],
    bytes_per_second: [AtomicU64; 2],
    moved: [AtomicU64; 2],
    accepted: AtomicUsize,
    refusing: AtomicBool,
    ended: AtomicBool,
    armed: Mutex<Vec<(Way, u64, Fault)>>,
    connections: Mutex<Vec<Weak<Connection>>>,
}

struct Connection {
    client: TcpStream,
    server: TcpStream,
    stalled: AtomicBool,
    dead: AtomicBool,
}

/// The proxy; it ends, with everything that it carries, when it is dropped.
pub(crate) struct Proxy {
    /// Where it listens on 127.0.0.1.
    pub(crate) port: u16,
    shared: Arc<Shared>,
}

impl Proxy {
    /// Carries connections to a port of 127.0.0.1.
    pub(crate) fn start(target: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let shared = Arc::new(Shared::default());
        let own = Arc::clone(&shared);
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                if own.ended.load(Ordering::SeqCst) {
                    return;
                }
                own.accepted.fetch_add(1, Ordering::SeqCst);
                if !own.refusing.load(Ordering::SeqCst)
                    && let Ok(server) = TcpStream::connect(("127.0.0.1", target))
                {
                    carry(&own, client, server);
                }
            }
        });
        Self { port, shared }
    }

    /// Every byte arrives so much later, each way.
    pub(crate) fn delay(&self, each_way: Duration) {
        let micros = u64::try_from(each_way.as_micros()).unwrap();
        for delay in &self.shared.delay_micros {
            delay.store(micros, Ordering::SeqCst);
        }
    }

    /// No more than so many bytes pass a second; 0: no limit.
    pub(crate) fn limit(&self, way: Way, bytes_per_second: u64) {
        self.shared.bytes_per_second[way as usize].store(bytes_per_second, Ordering::SeqCst);
    }

    /// Something happens to the connection that carries byte number `at` of this way, counted from
    /// the start of the proxy, just before that byte.
    pub(crate) fn arm(&self, way: Way, at: u64, fault: Fault) {
        self.shared.armed.lock().unwrap().push((way, at, fault));
    }

    /// Something happens to all connections now.
    pub(crate) fn strike(&self, fault: Fault) {
        for connection in self.connections() {
            connection.strike(fault);
        }
    }

    /// Stalled connections go on.
    pub(crate) fn resume(&self) {
        for connection in self.connections() {
            connection.stalled.store(false, Ordering::SeqCst);
        }
    }

    /// New connections are closed at once, or carried again.
    pub(crate) fn refuse(&self, refuse: bool) {
        self.shared.refusing.store(refuse, Ordering::SeqCst);
    }

    /// Bytes that passed this way so far.
    pub(crate) fn moved(&self, way: Way) -> u64 {
        self.shared.moved[way as usize].load(Ordering::SeqCst)
    }

    /// True while a connection stalls.
    pub(crate) fn is_stalled(&self) -> bool {
        let mut connections = self.connections().into_iter();
        connections.any(|connection| connection.stalled.load(Ordering::SeqCst))
    }

    /// Connections that were made so far.
    pub(crate) fn accepted(&self) -> usize {
        self.shared.accepted.load(Ordering::SeqCst)
    }

    fn connections(&self) -> Vec<Arc<Connection>> {
        let connections = self.shared.connections.lock().unwrap();
        connections.iter().filter_map(Weak::upgrade).collect()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.shared.ended.store(true, Ordering::SeqCst);
        self.strike(Fault::Cut);
        // Wakes the listener so that it sees the end.
        TcpStream::connect(("127.0.0.1", self.port)).ok();
    }
}

impl Connection {
    fn strike(&self, fault: Fault) {
        match fault {
            Fault::Stall => self.stalled.store(true, Ordering::SeqCst),
            Fault::Flip => {}
            Fault::Cut => {
                self.dead.store(true, Ordering::SeqCst);
                for stream in [&self.client, &self.server] {
                    stream.shutdown(Shutdown::Both).ok();
                }
            }
            Fault::Reset => {
                self.dead.store(true, Ordering::SeqCst);
                for stream in [&self.client, &self.server] {
                    let now = Some(Duration::ZERO);
                    rustix::net::sockopt::set_socket_linger(stream, now).ok();
                    // Wakes our own readers without a word to the peers; the close of the last
                    // owner then resets.
                    stream.shutdown(Shutdown::Read).ok();
                }
            }
        }
    }
}

fn carry(shared: &Arc<Shared>, client: TcpStream, server: TcpStream) {
    for stream in [&client, &server] {
        stream.set_nodelay(true).ok();
    }
    let connection = Arc::new(Connection {
        client,
        server,
        stalled: AtomicBool::new(false),
        dead: AtomicBool::new(false),
    });
    let mut all = shared.connections.lock().unwrap();
    all.retain(|known| known.strong_count() > 0);
    all.push(Arc::downgrade(&connection));
    drop(all);
    for way in [Way::Up, Way::Down] {
        let (sender, receiver) = mpsc::sync_channel(ON_THE_WAY);
        let (own, all) = (Arc::clone(&connection), Arc::clone(shared));
        thread::spawn(move || take(&all, &own, way, &sender));
        let (own, all) = (Arc::clone(&connection), Arc::clone(shared));
        thread::spawn(move || give(&all, &own, way, &receiver));
    }
}

/// Takes bytes in and notes when they are due.
fn take(
    shared: &Shared,
    connection: &Connection,
    way: Way,
    sender: &mpsc::SyncSender<(Instant, Vec<u8>)>,
) {
    let mut source = match way {
        Way::Up => &connection.client,
        Way::Down => &connection.server,
    };
    let mut buffer = vec![0; 64 << 10];
    while let Ok(length) = source.read(&mut buffer)
        && length > 0
    {
        let delay = shared.delay_micros[way as usize].load(Ordering::SeqCst);
        let due = Instant::now() + Duration::from_micros(delay);
        if sender.send((due, buffer[..length].to_vec())).is_err() {
            return;
        }
    }
}

/// Gives bytes out when they are due, and lets happen what was armed.
fn give(
    shared: &Shared,
    connection: &Connection,
    way: Way,
    receiver: &mpsc::Receiver<(Instant, Vec<u8>)>,
) {
    let mut sink = match way {
        Way::Up => &connection.server,
        Way::Down => &connection.client,
    };
    let mut free_at = Instant::now();
    while let Ok((due, mut bytes)) = receiver.recv() {
        thread::sleep(due.saturating_duration_since(Instant::now()));
        let rate = shared.bytes_per_second[way as usize].load(Ordering::SeqCst);
        if let Some(nanos) = (bytes.len() as u64 * 1_000_000_000).checked_div(rate) {
            let time = Duration::from_nanos(nanos);
            free_at = free_at.max(Instant::now()) + time;
            thread::sleep(free_at.saturating_duration_since(Instant::now()));
        }
        let moved = &shared.moved[way as usize];
        let start = moved.load(Ordering::SeqCst);
        let struck = shared.due(way, start, bytes.len());
        if let Some((at, Fault::Flip)) = struck {
            bytes[at] ^= 1;
        } else if let Some((at, fault)) = struck {
            let front = &bytes[..at];
            moved.fetch_add(at as u64, Ordering::SeqCst);
            if sink.write_all(front).is_err() {
                return;
            }
            bytes.drain(..at);
            connection.strike(fault);
        }
        while connection.stalled.load(Ordering::SeqCst) && !connection.dead.load(Ordering::SeqCst) {
            thread::sleep(Duration::from_millis(2));
        }
        if connection.dead.load(Ordering::SeqCst) {
            return;
        }
        // Counted first: whoever has the bytes finds them counted.
        moved.fetch_add(bytes.len() as u64, Ordering::SeqCst);
        if sink.write_all(&bytes).is_err() {
            return;
        }
    }
    if !connection.dead.load(Ordering::SeqCst) {
        sink.shutdown(Shutdown::Write).ok();
    }
}

impl Shared {
    /// What was armed for one of these bytes, and for which.
    fn due(&self, way: Way, start: u64, length: usize) -> Option<(usize, Fault)> {
        let mut armed = self.armed.lock().unwrap();
        let end = start + length as u64;
        let index = armed
            .iter()
            .position(|(armed_way, at, _)| *armed_way == way && *at < end)?;
        let (_, at, fault) = armed.remove(index);
        let at = usize::try_from(at.saturating_sub(start)).unwrap();
        Some((at, fault))
    }
}

/// A server that sends back what it gets.
fn echo() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            thread::spawn(move || {
                let (mut source, mut sink) = (&stream, &stream);
                std::io::copy(&mut source, &mut sink).ok();
            });
        }
    });
    port
}

fn connect(proxy: &Proxy) -> TcpStream {
    let stream = TcpStream::connect(("127.0.0.1", proxy.port)).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    stream
}

fn exchange(stream: &mut TcpStream, bytes: &[u8]) -> Vec<u8> {
    stream.write_all(bytes).unwrap();
    let mut answer = vec![0; bytes.len()];
    stream.read_exact(&mut answer).unwrap();
    answer
}

#[test]
fn carries_delays_and_flips() {
    let proxy = Proxy::start(echo());
    let mut stream = connect(&proxy);
    assert_eq!(exchange(&mut stream, b"hello"), b"hello");
    proxy.delay(Duration::from_millis(30));
    let begun = Instant::now();
    assert_eq!(exchange(&mut stream, b"again"), b"again");
    assert!(begun.elapsed() >= Duration::from_millis(60));
    proxy.delay(Duration::ZERO);
    proxy.limit(Way::Up, 50);
    let begun = Instant::now();
    assert_eq!(exchange(&mut stream, b"slow!"), b"slow!");
    assert!(begun.elapsed() >= Duration::from_millis(100));
    proxy.limit(Way::Up, 0);
    proxy.arm(Way::Down, 17, Fault::Flip);
    assert_eq!(exchange(&mut stream, b"third"), b"thhrd");
    assert_eq!((proxy.moved(Way::Up), proxy.accepted()), (20, 1));
}

#[test]
fn cuts_and_resets_at_a_byte() {
    let proxy = Proxy::start(echo());
    for (fault, kind) in [
        (Fault::Cut, None),
        (Fault::Reset, Some(std::io::ErrorKind::ConnectionReset)),
    ] {
        let mut stream = connect(&proxy);
        proxy.arm(Way::Down, proxy.moved(Way::Down) + 3, fault);
        stream.write_all(b"hello").unwrap();
        let mut answer = Vec::new();
        let end = stream.read_to_end(&mut answer);
        assert_eq!(end.err().map(|error| error.kind()), kind, "{fault:?}");
        assert_eq!(answer, b"hel", "{fault:?}");
    }
}

#[test]
fn stalls_and_refuses() {
    let proxy = Proxy::start(echo());
    let mut stream = connect(&proxy);
    assert_eq!(exchange(&mut stream, b"one"), b"one");
    proxy.strike(Fault::Stall);
    stream.write_all(b"two").unwrap();
    stream
        .set_read_timeout(Some(Duration::from_millis(100)))
        .unwrap();
    let mut answer = [0; 3];
    assert!(stream.read_exact(&mut answer).is_err());
    proxy.resume();
    stream
        .set_read_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"two");
    proxy.refuse(true);
    let mut refused = connect(&proxy);
    assert_eq!(refused.read(&mut [0; 1]).unwrap_or(0), 0);
}
