//! The fields of an envelope's line: their names, and their values read one by one, each wrong one
//! counting as absent (log-format 4, 9.1.3, 9.1.4).

use std::{borrow::Cow, ops::Range, sync::Arc};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;

use super::envelope::{HeaderParam, HttpFields, Peek, TransportHeaders};
use crate::wire::json;

macro_rules! slots {
    ($($slot:ident = $name:literal,)*) => {
        /// One field of the line, in the order of log-format 4.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum Slot { $($slot,)* }

        const SLOTS: &[(&str, Slot)] = &[$(($name, Slot::$slot),)*];

        fn exact(key: &[u8]) -> Option<Slot> {
            $(if key == $name.as_bytes() { return Some(Slot::$slot); })*
            None
        }
    };
}

slots! {
    SessionId = "session_id",
    ServerLabel = "server_label",
    Seq = "seq",
    Ts = "ts",
    Direction = "direction",
    Transport = "transport",
    Raw = "raw",
    Text = "text",
    McpMethod = "mcp_method",
    McpName = "mcp_name",
    McpProtocolVersion = "mcp_protocol_version",
    McpParamHeaders = "mcp_param_headers",
    Batch = "batch",
    ConnId = "conn_id",
    Exchange = "exchange",
    Undelivered = "undelivered",
    Truncated = "truncated",
    Redacted = "redacted",
    Status = "status",
    AuthChallenge = "auth_challenge",
    TransportHeaders = "transport_headers",
    WireBytes = "wire_bytes",
    RawNewlines = "raw_newlines",
    TextB64 = "text_b64",
    Peek = "peek",
    BatchIndex = "batch_index",
    BatchSize = "batch_size",
    Peer = "peer",
    HttpMethod = "http_method",
    Event = "event",
    EventId = "event_id",
    ProxyError = "proxy_error",
    Unobserved = "unobserved",
    SeenHeaders = "seen_headers",
}

const COUNT: usize = 34;

/// Slots that only HTTP frames fill.
const HTTP: &[Slot] = &[
    Slot::McpMethod,
    Slot::McpName,
    Slot::McpProtocolVersion,
    Slot::McpParamHeaders,
    Slot::ConnId,
    Slot::Exchange,
    Slot::Undelivered,
    Slot::Status,
    Slot::AuthChallenge,
    Slot::TransportHeaders,
    Slot::Peer,
    Slot::HttpMethod,
    Slot::Event,
    Slot::EventId,
    Slot::ProxyError,
    Slot::Unobserved,
    Slot::SeenHeaders,
];

/// Where the fields of one object lie in its line.
pub(super) struct Found<'a> {
    line: &'a Bytes,
    /// Extent of each value; one that ends at 0 is absent.
    values: [(u32, u32); COUNT],
    /// A bit for each slot that any key filled.
    filled: u64,
    /// A bit for each slot whose key was spelled exactly.
    exact: u64,
}

impl<'a> Found<'a> {
    pub(super) fn new(line: &'a Bytes) -> Self {
        Self {
            line,
            values: [(0, 0); COUNT],
            filled: 0,
            exact: 0,
        }
    }

    /// Keeps the value of a key that is known: the last one of an exact spelling, else the last.
    pub(super) fn keep(&mut self, key: Range<usize>, value: Range<usize>) {
        let written = self.line.get(key).unwrap_or_default();
        let (slot, is_exact) = match exact(written) {
            Some(slot) => (slot, true),
            None => match loose(written) {
                Some(found) => found,
                None => return,
            },
        };
        let bit = bit(slot);
        if !is_exact && self.exact & bit != 0 {
            return;
        }
        // A line is at most 128 MiB long.
        let extent = (u32::try_from(value.start), u32::try_from(value.end));
        if let ((Ok(start), Ok(end)), Some(place)) = (extent, self.values.get_mut(slot as usize)) {
            *place = (start, end);
            self.filled |= bit;
            self.exact |= if is_exact { bit } else { 0 };
        }
    }

