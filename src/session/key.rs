//! Ids as they are compared and as they are kept: most are small numbers (session-model.md 4.2).

use std::{fmt, ops::Deref};

use sha2::Digest as _;

use crate::wire::IdKey;

use super::atoms::clip;

/// Bytes of an id that are kept for display (session-model.md 22.3).
const MAX_ID: usize = 1_024;

/// An id in the form that decides equality.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Key {
    /// An integer of at most 18 digits, however it was written.
    Small(i64),
    /// Anything else.
    Wide(Box<IdKey>),
    /// Anything else beyond 1 KiB, by its SHA-256 (session-model.md 22.3).
    Long(Box<[u8; 32]>),
}

impl Key {
    /// Reads an id from its JSON text; `None` for `null` and what is no JSON.
    pub(super) fn read(value: &[u8]) -> Option<Self> {
        if let Some(small) = plain_integer(value) {
            return Some(Self::Small(small));
        }
        let wide = IdKey::read(value)?;
        Some(small_of(&wide).map_or_else(|| Self::wide(wide), Self::Small))
    }

    fn wide(key: IdKey) -> Self {
        let (kind, bytes) = match &key {
            IdKey::Number {
                negative,
                digits,
                exponent,
            } => (format!("{negative} {exponent} "), digits.as_bytes()),
            IdKey::Text(text) => ("text ".to_owned(), text.as_bytes()),
            IdKey::Other(bytes) => ("other ".to_owned(), &**bytes),
        };
        if bytes.len() <= MAX_ID {
            return Self::Wide(Box::new(key));
        }
        let hash = sha2::Sha256::new().chain_update(kind).chain_update(bytes);
        Self::Long(Box::new(hash.finalize().into()))
    }
}

/// `0` or up to 18 digits without a leading zero, perhaps negative.
fn plain_integer(value: &[u8]) -> Option<i64> {
    let (negative, digits) = match value {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    if digits.is_empty() || digits.len() > 18 || (digits.len() > 1 && digits.first() == Some(&b'0'))
    {
        return None;
    }
    let mut sum = 0_i64;
    for digit in digits {
        if !digit.is_ascii_digit() {
            return None;
        }
        sum = sum * 10 + i64::from(digit - b'0');
    }
    Some(if negative { -sum } else { sum })
}

/// The same number in its short form.
fn small_of(key: &IdKey) -> Option<i64> {
    let IdKey::Number {
        negative,
        digits,
        exponent,
    } = key
    else {
        return None;
    };
    if digits.is_empty() {
        return Some(0);
    }
    let zeros = usize::try_from(*exponent).ok()?;
    if digits.len().saturating_add(zeros) > 18 {
        return None;
    }
    let mut text = String::with_capacity(20);
    text.push_str(digits);
    text.extend(std::iter::repeat_n('0', zeros));
    let number: i64 = text.parse().ok()?;
    Some(if *negative { -number } else { number })
}

/// An id as sent, its exact JSON text; short ones take no allocation.
#[derive(Clone, PartialEq, Eq)]
pub struct JsonId(Repr);

#[derive(Clone, PartialEq, Eq)]
enum Repr {
    Short(u8, [u8; 14]),
    Long(Box<Box<str>>),
}

impl JsonId {
    /// Keeps at most 1 KiB of an id.
    pub(super) fn new(text: &str) -> Self {
        let mut short = [0; 14];
        if let (Some(room), Ok(length)) = (short.get_mut(..text.len()), u8::try_from(text.len())) {
            room.copy_from_slice(text.as_bytes());
            return Self(Repr::Short(length, short));
        }
        Self(Repr::Long(Box::new(clip(text, MAX_ID).into())))
    }
}

impl Deref for JsonId {
    type Target = str;

    fn deref(&self) -> &str {
        match &self.0 {
            Repr::Short(length, bytes) => bytes
                .get(..usize::from(*length))
                .and_then(|bytes| std::str::from_utf8(bytes).ok())
                .unwrap_or_default(),
            Repr::Long(text) => text,
        }
    }
}

impl fmt::Debug for JsonId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_compare_as_the_table_of_4_2_says() {
        let equal = [
            ("1", "1.0"),
            ("1", "10e-1"),
            ("1", "1e0"),
            (r#""\u0061""#, r#""a""#),
            ("-0", "0"),
            ("1e400000", "10e399999"),
            ("100", "1e2"),
            ("-7", "-7.0"),
        ];
        for (one, other) in equal {
            assert!(Key::read(one.as_bytes()).is_some(), "{one}");
            assert_eq!(
                Key::read(one.as_bytes()),
                Key::read(other.as_bytes()),
                "{one} {other}"
            );
        }
        let different = [
            ("1", r#""1""#),
            ("9007199254740993", "9007199254740992"),
            ("1", "1.5"),
            ("99999999999999999999", "99999999999999999998"),
            ("1", "-1"),
        ];
        for (one, other) in different {
            assert_ne!(
                Key::read(one.as_bytes()),
                Key::read(other.as_bytes()),
                "{one} {other}"
            );
        }
        assert_eq!(Key::read(b"null"), None);
    }

    #[test]
    fn a_long_id_is_told_apart_and_takes_a_few_bytes() {
        let long = "x".repeat(1 << 20);
        let key = |text: String| Key::read(text.as_bytes()).unwrap();
        let text = key(format!("\"{long}\""));
        assert!(matches!(text, Key::Long(_)));
        assert_eq!(
            text,
            key(format!("\"\\u0078{}\"", "x".repeat((1 << 20) - 1)))
        );
        assert_ne!(text, key(format!("\"{long}x\"")));
        assert_ne!(text, key(format!("[\"{long}\"]")));
        let digits = "7".repeat(2_000);
        assert_eq!(key(digits.clone()), key(format!("{digits}.0")));
        assert_ne!(key(digits.clone()), key(format!("{digits}0")));
        assert_ne!(key(digits.clone()), key(format!("-{digits}")));
        assert_eq!(size_of::<Key>(), 16);
    }

    #[test]
    fn ids_keep_their_text() {
        for text in ["1", "\"abcdefghijkl\"", "\"abcdefghijklm\"", "ü", ""] {
            assert_eq!(&*JsonId::new(text), text);
        }
        assert_eq!(JsonId::new(&"9".repeat(5_000)).len(), MAX_ID);
        assert_eq!(size_of::<JsonId>(), 16);
    }
}
