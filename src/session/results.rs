//! Results and errors (session-model.md 3.2, 4.3).

use std::borrow::Cow;

use super::{
    key::Key,
    key_set::KeySet,
    reading::{Known, Who, digest_of, each, key_set, text_of, who},
    stated::{Versions, versions},
    task_facts::{TaskFacts, known_text},
};
use crate::wire::json;

/// What is kept of a result.
#[derive(Debug, Default)]
pub(super) struct ResultFacts<'a> {
    pub(super) is_error: bool,
    pub(super) result_type: Option<Cow<'a, str>>,
    /// `requestState` of an interim result.
    pub(super) state: Known<[u8; 16]>,
    /// Keys of `inputRequests`.
    pub(super) asks: Known<KeySet>,
    pub(super) version: Option<Cow<'a, str>>,
    pub(super) server: Option<Who<'a>>,
    /// It was named in `_meta`.
    pub(super) server_in_meta: bool,
    /// `taskId` and `status`.
    pub(super) task: TaskFacts<'a>,
    pub(super) has_content: bool,
    /// `result` inside the result of `tasks/get`.
    pub(super) inner_result: Option<&'a [u8]>,
    /// Members that single steps read further, exact bytes.
    pub(super) raw: RawResult<'a>,
}

/// Exact bytes of members of a result.
#[derive(Debug, Default)]
pub(super) struct RawResult<'a> {
    /// `tools`.
    pub(super) tools: Option<&'a [u8]>,
    /// `prompts`.
    pub(super) prompts: Option<&'a [u8]>,
    /// `resources`.
    pub(super) resources: Option<&'a [u8]>,
    /// `resourceTemplates`.
    pub(super) resource_templates: Option<&'a [u8]>,
    /// `nextCursor`.
    pub(super) next_cursor: Option<&'a [u8]>,
    /// `ttlMs`.
    pub(super) ttl: Option<&'a [u8]>,
    /// `cacheScope`.
    pub(super) cache_scope: Option<&'a [u8]>,
    /// `resultType`.
    pub(super) result_type: Option<&'a [u8]>,
    /// `inputRequests`.
    pub(super) input_requests: Option<&'a [u8]>,
    /// `capabilities`.
    pub(super) capabilities: Option<&'a [u8]>,
    /// `instructions`.
    pub(super) instructions: Option<&'a [u8]>,
    /// `supportedVersions`.
    pub(super) supported: Option<&'a [u8]>,
    /// `serverInfo`, of `_meta` first.
    pub(super) server_info: Option<&'a [u8]>,
    /// `task`.
    pub(super) task: Option<&'a [u8]>,
    /// `tasks` of a listing.
    pub(super) tasks: Option<&'a [u8]>,
    /// `error` inside the result of `tasks/get`.
    pub(super) error: Option<&'a [u8]>,
    /// `action` of an answer to `elicitation/create`.
    pub(super) action: Option<&'a [u8]>,
    /// `_meta["io.modelcontextprotocol/related-task"]`.
    pub(super) related_task: Option<&'a [u8]>,
}

/// What is kept of an error.
#[derive(Debug, Default)]
pub(super) struct ErrorFacts {
    /// The code, if an integer by value.
    pub(super) code: Option<i64>,
    /// Published servers report a cancellation back with code 0 and this message
    /// (session-model.md 7.3.2).
    pub(super) says_cancelled: bool,
}

impl<'a> ResultFacts<'a> {
    /// Reads a result.
    pub(super) fn read(result: &'a [u8], redacted: bool) -> Self {
        let mut found = Self::default();
        each(result, |name, value| match name {
            b"isError" => found.is_error = value == b"true",
            b"resultType" => {
                found.result_type = json::string(value);
                found.raw.result_type = Some(value);
            }
            b"requestState" => found.state = digest_of(value, redacted),
            b"inputRequests" => {
                found.asks = key_set(value, redacted);
                found.raw.input_requests = Some(value);
            }
            b"protocolVersion" => found.version = text_of(value, redacted),
            b"serverInfo" if !found.server_in_meta => {
                found.server = who(value, redacted);
                found.raw.server_info = Some(value);
            }
            b"supportedVersions" => found.raw.supported = Some(value),
            b"taskId" => found.task.id = known_text(value, redacted),
            b"status" => found.task.status = known_text(value, redacted),
            b"task" => found.raw.task = Some(value),
            b"content" => found.has_content = true,
            b"result" => found.inner_result = Some(value),
            b"tools" => found.raw.tools = Some(value),
            b"prompts" => found.raw.prompts = Some(value),
            b"resources" => found.raw.resources = Some(value),
            b"resourceTemplates" => found.raw.resource_templates = Some(value),
            b"nextCursor" => found.raw.next_cursor = Some(value),
            b"ttlMs" => found.raw.ttl = Some(value),
            b"cacheScope" => found.raw.cache_scope = Some(value),
            b"capabilities" => found.raw.capabilities = Some(value),
            b"instructions" => found.raw.instructions = Some(value),
            b"tasks" => found.raw.tasks = Some(value),
            b"error" => found.raw.error = Some(value),
            b"action" => found.raw.action = Some(value),
            b"_meta" => each(value, |name, value| match name {
                b"io.modelcontextprotocol/serverInfo" => {
                    found.server_in_meta = true;
                    found.server = who(value, redacted).or(found.server.take());
                    found.raw.server_info = Some(value);
                }
                b"io.modelcontextprotocol/related-task" => found.raw.related_task = Some(value),
                _ => {}
            }),
            _ => {}
        });
        found
    }
}

impl ErrorFacts {
    /// Reads an error value of any type.
    pub(super) fn read(error: &[u8]) -> Self {
        let mut found = Self::default();
        let mut cancelled = false;
        each(error, |name, value| match name {
            b"code" => found.code = integer(value),
            b"message" => cancelled = value == br#""Request cancelled""#,
            _ => {}
        });
        found.says_cancelled = found.code == Some(-32_800) || (cancelled && found.code == Some(0));
        found
    }
}

/// The versions in `data.supported` of an error -32022.
pub(super) fn offered_versions(error: &[u8], redacted: bool) -> Versions {
    let data = json::member(error, "data");
    let list = data.and_then(|data| json::member(data, "supported"));
    list.map_or_else(Versions::default, |list| versions(list, redacted))
}

/// An integer by value: `-32000.0` is one.
fn integer(value: &[u8]) -> Option<i64> {
    match Key::read(value)? {
        Key::Small(number) => Some(number),
        Key::Wide(_) | Key::Long(_) => None,
    }
}
