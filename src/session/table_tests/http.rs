//! Session-model.md 8: its tables as tests.

use super::*;

pub(super) const ROWS: &[(&str, usize)] = &[
    ("8.1", TRANSPORT.len()),
    ("8.3", CLOSED.len()),
    ("8.4", RESOLVED.len()),
];

const TRANSPORT: [(&str, &str); 14] = [
    (
        "`> Q1 call w [x=7]`, `< H401 [x=7]`",
        "failed http=401 | pending=0 errors=1",
    ),
    (
        "`> Q1 call w [x=7]`, `< T \"<html>\" [x=7 st=502]`",
        "failed http=502 | errors=1",
    ),
    (
        "`> Q1 call w [x=7]`, `< E(null) -32001 [x=7 st=401]`",
        "failed | errors=1 !",
    ),
    (
        "`> Q1 call w [x=7]`, `< E(null) -32600 [x=7 st=200]`",
        "failed | errors=1",
    ),
    (
        "`> [Q1 call a, Q2 call b] [x=7]`, `< H503 [x=7]`",
        "failed http=503, failed http=503 | errors=1",
    ),
    (
        "`> Q1 call w [x=0]`, `< H401 [x=0]`",
        "pending | pending=1 errors=1",
    ),
    (
        "`> Q1 call w [x=5]`, `< H202 [x=5]`",
        "pending | pending=1 errors=0",
    ),
    (
        "`> Q1 call w [x=5]`, `< H503 [x=8]`",
        "pending | pending=1 errors=1",
    ),
    (
        "`> Q1 call w [x=5]`, `< E1 -32020 [x=5 st=400]`",
        "failed | errors=1 mismatch=1",
    ),
    (
        "`> Q1 call b [x=1]`, `< R1 IR{k;st=A} [x=1]`, `> Q2 retry{k;st=A} [x=2]`, `< H502 [x=2]`",
        "failed http=502 hops=2 | pending=0",
    ),
    ("`< H204`", "| errors=0"),
    ("`< H405 [x=3]`", "| errors=0 !"),
    (
        "`> Q1 tools/list [x=4]`, `< H405 [x=4]`",
        "failed http=405 | errors=1",
    ),
    (
        "`> N notifications/initialized [x=5]`, `< H400 [x=5]`",
        "| errors=1",
    ),
];

#[test]
fn http_8_1() {
    for (text, expected) in TRANSPORT {
        check(text, expected);
    }
}

#[test]
fn http_8_1_beside_the_table() {
    let cases = [
        // The other halves of its rows.
        (
            "`> Q1 call w [x=7]`, `< E\"server-error\" -32600 [x=7 st=400]`",
            "failed http=400 | errors=1",
        ),
        ("`< E(null) -32000 [x=3 st=405]`", "| errors=0 !"),
        ("< H405 [x=3 m=GET]", "| errors=0 !"),
        ("< H404 [c=a m=DELETE]", "| errors=0 !"),
        ("< E(null) -32000 [x=3 st=405 m=GET]", "| errors=0 !"),
        // Without exchange nothing is settled.
        (
            "> Q1 call w [c=a], < H401 [c=a]",
            "pending | pending=1 errors=1",
        ),
        ("< H405 [c=a]", "| errors=0"),
        ("> Q1 tools/list [c=a], < H405 [c=a]", "pending | errors=1"),
        // One refusal for a whole batch, with a body.
        (
            "> [Q1 call a, Q2 call b] [x=7], < E(null) -32001 [x=7 st=401]",
            "failed http=401, failed http=401 | errors=1 pending=0",
        ),
        (
            "> [Q1 call a, Q2 call b] [x=7], < E(null) -32001 [x=7 st=200]",
            "pending, pending | errors=1",
        ),
        // What the recorder could not reach certainly never ran.
        (
            "> Q1 call w [x=7], < H502 [x=7 undelivered perr=refused]",
            "failed http=502 undelivered | errors=1",
        ),
        (
            "> Q1 call w [x=7], < H502 [x=7]",
            "failed http=502 not-undelivered | errors=1",
        ),
        // Only -32020 is a verdict on the headers.
        (
            "> Q1 call w [x=5], < E1 -32022 [x=5 st=400]",
            "failed | mismatch=0",
        ),
        ("> Q1 call w, < E1 -32601", "failed | mismatch=0"),
        (
            "> Q1 call w [x=5], < E(null) -32020 [x=6 st=400]",
            "pending | mismatch=1",
        ),
        // Answered before: the rest of the exchange changes nothing (8.2).
        (
            "> Q1 call b [x=1], < R1 IR{k;st=A} [x=1], < H502 [x=1]",
            "input http=0 | errors=1",
        ),
        (
            "> Q1 call b [x=1], < R1 task t working [x=1], < H502 [x=1]",
            "task http=0 | errors=1",
        ),
    ];
    for (text, expected) in cases {
        check(text, expected);
    }
}

