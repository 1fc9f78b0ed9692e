//! The far half against a real sshd: modes, live and history together, hostile names (remote.md 15).

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    fs,
    io::Write as _,
    os::unix::{
        fs::{OpenOptionsExt as _, PermissionsExt as _},
        net::{UnixListener, UnixStream},
    },
    path::PathBuf,
    sync::{Arc, Condvar, Mutex},
    time::{Duration, Instant},
};

use mcpsnoop::{
    base::{Clock, Env},
    feed::{FeedEvent, FeedRequest, LinkState, Mode, Origin, Recall, channel},
    record::{HostName, Seq, SessionKey},
    remote::{
        BatchPrompter, DemoServer, Error, ExitClass, ModeChoice, RemoteLocation, RemoteOptions,
        Target, cat_session, list_sessions, run_remote,
    },
};

use crate::{fault_proxy::Proxy, sshd::Sshd};

const DEADLINE: Duration = Duration::from_mins(1);

/// A remote machine: an sshd and a state directory on it.
pub(super) struct Far {
    pub(super) sshd: Sshd,
    pub(super) state: PathBuf,
}

impl Far {
    pub(super) fn start(extra: &str) -> Option<Self> {
        let sshd = Sshd::start(extra)?;
        let state = sshd.dir.path().join("st");
        fs::create_dir_all(state.join("sessions")).unwrap();
        fs::set_permissions(&state, fs::Permissions::from_mode(0o700)).unwrap();
        Some(Self { sshd, state })
    }

    pub(super) fn log(&self, session: &str) -> PathBuf {
        self.state.join("sessions").join(format!("{session}.jsonl"))
    }

    /// Appends frames `from` to `to` of a session to its log.
    pub(super) fn append(&self, session: &str, from: u64, to: u64) {
        let mut file = fs::OpenOptions::new()
            .create(true)
            .append(true)
            .mode(0o600)
            .open(self.log(session))
            .unwrap();
        let mut text = String::new();
        for seq in from..=to {
            text.push_str(&line(session, seq));
        }
        file.write_all(text.as_bytes()).unwrap();
    }

    pub(super) fn socket(&self) -> PathBuf {
        self.state.join("hub.sock")
    }

    pub(super) fn names(&self) -> BTreeSet<String> {
        fs::read_dir(&self.state)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name != "sessions")
            .collect()
    }

    pub(super) fn options(&self) -> RemoteOptions {
        RemoteOptions {
            location: Some(RemoteLocation::McpsnoopHome(
                self.state.to_str().unwrap().to_owned(),
            )),
            ssh_config: Some(self.sshd.config.clone().into()),
            batch: true,
            env: Env::of([("PATH", "/usr/bin:/bin"), ("HOME", "/nonexistent")]),
            ..RemoteOptions::default()
        }
    }

    /// The same host behind a proxy.
    pub(super) fn through(&self, proxy: &Proxy) -> RemoteOptions {
        let known = fs::read_to_string(&self.sshd.known_hosts).unwrap();
        let alias = known.replace(&format!("[127.0.0.1]:{}", self.sshd.port), "far");
        fs::write(&self.sshd.known_hosts, format!("{known}{alias}")).unwrap();
        RemoteOptions {
            port: Some(proxy.port),
            ssh_options: vec![
                "HostKeyAlias=far".to_owned(),
                "ServerAliveInterval=1".to_owned(),
                "ServerAliveCountMax=1".to_owned(),
            ],
            ..self.options()
        }
    }
}

/// Watches the host of these options.
pub(super) fn watch(options: RemoteOptions) -> Watching {
    Watching::start(vec![Target::parse("web1").unwrap()], options)
}

/// One line of a log, LF included.
pub(super) fn line(session: &str, seq: u64) -> String {
    let label = session.split('-').next().unwrap();
    format!(
        "{{\"session_id\":\"{session}\",\"server_label\":\"{label}\",\"seq\":{seq},\
         \"ts\":\"2026-09-01T08:00:00.{:06}Z\",\"direction\":\"c2s\",\"transport\":\"stdio\",\
         \"raw\":{{\"jsonrpc\":\"2.0\",\"id\":{seq},\"method\":\"tools/call\"}}}}\n",
        seq % 1_000_000
    )
}

