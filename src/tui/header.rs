//! The header: where the user is on the left, the truth about the sources on the right (tui.md L5,
//! L6).

use super::{
    app::{App, Screen},
    canvas::{Canvas, joined},
    ink::Ink,
    keys::Place,
    layout::Tier,
    notices::{filter_ink, prompt_ink},
    numbers,
    outside::Host,
    screens::{inspector_view, session_cells::how_it_failed, sessions_view},
    theme::Role,
};
use crate::{
    base::Shown,
    feed::LinkState,
    record::HostName,
    session::{RowId, Session, Source},
};

/// Draws the header.
pub(super) fn header(app: &App, canvas: &mut Canvas<'_>) {
    let right = header_right(app, canvas);
    if canvas.regions.notice.is_none()
        && let Some(left) = small_left(app)
    {
        return canvas.header(&[left], &right);
    }
    canvas.header(&crumbs(app), &right);
}

/// On a low screen a prompt, else the filter in force, takes the header's left side (L2).
fn small_left(app: &App) -> Option<Ink> {
    app.prompt
        .as_ref()
        .map(prompt_ink)
        .or_else(|| filter_ink(app))
}

fn crumbs(app: &App) -> Vec<Ink> {
    let mut crumbs = vec![Ink::lit(Role::Accent, "mcpsnoop")];
    let plain = |word: &'static str| Ink::lit(Role::Muted, word);
    let strong = |word: &'static str| Ink::lit(Role::Strong, word);
    match app.stack.last() {
        None => crumbs.push(strong("sessions")),
        Some(Screen::Stream(key)) => {
            crumbs.push(plain("sessions"));
            if let Some(session) = app.session(key) {
                if app.outside.hosts().len() > 1 {
                    crumbs.push(Ink::of(Role::Muted, Shown::name(key.host.0.as_bytes())));
                }
                let (at, all) = place_in_order(app, session);
                crumbs.push(
                    Ink::of(Role::Strong, app.name_of(session))
                        .and_say(Role::Muted, format!(" ({at}/{all})")),
                );
            }
        }
        Some(Screen::Inspector(state)) => {
            if let Some(session) = app.session(&state.key) {
                crumbs.push(Ink::of(Role::Muted, app.name_of(session)));
                let whole = app.whole(&state.key).unwrap_or(session);
                let words = frame_words(whole, state.id);
                crumbs.push(Ink::say(Role::Strong, words));
            }
        }
        Some(Screen::Hosts) => crumbs.push(strong("hosts")),
        Some(Screen::Messages(_)) => crumbs.push(strong("messages")),
        Some(Screen::Help(place, _)) => {
            crumbs.push(plain("help"));
            crumbs.push(strong(match place {
                Place::Sessions => "sessions",
                Place::Stream => "stream",
                Place::Inspector => "frame",
                Place::Hosts => "hosts",
                Place::Help => "help",
                Place::Messages => "messages",
            }));
        }
    }
    crumbs
}

/// `frame 318 of 431`: the number of the frame in the log, which every other place names it by, and
/// the highest one.
fn frame_words(session: &Session, id: RowId) -> String {
    let last = session.row_count().checked_sub(1);
    let last = last.and_then(|position| session.row(position));
    let last = last.map_or(id.seq, |row| row.id.seq.max(id.seq));
    format!(
        "frame {} of {}",
        numbers::grouped(id.seq.0),
        numbers::grouped(last.0)
    )
}

fn place_in_order(app: &App, session: &Session) -> (usize, usize) {
    let at = app
        .sessions
        .order
        .iter()
        .position(|key| key == session.key());
    (at.map_or(1, |at| at + 1), app.all_sessions().len())
}

fn header_right(app: &App, canvas: &Canvas<'_>) -> Ink {
    if let Some(Screen::Inspector(state)) = app.stack.last() {
        let pair = app
            .session(&state.key)
            .map_or_else(Ink::default, |session| {
                inspector_view::pair(app, session, state.id)
            });
        return badge(app, state, pair);
    }
    if let Some(Screen::Help(..)) = app.stack.last() {
        return Ink::lit(Role::Muted, "/word finds a line");
    }
    let mut parts = Vec::new();
    if let Some(paused) = &app.paused {
        parts.push(Ink::say(
            Role::Warn,
            format!("paused +{}", numbers::grouped(paused.frames)),
        ));
    }
    let is_stream = matches!(app.stack.last(), Some(Screen::Stream(_)));
    if let Some(state) = app
        .stream_key()
        .filter(|_| is_stream)
        .and_then(|key| app.streams.get(key))
    {
        if state.follow {
            parts.push(Ink::lit(Role::Live, "follow"));
        } else if state.added > 0 {
            parts.push(Ink::say(
                Role::Live,
                format!("+{} {}", numbers::grouped(state.added), state.added_where()),
            ));
        }
    }
    parts.push(source_state(app, is_stream, canvas));
    let gap = if app.tier() == Tier::Xs { " " } else { "  " };
    joined(parts, gap)
}

