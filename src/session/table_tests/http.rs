//! Session-model.md 8: its tables as tests.

use super::*;

#[test]
fn http_8_1() {
    let cases = [
        (
            "> Q1 call w [x=7], < H401 [x=7]",
            "failed http=401 | pending=0 errors=1",
        ),
        (
            "> Q1 call w [x=7], < T \"<html>\" [x=7 st=502]",
            "failed http=502 | errors=1",
        ),
        (
            "> Q1 call w [x=7], < E(null) -32001 [x=7 st=401]",
            "failed | errors=1",
        ),
        (
            "> Q1 call w [x=7], < E\"server-error\" -32600 [x=7 st=400]",
            "failed | errors=1",
        ),
        (
            "> Q1 call w [x=7], < E(null) -32600 [x=7 st=200]",
            "failed | errors=1",
        ),
        (
            "> [Q1 call a, Q2 call b] [x=7], < H503 [x=7]",
            "failed, failed | errors=1",
        ),
        (
            "> Q1 call w [c=a], < H401 [c=a]",
            "pending | pending=1 errors=1",
        ),
        (
            "> Q1 call w [x=5], < H202 [x=5]",
            "pending | pending=1 errors=0",
        ),
        (
            "> Q1 call w [x=5], < H503 [x=8]",
            "pending | pending=1 errors=1",
        ),
        (
            "> Q1 call w [x=5], < E1 -32020 [x=5 st=400]",
            "failed | errors=1",
        ),
        (
            "> Q1 call b [x=1], < R1 IR{k;st=A} [x=1], > Q2 retry{k;st=A} [x=2], < H502 [x=2]",
            "failed http=502 hops=2 | pending=0",
        ),
        ("< H204", "| errors=0"),
        ("< H405 [x=3]", "| errors=0"),
        ("< E(null) -32000 [x=3 st=405]", "| errors=0"),
        ("< H405 [c=a]", "| errors=0"),
        ("> Q1 tools/list [c=a], < H405 [c=a]", "pending | errors=1"),
        (
            "> Q1 tools/list [x=4], < H405 [x=4]",
            "failed http=405 | errors=1",
        ),
        (
            "> N notifications/initialized [x=5], < H400 [x=5]",
            "| errors=1",
        ),
    ];
    for (text, expected) in cases {
        check(text, expected);
    }
}

#[test]
fn probes_8_4() {
    let greeting = "> Q2 initialize{}, < R2 {protocolVersion:2025-11-25}";
    let probe = "> Q1 server/discover, < E1 -32601";
    check(probe, "failed resolved | errors=0");
    check(
        &format!("{probe}, {greeting}"),
        "failed resolved, completed | errors=0",
    );
    check(
        &format!("{probe}, > Q2 ping"),
        "failed errored, pending | errors=1",
    );
    check(
        "> Q1 server/discover [x=1], < E1 -32601 [x=1]",
        "failed errored | errors=1",
    );
    check(
        &format!("> Q1 server/discover, {greeting}"),
        "pending resolved, completed | owed=0 errors=0",
    );
    check(
        "> Q1 server/discover [x=1], < H405 [x=1], > Q2 initialize{} [x=2], < R2 {} [x=2]",
        "failed resolved http=405, completed | errors=0",
    );
    check(
        &format!("> Q0 ping, < R0 {{}}, > Q1 server/discover, < E1 -32022, {greeting}"),
        "completed, failed errored, completed | errors=1",
    );
}