/// The end record of a session.
fn end_line(session: &str, seq: u64) -> String {
    format!(
        "{{\"session_id\":\"{session}\",\"server_label\":\"x\",\"seq\":{seq},\
         \"ts\":\"2026-09-01T09:00:00.000000Z\",\"direction\":\"meta\",\"transport\":\"stdio\",\
         \"raw\":{{\"command\":[\"x\"],\"event\":\"end\",\"dropped\":0}}}}\n"
    )
}

/// One result a target.
pub(super) type Results = Vec<(HostName, Result<(), Error>)>;

/// A run of `run_remote` and all that it told.
pub(super) struct Watching {
    told: Arc<(Mutex<Vec<FeedEvent>>, Condvar)>,
    requests: tokio::sync::mpsc::Sender<FeedRequest>,
    stop: tokio::sync::watch::Sender<bool>,
    thread: Option<std::thread::JoinHandle<Results>>,
}

pub(super) fn quiet() -> Arc<BatchPrompter> {
    Arc::new(BatchPrompter::new(Box::new(|_| {})))
}

impl Watching {
    pub(super) fn start(targets: Vec<Target>, options: RemoteOptions) -> Self {
        let (sender, mut receiver) = channel();
        let (requests, asked) = tokio::sync::mpsc::channel(16);
        let (stop, stopped) = tokio::sync::watch::channel(false);
        let told: Arc<(Mutex<Vec<FeedEvent>>, Condvar)> = Arc::default();
        let taken = Arc::clone(&told);
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_multi_thread()
                .worker_threads(2)
                .enable_all()
                .build()
                .unwrap();
            runtime.block_on(async move {
                let taking = async move {
                    while let Ok(events) = receiver.recv(2_048).await {
                        taken.0.lock().unwrap().extend(events);
                        taken.1.notify_all();
                    }
                };
                let running = run_remote(
                    targets,
                    options,
                    quiet(),
                    Clock::start(),
                    sender,
                    asked,
                    stopped,
                );
                tokio::join!(running, taking).0
            })
        });
        Self {
            told,
            requests,
            stop,
            thread: Some(thread),
        }
    }

    /// Waits until what was told satisfies a condition.
    pub(super) fn until<T>(
        &self,
        what: &str,
        mut found: impl FnMut(&[FeedEvent]) -> Option<T>,
    ) -> T {
        let end = Instant::now() + DEADLINE;
        let mut told = self.told.0.lock().unwrap();
        loop {
            if let Some(found) = found(&told) {
                return found;
            }
            let left = end.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "no {what} in {}", digest(&told));
            told = self.told.1.wait_timeout(told, left).unwrap().0;
        }
    }

    pub(super) fn until_live(&self) -> Mode {
        self.until("live state", |told| {
            told.iter().rev().find_map(|event| match event {
                FeedEvent::Host(state) => {
                    Some((state.link == LinkState::Live).then_some(state.mode))
                }
                _ => None,
            })??
        })
    }

    /// Waits for frames 1 to `last` of a session, each once and in order.
    pub(super) fn until_frames(&self, session: &str, last: u64) {
        let seen = self.until(&format!("frame {last} of {session}"), |told| {
            let seen = frames(told, session);
            (seen.len() as u64 >= last).then_some(seen)
        });
        let wanted: Vec<u64> = (1..=last).collect();
        assert_eq!(seen, wanted, "{session}: each once and in order");
    }

    /// As `until_frames`; whenever the link is lost, it is tried again at once.
    pub(super) fn until_frames_impatiently(&self, session: &str, last: u64) {
        let mut hurried = 0;
        let end = Instant::now() + DEADLINE;
        loop {
            let told = self.told();
            let tries = told
                .iter()
                .filter(|event| {
                    matches!(event, FeedEvent::Host(state)
                        if matches!(state.link, LinkState::Reconnecting { .. }))
                })
                .count();
            if tries > hurried {
                hurried = tries;
                self.ask(FeedRequest::Reconnect(HostName("web1".into())));
            }
            if frames(&told, session).len() as u64 >= last {
                return self.until_frames(session, last);
            }
            assert!(
                Instant::now() < end,
                "no frame {last} of {session} in {}",
                digest(&told)
            );
            let told = self.told.0.lock().unwrap();
            drop(
                self.told
                    .1
                    .wait_timeout(told, Duration::from_millis(50))
                    .unwrap(),
            );
        }
    }

    /// Waits for a notice with these words.
    pub(super) fn until_notice(&self, words: &str) {
        self.until(words, |told| {
            told.iter()
                .any(
                    |event| matches!(event, FeedEvent::Notice { text, .. } if text.contains(words)),
                )
                .then_some(())
        });
    }

    pub(super) fn told(&self) -> Vec<FeedEvent> {
        self.told.0.lock().unwrap().clone()
    }

    pub(super) fn ask(&self, request: FeedRequest) {
        self.requests.blocking_send(request).unwrap();
    }

    pub(super) fn stop(mut self) -> (Results, Vec<FeedEvent>) {
        self.stop.send_replace(true);
        let results = self.thread.take().unwrap().join().unwrap();
        (results, self.told())
    }

    /// Waits for a run that ends by itself.
    pub(super) fn join(mut self) -> (Results, Vec<FeedEvent>) {
        let results = self.thread.take().unwrap().join().unwrap();
        (results, self.told())
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        self.stop.send_replace(true);
    }
}

