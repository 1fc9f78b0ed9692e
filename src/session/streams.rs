//! Subscriptions: what was asked for, acknowledged and delivered, and how each ended
//! (session-model.md 13).

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
};

use super::{
    call::{Call, CallId, CallState},
    key::JsonId,
    session::Session,
};
use crate::{base::Timestamp, record::Seq};

/// Subscriptions that ended and are remembered (session-model.md 22.3).
const MAX_ENDED: usize = 1_024;
/// Methods of one subscription that are counted apart.
const MAX_METHODS: usize = 32;
/// Bytes of texts in the filters of one session.
const MAX_TEXT: usize = 4 << 20;

/// Whether a kind of notification is part of a filter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Filtered {
    /// It is not.
    #[default]
    No,
    /// It is.
    Yes,
    /// Redacted, or of a wrong type.
    Unknown,
}

/// What a subscription is about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SubscriptionFilter {
    /// `toolsListChanged`.
    pub tools: Filtered,
    /// `promptsListChanged`.
    pub prompts: Filtered,
    /// `resourcesListChanged`.
    pub resources: Filtered,
    /// `resourceSubscriptions`.
    pub resource_updates: Filtered,
    /// The URIs in it, each at most 1 KiB (untrusted).
    pub uris: Vec<Arc<str>>,
    /// `taskIds`.
    pub tasks: Filtered,
    /// The ids in it, each at most 1 KiB (untrusted).
    pub task_ids: Vec<Arc<str>>,
    /// Texts that are not kept: redacted, of a wrong type, or too many.
    pub more: u64,
}

/// How a subscription ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SubscriptionEnd {
    /// It did not.
    #[default]
    Open,
    /// The server answered it.
    Graceful,
    /// Either side cancelled it, or the client closed its stream.
    Cancelled,
    /// Its stream was closed without an answer.
    Lost,
    /// The server refused it, or HTTP failed.
    Failed,
    /// The client used its id again.
    Superseded,
}

/// One subscription.
#[derive(Clone, Debug, PartialEq)]
pub struct Subscription {
    /// The call that opened it.
    pub call: CallId,
    /// Its id as sent, exact JSON text (untrusted).
    pub json_id: JsonId,
    /// Frame that opened it.
    pub request_seq: Seq,
    /// Instant of that frame.
    pub started_at: Option<Timestamp>,
    /// What the client asked for.
    pub requested: SubscriptionFilter,
    /// What the server agreed to; `None` before it did.
    pub acknowledged: Option<SubscriptionFilter>,
    /// When it did.
    pub acknowledged_at: Option<Timestamp>,
    /// Frame in which it did.
    pub acknowledged_seq: Option<Seq>,
    /// Notifications by method (untrusted), in the order of the first of each.
    pub delivered: Vec<(Arc<str>, u64)>,
    /// Notifications of further methods.
    pub delivered_more: u64,
    /// Frame of the first notification.
    pub first_delivered: Option<Seq>,
    /// How it ended.
    pub end: SubscriptionEnd,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
}

impl Subscription {
    pub(super) fn new(call: CallId, json_id: JsonId, seq: Seq, ts: Option<Timestamp>) -> Self {
        Self {
            call,
            json_id,
            request_seq: seq,
            started_at: ts,
            requested: SubscriptionFilter::default(),
            acknowledged: None,
            acknowledged_at: None,
            acknowledged_seq: None,
            delivered: Vec::new(),
            delivered_more: 0,
            first_delivered: None,
            end: SubscriptionEnd::Open,
            ended_at: None,
        }
    }

    /// Counts a notification.
    pub(super) fn deliver(&mut self, method: &Arc<str>, seq: Seq) {
        self.first_delivered = self.first_delivered.or(Some(seq));
        if let Some((_, count)) = self.delivered.iter_mut().find(|(known, _)| known == method) {
            *count += 1;
        } else if self.delivered.len() < MAX_METHODS {
            self.delivered.push((Arc::clone(method), 1));
        } else {
            self.delivered_more += 1;
        }
    }
}

/// The subscriptions of one session.
#[derive(Debug, Default)]
pub(super) struct Streams {
    known: BTreeMap<CallId, Subscription>,
    ended: VecDeque<CallId>,
    text_bytes: usize,
    /// Texts of filters that found no room.
    pub(super) texts_beyond: u64,
}

impl Streams {
    pub(super) fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Subscription> {
        self.known.values()
    }

    pub(super) fn get(&self, call: CallId) -> Option<&Subscription> {
        self.known.get(&call)
    }

    pub(super) fn get_mut(&mut self, call: CallId) -> Option<&mut Subscription> {
        self.known.get_mut(&call)
    }

    pub(super) fn add(&mut self, subscription: Subscription) {
        self.known.insert(subscription.call, subscription);
    }

    pub(super) fn remove(&mut self, call: CallId) -> bool {
        let Some(gone) = self.known.remove(&call) else {
            return false;
        };
        let filters = gone.acknowledged.iter().chain([&gone.requested]);
        let texts = filters.flat_map(|filter| filter.uris.iter().chain(&filter.task_ids));
        let bytes: usize = texts.map(|text| text.len()).sum();
        self.text_bytes = self.text_bytes.saturating_sub(bytes);
        true
    }

    /// Takes the room for a text of a filter, if there is any.
    pub(super) fn has_room(&mut self, bytes: usize) -> bool {
        let fits = self.text_bytes + bytes <= MAX_TEXT;
        if fits {
            self.text_bytes += bytes;
        }
        self.texts_beyond += u64::from(!fits);
        fits
    }

    /// Follows the state of a call; answers how many subscriptions were forgotten.
    pub(super) fn follow(&mut self, call: &Call) -> u64 {
        let Some(subscription) = self.known.get_mut(&call.id) else {
            return 0;
        };
        let was_open = subscription.end == SubscriptionEnd::Open;
        subscription.end = match call.state {
            CallState::Pending(_) | CallState::Streaming => SubscriptionEnd::Open,
            CallState::Completed => SubscriptionEnd::Graceful,
            CallState::Cancelled => SubscriptionEnd::Cancelled,
            CallState::Superseded => SubscriptionEnd::Superseded,
            CallState::Failed if call.lost => SubscriptionEnd::Lost,
            CallState::Failed => SubscriptionEnd::Failed,
        };
        subscription.ended_at = call.end;
        if !was_open || subscription.end == SubscriptionEnd::Open {
            return 0;
        }
        self.ended.push_back(call.id);
        if self.ended.len() <= MAX_ENDED {
            return 0;
        }
        let oldest = self.ended.pop_front();
        u64::from(oldest.is_some_and(|oldest| self.remove(oldest)))
    }
}

impl Session {
    /// The subscriptions that are known, in request order (session-model.md 13).
    pub fn subscriptions(&self) -> impl Iterator<Item = &Subscription> {
        self.machine.streams.iter()
    }

    /// The subscription that a call opened.
    pub fn subscription(&self, call: CallId) -> Option<&Subscription> {
        self.machine.streams.get(call)
    }
}
