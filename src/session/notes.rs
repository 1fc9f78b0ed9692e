//! Notifications: progress, cancellation, tasks, and what belongs to a subscription
//! (session-model.md 7, 9, 10, 13).

use super::{
    classify::Parts,
    fact::Fact,
    hops::Side,
    machine::{At, Machine},
    reading::{Params, is_redacted},
};
use crate::record::HttpFields;

impl Machine {
    /// Folds a notification.
    pub(super) fn notification(
        &mut self,
        at: &At,
        http: Option<&HttpFields>,
        parts: &Parts<'_>,
        facts: &mut Vec<Fact>,
    ) {
        let mut at = *at;
        if at.side == Side::Client {
            let client = self.peers.sender_key(http, at.conn);
            if at.http {
                at.client = client;
            }
        }
        self.list_news(&at, parts);
        let Some(method) = parts.method.as_deref() else {
            return;
        };
        if is_redacted(method.as_bytes(), at.redacted) {
            self.note_nameless(&at);
        }
        let params = parts.params.unwrap_or_default();
        match method {
            "notifications/progress" => {
                self.progress(&at, &Params::read(params, at.redacted), facts);
            }
            "notifications/cancelled" => {
                self.cancel(&at, &Params::read(params, at.redacted), facts);
            }
            "notifications/tasks" | "notifications/tasks/status" => {
                self.task_notification(&at, &Params::read(params, at.redacted), facts);
            }
            _ => {}
        }
        self.linked_notification(&at, method, params, facts);
    }
}