pub(super) fn frames(told: &[FeedEvent], session: &str) -> Vec<u64> {
    told.iter()
        .filter_map(|event| match event {
            FeedEvent::Frame(frame) if &*frame.key.id == session => Some(frame.line.envelope.seq.0),
            _ => None,
        })
        .collect()
}

pub(super) fn gaps(told: &[FeedEvent]) -> usize {
    told.iter()
        .filter(|event| {
            matches!(
                event,
                FeedEvent::Gap { .. } | FeedEvent::GapFilled { .. } | FeedEvent::Conflict { .. }
            )
        })
        .count()
}

/// What was told, short enough for a message.
pub(super) fn digest(told: &[FeedEvent]) -> String {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let mut text = String::new();
    for event in told {
        match event {
            FeedEvent::Frame(frame) => *counts.entry(frame.key.id.to_string()).or_default() += 1,
            other => {
                let start = text.len();
                write!(text, "{other:?}").unwrap();
                text.truncate(start + 300);
                text.push('\n');
            }
        }
    }
    format!("{counts:?}\n{text}")
}

fn recorder(far: &Far) -> UnixStream {
    UnixStream::connect(far.socket()).unwrap()
}

#[test]
fn socket_mode_brings_live_and_history_once_and_in_order() {
    let Some(far) = Far::start("") else { return };
    far.append("fs-1-00000000000a", 1, 500);
    far.append("old-1-00000000000b", 1, 20);
    let watching = watch(far.options());
    assert_eq!(watching.until_live(), Mode::Socket, "{}", far.sshd.log());
    watching.until_frames("fs-1-00000000000a", 500);
    watching.until_frames("old-1-00000000000b", 20);
    assert_eq!(
        far.names(),
        BTreeSet::from(["hub.owner".to_owned(), "hub.sock".to_owned()])
    );
    let owner = fs::read_to_string(far.state.join("hub.owner")).unwrap();
    assert!(owner.contains("remote-viewer"), "{owner}");
    // A recorder goes on; it repeats its start first, and its log has everything.
    let mut recorder = recorder(&far);
    recorder
        .write_all(line("fs-1-00000000000a", 1).as_bytes())
        .unwrap();
    for seq in 501..=600 {
        far.append("fs-1-00000000000a", seq, seq);
        recorder
            .write_all(line("fs-1-00000000000a", seq).as_bytes())
            .unwrap();
    }
    watching.until_frames("fs-1-00000000000a", 600);
    // Lines that the recorder's queue dropped come from the log.
    far.append("fs-1-00000000000a", 601, 700);
    recorder
        .write_all(line("fs-1-00000000000a", 700).as_bytes())
        .unwrap();
    watching.until_frames("fs-1-00000000000a", 700);
    // A session that begins now.
    far.append("new-1-00000000000c", 1, 3);
    recorder
        .write_all(line("new-1-00000000000c", 1).as_bytes())
        .unwrap();
    recorder
        .write_all(line("new-1-00000000000c", 2).as_bytes())
        .unwrap();
    recorder
        .write_all(line("new-1-00000000000c", 3).as_bytes())
        .unwrap();
    watching.until_frames("new-1-00000000000c", 3);
    let (results, told) = watching.stop();
    assert!(results[0].1.is_ok(), "{:?}", results[0].1);
    assert_eq!(gaps(&told), 0, "{}", digest(&told));
    let by_socket = told.iter().any(|event| {
        matches!(event, FeedEvent::Frame(frame) if frame.origin == Origin::Socket && frame.arrived.is_some())
    });
    assert!(by_socket, "{}", digest(&told));
    assert_eq!(far.names(), BTreeSet::new(), "nothing is left behind");
}

