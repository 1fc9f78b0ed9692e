//! What a frame is (session-model.md 3.1, 3.4): the first row of the table that fits.

use std::borrow::Cow;

use super::{reading::is_redacted, row::Kind};
use crate::{
    record::{Direction, Envelope, HttpFields, Payload},
    wire::{Answer, Message, MessageKind, json, peek_prefix},
};

/// The members of a message that were there, or that could be recovered.
#[derive(Debug, Default)]
pub(super) struct Parts<'a> {
    pub(super) jsonrpc: Option<&'a [u8]>,
    /// Exact JSON text of the id.
    pub(super) id: Option<&'a [u8]>,
    pub(super) method: Option<Cow<'a, str>>,
    pub(super) params: Option<&'a [u8]>,
    pub(super) result: Option<&'a [u8]>,
    /// A non-null error; empty when only its beginning was seen.
    pub(super) error: Option<&'a [u8]>,
}

/// One frame after classification.
#[derive(Debug)]
pub(super) struct Classified<'a> {
    pub(super) kind: Kind,
    pub(super) parts: Parts<'a>,
    /// A frame that was cut, or redacted as a whole, and could not be linked to anything.
    pub(super) unlinked: bool,
    /// `method` is there and no string.
    pub(super) method_type: bool,
    /// Too deep to be read beyond its top level: what its members hold is unknown.
    pub(super) unparsed: bool,
}

impl Classified<'_> {
    fn plain(kind: Kind) -> Self {
        Self {
            kind,
            parts: Parts::default(),
            unlinked: false,
            method_type: false,
            unparsed: false,
        }
    }
}

/// HTTP status of a frame; 0 when none.
pub(super) fn status_of(envelope: &Envelope) -> u16 {
    envelope.http.as_ref().map_or(0, |http| http.status)
}

/// Rows 2 to 7 of the table, which need the envelope; `None`: the payload decides.
pub(super) fn by_envelope(envelope: &Envelope) -> Option<Classified<'_>> {
    match &envelope.direction {
        Direction::Stderr => return Some(Classified::plain(Kind::Stderr)),
        Direction::Unknown(_) | Direction::Meta => return Some(Classified::plain(Kind::Other)),
        Direction::ClientToServer | Direction::ServerToClient => {}
    }
    if envelope.truncated {
        return Some(salvage(envelope));
    }
    let empty = match &envelope.payload {
        Payload::Nothing => true,
        Payload::Text(text) => text.is_empty(),
        Payload::Raw(_) => false,
    };
    if empty && status_of(envelope) != 0 {
        return Some(Classified::plain(Kind::Transport));
    }
    let event = envelope
        .http
        .as_ref()
        .is_some_and(|http| http.event.is_some());
    let is_array = matches!(&envelope.payload, Payload::Raw(raw) if raw.bytes().starts_with(b"["));
    if event && !is_array && envelope.direction == Direction::ServerToClient {
        return Some(Classified::plain(Kind::Other));
    }
    None
}

/// Rows 8 to 14 of the table for a JSON value; `redacted` is the mark of its frame.
pub(super) fn by_payload<'a>(
    value: &'a [u8],
    http: Option<&HttpFields>,
    redacted: bool,
) -> Classified<'a> {
    let message = Message::read(value);
    let error = message.error.filter(|error| *error != b"null");
    let status = http.map_or(0, |http| http.status);
    let gateway = message.jsonrpc.is_none()
        && message.method.is_none()
        && message.result.is_none()
        && error.is_some_and(|error| {
            // What redaction took away may have been an object, of which nothing bad is said.
            let hidden = status < 300 && is_redacted(error, redacted);
            (error.first() != Some(&b'{') && !hidden) || (message.id.is_none() && status >= 400)
        });
    // The whole message was taken away: it may have been anything.
    let gone = value.first() == Some(&b'"') && is_redacted(value, redacted);
    let kind = match message.kind {
        _ if gateway => no_message(http),
        MessageKind::Request => Kind::Request,
        MessageKind::Notification => Kind::Notification,
        MessageKind::Response => Kind::Response,
        _ if gone => Kind::Other,
        MessageKind::MethodNotText | MessageKind::NotRpc => no_message(http),
        MessageKind::Other => Kind::Other,
    };
    Classified {
        kind,
        parts: Parts {
            jsonrpc: message.jsonrpc,
            id: message.id,
            method: message.method.and_then(json::string),
            params: message.params,
            result: message.result,
            error,
        },
        unlinked: gone,
        method_type: !gateway && message.kind == MessageKind::MethodNotText,
        unparsed: false,
    }
}

/// The same for a payload that the log holds as text: no message, unless it is one that nests deeper
/// than a recorded value may (session-model.md 3.2.2).
pub(super) fn by_text<'a>(text: Option<&'a [u8]>, http: Option<&HttpFields>) -> Classified<'a> {
    let deep = text.filter(|text| is_deep_object(text));
    let Some(text) = deep else {
        return Classified::plain(no_message(http));
    };
    let mut classified = by_payload(text, http, false);
    let parts = &mut classified.parts;
    parts.params = None;
    parts.result = parts.result.map(|_| Default::default());
    parts.error = parts.error.map(|_| Default::default());
    classified.unparsed = true;
    classified
}

fn is_deep_object(text: &[u8]) -> bool {
    text.first() == Some(&b'{')
        && text.len() > 2 * json::MAX_DEPTH
        && json::whole_value(text).is_none()
        && json::value_end(text, 0, usize::MAX) == Ok(text.len())
}

/// Row 8: what a frame without a JSON-RPC message is.
fn no_message(http: Option<&HttpFields>) -> Kind {
    let answer = http.is_some_and(|http| {
        http.status == 202
            || http.status >= 300
            || http
                .http_method
                .as_deref()
                .is_some_and(|method| method.eq_ignore_ascii_case("DELETE"))
    });
    if answer {
        Kind::Transport
    } else {
        Kind::Invalid
    }
}

/// A frame of which only a part was recorded: never invalid, judged by what is complete.
fn salvage(envelope: &Envelope) -> Classified<'_> {
    let mut parts = Parts::default();
    let (mut result, mut error) = (false, false);
    let bytes: &[u8] = match &envelope.payload {
        Payload::Text(text) => text,
        Payload::Raw(raw) => raw.bytes(),
        Payload::Nothing => b"",
    };
    let prefix = peek_prefix(bytes);
    parts.id = prefix.id;
    parts.method = prefix.method;
    parts.params = prefix.params;
    match prefix.has {
        Some(Answer::Result) => result = true,
        Some(Answer::Error) => error = true,
        None => {}
    }
    if let Some(peek) = &envelope.peek {
        parts.id = peek.id.as_deref().or(parts.id);
        if let Some(method) = &peek.method {
            parts.method = Some(Cow::Borrowed(method));
        }
        result |= peek.has.as_deref() == Some("result");
        error |= peek.has.as_deref() == Some("error");
    }
    parts.error = error.then_some(&[]);
    parts.result = (result && !error).then_some(&[]);
    let kind = match &parts.method {
        Some(_) if parts.id.is_some() => Kind::Request,
        Some(method) if method.starts_with("notifications/") => Kind::Notification,
        None if result || error => Kind::Response,
        _ => Kind::Other,
    };
    Classified {
        unlinked: kind == Kind::Other,
        kind,
        parts,
        method_type: false,
        unparsed: false,
    }
}
