//! Properties of session-model.md 23: what the model is does not depend on how its envelopes came.

use std::{fmt::Write as _, sync::Arc};

use proptest::prelude::*;

use super::{table_tests::check_sums, *};
use crate::{
    record::{Encoder, Envelope, HostName, LineReader, ReadEvent, SessionKey, script},
    wire::Raw,
};

pub(super) fn key(id: &str) -> SessionKey {
    SessionKey {
        host: HostName::local(),
        id: Arc::from(id),
    }
}

/// Everything that must not depend on arrival, as text.
pub(super) fn snapshot(session: &Session) -> String {
    let mut text = format!("{:?}\n", session.counters());
    writeln!(
        text,
        "{:?} {:?} {} {:?} {:?} {:?} {:?} {:?}",
        session.first(),
        session.last(),
        session.missing_frames(),
        session.health(),
        session.protocol_version(),
        session.command(),
        session.clients(),
        session.end(),
    )
    .unwrap();
    writeln!(text, "{}", stated(session)).unwrap();
    for call in session.calls() {
        writeln!(text, "{call:?}").unwrap();
    }
    for at in 0..session.row_count() {
        let row = session.row(at).unwrap();
        writeln!(
            text,
            "{:?} {:?} {:?} {:?} {:?} {:?} {:?}",
            row.id,
            row.kind,
            row.method,
            row.json_id,
            row.flags,
            row.call,
            session.extra(row.id),
        )
        .unwrap();
        writeln!(text, "{:?}", session.extra(row.id)).unwrap();
    }
    writeln!(text, "{:?}", session.elicitations()).unwrap();
    for (name, tool) in session.tools() {
        writeln!(text, "{name} {tool:?}").unwrap();
    }
    writeln!(text, "{:?} {:?}", session.remarks(), session.forgotten()).unwrap();
    let repeats: Vec<_> = session.repeated_calls().collect();
    writeln!(text, "{} {repeats:?}", offers(session)).unwrap();
    text + &tasks_and_streams(session)
}

/// Tasks and subscriptions, which stay exact whatever was released.
fn tasks_and_streams(session: &Session) -> String {
    let mut text = String::new();
    for task in session.tasks() {
        writeln!(text, "{task:?}").unwrap();
    }
    for stream in session.subscriptions() {
        writeln!(text, "{stream:?}").unwrap();
    }
    text
}

/// What is known of listings and use, whatever was released (session-model.md 22.2).
fn offers(session: &Session) -> String {
    let mut text = format!("{:?} {:?}", session.usage(), session.slowest_calls());
    for kind in [ListKind::Tools, ListKind::Prompts, ListKind::Resources] {
        if let Some(found) = session.inventory(kind) {
            let marks = [
                found.complete,
                found.refreshing,
                found.stale,
                found.cursor_cycle,
            ];
            let names: Vec<_> = found
                .entries()
                .iter()
                .map(|one| (one.name(), one.cost(), one.hash()))
                .collect();
            write!(text, " {kind:?} {marks:?} {} {names:?}", found.generation).unwrap();
        }
    }
    text
}

/// What the peers said of themselves.
fn stated(session: &Session) -> String {
    let revisions: Vec<_> = session.revisions().collect();
    format!(
        "{:?} {revisions:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?}",
        session.era(),
        session.protocol_version(),
        session.client_capabilities().map(Raw::bytes),
        session.server_capabilities().map(Raw::bytes),
        session.client_info().map(Raw::bytes),
        session.server_info().map(Raw::bytes),
        session.instructions(),
        session.machine.peers.stated.supported.list,
        session.unidentified(),
    )
}

/// The figures that stay exact whatever was released (session-model.md 22.2).
fn figures(session: &Session) -> String {
    let mut counters = session.counters().clone();
    counters.dropped_from_memory = 0;
    let open: Vec<_> = session
        .calls()
        .filter(|call| call.is_open())
        .map(|call| (call.id, call.state, call.server_nanos, call.rounds.clone()))
        .collect();
    let times = [50, 95, 99].map(|at| session.server_times().percentile(at));
    format!(
        "{counters:?} {:?} {:?} {open:?} {times:?} {} {:?} {} {:?}\n{} {:?} {} {}",
        session.tools(),
        session.health(),
        session.missing_frames(),
        session.clients(),
        stated(session),
        session.elicitations(),
        tasks_and_streams(session),
        session.forgotten(),
        session.machine.repeats.count,
        offers(session),
    )
}

/// Folds envelopes in the order given, in portions.
pub(super) fn folded(envelopes: &[Envelope], portion: usize, limits: Limits) -> Model {
    let mut model = Model::new(limits);
    let mut facts = Vec::new();
    for portion in envelopes.chunks(portion.max(1)) {
        for envelope in portion {
            model.ingest(&key("s"), envelope, None, None, &mut facts);
        }
        model.settle(&mut facts);
    }
    model
}

