//! The merge under scripted and random orders of events.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use bytes::Bytes;
use proptest::prelude::*;

use super::{
    event::Origin,
    limits::MergeLimits,
    merge::{LogState, Merge, MergeEvent, Offered},
};
use crate::{
    base::Timestamp,
    record::{Direction, Envelope, HostName, Line, Payload, Place, Seq, SessionKey, Transport},
};

pub(super) fn key(id: &str) -> SessionKey {
    SessionKey {
        host: HostName::local(),
        id: id.into(),
    }
}

/// A frame of session `id` whose time stamp is `ts` milliseconds.
pub(super) fn line(id: &str, seq: u64, ts: i64, text: &str) -> Line {
    let envelope = Envelope {
        session_id: id.into(),
        server_label: "s".into(),
        seq: Seq(seq),
        ts: Some(Timestamp::from_nanos(ts * 1_000_000)),
        direction: Direction::Stderr,
        transport: Transport::Stdio,
        payload: Payload::Text(Bytes::copy_from_slice(text.as_bytes())),
        batch: false,
        batch_index: 0,
        batch_size: 0,
        truncated: false,
        redacted: text == "[REDACTED]",
        wire_bytes: None,
        raw_newlines: false,
        text_bytes: None,
        peek: None,
        http: None,
    };
    let bytes = Bytes::from(format!("{id} {seq} {ts} {text}"));
    Line { bytes, envelope }
}

fn place(offset: u64) -> Place {
    Place {
        log: Arc::new("/log".into()),
        offset,
        length: 1,
    }
}

/// A merge with a clock in milliseconds and a readable record of what it said.
struct Stand {
    merge: Merge,
    now: i64,
    said: Vec<String>,
}

impl Stand {
    fn new(limits: MergeLimits) -> Self {
        Self {
            merge: Merge::new(limits),
            now: 0,
            said: Vec::new(),
        }
    }

    fn at(&self) -> Timestamp {
        Timestamp::from_nanos(self.now * 1_000_000)
    }

    fn note(&mut self, events: Vec<MergeEvent>) {
        let words = events.into_iter().map(|event| match event {
            MergeEvent::Frame(frame) => {
                let live = if frame.arrived.is_some() { "~" } else { "" };
                let run = frame.key.id.strip_prefix("a").unwrap_or(&frame.key.id);
                format!("{live}{}{run}", frame.line.envelope.seq)
            }
            MergeEvent::NeedLog(key) => format!("log?{}", key.id.trim_start_matches('a')),
            MergeEvent::Pending { pending: true, .. } => "pending".to_owned(),
            MergeEvent::Pending { .. } => "known".to_owned(),
            MergeEvent::Gap { from, to, .. } => format!("gap:{from}-{to}"),
            MergeEvent::GapFilled { from, .. } => format!("late:{from}"),
            MergeEvent::Conflict { seq, .. } => format!("conflict:{seq}"),
        });
        self.said.extend(words);
    }

    /// Script words: `l5` and `s5` are frame 5 from log and socket; `reading`, `read`, `ended`,
    /// `absent`; `+50` lets 50 ms pass; `down` cuts the link.
    fn run(&mut self, script: &str) -> String {
        self.said.clear();
        for word in script.split_whitespace() {
            self.step(word);
        }
        self.said.join(" ")
    }

    fn step(&mut self, word: &str) {
        let mut out = Vec::new();
        let session = key("a");
        let state = match word {
            "reading" => Some(LogState::Reading),
            "read" => Some(LogState::ReadToEnd),
            "ended" => Some(LogState::Ended),
            "absent" => Some(LogState::Absent),
            _ => None,
        };
        if let Some(state) = state {
            self.merge.log_state(&session, state, self.at(), &mut out);
        } else if word == "down" {
            self.merge.host_down(self.at(), &mut out);
        } else if let Some(pause) = word.strip_prefix('+') {
            self.pass(pause.parse().unwrap(), &mut out);
        } else {
            self.frame(word, &mut out);
        }
        self.note(out);
    }

