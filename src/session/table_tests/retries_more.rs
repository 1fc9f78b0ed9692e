//! Session-model.md 11 beyond its tables: guards of the verdicts, what redaction hides, lost frames.

use super::*;

#[test]
fn verdicts_need_one_client_and_no_lost_frame() {
    let cases = [
        // A lost frame may be the operation that it really continues.
        (
            "#2 > Q1 call b, < R1 IR{k;st=S}, > Q2 retry{k;st=T}",
            "pending hops=2 ! mrtr-state-changed@4?",
        ),
        (
            "> Q1 call b, < R1 IR{k;st=S}, #9 > Q2 retry{k}",
            "pending hops=2 ! mrtr-state-missing@9?",
        ),
        (
            "#2 > Q1 call b, < R1 IR{k}, > Q2 retry{k;st=S}",
            "pending hops=2 ! mrtr-state-invented@4?",
        ),
        (
            "#2 > Q1 call a, < R1 IR{k;st=S}, > Q2 call b {st=S}",
            "input, pending ! mrtr-state-elsewhere@4?",
        ),
        (
            "> Q1 call b, < R1 IR{k;st=S}, #9 > Q1 retry{k;st=S}",
            "pending hops=2 ! mrtr-id-reused@9?",
        ),
        // Another client: linked, since nothing else fits, and nobody is accused.
        (
            "> Q1 call b [peer=p x=1], < R1 IR{k;st=S} [peer=p x=1], > Q1 retry{k;st=T} [peer=q x=2]",
            "pending hops=2 !",
        ),
        (
            "> Q1 call b [peer=p x=1], < R1 IR{k;st=S} [peer=p x=1], > Q2 retry{k;st=T} [peer=p x=2]",
            "pending hops=2 ! mrtr-state-changed@3",
        ),
        (
            "> Q1 call a [peer=p x=1], < R1 IR{k;st=S} [peer=p x=1], > Q2 call b{st=S} [peer=q x=2]",
            "input, pending ! mrtr-unlinked@3",
        ),
    ];
    for (text, expected) in cases {
        check(text, expected);
    }
}

#[test]
fn links_take_the_client_only_where_several_fit() {
    let parked = "> Q1 call b [peer=p x=1], < R1 IR{k;st=S} [x=1], > Q1 call b [peer=q x=2], < R1 IR{k;st=S} [x=2]";
    check(
        &format!("{parked}, > Q2 retry{{k;st=S}} [peer=q x=3], < R2 {{}} [x=3]"),
        "input hops=1, completed hops=2 !",
    );
    check(
        &format!("{parked}, > Q2 retry{{k;st=S}} [peer=z x=3]"),
        "input, input, pending ! mrtr-unlinked@5",
    );
}

#[test]
fn states_elsewhere_replayed_and_unknown() {
    let done = "> Q1 call b, < R1 IR{k;st=S}, > Q2 retry{k;st=S}, < R2 {}";
    let cases = [
        (format!("{done}, > Q3 retry{{k;st=S}}"), "completed, pending ! mrtr-state-replayed@5"),
        // Issued by another process, as far as is known.
        ("> Q1 call b {st=S}".to_owned(), "pending !"),
        ("> Q1 call b {inputResponses:{k:{}},st=S}".to_owned(), "pending !"),
        ("> Q1 call b {inputResponses:{k:{}}}".to_owned(), "pending ! mrtr-unlinked@1"),
        ("> Q1 call b [v=2025-11-25], < R1 {}, > Q2 call b {inputResponses:{k:{}}} [v=2025-11-25]".to_owned(), "completed, pending !"),
        // Neither is a retry.
        ("> Q1 call b {inputResponses:{}}".to_owned(), "pending !"),
        ("> Q1 call b {inputResponses:[1]}".to_owned(), "pending !"),
        ("> Q1 call b {requestState:null}".to_owned(), "pending !"),
        ("> Q1 tasks/update{t,inputResponses:{k:{}}}".to_owned(), "pending !"),
        // A state that the server issues to everybody was issued for this operation too.
        (
            format!("{done}, > Q3 call a, < R3 IR{{k;st=S}}, > Q4 call b {{inputResponses:{{k:{{}}}},st=S}}"),
            "completed, input, pending ! mrtr-unlinked@7",
        ),
        // Used, and issued again: the next one is no replay.
        (
            format!("{done}, > Q3 call b, < R3 IR{{k;st=S}}, > Q4 retry{{k;st=S}}, < R4 {{}}"),
            "completed, completed hops=2 !",
        ),
        // Parameters that changed are told only where the state made the link.
        (
            "> Q1 call b{arguments:{x:1}}, < R1 IR{k;st=S}, > Q2 call b{arguments:{x:2},inputResponses:{k:{}},st=S}".to_owned(),
            "pending hops=2 ! mrtr-params-changed@3",
        ),
        (
            "> Q1 call b{arguments:{x:1}}, < R1 IR{k}, > Q2 call b{arguments:{x:2},inputResponses:{k:{}}}".to_owned(),
            "input, pending ! mrtr-unlinked@3",
        ),
        (
            "> Q1 call b{arguments:{x:1}}, < R1 IR{k;st=S}, > Q2 call b{arguments:{x:1.0},inputResponses:{k:{}},st=S} [red]".to_owned(),
            "pending hops=2 !",
        ),
        // A refused retry settles the operation; the one that is sent again has a used state.
        (
            "> Q1 call b, < R1 IR{k;st=S}, > Q2 retry{k;st=S}, < E2 -32603".to_owned(),
            "failed hops=2 | errors=1 !",
        ),
    ];
    for (text, expected) in cases {
        check(&text, expected);
    }
}

