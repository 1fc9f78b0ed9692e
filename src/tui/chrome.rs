//! What surrounds every screen, and the drawing of the whole (tui.md 2).

use ratatui::buffer::Buffer;

use super::{
    app::{App, Screen},
    canvas::{Canvas, joined},
    header::header,
    ink::{Ink, wrapped},
    keys::{Place, hints, lasting_hints},
    layout::{LEAST, Regions},
    notices::{free_beside_notices, hints_beside, notice},
    outside::Host,
    screens::{first_run, hosts, inspector_view, panel, sessions, sessions_view, stream_view},
    theme::{Ground, Role},
};
use crate::base::Shown;

/// Draws the screen into cells.
pub(super) fn view(app: &App, buffer: &mut Buffer) {
    let mut canvas = Canvas {
        theme: app.settings.theme,
        signs: app.settings.signs,
        regions: Regions::of(app.size.0, app.size.1),
        buffer,
    };
    if app.is_too_small() {
        return too_small(app, &mut canvas);
    }
    let dropped = footer(app, &mut canvas);
    header(app, &mut canvas);
    notice(app, &mut canvas, &dropped);
    body(app, &mut canvas);
    toast(app, &mut canvas);
    if let Some(dialog) = &app.dialog {
        dialog.view(&mut canvas);
    }
}

fn too_small(app: &App, canvas: &mut Canvas<'_>) {
    let (width, height) = app.size;
    if height == 0 {
        return;
    }
    let words = match &app.prompt {
        Some(prompt) => format!("{}{}", prompt.sign(), prompt.line.text()),
        None => format!(
            "terminal too small: {width}x{height}, need {}x{}",
            LEAST.0, LEAST.1
        ),
    };
    let lines = wrapped(&Shown::row(words.as_bytes()), usize::from(width.max(1)));
    let all = u16::try_from(lines.len()).unwrap_or(u16::MAX);
    let first = height.saturating_sub(all) / 2;
    for (y, line) in (first..height).zip(lines) {
        let line = Ink::of(Role::Text, line);
        let x = (width.saturating_sub(super::canvas::cells(line.width()))) / 2;
        canvas.put(x, y, width, &line, Ground::Page);
    }
}

/// Lines of a text panel below the header.
pub(super) const fn panel_height(regions: &Regions) -> u16 {
    regions.height.saturating_sub(2)
}

fn body(app: &App, canvas: &mut Canvas<'_>) {
    match app.stack.last() {
        None if first_run::is_due(app) => first_run::view(app, canvas),
        None => {
            let (title, right) = sessions_view::title(app, &app.sessions);
            rule(canvas, &title, &right);
            sessions_view::body(app, canvas);
        }
        Some(Screen::Stream(key)) => {
            if let (Some(session), Some(state)) = (app.session(key), app.streams.get(key)) {
                let (title, right) = stream_view::title(app, session, state);
                rule(canvas, &title, &right);
                stream_view::body(app, canvas, session, state);
            }
        }
        Some(Screen::Inspector(state)) => {
            if let Some(session) = app.session(&state.key) {
                inspector_view::body(app, canvas, session, state);
            }
        }
        Some(Screen::Hosts) => {
            let number = u64::try_from(app.outside.hosts().len()).unwrap_or(u64::MAX);
            let title = Ink::lit(Role::Strong, "hosts ").and_say(Role::Text, number.to_string());
            rule(canvas, &title, &Ink::default());
            hosts::body(app, canvas);
        }
        Some(Screen::Help(_, state) | Screen::Messages(state)) => {
            state.view(canvas, 1, panel_height(&canvas.regions), &app.panel_lines());
        }
    }
}

fn rule(canvas: &mut Canvas<'_>, title: &Ink, right: &Ink) {
    if let Some(y) = canvas.regions.rule {
        canvas.rule(y, title, right);
    }
}

fn toast(app: &App, canvas: &mut Canvas<'_>) {
    let Some(y) = canvas.regions.toast else {
        if let Some(line) = low_line(app, canvas) {
            let y = canvas.regions.footer;
            let blank = Ink::say(Role::Text, " ".repeat(usize::from(canvas.regions.width)));
            canvas.put(0, y, canvas.regions.width, &blank, Ground::Page);
            let line = line.cut(usize::from(canvas.regions.width) - 2, canvas.signs.elision);
            canvas.put(1, y, canvas.regions.width, &line, Ground::Page);
        }
        return;
    };
    if app.prompt.is_some() && matches!(app.stack.last(), Some(Screen::Inspector(_))) {
        return;
    }
    if matches!(
        app.stack.last(),
        Some(Screen::Help(..) | Screen::Messages(_))
    ) && app.messages.line().is_none()
    {
        return;
    }
    let room = usize::from(canvas.regions.width).saturating_sub(2);
    if let Some(line) = app.messages.line() {
        let blank = Ink::say(Role::Text, " ".repeat(usize::from(canvas.regions.width)));
        canvas.put(0, y, canvas.regions.width, &blank, Ground::Page);
        canvas.put_right(
            canvas.regions.width - 1,
            y,
            &line.cut(room, canvas.signs.elision),
        );
        return;
    }
    let detail = match app.stack.last() {
        None if !first_run::is_due(app) => sessions_view::detail(app),
        Some(Screen::Stream(key)) => app
            .session(key)
            .zip(app.streams.get(key))
            .map_or_else(Default::default, |(session, state)| {
                stream_view::detail(app, session, state)
            }),
        Some(Screen::Inspector(state)) => {
            if let Some(words) = state.match_words() {
                canvas.put_right(canvas.regions.width, y, &Ink::say(Role::Muted, words));
                Ink::lit(Role::Accent, "/").and_say(Role::Text, &state.search)
            } else {
                Ink::default()
            }
        }
        _ => Ink::default(),
    };
    canvas.put(
        1,
        y,
        canvas.regions.width,
        &detail.cut(room, canvas.signs.elision),
        Ground::Page,
    );
}

