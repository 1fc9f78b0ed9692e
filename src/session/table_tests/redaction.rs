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
