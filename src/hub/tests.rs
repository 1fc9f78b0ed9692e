//! The hub with real sockets and real files.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    fs::{File, OpenOptions},
    io::{Read as _, Write as _},
    os::unix::{
        fs::FileTypeExt as _,
        net::{UnixListener, UnixStream},
    },
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use tokio::{
    sync::{mpsc, watch},
    task::JoinSet,
};

use super::{Error, HubOptions, HubStatus, run_hub};
use crate::{
    base::Clock,
    feed::{
        BodyOutcome, FeedEvent, FeedFrame, FeedReceiver, FeedRequest, HostState, LinkState, Mode,
        Origin, Recall, SessionNews, channel,
    },
    record::{HostName, Liveness, Seq, SessionKey, StateDir},
};

/// No wait takes longer.
const DEADLINE: Duration = Duration::from_secs(30);

/// A state directory of its own.
struct Base {
    dir: tempfile::TempDir,
}

impl Base {
    fn new() -> Self {
        let base = Self {
            dir: tempfile::tempdir().unwrap(),
        };
        std::fs::create_dir(base.sessions()).unwrap();
        base
    }

    fn state(&self) -> StateDir {
        StateDir::at(self.dir.path())
    }

    fn sessions(&self) -> PathBuf {
        self.dir.path().join("sessions")
    }

    fn log(&self, id: &str) -> PathBuf {
        self.sessions().join(format!("{id}.jsonl"))
    }

    fn socket(&self) -> PathBuf {
        self.dir.path().join("hub.sock")
    }

    fn append(&self, id: &str, text: &str) {
        let log = OpenOptions::new()
            .create(true)
            .append(true)
            .open(self.log(id));
        log.unwrap().write_all(text.as_bytes()).unwrap();
    }

    /// A log whose last change was `age` seconds ago.
    fn old_log(&self, id: &str, frames: u64, age: u64) {
        self.append(id, &lines(id, 1..=frames));
        let log = File::options().append(true).open(self.log(id)).unwrap();
        let modified = std::time::SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000 - age);
        log.set_modified(modified).unwrap();
    }

    fn hub(&self, history_limit: Option<usize>) -> Run {
        Run::start(self.state(), history_limit)
    }

    /// Connects as a recorder does, once the hub is there.
    fn connect(&self) -> UnixStream {
        let since = Instant::now();
        loop {
            match UnixStream::connect(self.socket()) {
                Ok(stream) => return stream,
                Err(error) => assert!(since.elapsed() < DEADLINE, "no hub: {error}"),
            }
            std::thread::yield_now();
        }
    }
}

/// One line: number 1 is a start record of this release.
fn line(id: &str, seq: u64) -> String {
    let head = format!("{{\"session_id\":\"{id}\",\"server_label\":\"s\",\"seq\":{seq},\"ts\":");
    let time = format!("\"2026-09-01T08:00:00.{:06}Z\"", seq % 1_000_000);
    let rest = if seq == 1 {
        r#""direction":"meta","transport":"stdio","raw":{"command":["x"],"format":7}"#
    } else {
        r#""direction":"stderr","transport":"stdio","text":"line""#
    };
    format!("{head}{time},{rest}}}\n")
}

fn lines(id: &str, seqs: impl IntoIterator<Item = u64>) -> String {
    seqs.into_iter().map(|seq| line(id, seq)).collect()
}

fn end(id: &str, seq: u64) -> String {
    format!(
        "{{\"session_id\":\"{id}\",\"server_label\":\"s\",\"seq\":{seq},\"ts\":\"2026-09-01T09:00:00Z\",\
         \"direction\":\"meta\",\"transport\":\"stdio\",\"raw\":{{\"command\":[\"x\"],\"event\":\"end\",\
         \"exit_code\":0,\"signal\":null,\"closed_by\":\"client\",\"dropped\":0}}}}\n"
    )
}

fn key(id: &str) -> SessionKey {
    SessionKey {
        host: HostName::local(),
        id: id.into(),
    }
}