/// All but the last under a modern revision.
const CLOSED: [(&str, &str); 6] = [
    (
        "`> Q1 call t [x=4]`, `closed: client [x=4]`",
        "cancelled | pending=0 errors=0",
    ),
    (
        "`> Q1 call t [x=4]`, `closed: server [x=4]`",
        "failed lost errored | errors=1",
    ),
    (
        "`> Q1 call t [x=4]`, `< T \"{\"id\":1,\"result\":{\" [trunc x=4]`, `closed: server [x=4]`",
        "failed lost errored not-result_truncated | errors=1",
    ),
    (
        "`> Q1 call t [x=4]`, `closed: server, shutdown [x=4]`",
        "pending uncertain | pending=1 errors=0 owed=0",
    ),
    (
        "`> Q1 subscriptions/listen [x=4]`, `closed: server [x=4]`",
        "failed lost not-errored | errors=0",
    ),
    (
        "declared 2025-11-25: `> Q1 call t [x=4]`, `closed: client [x=4]`",
        "pending uncertain | pending=1 owed=0 ! client-disconnected@1",
    ),
];

/// The script with its first request declared as the row says.
fn declared(row: &str) -> String {
    let (version, text) = match row.strip_prefix("declared ") {
        Some(rest) => rest.split_once(": ").unwrap(),
        None => ("2026-07-28", row),
    };
    text.replacen("[x=4]", &format!("[x=4 v={version}]"), 1)
}

#[test]
fn closed_exchanges_8_3() {
    for (text, expected) in CLOSED {
        check(&declared(text), expected);
    }
    fold(&declared(CLOSED[1].0), Limits::NONE, |session| {
        assert!(session.row(0).unwrap().flags.errored);
        let call = session.calls().next().unwrap().into_owned();
        assert_eq!(call.status(), DisplayStatus::Lost);
    });
    fold(&declared(CLOSED[0].0), Limits::NONE, |session| {
        let call = session.calls().next().unwrap().into_owned();
        let reason = call.cancel_reason.as_deref();
        assert_eq!(reason, Some("client closed the response stream"));
    });
}

