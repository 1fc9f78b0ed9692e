//! Session-model.md 8.1 to 8.3: its tables as tests.

use super::*;

pub(super) const ROWS: &[(&str, usize)] = &[("8.1", TRANSPORT.len()), ("8.3", CLOSED.len())];

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
            "pending not-uncertain | errors=0 ! server-disconnected@1",
        ),
        (
            "declared 2025-11-25: > Q1 call t [x=4], closed: server, shutdown [x=4]",
            "pending uncertain | errors=0 !",
        ),
        (
            "declared 2025-11-25: > Q1 call t [x=4], < R1 {} [x=4], closed: server [x=4]",
            "completed | errors=0 !",
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

#[test]
fn what_is_told_again_of_an_exchange_concerns_the_requests_since() {
    let closed = "closed: client [x=4]";
    let cases = [
        (
            format!("> Q1 call t [x=4 v=2025-11-25], {closed}, {closed}"),
            "pending uncertain | ! client-disconnected@1",
        ),
        (
            format!(
                "> Q1 call t [x=4 v=2025-11-25], {closed}, > Q2 call u [x=4 v=2025-11-25], {closed}"
            ),
            "pending uncertain, pending uncertain | ! client-disconnected@1 client-disconnected@3",
        ),
        // What a response that went by unread did is no reason to tell it less.
        (
            format!("> Q1 call t [x=4 v=2025-11-25], < H200 [unobserved x=4], {closed}"),
            "pending uncertain | ! client-disconnected@1",
        ),
        // Nobody waited in between: the exchange is as new.
        (
            format!(
                "> Q1 call t [x=4 v=2025-11-25], {closed}, < R1 {{}} [x=4], > Q2 call u [x=4 v=2025-11-25], {closed}"
            ),
            "completed, pending uncertain | ! client-disconnected@1 client-disconnected@4",
        ),
        (
            "> Q1 call t [x=4], < H200 [unobserved x=4], > Q2 call u [x=4]".to_owned(),
            "pending uncertain, pending not-uncertain | !",
        ),
    ];
    for (text, expected) in cases {
        check(&text, expected);
    }
}
