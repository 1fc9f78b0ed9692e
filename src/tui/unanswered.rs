//! What is said of a call that was open when nothing more could come: that nobody need wait for it,
//! or that it cannot be known (tui.md Z1, session-model.md 20).

use super::{app::App, ink::Ink, numbers, theme::Role};
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
        let is_down = self.outside.is_down(&key.host) && session.end().is_none();
        if is_down || self.outside.is_loading(key) {
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
            (Source::Unknown, None) if !self.is_file => Err(self.silent_since(session)),
            (_, None) => Err(Shown::literal("there is no end record")),
        })
    }

    /// `nothing written since 14:07:02`, with the day when it is not today.
    fn silent_since(&self, session: &Session) -> Shown {
        let Some(last) = session.last() else {
            return Shown::literal("nothing written yet");
        };
        let last = self.offset_of(session).shift(last);
        let zone = &self.settings.zone;
        let day = numbers::date(last, zone);
        let mut when = numbers::short_time(last, zone);
        if day != numbers::date(self.shown_now(), zone) {
            when = format!("{day} {when}");
        }
        Shown::row(format!("nothing written since {when}").as_bytes())
    }

    /// Why the answer to this request is not waited for, if it is not.
    pub(super) fn no_answer(&self, session: &Session, row: &Row<'_>, call: &Call) -> Option<Shown> {
        let is_open_request = call.hops.last().is_some_and(|hop| hop.request == row.id);
        let waits = matches!(
            call.status(),
            DisplayStatus::Pending
                | DisplayStatus::PendingUncertain
                | DisplayStatus::Input
                | DisplayStatus::TaskWorking
                | DisplayStatus::TaskInput
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
    ) -> Option<Shown> {
        self.no_answer(session, row, call)?;
        Some(match self.ending(session) {
            // The status says that there is no answer.
            Some(Ok(how)) if session.is_unanswered(row) => how,
            Some(Ok(_)) => Shown::literal("no answer, session ended"),
            _ => Shown::literal("answer not known"),
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

    /// The notice about how a session came to its end, and about its calls without an answer.
    pub(super) fn unanswered(&self, session: &Session) -> Option<Ink> {
        let pending = session.counters().pending;
        let calls = numbers::plural(pending, "call", "calls");
        let is_silent = session.source() == Source::Unknown && !self.is_file;
        let (role, words) = match (self.ending(session)?, pending) {
            (Ok(how), 0) if session.server_failed() => (Role::Warn, how),
            (Ok(_), 0) => return None,
            (Ok(how), _) => {
                let words = Shown::row(format!("{calls} without an answer: ").as_bytes());
                let role = if session.has_unanswered() {
                    Role::Warn
                } else {
                    Role::Muted
                };
                (role, words.and(&how))
            }
            (Err(why), _) if is_silent => {
                let unknown = Shown::literal(", a log alone cannot tell whether it goes on");
                (Role::Muted, why.and(&unknown))
            }
            (Err(why), 0) => (Role::Muted, why),
            (Err(why), _) => {
                let words = Shown::row(format!("{calls} perhaps not answered: ").as_bytes());
                (Role::Muted, words.and(&why))
            }
        };
        Some(Ink::of(role, words))
    }

    /// True when nothing more of the session can be waited for.
    pub(super) fn is_over(&self, session: &Session) -> bool {
        self.ending(session).is_some()
    }
}
