//! What a peer may send to do harm: no panic, bounded stores, the same model in whatever order and portions
//! (session-model.md 22.3, 23). The bodies of the two properties take bytes, so that a fuzz target can call them too.

use std::{fmt::Write as _, sync::Arc};

use proptest::prelude::*;

use super::{property_tests::snapshot, table_tests::check_sums, *};
use crate::{
    base::Timestamp,
    record::{Envelope, HostName, LineReader, Payload, ReadEvent, Seq, SessionKey, script},
    wire::{Raw, json},
};

fn key(id: &str) -> SessionKey {
    SessionKey {
        host: HostName::local(),
        id: Arc::from(id),
    }
}

/// Few rows and bodies: what grows nevertheless is a store without a bound.
const TIGHT: Limits = Limits {
    body_bytes: Some(64 << 10),
    rows: Some(500),
};

/// Reads any bytes as a log, whole and in pieces: the same sessions come out, and none holds more than it may.
pub(crate) fn any_bytes_as_a_log(bytes: &[u8]) {
    let read = |piece: usize, limits: Limits| {
        let mut model = Model::new(limits);
        let mut reader = LineReader::default();
        let mut sink = |event: ReadEvent| {
            if let ReadEvent::Line { line, .. } = event {
                let id = key(&line.envelope.session_id);
                model.ingest(&id, &line.envelope, None, None, &mut Vec::new());
            }
        };
        for piece in bytes.chunks(piece.max(1)) {
            reader.push(piece, &mut sink);
        }
        reader.finish(&mut sink);
        model.settle(&mut Vec::new());
        model
    };
    let all = |model: &Model| -> String {
        let each = model.sessions().map(|session| {
            check_sums(session);
            format!("{:?}\n{}", session.key(), snapshot(session))
        });
        each.collect()
    };
    let expected = all(&read(usize::MAX, Limits::NONE));
    for piece in [bytes.len() / 2, 7] {
        assert_eq!(
            all(&read(piece, Limits::NONE)),
            expected,
            "pieces of {piece}"
        );
    }
    check_bounds(read(usize::MAX, TIGHT), TIGHT);
}

/// Takes each line as a frame, its first byte as the marks of its envelope (`envelope_of`): the same session comes
/// out in every order, portion and repetition, and it holds no more than it may.
pub(crate) fn any_bytes_as_frames(bytes: &[u8]) {
    let lines = bytes.split(|byte| *byte == b'\n');
    let mut seq = 0_u64;
    let frames: Vec<Envelope> = lines
        .filter_map(|line| {
            let (marks, payload) = line.split_first()?;
            seq = seq.saturating_add(if marks & 64 == 0 { 1 } else { 1 << 40 });
            Some(envelope_of(seq, *marks, payload))
        })
        .collect();
    in_every_order(&frames);
}

/// Bits of `marks`: sent by the server, truncated, redacted, and two for the clock (steady, none, back, far).
fn envelope_of(seq: u64, marks: u8, payload: &[u8]) -> Envelope {
    let step = i64::try_from(seq)
        .unwrap_or(i64::MAX)
        .saturating_mul(1_000_000);
    let ts = match marks >> 3 & 3 {
        0 => Some(step),
        1 => None,
        2 => Some(step.saturating_neg()),
        _ => Some(i64::MAX),
    };
    Envelope {
        seq: Seq(seq),
        ts: ts.map(Timestamp::from_nanos),
        truncated: marks & 2 != 0,
        redacted: marks & 4 != 0,
        ..frame(seq, marks & 1 != 0, payload)
    }
}

/// A frame as the recorder makes it of bytes on a pipe.
fn frame(seq: u64, from_server: bool, payload: &[u8]) -> Envelope {
    let script = if from_server { "< N x" } else { "> N x" };
    let mut envelope = script::session(script).unwrap().remove(0);
    envelope.seq = Seq(seq);
    envelope.payload = match json::whole_value(payload) {
        Some(range) => Payload::Raw(Raw::new(payload[range].to_vec().into())),
        None => Payload::Text(payload.to_vec().into()),
    };
    envelope
}

