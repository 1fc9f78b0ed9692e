//! Figures by tool and the slowest calls (export.md 4.3, session-model.md 17).

use std::{borrow::Cow, cmp::Reverse};

use super::Document;
use crate::{
    reports::json_out::Json,
    session::{Call, Durations, ToolStats},
};

/// Calls that are named as slowest.
const SLOWEST: usize = 5;

impl Document<'_> {
    /// The members of `summary`.
    pub(super) fn summary(&self, json: &mut Json<'_>) {
        json.key("tools").array(|json| {
            for (name, stats) in self.session.tools() {
                json.element().object(|json| tool(name, stats, json));
            }
        });
        json.key("slowest_calls").array(|json| {
            for call in self.slowest() {
                json.element().object(|json| self.slow_call(&call, json));
            }
        });
    }

    /// Tool calls with a duration that counts: longest first, then by start, then by request.
    fn slowest(&self) -> Vec<Cow<'_, Call>> {
        let mut slowest: Vec<Cow<'_, Call>> = Vec::with_capacity(SLOWEST + 1);
        let calls = self.session.calls();
        for call in calls.filter(|call| call.is_tool && call.is_measured()) {
            let at = slowest.partition_point(|known| rank(known) <= rank(&call));
            if at < SLOWEST {
                slowest.insert(at, call);
                slowest.truncate(SLOWEST);
            }
        }
        slowest
    }

    fn slow_call(&self, call: &Call, json: &mut Json<'_>) {
        if self.selection.has_call(call.id) {
            json.count("call_index", call.id.0);
        }
        json.text("id", super::calls::id(call));
        json.text("tool_name", call.operation.as_deref().unwrap_or_default());
        json.key("duration_ms")
            .millis(call.duration_nanos().unwrap_or(0));
        json.flag("is_error", call.errored);
    }
}

fn rank(call: &Call) -> (Reverse<Option<u64>>, Option<crate::base::Timestamp>, u64) {
    let duration = Reverse(call.duration_nanos());
    (duration, call.start, call.request_seq.0)
}

fn tool(name: &str, stats: &ToolStats, json: &mut Json<'_>) {
    json.text("name", name);
    json.count("calls", stats.calls);
    json.count("errors", stats.protocol_errors + stats.tool_errors);
    json.count("protocol_errors", stats.protocol_errors);
    json.count("tool_errors", stats.tool_errors);
    json.count("pending", stats.pending);
    percentiles(["p50_ms", "p95_ms", "p99_ms"], &stats.durations, json);
    json.count("result_bytes", stats.result_bytes);
    json.count("max_result_bytes", stats.max_result_bytes);
    json.count("measured", stats.durations.len());
    let names = ["server_p50_ms", "server_p95_ms", "server_p99_ms"];
    percentiles(names, &stats.server, json);
    json.count("cancelled", stats.cancelled);
    json.count("superseded", stats.superseded);
    json.count("max_round_trips", stats.max_round_trips);
    json.mark("approximate", !stats.durations.is_exact());
}

fn percentiles(names: [&str; 3], durations: &Durations, json: &mut Json<'_>) {
    for (name, percent) in names.into_iter().zip([50, 95, 99]) {
        json.key(name).millis(durations.percentile(percent));
    }
}