#[test]
fn closed_exchanges_8_3_beside_the_table() {
    let cases = [
        // An answer that comes after all.
        (
            "> Q1 call t [x=4], @10 closed: server [x=4], @30 < R1 {} [c=b x=5]",
            "completed not-lost not-errored 30ms | errors=0",
        ),
        (
            "> Q1 call t [x=4], closed: server [x=4], < R1 IR{k;st=A} [x=5]",
            "input not-lost | errors=0 parked=1",
        ),
        (
            "> Q1 call t [x=4], closed: server [x=4], < E1 -1 [x=5]",
            "failed not-lost errored | errors=1",
        ),
        (
            "> Q1 call t [x=4], @10 closed: client [x=4], @30 < R1 {} [x=5]",
            "cancelled late 30ms | errors=0 late_results=1",
        ),
        // It was answered before.
        (
            "> Q1 call t [x=4], < R1 {} [x=4], closed: client [x=4]",
            "completed | !",
        ),
        (
            "> Q1 call t [x=4], < R1 {} [x=4], closed: server [x=4]",
            "completed |",
        ),
        (
            "> Q1 call t [x=4], < R1 IR{k;st=A} [x=4], closed: server [x=4]",
            "input |",
        ),
        // Streams are resumable up to 2025-11-25, and nobody knows of those that declare nothing.
        (
            "declared 2025-11-25: > Q1 call t [x=4], closed: server [x=4]",
            "pending | errors=0 !",
        ),
        (
            "declared latest: > Q1 call t [x=4], closed: client [x=4]",
            "pending uncertain | owed=0 ! client-disconnected@1",
        ),
        (
            "> Q1 call t [x=4], closed: client, shutdown [x=4]",
            "pending uncertain | !",
        ),
        // The answer may lie in a lost frame.
        (
            "#1 > Q1 call t [x=4], #3 closed: server [x=4]",
            "pending uncertain | errors=0 owed=0",
        ),
        // Another exchange, and a cut answer that is not the last frame of its own.
        (
            "> Q1 call t [x=4], closed: server [x=5]",
            "pending | errors=0",
        ),
        (
            "> Q1 call t [x=4], < T \"{\"id\":1,\"result\":{\" [trunc x=4], < N message [x=4], closed: server [x=4]",
            "completed result_truncated | errors=0 truncated=1",
        ),
        (
            "> Q1 call t [x=4], < T \"{\"id\":1,\"result\":{\" [trunc x=4]",
            "completed result_truncated | errors=0",
        ),
        (
            "> Q1 call t [x=4], < T \"{\"id\":1,\"result\":{\" [trunc x=4], closed: client [x=4]",
            "cancelled | errors=0",
        ),
        (
            "declared 2025-11-25: > Q1 call t [x=4], < T \"{\"id\":1,\"error\":{\" [trunc x=4], closed: client [x=4]",
            "pending uncertain not-errored | errors=0 ! client-disconnected@1",
        ),
        // A cut answer after the cancellation was none.
        (
            "> Q1 call t [x=4], > N cancelled{1} [x=5], < T \"{\"id\":1,\"error\":{\" [trunc x=4], closed: server [x=4]",
            "cancelled not-late not-errored | errors=0 late_results=0",
        ),
        (
            "> Q1 subscriptions/listen [x=4], closed: client [x=4]",
            "cancelled | errors=0 streaming=0",
        ),
        (
            "> Q1 subscriptions/listen [x=4], closed: server, shutdown [x=4]",
            "streaming | errors=0",
        ),
    ];
    for (text, expected) in cases {
        check(&declared(text), expected);
    }
    let long = format!(
        "> Q1 call t [x=4], < T \"{{\"id\":1,\"result\":{{{}\" [trunc x=4], closed: server [x=4]",
        "a".repeat(64 << 10)
    );
    check(&declared(&long), "completed result_truncated | errors=0");
}

const RESOLVED: [(&str, &str); 7] = [
    (
        "`> Q1 call t [x=1]`, `< H401 ch=\"Bearer…\" [x=1]`",
        "failed | errors=1",
    ),
    (
        "… `> Q1 call t [x=2]` (resent), `< R1 {} [x=2]`",
        "failed resolved=auth not-errored, completed | errors=0 superseded=0",
    ),
    (
        "`> Q1 server/discover`, `< E1 -32601`, `> Q2 initialize`, `< R2 {…}`",
        "failed resolved=era, completed | errors=0",
    ),
    (
        "HTTP, or with other requests around it: `> Q1 server/discover [x=1]`, `< E1 -32601 [x=1]`",
        "failed errored | errors=1",
    ),
    (
        "stdio, nothing else: `> Q1 server/discover`, `< E1 -32601`",
        "failed resolved=era | errors=0",
    ),
    (
        "`> Q1 server/discover`, `> Q2 initialize`, `< R2 {…}`",
        "pending resolved=era, completed | errors=0 owed=0",
    ),
    (
        "handshake, `> Q5 tools/list [x=9]`, `< E(null) -32001 [x=9 st=404]`, `> Q6 initialize [x=10]`, `< R6 {…} [x=10]`",
        "completed, failed resolved=session http=404, completed | errors=0",
    ),
];

const HANDSHAKE: &str = "> Q1 initialize{2025-11-25} [x=1], < R1 {2025-11-25} [x=1]";

#[test]
fn resolved_8_4() {
    let mut before = String::new();
    for (text, expected) in RESOLVED {
        let text = text.rsplit_once(": `").map_or(text, |(_, script)| script);
        let text = match (text.strip_prefix("… "), text.strip_prefix("handshake, ")) {
            (Some(more), _) => format!("{before}, {more}"),
            (_, Some(more)) => format!("{HANDSHAKE}, {more}"),
            _ => text.to_owned(),
        };
        check(&text, expected);
        before = text;
    }
}

