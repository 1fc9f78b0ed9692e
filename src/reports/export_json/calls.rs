//! A call: one logical operation with its request, its answer and its outcome (export.md 4.5).

use super::{Document, words};
use crate::{
    reports::{
        Error,
        export::{Frame, Frames},
        json_out::Json,
    },
    session::{Call, CallId, CallState, RowId},
    wire::{Message, json},
};

/// The frames that tell of a call.
struct Ends {
    request: Option<Frame>,
    answer: Option<Frame>,
    answer_row: Option<RowId>,
}

/// The id of the request that opened it, as JSON text.
pub(super) fn id(call: &Call) -> &str {
    call.hops.first().map_or("", |hop| &*hop.json_id)
}

/// The tool that it names; absent for other calls.
pub(super) fn tool_name(call: &Call) -> Option<&str> {
    call.is_tool
        .then(|| call.operation.as_deref().unwrap_or(""))
}

impl Document<'_> {
    /// One element of `calls`.
    pub(super) fn call(
        &self,
        id: CallId,
        frames: &mut Frames<'_>,
        json: &mut Json<'_>,
    ) -> Result<(), Error> {
        let Some(call) = self.session.call(id) else {
            return Ok(());
        };
        let ends = self.ends(&call, frames)?;
        json.element().object(|json| {
            name(&call, json);
            self.outcome(&call, json);
            payloads(&ends, json);
            notes(&call, &ends, json);
        });
        Ok(())
    }

    fn ends(&self, call: &Call, frames: &mut Frames<'_>) -> Result<Ends, Error> {
        let mut read = |row: Option<RowId>| -> Result<Option<Frame>, Error> {
            let position = row.and_then(|row| self.session.position(row));
            let row = position.and_then(|position| self.session.row(position));
            row.map(|row| frames.read(&row)).transpose()
        };
        let request = call.hops.first().map(|hop| hop.request);
        let answer_row = self.answer_row(call);
        Ok(Ends {
            request: read(request)?,
            answer: read(answer_row)?,
            answer_row,
        })
    }

    /// The frame that answered or refused it; an open call was only asked for more.
    fn answer_row(&self, call: &Call) -> Option<RowId> {
        if call.is_open() {
            return None;
        }
        let answer = call.hops.last().and_then(|hop| hop.answer);
        let refusal = || {
            let refused = call.http_status != 0;
            let mut linked = call.linked.iter().rev().copied();
            let fits = |row: &RowId| {
                let position = self.session.position(*row);
                let row = position.and_then(|position| self.session.row(position));
                row.is_some_and(|row| row.status == call.http_status && row.ts == call.end)
            };
            linked.find(fits).filter(|_| refused)
        };
        answer.or_else(refusal)
    }

    fn outcome(&self, call: &Call, json: &mut Json<'_>) {
        json.text("state", words::state(call));
        json.text("status", words::status(call));
        json.flag("is_tool", call.is_tool);
        json.flag("is_error", call.errored);
        json.flag("tool_error", call.tool_error);
        json.some_text("tool_name", tool_name(call));
        json.some_text("task_status", call.task_status.as_deref());
        self.time("started_at", call.start, json);
        if let Some(nanos) = call.duration_nanos() {
            self.time("ended_at", call.end, json);
            json.key("duration_ms").millis(nanos);
        }
        if call.state == CallState::Cancelled {
            self.time("cancelled_at", self.cancelled_at(call), json);
            json.some_text("cancel_reason", call.cancel_reason.as_deref());
        }
        json.mark("late_result", call.late_result);
        json.some_count("round_trips", call.hop_count);
        if call.server_nanos > 0 || call.hop_count > 1 {
            json.key("server_time_ms").millis(call.server_nanos);
        }
    }

    /// The instant of the cancellation: a late answer ended it later.
    fn cancelled_at(&self, call: &Call) -> Option<crate::base::Timestamp> {
        if !call.late_result {
            return call.end;
        }
        call.linked.iter().find_map(|row| {
            let row = self.session.row(self.session.position(*row)?)?;
            row.ts
                .filter(|_| row.method == Some("notifications/cancelled"))
        })
    }
}

fn name(call: &Call, json: &mut Json<'_>) {
    json.count("index", call.id.0);
    json.text("id", id(call));
    json.text("method", &call.method);
    json.text("direction", words::direction(call));
}

/// Parameters, result and error as they were sent.
fn payloads(ends: &Ends, json: &mut Json<'_>) {
    let request = ends.request.as_ref().and_then(Frame::json);
    if let Some(params) = request.and_then(|message| Message::read(message).params) {
        json.key("params").raw(params);
    }
    let Some(answer) = ends.answer.as_ref().and_then(Frame::json) else {
        return;
    };
    let answer = Message::read(answer);
    if let Some(result) = answer.result {
        json.key("result").raw(result);
    }
    if let Some(error) = answer.error.filter(|error| *error != b"null") {
        error_members(error, json);
    }
}

fn error_members(error: &[u8], json: &mut Json<'_>) {
    let code = json::member(error, "code").filter(|code| integer(code).is_some());
    let message = json::member(error, "message").and_then(json::string);
    json.key("error").object(|json| {
        if let Some(code) = code {
            json.key("code").raw(code);
        }
        json.some_text("message", message.as_deref());
        if let Some(data) = json::member(error, "data") {
            json.key("data").raw(data);
        } else if error.first() != Some(&b'{') {
            // No object, as the protocol wants one: all that there is.
            json.key("data").raw(error);
        }
    });
    let name = code.and_then(integer).and_then(words::error_name);
    json.some_text("error_name", name);
}

fn integer(value: &[u8]) -> Option<i64> {
    std::str::from_utf8(value).ok()?.parse().ok()
}

fn notes(call: &Call, ends: &Ends, json: &mut Json<'_>) {
    let status = |frame: &Frame| frame.envelope.http.as_ref().map_or(0, |http| http.status);
    let answered = ends.answer.as_ref().map_or(0, status);
    let status = if answered == 0 {
        call.http_status
    } else {
        answered
    };
    json.some_count("http_status", status);
    json.some_text("waiting_on", words::waiting_on(call));
    let undelivered = |frame: &Frame| {
        let http = frame.envelope.http.as_ref();
        http.is_some_and(|http| http.undelivered)
    };
    let refused = ends.answer.as_ref().is_some_and(undelivered);
    json.mark("undelivered", refused && call.http_status != 0);
    json.mark("lost", call.lost);
    json.mark("uncertain", call.uncertain);
    json.count("request_seq", call.request_seq.0);
    if let Some(answer) = ends.answer_row {
        json.count("response_seq", answer.seq.0);
    }
    let http = ends
        .request
        .as_ref()
        .and_then(|frame| frame.envelope.http.as_ref());
    if let Some(http) = http {
        json.some_text("conn_id", http.conn_id.as_deref());
        json.some_text("peer", http.peer.as_deref());
    }
    json.mark("request_truncated", call.request_truncated);
    json.mark("result_truncated", call.result_truncated);
    let mut frames = ends.request.iter().chain(&ends.answer);
    json.mark("redacted", frames.any(|frame| frame.envelope.redacted));
    json.flag("measured", call.is_measured());
}
