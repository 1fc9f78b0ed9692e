//! Boxes that ask: only the letter of an answer chooses it (tui.md D1 to D4).

use super::{
    canvas::{Canvas, cells},
    ink::Ink,
    prompt::LineEditor,
    theme::{Ground, Role},
};
use crate::{
    base::{Shown, Timestamp},
    record::{HostName, SessionKey},
};

/// Keys within this time after a dialog appears are dropped (D2).
const GRACE_NANOS: i64 = 200_000_000;

/// What is asked.
#[derive(Clone, Debug)]
pub(super) enum Question {
    /// Give a host up.
    Disconnect(HostName),
    /// Which of several sessions is meant.
    Pick(Vec<(SessionKey, Shown)>),
    /// A question of a host's log-in.
    Login {
        /// Host that asks.
        host: HostName,
        /// Number to answer to.
        id: u64,
        /// The question.
        text: Shown,
        /// Whether the answer may be shown.
        echo: bool,
        /// What is typed.
        line: LineEditor,
    },
}

/// An open dialog.
#[derive(Clone, Debug)]
pub(super) struct Dialog {
    /// What is asked.
    pub(super) question: Question,
    /// When it appeared.
    since: Timestamp,
    /// First fact on screen.
    scroll: usize,
}

/// What a key in a dialog means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// Yes.
    Yes,
    /// One of the offered ones.
    Picked(usize),
    /// Text.
    Text(String),
    /// No.
    No,
    /// Nothing yet.
    Wait,
}

impl Dialog {
    /// Opens a dialog.
    pub(super) fn open(question: Question, now: Timestamp) -> Self {
        Self {
            question,
            since: now,
            scroll: 0,
        }
    }

    /// What a key means.
    pub(super) fn key(&mut self, key: &str, now: Timestamp) -> Answer {
        if now.nanos_since(self.since) < GRACE_NANOS {
            return Answer::Wait;
        }
        match &mut self.question {
            Question::Login { line, .. } => match key {
                "enter" => Answer::Text(line.text()),
                "esc" => Answer::No,
                _ => {
                    line.key(key);
                    Answer::Wait
                }
            },
            _ if matches!(key, "down" | "pgdn") => self.scrolled(1),
            _ if matches!(key, "up" | "pgup") => self.scrolled(-1),
            Question::Disconnect(_) if matches!(key, "y" | "Y") => Answer::Yes,
            Question::Pick(sessions) => key
                .parse::<usize>()
                .ok()
                .filter(|number| (1..=sessions.len()).contains(number))
                .map_or(Answer::No, |number| Answer::Picked(number - 1)),
            Question::Disconnect(_) => Answer::No,
        }
    }

    fn scrolled(&mut self, by: isize) -> Answer {
        self.scroll = self.scroll.saturating_add_signed(by);
        Answer::Wait
    }

    fn title(&self) -> Ink {
        let title = match &self.question {
            Question::Disconnect(_) => "Disconnect this host?",
            Question::Pick(_) => "Which session?",
            Question::Login { .. } => "Log in",
        };
        Ink::lit(Role::Strong, title)
    }

    fn facts(&self) -> Vec<Ink> {
        match &self.question {
            Question::Disconnect(host) => vec![
                Ink::lit(Role::Muted, "host   ").and(Role::Text, Shown::name(host.0.as_bytes())),
                Ink::lit(
                    Role::Muted,
                    "       its sessions stay as last known; nothing is deleted",
                ),
            ],
            Question::Pick(sessions) => sessions
                .iter()
                .enumerate()
                .map(|(index, (_, name))| {
                    Ink::say(Role::Accent, format!("{}  ", index + 1)).and(Role::Text, name.clone())
                })
                .collect(),
            Question::Login {
                host,
                text,
                echo,
                line,
                ..
            } => {
                let typed = if *echo {
                    line.text()
                } else {
                    "*".repeat(line.text().chars().count())
                };
                vec![
                    Ink::lit(Role::Muted, "host   ")
                        .and(Role::Text, Shown::name(host.0.as_bytes())),
                    Ink::of(Role::Text, text.clone()),
                    Ink::lit(Role::Accent, "> ")
                        .and_say(Role::Text, typed)
                        .and_lit(Role::Accent, "_"),
                ]
            }
        }
    }

