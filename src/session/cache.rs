//! Caching hints of results, and requests for what the client still has a fresh copy of
//! (session-model.md 19).

use std::sync::Arc;

use super::{
    asked::{Asked, Cacheable, PageAsked},
    atoms::bounded,
    call::Call,
    freshness::Fresh,
    hops::{HopEntry, HopId, Side},
    listing::RunId,
    machine::{At, Machine},
    reading::{Params, ResultFacts, is_redacted},
    remark::Code,
    wording::shown,
};
use crate::{
    base::Timestamp,
    wire::{IdKey, json},
};

/// What a result says of its copies.
#[derive(Debug, Default)]
pub(super) struct Hints {
    /// `ttlMs` as declared, in milliseconds.
    ttl: Option<i64>,
    /// `cacheScope` as declared.
    scope: Option<Arc<str>>,
}

impl Hints {
    /// When a copy that came with this frame goes stale, in nanoseconds.
    pub(super) fn until(&self, at: &At) -> i64 {
        match (self.ttl, at.ts) {
            (Some(ttl @ 1..), Some(ts)) => {
                ts.as_nanos().saturating_add(ttl.saturating_mul(1_000_000))
            }
            _ => i64::MIN,
        }
    }
}

impl Machine {
    /// Reads the hints of a result that owes them, keeps them on its frame and judges them.
    pub(super) fn hints(&mut self, at: &At, asked: &Asked, read: &ResultFacts<'_>) -> Hints {
        let kind = read.raw.result_type;
        let exactly = read.result_type.as_deref() == Some("complete");
        let readable = kind.is_none_or(|kind| !is_redacted(kind, at.redacted));
        if !asked.owes_hints || !readable || !(exactly || kind.is_none()) {
            return Hints::default();
        }
        let hints = Hints {
            ttl: self.ttl(at, read.raw.ttl, exactly),
            scope: self.scope(at, read.raw.cache_scope, exactly),
        };
        if (hints.ttl.is_some() || hints.scope.is_some())
            && let Some(extra) = self.extra_mut(at.row)
        {
            extra.cache_ttl_ms = hints.ttl;
            extra.cache_scope.clone_from(&hints.scope);
        }
        hints
    }

