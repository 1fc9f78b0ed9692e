//! Session-model.md 2: its tables as tests.

use super::*;
use crate::record::{Envelope, Seq};

pub(super) const ROWS: &[(&str, usize)] = &[
    ("2.1", SAME.len() + CONFLICTS.len() + 1),
    ("2.3", GAPS.len() + LIVE.len()),
];

/// Frames in order of arrival, and a session that they must equal.
const SAME: &[(&str, &str)] = &[
    ("#1 > N a, #1 > N a", "#1 > N a"),
    // Disk, then socket; socket, then disk.
    (
        "#1 > Q1 a, #2 < R1 {}, #3 > Q2 b, #2 < R1 {}, #3 > Q2 b, #4 > N c, #5 < R2 {}",
        "#1 > Q1 a, #2 < R1 {}, #3 > Q2 b, #4 > N c, #5 < R2 {}",
    ),
    (
        "#4 > N c, #5 < R2 {}, #1 > Q1 a, #2 < R1 {}, #3 > Q2 b, #4 > N c, #5 < R2 {}",
        "#1 > Q1 a, #2 < R1 {}, #3 > Q2 b, #4 > N c, #5 < R2 {}",
    ),
];

/// Two contents of one number, and the method of the one that is kept.
const CONFLICTS: &[(&str, &str, &str)] = &[
    ("#1 @5 > N a", "#1 @3 > N b", "b"),
    ("#1 @3 > N a", "#1 @5 > N b [red]", "b"),
];

/// Numbers in order of arrival, and what is missing.
const GAPS: &[(&str, &str)] = &[
    ("#1 > N a, #2 > N b, #5 > N c", "| missing=2 !"),
    (
        "#1 > N a, #2 > N b, #5 > N c, #4 > N d",
        "| missing=1 frames=4 !",
    ),
    (
        "#1 > N a, #2 > N b, #5 > N c, #4 > N d, #3 > N e, #3 > N e",
        "| missing=0 frames=5 !",
    ),
    ("#3 > N a, #4 > N b", "| missing=2 not_loaded=0 !"),
    (
        "#1 > N a, #2 > N b, #6 end{dropped:3}",
        "| missing=3 dropped=3 frames=2 !",
    ),
    ("#2 > N a, #1 > N b, #4 > N c, #3 > N d", "| missing=0 !"),
];

/// The same while history is loading.
const LIVE: &[(&str, &str)] = &[("#3 > N a, #4 > N b", "| missing=0 not_loaded=2 !")];

#[test]
fn equal_frames_are_one_from_whatever_source_2_1() {
    for (arrived, whole) in SAME {
        let of = |text: &str| {
            fold(text, Limits::NONE, |session| {
                assert_eq!(session.counters().conflicts, 0);
                let calls: Vec<_> = session.calls().map(|call| format!("{call:?}")).collect();
                (session.row_count(), calls, remarks_of(session))
            })
        };
        assert_eq!(of(arrived), of(whole), "{arrived}");
    }
}

#[test]
fn one_number_of_two_sessions_is_two_frames_2_1() {
    let mut model = Model::new(Limits::NONE);
    let frame = script::session("#1 > N a").unwrap().remove(0);
    let other = SessionKey {
        id: Arc::from("t"),
        ..key()
    };
    for key in [&key(), &other] {
        model.ingest(key, &frame, None, None, &mut Vec::new());
    }
    let counts: Vec<_> = model.sessions().map(Session::row_count).collect();
    assert_eq!(counts, [1, 1]);
    assert!(model.sessions().all(|session| session.remarks().is_empty()));
}

#[test]
fn gaps_2_3() {
    for (text, expected) in GAPS {
        check(text, expected);
    }
    for (text, expected) in LIVE {
        let mut model = Model::new(Limits::NONE);
        for envelope in script::session(text).unwrap() {
            model.ingest(&key(), &envelope, None, None, &mut Vec::new());
        }
        model.set_loading(&key(), true);
        check_session(text, model.session(&key()).unwrap(), expected);
    }
}