/// The start record of a session whose log lies elsewhere.
fn start_line(session: &str, log: &std::path::Path) -> String {
    format!(
        "{{\"session_id\":\"{session}\",\"server_label\":\"x\",\"seq\":1,\
         \"ts\":\"2026-09-01T08:00:00.000001Z\",\"direction\":\"meta\",\"transport\":\"stdio\",\
         \"raw\":{{\"command\":[\"x\"],\"format\":7,\"log\":\"{}\"}}}}\n",
        log.display()
    )
}

#[test]
fn a_log_outside_the_directory_is_found_by_its_start_record() {
    let Some(far) = Far::start("") else { return };
    let elsewhere = far.sshd.dir.path().join("trace.jsonl");
    let (wanted, other) = ("mine-1-00000000000a", "other-1-00000000000b");
    let start = start_line(wanted, &elsewhere);
    let mut text = start.clone();
    for seq in 2..=300 {
        text += &line(wanted, seq);
        text += &line(other, seq);
    }
    fs::write(&elsewhere, &text).unwrap();
    let watching = watch(far.options());
    assert_eq!(watching.until_live(), Mode::Socket);
    let mut recorder = recorder(&far);
    // The recorder's queue kept its start record and the newest frame; the log has the rest.
    let append = |seq: u64| {
        let mut file = fs::OpenOptions::new()
            .append(true)
            .open(&elsewhere)
            .unwrap();
        file.write_all(line(wanted, seq).as_bytes()).unwrap();
    };
    append(301);
    recorder.write_all(start.as_bytes()).unwrap();
    recorder.write_all(line(wanted, 301).as_bytes()).unwrap();
    watching.until_frames(wanted, 301);
    // It is followed, too, and a body is read back from it.
    append(302);
    watching.until_frames(wanted, 302);
    let (key, place) = watching.until("a place", |told| {
        told.iter().find_map(|event| match event {
            FeedEvent::Frame(frame) if frame.line.envelope.seq.0 == 150 => {
                Some((frame.key.clone(), frame.place.clone()?))
            }
            _ => None,
        })
    });
    assert_eq!(*place.log, elsewhere);
    watching.ask(FeedRequest::ReadBody {
        key,
        seq: Seq(150),
        place,
    });
    let body = watching.until("a body", |told| {
        told.iter().find_map(|event| match event {
            FeedEvent::Body { outcome, .. } => Some(outcome.clone()),
            _ => None,
        })
    });
    let mcpsnoop::feed::BodyOutcome::Line(body) = body else {
        panic!("{body:?}");
    };
    assert_eq!(body, line(wanted, 150).trim_end());
    let (results, told) = watching.stop();
    assert!(results[0].1.is_ok());
    assert_eq!(gaps(&told), 0, "{}", digest(&told));
    assert_eq!(
        frames(&told, other),
        [] as [u64; 0],
        "a session of another log"
    );
}

/// Makes what lies at a path, out of the bytes of a good log.
type Made = fn(&std::path::Path, &[u8]);

#[test]
fn what_a_start_record_names_is_read_only_if_it_is_a_log_of_ours() {
    let Some(far) = Far::start("") else { return };
    let dir = far.sshd.dir.path().to_owned();
    let watching = watch(far.options());
    assert_eq!(watching.until_live(), Mode::Socket);
    let mut recorder = recorder(&far);
    let cases: [(&str, Made); 6] = [
        ("absent.jsonl", |_, _| {}),
        ("link.jsonl", |path, log| {
            let target = path.with_extension("target");
            fs::write(&target, log).unwrap();
            std::os::unix::fs::symlink(target, path).unwrap();
        }),
        ("fifo.jsonl", |path, _| {
            let made = std::process::Command::new("mkfifo").arg(path).status();
            assert!(made.unwrap().success());
        }),
        ("trace.log", |path, log| fs::write(path, log).unwrap()),
        ("text.jsonl", |path, log| {
            fs::write(path, [b"root:x:0:0\n", log].concat()).unwrap();
        }),
        ("strange.jsonl", |path, log| {
            fs::write(path, log).unwrap();
            if std::os::unix::fs::chown(path, Some(12_345), None).is_err() {
                // Only root gives files away; then there is nothing to see here.
                fs::remove_file(path).unwrap();
            }
        }),
    ];
    for (number, (name, make)) in cases.iter().enumerate() {
        let session = format!("case{number}-1-00000000000a");
        let path = dir.join(name);
        let start = start_line(&session, &path);
        let log: String = (2..=9).map(|seq| line(&session, seq)).collect();
        make(&path, (start.clone() + &log).as_bytes());
        recorder.write_all(start.as_bytes()).unwrap();
        recorder.write_all(line(&session, 9).as_bytes()).unwrap();
        // The session comes only through the socket, and shows what came there.
        watching.until(name, |told| {
            let live_only = told.iter().any(|event| {
                matches!(event, FeedEvent::Session(news)
                    if *news.key.id == *session && news.log.is_none())
            });
            (live_only && frames(told, &session).len() == 2).then_some(())
        });
    }
    let told = watching.told();
    for (number, (name, _)) in cases.iter().enumerate() {
        let session = format!("case{number}-1-00000000000a");
        assert_eq!(frames(&told, &session), [1, 9], "{name}");
    }
    assert!(watching.stop().0[0].1.is_ok());
}

