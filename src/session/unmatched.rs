//! Responses that answer nothing that was seen: which of the many good reasons there are for that, and
//! a warning only where there is none (session-model.md 4.5).

use super::{
    classify::Parts,
    early::Said,
    hops::Side,
    key::Key,
    machine::{At, Machine},
    reading::is_redacted,
    remark::{Code, Level},
    row::RowId,
    wording::shown,
};
use crate::{
    record::{HttpFields, Seq},
    wire::json,
};

/// What is said of a response without request of its own, and taken back when the request comes
/// (session-model.md 4.4, M6).
pub(super) const PROVISIONAL: [Code; 8] = [
    Code::ResponseUnmatched,
    Code::ResponseUnmatchedGap,
    Code::ResponseIdType,
    Code::ResponseForgotten,
    Code::ResponseAmbiguous,
    Code::ResponseDuplicate,
    Code::ResponseRedelivered,
    Code::ResponseAfterReuse,
];

impl Machine {
    /// Folds a response that was matched with nothing; `several` when it fits more than one request.
    pub(super) fn unmatched(
        &mut self,
        at: &At,
        http: Option<&HttpFields>,
        parts: &Parts<'_>,
        key: Option<Key>,
        several: bool,
    ) {
        let fails = parts.error.is_some() || parts.result.is_none();
        let counted = fails && !(at.status >= 400 && self.is_sanctioned(at, http, true));
        if counted {
            self.mark_errored(at.row);
        }
        let faulty = self.warns(at.row);
        let before = *self.unlinked.of(at.side.other());
        let owed = match &key {
            // A body of a refusal: whatever its id, it belongs to the exchange (8.1).
            _ if fails && at.status >= 400 => None,
            None => {
                self.judge_nameless(at, parts, fails);
                None
            }
            Some(key) => self.judge_unmatched(at, http, parts, key, several),
        };
        if let Some(key) = key {
            let said = Said {
                excused: before > *self.unlinked.of(at.side.other()),
                faulty,
                counted,
                owed,
                repeats: None,
            };
            let peer = http.and_then(|http| http.peer.as_deref());
            self.note_early(at, key, (parts, peer), said);
        }
    }

    /// One whose id is null, absent or redacted.
    fn judge_nameless(&mut self, at: &At, parts: &Parts<'_>, fails: bool) {
        let hidden = parts.id.is_some_and(|id| is_redacted(id, at.redacted));
        if hidden {
            self.note_nameless(at);
        }
        // The answer to a notification: it has no id because nothing could be named.
        let to_notification = at.exchange != 0
            && self.exchanges.contains(&at.exchange)
            && self.hops.exchanges.is_idle(at.exchange);
        if hidden || at.truncated || parts.error.is_none() && parts.result.is_none() {
            return;
        }
        let who = at.side.word();
        if fails {
            let text = format!("{who}: sent an error that names no request");
            self.remark(at.row, Code::ErrorWithoutRequest, text);
        } else if !to_notification && !self.excused(at.side) {
            let text = format!("{who}: sent a result that names no request");
            self.remark(at.row, Code::ResultIdNull, text);
        }
    }

    /// Answers the warning that is due when the request does not come, in a log where it still may.
    fn judge_unmatched(
        &mut self,
        at: &At,
        http: Option<&HttpFields>,
        parts: &Parts<'_>,
        key: &Key,
        several: bool,
    ) -> Option<(Code, String)> {
        let asker = at.side.other();
        let hidden = self.hops.hides_one(asker);
        // A response with neither member has its own remark (3.2.4); one that was cut is not judged.
        let silent = at.truncated || parts.error.is_none() && parts.result.is_none();
        if self.excused(at.side) || hidden || silent {
            return None;
        }
        let (who, asker_word) = (at.side.word(), asker.word());
        let id = shown(parts.id.unwrap_or_default());
        if several {
            let text = format!(
                "{who}: answered the id {id}, which several requests of the {asker_word} carry"
            );
            self.remark(at.row, Code::ResponseAmbiguous, text);
            return None;
        }
        if self.hops.with_key(asker, key).next().is_none() && self.waits_retyped(at, asker, parts) {
            let text = format!(
                "{who}: answered the id {id}; the {asker_word} sent it with the other type of a \
                 number and a string"
            );
            return self.remark_or_owe(at, at.hole > 0, Code::ResponseIdType, text);
        }
        let resumed = http
            .and_then(|http| http.http_method.as_deref())
            .is_some_and(|method| method.eq_ignore_ascii_case("GET"));
        let text = |why: &str| format!("{who}: answered the id {id}, {why}");
        let unseen = text("whose request may lie in a frame that is not there");
        let unmatched = text("which no request of the other side carries");
        if at.hole > 0 || resumed {
            self.remark(at.row, Code::ResponseUnmatchedGap, unseen);
        } else if self.forgotten.calls > 0 || self.hops.forgot_any() {
            let text = text("whose request may be among those that were forgotten");
            self.remark(at.row, Code::ResponseForgotten, text);
        } else if self.may_overtake() {
            self.remark(at.row, Code::ResponseUnmatchedGap, unseen);
            return Some((Code::ResponseUnmatched, unmatched));
        } else {
            self.remark(at.row, Code::ResponseUnmatched, unmatched);
        }
        None
    }

