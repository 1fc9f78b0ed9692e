//! Numbers of the wire compared by their exact value, never as floats and never written out
//! (session-model.md 9.1).

use std::{borrow::Cow, cmp::Ordering};

use super::key::Key;
use crate::wire::IdKey;

/// A number that can be compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Decimal(Key);

/// Sign, significant digits, power of ten of the last one.
type Parts<'a> = (bool, Cow<'a, str>, i64);

impl Decimal {
    /// Reads a JSON number; `None` for anything else, for one of more than 1 KiB of digits, and for
    /// one whose exponent has no end.
    pub(super) fn read(value: &[u8]) -> Option<Self> {
        if !matches!(value.first(), Some(b'-' | b'0'..=b'9')) {
            return None;
        }
        let number = Self(Key::read(value)?);
        number.parts().is_some().then_some(number)
    }

    /// True when it is greater than the other.
    pub(super) fn is_above(&self, other: &Self) -> bool {
        if let (Key::Small(one), Key::Small(other)) = (&self.0, &other.0) {
            return one > other;
        }
        match (self.parts(), other.parts()) {
            (Some(one), Some(other)) => compare(&one, &other) == Ordering::Greater,
            _ => false,
        }
    }

    fn parts(&self) -> Option<Parts<'_>> {
        match &self.0 {
            Key::Small(number) => {
                let digits = number.unsigned_abs().to_string();
                let short = digits.trim_end_matches('0');
                let zeros = i64::try_from(digits.len() - short.len()).ok()?;
                let exponent = if short.is_empty() { 0 } else { zeros };
                Some((*number < 0, Cow::Owned(short.to_owned()), exponent))
            }
            Key::Wide(key) => match &**key {
                IdKey::Number {
                    negative,
                    digits,
                    exponent,
                } => Some((*negative, Cow::Borrowed(digits), *exponent)),
                IdKey::Text(_) | IdKey::Other(_) => None,
            },
            Key::Long(_) => None,
        }
    }
}

/// Digits have neither leading nor trailing zeros; zero has none.
fn compare(one: &Parts<'_>, other: &Parts<'_>) -> Ordering {
    let sign = |parts: &Parts<'_>| match (parts.1.is_empty(), parts.0) {
        (true, _) => 0,
        (false, true) => -1,
        (false, false) => 1,
    };
    // Place of the first digit: what is further left is greater.
    let place = |parts: &Parts<'_>| i128::from(parts.2) + parts.1.len() as i128;
    let by_size = || {
        place(one)
            .cmp(&place(other))
            .then_with(|| one.1.as_bytes().cmp(other.1.as_bytes()))
    };
    sign(one)
        .cmp(&sign(other))
        .then_with(|| match (sign(one), by_size()) {
            (0, _) => Ordering::Equal,
            (-1, size) => size.reverse(),
            (_, size) => size,
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Decimal {
        Decimal::read(text.as_bytes()).unwrap()
    }

    #[test]
    fn each_of_the_list_is_above_the_one_before() {
        let long = ["1".repeat(900), "5".to_owned()].concat();
        let longer = ["1".repeat(900), "6".to_owned()].concat();
        let ascending = [
            "-1e400000",
            "-12",
            "-1.5",
            "-1",
            "-0.1",
            "0",
            "1e-400000",
            "0.1",
            "0.10000000000000000000000000000000001",
            "0.2",
            "1e0",
            "1.5",
            "9",
            "10",
            "11",
            "9007199254740992",
            "9007199254740993",
            "1000000000000000000000",
            "1000000000000000000001",
            &long,
            &longer,
            "1e400000",
            "1.1e400000",
        ];
        for (at, one) in ascending.iter().enumerate() {
            assert!(!read(one).is_above(&read(one)), "{one}");
            for above in &ascending[at + 1..] {
                assert!(read(above).is_above(&read(one)), "{above} {one}");
                assert!(!read(one).is_above(&read(above)), "{one} {above}");
            }
        }
    }

    #[test]
    fn spelling_does_not_count() {
        for (one, other) in [("1", "1.0"), ("10", "1e1"), ("-0", "0.00"), ("0.5", "5e-1")] {
            assert!(!read(one).is_above(&read(other)), "{one} {other}");
            assert!(!read(other).is_above(&read(one)), "{other} {one}");
        }
    }

    #[test]
    fn what_is_no_number_or_has_no_end_is_not_compared() {
        let endless = format!("1e{}", "9".repeat(40));
        let huge = "7".repeat(5_000);
        for text in ["\"50\"", "null", "{}", "[1]", "true", "", &endless, &huge] {
            assert_eq!(Decimal::read(text.as_bytes()), None, "{text}");
        }
    }
}