fn all_of(envelopes: &[Envelope], portion: usize) -> String {
    let model = folded(envelopes, portion, Limits::NONE);
    check_sums(model.session(&key("s")).unwrap());
    snapshot(model.session(&key("s")).unwrap())
}

/// Frames that meet often: few ids, every kind of answer.
fn frame() -> impl Strategy<Value = String> {
    let id = 1_u8..5;
    prop_oneof![
        (id.clone(), "[ab]").prop_map(|(id, tool)| format!("> Q{id} call {tool}")),
        id.clone().prop_map(|id| format!("< R{id} {{\"content\":[]}}")),
        id.clone().prop_map(|id| format!("< R{id} {{isError:true}}")),
        id.clone().prop_map(|id| format!("< E{id} -32603")),
        id.clone().prop_map(|id| format!("> N cancelled{{{id}}}")),
        id.clone().prop_map(|id| format!("< R{id} IR{{k;st=S{id}}}")),
        id.clone().prop_map(|id| format!(
            "> {{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/call\",\"params\":{{\"name\":\"a\",\
             \"requestState\":\"S{id}\",\"inputResponses\":{{\"k\":{{}}}}}}}}"
        )),
        id.clone().prop_map(|id| format!("< Q{id} sampling/createMessage")),
        id.clone().prop_map(|id| format!("< Q{id} elicitation/create{{form}}")),
        id.clone().prop_map(|id| format!("> R{id} {{action:accept}}")),
        id.clone().prop_map(|id| format!("> R{id} {{}}")),
        id.clone().prop_map(|id| format!("> Q{id} subscriptions/listen")),
        id.clone().prop_map(|id| format!("> Q{id} initialize{{protocolVersion:2025-11-25,clientInfo:{{name:c{id},version:1}}}}")),
        id.clone().prop_map(|id| format!("< R{id} {{resultType:task,taskId:t,status:working}}")),
        task_frame(),
        "[1-3]".prop_map(|value| format!("< N progress{{progressToken:p,progress:{value}}}")),
        id.clone().prop_map(|id| format!("> Q{id} call a{{task:{{}},_meta:{{progressToken:p}}}}")),
        id.clone().prop_map(|id| format!("< N …/acknowledged{{sub {id}}}")),
        id.clone().prop_map(|id| format!("< N tools/list_changed{{sub {id}}}")),
        (id.clone(), "[pq]").prop_map(|(id, cursor)| format!("> Q{id} tools/list {{cursor:{cursor}}} [v=2026-07-28]")),
        id.clone().prop_map(|id| format!("> Q{id} tools/list [v=2026-07-28]")),
        (id.clone(), "[abc]", "[pq]").prop_map(|(id, tool, cursor)| format!(
            "< R{id} {{resultType:complete,ttlMs:40,cacheScope:{cursor},tools:[{tool},a],nextCursor:{cursor}}}"
        )),
        (id.clone(), "[abc]").prop_map(|(id, tool)| format!("< R{id} {{ttlMs:100,tools:[{tool}]}}")),
        Just("< N tools/list_changed".to_owned()),
        Just("< N notifications/tasks{t,completed}".to_owned()),
        id.clone().prop_map(|id| format!("> {{\"id\":{id},\"method\":\"x\"}}")),
        id.clone().prop_map(|id| format!("< {{\"id\":{id},\"result\":{{}}}}")),
        id.clone().prop_map(|id| format!("< R\"{id}\" {{}}")),
        id.clone().prop_map(|id| format!("< R{id} {{protocolVersion:2025-11-25}}")),
        Just("< E(null) -32700".to_owned()),
        Just("> Qnull x".to_owned()),
        Just("< N x".to_owned()),
        (id.clone(), 1_u8..4).prop_map(|(id, x)| format!("> Q{id} call a [x={x} v=2026-07-28]")),
        (id.clone(), 1_u8..4).prop_map(|(id, x)| format!("> Q{id} server/discover [x={x}]")),
        (id.clone(), 1_u8..4).prop_map(|(id, c)| format!("> Q{id} call a [c=h:{c}]")),
        (id.clone(), 1_u8..4).prop_map(|(id, c)| format!("< R{id} {{}} [c=h:{c}]")),
        (id.clone(), "[pq]").prop_map(|(id, peer)| format!("> Q{id} call b [x={id} peer={peer}]")),
        (id.clone(), "[pq]").prop_map(|(id, peer)| format!("< R{id} {{}} [x=9 peer={peer}]")),
        (1_u8..4).prop_map(|x| format!("< H200 [unobserved x={x}]")),
        id.clone().prop_map(|id| format!("> Q{id} x [red]")),
        (1_u8..4).prop_map(|x| format!("< H401 ch=\"Bearer\" [x={x}]")),
        (1_u8..4).prop_map(|x| format!("< H404 [x={x}]")),
        (1_u8..4).prop_map(|x| format!("< H202 [x={x}]")),
        (id.clone(), 1_u8..4).prop_map(|(id, x)| format!("< T \"{{\"id\":{id},\"result\":{{\" [trunc x={x}]")),
        (1_u8..4).prop_map(|x| format!("closed: server [x={x}]")),
        (1_u8..4).prop_map(|x| format!("closed: client [x={x}]")),
        id.clone().prop_map(|id| format!("< E{id} -32022 {{supported:[2026-07-28]}}")),
        id.clone().prop_map(|id| format!("< E{id} -32042")),
        id.clone().prop_map(|id| format!("< R{id} {{protocolVersion:2025-11-25,capabilities:{{extensions:{{e{id}:{{}}}}}}}}")),
        Just("< T \"noise\"".to_owned()),
        Just("stderr \"line\"".to_owned()),
        Just("> {\"params\":{\"x\":\"AAA [trunc]".to_owned()),
        Just("< {\"result\":{\"x\":\"AAA [trunc]".to_owned()),
        Just("meta {command:[a],format:7}".to_owned()),
    ]
}