/// Folds frames in several orders, portions and repetitions, which must give one model.
fn in_every_order(frames: &[Envelope]) {
    let folded = |order: &[usize], portion: usize, limits: Limits| {
        let mut model = Model::new(limits);
        for portion in order.chunks(portion.max(1)) {
            for at in portion {
                model.ingest(&key("s"), &frames[*at], None, None, &mut Vec::new());
            }
            model.settle(&mut Vec::new());
        }
        model
    };
    let seen = |order: &[usize], portion: usize| {
        let model = folded(order, portion, Limits::NONE);
        model.session(&key("s")).map(|session| {
            check_sums(session);
            snapshot(session)
        })
    };
    let ascending: Vec<usize> = (0..frames.len()).collect();
    let expected = seen(&ascending, usize::MAX);
    assert_eq!(seen(&ascending, 1), expected, "one by one");
    let backwards: Vec<usize> = ascending.iter().rev().copied().collect();
    assert_eq!(seen(&backwards, usize::MAX), expected, "backwards");
    let (even, odd): (Vec<usize>, Vec<usize>) = ascending.iter().partition(|at| *at % 2 == 0);
    assert_eq!(
        seen(&[odd, even].concat(), frames.len() / 2),
        expected,
        "odd ones first"
    );
    let twice: Vec<usize> = ascending.iter().flat_map(|at| [*at, at / 2]).collect();
    assert_eq!(seen(&twice, 3), expected, "repeated");
    check_bounds(folded(&ascending, 3, TIGHT), TIGHT);
}

/// The shared stores are within their limits, and a removed session gives all of it back.
fn check_bounds(mut model: Model, limits: Limits) {
    let rows: usize = model.sessions().map(Session::row_count).sum();
    // The newest frame stays, however large it is and however many rows it has.
    let newest = model
        .sessions()
        .filter_map(|session| session.row(session.row_count().checked_sub(1)?))
        .map(|row| {
            (
                row.size + 4_096,
                row.batch.map_or(1, |(_, size)| u64::from(size)),
            )
        });
    let (bytes, of_newest) = newest.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    assert!(
        rows as u64 <= limits.rows.unwrap().max(of_newest),
        "{rows} rows"
    );
    let most = limits.body_bytes.unwrap() + bytes;
    assert!(model.body_bytes() <= most, "{} bytes", model.body_bytes());
    let keys: Vec<SessionKey> = model
        .sessions()
        .map(|session| session.key().clone())
        .collect();
    for key in keys {
        assert!(model.remove(&key));
    }
    assert_eq!(model.body_bytes(), 0);
}

/// How much a session holds: the length of its description, which goes through every store. Left out is what grows
/// up to bounds that no short test reaches: answered hops, samples of durations, repeated calls, listings and
/// copies of them, issued states.
fn weight(model: &Model) -> usize {
    let session = model.session(&key("s")).unwrap();
    let machine = &session.machine;
    let apart = length_of(&machine.hops)
        + length_of(&machine.times)
        + length_of(&machine.tools)
        + length_of(&machine.repeats)
        + length_of(&machine.listings)
        + length_of(&machine.caches)
        + length_of(&machine.issued);
    assert!(session.tools().len() <= 10_001, "{}", session.tools().len());
    length_of(session) - apart
}

/// Calls that wait; up to 100,000 may.
fn open(model: &Model) -> usize {
    let session = model.session(&key("s")).unwrap();
    session.calls().filter(|call| call.is_open()).count()
}

fn length_of(value: &impl std::fmt::Debug) -> usize {
    struct Count(usize);
    impl std::fmt::Write for Count {
        fn write_str(&mut self, text: &str) -> std::fmt::Result {
            self.0 += text.len();
            Ok(())
        }
    }
    let mut count = Count(0);
    write!(count, "{value:?}").unwrap();
    count.0
}

/// `few` where code is not optimised, which is some fifty times slower.
fn rounds(few: u64) -> u64 {
    if cfg!(debug_assertions) { few } else { 150_000 }
}

