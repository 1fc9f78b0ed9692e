//! Calls that took several requests, were cancelled, or went the other way.

use serde_json::{Value, json};

use super::tests::Log;

const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}"#;

/// The values of these members, `null` for one that is absent.
#[track_caller]
pub(super) fn check(object: &Value, members: &[&str], expected: &Value) {
    let found: Vec<Value> = members
        .iter()
        .map(|name| object.get(name).cloned().unwrap_or_default())
        .collect();
    assert_eq!(Value::from(found), *expected, "{object:#}");
}

/// A booking that asks twice, as in session-model.md 6.
pub(super) fn booking() -> Log {
    let call = |id: u32, more: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"book",{META}{more}}}}}"#
        )
    };
    let ask = |id: u32, key: &str, state: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{{"resultType":"input_required","inputRequests":{{"{key}":{{"method":"elicitation/create","params":{{"message":"?"}}}}}},"requestState":"{state}"}}}}"#
        )
    };
    let again = |key: &str, state: &str| {
        format!(r#","inputResponses":{{"{key}":{{"action":"accept"}}}},"requestState":"{state}""#)
    };
    Log::new()
        .raw(0, "c2s", &call(1, ""))
        .raw(400, "s2c", &ask(1, "k", "A"))
        .raw(12_400, "c2s", &call(2, &again("k", "A")))
        .raw(12_700, "s2c", &ask(2, "s", "B"))
        .raw(37_700, "c2s", &call(3, &again("s", "B")))
        .raw(
            38_200,
            "s2c",
            r#"{"jsonrpc":"2.0","id":3,"result":{"ok":1}}"#,
        )
}

#[test]
fn an_operation_of_several_requests_is_one_call() {
    let document = booking().document();
    let calls = document["calls"].as_array().unwrap();
    assert_eq!(calls.len(), 1);
    check(
        &calls[0],
        &[
            "id",
            "round_trips",
            "server_time_ms",
            "duration_ms",
            "result",
            "request_seq",
            "response_seq",
        ],
        &json!(["1", 3, 1200, 38200, {"ok": 1}, 1, 6]),
    );
    assert_eq!(calls[0]["params"].get("inputResponses"), None);
    let interaction = &document["interactions"][0];
    check(
        interaction,
        &[
            "round_trips",
            "server_time_ms",
            "client_turnaround_ms",
            "duration_ms",
            "hops_complete",
        ],
        &json!([3, 1200, 37000, 38200, true]),
    );
    let members = [
        "request_id",
        "server_time_ms",
        "client_turnaround_ms",
        "pending",
        "request_seq",
        "response_seq",
    ];
    for (at, expected) in [
        json!(["1", 400, 0, null, 1, 2]),
        json!(["2", 300, 12000, null, 3, 4]),
        json!(["3", 500, 25000, null, 5, 6]),
    ]
    .into_iter()
    .enumerate()
    {
        check(&interaction["hops"][at], &members, &expected);
    }
    check(
        &interaction["hops"][1],
        &["request_at", "response_at"],
        &json!(["2026-09-01T09:59:12.4Z", "2026-09-01T09:59:12.7Z"]),
    );
}

#[test]
fn a_call_that_waits_for_its_requester_has_no_result_yet() {
    let log = Log::new()
        .raw(0, "c2s", &format!(r#"{{"id":1,"method":"tools/call","params":{{"name":"a",{META}}}}}"#))
        .raw(10, "s2c", r#"{"id":1,"result":{"resultType":"input_required","inputRequests":{},"requestState":"S"}}"#);
    let document = log.document();
    check(
        &document["calls"][0],
        &[
            "state",
            "waiting_on",
            "status",
            "result",
            "response_seq",
            "ended_at",
            "duration_ms",
        ],
        &json!(["pending", "client", "pending", null, null, null, null]),
    );
    check(
        &document["session"],
        &["pending", "parked", "complete"],
        &json!([1, 1, true]),
    );
}

#[test]
fn cancelled_calls_say_when_and_why() {
    let request = r#"{"id":1,"method":"tools/call","params":{"name":"a"}}"#;
    let cancel =
        r#"{"method":"notifications/cancelled","params":{"requestId":1,"reason":"enough"}}"#;
    let log = Log::new().raw(0, "c2s", request).raw(20, "c2s", cancel);
    let members = [
        "state",
        "status",
        "cancelled_at",
        "cancel_reason",
        "late_result",
        "ended_at",
        "duration_ms",
        "measured",
        "is_error",
    ];
    let document = log.document();
    check(
        &document["calls"][0],
        &members,
        &json!([
            "cancelled",
            "call_cancelled",
            "2026-09-01T09:59:00.02Z",
            "enough",
            null,
            null,
            null,
            false,
            false
        ]),
    );
    check(
        &document["interactions"][0],
        &["server_time_ms", "hops_complete"],
        &json!([20, true]),
    );
    let document = log.raw(95, "s2c", r#"{"id":1,"result":{}}"#).document();
    check(
        &document["calls"][0],
        &members,
        &json!([
            "cancelled",
            "late_result",
            "2026-09-01T09:59:00.02Z",
            "enough",
            true,
            "2026-09-01T09:59:00.095Z",
            95,
            true,
            false
        ]),
    );
    assert_eq!(document["events"][1]["call_index"], 0);
}

#[test]
fn a_request_of_the_server_takes_the_client_s_time() {
    let log = Log::new()
        .raw(
            0,
            "s2c",
            r#"{"jsonrpc":"2.0","id":"s","method":"sampling/createMessage","params":{}}"#,
        )
        .raw(3_000, "c2s", r#"{"jsonrpc":"2.0","id":"s","result":{}}"#);
    let document = log.document();
    check(
        &document["calls"][0],
        &[
            "direction",
            "is_tool",
            "tool_name",
            "server_time_ms",
            "duration_ms",
        ],
        &json!(["s2c", false, null, null, 3000]),
    );
    check(
        &document["interactions"][0],
        &["server_time_ms", "client_turnaround_ms", "hops_complete"],
        &json!([0, 3000, true]),
    );
    assert_eq!(document["summary"]["slowest_calls"], json!([]));
}

#[test]
fn a_reused_id_gives_two_calls() {
    let request = r#"{"id":1,"method":"tools/call","params":{"name":"a"}}"#;
    let log = Log::new()
        .raw(0, "c2s", request)
        .raw(1_000, "c2s", request)
        .raw(1_025, "s2c", r#"{"id":1,"result":{"isError":true}}"#);
    let document = log.document();
    let members = [
        "id",
        "state",
        "status",
        "is_error",
        "tool_error",
        "ended_at",
        "duration_ms",
    ];
    let calls = &document["calls"];
    check(
        &calls[0],
        &members,
        &json!(["1", "superseded", "superseded", false, false, null, null]),
    );
    check(
        &calls[1],
        &members,
        &json!([
            "1",
            "failed",
            "error",
            true,
            true,
            "2026-09-01T09:59:01.025Z",
            25
        ]),
    );
    check(
        &document["summary"]["tools"][0],
        &[
            "calls",
            "errors",
            "protocol_errors",
            "tool_errors",
            "superseded",
            "measured",
            "p99_ms",
        ],
        &json!([2, 1, 0, 1, 1, 1, 25]),
    );
}
