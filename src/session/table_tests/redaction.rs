//! Session-model.md 21: its tables as tests, those rows that correlation and classification read.

use super::*;

pub(super) const ROWS: &[(&str, usize)] = &[("21", PAGE.len())];

const PAGE: &[(&str, &str)] = &[
    (
        r#"`> {"jsonrpc":"[R]","id":1,"method":"ping"} [red]`"#,
        "pending | !",
    ),
    (
        r#"`> {"jsonrpc":"[R]","id":1,"method":"ping"}`"#,
        "pending | ! jsonrpc-version@1",
    ),
    (
        r#"`> Q1 ping`, `< {"jsonrpc":"2.0","id":1,"error":"[R]"} [red]`"#,
        "failed errored | !",
    ),
    (
        "`> Q[R] call t [red x=4]`, `< R[R] {} [red x=4]`",
        "completed | !",
    ),
    (
        "`> Q1 tasks/get{[R]} [red]`, `> Q2 tasks/get{[R]} [red]`",
        "pending, pending | !",
    ),
];

#[test]
fn redaction_21() {
    for (text, expected) in PAGE {
        check(text, expected);
    }
}

#[test]
fn a_redacted_request_id_cancels_nothing() {
    check(
        "> Q1 call t, > N cancelled{[R]} [red], > N cancelled{1} [red]",
        "cancelled | !",
    );
    check(
        "> Q[R] call t, > N cancelled{[R]} [red], > N cancelled{[R]} (unmarked)",
        "cancelled | !",
    );
}

#[test]
fn an_error_that_redaction_took_away_settles_its_call() {
    let text =
        |error: &str, marks: &str| format!("> Q1 x\n< {{\"id\":1,\"error\":{error}}} {marks}");
    check(&text("\"[R]\"", "[red]"), "failed errored | errors=1 !");
    check(&text("\"[R]\"", ""), "pending | invalid=1 !");
}

#[test]
fn what_hides_its_id_may_have_ended_a_request_before_the_id_comes_again() {
    let again = |between: &str| format!("> Q1 call a\n{between}\n> Q1 call b\n@90 < R1 {{}}");
    for between in [
        "< R[R] {} [red]",
        "> N cancelled{[R]} [red]",
        "> {\"jsonrpc\":\"2.0\",\"method\":\"[R]\",\"params\":{\"requestId\":1}} [red]",
        "> {\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":\"[R]\"} [red]",
        "> {\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"reason\":\"AAA [trunc]",
        "> {\"params\":{\"reason\":\"AAA [trunc]",
    ] {
        let expected = "superseded uncertain, completed | ! id-reused-in-flight@3?";
        check(&again(between), expected);
    }
    // Unmarked placeholders, other frames, other ids, and frames before the request hide nothing.
    for between in [
        "< R[R] {} ",
        "> N cancelled{[R]}",
        "> N x{[R]} [red]",
        "< N x{[R]} [red]",
        "> N cancelled{7} [red]",
    ] {
        fold(&again(between), Limits::NONE, |session| {
            let remarks = remarks_of(session);
            assert!(
                remarks.contains(&"id-reused-in-flight@3".to_owned()),
                "{between}: {remarks:?}"
            );
        });
    }
    check(
        "> Q9 x, < R9 {}, > N cancelled{[R]} [red], > Q1 call a, > Q1 call b",
        "completed, superseded, pending | ! id-reused-in-flight@5",
    );
}

#[test]
fn a_call_of_unknown_revision_may_have_ended_with_its_exchange() {
    let again = |marks: &str, closed: &str| {
        format!("> Q1 call a [c=a x=2{marks}], {closed}, > Q1 call b [c=a x=3{marks}]")
    };
    let server = "closed: server [x=2]";
    for (text, expected) in [
        (
            again(" red", server),
            "pending, pending | ! server-disconnected@1 id-reused-in-flight@3?",
        ),
        (again(" v=2026-07-28", server), "failed, pending | !"),
        // Up to 2025-11-25 the client may resume the stream; another exchange, or none, ended nothing.
        (
            again(" v=2025-11-25", server),
            "pending, pending | ! server-disconnected@1 id-reused-in-flight@3",
        ),
        (
            again(" red", "closed: server [x=7]"),
            "pending, pending | ! id-reused-in-flight@3",
        ),
    ] {
        check(&text, expected);
    }
}
