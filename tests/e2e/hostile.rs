//! Fixture R: an SSH server inside the test that does what no honest one does (remote.md 10, 15).

use std::{
    io::Write as _,
    net::TcpListener,
    os::unix::net::UnixStream,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use mcpsnoop::{
    base::Env,
    remote::{
        BatchPrompter, Error, ExitClass, ListedSession, RemoteLocation, RemoteOptions, Target,
        cat_session, list_sessions,
    },
};
use russh::{
    Channel, ChannelId,
    keys::{Algorithm, PrivateKey, key::safe_rng},
    server::{Auth, ChannelOpenHandle, Config, Handle, Handler, Msg, Session},
};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

/// Longest time for one hostile server: limits end it long before.
const DEADLINE: Duration = Duration::from_secs(50);
const SESSION: &str = "fs-1-00000000000a";

/// What the server answers to one SFTP request: its kind, its id, and how many came before.
type Answer = fn(u8, u32, usize) -> Vec<u8>;

const INIT: u8 = 1;
const OPEN: u8 = 3;
const CLOSE: u8 = 4;
const READ: u8 = 5;
const LSTAT: u8 = 7;
const OPENDIR: u8 = 11;
const READDIR: u8 = 12;
const STAT: u8 = 17;

struct Server {
    answer: Answer,
    channels: usize,
    accepted: Arc<AtomicUsize>,
    opened: Option<Channel<Msg>>,
}

impl Handler for Server {
    type Error = russh::Error;

    async fn auth_none(&mut self, _user: &str) -> Result<Auth, russh::Error> {
        Ok(Auth::Accept)
    }

    async fn channel_open_session(
        &mut self,
        channel: Channel<Msg>,
        reply: ChannelOpenHandle,
        _session: &mut Session,
    ) -> Result<(), russh::Error> {
        self.opened = Some(channel);
        reply.accept().await;
        Ok(())
    }

    async fn subsystem_request(
        &mut self,
        channel: ChannelId,
        _name: &str,
        session: &mut Session,
    ) -> Result<(), russh::Error> {
        session.channel_success(channel)?;
        let stream = self.opened.take().unwrap().into_stream();
        let flood = flood(session.handle(), self.channels, Arc::clone(&self.accepted));
        let answer = self.answer;
        #[expect(
            clippy::disallowed_methods,
            reason = "it ends with the connection, and the connection with the test's runtime"
        )]
        tokio::spawn(async move {
            flood.await;
            serve(stream, answer).await;
        });
        Ok(())
    }
}

/// Opens channels of which none may be accepted.
async fn flood(handle: Handle, channels: usize, accepted: Arc<AtomicUsize>) {
    for number in 0..channels {
        let taken = if number % 2 == 0 {
            let opening = handle.channel_open_forwarded_streamlocal("/st/hub.sock");
            opening.await.is_ok()
        } else {
            handle.channel_open_session().await.is_ok()
        };
        accepted.fetch_add(usize::from(taken), Ordering::SeqCst);
    }
}

async fn serve(mut stream: russh::ChannelStream<Msg>, answer: Answer) {
    let mut counts = [0; 256];
    while let Ok(length) = stream.read_u32().await {
        let mut packet = vec![0; usize::try_from(length).unwrap()];
        if stream.read_exact(&mut packet).await.is_err() {
            return;
        }
        let kind = packet[0];
        let id = u32::from_be_bytes(packet[1..5].try_into().unwrap());
        let reply = answer(kind, id, counts[usize::from(kind)]);
        counts[usize::from(kind)] += 1;
        if stream.write_all(&reply).await.is_err() {
            return;
        }
    }
}

/// A packet with its length.
fn packet(kind: u8, id: u32, rest: &[u8]) -> Vec<u8> {
    let length = u32::try_from(rest.len() + 5).unwrap();
    [
        &length.to_be_bytes()[..],
        &[kind],
        &id.to_be_bytes()[..],
        rest,
    ]
    .concat()
}

fn text(bytes: &[u8]) -> Vec<u8> {
    let length = u32::try_from(bytes.len()).unwrap();
    [&length.to_be_bytes()[..], bytes].concat()
}

/// Size, mode and times of a regular file.
fn attributes(size: u64) -> Vec<u8> {
    let mut bytes = 0b1101_u32.to_be_bytes().to_vec();
    bytes.extend(size.to_be_bytes());
    bytes.extend(0o100_600_u32.to_be_bytes());
    bytes.extend([0; 8]);
    bytes
}

fn names(id: u32, names: &[&[u8]]) -> Vec<u8> {
    let mut rest = u32::try_from(names.len()).unwrap().to_be_bytes().to_vec();
    for name in names {
        rest.extend(text(name));
        rest.extend(text(b""));
        rest.extend(attributes(7));
    }
    packet(104, id, &rest)
}

