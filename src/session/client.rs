//! Who takes part in a session, as lists of it show them (session-model.md 14.2.5).

use std::sync::Arc;

use super::revisions::RevisionCount;

/// Name and version that a peer declared (untrusted).
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Implementation {
    /// Name.
    pub name: Box<str>,
    /// Version.
    pub version: Box<str>,
}

/// One scope in which a client was seen: what tells it from others beside its name
/// (session-model.md 4.1). Both parts are missing on stdio.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientScope {
    /// Key of its HTTP session.
    pub peer: Option<Arc<str>>,
    /// Host that it connected from.
    pub host: Option<Arc<str>>,
}

/// One client of a session (session-model.md 14.2.5).
#[derive(Clone, Debug, Default)]
pub struct Client {
    /// Who it says it is; empty for the requests that do not tell.
    pub implementation: Implementation,
    /// Requests that it sent.
    pub requests: u64,
    /// Where it was seen, in order of appearance; at most 64.
    pub scopes: Vec<ClientScope>,
    /// There were more of them.
    pub scopes_cut: bool,
    /// Revisions of its requests, in order of appearance; probes left out.
    pub revisions: Vec<RevisionCount>,
    /// Numbers of the scopes.
    pub(super) known: Vec<(u32, u32)>,
}
