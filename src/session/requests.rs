//! Requests: a call of its own, or the continuation of a parked one (session-model.md 4.3, 11).

use std::{num::NonZeroU64, sync::Arc};

use super::{
    atoms::clip,
    call::{Call, CallId, CallState, Hop, WaitingOn},
    classify::Parts,
    fact::Fact,
    hops::{HopEntry, HopId, Side},
    key::{JsonId, Key},
    machine::{At, Machine},
    reading::{self, Params, is_redacted},
    revisions::{self, Counted},
    row::RowId,
    task_facts::{may_want_task, task_of_request},
    tokens::Token,
};
use crate::{
    record::{HttpFields, Seq},
    wire::json,
};

/// What a request frame tells beside its parameters.
#[derive(Clone, Copy)]
struct Told<'a> {
    /// The revision that it declares.
    version: Option<&'a str>,
    counted: Counted,
    declared: Option<bool>,
    effective: Option<bool>,
    hidden_names: (bool, bool),
}

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
            // It proposes one, and declares none (session-model.md 14.1).
            _ if initializes => None,
            Some(version) => Some(version.as_ref()),
            None => {
                let header = http.and_then(|http| http.mcp_protocol_version.as_deref());
                header.map(|version| clip(version, 64))
            }
        };
        self.no_lone_probe(method, facts);
        let mut at = *at;
        let who = self.identify(&mut at, http, &params, method);
        self.judge_id(&at, parts.id, key.as_ref());
        // A method that redaction took away may have been a greeting.
        let may_greet = initializes || is_redacted(method.as_bytes(), at.redacted);
        if may_greet && at.side == Side::Client {
            self.begin_ids(&at);
        }
        let revisions = &mut self.peers.revisions;
        let effective = revisions.effective(at.client, declared);
        let modern = (
            declared.and_then(revisions::is_modern),
            revisions.modern(effective),
        );
        let linked = self.continued(&at, method, &params, modern.0 == Some(false));
        let legacy = modern.1 == Some(false);
        let shared = self.reuse(&at, key.as_ref(), (linked.is_none(), legacy), facts);
        let call = if let Some(linked) = &linked {
            self.retry(&at, linked, (key.as_ref(), &params), facts);
            linked.call
        } else {
            self.open_call(&at, method, parts, &params, facts)
        };
        let of_client = at.side == Side::Client;
        let told = Told {
            version: declared,
            counted: Counted {
                who,
                // `initialize` counts under what it negotiates.
                revision: if initializes { 0 } else { effective },
                declared: declared.is_some(),
                greets: of_client && initializes,
                discovers: of_client && method == "server/discover",
            },
            declared: modern.0,
            effective: modern.1,
            hidden_names: match &linked {
                Some(linked) => linked.hidden,
                None => reading::hidden(method, &params, at.redacted),
            },
        };
        let counted = told.counted;
        let hop = self.add_hop(&at, call, key.clone(), parts, &params, told, facts);
        self.task_request(&at, method, &params, facts);
        if params.token_hidden || at.truncated && params.token.is_none() {
            self.hidden_token(at.side);
        }
        if Self::asks_user(&at, method) {
            self.ask_user(&at, call, parts, &params);
        } else if method == "tasks/update" {
            self.task_answered(&at, &params);
        }
        if shared.is_some()
            && let Some(hop) = self.hops.get_mut(hop)
        {
            hop.shared = shared;
        }
        if of_client {
            let proposed = params.raw.protocol_version.filter(|_| initializes);
            let proposed = proposed.and_then(json::string);
            let version = declared.or(proposed.as_deref());
            self.note_request(&at, call, counted, version, facts);
            if counted.discovers {
                self.note_discover(&at, call, counted);
            }
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

    /// What a request of the client tells of revisions, and of refusals before it.
    fn note_request(
        &mut self,
        at: &At,
        call: CallId,
        counted: Counted,
        version: Option<&str>,
        facts: &mut Vec<Fact>,
    ) {
        if counted.greets {
            self.peers.revisions.greeting();
        } else {
            self.peers.made_under(call, counted);
        }
        self.asks_again(at, call, version, facts);
    }

    /// Who sends this request, and as whom; answers the number of the client.
    fn identify(
        &mut self,
        at: &mut At,
        http: Option<&HttpFields>,
        params: &Params<'_>,
        method: &str,
    ) -> u16 {
        if at.side != Side::Client {
            return 0;
        }
        let declared = params.client.as_ref().map(|who| self.peers.declare(who));
        let client = self.peers.client_key(
            http,
            at.conn,
            (declared, params.client_hidden),
            method == "initialize",
        );
        self.peers.count(client);
        let stated = &mut self.peers.stated;
        stated.hear_client(&params.raw, method == "initialize", at.redacted);
        if at.http {
            at.client = client;
        }
        u16::try_from(client.who).unwrap_or(0)
    }

    /// Name of the operation that a request names.
    pub(super) fn operation(&mut self, method: &str, params: &Params<'_>) -> Option<Arc<str>> {
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
        if state == CallState::Streaming {
            self.stream_opened(at, id, parts, params);
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
        told: Told<'_>,
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
            token: params.token.clone().map(|key| Box::new(Token::new(key))),
            base: (params.base)
                .filter(|_| !at.truncated && !at.unparsed)
                .and_then(NonZeroU64::new),
            seq: at.row.seq,
            declared: told.declared,
            effective: told.effective,
            counted: told.counted,
            hidden_names: told.hidden_names,
            wants_task: at.truncated || at.unparsed || may_want_task(parts, params, at.redacted),
            task_id: task_of_request(parts, params, at.redacted).map(Box::new),
            hidden: parts.id.is_some_and(|id| is_redacted(id, at.redacted)),
            freed: false,
            answer: Seq(0),
            answered_on: 0,
            shared: None,
            asked: self.ask(at, parts, params, told.version),
            signature_or_end: self.signature(at, parts, params, index),
        };
        let hop = self.hops.add(entry);
        if let Some(call) = self.calls.get_mut(call, &self.atoms) {
            call.waiting_hops.push(hop);
            if call.state == CallState::Streaming {
                self.hops.listens(hop);
            }
        }
        self.watch_token(at, hop);
        self.tie(at.row, call);
        self.attempted(at, call, hop, facts);
        hop
    }
}

/// The newest request frame of a call.
pub(super) fn last_request(call: &Call) -> Option<RowId> {
    call.hops.last().map(|hop| hop.request)
}
