//! Frames of subscriptions, and what other notifications are linked to (session-model.md 10.2, 13).

use std::sync::Arc;

use super::{
    call::CallId,
    classify::Parts,
    fact::Fact,
    hops::{HopEntry, HopId, Side, only, same_conn},
    key::{JsonId, Key},
    machine::{At, Machine},
    reading::{Known, Params, is_redacted, key_of},
    streams::{Filtered, Subscription, SubscriptionFilter},
    task_facts::known_text,
};
use crate::wire::json;

/// Names of this beginning in `_meta` link a frame to another.
const OWN: &[u8] = b"io.modelcontextprotocol";
/// The answer of a server that a subscription begins.
const ACKNOWLEDGED: &str = "notifications/subscriptions/acknowledged";
/// What a subscription brings.
const COVERED: [&str; 5] = [
    "notifications/tools/list_changed",
    "notifications/prompts/list_changed",
    "notifications/resources/list_changed",
    "notifications/resources/updated",
    "notifications/tasks",
];

impl Machine {
    /// A client subscribes.
    pub(super) fn stream_opened(
        &mut self,
        at: &At,
        call: CallId,
        parts: &Parts<'_>,
        params: &Params<'_>,
    ) {
        if at.side != Side::Client {
            return;
        }
        let id = parts.id.map(String::from_utf8_lossy).unwrap_or_default();
        let mut opened = Subscription::new(call, JsonId::new(&id), at.row.seq, at.ts);
        opened.requested = self.filter_of(params.raw.notifications, at.redacted);
        self.streams.add(opened);
    }

    /// A call changed its state: a subscription may have ended.
    pub(super) fn stream_changed(&mut self, id: CallId) {
        if self.streams.get(id).is_none() {
            return;
        }
        let forgotten = match self.calls.get(id, &self.atoms) {
            Some(call) => self.streams.follow(&call),
            None => 0,
        };
        self.forgotten.subscriptions += forgotten;
    }

    /// The call of a subscription was forgotten.
    pub(super) fn forget_stream(&mut self, id: CallId) {
        self.forgotten.subscriptions += u64::from(self.streams.remove(id));
    }

    /// Links a notification to the task or subscription that it was sent for.
    pub(super) fn linked_notification(
        &mut self,
        at: &At,
        method: &str,
        params: &[u8],
        facts: &mut Vec<Fact>,
    ) {
        let linked = memchr::memmem::find(params, OWN).is_some();
        let meta = linked.then(|| json::member(params, "_meta")).flatten();
        let own = |name| json::member(meta?, name);
        if let Some(related) = own("io.modelcontextprotocol/related-task") {
            self.link_related(at, related);
        }
        if self.streams.is_empty() || at.side != Side::Server {
            return;
        }
        let id = own("io.modelcontextprotocol/subscriptionId");
        let hidden = id.is_some_and(|id| is_redacted(id, at.redacted));
        let stream = match id {
            Some(id) if !hidden => {
                key_of(id, at.redacted).and_then(|key| self.stream_of_key(at, &key))
            }
            _ if method == ACKNOWLEDGED || COVERED.contains(&method) => self.stream_of_exchange(at),
            _ => None,
        };
        if let Some(call) = stream {
            self.stream_told(at, call, method, params, facts);
        }
    }

    fn stream_told(
        &mut self,
        at: &At,
        call: CallId,
        method: &str,
        params: &[u8],
        facts: &mut Vec<Fact>,
    ) {
        if method == ACKNOWLEDGED {
            let first = self
                .streams
                .get(call)
                .is_some_and(|stream| stream.acknowledged.is_none());
            if first {
                let filter = self.filter_of(json::member(params, "notifications"), at.redacted);
                if let Some(stream) = self.streams.get_mut(call) {
                    stream.acknowledged = Some(filter);
                    stream.acknowledged_at = at.ts;
                    stream.acknowledged_seq = Some(at.row.seq);
                }
            }
        } else if method != "notifications/cancelled" {
            let method = self.atoms.share(method);
            if let Some(stream) = self.streams.get_mut(call) {
                stream.deliver(&method, at.row.seq);
            }
        }
        // What tells of a task is a frame of its call already.
        let free = self
            .rows
            .by_id(at.row)
            .is_some_and(|row| row.call().is_none());
        if free {
            self.tie(at.row, call);
            self.change(call, facts, |call| call.link(at.row));
        }
    }

