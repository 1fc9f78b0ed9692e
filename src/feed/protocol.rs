//! The first line of a connection to a hub socket (log-format 10.1, remote.md 8.3).

use std::{borrow::Cow, fmt};

use serde::de::{Deserialize, Deserializer as _, IgnoredAny, MapAccess, Visitor};

/// What the first line of a connection says about the peer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FirstLine {
    /// An envelope: the peer is a recorder.
    Recorder,
    /// A subscription, with its nonce.
    Subscribe {
        /// The peer's mark, if it sent one.
        nonce: Option<String>,
    },
    /// Another line with `mcpsnoop`: ignored.
    Other,
    /// Nothing that belongs here.
    Foreign,
}

/// Answer of an owner that takes no subscribers.
pub const SUBSCRIBE_BUSY: &[u8] = b"{\"mcpsnoop\":\"busy\",\"version\":1}\n";

/// Reads the first line of a connection, whole or without its end.
pub fn first_line(line: &[u8]) -> FirstLine {
    let mut reader = serde_json::Deserializer::from_slice(line);
    let Ok(head) = reader.deserialize_map(HeadVisitor) else {
        return FirstLine::Foreign;
    };
    match head {
        Head {
            session_id: true, ..
        } => FirstLine::Recorder,
        Head {
            mcpsnoop: Some(word),
            nonce,
            ..
        } if word == "subscribe" => FirstLine::Subscribe { nonce },
        Head {
            mcpsnoop: Some(_), ..
        } => FirstLine::Other,
        _ => FirstLine::Foreign,
    }
}

/// What decides, of all members.
#[derive(Default)]
struct Head {
    session_id: bool,
    mcpsnoop: Option<String>,
    nonce: Option<String>,
}

struct HeadVisitor;

impl<'de> Visitor<'de> for HeadVisitor {
    type Value = Head;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Head, A::Error> {
        let mut head = Head::default();
        while let Some(Key(key)) = map.next_key()? {
            match key.as_ref() {
                "mcpsnoop" => head.mcpsnoop = Some(map.next_value::<Text>()?.0),
                "nonce" => head.nonce = Some(map.next_value::<Text>()?.0),
                key => {
                    // Keys of envelopes are matched without case (log-format 9.1.3).
                    head.session_id |= key.eq_ignore_ascii_case("session_id");
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(head)
    }
}

/// A key, borrowed where it has no escapes.
struct Key<'de>(Cow<'de, str>);

impl<'de> Deserialize<'de> for Key<'de> {
    fn deserialize<D: serde::Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        struct KeyVisitor;
        impl<'de> Visitor<'de> for KeyVisitor {
            type Value = Key<'de>;
            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("a key")
            }
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Key<'de>, E> {
                Ok(Key(Cow::Borrowed(text)))
            }
            fn visit_str<E>(self, text: &str) -> Result<Key<'de>, E> {
                Ok(Key(Cow::Owned(text.to_owned())))
            }
        }
        reader.deserialize_str(KeyVisitor)
    }
}

/// A string; any other value counts as an empty one.
struct Text(String);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: serde::Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        let value: &serde_json::value::RawValue = Deserialize::deserialize(reader)?;
        Ok(Self(serde_json::from_str(value.get()).unwrap_or_default()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, expected: &FirstLine) {
        assert_eq!(&first_line(line.as_bytes()), expected, "{line}");
    }

    #[test]
    fn the_first_line_says_who_the_peer_is() {
        let subscribe = |nonce: Option<&str>| FirstLine::Subscribe {
            nonce: nonce.map(str::to_owned),
        };
        let cases = [
            (r#"{"session_id":"a","seq":1}"#, FirstLine::Recorder),
            (r#"{"seq":1,"Session_ID":"a"}"#, FirstLine::Recorder),
            (
                r#"{"mcpsnoop":"subscribe","session_id":"a"}"#,
                FirstLine::Recorder,
            ),
            (r#"{"mcpsnoop":"subscribe","version":1}"#, subscribe(None)),
            (
                "{\"mcpsnoop\":\"subscribe\",\"version\":1,\"nonce\":\"k\\u0033\"}\r\n",
                subscribe(Some("k3")),
            ),
            (r#"{"mcpsnoop":"subscribe","nonce":5}"#, subscribe(Some(""))),
            (r#"{"mcpsnoop":"hub","version":1}"#, FirstLine::Other),
            (r#"{"mcpsnoop":{"a":[1]}}"#, FirstLine::Other),
            (r#"{"a":1}"#, FirstLine::Foreign),
            ("[]", FirstLine::Foreign),
            ("GET / HTTP/1.1", FirstLine::Foreign),
            (r#"{"mcpsnoop":"subscribe""#, FirstLine::Foreign),
            ("", FirstLine::Foreign),
        ];
        for (line, expected) in &cases {
            check(line, expected);
        }
    }

    #[test]
    fn depth_and_bad_text_in_a_payload_do_not_hide_a_recorder() {
        let deep = format!(
            "{{\"raw\":{}{},\"session_id\":\"a\"}}",
            "[".repeat(9_999),
            "]".repeat(9_999)
        );
        check(&deep, &FirstLine::Recorder);
        let bad = b"{\"raw\":\"\xff\xfe\",\"session_id\":\"a\"}";
        assert_eq!(first_line(bad), FirstLine::Recorder);
    }
}
