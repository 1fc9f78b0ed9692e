//! Session-model.md 21: its tables as tests.

use super::*;

#[test]
fn redaction_21() {
    let cases = [
        (
            r#"> {"jsonrpc":"[REDACTED]","id":1,"method":"ping"} [red]"#,
            "pending",
        ),
        (
            r#"> Q1 ping, < {"jsonrpc":"2.0","id":1,"error":"[REDACTED]"} [red]"#,
            "failed errored",
        ),
        ("> Q[R] call t [red x=4], < R[R] {} [red x=4]", "completed"),
        (
            "> Q1 tasks/get{[R]} [red], > Q2 tasks/get{[R]} [red]",
            "pending, pending",
        ),
    ];
    for (text, expected) in cases {
        check(text, expected);
    }
}