fn badge(app: &App, state: &super::screens::inspector::State, pair: Ink) -> Ink {
    let session = app.session(&state.key);
    let row = session.and_then(|session| session.row(session.position(state.id)?));
    let hidden = app
        .streams
        .get(&state.key)
        .and_then(|list| list.picks.wanted().cleared)
        .is_some_and(|seq| state.id.seq <= seq);
    let mut out = pair;
    if row.is_some_and(|row| row.flags.redacted) {
        let words = match state.redacted_places() {
            0 => "[R]  ".to_owned(),
            places => format!("[R] {}  ", numbers::plural(places, "place", "places")),
        };
        out = Ink::say(Role::Redacted, words).join(out);
    }
    if hidden {
        out = Ink::lit(Role::Warn, "hidden by clear  ").join(out);
    }
    out
}

/// The truth about where frames come from (L5).
fn source_state(app: &App, is_stream: bool, canvas: &Canvas<'_>) -> Ink {
    let signs = canvas.signs;
    if is_stream && let Some(session) = app.stream_key().and_then(|key| app.whole(key)) {
        let host = app.outside.host(&session.key().host);
        if let Some(host) = host.filter(|host| host.is_down()) {
            return host.header(&signs, app.now, true);
        }
        return match session.source() {
            Source::Live if host.is_some_and(follows_logs) => {
                Ink::lit(Role::Live, signs.recording).and_lit(Role::Live, " live (logs)")
            }
            Source::Live => Ink::lit(Role::Live, signs.recording).and_lit(Role::Live, " live"),
            _ if app.is_file => failed_too(session, Ink::lit(Role::Muted, "file")),
            Source::File => failed_too(session, Ink::lit(Role::Muted, "file")),
            Source::Ended => {
                let ended = Ink::lit(Role::Muted, signs.ended).and_lit(Role::Muted, " ended");
                failed_too(session, ended)
            }
            Source::Unknown => {
                let last = session
                    .last()
                    .map(|last| app.offset_of(session).shift(last));
                let silent = last.map_or_else(String::new, |last| {
                    format!(" {}", numbers::age(app.shown_now().nanos_since(last)))
                });
                Ink::say(Role::Muted, format!("? silent{silent}"))
            }
        };
    }
    let hosts = app.outside.hosts();
    if app.is_file {
        return Ink::lit(Role::Muted, "file");
    }
    match hosts {
        [] => Ink::lit(Role::Muted, "> starting"),
        [host] => one_host(app, host, canvas),
        _ => many_hosts(app, canvas),
    }
}

/// With how the server failed: on a low screen nothing else says it.
fn failed_too(session: &Session, state: Ink) -> Ink {
    match how_it_failed(session) {
        Some(how) => state.and_lit(Role::Muted, ", ").and(Role::Warn, how),
        None => state,
    }
}

fn follows_logs(host: &Host) -> bool {
    host.state.host == HostName::local()
        && matches!(host.state.mode, Some(crate::feed::Mode::Log { .. }))
}

fn one_host(app: &App, host: &Host, canvas: &Canvas<'_>) -> Ink {
    if host.state.link == LinkState::Live
        && host.state.host == HostName::local()
        && !sessions_view::any_recording(app)
    {
        let words = if follows_logs(host) {
            " listening (logs)"
        } else {
            " listening"
        };
        return Ink::lit(Role::Live, canvas.signs.recording).and_lit(Role::Live, words);
    }
    host.header(&canvas.signs, app.now, true)
}

/// One state per host; when these do not fit, the live ones are a count and the worst go first.
fn many_hosts(app: &App, canvas: &Canvas<'_>) -> Ink {
    let hosts = app.outside.hosts();
    let wide = app.tier() >= Tier::L;
    let gap = if wide { "   " } else { "  " };
    let named = |host: &Host, words: bool| {
        Ink::of(Role::Text, Shown::name(host.state.host.0.as_bytes()))
            .and_lit(Role::Text, " ")
            .join(host.header(&canvas.signs, app.now, words))
    };
    let room = usize::from(app.size.0).saturating_sub(24);
    let all = joined(hosts.iter().map(|host| named(host, true)).collect(), gap);
    if all.width() <= room {
        return all;
    }
    let live = hosts
        .iter()
        .filter(|host| host.state.link == LinkState::Live)
        .count();
    let mut others: Vec<_> = hosts
        .iter()
        .filter(|host| host.state.link != LinkState::Live)
        .collect();
    others.sort_by_key(|host| host.badness());
    for shown in (0..=others.len()).rev() {
        let mut parts = Vec::new();
        if live > 0 {
            parts.push(Ink::say(
                Role::Live,
                format!("{live} {} live", canvas.signs.recording),
            ));
        }
        parts.extend(others.iter().take(shown).map(|host| named(host, false)));
        if shown < others.len() {
            parts.push(Ink::say(Role::Muted, format!("+{}", others.len() - shown)));
        }
        let line = joined(parts, gap);
        if line.width() <= room || shown == 0 {
            return line;
        }
    }
    Ink::default()
}
