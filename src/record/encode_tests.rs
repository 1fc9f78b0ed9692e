//! Lines of every kind of frame, read back byte for byte.

use bytes::Bytes;
use proptest::prelude::*;

use super::*;
use crate::{
    record::{Decoder, HeaderParam, TransportHeaders},
    wire::Raw,
};

/// The encoded frame without its head and its LF.
fn frame(content: Content<'_>, length: usize, direction: &Direction) -> String {
    let encoder = Encoder::new("s", "l");
    let frame = Frame {
        seq: Seq(1),
        ts: Timestamp::from_nanos(0),
        direction,
        content,
        length: length as u64,
        batch: None,
    };
    let mut out = Vec::new();
    encoder.encode_frame(&frame, &mut out);
    let line = String::from_utf8(out).unwrap();
    let head = r#"{"session_id":"s","server_label":"l","seq":1,"ts":"1970-01-01T00:00:00.000000Z","direction":""#;
    let rest = line.strip_prefix(head).unwrap();
    assert!(rest.ends_with("}\n") && !rest.trim_end().contains(['\n', '\r']));
    rest.split_once(r#""transport":"stdio""#)
        .unwrap()
        .1
        .trim_end()
        .to_owned()
}

#[test]
fn frames_of_the_recorder_have_the_form_of_the_page() {
    let cases: [(Content<'_>, usize, Direction, &str); 15] = [
        (Content::Nothing, 0, Direction::Stderr, "}"),
        (
            Content::Raw(br#"{"jsonrpc":"2.0", "id":1}"#),
            25,
            Direction::ClientToServer,
            r#","raw":{"jsonrpc":"2.0", "id":1}}"#,
        ),
        (
            Content::Raw(b"null"),
            6,
            Direction::ClientToServer,
            r#","raw":null,"wire_bytes":6}"#,
        ),
        (
            Content::Raw(b"[1,\r2]"),
            6,
            Direction::ServerToClient,
            r#","raw":[1, 2],"raw_newlines":true}"#,
        ),
        (
            Content::Text(b"listening <ok>\x00"),
            15,
            Direction::ServerToClient,
            r#","text":"listening <ok>\u0000"}"#,
        ),
        (
            Content::Text(b"a\xffb"),
            3,
            Direction::Stderr,
            ",\"text\":\"a\u{fffd}b\",\"text_b64\":\"Yf9i\"}",
        ),
        (
            Content::Text(b"abc"),
            9,
            Direction::Stderr,
            r#","text":"abc","truncated":true,"wire_bytes":9}"#,
        ),
        (
            Content::Text(br#"{"id":8,"meth"#),
            99,
            Direction::ClientToServer,
            r#","text":"{\"id\":8,\"meth","truncated":true,"wire_bytes":99,"peek":{"id":8}}"#,
        ),
        (
            Content::Text(br#"{"id":"x","method":"m","result":{"#),
            99,
            Direction::ServerToClient,
            r#","text":"{\"id\":\"x\",\"method\":\"m\",\"result\":{","truncated":true,"wire_bytes":99,"peek":{"id":"x","method":"m","has":"result"}}"#,
        ),
        (
            Content::Text(b"abc\xe2\x82"),
            9,
            Direction::Stderr,
            r#","text":"abc","truncated":true,"wire_bytes":9}"#,
        ),
        (
            Content::Text(b"abc\xe2\x82"),
            5,
            Direction::Stderr,
            ",\"text\":\"abc\u{fffd}\",\"text_b64\":\"YWJj4oI=\"}",
        ),
        (
            Content::Text("a€".as_bytes()),
            9,
            Direction::Stderr,
            r#","text":"a€","truncated":true,"wire_bytes":9}"#,
        ),
        (
            Content::Nothing,
            7,
            Direction::ClientToServer,
            r#","truncated":true,"wire_bytes":7}"#,
        ),
        (
            Content::Text(b" "),
            1,
            Direction::ClientToServer,
            r#","text":" "}"#,
        ),
        (
            Content::Raw(br#""<&>/""#),
            6,
            Direction::ClientToServer,
            r#","raw":"<&>/"}"#,
        ),
    ];
    for (content, length, direction, expected) in cases {
        assert_eq!(frame(content, length, &direction), expected);
    }
}

#[test]
fn batches_numbers_and_times_are_written() {
    let encoder = Encoder::new("a\"b", "ü");
    let mut out = Vec::new();
    let places = [(0, 2), (1, 2), (0, 0)];
    for (index, (place, size)) in places.into_iter().enumerate() {
        let frame = Frame {
            seq: Seq([9, 10, u64::MAX][index]),
            ts: Timestamp::from_nanos([1_000, 999_999_999, 1_000_000_000][index]),
            direction: &Direction::Meta,
            content: Content::Raw(b"1"),
            length: 1,
            batch: Some(BatchPlace { index: place, size }),
        };
        encoder.encode_frame(&frame, &mut out);
    }
    let head = r#"{"session_id":"a\"b","server_label":"ü","seq":"#;
    let tail = r#","direction":"meta","transport":"stdio","raw":1,"batch":true"#;
    let expected = [
        format!(r#"{head}9,"ts":"1970-01-01T00:00:00.000001Z"{tail},"batch_size":2}}"#),
        format!(
            r#"{head}10,"ts":"1970-01-01T00:00:00.999999Z"{tail},"batch_index":1,"batch_size":2}}"#
        ),
        format!(r#"{head}18446744073709551615,"ts":"1970-01-01T00:00:01.000000Z"{tail}}}"#),
    ];
    let text = String::from_utf8(out).unwrap();
    assert_eq!(text.lines().collect::<Vec<_>>(), expected);
}

#[test]
fn a_line_stays_under_its_limit_however_it_escapes() {
    let mut encoder = Encoder::new("s", "l");
    assert_eq!(encoder.line_limit, 32 << 20);
    encoder.line_limit = TAIL_ROOM + (32 << 10);
    let read = |text: &[u8]| {
        let frame = Frame {
            seq: Seq(1),
            ts: Timestamp::from_nanos(0),
            direction: &Direction::Stderr,
            content: Content::Text(text),
            length: text.len() as u64,
            batch: None,
        };
        let mut out = Vec::new();
        encoder.encode_frame(&frame, &mut out);
        assert!(out.len() < encoder.line_limit);
        (out.len(), Decoder::default().decode_slice(&out).unwrap())
    };
    let (length, envelope) = read(&[1; 16 << 10]);
    assert!(length > 31 << 10 && envelope.truncated);
    assert_eq!(envelope.wire_bytes, Some(16 << 10));
    let (_, envelope) = read(&[b'x'; 16 << 10]);
    assert_eq!((envelope.truncated, envelope.wire_bytes), (false, None));
    assert_eq!(envelope.payload, Payload::Text(vec![b'x'; 16 << 10].into()));

    let mut envelope = envelope;
    envelope.payload = Payload::Text(vec![2; 20 << 10].into());
    let mut out = Vec::new();
    encoder.encode(&envelope, &mut out);
    let envelope = Decoder::default().decode_slice(&out).unwrap();
    assert_eq!(
        (envelope.truncated, envelope.wire_bytes),
        (true, Some(20 << 10))
    );
}

/// The corpus of log-format 14.1.
#[test]
fn raw_bytes_survive_writing_and_reading() {
    let deep = ["[".repeat(9_999), "]".repeat(9_999)].concat();
    let corpus: [&[u8]; 16] = [
        b"{\n  \"a\": [1,\r\n    2]\n}",
        b"{\"a\":1,\"a\":2}",
        b"1e400",
        b"\"\\ud800\"",
        b"{\"a\":\"\xff\xfe\"}",
        b"\"<>&\"",
        "\"\u{2028}\"".as_bytes(),
        deep.as_bytes(),
        b"null",
        b"true",
        b"-0.0",
        b"\"\"",
        b"[]",
        b"{}",
        b"{ \"b\" :\t1 , \"a\":\"\\u003c\" }",
        b"\"\x7f\"",
    ];
    let encoder = Encoder::new("s", "l");
    for value in corpus {
        let mut out = Vec::new();
        let frame = Frame {
            seq: Seq(1),
            ts: Timestamp::from_nanos(0),
            direction: &Direction::ClientToServer,
            content: Content::of(value),
            length: value.len() as u64,
            batch: None,
        };
        assert!(matches!(frame.content, Content::Raw(_)));
        encoder.encode_frame(&frame, &mut out);
        let line = out.strip_suffix(b"\n").unwrap();
        assert!(!line.contains(&b'\n') && !line.contains(&b'\r'));
        let envelope = Decoder::default().decode_slice(line).unwrap();
        let spaced: Vec<u8> = value
            .iter()
            .map(|byte| {
                if matches!(byte, b'\r' | b'\n') {
                    b' '
                } else {
                    *byte
                }
            })
            .collect();
        assert_eq!(envelope.raw_newlines, spaced != value);
        assert_eq!(envelope.payload, Payload::Raw(Raw::new(spaced.into())));
        assert_eq!(envelope.wire_bytes, None);
    }
}

fn some_text() -> impl Strategy<Value = Option<Box<str>>> {
    prop::option::of(".{1,8}".prop_map(Into::into))
}

fn any_http() -> impl Strategy<Value = HttpFields> {
    let param =
        (".{0,6}", ".{0,6}", any::<bool>()).prop_map(|(name, value, redacted)| HeaderParam {
            name: name.into(),
            value: value.into(),
            redacted,
        });
    let headers = prop::collection::vec(prop::option::of(".{0,6}"), 4).prop_map(|all| {
        let at = |index: usize| all[index].as_deref().map(Into::into);
        TransportHeaders {
            accept: at(0),
            content_type: at(1),
            origin: at(2),
            content_encoding: at(3),
        }
    });
    (
        prop::collection::vec(some_text(), 10),
        prop::option::of(prop::collection::vec(param, 1..3)),
        prop::option::of(headers),
        (any::<u16>(), 0_u64..1 << 53, any::<bool>()),
        prop::option::of(prop::collection::vec(".{1,6}".prop_map(Into::into), 1..3)),
    )
        .prop_map(
            |(texts, mcp_param_headers, transport_headers, plain, seen_headers)| {
                let at = |index: usize| texts[index].clone();
                HttpFields {
                    mcp_method: at(0),
                    mcp_name: at(1),
                    mcp_protocol_version: at(2),
                    mcp_param_headers,
                    conn_id: at(3).map(|text| (*text).into()),
                    exchange: plain.1,
                    undelivered: plain.2,
                    status: plain.0,
                    auth_challenge: at(4),
                    transport_headers,
                    peer: at(5),
                    http_method: at(6),
                    event: at(7),
                    event_id: at(8),
                    proxy_error: at(9),
                    unobserved: at(0),
                    seen_headers,
                }
            },
        )
}

fn any_envelope() -> impl Strategy<Value = Envelope> {
    let payload = prop_oneof![
        Just(Payload::Nothing),
        ".{1,20}".prop_map(|text| Payload::Text(text.into())),
        ".{0,20}"
            .prop_map(|text| { Payload::Raw(Raw::new(serde_json::to_vec(&text).unwrap().into())) }),
    ];
    let direction = prop_oneof![
        Just(Direction::ClientToServer),
        Just(Direction::ServerToClient),
        Just(Direction::Stderr),
        Just(Direction::Meta),
        Just(Direction::Unknown("side\nways".into())),
    ];
    let transport = prop_oneof![
        Just(Transport::Stdio),
        Just(Transport::Http),
        Just(Transport::Unknown("".into()))
    ];
    let flags = prop::collection::vec(any::<bool>(), 4);
    let micros = -62_000_000_000_000_000_i64..200_000_000_000_000_000;
    (
        (payload, direction, transport, flags),
        (
            1_u64..1 << 53,
            prop::option::of(micros),
            prop::option::of(1_u64..1 << 53),
        ),
        (any::<u32>(), any::<u32>()),
        prop::option::of(any_http()),
        prop::option::of((some_text(), some_text())),
    )
        .prop_map(
            |((payload, direction, transport, flags), numbers, place, http, peek)| Envelope {
                session_id: "s \"1\"".into(),
                server_label: "l".into(),
                seq: Seq(numbers.0),
                ts: numbers
                    .1
                    .and_then(|micros| micros.checked_mul(1_000).map(Timestamp::from_nanos)),
                direction,
                transport,
                payload,
                batch: flags[0],
                batch_index: if flags[0] { place.0 } else { 0 },
                batch_size: if flags[0] { place.1 } else { 0 },
                truncated: flags[1],
                redacted: flags[2],
                wire_bytes: numbers.2,
                raw_newlines: flags[3],
                text_bytes: flags[1].then(|| Bytes::from_static(b"\xff\xfe")),
                peek: peek.map(|(method, has)| {
                    Box::new(Peek {
                        id: Some(Bytes::from_static(b"[1 ]")),
                        method,
                        has,
                    })
                }),
                http: http
                    .filter(|http| *http != HttpFields::default())
                    .map(Box::new),
            },
        )
}

proptest! {
    #[test]
    fn envelopes_survive_writing_and_reading(envelope in any_envelope()) {
        let mut out = Vec::new();
        Encoder::new(&envelope.session_id, &envelope.server_label).encode(&envelope, &mut out);
        prop_assert_eq!(memchr::memchr_iter(b'\n', &out).count(), 1);
        let line = out.strip_suffix(b"\n").unwrap();
        let read = Decoder::default().decode_slice(line).unwrap();
        prop_assert_eq!(&read, &envelope);
        let plain: serde_json::Value = serde_json::from_slice(line).unwrap();
        prop_assert_eq!(plain["seq"].as_u64(), Some(envelope.seq.0));
    }

    #[test]
    fn any_text_survives_writing_and_reading(
        text in prop::collection::vec(any::<u8>(), 1..60),
        extra in 0_u64..3,
    ) {
        let encoder = Encoder::new("s", "l");
        let mut out = Vec::new();
        let frame = Frame {
            seq: Seq(1),
            ts: Timestamp::from_nanos(0),
            direction: &Direction::ServerToClient,
            content: Content::Text(&text),
            length: text.len() as u64 + extra,
            batch: None,
        };
        encoder.encode_frame(&frame, &mut out);
        let read = Decoder::default().decode_slice(&out).unwrap();
        prop_assert_eq!(read.truncated, extra > 0);
        let shown = match &read.payload {
            Payload::Text(shown) => &shown[..],
            _ => &[],
        };
        let exact = read.text_bytes.as_deref().unwrap_or(shown);
        if extra == 0 {
            prop_assert_eq!(exact, &text[..]);
            prop_assert_eq!(String::from_utf8_lossy(shown), String::from_utf8_lossy(&text));
        } else {
            prop_assert_eq!(read.wire_bytes, Some(text.len() as u64 + extra));
            prop_assert!(String::from_utf8_lossy(&text).as_bytes().starts_with(shown));
            prop_assert_eq!(read.text_bytes, None);
        }
    }
}