/// Folds rounds of frames; `#` is the number of the round, `<` or `>` before a message says who sends it.
fn fold_rounds(model: &mut Model, round: &[&str], numbers: std::ops::Range<u64>) {
    let templates = [frame(1, false, b"{}"), frame(1, true, b"{}")];
    for number in numbers {
        for (place, message) in (1..).zip(round) {
            let (sender, message) = message.split_at(1);
            let mut envelope = templates[usize::from(sender == "<")].clone();
            let seq = number * round.len() as u64 + place;
            envelope.seq = Seq(seq);
            // As many digits in every round.
            let message = message.replace('#', &(1_000_000 + number).to_string());
            envelope.payload = Payload::Raw(Raw::new(message.into_bytes().into()));
            envelope.ts = Some(Timestamp::from_nanos(seq.cast_signed() * 1_000_000));
            model.ingest(&key("s"), &envelope, None, None, &mut Vec::new());
        }
    }
}

/// The description of an open call is not longer.
const OPEN_CALL: usize = 1_600;

/// Folds `count` such rounds: from the half on nothing but open calls may grow any more.
fn check_growth(name: &str, round: &[&str], count: u64) {
    let mut model = Model::new(TIGHT);
    fold_rounds(&mut model, round, 0..count / 2);
    let (half, waiting) = (weight(&model), open(&model));
    fold_rounds(&mut model, round, count / 2..count);
    let session = model.session(&key("s")).unwrap();
    check_sums(session);
    assert_eq!(session.counters().frames, count * round.len() as u64);
    let whole = weight(&model);
    let of_open = open(&model).saturating_sub(waiting) * OPEN_CALL;
    assert!(
        whole <= half + half / 50 + 4_096 + of_open,
        "{name}: {half} then {whole}"
    );
    check_bounds(model, TIGHT);
}

fn nested(depth: usize, open: &str, inner: &str, close: &str) -> String {
    format!("{}{inner}{}", open.repeat(depth), close.repeat(depth))
}

/// Frames of one case, each sent by both sides; large ones only by one.
fn check_frames(payloads: &[String]) {
    let frames: Vec<Envelope> = payloads
        .iter()
        .flat_map(|payload| [false, true].map(|from_server| (from_server, payload)))
        .filter(|(from_server, payload)| {
            payload.len() < 50_000 || *from_server != payload.contains("method")
        })
        .zip(1..)
        .map(|((from_server, payload), seq)| frame(seq, from_server, payload.as_bytes()))
        .collect();
    in_every_order(&frames);
}

#[test]
fn frames_that_are_no_json_rpc_fold_alike() {
    let payloads = [
        "",
        " ",
        "null",
        "true",
        "7",
        "-0.0e-0",
        "\"\"",
        "\"\\ud800\"",
        "[]",
        "[[]]",
        "[[],{},null,1]",
        "{}",
        "{\"\":{}}",
        "{\"jsonrpc\":2.0,\"id\":1,\"method\":\"x\"}",
        "{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"x\"}",
        "{\"method\":7}",
        "{\"method\":null,\"id\":null}",
        "{\"method\":[],\"params\":[],\"result\":[],\"error\":[]}",
        "{\"id\":1,\"result\":{},\"error\":{}}",
        "{\"id\":1,\"result\":null}",
        "{\"id\":1,\"error\":null}",
        "{\"id\":1,\"error\":{\"code\":1e999,\"message\":{}}}",
        "{\"id\":1,\"id\":2,\"method\":\"a\",\"method\":\"b\"}",
        "{\"\\u0069d\":1,\"m\\u0065thod\":\"tools/call\"}",
        "{\"id\":1,\"method\":\"tools/call\",\"params\":[1,2]}",
        "{\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":[],\"arguments\":7,\"_meta\":\"x\"}}",
        "{\"id\":1,\"method\":\"tools/list\",\"params\":{\"cursor\":{}}}",
        "{\"id\":1,\"result\":{\"tools\":[null,7,{},{\"name\":null},[]],\"nextCursor\":[]}}",
        "{\"id\":1,\"result\":{\"resultType\":[],\"taskId\":{},\"task\":7,\"inputRequests\":3}}",
        "{\"method\":\"notifications/progress\",\"params\":{\"progressToken\":[],\"progress\":\"x\"}}",
        "{\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":{}}}",
        "{\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":{},\"clientInfo\":[],\"capabilities\":7}}",
        "{\"jsonrpc\":\"2.0\"",
        "{\"jsonrpc\":\"2.0\",}",
        "\u{feff}{}",
        "HTTP/1.1 200 OK",
    ];
    check_frames(&payloads.map(str::to_owned));
}

