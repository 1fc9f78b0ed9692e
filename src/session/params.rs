//! The parameters of a request or notification (session-model.md 3.2, 4.3).

use std::borrow::Cow;

use super::{
    canonical,
    key::Key,
    key_set::KeySet,
    reading::{Known, Who, digest_of, each, is_redacted, key_of, key_set, text_of, who},
};
use crate::wire::json;

/// What is kept of the parameters of a request or notification.
#[derive(Debug, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent marks, not states of one machine"
)]
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
    /// It may have been there, and redaction took it or a part of it away.
    pub(super) client_hidden: bool,
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
                    found.state = digest_of(value, redacted);
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
                    found.client_hidden = is_redacted(value, redacted);
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
        found.client_hidden |= found.hidden;
        found
    }

    fn read_meta(&mut self, meta: &'a [u8], redacted: bool) {
        self.token_hidden = !meta.starts_with(b"{") && is_redacted(meta, redacted);
        self.client_hidden |= self.token_hidden;
        each(meta, |name, value| match name {
            b"progressToken" => {
                self.token = token_of(value, redacted);
                self.token_hidden = is_redacted(value, redacted);
            }
            b"io.modelcontextprotocol/protocolVersion" => self.declared = text_of(value, redacted),
            b"io.modelcontextprotocol/clientInfo" => {
                self.client = who(value, redacted);
                self.client_hidden = is_redacted(value, redacted);
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

fn token_of(value: &[u8], redacted: bool) -> Option<Key> {
    match value.first() {
        Some(b'"' | b'-' | b'0'..=b'9') => key_of(value, redacted),
        _ => None,
    }
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
