//! JSON strings to text and back (log-format 3.5, 3.6).

use std::borrow::Cow;

use super::scan::plain_end;

const REPLACEMENT: char = '\u{fffd}';

/// The text of a JSON string value, unescaped; bad UTF-8 and lone surrogates become U+FFFD.
/// `None` if it is no string.
pub fn string(value: &[u8]) -> Option<Cow<'_, str>> {
    let inner = value.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    Some(unescaped(inner))
}

/// The text between the quotes of a valid JSON string.
pub(super) fn unescaped(inner: &[u8]) -> Cow<'_, str> {
    match unescaped_bytes(inner) {
        Cow::Borrowed(bytes) => String::from_utf8_lossy(bytes),
        Cow::Owned(bytes) => Cow::Owned(match String::from_utf8(bytes) {
            Ok(text) => text,
            Err(bad) => String::from_utf8_lossy(bad.as_bytes()).into_owned(),
        }),
    }
}

/// As `string`, of what stands between the quotes, bad UTF-8 left as it is: for what is only compared.
pub fn unescaped_bytes(inner: &[u8]) -> Cow<'_, [u8]> {
    let Some(first) = memchr::memchr(b'\\', inner) else {
        return Cow::Borrowed(inner);
    };
    let mut out = Vec::with_capacity(inner.len());
    let (plain, mut rest) = inner.split_at_checked(first).unwrap_or((inner, &[]));
    out.extend_from_slice(plain);
    while let Some((b'\\', tail)) = rest.split_first() {
        rest = unescape_one(tail, &mut out);
        let plain = memchr::memchr(b'\\', rest).unwrap_or(rest.len());
        let (plain, tail) = rest.split_at_checked(plain).unwrap_or((rest, &[]));
        out.extend_from_slice(plain);
        rest = tail;
    }
    Cow::Owned(out)
}

/// Reads what follows a backslash; answers what follows the escape.
fn unescape_one<'a>(tail: &'a [u8], out: &mut Vec<u8>) -> &'a [u8] {
    let Some((letter, rest)) = tail.split_first() else {
        return tail;
    };
    let byte = match letter {
        b'b' => 0x08,
        b'f' => 0x0c,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'u' => return unescape_unit(rest, out),
        other => *other,
    };
    out.push(byte);
    rest
}

/// Reads the four digits of `\u`, and the second half of a surrogate pair.
fn unescape_unit<'a>(rest: &'a [u8], out: &mut Vec<u8>) -> &'a [u8] {
    let Some((unit, mut rest)) = hex_unit(rest) else {
        return rest;
    };
    let mut code = u32::from(unit);
    if (0xd800..0xdc00).contains(&code)
        && let Some((low, tail)) = rest.strip_prefix(b"\\u").and_then(hex_unit)
        && (0xdc00..0xe000).contains(&low)
    {
        code = 0x10000 + ((code - 0xd800) << 10) + (u32::from(low) - 0xdc00);
        rest = tail;
    }
    push_char(out, char::from_u32(code).unwrap_or(REPLACEMENT));
    rest
}

fn hex_unit(text: &[u8]) -> Option<(u16, &[u8])> {
    let (digits, rest) = text.split_at_checked(4)?;
    let digits = std::str::from_utf8(digits).ok()?;
    u16::from_str_radix(digits, 16)
        .ok()
        .map(|unit| (unit, rest))
}

fn push_char(out: &mut Vec<u8>, symbol: char) {
    out.extend_from_slice(symbol.encode_utf8(&mut [0; 4]).as_bytes());
}

/// Appends `text` to `out` as a JSON string with its quotes, as log-format 3.5 escapes it.
pub fn write_string(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    write_part(out, text.as_bytes());
    out.push(b'"');
}

/// Appends bytes as a JSON string, each maximal invalid part as U+FFFD, and stops before the
/// encoded text passes `limit` bytes. Answers how many bytes of `text` went in, and whether all of
/// these were UTF-8. Never cuts a character.
pub fn write_lossy(out: &mut Vec<u8>, text: &[u8], limit: usize) -> (usize, bool) {
    out.push(b'"');
    let result = match std::str::from_utf8(text) {
        Ok(_) if text.len() <= limit / 6 => {
            write_part(out, text);
            (text.len(), true)
        }
        _ => write_chunks(out, text, limit),
    };
    out.push(b'"');
    result
}

fn write_chunks(out: &mut Vec<u8>, text: &[u8], limit: usize) -> (usize, bool) {
    let start = out.len();
    let (mut used, mut exact) = (0, true);
    for chunk in text.utf8_chunks() {
        // Pieces of 4 KiB, so that the limit is not passed by much before it is noticed.
        let mut rest = chunk.valid();
        while !rest.is_empty() {
            let cut = floor_boundary(rest, 4_096);
            let (piece, tail) = rest.split_at_checked(cut).unwrap_or((rest, ""));
            let before = out.len();
            write_part(out, piece.as_bytes());
            if out.len() - start > limit {
                out.truncate(before);
                return (
                    used + write_to_limit(out, piece, limit - (before - start)),
                    exact,
                );
            }
            used += piece.len();
            rest = tail;
        }
        if !chunk.invalid().is_empty() {
            if out.len() - start + REPLACEMENT.len_utf8() > limit {
                return (used, exact);
            }
            push_char(out, REPLACEMENT);
            exact = false;
            used += chunk.invalid().len();
        }
    }
    (used, exact)
}

fn write_to_limit(out: &mut Vec<u8>, piece: &str, limit: usize) -> usize {
    let start = out.len();
    for (at, symbol) in piece.char_indices() {
        let before = out.len();
        write_part(out, symbol.encode_utf8(&mut [0; 4]).as_bytes());
        if out.len() - start > limit {
            out.truncate(before);
            return at;
        }
    }
    piece.len()
}

fn floor_boundary(text: &str, most: usize) -> usize {
    if text.len() <= most {
        return text.len();
    }
    (most.saturating_sub(3)..=most)
        .rev()
        .find(|at| text.is_char_boundary(*at))
        .unwrap_or(text.len())
}

/// Appends UTF-8 without quotes, escaped.
fn write_part(out: &mut Vec<u8>, text: &[u8]) {
    let mut rest = text;
    loop {
        let plain = plain_end(rest, 0);
        let (head, tail) = rest.split_at_checked(plain).unwrap_or((rest, &[]));
        out.extend_from_slice(head);
        let Some((byte, tail)) = tail.split_first() else {
            return;
        };
        write_escape(out, *byte);
        rest = tail;
    }
}

fn write_escape(out: &mut Vec<u8>, byte: u8) {
    let letter = match byte {
        b'"' | b'\\' => byte,
        b'\n' => b'n',
        b'\r' => b'r',
        b'\t' => b't',
        0x08 => b'b',
        0x0c => b'f',
        _ => {
            let digit = |nibble: u8| nibble + if nibble < 10 { b'0' } else { b'a' - 10 };
            out.extend_from_slice(&[b'\\', b'u', b'0', b'0', digit(byte >> 4), digit(byte & 15)]);
            return;
        }
    };
    out.extend_from_slice(&[b'\\', letter]);
}
