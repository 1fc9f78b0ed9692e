//! What can be told of a message of which only a prefix is there (log-format 4.3.5,
//! session-model.md 3.4).

use std::borrow::Cow;

use super::json::{self, Fields};

/// Which of the two answers a cut response began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// `result`.
    Result,
    /// `error`, not `null`.
    Error,
}

impl Answer {
    /// Its member name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Result => "result",
            Self::Error => "error",
        }
    }
}

/// The complete top-level members of a cut message, and what began.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prefix<'a> {
    /// The value of `id`, exact bytes.
    pub id: Option<&'a [u8]>,
    /// The value of `method`, if it is a string.
    pub method: Option<Cow<'a, str>>,
    /// Which answer was seen, complete or not; an error counts before a result.
    pub has: Option<Answer>,
    /// The value of `params`; cut when it is the last thing that is there.
    pub params: Option<&'a [u8]>,
}

/// Reads what a prefix of an object tells. An array, or what is no JSON, tells nothing.
pub fn peek_prefix(bytes: &[u8]) -> Prefix<'_> {
    let mut prefix = Prefix::default();
    for (key, value, complete) in prefix_members(bytes) {
        if json::key_is(key, "id") && complete {
            prefix.id = Some(value);
        } else if json::key_is(key, "method") && complete {
            prefix.method = json::string(value);
        } else if json::key_is(key, "params") {
            prefix.params = Some(value);
        } else if json::key_is(key, "result") && prefix.has.is_none() {
            prefix.has = Some(Answer::Result);
        } else if json::key_is(key, "error") && !b"null".starts_with(value) {
            prefix.has = Some(Answer::Error);
        }
    }
    prefix
}

/// The members of a prefix of an object: key, value, and whether the value is complete; an
/// incomplete one reaches to the end and is the last.
pub fn prefix_members(bytes: &[u8]) -> impl Iterator<Item = (&[u8], &[u8], bool)> {
    let mut fields = Some(Fields::new(bytes, 0));
    std::iter::from_fn(move || {
        let walk = fields.as_mut()?;
        let key = bytes.get(walk.next_key().ok()??)?;
        let start = walk.at();
        match walk.value(json::MAX_DEPTH) {
            // A number at the very end may go on behind the cut.
            Ok(range) if range.end < bytes.len() || !is_number(bytes, &range) => {
                Some((key, bytes.get(range)?, true))
            }
            _ => {
                fields = None;
                Some((key, bytes.get(start..)?, false))
            }
        }
    })
}

fn is_number(bytes: &[u8], range: &std::ops::Range<usize>) -> bool {
    matches!(bytes.get(range.start), Some(b'-' | b'0'..=b'9'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, id: Option<&str>, method: Option<&str>, has: Option<Answer>) {
        let prefix = peek_prefix(text.as_bytes());
        assert_eq!(prefix.id, id.map(str::as_bytes), "{text}");
        assert_eq!(prefix.method.as_deref(), method, "{text}");
        assert_eq!(prefix.has, has, "{text}");
    }

    #[test]
    fn complete_members_are_told_and_cut_ones_are_not() {
        let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"big","x":"A"#;
        check(call, Some("1"), Some("tools/call"), None);
        let params = peek_prefix(call.as_bytes()).params.unwrap();
        let members: Vec<_> = prefix_members(params).collect();
        assert_eq!(members[0], (&b"name"[..], &b"\"big\""[..], true));
        assert!(!members[1].2);
        check(r#"{"params":{"x":"AAA "#, None, None, None);
        check(
            r#"{"id":"a","result":{"content":[ "#,
            Some("\"a\""),
            None,
            Some(Answer::Result),
        );
        check(
            r#"{"result":{"content":["#,
            None,
            None,
            Some(Answer::Result),
        );
        check(
            r#"{"error":{"code":1},"id":12"#,
            None,
            None,
            Some(Answer::Error),
        );
        check(r#"{"error":nu"#, None, None, None);
        check(r#"{"id":7,"error":null,"x"#, Some("7"), None, None);
        check(r#"{"id":8,"meth"#, Some("8"), None, None);
        check(r#"{"id":8,"method":"pi"#, Some("8"), None, None);
        check(r#"{"id":null"#, Some("null"), None, None);
        check(r#"[{"id":1}"#, None, None, None);
        check("", None, None, None);
        check("Listening", None, None, None);
    }
}