    /// Time passes; the merge is called when it asked for it and not otherwise.
    fn pass(&mut self, pause: i64, out: &mut Vec<MergeEvent>) {
        let until = self.now + pause;
        let mut turns = 0;
        while let Some(due) = self.merge.deadline() {
            let due = due.as_nanos() / 1_000_000;
            if due > until {
                break;
            }
            self.now = self.now.max(due);
            self.merge.tick(self.at(), out);
            turns += 1;
            assert!(turns < 100, "the deadline does not move");
        }
        self.now = until;
    }

    fn frame(&mut self, word: &str, out: &mut Vec<MergeEvent>) {
        let (origin, rest) = match word.split_at(1) {
            ("l", rest) => (Origin::Log, rest),
            ("s", rest) => (Origin::Socket, rest),
            other => panic!("{other:?}"),
        };
        // `5@7` has time stamp 7, `1#2` is a line of the second run, `5!x` has text x.
        let (rest, text) = rest.split_once('!').unwrap_or((rest, ""));
        let (rest, run) = rest.split_once('#').unwrap_or((rest, ""));
        let (seq, ts) = rest.split_once('@').unwrap_or((rest, rest));
        let id = if run.is_empty() {
            "a".to_owned()
        } else {
            format!("a#{run}")
        };
        let seq: u64 = seq.parse().unwrap();
        let line = line(&id, seq, ts.parse().unwrap(), text);
        let place = (origin == Origin::Log).then(|| place(seq));
        self.merge
            .offer(&key(&id), line, place, origin, self.at(), out);
    }
}

fn check(limits: MergeLimits, cases: &[(&str, &str, &str)]) {
    for (name, script, expected) in cases {
        assert_eq!(
            Stand::new(limits).run(script),
            *expected,
            "{name}: {script}"
        );
    }
}

#[test]
fn the_hub_fills_holes_from_the_log_before_it_calls_them_lost() {
    check(
        MergeLimits::hub(),
        &[
            ("in order", "s1 s2 s3 s2", "~1 ~2 ~3"),
            ("a repeat of the start record", "s1 s2 s1 s3", "~1 ~2 ~3"),
            (
                "filled at once",
                "s1 s4 reading l1 l2 l3 read",
                "~1 pending log? 2 3 ~4 known",
            ),
            (
                "filled at the third look",
                "s1 s3 read +50 read +150 reading l1 l2 l3 read",
                "~1 pending log? log? log? ~2 ~3 known",
            ),
            (
                "held frames go after 250 ms, the hole is lost after the last look",
                "s1 s3 read +50 read +150 read +49 +1 s4 +250 read +500 reading read",
                "~1 pending log? log? log? ~3 ~4 log? log? gap:2-2 known",
            ),
            (
                "no look, no loss",
                "s1 s3 read +50 read +150 read +5000",
                "~1 pending log? log? log? ~3 log?",
            ),
            (
                "a frame after the loss takes its place",
                "reading l1 l3 ended s2",
                "pending 1 3 gap:2-2 known late:2 ~2",
            ),
            (
                "late but not lost yet",
                "s1 s3 absent +50 absent +150 absent +50 s2 +5000",
                "~1 pending log? log? log? ~3 late:2 ~2 known",
            ),
        ],
    );
}

#[test]
fn history_goes_straight_through_and_live_frames_wait_for_it() {
    check(
        MergeLimits::hub(),
        &[
            (
                "live frames wait",
                "reading s3 s4 l1 l2 l3 read s5",
                "pending 1 2 ~3 ~4 known ~5",
            ),
            (
                "a log that lies behind",
                "reading s4 l1 l2 read reading l3 read",
                "pending 1 2 ~3 ~4 known",
            ),
            (
                "crosswise lines of old writers",
                "reading l1 l3 l2 l6 l5 l4 ended",
                "pending 1 2 3 4 5 6 known",
            ),
            (
                "a hole in a log that ended",
                "reading l2 l3 l6 ended +5000",
                "pending 2 3 6 gap:1-1 gap:4-5 known",
            ),
            (
                "a hole in a growing log is looked for",
                "reading l1 l3 read +50 read +150 read +300 read +500 read",
                "pending 1 3 log? log? log? log? gap:2-2 known",
            ),
            (
                "what a log gains is live",
                "reading l1 read reading l2 read",
                "pending 1 known ~2",
            ),
        ],
    );
}