/// A hub that runs, and the viewer that listens to it.
struct Run {
    tasks: JoinSet<Result<HubStatus, Error>>,
    requests: mpsc::Sender<FeedRequest>,
    stop: watch::Sender<bool>,
    viewer: Viewer,
}

impl Run {
    fn start(state: StateDir, history_limit: Option<usize>) -> Self {
        let (feed, receiver) = channel();
        let (requests, asked) = mpsc::channel(16);
        let (stop, stopped) = watch::channel(false);
        let options = HubOptions {
            state,
            host: HostName::local(),
            history_limit,
            clock: Clock::start(),
        };
        let mut tasks = JoinSet::new();
        tasks.spawn(run_hub(options, feed, asked, stopped));
        Self {
            tasks,
            requests,
            stop,
            viewer: Viewer::new(receiver),
        }
    }

    async fn until(&mut self, what: &str, reached: impl Fn(&Viewer) -> bool) {
        self.viewer.until(what, reached).await;
    }

    async fn ask(&self, request: FeedRequest) {
        self.requests.send(request).await.unwrap();
    }

    /// Stops it and takes its last words.
    async fn stop(mut self) -> (HubStatus, Viewer) {
        self.stop.send(true).unwrap();
        let ended = tokio::time::timeout(DEADLINE, self.tasks.join_next()).await;
        let status = ended.expect("it stops").unwrap().unwrap().unwrap();
        while let Ok(events) = self.viewer.receiver.take(10_000) {
            self.viewer.take(events);
        }
        (status, self.viewer)
    }
}

/// What was told, and every rule that holds at any time.
struct Viewer {
    receiver: FeedReceiver,
    frames: HashMap<String, Vec<u64>>,
    seen: HashMap<String, BTreeSet<u64>>,
    late: HashMap<String, BTreeSet<u64>>,
    lost: HashMap<String, BTreeSet<u64>>,
    pending: HashMap<String, bool>,
    sessions: BTreeMap<String, SessionNews>,
    last_frames: HashMap<String, Box<FeedFrame>>,
    host: Option<HostState>,
    /// Session ids in the order in which their first frame came.
    order: Vec<String>,
    events: Vec<FeedEvent>,
}

impl Viewer {
    fn new(receiver: FeedReceiver) -> Self {
        Self {
            receiver,
            frames: HashMap::new(),
            seen: HashMap::new(),
            late: HashMap::new(),
            lost: HashMap::new(),
            pending: HashMap::new(),
            sessions: BTreeMap::new(),
            last_frames: HashMap::new(),
            host: None,
            order: Vec::new(),
            events: Vec::new(),
        }
    }

    async fn until(&mut self, what: &str, reached: impl Fn(&Self) -> bool) {
        let waited = tokio::time::timeout(DEADLINE, async {
            while !reached(self) {
                let events = self.receiver.recv(10_000).await.expect("the hub ended");
                self.take(events);
            }
        });
        if waited.await.is_err() {
            let counts: Vec<_> = self
                .frames
                .iter()
                .map(|(id, seqs)| (id, seqs.len()))
                .collect();
            panic!("waited for {what}; frames {counts:?}, lost {:?}", self.lost);
        }
    }

    fn take(&mut self, events: Vec<FeedEvent>) {
        for event in events {
            match event {
                FeedEvent::Frame(frame) => self.take_frame(frame),
                FeedEvent::GapFilled { key, from, to } => {
                    let late = self.late.entry(key.id.to_string()).or_default();
                    late.extend(from.0..=to.0);
                }
                FeedEvent::Gap { key, from, to } => {
                    let lost = self.lost.entry(key.id.to_string()).or_default();
                    lost.extend(from.0..=to.0);
                }
                FeedEvent::NotLoaded { key, pending } => {
                    self.pending.insert(key.id.to_string(), pending);
                }
                FeedEvent::Session(news) => {
                    self.sessions.insert(news.key.id.to_string(), news.clone());
                    self.events.push(FeedEvent::Session(news));
                }
                FeedEvent::Host(host) => self.host = Some(host),
                other => self.events.push(other),
            }
        }
    }

