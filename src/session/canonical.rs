//! A hash of a JSON value by its meaning: the order of members, blanks and escapes do not count,
//! numbers count as they are spelled (session-model.md 11.2, 18). One pass, no recursion.

use std::hash::{BuildHasher as _, Hasher as _};

use foldhash::quality::FixedState;
use smallvec::SmallVec;

use crate::wire::json;

/// Containers that are open at once without an allocation.
const USUAL_DEPTH: usize = 8;

/// A container that has not ended.
struct Open {
    is_object: bool,
    /// Hash of what it holds so far.
    sum: u64,
    /// Hash of the name whose value comes next, in an object.
    name: Option<u64>,
}

/// The hash of a member, name unescaped; those of an object are added up, in any order.
pub(super) fn member(name: &[u8], value: &[u8]) -> u64 {
    mix(self::name(name), hash(value))
}

/// The hash of a name, unescaped.
pub(super) fn name(name: &[u8]) -> u64 {
    word(b'"', name)
}

/// The hash of a value that was found to be JSON before.
fn hash(value: &[u8]) -> u64 {
    let mut open: SmallVec<[Open; USUAL_DEPTH]> = SmallVec::new();
    let mut rest = value;
    while let Some((first, tail)) = rest.split_first() {
        let done = match first {
            b',' | b':' | b' ' | b'\t' | b'\r' | b'\n' => None,
            b'{' | b'[' => {
                open.push(Open {
                    is_object: *first == b'{',
                    sum: 0,
                    name: None,
                });
                None
            }
            b'}' | b']' => open.pop().map(|closed| closed.hash()),
            _ => {
                let (token, behind) = split_scalar(rest);
                rest = behind;
                Some(scalar(token))
            }
        };
        if let Some(done) = done {
            let Some(parent) = open.last_mut() else {
                return done;
            };
            parent.take(done);
            if !matches!(first, b'}' | b']') {
                continue;
            }
        }
        rest = tail;
    }
    0
}

/// The scalar at the beginning of valid JSON, and what follows it.
fn split_scalar(rest: &[u8]) -> (&[u8], &[u8]) {
    let end = if rest.first() == Some(&b'"') {
        json::known_string_end(rest, 0)
    } else {
        let ends = |byte: &u8| matches!(byte, b',' | b'}' | b']') || json::is_blank(*byte);
        rest.iter().position(ends).unwrap_or(rest.len())
    };
    rest.split_at_checked(end).unwrap_or((rest, &[]))
}

impl Open {
    fn take(&mut self, part: u64) {
        if !self.is_object {
            self.sum = mix(self.sum, part);
            return;
        }
        match self.name.take() {
            None => self.name = Some(part),
            Some(name) => self.sum = self.sum.wrapping_add(mix(name, part)),
        }
    }

    fn hash(&self) -> u64 {
        mix(
            u64::from(if self.is_object { b'{' } else { b'[' }),
            self.sum,
        )
    }
}

fn scalar(token: &[u8]) -> u64 {
    let Some(inner) = token
        .strip_prefix(b"\"")
        .and_then(|rest| rest.strip_suffix(b"\""))
    else {
        return word(b'0', token);
    };
    word(b'"', &json::unescaped_bytes(inner))
}

// Without a seed of the run: these hashes decide links, which must be the same in every run.

fn word(kind: u8, bytes: &[u8]) -> u64 {
    let mut hasher = FixedState::default().build_hasher();
    hasher.write(bytes);
    mix(kind.into(), hasher.finish())
}

/// One number out of two whose order counts (the finalizer of SplitMix64).
pub(super) const fn mix(one: u64, other: u64) -> u64 {
    let mut sum = one.rotate_left(26).wrapping_add(other) ^ 0x9e37_79b9_7f4a_7c15;
    sum = (sum ^ (sum >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    sum = (sum ^ (sum >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    sum ^ (sum >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spelling_does_not_count() {
        let equal = [
            (
                r#"{"a":1,"b":[true,null]}"#,
                " {\"b\" : [ true,null ]\t,\"a\":1} ",
            ),
            (r#"{"a":{"x":1,"y":2}}"#, r#"{"a":{"y":2,"x":1}}"#),
            (r#"[{"a":1,"b":2},"c"]"#, r#"[{"b":2,"a":1},"\u0063"]"#),
            (r#"{"\u0061":"/"}"#, r#"{"a":"\/"}"#),
            (r#"{"a":"x\\","b":"\""}"#, r#"{"b":"\"","a":"x\u005c"}"#),
            ("{}", "{ }"),
            (r#""\"""#, r#""\u0022""#),
            (
                r#""\b\f\n\r\t\\ \/ü""#,
                r#""\u0008\u000C\u000a\u000d\u0009\u005c /\u00fc""#,
            ),
            (r#""a\u0041\\u0041\\\u0042\/""#, r#""aA\\u0041\\B/""#),
            (r#""\ud83d\ude00 \u001f""#, r#""😀 \u001F""#),
        ];
        for (one, other) in equal {
            assert_eq!(
                hash(one.as_bytes()),
                hash(other.as_bytes()),
                "{one} {other}"
            );
        }
    }

    #[test]
    fn a_string_that_ends_in_an_escape_has_a_hash_too() {
        for text in [r#""a\u00""#, r#""\u0041\u""#, r#""\""#, r#""\/\u1""#] {
            assert_ne!(hash(text.as_bytes()), hash(b"\"a\""), "{text}");
        }
    }

    #[test]
    fn meaning_counts() {
        let values = [
            "1",
            "1.0",
            "\"1\"",
            "[1]",
            "[\"1\"]",
            "[[1]]",
            "[1,2]",
            "[2,1]",
            "[]",
            "{}",
            "[{}]",
            "{\"\":{}}",
            "null",
            "\"null\"",
            "\"\"",
            "{\"a\":1}",
            "{\"1\":\"a\"}",
            "{\"a\":1,\"b\":2}",
            "{\"a\":2,\"b\":1}",
            "{\"a\":{\"b\":1}}",
            "{\"a\":[\"b\",1]}",
            "[\"a\",1]",
            "[null]",
            "true",
            "false",
            "[true,[false]]",
            "[[true],false]",
        ];
        for (at, one) in values.iter().enumerate() {
            for other in &values[at + 1..] {
                assert_ne!(
                    hash(one.as_bytes()),
                    hash(other.as_bytes()),
                    "{one} {other}"
                );
            }
        }
    }

    #[test]
    fn the_deepest_value_neither_recurses_nor_takes_long() {
        let deep = ["[".repeat(9_999), "]".repeat(9_999)].concat();
        let deeper = ["[".repeat(9_998), "]".repeat(9_998)].concat();
        assert_ne!(hash(deep.as_bytes()), hash(deeper.as_bytes()));
    }
}
