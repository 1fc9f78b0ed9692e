//! What a peer asks a user or a client for: `inputRequests`, and the parameters of
//! `elicitation/create` (session-model.md 11.5, 12). The shape of a question, never an answer.

use std::{borrow::Cow, collections::BTreeMap};

use super::{
    atoms::{bounded, clip},
    elicitation::{ElicitationField, ElicitationMode},
    host,
    reading::{each, is_redacted, member_text},
};
use crate::wire::json;

/// The method that asks a user.
pub(super) const ELICIT: &str = "elicitation/create";
/// Methods of one answer that are named.
const MAX_METHODS: usize = 16;
/// Fields of one question, after sorting (session-model.md 12.3).
const MAX_FIELDS: usize = 256;
/// Bytes of a message and of a URL that are kept.
const MAX_MESSAGE: usize = 1_024;
const MAX_URL: usize = 2_048;
/// Bytes of the type of a field.
const MAX_TYPE: usize = 64;
/// What stands behind a text that was cut.
const CUT: &str = "… (truncated)";

/// What `inputRequests` asks for.
#[derive(Debug, Default)]
pub(super) struct InputRequests<'a> {
    /// Methods, sorted, each once.
    pub(super) methods: Vec<Cow<'a, str>>,
    /// Something that is not known, or more methods than are named.
    pub(super) unknown: bool,
    /// Parameters of the questions to the user, by key.
    pub(super) questions: BTreeMap<Cow<'a, str>, Option<&'a [u8]>>,
    redacted: bool,
}

impl<'a> InputRequests<'a> {
    /// Reads `inputRequests`; `redacted` and `cut` are marks of the frame.
    pub(super) fn read(requests: Option<&'a [u8]>, redacted: bool, cut: bool) -> Self {
        let mut asked = Self {
            redacted,
            unknown: cut,
            ..Self::default()
        };
        let Some(requests) = requests.filter(|value| *value != b"null") else {
            return asked;
        };
        if requests.first() != Some(&b'{') {
            asked.unknown = true;
            return asked;
        }
        let mut entries: BTreeMap<Cow<'a, str>, &'a [u8]> = BTreeMap::new();
        each(requests, |key, value| {
            let key = String::from_utf8_lossy(key).into_owned();
            entries.insert(bounded(Cow::Owned(key)), value);
        });
        for (key, value) in entries {
            asked.take(key, value);
        }
        asked.methods.sort_unstable();
        asked
    }

    fn take(&mut self, key: Cow<'a, str>, value: &'a [u8]) {
        let Some(method) = member_text(value, "method", self.redacted) else {
            self.unknown = true;
            return;
        };
        if method == ELICIT && !is_redacted(key.as_bytes(), self.redacted) {
            self.questions.insert(key, json::member(value, "params"));
        }
        if self.methods.contains(&method) {
            return;
        }
        if self.methods.len() < MAX_METHODS {
            self.methods.push(method);
        } else {
            self.unknown = true;
        }
    }
}

/// One question as it is kept.
#[derive(Debug, Default)]
pub(super) struct Question {
    pub(super) mode: ElicitationMode,
    pub(super) message: Option<Box<str>>,
    pub(super) fields: Box<[ElicitationField]>,
    pub(super) url: Option<Box<str>>,
    pub(super) host: Option<Box<str>>,
}

impl Question {
    /// Reads the parameters of `elicitation/create`, each member on its own.
    pub(super) fn read(params: Option<&[u8]>, redacted: bool) -> Self {
        let Some(params) = params else {
            return Self::default();
        };
        let text = |name: &str| member_text(params, name, redacted);
        let is_url = text("mode").is_some_and(|mode| mode == "url");
        let url = text("url");
        let schema = json::member(params, "requestedSchema").filter(|_| !is_url);
        Self {
            mode: if is_url {
                ElicitationMode::Url
            } else {
                ElicitationMode::Form
            },
            message: text("message").map(|text| limited(&text, MAX_MESSAGE)),
            fields: schema
                .map(|schema| fields(schema, redacted))
                .unwrap_or_default(),
            host: url.as_deref().and_then(host::of).map(Into::into),
            url: url.map(|url| limited(&url, MAX_URL)),
        }
    }
}

