//! HTTP exchanges that ended before their response was complete, by the recorder's own records
//! (session-model.md 8.3).

use std::borrow::Cow;

use super::{
    call::{Call, CallState, WaitingOn},
    exchanges::Told,
    fact::Fact,
    head::Closer,
    hops::{HopEntry, HopId, Side},
    machine::{At, Machine},
    remark::Code,
    row::RowId,
};
use crate::{base::Timestamp, record::Seq};

/// A recorder keeps at least this much of an answer: one that was cut earlier was cut on the wire.
pub(super) const LEAST_KEPT: usize = 64 << 10;
/// Cut answers that may turn out to be the last frame of their exchange.
const MAX_CUT: usize = 4_096;
/// Why a call was cancelled.
const CLIENT_CLOSED: &str = "client closed the response stream";

/// The record that tells it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Closing {
    pub(super) exchange: u64,
    pub(super) seq: Seq,
    pub(super) by: Closer,
    pub(super) ts: Option<Timestamp>,
    /// The highest unseen number below its own.
    pub(super) hole: u64,
}

impl Machine {
    /// Folds the record.
    pub(super) fn exchange_closed(&mut self, closing: &Closing, facts: &mut Vec<Fact>) {
        let cut = self.cut.remove(&closing.exchange);
        if let Some((hop, row)) = cut {
            self.unanswer(hop, row, facts);
        }
        let told = match closing.by {
            Closer::Client => Told::Client,
            Closer::Server => Told::Server,
            Closer::Recorder => Told::Recorder,
        };
        let exchanges = &mut self.hops.exchanges;
        let mut hops = exchanges.tell(closing.exchange, Side::Client, told, closing.seq);
        // One that waits again may have been told before it was answered.
        hops.extend(cut.map(|(hop, _)| hop).filter(|hop| !hops.contains(hop)));
        for hop in hops {
            self.close(closing, hop, facts);
        }
    }

    fn close(&mut self, closing: &Closing, hop: HopId, facts: &mut Vec<Fact>) {
        let waits = |hop: &&HopEntry| hop.side == Side::Client && hop.waiting;
        let Some(entry) = self.hops.get(hop).filter(waits) else {
            return;
        };
        let (id, seq, modern) = (entry.call, entry.seq, entry.declared == Some(true));
        let row = self.request_row(hop);
        let (streams, uncertain) = self.call(id).map_or((false, false), |call| {
            (call.state == CallState::Streaming, call.uncertain)
        });
        let defined = modern || streams;
        match closing.by {
            Closer::Client if defined => {
                self.hops.stop(hop);
                self.change(id, facts, |call| {
                    leave_unanswered(call, hop, closing.ts);
                    call.awaits_late = !streams;
                    call.cancelled_at = closing.ts;
                    call.cancel_reason = Some(CLIENT_CLOSED.into());
                    call.state = CallState::Cancelled;
                });
            }
            Closer::Client => {
                self.change(id, facts, Call::set_maybe_lost);
                self.remark(
                    row,
                    Code::ClientDisconnected,
                    "client: closed the response stream before the answer; up to 2025-11-25 that \
                     is no cancellation",
                );
            }
            // The answer may lie in a frame that was not recorded.
            Closer::Server if defined && (closing.hole > seq.0 || uncertain) => {
                self.change(id, facts, Call::set_maybe_lost);
            }
            Closer::Server if defined => self.lose(closing, hop, row, streams, facts),
            Closer::Server => self.remark(
                row,
                Code::ServerDisconnected,
                "server: closed the response stream before the answer; up to 2025-11-25 a client \
                 may resume it",
            ),
            Closer::Recorder => {
                self.change(id, facts, Call::set_maybe_lost);
            }
        }
    }

    /// The answer can come no more on this exchange.
    fn lose(
        &mut self,
        closing: &Closing,
        hop: HopId,
        row: RowId,
        streams: bool,
        facts: &mut Vec<Fact>,
    ) {
        let Some(id) = self.hops.get(hop).map(|hop| hop.call) else {
            return;
        };
        self.hops.stop(hop);
        let errored = self.change(id, facts, |call| {
            leave_unanswered(call, hop, closing.ts);
            (call.state, call.lost, call.awaits_late) = (CallState::Failed, true, true);
            call.errored = !streams && call.resolved.is_none();
            call.errored
        });
        if errored == Some(true) {
            self.mark_errored(row);
        }
    }

