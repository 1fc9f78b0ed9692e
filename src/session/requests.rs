//! Requests: a call of its own, or the continuation of a parked one (session-model.md 4.3, 11).

use std::sync::Arc;

use super::{
    atoms::clip,
    call::{Call, CallId, CallState, Hop, WaitingOn},
    classify::Parts,
    fact::Fact,
    hops::{HopEntry, HopId, Side},
    key::{JsonId, Key},
    machine::{At, Machine},
    parked::Shape,
    peers,
    reading::{self, Params, is_redacted},
    row::RowId,
};
use crate::record::{HttpFields, Seq};

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
        self.judge_id(&at, parts.id, key.as_ref());
        // A method that redaction took away may have been a greeting.
        let may_greet = initializes || is_redacted(method.as_bytes(), at.redacted);
        if may_greet && at.side == Side::Client {
            self.begin_ids(&at);
        }
        let effective = self.peers.effective(at.client, declared);
        let legacy = effective.as_deref().and_then(peers::is_modern) == Some(false);
        let continued = self.continued(&at, method, &params);
        let shared = self.reuse(&at, key.as_ref(), (continued.is_none(), legacy), facts);
        let call = if let Some(call) = continued {
            self.retry(&at, call, facts);
            call
        } else {
            self.open_call(&at, method, parts, &params, facts)
        };
        let revisions = (declared, effective.as_deref());
        let hop = self.add_hop(&at, call, key.clone(), parts, &params, revisions, facts);
        if shared.is_some()
            && let Some(hop) = self.hops.get_mut(hop)
        {
            hop.shared = shared;
        }
        if at.side == Side::Client
            && !initializes
            && let Some(version) = effective
        {
            self.peers.made_under(call, version);
        }
        if let Some(key) = &key {
            self.answer_early(&at, key, facts);
        }
        if method.starts_with("notifications/") {
            // It carries an id that it must not have; its effect counts (findings.md 2.3).
            self.notification(&at, http, parts, facts);
            self.tie(at.row, call);
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
    ) -> HopId {
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
            base: params.base.filter(|_| !at.truncated && !at.unparsed),
            seq: at.row.seq,
            declared: declared.and_then(peers::is_modern),
            effective: effective.and_then(peers::is_modern),
            wants_task: params.wants_task || at.truncated || at.unparsed,
            task_id: params.task_id.as_deref().map(Arc::from),
            hidden: parts.id.is_some_and(|id| is_redacted(id, at.redacted)),
            freed: false,
            answer: Seq(0),
            answered_on: 0,
            shared: None,
        };
        let hop = self.hops.add(entry);
        if let Some(call) = self.calls.get_mut(call, &self.atoms) {
            call.waiting_hops.push(hop);
        }
        self.tie(at.row, call);
        hop
    }
}

/// The newest request frame of a call.
pub(super) fn last_request(call: &Call) -> Option<RowId> {
    call.hops.last().map(|hop| hop.request)
}