/// Names and types of the properties of a schema, by name.
fn fields(schema: &[u8], redacted: bool) -> Box<[ElicitationField]> {
    let Some(properties) = json::member(schema, "properties") else {
        return Box::default();
    };
    let mut found: BTreeMap<Cow<'_, [u8]>, &[u8]> = BTreeMap::new();
    each(properties, |name, value| {
        let is_among = found
            .last_key_value()
            .is_none_or(|(last, _)| found.len() < MAX_FIELDS || name <= &**last);
        if is_among {
            found.insert(Cow::Owned(name.to_vec()), value);
        }
        // Whatever is pushed out by smaller names can never come back.
        if found.len() > MAX_FIELDS {
            found.pop_last();
        }
    });
    let field = |(name, value): (Cow<'_, [u8]>, &[u8])| {
        let kind = member_text(value, "type", redacted);
        ElicitationField {
            name: bounded(String::from_utf8_lossy(&name)).into(),
            kind: clip(kind.as_deref().unwrap_or_default(), MAX_TYPE).into(),
        }
    };
    found.into_iter().map(field).collect()
}

/// A text cut between characters, and marked when it was.
fn limited(text: &str, limit: usize) -> Box<str> {
    if text.len() <= limit {
        return text.into();
    }
    format!("{}{CUT}", clip(text, limit)).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_between_characters_and_marked() {
        let long = "é".repeat(1 << 20);
        let params =
            format!(r#"{{"mode":"url","message":"a{long}","url":"https://h.example/a{long}"}}"#);
        let question = Question::read(Some(params.as_bytes()), false);
        let message = question.message.unwrap();
        assert_eq!(&*message, format!("a{}{CUT}", "é".repeat(511)));
        let url = question.url.unwrap();
        assert!(url.len() <= MAX_URL + CUT.len() && url.ends_with(CUT));
        assert_eq!(question.host.as_deref(), Some("h.example"));
        let whole = "x".repeat(MAX_MESSAGE);
        assert_eq!(&*limited(&whole, MAX_MESSAGE), whole);
    }

    #[test]
    fn fields_are_those_that_come_first_by_name() {
        let all: Vec<_> = (0..1_000)
            .rev()
            .map(|at| format!(r#""f{at:04}":{{"type":"string"}}"#))
            .collect();
        let schema = format!(
            r#"{{"properties":{{{},"f0000":{{"type":7}}}}}}"#,
            all.join(",")
        );
        let fields = fields(schema.as_bytes(), false);
        assert_eq!(fields.len(), MAX_FIELDS);
        assert_eq!((&*fields[0].name, &*fields[0].kind), ("f0000", ""));
        assert_eq!(&*fields[255].name, "f0255");
    }

    #[test]
    fn what_is_asked_is_named_once_and_never_guessed() {
        let cases = [
            (
                r#"{"b":{"method":"roots/list"},"a":{"method":"x"},"c":{"method":"x"}}"#,
                "roots/list x",
                false,
            ),
            (r#"{"a":{"method":"[REDACTED]"}}"#, "", true),
            (r#"{"a":{"method":7},"b":{"method":"x"}}"#, "x", true),
            (r#"{"a":"[REDACTED]"}"#, "", true),
            ("\"[REDACTED]\"", "", true),
            ("null", "", false),
            ("{}", "", false),
        ];
        for (text, methods, unknown) in cases {
            let asked = InputRequests::read(Some(text.as_bytes()), true, false);
            assert_eq!(asked.methods.join(" "), methods, "{text}");
            assert_eq!(asked.unknown, unknown, "{text}");
        }
        let many: Vec<_> = (0..100_000)
            .map(|at| format!(r#""k{at}":{{"method":"m{at}"}}"#))
            .collect();
        let many = format!("{{{}}}", many.join(","));
        let asked = InputRequests::read(Some(many.as_bytes()), false, false);
        assert_eq!((asked.methods.len(), asked.unknown), (MAX_METHODS, true));
        assert!(InputRequests::read(Some(b"{}"), false, true).unknown);
    }
}
