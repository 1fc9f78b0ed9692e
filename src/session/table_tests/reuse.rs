//! Session-model.md 4.6: ids that are used again.

use super::*;

#[test]
fn a_lost_frame_may_be_the_answer_before_an_id_comes_again() {
    let cases = [
        (
            "#1 > Q1 call a, #3 > Q1 call b",
            "superseded uncertain, pending not-uncertain | superseded=1 uncertain=0 missing=1 ! id-reused-in-flight@3?",
        ),
        (
            "#1 > Q1 call a, #3 > Q1 call b, #4 < R1 {}",
            "superseded uncertain, completed | superseded=1 owed=0 ! id-reused-in-flight@3?",
        ),
        // The second answer may be that of the first request.
        (
            "#1 > Q1 call a, #3 > Q1 call b, #4 < R1 {}, #5 < R1 {}",
            "superseded uncertain, completed | ! id-reused-in-flight@3? response-after-reuse@5",
        ),
        (
            "#1 > Q1 call a, #3 > Q1 call b, #2 < R1 {}",
            "completed, pending | superseded=0 !",
        ),
        (
            "#1 > Q1 call a, #3 > Q1 call b, #2 > N a",
            "superseded, pending | superseded=1 ! id-reused-in-flight@3",
        ),
        (
            "#2 > Q1 call a, #3 > Q1 call b, #5 > N a",
            "superseded, pending uncertain | superseded=1 missing=2 ! id-reused-in-flight@3",
        ),
        (
            "#1 > Q1 call a, #3 > Q1 call b, #4 > Q1 call c",
            "superseded uncertain, superseded not-uncertain, pending | superseded=2 ! id-reused-in-flight@3? id-reused-in-flight@4",
        ),
        // A cut frame may be it too.
        (
            "> Q1 call a\n< {\"result\":{\"x\":\"AAA [trunc]\n> Q1 call b",
            "superseded uncertain, pending | ! id-reused-in-flight@3?",
        ),
    ];
    for (text, expected) in cases {
        check(text, expected);
    }
    // Only an id that was taken for certain makes its first request a problem row.
    for (text, problem) in [
        ("#1 > Q1 call a, #3 > Q1 call b", false),
        ("#1 > Q1 call a, #2 > Q1 call b", true),
    ] {
        fold(text, Limits::NONE, |session| {
            assert_eq!(session.row(0).unwrap().flags.problem, problem, "{text}");
        });
    }
}

#[test]
fn an_id_that_is_taken_while_its_request_waits() {
    let cases = [
        // Exchanges tell the answers apart; the connection is known.
        (
            "> Q1 call a [c=a x=1], > Q1 call b [c=a x=2], < R1 {} [c=a x=1], < R1 {} [c=a x=2]",
            "completed, completed | ! id-reused-in-flight@2",
        ),
        // Neither connection nor peer is known: two clients may stand behind it.
        (
            "> Q1 call a [x=1], > Q1 call b [x=2], < R1 {} [x=1], < R1 {} [x=2]",
            "completed, completed | !",
        ),
        // Two peers on one connection, one peer on two.
        (
            "> Q1 ping [c=a peer=p], > Q1 ping [c=a peer=q]",
            "pending, pending | !",
        ),
        (
            "> Q1 ping [c=a peer=p], > Q1 ping [c=b peer=p]",
            "pending, pending | !",
        ),
        (
            "> Q1 ping [c=a peer=p], > Q1 ping [c=a peer=p]",
            "superseded, pending | ! id-reused-in-flight@2",
        ),
        // HTTP refused the first, or its client gave it up.
        (
            "> Q1 ping [c=a x=1], < H401 [c=a x=1], > Q1 ping [c=a x=2], < R1 {} [c=a x=2]",
            "failed, completed | !",
        ),
        (
            "> Q1 call t, > N cancelled{1}, > Q1 call u, < R1 {}, < R1 {}, < R1 {}",
            "cancelled not-late, completed | ! response-after-reuse@5 response-duplicate@6",
        ),
        // A greeting begins anew.
        (
            "> Q1 server/discover, > Q1 initialize, < R1 {protocolVersion:2025-11-25}",
            "superseded, completed | !",
        ),
        ("> Q1 ping, < Q1 ping", "pending, pending | !"),
        (
            "> [Q1 ping, Q1 ping]",
            "superseded, pending | ! id-reused-in-flight@2",
        ),
    ];
    for (text, expected) in cases {
        check_later(text, expected);
    }
}

#[test]
fn an_answer_at_once_after_a_reused_id_may_have_come_before_it() {
    let text = "> Q1 ping, @1 > Q1 ping, @2 < R1 {}";
    check(text, "superseded, completed | warnings=0 !");
    let told = "! id-reused-in-flight@2";
    check(
        &text.replace("@2", "@40"),
        &format!("superseded, completed | {told}"),
    );
    check(
        &format!("meta {{format:7}}, {text}"),
        "superseded, completed | ! id-reused-in-flight@3",
    );
}