/// Frames that tell of one task of the server.
fn task_frame() -> impl Strategy<Value = String> {
    let id = 1_u8..5;
    let word = prop_oneof![
        Just("working"),
        Just("input_required"),
        Just("completed"),
        Just("failed"),
        Just("cancelled")
    ];
    prop_oneof![
        word.clone()
            .prop_map(|word| format!("< N notifications/tasks{{t,{word}}}")),
        (id.clone(), word.clone())
            .prop_map(|(id, word)| format!("< R{id} {{task:{{taskId:t,status:{word}}}}}")),
        (id.clone(), word).prop_map(|(id, word)| format!("< R{id} {{taskId:t,status:{word}}}")),
        (id, "(get|result|cancel|update|list)")
            .prop_map(|(id, what)| format!("> Q{id} tasks/{what}{{t}}")),
    ]
}

/// A session with gaps and skewed clocks.
fn envelopes() -> impl Strategy<Value = Vec<Envelope>> {
    let framed = (frame(), 1_u64..=2, 0_u64..50);
    proptest::collection::vec(framed, 1..30).prop_map(|frames| {
        let mut text = String::new();
        let mut seq = 0;
        for (frame, step, millis) in frames {
            // Mostly without a gap, and mostly forward in time.
            seq += if step == 2 && millis < 5 { 2 } else { 1 };
            let at = seq * 10 + millis;
            writeln!(text, "#{seq} @{at} {frame}").unwrap();
        }
        script::session(&text).unwrap()
    })
}

fn shuffled(envelopes: Vec<Envelope>) -> impl Strategy<Value = (Vec<Envelope>, Vec<Envelope>)> {
    (Just(envelopes.clone()), Just(envelopes).prop_shuffle())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn p1_p2_p5_order_repeats_and_portions_do_not_matter(
        (all, mixed) in envelopes().prop_flat_map(shuffled),
        portion in 1_usize..40,
        again in 0_usize..30,
    ) {
        let expected = all_of(&all, usize::MAX);
        prop_assert_eq!(&all_of(&all, 1), &expected);
        prop_assert_eq!(&all_of(&mixed, portion), &expected);
        let mut more = mixed.clone();
        more.extend(all.iter().take(again).cloned());
        prop_assert_eq!(&all_of(&more, portion), &expected);
    }

    #[test]
    fn p4_a_prefix_from_disk_and_a_live_suffix_are_the_whole(
        all in envelopes(),
        cut in 0_usize..30,
        overlap in 0_usize..10,
        live_first in any::<bool>(),
    ) {
        let expected = all_of(&all, usize::MAX);
        let cut = cut.min(all.len());
        let disk = &all[..(cut + overlap).min(all.len())];
        let live = &all[cut..];
        let (first, second) = if live_first { (live, disk) } else { (disk, live) };
        let together: Vec<Envelope> = first.iter().chain(second).cloned().collect();
        prop_assert_eq!(all_of(&together, usize::MAX), expected);
    }

    #[test]
    fn p6_p7_bounds_and_neighbours_change_no_figure(
        all in envelopes(),
        other in envelopes(),
        rows in 1_u64..10,
    ) {
        let whole = folded(&all, usize::MAX, Limits::NONE);
        let expected = figures(whole.session(&key("s")).unwrap());
        let limits = Limits { body_bytes: Some(1), rows: Some(rows) };
        let mut model = Model::new(limits);
        let mut facts = Vec::new();
        for at in 0..all.len().max(other.len()) {
            for (id, list) in [("s", &all), ("t", &other)] {
                if let Some(envelope) = list.get(at) {
                    model.ingest(&key(id), envelope, None, None, &mut facts);
                }
            }
        }
        let session = model.session(&key("s")).unwrap();
        prop_assert_eq!(figures(session), expected);
        let held: usize = model.sessions().map(Session::row_count).sum();
        prop_assert!(held as u64 <= rows.max(1));
        model.remove(&key("s"));
        model.remove(&key("t"));
        prop_assert_eq!(model.body_bytes(), 0);
    }

    #[test]
    fn p9_arbitrary_bytes_neither_panic_nor_break_the_sums(
        frames in proptest::collection::vec(
            (any::<u64>(), proptest::collection::vec(any::<u8>(), 0..60), any::<bool>(), any::<bool>()),
            0..20,
        ),
    ) {
        let mut model = Model::new(Limits::LIVE);
        let mut template = script::session("< N x").unwrap().remove(0);
        for (seq, bytes, json, truncated) in frames {
            template.seq = crate::record::Seq(seq.max(1));
            template.truncated = truncated;
            template.payload = if json {
                crate::record::Payload::Raw(Raw::new(bytes.into()))
            } else {
                crate::record::Payload::Text(bytes.into())
            };
            model.ingest(&key("s"), &template, None, None, &mut Vec::new());
        }
        model.settle(&mut Vec::new());
        if let Some(session) = model.session(&key("s")) {
            check_sums(session);
        }
    }
}

