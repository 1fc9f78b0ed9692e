//! What the model takes out of one frame while its bytes are at hand: members of the message, then
//! the few nested values that later frames are compared with (session-model.md 3.2, 4.3).
//!
//! Each value is decoded on its own; one of the wrong type is unknown and hides no other.

use std::borrow::Cow;

use sha2::Digest as _;

use crate::wire::{IdKey, json};

use super::{
    atoms::bounded,
    canonical,
    key::Key,
    key_set::KeySet,
    stated::{Versions, versions},
    task_facts::{TaskFacts, known_text},
};

/// What redaction puts in place of a value (log-format 8.5).
const PLACEHOLDER: &[u8] = b"[REDACTED]";

/// A value that redaction may have taken away.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Known<T> {
    /// Not there, or `null`.
    #[default]
    Absent,
    /// There, but redacted or of the wrong type.
    Unknown,
    /// Read.
    Is(T),
}

/// Name and version of a peer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Who<'a> {
    pub(super) name: Cow<'a, str>,
    pub(super) version: Cow<'a, str>,
}

/// What is kept of the parameters of a request or notification.
#[derive(Debug, Default)]
pub(super) struct Params<'a> {
    /// `name`, else `uri`.
    pub(super) operation: Option<Cow<'a, str>>,
    /// `_meta.progressToken`.
    pub(super) token: Option<Key>,
    /// There was one, and redaction took it away.
    pub(super) token_hidden: bool,
    /// `progressToken` of a progress notification.
    pub(super) progress_token: Option<Key>,
    /// `_meta["io.modelcontextprotocol/protocolVersion"]`.
    pub(super) declared: Option<Cow<'a, str>>,
    /// `clientInfo`, of `_meta` or of `initialize`.
    pub(super) client: Option<Who<'a>>,
    /// `requestId` of a cancellation.
    pub(super) request_id: Option<Key>,
    /// `reason` of a cancellation.
    pub(super) reason: Option<Cow<'a, str>>,
    /// `taskId`.
    pub(super) task_id: Option<Cow<'a, str>>,
    /// `status` of a task.
    pub(super) status: Option<Cow<'a, str>>,
    /// `result` of a task, exact bytes.
    pub(super) task_result: Option<&'a [u8]>,
    /// `task` is there: the requester asks for a task.
    pub(super) wants_task: bool,
    /// `requestState`.
    pub(super) state: Known<[u8; 16]>,
    /// Keys of `inputResponses`.
    pub(super) answers: Known<KeySet>,
    /// Hash of everything but `_meta`, `requestState` and `inputResponses`; `None` when unknown.
    pub(super) base: Option<u64>,
    /// The share of `name` in it, and that of `arguments`; 0 when absent.
    pub(super) name_part: u64,
    pub(super) arguments_part: u64,
    /// Redaction took all of them away.
    pub(super) hidden: bool,
    /// Members that single steps read further, exact bytes.
    pub(super) raw: RawParams<'a>,
}

/// Exact bytes of members of parameters.
#[derive(Debug, Default)]
pub(super) struct RawParams<'a> {
    /// `name`.
    pub(super) name: Option<&'a [u8]>,
    /// `uri`.
    pub(super) uri: Option<&'a [u8]>,
    /// `arguments`.
    pub(super) arguments: Option<&'a [u8]>,
    /// `cursor`.
    pub(super) cursor: Option<&'a [u8]>,
    /// `inputResponses`.
    pub(super) input_responses: Option<&'a [u8]>,
    /// `inputRequests` of a task notification.
    pub(super) input_requests: Option<&'a [u8]>,
    /// `error` of a task notification.
    pub(super) error: Option<&'a [u8]>,
    /// `progress`.
    pub(super) progress: Option<&'a [u8]>,
    /// `total`.
    pub(super) total: Option<&'a [u8]>,
    /// `message`.
    pub(super) message: Option<&'a [u8]>,
    /// `notifications`: the filter of a subscription.
    pub(super) notifications: Option<&'a [u8]>,
    /// `protocolVersion` that `initialize` proposes.
    pub(super) protocol_version: Option<&'a [u8]>,
    /// `capabilities`, of `initialize`.
    pub(super) capabilities: Option<&'a [u8]>,
    /// `clientInfo`, of `_meta` or of `initialize`.
    pub(super) client_info: Option<&'a [u8]>,
    /// `_meta["io.modelcontextprotocol/clientCapabilities"]`.
    pub(super) meta_capabilities: Option<&'a [u8]>,
    /// `_meta["io.modelcontextprotocol/subscriptionId"]`.
    pub(super) subscription: Option<&'a [u8]>,
    /// `_meta["io.modelcontextprotocol/related-task"]`.
    pub(super) related_task: Option<&'a [u8]>,
    /// `elicitationId`.
    pub(super) elicitation_id: Option<&'a [u8]>,
}

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