#[test]
fn log_mode_follows_where_the_server_forwards_nothing() {
    let cases = [
        "AllowStreamLocalForwarding no",
        "AllowTcpForwarding no",
        "DisableForwarding yes",
        "ForceCommand internal-sftp",
        "AllowStreamLocalForwarding no\nForceCommand internal-sftp",
        "AllowStreamLocalForwarding no\nMaxSessions 1",
    ];
    for extra in cases {
        let Some(far) = Far::start(extra) else { return };
        far.append("fs-1-00000000000a", 1, 100);
        let watching = watch(far.options());
        let mode = watching.until_live();
        if extra.contains("no") || extra.contains("Disable") {
            assert!(matches!(mode, Mode::Log { .. }), "{extra}: {mode:?}");
        }
        for seq in 101..=102 {
            far.append("fs-1-00000000000a", seq, seq);
            watching.until_frames("fs-1-00000000000a", seq);
        }
        let (results, told) = watching.stop();
        assert!(results[0].1.is_ok(), "{extra}");
        assert_eq!(gaps(&told), 0, "{extra}");
        assert_eq!(far.names(), BTreeSet::new(), "{extra}");
    }
}

#[test]
fn frames_that_left_memory_are_read_back_from_the_far_log() {
    let Some(far) = Far::start("") else { return };
    far.append("busy-1", 1, 20_000);
    let watching = watch(far.options());
    watching.until_frames("busy-1", 20_000);
    let log = far.log("busy-1");
    let recall = |log: PathBuf, from, to| {
        FeedRequest::Recall(Recall {
            key: SessionKey {
                host: HostName("web1".into()),
                id: "busy-1".into(),
            },
            log: Arc::new(log),
            from: Seq(from),
            to: Seq(to),
            near: Seq(to),
        })
    };
    watching.ask(recall(log.clone(), 9_001, 19_000));
    watching.ask(recall(log.with_extension("secret"), 1, 9));
    let ends = |told: &[FeedEvent]| -> Vec<(u64, Result<(), String>)> {
        let recalled = told.iter().filter_map(|event| match event {
            FeedEvent::Recalled { from, end, .. } => Some((from.0, end.clone()?)),
            _ => None,
        });
        recalled.collect()
    };
    let ends = watching.until("both answers", |told| {
        Some(ends(told)).filter(|ends| ends.len() == 2)
    });
    assert!(ends.contains(&(9_001, Ok(()))), "{ends:?}");
    let refused = ends.iter().any(|(from, end)| *from == 1 && end.is_err());
    assert!(refused, "only logs are opened: {ends:?}");
    let mut seqs = Vec::new();
    for event in watching.told() {
        if let FeedEvent::Recalled { frames, .. } = event {
            seqs.extend(frames.iter().map(|frame| frame.line.envelope.seq.0));
        }
    }
    assert!(seqs.into_iter().eq(9_001..=19_000));
    let (results, told) = watching.stop();
    assert!(
        results.iter().all(|(_, result)| result.is_ok()),
        "{results:?}"
    );
    assert_eq!(
        frames(&told, "busy-1").len(),
        20_000,
        "none is delivered twice"
    );
}

#[test]
fn only_the_remote_direction_is_forwarded() {
    // Nothing can be tested then: an absent socket is published, a stale one is left.
    let Some(far) = Far::start("AllowStreamLocalForwarding remote") else {
        return;
    };
    let watching = watch(far.options());
    assert_eq!(watching.until_live(), Mode::Socket);
    drop(watching.stop());
    assert_eq!(far.names(), BTreeSet::new());
    drop(UnixListener::bind(far.socket()).unwrap());
    let watching = watch(far.options());
    assert!(matches!(watching.until_live(), Mode::Log { .. }));
    drop(watching.stop());
    assert_eq!(far.names(), BTreeSet::from(["hub.sock".to_owned()]));
}

