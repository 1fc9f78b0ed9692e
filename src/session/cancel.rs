//! Cancellations: which request they name, and what they do to it (session-model.md 7).

use super::{
    atoms::clip,
    call::{CallId, CallState, WaitingOn},
    fact::Fact,
    hops::{HopEntry, HopId, Side, only, same_conn},
    key::Key,
    machine::{At, Machine},
    matching::Found,
    reading::Params,
    remark::Code,
    wording::distance,
};

impl Machine {
    /// Folds a cancellation.
    pub(super) fn cancel(&mut self, at: &At, params: &Params<'_>, facts: &mut Vec<Fact>) {
        let Some(key) = &params.request_id else {
            if at.redacted || at.truncated {
                self.note_nameless(at);
            }
            return;
        };
        let (hop, answered) = match self.cancelled_hop(at, key) {
            (Found::Hop(hop), answered) => (hop, answered),
            (Found::Nothing, _) => return,
            (Found::Several, _) => {
                let text = format!(
                    "{}: cancelled an id that several of its requests carry",
                    at.side.word()
                );
                self.remark(at.row, Code::CancelAmbiguous, text);
                return;
            }
        };
        let Some(id) = self.hops.get(hop).map(|hop| hop.call) else {
            return;
        };
        if answered {
            self.cancel_too_late(at, id, hop);
        }
        if self.call(id).is_none() {
            return;
        }
        self.tie(at.row, id);
        let reason = params.reason.as_deref();
        self.give_up(at, id, reason, facts);
    }

    /// Settles an open call that still waits for its responder.
    fn give_up(&mut self, at: &At, id: CallId, reason: Option<&str>, facts: &mut Vec<Fact>) {
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
            call.cancel_reason = reason.map(|reason| clip(reason, 1_024).into());
            call.state = CallState::Cancelled;
            Some(std::mem::take(&mut call.waiting_hops))
        });
        if let Some(hops) = stopped.flatten() {
            self.stop_hops(&hops);
        }
    }

    /// The request had its answer, which is an ordinary race, or a task works on it.
    fn cancel_too_late(&mut self, at: &At, id: CallId, hop: HopId) {
        let call = self.call(id);
        let (who, other) = (at.side.word(), at.side.other().word());
        let of_task = call
            .as_ref()
            .is_some_and(|call| call.state == CallState::Pending(WaitingOn::Task));
        if of_task {
            let text = format!(
                "{who}: cancelled a request that a task works on; only tasks/cancel ends the task"
            );
            drop(call);
            self.remark(at.row, Code::CancelOfTask, text);
            return;
        }
        drop(call);
        let answered_at = self.hops.get(hop).and_then(HopEntry::answered_at);
        let text = match distance(answered_at, at.ts) {
            Some(distance) => {
                format!("{who}: cancelled a request {distance} after the {other} had answered it")
            }
            None => format!("{who}: cancelled a request that the {other} had answered"),
        };
        self.remark(at.row, Code::CancelAfterAnswer, text);
    }

    /// The hop that is meant, and whether it has its answer: one that waits, a stream of the other
    /// side, else the newest that was answered.
    fn cancelled_hop(&self, at: &At, key: &Key) -> (Found, bool) {
        let waiting = |side: Side| self.hops.with_key(side, key).filter(|(_, hop)| hop.waiting);
        let found = nearest(at, waiting(at.side));
        if found != Found::Nothing {
            return (found, false);
        }
        // A server ends a subscription by naming the client's request.
        let streams = waiting(at.side.other()).filter(|(_, hop)| {
            self.call(hop.call)
                .is_some_and(|call| call.state == CallState::Streaming)
        });
        let found = nearest(at, streams);
        if found != Found::Nothing {
            return (found, false);
        }
        let answered = self
            .hops
            .with_key(at.side, key)
            .filter(|(_, hop)| hop.answered);
        let found = match nearest(at, answered) {
            // Nothing hangs on which of them it was.
            Found::Several => Found::Nothing,
            found => found,
        };
        (found, true)
    }
}

/// The newest hop of the connection, else the only one of the client, else the only one.
fn nearest<'a>(at: &At, fitting: impl Iterator<Item = (HopId, &'a HopEntry)> + Clone) -> Found {
    let near = |hop: &HopEntry| same_conn(hop.conn, at.conn, at.http);
    if let Some((id, _)) = fitting.clone().find(|(_, hop)| near(hop)) {
        return Found::Hop(id);
    }
    let of_client = fitting.clone().filter(|(_, hop)| hop.client == at.client);
    if of_client.clone().next().is_some() {
        return only(of_client).map_or(Found::Several, Found::Hop);
    }
    if fitting.clone().next().is_none() {
        return Found::Nothing;
    }
    only(fitting).map_or(Found::Several, Found::Hop)
}