/// Calls `take` with each member of an object, its name unescaped.
pub(super) fn each<'a>(object: &'a [u8], mut take: impl FnMut(&[u8], &'a [u8])) {
    for (name, value) in json::members(object) {
        if name.contains(&b'\\') {
            let mut quoted = Vec::with_capacity(name.len() + 2);
            quoted.push(b'"');
            quoted.extend_from_slice(name);
            quoted.push(b'"');
            if let Some(plain) = json::string(&quoted) {
                take(plain.as_bytes(), value);
            }
        } else {
            take(name, value);
        }
    }
}

/// True when redaction rewrote the frame and the value holds its placeholder.
pub(super) fn is_redacted(value: &[u8], frame_redacted: bool) -> bool {
    frame_redacted && memchr::memmem::find(value, PLACEHOLDER).is_some()
}

/// The key of an id; `None` for `null` and redacted ones.
pub(super) fn key_of(value: &[u8], frame_redacted: bool) -> Option<Key> {
    (!is_redacted(value, frame_redacted))
        .then(|| Key::read(value))
        .flatten()
}

fn token_of(value: &[u8], redacted: bool) -> Option<Key> {
    match value.first() {
        Some(b'"' | b'-' | b'0'..=b'9') => key_of(value, redacted),
        _ => None,
    }
}

impl<'a> Params<'a> {
    /// Reads the parameters; `redacted` is the mark of the frame.
    pub(super) fn read(params: &'a [u8], redacted: bool) -> Self {
        let mut found = Self {
            token_hidden: !params.starts_with(b"{") && is_redacted(params, redacted),
            ..Self::default()
        };
        let mut base = 0_u64;
        let mut uri = None;
        each(params, |name, value| {
            let mut plain = true;
            match name {
                b"_meta" => {
                    found.read_meta(value, redacted);
                    plain = false;
                }
                b"requestState" => {
                    found.state = state_of(value, redacted);
                    plain = false;
                }
                b"inputResponses" => {
                    found.answers = key_set(value, redacted);
                    found.raw.input_responses = Some(value);
                    plain = false;
                }
                b"name" => {
                    found.operation = json::string(value);
                    found.raw.name = Some(value);
                }
                b"uri" => {
                    uri = json::string(value);
                    found.raw.uri = Some(value);
                }
                b"arguments" => found.raw.arguments = Some(value),
                b"cursor" => found.raw.cursor = Some(value),
                b"inputRequests" => found.raw.input_requests = Some(value),
                b"error" => found.raw.error = Some(value),
                b"progress" => found.raw.progress = Some(value),
                b"total" => found.raw.total = Some(value),
                b"message" => found.raw.message = Some(value),
                b"notifications" => found.raw.notifications = Some(value),
                b"protocolVersion" => found.raw.protocol_version = Some(value),
                b"capabilities" => found.raw.capabilities = Some(value),
                b"elicitationId" => found.raw.elicitation_id = Some(value),
                b"progressToken" => found.progress_token = token_of(value, redacted),
                b"clientInfo" => {
                    found.client = who(value, redacted);
                    found.raw.client_info = Some(value);
                }
                b"requestId" => found.request_id = key_of(value, redacted),
                b"reason" => found.reason = json::string(value),
                b"taskId" => found.task_id = text_of(value, redacted),
                b"status" => found.status = text_of(value, redacted),
                b"result" => found.task_result = Some(value),
                b"task" => found.wants_task = value != b"null",
                _ => {}
            }
            if plain {
                let part = canonical::member(name, value);
                base = base.wrapping_add(part);
                match name {
                    b"name" => found.name_part = part,
                    b"arguments" => found.arguments_part = part,
                    _ => {}
                }
            }
        });
        found.operation = found.operation.or(uri);
        found.base = (!redacted).then_some(base);
        found.hidden = !params.starts_with(b"{") && is_redacted(params, redacted);
        found
    }

