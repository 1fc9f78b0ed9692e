//! Session-model.md 3 and the findings of 4.2: their tables as tests.

use super::*;

pub(super) const ROWS: &[(&str, usize)] = &[
    ("3.2", KINDS.len()),
    ("3.3", BATCHES.len()),
    ("3.4", CUT.len()),
    ("4.2", IDS.len()),
];

const KINDS: &[(&str, Kind, &str)] = &[
    (r#"`< T "Listening on 3000"`"#, Kind::Invalid, ""),
    (r#"`< {"hello":1}`"#, Kind::Invalid, ""),
    (r#"`< {"id":1}`"#, Kind::Invalid, ""),
    (
        r#"`< {"jsonrpc":"2.0","id":100}`"#,
        Kind::Response,
        "response-empty@1",
    ),
    (
        r#"`> {"id":1,"method":"tools/list"}`"#,
        Kind::Request,
        "jsonrpc-missing@1",
    ),
    (
        r#"`> {"jsonrpc":"2.0","ID":1,"method":"x"}`"#,
        Kind::Notification,
        "",
    ),
    (
        r#"`< {"jsonrpc":"2.0","id":1,"result":null}`"#,
        Kind::Response,
        "response-unmatched@1",
    ),
    (
        r#"`< {"jsonrpc":"2.0","id":1,"error":"boom"}`"#,
        Kind::Response,
        "error-shape@1 response-unmatched@1",
    ),
    (
        r#"`< {"error":"invalid_token"} [st=401]`"#,
        Kind::Transport,
        "",
    ),
    (
        r#"`< {"error":{"message":"no route"}} [st=404]`"#,
        Kind::Transport,
        "",
    ),
    (
        r#"`< T "<html>" [st=502]` / `< T "Accepted" [st=202]`"#,
        Kind::Transport,
        "",
    ),
    (r#"`< T "<html>" [st=200]`"#, Kind::Invalid, ""),
    (
        r#"`< {"jsonrpc":"2.0","id":1,"error":{…}} [st=400]`"#,
        Kind::Response,
        "",
    ),
    ("`< H202` / `< H401`", Kind::Transport, ""),
    (r#"`< T "/messages?s=1" [event=endpoint]`"#, Kind::Other, ""),
    (r#"`stderr "debug"`"#, Kind::Stderr, ""),
    (r#"`< T "" with trunc`"#, Kind::Other, ""),
];

#[test]
fn kinds_3_2() {
    for (text, kind, remarks) in KINDS {
        check_kind(text, *kind, remarks);
    }
    check(r#"stderr "debug""#, "| stderr=1 errors=0");
}

const BATCHES: &[(&str, &str)] = &[
    (
        "`> [Q1 call a, Q2 call b, N n]` then `< [R2, R1]`",
        "completed name=a, completed name=b | requests=2 responses=2 notifications=1 missing=0 !",
    ),
    ("`> []`", "| invalid=1 frames=1 !"),
    ("`> [5, Q1 ping]`", "pending | invalid=1 requests=1 !"),
];

#[test]
fn batches_3_3() {
    for (text, expected) in BATCHES {
        check(text, expected);
    }
}

/// A session that agreed on a revision, then more.
fn greeted(revision: &str, more: &str) -> String {
    format!(
        "> Q0 initialize{{protocolVersion:{revision}}}, < R0 {{protocolVersion:{revision}}}\n{more}"
    )
}

#[test]
fn batches_are_removed_from_2025_06_18_on() {
    let twice = "> [Q1 ping, Q2 ping]\n< [R1 {}, R2 {}]";
    let done = "completed, completed, completed";
    for (revision, remarks) in [
        ("2024-11-05", ""),
        ("2025-03-26", ""),
        ("2025-06-18", "batch-removed@3 batch-removed@5"),
        ("2025-11-25", "batch-removed@3 batch-removed@5"),
        ("next-one", ""),
    ] {
        check(&greeted(revision, twice), &format!("{done} | ! {remarks}"));
    }
    let cases = [
        // Nobody knows the revision, or the element declares one itself.
        (twice.to_owned(), "completed, completed | !"),
        (
            "> [Q1 ping, Q2 ping] [v=2026-07-28]".to_owned(),
            "pending, pending | ! batch-removed@1",
        ),
        (
            "> [Q1 ping, Q2 ping] [v=2025-03-26]".to_owned(),
            "pending, pending | !",
        ),
        // A greeting may lie in the gap.
        (
            greeted("2025-11-25", "#9 > [Q1 ping]"),
            "completed, pending | ! batch-removed@9?",
        ),
        // The first element is no object: that is said already.
        (
            greeted("2025-11-25", "> [5, Q1 ping]"),
            "completed, pending | invalid=1 !",
        ),
    ];
    for (text, expected) in cases {
        check(&text, expected);
    }
    // The scope of one client says nothing of another.
    check(
        "> Q0 initialize{protocolVersion:2025-11-25} [c=a x=1], < R0 {protocolVersion:2025-11-25} [c=a x=1 peer=p], > [Q1 ping, Q2 ping] [c=b x=2 peer=q]",
        "completed, pending, pending | !",
    );
}

#[test]
fn an_array_in_one_envelope_and_its_elements_apart_are_one_batch() {
    let template = script::session(&greeted("2025-11-25", "> [Q1 ping, Q2 ping]")).unwrap();
    let fold_all = |envelopes: &[crate::record::Envelope]| {
        let mut model = Model::new(Limits::NONE);
        for envelope in envelopes {
            model.ingest(&key(), envelope, None, None, &mut Vec::new());
        }
        let session = model.session(&key()).unwrap();
        (remarks_of(session), session.counters().requests)
    };
    // Old recorders: elements without place, or the array as a whole.
    let mut placeless = template.clone();
    for envelope in &mut placeless {
        (envelope.batch_index, envelope.batch_size) = (0, 0);
    }
    let mut whole = template[..3].to_vec();
    whole[2].batch = false;
    let array =
        br#"[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"ping"}]"#;
    whole[2].payload = crate::record::Payload::Raw(crate::wire::Raw::new(array.as_slice().into()));
    for envelopes in [template, placeless, whole] {
        let expected = (vec!["batch-removed@3".to_owned()], 3);
        assert_eq!(fold_all(&envelopes), expected);
    }
}

const CUT: &[(&str, &str)] = &[
    (
        r#"`> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"big","arguments":{"b":"AAA [trunc]`, `< R1 {}`"#,
        "completed name=big request_truncated | invalid=0 errors=0 !",
    ),
    (
        r#"`> {"params":{"x":"AAA [trunc]`, `< R1 {}`, `< R99 {}`"#,
        "| errors=0 invalid=0 ! response-unmatched@3",
    ),
    (
        r#"`> Q1 call t`, `< {"jsonrpc":"2.0","id":1,"result":{"content":[ [trunc]`"#,
        "completed result_truncated | pending=0 !",
    ),
    (
        r#"`> Q1 call t`, `< {"result":{"content":[ [trunc]`"#,
        "pending uncertain | pending=1 uncertain=1 owed=0 !",
    ),
    (
        r#"`> Q1 call t`, `< T "…" [trunc peek={id:1,has:result}]`"#,
        "completed result_truncated | !",
    ),
    (
        "`> Q1 call t [x=4]`, `< H200 unobserved [x=4]`",
        "pending uncertain | pending=1 errors=0 !",
    ),
];

#[test]
fn truncated_3_4() {
    for (text, expected) in CUT {
        check_later(text, expected);
    }
    let more = [
        // A request body that went by unread excuses one answer.
        ("unobserved\n< R5 {}\n< R6 {}", "| ! response-unmatched@3"),
        // A cut answer excuses none, and is not judged itself.
        ("< {\"result\":{\"content\":[ [trunc]\n> R5 {}", "| ! "),
        ("> {\"result\":{\"content\":[ [trunc]\n< R5 {}", "| ! "),
        ("< {\"id\":5,\"result\":{\"content\":[ [trunc]", "| !"),
        (
            "> Q1 ping, < R1 {}\n< {\"id\":1,\"result\":{\"content\":[ [trunc]",
            "completed | !",
        ),
        // The error of a server that could not read it takes nothing off.
        (
            "> {\"params\":{\"x\":\"AAA [trunc]\n< E(null) -32700\n< R1 {}",
            "| errors=1 ! error-without-request@2",
        ),
    ];
    for (text, expected) in more {
        check_later(text, expected);
    }
}

const IDS: &[(&str, &str)] = &[
    ("> Q1 a, < R1.0 {}", "completed | !"),
    ("> Q1 a, < R\"1\" {}", "pending | ! response-id-type@2"),
    ("> Q\"\\u0061\" a, < R\"a\" {}", "completed | !"),
    (
        "> Q9007199254740993 a, < R9007199254740992 {}",
        "pending | ! response-unmatched@2",
    ),
    ("> Q-0 a, < R0 {}", "completed | !"),
    ("> Q1.5 a, < R1.5 {}", "completed | ! id-not-integer@1"),
    ("> Q1e400000 a, < R10e399999 {}", "completed | !"),
    (
        "> Qnull a, > Qnull b",
        "pending, pending | ! id-null@1 id-null@2",
    ),
    (
        "> Qtrue a, < Rtrue {}, > Q[] b, > Q{} c",
        "completed, pending, pending | ! id-type@1 id-type@3 id-type@4",
    ),
    ("> N a", "| notifications=1 !"),
    ("> Q[R] a [red], > Q[R] b [red]", "pending, pending | !"),
];

#[test]
fn ids_4_2() {
    for (text, expected) in IDS {
        let counts = expected.contains("notifications=");
        check(
            &if counts {
                (*text).to_owned()
            } else {
                later(text)
            },
            expected,
        );
    }
    let more = [
        ("> Q10e-1 a, < R1e0 {}", "completed | !"),
        (
            "> Q1e3 a, > Q-7 b, > Q\"\" c",
            "pending, pending, pending | !",
        ),
        ("> Q1e-1 a", "pending | ! id-not-integer@1"),
        // Without its mark the placeholder is an ordinary string.
        (
            "> Q[R] a, > Q[R] b",
            "superseded, pending | ! id-reused-in-flight@2",
        ),
        // Answers are judged by what they answer.
        ("< E(null) -32700", "| errors=1 ! error-without-request@1"),
    ];
    for (text, expected) in more {
        check_later(text, expected);
    }
}

#[test]
fn a_direction_that_no_format_knows_is_the_recorders() {
    let mut frames = script::session("> Q1 ping, < R1 {}, stderr \"x\"").unwrap();
    frames[0].direction = crate::record::Direction::Unknown("side\x1bways".into());
    let mut model = Model::new(Limits::NONE);
    for frame in &frames[..1] {
        model.ingest(&key(), frame, None, None, &mut Vec::new());
    }
    let session = model.session(&key()).unwrap();
    assert_eq!(remarks_of(session), ["unknown-direction@1"]);
    assert_eq!(session.row(0).unwrap().kind, Kind::Other);
    let text = &session.extra(session.row(0).unwrap().id).unwrap().remarks[0].text;
    assert!(
        text.starts_with("recorder: ") && !text.contains('\x1b'),
        "{text}"
    );
}

#[test]
fn however_many_directions_a_recorder_invents_the_known_ones_stay() {
    let known = script::session("> Q1 ping, < R1 {}, stderr \"x\"").unwrap();
    let mut frames: Vec<_> = (0..40).map(|_| known[0].clone()).collect();
    for (at, frame) in frames.iter_mut().enumerate() {
        frame.direction = crate::record::Direction::Unknown(format!("d{at}").into());
    }
    frames.extend(known);
    let mut model = Model::new(Limits::NONE);
    for (seq, frame) in (1..).zip(&mut frames) {
        frame.seq = crate::record::Seq(seq);
        model.ingest(&key(), frame, None, None, &mut Vec::new());
    }
    let session = model.session(&key()).unwrap();
    for (position, frame) in frames.iter().enumerate().skip(40) {
        assert_eq!(*session.row(position).unwrap().direction, frame.direction);
    }
}

#[test]
fn a_message_that_nests_too_deep_is_still_one() {
    let depth = crate::wire::json::MAX_DEPTH + 10;
    let deep = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    let texts = [
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"x":{deep}}}}}"#),
        format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"x":{deep}}}}}"#),
        format!("{{\"x\":{deep}"),
    ];
    let mut template = script::session("> T \"a\", < T \"a\", < T \"a\"").unwrap();
    let mut model = Model::new(Limits::NONE);
    for (envelope, text) in template.iter_mut().zip(texts) {
        envelope.payload = crate::record::Payload::Text(text.into_bytes().into());
        model.ingest(&key(), envelope, None, None, &mut Vec::new());
    }
    let session = model.session(&key()).unwrap();
    let kinds: Vec<_> = (0..3).map(|at| session.row(at).unwrap().kind).collect();
    assert_eq!(kinds, [Kind::Request, Kind::Response, Kind::Invalid]);
    check_session("deep", session, "completed name=- | invalid=1 warnings=0 !");
    let unparsed = |at| {
        let extra = session.extra(session.row(at).unwrap().id);
        extra.is_some_and(|extra| extra.unparsed_body)
    };
    assert_eq!([unparsed(0), unparsed(1), unparsed(2)], [true, true, false]);
}
