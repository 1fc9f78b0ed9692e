//! Requests: a call of its own, or the continuation of a parked one (session-model.md 4.3, 4.6, 11).

use std::sync::Arc;

use super::{
    atoms::clip,
    call::{Call, CallId, CallState, Hop, WaitingOn},
    classify::Parts,
    fact::Fact,
    hops::{HopEntry, Side},
    key::{JsonId, Key},
    machine::{At, Machine},
    parked::Shape,
    peers,
    reading::{self, Params},
    row::RowId,
};
use crate::{base::Timestamp, record::HttpFields};

impl Machine {
    /// Folds a request.
    pub(super) fn request(
        &mut self,
        at: &At,
        http: Option<&HttpFields>,
        parts: &Parts<'_>,
        facts: &mut Vec<Fact>,
    ) {
        let method = parts.method.as_deref().unwrap_or_default();
        let params = parts
            .params
            .map(|params| Params::read(params, at.redacted))
            .unwrap_or_default();
        let key = parts.id.and_then(|id| reading::key_of(id, at.redacted));
        let initializes = method == "initialize";
        let declared = match &params.declared {
            Some(version) => Some(version.as_ref()),
            None if initializes => None,
            None => {
                let header = http.and_then(|http| http.mcp_protocol_version.as_deref());
                header.map(|version| clip(version, 64))
            }
        };
        self.no_lone_probe(method, facts);
        let mut at = *at;
        self.identify(&mut at, http, &params, method);
        let call = if let Some(call) = self.continued(&at, method, &params) {
            self.retry(&at, call, facts);
            call
        } else {
            self.reuse(&at, key.as_ref(), facts);
            self.open_call(&at, method, parts, &params, facts)
        };
        let effective = self.peers.effective(at.client, declared);
        let revisions = (declared, effective.as_deref());
        self.add_hop(&at, call, key.clone(), parts, &params, revisions, facts);
        if at.side == Side::Client
            && !initializes
            && let Some(version) = effective
        {
            self.peers.made_under(call, version);
        }
        if let Some(key) = &key {
            self.answer_early(&at, key, facts);
        }
    }

    /// Who sends this request, and as whom.
    fn identify(
        &mut self,
        at: &mut At,
        http: Option<&HttpFields>,
        params: &Params<'_>,
        method: &str,
    ) {
        if at.side != Side::Client {
            return;
        }
        let declared = params.client.as_ref().map(|who| self.peers.declare(who));
        let client = self
            .peers
            .client_key(http, at.conn, declared, method == "initialize");
        self.peers.count(client.who);
        if at.http {
            at.client = client;
        }
    }

    /// The parked operation that this request continues.
    fn continued(&mut self, at: &At, method: &str, params: &Params<'_>) -> Option<CallId> {
        if !params.may_be_retry() {
            return None;
        }
        let shape = Shape {
            side: at.side,
            method: self.atoms.share(method),
            operation: self.operation(method, params),
            client: at.client,
            keys: params.answers.clone(),
            state: params.state.clone(),
            base: params.base,
        };
        self.parked.take(&shape)
    }

    fn operation(&mut self, method: &str, params: &Params<'_>) -> Option<Arc<str>> {
        let named = matches!(
            method,
            "tools/call"
                | "prompts/get"
                | "resources/read"
                | "resources/subscribe"
                | "resources/unsubscribe"
        );
        let name = params.operation.as_deref().filter(|_| named)?;
        Some(self.atoms.share(name))
    }

    fn retry(&mut self, at: &At, call: CallId, facts: &mut Vec<Fact>) {
        self.change(call, facts, |call| {
            call.charge(at.ts, false);
            call.state = CallState::Pending(WaitingOn::Responder);
            call.arrived = at.arrived;
        });
        if let Some(row) = self.rows.by_id_mut(at.row) {
            row.mark(|flags| flags.retry = true);
        }
    }