    fn read_meta(&mut self, meta: &'a [u8], redacted: bool) {
        self.token_hidden = !meta.starts_with(b"{") && is_redacted(meta, redacted);
        each(meta, |name, value| match name {
            b"progressToken" => {
                self.token = token_of(value, redacted);
                self.token_hidden = is_redacted(value, redacted);
            }
            b"io.modelcontextprotocol/protocolVersion" => self.declared = text_of(value, redacted),
            b"io.modelcontextprotocol/clientInfo" => {
                self.client = who(value, redacted);
                self.raw.client_info = Some(value);
            }
            b"io.modelcontextprotocol/clientCapabilities" => {
                self.raw.meta_capabilities = Some(value);
            }
            b"io.modelcontextprotocol/subscriptionId" => self.raw.subscription = Some(value),
            b"io.modelcontextprotocol/related-task" => self.raw.related_task = Some(value),
            _ => {}
        });
    }

    /// True when the request may continue a parked operation (session-model.md 11.3).
    pub(super) fn may_be_retry(&self) -> bool {
        self.state != Known::Absent || !matches!(self.answers, Known::Absent)
    }
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
            b"requestState" => found.state = state_of(value, redacted),
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

/// True for a number that is an integer by value, of whatever size.
pub(super) fn is_integer(value: &[u8]) -> bool {
    if !matches!(value.first(), Some(b'-' | b'0'..=b'9')) {
        return false;
    }
    match IdKey::read(value) {
        Some(IdKey::Number {
            digits, exponent, ..
        }) => digits.is_empty() || exponent >= 0,
        // Too large an exponent to say.
        Some(_) => true,
        None => false,
    }
}

fn text_of(value: &[u8], redacted: bool) -> Option<Cow<'_, str>> {
    (!is_redacted(value, redacted))
        .then(|| json::string(value).map(bounded))
        .flatten()
}

fn who(value: &[u8], redacted: bool) -> Option<Who<'_>> {
    if is_redacted(value, redacted) {
        return None;
    }
    let (mut name, mut version) = (None, None);
    each(value, |key, value| match key {
        b"name" => name = json::string(value).map(bounded),
        b"version" => version = json::string(value).map(bounded),
        _ => {}
    });
    name.map(|name| Who {
        name,
        version: version.unwrap_or_default(),
    })
}

/// The state itself is never kept (session-model.md 11.2).
fn state_of(value: &[u8], redacted: bool) -> Known<[u8; 16]> {
    digest_of(value, redacted)
}

/// A text that is only compared, by the first half of its SHA-256.
pub(super) fn digest_of(value: &[u8], redacted: bool) -> Known<[u8; 16]> {
    if value == b"null" {
        return Known::Absent;
    }
    if is_redacted(value, redacted) {
        return Known::Unknown;
    }
    let Some(text) = json::string(value) else {
        return Known::Unknown;
    };
    let digest = sha2::Sha256::digest(text.as_bytes());
    let mut short = [0; 16];
    for (to, from) in short.iter_mut().zip(digest) {
        *to = from;
    }
    Known::Is(short)
}

/// The set of keys of an object; an empty object or `null` asks for nothing.
fn key_set(value: &[u8], redacted: bool) -> Known<KeySet> {
    if value == b"null" {
        return Known::Absent;
    }
    if value.first() != Some(&b'{') {
        return Known::Unknown;
    }
    let (mut hashes, mut hidden) = (Vec::new(), false);
    each(value, |name, _| {
        hidden |= is_redacted(name, redacted);
        hashes.push(canonical::name(name));
    });
    if hidden {
        return Known::Unknown;
    }
    KeySet::new(hashes).map_or(Known::Absent, Known::Is)
}

/// Whether redaction hides the method of a request, and the name of its operation.
pub(super) fn hidden(method: &str, params: &Params<'_>, redacted: bool) -> (bool, bool) {
    if !redacted {
        return (false, false);
    }
    let hides = |value: &[u8]| is_redacted(value, redacted);
    let name = params.raw.name.or(params.raw.uri);
    let method = hides(method.as_bytes());
    // Which member names the operation depends on the method.
    (method, method || params.hidden || name.is_some_and(hides))
}

/// The type of an id that is no plain key, for callers that only ask whether there was one.
pub(super) fn is_null(value: &[u8]) -> bool {
    IdKey::read(value).is_none()
}
