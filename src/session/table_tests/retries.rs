//! Session-model.md 11: its tables as tests.

use super::*;

#[test]
fn retries_11() {
    let asked = "> Q1 call b, @10 < R1 IR{login;st=S}";
    let retried = |retry: &str| format!("{asked}, @5000 > Q2 {retry}, @6000 < R2 {{}}");
    check(
        &retried("retry{login;st=S}"),
        "completed 6000ms hops=2 server=1010 client=4990 | requests=2",
    );
    check(&retried("retry{login;st=T}"), "completed hops=2");
    check(&retried("retry{login}"), "completed hops=2");
    let cases = [
        (
            "> Q1 call b, < R1 IR{login}, > Q2 retry{login;st=S}, < R2 {}",
            "completed hops=2",
        ),
        (
            "> Q1 call b, < R1 IR{login;st=S1}, > Q2 call b, < R2 IR{login;st=S2}, > Q3 retry{login;st=unknown}",
            "input, input, pending",
        ),
        (
            "> Q1 call b, < R1 IR{login}, > Q2 call b, < R2 IR{login}, > Q3 retry{login}",
            "input, input, pending",
        ),
        (
            "> Q1 call b, < R1 IR{;st=S}, > Q2 retry{;st=T}",
            "input, pending",
        ),
        (
            "> Q1 call b, < R1 IR{k;st=S}, > Q1 retry{k;st=S}, < R1 {}",
            "completed hops=2",
        ),
        (
            "> Q1 call b, < R1 IR{k;st=A}, > Q2 retry{k;st=A}, < R2 IR{k;st=B}, > Q3 retry{k;st=B}, < R3 {}",
            "completed hops=3",
        ),
        ("> Q1 call b [v=2025-11-25], < R1 IR{k;st=A}", "completed"),
        (
            "> Q1 call b, < R1 IR{k;st=A}, > Q2 call other",
            "input name=b, pending name=other | parked=1 owed=1",
        ),
    ];
    for (text, expected) in cases {
        check(text, expected);
    }
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
    let cases = [
        (
            r#""arguments":{"x":1,"y":[3,{"p":0,"q":"é"}]}"#,
            "input, pending hops=2",
        ),
        (
            r#""arguments": {"y":[3, {"q":"\u00e9","p":0}],"x" : 1}"#,
            "input, pending hops=2",
        ),
        // Look-alikes of both, which are neither.
        (
            r#""arguments":{"x":1.0,"y":[3,{"p":0,"q":"é"}]}"#,
            "input, input, pending",
        ),
        (
            r#""arguments":{"x":1,"y":[{"p":0,"q":"é"},3]}"#,
            "input, input, pending",
        ),
        (
            r#""arguments":{"x":"1","y":[3,{"p":0,"q":"é"}]}"#,
            "input, input, pending",
        ),
    ];
    for (arguments, expected) in cases {
        let retry = request(3, &format!(r#"{{{answers},"name":"b",{arguments}}}"#));
        check(&format!("{asked}{retry}"), expected);
    }
}
