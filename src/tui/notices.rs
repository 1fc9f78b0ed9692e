//! The notice line: the prompt, else the filter in force and what stands about losses and links
//! (tui.md L7).

use super::{
    app::{App, Screen},
    canvas::{Canvas, hint_ink, joined},
    ink::Ink,
    numbers,
    prompt::Prompt,
    theme::{Ground, Role},
};
use crate::{base::Shown, session::Session};

/// The prompt with its cursor.
pub(super) fn prompt_ink(prompt: &Prompt) -> Ink {
    if prompt.line.is_selected() {
        let text = Shown::row(prompt.line.text().as_bytes());
        return Ink::lit(Role::Accent, prompt.sign())
            .and_on(Role::Text, Ground::MatchNow, text)
            .and_lit(Role::Accent, "_");
    }
    Ink::lit(Role::Accent, prompt.sign())
        .and_say(Role::Text, prompt.line.head())
        .and_lit(Role::Accent, "_")
        .and_say(Role::Text, prompt.line.tail())
}

/// The filter in force, with how to lift it.
pub(super) fn filter_ink(app: &App) -> Option<Ink> {
    let (text, problems) = match app.stack.last() {
        None => (app.sessions.filter_text.as_str(), app.sessions.problems),
        Some(Screen::Stream(key)) => {
            let state = app.streams.get(key)?;
            (state.filter_text.as_str(), state.picks.wanted().problems)
        }
        _ => return None,
    };
    let mut ink = Ink::default();
    if !text.is_empty() {
        ink = ink.and_lit(Role::Accent, "/").and_say(Role::Text, text);
    }
    if problems {
        let gap = if ink.is_empty() { "" } else { "  " };
        ink = ink
            .and_lit(Role::Text, gap)
            .and_lit(Role::Accent, "!")
            .and_lit(Role::Text, " problems only");
    }
    (!ink.is_empty()).then(|| ink.and_lit(Role::Muted, "  esc clears"))
}

/// Draws the notice line, or the prompt that stands on it; `dropped` are the hints that the footer
/// had no room for (L7).
pub(super) fn notice(app: &App, canvas: &mut Canvas<'_>, dropped: &[&str]) {
    let Some(y) = canvas.regions.notice else {
        return;
    };
    if matches!(
        app.stack.last(),
        Some(Screen::Inspector(_) | Screen::Help(..) | Screen::Messages(_))
    ) {
        // These panels have no notice line; a prompt still needs one.
        if let Some(prompt) = &app.prompt {
            prompt_line(app, canvas, prompt_y(app, canvas), prompt);
        }
        return;
    }
    if let Some(prompt) = &app.prompt {
        return prompt_line(app, canvas, y, prompt);
    }
    let room = usize::from(canvas.regions.width).saturating_sub(2);
    let line = notice_line(app, canvas);
    let used = canvas.put(
        1,
        y,
        canvas.regions.width - 1,
        &line.cut(room, canvas.signs.elision),
        Ground::Page,
    );
    let free = room.saturating_sub(usize::from(used) + 2);
    let (rest, _) = hints_beside(dropped, free);
    canvas.put_right(canvas.regions.width - 1, y, &rest);
}

/// Cells that the notice line leaves for hints; nothing where there is no such line.
pub(super) fn free_beside_notices(app: &App, canvas: &Canvas<'_>) -> Option<usize> {
    canvas.regions.notice?;
    if app.prompt.is_some() {
        return Some(usize::from(canvas.regions.width));
    }
    let room = usize::from(canvas.regions.width).saturating_sub(2);
    let used = notice_line(app, canvas).width().min(room);
    Some(room.saturating_sub(used + 2))
}

/// As many whole hints as fit, and how many these are.
pub(super) fn hints_beside(hints: &[&str], free: usize) -> (Ink, usize) {
    let mut rest = Ink::default();
    for (index, hint) in hints.iter().enumerate() {
        let gap = if rest.is_empty() { 0 } else { 2 };
        let ink = hint_ink(hint);
        if rest.width() + gap + ink.width() > free {
            return (rest, index);
        }
        rest = if rest.is_empty() {
            ink
        } else {
            rest.and_lit(Role::Faint, "  ").join(ink)
        };
    }
    (rest, hints.len())
}

