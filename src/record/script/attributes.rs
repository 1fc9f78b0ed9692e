//! The attributes behind a frame: `[c=a x=7 st=401 ch="…" v=2026-07-28 red trunc]`.

use crate::record::envelope::{HttpFields, Peek};

/// What the attributes of one frame say.
#[derive(Clone, Debug, Default)]
pub(super) struct Attributes {
    pub(super) http: HttpFields,
    pub(super) redacted: bool,
    pub(super) wire_bytes: Option<u64>,
    pub(super) peek: Option<Peek>,
    truncated: bool,
    names_exchange: bool,
}

impl Attributes {
    /// Takes a group of attributes, or a single one without brackets, off the end of `body` and
    /// answers what is left; `None` when there is none.
    pub(super) fn take_last<'a>(&mut self, body: &'a str) -> Option<&'a str> {
        let group = body
            .strip_suffix(']')
            .and_then(|inside| split_group(inside))
            .or_else(|| {
                ["ch=\"", "unobserved"].iter().find_map(|mark| {
                    let at = body.rfind(&format!(" {mark}"))?;
                    let (head, last) = body.split_at_checked(at)?;
                    Some((head, last.trim_start()))
                })
            });
        let (head, inside) = group?;
        let words = words(inside);
        if words.is_empty() {
            return None;
        }
        let mut next = self.clone();
        for word in words {
            next.set(&word)?;
        }
        *self = next;
        Some(head)
    }

    /// True when `c=` or `x=` appears.
    pub(super) fn is_http(&self) -> bool {
        self.http.conn_id.is_some() || self.names_exchange
    }

    pub(super) fn is_truncated(&self) -> bool {
        self.truncated
    }

    pub(super) fn version(&self) -> Option<&str> {
        self.http.mcp_protocol_version.as_deref()
    }

    fn set(&mut self, word: &str) -> Option<()> {
        let (key, value) = word.split_once('=').unwrap_or((word, ""));
        let value = value
            .strip_prefix('"')
            .and_then(|value| value.strip_suffix('"'))
            .unwrap_or(value);
        let text = || Some(value.into());
        match key {
            "c" => self.http.conn_id = Some(value.into()),
            "x" => {
                self.http.exchange = value.parse().ok()?;
                self.names_exchange = true;
            }
            "st" => self.http.status = value.parse().ok()?,
            "ch" => self.http.auth_challenge = text(),
            "v" => self.http.mcp_protocol_version = text(),
            "peer" => self.http.peer = text(),
            "event" => self.http.event = text(),
            "m" => self.http.http_method = text(),
            "mm" => self.http.mcp_method = text(),
            "mn" => self.http.mcp_name = text(),
            "perr" => self.http.proxy_error = text(),
            "unobserved" if value.is_empty() => self.http.unobserved = Some("too large".into()),
            "unobserved" => self.http.unobserved = text(),
            "wire" => self.wire_bytes = Some(value.parse().ok()?),
            "peek" => self.peek = Some(super::peek(value)?),
            "undelivered" if value.is_empty() => self.http.undelivered = true,
            "red" if value.is_empty() => self.redacted = true,
            "trunc" if value.is_empty() => self.truncated = true,
            _ => return None,
        }
        Some(())
    }
}

/// The last bracket that a blank comes before, and what is inside it.
fn split_group(inside: &str) -> Option<(&str, &str)> {
    inside.rsplit_once(" [")
}

/// Words that blanks separate, outside quotes and braces.
fn words(text: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let (mut depth, mut quoted) = (0_i32, false);
    for symbol in text.chars() {
        match symbol {
            '"' => quoted = !quoted,
            '{' if !quoted => depth += 1,
            '}' if !quoted => depth -= 1,
            _ => {}
        }
        match words.last_mut() {
            Some(last) if symbol != ' ' || quoted || depth > 0 => last.push(symbol),
            _ => words.push(String::new()),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}
