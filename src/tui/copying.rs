//! What is copied where (tui.md 13.1).

use super::{
    app::{App, Screen},
    event::Effect,
    keys::Place,
    screens::{first_run, inspector, inspector_view},
};
use crate::{
    feed::Severity,
    record::SessionKey,
    session::Body,
    wire::{Message, json},
};

impl App {
    pub(super) fn copy(&mut self) {
        match self.place() {
            Place::Sessions if first_run::is_due(self) => {
                self.push_copy(first_run::configuration(self), "configuration line");
            }
            Place::Sessions => {
                let key = self.sessions.session().cloned();
                match key.and_then(|key| self.log_path(&key)) {
                    Some(path) => self.push_copy(path, "path"),
                    None => self.say(Severity::Warning, "no log is known for this session"),
                }
            }
            Place::Stream | Place::Inspector => self.copy_frame(),
            Place::Hosts | Place::Help | Place::Messages => {
                let text = super::chrome::plain_text(self);
                self.push_copy(text, "panel");
            }
        }
    }

    /// Path of a session's log, with its host when that is another one.
    pub(super) fn log_path(&self, key: &SessionKey) -> Option<String> {
        let log = self.outside.news(key)?.log.as_ref()?;
        let path = log.to_string_lossy();
        let target = self
            .outside
            .host(&key.host)
            .map(|host| host.state.target.clone())
            .unwrap_or_default();
        Some(if target.is_empty() {
            path.into_owned()
        } else {
            format!("{target}:{path}")
        })
    }

    /// Text and kind of the frame that is selected or shown.
    pub(super) fn frame_bytes(&self) -> Option<(bytes::Bytes, bool)> {
        if let Some(Screen::Inspector(state)) = self.stack.last() {
            return (state.load == inspector::Load::Ready)
                .then(|| (state.source.clone(), state.json));
        }
        let key = self.stream_key()?;
        let session = self.session(key)?;
        let row = session.row(session.position(self.streams.get(key)?.selected?)?)?;
        match row.body {
            Body::Held { bytes, json } => Some((bytes, json)),
            Body::Nothing | Body::Released => None,
        }
    }

    pub(super) fn copy_frame(&mut self) {
        match self.frame_bytes() {
            Some((bytes, json)) => self.push_copy(inspector_view::copy_text(&bytes, json), "frame"),
            None => self.say(
                Severity::Warning,
                "this body is not in memory; open the frame, then copy",
            ),
        }
    }

    pub(super) fn copy_value(&mut self) {
        let Some(Screen::Inspector(state)) = self.stack.last() else {
            return;
        };
        match state.value().map(value_text) {
            Some(text) => self.push_copy(text, "value"),
            None => self.say(Severity::Info, "no value on this line"),
        }
    }

    pub(super) fn push_copy(&mut self, text: String, what: &'static str) {
        self.effects.push(Effect::Copy { text, what });
    }

    /// `:copy [frame|raw|value|path|args|log|panel] [FILE]` (A1).
    pub(super) fn copy_command(&mut self, words: &[String]) -> bool {
        let kind = words.first().and_then(|word| {
            let known = KINDS.iter().find(|(name, _)| name == word);
            known.copied()
        });
        let file = words.get(usize::from(kind.is_some()));
        let (name, what) = kind.unwrap_or(("frame", "frame"));
        let Some(bytes) = self.bytes_to_copy(name) else {
            return self.refuse("there is nothing to copy here");
        };
        if let Some(file) = file {
            let path = self.expand(file);
            self.effects.push(Effect::Write { path, bytes });
        } else {
            self.push_copy(String::from_utf8_lossy(&bytes).into_owned(), what);
        }
        true
    }

    fn bytes_to_copy(&self, name: &str) -> Option<Vec<u8>> {
        let inspector = match self.stack.last() {
            Some(Screen::Inspector(state)) => Some(state),
            _ => None,
        };
        match name {
            "raw" => self.frame_bytes().map(|(bytes, _)| bytes.to_vec()),
            "log" => {
                let key = self.stream_key().or_else(|| self.sessions.session());
                key.and_then(|key| self.log_path(key))
                    .map(String::into_bytes)
            }
            "panel" => Some(super::chrome::plain_text(self).into_bytes()),
            "value" => inspector?.value().map(value_text).map(String::into_bytes),
            "path" => inspector?
                .path()
                .map(|path| crate::base::block(&path).into_bytes()),
            "args" => self
                .arguments()
                .map(|bytes| inspector_view::copy_text(&bytes, true).into_bytes()),
            _ => self
                .frame_bytes()
                .map(|(bytes, json)| inspector_view::copy_text(&bytes, json).into_bytes()),
        }
    }

    /// The arguments of the tool call that the frame is or answers.
    fn arguments(&self) -> Option<bytes::Bytes> {
        let shown = self
            .frame_bytes()
            .and_then(|(bytes, _)| arguments_of(&bytes));
        shown.or_else(|| {
            let key = self.stream_key()?;
            let session = self.session(key)?;
            let id = match self.stack.last() {
                Some(Screen::Inspector(state)) => state.id,
                _ => self.streams.get(key)?.selected?,
            };
            let call = session.call(session.row(session.position(id)?)?.call?)?;
            let hop = call.hops.iter().find(|hop| hop.answer == Some(id))?;
            let request = session.row(session.position(hop.request)?)?;
            match request.body {
                Body::Held { bytes, .. } => arguments_of(&bytes),
                Body::Nothing | Body::Released => None,
            }
        })
    }
}

/// What `:copy` knows, and how the toast calls it.
const KINDS: [(&str, &str); 7] = [
    ("frame", "frame"),
    ("raw", "frame"),
    ("value", "value"),
    ("path", "path"),
    ("args", "arguments"),
    ("log", "path"),
    ("panel", "panel"),
];

fn arguments_of(bytes: &bytes::Bytes) -> Option<bytes::Bytes> {
    let message = Message::read(bytes);
    let arguments = json::member(message.params?, "arguments")?;
    Some(bytes.slice_ref(arguments))
}

/// A value as it is pasted: a string without its quotes, anything else as source.
fn value_text(value: &[u8]) -> String {
    json::string(value).map_or_else(
        || inspector_view::copy_text(value, true),
        |text| crate::base::block(&text),
    )
}