    fn open_call(
        &mut self,
        at: &At,
        method: &str,
        parts: &Parts<'_>,
        params: &Params<'_>,
        facts: &mut Vec<Fact>,
    ) -> CallId {
        let id = self.calls.next_id();
        let state = match method {
            "subscriptions/listen" => CallState::Streaming,
            _ => CallState::Pending(WaitingOn::Responder),
        };
        let mut call = Call::new(id, self.atoms.share(method), at.row.seq, state);
        call.operation = self.operation(method, params);
        call.from_client = at.side == Side::Client;
        call.is_tool = call.from_client && method == "tools/call";
        call.request_truncated = at.truncated && parts.id.is_some();
        (call.start, call.mark, call.arrived) = (at.ts, at.ts, at.arrived);
        self.open(call, facts);
        if method == "server/discover" && at.side == Side::Client {
            self.note_discover(id, at.client);
        }
        id
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "one place where everything that a hop keeps of its frame comes together"
    )]
    fn add_hop(
        &mut self,
        at: &At,
        call: CallId,
        key: Option<Key>,
        parts: &Parts<'_>,
        params: &Params<'_>,
        (declared, effective): (Option<&str>, Option<&str>),
        facts: &mut Vec<Fact>,
    ) {
        let json_id = parts.id.map(String::from_utf8_lossy).unwrap_or_default();
        let hop = Hop {
            request: at.row,
            json_id: JsonId::new(&json_id),
            sent: at.ts,
            answer: None,
        };
        let hole = self.last_hole();
        let index = self.change(call, facts, |call| {
            call.add_hop(hop);
            call.waiting_seq = at.row.seq;
            call.set_gap_after(hole);
            call.hop_count - 1
        });
        let entry = HopEntry {
            call,
            at: index.unwrap_or(0),
            side: at.side,
            key,
            conn: at.conn,
            exchange: at.exchange,
            client: at.client,
            answered: false,
            waiting: true,
            token: params.token.clone(),
            base: params.base.filter(|_| !at.truncated),
            seq: at.row.seq,
            declared: declared.and_then(peers::is_modern),
            effective: effective.and_then(peers::is_modern),
            wants_task: params.wants_task || at.truncated,
            task_id: params.task_id.as_deref().map(Arc::from),
            asked: self.ask(at, parts, params, declared),
            signature: self.signature(at, parts, params, index),
        };
        let hop = self.hops.add(entry);
        if let Some(call) = self.calls.get_mut(call, &self.atoms) {
            call.waiting_hops.push(hop);
        }
        self.tie(at.row, call);
        self.attempted(at, call, hop, facts);
    }

    /// An id that is taken while its request waits (session-model.md 4.6).
    fn reuse(&mut self, at: &At, key: Option<&Key>, facts: &mut Vec<Fact>) {
        let Some(key) = key else { return };
        let newest = self
            .hops
            .with_key(at.side, key)
            .find(|(_, hop)| hop.conn == at.conn && hop.client.agrees(at.client));
        let Some((_, hop)) = newest.filter(|(_, hop)| hop.waiting) else {
            return;
        };
        // A frame that was not recorded may be its answer: nobody is accused on that (2.3.5, 5.4).
        let call = self.call(hop.call);
        if call.is_some_and(|call| call.waiting_seq.0 < at.hole) {
            return;
        }
        let told_apart = at.side == Side::Client
            && at.exchange != 0
            && hop.exchange != 0
            && hop.exchange != at.exchange;
        if !told_apart {
            self.supersede(hop.call, at.ts, facts);
        }
    }

    fn supersede(&mut self, id: CallId, ts: Option<Timestamp>, facts: &mut Vec<Fact>) {
        let request = self.change(id, facts, |call| {
            call.charge(ts, call.responder_acts());
            call.state = CallState::Superseded;
            call.end = ts;
            (last_request(call), std::mem::take(&mut call.waiting_hops))
        });
        if let Some((request, hops)) = request {
            self.stop_hops(&hops);
            if let Some(request) = request {
                self.mark_problem(request);
            }
        }
    }

    /// Folds a cancellation (session-model.md 7).
    pub(super) fn cancel(&mut self, at: &At, params: &Params<'_>, facts: &mut Vec<Fact>) {
        let Some(key) = &params.request_id else {
            return;
        };
        let target = self
            .cancelled_hop(at, at.side, key, true)
            .or_else(|| self.cancelled_stream(at, key))
            .or_else(|| self.cancelled_hop(at, at.side, key, false));
        let Some(id) = target else { return };
        self.tie(at.row, id);
        let reason = params
            .reason
            .as_deref()
            .map(|reason| clip(reason, 1_024).into());
        let stopped = self.change(id, facts, |call| {
            call.link(at.row);
            let open = matches!(
                call.state,
                CallState::Pending(WaitingOn::Responder) | CallState::Streaming
            );
            if !open {
                return None;
            }
            call.charge(at.ts, true);
            call.awaits_late = call.state != CallState::Streaming;
            (call.end, call.cancelled_at) = (at.ts, at.ts);
            call.cancel_reason = reason;
            call.state = CallState::Cancelled;
            Some(std::mem::take(&mut call.waiting_hops))
        });
        if let Some(hops) = stopped.flatten() {
            self.stop_hops(&hops);
        }
    }

    /// The newest hop of the connection, else the only one of the client, else the only one.
    fn cancelled_hop(&self, at: &At, side: Side, key: &Key, waiting: bool) -> Option<CallId> {
        let fitting = self
            .hops
            .with_key(side, key)
            .filter(|(_, hop)| if waiting { hop.waiting } else { hop.answered });
        if let Some((_, hop)) = fitting.clone().find(|(_, hop)| hop.conn == at.conn) {
            return Some(hop.call);
        }
        let mut of_client = fitting.clone().filter(|(_, hop)| hop.client == at.client);
        let found = match (of_client.next(), of_client.next()) {
            (Some(one), None) => Some(one),
            (Some(_), Some(_)) => return None,
            (None, _) => {
                let mut all = fitting;
                all.next().filter(|_| all.next().is_none())
            }
        };
        found.map(|(_, hop)| hop.call)
    }

    /// A server ends a subscription by naming the client's request.
    fn cancelled_stream(&self, at: &At, key: &Key) -> Option<CallId> {
        let call = self.cancelled_hop(at, at.side.other(), key, true)?;
        let streams = self.call(call)?.state == CallState::Streaming;
        streams.then_some(call)
    }
}

/// The newest request frame of a call.
pub(super) fn last_request(call: &Call) -> Option<RowId> {
    call.hops.last().map(|hop| hop.request)
}