#[test]
fn a_socket_that_is_there_decides() {
    let Some(far) = Far::start("") else { return };
    let mode_and_reason = |watching: &Watching| {
        let mode = watching.until_live();
        let reason = watching.told().iter().rev().find_map(|event| match event {
            FeedEvent::Host(state) => Some(state.reason.clone()),
            _ => None,
        });
        (mode, reason.flatten().unwrap_or_default())
    };
    // A stale one is cleared.
    drop(UnixListener::bind(far.socket()).unwrap());
    let watching = watch(far.options());
    assert_eq!(watching.until_live(), Mode::Socket);
    // A second viewer finds the first.
    let second = watch(far.options());
    let (mode, reason) = mode_and_reason(&second);
    assert!(matches!(mode, Mode::Log { .. }));
    assert!(reason.contains("another remote viewer"), "{reason}");
    drop(second.stop());
    drop(watching.stop());
    assert_eq!(far.names(), BTreeSet::new());
    // A silent hub is left alone, beside a dead viewer's file too.
    fs::write(
        far.state.join("hub.owner"),
        "{\"kind\":\"remote-viewer\",\"nonce\":\"x\",\"socket_mtime\":1,\"since\":\"\"}",
    )
    .unwrap();
    let hub = UnixListener::bind(far.socket()).unwrap();
    let watching = watch(far.options());
    let (mode, reason) = mode_and_reason(&watching);
    assert!(matches!(mode, Mode::Log { .. }));
    assert!(reason.contains("does not answer"), "{reason}");
    drop(watching.stop());
    assert!(
        UnixStream::connect(far.socket()).is_ok(),
        "the hub keeps its socket"
    );
    drop(hub);
    fs::remove_file(far.socket()).unwrap();
    // Neither a file nor a link is touched.
    fs::write(far.socket(), "mine").unwrap();
    let watching = watch(far.options());
    assert!(matches!(watching.until_live(), Mode::Log { .. }));
    drop(watching.stop());
    assert_eq!(fs::read_to_string(far.socket()).unwrap(), "mine");
    let mut demanding = far.options();
    demanding.mode = ModeChoice::Socket;
    let (results, _) = watch(demanding).join();
    let error = results[0].1.as_ref().unwrap_err();
    assert_eq!(error.class(), ExitClass::RemoteUnusable, "{error}");
}

#[test]
fn directories_that_others_can_change_get_no_socket() {
    let Some(far) = Far::start("") else { return };
    fs::set_permissions(&far.state, fs::Permissions::from_mode(0o770)).unwrap();
    let watching = watch(far.options());
    assert!(matches!(watching.until_live(), Mode::Log { .. }));
    drop(watching.stop());
    assert_eq!(far.names(), BTreeSet::new());
    // A path in which no socket can be is not made either.
    fs::set_permissions(&far.state, fs::Permissions::from_mode(0o700)).unwrap();
    let long = far.state.join("x".repeat(90));
    let mut options = far.options();
    options.location = Some(RemoteLocation::McpsnoopHome(long.display().to_string()));
    let watching = watch(options);
    assert!(matches!(watching.until_live(), Mode::Log { .. }));
    watching.until_notice("set a shorter MCPSNOOP_HOME");
    drop(watching.stop());
    assert_eq!(far.names(), BTreeSet::new());
}