/// What replaces the footer of a low screen: what is wrong with the prompt, which has no room beside
/// it there, else the toast.
fn low_line(app: &App, canvas: &Canvas<'_>) -> Option<Ink> {
    let note = app
        .prompt_note
        .as_ref()
        .filter(|_| app.prompt.is_some() && canvas.regions.notice.is_none());
    let note = note.map(|(is_error, words)| {
        let role = if *is_error { Role::Err } else { Role::Muted };
        Ink::say(role, words)
    });
    note.or_else(|| app.messages.line())
}

fn footer<'h>(app: &App, canvas: &mut Canvas<'_>) -> Vec<&'h str> {
    let place = app.place();
    let counters = match app.stack.last() {
        None => sessions_view::counters(app),
        Some(Screen::Stream(key)) => {
            let shown = app.session(key).zip(app.streams.get(key));
            shown.map_or_else(Vec::new, |(session, state)| {
                stream_view::counters(app, session, state)
            })
        }
        Some(Screen::Inspector(state)) => {
            let (top, shown) = state.window.extent();
            vec![panel::State::words_of(top, state.body.len(), shown)]
        }
        Some(Screen::Hosts) => hosts::counters(app),
        Some(Screen::Help(_, state) | Screen::Messages(state)) => {
            let lines = app.panel_lines();
            let found = state
                .match_words(&lines)
                .map(|words| Ink::say(Role::Muted, words));
            let place = panel::State::words_of(state.top, lines.len(), app.text_height());
            vec![joined(found.into_iter().chain([place]).collect(), "  ")]
        }
    };
    let first_run = app.stack.is_empty() && first_run::is_due(app);
    let mut idle: Vec<&str> = Vec::new();
    if !has_problems(app) {
        idle.extend(["! problems", "} problem"]);
    }
    if let Some(Screen::Inspector(state)) = app.stack.last()
        && state.search.is_empty()
    {
        idle.push("n N match");
    }
    let counters = if first_run { Vec::new() } else { counters };
    let help = !matches!(place, Place::Help | Place::Messages);
    let kept = if first_run {
        0
    } else {
        kept_for_counters(place)
    };
    let shown = if first_run {
        vec!["y copy", ": command"]
    } else {
        footer_hints(app, canvas, (place, kept), &counters, &idle)
    };
    canvas.footer(&shown, &idle, help, &counters, kept)
}

/// The hints in their usual order; in another one where a notice leaves no room for those that have
/// to stay on screen, and with fewer words where that does not do.
fn footer_hints(
    app: &App,
    canvas: &Canvas<'_>,
    (place, kept): (Place, u16),
    counters: &[Ink],
    idle: &[&str],
) -> Vec<&'static str> {
    let is_down = app.outside.hosts().iter().any(Host::is_down);
    let worded = |hint: &'static str| match hint {
        "o hosts" if is_down => LOST_LINK,
        other => other,
    };
    let usual: Vec<_> = hints(place).iter().copied().map(worded).collect();
    let (lasting, short) = lasting_hints(place);
    let Some(free) = free_beside_notices(app, canvas).filter(|_| !lasting.is_empty()) else {
        return usual;
    };
    let link = is_down.then_some(LOST_LINK);
    let lasting: Vec<_> = lasting.iter().copied().chain(link).collect();
    let in_front = |first: &[&'static str]| -> Vec<&'static str> {
        let rest = usual.iter().filter(|hint| !lasting.contains(hint));
        first.iter().chain(rest).copied().collect()
    };
    let vanish = |order: &[&'static str], wanted: &[&'static str]| {
        let mut dropped = canvas.without_room(order, counters, kept);
        dropped.retain(|hint| !idle.contains(hint));
        let beside = hints_beside(&dropped, free).1;
        let unseen = dropped.get(beside..).unwrap_or_default();
        unseen.iter().any(|hint| wanted.contains(hint))
    };
    if !vanish(&usual, &lasting) {
        return usual;
    }
    let in_words = in_front(&lasting);
    if !vanish(&in_words, &lasting) {
        return in_words;
    }
    let few: Vec<_> = link.into_iter().chain(std::iter::once(short)).collect();
    in_front(&few)
}

/// Where a lost link can be taken up again.
const LOST_LINK: &str = "o hosts, r retry";

/// Cells of the footer that its counters may need: hints keep their places while figures grow.
const fn kept_for_counters(place: Place) -> u16 {
    match place {
        Place::Sessions => 30,
        Place::Stream => 44,
        Place::Inspector | Place::Hosts | Place::Help | Place::Messages => 0,
    }
}

/// `! problems` is offered only when there are any (L6).
fn has_problems(app: &App) -> bool {
    match app.stream_key() {
        Some(key) => {
            app.session(key).is_some_and(sessions::has_problem)
                || app
                    .streams
                    .get(key)
                    .is_some_and(|state| !state.picks.problems().is_empty())
        }
        None => app.all_sessions().into_iter().any(sessions::has_problem),
    }
}

/// The panel on screen as plain lines, for copying.
pub(super) fn plain_text(app: &App) -> String {
    let lines = app.panel_lines();
    if !lines.is_empty() {
        let lines: Vec<_> = lines
            .iter()
            .map(|line| line.plain().trim_end().to_owned())
            .collect();
        return lines.join("\n");
    }
    let area = ratatui::layout::Rect::new(0, 0, app.size.0, app.size.1);
    let mut buffer = Buffer::empty(area);
    view(app, &mut buffer);
    super::paint::text_of(&buffer).join("\n")
}
