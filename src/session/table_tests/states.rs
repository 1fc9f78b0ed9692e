//! Session-model.md 11.3, 11.4, 2.3.5, 21: a retry of what is over, or of what nobody could read, is no
//! wrong retry of something else.

use super::*;

/// Two operations wait for the same keys; the second was continued.
const CONTINUED: &str =
    "> Q1 call b, < R1 IR{k;st=T}, > Q9 call b, < R9 IR{k;st=S}, > Q2 retry{k;st=S}";

#[test]
fn a_retry_that_is_sent_again_continues_nothing_else() {
    let cases = [
        (
            format!("{CONTINUED}, > N cancelled{{2}}, > Q3 retry{{k;st=S}}, < R3 {{}}"),
            "input, cancelled hops=2, completed ! mrtr-state-replayed@7",
        ),
        (
            format!("{CONTINUED}, < E2 -32603, > Q3 retry{{k;st=S}}, < R3 {{}}"),
            "input, failed hops=2, completed ! mrtr-state-replayed@7",
        ),
        (
            format!("{CONTINUED}, > Q3 retry{{k;st=S}}"),
            "input, pending hops=2, pending ! mrtr-state-replayed@6",
        ),
        // The state of another operation that is over.
        (
            "> Q1 call b, < R1 IR{k;st=T}, > Q9 call a, < R9 IR{k;st=S}, > Q2 retry{k;st=S}, < R2 {}, > Q3 call b{inputResponses:{k:{}},st=S}".to_owned(),
            "input, completed hops=2, pending ! mrtr-state-replayed@7",
        ),
        // The interim answer came after the cancellation.
        (
            "> Q1 call b, < R1 IR{k;st=T}, > Q2 call b, > N cancelled{2}, < R2 IR{k;st=S}, > Q3 retry{k;st=S}".to_owned(),
            "input, cancelled late, pending ! late-answer@5 mrtr-unlinked@6 call-repeated@6",
        ),
        // It belongs to no request.
        (
            "> Q1 call b, < R1 IR{k;st=T}, < R7 IR{k;st=S}, > Q3 call b{inputResponses:{k:{}},st=S}".to_owned(),
            "input, pending ! response-unmatched@3 mrtr-unlinked@4",
        ),
        // Without a state nobody can say that it is the same retry.
        (
            "> Q1 call b, < R1 IR{k;st=T}, > Q9 call b, < R9 IR{k}, > Q2 retry{k}, < E2 -32603, > Q3 retry{k}".to_owned(),
            "pending hops=2, failed hops=2 ! mrtr-state-missing@7?",
        ),
        // Another state that was never issued is a changed one.
        (
            format!("{CONTINUED}, < R2 {{}}, > Q3 call b{{inputResponses:{{k:{{}}}},st=X}}"),
            "pending hops=2, completed hops=2 ! mrtr-state-changed@7",
        ),
        (
            format!("{CONTINUED}, < R2 {{}}, > Q3 call b{{inputResponses:{{k:{{}}}}}}"),
            "pending hops=2, completed hops=2 ! mrtr-state-missing@7",
        ),
        // The state of another operation that waits.
        (
            "> Q1 call b, < R1 IR{k;st=T}, > Q9 call a, < R9 IR{k;st=S}, > Q3 call b{inputResponses:{k:{}},st=S}".to_owned(),
            "pending hops=2, input ! mrtr-state-changed@5",
        ),
        (
            "> Q1 call a, < R1 IR{k;st=S}, < R1 IR{k;st=S}, > Q2 call b {st=S}".to_owned(),
            "input, pending ! response-redelivered@3 mrtr-state-elsewhere@4",
        ),
    ];
    for (text, expected) in cases {
        check(&text, expected);
    }
}

