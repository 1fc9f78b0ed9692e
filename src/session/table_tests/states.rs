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
            "> Q1 call b, < R1 IR{k;st=T}, < R7 IR{k;st=S}, @500 > Q3 call b{inputResponses:{k:{}},st=S}".to_owned(),
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

/// A request of a client over HTTP, its `clientInfo` as given.
fn of_client(id: u8, conn: &str, info: &str, rest: &str) -> String {
    let mark = if info.contains("[REDACTED]") {
        " red"
    } else {
        ""
    };
    format!(
        "> {{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/call\",\"params\":{{\"name\":\"b\"{rest},\"_meta\":{{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\"io.modelcontextprotocol/clientInfo\":{info}}}}}}} [c={conn} x={id}{mark}]"
    )
}

#[test]
fn clients_that_redaction_hides_are_not_one_21() {
    let answers = r#","inputResponses":{"k":{}},"requestState":"T""#;
    let changed = |one: &str, other: &str| {
        format!(
            "{}\n< R1 IR{{k;st=S}} [x=1]\n{}",
            of_client(1, "h:1", one, ""),
            of_client(2, "h:2", other, answers)
        )
    };
    let elsewhere = |info: &str| {
        let sent = r#","inputResponses":{"k":{}},"requestState":"S""#;
        format!(
            "{}\n< R1 IR{{k;st=S}} [x=1]\n{}",
            of_client(1, "h:1", info, ""),
            of_client(2, "h:2", info, sent).replace(r#""name":"b""#, r#""name":"a""#)
        )
    };
    let twice = |one: &str, other: &str, peer: &str| {
        let second = of_client(1, "h:1", other, "").replace("x=1", &format!("x=2{peer}"));
        let first = of_client(1, "h:1", one, "").replace("x=1", &format!("x=1{peer}"));
        format!("{first}\n{second}")
    };
    let known = r#"{"name":"A","version":"1"}"#;
    let version = r#"{"name":"A","version":"[REDACTED]"}"#;
    let other_version = r#"{"name":"B","version":"[REDACTED]"}"#;
    let whole = r#""[REDACTED]""#;
    let cases = [
        (changed(known, known), "mrtr-state-changed@3"),
        (changed(version, other_version), ""),
        (changed(whole, whole), ""),
        (changed(known, whole), ""),
        (elsewhere(known), "mrtr-state-elsewhere@3"),
        (elsewhere(version), "mrtr-unlinked@3"),
        (twice(known, known, ""), "id-reused-in-flight@2"),
        (twice(version, other_version, ""), "id-reused-in-flight@2?"),
        // A session of its own tells it from others.
        (twice(whole, whole, " peer=p"), "id-reused-in-flight@2"),
        // Redacted elsewhere in the frame.
        (
            changed(known, known).replace("c=h:2 x=2", "c=h:2 x=2 red"),
            "mrtr-state-changed@3",
        ),
    ];
    for (text, expected) in cases {
        fold(&text, Limits::NONE, |session| {
            let mut found = remarks_of(session);
            found.retain(|remark| !remark.starts_with("call-"));
            assert_eq!(found.join(" "), expected, "{text}");
        });
    }
}

#[test]
fn a_greeting_whose_client_is_hidden_hides_its_connection() {
    let run = |info: &str, mark: &str| {
        format!(
            "> Q1 initialize{{clientInfo:{info}}} [c=h:1 x=1{mark}]\n< R1 {{}} [x=1]\n> Q2 call b [c=h:1 x=2]\n< R2 IR{{k;st=S}} [x=2]\n> Q3 retry{{k;st=T}} [c=h:1 x=3]"
        )
    };
    for (text, expected) in [
        (run("{name:a}", ""), "mrtr-state-changed@5"),
        (run("[R]", " red"), ""),
    ] {
        fold(&text, Limits::NONE, |session| {
            assert_eq!(own_remarks(session, "mrtr-"), expected, "{text}");
        });
    }
}