#[test]
fn ids_of_every_type_fold_alike() {
    let long = "9".repeat(100_000);
    let text = "x".repeat(1 << 20);
    let ids = [
        "null",
        "true",
        "false",
        "{}",
        "{\"a\":[1]}",
        "[]",
        "[1,2]",
        "0",
        "-0",
        "0.0",
        "1e0",
        "1.0",
        "1.5",
        "1e400000",
        "1e-400000",
        "1e99999999999999999999",
        "-1e18446744073709551616",
        "9007199254740993",
        "18446744073709551616",
        "\"\"",
        "\"1\"",
        "\"\\u0031\"",
        "\"\\ud800\"",
        &long,
        &format!("-{long}"),
        &format!("0.{long}"),
        &format!("1e{long}"),
        &format!("\"{text}\""),
        &format!("\"{text}y\""),
        &format!("[{long}]"),
    ];
    let mut payloads = Vec::new();
    for id in ids {
        payloads.push(format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"t","_meta":{{"progressToken":{id}}}}}}}"#));
        payloads.push(format!(r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{id},"progress":{id}}}}}"#));
        payloads.push(format!(r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#));
        payloads.push(format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#));
    }
    // Apart, so that the long ones are not folded with all the others again and again.
    for payloads in payloads.chunks(20) {
        check_frames(payloads);
    }
}

#[test]
fn a_name_of_a_mebibyte_is_kept_short() {
    let long = "n".repeat(1 << 20);
    let call = format!(
        r#">{{"id":#,"method":"tools/call","params":{{"name":"{long}#","requestState":"{long}","inputResponses":{{"{long}":{{}}}}}}}}"#
    );
    let method = format!(r#">{{"id":"{long}#","method":"{long}#"}}"#);
    let task = format!(
        r#"<{{"id":#,"result":{{"resultType":"task","taskId":"{long}#","status":"{long}"}}}}"#
    );
    let mut model = Model::new(TIGHT);
    fold_rounds(&mut model, &[&call, &task, &method], 0..20);
    // The newest frame stays whole, so it has to be a small one.
    fold_rounds(&mut model, &[r#">{"method":"x"}"#], 1_000..1_001);
    let whole = weight(&model) + length_of(&model.session(&key("s")).unwrap().machine.hops);
    assert!(whole < 20 * 3 * 8_192, "{whole}");
    check_bounds(model, TIGHT);
}

#[test]
fn nesting_of_a_hundred_thousand_is_no_matter() {
    for depth in [json::MAX_DEPTH - 8, 100_000] {
        check_nesting(depth);
    }
}

fn check_nesting(depth: usize) {
    let objects = nested(depth, "{\"a\":", "1", "}");
    let arrays = nested(depth, "[", "", "]");
    let payloads = [
        objects.clone(),
        arrays.clone(),
        "[".repeat(depth),
        "{\"a\":".repeat(depth),
        format!(r#"{{"id":{arrays},"method":"x"}}"#),
        format!(
            r#"{{"id":1,"method":"tools/call","params":{{"name":"t","arguments":{objects}}}}}"#
        ),
        format!(
            r#"{{"id":1,"method":"tools/call","params":{{"_meta":{objects},"requestState":{arrays},"inputResponses":{objects}}}}}"#
        ),
        format!(r#"{{"id":1,"method":"initialize","params":{objects}}}"#),
        format!(
            r#"{{"id":1,"result":{{"content":{arrays},"inputRequests":{objects},"task":{objects},"_meta":{objects}}}}}"#
        ),
        format!(r#"{{"id":1,"result":{{"tools":[{{"name":"t","inputSchema":{objects}}}]}}}}"#),
        format!(r#"{{"id":1,"error":{{"code":{arrays},"data":{objects}}}}}"#),
        format!(r#"{{"method":"notifications/progress","params":{{"progressToken":{arrays}}}}}"#),
    ];
    for payload in payloads {
        check_frames(&[payload]);
    }
    for line in [
        format!(r#"{{"session_id":"s","seq":1,"direction":"c2s","raw":{objects}}}"#),
        format!(r#"{{"session_id":"s","seq":1,"direction":"c2s","peek":{objects},"x":{arrays}}}"#),
        objects,
    ] {
        any_bytes_as_a_log(line.as_bytes());
    }
}

#[test]
fn calls_that_nobody_answers_are_forgotten_from_the_oldest() {
    let count = 100_000 + rounds(2_000) * 6;
    let mut model = Model::new(TIGHT);
    let mut template = frame(1, false, b"{}");
    for id in 0..count {
        template.seq = Seq(id + 1);
        let message = format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"t"}}}}"#
        );
        template.payload = Payload::Raw(Raw::new(message.into_bytes().into()));
        model.ingest(&key("s"), &template, None, None, &mut Vec::new());
    }
    let session = model.session(&key("s")).unwrap();
    check_sums(session);
    let open = session.calls().filter(|call| call.is_open()).count();
    assert_eq!(open, 100_000);
    assert_eq!(session.forgotten().calls, count - 100_000);
    check_bounds(model, TIGHT);
}

/// One id, token, task, cursor or state, again and again.
const REPEATED: [(&str, &[&str]); 9] = [
    (
        "one id, never answered",
        &[r#">{"id":1,"method":"tools/call","params":{"name":"t"}}"#],
    ),
    (
        "one id, answered",
        &[
            r#">{"id":1,"method":"tools/call","params":{"name":"t"}}"#,
            r#"<{"id":1,"result":{}}"#,
        ],
    ),
    ("one answer", &[r#"<{"id":1,"result":{}}"#]),
    (
        "one progress token",
        &[
            r#">{"id":#,"method":"tools/call","params":{"name":"t","_meta":{"progressToken":"p"}}}"#,
            r#"<{"method":"notifications/progress","params":{"progressToken":"p","progress":#}}"#,
            r#"<{"id":#,"result":{}}"#,
        ],
    ),
    (
        "one task id",
        &[
            r#">{"id":#,"method":"tools/call","params":{"name":"t","task":{}}}"#,
            r#"<{"id":#,"result":{"task":{"taskId":"k","status":"working"}}}"#,
            r#"<{"method":"notifications/tasks/status","params":{"taskId":"k","status":"completed"}}"#,
        ],
    ),
    (
        "one cursor",
        &[
            r#">{"id":#,"method":"tools/list","params":{"cursor":"c"}}"#,
            r#"<{"id":#,"result":{"tools":[{"name":"t"}],"nextCursor":"c"}}"#,
        ],
    ),
    (
        "one state, continued",
        &[
            r#">{"id":#,"method":"tools/call","params":{"name":"t","requestState":"s","inputResponses":{"k":{}}}}"#,
            r#"<{"id":#,"result":{"resultType":"input_required","inputRequests":{"k":{}},"requestState":"s"}}"#,
        ],
    ),
    (
        "one state, abandoned",
        &[
            r#">{"id":#,"method":"tools/call","params":{"name":"t#"}}"#,
            r#"<{"id":#,"result":{"resultType":"input_required","inputRequests":{"k":{}},"requestState":"s"}}"#,
        ],
    ),
    (
        "one cancellation",
        &[
            r#">{"id":#,"method":"tools/call","params":{"name":"t"}}"#,
            r#">{"method":"notifications/cancelled","params":{"requestId":1,"reason":"r"}}"#,
            r#"<{"id":#,"result":{}}"#,
        ],
    ),
];

/// Always a new one.
const DISTINCT: [(&str, &[&str]); 4] = [
    (
        "progress tokens",
        &[
            r#">{"id":#,"method":"tools/call","params":{"name":"t","_meta":{"progressToken":"p#"}}}"#,
            r#"<{"id":#,"result":{}}"#,
            r#"<{"method":"notifications/progress","params":{"progressToken":"q#","progress":1}}"#,
        ],
    ),
    (
        "cursors",
        &[
            r#">{"id":#,"method":"tools/list","params":{"cursor":"c#"}}"#,
            r#"<{"id":#,"result":{"tools":[{"name":"t#"}],"nextCursor":"d#"}}"#,
        ],
    ),
    (
        "states",
        &[
            r#">{"id":#,"method":"tools/call","params":{"name":"t","requestState":"s#"}}"#,
            r#"<{"id":#,"result":{"resultType":"input_required","inputRequests":{"k#":{}},"requestState":"t#"}}"#,
        ],
    ),
    (
        "clients and versions",
        &[
            r##">{"id":#,"method":"initialize","params":{"protocolVersion":"v#","clientInfo":{"name":"c#","version":"#"}}}"##,
            r##"<{"id":#,"result":{"protocolVersion":"w#","serverInfo":{"name":"s#","version":"#"}}}"##,
        ],
    ),
];

#[test]
fn what_is_repeated_without_end_takes_no_more_memory() {
    for (name, round) in REPEATED {
        check_growth(name, round, rounds(2_000));
    }
}

#[test]
fn new_tokens_cursors_states_and_clients_without_end_take_no_more_memory() {
    for (name, round) in DISTINCT {
        check_growth(name, round, rounds(8_400));
    }
}

#[test]
fn new_tasks_without_end_take_no_more_memory() {
    let round = [
        r#">{"id":#,"method":"tools/call","params":{"name":"t"}}"#,
        r#"<{"id":#,"result":{"resultType":"task","taskId":"k#","status":"completed"}}"#,
        r#"<{"method":"notifications/tasks","params":{"taskId":"unknown#","status":"working"}}"#,
    ];
    check_growth("tasks", &round, rounds(21_000));
}

#[test]
fn new_tools_and_methods_without_end_take_no_more_memory() {
    let round = [
        r#">{"id":#,"method":"tools/call","params":{"name":"t#","arguments":{"a":#}}}"#,
        r#"<{"id":#,"result":{"isError":true}}"#,
        r#"<{"method":"m#"}"#,
    ];
    check_growth("tools and methods", &round, rounds(33_000));
}

#[test]
fn a_hop_is_forgotten_long_after_its_answer() {
    let round = [
        r#">{"id":#,"method":"tools/call","params":{"name":"t"}}"#,
        r#"<{"id":#,"result":{}}"#,
    ];
    let mut model = Model::new(TIGHT);
    fold_rounds(&mut model, &round, 0..66_000);
    let before = length_of(&model.session(&key("s")).unwrap().machine.hops);
    fold_rounds(&mut model, &round, 66_000..70_000);
    let after = length_of(&model.session(&key("s")).unwrap().machine.hops);
    assert!(after <= before + before / 100, "{before} then {after}");
}

#[test]
fn clocks_that_jump_give_one_model() {
    let year_1 = Timestamp::parse("0001-01-01T00:00:00Z");
    let year_9999 = Timestamp::parse("9999-12-31T23:59:59.999999999Z");
    let times: [&dyn Fn(i64) -> Option<Timestamp>; 6] = [
        &|_| None,
        &|_| year_1,
        &|at| if at % 2 == 0 { year_1 } else { year_9999 },
        &|at| Some(Timestamp::from_nanos(-at * 1_000_000_000)),
        &|at| {
            Some(Timestamp::from_nanos(if at % 3 == 0 {
                i64::MIN
            } else {
                i64::MAX - at
            }))
        },
        &|at| (at % 2 == 0).then_some(Timestamp::from_nanos(at)),
    ];
    let round: [&[u8]; 8] = [
        br#">{"id":1,"method":"tools/call","params":{"name":"t","_meta":{"progressToken":1}}}"#,
        br#"<{"method":"notifications/progress","params":{"progressToken":1,"progress":1}}"#,
        br#"<{"id":1,"result":{"resultType":"input_required","inputRequests":{"k":{}},"requestState":"s"}}"#,
        br#">{"id":2,"method":"tools/call","params":{"name":"t","requestState":"s","inputResponses":{"k":{}}}}"#,
        br#"<{"id":2,"result":{"resultType":"task","taskId":"k","status":"working","ttl":1e300}}"#,
        br#"<{"method":"notifications/tasks","params":{"taskId":"k","status":"completed"}}"#,
        br#">{"id":3,"method":"tools/list","params":{}}"#,
        br#"<{"id":3,"result":{"tools":[],"ttlMs":9223372036854775807}}"#,
    ];
    for (number, time) in times.iter().enumerate() {
        let frames: Vec<Envelope> = (1..=40_i64)
            .zip(round.iter().cycle())
            .map(|(at, message)| {
                let mut envelope = frame(at.cast_unsigned(), message[0] == b'<', &message[1..]);
                envelope.ts = time(at);
                envelope
            })
            .collect();
        assert_eq!(frames.len(), 40, "clock {number}");
        in_every_order(&frames);
    }
}

#[test]
fn numbers_at_the_end_of_the_range_fold_alike() {
    let call = br#"{"id":1,"method":"tools/call","params":{"name":"t"}}"#;
    let answer = br#"{"id":1,"result":{}}"#;
    for seqs in [
        vec![u64::MAX],
        vec![1, u64::MAX],
        vec![u64::MAX - 1, u64::MAX],
        vec![1, 2, 1 << 63, u64::MAX - 2, u64::MAX],
        (0..6_000)
            .map(|at| 1 + at * 3_000_000_000_000_000)
            .collect(),
    ] {
        let frames: Vec<Envelope> = seqs
            .iter()
            .enumerate()
            .map(|(at, seq)| {
                let is_answer = at % 2 == 1;
                frame(*seq, is_answer, if is_answer { answer } else { call })
            })
            .collect();
        if frames.len() < 1_000 {
            in_every_order(&frames);
        }
        let mut model = Model::new(TIGHT);
        for envelope in &frames {
            model.ingest(&key("s"), envelope, None, None, &mut Vec::new());
        }
        let session = model.session(&key("s")).unwrap();
        let unseen = seqs.last().unwrap() - seqs.len() as u64;
        // Of very many gaps the oldest are not told apart any more.
        assert!(
            session.missing_frames() == unseen
                || seqs.len() > 4_096 && session.missing_frames() < unseen
        );
        check_bounds(model, TIGHT);
    }
}

/// Bytes that a mutation of a real frame may give.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        Just(&br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","_meta":{"progressToken":1}}}"#[..]),
        Just(&br#"{"jsonrpc":"2.0","id":1,"result":{"content":[]}}"#[..]),
        Just(&br#"{"id":1,"result":{"resultType":"input_required","inputRequests":{"k":{}},"requestState":"s"}}"#[..]),
        Just(&br#"{"id":1,"method":"tools/call","params":{"name":"t","requestState":"s","inputResponses":{"k":{}}}}"#[..]),
        Just(&br#"{"id":1,"result":{"task":{"taskId":"k","status":"working"}}}"#[..]),
        Just(&br#"{"method":"notifications/cancelled","params":{"requestId":1}}"#[..]),
        Just(&br#"[{"id":2,"method":"x"},{"id":3,"method":"y"}]"#[..]),
        Just(&br#"{"session_id":"s","seq":3,"direction":"c2s","ts":"2026-01-01T00:00:00Z","raw":{"id":1,"method":"x"}}"#[..]),
        Just(&br#"{"session_id":"s","seq":4,"direction":"s2c","transport":"http","exchange":1,"status":502,"text":"x"}"#[..]),
        Just(&br#"{"session_id":"s","seq":1,"direction":"meta","raw":{"command":["a"]}}"#[..]),
    ];
    let noise = proptest::collection::vec(any::<u8>(), 0..6);
    let marked = (
        any::<u8>(),
        piece,
        noise,
        any::<prop::sample::Index>(),
        0_u8..4,
    );
    proptest::collection::vec(marked, 0..16).prop_map(|parts| {
        let mut out = Vec::new();
        for (marks, piece, noise, place, how) in parts {
            // As frames every line begins with its marks, which makes most of it damage as a log.
            if how != 0 {
                out.push(marks);
            }
            let cut = if how == 3 {
                place.index(piece.len())
            } else {
                piece.len()
            };
            out.extend_from_slice(&piece[..cut]);
            if how >= 2 {
                out.extend_from_slice(&noise);
            }
            out.push(b'\n');
        }
        out
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn any_bytes_fold_alike_as_a_log(bytes in bytes()) {
        any_bytes_as_a_log(&bytes);
    }

    #[test]
    fn any_bytes_fold_alike_as_frames(bytes in bytes()) {
        any_bytes_as_frames(&bytes);
    }
}
