//! An interaction: how the time of an operation was shared, and its hops (export.md 4.7).

use super::{Document, calls, words};
use crate::{
    base::Timestamp,
    reports::json_out::Json,
    session::{Call, CallId, Hop, RowId},
};

/// One hop with its times.
struct Timed<'a> {
    hop: &'a Hop,
    answered: Option<Timestamp>,
    /// Nanoseconds of the server, and of the client before the request or instead of the server.
    server: u64,
    client: u64,
}

impl Document<'_> {
    /// One element of `interactions`.
    pub(super) fn interaction(&self, id: CallId, json: &mut Json<'_>) {
        let Some(call) = self.session.call(id) else {
            return;
        };
        let hops = self.timed(&call);
        let sum = |share: fn(&Timed<'_>) -> u64| hops.iter().map(share).sum::<u64>();
        let is_complete = hops.len() == usize::try_from(call.hop_count).unwrap_or(usize::MAX)
            && sum(|hop| hop.server) == call.server_nanos
            && sum(|hop| hop.client) == call.client_nanos;
        json.element().object(|json| {
            json.count("call_index", call.id.0);
            json.text("call_id", calls::id(&call));
            json.text("method", &call.method);
            json.some_text("tool_name", calls::tool_name(&call));
            json.text("state", words::state(&call));
            json.count("round_trips", call.hop_count);
            json.key("server_time_ms").millis(call.server_nanos);
            json.key("client_turnaround_ms").millis(call.client_nanos);
            let both = call.server_nanos.saturating_add(call.client_nanos);
            json.key("duration_ms").millis(both);
            self.time("started_at", call.start, json);
            if call.hop_count > 1 {
                json.key("hops").array(|json| {
                    for hop in &hops {
                        json.element().object(|json| self.hop(hop, json));
                    }
                });
            }
            json.flag("hops_complete", is_complete);
        });
    }

    fn hop(&self, timed: &Timed<'_>, json: &mut Json<'_>) {
        json.text("request_id", &timed.hop.json_id);
        self.time("request_at", timed.hop.sent, json);
        self.time("response_at", timed.answered, json);
        json.key("server_time_ms").millis(timed.server);
        json.key("client_turnaround_ms").millis(timed.client);
        json.mark("pending", timed.hop.answer.is_none());
        json.count("request_seq", timed.hop.request.seq.0);
        if let Some(answer) = timed.hop.answer {
            json.count("response_seq", answer.seq.0);
        }
    }

    /// The hops with their shares: time is charged forward only, so that a clock that was set back
    /// adds nothing (session-model.md 6.4).
    fn timed<'a>(&self, call: &'a Call) -> Vec<Timed<'a>> {
        let mut mark: Option<Timestamp> = None;
        let mut charge = |now: Option<Timestamp>| {
            let (Some(at), Some(before)) = (now, mark) else {
                mark = mark.or(now);
                return 0;
            };
            let nanos = u64::try_from(at.nanos_since(before)).unwrap_or(0);
            mark = Some(at.max(before));
            nanos
        };
        let last = call.hops.len().saturating_sub(1);
        let timed = call.hops.iter().enumerate().map(|(at, hop)| {
            let wait = charge(hop.sent);
            let answered = hop.answer.and_then(|answer| self.instant(answer));
            // A hop without an answer took until the operation was given up.
            let given_up = call.end.filter(|_| at == last && !call.is_open());
            let taken = charge(answered.or(given_up));
            let (server, client) = if call.from_client {
                (taken, wait)
            } else {
                (wait, taken)
            };
            Timed {
                hop,
                answered,
                server,
                client,
            }
        });
        timed.collect()
    }

    fn instant(&self, row: RowId) -> Option<Timestamp> {
        self.session.row(self.session.position(row)?)?.ts
    }
}