    fn range(&self, slot: Slot) -> Option<Range<usize>> {
        let (start, end) = *self.values.get(slot as usize)?;
        (self.filled & bit(slot) != 0).then_some(start as usize..end as usize)
    }

    /// The exact bytes of a value.
    pub(super) fn value(&self, slot: Slot) -> Option<&'a [u8]> {
        self.line.get(self.range(slot)?)
    }

    /// The exact bytes of a value, sharing the line's memory.
    pub(super) fn slice(&self, slot: Slot) -> Option<Bytes> {
        Some(self.line.slice(self.range(slot)?))
    }

    /// A string value as written, with its quotes.
    pub(super) fn string_value(&self, slot: Slot) -> Option<&'a [u8]> {
        self.value(slot)
            .filter(|value| value.first() == Some(&b'"'))
    }

    pub(super) fn text(&self, slot: Slot) -> Option<Cow<'a, str>> {
        json::string(self.value(slot)?)
    }

    /// A string that is not empty: an empty one is as good as absent (log-format 3.4).
    fn some_text(&self, slot: Slot) -> Option<Box<str>> {
        self.text(slot)
            .filter(|text| !text.is_empty())
            .map(Into::into)
    }

    /// The text of a string as bytes that share the line's memory where nothing had to be changed.
    pub(super) fn content(&self, slot: Slot) -> Option<Bytes> {
        let value = self.value(slot)?;
        Some(match json::string(value)? {
            Cow::Borrowed(text) => self.line.slice_ref(text.as_bytes()),
            Cow::Owned(text) => text.into(),
        })
    }

    pub(super) fn is_true(&self, slot: Slot) -> bool {
        self.value(slot) == Some(b"true")
    }

    pub(super) fn integer(&self, slot: Slot) -> Option<u64> {
        integer(self.value(slot)?)
    }

    pub(super) fn small(&self, slot: Slot) -> u32 {
        self.integer(slot)
            .and_then(|value| u32::try_from(value).ok())
            .unwrap_or(0)
    }

    pub(super) fn base64(&self, slot: Slot) -> Option<Bytes> {
        let text = self.text(slot)?;
        STANDARD.decode(text.as_bytes()).ok().map(Into::into)
    }

    pub(super) fn peek(&self) -> Option<Peek> {
        let value = self
            .value(Slot::Peek)
            .filter(|value| value.first() == Some(&b'{'))?;
        Some(Peek {
            id: json::member(value, "id").map(|id| self.line.slice_ref(id)),
            method: member_text(value, "method"),
            has: member_text(value, "has"),
        })
    }

    /// The fields of HTTP frames; `None` when the line has none of them.
    pub(super) fn http(&self, share: impl FnOnce(&[u8]) -> Arc<str>) -> Option<HttpFields> {
        let any = HTTP.iter().fold(0, |all, slot| all | bit(*slot));
        if self.filled & any == 0 {
            return None;
        }
        let fields = HttpFields {
            mcp_method: self.some_text(Slot::McpMethod),
            mcp_name: self.some_text(Slot::McpName),
            mcp_protocol_version: self.some_text(Slot::McpProtocolVersion),
            mcp_param_headers: self.header_params(),
            conn_id: self
                .string_value(Slot::ConnId)
                .filter(|value| value.len() > 2)
                .map(share),
            exchange: self.integer(Slot::Exchange).unwrap_or(0),
            undelivered: self.is_true(Slot::Undelivered),
            status: u16::try_from(self.small(Slot::Status)).unwrap_or(0),
            auth_challenge: self.some_text(Slot::AuthChallenge),
            transport_headers: self.transport_headers(),
            peer: self.some_text(Slot::Peer),
            http_method: self.some_text(Slot::HttpMethod),
            event: self.some_text(Slot::Event),
            event_id: self.some_text(Slot::EventId),
            proxy_error: self.some_text(Slot::ProxyError),
            unobserved: self.some_text(Slot::Unobserved),
            seen_headers: self.array(Slot::SeenHeaders).map(|value| {
                json::elements(value)
                    .filter_map(json::string)
                    .map(Into::into)
                    .collect()
            }),
        };
        (fields != HttpFields::default()).then_some(fields)
    }

    fn array(&self, slot: Slot) -> Option<&'a [u8]> {
        self.value(slot)
            .filter(|value| value.first() == Some(&b'['))
    }

    fn header_params(&self) -> Option<Vec<HeaderParam>> {
        let value = self.array(Slot::McpParamHeaders)?;
        let read = |element| {
            Some(HeaderParam {
                name: member_text(element, "name")?,
                value: member_text(element, "value").unwrap_or_default(),
                redacted: json::member(element, "redacted") == Some(b"true"),
            })
        };
        Some(json::elements(value).filter_map(read).collect())
    }

    fn transport_headers(&self) -> Option<TransportHeaders> {
        let value = self
            .value(Slot::TransportHeaders)
            .filter(|value| value.first() == Some(&b'{'))?;
        Some(TransportHeaders {
            accept: member_text(value, "accept"),
            content_type: member_text(value, "content_type"),
            origin: member_text(value, "origin"),
            content_encoding: member_text(value, "content_encoding"),
        })
    }
}