#[test]
fn hostile_names_are_counted_and_never_opened() {
    let Some(far) = Far::start("") else { return };
    let sessions = far.state.join("sessions");
    far.append("good-1-00000000000a", 1, 5);
    let good = fs::read(far.log("good-1-00000000000a")).unwrap();
    for name in [
        ".hidden.jsonl",
        "-dash.jsonl",
        "a\u{1b}[2J.jsonl",
        "a\nb.jsonl",
        "a\\b.jsonl",
        "a\u{85}.jsonl",
    ] {
        fs::write(sessions.join(name), &good).unwrap();
    }
    fs::write(
        sessions
            .join(<std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(b"bad\xff.jsonl")),
        &good,
    )
    .unwrap();
    fs::create_dir(sessions.join("dir.jsonl")).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", sessions.join("link.jsonl")).unwrap();
    drop(UnixListener::bind(sessions.join("sock.jsonl")).unwrap());
    let fifo = std::process::Command::new("mkfifo")
        .arg(sessions.join("fifo.jsonl"))
        .status()
        .unwrap();
    assert!(fifo.success());
    fs::write(sessions.join("notes.txt"), "x").unwrap();
    let mut options = far.options();
    options.once = true;
    let (results, told) = watch(options).join();
    assert!(results[0].1.is_ok(), "{:?}", results[0].1);
    let listing = told.iter().find_map(|event| match event {
        FeedEvent::Listing(listing) => Some((listing.total, listing.chosen, listing.skipped)),
        _ => None,
    });
    assert_eq!(listing, Some((1, 1, 11)));
    let said = |event: &FeedEvent| matches!(event, FeedEvent::Notice { text, .. } if text == "11 names skipped");
    assert_eq!(told.iter().filter(|event| said(event)).count(), 1);
    assert_eq!(frames(&told, "good-1-00000000000a"), [1, 2, 3, 4, 5]);
    let strange: Vec<_> = told
        .iter()
        .filter(|event| matches!(event, FeedEvent::Frame(frame) if &*frame.key.id != "good-1-00000000000a"))
        .collect();
    assert!(strange.is_empty(), "{strange:?}");
}

#[test]
fn once_loads_what_is_there_and_says_what_is_missing() {
    let Some(far) = Far::start("") else { return };
    for number in 0..30 {
        let session = format!("s{number}-1-00000000000a");
        far.append(&session, 1, 10);
        let mut file = fs::OpenOptions::new()
            .append(true)
            .open(far.log(&session))
            .unwrap();
        file.write_all(end_line(&session, 11).as_bytes()).unwrap();
    }
    // A hole, a damaged line and a torn tail.
    far.append("hole-1-00000000000a", 1, 2);
    far.append("hole-1-00000000000a", 5, 6);
    let mut file = fs::OpenOptions::new()
        .append(true)
        .open(far.log("hole-1-00000000000a"))
        .unwrap();
    file.write_all(b"damaged\n{\"session_id\":").unwrap();
    let mut options = far.options();
    options.once = true;
    let (results, told) = watch(options.clone()).join();
    assert!(results[0].1.is_ok(), "{:?}", results[0].1);
    for number in 0..30 {
        let seen = frames(&told, &format!("s{number}-1-00000000000a"));
        assert_eq!(seen, (1..=11).collect::<Vec<_>>());
    }
    let holes: Vec<_> = told
        .iter()
        .filter_map(|event| match event {
            FeedEvent::Gap { from, to, .. } => Some((from.0, to.0)),
            _ => None,
        })
        .collect();
    assert_eq!(holes, [(3, 4)]);
    let ending = told.iter().find_map(|event| match event {
        FeedEvent::End(ending) => Some((ending.damaged, ending.conflicts)),
        _ => None,
    });
    assert_eq!(ending, Some((1, 0)));
    assert_eq!(
        far.names(),
        BTreeSet::new(),
        "a run that only loads makes no socket"
    );
    // A limit, names, and a name that is not there.
    options.history_limit = Some(3);
    let (_, told) = watch(options.clone()).join();
    let listing = told.iter().find_map(|event| match event {
        FeedEvent::Listing(listing) => Some((listing.total, listing.chosen)),
        _ => None,
    });
    assert_eq!(listing, Some((31, 3)));
    options.sessions = vec!["s7".to_owned()];
    let (_, told) = watch(options.clone()).join();
    let seen: BTreeSet<_> = told
        .iter()
        .filter_map(|event| match event {
            FeedEvent::Frame(frame) => Some(frame.key.id.to_string()),
            _ => None,
        })
        .collect();
    assert_eq!(seen, BTreeSet::from(["s7-1-00000000000a".to_owned()]));
    options.sessions = vec!["nobody".to_owned()];
    let (results, _) = watch(options.clone()).join();
    let error = results[0].1.as_ref().unwrap_err();
    assert_eq!(error.class(), ExitClass::RemoteUnusable);
    assert!(
        error.hints().iter().any(|hint| hint.contains("--list")),
        "{:?}",
        error.hints()
    );
    fs::remove_dir_all(far.state.join("sessions")).unwrap();
    options.sessions.clear();
    let (results, _) = watch(options).join();
    assert_eq!(
        results[0].1.as_ref().unwrap_err().class(),
        ExitClass::RemoteUnusable
    );
}