#[test]
fn a_part_of_the_keys_links_only_without_states_and_alone() {
    let cases = [
        (
            "> Q1 call b, < R1 IR{a,b}, > Q2 call b, < R2 IR{a,c}, > Q3 retry{a}",
            "input, input, pending ! mrtr-unlinked@5",
        ),
        (
            "> Q1 call b, < R1 IR{a,b;st=S}, > Q2 retry{a;st=T}",
            "input, pending !",
        ),
        (
            "> Q1 call b, < R1 IR{a,b;st=S}, > Q2 retry{a}",
            "input, pending ! mrtr-unlinked@3",
        ),
        (
            "> Q1 call b, < R1 IR{a}, > Q2 retry{a,b}",
            "input, pending ! mrtr-unlinked@3",
        ),
        (
            "> Q1 call b, < R1 IR{a,b}, > Q2 call c{inputResponses:{a:{}}}",
            "input, pending ! mrtr-unlinked@3",
        ),
        (
            "> Q1 call b, < R1 IR{a,b;st=S}, > Q2 retry{a;st=S}",
            "pending hops=2 !",
        ),
    ];
    for (text, expected) in cases {
        check(text, expected);
    }
}

#[test]
fn what_redaction_hides_links_nothing_and_accuses_nobody() {
    let cases = [
        // 21: an interim answer stays one, without keys; its state still links.
        (
            r#"> Q1 call b, < R1 {resultType:input_required,inputRequests:"[REDACTED]",requestState:S} [red], > Q2 retry{k;st=S}"#,
            "pending hops=2 !",
        ),
        (
            r#"> Q1 call b, < R1 {resultType:input_required,inputRequests:"[REDACTED]"} [red], > Q2 retry{k}"#,
            "input, pending ! mrtr-unlinked@3",
        ),
        (
            r#"> Q1 call b, < R1 IR{k}, > Q2 call b{inputResponses:"[REDACTED]"} [red]"#,
            "input, pending !",
        ),
        (
            r#"> Q1 call b, < R1 IR{k;st=S}, > Q2 call b{inputResponses:"[REDACTED]",st=[R]} [red]"#,
            "input, pending !",
        ),
        // An unknown name agrees with any.
        (
            "> Q1 call [R] [red], < R1 IR{k;st=S}, > Q2 retry{k;st=S}",
            "pending hops=2 !",
        ),
        (
            r#"> Q1 call b, < R1 IR{k}, > {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"[REDACTED]","inputResponses":{"k":{}}}} [red]"#,
            "pending hops=2 !",
        ),
        // The same text without the mark is a name.
        (
            r#"> Q1 call b, < R1 IR{k}, > {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"[REDACTED]","inputResponses":{"k":{}}}}"#,
            "input, pending ! mrtr-unlinked@3",
        ),
        // A member of the wrong type is unknown too.
        (
            "> Q1 call b, < R1 {resultType:input_required,inputRequests:7,requestState:7}, > Q2 ping",
            "input, pending !",
        ),
        (
            "> Q1 call b, < R1 {resultType:input_required,inputRequests:{k:{}},requestState:7}, > Q2 call b{inputResponses:{k:{}}}",
            "pending hops=2 !",
        ),
    ];
    for (text, expected) in cases {
        check(text, expected);
    }
}

#[test]
fn lost_frames_accuse_nobody() {
    let captures = [
        "> Q1 call b, < R1 IR{k;st=A}, > Q2 retry{k;st=A}, < R2 IR{j}, > Q3 retry{j}, < R3 {}",
        "> Q1 call a, < R1 IR{k;st=S}, > Q2 retry{k;st=S}, < R2 {}, > Q3 call b, < R3 IR{k;st=S}, > Q4 retry{k;st=S}",
        "> Q1 call b, < R1 IR{k;st=A}, > Q2 call b, < R2 IR{k}, > Q3 retry{k}, > Q4 retry{k;st=A}, < R4 {}",
    ];
    for text in captures {
        let all = script::session(text).unwrap();
        for lost in 0..1_u32 << all.len() {
            let mut model = Model::new(Limits::NONE);
            for (at, envelope) in all.iter().enumerate() {
                if lost & (1 << at) == 0 {
                    model.ingest(&key(), envelope, None, None, &mut Vec::new());
                }
            }
            model.settle(&mut Vec::new());
            if let Some(session) = model.session(&key()) {
                assert_eq!(session.counters().warnings, 0, "{text} {lost:b}");
            }
        }
    }
}