    fn answers(&self) -> Ink {
        match &self.question {
            Question::Disconnect(_) => Ink::lit(Role::Accent, "y")
                .and_lit(Role::Text, "  disconnect   ")
                .and_lit(Role::Muted, "any other key  keep"),
            Question::Pick(_) => Ink::lit(Role::Accent, "1-9")
                .and_lit(Role::Text, "  open   ")
                .and_lit(Role::Muted, "any other key  none"),
            Question::Login { .. } => Ink::lit(Role::Accent, "enter")
                .and_lit(Role::Text, "  send   ")
                .and_lit(Role::Accent, "esc")
                .and_lit(Role::Text, "  not now"),
        }
    }

    /// Draws the box in the middle of the screen.
    pub(super) fn view(&self, canvas: &mut Canvas<'_>) {
        let facts = self.facts();
        let answers = self.answers();
        let widest = facts
            .iter()
            .map(Ink::width)
            .max()
            .unwrap_or(0)
            .max(answers.width())
            .max(30);
        let inner = cells(widest).min(canvas.regions.width.saturating_sub(4));
        let room = canvas.regions.height.saturating_sub(6).max(1);
        let shown = cells(facts.len()).min(room);
        let scroll = self
            .scroll
            .min(facts.len().saturating_sub(usize::from(shown)));
        let height = shown + 5;
        let x = (canvas.regions.width.saturating_sub(inner + 4)) / 2;
        let y = (canvas.regions.height.saturating_sub(height)) / 2;
        let mut lines = vec![self.title(), Ink::default()];
        lines.extend(facts.into_iter().skip(scroll).take(usize::from(shown)));
        lines.extend([Ink::default(), answers]);
        frame(canvas, (x, y), inner, &lines);
    }
}

/// Draws a box around lines.
pub(super) fn frame(canvas: &mut Canvas<'_>, (x, y): (u16, u16), inner: u16, lines: &[Ink]) {
    let signs = canvas.signs;
    let bar = |left, right| {
        Ink::lit(Role::Faint, left)
            .and_say(Role::Faint, signs.rule.repeat(usize::from(inner) + 2))
            .and_lit(Role::Faint, right)
    };
    let [upper_left, upper_right, lower_left, lower_right] = signs.corners;
    canvas.put(x, y, inner + 4, &bar(upper_left, upper_right), Ground::Page);
    let mut at = y + 1;
    for line in lines {
        let text = line.cut(usize::from(inner), signs.elision);
        let pad = usize::from(inner).saturating_sub(text.width());
        let row = Ink::lit(Role::Faint, signs.edge)
            .and_lit(Role::Faint, " ")
            .join(text)
            .and_say(Role::Text, " ".repeat(pad + 1))
            .and_lit(Role::Faint, signs.edge);
        canvas.put(x, at, inner + 4, &row, Ground::Page);
        at += 1;
    }
    canvas.put(
        x,
        at,
        inner + 4,
        &bar(lower_left, lower_right),
        Ground::Page,
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_nanos(millis * 1_000_000)
    }

    #[test]
    fn only_its_letter_says_yes_and_not_at_once() {
        let open = || Dialog::open(Question::Disconnect(HostName("edge7".into())), at(0));
        assert_eq!(open().key("y", at(100)), Answer::Wait);
        assert_eq!(open().key("y", at(300)), Answer::Yes);
        for key in ["enter", "n", "esc", "q", "x"] {
            assert_eq!(open().key(key, at(300)), Answer::No, "{key}");
        }
    }
}