    /// The subscription with this id: on the exchange, else on the connection, else the only one of
    /// the client, else the only one.
    fn stream_of_key(&self, at: &At, key: &Key) -> Option<CallId> {
        let all = self.hops.with_key(Side::Client, key);
        let all = all.filter(|(_, hop)| self.streams.get(hop.call).is_some());
        let first = |fits: &dyn Fn(&HopEntry) -> bool| all.clone().find(|(_, hop)| fits(hop));
        let single = |fits: &dyn Fn(&HopEntry) -> bool| -> Option<HopId> {
            let fitting = all.clone().filter(|(_, hop)| fits(hop));
            only(fitting.clone()).or_else(|| only(fitting.filter(|(_, hop)| hop.waiting)))
        };
        let found = first(&|hop| at.exchange != 0 && hop.exchange == at.exchange)
            .or_else(|| first(&|hop| same_conn(hop.conn, at.conn, at.http)))
            .map(|(hop, _)| hop)
            .or_else(|| single(&|hop| hop.client == at.client))
            .or_else(|| single(&|hop| hop.client.agrees(at.client)))?;
        self.hops.get(found).map(|hop| hop.call)
    }

    /// The open subscription whose answer is the stream that a frame came on.
    fn stream_of_exchange(&self, at: &At) -> Option<CallId> {
        let hops = self.hops.exchanges.streams(at.exchange);
        hops.filter_map(|hop| self.hops.get(hop))
            .map(|hop| hop.call)
            .find(|call| self.streams.get(*call).is_some())
    }

    fn filter_of(&mut self, value: Option<&[u8]>, redacted: bool) -> SubscriptionFilter {
        let mut filter = SubscriptionFilter::default();
        let Some(value) = value else { return filter };
        if !value.starts_with(b"{") {
            let all = Filtered::Unknown;
            (filter.tools, filter.prompts, filter.resources) = (all, all, all);
            (filter.resource_updates, filter.tasks) = (all, all);
            return filter;
        }
        let member = |name| json::member(value, name).unwrap_or(b"false");
        filter.tools = asked(member("toolsListChanged"));
        filter.prompts = asked(member("promptsListChanged"));
        filter.resources = asked(member("resourcesListChanged"));
        let mut texts = |name| self.texts(json::member(value, name), redacted);
        let (uris, tasks) = (texts("resourceSubscriptions"), texts("taskIds"));
        (filter.resource_updates, filter.uris) = (uris.0, uris.1);
        (filter.tasks, filter.task_ids) = (tasks.0, tasks.1);
        filter.more = uris.2.saturating_add(tasks.2);
        filter
    }

    /// The texts of an array, and how many are not kept.
    fn texts(&mut self, value: Option<&[u8]>, redacted: bool) -> (Filtered, Vec<Arc<str>>, u64) {
        let Some(value) = value.filter(|value| *value != b"null") else {
            return (Filtered::No, Vec::new(), 0);
        };
        if !value.starts_with(b"[") {
            return (Filtered::Unknown, Vec::new(), 0);
        }
        let (mut kept, mut more) = (Vec::new(), 0_u64);
        for element in json::elements(value) {
            match known_text(element, redacted) {
                Known::Is(text) if self.streams.has_room(text.len()) => kept.push(text.into()),
                _ => more = more.saturating_add(1),
            }
        }
        let any = !kept.is_empty() || more > 0;
        let asked = if any { Filtered::Yes } else { Filtered::No };
        (asked, kept, more)
    }
}

fn asked(value: &[u8]) -> Filtered {
    match value {
        b"true" => Filtered::Yes,
        b"false" | b"null" => Filtered::No,
        _ => Filtered::Unknown,
    }
}
