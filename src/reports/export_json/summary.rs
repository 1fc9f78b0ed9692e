//! Figures by tool, the slowest calls, what definitions cost, repeated calls (export.md 4.3,
//! session-model.md 15 to 18).

use super::Document;
use crate::{
    reports::json_out::Json,
    session::{Costs, Durations, ListKind, RepeatedCall, ToolStats},
};

impl Document<'_> {
    /// The members of `summary`.
    pub(super) fn summary(&self, json: &mut Json<'_>) {
        json.key("tools").array(|json| {
            for (name, stats) in self.session.tools() {
                json.element().object(|json| tool(name, stats, json));
            }
        });
        json.key("slowest_calls").array(|json| {
            for call in self.session.slowest_calls() {
                json.element().object(|json| {
                    if self.selection.has_call(call.call) {
                        json.count("call_index", call.call.0);
                    }
                    json.text("id", &call.id);
                    json.text("tool_name", &call.tool);
                    json.key("duration_ms").millis(call.nanos);
                    json.flag("is_error", call.is_error);
                });
            }
        });
        self.definitions(json);
        self.duplicates(json);
    }

    /// What the listed tools cost; absent when no listing was seen.
    fn definitions(&self, json: &mut Json<'_>) {
        let Some(inventory) = self.session.inventory(ListKind::Tools) else {
            return;
        };
        let costs = inventory.costs();
        let unused = self.session.usage().and_then(|usage| usage.unused);
        json.key("definitions").object(|json| {
            let listed = costs.per_tool.len() as u64;
            json.count("tools", listed.saturating_add(inventory.surplus));
            json.count("bytes", costs.bytes);
            json.flag("complete", costs.complete && inventory.surplus == 0);
            if let Some(unused) = unused {
                json.key("unused").array(|json| {
                    for name in unused {
                        json.element().string(name);
                    }
                });
            }
            json.key("per_tool").array(|json| per_tool(&costs, json));
        });
    }

    /// Calls that were sent again; absent when there was none.
    fn duplicates(&self, json: &mut Json<'_>) {
        let mut repeated = self.session.repeated_calls().peekable();
        if repeated.peek().is_none() {
            return;
        }
        json.key("duplicates").array(|json| {
            for call in repeated {
                json.element().object(|json| duplicate(call, json));
            }
        });
    }
}

fn per_tool(costs: &Costs<'_>, json: &mut Json<'_>) {
    for (name, cost) in &costs.per_tool {
        json.element().object(|json| {
            json.text("name", name);
            json.count("bytes", cost.bytes);
            json.count("description_bytes", cost.description_bytes);
            json.count("schema_bytes", cost.schema_bytes);
            json.count("output_schema_bytes", cost.output_schema_bytes);
        });
    }
}

fn duplicate(call: &RepeatedCall, json: &mut Json<'_>) {
    json.text("tool", &call.tool);
    json.count("seq", call.row.seq.0);
    json.text("id", &call.id);
    json.count("earlier_seq", call.earlier_row.seq.0);
    json.text("earlier_id", &call.earlier_id);
    json.mark("after_cancel", call.after_cancel);
    json.mark("ran_twice", call.ran_twice);
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
    percentiles(names, stats.server(), json);
    json.count("cancelled", stats.cancelled);
    json.count("superseded", stats.superseded);
    json.count("max_round_trips", stats.max_round_trips);
    let is_exact = stats.durations.is_exact() && !stats.bytes_approximate();
    json.mark("approximate", !is_exact);
}

fn percentiles(names: [&str; 3], durations: &Durations, json: &mut Json<'_>) {
    for (name, percent) in names.into_iter().zip([50, 95, 99]) {
        json.key(name).millis(durations.percentile(percent));
    }
}
