//! A reading of one JSON value as a JSON-RPC message (session-model.md 3.2). Never fails.

use super::json;

/// What a JSON value is, as JSON-RPC counts it; the HTTP rows of session-model.md 3.1 are the
/// session model's business.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageKind {
    /// `method` is a string and a member `id` exists, `null` included.
    Request,
    /// `method` is a string and there is no `id`.
    Notification,
    /// No `method`, and `result`, a non-null `error` or only an `id`.
    Response,
    /// `method` is present and not a string.
    MethodNotText,
    /// An object without any of `jsonrpc`, `method`, `result`, `error`, or no object at all.
    NotRpc,
    /// Anything else.
    Other,
}

/// The top-level members of a message, as exact slices of its bytes; the last one of a name counts.
#[derive(Clone, Copy, Debug)]
pub struct Message<'a> {
    /// What it is.
    pub kind: MessageKind,
    /// The value of `jsonrpc`.
    pub jsonrpc: Option<&'a [u8]>,
    /// The value of `id`.
    pub id: Option<&'a [u8]>,
    /// The value of `method`.
    pub method: Option<&'a [u8]>,
    /// The value of `params`.
    pub params: Option<&'a [u8]>,
    /// The value of `result`.
    pub result: Option<&'a [u8]>,
    /// The value of `error`, `null` included.
    pub error: Option<&'a [u8]>,
}

impl<'a> Message<'a> {
    /// Reads the top level of a JSON value.
    pub fn read(value: &'a [u8]) -> Self {
        let mut message = Message {
            kind: MessageKind::NotRpc,
            jsonrpc: None,
            id: None,
            method: None,
            params: None,
            result: None,
            error: None,
        };
        for (key, inner) in json::members(value) {
            if let Some(slot) = message.slot(key) {
                *slot = Some(inner);
            }
        }
        message.kind = message.kind_of();
        message
    }

    fn slot(&mut self, key: &[u8]) -> Option<&mut Option<&'a [u8]>> {
        if key.contains(&b'\\') {
            let plain = super::text::unescaped(key).into_owned();
            // Unescaped once, so a backslash that is left stands for itself.
            return if plain.contains('\\') {
                None
            } else {
                self.slot(plain.as_bytes())
            };
        }
        match key {
            b"jsonrpc" => Some(&mut self.jsonrpc),
            b"id" => Some(&mut self.id),
            b"method" => Some(&mut self.method),
            b"params" => Some(&mut self.params),
            b"result" => Some(&mut self.result),
            b"error" => Some(&mut self.error),
            _ => None,
        }
    }

    /// Rows 8 and 10 to 14 of session-model.md 3.1; `"error":null` counts as absent.
    fn kind_of(&self) -> MessageKind {
        let error = self.error.filter(|error| *error != b"null");
        match self.method {
            Some([b'"', ..]) if self.id.is_some() => MessageKind::Request,
            Some([b'"', ..]) => MessageKind::Notification,
            Some(_) => MessageKind::MethodNotText,
            None if self.jsonrpc.is_none() && self.result.is_none() && error.is_none() => {
                MessageKind::NotRpc
            }
            None if self.result.is_some() || error.is_some() || self.id.is_some() => {
                MessageKind::Response
            }
            None => MessageKind::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{MessageKind::*, *};

    #[test]
    fn kinds_follow_the_table() {
        let cases = [
            (r#"{"hello":1}"#, NotRpc),
            (r#"{"id":1}"#, NotRpc),
            (r#"{"id":1,"error":null}"#, NotRpc),
            ("[]", NotRpc),
            ("null", NotRpc),
            ("7", NotRpc),
            (r#"{"jsonrpc":"2.0","id":100}"#, Response),
            (r#"{"id":1,"method":"tools/list"}"#, Request),
            (r#"{"jsonrpc":"2.0","id":null,"method":"x"}"#, Request),
            (r#"{"jsonrpc":"2.0","ID":1,"method":"x"}"#, Notification),
            (r#"{"\u006dethod":"x"}"#, Notification),
            (r#"{"jsonrpc":"2.0","id":1,"result":null}"#, Response),
            (r#"{"jsonrpc":"2.0","id":1,"error":"boom"}"#, Response),
            (r#"{"error":{"code":1}}"#, Response),
            (r#"{"jsonrpc":"2.0","id":1,"method":5}"#, MethodNotText),
            (r#"{"method":null}"#, MethodNotText),
            (r#"{"method":"x","id":1,"result":{}}"#, Request),
            (r#"{"jsonrpc":"2.0"}"#, Other),
            (r#"{"jsonrpc":"2.0","error":null}"#, Other),
        ];
        for (text, kind) in cases {
            assert_eq!(Message::read(text.as_bytes()).kind, kind, "{text}");
        }
    }

    #[test]
    fn the_last_member_of_a_name_counts() {
        let message =
            Message::read(br#"{"id":1,"method":"a","params":{"x":[1, 2]},"id":"b","i\\d":3}"#);
        assert_eq!(message.id, Some(&b"\"b\""[..]));
        assert_eq!(message.params, Some(&b"{\"x\":[1, 2]}"[..]));
        assert_eq!(message.jsonrpc, None);
    }
}
