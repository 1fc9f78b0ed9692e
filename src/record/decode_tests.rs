//! Lines as written by this and by earlier releases, and lines that are none.

use super::*;
use crate::record::{HeaderParam, HttpFields, TransportHeaders};

const HEAD: &str = r#""session_id":"s","seq":1,"direction":"c2s""#;

fn decode(line: &str) -> Result<Envelope, NotEnvelope> {
    Decoder::default().decode_slice(line.as_bytes())
}

fn with(fields: &str) -> Envelope {
    decode(&format!("{{{HEAD},{fields}}}")).unwrap()
}

fn raw(envelope: &Envelope) -> &[u8] {
    match &envelope.payload {
        Payload::Raw(raw) => raw.bytes(),
        other => panic!("{other:?}"),
    }
}

fn text(envelope: &Envelope) -> &[u8] {
    match &envelope.payload {
        Payload::Text(text) => text,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_full_line_is_read() {
    let line = r#"{"session_id":"api-9-00ff00ff00ff","server_label":"api","seq":2,"ts":"2026-09-01T08:00:00.1Z","direction":"c2s","transport":"http","raw":{"jsonrpc":"2.0", "id":7},"mcp_method":"tools/call","mcp_name":"sum","mcp_protocol_version":"2026-07-28","mcp_param_headers":[{"name":"Mcp-Param-Zone","value":"eu"},{"name":"X","value":"[REDACTED]","redacted":true},7],"batch":true,"conn_id":"127.0.0.1:53122#1","exchange":1,"undelivered":true,"truncated":true,"redacted":true,"status":200,"auth_challenge":"Bearer","transport_headers":{"accept":"a","content_type":""},"wire_bytes":33554432,"raw_newlines":true,"text_b64":"/w==","peek":{"id":8,"method":"m","has":"result"},"batch_index":1,"batch_size":2,"peer":"p","http_method":"GET","event":"e","event_id":"i","proxy_error":"x","unobserved":"u","seen_headers":["authorization"]}"#;
    let envelope = decode(line).unwrap();
    assert_eq!(&*envelope.session_id, "api-9-00ff00ff00ff");
    assert_eq!((&*envelope.server_label, envelope.seq), ("api", Seq(2)));
    assert_eq!(envelope.ts, Timestamp::parse("2026-09-01T08:00:00.1Z"));
    assert_eq!(envelope.direction, Direction::ClientToServer);
    assert_eq!(envelope.transport, Transport::Http);
    assert_eq!(raw(&envelope), br#"{"jsonrpc":"2.0", "id":7}"#);
    assert!(envelope.batch && envelope.truncated && envelope.redacted && envelope.raw_newlines);
    assert_eq!((envelope.batch_index, envelope.batch_size), (1, 2));
    assert_eq!(envelope.wire_bytes, Some(33_554_432));
    assert_eq!(envelope.text_bytes.as_deref(), Some(&b"\xff"[..]));
    let peek = envelope.peek.unwrap();
    assert_eq!(peek.id.as_deref(), Some(&b"8"[..]));
    assert_eq!(
        (peek.method.as_deref(), peek.has.as_deref()),
        (Some("m"), Some("result"))
    );
    let param = |name: &str, value: &str, redacted| HeaderParam {
        name: name.into(),
        value: value.into(),
        redacted,
    };
    let expected = HttpFields {
        mcp_method: Some("tools/call".into()),
        mcp_name: Some("sum".into()),
        mcp_protocol_version: Some("2026-07-28".into()),
        mcp_param_headers: Some(vec![
            param("Mcp-Param-Zone", "eu", false),
            param("X", "[REDACTED]", true),
        ]),
        conn_id: Some("127.0.0.1:53122#1".into()),
        exchange: 1,
        undelivered: true,
        status: 200,
        auth_challenge: Some("Bearer".into()),
        transport_headers: Some(TransportHeaders {
            accept: Some("a".into()),
            content_type: Some("".into()),
            ..TransportHeaders::default()
        }),
        peer: Some("p".into()),
        http_method: Some("GET".into()),
        event: Some("e".into()),
        event_id: Some("i".into()),
        proxy_error: Some("x".into()),
        unobserved: Some("u".into()),
        seen_headers: Some(vec!["authorization".into()]),
    };
    assert_eq!(*envelope.http.unwrap(), expected);
}

#[test]
fn keys_are_matched_exactly_first_and_the_last_counts() {
    let cases = [
        (r#""raw":1,"raw":2"#, "2"),
        (r#""RAW":1"#, "1"),
        (r#""raw":1,"RAW":2"#, "1"),
        (r#""RAW":2,"raw":1"#, "1"),
        (r#""Raw":1,"RAW":2"#, "2"),
        (r#""r\u0061w":3"#, "3"),
        (r#""raw":[1, 2] ,"x":{"raw":9}"#, "[1, 2]"),
        (r#""raw":null"#, "null"),
        (r#""raw":1,"text":"x""#, "1"),
    ];
    for (fields, value) in cases {
        assert_eq!(raw(&with(fields)), value.as_bytes(), "{fields}");
    }
    assert_eq!(text(&with(r#""raw":null,"text":"x""#)), b"x");
}

#[test]
fn fields_of_a_wrong_type_are_absent() {
    let envelope = with(
        r#""server_label":7,"ts":3,"transport":null,"text":["x"],"batch":"true","truncated":1,
        "redacted":null,"wire_bytes":"9","text_b64":"%","peek":[],"batch_index":-1,"conn_id":5,
        "exchange":{},"status":99999,"transport_headers":[],"mcp_param_headers":{},"peer":false"#,
    );
    let plain = decode(&format!("{{{HEAD}}}")).unwrap();
    assert_eq!(envelope, plain);
    assert_eq!(plain.payload, Payload::Nothing);
    assert_eq!(plain.transport, Transport::Unknown("".into()));
    assert_eq!((plain.ts, &*plain.server_label), (None, ""));
    assert_eq!(with(r#""text":"a","text":7"#).payload, Payload::Nothing);
}

#[test]
fn unknown_directions_and_transports_are_kept() {
    let line = r#"{"session_id":"s","seq":1.0,"direction":"up","transport":"pigeon"}"#;
    let envelope = decode(line).unwrap();
    assert_eq!(envelope.direction, Direction::Unknown("up".into()));
    assert_eq!(envelope.transport, Transport::Unknown("pigeon".into()));
}

#[test]
fn what_is_no_envelope_says_why() {
    let cases = [
        ("", NotEnvelope::NotObject),
        ("[]", NotEnvelope::NotObject),
        ("{\"session_id\":\"s\"", NotEnvelope::NotObject),
        (&format!("{{{HEAD}}}x"), NotEnvelope::NotObject),
        (&format!("{{{HEAD}}}{{{HEAD}}}"), NotEnvelope::NotObject),
        ("{}", NotEnvelope::NotEnvelope),
        (
            r#"{"session_id":"s","seq":0,"direction":"c2s"}"#,
            NotEnvelope::NotEnvelope,
        ),
        (
            r#"{"session_id":"s","seq":1.5,"direction":"c2s"}"#,
            NotEnvelope::NotEnvelope,
        ),
        (
            r#"{"session_id":7,"seq":1,"direction":"c2s"}"#,
            NotEnvelope::NotEnvelope,
        ),
        (r#"{"session_id":"s","seq":1}"#, NotEnvelope::NotEnvelope),
    ];
    for (line, reason) in cases {
        assert_eq!(decode(line), Err(reason), "{line}");
    }
    assert!(decode(&format!(" \t{{{HEAD}}} \r")).is_ok());
}

#[test]
fn payloads_share_the_line_and_ids_are_shared() {
    let line = Bytes::from(format!(r#"{{{HEAD},"raw":{{"a":1}},"text":"t"}}"#));
    let mut decoder = Decoder::default();
    let first = decoder.decode(line.clone()).unwrap();
    let payload = raw(&first.envelope).as_ptr() as usize;
    assert!((line.as_ptr() as usize..line.as_ptr() as usize + line.len()).contains(&payload));
    let other = line
        .iter()
        .map(|byte| if *byte == b's' { b't' } else { *byte });
    let _other = decoder.decode(other.collect::<Vec<_>>().into());
    let again = decoder.decode(line.clone()).unwrap();
    assert!(Arc::ptr_eq(
        &first.envelope.session_id,
        &again.envelope.session_id
    ));

    let plain = Bytes::from(format!(r#"{{{HEAD},"text":"tea"}}"#));
    let shared = decoder.decode(plain.clone()).unwrap();
    let start = text(&shared.envelope).as_ptr() as usize - plain.as_ptr() as usize;
    assert_eq!(plain.get(start..start + 3), Some(&b"tea"[..]));
    assert_eq!(text(&with(r#""text":"a\nb""#)), b"a\nb");
}

#[test]
fn deep_payloads_are_read_up_to_the_limit() {
    for (depth, expected) in [(9_999, true), (10_000, false)] {
        let deep = ["[".repeat(depth), "]".repeat(depth)].concat();
        let line = format!(r#"{{{HEAD},"raw":{deep}}}"#);
        assert_eq!(decode(&line).is_ok(), expected);
    }
}

#[test]
fn strange_texts_survive_reading() {
    let mut line = format!(r#"{{{HEAD},"raw":{{"a":""#).into_bytes();
    line.extend_from_slice(b"\xff\xfe\\ud800\"},\"text\":\"");
    line.extend_from_slice(b"\xff\"}");
    let envelope = Decoder::default().decode_slice(&line).unwrap();
    assert_eq!(raw(&envelope), b"{\"a\":\"\xff\xfe\\ud800\"}");
    let mut line = format!(r#"{{{HEAD},"text":""#).into_bytes();
    line.extend_from_slice(b"a\xffb\"}");
    let envelope = Decoder::default().decode_slice(&line).unwrap();
    assert_eq!(text(&envelope), "a\u{fffd}b".as_bytes());
}