fn bit(slot: Slot) -> u64 {
    1 << slot as u32
}

fn member_text(object: &[u8], name: &str) -> Option<Box<str>> {
    json::string(json::member(object, name)?).map(Into::into)
}

/// A key that is not spelled as in the table: with escapes, or in another case (log-format 9.1.3).
/// True beside it when unescaping alone made it equal.
fn loose(key: &[u8]) -> Option<(Slot, bool)> {
    // Nothing but ASCII letters folds, so a longer key cannot fit.
    let escaped = key.contains(&b'\\');
    let plain = if escaped {
        Cow::Owned(json::string(&[b"\"", key, b"\""].concat())?.into_owned())
    } else {
        String::from_utf8_lossy(key)
    };
    if escaped && let Some(slot) = exact(plain.as_bytes()) {
        return Some((slot, true));
    }
    SLOTS
        .iter()
        .find(|(name, _)| name.eq_ignore_ascii_case(&plain))
        .map(|(_, slot)| (*slot, false))
}

/// A whole number that is not negative, in plain digits or by value (`2.0`, `2e1`) below 2^53.
fn integer(value: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(value).ok()?;
    if value.iter().all(u8::is_ascii_digit) {
        return text.parse().ok();
    }
    if !matches!(value.first()?, b'0'..=b'9' | b'-') {
        return None;
    }
    let number: f64 = text.parse().ok()?;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the range is checked, and the fraction is zero"
    )]
    (number.fract() == 0.0 && (0.0..9_007_199_254_740_992.0).contains(&number))
        .then_some(number as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_complete() {
        assert_eq!(SLOTS.len(), COUNT);
        for (index, (name, slot)) in SLOTS.iter().enumerate() {
            assert_eq!(*slot as usize, index, "{name}");
            let others = SLOTS.iter().filter(|(other, _)| other == name).count();
            assert_eq!(others, 1);
        }
    }

    #[test]
    fn integers_are_read_by_value() {
        let cases = [
            ("7", Some(7)),
            ("9007199254740993", Some(9_007_199_254_740_993)),
            ("2.0", Some(2)),
            ("2e1", Some(20)),
            ("-0", Some(0)),
            ("-1", None),
            ("1.5", None),
            ("1e400", None),
            ("99999999999999999999", None),
            ("\"7\"", None),
            ("true", None),
        ];
        for (text, value) in cases {
            assert_eq!(integer(text.as_bytes()), value, "{text}");
        }
    }
}
