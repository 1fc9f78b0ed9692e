//! What the model knows beside states and times, as it stands in the document.

use serde_json::{Value, json};

use super::{
    call_tests::{booking, check},
    tests::Log,
};
use crate::record::{Envelope, Payload, script};

/// The document of a scripted session.
#[track_caller]
fn scripted(text: &str) -> Value {
    let envelopes = script::session(text).unwrap();
    envelopes
        .iter()
        .fold(Log::new(), |log, envelope| log.line(&line(envelope)))
        .document()
}

/// A scripted frame as a line of a log.
fn line(envelope: &Envelope) -> String {
    let mut fields = vec![format!(
        r#""session_id":"s","seq":{},"ts":"{}","direction":"{}","transport":"{}""#,
        envelope.seq,
        envelope.ts.unwrap(),
        envelope.direction.as_str(),
        envelope.transport.as_str(),
    )];
    if let Some(http) = &envelope.http {
        fields.push(format!(
            r#""exchange":{},"status":{}"#,
            http.exchange, http.status
        ));
        for (name, value) in [
            ("auth_challenge", &http.auth_challenge),
            ("mcp_method", &http.mcp_method),
        ] {
            if let Some(value) = value {
                fields.push(format!(r#""{name}":{}"#, Value::from(&**value)));
            }
        }
    }
    match &envelope.payload {
        Payload::Raw(raw) => {
            fields.push(format!(r#""raw":{}"#, String::from_utf8_lossy(raw.bytes())));
        }
        Payload::Text(text) => {
            let text = String::from_utf8_lossy(text);
            fields.push(format!(r#""text":{}"#, Value::from(text)));
        }
        Payload::Nothing => {}
    }
    format!("{{{}}}", fields.join(","))
}

#[test]
fn a_task_s_own_result_is_the_call_s() {
    let handle = "`> Q1 call s`, `@1 < R1 {resultType:task,taskId:t,status:working}`, ";
    let core = "`> Q1 call s{task:{}}`, `@5 < R1 {task:{taskId:t,status:working}}`, ";
    let members = [
        "state",
        "status",
        "task_id",
        "task_status",
        "result",
        "response_seq",
        "duration_ms",
    ];
    let cases = [
        (
            handle,
            "`@9 > Q2 ping`, `@10 < R2 {}`",
            json!(["pending", "pending", "t", "working", null, null, null]),
        ),
        (
            handle,
            "`@1000 > Q2 tasks/get{t}`, `@10000 < R2 {taskId:t,status:completed,result:{isError:false}}`",
            json!(["completed", "ok", "t", "completed", {"isError": false}, 2, 10000]),
        ),
        (
            core,
            "`@900 < N notifications/tasks/status{t,completed}`, `@950 > Q2 tasks/result{t}`, `@960 < R2 {content:[…]}`",
            json!(["completed", "ok", "t", "completed", {"content": []}, 2, 900]),
        ),
        (
            handle,
            "`> Q2 tasks/cancel{t}`, `< R2 {}`, `< N notifications/tasks{t,cancelled}`",
            json!(["cancelled", "cancelled", "t", "cancelled", null, 2, null]),
        ),
    ];
    for (before, after, expected) in cases {
        let document = scripted(&format!("{before}{after}"));
        let call = &document["calls"][0];
        if expected[4].get("content").is_some() {
            assert!(call["result"]["content"].is_array(), "{call:#}");
            let mut call = call.clone();
            call["result"] = expected[4].clone();
            check(&call, &members, &expected);
        } else {
            check(call, &members, &expected);
        }
        assert_eq!(document["events"][1]["task_id"], "t");
    }
}

#[test]
fn questions_to_a_user_are_told_without_their_answers() {
    let document = booking().document();
    let questions = document["elicitations"].as_array().unwrap();
    assert_eq!(questions.len(), 2);
    assert_eq!(
        questions[0],
        json!({
            "call_index": 0, "call_id": "1", "method": "tools/call", "tool_name": "book",
            "key": "k", "mode": "form", "message": "?", "action": "accept",
            "asked_at": "2026-09-01T09:59:00.4Z", "answered_at": "2026-09-01T09:59:12.4Z",
            "elapsed_ms": 12000, "channel": "mrtr", "round": 1
        })
    );
    assert_eq!(document["events"][2]["mrtr_root"], "1");
    assert_eq!(
        document["interactions"][0]["hops"][0]["asked"],
        json!(["elicitation/create"])
    );
    let document = Log::new()
        .raw(0, "s2c", r#"{"jsonrpc":"2.0","id":5,"method":"elicitation/create","params":{"message":"who","requestedSchema":{"type":"object","properties":{"name":{"type":"string"},"age":{"type":"number"}}}}}"#)
        .raw(3_000, "c2s", r#"{"jsonrpc":"2.0","id":5,"result":{"action":"decline"}}"#)
        .document();
    assert_eq!(
        document["elicitations"],
        json!([{
            "key": "5", "mode": "form", "message": "who",
            "fields": [{"name": "age", "type": "number"}, {"name": "name", "type": "string"}],
            "action": "decline", "asked_at": "2026-09-01T09:59:00Z",
            "answered_at": "2026-09-01T09:59:03Z", "elapsed_ms": 3000, "channel": "request",
            "round": 1
        }])
    );
}

#[test]
fn what_peers_declare_and_under_which_revision() {
    let document = Log::new()
        .raw(0, "c2s", r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"roots": {"b":1.0,"a":2}},"clientInfo":{"name":"c","version":"1"}}}"#)
        .raw(1, "s2c", r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"2"},"instructions":"be\nkind"}}"#)
        .raw(2, "c2s", r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)
        .raw(3, "c2s", r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#)
        .document();
    assert_eq!(
        document["capabilities"],
        json!({
            "protocol_version": "2025-11-25", "client_info": {"name": "c", "version": "1"},
            "server_info": {"name": "s", "version": "2"}, "client": {"roots": {"b": 1.0, "a": 2}},
            "server": {"tools": {}}, "instructions": "be\nkind"
        })
    );
    check(
        &document["session"],
        &["era", "revisions"],
        &json!(["legacy", {"2025-11-25": 2}]),
    );
}

#[test]
fn what_tools_cost_and_which_were_not_called() {
    let tools = r#"{"name":"a","description":"d","inputSchema":{"type":"object"}},{"name":"b","inputSchema":{},"outputSchema":{}}"#;
    let log = Log::new()
        .raw(
            0,
            "c2s",
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#,
        )
        .raw(
            1,
            "s2c",
            &format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"tools":[{tools}]}}}}"#),
        )
        .raw(
            2,
            "c2s",
            r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"a"}}"#,
        )
        .raw(3, "s2c", r#"{"jsonrpc":"2.0","id":2,"result":{}}"#);
    assert_eq!(
        log.document()["summary"]["definitions"],
        json!({
            "tools": 2, "bytes": tools.len() - 1, "complete": true, "unused": ["b"],
            "per_tool": [
                {"name": "a", "bytes": 62, "description_bytes": 3, "schema_bytes": 17, "output_schema_bytes": 0},
                {"name": "b", "bytes": 47, "description_bytes": 0, "schema_bytes": 2, "output_schema_bytes": 2}
            ]
        })
    );
}

