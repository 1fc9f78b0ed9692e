//! The help of a screen, out of the key table (tui.md 9.5, mock-up 22.13).

use crate::tui::{
    app::App,
    glyphs::Signs,
    ink::Ink,
    keys::{Group, KEYS, Place},
    theme::Role,
};

/// Width from which two columns are used.
const TWO_COLUMNS: u16 = 76;
/// Cells of the key, and of a whole entry.
const KEY: usize = 9;
const ENTRY: usize = 38;

const FILTER_STREAM: &[(&str, &str)] = &[
    (
        "",
        "word  \"two words\"  tool:search  status:err,late  !kind:stderr",
    ),
    ("keys", "method tool id kind dir status has:problem"),
    (
        "status",
        "pending pending? streaming ok resolved err toolerr input lost cancel",
    ),
    ("", "late reused-id bad"),
    (
        "kind",
        "req resp notify progress log stderr invalid http other",
    ),
    ("dir", "c2s s2c stderr"),
];
const FILTER_SESSIONS: &[(&str, &str)] = &[
    ("", "words search name, id, client, host, command, endpoint"),
    ("keys", "session host client kind state status has:problem"),
    ("kind", "stdio http"),
    ("state", "live ended unknown"),
    ("status", "err pending: has at least one"),
];
const PROMPT: &[(&str, &str)] = &[
    (
        ":",
        ":q  :help  :sessions  :stream  :hosts  :messages  :pause  :follow",
    ),
    (
        "",
        ":filter WORDS  :problems  :sort COLUMN [asc|desc|off]  :clear  :restore",
    ),
    (
        "",
        ":goto NUMBER  :open NAME  :load [N|all]  :copy [frame|raw] [FILE]",
    ),
    (
        "",
        ":set theme|glyphs|tz VALUE  :redraw  :version  :<part of a session name>",
    ),
    (
        "editing",
        "ctrl-a e b f u k w, alt-b f d, up and down for earlier lines",
    ),
];

/// The lines of the help over a place.
pub(in crate::tui) fn lines(app: &App, place: Place) -> Vec<Ink> {
    let width = app.size.0;
    let mut lines = Vec::new();
    for (group, title) in [
        (Group::Find, "find"),
        (Group::Read, "read"),
        (Group::Go, "go"),
        (Group::Do, "do"),
    ] {
        let entries: Vec<_> = KEYS
            .iter()
            .filter(|bind| bind.places.contains(&place))
            .filter_map(|bind| bind.help)
            .filter(|(own, ..)| *own == group)
            .map(|(_, key, words)| (key, words))
            .collect();
        if entries.is_empty() {
            continue;
        }
        lines.push(title_line(app, title));
        lines.extend(columns(&entries, width));
    }
    match place {
        Place::Stream => section(app, &mut lines, "filter", FILTER_STREAM),
        Place::Sessions => section(app, &mut lines, "filter", FILTER_SESSIONS),
        _ => {}
    }
    lines.push(title_line(app, "marks"));
    lines.extend(marks(&app.settings.signs, place));
    section(app, &mut lines, "prompt", PROMPT);
    lines
}

fn title_line(app: &App, title: &'static str) -> Ink {
    let rule = app.settings.signs.rule;
    let used = title.len() + 4;
    Ink::say(Role::Faint, rule.repeat(2))
        .and_lit(Role::Faint, " ")
        .and_lit(Role::Strong, title)
        .and_say(
            Role::Faint,
            format!(
                " {}",
                rule.repeat(usize::from(app.size.0).saturating_sub(used))
            ),
        )
}

fn entry(key: &'static str, words: &'static str) -> Ink {
    let pad = KEY.saturating_sub(key.chars().count()).max(1);
    Ink::lit(Role::Accent, key)
        .and_say(Role::Text, " ".repeat(pad))
        .and_lit(Role::Text, words)
}

fn columns(entries: &[(&'static str, &'static str)], width: u16) -> Vec<Ink> {
    let indent = Ink::lit(Role::Text, "  ");
    let mut lines = Vec::new();
    let mut waiting: Option<Ink> = None;
    for (key, words) in entries {
        let ink = entry(key, words);
        if width < TWO_COLUMNS {
            lines.push(indent.clone().join(ink));
            continue;
        }
        waiting = match waiting.take() {
            Some(first) if first.width() < ENTRY => {
                let pad = ENTRY - first.width();
                lines.push(
                    indent
                        .clone()
                        .join(first)
                        .and_say(Role::Text, " ".repeat(pad))
                        .join(ink),
                );
                None
            }
            Some(first) => {
                lines.push(indent.clone().join(first));
                Some(ink)
            }
            None => Some(ink),
        };
    }
    lines.extend(waiting.map(|first| indent.join(first)));
    lines
}

fn section(
    app: &App,
    lines: &mut Vec<Ink>,
    title: &'static str,
    rows: &[(&'static str, &'static str)],
) {
    lines.push(title_line(app, title));
    for (key, words) in rows {
        let pad = 8_usize.saturating_sub(key.chars().count());
        let head = Ink::lit(Role::Text, "  ").and_lit(Role::Accent, key);
        if key.is_empty()
            && rows
                .first()
                .is_some_and(|(first, own)| first.is_empty() && own == words)
        {
            lines.push(head.and_lit(Role::Text, words));
        } else {
            lines.push(
                head.and_say(Role::Text, " ".repeat(pad))
                    .and_lit(Role::Text, words),
            );
        }
    }
}

fn marks(signs: &Signs, place: Place) -> Vec<Ink> {
    let line = |pairs: &[(&'static str, &'static str)]| {
        let mut ink = Ink::lit(Role::Text, " ");
        for (sign, words) in pairs {
            ink = ink
                .and_lit(Role::Text, " ")
                .and_lit(Role::Accent, sign)
                .and_lit(Role::Text, " ")
                .and_lit(Role::Text, words)
                .and_lit(Role::Text, " ");
        }
        ink
    };
    match place {
        Place::Sessions | Place::Hosts => vec![
            line(&[
                (signs.recording, "recording, live"),
                (signs.ended, "ended, closed"),
                (signs.failed, "server failed"),
                ("?", "not known"),
            ]),
            line(&[
                (signs.backfill, "history being read"),
                (signs.reconnect, "reconnecting"),
                ("18+", "at least 18"),
            ]),
        ],
        _ => vec![
            line(&[
                (signs.to_server, "sent to the server"),
                (signs.to_client, "to the client"),
                (signs.notification, "notification"),
            ]),
            line(&[
                (signs.stderr, "standard error"),
                ("?", "direction not known"),
                ("[R]", "redacted"),
            ]),
        ],
    }
}