#[test]
fn p3_any_cut_of_the_bytes_gives_the_same_model() {
    let text = "meta {command:[a]}\n> Q1 call größe, @20 < R1 {content:[]}, < T \"noise\", < E9 -1";
    let envelopes = script::session(text).unwrap();
    let encoder = Encoder::new("s", "server");
    let mut bytes = Vec::new();
    for envelope in &envelopes {
        encoder.encode(envelope, &mut bytes);
    }
    let read = |cut: usize| {
        let mut model = Model::new(Limits::NONE);
        let mut reader = LineReader::default();
        let mut sink = |event: ReadEvent| match event {
            ReadEvent::Line { line, .. } => {
                model.ingest(&key("s"), &line.envelope, None, None, &mut Vec::new());
            }
            ReadEvent::Damage(damage) => panic!("{damage:?}"),
        };
        for chunk in bytes.chunks(cut) {
            reader.push(chunk, &mut sink);
        }
        reader.finish(&mut sink);
        snapshot(model.session(&key("s")).unwrap())
    };
    let expected = read(bytes.len());
    assert!(expected.contains("größe"));
    for cut in 1..bytes.len() {
        assert_eq!(read(cut), expected, "cut at {cut}");
    }
}

/// Many frames of one kind: the time for each must not grow (P9). A quadratic fold would take hours.
#[test]
fn p9_many_open_calls_parked_calls_and_tasks_stay_cheap() {
    let template = script::session("> Q1 x, < R1 {}").unwrap();
    let frame = |seq: u64, asks: bool, json: String| {
        let mut envelope = template[usize::from(!asks)].clone();
        envelope.seq = crate::record::Seq(seq);
        envelope.payload = crate::record::Payload::Raw(Raw::new(json.into()));
        envelope
    };
    let answers = [
        "",
        r#""result":{"resultType":"input_required","inputRequests":{"k":{}},"requestState":"S"}"#,
        r#""result":{"resultType":"task","taskId":"t#","status":"working"}"#,
        r#""result":{}"#,
    ];
    for (answer, count) in answers.into_iter().zip([100_100_u64, 5_000, 5_000, 5_000]) {
        let mut model = Model::new(Limits::LIVE);
        let mut seq = 0;
        for id in 0..count {
            let ask = format!(
                r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"t"}}}}"#
            );
            seq += 1;
            model.ingest(
                &key("s"),
                &frame(seq, true, ask),
                None,
                None,
                &mut Vec::new(),
            );
            if !answer.is_empty() {
                let answer = answer.replace('#', &id.to_string());
                let answer = format!(r#"{{"jsonrpc":"2.0","id":{id},{answer}}}"#);
                seq += 1;
                model.ingest(
                    &key("s"),
                    &frame(seq, false, answer),
                    None,
                    None,
                    &mut Vec::new(),
                );
            }
        }
        let session = model.session(&key("s")).unwrap();
        check_sums(session);
        assert!(session.row_count() <= 200_000);
        assert!(session.calls().filter(|call| call.is_open()).count() <= 100_000);
    }
}
