//! HTTP answers without a JSON-RPC message, and the calls that they fail (session-model.md 8.1).

use super::{
    call::CallState,
    fact::Fact,
    hops::{HopId, Side},
    machine::{At, Machine},
};
use crate::record::HttpFields;

impl Machine {
    /// Folds an HTTP answer without a JSON-RPC message (session-model.md 8.1).
    pub(super) fn transport(&mut self, at: &At, http: Option<&HttpFields>, facts: &mut Vec<Fact>) {
        let has_body = self.rows.by_id(at.row).is_some_and(|row| row.has_body);
        if at.status < 400 || self.is_sanctioned(at, http, has_body) {
            return;
        }
        self.mark_errored(at.row);
        self.attempt_refused(at, http);
        for hop in self.hops.of_exchange(at.exchange).to_vec() {
            self.refuse(at, hop, facts);
        }
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

    /// Settles the call of a waiting hop that HTTP refused or failed.
    pub(super) fn refuse(&mut self, at: &At, hop: HopId, facts: &mut Vec<Fact>) {
        let Some(entry) = self.hops.get(hop).filter(|hop| hop.side == Side::Client) else {
            return;
        };
        let id = entry.call;
        self.hops.stop(hop);
        self.tie(at.row, id);
        self.change(id, facts, |call| {
            call.waiting_hops.retain(|waiting| *waiting != hop);
            call.link(at.row);
            if call.is_open() {
                call.charge(at.ts, true);
                call.state = CallState::Failed;
                (call.errored, call.refused) = (true, true);
                (call.end, call.http_status) = (at.ts, at.status);
            }
        });
    }
}