/// The filter in force and the standing notices, as many whole ones as fit.
fn notice_line(app: &App, canvas: &Canvas<'_>) -> Ink {
    let room = usize::from(canvas.regions.width).saturating_sub(2);
    let mut line = filter_ink(app).unwrap_or_default();
    for part in notices(app) {
        let dot = if line.is_empty() {
            Ink::default()
        } else {
            Ink::lit(Role::Faint, " ")
                .and_lit(Role::Faint, canvas.signs.separator)
                .and_lit(Role::Faint, " ")
        };
        let next = line.clone().join(dot).join(part);
        if next.width() > room && !line.is_empty() {
            break;
        }
        line = next;
    }
    line
}

/// Where the prompt of a panel stands: the toast line, else the footer.
fn prompt_y(app: &App, canvas: &Canvas<'_>) -> u16 {
    if matches!(app.stack.last(), Some(Screen::Inspector(_))) {
        return canvas.regions.toast.unwrap_or(canvas.regions.footer);
    }
    canvas.regions.footer
}

fn prompt_line(app: &App, canvas: &mut Canvas<'_>, y: u16, prompt: &Prompt) {
    let blank = Ink::say(Role::Text, " ".repeat(usize::from(canvas.regions.width)));
    canvas.put(0, y, canvas.regions.width, &blank, Ground::Page);
    let note = match &app.prompt_note {
        Some((true, words)) => Ink::say(Role::Err, words),
        Some((false, words)) => Ink::say(Role::Muted, words),
        None => Ink::default(),
    };
    let count = live_count(app, prompt);
    // A long message leaves the prompt as much as it needs, at most half of the line.
    let width = usize::from(canvas.regions.width);
    let kept = (prompt_ink(prompt).width() + 4).min(width / 2);
    let right = joined(vec![note, count], "  ").cut(width - kept, canvas.signs.elision);
    let start = canvas.put_right(canvas.regions.width, y, &right);
    let room = usize::from(start).saturating_sub(2);
    let ink = prompt_ink(prompt);
    // The end of a long line is where the cursor is.
    let ink = if ink.width() > room {
        Ink::of(
            Role::Text,
            Shown::row(ink.plain().as_bytes()).cut(
                room,
                crate::base::Keep::Tail,
                canvas.signs.elision,
            ),
        )
    } else {
        ink
    };
    canvas.put(1, y, canvas.regions.width, &ink, Ground::Page);
}

/// `12/431` of a filter, `3/17 match` of a search (G5, H3).
fn live_count(app: &App, prompt: &Prompt) -> Ink {
    if prompt.line.text().is_empty() {
        return Ink::default();
    }
    let words = match app.stack.last() {
        _ if prompt.kind == super::prompt::PromptKind::Command => None,
        None => Some(format!(
            "{}/{}",
            app.sessions.order.len(),
            app.all_sessions().len()
        )),
        Some(Screen::Stream(key)) => {
            app.session(key)
                .zip(app.streams.get(key))
                .map(|(session, state)| {
                    let more = if state.picks.unread() > 0 { "+" } else { "" };
                    let listed = state.picks.len(session);
                    format!("{listed}{more}/{}", session.counters().frames)
                })
        }
        Some(Screen::Inspector(state)) => state.match_words(),
        Some(Screen::Help(_, state) | Screen::Messages(state)) => {
            state.match_words(&app.panel_lines())
        }
        Some(Screen::Hosts) => None,
    };
    words.map_or_else(Ink::default, |words| Ink::say(Role::Muted, words))
}

/// The standing notices (L7).
fn notices(app: &App) -> Vec<Ink> {
    let mut notices = Vec::new();
    let is_hosts = matches!(app.stack.last(), Some(Screen::Hosts));
    for host in app
        .outside
        .hosts()
        .iter()
        .filter(|host| host.is_down() && !is_hosts)
    {
        let name = Shown::name(host.state.host.0.as_bytes());
        let room = usize::from(app.size.0).saturating_sub(name.width() + 4);
        if let Some(reason) = host.reason_within(room) {
            notices.push(
                Ink::of(Role::Warn, name)
                    .and_lit(Role::Warn, ": ")
                    .and(Role::Warn, reason),
            );
        }
    }
    if let Some(Screen::Stream(key)) = app.stack.last()
        && let (Some(session), Some(state)) = (app.whole(key), app.streams.get(key))
    {
        session_notices(app, session, state, &mut notices);
    }
    notices.extend(reading(app));
    let older = u64::try_from(app.outside.older_sessions()).unwrap_or(u64::MAX);
    if app.stack.is_empty() && older > 0 {
        notices.push(Ink::say(
            Role::Muted,
            format!(
                "{} on disk",
                numbers::plural(older, "older session", "older sessions")
            ),
        ));
    }
    notices
}

