//! One question that a server put to a user: its shape, never the content of the answer
//! (session-model.md 12, export.md 4.8).

use std::sync::Arc;

use super::{call::CallId, key::JsonId};
use crate::{base::Timestamp, record::Seq};

/// How a question travelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ElicitationChannel {
    /// In an interim result.
    Mrtr,
    /// In a task that waits for input.
    Task,
    /// A request of the server.
    Request,
}

impl ElicitationChannel {
    /// The word of session-model.md 12.
    pub fn name(self) -> &'static str {
        match self {
            Self::Mrtr => "mrtr",
            Self::Task => "task",
            Self::Request => "request",
        }
    }
}

/// What the user is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ElicitationMode {
    /// A form, also when nothing else could be read.
    #[default]
    Form,
    /// An address to open.
    Url,
}

impl ElicitationMode {
    /// The word of export.md 4.8.
    pub fn name(self) -> &'static str {
        match self {
            Self::Form => "form",
            Self::Url => "url",
        }
    }
}

/// A field of a form (untrusted).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ElicitationField {
    /// Its name.
    pub name: Box<str>,
    /// Its declared type; empty when there is none that can be read.
    pub kind: Box<str>,
}

/// The operation that a question interrupted.
#[derive(Clone, Debug, PartialEq)]
pub struct Interrupted {
    /// Its call; the call itself may have left memory.
    pub call: CallId,
    /// Id of its first request, exact JSON text (untrusted).
    pub call_id: JsonId,
    /// Number of its first request.
    pub call_seq: Seq,
    /// Its method (untrusted).
    pub method: Arc<str>,
    /// Its tool (untrusted).
    pub tool: Option<Arc<str>>,
}

/// One question.
#[derive(Clone, Debug, PartialEq)]
pub struct Elicitation {
    /// The operation that it belongs to, where that is known.
    pub operation: Option<Interrupted>,
    /// How it travelled.
    pub channel: ElicitationChannel,
    /// Which request of the operation was answered by it, from 1.
    pub round: u32,
    /// Its key in `inputRequests`; for a request its id, exact JSON text (untrusted).
    pub key: Box<str>,
    /// Form or address.
    pub mode: ElicitationMode,
    /// What the user is told (untrusted); at most 1 KiB and a mark.
    pub message: Option<Box<str>>,
    /// Fields of the form by name, at most 256.
    pub fields: Box<[ElicitationField]>,
    /// The address (untrusted); at most 2 KiB and a mark.
    pub url: Option<Box<str>>,
    /// Its host; `None` when the address does not parse.
    pub host: Option<Box<str>>,
    /// When it was asked.
    pub asked_at: Option<Timestamp>,
    /// When it was answered.
    pub answered_at: Option<Timestamp>,
    /// What the user did, as sent (untrusted).
    pub action: Option<Box<str>>,
    /// Error code of a client that answered a request with an error.
    pub answer_error: Option<i64>,
    /// No answer was seen.
    pub pending: bool,
    /// The task that asked (untrusted).
    pub task: Option<Arc<str>>,
    /// The server's request that asked, as a call of its own.
    pub request: Option<CallId>,
}

impl Elicitation {
    /// Nanoseconds from question to answer; `None` while open, and when a clock was set back.
    pub fn elapsed_nanos(&self) -> Option<u64> {
        u64::try_from(self.answered_at?.nanos_since(self.asked_at?)).ok()
    }

    /// Bytes that it takes, about.
    pub(super) fn weight(&self) -> usize {
        let text = |text: &Option<Box<str>>| text.as_ref().map_or(0, |text| text.len());
        let fields = self.fields.iter();
        let fields =
            fields.map(|field| size_of::<ElicitationField>() + field.name.len() + field.kind.len());
        size_of::<Self>()
            + self.key.len()
            + text(&self.message)
            + text(&self.url)
            + text(&self.host)
            + fields.sum::<usize>()
    }
}
