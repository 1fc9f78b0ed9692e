//! The messages, newest last (tui.md 9.6).

use crate::{
    base::Shown,
    tui::{app::App, ink::Ink, layout::Regions, messages::role_of, numbers, theme::Role},
};

/// The lines of the panel: a long message goes on below its beginning (17.1).
pub(in crate::tui) fn lines(app: &App) -> Vec<Ink> {
    let width = usize::from(Regions::of(app.size.0, app.size.1).table_width());
    let mut lines = Vec::new();
    for message in app.messages.all() {
        let time = numbers::short_time(message.at, &app.settings.zone);
        let first = Ink::say(Role::Faint, format!("  {time}  "));
        let indent = first.width();
        let parts = wrapped(&message.text, width.saturating_sub(indent).max(1));
        let mut head = Some(first);
        for part in parts {
            let head = head
                .take()
                .unwrap_or_else(|| Ink::say(Role::Faint, " ".repeat(indent)));
            lines.push(head.and(role_of(message.severity), part));
        }
    }
    if lines.is_empty() {
        return vec![Ink::lit(Role::Muted, "  no message so far")];
    }
    lines
}

/// A text in lines of at most this many cells, cut behind blanks where there are any.
fn wrapped(text: &Shown, width: usize) -> Vec<Shown> {
    let mut parts = Vec::new();
    let mut rest = text.clone();
    loop {
        let plain = rest.plain();
        let Some(most) = rest.breaks(width).first().copied() else {
            parts.push(rest);
            return parts;
        };
        let blank = plain.get(..most).and_then(|head| head.rfind(' '));
        let end = blank.map_or(most, |blank| blank + 1);
        parts.push(rest.between(0..end));
        rest = rest.between(end..plain.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_behind_blanks_and_nothing_is_lost() {
        let cases: [(&str, &[&str]); 4] = [
            ("short", &["short"]),
            ("one two three four", &["one two ", "three four"]),
            ("abcdefghijklmnop", &["abcdefghij", "klmnop"]),
            ("a bcdefghijklmnop", &["a ", "bcdefghijk", "lmnop"]),
        ];
        for (text, expected) in cases {
            let parts = wrapped(&Shown::row(text.as_bytes()), 10);
            let parts: Vec<_> = parts.iter().map(Shown::plain).collect();
            assert_eq!(parts, expected, "{text}");
        }
    }
}