    fn take_frame(&mut self, frame: Box<FeedFrame>) {
        let (id, seq) = (frame.key.id.to_string(), frame.line.envelope.seq.0);
        assert_eq!(frame.key.id, frame.line.envelope.session_id);
        let seqs = self.frames.entry(id.clone()).or_default();
        if seqs.is_empty() {
            self.order.push(id.clone());
        }
        let new = self.seen.entry(id.clone()).or_default().insert(seq);
        assert!(new, "{id} {seq} came twice");
        let late = self.late.get_mut(&id).is_some_and(|late| late.remove(&seq));
        assert!(late || seqs.last() < Some(&seq), "{id} {seq} out of order");
        if let Some(lost) = self.lost.get_mut(&id) {
            lost.remove(&seq);
        }
        seqs.push(seq);
        self.last_frames.insert(id, frame);
    }

    fn count(&self, id: &str) -> usize {
        self.frames.get(id).map_or(0, Vec::len)
    }

    fn lost(&self, id: &str) -> usize {
        self.lost.get(id).map_or(0, BTreeSet::len)
    }

    fn is_live(&self) -> bool {
        self.host
            .as_ref()
            .is_some_and(|host| host.link == LinkState::Live)
    }

    fn mode(&self) -> Option<Mode> {
        self.host.as_ref().and_then(|host| host.mode)
    }

    fn liveness(&self, id: &str) -> Option<Liveness> {
        self.sessions.get(id).map(|news| news.liveness)
    }

