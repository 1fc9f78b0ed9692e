//! One frame in full: what its log line says beside the body (tui.md 8, I7, I10).

use super::rig::{Log, Rig};
use crate::{
    feed::{BodyOutcome, FeedEvent, FeedRequest},
    record::Liveness,
    tui::event::Effect,
};

/// A viewer in the inspector of the last frame, and that frame's line.
fn inspected(log: Log) -> (Rig, FeedEvent) {
    let log = log.news(Liveness::Ended, true);
    let frames = log.events.iter().filter_map(|event| match event {
        FeedEvent::Frame(frame) => Some(frame.clone()),
        _ => None,
    });
    let last = frames.last().unwrap();
    let mut rig = Rig::new(100, 24);
    rig.feed(log.events);
    rig.keys("enter G");
    rig.effects.clear();
    rig.keys("enter");
    let body = FeedEvent::Body {
        key: last.key.clone(),
        seq: last.line.envelope.seq,
        outcome: BodyOutcome::Line(last.line.bytes.clone()),
    };
    (rig, body)
}

fn asks(rig: &Rig) -> usize {
    let is_ask = |effect: &&Effect| matches!(effect, Effect::Ask(FeedRequest::ReadBody { .. }));
    rig.effects.iter().filter(is_ask).count()
}

fn web() -> Log {
    Log::new("web-1-000000000001", "web").recorded().http(
        "c2s",
        0,
        r#""raw":{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"sum","arguments":{}}},"mcp_method":"tools/call","mcp_name":"sum","mcp_param_headers":[{"name":"Mcp-Param-Zone","value":"eu"}]"#,
    )
}

#[test]
fn headers_of_an_http_frame_are_read_from_its_line() {
    let (mut rig, body) = inspected(web());
    assert_eq!(asks(&rig), 1);
    assert!(!rig.text().contains("Mcp-Method"));
    let before = rig.line_with("\"jsonrpc\"");
    rig.keys("j j");
    rig.feed([body]);
    for line in [
        "  Mcp-Method: tools/call",
        "  Mcp-Name: sum",
        "  Mcp-Param-Zone: eu",
    ] {
        rig.line_with(line);
    }
    assert!(
        !rig.text().contains("MCP-Protocol-Version"),
        "it was not sent"
    );
    assert_eq!(rig.line_with("\"jsonrpc\""), before);
    let cursor = rig.selected();
    assert!(cursor.starts_with(">  3 "), "the cursor stays: {cursor}");
}

#[test]
fn status_and_challenge_of_a_refusal_are_told() {
    let log = web().http(
        "s2c",
        5,
        r#""status":401,"auth_challenge":"Bearer realm=\"a\"","text":"no""#,
    );
    let (mut rig, body) = inspected(log);
    rig.line_with("  HTTP 401 Unauthorized");
    rig.feed([body]);
    rig.line_with("  HTTP 401 Unauthorized");
    rig.line_with("  WWW-Authenticate: Bearer realm=\"a\"");
}

#[test]
fn a_line_that_cannot_be_read_takes_no_body_away() {
    let (mut rig, body) = inspected(web());
    let lost = match body {
        FeedEvent::Body { key, seq, .. } => FeedEvent::Body {
            key,
            seq,
            outcome: BodyOutcome::Unavailable("the log was removed".into()),
        },
        other => other,
    };
    rig.feed([lost]);
    rig.line_with("headers not available: the log was removed");
    rig.line_with("\"jsonrpc\"");
}

#[test]
fn a_plain_frame_in_memory_asks_for_nothing() {
    let log = Log::new("a-1-000000000001", "a")
        .recorded()
        .client(0, r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#);
    let (rig, _) = inspected(log);
    assert_eq!(asks(&rig), 0);
}

#[test]
fn marks_of_redaction_are_counted() {
    let log = Log::new("a-1-000000000001", "a").recorded().push(
        "c2s",
        r#""redacted":true,"raw":{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":"[REDACTED]","b":"[REDACTED#1]"}}"#,
        0,
    );
    let (mut rig, _) = inspected(log);
    rig.line_with("[R] 2 places");
}

#[test]
fn a_body_that_was_not_recorded_says_why() {
    let log = web().http("s2c", 5, r#""status":200,"unobserved":"encoded as br""#);
    let (mut rig, body) = inspected(log);
    rig.feed([body]);
    rig.line_with("body not recorded: encoded as br");
}