#[test]
fn remarks_stand_at_their_frames() {
    let document = Log::new()
        .raw(0, "c2s", r#"{"jsonrpc":"1.0","id":null,"method":"x"}"#)
        .raw(
            10,
            "c2s",
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}}"#,
        )
        .raw(
            20,
            "c2s",
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#,
        )
        .raw(770, "s2c", r#"{"jsonrpc":"2.0","id":1,"result":{}}"#)
        .document();
    let events = &document["events"];
    let warning = events[0]["warning"].as_str().unwrap();
    assert!(
        warning.contains("jsonrpc") && warning.contains(", "),
        "{warning}"
    );
    let observation = events[3]["observation"].as_str().unwrap();
    assert!(observation.contains("750 ms"), "{observation}");
    assert!(events[1].get("warning").is_none() && events[1].get("findings").is_none());
    let records = events[0]["findings"].as_array().unwrap();
    let texts: Vec<_> = records
        .iter()
        .map(|record| record["message"].as_str().unwrap())
        .collect();
    assert_eq!(texts.join(", "), warning);
    let members = ["id", "signal", "side", "seq"];
    check(
        &records[0],
        &members,
        &json!(["rpc-version", "warn", "client", 1]),
    );
    check(
        &records[1],
        &members,
        &json!(["rpc-id-null", "warn", "client", 1]),
    );
    let late = &events[3]["findings"][0];
    check(
        late,
        &members,
        &json!(["late-result", "late-result", "server", 4]),
    );
    assert_eq!(document["session"]["warnings"], 1);
}

#[test]
fn cache_hints_and_fetches_inside_a_lifetime() {
    let list = |id: u32| {
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/list","params":{{"_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}}}}"#
        )
    };
    let answer = |id: u32, millis: u32| {
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{{"resultType":"complete","ttlMs":{millis},"cacheScope":"public","tools":[]}}}}"#
        )
    };
    let document = Log::new()
        .raw(0, "c2s", &list(1))
        .raw(1, "s2c", &answer(1, 60_000))
        .raw(500, "c2s", &list(2))
        .raw(501, "s2c", &answer(2, 0))
        .document();
    let events = &document["events"];
    let hints = ["cache_ttl_ms", "cache_scope"];
    check(&events[1], &hints, &json!([60000, "public"]));
    check(&events[3], &hints, &json!([0, "public"]));
    assert!(
        events[2]["cache_stale_refetch"].is_string(),
        "{:#}",
        events[2]
    );
    check(
        &events[2],
        &["warning", "observation"],
        &json!([null, null]),
    );
}

#[test]
fn a_refusal_that_was_made_good_says_how() {
    let document = scripted(
        "`> Q1 call t [x=1]`, `@3 < H401 ch=\"Bearer x\" [x=1]`, `> Q1 call t [x=2]`, `< R1 {} [x=2]`",
    );
    let members = [
        "state",
        "status",
        "resolved",
        "is_error",
        "http_status",
        "response_seq",
        "measured",
    ];
    let calls = &document["calls"];
    check(
        &calls[0],
        &members,
        &json!(["failed", "resolved", "auth", false, 401, 2, false]),
    );
    check(
        &calls[1],
        &members[..4],
        &json!(["completed", "ok", null, false]),
    );
    assert_eq!(document["session"]["errors"], 0);
    assert_eq!(document["summary"]["tools"][0]["errors"], 0);
}

#[test]
fn calls_that_were_sent_again_are_named() {
    let call = |id: u32| {
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"pay","arguments":{{"sum":1}}}}}}"#
        )
    };
    let document = Log::new()
        .raw(0, "c2s", &call(1))
        .raw(
            100,
            "c2s",
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#,
        )
        .raw(200, "c2s", &call(2))
        .raw(300, "s2c", r#"{"jsonrpc":"2.0","id":2,"result":{}}"#)
        .document();
    assert_eq!(
        document["summary"]["duplicates"],
        json!([{
            "tool": "pay", "seq": 3, "id": "2", "earlier_seq": 1, "earlier_id": "1",
            "after_cancel": true
        }])
    );
}