#[test]
fn a_late_joiner_without_a_log_misses_no_head() {
    let looks = "absent +50 absent +150 absent +50 +250 absent +500 absent";
    let said = |rest: &str| format!("pending log? log? log? {rest} log? log? known");
    for (script, delivered) in [("s5 s6", "~5 ~6"), ("s5", "~5")] {
        let mut stand = Stand::new(MergeLimits::hub());
        assert_eq!(stand.run(&format!("{script} {looks}")), said(delivered));
    }
    let mut stand = Stand::new(MergeLimits::hub());
    assert_eq!(
        stand.run(&format!("s1 s5 {looks}")),
        format!("~1 {}", said("~5"))
    );
    assert_eq!(
        stand.run(&format!("s7 {looks}")),
        "pending log? log? log? ~7 log? log? gap:6-6 known"
    );
    assert_eq!(
        stand.run("reading l1 l2 l5 l6 l7 read"),
        "pending late:2 2 late:6 6 gap:3-4 known",
        "its log appears after all, and lacks something"
    );
}

#[test]
fn two_contents_of_one_number_are_a_conflict_only_while_both_are_at_hand() {
    let cases = [
        ("s2@5!A l2@3!B", "2!B"),
        ("s2@3!A l2@5!B", "2!A"),
        ("s2@3!A l2@5![REDACTED]", "2![REDACTED]"),
        ("s2@3!A l2@3!A", "2!A"),
    ];
    for (script, expected) in cases {
        let mut stand = Stand::new(MergeLimits::hub());
        stand.run("reading");
        let mut out = Vec::new();
        for word in script.split_whitespace() {
            stand.frame(word, &mut out);
        }
        stand.frame("l1", &mut out);
        let kept: Vec<String> = out
            .iter()
            .filter_map(|event| match event {
                MergeEvent::Frame(frame) if frame.line.envelope.seq == Seq(2) => {
                    let Payload::Text(text) = &frame.line.envelope.payload else {
                        panic!("no text");
                    };
                    assert!(frame.arrived.is_some() && frame.origin == Origin::Socket);
                    Some(format!("2!{}", String::from_utf8_lossy(text)))
                }
                _ => None,
            })
            .collect();
        assert_eq!(kept, [expected], "{script}");
        let conflicts = u64::from(!script.ends_with("l2@3!A"));
        assert_eq!(stand.merge.conflicts(), conflicts, "{script}");
        assert_eq!(stand.merge.duplicates(), 1, "{script}");
    }
    let mut stand = Stand::new(MergeLimits::hub());
    assert_eq!(stand.run("s1 s2@1!A s2@9!B"), "~1 ~2");
    assert_eq!(stand.merge.conflicts(), 0, "the first is gone");
}

#[test]
fn live_frames_go_to_the_newest_run_of_their_id() {
    check(
        MergeLimits::hub(),
        &[
            (
                "the log has two runs",
                "reading l1@1 l2 l1@9#2 read s2 s3",
                "pending 1 2 1#2 known ~2#2 ~3#2",
            ),
            (
                "a new run shows first in the socket",
                "reading l1@1 l2 read s1@9 s2 s1@9",
                "pending 1 2 known ~1#2 ~2#2",
            ),
            (
                "the new run is held while the log is read",
                "reading s1@9 s2@10 s3@11 l1@1 l2@2 l1@9#2 l2@10#2 read",
                "pending 1 pending 2 ~1#2 ~2#2 known ~3#2 known",
            ),
        ],
    );
}

#[test]
fn a_remote_host_looks_twice_and_waits_for_its_round_trip() {
    let limits = MergeLimits::remote(Duration::from_millis(100));
    check(
        limits,
        &[
            (
                "one more look",
                "reading l1 read s3 reading read +1199 +1 reading l2 read s4",
                "pending 1 known pending log? log? ~2 ~3 known ~4",
            ),
            (
                "lost after it",
                "reading l1 read s3 reading read +1200 reading read",
                "pending 1 known pending log? log? ~3 gap:2-2 known",
            ),
            (
                "nothing is lost while the link is down",
                "reading l1 read s3 reading read down +9000 s4 reading l2 l3 read",
                "pending 1 known pending log? 2 ~3 ~4 known",
            ),
        ],
    );
}

