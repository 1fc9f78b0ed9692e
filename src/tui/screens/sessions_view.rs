//! How the table of sessions is drawn (tui.md 5, mock-ups 22.1 and 22.6).

use super::{
    session_cells::{COLUMNS, Cell, Facts, GUTTER, columns},
    sessions::{Item, State, is_recording},
};
use crate::{
    base::Shown,
    session::{Session, Source},
    tui::{
        app::{App, counter, sort_words},
        canvas::{Canvas, Column, Extent},
        ink::Ink,
        numbers,
        theme::{Ground, Role},
    },
};

/// Draws heads and rows.
pub(in crate::tui) fn body(app: &App, canvas: &mut Canvas<'_>) {
    let state = &app.sessions;
    let many = app.outside.hosts().len() > 1;
    let columns = columns(canvas.regions.width, many);
    let plain: Vec<_> = columns.iter().map(|(_, column)| *column).collect();
    let regions = canvas.regions;
    canvas.heads(regions.body, GUTTER, &plain, state.sort.map(|(key, _)| key));
    let first = regions.body + 1;
    let height = usize::from(regions.rows());
    for line in 0..height {
        let index = state.top + line;
        let y = first + u16::try_from(line).unwrap_or(0);
        let Some(item) = state.item(index) else { break };
        let selected = index == state.at();
        let ground = if selected {
            Ground::Selection
        } else {
            Ground::Page
        };
        if selected {
            canvas.band(y, ground);
            let mark = Ink::lit(Role::Accent, canvas.signs.selection);
            canvas.put(0, y, 1, &mark, ground);
        }
        match item {
            Item::Session(key) => {
                if let Some(session) = app.session(&key) {
                    row(app, canvas, (y, ground), session, &columns, many);
                }
            }
            Item::Older => {
                let sign = Ink::lit(Role::Muted, canvas.signs.backfill);
                canvas.put(1, y, 1, &sign, ground);
                let older = u64::try_from(app.outside.older_sessions()).unwrap_or(u64::MAX);
                let most = match older {
                    1 => "it",
                    2..=100 => "them",
                    _ => "100",
                };
                let words = format!(
                    "{} on disk, enter loads {most}",
                    numbers::plural(older, "older session", "older sessions")
                );
                canvas.put(
                    GUTTER,
                    y,
                    regions.width,
                    &Ink::say(Role::Muted, words),
                    ground,
                );
            }
        }
    }
    if state.order.is_empty() {
        empty(app, canvas, first);
    }
    let extent = Extent {
        top: state.top,
        shown: height,
        all: state.len(),
    };
    canvas.scrollbar(first, regions.rows(), extent, &[]);
}

fn empty(app: &App, canvas: &mut Canvas<'_>, y: u16) {
    let state = &app.sessions;
    let line = if state.hidden > 0 {
        let hidden = u64::try_from(state.hidden).unwrap_or(u64::MAX);
        let what = if state.filter_text.is_empty() {
            "! problems".to_owned()
        } else {
            format!("/{}", state.filter_text)
        };
        format!(
            "no session matches {what} ({} hidden), esc clears",
            numbers::grouped(hidden)
        )
    } else {
        "no session recorded yet".to_owned()
    };
    canvas.put(
        GUTTER,
        y,
        canvas.regions.width,
        &Ink::say(Role::Muted, line).cut(
            usize::from(canvas.regions.width.saturating_sub(GUTTER)),
            canvas.signs.elision,
        ),
        Ground::Page,
    );
    let mut y = y + 1;
    for host in app.outside.hosts().iter().filter(|_| state.hidden == 0) {
        let name = Shown::name(host.state.host.0.as_bytes());
        let dir = host
            .state
            .state_dir
            .as_ref()
            .map(|dir| Shown::name(dir.as_bytes()));
        let Some(dir) = dir else { continue };
        let line = Ink::of(Role::Muted, name)
            .and_lit(Role::Muted, ": no mcpsnoop data yet in ")
            .and(Role::Muted, dir)
            .and_lit(Role::Muted, ", looking again");
        canvas.put(GUTTER, y, canvas.regions.width, &line, Ground::Page);
        y += 1;
    }
}

fn row(
    app: &App,
    canvas: &mut Canvas<'_>,
    (y, ground): (u16, Ground),
    session: &Session,
    columns: &[(Cell, Column)],
    many: bool,
) {
    let (mark, role) = state_mark(app, session);
    canvas.put(1, y, 1, &Ink::lit(role, mark), ground);
    let facts = Facts::of(app, session);
    let inks: Vec<_> = columns
        .iter()
        .map(|(cell, column)| facts.cell(*cell, *column, many))
        .collect();
    let plain: Vec<_> = columns.iter().map(|(_, column)| *column).collect();
    canvas.cells(y, GUTTER, &plain, &inks, ground);
}

