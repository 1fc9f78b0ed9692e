//! HTTP answers without a JSON-RPC message, and the calls that they fail (session-model.md 8.1).

use super::{
    call::CallState,
    classify::Parts,
    fact::Fact,
    hops::{HopId, Side},
    key::Key,
    machine::{At, Machine},
    refused::{Answered, Verdict},
    stored::Stored,
};
use crate::record::HttpFields;

impl Machine {
    /// Folds an HTTP answer without a JSON-RPC message (session-model.md 8.1).
    pub(super) fn transport(&mut self, at: &At, http: Option<&HttpFields>, facts: &mut Vec<Fact>) {
        let has_body = self.rows.by_id(at.row).is_some_and(Stored::has_body);
        if at.status < 400 || self.is_sanctioned(at, http, has_body) {
            return;
        }
        let verdict = Verdict {
            fails: true,
            ..Verdict::default()
        };
        if !self.refuse_exchange(at, &verdict, facts) {
            self.mark_errored(at.row);
            self.note_refused_exchange(at, facts);
        }
    }

    /// An error with a status that names no request: true when that is all there is to say of it,
    /// because it was allowed or refused every request of its exchange.
    pub(super) fn refuse_nameless(
        &mut self,
        at: &At,
        http: Option<&HttpFields>,
        parts: &Parts<'_>,
        key: Option<&Key>,
        facts: &mut Vec<Fact>,
    ) -> bool {
        if at.status < 400 || at.side != Side::Server {
            return false;
        }
        if self.is_sanctioned(at, http, true) {
            return true;
        }
        let verdict = Verdict::read(at, None, parts);
        self.note_code(at, false, verdict.code);
        let names_none =
            key.is_none_or(|key| self.hops.with_key(Side::Client, key).next().is_none());
        if names_none && self.refuse_exchange(at, &verdict, facts) {
            return true;
        }
        if self.hops.exchanges.is_idle(at.exchange) {
            self.note_refused_exchange(at, facts);
        }
        false
    }

    /// Settles every waiting call of an exchange; false when there is none.
    fn refuse_exchange(&mut self, at: &At, verdict: &Verdict, facts: &mut Vec<Fact>) -> bool {
        let all = self.hops.exchanges.of(at.exchange, Side::Client);
        let hops: Vec<_> = all.collect();
        let mut errored = false;
        for hop in &hops {
            errored |= self.refuse(at, *hop, verdict, facts);
        }
        if errored {
            self.mark_errored(at.row);
        }
        !hops.is_empty()
    }

    /// A refusal of GET or DELETE, which servers may give.
    pub(super) fn is_sanctioned(&self, at: &At, http: Option<&HttpFields>, has_body: bool) -> bool {
        if !matches!(at.status, 404 | 405) {
            return false;
        }
        match http.and_then(|http| http.http_method.as_deref()) {
            Some(method) => {
                method.eq_ignore_ascii_case("GET") || method.eq_ignore_ascii_case("DELETE")
            }
            None if at.exchange != 0 => !self.exchanges.contains(&at.exchange),
            None => !has_body && !self.hops.waits_on(at.conn),
        }
    }

    /// Settles the call of a waiting hop that HTTP refused or failed; true when that is an error.
    pub(super) fn refuse(
        &mut self,
        at: &At,
        hop: HopId,
        verdict: &Verdict,
        facts: &mut Vec<Fact>,
    ) -> bool {
        let Some(entry) = self.hops.get(hop).filter(|hop| hop.side == Side::Client) else {
            return false;
        };
        let asked = Answered::of(entry);
        if at.status < 500 || at.undelivered {
            self.attempt_answered(hop);
        }
        self.hops.stop(hop);
        if let Some(entry) = self.hops.get_mut(hop) {
            entry.freed = true;
        }
        self.tie(at.row, asked.call);
        let errored = self.change(asked.call, facts, |call| {
            call.waiting_hops.retain(|waiting| *waiting != hop);
            call.link(at.row);
            if call.is_open() {
                call.charge(at.ts, true);
                call.state = CallState::Failed;
                (call.errored, call.refused) = (call.resolved.is_none(), true);
                (call.end, call.http_status) = (at.ts, at.status);
                call.undelivered = at.undelivered;
                return call.errored;
            }
            false
        });
        if errored == Some(true) {
            self.refusals.failed(at.row);
            self.note_refusal(at, &asked, verdict, facts);
        }
        errored == Some(true)
    }

    /// Notes the status of an error that answers a request. One that does not name the request comes
    /// from in front of the server and gives no duration (session-model.md 17).
    pub(super) fn note_status(
        &mut self,
        at: &At,
        hop: HopId,
        verdict: &Verdict,
        facts: &mut Vec<Fact>,
    ) {
        if at.status < 400 || !verdict.fails {
            return;
        }
        if let Some(call) = self.hops.get(hop).map(|hop| hop.call) {
            self.change(call, facts, |call| {
                // What is over keeps how it ended (session-model.md 5.2).
                if call.is_open() || call.awaits_late {
                    call.http_status = at.status;
                    call.refused |= !verdict.own_id;
                }
            });
        }
    }
}
