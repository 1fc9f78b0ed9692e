//! Answers beyond the first: linked for display, without any other effect (session-model.md 4.6.3,
//! 4.7).

use super::{
    call::{CallState, WaitingOn},
    classify::Parts,
    fact::Fact,
    hops::HopId,
    machine::{At, Machine},
    reading::ResultFacts,
    remark::Code,
    wording::shown,
};

impl Machine {
    /// Folds a further answer to a hop that has one.
    pub(super) fn repeated(
        &mut self,
        at: &At,
        hop: HopId,
        parts: &Parts<'_>,
        facts: &mut Vec<Fact>,
    ) {
        let Some(entry) = self.hops.get_mut(hop) else {
            return;
        };
        let (call, modern) = (entry.call, entry.effective == Some(true));
        let (first, first_on) = (entry.answer, entry.answered_on);
        let spare = entry.shared.as_mut().is_some_and(|shared| shared.spend());
        self.link_repeated(at, call, facts);
        self.note_stray_state(at, Some(hop), parts);
        if at.truncated {
            return;
        }
        if spare {
            self.after_reuse(at, parts);
            return;
        }
        // Where no exchange was recorded, nobody can say that it is the same one.
        let elsewhere =
            at.http && (at.exchange == 0 || first_on == 0 || at.exchange != first_on) && !modern;
        let who = at.side.word();
        let id = shown(parts.id.unwrap_or_default());
        if elsewhere || self.is_resent(at, call, parts) {
            let text = format!("{who}: sent its answer to the id {id} again");
            self.remark(at.row, Code::ResponseRedelivered, text);
        } else {
            let text =
                format!("{who}: answered the id {id} again; the first answer is frame {first}");
            if self.hops.hides_one(at.side.other()) {
                // A request whose id redaction took away may have used it again.
                self.observe(at.row, Code::ResponseDuplicate, text);
            } else {
                self.remark_if_read(at, first, Code::ResponseDuplicate, text);
            }
        }
    }

    /// An answer with an id that two requests had: the responder may answer both.
    pub(super) fn after_reuse(&mut self, at: &At, parts: &Parts<'_>) {
        if at.truncated {
            return;
        }
        let text = format!(
            "{}: answered the id {} again, which more than one request carries",
            at.side.word(),
            shown(parts.id.unwrap_or_default())
        );
        self.remark(at.row, Code::ResponseAfterReuse, text);
    }

    /// Ties a further answer to its call.
    pub(super) fn link_repeated(
        &mut self,
        at: &At,
        call: super::call::CallId,
        facts: &mut Vec<Fact>,
    ) {
        if let Some(row) = self.rows.by_id_mut(at.row) {
            row.mark(|flags| flags.duplicate = true);
            row.set_call(call);
        }
        self.change(call, facts, |call| call.link(at.row));
    }

    /// An interim result that comes again while the call is parked.
    fn is_resent(&self, at: &At, call: super::call::CallId, parts: &Parts<'_>) -> bool {
        let parked = self
            .call(call)
            .is_some_and(|call| call.state == CallState::Pending(WaitingOn::Client));
        parked
            && parts.error.is_none()
            && parts.result.is_some_and(|result| {
                let read = ResultFacts::read(result, at.redacted);
                read.result_type.as_deref() == Some("input_required")
            })
    }
}