    /// Makes a remark, as an observation when it is `doubtful`; where a request may still come that
    /// shows it to be wrong, it is one too, and the warning is owed.
    pub(super) fn remark_or_owe(
        &mut self,
        at: &At,
        doubtful: bool,
        code: Code,
        text: String,
    ) -> Option<(Code, String)> {
        if doubtful || self.may_overtake() {
            self.observe(at.row, code, text.clone());
            return (!doubtful).then_some((code, text));
        }
        self.remark(at.row, code, text);
        None
    }

    /// Takes one of the truncated requests that could not be linked: this may be its answer
    /// (session-model.md 3.4).
    fn excused(&mut self, sender: Side) -> bool {
        let cut = self.unlinked.of(sender.other());
        let any = *cut > 0;
        *cut = cut.saturating_sub(1);
        any
    }

    /// True when a request waits whose id is the same text with the other type.
    fn waits_retyped(&self, at: &At, asker: Side, parts: &Parts<'_>) -> bool {
        let id = parts.id.unwrap_or_default();
        let retyped = if id.first() == Some(&b'"') {
            json::string(id).and_then(|text| {
                let is_number = matches!(text.as_bytes().first(), Some(b'-' | b'0'..=b'9'));
                is_number.then(|| Key::read(text.as_bytes())).flatten()
            })
        } else {
            let mut text = Vec::with_capacity(id.len() + 2);
            text.push(b'"');
            text.extend_from_slice(id);
            text.push(b'"');
            Key::read(&text)
        };
        let Some(retyped) = retyped else { return false };
        let mut waiting = self.hops.with_key(asker, &retyped);
        waiting.any(|(_, hop)| {
            let near = !at.http || hop.conn == at.conn || hop.client == at.client;
            hop.waiting && near
        })
    }

    /// Takes remarks back; `warned` tells that they are what made the frame count as warned, for a
    /// row that was dropped meanwhile.
    pub(super) fn withdraw_all(&mut self, row: RowId, codes: &[Code], warned: bool) {
        if self.rows.by_id(row).is_some() {
            for code in codes {
                self.withdraw(row, *code);
            }
        } else if warned {
            self.counters.warnings = self.counters.warnings.saturating_sub(1);
        }
    }

    /// True when a row has a warning.
    pub(super) fn warns(&self, row: RowId) -> bool {
        let extra = self.extras.get(&row);
        extra.is_some_and(|extra| extra.warns())
    }

    /// Makes a remark that rests on an earlier frame: an observation when a number between them was
    /// not seen (session-model.md 2.3.5), or when a frame was that nobody could read.
    pub(super) fn remark_if_read(&mut self, at: &At, earlier: Seq, code: Code, text: String) {
        if self.unread_since(earlier) {
            self.observe(at.row, code, text);
        } else {
            self.remark_since(at, earlier, code, text);
        }
    }

    /// True when a frame since that number could not be read.
    pub(super) fn unread_since(&self, earlier: Seq) -> bool {
        let sides = [Side::Client, Side::Server];
        let mut last = sides.into_iter().map(|side| *self.last_unlinked.get(side));
        last.any(|seq| seq > earlier)
    }

    /// Makes a remark as an observation, whatever its usual level.
    pub(super) fn observe(&mut self, row: RowId, code: Code, text: String) {
        self.remark_as(row, code, code.level().min(Level::Observation), text.into());
    }
}