#[test]
fn lists_and_prints() {
    let Some(far) = Far::start("") else { return };
    far.append("fs-1-00000000000a", 1, 4_000);
    far.append("web-2-00000000000b", 1, 2);
    let whole = fs::read(far.log("fs-1-00000000000a")).unwrap();
    let mut file = fs::OpenOptions::new()
        .append(true)
        .open(far.log("fs-1-00000000000a"))
        .unwrap();
    file.write_all(b"torn").unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let target = Target::parse("web1").unwrap();
    let listed = runtime.block_on(list_sessions(vec![target.clone()], far.options(), quiet()));
    let names: BTreeSet<_> = listed[0]
        .1
        .as_ref()
        .unwrap()
        .iter()
        .map(|listed| (listed.session.clone(), listed.size.0))
        .collect();
    assert_eq!(
        names,
        BTreeSet::from([
            ("fs-1-00000000000a".to_owned(), whole.len() as u64 + 4),
            (
                "web-2-00000000000b".to_owned(),
                fs::metadata(far.log("web-2-00000000000b")).unwrap().len()
            ),
        ])
    );
    for name in ["fs", "fs-1-00000000000a", "fs-1"] {
        let mut out = Vec::new();
        let torn = runtime
            .block_on(cat_session(
                target.clone(),
                name,
                far.options(),
                quiet(),
                &mut out,
            ))
            .unwrap();
        assert!(torn);
        assert_eq!(out.len(), whole.len(), "{name}");
        assert!(out == whole, "{name}");
    }
    let mut out = Vec::new();
    let error = runtime
        .block_on(cat_session(
            target,
            "nothing",
            far.options(),
            quiet(),
            &mut out,
        ))
        .unwrap_err();
    assert_eq!(error.class(), ExitClass::RemoteUnusable);
    assert!(out.is_empty());
}

/// The server of the demo, with a state directory of its own.
pub(super) struct Demo {
    dir: tempfile::TempDir,
    server: DemoServer,
    _runtime: tokio::runtime::Runtime,
}

impl Demo {
    pub(super) fn start() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let (state, near) = (dir.path().join("far"), dir.path().join("near"));
        for path in [&state, &near] {
            fs::create_dir(path).unwrap();
            fs::set_permissions(path, fs::Permissions::from_mode(0o700)).unwrap();
        }
        fs::create_dir(state.join("sessions")).unwrap();
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let server = runtime.block_on(DemoServer::start(&state, &near)).unwrap();
        Self {
            dir,
            server,
            _runtime: runtime,
        }
    }

    fn state(&self) -> PathBuf {
        self.dir.path().join("far")
    }

    pub(super) fn socket(&self) -> PathBuf {
        self.state().join("hub.sock")
    }

    fn options(&self) -> RemoteOptions {
        let mut options = self.server.options();
        options.env = Env::of([("PATH", "/usr/bin:/bin"), ("HOME", "/nonexistent")]);
        options
    }

    pub(super) fn watch(&self) -> Watching {
        Watching::start(vec![self.server.target()], self.options())
    }
}

#[test]
fn the_demo_server_is_watched_like_any_host() {
    let demo = Demo::start();
    let log = demo.state().join("sessions/demo-1-00000000000a.jsonl");
    let write = |from: u64, to: u64| {
        let mut file = fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(&log)
            .unwrap();
        for seq in from..=to {
            file.write_all(line("demo-1-00000000000a", seq).as_bytes())
                .unwrap();
        }
    };
    write(1, 10);
    let watching = demo.watch();
    assert_eq!(
        watching.until_live(),
        Mode::Socket,
        "{}",
        digest(&watching.told())
    );
    watching.until_frames("demo-1-00000000000a", 10);
    let mut recorder = UnixStream::connect(demo.socket()).unwrap();
    for seq in 11..=50 {
        write(seq, seq);
        recorder
            .write_all(line("demo-1-00000000000a", seq).as_bytes())
            .unwrap();
    }
    watching.until_frames("demo-1-00000000000a", 50);
    let (results, told) = watching.stop();
    assert!(results[0].1.is_ok(), "{:?}", results[0].1);
    assert_eq!(gaps(&told), 0);
    assert!(!demo.socket().exists());
    let mut options = demo.options();
    options.once = true;
    let (results, told) = Watching::start(vec![demo.server.target()], options).join();
    assert!(results[0].1.is_ok(), "{:?}", results[0].1);
    assert_eq!(frames(&told, "demo-1-00000000000a").len(), 50);
}