/// Refusals that are made good, and look-alikes that stay errors.
const MORE_RESOLVED: [(&str, &str); 28] = [
    // auth: the same operation, sent later, without HTTP failure.
    (
        "> Q1 call t [x=1], < H403 ch=\"Bearer error=insufficient_scope\" [x=1], > Q2 call t [x=2], < E2 -1 [x=2]",
        "failed resolved=auth, failed errored | errors=1",
    ),
    (
        "> Q1 call t [x=1], < H401 [x=1], > Q2 call t [x=2], < R2 {} [x=2]",
        "failed errored, completed | errors=1",
    ),
    (
        "> Q1 call t [x=1], < H403 ch=\"Bearer\" [x=1], > Q2 call t [x=2], < R2 {} [x=2]",
        "failed errored, completed | errors=1",
    ),
    (
        "> Q1 call t [x=1], < H401 ch=\"Bearer\" [x=1], > Q2 call u [x=2], < R2 {} [x=2]",
        "failed errored, completed | errors=1",
    ),
    (
        "> Q1 call t [x=1], < H401 ch=\"Bearer\" [x=1], > Q2 call t [x=2], < H500 [x=2]",
        "failed errored, failed errored | errors=2",
    ),
    (
        "> Q1 call t [x=1], > Q2 call t [x=2], < H401 ch=\"Bearer\" [x=1], < R2 {} [x=2]",
        "failed errored, completed | errors=1",
    ),
    (
        "> Q1 call t [x=1 peer=p], < H401 ch=\"Bearer\" [x=1], > Q2 call t [x=2 peer=q], < R2 {} [x=2]",
        "failed resolved=auth, completed | errors=0",
    ),
    (
        "> Q1 call t [c=a:1 x=1], < H401 ch=\"Bearer\" [c=a:1 x=1], > Q1 call t [c=b:1 x=2], < R1 {} [c=b:1 x=2]",
        "failed errored, completed | errors=1",
    ),
    // One frame refused two calls: it stays an error until both are made good.
    (
        "> [Q1 call a, Q2 call b] [x=1], < H401 ch=\"Bearer\" [x=1], > Q3 call a [x=2], < R3 {} [x=2]",
        "failed resolved=auth, failed errored, completed | errors=1",
    ),
    (
        "> [Q1 call a, Q2 call b] [x=1], < H401 ch=\"Bearer\" [x=1], > Q3 call a [x=2], < R3 {} [x=2], > Q4 call b [x=3], < R4 {} [x=3]",
        "failed resolved=auth, failed resolved=auth, completed, completed | errors=0",
    ),
    // An exchange without a request.
    (
        "< H401 ch=\"Bearer\" [x=1 m=GET], < H200 [x=2 m=GET]",
        "| errors=0",
    ),
    (
        "> N initialized [x=1], < H401 ch=\"Bearer\" [x=1], > N initialized [x=2], < H202 [x=2]",
        "| errors=0",
    ),
    (
        "< H401 ch=\"Bearer\" [x=1 m=GET], < H403 [x=2 m=GET]",
        "| errors=2",
    ),
    // session
    (
        "> Q1 initialize{2025-11-25} [x=1], < R1 {2025-11-25} [x=1], > Q5 tools/list [x=9], < E5 -32001 [x=9 st=404], > Q6 initialize [x=10], < R6 {} [x=10]",
        "completed, failed errored, completed | errors=1",
    ),
    (
        "> Q1 initialize{2025-11-25} [x=1], < R1 {2025-11-25} [x=1], > Q5 tools/list [x=9], < H404 [x=9], > Q6 initialize [x=10], < E6 -1 [x=10]",
        "completed, failed errored, failed errored | errors=2",
    ),
    (
        "> Q1 initialize{2025-11-25} [x=1], < R1 {2025-11-25} [x=1], > Q5 tools/list [x=9], < H400 [x=9], > Q6 initialize [x=10], < R6 {} [x=10]",
        "completed, failed errored, completed | errors=1",
    ),
    (
        "> Q1 initialize{clientInfo:{name:a}} [x=1], < R1 {} [x=1], > Q5 tools/list [x=9], < H404 [x=9], > Q6 initialize{clientInfo:{name:b}} [x=10], < R6 {} [x=10]",
        "completed, failed errored, completed | errors=1",
    ),
    // version
    (
        "> Q1 call t [v=2027-01-01], < E1 -32022 {supported:[2026-07-28]}, > Q2 call t [v=2026-07-28]",
        "failed resolved=version, pending | errors=0",
    ),
    (
        "> Q1 call t [v=2027-01-01], < E1 -32022 {supported:[2026-07-28]}, > Q2 call t [v=2027-01-01]",
        "failed errored, pending | errors=1",
    ),
    (
        "> Q1 call t [v=2027-01-01], < E1 -32022, > Q2 call t [v=2026-07-28]",
        "failed errored, pending | errors=1",
    ),
    (
        "> Q1 call t [v=2027-01-01 red], < E1 -32022 {supported:[\"[R]\"]} [red], > Q2 call t [v=2026-07-28]",
        "failed errored, pending | errors=1",
    ),
    // elicitation
    (
        "> Q1 call t, < E1 -32042, > Q2 call t",
        "failed resolved=elicitation, pending | errors=0",
    ),
    (
        "> Q1 call t, < E1 -32042, > Q2 call u",
        "failed errored, pending | errors=1",
    ),
    (
        "> Q1 call t [v=2026-07-28], < E1 -32042, > Q2 call t [v=2026-07-28]",
        "failed errored, pending | errors=1 ! retired-code@2",
    ),
    // A probe beside other requests, and a greeting that is not of the old kind or fails.
    (
        "> Q1 server/discover, < E1 -32601, > Q2 ping",
        "failed errored, pending | errors=1",
    ),
    (
        "> Q0 ping [x=1], < R0 {} [x=1], > Q1 server/discover [x=2], < E1 -32601 [x=2], > Q2 initialize [x=3], < E2 -1 [x=3]",
        "completed, failed errored, failed errored | errors=2",
    ),
    // An answer that comes later does not undo it.
    (
        "> Q1 server/discover, > Q2 initialize, < R2 {}, < E1 -32601",
        "failed resolved=era not-errored, completed | errors=0",
    ),
    (
        "> Q1 server/discover [x=1], > Q2 initialize [x=2], < R2 {} [x=2], < H500 [x=1]",
        "failed resolved=era not-errored, completed | errors=0",
    ),
];