/// A session under a revision, then more.
fn under(revision: &str, more: &str) -> String {
    format!(
        "> Q0 initialize{{protocolVersion:{revision}}}, < R0 {{protocolVersion:{revision}}}, {more}"
    )
}

#[test]
fn an_id_that_is_used_again_in_a_legacy_session() {
    let again = "> Q1 ping, < R1 {}, > Q1 ping, < R1 {}";
    let done = "completed, completed, completed";
    let cases = [
        (
            under("2025-11-25", again),
            format!("{done} | ! id-reused-in-session@5"),
        ),
        // Once a scope, and for each side.
        (
            under("2025-11-25", &format!("{again}, > Q1 ping")),
            format!("{done}, pending | ! id-reused-in-session@5"),
        ),
        (
            under(
                "2025-11-25",
                "< Q1 ping, > R1 {}, < Q1 ping, > Q1 ping, < R1 {}, > Q1 ping",
            ),
            format!("{done}, pending, pending | ! id-reused-in-session@5 id-reused-in-session@8")
                .replace(
                    "completed, completed, completed, pending",
                    "completed, completed, pending, completed",
                ),
        ),
        // The greeting's own id counts.
        (
            under("2025-11-25", "> Q0 ping"),
            "completed, pending | ! id-reused-in-session@3".to_owned(),
        ),
        // Modern, unknown, a request that declares itself modern, a new greeting, a gap.
        (under("2026-07-28", again), format!("{done} | !")),
        (again.to_owned(), "completed, completed | !".to_owned()),
        (
            under("2025-11-25", "> Q1 ping, < R1 {}, > Q1 ping [v=2026-07-28]"),
            "completed, completed, pending | !".to_owned(),
        ),
        (
            under(
                "2025-11-25",
                "> Q1 ping, < R1 {}, > Q0 initialize{protocolVersion:2025-11-25}, < R0 {protocolVersion:2025-11-25}, > Q1 ping",
            ),
            format!("{done}, pending | !"),
        ),
        (
            under("2025-11-25", "> Q1 ping, < R1 {}, #9 > Q1 ping"),
            "completed, completed, pending | ! id-reused-in-session@9?".to_owned(),
        ),
    ];
    for (text, expected) in cases {
        check(&text, &expected);
    }
}

#[test]
fn over_http_a_session_is_known_by_its_peer() {
    let session = |greeted: &str, more: &str| {
        format!(
            "> Q0 initialize{{protocolVersion:2025-11-25}} [c=a x=1], < R0 {{protocolVersion:2025-11-25}} [c=a x=1{greeted}], > Q1 ping [c=a x=2{greeted}], < R1 {{}} [c=a x=2{greeted}], {more}"
        )
    };
    let cases = [
        (
            session(" peer=p", "> Q1 ping [c=a x=3 peer=p]"),
            "completed, completed, pending | ! id-reused-in-session@5",
        ),
        // Without a peer, on another connection, of another peer, after a refusal.
        (
            session("", "> Q1 ping [c=a x=3]"),
            "completed, completed, pending | !",
        ),
        (
            session(" peer=p", "> Q1 ping [c=b x=3 peer=p]"),
            "completed, completed, pending | !",
        ),
        (
            session(" peer=p", "> Q1 ping [c=a x=3 peer=q]"),
            "completed, completed, pending | !",
        ),
        (
            session(
                " peer=p",
                "> Q2 ping [c=a x=3 peer=p], < E2 -32001 [c=a x=3 st=403], > Q2 ping [c=a x=4 peer=p]",
            ),
            "completed, completed, failed, pending | !",
        ),
    ];
    for (text, expected) in cases {
        check(&text, expected);
    }
    // The revision that was agreed on holds for requests that carry the peer of the answer.
    fold(&session(" peer=p", "> N x"), Limits::NONE, |session| {
        assert_eq!(session.protocol_version(), Some("2025-11-25"));
        assert_eq!(session.machine.peers.version(), Some("2025-11-25"));
    });
    // A request of the server on the stream of a client is answered by that client alone.
    check(
        "> Q0 initialize [c=1.1.1.1:1 x=1], < R0 {} [c=1.1.1.1:1 x=1 peer=p], > Q1 call t [c=1.1.1.1:1 x=2 peer=p], > Q1 call t [c=1.1.1.1:9 x=3 peer=q], < Q5 ping [c=1.1.1.1:1 x=2], < Q5 ping [c=1.1.1.1:9 x=3], > R5 {} [c=1.1.1.1:7 x=4 peer=q]",
        "completed, pending, pending, pending, completed | !",
    );
}
