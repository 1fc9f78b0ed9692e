//! The questions that servers put to users, never the content of an answer (export.md 4.8).

use super::Document;
use crate::{reports::json_out::Json, session::Elicitation};

impl Document<'_> {
    /// The member `elicitations`, if there was one; with a filter those of the calls that it leaves.
    pub(super) fn elicitations(&self, json: &mut Json<'_>) {
        let all = self.session.elicitations().into_iter();
        let chosen: Vec<_> = all.filter(|question| self.is_chosen(question)).collect();
        if chosen.is_empty() {
            return;
        }
        json.key("elicitations").array(|json| {
            for question in chosen {
                json.element()
                    .object(|json| self.elicitation(question, json));
            }
        });
    }

    fn is_chosen(&self, question: &Elicitation) -> bool {
        let operation = question.operation.as_ref().map(|operation| operation.call);
        let mut calls = operation.iter().chain(&question.request).peekable();
        calls.peek().is_none() || calls.any(|call| self.selection.has_call(*call))
    }

    fn elicitation(&self, question: &Elicitation, json: &mut Json<'_>) {
        if let Some(operation) = &question.operation {
            if self.selection.has_call(operation.call) {
                json.count("call_index", operation.call.0);
            }
            json.text("call_id", &operation.call_id);
            json.text("method", &operation.method);
            json.some_text("tool_name", operation.tool.as_deref());
        }
        json.text("key", &question.key);
        json.text("mode", question.mode.name());
        json.some_text("message", question.message.as_deref());
        if !question.fields.is_empty() {
            json.key("fields").array(|json| {
                for field in &question.fields {
                    json.element().object(|json| {
                        json.text("name", &field.name);
                        json.some_text("type", Some(&*field.kind).filter(|kind| !kind.is_empty()));
                    });
                }
            });
        }
        json.some_text("url", question.url.as_deref());
        json.some_text("host", question.host.as_deref());
        json.some_text("action", question.action.as_deref());
        json.mark("pending", question.pending);
        self.time("asked_at", question.asked_at, json);
        self.time("answered_at", question.answered_at, json);
        if let Some(nanos) = question.elapsed_nanos() {
            json.key("elapsed_ms").millis(nanos);
        }
        json.text("channel", question.channel.name());
        json.count("round", question.round);
        if let Some(code) = question.answer_error {
            json.count("answer_error", code);
        }
    }
}
