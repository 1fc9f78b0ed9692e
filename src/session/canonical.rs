//! A hash of a JSON value by its meaning: the order of members, blanks and escapes do not count,
//! numbers count as they are spelled (session-model.md 11.2, 18). One pass, no recursion.

use std::hash::{BuildHasher as _, Hasher as _};

use crate::wire::json;

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
    mix(b':', self::name(name), hash(value))
}

/// The hash of a name, unescaped.
pub(super) fn name(name: &[u8]) -> u64 {
    word(b'"', name)
}

/// The hash of a value that was found to be JSON before.
fn hash(value: &[u8]) -> u64 {
    let mut open: Vec<Open> = Vec::new();
    let mut at = json::skip_blanks(value, 0);
    loop {
        let (end, done) = match value.get(at) {
            Some(bracket @ (b'{' | b'[')) => {
                let is_object = *bracket == b'{';
                open.push(Open {
                    is_object,
                    sum: 0,
                    name: None,
                });
                (at + 1, None)
            }
            Some(b'}' | b']') => (at + 1, open.pop().map(|closed| closed.hash())),
            Some(b',' | b':') => (at + 1, None),
            Some(_) => {
                let Ok(end) = json::value_end(value, at, 0) else {
                    return 0;
                };
                (end, value.get(at..end).map(scalar))
            }
            None => return 0,
        };
        if let Some(done) = done {
            let Some(parent) = open.last_mut() else {
                return done;
            };
            parent.take(done);
        }
        at = json::skip_blanks(value, end);
    }
}

impl Open {
    fn take(&mut self, part: u64) {
        if !self.is_object {
            self.sum = mix(b',', self.sum, part);
            return;
        }
        match self.name.take() {
            None => self.name = Some(part),
            Some(name) => self.sum = self.sum.wrapping_add(mix(b':', name, part)),
        }
    }

    fn hash(&self) -> u64 {
        mix(if self.is_object { b'{' } else { b'[' }, self.sum, 0)
    }
}

fn scalar(token: &[u8]) -> u64 {
    let Some(inner) = token
        .strip_prefix(b"\"")
        .and_then(|rest| rest.strip_suffix(b"\""))
    else {
        return word(b'0', token);
    };
    match json::string(token).filter(|_| memchr::memchr(b'\\', inner).is_some()) {
        Some(text) => word(b'"', text.as_bytes()),
        None => word(b'"', inner),
    }
}

// Without a seed: these hashes decide links, which must be the same in every run.

fn word(kind: u8, bytes: &[u8]) -> u64 {
    let mut hasher = foldhash::quality::FixedState::default().build_hasher();
    hasher.write_u8(kind);
    hasher.write(bytes);
    hasher.finish()
}

fn mix(kind: u8, one: u64, other: u64) -> u64 {
    let mut hasher = foldhash::quality::FixedState::default().build_hasher();
    hasher.write_u8(kind);
    hasher.write_u64(one);
    hasher.write_u64(other);
    hasher.finish()
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
            ("{}", "{ }"),
            (r#""\"""#, r#""\u0022""#),
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
