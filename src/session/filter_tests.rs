//! Queries against the rows of one stream, and against sessions.

use std::sync::Arc;

use super::{filter_parse::distance, *};
use crate::record::{HostName, SessionKey, script};

const STREAM: &str = r#"> {"jsonrpc":"2.0","id":"a-7","method":"tools/call","params":{"name":"find","arguments":{"q":"Gr\u00f6\u00dfe"}}}
< {"jsonrpc":"2.0","id":"a-7","result":{"content":[{"type":"text","text":"say \"hi\" | now"}],"isError":true}}
> {"jsonrpc":"2.0","id":8,"method":"tools/list"}
< {"jsonrpc":"2.0","id":8,"error":{"code":-32601,"message":"Method not found"}}
> {"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"find_all"}}
< {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1}}
< {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"connection reset"}}
stderr "Warning: DISK full"
< T "garbage /v1/mcp"
> {"jsonrpc":"2.0","id":10,"method":"ping"}
> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":10}}
< {"jsonrpc":"2.0","id":10,"result":{}}
> {"jsonrpc":"2.0","id":11,"method":"subscriptions/listen"}"#;

fn model_of(text: &str, id: &str, limits: Limits) -> (Model, SessionKey) {
    let key = SessionKey {
        host: HostName(Arc::from("web1")),
        id: Arc::from(id),
    };
    let mut model = Model::new(limits);
    for envelope in script::session(text).unwrap() {
        model.ingest(&key, &envelope, None, None, &mut Vec::new());
    }
    (model, key)
}

/// Positions of the rows that match, `?` behind those that cannot be decided.
fn matching(query: &str, session: &Session) -> String {
    let filter = Filter::parse(query, FilterScope::Rows).unwrap();
    let found = (0..session.row_count()).filter_map(|at| match filter.matches_row(session, at) {
        Some(true) => Some(at.to_string()),
        Some(false) => None,
        None => Some(format!("{at}?")),
    });
    found.collect::<Vec<_>>().join(" ")
}

const ALL: &str = "0 1 2 3 4 5 6 7 8 9 10 11 12";

