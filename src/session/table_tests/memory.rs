//! Session-model.md 22: its tables as tests.

use super::*;
use crate::{
    record::{Envelope, Payload, Seq},
    wire::Raw,
};

/// Rows of 22.2 that are tests here: the first, the third, the fourth and the fifth; and of 22.3:
/// open calls, answered hops, findings on one frame, text on a frame.
pub(super) const ROWS: &[(&str, usize)] = &[("22.2", 4)];

#[test]
fn memory_22_2() {
    let rows = |rows| Limits {
        rows: Some(rows),
        ..Limits::NONE
    };
    let bodies = |bytes| Limits {
        body_bytes: Some(bytes),
        ..Limits::NONE
    };
    let text = "> Q1 call t, > Q2 ping, < R2 {}, @500 < R1 {isError:true}";
    fold(text, rows(2), |session| {
        let tool = &session.tools()["t"];
        assert_eq!((tool.calls, tool.tool_errors), (1, 1));
        assert_eq!(tool.durations.percentile(50), 500_000_000);
        assert_eq!(session.row_count(), 2);
        assert_eq!(
            (session.counters().pending, session.counters().errors),
            (0, 1)
        );
        assert_eq!(session.counters().dropped_from_memory, 2);
        check_sums(session);
    });
    let text = "> Q1 call b, @400 < R1 IR{k;st=S}, @5000 > Q2 retry{k;st=S}, @5100 < R2 {}";
    fold(text, bodies(1), |session| {
        check_session(text, session, "completed server=500 client=4600 hops=2");
        let bodies: Vec<_> = (0..4).map(|at| session.row(at).unwrap().body).collect();
        assert!(matches!(bodies[0], Body::Released));
        assert!(matches!(bodies[3], Body::Held { .. }));
    });
}

#[test]
fn the_newest_body_is_held_whatever_its_size() {
    let limits = Limits {
        body_bytes: Some(1 << 20),
        ..Limits::NONE
    };
    let mut model = Model::new(limits);
    let big = format!("> N x{{\"a\":\"{}\"}}", "y".repeat(10 << 20));
    let frames = script::session(&format!("{big}\n> N small")).unwrap();
    let facts = &mut Vec::new();
    model.ingest(&key(), &frames[0], None, None, facts);
    assert!(model.body_bytes() > 10 << 20);
    model.ingest(&key(), &frames[1], None, None, facts);
    assert!(model.body_bytes() < 1_000);
    let session = model.session(&key()).unwrap();
    assert!(matches!(session.row(0).unwrap().body, Body::Released));
    assert!(model.remove(&key()));
    assert_eq!(model.body_bytes(), 0);
}

#[test]
fn what_a_deleted_session_held_is_free_again() {
    let mut model = Model::new(Limits::LIVE);
    let big = format!("> N x{{\"a\":\"{}\"}}", "y".repeat(40 << 20));
    let frame = script::session(&big).unwrap().remove(0);
    model.ingest(&key(), &frame, None, None, &mut Vec::new());
    assert!(model.body_bytes() > 40 << 20);
    model.remove(&key());
    assert_eq!(model.body_bytes(), 0);
}

/// Requests of the client with the numbers from 0, and answers to some of them.
struct Traffic {
    model: Model,
    template: [Envelope; 2],
    seq: u64,
}

impl Traffic {
    fn new() -> Self {
        let frames = script::session("> Q1 x, < R1 {}").unwrap();
        let mut traffic = Self {
            model: Model::new(Limits {
                rows: Some(1_000),
                body_bytes: Some(1),
            }),
            template: frames.try_into().unwrap(),
            seq: 0,
        };
        // Both directions are numbered in one order, so that nothing is waited for.
        let meta = script::session("meta {format:7}").unwrap().remove(0);
        traffic.push(meta);
        traffic
    }

