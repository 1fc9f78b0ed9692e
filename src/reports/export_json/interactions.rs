//! An interaction: how the time of an operation was shared, and its hops (export.md 4.7).

use super::{Document, calls, words};
use crate::{
    reports::json_out::Json,
    session::{CallId, HopSummary},
};

impl Document<'_> {
    /// One element of `interactions`.
    pub(super) fn interaction(&self, id: CallId, json: &mut Json<'_>) {
        let Some(call) = self.session.call(id) else {
            return;
        };
        let shares = call.interaction();
        json.element().object(|json| {
            json.count("call_index", call.id.0);
            json.text("call_id", calls::id(&call));
            json.text("method", &call.method);
            json.some_text("tool_name", calls::tool_name(&call));
            json.text("state", words::state(&call));
            json.count("round_trips", shares.round_trips);
            json.key("server_time_ms").millis(shares.server_nanos);
            json.key("client_turnaround_ms").millis(shares.client_nanos);
            json.key("duration_ms").millis(shares.duration_nanos);
            self.time("started_at", call.start, json);
            if !shares.hops.is_empty() {
                json.key("hops").array(|json| {
                    for hop in &shares.hops {
                        json.element().object(|json| self.hop(hop, json));
                    }
                });
            }
            json.flag("hops_complete", shares.hops_complete);
        });
    }

    fn hop(&self, hop: &HopSummary<'_>, json: &mut Json<'_>) {
        json.text("request_id", hop.request_id);
        self.time("request_at", hop.request_at, json);
        self.time("response_at", hop.response_at, json);
        json.key("server_time_ms").millis(hop.server_nanos);
        json.key("client_turnaround_ms").millis(hop.client_nanos);
        if !hop.asked.is_empty() {
            json.key("asked").array(|json| {
                for method in hop.asked {
                    json.element().string(method);
                }
            });
        }
        json.mark("asked_unknown", hop.asked_unknown);
        json.mark("pending", hop.pending);
        json.count("request_seq", hop.request.seq.0);
        if let Some(answer) = hop.response {
            json.count("response_seq", answer.seq.0);
        }
        json.some_text("state_issue", hop.state_issue.map(words::state_issue));
    }
}