    /// What has to be known of an answer before it settles its call.
    pub(super) fn before_answer(&mut self, at: &At, hop: HopId, facts: &mut Vec<Fact>) {
        let Some(entry) = self.hops.get(hop) else {
            return;
        };
        // After one that overtook its request, further frames of the exchange may have come already.
        let may_be_last = entry.side == Side::Client && entry.seq < at.row.seq;
        let id = entry.call;
        if !entry.waiting {
            self.found_again(hop, facts);
        }
        let settles = |call: Cow<'_, Call>| call.is_open() || call.awaits_late;
        if at.cut && may_be_last && self.call(id).is_some_and(settles) {
            let noted = self.cut.len() < MAX_CUT;
            self.forgotten.cut_answers += u64::from(!noted);
            if noted {
                self.cut.insert(at.exchange, (hop, at.row));
            }
            self.change(id, facts, |call| {
                // It gives no duration, whether its end is told or not.
                (call.refused, call.may_change) = (true, noted);
            });
        }
    }

    /// A further frame of the server on its exchange: the answer before it was not the last.
    pub(super) fn not_the_last(&mut self, at: &At, facts: &mut Vec<Fact>) {
        if self.cut.is_empty() || at.side != Side::Server {
            return;
        }
        if let Some((hop, _)) = self.cut.remove(&at.exchange)
            && let Some(call) = self.hops.get(hop).map(|hop| hop.call)
        {
            self.change(call, facts, |call| call.may_change = false);
            self.let_go(call);
        }
    }

    /// A call whose answer was thought lost gets one: it is as if nothing had been closed.
    fn found_again(&mut self, hop: HopId, facts: &mut Vec<Fact>) {
        let Some(id) = self.hops.get(hop).map(|hop| hop.call) else {
            return;
        };
        if !self.call(id).is_some_and(|call| call.lost) {
            return;
        }
        let (row, hole) = (self.request_row(hop), self.last_hole());
        let errored = self.change(id, facts, |call| {
            call.lost = false;
            call.awaits_late = false;
            call.state = open_state(call);
            call.end = None;
            call.set_gap_after(hole);
            std::mem::take(&mut call.errored)
        });
        if errored == Some(true) {
            self.unmark_errored(row);
        }
    }

    /// An answer that was cut on the wire is none.
    fn unanswer(&mut self, hop: HopId, row: RowId, facts: &mut Vec<Fact>) {
        let Some(entry) = self.hops.get(hop).filter(|hop| hop.answered) else {
            return;
        };
        let (id, at) = (entry.call, usize::try_from(entry.at).unwrap_or(usize::MAX));
        let is_its = self.call(id).is_some_and(|call| {
            let kept = call.hops.get(at);
            kept.is_some_and(|kept| kept.answer == Some(row))
        });
        if !is_its {
            return;
        }
        let hole = self.last_hole();
        let changed = self.change(id, facts, |call| {
            if let Some(kept) = call.hops.get_mut(at) {
                kept.answer = None;
            }
            call.link(row);
            let errored = std::mem::take(&mut call.errored);
            let late = std::mem::take(&mut call.late_result);
            let result = match call.state {
                CallState::Completed => true,
                CallState::Cancelled => late && !errored,
                _ => call.tool_error,
            };
            (call.result_truncated, call.tool_error, call.refused) = (false, false, false);
            call.may_change = false;
            (call.result_bytes, call.error_code, call.http_status) = (0, None, 0);
            if late {
                (call.awaits_late, call.end) = (true, call.cancelled_at);
            } else {
                call.mark = call.end.take();
                call.state = open_state(call);
                call.set_gap_after(hole);
                call.waiting_hops.push(hop);
            }
            (errored, late, result)
        });
        let Some((errored, late, result)) = changed else {
            return;
        };
        if result {
            self.approximate(id, |count| *count = count.saturating_sub(1));
        }
        if errored {
            self.unmark_errored(row);
        }
        if late {
            self.withdraw(row, Code::LateAnswer);
        }
        self.hops.unanswer(hop, !late);
        let streams = |call: Cow<'_, Call>| call.state == CallState::Streaming;
        if self.call(id).is_some_and(streams) {
            self.hops.listens(hop);
        }
    }

    /// The request frame of a hop.
    pub(super) fn request_row(&self, hop: HopId) -> RowId {
        let Some(entry) = self.hops.get(hop) else {
            return RowId::default();
        };
        let at = usize::try_from(entry.at).unwrap_or(usize::MAX);
        let kept = self
            .call(entry.call)
            .and_then(|call| call.hops.get(at).map(|hop| hop.request));
        // Only the first of very many hops are kept on the call.
        kept.unwrap_or(RowId {
            seq: entry.seq,
            index: 0,
        })
    }
}

/// Ends the running share of a call whose hop gets no answer for now.
fn leave_unanswered(call: &mut Call, hop: HopId, ts: Option<Timestamp>) {
    call.charge(ts, true);
    call.end = ts;
    call.waiting_hops.retain(|waiting| *waiting != hop);
}

/// The state of a call whose responder has to act.
fn open_state(call: &Call) -> CallState {
    if &*call.method == "subscriptions/listen" {
        CallState::Streaming
    } else {
        CallState::Pending(WaitingOn::Responder)
    }
}
