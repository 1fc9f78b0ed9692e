//! Session-model.md 11: its tables as tests.

use super::*;

/// Rows of the tables of the page that are tests here.
pub(super) const ROWS: &[(&str, usize)] = &[("11.4", VERDICTS.len()), ("11.6", PAGE.len())];

/// 11.4: what the server issued, what the client sent back, and what is remarked.
const VERDICTS: [(&str, &[&str], &str); 5] = [
    ("IR{k;st=S}", &["retry{k;st=S}"], ""),
    ("IR{k;st=S}", &["retry{k}"], "mrtr-state-missing@3"),
    (
        "IR{k}",
        &["retry{k;st=S}", r#"retry{k;st=""}"#],
        "mrtr-state-invented@3",
    ),
    (
        "IR{k;st=S}",
        &["retry{k;st=T}", r#"retry{k;st=""}"#],
        "mrtr-state-changed@3",
    ),
    (
        "IR{k;st=[R]} [red]",
        &["retry{k;st=S}", "retry{k}", "retry{k;st=[R]} [red]"],
        "",
    ),
];

#[test]
fn verdicts_11_4() {
    for (issued, retries, remarks) in VERDICTS {
        for retry in retries {
            check(
                &format!("> Q1 call b, < R1 {issued}, > Q2 {retry}, < R2 {{}}"),
                &format!("completed hops=2 ! {remarks}"),
            );
        }
    }
}

/// 11.6.
const PAGE: [(&str, &str); 19] = [
    (
        "> Q1 call b, @10 < R1 IR{login;st=S}, @5000 > Q2 retry{login;st=S}, @6000 < R2 {}",
        "completed 6000ms hops=2 server=1010 client=4990 | requests=2 !",
    ),
    (
        "> Q1 call b, @10 < R1 IR{login;st=S}, @5000 > Q2 retry{login;st=T}, @6000 < R2 {}",
        "completed 6000ms hops=2 ! mrtr-state-changed@3",
    ),
    (
        "> Q1 call b, @10 < R1 IR{login;st=S}, @5000 > Q2 retry{login}, @6000 < R2 {}",
        "completed hops=2 ! mrtr-state-missing@3",
    ),
    (
        "> Q1 call b, < R1 IR{login}, > Q2 retry{login;st=S}, < R2 {}",
        "completed hops=2 ! mrtr-state-invented@3",
    ),
    (
        r#"> Q1 call b, < R1 IR{login;st=""}, > Q2 retry{login;st=""}, < R2 {}"#,
        "completed hops=2 !",
    ),
    (
        r#"> Q1 call b, < R1 IR{login;st=""}, > Q2 retry{login}, < R2 {}"#,
        "completed hops=2 ! mrtr-state-missing@3",
    ),
    (
        "> Q1 call b, < R1 IR{login;st=S1}, > Q2 call b, < R2 IR{login;st=S2}, > Q3 retry{login;st=unknown}",
        "input, input, pending ! mrtr-unlinked@5",
    ),
    (
        "> Q1 call b, < R1 IR{login}, > Q2 call b, < R2 IR{login}, > Q3 retry{login}",
        "input, input, pending ! mrtr-unlinked@5",
    ),
    (
        "> Q1 call b{arguments:{x:1}}, < R1 IR{login}, > Q2 call b{arguments:{x:2}}, < R2 IR{login}, > Q3 retry{login}, < R3 {}",
        "input hops=1, completed hops=2 !",
    ),
    (
        "> Q1 call b, < R1 IR{login;st=S}, > Q2 call b, < R2 IR{login}, > Q3 retry{login}, < R3 {}",
        "input hops=1, completed hops=2 !",
    ),
    (
        "> Q1 call a, < R1 IR{k;st=S}, > Q2 call b, < R2 IR{k;st=S}, > Q3 retry{k;st=S}, < R3 {}",
        "input name=a, completed name=b hops=2 !",
    ),
    (
        "> Q1 call a, < R1 IR{k;st=S}, > Q2 call b {st=S}",
        "input, pending ! mrtr-state-elsewhere@3",
    ),
    (
        "> Q1 call b, < R1 IR{a,b}, > Q2 retry{a}, < R2 {}",
        "completed hops=2 !",
    ),
    (
        "> Q1 call b, < R1 IR{;st=S}, > Q2 retry{;st=T}",
        "input, pending !",
    ),
    (
        "> Q1 call b, < R1 IR{k;st=[R]} [red], > Q2 retry{k;st=[R]} [red], < R2 {}",
        "completed hops=2 !",
    ),
    (
        "> Q1 call b, < R1 IR{k;st=S}, > Q1 retry{k;st=S}, < R1 {}",
        "completed hops=2 ! mrtr-id-reused@3",
    ),
    (
        "> Q1 call b, < R1 IR{k;st=A}, > Q2 retry{k;st=A}, < R2 IR{k;st=B}, > Q3 retry{k;st=B}, < R3 {}",
        "completed hops=3 !",
    ),
    ("> Q1 call b [v=2025-11-25], < R1 IR{k;st=A}", "completed !"),
    (
        "> Q1 call b, < R1 IR{k;st=A}, > Q2 call other",
        "input name=b, pending name=other | parked=1 owed=1 !",
    ),
];

#[test]
fn retries_11_6() {
    for (text, expected) in PAGE {
        check(text, expected);
    }
}

#[test]
fn retries_know_the_request_that_they_continue() {
    let (text, _) = PAGE[16];
    fold(text, Limits::NONE, |session| {
        let roots: Vec<_> = (0..session.row_count())
            .filter_map(|at| session.row(at))
            .filter_map(|row| Some((row.id.seq.0, session.extra(row.id)?.mrtr_root.clone()?)))
            .collect();
        let roots: Vec<_> = roots.iter().map(|(seq, id)| (*seq, &**id)).collect();
        assert_eq!(roots, [(3, "1"), (5, "1")]);
    });
    fold(PAGE[1].0, Limits::NONE, |session| {
        let row = session.row(2).unwrap().id;
        let extra = session.extra(row).unwrap();
        assert_eq!(extra.state_issue, Some(StateIssue::Changed));
    });
}

#[test]
fn a_retry_repeats_parameters_by_their_meaning() {
    let request = |id: u8, params: &str| {
        format!(r#"> {{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{params}}}"#)
    };
    let first = request(
        1,
        r#"{"name":"b","arguments":{"x":1,"y":[2,{"p":0,"q":"é"}]}}"#,
    );
    let second = request(
        2,
        r#"{"name":"b","arguments":{"x":1,"y":[3,{"p":0,"q":"é"}]}}"#,
    );
    let asked = format!("{first}\n< R1 IR{{login}}\n{second}\n< R2 IR{{login}}\n");
    let answers = r#""inputResponses":{"login":{}}"#;
    let linked = "input, pending hops=2 !";
    let unlinked = "input, input, pending ! mrtr-unlinked@5";
    let cases = [
        (r#""arguments":{"x":1,"y":[3,{"p":0,"q":"é"}]}"#, linked),
        (
            r#""arguments": {"y":[3, {"q":"\u00e9","p":0}],"x" : 1}"#,
            linked,
        ),
        // Look-alikes of both, which are neither.
        (r#""arguments":{"x":1.0,"y":[3,{"p":0,"q":"é"}]}"#, unlinked),
        (r#""arguments":{"x":1,"y":[{"p":0,"q":"é"},3]}"#, unlinked),
        (r#""arguments":{"x":"1","y":[3,{"p":0,"q":"é"}]}"#, unlinked),
    ];
    for (arguments, expected) in cases {
        let retry = request(3, &format!(r#"{{{answers},"name":"b",{arguments}}}"#));
        check(&format!("{asked}{retry}"), expected);
    }
}
