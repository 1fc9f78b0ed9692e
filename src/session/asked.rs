//! What is kept of a request for a listing or another result that may be cached, until its answer
//! comes (session-model.md 4.3, 15.1, 19).

use super::{
    canonical,
    classify::Parts,
    definition::ListKind,
    hops::Side,
    listing::{Cursor, RunId},
    machine::{At, Machine},
    reading::{Known, Params, digest_of},
    revisions,
};

/// Methods whose results may be cached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cacheable {
    Discover,
    List(ListKind),
    Read,
}

impl Cacheable {
    pub(super) fn of(method: &str) -> Option<Self> {
        Some(match method {
            "tools/list" => Self::List(ListKind::Tools),
            "prompts/list" => Self::List(ListKind::Prompts),
            "resources/list" => Self::List(ListKind::Resources),
            "resources/templates/list" => Self::List(ListKind::Templates),
            "resources/read" => Self::Read,
            "server/discover" => Self::Discover,
            _ => return None,
        })
    }
}

/// The page that a request for a listing asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PageAsked {
    /// The first of a new run.
    First,
    /// A further one of a run.
    Of(RunId, Cursor),
    /// One of which nobody knows where it belongs; its cursor, if it can be read.
    Orphan(Option<Cursor>),
}

/// Such a request.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) what: Cacheable,
    pub(super) page: PageAsked,
    /// It declared a revision that knows hints, and continues nothing: its result owes them.
    pub(super) owes_hints: bool,
    /// Under which a copy of the result is found again.
    pub(super) key: Option<u64>,
}

impl Machine {
    /// Reads such a request; `None` for all others. Remarks when the client has a fresh copy.
    pub(super) fn ask(
        &mut self,
        at: &At,
        parts: &Parts<'_>,
        params: &Params<'_>,
        declared: Option<&str>,
    ) -> Option<Box<Asked>> {
        if at.side != Side::Client {
            return None;
        }
        let what = Cacheable::of(parts.method.as_deref()?)?;
        let page = match what {
            Cacheable::List(kind) => self.page_asked(at, kind, params),
            Cacheable::Discover | Cacheable::Read => PageAsked::First,
        };
        let modern = declared.and_then(revisions::is_modern) == Some(true);
        let owes_hints = modern && !params.may_be_retry();
        let key = declared
            .filter(|_| owes_hints && !at.truncated)
            .and_then(|version| cache_key(at, what, (parts, params), version));
        let asked = Asked {
            what,
            page,
            owes_hints,
            key,
        };
        self.refetched(at, &asked, params);
        Some(Box::new(asked))
    }

    fn page_asked(&mut self, at: &At, kind: ListKind, params: &Params<'_>) -> PageAsked {
        let cursor = match params.raw.cursor {
            _ if at.truncated => Known::Unknown,
            None => Known::Absent,
            Some(value) => digest_of(value, at.redacted),
        };
        match cursor {
            Known::Absent => PageAsked::First,
            Known::Unknown => PageAsked::Orphan(None),
            Known::Is(cursor) => match self.listings.run_of(kind, cursor, at.client) {
                Some(run) => PageAsked::Of(run, cursor),
                None => PageAsked::Orphan(Some(cursor)),
            },
        }
    }
}

/// Client, over HTTP without a key of its own also its connection; method; parameters; revision
/// (session-model.md 19.3).
fn cache_key(
    at: &At,
    what: Cacheable,
    (parts, params): (&Parts<'_>, &Params<'_>),
    version: &str,
) -> Option<u64> {
    let nothing = (parts.params.is_none() && !at.redacted).then_some(0);
    let mut base = params.base.or(nothing)?;
    // No cursor and a cursor of `null` are one.
    if let Some(cursor) = params.raw.cursor.filter(|cursor| *cursor == b"null") {
        base = base.wrapping_sub(canonical::member(b"cursor", cursor));
    }
    let conn = if at.http && at.client.peer == 0 {
        at.conn
    } else {
        0
    };
    let what = match what {
        Cacheable::Discover => 1,
        Cacheable::Read => 2,
        Cacheable::List(kind) => 3 + kind as u64,
    };
    let client = canonical::mix(at.client.number(), conn.into());
    let key = canonical::mix(canonical::name(version.as_bytes()), what);
    Some(canonical::mix(canonical::mix(base, client), key))
}
