//! What a single message says of itself that no message may say: version, members, error object, id
//! (session-model.md 3.1, 3.2, 4.2). Nothing is judged of a frame that was cut, and no value that
//! redaction took away.

use super::{
    classify::{Classified, Parts},
    key::Key,
    machine::{At, Machine},
    reading::{self, is_redacted},
    remark::Code,
    row::Kind,
    wording::shown,
};
use crate::{
    record::Direction,
    wire::{IdKey, json},
};

impl Machine {
    /// Remarks on a frame by its own members.
    pub(super) fn judge_shape(&mut self, at: &At, frame: &Classified<'_>) {
        if frame.method_type {
            let text = format!(
                "{}: sent a message whose method is not a string",
                at.side.word()
            );
            self.remark(at.row, Code::MethodType, text);
        }
        let is_message = matches!(
            frame.kind,
            Kind::Request | Kind::Notification | Kind::Response
        );
        if at.truncated || !is_message {
            return;
        }
        let parts = &frame.parts;
        if parts.jsonrpc != Some(br#""2.0""#) {
            self.judge_version(at, parts);
        }
        let error = parts.error.filter(|_| !frame.unparsed);
        match frame.kind {
            Kind::Response if parts.error.is_some() || parts.result.is_none() => {
                self.judge_answer(at, parts, error);
            }
            Kind::Response => {}
            _ if parts.result.is_some() || parts.error.is_some() => {
                let hidden = |value: Option<&[u8]>| {
                    value.is_none_or(|value| is_redacted(value, at.redacted))
                };
                if !(hidden(parts.result) && hidden(parts.error)) {
                    let text = format!(
                        "{}: sent a message that is a request and an answer at once",
                        at.side.word()
                    );
                    self.remark(at.row, Code::MethodAndResult, text);
                }
            }
            _ => {}
        }
    }

    fn judge_version(&mut self, at: &At, parts: &Parts<'_>) {
        let who = at.side.word();
        let Some(version) = parts.jsonrpc else {
            let error = parts.error.unwrap_or_default();
            if !is_redacted(error, at.redacted) {
                let text = format!("{who}: sent a message without the member jsonrpc");
                self.remark(at.row, Code::JsonrpcMissing, text);
            }
            return;
        };
        if json::string(version).as_deref() == Some("2.0") || is_redacted(version, at.redacted) {
            return;
        }
        let text = format!(
            "{who}: sent a message with jsonrpc {} instead of \"2.0\"",
            shown(version)
        );
        self.remark(at.row, Code::JsonrpcVersion, text);
    }

    fn judge_answer(&mut self, at: &At, parts: &Parts<'_>, error: Option<&[u8]>) {
        let who = at.side.word();
        if parts.error.is_none() {
            let text = format!("{who}: sent a response without result and without error");
            self.remark(at.row, Code::ResponseEmpty, text);
            return;
        }
        let Some(error) = error else { return };
        let hidden = is_redacted(error, at.redacted);
        if parts.result.is_some() && !(hidden && error.first() != Some(&b'{')) {
            let text = format!("{who}: sent a response with a result and an error");
            self.remark(at.row, Code::ResponseBoth, text);
        }
        if parts.jsonrpc.is_none() {
            return;
        }
        if let Some(fault) = error_fault(error, at.redacted) {
            let text = format!("{who}: sent an error {fault}");
            self.remark(at.row, Code::ErrorShape, text);
        }
    }

    /// Remarks on the id of a request; `key` is how it is compared.
    pub(super) fn judge_id(&mut self, at: &At, id: Option<&[u8]>, key: Option<&Key>) {
        let Some(id) = id.filter(|_| !at.truncated) else {
            return;
        };
        let plain = match key {
            Some(Key::Small(_)) => true,
            Some(Key::Wide(wide)) => matches!(**wide, IdKey::Text(_)),
            _ => id.first() == Some(&b'"'),
        };
        if plain || is_redacted(id, at.redacted) {
            return;
        }
        let who = at.side.word();
        match id.first() {
            Some(b'n') => {
                let text = format!("{who}: sent a request with the id null");
                self.remark(at.row, Code::IdNull, text);
            }
            Some(b'-' | b'0'..=b'9') if !reading::is_integer(id) => {
                let text = format!(
                    "{who}: sent a request with the id {}, which is no integer",
                    shown(id)
                );
                self.remark(at.row, Code::IdNotInteger, text);
            }
            Some(b'-' | b'0'..=b'9') | None => {}
            Some(_) => {
                let text = format!(
                    "{who}: sent a request whose id is {}, neither a string nor an integer",
                    type_of(id)
                );
                self.remark(at.row, Code::IdType, text);
            }
        }
    }

    /// Remarks on a direction that no log format knows.
    pub(super) fn judge_direction(&mut self, at: &At, direction: &Direction) {
        if let Direction::Unknown(word) = direction {
            let text = format!(
                "recorder: wrote the direction {}, which is none of c2s, s2c, stderr, meta",
                shown(word.as_bytes())
            );
            self.remark(at.row, Code::UnknownDirection, text);
        }
    }
}

/// What is wrong with an error object.
fn error_fault(error: &[u8], redacted: bool) -> Option<String> {
    let hidden = |value: &[u8]| is_redacted(value, redacted);
    if error.first() != Some(&b'{') {
        return (!hidden(error)).then(|| format!("that is {}, not an object", type_of(error)));
    }
    let (code, message) = (json::member(error, "code"), json::member(error, "message"));
    let fault = match (code, message) {
        (Some(code), _) if !reading::is_integer(code) && !hidden(code) => {
            format!("whose code is {}, not an integer", type_of(code))
        }
        (None, _) if !hidden(error) => "without a code".to_owned(),
        (_, Some(message)) if message.first() != Some(&b'"') => {
            format!("whose message is {}, not a string", type_of(message))
        }
        (_, None) if !hidden(error) => "without a message".to_owned(),
        _ => return None,
    };
    Some(fault)
}

/// The type of a JSON value, in words.
fn type_of(value: &[u8]) -> &'static str {
    match value.first() {
        Some(b'{') => "an object",
        Some(b'[') => "an array",
        Some(b'"') => "a string",
        Some(b't' | b'f') => "a boolean",
        Some(b'n') => "null",
        _ => "a number",
    }
}
