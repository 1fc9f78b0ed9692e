//! Session-model.md 8.4 and 8.5: refusals that are part of a normal flow, and codes.

use super::*;

pub(super) const ROWS: &[(&str, usize)] = &[("8.4", RESOLVED.len())];

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
const MORE_RESOLVED: [(&str, &str); 33] = [
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
    // A probe that the client gave up, or whose exchange the server closed, got no answer in time.
    (
        "> Q0 server/discover, > N cancelled{0}, > Q1 initialize, < R1 {}, < E0 -32601",
        "cancelled late resolved=era not-errored, completed | errors=0",
    ),
    (
        "> Q0 server/discover, > N cancelled{0}, > Q1 initialize, < R1 {}, < R0 {}",
        "cancelled late resolved=era, completed | errors=0",
    ),
    (
        "> Q0 server/discover, > N cancelled{0}, > Q1 initialize, < E1 -1, < E0 -32601",
        "cancelled late errored, failed | errors=2",
    ),
    (
        "> Q0 ping, > N cancelled{0}, > Q1 initialize, < R1 {}, < E0 -32601",
        "cancelled late errored, completed | errors=1",
    ),
    (
        "> Q1 server/discover [x=1 v=2026-07-28], closed: server [x=1], > Q2 initialize [x=2], < R2 {} [x=2]",
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
        // Cut after it was refused: the refusal stands.
        (
            "> Q1 call t [x=1 v=2026-07-28], < H401 [x=1], < T \"{\"id\":1,\"result\":{\" [trunc x=1]",
            "closed: server [x=1]",
            1,
        ),
        // An answer that overtook its request in an old log.
        (
            "< E1 -32042 [x=1], > Q1 call t [x=1]",
            "> Q2 call t [x=2]",
            0,
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

#[test]
fn a_frame_that_failed_more_than_was_made_good_stays_errored() {
    let greets = "> Q3 initialize{protocolVersion:2025-11-25} [x=8], < R3 {} [x=8]";
    let cases = [
        (
            "> [Q1 server/discover, Q2 call a] [x=7]",
            "< H500 [x=7]",
            "failed resolved not-errored, failed errored, completed | errors=1",
        ),
        (
            "> [Q2 call a, Q1 server/discover] [x=7]",
            "< H500 [x=7]",
            "failed errored, failed resolved not-errored, completed | errors=1",
        ),
        (
            "> [Q2 server/discover, Q1 server/discover] [x=7]",
            "< H500 [x=7]",
            "failed resolved, failed resolved, completed | errors=0",
        ),
    ];
    for (asked, refused, expected) in cases {
        check(&format!("{asked}, {refused}, {greets}"), expected);
    }
}
