//! Ids as JSON-RPC compares them (session-model.md 4.2).

use std::borrow::Cow;

use super::json;

/// An id in the form that decides equality: `1`, `1.0` and `10e-1` are one; `"1"` is another.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum IdKey {
    /// A number by its exact decimal value.
    Number {
        /// True below zero; never for zero.
        negative: bool,
        /// Significant digits without leading and trailing zeros; empty for zero.
        digits: Box<str>,
        /// Power of ten of the last digit.
        exponent: i64,
    },
    /// A string after unescaping.
    Text(Box<str>),
    /// `true`, `false`, an array or an object, in canonical JSON.
    Other(Box<[u8]>),
}

/// Nesting up to which an array or object is brought into canonical form; a deeper one is compared
/// by its bytes.
const CANONICAL_DEPTH: usize = 64;

impl IdKey {
    /// Reads the id from its exact JSON bytes; `None` for `null` and for what is no JSON.
    pub fn read(value: &[u8]) -> Option<Self> {
        let value = value.get(json::whole_value(value)?)?;
        match value.first()? {
            b'n' => None,
            b'"' => json::string(value).map(|text| Self::Text(text.into())),
            b'-' | b'0'..=b'9' => Some(Self::number(value)),
            _ => {
                let mut out = Vec::with_capacity(value.len());
                Some(Self::Other(
                    match canonical(value, CANONICAL_DEPTH, &mut out) {
                        Some(()) => out.into(),
                        None => value.into(),
                    },
                ))
            }
        }
    }

    /// The exact value of a number, never expanded.
    fn number(value: &[u8]) -> Self {
        let text: Cow<'_, str> = String::from_utf8_lossy(value);
        Self::decimal(&text).unwrap_or_else(|| Self::Other(value.into()))
    }

    /// `None` when the exponent does not fit.
    fn decimal(text: &str) -> Option<Self> {
        let (negative, text) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all = [whole, fraction].concat();
        let significant = all.trim_start_matches('0');
        let digits = significant.trim_end_matches('0');
        if digits.is_empty() {
            return Some(Self::Number {
                negative: false,
                digits: "".into(),
                exponent: 0,
            });
        }
        let dropped = i64::try_from(significant.len() - digits.len()).ok()?;
        let exponent = exponent
            .parse::<i64>()
            .ok()?
            .checked_sub(i64::try_from(fraction.len()).ok()?)?
            .checked_add(dropped)?;
        Some(Self::Number {
            negative,
            digits: digits.into(),
            exponent,
        })
    }

    /// Appends the canonical spelling.
    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Number {
                negative,
                digits,
                exponent,
            } => {
                let sign = if *negative { "-" } else { "" };
                let digits = if digits.is_empty() { "0" } else { digits };
                out.extend_from_slice(format!("{sign}{digits}e{exponent}").as_bytes());
            }
            Self::Text(text) => json::write_string(out, text),
            Self::Other(bytes) => out.extend_from_slice(bytes),
        }
    }
}

/// Appends a valid value with sorted keys, without blanks, each scalar in one spelling; `None` when
/// it is nested too deeply.
fn canonical(value: &[u8], depth: usize, out: &mut Vec<u8>) -> Option<()> {
    match value.first()? {
        b'[' => {
            let depth = depth.checked_sub(1)?;
            out.push(b'[');
            for (index, element) in json::elements(value).enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                canonical(element, depth, out)?;
            }
            out.push(b']');
        }
        b'{' => {
            let depth = depth.checked_sub(1)?;
            let members: std::collections::BTreeMap<_, _> = json::members(value)
                .map(|(key, inner)| (super::text::unescaped(key), inner))
                .collect();
            out.push(b'{');
            for (index, (key, inner)) in members.iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                json::write_string(out, key);
                out.push(b':');
                canonical(inner, depth, out)?;
            }
            out.push(b'}');
        }
        b't' | b'f' | b'n' => out.extend_from_slice(value),
        _ => IdKey::read(value)?.write(out),
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_ids_have_one_key() {
        let groups: [&[&str]; 9] = [
            &["1", "1.0", "10e-1", "1e0", "0.1E+1", " 1 "],
            &["0", "-0", "0.000", "0e99"],
            &["-1.5", "-15e-1", "-1.50"],
            &["1e400000", "10e399999"],
            &["1200", "1.2e3", "12E2"],
            &[r#""a""#, r#""\u0061""#],
            &[r#""req/1""#, r#""req\/1""#],
            &[
                r#"{"a":1,"b":[true, 2]}"#,
                r#"{ "b" : [true,2.0], "\u0061":1 }"#,
            ],
            &["[]", "[ ]"],
        ];
        let key = |text: &str| IdKey::read(text.as_bytes()).unwrap();
        for (index, group) in groups.iter().enumerate() {
            for text in *group {
                assert_eq!(key(text), key(group[0]), "{text}");
                for (other_index, other) in groups.iter().enumerate() {
                    assert_eq!(index == other_index, key(text) == key(other[0]), "{text}");
                }
            }
        }
    }

    #[test]
    fn unequal_ids_have_different_keys() {
        let key = |text: &str| IdKey::read(text.as_bytes()).unwrap();
        for (left, right) in [
            ("1", r#""1""#),
            ("9007199254740993", "9007199254740992"),
            ("1", "-1"),
            ("true", r#""true""#),
            ("1e99999999999999999999", "1e99999999999999999998"),
            ("[1]", "[2]"),
            ("10", "1"),
        ] {
            assert_ne!(key(left), key(right));
        }
        for none in ["null", "", "x", "1 2"] {
            assert_eq!(IdKey::read(none.as_bytes()), None);
        }
        let deep = ["[".repeat(9_000), "]".repeat(9_000)].concat();
        assert_eq!(key(&deep), IdKey::Other(deep.as_bytes().into()));
    }
}