    /// A hint that is there and can be read; `missing` is said where it is owed and not there.
    fn hint<'a>(
        &mut self,
        at: &At,
        value: Option<&'a [u8]>,
        missing: Option<(Code, &'static str)>,
    ) -> Option<&'a [u8]> {
        let value = value.filter(|value| *value != b"null");
        if let (None, Some((code, said))) = (value, missing) {
            self.remark(at.row, code, said);
        }
        value.filter(|value| !is_redacted(value, at.redacted))
    }

    fn ttl(&mut self, at: &At, value: Option<&[u8]>, exactly: bool) -> Option<i64> {
        let missing = "server: the result is complete and has no `ttlMs`";
        let value = self.hint(
            at,
            value,
            exactly.then_some((Code::CacheTtlMissing, missing)),
        )?;
        let Some(ttl) = milliseconds(value) else {
            let said = format!("server: `ttlMs` is {} and not an integer", shown(value));
            self.remark(at.row, Code::CacheTtlType, said);
            return None;
        };
        if ttl < 0 {
            let said = format!("server: `ttlMs` is {}, below 0", shown(value));
            self.remark(at.row, Code::CacheTtlNegative, said);
        }
        Some(ttl)
    }

    fn scope(&mut self, at: &At, value: Option<&[u8]>, exactly: bool) -> Option<Arc<str>> {
        let missing = "server: the result is complete and has no `cacheScope`";
        let value = self.hint(
            at,
            value,
            exactly.then_some((Code::CacheScopeMissing, missing)),
        )?;
        let scope = json::string(value).filter(|scope| !scope.is_empty());
        if !matches!(scope.as_deref(), Some("public" | "private")) {
            let said = format!(
                "server: `cacheScope` is {} and neither `public` nor `private`",
                shown(value)
            );
            self.remark(at.row, Code::CacheScope, said);
        }
        Some(bounded(scope?).into())
    }

    /// The pages of one run have one scope; a page whose own first page may be one that was not seen is
    /// not judged (session-model.md 19.2).
    pub(super) fn scope_of_run(
        &mut self,
        at: &At,
        hop: HopId,
        asked: &Asked,
        run: Option<RunId>,
        hints: &Hints,
    ) {
        let (Some(id), Some(scope)) = (run, &hints.scope) else {
            return;
        };
        let Some(run) = self.listings.run_mut(id).filter(|run| !run.is_orphan) else {
            return;
        };
        if asked.page == PageAsked::First {
            run.scope = Some(Arc::clone(scope));
            return;
        }
        let (first, answered, of) = (run.scope.clone(), run.answered, (run.kind, run.client));
        let is_own = |hop: &HopEntry| hop.client.is_surely(of.1);
        let unread = (self.listings.of(of.0).unread)
            .max(self.unseen.answer)
            .max(*self.last_unlinked.get(Side::Server));
        if unread > answered || !self.hops.get(hop).is_some_and(is_own) {
            return;
        }
        if let Some(first) = first.filter(|first| first != scope) {
            let said = format!(
                "server: this page has the `cacheScope` {}, the first page of the listing has {}",
                shown(scope.as_bytes()),
                shown(first.as_bytes()),
            );
            self.remark_since(at, answered, Code::CacheScopeChanged, said);
        }
    }

    /// Notes the copy that the client has from now on; a late answer leaves none.
    pub(super) fn keep_fresh(
        &mut self,
        at: &At,
        hop: HopId,
        asked: &Asked,
        run: Option<RunId>,
        hints: &Hints,
    ) {
        let Some(key) = asked.key else { return };
        let call = self.hops.get(hop).and_then(|hop| self.call(hop.call));
        if !call.is_some_and(|call| Call::is_open(&call)) {
            return;
        }
        let (until, received) = (hints.until(at), at.ts.map(Timestamp::as_nanos));
        match received {
            Some(received) if until > received => {
                let fresh = Fresh {
                    received,
                    until,
                    seq: at.row.seq,
                    run,
                };
                self.caches.fresh.insert(key, fresh);
            }
            _ => {
                self.caches.fresh.remove(&key);
            }
        }
    }

    /// Remarks on a request for what the client has a fresh copy of (session-model.md 19.3).
    pub(super) fn refetched(&mut self, at: &At, asked: &Asked, params: &Params<'_>) {
        let (Some(key), Some(now)) = (asked.key, at.ts) else {
            return;
        };
        let now = now.as_nanos();
        let Some(fresh) = self.caches.fresh.get(&key).copied() else {
            return;
        };
        if now >= fresh.until || at.hole > fresh.seq.0 || self.may_doubt(at, asked, params, fresh) {
            return;
        }
        let millis = |nanos: i64| nanos.max(0) / 1_000_000;
        let said = format!(
            "client: asked again {} ms after an answer that it may use for {} ms",
            millis(now.saturating_sub(fresh.received)),
            millis(fresh.until.saturating_sub(fresh.received)),
        );
        self.remark_since(at, fresh.seq, Code::CacheRefetch, said);
    }

    /// True when something happened since that is a reason to ask again.
    fn may_doubt(&self, at: &At, asked: &Asked, params: &Params<'_>, fresh: Fresh) -> bool {
        if self.caches.has_doubt(at.client, asked.what, fresh.seq) {
            return true;
        }
        match asked.what {
            Cacheable::Discover => false,
            Cacheable::Read => {
                let uri = params.raw.uri.and_then(json::string);
                uri.is_none_or(|uri| self.caches.changed_since(&uri, fresh.seq))
            }
            Cacheable::List(kind) => {
                self.listings.of(kind).changed > fresh.seq
                    || asked.page == PageAsked::First && self.is_torn(at, fresh)
            }
        }
    }

    /// True when a page of the run that the copy began is stale or was refused: a client that wants
    /// one state of the whole list begins anew. Also when the run is no longer known.
    fn is_torn(&self, at: &At, fresh: Fresh) -> bool {
        let now = at.ts.map_or(i64::MAX, Timestamp::as_nanos);
        let run = fresh.run.and_then(|run| self.listings.run(run));
        run.is_none_or(|run| run.cursor_failed || run.chain.iter().any(|slot| now >= slot.until))
    }
}

/// An integer by value, `6e4` included; one that is too large stands for the largest.
fn milliseconds(value: &[u8]) -> Option<i64> {
    let IdKey::Number {
        negative,
        digits,
        exponent: exponent @ 0..,
    } = IdKey::read(value)?
    else {
        return None;
    };
    if digits.is_empty() {
        return Some(0);
    }
    let power = u32::try_from(exponent)
        .ok()
        .and_then(|power| 10_i64.checked_pow(power));
    let size: Option<i64> = digits.parse().ok();
    let size = size
        .zip(power)
        .and_then(|(size, power)| size.checked_mul(power));
    let size = size.unwrap_or(i64::MAX);
    Some(if negative { -size } else { size })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_count_by_value_and_huge_ones_saturate() {
        let cases = [
            ("60000", Some(60_000)),
            ("60000.0", Some(60_000)),
            ("6e4", Some(60_000)),
            ("-0", Some(0)),
            ("0", Some(0)),
            ("-5", Some(-5)),
            ("9007199254740991", Some(9_007_199_254_740_991)),
            ("99999999999999999999", Some(i64::MAX)),
            ("1e400000", Some(i64::MAX)),
            ("-1e30", Some(-i64::MAX)),
            ("1.5", None),
            ("1e-1", None),
            ("\"60\"", None),
            ("true", None),
            ("{}", None),
        ];
        for (value, expected) in cases {
            assert_eq!(milliseconds(value.as_bytes()), expected, "{value}");
        }
    }
}
