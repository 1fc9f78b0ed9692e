//! What the log line of a frame says beside its body: HTTP status, headers, what was cut or withheld
//! (tui.md 8, line 3).

use crate::{
    base::{ByteCount, Shown},
    record::{Envelope, HttpFields, Payload},
    tui::{answer::reason_phrase, body::RAW_FROM, ink::Ink, numbers, theme::Role},
    wire::{Message, MessageKind},
};

/// What keeps a frame from being a message of the protocol; large bodies are not read for it.
pub(super) fn why_invalid(body: &[u8], json: bool) -> Option<&'static str> {
    if !json {
        return Some(if body.is_empty() {
            "no body"
        } else {
            "not JSON"
        });
    }
    if body.len() > RAW_FROM {
        return None;
    }
    let message = Message::read(body);
    let first = body.iter().find(|byte| !byte.is_ascii_whitespace());
    Some(match message.kind {
        MessageKind::MethodNotText => "JSON whose method is no string",
        _ if first == Some(&b'[') => "JSON, an array without a message",
        _ if first != Some(&b'{') => "JSON, but no object",
        _ if message.error.is_some() => "JSON without jsonrpc, with an error that answers nothing",
        _ => "JSON without jsonrpc, method, result or error",
    })
}

/// The facts, one a line; a header that was not recorded has none.
pub(super) fn facts_of(envelope: &Envelope) -> Vec<Ink> {
    let mut facts = Vec::new();
    if let Some(http) = &envelope.http {
        http_facts(http, &mut facts);
    }
    let kept = match &envelope.payload {
        Payload::Raw(raw) => raw.bytes().len(),
        Payload::Text(text) => text.len(),
        Payload::Nothing => 0,
    };
    if let Some(wire) = envelope.wire_bytes.filter(|_| envelope.truncated) {
        let kept = numbers::grouped(u64::try_from(kept).unwrap_or(u64::MAX));
        let whole = numbers::grouped(wire);
        facts.push(Ink::say(
            Role::Muted,
            format!("recorded {kept} of {whole} bytes; the peers got all of them"),
        ));
    } else if let Some(wire) = envelope.wire_bytes.filter(|_| envelope.redacted) {
        let wire = ByteCount(wire);
        facts.push(Ink::say(Role::Muted, format!("{wire} before redaction")));
    }
    facts
}

fn http_facts(http: &HttpFields, facts: &mut Vec<Ink>) {
    let mut header = |name: &'static str, value: &Option<Box<str>>| {
        if let Some(value) = value {
            facts.push(line(Shown::literal(name), value, Role::Text));
        }
    };
    header("Mcp-Method", &http.mcp_method);
    header("Mcp-Name", &http.mcp_name);
    header("MCP-Protocol-Version", &http.mcp_protocol_version);
    for param in http.mcp_param_headers.iter().flatten() {
        let role = if param.redacted {
            Role::Redacted
        } else {
            Role::Text
        };
        facts.push(line(Shown::name(param.name.as_bytes()), &param.value, role));
    }
    if http.status > 0 {
        facts.push(status(http.status));
    }
    if let Some(challenge) = &http.auth_challenge {
        let name = Shown::literal("WWW-Authenticate");
        facts.push(line(name, challenge, Role::Text));
    }
    if http.undelivered {
        facts.push(Ink::lit(
            Role::Warn,
            "the request never reached the target; the recorder answered",
        ));
    }
    let mut reason = |words: &'static str, value: &Option<Box<str>>| {
        if let Some(value) = value {
            let value = Shown::row(value.as_bytes());
            facts.push(Ink::lit(Role::Warn, words).and(Role::Text, value));
        }
    };
    reason("answered by the recorder: ", &http.proxy_error);
    reason("body not recorded: ", &http.unobserved);
}

/// `HTTP 401 Unauthorized`.
pub(super) fn status(status: u16) -> Ink {
    let words = format!("HTTP {status} {}", reason_phrase(status));
    Ink::say(Role::Text, words.trim_end())
}

fn line(name: Shown, value: &str, role: Role) -> Ink {
    Ink::of(Role::Muted, name)
        .and_lit(Role::Muted, ": ")
        .and(role, Shown::row(value.as_bytes()))
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::record::Decoder;

    #[track_caller]
    fn check(fields: &str, expected: &[&str]) {
        let line = format!(
            r#"{{"session_id":"a","server_label":"a","seq":1,"direction":"c2s",{fields}}}"#
        );
        let line = Decoder::default().decode(Bytes::from(line)).unwrap();
        let facts: Vec<_> = facts_of(&line.envelope).iter().map(Ink::plain).collect();
        assert_eq!(facts, expected);
    }

    #[test]
    fn only_what_was_recorded_is_told() {
        check(r#""transport":"stdio","raw":{}"#, &[]);
        check(
            r#""transport":"http","raw":{},"mcp_method":"tools/call","mcp_name":"a\u001bb","mcp_protocol_version":"2026-07-28","mcp_param_headers":[{"name":"Mcp-Param-City","value":"Paris"}]"#,
            &[
                "Mcp-Method: tools/call",
                "Mcp-Name: a\\u001bb",
                "MCP-Protocol-Version: 2026-07-28",
                "Mcp-Param-City: Paris",
            ],
        );
        check(
            r#""transport":"http","status":401,"auth_challenge":"Bearer realm=\"x\"""#,
            &[
                "HTTP 401 Unauthorized",
                "WWW-Authenticate: Bearer realm=\"x\"",
            ],
        );
    }

    #[test]
    fn what_was_cut_says_how_much_is_there() {
        check(
            r#""transport":"stdio","text":"{\"a\":","truncated":true,"wire_bytes":12345678"#,
            &["recorded 5 of 12,345,678 bytes; the peers got all of them"],
        );
    }
}