/// A query, and the positions of the rows of `STREAM` that it shows.
const CASES: [(&str, &str); 101] = [
    ("", ALL),
    ("   ", ALL),
    // Words: method, tool, id, error message, stderr, body, unescaped strings.
    ("ping", "9 10 11"),
    ("PING", "9 10 11"),
    ("find", "0 1 4"),
    ("find_all", "4"),
    ("a-7", "0 1"),
    ("not found", "3"),
    ("\"Method not\"", "3"),
    ("\"method not found\"", "3"),
    ("disk", "7"),
    ("größe", "0"),
    ("GRÖSSE", ""),
    ("GRÖßE", "0"),
    ("gr\\u00f6", "0"),
    ("\"say \\\"hi\\\"\"", "1"),
    ("\"hi\\\" | now\"", "1"),
    ("garbage", "8"),
    ("/v1/mcp", "8"),
    ("-32601", "3"),
    ("\"name\":\"find\"", "0"),
    ("tools call", "0 1 4"),
    ("nothing", ""),
    ("connection reset", "6"),
    ("http://host", ""),
    ("foo:bar", ""),
    // Negation.
    ("!tools", "5 6 7 8 9 10 11 12"),
    ("!jsonrpc", "7 8"),
    ("! jsonrpc", "0 1 2 3 4 5 6 9 10 11 12"),
    ("-\"connection reset\" message:", ""),
    ("-kind:req tools", "1 3"),
    ("!kind:req tools", "1 3"),
    ("-ping", ""),
    ("find !find_all", "0 1"),
    // Keys.
    ("method:tools/", "0 1 2 3 4"),
    ("m:TOOLS/list", "2 3"),
    ("method:=tools", ""),
    ("method:=tools/list", "2 3"),
    ("method:*list*", "2 3 12"),
    ("method:notifications/", "5 6 10"),
    ("METHOD:ping", "9 10 11"),
    ("tool:find", "0 1 4"),
    ("t:find", "0 1 4"),
    ("tool:=find", "0 1"),
    ("tool:find*", "0 1 4"),
    ("tool:f?nd", "0 1"),
    ("tool:\"f?nd\"", ""),
    ("tool:find,find_all", "0 1 4"),
    ("tool:=find,=find_all", "0 1 4"),
    ("tool:ping", ""),
    ("id:a-7", "0 1"),
    ("id:\"a-7\"", "0 1"),
    ("id:A-7", "0 1"),
    ("id:8", "2 3"),
    ("id:10", "9 10 11"),
    ("id:1", ""),
    ("id:8,9", "2 3 4"),
    ("kind:req", "0 2 4 9 12"),
    ("kind:request", "0 2 4 9 12"),
    ("k:RESP", "1 3 11"),
    ("kind:notify", "5 6 10"),
    ("kind:progress", "5"),
    ("kind:log", "6"),
    ("kind:stderr", "7"),
    ("kind:bad", "8"),
    ("kind:http", ""),
    ("kind:other", ""),
    ("kind:req,stderr", "0 2 4 7 9 12"),
    ("dir:c2s", "0 2 4 9 10 12"),
    ("dir:->", "0 2 4 9 10 12"),
    ("d:server", "1 3 5 6 8 11"),
    ("dir:←", "1 3 5 6 8 11"),
    ("dir:err", "7"),
    ("!dir:c2s !dir:s2c", "7"),
    ("status:err", "0 1 2 3"),
    ("status:failed", "0 1 2 3"),
    ("status:=err", "2 3"),
    ("status:toolerr", "0 1"),
    ("s:tool-error", "0 1"),
    ("status:pending", "4"),
    ("status:inflight", "4"),
    ("status:late", "9 10 11"),
    ("status:late-result", "9 10 11"),
    ("status:cancel", ""),
    ("status:streaming", "12"),
    ("status:bad", "8"),
    ("status:ok", ""),
    ("status:t:working", ""),
    ("status:401", ""),
    ("status:err,late kind:resp", "1 3 11"),
    ("status:err,late !kind:stderr", "0 1 2 3 9 10 11"),
    ("has:problem", "1 3 8 11"),
    ("!has:problem kind:resp", ""),
    ("has:PROBLEM dir:s2c", "1 3 8 11"),
    ("tool:search status:pending", ""),
    ("tool:find status:pending", "4"),
    // Somebody is still typing.
    ("status:", ALL),
    ("kind:req tool:", "0 2 4 9 12"),
    ("kind:req,", "0 2 4 9 12"),
    ("!", ALL),
    ("kind:req !", "0 2 4 9 12"),
];

#[test]
fn rows_match_as_the_language_says() {
    assert!(CASES.len() >= 80);
    let (model, key) = model_of(STREAM, "s", Limits::NONE);
    let session = model.session(&key).unwrap();
    for (query, expected) in CASES {
        assert_eq!(matching(query, session), expected, "{query}");
    }
}

#[test]
fn http_rows_have_their_status() {
    let text = "> Q1 call w [x=7], < H401 [x=7], > N n [x=8], < H202 [x=8], < H405 [x=9]";
    let (model, key) = model_of(text, "s", Limits::NONE);
    let session = model.session(&key).unwrap();
    for (query, expected) in [
        ("kind:http", "1 3 4"),
        ("status:401", "1"),
        ("status:err", "0 1"),
        ("status:ok", "3 4"),
        ("has:problem", "1"),
    ] {
        assert_eq!(matching(query, session), expected, "{query}");
    }
}

#[test]
fn a_released_body_is_never_counted_as_no_match() {
    let limits = Limits {
        body_bytes: Some(1),
        ..Limits::NONE
    };
    let (model, key) = model_of(STREAM, "s", limits);
    let session = model.session(&key).unwrap();
    for (query, expected) in [
        ("tool:=find", "0 1"),
        ("ping", "0? 1? 2? 3? 4? 5? 6? 7? 8? 9 10 11"),
        ("kind:stderr nothing", "7?"),
        ("kind:stderr !nothing", "7?"),
        ("kind:stderr nothing method:x", ""),
    ] {
        assert_eq!(matching(query, session), expected, "{query}");
    }
}

