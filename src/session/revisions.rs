//! Which revision each request of the client was made under, and what follows for the session:
//! counts, the revision in force, the era (session-model.md 14.1, 14.2).

use std::{collections::VecDeque, sync::Arc};

use super::{call::CallId, hash::Map, hops::ClientKey};

/// Revisions that are told apart (session-model.md 22.3).
const MAX_REVISIONS: usize = 1_024;
/// Scopes whose negotiated revision is remembered (session-model.md 22.3).
const MAX_NEGOTIATED: usize = 4_096;
/// Requests whose revision can still stop being the one in force, when they turn out to be probes.
const MAX_LAST: usize = 32;

/// Place of a revision in the table, from 1; 0 is none.
pub(super) type RevisionId = u16;

/// How the requests of a session were made (session-model.md 14.2.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Era {
    /// Nothing tells.
    #[default]
    Unknown,
    /// With `initialize`, or under a revision up to 2025-11-25.
    Legacy,
    /// Each under a declared revision of 2026-07-28 or later.
    Modern,
    /// Both were seen.
    Dual,
}

impl Era {
    /// The word of exports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Legacy => "legacy",
            Self::Modern => "modern",
            Self::Dual => "dual",
        }
    }
}

/// Requests that were made under one revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RevisionCount {
    /// The revision (untrusted).
    pub version: Arc<str>,
    /// Requests of the client, probes left out.
    pub requests: u64,
    pub(super) id: RevisionId,
}

/// What a request of the client was counted under, so that it can be taken back when it was a
/// probe.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counted {
    /// Number of the client, from 1; 0 is unidentified.
    pub(super) who: u16,
    pub(super) revision: RevisionId,
    /// The request itself declared it.
    pub(super) declared: bool,
    /// It is an `initialize`.
    pub(super) greets: bool,
    /// It is a `server/discover`.
    pub(super) discovers: bool,
}

#[derive(Debug)]
struct Revision {
    count: RevisionCount,
    modern: Option<bool>,
    /// Requests that declared it themselves.
    declared: u64,
}

/// All revisions of a session.
#[derive(Debug, Default)]
pub(super) struct Revisions {
    table: Vec<Revision>,
    numbers: Map<Arc<str>, RevisionId>,
    /// The one that was looked up last: requests in a row declare the same.
    newest: RevisionId,
    negotiated: Map<ClientKey, RevisionId>,
    /// The last counted requests in request order.
    last: VecDeque<(CallId, RevisionId)>,
    last_known: RevisionId,
    /// Requests `initialize`.
    greetings: u64,
    /// Requests under revisions that had no place in the table.
    pub(super) beyond: u64,
    /// Negotiated revisions that were forgotten.
    pub(super) negotiated_forgotten: u64,
}

/// A revision of 2026-07-28 or later; `None` when the word says nothing (session-model.md 14.1).
pub(super) fn is_modern(version: &str) -> Option<bool> {
    is_at_least(version, "2026-07-28")
}

/// A revision of `first` or later; `None` when the word says nothing.
pub(super) fn is_at_least(version: &str, first: &str) -> Option<bool> {
    let bytes = version.as_bytes();
    if bytes
        .get(..5)
        .is_some_and(|head| head.eq_ignore_ascii_case(b"draft"))
    {
        return Some(true);
    }
    let date = bytes.len() == 10
        && bytes.iter().enumerate().all(|(at, byte)| match at {
            4 | 7 => *byte == b'-',
            _ => byte.is_ascii_digit(),
        });
    date.then(|| version >= first)
}

impl Revisions {
    fn get(&self, id: RevisionId) -> Option<&Revision> {
        self.table.get(usize::from(id).checked_sub(1)?)
    }

    fn get_mut(&mut self, id: RevisionId) -> Option<&mut Revision> {
        self.table.get_mut(usize::from(id).checked_sub(1)?)
    }

    /// The number of a revision.
    pub(super) fn number(&mut self, version: &str) -> RevisionId {
        let newest = self.get(self.newest);
        if newest.is_some_and(|newest| *newest.count.version == *version) {
            return self.newest;
        }
        let id = match self.numbers.get(version) {
            Some(known) => *known,
            None if self.table.len() < MAX_REVISIONS => self.add(version),
            None => {
                self.beyond = self.beyond.saturating_add(1);
                return 0;
            }
        };
        self.newest = id;
        id
    }

