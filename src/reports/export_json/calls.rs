//! A call: one logical operation with its request, its answer and its outcome (export.md 4.5).

use super::{Document, tasks::TaskEnd, words};
use crate::{
    reports::{
        Error,
        export::{Frame, Frames},
        json_out::Json,
    },
    session::{Call, CallId, CallState, Resolved, RowId},
    wire::{Message, error_name, json},
};

/// The frames that tell of a call.
struct Ends {
    request: Option<Frame>,
    answer: Option<Frame>,
    answer_row: Option<RowId>,
    /// What its task ended with, where that came in another frame than the answer.
    task: Option<(Frame, TaskEnd)>,
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
        let request = read(call.hops.first().map(|hop| hop.request))?;
        // An open call was only asked for more, or given to a task.
        let is_over = !call.is_open();
        let answer_row = self.answer_row(call).filter(|_| is_over);
        let task = self.task_ends.get(&call.id).filter(|_| is_over);
        let task = match task {
            Some((row, end)) => read(Some(*row))?.map(|frame| (frame, *end)),
            None => None,
        };
        Ok(Ends {
            request,
            answer: read(answer_row)?,
            answer_row,
            task,
        })
    }

    /// The frame that answered or refused it.
    fn answer_row(&self, call: &Call) -> Option<RowId> {
        let refusal = || {
            let mut linked = call.linked.iter().rev().copied();
            let fits = |row: &RowId| {
                let position = self.session.position(*row);
                let row = position.and_then(|position| self.session.row(position));
                row.is_some_and(|row| row.status == call.http_status && row.ts == call.end)
            };
            linked.find(fits).filter(|_| call.http_status != 0)
        };
        call.answer_row().or_else(refusal)
    }

    fn outcome(&self, call: &Call, json: &mut Json<'_>) {
        json.text("state", words::state(call));
        json.text("status", words::status(call));
        json.flag("is_tool", call.is_tool);
        json.flag("is_error", call.errored);
        json.flag("tool_error", call.tool_error);
        json.some_text("tool_name", tool_name(call));
        json.some_text("task_id", call.task_id.as_deref());
        json.some_text("task_status", call.task_status.as_deref());
        self.time("started_at", call.start, json);
        if let Some(nanos) = call.duration_nanos() {
            self.time("ended_at", call.end, json);
            json.key("duration_ms").millis(nanos);
        }
        if call.state == CallState::Cancelled {
            self.time("cancelled_at", call.cancelled_at, json);
            json.some_text("cancel_reason", call.cancel_reason.as_deref());
        }
        json.mark("late_result", call.late_result);
        json.some_count("round_trips", call.hop_count);
        if call.server_nanos > 0 || call.hop_count > 1 {
            json.key("server_time_ms").millis(call.server_nanos);
        }
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
    let (result, error) = outcome_of(ends);
    if let Some(result) = result {
        json.key("result").raw(result);
    }
    if let Some(error) = error.filter(|error| *error != b"null") {
        error_members(error, json);
    }
}

fn message_of(frame: Option<&Frame>) -> Option<Message<'_>> {
    frame.and_then(Frame::json).map(Message::read)
}

/// Result and error: of a task what it ended with, else those of the answer.
fn outcome_of(ends: &Ends) -> (Option<&[u8]>, Option<&[u8]>) {
    let answer = message_of(ends.answer.as_ref());
    let Some((frame, end)) = &ends.task else {
        return answer.map_or((None, None), |answer| (answer.result, answer.error));
    };
    let Some(message) = message_of(Some(frame)) else {
        return (None, None);
    };
    let within = match end {
        TaskEnd::Answer => return (message.result, message.error),
        TaskEnd::Told => message.result.or(message.params).unwrap_or_default(),
    };
    (
        json::member(within, "result"),
        json::member(within, "error"),
    )
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
    let name = code.and_then(integer).and_then(error_name);
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
    json.some_text("resolved", call.resolved.map(Resolved::as_str));
    json.mark("undelivered", call.undelivered);
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
    let frames = ends.request.iter().chain(&ends.answer);
    let mut frames = frames.chain(ends.task.iter().map(|(frame, _)| frame));
    json.mark("redacted", frames.any(|frame| frame.envelope.redacted));
    json.flag("measured", call.is_measured());
}
