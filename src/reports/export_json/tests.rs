//! The documents of whole logs, read back: what stands in them, in which order, and nothing else.

use serde_json::{Value, json};

use super::*;
use crate::{
    record::{KeptLog, LineReader, ReadEvent, Scanned},
    reports::Loader,
    session::FilterScope,
};

/// A log of one session, line by line.
pub(super) struct Log {
    pub(super) text: Vec<u8>,
    next: u64,
}

impl Log {
    pub(super) fn new() -> Self {
        Self {
            text: Vec::new(),
            next: 1,
        }
    }

    /// A line with the next number, at that millisecond, with these further fields.
    pub(super) fn at(mut self, millis: u64, direction: &str, rest: &str) -> Self {
        let seq = self.next;
        self.next += 1;
        let (second, millis) = (millis / 1_000, millis % 1_000);
        let ts = format!("2026-09-01T09:59:{second:02}.{millis:03}Z");
        self.line(&format!(
            r#"{{"session_id":"files-1-aa","server_label":"files","seq":{seq},"ts":"{ts}","direction":"{direction}","transport":"stdio",{rest}}}"#
        ))
    }

    pub(super) fn raw(self, millis: u64, direction: &str, raw: &str) -> Self {
        self.at(millis, direction, &format!(r#""raw":{raw}"#))
    }

    pub(super) fn line(mut self, line: &str) -> Self {
        self.text.extend_from_slice(line.as_bytes());
        self.text.push(b'\n');
        self
    }

    pub(super) fn skip(mut self) -> Self {
        self.next += 1;
        self
    }

    pub(super) fn load(&self) -> Exported {
        load(&self.text, None).unwrap()
    }

    pub(super) fn document(&self) -> Value {
        document(&self.load(), None)
    }
}

pub(super) fn load(text: &[u8], wanted: Option<&str>) -> Result<Exported, Error> {
    let mut loader = Loader::new("log".into(), wanted);
    let mut reader = LineReader::default();
    let mut take = |event: ReadEvent| loader.take(event);
    reader.push(text, &mut take);
    let torn = reader.finish(&mut take);
    loader.finish(Scanned {
        log: KeptLog::memory(bytes::Bytes::copy_from_slice(text)),
        has_bytes: !text.is_empty(),
        torn,
    })
}

pub(super) fn text_of(exported: &Exported, query: Option<&str>) -> String {
    let filter = query.map(|query| Filter::parse(query, FilterScope::Rows).unwrap());
    let options = JsonOptions {
        generated_at: Timestamp::from_nanos(0),
        filter: query.zip(filter.as_ref()),
    };
    let mut out = Vec::new();
    write_json(exported, options, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

pub(super) fn document(exported: &Exported, query: Option<&str>) -> Value {
    let document = serde_json::from_str(&text_of(exported, query)).unwrap();
    schema_tests::fits(&document);
    document
}

/// The example of export.md 4.9 (its result has 41 bytes, not 40).
pub(super) fn example() -> Log {
    Log::new()
        .raw(
            100,
            "c2s",
            r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"read","arguments":{"path":"a.txt"}}}"#,
        )
        .raw(
            350,
            "s2c",
            r#"{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"hi"}]}}"#,
        )
}

#[test]
fn the_example_of_the_page_is_written() {
    let version = env!("CARGO_PKG_VERSION");
    let expected = json!({
        "generated_at": "1970-01-01T00:00:00Z",
        "schema": "mcpsnoop.export/1",
        "generator": {"name": "mcpsnoop", "version": version},
        "session": {
            "id": "files-1-aa", "label": "files", "transport": "stdio",
            "first": "2026-09-01T09:59:00.1Z", "last": "2026-09-01T09:59:00.35Z",
            "requests": 1, "responses": 1, "notifications": 0, "errors": 0, "pending": 0,
            "late_results": 0, "missing_frames": 0, "era": "unknown", "complete": true
        },
        "summary": {
            "tools": [{
                "name": "read", "calls": 1, "errors": 0, "protocol_errors": 0, "tool_errors": 0,
                "pending": 0, "p50_ms": 250, "p95_ms": 250, "p99_ms": 250, "result_bytes": 41,
                "max_result_bytes": 41, "measured": 1, "server_p50_ms": 250, "server_p95_ms": 250,
                "server_p99_ms": 250, "cancelled": 0, "superseded": 0, "max_round_trips": 1
            }],
            "slowest_calls": [{
                "call_index": 0, "id": "7", "tool_name": "read", "duration_ms": 250,
                "is_error": false
            }]
        },
        "calls": [{
            "index": 0, "id": "7", "method": "tools/call", "direction": "c2s",
            "state": "completed", "status": "ok", "is_tool": true, "is_error": false,
            "tool_error": false, "tool_name": "read", "started_at": "2026-09-01T09:59:00.1Z",
            "ended_at": "2026-09-01T09:59:00.35Z", "duration_ms": 250, "round_trips": 1,
            "server_time_ms": 250, "params": {"name": "read", "arguments": {"path": "a.txt"}},
            "result": {"content": [{"type": "text", "text": "hi"}]}, "request_seq": 1,
            "response_seq": 2, "measured": true
        }],
        "events": [
            {
                "seq": 1, "timestamp": "2026-09-01T09:59:00.1Z", "direction": "c2s",
                "kind": "request", "method": "tools/call", "id": "7", "call_index": 0,
                "raw": {"jsonrpc": "2.0", "id": 7, "method": "tools/call",
                    "params": {"name": "read", "arguments": {"path": "a.txt"}}},
                "transport": "stdio"
            },
            {
                "seq": 2, "timestamp": "2026-09-01T09:59:00.35Z", "direction": "s2c",
                "kind": "response", "method": "tools/call", "id": "7", "call_index": 0,
                "raw": {"jsonrpc": "2.0", "id": 7,
                    "result": {"content": [{"type": "text", "text": "hi"}]}},
                "transport": "stdio"
            }
        ],
        "interactions": [{
            "call_index": 0, "call_id": "7", "method": "tools/call", "tool_name": "read",
            "state": "completed", "round_trips": 1, "server_time_ms": 250,
            "client_turnaround_ms": 0, "duration_ms": 250,
            "started_at": "2026-09-01T09:59:00.1Z", "hops_complete": true
        }]
    });
    let text = text_of(&example().load(), None);
    // Compared as text: the order of the members is a part of the format.
    let expected = serde_json::to_string_pretty(&expected).unwrap() + "\n";
    assert_eq!(text, expected);
}

#[test]
fn payloads_are_passed_through_token_for_token() {
    let payload =
        r#"{"b":1.0,"a":9007199254740993,"b":"\u0041\/","__proto__":{},"e":1E+2,"<>&":[ ]}"#;
    let log = Log::new()
        .raw(
            0,
            "c2s",
            &format!(r#"{{"id":"7","method":"x","params":{payload}}}"#),
        )
        .raw(1, "s2c", &format!(r#"{{"id":"7","result":{payload}}}"#));
    let text = text_of(&log.load(), None);
    let plain: String = text.chars().filter(|it| !it.is_whitespace()).collect();
    let wanted: String = payload.chars().filter(|it| !it.is_whitespace()).collect();
    // As parameters, as a result, and in either event.
    assert_eq!(plain.matches(&wanted).count(), 4, "{text}");
}

#[test]
fn ids_keep_their_form() {
    let log = Log::new()
        .raw(0, "c2s", r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#)
        .raw(0, "c2s", r#"{"jsonrpc":"2.0","id":"7","method":"ping"}"#)
        .raw(0, "c2s", r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#);
    let document = log.document();
    let calls = &document["calls"];
    let ids = [0, 1, 2].map(|at| calls[at]["id"].as_str().unwrap().to_owned());
    assert_eq!(ids, ["7", "\"7\"", "null"]);
    let long = "x".repeat(5_000);
    let log = Log::new().raw(0, "c2s", &format!(r#"{{"id":"{long}","method":"ping"}}"#));
    assert_eq!(log.document()["events"][0]["id"], format!("\"{long}\""));
}

#[test]
fn bytes_that_are_not_utf8_are_shown_and_told() {
    let mut log = Log::new();
    log.text = b"{\"session_id\":\"s\",\"seq\":1,\"direction\":\"c2s\",\"raw\":{\"method\":\"x\",\"p\":\"a\xffb\"}}\n{\"session_id\":\"s\",\"seq\":2,\"direction\":\"stderr\",\"text\":\"c\xfed\"}\n".to_vec();
    let document = log.document();
    let [message, line] = [0, 1].map(|at| document["events"][at].clone());
    assert_eq!(message["raw"]["p"], "a\u{fffd}b");
    assert_eq!(message["raw_inexact"], true);
    assert!(message.get("timestamp").is_none());
    assert_eq!(
        (&line["text"], line.get("raw_inexact")),
        (&json!("c\u{fffd}d"), None)
    );
}

#[test]
fn a_clock_that_was_set_back_gives_no_duration() {
    let log = Log::new()
        .raw(
            900,
            "c2s",
            r#"{"id":1,"method":"tools/call","params":{"name":"t"}}"#,
        )
        .raw(100, "s2c", r#"{"id":1,"result":{}}"#);
    let text = text_of(&log.load(), None);
    let document: Value = serde_json::from_str(&text).unwrap();
    let call = &document["calls"][0];
    assert_eq!(call["measured"], false);
    assert_eq!(call["response_seq"], 2);
    for key in ["duration_ms", "ended_at", "server_time_ms"] {
        assert!(call.get(key).is_none(), "{key}");
    }
    assert!(!text.contains(": -"), "{text}");
    assert_eq!(document["summary"]["slowest_calls"], json!([]));
    assert_eq!(document["summary"]["tools"][0]["measured"], 0);
}

#[test]
fn errors_and_refusals_say_what_answered() {
    let log = Log::new()
        .raw(
            0,
            "c2s",
            r#"{"id":1,"method":"tools/call","params":{"name":"t"}}"#,
        )
        .raw(
            10,
            "s2c",
            r#"{"id":1,"error":{"code":-32602,"message":"no\u0020","data":{"a":1.0}}}"#,
        )
        .raw(20, "c2s", r#"{"id":2,"method":"x"}"#)
        .raw(
            30,
            "s2c",
            r#"{"id":2,"error":{"code":-32002,"message":"gone"}}"#,
        )
        .raw(40, "c2s", r#"{"id":3,"method":"x"}"#)
        .raw(50, "s2c", r#"{"jsonrpc":"2.0","id":3,"error":"boom"}"#);
    let document = log.document();
    let calls = &document["calls"];
    let known = json!({"code": -32602, "message": "no ", "data": {"a": 1.0}});
    assert_eq!(calls[0]["error"], known);
    assert_eq!(calls[0]["error_name"], "invalid params");
    assert_eq!(
        calls[1]["error"],
        json!({"code": -32002, "message": "gone"})
    );
    assert!(calls[1].get("error_name").is_none());
    assert_eq!(calls[2]["error"], json!({"data": "boom"}));
    assert_eq!(document["session"]["errors"], 3);
    assert_eq!(document["events"][1]["errored"], true);
}

#[test]
fn http_fields_are_those_of_the_envelope() {
    let http = r#""transport":"http","conn_id":"c1","peer":"p","exchange":4"#;
    let request = format!(
        r#"{{"session_id":"h","seq":1,"ts":"2026-09-01T10:00:00+02:00","direction":"c2s",{http},"mcp_method":"ping","mcp_param_headers":[{{"name":"Mcp-Param-Key","value":"v"}}],"wire_bytes":90,"raw":{{"jsonrpc":"2.0","id":1,"method":"ping"}}}}"#
    );
    let refusal = format!(
        r#"{{"session_id":"h","seq":2,"ts":"2026-09-01T10:00:01+02:00","direction":"s2c",{http},"status":502,"undelivered":true,"auth_challenge":"Bearer x","redacted":true}}"#
    );
    let start = r#"{"session_id":"h","seq":3,"direction":"meta","raw":{"command":null,"target":"https://u:p@h/mcp?k=v"}}"#;
    let end = r#"{"session_id":"h","seq":4,"direction":"meta","raw":{"event":"end","exit_code":3,"closed_by":"server","dropped":2}}"#;
    let log = [request.as_str(), &refusal, start, end]
        .into_iter()
        .fold(Log::new(), Log::line);
    let document = log.document();
    let session = &document["session"];
    let expected = json!([
        "https://[stripped]@h/mcp?k=[stripped]",
        "2026-09-01T10:00:00+02:00",
        3,
        "server",
        2,
        false
    ]);
    let found = [
        "endpoint",
        "first",
        "exit_code",
        "closed_by",
        "declared_dropped",
        "complete",
    ]
    .map(|key| session[key].clone());
    assert_eq!(json!(found), expected);
    let call = &document["calls"][0];
    let found = [
        "state",
        "http_status",
        "undelivered",
        "redacted",
        "conn_id",
        "peer",
        "response_seq",
    ]
    .map(|key| call[key].clone());
    assert_eq!(
        json!(found),
        json!(["failed", 502, true, true, "c1", "p", 2])
    );
    let expected = json!({
        "seq": 1, "timestamp": "2026-09-01T10:00:00+02:00", "direction": "c2s", "kind": "request",
        "method": "ping", "id": "1", "call_index": 0, "raw": {"jsonrpc": "2.0", "id": 1, "method": "ping"},
        "transport": "http", "conn_id": "c1", "peer": "p", "exchange": 4, "wire_bytes": 90,
        "routing": {"method": "ping", "params": [{"name": "Mcp-Param-Key", "value": "v"}]}
    });
    assert_eq!(document["events"][0], expected);
    let expected = json!({
        "seq": 2, "timestamp": "2026-09-01T10:00:01+02:00", "direction": "s2c",
        "kind": "transport", "errored": true, "http_status": 502, "auth_challenge": "Bearer x",
        "call_index": 0, "transport": "http", "conn_id": "c1", "peer": "p", "exchange": 4,
        "redacted": true
    });
    assert_eq!(document["events"][1], expected);
}

#[test]
fn an_old_array_is_one_event_an_element() {
    let log = Log::new().raw(
        0,
        "c2s",
        r#"[{"id":1,"method":"a"}, {"id":2,"method":"b","params":{"x":[]}}]"#,
    );
    let document = log.document();
    let events = &document["events"];
    assert_eq!(
        events[1]["raw"],
        json!({"id": 2, "method": "b", "params": {"x": []}})
    );
    let places = [0, 1].map(|at| (events[at]["batch"].clone(), events[at].get("batch_index")));
    assert_eq!(
        places,
        [(json!(true), None), (json!(true), Some(&json!(1)))]
    );
    assert_eq!(document["calls"][1]["params"], json!({"x": []}));
}

#[test]
fn a_filter_leaves_frames_and_their_calls() {
    let log = Log::new()
        .raw(
            0,
            "c2s",
            r#"{"id":1,"method":"tools/call","params":{"name":"a"}}"#,
        )
        .raw(10, "s2c", r#"{"id":1,"result":{"x":"needle"}}"#)
        .raw(
            20,
            "c2s",
            r#"{"id":2,"method":"tools/call","params":{"name":"b"}}"#,
        )
        .raw(50, "s2c", r#"{"id":2,"result":{}}"#);
    let exported = log.load();
    let whole = document(&exported, None);
    for (query, calls, events) in [
        ("needle", vec![0], vec![2]),
        ("tool:b", vec![1], vec![3, 4]),
        ("nothing", vec![], vec![]),
        ("", vec![0, 1], vec![1, 2, 3, 4]),
    ] {
        let document = document(&exported, Some(query));
        assert_eq!(document["filter"], query);
        let of = |list: &str, key: &str| -> Vec<u64> {
            let list = document[list].as_array().unwrap();
            list.iter().map(|it| it[key].as_u64().unwrap()).collect()
        };
        assert_eq!(of("calls", "index"), calls, "{query}");
        assert_eq!(of("events", "seq"), events, "{query}");
        assert_eq!(document.get("interactions").is_some(), !calls.is_empty());
        assert_eq!(document["session"], whole["session"]);
        let slowest = document["summary"]["slowest_calls"].as_array().unwrap();
        let named = slowest.iter().filter(|it| it.get("call_index").is_some());
        assert_eq!((slowest.len(), named.count()), (2, calls.len()), "{query}");
        assert_eq!(slowest[0]["tool_name"], "b");
    }
}
