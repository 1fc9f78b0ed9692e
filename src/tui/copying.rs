//! What is copied where (tui.md 13.1).

use std::path::PathBuf;

use bytes::Bytes;

use super::{
    app::{App, Screen},
    event::Effect,
    keys::Place,
    readback::payload,
    screens::{first_run, inspector, inspector_view},
};
use crate::{
    base::Shown,
    feed::{BodyOutcome, FeedRequest, Severity},
    record::{Seq, SessionKey},
    session::{Body, RowId},
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

    /// Copies the frame that is selected or shown.
    pub(super) fn copy_frame(&mut self) {
        self.copy_as(("frame", "frame"), None);
    }

    /// The row whose body a copy needs: for arguments the request.
    fn row_to_copy(&self, name: &str) -> Option<(SessionKey, RowId)> {
        let key = self.stream_key()?;
        let session = self.session(key)?;
        let id = match self.stack.last() {
            Some(Screen::Inspector(state)) => state.id,
            _ => self.streams.get(key)?.selected?,
        };
        let request = (name == "args").then(|| {
            let call = session.call(session.row(session.position(id)?)?.call?)?;
            let mut hops = call.hops.iter();
            hops.find(|hop| hop.answer == Some(id))
                .map(|hop| hop.request)
        });
        Some((key.clone(), request.flatten().unwrap_or(id)))
    }

    /// Bytes and kind of a row's body, when they are at hand.
    fn body_at_hand(&self, key: &SessionKey, id: RowId) -> Option<(Bytes, bool)> {
        if let Some(Screen::Inspector(state)) = self.stack.last()
            && state.id == id
            && state.load == inspector::Load::Ready
        {
            return Some((state.source.clone(), state.json));
        }
        match self.row(self.session(key)?, id)?.body {
            Body::Held { bytes, json } => Some((bytes, json)),
            Body::Nothing => Some((Bytes::new(), false)),
            Body::Released => None,
        }
    }

    /// Copies a frame or a part of it; one whose body memory has released is read first.
    fn copy_as(&mut self, (name, what): (&'static str, &'static str), file: Option<PathBuf>) {
        let Some((key, id)) = self.row_to_copy(name) else {
            return self.say(Severity::Info, "no frame is selected");
        };
        if let Some((bytes, json)) = self.body_at_hand(&key, id) {
            return self.hand_over(name, what, file, &bytes, json);
        }
        let row = self.session(&key).and_then(|session| {
            let position = session.position(id)?;
            session.row(position)
        });
        let Some(place) = row.and_then(|row| row.place) else {
            return self.say(
                Severity::Warning,
                "memory released this body and no log is known that holds it",
            );
        };
        self.effects.push(Effect::Ask(FeedRequest::ReadBody {
            key: key.clone(),
            seq: id.seq,
            place,
        }));
        self.copy_awaits = Some(Awaited {
            key,
            id,
            name,
            what,
            file,
        });
        let dots = self.settings.signs.dots;
        self.say(Severity::Info, format!("reading from log{dots}"));
    }

    /// Takes a body that a copy may be waiting for.
    pub(super) fn copy_body(&mut self, key: &SessionKey, seq: Seq, outcome: &BodyOutcome) {
        let is_it = |awaited: &mut Awaited| awaited.key == *key && awaited.id.seq == seq;
        let Some(awaited) = self.copy_awaits.take_if(is_it) else {
            return;
        };
        let why = match outcome {
            BodyOutcome::Line(line) => match payload(line, awaited.id) {
                Some((bytes, json)) => {
                    let (name, what) = (awaited.name, awaited.what);
                    return self.hand_over(name, what, awaited.file, &bytes, json);
                }
                None => Shown::literal("the line in the log is no frame any more"),
            },
            BodyOutcome::Unavailable(reason) => Shown::row(reason.as_bytes()),
        };
        let words = Shown::literal("not copied: ").and(&why);
        self.toast(Severity::Warning, words);
    }

    fn hand_over(
        &mut self,
        name: &str,
        what: &'static str,
        file: Option<PathBuf>,
        body: &Bytes,
        json: bool,
    ) {
        let bytes = match name {
            _ if body.is_empty() => return self.say(Severity::Info, "this frame has no body"),
            "raw" => body.to_vec(),
            "args" => match arguments_of(body) {
                Some(arguments) => inspector_view::copy_text(&arguments, true).into_bytes(),
                None => return self.say(Severity::Info, "this frame has no arguments"),
            },
            _ => inspector_view::copy_text(body, json).into_bytes(),
        };
        self.hand_over_bytes(bytes, what, file);
    }

    fn hand_over_bytes(&mut self, bytes: Vec<u8>, what: &'static str, file: Option<PathBuf>) {
        match file {
            Some(path) => self.effects.push(Effect::Write { path, bytes }),
            None => self.push_copy(String::from_utf8_lossy(&bytes).into_owned(), what),
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
        let file = file.map(|file| self.expand(file));
        let (name, what) = kind.unwrap_or(("frame", "frame"));
        if matches!(name, "frame" | "raw" | "args") {
            if self.stream_key().is_none() {
                return self.refuse("no frame is selected");
            }
            self.copy_as((name, what), file);
            return true;
        }
        let Some(bytes) = self.bytes_to_copy(name) else {
            return self.refuse("there is nothing to copy here");
        };
        self.hand_over_bytes(bytes, what, file);
        true
    }

    /// What is copied beside frames.
    fn bytes_to_copy(&self, name: &str) -> Option<Vec<u8>> {
        let inspector = match self.stack.last() {
            Some(Screen::Inspector(state)) => Some(state),
            _ => None,
        };
        match name {
            "log" => {
                let key = self.stream_key().or_else(|| self.sessions.session());
                key.and_then(|key| self.log_path(key))
                    .map(String::into_bytes)
            }
            "panel" => Some(super::chrome::plain_text(self).into_bytes()),
            "value" => inspector?.value().map(value_text).map(String::into_bytes),
            _ => inspector?
                .path()
                .map(|path| crate::base::block(&path).into_bytes()),
        }
    }
}

/// A copy whose body is being read from the log.
#[derive(Debug)]
pub(super) struct Awaited {
    key: SessionKey,
    id: RowId,
    name: &'static str,
    what: &'static str,
    file: Option<PathBuf>,
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

fn arguments_of(bytes: &Bytes) -> Option<Bytes> {
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