fn session_notices(
    app: &App,
    session: &Session,
    state: &super::screens::stream::State,
    notices: &mut Vec<Ink>,
) {
    let frames =
        |count: u64, words: &str| format!("{} {words}", numbers::plural(count, "frame", "frames"));
    let mut say = |role, words: String| notices.push(Ink::say(role, words));
    let loading = app.outside.is_loading(session.key());
    if session.missing_frames() > 0 && !loading {
        say(Role::Warn, frames(session.missing_frames(), "missing"));
    }
    if session.not_loaded() > 0 {
        say(
            Role::Muted,
            format!("{} not loaded yet", numbers::grouped(session.not_loaded())),
        );
    }
    let damaged = app
        .outside
        .news(session.key())
        .map_or(0, |news| news.damaged);
    if damaged > 0 {
        say(
            Role::Warn,
            numbers::plural(damaged, "damaged line", "damaged lines"),
        );
    }
    if app.outside.is_removed(session.key()) {
        say(Role::Warn, "log removed".to_owned());
    }
    if let Some(words) = app.unanswered(session) {
        notices.push(words);
    }
    let mut say = |role, words: String| notices.push(Ink::say(role, words));
    older_notices(app, session, state, &mut say);
    let shown = app.session(session.key()).unwrap_or(session);
    let hidden = state.hidden(shown);
    if hidden > 0 {
        say(
            Role::Muted,
            format!("{} hidden by clear, esc restores", numbers::grouped(hidden)),
        );
    }
    if state.picks.unsearched() > 0 {
        say(Role::Warn, frames(state.picks.unsearched(), "not searched"));
    }
    if state.picks.unread() > 0 {
        let frames = numbers::plural(state.picks.unread(), "older frame", "older frames");
        let dots = app.settings.signs.dots;
        say(Role::Live, format!("searching {frames}{dots}"));
    } else if state.picks.is_busy() && state.sort().is_none() {
        say(Role::Muted, format!("searching{}", app.settings.signs.dots));
    }
    if let Some(reason) = session.approximate().first() {
        say(Role::Warn, format!("numbers are floors: {reason}"));
    }
}

/// Frames that memory dropped: that they are there, shown, being read, or left out of a search.
fn older_notices(
    app: &App,
    session: &Session,
    state: &super::screens::stream::State,
    say: &mut impl FnMut(Role, String),
) {
    let key = session.key();
    let range = |from: u64, to: u64| {
        format!(
            "frames {} to {}",
            numbers::grouped(from),
            numbers::grouped(to)
        )
    };
    if let Some((from, to)) = app.page_awaited(key) {
        let dots = app.settings.signs.dots;
        say(Role::Live, format!("reading {}{dots}", range(from.0, to.0)));
    }
    let wanted = state.picks.wanted();
    let is_filtered = wanted.filter.is_some() || wanted.problems;
    let dropped = session.counters().dropped_from_memory;
    if let Some((from, to)) = app.page_range(key) {
        if is_filtered {
            say(
                Role::Warn,
                format!("only {} are searched", range(from.0, to.0)),
            );
        } else {
            say(
                Role::Live,
                "older frames from the log, G goes to the newest".to_owned(),
            );
        }
    } else if dropped > 0 {
        let frames = numbers::plural(dropped, "older frame", "older frames");
        if is_filtered {
            say(Role::Warn, format!("{frames} not searched"));
        } else {
            say(Role::Muted, format!("{frames} on disk"));
        }
    }
}

/// `reading 34 %, 1.2M frames` while an opened log is read (E3).
fn reading(app: &App) -> Option<Ink> {
    if !app.is_file {
        return None;
    }
    let progress = app
        .outside
        .hosts()
        .iter()
        .find_map(|host| host.progress.as_ref())?;
    let done = progress.bytes_done.0;
    let total = progress.bytes_total.0;
    let frames: u64 = app
        .all_sessions()
        .iter()
        .map(|session| session.counters().frames)
        .sum();
    let frames = format!("{} frames", numbers::count(frames));
    if total == 0 {
        let loading = app
            .all_sessions()
            .iter()
            .any(|session| app.outside.is_loading(session.key()));
        return loading.then(|| Ink::say(Role::Live, format!("reading, {frames}")));
    }
    (done < total).then(|| {
        Ink::say(
            Role::Live,
            format!("reading {} %, {frames}", done.saturating_mul(100) / total),
        )
    })
}