#[test]
fn resolved_8_4_beside_the_table() {
    for (text, expected) in MORE_RESOLVED {
        check(text, expected);
    }
}

#[test]
fn retired_codes_8_5() {
    let cases = [
        (
            "> Q1 resources/read [v=2026-07-28], < E1 -32002",
            "! retired-code@2",
        ),
        ("> Q1 resources/read [v=2025-11-25], < E1 -32002", "!"),
        ("> Q1 resources/read, < E1 -32002", "!"),
        ("> Q1 resources/read [v=2026-07-28], < E1 -32602", "!"),
        ("> Q1 resources/read [v=2026-07-28], < E1 -32001", "!"),
        ("< Q1 roots/list [v=2026-07-28], > E1 -32002", "!"),
    ];
    for (text, remarks) in cases {
        check(text, &format!("failed errored | errors=1 {remarks}"));
    }
}

/// A refusal is no answer of the tool (session-model.md 17).
#[test]
fn a_resolved_refusal_is_no_error_and_no_duration_of_its_tool() {
    let text = "> Q1 call t [x=1], @3 < H401 ch=\"Bearer\" [x=1], @100 > Q1 call t [x=2], @180 < R1 {} [x=2]";
    fold(text, Limits::NONE, |session| {
        let tool = &session.tools()["t"];
        let errors = tool.protocol_errors + tool.tool_errors;
        assert_eq!((tool.calls, errors), (2, 0));
        assert_eq!(tool.durations.percentile(50), 80_000_000);
        assert_eq!(tool.durations.len(), 1);
    });
}

