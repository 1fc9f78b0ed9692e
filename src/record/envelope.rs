//! One recorded frame: what was seen, when, which way, in which session (log-format 4).

use std::{fmt, sync::Arc};

use bytes::Bytes;

use crate::{base::Timestamp, wire::Raw};

/// The number of a frame in its session, from 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Seq(pub u64);

impl fmt::Display for Seq {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(out)
    }
}

/// Who sent the frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Direction {
    /// `c2s`: the client.
    ClientToServer,
    /// `s2c`: the server.
    ServerToClient,
    /// `stderr`: a line of the server's standard error.
    Stderr,
    /// `meta`: the recorder itself.
    Meta,
    /// A word that this program does not know: kept and shown, never judged (log-format 9.1.5).
    Unknown(Box<str>),
}

/// What carried the frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Transport {
    /// A pair of pipes.
    Stdio,
    /// Streamable HTTP or its predecessor.
    Http,
    /// A word that this program does not know, or nothing.
    Unknown(Box<str>),
}

impl Direction {
    /// Reads the word of the log.
    pub fn parse(text: &str) -> Self {
        match text {
            "c2s" => Self::ClientToServer,
            "s2c" => Self::ServerToClient,
            "stderr" => Self::Stderr,
            "meta" => Self::Meta,
            other => Self::Unknown(other.into()),
        }
    }

    /// The word of the log.
    pub fn as_str(&self) -> &str {
        match self {
            Self::ClientToServer => "c2s",
            Self::ServerToClient => "s2c",
            Self::Stderr => "stderr",
            Self::Meta => "meta",
            Self::Unknown(text) => text,
        }
    }
}

impl Transport {
    /// Reads the word of the log.
    pub fn parse(text: &str) -> Self {
        match text {
            "stdio" => Self::Stdio,
            "http" => Self::Http,
            other => Self::Unknown(other.into()),
        }
    }

    /// The word of the log.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Stdio => "stdio",
            Self::Http => "http",
            Self::Unknown(text) => text,
        }
    }
}

/// What the frame carried.
#[derive(Clone, PartialEq, Eq)]
pub enum Payload {
    /// Neither: a blank stderr line or a status-only answer.
    Nothing,
    /// One JSON value, exact bytes (log-format 5).
    Raw(Raw),
    /// What is not JSON, or the kept prefix of a cut frame; lossy where it was not UTF-8.
    Text(Bytes),
}

/// Shows the size only (style 3.5.9).
impl fmt::Debug for Payload {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => out.write_str("Nothing"),
            Self::Raw(raw) => raw.fmt(out),
            Self::Text(text) => write!(out, "Text({} bytes)", text.len()),
        }
    }
}

/// One `Mcp-Param-*` header line (log-format 4.2.2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeaderParam {
    /// Canonical spelling.
    pub name: Box<str>,
    /// Value as sent.
    pub value: Box<str>,
    /// True when redaction replaced the value.
    pub redacted: bool,
}

/// Headers with normative transport rules; a missing one was not sent (log-format 4.2.4).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TransportHeaders {
    /// `Accept` of a request.
    pub accept: Option<Box<str>>,
    /// `Content-Type`.
    pub content_type: Option<Box<str>>,
    /// `Origin` of a request.
    pub origin: Option<Box<str>>,
    /// `Content-Encoding` of a response.
    pub content_encoding: Option<Box<str>>,
}

/// What was found at the top level of a cut message (log-format 4.3.5).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Peek {
    /// The id, exact JSON bytes.
    pub id: Option<Bytes>,
    /// The method.
    pub method: Option<Box<str>>,
    /// `result` or `error`.
    pub has: Option<Box<str>>,
}

/// The fields that only HTTP frames carry (log-format 4.2, 4.3).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HttpFields {
    /// Request header `Mcp-Method`.
    pub mcp_method: Option<Box<str>>,
    /// Request header `Mcp-Name`.
    pub mcp_name: Option<Box<str>>,
    /// Request header `MCP-Protocol-Version`.
    pub mcp_protocol_version: Option<Box<str>>,
    /// `Mcp-Param-*` header lines; `None` when not recorded.
    pub mcp_param_headers: Option<Vec<HeaderParam>>,
    /// Client connection.
    pub conn_id: Option<Arc<str>>,
    /// Number of the HTTP request in this run; 0 when unknown.
    pub exchange: u64,
    /// The proxy made the 502, and the request never reached the target.
    pub undelivered: bool,
    /// HTTP status; 0 when none.
    pub status: u16,
    /// `WWW-Authenticate`.
    pub auth_challenge: Option<Box<str>>,
    /// Headers with transport rules; `None` when not recorded.
    pub transport_headers: Option<TransportHeaders>,
    /// Logical client.
    pub peer: Option<Box<str>>,
    /// Request method when it is not POST.
    pub http_method: Option<Box<str>>,
    /// SSE event type other than `message`.
    pub event: Option<Box<str>>,
    /// SSE event id.
    pub event_id: Option<Box<str>>,
    /// Why the proxy itself answered.
    pub proxy_error: Option<Box<str>>,
    /// Why the body is not recorded.
    pub unobserved: Option<Box<str>>,
    /// Which of the secret headers the request carried; `None` when not recorded.
    pub seen_headers: Option<Vec<Box<str>>>,
}

/// One frame plus where and when it was seen. Its line form is a promise (log-format 3).
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a mark of the line's form"
)]
pub struct Envelope {
    /// The run (log-format 2); untrusted.
    pub session_id: Arc<str>,
    /// Display name of the server; untrusted.
    pub server_label: Arc<str>,
    /// Number in the session.
    pub seq: Seq,
    /// Instant of observation; `None` when missing or unreadable.
    pub ts: Option<Timestamp>,
    /// Who sent it.
    pub direction: Direction,
    /// What carried it.
    pub transport: Transport,
    /// What it carried.
    pub payload: Payload,
    /// One element of a batch array.
    pub batch: bool,
    /// Position in the array, from 0.
    pub batch_index: u32,
    /// Length of the array; 0 when unknown.
    pub batch_size: u32,
    /// Only a prefix is recorded.
    pub truncated: bool,
    /// Redaction rewrote this envelope.
    pub redacted: bool,
    /// Length on the wire without terminator, when it differs from the payload's.
    pub wire_bytes: Option<u64>,
    /// Line breaks between tokens of `raw` were written as spaces.
    pub raw_newlines: bool,
    /// Exact bytes of a text that is not UTF-8.
    pub text_bytes: Option<Bytes>,
    /// What was found in a cut message.
    pub peek: Option<Box<Peek>>,
    /// The fields of HTTP frames.
    pub http: Option<Box<HttpFields>>,
}
