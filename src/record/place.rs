//! Which session a frame belongs to, and where its line lies.

use std::{fmt, path::PathBuf, sync::Arc};

use bytes::Bytes;

use super::envelope::Envelope;

/// A machine, as the user named it; `local` is this one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostName(pub Arc<str>);

impl HostName {
    /// This machine.
    pub fn local() -> Self {
        Self("local".into())
    }
}

impl fmt::Display for HostName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(out)
    }
}

/// What every map of sessions is keyed by: host and session id; a later run under one id in one
/// file has the id `ID#2` (log-format 9.4.2).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionKey {
    /// Where the session was recorded.
    pub host: HostName,
    /// The session id, with `#N` for a later run; untrusted.
    pub id: Arc<str>,
}

/// Where a line lies, so that a body that left memory can be read again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The log: a path of its host's file system.
    pub log: Arc<PathBuf>,
    /// Offset of the line's first byte.
    pub offset: u64,
    /// Length of the line without its LF.
    pub length: u32,
}

/// The exact bytes of a log line (without LF) beside the envelope read from them; payloads are
/// slices of the same allocation.
#[derive(Clone, Debug)]
pub struct Line {
    /// The bytes as they lay in the log or came over the socket.
    pub bytes: Bytes,
    /// What they say.
    pub envelope: Envelope,
}
