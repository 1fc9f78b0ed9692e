//! Session-model.md 3.2: what a single message says of itself.

use super::*;

#[test]
fn members_that_no_message_may_have() {
    let frame = |text: &str, remarks: &str| {
        let expected = if remarks.is_empty() {
            String::new()
        } else {
            remarks
                .split(' ')
                .map(|code| format!("{code}@2"))
                .collect::<Vec<_>>()
                .join(" ")
        };
        check_message(&format!("> Q1 ping\n{text}"), &expected);
    };
    let of_answer = [
        (r#"< {"id":1,"result":{}}"#, "jsonrpc-missing"),
        (
            r#"< {"jsonrpc":"2.1","id":1,"result":{}}"#,
            "jsonrpc-version",
        ),
        (r#"< {"jsonrpc":2.0,"id":1,"result":{}}"#, "jsonrpc-version"),
        (r#"< {"jsonrpc":"2\u002e0","id":1,"result":{}}"#, ""),
        (r#"< {"jsonrpc":"2.0","id":1,"result":{}}"#, ""),
        (r#"< {"jsonrpc":"[R]","id":1,"result":{}} [red]"#, ""),
        (r#"< {"jsonrpc":"2.0","id":1}"#, "response-empty"),
        (
            r#"< {"jsonrpc":"2.0","id":1,"error":null}"#,
            "response-empty",
        ),
        (r#"< {"jsonrpc":"2.0","id":1,"result":{},"error":null}"#, ""),
        (
            r#"< {"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":"m"}}"#,
            "response-both",
        ),
        (
            r#"< {"jsonrpc":"2.0","id":1,"result":{},"error":"[R]"} [red]"#,
            "",
        ),
        (
            r#"< {"jsonrpc":"2.0","id":1,"error":"boom"}"#,
            "error-shape",
        ),
        (
            r#"< {"jsonrpc":"2.0","id":1,"error":{"code":"-1","message":"m"}}"#,
            "error-shape",
        ),
        (
            r#"< {"jsonrpc":"2.0","id":1,"error":{"code":1.5,"message":"m"}}"#,
            "error-shape",
        ),
        (
            r#"< {"jsonrpc":"2.0","id":1,"error":{"message":"m"}}"#,
            "error-shape",
        ),
        (
            r#"< {"jsonrpc":"2.0","id":1,"error":{"code":1}}"#,
            "error-shape",
        ),
        (
            r#"< {"jsonrpc":"2.0","id":1,"error":{"code":1,"message":7}}"#,
            "error-shape",
        ),
        (
            r#"< {"jsonrpc":"2.0","id":1,"error":{"code":-32000.0,"message":"m","data":[1]}}"#,
            "",
        ),
        (
            r#"< {"jsonrpc":"2.0","id":1,"error":{"code":"[R]","message":"[R]"}} [red]"#,
            "",
        ),
        (r#"< {"jsonrpc":"2.0","id":1,"error":"[R]"} [red]"#, ""),
    ];
    for (text, remarks) in of_answer {
        frame(text, remarks);
    }
}

/// The remarks of a script, whatever its calls.
#[track_caller]
fn check_message(text: &str, expected: &str) {
    fold(text, Limits::NONE, |session| {
        assert_eq!(remarks_of(session).join(" "), expected, "{text}");
        check_sums(session);
    });
}

#[test]
fn requests_that_are_answers_and_methods_that_are_no_text() {
    let cases = [
        (
            r#"> {"jsonrpc":"2.0","id":1,"method":"ping","result":{}}"#,
            "method-and-result@1",
        ),
        (
            r#"< {"jsonrpc":"2.0","method":"n","error":{"code":1,"message":"m"}}"#,
            "method-and-result@1",
        ),
        (
            r#"> {"jsonrpc":"2.0","id":1,"method":"ping","error":null}"#,
            "",
        ),
        (
            r#"> {"jsonrpc":"2.0","id":1,"method":"ping","error":"[R]"} [red]"#,
            "",
        ),
        (r#"> {"jsonrpc":"2.0","id":1,"method":5}"#, "method-type@1"),
        (
            r#"> {"jsonrpc":"2.0","id":1,"method":null}"#,
            "method-type@1",
        ),
        (r#"> {"jsonrpc":"2.0","id":1,"method":""}"#, ""),
        (r#"> {"jsonrpc":"2.0","id":1,"method":"[R]"} [red]"#, ""),
    ];
    for (text, expected) in cases {
        check_message(text, expected);
    }
    // A message that redaction took away as a whole is not invalid.
    check_kind("> \"[REDACTED]\" [red]", Kind::Other, "");
    check_kind("> \"[REDACTED]\"", Kind::Invalid, "");
}
