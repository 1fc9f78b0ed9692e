//! JSON source on one line: without its blanks, without what every message carries (tui.md 6.3).

use crate::{base::Shown, wire::json};

/// Most bytes of a body that a row looks at.
const PREVIEW_BYTES: usize = 4 << 10;

/// How a large message begins: its result or its parameters, where they stand near the front.
pub(super) fn beginning(bytes: &[u8]) -> Shown {
    let head = bytes.get(..PREVIEW_BYTES).unwrap_or(bytes);
    let value = [&b"\"result\":"[..], b"\"params\":"]
        .into_iter()
        .find_map(|name| Some(memchr::memmem::find(head, name)? + name.len()));
    compact(bytes.get(value.unwrap_or(0)..).unwrap_or(bytes))
}

/// A JSON value without the blanks between its tokens, up to the bytes that a row looks at.
pub(super) fn compact(value: &[u8]) -> Shown {
    if value == b"{}" {
        return Shown::default();
    }
    let mut out = Vec::with_capacity(value.len().min(PREVIEW_BYTES));
    let (mut in_string, mut escaped) = (false, false);
    for byte in value.iter().copied() {
        if out.len() >= PREVIEW_BYTES {
            break;
        }
        if in_string {
            in_string = escaped || byte != b'"';
            escaped = !escaped && byte == b'\\';
        } else if json::is_blank(byte) {
            continue;
        } else {
            in_string = byte == b'"';
        }
        out.push(byte);
    }
    Shown::row(&out)
}

/// An object without what every modern message carries: `_meta`, and that a result is complete.
/// Nothing when nothing else is left.
pub(super) fn without_meta(value: &[u8]) -> Shown {
    let is_envelope = |key: &[u8], member: &[u8]| {
        key == b"_meta" || (key == b"resultType" && member == b"\"complete\"")
    };
    if !json::members(value).any(|(key, member)| is_envelope(key, member)) {
        return compact(value);
    }
    let mut rest = Vec::new();
    for (key, member) in json::members(value).filter(|(key, member)| !is_envelope(key, member)) {
        rest.push(if rest.is_empty() { b'{' } else { b',' });
        rest.push(b'"');
        rest.extend_from_slice(key);
        rest.extend_from_slice(b"\":");
        // More is not looked at anyway.
        rest.extend(member.iter().take(PREVIEW_BYTES));
        if rest.len() > PREVIEW_BYTES {
            return compact(&rest);
        }
    }
    if rest.is_empty() {
        return Shown::default();
    }
    rest.push(b'}');
    compact(&rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blanks_between_tokens_go() {
        let shown = compact(b"{ \"a b\" :\t[1, 2 ],\n\"c\\\" d\": \"\\\\\" , \"e\": 1 }");
        assert_eq!(
            shown.plain(),
            "{\"a b\":[1,2],\"c\\\" d\":\"\\\\\",\"e\":1}"
        );
    }

    #[test]
    fn what_every_message_carries_is_left_out() {
        let cases = [
            (
                r#"{"_meta":{"a":1},"uri":"x","n":[1, 2]}"#,
                r#"{"uri":"x","n":[1,2]}"#,
            ),
            (r#"{"_meta":{"a":1}}"#, ""),
            (r#"{"resultType":"complete","ttlMs":0}"#, r#"{"ttlMs":0}"#),
            (r#"{"resultType":"other"}"#, r#"{"resultType":"other"}"#),
            (r#"{"a\"b":1,"_meta":{}}"#, r#"{"a\"b":1}"#),
            ("[1, 2]", "[1,2]"),
        ];
        for (value, expected) in cases {
            assert_eq!(without_meta(value.as_bytes()).plain(), expected, "{value}");
        }
    }
}
