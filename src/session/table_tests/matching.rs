//! Session-model.md 4: its tables as tests.

use super::*;

pub(super) const ROWS: &[(&str, usize)] = &[("4.8", PAGE.len())];

const PAGE: &[(&str, &str)] = &[
    ("`> Q1 call t`, `@200 < R1 {}`", "completed 200ms | !"),
    ("`> Q1 call t`, `< R1.0 {}`", "completed | !"),
    (
        r#"`> Q1 call t`, `< R"1" {}`"#,
        "pending | pending=1 ! response-id-type@2",
    ),
    (r#"`> Q"a" ping`, `< R"\u0061" {}`"#, "completed | !"),
    (
        "`> Q1 ping`, `< Q1 sampling/createMessage`, `> R1 {}`, `< R1 {}`",
        "completed, completed | !",
    ),
    (
        "`> Qnull call a`, `> Qnull call b`, `< E(null) -32700`",
        "pending, pending | errors=1 ! id-null@1 id-null@2 error-without-request@3",
    ),
    ("`< R(null) {}`", "| errors=0 ! result-id-null@1"),
    (
        "`< R404 {}` (seq 1 is known)",
        "| errors=0 responses=1 ! response-unmatched@1",
    ),
    (
        "`#4 < R404 {}`, `#1-#3` never seen",
        "| missing=3 ! response-unmatched-gap@4",
    ),
    (
        "`> Q1 call a`, `> Q1 call b`, `< R1 {}`",
        "superseded name=a, completed name=b | pending=0 ! id-reused-in-flight@2",
    ),
    (
        "… then `< R1 {}`",
        "superseded, completed | pending=0 responses=2 ! id-reused-in-flight@2 response-after-reuse@4",
    ),
    (
        "`> Q7 subscriptions/listen`, `> Q7 tools/list`, `< R7 {}`",
        "superseded, completed | pending=0 streaming=0 ! id-reused-in-flight@2",
    ),
    (
        "`> Q1 ping [c=a]`, `> Q1 ping [c=b]`, `< R1 [c=a]`, `< R1 [c=b]`",
        "completed, completed | !",
    ),
    (
        "`> Q1 ping [c=a]`, `> Q1 ping [c=a]` (exchange unknown)",
        "superseded, pending | superseded=1 ! id-reused-in-flight@2",
    ),
    (
        "`< Q5 roots/list [c=a x=1]`, `> R5 {} [c=b x=2]`",
        "completed | !",
    ),
    // The hosts that the page tells apart in words.
    (
        "`< Q5 … [c=10.0.0.1:1]`, `< Q5 … [c=10.0.0.2:1]` (other host), `> R5 {} [c=10.0.0.1:2]` (host of a)",
        "completed, pending | !",
    ),
    (
        "`> Q1 call t`, `< R1 {}`, `< R1 {}`",
        "completed | responses=2 pending=0 ! response-duplicate@3",
    ),
    (
        "`#1 > Q1 call t`, `#2 < R1 {}`, `#4 < R1 {}`, `#3` never seen",
        "completed | missing=1 ! response-duplicate@4?",
    ),
    (
        "`> Q7 x`, `< E7 -32601`, `< E7 -32601`",
        "failed errored | errors=1 ! response-duplicate@3",
    ),
    (
        "`> Q[R] a [red]`, `> Q[R] b [red]`",
        "pending, pending | superseded=0 !",
    ),
];

#[test]
fn correlation_4_8() {
    for (text, expected) in continued(PAGE) {
        if text.contains('#') {
            check_later(&text, expected);
            continue;
        }
        // A log that numbers both directions in one order; an older one takes back what its order
        // does not prove.
        let shifted = expected.split(' ').map(|word| match word.split_once('@') {
            Some((code, row)) => format!("{code}@{}", row.parse::<u64>().unwrap() + 1),
            None => word.to_owned(),
        });
        let shifted = shifted.collect::<Vec<_>>().join(" ");
        check(&format!("meta {{format:7}}\n{text}"), &shifted);
        if !expected.contains("in-flight") {
            check_later(&text, expected);
        }
    }
}

#[test]
fn why_a_response_may_answer_nothing() {
    let cases = [
        ("> Q1 ping, < R7 {}", "pending | ! response-unmatched@2"),
        (
            "> Q1 ping, < E7 -1",
            "pending | errors=1 ! response-unmatched@2",
        ),
        // The request may be lost, unread, or older than the recording.
        ("#2 < R7 {}", "| ! response-unmatched-gap@2"),
        (
            "> N x [c=a x=1], < R7 {} [c=a x=2 m=GET]",
            "| ! response-unmatched-gap@2",
        ),
        // Several clients have it; their answers come on a connection of nobody.
        (
            "> Q1 x [c=a], > Q1 x [c=b], < R1 {} [c=d]",
            "pending, pending | ! response-ambiguous@3",
        ),
        // An open request whose id redaction took away.
        ("> Q[R] x [red], < R7 {}", "pending | !"),
        (
            "> Q[R] x [red x=1], < R[R] {} [red x=1], < R7 {} [x=2]",
            "completed | ! response-unmatched@3",
        ),
        ("> Q1 x, < R[R] {} [red]", "pending | !"),
        // A refusal belongs to its exchange, whatever its id.
        (
            "> Q1 x [c=a], < E\"server-error\" -32600 [c=a st=400]",
            "pending | errors=1 !",
        ),
        // The error of a server that could not read the id.
        (
            "> Q1 x, < E(null) -32700",
            "pending | errors=1 ! error-without-request@2",
        ),
        (
            "> Q1 x\n< {\"jsonrpc\":\"2.0\",\"error\":{\"code\":1,\"message\":\"m\"}}",
            "pending | errors=1 ! error-without-request@2",
        ),
        (
            "> Q1 x\n< {\"jsonrpc\":\"2.0\",\"result\":{}}",
            "pending | ! result-id-null@2",
        ),
        // The answer to a notification has nothing to name.
        ("> N x [c=a x=1], < R(null) {} [c=a x=1]", "| !"),
        (
            "> Q1 x [c=a x=1], < R(null) {} [c=a x=1]",
            "pending | ! result-id-null@2",
        ),
    ];
    for (text, expected) in cases {
        check_later(text, expected);
    }
}

#[test]
fn an_id_that_changed_its_type() {
    let cases = [
        ("> Q\"7\" x, < R7 {}", "pending | ! response-id-type@2"),
        (
            "> Q7 x, < E\"7\" -1",
            "pending | errors=1 ! response-id-type@2",
        ),
        (
            "#1 > Q7 x, #3 < R\"7\" {}",
            "pending | ! response-id-type@3?",
        ),
        // Another text, an answered request, a request that has the id.
        ("> Q\"07\" x, < R7 {}", "pending | ! response-unmatched@2"),
        (
            "> Q7 x, < R7 {}, < R\"7\" {}",
            "completed | ! response-unmatched@3",
        ),
        ("> Q7 x, > Q\"7\" y, < R\"7\" {}", "pending, completed | !"),
        (
            "> Q\"seven\" x, < R7 {}",
            "pending | ! response-unmatched@2",
        ),
    ];
    for (text, expected) in cases {
        check_later(text, expected);
    }
}

#[test]
fn an_answer_that_comes_again() {
    let again = |first: &str, second: &str| {
        format!("> Q1 x [c=a x=1{first}], < R1 {{}} [c=a x=1], < R1 {{}} [c=a {second}]")
    };
    let cases = [
        // On another stream of a revision that resumes them, or where no exchange was recorded.
        (again("", "x=1"), "completed | ! response-duplicate@3"),
        (
            again("", "x=2 m=GET"),
            "completed | ! response-redelivered@3",
        ),
        (again("", "x=0"), "completed | ! response-redelivered@3"),
        (
            again(" v=2025-11-25", "x=2"),
            "completed | ! response-redelivered@3",
        ),
        (
            again(" v=2026-07-28", "x=2"),
            "completed | ! response-duplicate@3",
        ),
        // What was lost, or went by unread, may be another request of that id, wherever it stood: the
        // first answer of two to one id may be that of either.
        (
            "#1 > Q1 call t, #2 > N cancelled{1}, #4 < R1 {}, #5 < R1 {}".to_owned(),
            "cancelled late | ! late-answer@4 response-duplicate@5?",
        ),
        (
            "#3 > Q1 call t, #4 < R1 {}, #5 < R1 {}".to_owned(),
            "completed | ! response-duplicate@5?",
        ),
        (
            "#2 > Q1 x [c=h:6 x=2 v=2026-07-28], #3 < R1 {} [c=h:6 x=2], #4 < R1 {} [c=h:5 x=1]"
                .to_owned(),
            "completed | ! response-duplicate@4?",
        ),
        (
            "> Q1 x [c=h:1 x=1 v=2026-07-28]\nunobserved [x=2]\n< R1 {} [c=h:1 x=1], < R1 {} [c=h:1 x=2]"
                .to_owned(),
            "completed | ! response-duplicate@4?",
        ),
        (
            "unobserved [x=2]\n> Q1 x [c=h:1 x=1 v=2026-07-28], < R1 {} [c=h:1 x=1], < R1 {} [c=h:1 x=2]"
                .to_owned(),
            "completed | ! response-duplicate@4?",
        ),
        (
            "> {\"params\":{\"x\":\"AAA [trunc]\n> Q1 call t, < R1 {}, < R1 {}".to_owned(),
            "completed | ! response-duplicate@4?",
        ),
        // What the answering side sent is no request of that id, unless it may be the first answer.
        (
            "< {\"params\":{\"x\":\"AAA [trunc]\n> Q1 call t, < R1 {}, < R1 {}".to_owned(),
            "completed | ! response-duplicate@4",
        ),
        (
            "#1 > Q1 call t, #2 < R1 {}, #3 < R1 {}, #4 @90 > N a, #6 > N a".to_owned(),
            "completed | ! response-duplicate@3",
        ),
        // An interim result while its call is parked.
        (
            "> Q1 call t, < R1 IR{k;st=A}, < R1 IR{k;st=A}, > Q2 retry{k;st=A}, < R2 {}".to_owned(),
            "completed hops=2 | ! response-redelivered@3",
        ),
        (
            "> Q1 call t, < R1 IR{k;st=A}, > Q2 retry{k;st=A}, < R1 IR{k;st=A}".to_owned(),
            "pending hops=2 | ! response-duplicate@4",
        ),
        (
            "> Q1 call t, < R1 IR{k;st=A}, < R1 {}".to_owned(),
            "input | ! response-duplicate@3",
        ),
    ];
    for (text, expected) in cases {
        check_later(&text, expected);
    }
}

#[test]
fn an_answer_that_overtook_its_request_in_an_old_log() {
    check(
        "@10 < R1 {}, @11 > Q1 ping",
        "completed no-duration | pending=0 errors=0 warnings=0 !",
    );
    check(
        "@10 < E1 -32601, @11 > Q1 ping",
        "failed errored | errors=1 pending=0 !",
    );
    let told = "pending | pending=1 ! response-unmatched@1";
    check("@10 < R1 {}, @40 > Q1 ping", told);
    check(
        "meta {format:7}, @10 < R1 {}, @11 > Q1 ping",
        "pending | ! response-unmatched@2",
    );
    // What else was said of it is taken back, what it owes to nobody stays, and a cut request that
    // was spent for it excuses another.
    check("#2 @10 < R1 {}, #3 @11 > Q1 ping", "completed | !");
    check(
        "@10 > Q\"1\" a, @10 < R1 {}, @11 > Q1 ping",
        "pending, completed | !",
    );
    check(
        "@10 < {\"id\":1,\"result\":{}}\n@11 > Q1 ping",
        "completed | ! jsonrpc-missing@1",
    );
    check(
        "> {\"params\":{\"x\":\"AAA [trunc]\n@10 < R1 {}, @11 > Q1 ping, @12 < R9 {}, @13 < R8 {}, @40 > N x",
        "completed | ! response-unmatched@5",
    );
}

#[test]
fn a_warning_that_is_taken_back_is_not_counted_when_its_row_is_gone() {
    let limits = Limits {
        rows: Some(1),
        ..Limits::NONE
    };
    for (text, warnings) in [
        ("@10 < R1 {}, @11 > N x, @11 > N y, @11 > Q1 ping", 0),
        ("@10 < R1 {}, @11 > N x, @11 > N y, @11 > Q2 ping", 0),
        ("@10 < R1 {}, @11 > N x, @11 > N y, @40 > Q2 ping", 1),
        (
            "@10 < {\"id\":1,\"result\":{}}\n@11 > N x, @11 > N y, @40 > Q1 ping",
            1,
        ),
        (
            "@10 < {\"id\":1,\"result\":{}}\n@11 > N x, @11 > N y, @11 > Q1 ping",
            1,
        ),
        ("> Q1 a, @1 > Q1 b, @1 > N x, @1 > N y, @2 < R1 {}", 0),
    ] {
        fold(text, limits, |session| {
            assert_eq!(session.counters().warnings, warnings, "{text}");
        });
    }
}

#[test]
fn a_frame_of_the_server_is_for_who_asked_last_on_its_connection() {
    let expected = "completed, completed | !";
    for (between, expected) in [
        ("> N y [c=h:1 peer=q x=2]", expected),
        ("> [N y, N z] [c=h:1 peer=q x=2]", expected),
        (
            "> R9 {} [c=h:1 peer=q x=2]",
            "completed, completed | ! response-unmatched@3",
        ),
        ("< N y [c=h:1 peer=q x=2]", expected),
        // A request is what counts.
        (
            "> Q2 y [c=h:1 peer=q x=2]",
            "completed, pending, pending | ! response-unmatched@5",
        ),
        (
            "> [N y, Q2 y] [c=h:1 peer=q x=2]",
            "completed, pending, pending | ! response-unmatched@6",
        ),
    ] {
        let text = format!(
            "> Q1 x [c=h:1 peer=p x=1], < R1 {{}} [c=h:1 x=1], {between}, \
             < Q5 roots/list [c=h:1 x=9], > R5 {{}} [c=h:2 peer=p x=3]"
        );
        check_later(&text, expected);
    }
}