#[test]
fn above_its_limits_a_remote_session_goes_on_from_its_log_alone() {
    let limits = MergeLimits {
        frames_per_session: 3,
        ..MergeLimits::remote(Duration::ZERO)
    };
    check(
        limits,
        &[(
            "four held frames",
            "s1 s3 s4 s5 s6 s7 reading l2 l3 l4 l5 l6 l7 read s8",
            "~1 pending log? 2 3 4 5 6 7 known ~8",
        )],
    );
    let limits = MergeLimits {
        bytes_in_all: 39,
        ..MergeLimits::remote(Duration::ZERO)
    };
    let mut merge = Merge::new(limits);
    let mut out = Vec::new();
    let mut offer = |id: &str, text: &str| {
        let line = line(id, 5, 1, text);
        let now = Timestamp::from_nanos(0);
        merge.offer(&key(id), line, None, Origin::Socket, now, &mut out)
    };
    assert_eq!(offer("b", &"x".repeat(20)), Offered::Held);
    assert_eq!(offer("c", "x"), Offered::Held);
    assert_eq!(offer("d", "x"), Offered::Held, "b's frame makes room");
    assert_eq!(merge.held_bytes(), 2 * "c 5 1 x".len());
}

#[test]
fn a_full_hub_session_stops_its_connection_only_while_its_log_is_read() {
    let limits = MergeLimits {
        frames_per_session: 2,
        ..MergeLimits::hub()
    };
    let mut stand = Stand::new(limits);
    assert_eq!(stand.run("reading s3 s4 s5"), "pending");
    assert!(stand.merge.is_full(&key("a")));
    assert_eq!(stand.run("l1 l2 read"), "1 2 ~3 ~4 ~5 known");
    assert!(!stand.merge.is_full(&key("a")));
    assert_eq!(stand.run("s7 s8 s9"), "pending log? ~7 ~8 ~9");
}

#[test]
fn forgotten_sessions_keep_their_marks() {
    let limits = MergeLimits {
        sessions: 8,
        ..MergeLimits::hub()
    };
    let mut merge = Merge::new(limits);
    let mut out = Vec::new();
    let mut delivered = 0;
    for round in 0..2 {
        for session in 0..100_i64 {
            let id = format!("s{session}");
            let now = Timestamp::from_nanos(session + round * 1_000);
            for seq in 1..=3 {
                let line = line(&id, seq, 1, "");
                let place = Some(place(seq));
                merge.offer(&key(&id), line, place, Origin::Log, now, &mut out);
            }
            merge.log_state(&key(&id), LogState::ReadToEnd, now, &mut out);
            assert!(merge.sessions_in_full() <= 8);
        }
        delivered = out
            .iter()
            .filter(|event| matches!(event, MergeEvent::Frame(_)))
            .count();
        assert_eq!(delivered, 300);
    }
    assert_eq!(delivered as u64, merge.duplicates());
}

#[test]
fn a_crowd_of_sessions_that_are_needed_is_not_looked_through_for_each_and_leaves_again() {
    let mut merge = Merge::new(MergeLimits::hub());
    let mut out = Vec::new();
    let begun = std::time::Instant::now();
    let ids: Vec<SessionKey> = (0..20_000).map(|at| key(&format!("s{at}"))).collect();
    let now = Timestamp::from_nanos;
    for (at, id) in (0..).zip(&ids) {
        merge.log_state(id, LogState::Reading, now(at), &mut out);
    }
    assert_eq!(merge.sessions_in_full(), 20_000);
    for (at, id) in (0..).zip(&ids) {
        merge.log_state(id, LogState::Ended, now(at), &mut out);
    }
    for at in 0..20_000 {
        merge.log_state(&key(&format!("t{at}")), LogState::Ended, now(at), &mut out);
    }
    assert!(merge.sessions_in_full() <= 1_000);
    // Some ten times more than it takes; a look at all for each took minutes.
    assert!(begun.elapsed().as_secs() < 10);
}

/// What may happen to one session.
#[derive(Clone, Debug)]
enum Happening {
    /// The recorder writes so many frames to its log (and queues them for the socket).
    Writes(u64),
    /// The socket brings the next frames; the queue dropped so many before them.
    Live {
        dropped: u64,
        count: u64,
    },
    /// The socket brings an older frame again.
    Repeat(u64),
    /// The socket brings the next two in the wrong order.
    Crosswise,
    /// The owner begins a reading, or goes on with one by so many lines, or ends it.
    Read(usize),
    EndRead,
    /// The log is read from its start again.
    StartOver,
    Pass(i64),
    Down,
}