    fn assert_whole(&self, id: &str, last: u64) {
        let seen = self.seen.get(id).cloned().unwrap_or_default();
        let absent: Vec<u64> = (1..=last).filter(|seq| !seen.contains(seq)).collect();
        assert!(absent.is_empty(), "{id} lacks {absent:?}");
        assert_eq!(self.lost(id), 0, "{id}: {:?}", self.lost);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_of_thousands_of_sessions_in_one_log_is_told_and_not_all_for_each() {
    const SESSIONS: usize = 5_000;
    let base = Base::new();
    let text: String = (0..SESSIONS).map(|at| line(&format!("s{at}"), 1)).collect();
    base.append("s0", &text);
    let mut run = base.hub(None);
    run.until("the backfill", Viewer::is_live).await;
    let viewer = &run.viewer;
    assert_eq!(
        (viewer.sessions.len(), viewer.frames.len()),
        (SESSIONS, SESSIONS)
    );
    let all_loaded = viewer.sessions.values().all(|news| news.loaded);
    assert!(all_loaded);
    let told = viewer.events.iter();
    let told = told.filter(|event| matches!(event, FeedEvent::Session(_)));
    assert!(told.count() <= SESSIONS * 4);
    run.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_logs_are_listed_and_the_newest_are_loaded_oldest_of_them_first() {
    let base = Base::new();
    for age in 0..12 {
        base.old_log(&format!("s{age:02}"), 3, 1_000 + age * 100);
    }
    base.append("empty", "");
    std::fs::create_dir(base.log("dir")).unwrap();
    let fifo = base.log("fifo");
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    let mut run = base.hub(Some(4));
    run.until("the backfill", Viewer::is_live).await;
    let viewer = &run.viewer;
    assert_eq!(viewer.sessions.len(), 12);
    let newest: BTreeSet<&str> = ["s00", "s01", "s02", "s03"].into();
    let loaded: BTreeSet<&str> = viewer.order.iter().map(String::as_str).collect();
    assert_eq!(loaded, newest);
    assert!(
        newest
            .iter()
            .all(|id| viewer.count(id) == 3 && viewer.sessions[*id].loaded)
    );
    assert!(!viewer.sessions["s04"].loaded);
    let first = viewer
        .events
        .iter()
        .position(|event| matches!(event, FeedEvent::Listing(_)));
    let Some(FeedEvent::Listing(listing)) = first.map(|at| &viewer.events[at]) else {
        panic!("no listing");
    };
    assert_eq!((listing.total, listing.chosen, listing.skipped), (12, 4, 2));

    run.ask(FeedRequest::LoadFirst(key("s11"))).await;
    run.until("the asked one", |viewer| viewer.count("s11") == 3)
        .await;
    run.ask(FeedRequest::LoadOlder(Some(2))).await;
    run.until("two more", |viewer| {
        viewer.count("s04") + viewer.count("s05") == 6
    })
    .await;
    assert_eq!(run.viewer.count("s06"), 0);
    run.ask(FeedRequest::LoadOlder(None)).await;
    run.until("all", |viewer| viewer.order.len() == 12).await;
    let (status, viewer) = run.stop().await;
    assert_eq!(status, HubStatus::Listening);
    assert!(
        viewer
            .last_frames
            .values()
            .all(|frame| frame.arrived.is_none())
    );
    assert!(matches!(viewer.events.last(), Some(FeedEvent::End(_))));
    assert!(!base.socket().exists(), "the socket is gone");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn live_frames_come_at_once_and_their_bodies_can_be_read_back() {
    let base = Base::new();
    let mut run = base.hub(None);
    let mut recorder = base.connect();
    base.append("a-1", &lines("a-1", 1..=2));
    recorder.write_all(lines("a-1", 1..=2).as_bytes()).unwrap();
    run.until("two frames", |viewer| viewer.count("a-1") == 2)
        .await;
    let growing = |viewer: &Viewer| {
        viewer
            .sessions
            .get("a-1")
            .is_some_and(|news| news.log.is_some())
    };
    run.until("its log", growing).await;
    recorder.write_all(line("a-1", 3).as_bytes()).unwrap();
    run.until("the third", |viewer| viewer.count("a-1") == 3)
        .await;
    let frame = run.viewer.last_frames["a-1"].clone();
    assert_eq!(frame.origin, Origin::Socket);
    base.append("a-1", &line("a-1", 3));
    assert!(frame.arrived.is_some());
    assert_eq!(run.viewer.liveness("a-1"), Some(Liveness::Recording));

    let place = frame.place.expect("its log is known");
    let request = FeedRequest::ReadBody {
        key: key("a-1"),
        seq: Seq(3),
        place: place.clone(),
    };
    run.ask(request).await;
    let wrong = FeedRequest::ReadBody {
        key: key("a-1"),
        seq: Seq(9),
        place,
    };
    run.ask(wrong).await;
    let bodies = |viewer: &Viewer| {
        let bodies = viewer.events.iter().filter_map(|event| match event {
            FeedEvent::Body { seq, outcome, .. } => Some((seq.0, outcome.clone())),
            _ => None,
        });
        bodies.collect::<BTreeMap<_, _>>()
    };
    run.until("bodies", |viewer| bodies(viewer).len() == 2)
        .await;
    let bodies = bodies(&run.viewer);
    let BodyOutcome::Line(body) = &bodies[&3] else {
        panic!("{bodies:?}");
    };
    assert_eq!(*body, line("a-1", 3).trim_end());
    assert!(matches!(bodies[&9], BodyOutcome::Unavailable(_)));

    let finish = end("a-1", 4);
    base.append("a-1", &finish);
    recorder.write_all(finish.as_bytes()).unwrap();
    drop(recorder);
    let ended = |viewer: &Viewer| viewer.liveness("a-1") == Some(Liveness::Ended);
    run.until("its end", ended).await;
    run.viewer.assert_whole("a-1", 4);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn frames_that_left_memory_are_read_back_by_their_numbers() {
    let base = Base::new();
    base.append("a-1", &lines("a-1", 1..=3_000));
    base.append("a-1", &lines("a-1", [2_000]));
    let mut run = base.hub(None);
    run.until("the log", |viewer| viewer.count("a-1") == 3_000)
        .await;
    let wanted = |log: &str, from, to| {
        FeedRequest::Recall(Recall {
            key: key("a-1"),
            log: Arc::new(base.log(log)),
            from: Seq(from),
            to: Seq(to),
            near: Seq(to),
        })
    };
    run.ask(wanted("a-1", 1_200, 2_400)).await;
    run.ask(wanted("gone", 7, 9)).await;
    let answers = |viewer: &Viewer| {
        let mut seqs = Vec::new();
        let mut ends = Vec::new();
        for event in &viewer.events {
            if let FeedEvent::Recalled {
                from, frames, end, ..
            } = event
            {
                seqs.extend(frames.iter().map(|frame| frame.line.envelope.seq.0));
                ends.extend(end.clone().map(|end| (from.0, end)));
            }
        }
        (seqs, ends)
    };
    run.until("both answers", |viewer| answers(viewer).1.len() == 2)
        .await;
    let (seqs, mut ends) = answers(&run.viewer);
    assert!(seqs.into_iter().eq(1_200..=2_400));
    ends.sort_unstable();
    assert_eq!(ends[0], (7, Err("the log was removed".to_owned())));
    assert_eq!(ends[1], (1_200, Ok(())));
    run.viewer.assert_whole("a-1", 3_000);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_recorder_that_connects_again_repeats_its_start_and_the_log_fills_the_rest() {
    let base = Base::new();
    let mut run = base.hub(None);
    base.append("a", &lines("a", 1..=100));
    let mut recorder = base.connect();
    recorder
        .write_all(lines("a", [1, 2, 3]).as_bytes())
        .unwrap();
    run.until("three frames", |viewer| viewer.count("a") >= 3)
        .await;
    drop(recorder);
    let mut recorder = base.connect();
    recorder
        .write_all(lines("a", [1, 60, 61, 99, 100]).as_bytes())
        .unwrap();
    run.until("all", |viewer| viewer.count("a") == 100).await;
    recorder.write_all(lines("a", [110]).as_bytes()).unwrap();
    run.until("what no log has", |viewer| viewer.lost("a") == 9)
        .await;
    assert_eq!(run.viewer.count("a"), 101);
    base.append("a", &lines("a", 101..=110));
    run.until("late ones", |viewer| viewer.lost("a") == 0).await;
    run.viewer.assert_whole("a", 110);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_late_joiner_without_a_log_misses_nothing() {
    let base = Base::new();
    let mut run = base.hub(None);
    let mut recorder = base.connect();
    recorder
        .write_all(lines("far", [1, 50, 51]).as_bytes())
        .unwrap();
    run.until("frames", |viewer| viewer.count("far") == 3).await;
    run.until("a verdict", |viewer| {
        viewer.pending.get("far") == Some(&false)
    })
    .await;
    assert_eq!(run.viewer.lost("far"), 0);
    let news = &run.viewer.sessions["far"];
    assert!(news.log.is_none() && news.liveness == Liveness::Recording);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_without_a_log_is_recorded_only_while_its_recorder_is_connected() {
    let base = Base::new();
    let mut run = base.hub(None);
    for (id, last, expected) in [
        ("cut", line("cut", 2), Liveness::Unknown),
        ("ended", end("ended", 2), Liveness::Ended),
    ] {
        let mut recorder = base.connect();
        recorder
            .write_all((line(id, 1) + &last).as_bytes())
            .unwrap();
        run.until("frames", |viewer| viewer.count(id) == 2).await;
        assert_eq!(run.viewer.liveness(id), Some(Liveness::Recording));
        drop(recorder);
        let gone = |viewer: &Viewer| viewer.liveness(id) == Some(expected);
        run.until("its recorder's end", gone).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_log_elsewhere_that_the_start_record_names_is_read() {
    let base = Base::new();
    let other = base.dir.path().join("trace.jsonl");
    let start = line("a", 1).replace(
        "\"format\":7",
        &format!("\"format\":7,\"log\":\"{}\"", other.display()),
    );
    let text = start.clone() + &lines("a", 2..=5) + &lines("b", 1..=5) + &lines("a", 6..=9);
    std::fs::write(&other, text).unwrap();
    let mut run = base.hub(None);
    let mut recorder = base.connect();
    recorder
        .write_all((start + &lines("a", [9, 10])).as_bytes())
        .unwrap();
    run.until("all of it", |viewer| viewer.count("a") == 10)
        .await;
    run.viewer.assert_whole("a", 10);
    assert_eq!(run.viewer.count("b"), 0, "another session of that file");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn live_frames_wait_for_the_history_of_their_session() {
    let base = Base::new();
    base.append("big", &lines("big", 1..=30_000));
    base.old_log("other", 3, 50);
    let mut run = base.hub(None);
    let mut recorder = base.connect();
    let text = lines("big", [1].into_iter().chain(29_000..=40_000));
    let thread = std::thread::spawn(move || {
        recorder.write_all(text.as_bytes()).unwrap();
        recorder
    });
    run.until("everything", |viewer| viewer.count("big") == 40_000)
        .await;
    run.viewer.assert_whole("big", 40_000);
    drop(thread.join().unwrap());
    run.until("the other", |viewer| viewer.count("other") == 3)
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn damage_is_skipped_and_peers_that_are_no_recorders_are_let_go() {
    let base = Base::new();
    let mut run = base.hub(None);
    let mut recorder = base.connect();
    let text = format!("\n {} {{\"broken\n{}", line("a", 1), lines("a", 2..=3));
    recorder.write_all(text.as_bytes()).unwrap();
    run.until("frames", |viewer| viewer.count("a") == 3).await;
    let mut subscriber = base.connect();
    subscriber
        .write_all(b"{\"mcpsnoop\":\"subscribe\",\"version\":1}\n")
        .unwrap();
    subscriber.set_read_timeout(Some(DEADLINE)).unwrap();
    assert_eq!(
        subscriber.read(&mut [0; 16]).unwrap(),
        0,
        "closed without a word"
    );
    let (_, viewer) = run.stop().await;
    let Some(FeedEvent::End(ending)) = viewer.events.last() else {
        panic!("no end");
    };
    assert_eq!(ending.damaged, 1);
    recorder.set_read_timeout(Some(DEADLINE)).unwrap();
    assert_eq!(
        recorder.read(&mut [0; 16]).unwrap(),
        0,
        "closed by the stop"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_the_socket_logs_are_followed() {
    let base = Base::new();
    let foreign = UnixListener::bind(base.socket()).unwrap();
    base.append("a", &lines("a", 1..=5));
    let mut run = base.hub(None);
    run.until("history", |viewer| viewer.count("a") == 5).await;
    let follows = |viewer: &Viewer| matches!(viewer.mode(), Some(Mode::Log { .. }));
    assert!(follows(&run.viewer));
    assert!(run.viewer.host.as_ref().unwrap().reason.is_some());
    base.append("a", &lines("a", 6..=7));
    base.append("new", &lines("new", 1..=2));
    run.until("growth", |viewer| {
        viewer.count("a") == 7 && viewer.count("new") == 2
    })
    .await;
    for id in ["a", "new"] {
        let frame = &run.viewer.last_frames[id];
        assert!(
            frame.arrived.is_some() && frame.origin == Origin::Log,
            "{id}"
        );
    }
    assert!(base.socket().exists(), "left alone");
    // Its owner dies without removing it.
    drop(foreign);
    run.until("the socket", |viewer| viewer.mode() == Some(Mode::Socket))
        .await;
    let mut recorder = base.connect();
    recorder.write_all(lines("a", 8..=9).as_bytes()).unwrap();
    run.until("live", |viewer| viewer.count("a") == 9).await;
    let (status, _) = run.stop().await;
    assert_eq!(status, HubStatus::Listening);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_not_ours_is_not_touched() {
    let base = Base::new();
    std::fs::write(base.socket(), "a file").unwrap();
    let mut run = base.hub(None);
    run.until("a state", Viewer::is_live).await;
    let (status, _) = run.stop().await;
    assert!(matches!(status, HubStatus::Following(why) if why.contains("not a socket")));
    assert_eq!(std::fs::read(base.socket()).unwrap(), b"a file");

    std::fs::remove_file(base.socket()).unwrap();
    let mut run = base.hub(None);
    run.until("the socket", |viewer| viewer.mode() == Some(Mode::Socket))
        .await;
    std::fs::remove_file(base.socket()).unwrap();
    let other = UnixListener::bind(base.socket()).unwrap();
    let (_, _) = run.stop().await;
    assert!(
        base.socket().metadata().unwrap().file_type().is_socket(),
        "another's"
    );
    drop(other);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stale_socket_goes_with_the_note_beside_it() {
    let base = Base::new();
    drop(UnixListener::bind(base.socket()).unwrap());
    let note = base.dir.path().join("hub.owner");
    std::fs::write(&note, "remote-viewer").unwrap();
    let mut run = base.hub(None);
    run.until("the socket", |viewer| viewer.mode() == Some(Mode::Socket))
        .await;
    assert!(!note.exists());
    base.connect();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn logs_that_shrink_are_replaced_or_go_lose_and_repeat_nothing() {
    let base = Base::new();
    base.append("a", &lines("a", 1..=10));
    base.append("b", &lines("b", 1..=10));
    base.append("c", &lines("c", 1..=2));
    let mut run = base.hub(None);
    run.until("history", |viewer| {
        viewer.order.len() == 3 && viewer.is_live()
    })
    .await;
    // Copied back shorter, then grown; and another file under the name.
    std::fs::write(base.log("a"), lines("a", 1..=4)).unwrap();
    let other = base.sessions().join("other");
    std::fs::write(&other, lines("b", 1..=12)).unwrap();
    std::fs::rename(&other, base.log("b")).unwrap();
    std::fs::remove_file(base.log("c")).unwrap();
    run.until("the replaced one", |viewer| viewer.count("b") == 12)
        .await;
    let removed = |viewer: &Viewer| {
        let mut events = viewer.events.iter();
        events.any(|event| matches!(event, FeedEvent::LogRemoved { key } if &*key.id == "c"))
    };
    run.until("the removed one", removed).await;
    assert_eq!(run.viewer.liveness("c"), Some(Liveness::EndedWithoutRecord));
    base.append("a", &lines("a", 5..=11));
    run.until("the shrunk one", |viewer| viewer.count("a") == 11)
        .await;
    base.append("c", &lines("c", 1..=3));
    run.until("a log that is back", |viewer| viewer.count("c") == 3)
        .await;
    for (id, last) in [("a", 11), ("b", 12), ("c", 3)] {
        run.viewer.assert_whole(id, last);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_whose_log_was_removed_is_not_called_recording() {
    let base = Base::new();
    // Of an older recorder, so that only its last change says that somebody writes it.
    let old = |id: &str| lines(id, 1..=3).replace(",\"format\":7", "");
    base.append("file", &old("file"));
    base.append("live", &old("live"));
    let mut run = base.hub(None);
    run.until("history", |viewer| {
        viewer.order.len() == 2 && viewer.is_live()
    })
    .await;
    let mut recorder = base.connect();
    recorder.write_all(line("live", 4).as_bytes()).unwrap();
    run.until("a live frame", |viewer| viewer.count("live") == 4)
        .await;
    for id in ["file", "live"] {
        assert_eq!(run.viewer.liveness(id), Some(Liveness::Recording), "{id}");
        std::fs::remove_file(base.log(id)).unwrap();
    }
    let removed = |viewer: &Viewer| {
        let events = viewer.events.iter();
        let removed = events.filter(|event| matches!(event, FeedEvent::LogRemoved { .. }));
        removed.count() == 2
    };
    run.until("the removal", removed).await;
    assert_eq!(run.viewer.liveness("file"), Some(Liveness::Unknown));
    assert_eq!(run.viewer.liveness("live"), Some(Liveness::Recording));
    drop(recorder);
    run.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_directory_that_is_missing_is_made_and_one_that_cannot_be_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let mut run = Run::start(StateDir::at(dir.path().join("deep/er")), Some(100));
    run.until("a state", Viewer::is_live).await;
    run.stop().await;
    assert!(dir.path().join("deep/er/sessions").is_dir());
    std::fs::write(dir.path().join("file"), "").unwrap();
    let mut run = Run::start(StateDir::at(dir.path().join("file/state")), Some(100));
    let result = run.tasks.join_next().await.unwrap().unwrap();
    assert!(matches!(result, Err(Error::StateDir { .. })), "{result:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_hubs_the_second_follows_and_takes_over() {
    let base = Base::new();
    let recorder = Recorder::start(base.log("a"), base.socket(), "a");
    let mut first = base.hub(None);
    first
        .until("the socket", |viewer| viewer.mode() == Some(Mode::Socket))
        .await;
    let mut second = base.hub(None);
    recorder.write(5_000);
    first
        .until("all at the first", |viewer| viewer.count("a") == 5_000)
        .await;
    second
        .until("all at the second", |viewer| viewer.count("a") == 5_000)
        .await;
    assert!(matches!(second.viewer.mode(), Some(Mode::Log { .. })));
    first.stop().await;
    recorder.write(5_000);
    second
        .until("the rest", |viewer| viewer.count("a") == 10_000)
        .await;
    second
        .until("the socket", |viewer| viewer.mode() == Some(Mode::Socket))
        .await;
    recorder.write(1_000);
    second
        .until("more", |viewer| viewer.count("a") == 11_000)
        .await;
    let last = &second.viewer.last_frames["a"];
    assert!(last.arrived.is_some());
    second.viewer.assert_whole("a", 11_000);
    recorder.end();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn five_hubs_in_turn_each_deliver_every_frame_of_a_lossy_stream_once() {
    let base = Base::new();
    let recorder = Recorder::start(base.log("a"), base.socket(), "a");
    for turn in 1..=5_usize {
        let mut run = base.hub(None);
        run.until("the socket", |viewer| viewer.mode() == Some(Mode::Socket))
            .await;
        recorder.write(9_000);
        // Stopped in the middle of the stream, but for the last one.
        let enough = if turn == 5 {
            45_000
        } else {
            turn * 9_000 - 4_000
        };
        run.until("frames", |viewer| viewer.count("a") >= enough)
            .await;
        if turn == 5 {
            recorder.write(5_000);
            run.until("the last", |viewer| viewer.count("a") == 50_000)
                .await;
            run.viewer.assert_whole("a", 50_000);
        }
        let (_, viewer) = run.stop().await;
        assert_eq!(viewer.lost("a"), 0);
    }
    recorder.end();
}

/// A recorder: its log is whole, its live queue is short and drops the oldest.
struct Recorder {
    orders: std::sync::mpsc::SyncSender<u64>,
    thread: std::thread::JoinHandle<()>,
}

impl Recorder {
    fn start(log: PathBuf, socket: PathBuf, id: &str) -> Self {
        let (orders, ordered) = std::sync::mpsc::sync_channel(16);
        let id: Arc<str> = id.into();
        let thread = std::thread::spawn(move || record(&log, &socket, &id, &ordered));
        Self { orders, thread }
    }

    fn write(&self, frames: u64) {
        self.orders.send(frames).unwrap();
    }

    fn end(self) {
        drop(self.orders);
        self.thread.join().unwrap();
    }
}

fn record(log: &Path, socket: &Path, id: &str, orders: &std::sync::mpsc::Receiver<u64>) {
    let mut log = OpenOptions::new()
        .create(true)
        .append(true)
        .open(log)
        .unwrap();
    let mut stream: Option<UnixStream> = None;
    let mut next = 1;
    for order in orders {
        let mut left = order;
        while left > 0 {
            let count = left.min(100);
            left -= count;
            let text = lines(id, next..next + count);
            log.write_all(text.as_bytes()).unwrap();
            if stream.is_none() {
                stream = UnixStream::connect(socket).ok();
                if let Some(stream) = &mut stream {
                    stream.set_write_timeout(Some(DEADLINE)).unwrap();
                    // Lost again at once: tried again with the next batch.
                    drop(stream.write_all(line(id, 1).as_bytes()));
                }
            }
            // The live queue was full now and then: these batches are only in the log.
            let is_dropped = (next / 100) % 7 == 3;
            next += count;
            if let Some(open) = stream.as_mut().filter(|_| !is_dropped)
                && open.write_all(text.as_bytes()).is_err()
            {
                stream = None;
            }
        }
    }
}
