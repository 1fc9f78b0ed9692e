//! From slices to the lines of a log: order, numbers, losses, a panic.

use bytes::Bytes;

use super::*;
use crate::capture::{budget::Stage, handoff::Tap};

struct Run {
    handoff: Arc<HandOff>,
    dir: tempfile::TempDir,
    ending: Arc<OnceLock<Ending>>,
    notices: Arc<Notices>,
    log: Arc<LogQueue>,
}

impl Run {
    fn new() -> Self {
        let handoff = HandOff::new(16 << 20);
        Self {
            dir: tempfile::tempdir().unwrap(),
            ending: Arc::default(),
            notices: Notices::new(true).unwrap(),
            log: LogQueue::new(Arc::clone(&handoff)),
            handoff,
        }
    }

    fn tap(&self, source: Source) -> Tap {
        Tap::new(Arc::clone(&self.handoff), source)
    }

    /// Records what is queued; answers the dropped frames and the log.
    fn record(self) -> (u64, Vec<serde_json::Value>) {
        let (dropped, mut lines) = self.observed();
        lines.remove(0);
        (dropped, lines)
    }

    fn observed(self) -> (u64, Vec<serde_json::Value>) {
        let path = self.dir.path().join("log");
        let dropped = self.observe(Some(Target::File(path.clone())));
        let log = std::fs::read_to_string(path).unwrap();
        let lines = log.lines().map(|line| serde_json::from_str(line).unwrap());
        (dropped, lines.collect())
    }

    /// Records what is queued; answers the frames that the log lacks.
    fn observe(&self, target: Option<Target>) -> u64 {
        let recorder = Recorder {
            handoff: Arc::clone(&self.handoff),
            target,
            log: Arc::clone(&self.log),
            live: None,
            notices: Arc::clone(&self.notices),
            identity: Identity {
                label: Label::given("l").unwrap().unwrap(),
                session_id: "l-1".to_owned(),
                command: vec!["server".into()],
                cwd: None,
                clock: Clock::start(),
                started: Instant::now(),
            },
            ending: Arc::clone(&self.ending),
        };
        let ending = Ending {
            exit_code: Some(0),
            signal: None,
            closed_by: "client",
        };
        self.ending.set(ending).unwrap();
        self.handoff.finish();
        self.log.finish();
        observe(recorder)
    }

    /// Fills the budget while `during` runs.
    fn while_full(&self, during: impl FnOnce()) {
        self.handoff.budget.take(Stage::Encoded, 16 << 20);
        during();
        self.handoff.budget.give(Stage::Encoded, 16 << 20);
    }
}

fn give(tap: &mut Tap, text: &[u8]) {
    tap.hand_over(Instant::now(), &Bytes::copy_from_slice(text));
}

/// `SEQ DIRECTION CONTENT` of each line.
fn short(lines: &[serde_json::Value]) -> Vec<String> {
    let each = lines.iter().map(|line| {
        let content = line.get("raw").or_else(|| line.get("text"));
        let content = match content {
            Some(raw) if raw.get("event").is_some() => {
                format!("end dropped {} of {}", raw["dropped"], raw["c2s_bytes"])
            }
            Some(content) => content.to_string(),
            None => "-".to_owned(),
        };
        format!(
            "{} {} {content}",
            line["seq"],
            line["direction"].as_str().unwrap()
        )
    });
    each.collect()
}

#[test]
fn numbers_follow_the_order_of_observation() {
    let run = Run::new();
    let (mut client, mut server) = (run.tap(Source::Client), run.tap(Source::Server));
    let mut errors = run.tap(Source::Stderr);
    give(&mut client, b"{\"id\":1}\n{\"id\"");
    give(&mut server, b"{\"result\":1}\n\n");
    give(&mut errors, b"\n{}\n");
    give(&mut client, b":2}\r\n[1,\"a\"]\nx");
    client.end(Instant::now());
    let (dropped, lines) = run.record();
    let expected = [
        "2 c2s {\"id\":1}",
        "3 s2c {\"result\":1}",
        "4 stderr -",
        "5 stderr \"{}\"",
        "6 c2s {\"id\":2}",
        "7 c2s 1",
        "8 c2s \"a\"",
        "9 c2s \"x\"",
        "10 meta end dropped 0 of 28",
    ];
    assert_eq!(short(&lines), expected);
    assert_eq!(dropped, 0);
    let times: Vec<_> = lines.iter().map(|line| line["ts"].to_string()).collect();
    assert!(times.is_sorted());
}