fn happening() -> impl Strategy<Value = Happening> {
    prop_oneof![
        (1_u64..6).prop_map(Happening::Writes),
        (0_u64..4, 1_u64..6).prop_map(|(dropped, count)| Happening::Live { dropped, count }),
        (1_u64..40).prop_map(Happening::Repeat),
        Just(Happening::Crosswise),
        (0_usize..9).prop_map(Happening::Read),
        Just(Happening::EndRead),
        Just(Happening::StartOver),
        (1_i64..400).prop_map(Happening::Pass),
        Just(Happening::Down),
    ]
}

/// A recorder, its log, its socket, and an owner that reads when it is told to.
struct World {
    stand: Stand,
    /// Numbers that the log never gets.
    unlogged: BTreeSet<u64>,
    /// Numbers that only lie in the log (`dropped` by the queue) are those the socket skips.
    log: Vec<u64>,
    written: u64,
    live: u64,
    came_live: BTreeSet<u64>,
    /// Lines read, and the end of the reading that is under way.
    read: usize,
    reading: Option<usize>,
    /// Everything up to here was in the log when a reading of it ended.
    read_to_end: usize,
    delivered: Vec<u64>,
    late: BTreeSet<u64>,
    lost: BTreeSet<u64>,
    pending: bool,
    wanted: bool,
}

impl World {
    fn new(limits: MergeLimits, unlogged: BTreeSet<u64>) -> Self {
        Self {
            stand: Stand::new(limits),
            unlogged,
            log: Vec::new(),
            written: 0,
            live: 0,
            came_live: BTreeSet::new(),
            read: 0,
            reading: None,
            read_to_end: 0,
            delivered: Vec::new(),
            late: BTreeSet::new(),
            lost: BTreeSet::new(),
            pending: false,
            wanted: false,
        }
    }

    fn happens(&mut self, happening: &Happening) {
        let mut out = Vec::new();
        match happening {
            Happening::Writes(count) => self.write(*count),
            Happening::Live { dropped, count } => {
                self.live = (self.live + dropped).min(self.written);
                for _ in 0..*count {
                    self.socket_next(&mut out);
                }
            }
            Happening::Repeat(seq) if self.came_live.contains(seq) => {
                self.offer(*seq, Origin::Socket, &mut out);
            }
            Happening::Crosswise if self.written >= self.live + 2 => {
                let next = self.live;
                self.live += 2;
                self.offer(next + 2, Origin::Socket, &mut out);
                self.offer(next + 1, Origin::Socket, &mut out);
            }
            Happening::Read(lines) => self.read(*lines, &mut out),
            Happening::EndRead => self.end_read(LogState::ReadToEnd, &mut out),
            Happening::StartOver if self.reading.is_none() => self.read = 0,
            Happening::Repeat(_) | Happening::Crosswise | Happening::StartOver => {}
            Happening::Pass(pause) => self.stand.pass(*pause, &mut out),
            Happening::Down => {
                self.reading = None;
                self.stand.merge.host_down(self.stand.at(), &mut out);
            }
        }
        self.judge(out);
    }

    fn write(&mut self, count: u64) {
        for _ in 0..count {
            self.written += 1;
            if !self.unlogged.contains(&self.written) {
                self.log.push(self.written);
            }
        }
    }

    fn socket_next(&mut self, out: &mut Vec<MergeEvent>) {
        if self.live < self.written {
            self.live += 1;
            self.offer(self.live, Origin::Socket, out);
        }
    }

    fn offer(&mut self, seq: u64, origin: Origin, out: &mut Vec<MergeEvent>) {
        if origin == Origin::Socket {
            self.came_live.insert(seq);
        }
        let now = self.stand.at();
        let line = line("a", seq, 1, "");
        let place = (origin == Origin::Log).then(|| place(seq));
        let merge = &mut self.stand.merge;
        merge.offer(&key("a"), line, place, origin, now, out);
    }