#[test]
fn two_contents_of_one_number_leave_one_that_order_does_not_choose_2_1() {
    let more = [("#1 @3 > N a", "#1 @3 > Q1 b", "?")];
    for (one, other, winner) in CONFLICTS.iter().chain(&more) {
        let method = |text: &str| {
            fold(text, Limits::NONE, |session| {
                assert_eq!(session.counters().conflicts, 1, "{text}");
                assert_eq!(session.row_count(), 1);
                assert_eq!(remarks_of(session), ["seq-conflict"], "{text}");
                check_sums(session);
                session.row(0).unwrap().method.unwrap().to_owned()
            })
        };
        let forth = method(&format!("{one}\n{other}\n{other}"));
        let back = method(&format!("{other}\n{one}\n{one}"));
        assert_eq!(forth, back);
        assert!(*winner == "?" || *winner == forth);
    }
}

#[test]
fn a_better_copy_of_a_frame_that_can_be_replaced_no_more_counts_nothing() {
    let text = "#1 @3 > Q1 b, #1 @2 > Q1 a, #2 @3 stderr \"x\"";
    let limits = |body_bytes, rows| Limits { body_bytes, rows };
    for limits in [limits(Some(1), None), limits(None, Some(1))] {
        fold(text, limits, |session| {
            let counters = session.counters();
            let figures = (counters.frames, counters.requests, counters.pending);
            assert_eq!(figures, (2, 1, 1), "{limits:?}");
            assert_eq!(counters.conflicts, 1);
            check_sums(session);
        });
    }
    // A record of the recorder is one too.
    let text = "#1 @3 closed: client [x=9], #1 @2 > N a, #2 @3 stderr \"x\", #3 stderr \"x\"";
    fold(text, limits(Some(1), None), |session| {
        assert_eq!(session.counters().frames, 2);
    });
}

#[test]
fn a_conflict_is_told_once_with_its_first_number() {
    let text = "#1 > N a, #2 > N b, #2 > N c, #1 > N d, #1 > N e";
    fold(text, Limits::NONE, |session| {
        let remarks = session.remarks();
        assert_eq!(remarks.len(), 1);
        assert_eq!(remarks[0].level, Level::Observation);
        assert!(
            remarks[0].text.contains("2 numbers, the first is 1"),
            "{remarks:?}"
        );
        assert_eq!(session.row(0).unwrap().id.seq, Seq(1));
    });
}

#[test]
fn records_of_the_recorder_are_held_and_released_like_bodies() {
    let record = script::session("closed: client [x=9]").unwrap().remove(0);
    let asked = script::session("> Q1 call t, < R1 {}").unwrap();
    let with_records = |limits: Limits, late: bool| {
        let mut model = Model::new(limits);
        let mut ingest = |envelope: &Envelope, seq: u64| {
            let mut envelope = envelope.clone();
            envelope.seq = Seq(seq);
            model.ingest(&key(), &envelope, None, None, &mut Vec::new());
        };
        ingest(&asked[1], 5_000);
        for seq in 5_001..=9_000 {
            ingest(&record, seq);
        }
        // The request came later than its answer, and is sorted in as long as all is held.
        if late {
            ingest(&asked[0], 1);
        }
        model.settle(&mut Vec::new());
        model
    };
    let completed = |model: &Model| {
        let session = model.session(&key()).unwrap();
        let approximate = !session.approximate().is_empty();
        (session.counters().completed, approximate)
    };
    let mut whole = with_records(Limits::LIVE, true);
    assert_eq!(completed(&whole), (1, false));
    let charged = whole.body_bytes();
    assert!(charged > 4_000 * 100, "{charged}");
    whole.remove(&key());
    assert_eq!(whole.body_bytes(), 0);
    let short = Limits {
        body_bytes: Some(100_000),
        rows: None,
    };
    let model = with_records(short, false);
    assert!(model.body_bytes() <= 100_000, "{}", model.body_bytes());
    let model = with_records(short, true);
    assert!(model.body_bytes() <= 100_000 && completed(&model).1);
    // Whoever reads facts alone holds none of them, nor does one who dropped rows.
    assert_eq!(with_records(Limits::FACTS, false).body_bytes(), 0);
    let rows = Limits {
        body_bytes: None,
        rows: Some(1),
    };
    let mut model = with_records(rows, false);
    let mut more = asked[0].clone();
    more.seq = Seq(9_001);
    model.ingest(&key(), &more, None, None, &mut Vec::new());
    assert!(model.body_bytes() < 10_000, "{}", model.body_bytes());
}