#[test]
fn answers_that_nobody_could_read_may_have_issued_the_state() {
    let parked = "> Q1 call a [x=1], < R1 IR{k;st=S} [x=1]";
    let cases = [
        (
            format!("{parked}, > Q2 call a [x=2], < H200 unobserved [x=2], > Q3 call a{{inputResponses:{{k:{{}}}},st=T}} [x=3]"),
            "mrtr-state-changed@5?",
        ),
        (
            format!("{parked}, unobserved [x=2], > Q3 call a{{inputResponses:{{k:{{}}}},st=T}} [x=3]"),
            "mrtr-state-changed@4?",
        ),
        // That answer is one to another tool.
        (
            format!("{parked}, > Q2 call b [x=2], < H200 unobserved [x=2], > Q3 call a{{inputResponses:{{k:{{}}}},st=T}} [x=3]"),
            "mrtr-state-changed@5",
        ),
        // What was not read may lie before what waits, too.
        (
            "> Q1 call a\n< T \"…\" [trunc peek={id:1,has:result}]\n> Q2 call a\n< R2 IR{k;st=S}\n> Q3 call a{inputResponses:{k:{}},st=T}".to_owned(),
            "mrtr-state-changed@5?",
        ),
        (
            "> Q1 call a\n< R1 IR{k;st=v1}\n> Q2 call b\n< T \"…\" [trunc peek={id:2,has:result}]\n> Q3 call b{inputResponses:{k:{}},st=v1}".to_owned(),
            "mrtr-state-elsewhere@5?",
        ),
        (
            "> Q1 call a\n< R1 IR{k;st=v1}\n> Q2 call c\n< T \"…\" [trunc peek={id:2,has:result}]\n> Q3 call b{inputResponses:{k:{}},st=v1}".to_owned(),
            "mrtr-state-elsewhere@5",
        ),
    ];
    for (text, expected) in cases {
        fold(&text, Limits::NONE, |session| {
            assert_eq!(own_remarks(session, "mrtr-"), expected, "{text}");
        });
    }
}

#[test]
fn redacted_answers_and_retries_accuse_nobody() {
    let after = |answer: &str, sent: &str| {
        format!(
            "> Q1 call a\n< R1 IR{{k;st=S}}\n> Q2 call a\n< {answer}\n> Q3 call a{{inputResponses:{{k:{{}}}}{sent}}}"
        )
    };
    let gone = r#"{"jsonrpc":"2.0","id":2,"result":"[REDACTED]"} [red]"#;
    let kind = r#"{"jsonrpc":"2.0","id":2,"result":{"resultType":"[REDACTED]","inputRequests":{"k":{}},"requestState":"T"}} [red]"#;
    let only_kind = r#"{"jsonrpc":"2.0","id":2,"result":{"resultType":"input_required","inputRequests":"[REDACTED]","requestState":"[REDACTED]"}} [red]"#;
    let stateless = r#"{"jsonrpc":"2.0","id":2,"result":{"resultType":"input_required","inputRequests":"[REDACTED]"}} [red]"#;
    let retry = |params: &str| {
        format!(
            "> Q1 call a\n< R1 IR{{k;st=S}}\n> {{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{params}}} [red]\n< R2 {{}}\n> Q3 call b{{inputResponses:{{k:{{}}}},st=S}}"
        )
    };
    let cases = [
        (after(gone, ",st=T"), "mrtr-state-changed@5?"),
        (after(kind, ",st=T"), "mrtr-unlinked@5"),
        (after(kind, ""), "mrtr-state-missing@5?"),
        (after(only_kind, ",st=T"), "mrtr-state-changed@5?"),
        (after(stateless, ""), "mrtr-state-missing@5?"),
        (
            after(
                r#"R2 {content:"[REDACTED]",resultType:complete} [red]"#,
                ",st=T",
            ),
            "mrtr-state-changed@5",
        ),
        // The same texts without the mark hide nothing.
        (
            after(gone.trim_end_matches(" [red]"), ",st=T"),
            "mrtr-state-changed@5",
        ),
        (retry(r#""[REDACTED]""#), "mrtr-state-elsewhere@5?"),
        (
            retry(r#"{"name":"a","inputResponses":{"z":{}},"requestState":"[REDACTED]"}"#),
            "mrtr-state-elsewhere@5?",
        ),
        (
            retry(r#"{"name":"a","arguments":"[REDACTED]"}"#),
            "mrtr-state-elsewhere@5",
        ),
    ];
    for (text, expected) in cases {
        fold(&text, Limits::NONE, |session| {
            assert_eq!(own_remarks(session, "mrtr-"), expected, "{text}");
        });
    }
}
