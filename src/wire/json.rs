//! One pass over the bytes of a JSON text: extent, members, elements, strings. Never recurses,
//! never re-encodes, never fails on invalid UTF-8 inside strings (log-format 5.1).

use std::ops::Range;

pub use super::{
    compact::{compact_len, compact_pieces},
    scan::{Scanner, is_blank, skip_blanks},
    text::{string, unescaped_bytes, write_lossy, write_string},
};
use super::{scan, text};

/// Nesting that a recorded value may have (log-format 13).
pub const MAX_DEPTH: usize = 9_999;

/// Where and why bytes are not JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not JSON at byte {at}")]
pub struct SyntaxError {
    /// Offset of the first byte that does not fit; the length of the input when it ends too early.
    pub at: usize,
}

/// Finds the end of the value that begins at `at` (no blanks before it); RFC 8259 grammar.
///
/// # Errors
/// The place of the first byte that does not fit, or that the nesting is above `max_depth`.
pub fn value_end(bytes: &[u8], at: usize, max_depth: usize) -> Result<usize, SyntaxError> {
    match bytes.get(at) {
        Some(b'{' | b'[') => Scanner::new(max_depth)
            .scan(bytes, at)?
            .ok_or(SyntaxError { at: bytes.len() }),
        _ => scan::scalar_end(bytes, at),
    }
}

/// The extent of the single value in `bytes`, blanks around it left out; `None` if they are not
/// exactly one JSON text.
pub fn whole_value(bytes: &[u8]) -> Option<Range<usize>> {
    let start = skip_blanks(bytes, 0);
    let end = value_end(bytes, start, MAX_DEPTH).ok()?;
    (skip_blanks(bytes, end) == bytes.len()).then_some(start..end)
}

/// The end of the string that begins with its quote at `at`, in a text that was found to be JSON before; the
/// length when it does not end.
pub fn known_string_end(bytes: &[u8], at: usize) -> usize {
    scan::known_string_end(bytes, at + 1).unwrap_or(bytes.len())
}

/// The members of the object `bytes`, which is a valid JSON value: key as written without its
/// quotes, and the exact slice of the value. Empty when it is no object. Values are not checked
/// again, so that reading a message costs a fraction of reading its line.
pub fn members(bytes: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    let mut fields = Fields::new(bytes, 0);
    std::iter::from_fn(move || {
        let key = fields.next_key().ok()??;
        let value = fields.known_value().ok()?;
        Some((bytes.get(key)?, bytes.get(value)?))
    })
}

/// The exact slices of the elements of the array `bytes`, which is a valid JSON value.
pub fn elements(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    element_ranges(bytes).filter_map(|range| bytes.get(range))
}

/// As `elements`, where they lie.
pub fn element_ranges(bytes: &[u8]) -> impl Iterator<Item = Range<usize>> {
    let mut at = skip_blanks(bytes, 0);
    let mut before = b'[';
    std::iter::from_fn(move || {
        if bytes.get(at) != Some(&before) {
            return None;
        }
        let start = skip_blanks(bytes, at + 1);
        let end = scan::known_end(bytes, start).ok()?;
        at = skip_blanks(bytes, end);
        before = b',';
        Some(start..end)
    })
}

/// The last value of the member `name` (compared after unescaping) of the object `bytes`.
pub fn member<'a>(bytes: &'a [u8], name: &str) -> Option<&'a [u8]> {
    members(bytes)
        .filter(|(key, _)| key_is(key, name))
        .last()
        .map(|(_, value)| value)
}

/// True when a key as written without its quotes means `name`.
pub fn key_is(key: &[u8], name: &str) -> bool {
    key == name.as_bytes() || key.contains(&b'\\') && text::unescaped(key) == name
}

/// A walk over the members of an object, which may end too early or be damaged further on.
#[derive(Clone, Debug)]
pub struct Fields<'a> {
    bytes: &'a [u8],
    at: usize,
    before: u8,
}

impl<'a> Fields<'a> {
    /// Begins at the object that lies at `at`, blanks before it skipped.
    pub fn new(bytes: &'a [u8], at: usize) -> Self {
        Self {
            bytes,
            at: skip_blanks(bytes, at),
            before: b'{',
        }
    }

    /// Goes to the next member: where its key lies, without quotes. `None` behind the object's
    /// end, where `at` then stands.
    ///
    /// # Errors
    /// The place of the first byte that does not fit.
    pub fn next_key(&mut self) -> Result<Option<Range<usize>>, SyntaxError> {
        let found = self.bytes.get(self.at).copied();
        if self.before == b',' && found == Some(b'}') {
            self.at += 1;
            self.before = 0;
        }
        if self.before == 0 {
            return Ok(None);
        }
        if found != Some(self.before) {
            return Err(SyntaxError { at: self.at });
        }
        let start = skip_blanks(self.bytes, self.at + 1);
        match self.bytes.get(start) {
            Some(b'}') if self.before == b'{' => {
                self.at = start + 1;
                self.before = 0;
                return Ok(None);
            }
            Some(b'"') => {}
            _ => return Err(SyntaxError { at: start }),
        }
        let end = scan::string_end(self.bytes, start + 1)?;
        let colon = skip_blanks(self.bytes, end);
        if self.bytes.get(colon) != Some(&b':') {
            return Err(SyntaxError { at: colon });
        }
        self.at = skip_blanks(self.bytes, colon + 1);
        self.before = b',';
        Ok(Some(start + 1..end - 1))
    }

    /// Reads the value of the key that was found last, and goes behind it.
    ///
    /// # Errors
    /// The place of the first byte that does not fit.
    pub fn value(&mut self, max_depth: usize) -> Result<Range<usize>, SyntaxError> {
        let start = self.at;
        let end = value_end(self.bytes, start, max_depth)?;
        self.at = skip_blanks(self.bytes, end);
        Ok(start..end)
    }

    /// As `value`, for a text that was found to be JSON before.
    fn known_value(&mut self) -> Result<Range<usize>, SyntaxError> {
        let start = self.at;
        let end = scan::known_end(self.bytes, start)?;
        self.at = skip_blanks(self.bytes, end);
        Ok(start..end)
    }

    /// Where the walk stands: at a value after `next_key`, else behind what was read.
    pub fn at(&self) -> usize {
        self.at
    }
}

#[cfg(test)]
#[path = "json_tests.rs"]
mod tests;