    fn push(&mut self, mut envelope: Envelope) {
        self.seq += 1;
        envelope.seq = Seq(self.seq);
        self.model
            .ingest(&key(), &envelope, None, None, &mut Vec::new());
    }

    fn send(&mut self, answer: bool, id: u64) {
        let mut envelope = self.template[usize::from(answer)].clone();
        let rest = if answer {
            "\"result\":{}"
        } else {
            "\"method\":\"x\""
        };
        let json = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},{rest}}}");
        envelope.payload = Payload::Raw(Raw::new(json.into()));
        self.push(envelope);
    }

    /// The remarks on the newest frame.
    fn newest(&self) -> Vec<&'static str> {
        let session = self.model.session(&key()).unwrap();
        let last = session.row(session.row_count() - 1).unwrap();
        let extra = session.extra(last.id);
        let remarks = extra.map_or(&[][..], |extra| &extra.remarks);
        remarks.iter().map(|remark| remark.code.name()).collect()
    }
}

#[test]
fn answers_to_what_was_forgotten_accuse_nobody_22_3() {
    let mut traffic = Traffic::new();
    for id in 0..=65_536 {
        traffic.send(false, id);
        traffic.send(true, id);
    }
    let session = traffic.model.session(&key()).unwrap();
    assert_eq!(session.forgotten().answered_requests, 1);
    traffic.send(true, 65_536);
    assert_eq!(traffic.newest(), ["response-duplicate"]);
    traffic.send(true, 0);
    assert_eq!(traffic.newest(), ["response-forgotten"]);
    let session = traffic.model.session(&key()).unwrap();
    assert_eq!(session.counters().warnings, 1);
}

#[test]
fn the_oldest_open_call_is_forgotten_and_counted_22_3() {
    let mut traffic = Traffic::new();
    traffic.send(true, 500_000);
    assert_eq!(traffic.newest(), ["response-unmatched"]);
    for id in 0..=100_000 {
        traffic.send(false, id);
    }
    let session = traffic.model.session(&key()).unwrap();
    let pending = session.counters().pending;
    assert_eq!((session.forgotten().calls, pending), (1, 100_000));
    traffic.send(true, 0);
    assert_eq!(traffic.newest(), ["response-forgotten"]);
    traffic.send(true, 1);
    assert!(traffic.newest().is_empty());
    let session = traffic.model.session(&key()).unwrap();
    assert_eq!(session.counters().warnings, 1);
}

#[test]
fn a_frame_keeps_64_remarks_and_counts_the_others_22_3() {
    let mut machine = machine::Machine::default();
    let frame = script::session("> N x").unwrap().remove(0);
    let arrival = frame::Arrival {
        place: None,
        arrived: None,
        out_of_place: false,
        hole: 0,
        held: true,
    };
    machine.frame(&frame, arrival, &mut Vec::new());
    let row = machine.rows.last_id().unwrap();
    for _ in 0..100 {
        machine.remark(row, Code::CallRepeated, "again");
    }
    assert_eq!(machine.counters.warnings, 0);
    machine.remark(row, Code::IdNull, "null");
    let extra = &machine.extras[&row];
    assert_eq!((extra.remarks.len(), extra.more_remarks), (63, 38));
    assert_eq!(machine.counters.warnings, 1);
}

#[test]
fn long_texts_on_a_frame_are_short_and_told_apart_22_3() {
    let long = "m".repeat(5_000);
    let text = format!("> Q\"{long}\" {long}, > Q\"{long}x\" {long}y, < R\"{long}x\" {{}}");
    fold(&text, Limits::NONE, |session| {
        check_session("long", session, "pending, completed | !");
        let row = |at| session.row(at).unwrap();
        let methods = [row(0).method.unwrap(), row(1).method.unwrap()];
        assert!(methods[0] != methods[1] && methods.iter().all(|text| text.len() <= 1_024));
        assert!(row(0).json_id.unwrap().len() <= 1_024);
    });
}