    fn add(&mut self, version: &str) -> RevisionId {
        let version: Arc<str> = version.into();
        let id = RevisionId::try_from(self.table.len() + 1).unwrap_or(0);
        self.numbers.insert(Arc::clone(&version), id);
        self.table.push(Revision {
            modern: is_modern(&version),
            declared: 0,
            count: RevisionCount {
                version,
                requests: 0,
                id,
            },
        });
        id
    }

    /// Its name.
    pub(super) fn name(&self, id: RevisionId) -> Option<&Arc<str>> {
        self.get(id).map(|revision| &revision.count.version)
    }

    /// Whether it is of 2026-07-28 or later.
    pub(super) fn modern(&self, id: RevisionId) -> Option<bool> {
        self.get(id)?.modern
    }

    /// The revision that a request was made under: what it declared, else what was negotiated.
    pub(super) fn effective(&mut self, client: ClientKey, declared: Option<&str>) -> RevisionId {
        if let Some(declared) = declared {
            return self.number(declared);
        }
        // `initialize` comes before the server gave the HTTP session its name.
        let nameless = ClientKey { peer: 0, ..client };
        let known = self.negotiated.get(&client);
        let known = known.or_else(|| self.negotiated.get(&nameless));
        known.copied().unwrap_or(0)
    }

    /// Notes the revision that `initialize` agreed on.
    pub(super) fn negotiate(&mut self, client: ClientKey, version: &str) -> RevisionId {
        let id = self.number(version);
        if self.negotiated.len() >= MAX_NEGOTIATED {
            self.negotiated_forgotten += self.negotiated.len() as u64;
            self.negotiated.clear();
        }
        self.negotiated.insert(client, id);
        id
    }

    /// Notes a request `initialize`: it shows the era before it is answered.
    pub(super) fn greeting(&mut self) {
        self.greetings = self.greetings.saturating_add(1);
    }

    /// Counts a request of the client.
    pub(super) fn count(&mut self, call: CallId, counted: Counted) {
        let Some(revision) = self.get_mut(counted.revision) else {
            return;
        };
        revision.count.requests += 1;
        revision.declared += u64::from(counted.declared);
        let place = self.last.iter().rposition(|(known, _)| *known <= call);
        let place = place.map_or(0, |place| place + 1);
        self.last.insert(place, (call, counted.revision));
        if self.last.len() > MAX_LAST {
            self.last_known = self.last.pop_front().map_or(0, |(_, id)| id);
        }
    }

    /// Takes a probe back: it tells nothing of the session (session-model.md 14.2.2).
    pub(super) fn uncount(&mut self, call: CallId, counted: Counted) {
        if counted.greets {
            self.greetings = self.greetings.saturating_sub(1);
        }
        if let Some(revision) = self.get_mut(counted.revision) {
            let requests = &mut revision.count.requests;
            *requests = requests.saturating_sub(1);
            revision.declared = revision
                .declared
                .saturating_sub(u64::from(counted.declared));
        }
        // A retry of the same operation has the same index and is no probe.
        if let Some(place) = self.last.iter().rposition(|(known, _)| *known == call) {
            self.last.remove(place);
        }
    }

    /// The revision of the last counted request.
    pub(super) fn in_force(&self) -> Option<&Arc<str>> {
        let newest = self.last.back().map(|(_, id)| *id);
        self.name(newest.unwrap_or(self.last_known))
    }

    /// Every revision that requests were made under, in order of first appearance.
    pub(super) fn counts(&self) -> impl Iterator<Item = &RevisionCount> {
        let all = self.table.iter().map(|revision| &revision.count);
        all.filter(|count| count.requests > 0)
    }

    /// How the requests were made.
    pub(super) fn era(&self) -> Era {
        let old =
            |revision: &Revision| revision.modern == Some(false) && revision.count.requests > 0;
        let new = |revision: &Revision| revision.modern == Some(true) && revision.declared > 0;
        let legacy = self.greetings > 0 || self.table.iter().any(old);
        match (legacy, self.table.iter().any(new)) {
            (false, false) => Era::Unknown,
            (true, false) => Era::Legacy,
            (false, true) => Era::Modern,
            (true, true) => Era::Dual,
        }
    }
}
