//! Copies that clients hold of results, and what happened since that may make them doubt these
//! (session-model.md 19.3). Where something was forgotten, nobody is accused.

use super::{
    asked::Cacheable, canonical, definition::ListKind, hops::ClientKey, listing::RunId,
    reading::member_text, recent::Recent,
};
use crate::record::Seq;

/// Copies, doubts and updated resources that are remembered, each (session-model.md 22.3).
const MAX_ENTRIES: usize = 4_096;
/// Parts of a URI that are told apart; one with more is taken as all.
const MAX_PARTS: usize = 64;

/// One copy that a client holds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fresh {
    /// When it came, in nanoseconds.
    pub(super) received: i64,
    /// When it goes stale.
    pub(super) until: i64,
    /// Number of the answer.
    pub(super) seq: Seq,
    /// The listing that it is a page of.
    pub(super) run: Option<RunId>,
}

/// What a failed request makes a client doubt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Area {
    Tools,
    Prompts,
    Resources,
    Discovery,
}

impl Area {
    fn of(what: Cacheable) -> Self {
        match what {
            Cacheable::List(ListKind::Tools) => Self::Tools,
            Cacheable::List(ListKind::Prompts) => Self::Prompts,
            Cacheable::List(_) | Cacheable::Read => Self::Resources,
            Cacheable::Discover => Self::Discovery,
        }
    }

    /// Those that a method belongs to.
    fn of_method(method: &str) -> &'static [Self] {
        match method.split_once('/').map(|(area, _)| area) {
            Some("tools") => &[Self::Tools],
            Some("prompts") => &[Self::Prompts],
            Some("resources") => &[Self::Resources],
            Some("completion") => &[Self::Prompts, Self::Resources],
            Some("server") => &[Self::Discovery],
            _ => &[],
        }
    }
}

/// Numbers of the last event for each of some keys; of what was forgotten only the newest is known.
#[derive(Debug)]
struct Last<K> {
    of: Recent<K, Seq>,
    forgotten: Seq,
}

impl<K: Copy + Eq + std::hash::Hash> Last<K> {
    fn new() -> Self {
        Self {
            of: Recent::new(MAX_ENTRIES),
            forgotten: Seq(0),
        }
    }

    fn note(&mut self, key: K, seq: Seq) {
        if let Some(known) = self.of.use_of(key) {
            *known = seq.max(*known);
        } else if let Some(left) = self.of.insert(key, seq) {
            self.forgotten = self.forgotten.max(left);
        }
    }

    fn is_after(&self, key: &K, seq: Seq) -> bool {
        self.forgotten > seq || self.of.get(key).is_some_and(|last| *last > seq)
    }
}

/// All copies of a session.
#[derive(Debug)]
pub(super) struct Caches {
    pub(super) fresh: Recent<u64, Fresh>,
    doubts: Last<(ClientKey, Area)>,
    /// Resources that changed.
    updated: Last<u64>,
    /// Those that have a changed one below them.
    above_updated: Last<u64>,
    /// The last change of an unknown resource.
    any_updated: Seq,
}

impl Default for Caches {
    fn default() -> Self {
        Self {
            fresh: Recent::new(MAX_ENTRIES),
            doubts: Last::new(),
            updated: Last::new(),
            above_updated: Last::new(),
            any_updated: Seq(0),
        }
    }
}

impl Caches {
    /// Forgets all copies, and with them what could make one old.
    pub(super) fn release(&mut self) {
        self.fresh.release();
        self.doubts.of.release();
        self.updated.of.release();
        self.above_updated.of.release();
    }

    /// Doubts and updates of which only the newest is known.
    pub(super) fn forgotten_events(&self) -> u64 {
        let events = [self.updated.of.dropped(), self.above_updated.of.dropped()];
        self.doubts.of.dropped() + events.iter().sum::<u64>()
    }

    /// A client's request failed: it may fetch again what the method belongs to.
    pub(super) fn doubt(&mut self, client: ClientKey, method: &str, seq: Seq) {
        for area in Area::of_method(method) {
            self.doubts.note((client, *area), seq);
        }
    }

    /// True when the client had reason to doubt since.
    pub(super) fn has_doubt(&self, client: ClientKey, what: Cacheable, seq: Seq) -> bool {
        self.doubts.is_after(&(client, Area::of(what)), seq)
    }

    /// A resource changed.
    pub(super) fn updated(&mut self, params: Option<&[u8]>, redacted: bool, seq: Seq) {
        let uri = params.and_then(|params| member_text(params, "uri", redacted));
        let Some(uri) = uri.filter(|uri| parts(uri).count() <= MAX_PARTS) else {
            self.any_updated = seq;
            return;
        };
        self.updated.note(whole(&uri), seq);
        for above in parts(&uri) {
            self.above_updated.note(above, seq);
        }
    }

    /// True when a resource, one above it or one below it changed since.
    pub(super) fn changed_since(&self, uri: &str, seq: Seq) -> bool {
        self.any_updated > seq
            || parts(uri).count() > MAX_PARTS
            || self.updated.is_after(&whole(uri), seq)
            || self.above_updated.is_after(&whole(uri), seq)
            || parts(uri).any(|above| self.updated.is_after(&above, seq))
    }
}

fn whole(uri: &str) -> u64 {
    canonical::name(uri.trim_end_matches('/').as_bytes())
}

/// Everything that lies above a URI, one more than are told apart at most.
fn parts(uri: &str) -> impl Iterator<Item = u64> {
    uri.trim_end_matches('/')
        .match_indices(['/', '?', '#'])
        .filter_map(|(at, _)| uri.get(..at))
        .map(whole)
        .take(MAX_PARTS + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_resource_drops_itself_what_is_below_and_what_is_above() {
        let cases = [
            ("file:///a/b", "file:///a/b", true),
            ("file:///a/b/", "file:///a/b", true),
            ("file:///a", "file:///a/b", true),
            ("file:///a/b?x=1", "file:///a/b", true),
            ("file:///a/b/c", "file:///a", true),
            ("file:///a/b", "file:///a/c", false),
            ("file:///a/bc", "file:///a/b", false),
            ("file:///a/b", "file:///a/bc", false),
            ("note://x", "file:///x", false),
        ];
        for (uri, changed, dropped) in cases {
            let mut caches = Caches::default();
            let params = format!("{{\"uri\":\"{changed}\"}}");
            caches.updated(Some(params.as_bytes()), false, Seq(7));
            assert_eq!(
                caches.changed_since(uri, Seq(6)),
                dropped,
                "{uri} {changed}"
            );
            assert!(!caches.changed_since(uri, Seq(7)), "{uri} {changed}");
        }
    }

    #[test]
    fn what_cannot_be_told_apart_drops_all() {
        let deep = format!("{{\"uri\":\"x:{}\"}}", "/a".repeat(100));
        let cases: [(Option<&str>, bool); 4] = [
            (None, false),
            (Some("{\"uri\":1}"), false),
            (Some("{\"uri\":\"[REDACTED]\"}"), true),
            (Some(&deep), false),
        ];
        for (params, redacted) in cases {
            let mut caches = Caches::default();
            caches.updated(params.map(str::as_bytes), redacted, Seq(7));
            assert!(caches.changed_since("file:///other", Seq(6)), "{params:?}");
        }
        let mut caches = Caches::default();
        for at in 0..=MAX_ENTRIES {
            let params = format!("{{\"uri\":\"u{at}\"}}");
            caches.updated(Some(params.as_bytes()), false, Seq(at as u64 + 1));
        }
        assert!(caches.changed_since("u0", Seq(0)) && !caches.changed_since("u0", Seq(1)));
    }
}
