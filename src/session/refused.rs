//! Refusals that the protocol makes part of a normal flow, from the frame that refuses to the frame
//! that makes it good (session-model.md 8.4).

use std::sync::Arc;

use super::{
    call::{CallId, Resolved},
    classify::Parts,
    fact::Fact,
    hops::{ClientKey, HopEntry, HopId, Side},
    machine::{At, Machine},
    probes::MODERN_ERRORS,
    reading::{self, ErrorFacts},
    remark::Code,
    resolving::{Need, Needs, Refusal, Which},
    revisions::Counted,
    stated::Versions,
};
use crate::record::Seq;

/// A server does not know the revision of the request.
const UNSUPPORTED_VERSION: i64 = -32_022;
/// The headers contradict the body.
const HEADER_MISMATCH: i64 = -32_020;
/// The user has to be asked elsewhere first (2025-11-25).
const URL_ELICITATION: i64 = -32_042;
/// A resource is not there (up to 2025-11-25).
const RESOURCE_NOT_FOUND: i64 = -32_002;

/// The request that an answer belongs to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Answered {
    pub(super) call: CallId,
    pub(super) client: ClientKey,
    pub(super) counted: Counted,
    pub(super) seq: Seq,
    pub(super) exchange: u64,
    /// It declared a revision of 2026-07-28 or later.
    pub(super) modern: bool,
}

impl Answered {
    pub(super) fn of(hop: &HopEntry) -> Self {
        Self {
            call: hop.call,
            client: hop.client,
            counted: hop.counted,
            seq: hop.seq,
            exchange: hop.exchange,
            modern: hop.declared == Some(true),
        }
    }
}

/// What an answer says about a refusal.
#[derive(Clone, Debug, Default)]
pub(super) struct Verdict {
    pub(super) fails: bool,
    pub(super) code: Option<i64>,
    /// The answer is a JSON-RPC message with the id of the request.
    pub(super) own_id: bool,
    /// Versions that an error -32022 offers.
    pub(super) supported: Versions,
}

impl Verdict {
    /// Reads an answer.
    pub(super) fn read(at: &At, hop: Option<&HopEntry>, parts: &Parts<'_>) -> Self {
        if parts.error.is_none() && parts.result.is_some() {
            return Self::default();
        }
        let error = parts.error.unwrap_or_default();
        let code = ErrorFacts::read(error).code;
        let key = parts.id.and_then(|id| reading::key_of(id, at.redacted));
        Self {
            fails: true,
            code,
            own_id: key.is_some() && hop.is_some_and(|hop| hop.key == key),
            supported: match code {
                Some(UNSUPPORTED_VERSION) => reading::offered_versions(error, at.redacted),
                _ => Versions::default(),
            },
        }
    }
}

impl Machine {
    /// Looks at the first answer of a request of the client; `errored` when it made its call so.
    pub(super) fn judge(
        &mut self,
        at: &At,
        hop: HopId,
        (verdict, errored): (&Verdict, bool),
        facts: &mut Vec<Fact>,
    ) {
        let Some(hop) = self.hops.get(hop).filter(|hop| hop.side == Side::Client) else {
            return;
        };
        let asked = Answered::of(hop);
        if at.status < 400 {
            self.overcome(&asked, facts);
        }
        if !verdict.fails {
            self.refusals.succeeded(asked.client);
            if asked.counted.greets {
                self.refusals.greeted(asked.client);
                self.greeted(&asked, facts);
            }
            return;
        }
        self.note_code(at, asked.modern, verdict.code);
        if let (Some(UNSUPPORTED_VERSION), false) =
            (verdict.code, verdict.supported.list.is_empty())
        {
            self.peers.stated.supports(verdict.supported.clone());
        }
        if errored && !at.cut {
            self.note_refusal(at, &asked, verdict, facts);
        }
    }

    /// Marks what the code alone tells (session-model.md 8.1, 8.5).
    pub(super) fn note_code(&mut self, at: &At, modern: bool, code: Option<i64>) {
        if at.side != Side::Server {
            return;
        }
        match code {
            Some(HEADER_MISMATCH) => {
                if let Some(extra) = self.extra_mut(at.row) {
                    extra.mismatch = true;
                }
            }
            Some(RESOURCE_NOT_FOUND) if modern => self.remark(
                at.row,
                Code::RetiredCode,
                "server: answered with -32002, which 2026-07-28 retired; a missing resource is -32602",
            ),
            Some(URL_ELICITATION) if modern => self.remark(
                at.row,
                Code::RetiredCode,
                "server: answered with -32042, which 2026-07-28 retired; it asks with an interim \
                 result instead",
            ),
            _ => {}
        }
    }

    /// Remembers a refused call, if anything can make it good.
    pub(super) fn note_refusal(
        &mut self,
        at: &At,
        asked: &Answered,
        verdict: &Verdict,
        facts: &mut Vec<Fact>,
    ) {
        let mut counted = asked.counted;
        if verdict.code == Some(UNSUPPORTED_VERSION) {
            self.peers.was_probe(asked.call, counted);
            counted = Counted::default();
        }
        let needs = self.needs(at, asked, verdict);
        if needs.is_empty() {
            return;
        }
        self.change(asked.call, facts, |call| call.may_change = true);
        self.remember(
            Refusal {
                call: Some(asked.call),
                row: at.row,
                seq: asked.seq,
                exchange: asked.exchange,
                client: asked.client,
                counted,
                needs,
            },
            facts,
        );
        if asked.counted.discovers {
            self.probe_refused(at, asked.call, counted, facts);
        }
    }