fn status(id: u32, code: u32) -> Vec<u8> {
    let rest = [&code.to_be_bytes()[..], &text(b"\x1b[2Jno"), &text(b"")].concat();
    packet(101, id, &rest)
}

/// What an honest server with one log of seven bytes says.
fn honest(kind: u8, id: u32, before: usize) -> Vec<u8> {
    match kind {
        INIT => [&5_u32.to_be_bytes()[..], &[2, 0, 0, 0, 3]].concat(),
        OPEN | OPENDIR => packet(102, id, &text(b"h")),
        CLOSE => status(id, 0),
        LSTAT | STAT => packet(105, id, &attributes(7)),
        READDIR if before == 0 => names(id, &[b"fs-1-00000000000a.jsonl"]),
        READ => packet(103, id, &text(b"{\"a\":1\n")),
        _ => status(id, 1),
    }
}

/// The server, on a free port; it ends with the runtime.
fn start(
    runtime: &tokio::runtime::Runtime,
    answer: Answer,
    channels: usize,
) -> (u16, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    let key = PrivateKey::random(&mut safe_rng(), Algorithm::Ed25519).unwrap();
    let config = Arc::new(Config {
        keys: vec![key],
        nodelay: true,
        ..Config::default()
    });
    let accepted = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&accepted);
    runtime.spawn(async move {
        let listener = tokio::net::TcpListener::from_std(listener).unwrap();
        let (stream, _) = listener.accept().await.unwrap();
        let server = Server {
            answer,
            channels,
            accepted: counter,
            opened: None,
        };
        if let Ok(running) = russh::server::run_stream(config, stream, server).await
            && running.await.is_err()
        {
            // The client has seen enough.
        }
    });
    (port, accepted)
}

fn options(port: u16) -> RemoteOptions {
    RemoteOptions {
        location: Some(RemoteLocation::McpsnoopHome("/st".to_owned())),
        ssh_config: Some("none".into()),
        ssh_options: [
            "HostName=127.0.0.1",
            "User=dev",
            "StrictHostKeyChecking=accept-new",
            "UserKnownHostsFile=/dev/null",
            "GlobalKnownHostsFile=/dev/null",
            "IdentityAgent=none",
        ]
        .map(str::to_owned)
        .to_vec(),
        port: Some(port),
        batch: true,
        env: Env::of([("PATH", "/usr/bin:/bin"), ("HOME", "/nonexistent")]),
        ..RemoteOptions::default()
    }
}

fn quiet() -> Arc<BatchPrompter> {
    Arc::new(BatchPrompter::new(Box::new(|_| {})))
}

fn target() -> Target {
    Target::parse("web1").unwrap()
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Runtime::new().unwrap()
}

/// Asks a hostile server for its sessions.
fn listed(answer: Answer, channels: usize) -> (Result<Vec<ListedSession>, Error>, usize) {
    let runtime = runtime();
    let (port, accepted) = start(&runtime, answer, channels);
    let mut results = runtime
        .block_on(async {
            let listing = list_sessions(vec![target()], options(port), quiet());
            tokio::time::timeout(DEADLINE, listing).await
        })
        .expect("a hostile server holds nobody up");
    let (_, result) = results.remove(0);
    (result, accepted.load(Ordering::SeqCst))
}

/// Reads the log of a hostile server.
fn printed(answer: Answer) -> (Result<bool, Error>, Vec<u8>) {
    let runtime = runtime();
    let (port, _) = start(&runtime, answer, 0);
    let mut out = Vec::new();
    let result = runtime
        .block_on(async {
            let printing = cat_session(target(), SESSION, options(port), quiet(), &mut out);
            tokio::time::timeout(DEADLINE, printing).await
        })
        .expect("a hostile server holds nobody up");
    (result, out)
}

/// The whole chain of an error, as it would be shown.
fn words(error: &Error) -> String {
    let mut words = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(source) = cause {
        words = format!("{words}: {source}");
        cause = source.source();
    }
    words
}

#[test]
fn an_honest_server_of_this_kind_is_understood() {
    let (listed, _) = listed(honest, 0);
    assert_eq!(listed.unwrap()[0].session, SESSION);
    let (printed, out) = printed(honest);
    assert!(!printed.unwrap());
    assert_eq!(out, b"{\"a\":1\n");
}

#[test]
fn answers_nobody_asked_for_are_ignored() {
    let (listed, _) = listed(
        |kind, id, before| {
            let mut reply = Vec::new();
            if kind != INIT {
                reply = packet(103, id + 100_000, &text(b"x"));
            }
            reply.extend(honest(kind, id, before));
            reply
        },
        0,
    );
    assert_eq!(listed.unwrap().len(), 1);
}

