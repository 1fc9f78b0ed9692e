//! What a message says of a task, read while its bytes are at hand (session-model.md 10).

use std::{borrow::Cow, sync::Arc};

use super::{
    atoms::bounded,
    classify::Parts,
    hops::HopEntry,
    reading::{Known, Params, ResultFacts, is_redacted},
    tasks::TaskDialect,
};
use crate::wire::json;

/// Methods that the core dialect lets a task answer.
const AUGMENTED: [&str; 3] = ["tools/call", "sampling/createMessage", "elicitation/create"];

/// Id and status of a task; `Unknown` is a redacted text, any other type than a text is absent.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct TaskFacts<'a> {
    pub(super) id: Known<Cow<'a, str>>,
    pub(super) status: Known<Cow<'a, str>>,
}

impl<'a> TaskFacts<'a> {
    /// Reads a task object.
    pub(super) fn read(task: &'a [u8], redacted: bool) -> Self {
        if !task.starts_with(b"{") && is_redacted(task, redacted) {
            return Self {
                id: Known::Unknown,
                status: Known::Unknown,
            };
        }
        let text = |name| json::member(task, name).map(|value| known_text(value, redacted));
        Self {
            id: text("taskId").unwrap_or_default(),
            status: text("status").unwrap_or_default(),
        }
    }
}

/// A text that redaction may have taken away.
pub(super) fn known_text(value: &[u8], redacted: bool) -> Known<Cow<'_, str>> {
    match json::string(value) {
        Some(_) if is_redacted(value, redacted) => Known::Unknown,
        Some(text) => Known::Is(bounded(text)),
        None => Known::Absent,
    }
}

impl<T> Known<T> {
    /// The value, if it was read.
    pub(super) fn value(&self) -> Option<&T> {
        match self {
            Self::Is(value) => Some(value),
            Self::Absent | Self::Unknown => None,
        }
    }
}

/// The dialect of a result that is the handle of a task; `None` for any other result
/// (session-model.md 10.1).
pub(super) fn handle_of<'a>(
    hop: &HopEntry,
    (method, is_tool): (&str, bool),
    read: &ResultFacts<'a>,
    redacted: bool,
) -> Option<(TaskDialect, TaskFacts<'a>)> {
    // Under a declared legacy revision the word has no meaning, as with interim results.
    let says_task = read.result_type.as_deref() == Some("task") && hop.declared != Some(false);
    if is_tool && says_task && read.task.id != Known::Absent {
        let facts = TaskFacts {
            id: read.task.id.clone(),
            status: read.task.status.clone(),
        };
        return Some((TaskDialect::Extension, facts));
    }
    let nested = read.raw.task.filter(|_| {
        // A plain result may hold a member of this name.
        let may_be_one = hop.hidden_names.0 || AUGMENTED.contains(&method);
        hop.wants_task && !read.has_content && may_be_one
    })?;
    let facts = TaskFacts::read(nested, redacted);
    let whole = facts.id != Known::Absent && facts.status != Known::Absent;
    whole.then_some((TaskDialect::Core, facts))
}

/// The task that a request asks about, or that it was sent for; empty for a listing, whose answer
/// names several.
pub(super) fn task_of_request(
    parts: &Parts<'_>,
    params: &Params<'_>,
    redacted: bool,
) -> Option<Arc<str>> {
    match parts.method.as_deref() {
        Some("tasks/list") => Some(Arc::from("")),
        Some("tasks/get" | "tasks/result" | "tasks/update" | "tasks/cancel") => {
            params.task_id.as_deref().map(Arc::from)
        }
        _ => related_task(params.raw.related_task?, redacted).map(Arc::from),
    }
}

/// The id in the member `io.modelcontextprotocol/related-task` of `_meta`.
pub(super) fn related_task(value: &[u8], redacted: bool) -> Option<Cow<'_, str>> {
    match known_text(json::member(value, "taskId")?, redacted) {
        Known::Is(id) => Some(id),
        Known::Absent | Known::Unknown => None,
    }
}

/// True when the request asked for a task, or when its parameters are unknown.
pub(super) fn may_want_task(parts: &Parts<'_>, params: &Params<'_>, redacted: bool) -> bool {
    let hidden = || {
        let all = parts.params.unwrap_or_default();
        !all.starts_with(b"{") && is_redacted(all, redacted)
    };
    params.wants_task || hidden()
}
