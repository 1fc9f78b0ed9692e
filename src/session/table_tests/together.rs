//! Where the rules of several sections of session-model.md meet.

use super::*;

#[test]
fn rules_of_several_sections_together() {
    let cases = [
        // Over HTTP an unknown connection is like no other (4.1, 4.4, 9.4).
        (
            "> Q1 call a{_meta:{progressToken:p}} [x=1]\n> Q2 call b{_meta:{progressToken:p}} [x=2]",
            "pending, pending | !",
        ),
        (
            "> Q1 ping [x=1 peer=p], > Q1 ping [x=2 peer=q], < R1 {} [x=9 peer=p], < R1 {} [x=2 peer=q]",
            "completed, completed | !",
        ),
        // What went by unread may have been the answer (3.4, 8.3).
        (
            "> Q1 call t [x=4 v=2026-07-28], < H200 [unobserved x=4], closed: server [x=4]",
            "pending uncertain not-lost | errors=0 owed=0 !",
        ),
        (
            "> [Q1 call a, Q2 call b] [x=4 v=2026-07-28]\n< {\"result\":{\"content\":[ [trunc x=4]\nclosed: server [x=4]",
            "pending uncertain, pending uncertain | errors=0 ! batch-removed@1",
        ),
        // One of the two was answered (4.4 M3, 5.4).
        (
            "> Q1 call a [c=h:1], > Q1 call b [c=h:2], < R1 {} [c=h:3]",
            "pending uncertain, pending uncertain | owed=0 ! response-ambiguous@3",
        ),
        // Requests of the server on the exchange do not blur who was answered (4.4 M4).
        (
            "> Q1 call w [x=4], < Q5 elicitation/create [x=4], < E(null) -32600 [x=4 st=200]",
            "failed errored, pending | errors=1",
        ),
        (
            "> Q[R] call w [red x=4], < Q5 elicitation/create [x=4], < R[R] {} [red x=4]",
            "completed, pending",
        ),
        // A request whose id is hidden waits even when another like it came back (4.5, 8.3).
        (
            "> Q[R] call a [red x=4 v=2026-07-28], > Q[R] call b [red x=5 v=2026-07-28]\n< T \"{\"id\":\"[REDACTED]\",\"result\":{\" [red trunc x=4]\nclosed: server [x=4]\n< R7 {} [x=9]",
            "failed lost, pending | warnings=0",
        ),
    ];
    let cut = [
        // A request that was cut may have the token (3.4, 9.7).
        (
            "> Q1 call a{_meta:{progressToken:p}}\n< R1 {}\n> {\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":\"b\",\"arguments\":{\"b\":\"AAA [trunc]\n< N progress{progressToken:p,progress:1}",
            "completed, pending | warnings=0",
        ),
        // The state may be that of the answer that was cut (11.4).
        (
            "> Q1 call b\n< R1 IR{k}\n> Q2 call b\n< {\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"resultType\":\"input_req [trunc]\n> Q3 retry{k;st=S}",
            "pending hops=2, completed | warnings=0 ! mrtr-state-invented@5?",
        ),
        // A greeting declares nothing (14.1).
        (
            "> Q1 initialize{protocolVersion:2025-11-25} [v=2026-07-28], < R1 {protocolVersion:2025-11-25}",
            "completed | warnings=0",
        ),
    ];
    for (text, expected) in cases.into_iter().chain(cut) {
        check(text, expected);
    }
}

#[test]
fn very_many_requests_with_one_id_are_told_apart_by_their_exchange() {
    let request = |at| format!("> Q1 subscriptions/listen [c=h:{at} x={at} peer=p{at}]\n");
    let mut text: String = (1..=200).map(request).collect();
    text.push_str("< R1 {} [c=h:1 x=1 peer=p1]");
    fold(&text, Limits::NONE, |session| {
        assert_eq!(session.call(CallId(0)).unwrap().state, CallState::Completed);
        assert_eq!(session.counters().warnings, 0);
    });
}

#[test]
fn more_connections_than_are_told_apart_accuse_nobody() {
    let mut model = Model::new(Limits::LIVE);
    let template = script::session("> Q1 ping [c=h:1 x=1]").unwrap().remove(0);
    for at in 1..=66_000_u64 {
        let mut envelope = template.clone();
        envelope.seq = crate::record::Seq(at);
        let http = envelope.http.as_mut().unwrap();
        http.conn_id = Some(format!("h:{at}").into());
        http.exchange = at;
        model.ingest(&key(), &envelope, None, None, &mut Vec::new());
    }
    let session = model.session(&key()).unwrap();
    assert_eq!(
        (session.counters().warnings, session.counters().superseded),
        (0, 0)
    );
}

#[test]
fn a_long_name_is_one_name_wherever_it_stands() {
    let name = "n".repeat(1_100);
    let text = format!("> Q1 tools/list, < R1 {{tools:[{name}]}}, > Q2 call {name}, < R2 {{}}");
    fold(&text, Limits::NONE, |session| {
        let usage = session.usage().unwrap();
        assert_eq!(usage.used.len(), 1);
        assert!(usage.unadvertised.is_empty());
    });
}
