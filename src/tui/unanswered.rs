//! What is said of a call that was open when nothing more could come: that nobody need wait for it,
//! or that it cannot be known (tui.md Z1, session-model.md 20).

use super::{app::App, numbers};
use crate::{
    base::Shown,
    record::SessionKey,
    session::{Call, DisplayStatus, Row, Session, Source},
};

impl App {
    /// True while an answer may lie in frames that are not here: the link is down, or only a page of
    /// the session is shown.
    pub(super) fn is_unsure(&self, key: &SessionKey) -> bool {
        self.outside.is_down(&key.host) || self.has_page(key)
    }

    /// How a session came to its end; the error is that this is not known. Nothing while more may come.
    fn ending(&self, session: &Session) -> Option<Result<Shown, Shown>> {
        let key = session.key();
        if self.outside.is_down(&key.host) || self.outside.is_loading(key) {
            return None;
        }
        Some(match (session.source(), session.end()) {
            (Source::Live, _) => return None,
            (_, Some((_, Some(signal)))) => {
                Ok(Shown::literal("session ended by ").and(&Shown::name(signal.as_bytes())))
            }
            (_, Some((Some(code), None))) => {
                Ok(Shown::row(format!("session ended, exit {code}").as_bytes()))
            }
            (_, Some((None, None))) => Ok(Shown::literal("session ended")),
            (Source::Ended, None) => Err(Shown::literal(
                "the recording stopped without an end record",
            )),
            (_, None) => Err(Shown::literal("there is no end record")),
        })
    }

    /// Why the answer to this request is not waited for, if it is not.
    pub(super) fn no_answer(&self, session: &Session, row: &Row<'_>, call: &Call) -> Option<Shown> {
        let is_open_request = call.hops.last().is_some_and(|hop| hop.request == row.id);
        let waits = matches!(
            call.status(),
            DisplayStatus::Pending | DisplayStatus::PendingUncertain | DisplayStatus::Input
        );
        if !(is_open_request && waits) {
            return None;
        }
        if self.has_page(session.key()) {
            return Some(Shown::literal("its answer is not among the frames shown"));
        }
        Some(match self.ending(session)? {
            Ok(how) => Shown::literal("no answer: ").and(&how),
            Err(why) => Shown::literal("not known whether it was answered: ").and(&why),
        })
    }

    /// The same for a row, which has little room.
    pub(super) fn no_answer_in_short(
        &self,
        session: &Session,
        row: &Row<'_>,
        call: &Call,
    ) -> Option<&'static str> {
        self.no_answer(session, row, call)?;
        Some(match self.ending(session) {
            Some(Ok(_)) => "no answer, session ended",
            _ => "answer not known",
        })
    }

    /// The same in place of the answer's number (I1).
    pub(super) fn no_answer_word(
        &self,
        session: &Session,
        row: &Row<'_>,
        call: &Call,
    ) -> Option<&'static str> {
        self.no_answer(session, row, call)?;
        let is_known = matches!(self.ending(session), Some(Ok(_))) && !self.has_page(session.key());
        Some(if is_known { "no answer" } else { "pending?" })
    }

    /// The notice about all such calls of a session.
    pub(super) fn unanswered(&self, session: &Session) -> Option<Shown> {
        let pending = session.counters().pending;
        let ending = self.ending(session).filter(|_| pending > 0)?;
        let calls = numbers::plural(pending, "call", "calls");
        Some(match ending {
            Ok(how) => Shown::row(format!("{calls} without an answer: ").as_bytes()).and(&how),
            Err(why) => Shown::row(format!("{calls} perhaps not answered: ").as_bytes()).and(&why),
        })
    }

    /// True when nothing more of the session can be waited for.
    pub(super) fn is_over(&self, session: &Session) -> bool {
        self.ending(session).is_some()
    }
}
