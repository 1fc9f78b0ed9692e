//! Answers beyond the first: linked for display, without any other effect (session-model.md 4.6.3,
//! 4.7).

use super::{
    call::{CallId, CallState, WaitingOn},
    classify::Parts,
    early::Said,
    fact::Fact,
    hops::HopId,
    machine::{At, Machine},
    reading::{self, ResultFacts},
    remark::Code,
    wording::shown,
};
use crate::record::Seq;

impl Machine {
    /// Folds a further answer to a hop that has one.
    pub(super) fn repeated(
        &mut self,
        at: &At,
        hop: HopId,
        (parts, peer): (&Parts<'_>, Option<&str>),
        facts: &mut Vec<Fact>,
    ) {
        let Some(call) = self.hops.get(hop).map(|hop| hop.call) else {
            return;
        };
        let faulty = self.warns(at.row);
        self.link_repeated(at, call, facts);
        self.note_stray_state(at, Some(hop), parts);
        let owed = self.judge_repeated(at, hop, parts);
        let key = parts.id.and_then(|id| reading::key_of(id, at.redacted));
        if let Some(key) = key {
            let said = Said {
                faulty,
                owed,
                repeats: Some(call),
                ..Said::default()
            };
            self.note_early(at, key, (parts, peer), said);
        }
    }

    /// Answers the warning that is due when no request of its own comes, in a log where one still may.
    fn judge_repeated(&mut self, at: &At, hop: HopId, parts: &Parts<'_>) -> Option<(Code, String)> {
        let entry = self.hops.get_mut(hop)?;
        let (call, modern) = (entry.call, entry.effective == Some(true));
        let (first, first_on) = (entry.answer, entry.answered_on);
        let spare = entry.shared.as_mut().is_some_and(|shared| shared.spend());
        if at.truncated {
            return None;
        }
        if spare {
            self.after_reuse(at, parts);
            return None;
        }
        // Where no exchange was recorded, nobody can say that it is the same one.
        let elsewhere =
            at.http && (at.exchange == 0 || first_on == 0 || at.exchange != first_on) && !modern;
        let who = at.side.word();
        let id = shown(parts.id.unwrap_or_default());
        if elsewhere || self.is_resent(at, call, parts) {
            let text = format!("{who}: sent its answer to the id {id} again");
            self.remark(at.row, Code::ResponseRedelivered, text);
            return None;
        }
        let text = format!("{who}: answered the id {id} again; the first answer is frame {first}");
        let doubtful = self.may_be_asked_unseen(at) || self.unread_since(first);
        self.remark_or_owe(at, doubtful, Code::ResponseDuplicate, text)
    }

    /// True when a request that nobody could read, wherever it stood, may have had the id too, and the
    /// answer be its own. One before the first request that is known may have been cancelled, or be
    /// that of another client.
    fn may_be_asked_unseen(&mut self, at: &At) -> bool {
        let asker = at.side.other();
        at.hole > 0 || *self.last_unlinked.get(asker) > Seq(0) || self.hops.hides_one(asker)
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
    pub(super) fn link_repeated(&mut self, at: &At, call: CallId, facts: &mut Vec<Fact>) {
        if let Some(row) = self.rows.by_id_mut(at.row) {
            row.mark(|flags| flags.duplicate = true);
            row.set_call(call);
        }
        self.change(call, facts, |call| call.link(at.row));
    }

    /// Takes the tie back: it is the answer of another call.
    pub(super) fn unlink_repeated(&mut self, at: &At, call: CallId, facts: &mut Vec<Fact>) {
        if let Some(row) = self.rows.by_id_mut(at.row) {
            row.mark(|flags| flags.duplicate = false);
        }
        self.change(call, facts, |call| call.linked.retain(|row| *row != at.row));
    }

    /// An interim result that comes again while the call is parked.
    fn is_resent(&self, at: &At, call: CallId, parts: &Parts<'_>) -> bool {
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
