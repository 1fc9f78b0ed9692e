//! Session-model.md 3: its tables as tests.

use super::*;

#[test]
fn kinds_3_2() {
    let cases = [
        (r#"< T "Listening on 3000""#, Kind::Invalid),
        (r#"< {"hello":1}"#, Kind::Invalid),
        (r#"< {"id":1}"#, Kind::Invalid),
        (r#"< {"jsonrpc":"2.0","id":100}"#, Kind::Response),
        (r#"> {"id":1,"method":"tools/list"}"#, Kind::Request),
        (
            r#"> {"jsonrpc":"2.0","ID":1,"method":"x"}"#,
            Kind::Notification,
        ),
        (
            r#"< {"jsonrpc":"2.0","id":1,"result":null}"#,
            Kind::Response,
        ),
        (
            r#"< {"jsonrpc":"2.0","id":1,"error":"boom"}"#,
            Kind::Response,
        ),
        (r#"< {"error":"invalid_token"} [st=401]"#, Kind::Transport),
        (
            r#"< {"error":{"message":"no route"}} [st=404]"#,
            Kind::Transport,
        ),
        (r#"< T "<html>" [st=502]"#, Kind::Transport),
        (r#"< T "Accepted" [st=202]"#, Kind::Transport),
        (r#"< T "<html>" [st=200]"#, Kind::Invalid),
        (
            r#"< {"jsonrpc":"2.0","id":1,"error":{"code":-1}} [st=400]"#,
            Kind::Response,
        ),
        ("< H202", Kind::Transport),
        ("< H401", Kind::Transport),
        (r#"< T "/messages?s=1" [event=endpoint]"#, Kind::Other),
        (r#"stderr "debug""#, Kind::Stderr),
        (r#"< T "" [trunc]"#, Kind::Other),
        ("> []", Kind::Invalid),
    ];
    for (text, kind) in cases {
        check_kind(text, kind);
    }
    check(r#"stderr "debug""#, "| stderr=1 errors=0");
}

#[test]
fn batches_3_3() {
    check(
        "> [Q1 call a, Q2 call b, N n]\n< [R2, R1]",
        "completed name=a, completed name=b | requests=2 responses=2 notifications=1 missing=0",
    );
    check("> [5, Q1 ping]", "pending | invalid=1 requests=1");
    let whole = r#"> {"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    check(whole, "pending");
}

#[test]
fn truncated_3_4() {
    check(
        "> {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"big\",\"arguments\":{\"b\":\"AAA [trunc]\n< R1 {}",
        "completed name=big request_truncated | invalid=0 errors=0",
    );
    check(
        "> {\"params\":{\"x\":\"AAA [trunc]\n< R1 {}\n< R99 {}",
        "| errors=0 invalid=0",
    );
    check(
        "> Q1 call t\n< {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[ [trunc]",
        "completed result_truncated | pending=0",
    );
    check(
        "> Q1 call t\n< {\"result\":{\"content\":[ [trunc]",
        "pending uncertain | pending=1 uncertain=1 owed=0",
    );
    check(
        "> Q1 call t\n< T \"…\" [trunc peek={id:1,has:result}]",
        "completed result_truncated",
    );
    check(
        "> Q1 call t [x=4]\n< H200 [unobserved x=4]",
        "pending uncertain | pending=1 errors=0",
    );
}
