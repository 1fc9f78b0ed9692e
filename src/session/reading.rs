//! What the model takes out of one frame while its bytes are at hand: members of the message, then
//! the few nested values that later frames are compared with (session-model.md 3.2, 4.3). Here is how
//! a single value is read; `params` and `results` say which.
//!
//! Each value is decoded on its own; one of the wrong type is unknown and hides no other.

use std::borrow::Cow;

use sha2::Digest as _;

use crate::wire::{IdKey, json};

use super::{atoms::bounded, canonical, key::Key, key_set::KeySet};
pub(super) use super::{
    params::{Params, RawParams, hidden},
    results::{ErrorFacts, RawResult, ResultFacts, offered_versions},
};

/// What redaction puts in place of a value (log-format 8.5).
const PLACEHOLDER: &[u8] = b"[REDACTED]";

/// A value that redaction may have taken away.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Known<T> {
    /// Not there, or `null`.
    #[default]
    Absent,
    /// There, but redacted or of the wrong type.
    Unknown,
    /// Read.
    Is(T),
}

/// Name and version of a peer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Who<'a> {
    pub(super) name: Cow<'a, str>,
    pub(super) version: Cow<'a, str>,
}

/// Calls `take` with each member of an object, its name unescaped.
pub(super) fn each<'a>(object: &'a [u8], mut take: impl FnMut(&[u8], &'a [u8])) {
    for (name, value) in json::members(object) {
        if name.contains(&b'\\') {
            let mut quoted = Vec::with_capacity(name.len() + 2);
            quoted.push(b'"');
            quoted.extend_from_slice(name);
            quoted.push(b'"');
            if let Some(plain) = json::string(&quoted) {
                take(plain.as_bytes(), value);
            }
        } else {
            take(name, value);
        }
    }
}

/// True when redaction rewrote the frame and the value holds its placeholder.
pub(super) fn is_redacted(value: &[u8], frame_redacted: bool) -> bool {
    frame_redacted && memchr::memmem::find(value, PLACEHOLDER).is_some()
}

/// The text of a member of an object; `None` when it is not there, redacted, or no string.
pub(super) fn member_text<'a>(
    object: &'a [u8],
    name: &str,
    redacted: bool,
) -> Option<Cow<'a, str>> {
    json::member(object, name)
        .filter(|value| !is_redacted(value, redacted))
        .and_then(json::string)
}

/// The key of an id; `None` for `null` and redacted ones.
pub(super) fn key_of(value: &[u8], frame_redacted: bool) -> Option<Key> {
    (!is_redacted(value, frame_redacted))
        .then(|| Key::read(value))
        .flatten()
}

/// True for a number that is an integer by value, of whatever size.
pub(super) fn is_integer(value: &[u8]) -> bool {
    if !matches!(value.first(), Some(b'-' | b'0'..=b'9')) {
        return false;
    }
    match IdKey::read(value) {
        Some(IdKey::Number {
            digits, exponent, ..
        }) => digits.is_empty() || exponent >= 0,
        // Too large an exponent to say.
        Some(_) => true,
        None => false,
    }
}

pub(super) fn text_of(value: &[u8], redacted: bool) -> Option<Cow<'_, str>> {
    (!is_redacted(value, redacted))
        .then(|| json::string(value).map(bounded))
        .flatten()
}

pub(super) fn who(value: &[u8], redacted: bool) -> Option<Who<'_>> {
    if is_redacted(value, redacted) {
        return None;
    }
    let (mut name, mut version) = (None, None);
    each(value, |key, value| match key {
        b"name" => name = json::string(value).map(bounded),
        b"version" => version = json::string(value).map(bounded),
        _ => {}
    });
    name.map(|name| Who {
        name,
        version: version.unwrap_or_default(),
    })
}

/// A text that is only compared and never kept (session-model.md 11.2), by the first half of its SHA-256.
pub(super) fn digest_of(value: &[u8], redacted: bool) -> Known<[u8; 16]> {
    if value == b"null" {
        return Known::Absent;
    }
    if is_redacted(value, redacted) {
        return Known::Unknown;
    }
    let Some(text) = json::string(value) else {
        return Known::Unknown;
    };
    let digest = sha2::Sha256::digest(text.as_bytes());
    let mut short = [0; 16];
    for (to, from) in short.iter_mut().zip(digest) {
        *to = from;
    }
    Known::Is(short)
}

/// The set of keys of an object; an empty object or `null` asks for nothing.
pub(super) fn key_set(value: &[u8], redacted: bool) -> Known<KeySet> {
    if value == b"null" {
        return Known::Absent;
    }
    if value.first() != Some(&b'{') {
        return Known::Unknown;
    }
    let (mut hashes, mut hidden) = (Vec::new(), false);
    each(value, |name, _| {
        hidden |= is_redacted(name, redacted);
        hashes.push(canonical::name(name));
    });
    if hidden {
        return Known::Unknown;
    }
    KeySet::new(hashes).map_or(Known::Absent, Known::Is)
}

/// The type of an id that is no plain key, for callers that only ask whether there was one.
pub(super) fn is_null(value: &[u8]) -> bool {
    IdKey::read(value).is_none()
}