#[test]
fn what_is_wrong_is_told_with_its_column() {
    use FilterScope::{Rows, Sessions};
    let cases = [
        ("\"open", Rows, "unterminated quote (col 1)"),
        ("ping \"open", Rows, "unterminated quote (col 6)"),
        ("tool:\"open", Rows, "unterminated quote (col 6)"),
        ("kind:x", Rows, r#"unknown kind "x" (col 6)"#),
        ("ping kind:req,x", Rows, r#"unknown kind "x" (col 15)"#),
        ("dir:up", Rows, r#"unknown dir "up" (col 5)"#),
        ("status:fine", Rows, r#"unknown status "fine" (col 8)"#),
        ("status:99", Rows, r#"unknown status "99" (col 8)"#),
        ("status:99999", Rows, r#"unknown status "99999" (col 8)"#),
        ("has:warn", Rows, r#"unknown has "warn" (col 5)"#),
        ("tool:,x", Rows, "empty alternative (col 6)"),
        ("tool:x,,y", Rows, "empty alternative (col 8)"),
        ("tool: x", Rows, "empty alternative (col 6)"),
        ("tool:=", Rows, "empty alternative (col 6)"),
        ("kind:req", Sessions, r#"unknown kind "req" (col 6)"#),
        ("state:x", Sessions, r#"unknown state "x" (col 7)"#),
        ("status:ok", Sessions, r#"unknown status "ok" (col 8)"#),
    ];
    for (query, scope, expected) in cases {
        let error = Filter::parse(query, scope).unwrap_err();
        assert_eq!(error.to_string(), expected, "{query}");
    }
}

#[test]
fn a_mistyped_key_is_text_with_a_hint() {
    let hint = |query: &str| Filter::parse(query, FilterScope::Rows).unwrap().hint();
    assert_eq!(hint("stauts:err"), Some("did you mean status:"));
    assert_eq!(hint("tols:x"), Some("did you mean tool:"));
    assert_eq!(hint("Methd:x"), Some("did you mean method:"));
    assert_eq!(hint("http://host"), None);
    assert_eq!(hint("foo:bar"), None);
    assert_eq!(hint("status:err"), None);
    assert_eq!(hint("x:y"), None);
    assert_eq!(distance("stauts", "status"), 1);
    assert_eq!(distance("", "ab"), 2);
}

#[test]
fn words_to_highlight_are_those_that_are_wanted() {
    let filter = Filter::parse("a !b \"c d\" tool:e", FilterScope::Rows).unwrap();
    assert_eq!(filter.words(), ["a", "c d"]);
    assert!(Filter::parse(" ", FilterScope::Rows).unwrap().is_empty());
}

#[test]
fn sessions_match_by_what_they_are() {
    let text = "meta {command:[npx,\"fs server\"],cwd:\"/x\"}\n> Q1 initialize{protocolVersion:2025-11-25,clientInfo:{name:Claude,version:1}}\n< R1 {}\n> Q2 call t\n< E2 -1\n> Q3 x";
    let (mut model, key) = model_of(text, "files-48213-7f3a1c9e2b04", Limits::NONE);
    model.set_source(&key, Source::Live);
    let session = model.session(&key).unwrap();
    assert_eq!(session.pid(), Some(48_213));
    for (query, expected) in [
        ("server", true),
        ("FILES-48", true),
        ("web1", true),
        ("claude", true),
        ("\"npx fs\"", true),
        ("nothing", false),
        ("!nothing server", true),
        ("session:server", true),
        ("session:files", true),
        ("host:web", true),
        ("host:=web", false),
        ("client:claude", true),
        ("kind:stdio", true),
        ("kind:http", false),
        ("state:live", true),
        ("state:ended,unknown", false),
        ("status:err", true),
        ("status:pending", true),
        ("status:bad", false),
        ("has:problem", true),
        ("tool:t", false),
    ] {
        let filter = Filter::parse(query, FilterScope::Sessions).unwrap();
        assert_eq!(filter.matches_session(session), expected, "{query}");
    }
}

proptest::proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in "[ -~a-zäß\"\\\\!:,=*?-]{0,24}") {
        let (model, key) = model_of("> Q1 call t, < R1 {}", "s", Limits::NONE);
        let session = model.session(&key).unwrap();
        for scope in [FilterScope::Rows, FilterScope::Sessions] {
            match Filter::parse(&text, scope) {
                Ok(filter) => {
                    filter.matches_row(session, 0);
                    filter.matches_session(session);
                }
                Err(error) => proptest::prop_assert!(error.column <= text.chars().count() + 1),
            }
        }
    }
}