#[test]
fn data_that_was_not_asked_for_ends_reading() {
    let cases: [(Answer, &str); 3] = [
        (
            |kind, id, before| match kind {
                READ => packet(103, id, &text(&[b'x'; 9_000])),
                _ => honest(kind, id, before),
            },
            "more data than asked for",
        ),
        (
            |kind, id, before| match kind {
                READ => packet(103, id, &text(b"")),
                _ => honest(kind, id, before),
            },
            "an empty data reply",
        ),
        (
            |kind, id, before| match kind {
                READ => names(id, &[b"x"]),
                _ => honest(kind, id, before),
            },
            "an answer of another kind",
        ),
    ];
    for (answer, expected) in cases {
        let (result, out) = printed(answer);
        let error = result.unwrap_err();
        assert_eq!(error.class(), ExitClass::RemoteUnusable, "{error:?}");
        assert!(words(&error).contains(expected), "{}", words(&error));
        assert!(out.is_empty());
    }
}

#[test]
fn a_packet_of_an_impossible_length_ends_the_session() {
    let (result, _) = listed(
        |kind, id, before| match kind {
            READDIR => vec![0xff; 64],
            _ => honest(kind, id, before),
        },
        0,
    );
    let error = result.unwrap_err();
    assert!(
        words(&error).contains("SFTP channel ended"),
        "{}",
        words(&error)
    );
}

#[test]
fn a_directory_without_end_ends() {
    // Names that are no logs, for ever.
    let (result, _) = listed(
        |kind, id, before| match kind {
            READDIR => names(id, &[&b"notes.txt"[..]; 500]),
            _ => honest(kind, id, before),
        },
        0,
    );
    let error = result.unwrap_err();
    assert!(
        words(&error).contains("no mcpsnoop data"),
        "{}",
        words(&error)
    );
    // No names at all, for ever.
    let (result, _) = listed(
        |kind, id, before| match kind {
            READDIR => names(id, &[]),
            _ => honest(kind, id, before),
        },
        0,
    );
    let error = result.unwrap_err();
    assert!(
        words(&error).contains("empty list of names"),
        "{}",
        words(&error)
    );
}

#[test]
fn names_that_could_lead_elsewhere_are_no_logs() {
    let (listed, _) = listed(
        |kind, id, before| match kind {
            READDIR if before == 0 => names(
                id,
                &[
                    b"../up.jsonl",
                    b"a/b.jsonl",
                    b"\x1b[2J.jsonl",
                    b"a\nb.jsonl",
                    b"bad\xff.jsonl",
                    b".hidden.jsonl",
                    b"-rf.jsonl",
                    b"\xc2\x9b1m.jsonl",
                    b"good.jsonl",
                    b"good.jsonl",
                ],
            ),
            _ => honest(kind, id, before),
        },
        0,
    );
    let names: Vec<_> = listed.unwrap().into_iter().map(|log| log.session).collect();
    assert_eq!(names, ["good"]);
}

#[test]
fn ten_thousand_channels_are_refused() {
    let (listed, accepted) = listed(honest, 10_000);
    assert_eq!(listed.unwrap().len(), 1);
    assert_eq!(accepted, 0);
}

#[test]
fn a_greeting_without_end_ends() {
    for line in ["hello\r\n", "x"] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let talking = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let piece = line.repeat(1_000);
            let mut sent = 0;
            while stream.write_all(piece.as_bytes()).is_ok() {
                sent += piece.len();
            }
            sent
        });
        let begun = Instant::now();
        let runtime = runtime();
        let mut results = runtime.block_on(list_sessions(vec![target()], options(port), quiet()));
        let error = results.remove(0).1.unwrap_err();
        assert_eq!(error.class(), ExitClass::Unreachable, "{}", words(&error));
        assert!(begun.elapsed() < DEADLINE);
        drop(runtime);
        let sent = talking.join().unwrap();
        assert!(sent < 16 << 20, "{sent} bytes of a greeting were taken");
    }
}

#[test]
fn a_live_line_above_the_limit_closes_its_channel() {
    let far = super::remote::Demo::start();
    let watching = far.watch();
    watching.until_live();
    let mut stream = UnixStream::connect(far.socket()).unwrap();
    stream.set_write_timeout(Some(DEADLINE)).unwrap();
    let piece = vec![b'x'; 1 << 20];
    let mut sent = 0;
    let refused = loop {
        if let Err(error) = stream.write_all(&piece) {
            break error;
        }
        sent += 1;
        assert!(sent < 256, "{sent} MiB were taken");
    };
    // The recorder sees it at once; what lies in buffers between us comes on top of the limit.
    assert_eq!(refused.kind(), std::io::ErrorKind::BrokenPipe, "{refused}");
    assert!(sent >= 128, "{sent} MiB were taken");
    watching.until_notice("were closed");
    let (results, _) = watching.stop();
    assert!(results[0].1.is_ok());
}