    fn state(&mut self, state: LogState, out: &mut Vec<MergeEvent>) {
        let now = self.stand.at();
        self.stand.merge.log_state(&key("a"), state, now, out);
    }

    fn read(&mut self, lines: usize, out: &mut Vec<MergeEvent>) {
        if self.reading.is_none() {
            self.wanted = false;
            self.reading = Some(self.log.len());
            self.state(LogState::Reading, out);
        }
        let end = self.reading.unwrap_or(0).min(self.read + lines);
        while self.read < end {
            self.offer(self.log[self.read], Origin::Log, out);
            self.read += 1;
        }
    }

    fn end_read(&mut self, state: LogState, out: &mut Vec<MergeEvent>) {
        let Some(end) = self.reading else { return };
        self.read(end, out);
        self.reading = None;
        self.read_to_end = self.read_to_end.max(end);
        self.state(state, out);
    }

    /// Every rule that holds at every moment.
    fn judge(&mut self, out: Vec<MergeEvent>) {
        for event in out {
            match event {
                MergeEvent::Frame(frame) => {
                    let seq = frame.line.envelope.seq.0;
                    assert!(!self.delivered.contains(&seq), "{seq} twice");
                    let highest = self.delivered.iter().max().copied().unwrap_or(0);
                    assert!(
                        seq > highest || self.late.remove(&seq),
                        "{seq} out of order"
                    );
                    self.delivered.push(seq);
                    self.lost.remove(&seq);
                }
                MergeEvent::GapFilled { from, to, .. } => self.late.extend(from.0..=to.0),
                MergeEvent::Gap { from, to, .. } => {
                    for seq in from.0..=to.0 {
                        assert!(!self.delivered.contains(&seq), "{seq} is here");
                        let known = &self.log[..self.read_to_end];
                        assert!(!known.contains(&seq), "{seq} lies in the log");
                        assert!(self.lost.insert(seq), "{seq} lost twice");
                    }
                }
                MergeEvent::Pending { pending, .. } => self.pending = pending,
                MergeEvent::NeedLog(_) => self.wanted = true,
                MergeEvent::Conflict { seq, .. } => panic!("conflict at {seq}"),
            }
        }
        let highest = self.delivered.iter().max().copied().unwrap_or(0);
        let told = (self.delivered.len() + self.lost.len()) as u64;
        assert!(
            self.pending || highest == told,
            "unseen, not lost, not pending"
        );
    }

    /// The recorder ends and its log is read to the end.
    fn end(&mut self) {
        let mut out = Vec::new();
        self.end_read(LogState::ReadToEnd, &mut out);
        self.read(0, &mut out);
        self.end_read(LogState::Ended, &mut out);
        self.judge(out);
        let all: BTreeSet<u64> = self
            .log
            .iter()
            .copied()
            .chain(self.came_live.clone())
            .collect();
        let delivered: BTreeSet<u64> = self.delivered.iter().copied().collect();
        assert_eq!(delivered, all);
        let highest = all.last().copied().unwrap_or(0);
        let lost: BTreeSet<u64> = (1..=highest).filter(|seq| !all.contains(seq)).collect();
        assert_eq!(self.lost, lost);
        assert!(!self.pending && self.stand.merge.deadline().is_none());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_order_of_events_delivers_each_frame_once_and_accuses_nobody(
        happenings in proptest::collection::vec(happening(), 0..60),
        unlogged in proptest::collection::btree_set(1_u64..40, 0..6),
        remote in any::<bool>(),
        small in any::<bool>(),
    ) {
        let mut limits = if remote {
            MergeLimits::remote(Duration::from_millis(40))
        } else {
            MergeLimits::hub()
        };
        // A remote merge drops live frames at its limits, which only the log brings back.
        let mut unlogged = unlogged;
        if small {
            limits.frames_per_session = 3;
            if remote {
                unlogged.clear();
            }
        }
        let mut world = World::new(limits, unlogged);
        for happening in &happenings {
            world.happens(happening);
        }
        world.end();
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_log_alone_is_whole_in_any_order(order in Just((1_u64..=600).collect::<Vec<_>>()).prop_shuffle()) {
        let mut world = World::new(MergeLimits::hub(), BTreeSet::new());
        world.written = 600;
        world.log = order;
        world.end();
    }
}
