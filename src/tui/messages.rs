//! Toasts and the log of messages behind them (tui.md D5, 9.6).

use std::collections::VecDeque;

use super::{ink::Ink, theme::Role};
use crate::{
    base::{Shown, Timestamp},
    feed::Severity,
};

/// Most messages kept.
const KEPT: usize = 500;
const SECOND: i64 = 1_000_000_000;

/// One message.
#[derive(Clone, Debug)]
pub(super) struct Message {
    /// When it came.
    pub(super) at: Timestamp,
    /// How much it matters.
    pub(super) severity: Severity,
    /// The text.
    pub(super) text: Shown,
}

/// The toast on screen.
#[derive(Clone, Debug)]
struct Toast {
    message: Message,
    /// Newer ones that an unread error holds back.
    behind: usize,
    /// A key was pressed since it came.
    read: bool,
}

/// All messages.
#[derive(Clone, Debug, Default)]
pub(super) struct Messages {
    log: VecDeque<Message>,
    toast: Option<Toast>,
}

impl Messages {
    /// Shows a toast and keeps it.
    pub(super) fn toast(&mut self, at: Timestamp, severity: Severity, text: Shown) {
        let message = Message { at, severity, text };
        self.keep(message.clone());
        match &mut self.toast {
            Some(toast) if toast.message.severity == Severity::Error && !toast.read => {
                toast.behind += 1;
            }
            _ => {
                self.toast = Some(Toast {
                    message,
                    behind: 0,
                    read: false,
                });
            }
        }
    }

    /// Keeps a message without showing it.
    pub(super) fn note(&mut self, at: Timestamp, severity: Severity, text: Shown) {
        self.keep(Message { at, severity, text });
    }

    fn keep(&mut self, message: Message) {
        if self.log.len() == KEPT {
            self.log.pop_front();
        }
        self.log.push_back(message);
    }

    /// A key was pressed: what is on screen counts as read.
    pub(super) fn key(&mut self) {
        if let Some(toast) = &mut self.toast {
            toast.read = true;
        }
    }

    /// Another screen opened: what was said on the one before goes, unless no key was pressed since.
    pub(super) fn leave(&mut self) {
        if self.toast.as_ref().is_some_and(|toast| toast.read) {
            self.toast = None;
        }
    }

    /// Time has passed; answers whether a toast went away.
    pub(super) fn expire(&mut self, now: Timestamp) -> bool {
        let gone = self.toast.as_ref().is_some_and(|toast| {
            let shown = now.nanos_since(toast.message.at);
            match toast.message.severity {
                Severity::Info | Severity::Good => shown >= 4 * SECOND,
                Severity::Warning => shown >= 8 * SECOND,
                Severity::Error => toast.read && shown >= 8 * SECOND,
            }
        });
        if gone {
            self.toast = None;
        }
        gone
    }

    /// The toast as a line.
    pub(super) fn line(&self) -> Option<Ink> {
        let toast = self.toast.as_ref()?;
        let ink = Ink::of(role_of(toast.message.severity), toast.message.text.clone());
        Some(match toast.behind {
            0 => ink,
            behind => ink.and_say(Role::Muted, format!(" (+{behind})")),
        })
    }

    /// All of them, oldest first.
    pub(super) fn all(&self) -> impl ExactSizeIterator<Item = &Message> + DoubleEndedIterator {
        self.log.iter()
    }
}

/// The role that a severity is drawn in.
pub(super) const fn role_of(severity: Severity) -> Role {
    match severity {
        Severity::Info => Role::Text,
        Severity::Good => Role::Ok,
        Severity::Warning => Role::Warn,
        Severity::Error => Role::Err,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(secs: i64) -> Timestamp {
        Timestamp::from_nanos(secs * SECOND)
    }

    fn shown(messages: &Messages) -> Option<String> {
        messages.line().map(|line| line.plain())
    }

    #[test]
    fn toasts_go_by_their_severity() {
        let mut messages = Messages::default();
        messages.toast(at(0), Severity::Good, Shown::literal("copied"));
        assert!(!messages.expire(at(3)));
        assert!(messages.expire(at(4)));
        messages.toast(at(10), Severity::Error, Shown::literal("failed"));
        assert!(!messages.expire(at(60)), "an error waits for a key");
        messages.key();
        assert!(messages.expire(at(60)));
        assert_eq!(messages.all().len(), 2);
    }

    #[test]
    fn an_unread_error_is_not_erased() {
        let mut messages = Messages::default();
        messages.toast(at(0), Severity::Error, Shown::literal("failed"));
        messages.toast(at(1), Severity::Info, Shown::literal("more"));
        assert_eq!(shown(&messages).as_deref(), Some("failed (+1)"));
        messages.key();
        messages.toast(at(2), Severity::Info, Shown::literal("next"));
        assert_eq!(shown(&messages).as_deref(), Some("next"));
    }

    #[test]
    fn the_log_is_bounded() {
        let mut messages = Messages::default();
        for _ in 0..600 {
            messages.note(at(0), Severity::Info, Shown::literal("x"));
        }
        assert_eq!(messages.all().len(), KEPT);
    }
}
