//! What the summary of a session says of its peers and of its end (session-model.md 14, 20).

use std::sync::Arc;

use super::{
    client::Client,
    revisions::{Era, RevisionCount},
    session::Session,
    stated::Extension,
};
use crate::wire::Raw;

impl Session {
    /// Every revision that requests of the client were made under, with their number, in order of
    /// first appearance; probes are left out (session-model.md 14.2.2).
    pub fn revisions(&self) -> impl Iterator<Item = &RevisionCount> {
        self.machine.peers.revisions.counts()
    }

    /// True when there is more than one.
    pub fn is_mixed(&self) -> bool {
        self.revisions().nth(1).is_some()
    }

    /// How the requests were made.
    pub fn era(&self) -> Era {
        self.machine.peers.revisions.era()
    }

    /// Capabilities of the client as it spelled them last; `None` when unknown, which is not the
    /// same as none: those are an empty object. Redacted parts hold the placeholder (untrusted).
    pub fn client_capabilities(&self) -> Option<&Raw> {
        self.machine.peers.stated.client_capabilities.as_ref()
    }

    /// The same of the server.
    pub fn server_capabilities(&self) -> Option<&Raw> {
        self.machine.peers.stated.server_capabilities.as_ref()
    }

    /// `clientInfo` as the client spelled it last (untrusted).
    pub fn client_info(&self) -> Option<&Raw> {
        self.machine.peers.stated.client_info.as_ref()
    }

    /// `serverInfo` as the server spelled it last (untrusted).
    pub fn server_info(&self) -> Option<&Raw> {
        self.machine.peers.stated.server_info.as_ref()
    }

    /// Instructions of the server, at most 64 KiB, and whether they were cut (untrusted).
    pub fn instructions(&self) -> Option<(&str, bool)> {
        let stated = &self.machine.peers.stated;
        let (text, cut) = stated.instructions.as_ref()?;
        Some((text, *cut))
    }

    /// Versions that the server says it supports, at most 256 (untrusted).
    pub fn supported_versions(&self) -> &[Arc<str>] {
        &self.machine.peers.stated.supported
    }

    /// True when capabilities of either side are known.
    pub fn has_capabilities(&self) -> bool {
        self.client_capabilities().is_some() || self.server_capabilities().is_some()
    }

    /// Extensions that either side names, by name; at most 1,024 (session-model.md 14.3).
    pub fn extensions(&self) -> Vec<Extension> {
        self.machine.peers.stated.extensions()
    }

    /// The requests of the client that do not tell who sent them, as one client without a name.
    pub fn unidentified(&self) -> Option<&Client> {
        let client = &self.machine.peers.unidentified;
        (client.requests > 0).then_some(client)
    }

    /// Who closed first by the `end` record: `client`, `server`, `signal` or `proxy`; `None` without
    /// one (untrusted).
    pub fn closed_by(&self) -> Option<&str> {
        self.machine.head.closed_by.as_deref()
    }

    /// Declarations of clients, requests under revisions, refusals, and answers before their requests
    /// that had no place at their bounds (session-model.md 22.3).
    pub fn beyond_bounds(&self) -> [u64; 4] {
        let peers = &self.machine.peers;
        [
            peers.beyond,
            peers.revisions.beyond,
            self.machine.refusals.forgotten(),
            self.machine.early.beyond(),
        ]
    }
}