    /// What would make a refused call good; nothing for one that is no error.
    fn needs(&self, at: &At, asked: &Answered, verdict: &Verdict) -> Needs {
        let mut needs = Needs::new();
        let Some(call) = self.call(asked.call).filter(|call| call.errored) else {
            return needs;
        };
        let operation = || Need::Operation(Arc::clone(&call.method), call.operation.clone());
        if at.challenge {
            needs.push((operation(), Resolved::Auth));
        }
        if verdict.code == Some(URL_ELICITATION) && !asked.modern {
            needs.push((operation(), Resolved::Elicitation));
        }
        for version in &verdict.supported.list {
            needs.push((Need::Version(Arc::clone(version)), Resolved::Version));
        }
        let of_modern = verdict
            .code
            .is_some_and(|code| MODERN_ERRORS.contains(&code));
        let first = matches!(at.status, 400 | 404 | 405)
            && !of_modern
            && !self.refusals.had_success(asked.client);
        if asked.counted.discovers || first {
            needs.push((Need::Greeting, Resolved::Era));
        } else if at.status == 404 && !verdict.own_id && self.refusals.was_greeted(asked.client) {
            needs.push((Need::Greeting, Resolved::Session));
        }
        needs
    }

    /// Remembers an exchange without a request that was refused for want of authorization.
    pub(super) fn note_refused_exchange(&mut self, at: &At, facts: &mut Vec<Fact>) {
        if !at.challenge || at.exchange == 0 {
            return;
        }
        let mut needs = Needs::new();
        needs.push((Need::Exchange, Resolved::Auth));
        self.refusals.failed(at.row);
        self.remember(
            Refusal {
                call: None,
                row: at.row,
                seq: at.row.seq,
                exchange: at.exchange,
                client: at.client,
                counted: Counted::default(),
                needs,
            },
            facts,
        );
    }

    fn remember(&mut self, refusal: Refusal, facts: &mut Vec<Fact>) {
        if let Some(given_up) = self.refusals.add(refusal)
            && let Some(call) = given_up.call
        {
            self.change(call, facts, |call| call.may_change = false);
            self.let_go(call);
        }
    }

    /// A call of the client ended without HTTP failure.
    fn overcome(&mut self, asked: &Answered, facts: &mut Vec<Fact>) {
        if self.refusals.is_empty() {
            return;
        }
        let Some(call) = self.call(asked.call) else {
            return;
        };
        let need = Need::Operation(Arc::clone(&call.method), call.operation.clone());
        drop(call);
        let before = Which::Before(asked.seq);
        self.make_good(&need, &[Resolved::Auth], asked.client, before, facts);
    }

    /// The client sends a new call, under a version that it names or not.
    pub(super) fn asks_again(
        &mut self,
        at: &At,
        call: CallId,
        version: Option<&str>,
        facts: &mut Vec<Fact>,
    ) {
        if self.refusals.is_empty() {
            return;
        }
        let client = at.client;
        if let Some(version) = version {
            let need = Need::Version(version.into());
            self.make_good(&need, &[Resolved::Version], client, Which::All, facts);
        }
        let Some(asked) = self.call(call) else {
            return;
        };
        let need = Need::Operation(Arc::clone(&asked.method), asked.operation.clone());
        drop(asked);
        self.make_good(&need, &[Resolved::Elicitation], client, Which::All, facts);
    }

    /// An exchange of the client that HTTP did not refuse.
    pub(super) fn exchange_went_well(&mut self, at: &At, facts: &mut Vec<Fact>) {
        if self.refusals.is_empty() || at.side != Side::Server || !(1..400).contains(&at.status) {
            return;
        }
        let others = Which::Except(at.exchange);
        self.make_good(&Need::Exchange, &[Resolved::Auth], at.client, others, facts);
    }

    /// Resolves refusals of a client that waited for `need`.
    pub(super) fn make_good(
        &mut self,
        need: &Need,
        kinds: &[Resolved],
        client: ClientKey,
        which: Which,
        facts: &mut Vec<Fact>,
    ) {
        for (refusal, kind, is_last) in self.refusals.take(need, kinds, client, which) {
            let resolved = match refusal.call {
                Some(call) => self.resolve(call, kind, refusal.counted, facts),
                None => true,
            };
            if resolved && is_last {
                self.unmark_errored(refusal.row);
            }
        }
    }

    /// Takes the fault of a refused call back; false when that was done before.
    fn resolve(
        &mut self,
        id: CallId,
        kind: Resolved,
        counted: Counted,
        facts: &mut Vec<Fact>,
    ) -> bool {
        let resolved = self.change(id, facts, |call| {
            call.may_change = false;
            let faulty = call.errored && call.resolved.is_none();
            if faulty {
                (call.resolved, call.errored) = (Some(kind), false);
            }
            faulty
        });
        let resolved = resolved == Some(true);
        if resolved && kind == Resolved::Era {
            self.peers.was_probe(id, counted);
        }
        self.let_go(id);
        resolved
    }

    /// Cancelled calls whose request was forgotten wait for no late answer any more.
    pub(super) fn give_up_late_answers(&mut self, facts: &mut Vec<Fact>) {
        for id in self.hops.take_given_up() {
            self.change(id, facts, |call| call.awaits_late = false);
            self.let_go(id);
        }
    }

    /// Drops a call that was only kept because a later frame could change it.
    pub(super) fn let_go(&mut self, id: CallId) {
        let Some(call) = self.call(id) else { return };
        let last = call.last_row;
        drop(call);
        if self.rows.by_id(last).is_none() && self.calls.is_over_with(id, last) {
            self.drop_call(id);
        }
    }
}
