//! Session-model.md 4: its tables as tests.

use super::*;

#[test]
fn correlation_4_8() {
    let cases = [
        ("> Q1 call t, @200 < R1 {}", "completed 200ms"),
        ("> Q1 call t, < R1.0 {}", "completed"),
        ("> Q1 call t, < R\"1\" {}", "pending | pending=1"),
        ("> Q\"a\" ping, < R\"\\u0061\" {}", "completed"),
        (
            "> Q1 ping, < Q1 sampling/createMessage, > R1 {}, < R1 {}",
            "completed, completed",
        ),
        (
            "> Qnull call a, > Qnull call b, < E(null) -32700",
            "pending, pending | errors=1",
        ),
        ("< R(null) {}", "| errors=0"),
        ("< R404 {}", "| errors=0 responses=1"),
        ("#4 < R404 {}", "| missing=3"),
        (
            "> Q1 call a, > Q1 call b, < R1 {}",
            "superseded name=a, completed name=b | pending=0",
        ),
        (
            "> Q1 call a, > Q1 call b, < R1 {}, < R1 {}",
            "superseded, completed | pending=0 responses=2",
        ),
        (
            "> Q7 subscriptions/listen, > Q7 tools/list, < R7 {}",
            "superseded, completed | pending=0 streaming=0",
        ),
        (
            "> Q1 ping [c=a], > Q1 ping [c=b], < R1 {} [c=a], < R1 {} [c=b]",
            "completed, completed",
        ),
        (
            "> Q1 ping [c=a], > Q1 ping [c=a]",
            "superseded, pending | superseded=1",
        ),
        ("< Q5 roots/list [c=a x=1], > R5 {} [c=b x=2]", "completed"),
        (
            "< Q5 roots/list [c=10.0.0.1:1], < Q5 roots/list [c=10.0.0.2:1], > R5 {} [c=10.0.0.1:2]",
            "completed, pending",
        ),
        (
            "> Q1 call t, < R1 {}, < R1 {}",
            "completed | responses=2 pending=0",
        ),
        (
            "#1 > Q1 call t, #2 < R1 {}, #4 < R1 {}",
            "completed | missing=1",
        ),
        (
            "> Q7 x, < E7 -32601, < E7 -32601",
            "failed errored | errors=1",
        ),
        (
            "> Q[R] a [red], > Q[R] b [red]",
            "pending, pending | superseded=0",
        ),
        // A number that was not seen between the two may be the answer to the first.
        (
            "#1 > Q1 call a, #3 > Q1 call b",
            "pending uncertain, pending not-uncertain | superseded=0 uncertain=1 missing=1",
        ),
        (
            "#1 > Q1 call a, #3 > Q1 call b, #4 < R1 {}",
            "pending uncertain, completed | superseded=0 owed=0",
        ),
        (
            "#1 > Q1 call a, #3 > Q1 call b, #2 < R1 {}",
            "completed, pending | superseded=0",
        ),
        (
            "#1 > Q1 call a, #3 > Q1 call b, #2 > N a",
            "superseded, pending | superseded=1",
        ),
        (
            "#2 > Q1 call a, #3 > Q1 call b, #5 > N a",
            "superseded, pending uncertain | superseded=1 missing=2",
        ),
        (
            "#1 > Q1 call a, #3 > Q1 call b, #4 > Q1 call c",
            "pending uncertain, superseded, pending | superseded=1",
        ),
        (
            "> Q1 call a [x=1], > Q1 call b [x=2], < R1 {} [x=1], < R1 {} [x=2]",
            "completed, completed",
        ),
    ];
    for (text, expected) in cases {
        check(text, expected);
    }
}

#[test]
fn an_answer_that_overtook_its_request_in_an_old_log() {
    check(
        "@10 < R1 {}, @11 > Q1 ping",
        "completed no-duration | pending=0 errors=0",
    );
    check(
        "@10 < E1 -32601, @11 > Q1 ping",
        "failed errored | errors=1 pending=0",
    );
    check("@10 < R1 {}, @40 > Q1 ping", "pending | pending=1");
    check("meta {format:7}, @10 < R1 {}, @11 > Q1 ping", "pending");
}
