//! An event: one recorded frame, line of standard error or invalid line (export.md 4.6).

use super::{Document, words};
use crate::{
    findings::{finding_id, signal},
    record::{Direction, HttpFields, Payload},
    reports::{
        Error,
        export::{Frame, Frames},
        json_out::Json,
    },
    session::{Code, Extra, Kind, Level, Row},
    wire::Message,
};

/// Ids and methods are held up to this length; longer ones are read from the frame.
const HELD: usize = 1_024;

impl Document<'_> {
    /// One element of `events`.
    pub(super) fn event(
        &self,
        position: usize,
        frames: &mut Frames<'_>,
        json: &mut Json<'_>,
    ) -> Result<(), Error> {
        let Some(row) = self.session.row(position) else {
            return Ok(());
        };
        let frame = frames.read(&row)?;
        json.element().object(|json| {
            json.count("seq", row.id.seq.0);
            self.time("timestamp", row.ts, json);
            json.text("direction", row.direction.as_str());
            json.text("kind", words::kind(row.kind));
            self.names(&row, &frame, json);
            let extra = self.session.extra(row.id);
            if let Some(extra) = extra {
                remarks(extra, json);
                findings(extra, &row, json);
            }
            json.mark("errored", row.flags.errored);
            json.mark("mismatch", extra.is_some_and(|extra| extra.mismatch));
            let http = frame.envelope.http.as_deref();
            if let Some(http) = http {
                json.some_count("http_status", http.status);
                json.some_text("auth_challenge", http.auth_challenge.as_deref());
            }
            json.mark("truncated", row.flags.truncated);
            if let Some(extra) = extra {
                cache_hints(extra, json);
            }
            if let Some(call) = row.call {
                json.count("call_index", call.0);
            }
            body(&frame, json);
            recorded(&row, &frame, json);
            if let Some(extra) = extra {
                json.some_text("task_id", extra.task_id.as_deref());
                json.some_text("mrtr_root", extra.mrtr_root.as_deref());
            }
            if let Some(http) = http {
                routing(http, json);
            }
        });
        Ok(())
    }

    /// Method and id; an answer carries the method of its request.
    fn names(&self, row: &Row<'_>, frame: &Frame, json: &mut Json<'_>) {
        let is_long = |text: Option<&str>| text.is_some_and(|text| text.len() >= HELD);
        let message = frame
            .json()
            .filter(|_| is_long(row.json_id) || is_long(row.method))
            .map(Message::read);
        let whole = message.as_ref();
        let method = whole
            .and_then(|message| message.method)
            .and_then(crate::wire::json::string);
        let call = row.call.filter(|_| row.kind == Kind::Response);
        let call = call.and_then(|call| self.session.call(call));
        let known = row.method.or(call.as_deref().map(|call| &*call.method));
        json.some_text("method", method.as_deref().or(known));
        match whole.and_then(|message| message.id) {
            Some(id) => json.key("id").lossy(id),
            None => json.some_text("id", row.json_id),
        }
    }
}

/// What the model says of the frame: warnings, then what is no fault.
fn remarks(extra: &Extra, json: &mut Json<'_>) {
    let of = |is_warning: bool| {
        let remarks = extra.remarks.iter().filter(move |remark| {
            (remark.level == Level::Warning) == is_warning && remark.code != Code::CacheRefetch
        });
        remarks.map(|remark| &*remark.text).collect::<Vec<&str>>()
    };
    let (warnings, mut observations) = (of(true), of(false));
    let more = format!("{} more remarks", extra.more_remarks);
    if extra.more_remarks > 0 {
        observations.push(&more);
    }
    for (name, texts, separator) in [
        ("warning", warnings, ", "),
        ("observation", observations, "; "),
    ] {
        if !texts.is_empty() {
            json.text(name, &texts.join(separator));
        }
    }
}

/// The records behind these texts (findings.md 1.1). Who sent the frame must act.
fn findings(extra: &Extra, row: &Row<'_>, json: &mut Json<'_>) {
    let records = extra.remarks.iter();
    let mut records = records
        .filter_map(|remark| Some((finding_id(remark)?, remark)))
        .peekable();
    if records.peek().is_none() {
        return;
    }
    let side = match row.direction {
        Direction::ClientToServer => "client",
        Direction::ServerToClient => "server",
        _ => "recorder",
    };
    json.key("findings").array(|json| {
        for (id, remark) in records {
            json.element().object(|json| {
                json.text("id", id);
                json.text("signal", signal(remark));
                json.text("side", side);
                json.count("seq", row.id.seq.0);
                json.text("message", &remark.text);
            });
        }
    });
}

fn cache_hints(extra: &Extra, json: &mut Json<'_>) {
    if let Some(millis) = extra.cache_ttl_ms {
        json.count("cache_ttl_ms", millis);
    }
    json.some_text("cache_scope", extra.cache_scope.as_deref());
    json.some_text("cache_stale_refetch", extra.cache_stale_refetch());
}

fn body(frame: &Frame, json: &mut Json<'_>) {
    match &frame.body {
        Payload::Raw(raw) => {
            let is_exact = json.key("raw").raw(raw.bytes());
            json.mark("raw_inexact", !is_exact);
        }
        Payload::Text(text) => json.key("text").lossy(text),
        Payload::Nothing => {}
    }
}

/// What was recorded beside the message.
fn recorded(row: &Row<'_>, frame: &Frame, json: &mut Json<'_>) {
    let envelope = &frame.envelope;
    let transport = envelope.transport.as_str();
    json.some_text("transport", Some(transport).filter(|word| !word.is_empty()));
    if let Some(http) = &envelope.http {
        json.some_text("conn_id", http.conn_id.as_deref());
        json.some_text("peer", http.peer.as_deref());
        json.some_count("exchange", http.exchange);
    }
    json.mark("batch", envelope.batch || row.batch.is_some());
    let index = row.batch.map_or(envelope.batch_index, |(index, _)| index);
    json.some_count("batch_index", index);
    json.mark("redacted", envelope.redacted);
    if let Some(bytes) = envelope.wire_bytes {
        json.count("wire_bytes", bytes);
    }
}

/// The routing headers of the request.
fn routing(http: &HttpFields, json: &mut Json<'_>) {
    let names = [
        ("method", &http.mcp_method),
        ("name", &http.mcp_name),
        ("protocol_version", &http.mcp_protocol_version),
    ];
    let params = http.mcp_param_headers.as_deref().unwrap_or_default();
    if params.is_empty() && names.iter().all(|(_, value)| value.is_none()) {
        return;
    }
    json.key("routing").object(|json| {
        for (name, value) in names {
            json.some_text(name, value.as_deref());
        }
        if !params.is_empty() {
            json.key("params").array(|json| {
                for param in params {
                    json.element().object(|json| {
                        json.text("name", &param.name);
                        json.text("value", &param.value);
                        json.mark("redacted", param.redacted);
                    });
                }
            });
        }
    });
}