/// What a later frame may change is kept, whatever was dropped (session-model.md 22.2).
#[test]
fn figures_stay_exact_when_refused_or_lost_calls_lost_their_rows() {
    let limits = Limits {
        body_bytes: Some(1),
        rows: Some(1),
    };
    let pings = "> Q8 ping [x=8], < R8 {} [x=8], > Q9 ping [x=9], < R9 {} [x=9]";
    for (first, then, errors) in [
        (
            "> Q1 call t [x=1], < H401 ch=\"Bearer\" [x=1]",
            "> Q2 call t [x=2], < R2 {} [x=2]",
            0,
        ),
        (
            "> Q1 call t [x=1], < H401 ch=\"Bearer\" [x=1]",
            "> Q2 call t [x=2], < H401 ch=\"Bearer\" [x=2]",
            2,
        ),
        (
            "> Q1 call t [x=1 v=2026-07-28], closed: server [x=1]",
            "< R1 {} [x=2]",
            0,
        ),
        (
            "> Q1 call t [x=1 v=2026-07-28], < T \"{\"id\":1,\"result\":{\" [trunc x=1]",
            "closed: server [x=1]",
            1,
        ),
    ] {
        let text = [first, pings, then].join(", ");
        fold(&text, limits, |session| {
            assert_eq!(session.counters().errors, errors, "{text}");
            assert_eq!(session.tools()["t"].protocol_errors, errors, "{text}");
            assert!(session.row_count() <= 1, "{text}");
        });
        fold(&text, Limits::NONE, |session| {
            assert_eq!(session.counters().errors, errors, "{text}");
        });
    }
}

/// Every way in which a client that tries the newest revision falls back to an older server.
#[test]
fn falling_back_gives_no_warning_and_no_error() {
    let greeting = "> Q2 initialize{protocolVersion:2025-11-25} [x=2], < R2 {protocolVersion:2025-11-25} [x=2], > N initialized [x=3], < H202 [x=3], > Q3 tools/list [x=4], < R3 {tools:[s]} [x=4]";
    let ways = [
        "< E1 -32601 [x=1]",
        "< E1 -32600 [x=1]",
        "< E1 -32000 [x=1]",
        "< E1 -32602 [x=1]",
        "< E(null) -32000 [x=1 st=400]",
        "< E\"server-error\" -32600 [x=1 st=400]",
        "< E1 -32022 {supported:[2025-11-25,2025-06-18]} [x=1 st=400]",
        "< E1 -32022 {supported:[2025-06-18]} [x=1 st=400]",
        "< E1 -32022 [x=1]",
        "< H400 [x=1]",
        "< H404 [x=1]",
        "< H405 [x=1]",
        "< T \"Not found\" [x=1 st=404]",
        "",
    ];
    let discover = "> Q1 server/discover{_meta 2026-07-28, clientInfo X} [x=1 v=2026-07-28]";
    for way in ways {
        let text = [discover, way, greeting].join(", ").replace(", ,", ",");
        assert_falls_back(&text);
        let is_http = way.contains("st=") || way.starts_with("< H");
        if !is_http {
            let mut text = text
                .replace(", < H202 [x=3]", "")
                .replace(" v=2026-07-28", "");
            for exchange in 1..=4 {
                text = text.replace(&format!(" [x={exchange}]"), "");
            }
            assert!(!text.contains("[x="));
            assert_falls_back(&text);
        }
    }
    // In a process of its own, and in one that did not wait.
    fold(
        &discover.replace(" [x=1 v=2026-07-28]", ", < E1 -32022"),
        Limits::NONE,
        |session| {
            assert_eq!(
                (session.counters().errors, session.health()),
                (0, Health::Ok)
            );
            assert_eq!(session.era(), Era::Unknown);
        },
    );
    assert_falls_back(
        "> Q1 server/discover{_meta 2026-07-28}, > Q2 initialize, < E1 -32601, < R2 {2025-11-25}",
    );
}

#[track_caller]
fn assert_falls_back(text: &str) {
    fold(text, Limits::NONE, |session| {
        let counters = session.counters();
        let found = (counters.errors, counters.warnings, counters.invalid);
        assert_eq!(found, (0, 0, 0), "{text}\n{:?}", remarks_of(session));
        assert_eq!(session.health(), Health::Ok, "{text}");
        assert_eq!(session.era(), Era::Legacy, "{text}");
        assert_eq!(session.protocol_version(), Some("2025-11-25"), "{text}");
        assert!(!session.is_mixed(), "{text}");
    });
}