#[test]
fn lost_lines_use_up_their_numbers() {
    let run = Run::new();
    let mut client = run.tap(Source::Client);
    give(&mut client, b"1\nopen");
    run.while_full(|| give(&mut client, b" is lost\n2\n3\n"));
    give(&mut client, b"4\n");
    let (dropped, lines) = run.record();
    assert_eq!(
        short(&lines),
        ["2 c2s 1", "6 c2s 4", "7 meta end dropped 3 of 21"]
    );
    assert_eq!(dropped, 3);
}

#[test]
fn a_line_cut_by_a_full_budget_says_so() {
    let run = Run::new();
    let mut server = run.tap(Source::Server);
    let kept = [b"{\"id\":7,\"result\":\"".as_slice(), &vec![b'x'; 70_000]].concat();
    give(&mut server, &kept);
    run.while_full(|| give(&mut server, b"xxx\"}\r\n"));
    let (dropped, lines) = run.record();
    let cut = &lines[0];
    assert_eq!(cut["truncated"], true);
    assert_eq!(cut["wire_bytes"], kept.len() + 5);
    assert_eq!(cut["text"].as_str().map(str::len), Some(kept.len()));
    assert_eq!(cut["peek"], serde_json::json!({"id": 7, "has": "result"}));
    assert_eq!(dropped, 0);
}

#[test]
fn a_pipe_that_is_left_behind_keeps_its_open_line() {
    let run = Run::new();
    let mut server = run.tap(Source::Server);
    give(&mut server, b"{\"open\":");
    let (_, lines) = run.record();
    assert_eq!(short(&lines)[0], "2 s2c \"{\\\"open\\\":\"");
}

#[test]
fn an_open_line_that_the_budget_cut_keeps_64_kib_or_is_lost() {
    for (length, kept) in [(40, false), (70_000, true)] {
        let run = Run::new();
        let mut server = run.tap(Source::Server);
        give(&mut server, &vec![b'x'; length]);
        run.while_full(|| give(&mut server, b"yyy"));
        let (dropped, lines) = run.record();
        if kept {
            assert_eq!((dropped, &lines[0]["truncated"]), (0, &true.into()));
            assert_eq!(lines[0]["wire_bytes"], length + 3);
        } else {
            assert_eq!(dropped, 1);
            assert_eq!(short(&lines), ["3 meta end dropped 1 of 0"]);
        }
    }
}

#[test]
fn where_no_log_is_none_is_incomplete() {
    let unusable = |run: &Run| Some(Target::File(run.dir.path().to_owned()));
    let none = |_: &Run| None;
    let targets: [fn(&Run) -> Option<Target>; 2] = [unusable, none];
    for target in targets {
        let run = Run::new();
        let mut client = run.tap(Source::Client);
        give(&mut client, b"1\n");
        run.while_full(|| give(&mut client, b"2\n3\n"));
        give(&mut client, b"4\n");
        assert_eq!(run.observe(target(&run)), 0);
    }
}

#[test]
fn many_frames_fill_batches_and_all_arrive() {
    let run = Run::new();
    let mut client = run.tap(Source::Client);
    let line = [b"\"".as_slice(), &vec![b'y'; 1_000], b"\"\n"].concat();
    let long = [b"\"".as_slice(), &vec![b'z'; 600_000], b"\"\n"].concat();
    for round in 0..3_000 {
        give(
            &mut client,
            if round % 1_000 == 999 { &long } else { &line },
        );
    }
    let (dropped, lines) = run.record();
    assert_eq!((dropped, lines.len()), (0, 3_001));
    let numbers = lines.iter().map(|line| line["seq"].as_u64().unwrap());
    assert!(numbers.eq(2..=3_002));
}

#[test]
fn a_panic_ends_recording_and_what_comes_is_counted() {
    let run = Run::new();
    let mut client = run.tap(Source::Client);
    give(&mut client, b"1\n2\n\n3");
    run.tap(Source::Stderr)
        .hand_over(Instant::now(), &Bytes::from_static(b"\n\n"));
    run.handoff.finish();
    let dropped = guarded(&run.handoff, &run.log, || panic!("observer"));
    assert_eq!(dropped, 5);
}