/// State mark of a session (S1).
pub(in crate::tui) fn state_mark(app: &App, session: &Session) -> (&'static str, Role) {
    let signs = app.settings.signs;
    if app.outside.is_down(&session.key().host) && session.end().is_none() {
        return ("?", Role::Muted);
    }
    if session.server_failed() {
        return (signs.failed, Role::Err);
    }
    if app.outside.is_loading(session.key()) && !app.is_file {
        return (signs.backfill, Role::Live);
    }
    match session.source() {
        _ if session.end().is_some() && !app.is_file => (signs.ended, Role::Muted),
        Source::Live => (signs.recording, Role::Live),
        _ if app.is_file => (" ", Role::Muted),
        Source::Ended => (signs.ended, Role::Muted),
        Source::Unknown => ("?", Role::Muted),
        Source::File => (" ", Role::Muted),
    }
}

/// `n sessions . n err . n pend . n pend?` (L8).
pub(in crate::tui) fn counters(app: &App) -> Vec<Ink> {
    let state = &app.sessions;
    let all = app.all_sessions();
    let number = |count: usize| numbers::grouped(u64::try_from(count).unwrap_or(u64::MAX));
    let total = if state.filter.is_some() || state.problems {
        format!("{}/{}", number(state.order.len()), number(all.len()))
    } else {
        number(all.len())
    };
    let noun = if all.len() == 1 {
        "session"
    } else {
        "sessions"
    };
    let mut parts = vec![Ink::say(Role::Text, format!("{total} {noun}"))];
    let (mut errors, mut pending, mut unsure, mut invalid) = (0, 0, 0, 0);
    for session in &all {
        let counters = session.counters();
        errors += counters.errors;
        invalid += counters.invalid;
        let down = app.outside.is_down(&session.key().host);
        unsure += if down {
            counters.pending
        } else {
            counters.pending_uncertain
        };
        pending += if down {
            0
        } else {
            counters.pending.saturating_sub(counters.pending_uncertain)
        };
    }
    for (count, word, role) in [
        (errors, "err", Role::Err),
        (invalid, "bad", Role::Bad),
        (pending, "pend", Role::Live),
        (unsure, "pend?", Role::Muted),
    ] {
        parts.extend(counter(count, word, role));
    }
    parts
}

/// Title and right side of the title rule.
pub(in crate::tui) fn title(app: &App, state: &State) -> (Ink, Ink) {
    let number = u64::try_from(app.all_sessions().len()).unwrap_or(u64::MAX);
    let title = Ink::lit(Role::Strong, "sessions ").and_say(Role::Text, numbers::grouped(number));
    let mut right = Ink::default();
    let hosts = app.outside.hosts().len();
    if hosts > 1 {
        right = Ink::say(Role::Muted, format!("{hosts} hosts"));
    } else if let Some(dir) = &app.sessions_dir {
        right = Ink::of(Role::Muted, dir.clone());
    }
    if let Some((key, order)) = state.sort {
        let name = COLUMNS
            .iter()
            .find(|(_, _, sort, ..)| *sort == Some(key))
            .map_or("", |(_, title, ..)| title);
        let gap = if right.is_empty() { "" } else { "   " };
        right = right
            .and_lit(Role::Muted, gap)
            .join(sort_words(&name.to_lowercase(), order));
    }
    (title, right)
}

/// What the selected row has no room for (L12).
pub(in crate::tui) fn detail(app: &App) -> Ink {
    let Some(session) = app.sessions.session().and_then(|key| app.session(key)) else {
        return Ink::default();
    };
    let mut line = Ink::default();
    if let Some(command) = session.command() {
        line = Ink::of(Role::Muted, Shown::row(command.join(" ").as_bytes()));
    }
    if let Some(cwd) = session.cwd() {
        line = line
            .and_lit(Role::Muted, "  in ")
            .and(Role::Muted, app.tilde(cwd));
    }
    if let Some(target) = session.target() {
        line = line.and(Role::Muted, Shown::row(target.as_bytes()));
    }
    if session.source() == Source::Ended {
        line = match session.end() {
            Some((_, Some(signal))) => line
                .and_lit(Role::Muted, "  ended by ")
                .and(Role::Muted, Shown::name(signal.as_bytes())),
            Some((Some(code), None)) => line.and_say(Role::Muted, format!("  exit {code}")),
            Some((None, None)) => line,
            None => line.and_lit(Role::Muted, "  ended, no end record"),
        };
    }
    if app.outside.is_removed(session.key()) {
        line = line.and_lit(Role::Warn, "  log removed");
    }
    line
}

/// State of the source for the header of this screen (L5).
pub(in crate::tui) fn any_recording(app: &App) -> bool {
    app.all_sessions()
        .iter()
        .any(|session| is_recording(session, &app.outside))
}
