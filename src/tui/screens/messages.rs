//! The messages, newest last (tui.md 9.6).

use crate::tui::{
    app::App,
    ink::{Ink, wrapped},
    layout::Regions,
    messages::role_of,
    numbers,
    theme::Role,
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
