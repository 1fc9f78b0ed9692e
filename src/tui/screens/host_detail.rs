//! What is known of the selected host (tui.md 9.4, mock-up 22.12).

use super::hosts::figures;
use crate::{
    base::Shown,
    feed::{LinkState, Mode},
    tui::{
        app::App,
        canvas::Canvas,
        ink::{Ink, wrapped},
        numbers,
        outside::Host,
        theme::{Ground, Role},
    },
};

/// Lines of the detail, its rule included.
pub(super) const DETAIL: u16 = 8;
/// Cells of a word at the left of the detail.
const LABEL: usize = 12;

/// `+3.2s`, when the clocks are apart.
pub(super) fn clock(host: &Host) -> Option<String> {
    let millis = host.state.clock_offset_ms.filter(|millis| *millis != 0)?;
    let sign = if millis < 0 { '-' } else { '+' };
    let tenths = millis.unsigned_abs() / 100;
    Some(format!("{sign}{}.{}s", tenths / 10, tenths % 10))
}

/// Draws the detail of a host from `y` on.
pub(super) fn detail(app: &App, canvas: &mut Canvas<'_>, host: &Host, y: u16) {
    let name = Ink::of(Role::Strong, Shown::name(host.state.host.0.as_bytes()));
    let target = Ink::of(Role::Muted, Shown::name(host.state.target.as_bytes()));
    canvas.rule(y, &name, &target);
    let mut lines = vec![
        ("link", link_words(app, host)),
        ("shown", shown_words(app, host)),
    ];
    for (index, (at, error)) in host.errors.iter().rev().take(2).enumerate() {
        let time = numbers::short_time(*at, &app.settings.zone);
        let time = Ink::say(Role::Muted, format!("{time}  "));
        let room = usize::from(canvas.regions.width).saturating_sub(LABEL + time.width());
        // In full: what is wrong stands at the end of many errors.
        for (row, part) in wrapped(error, room.max(1)).into_iter().enumerate() {
            let head = if row == 0 {
                time.clone()
            } else {
                Ink::say(Role::Muted, " ".repeat(time.width()))
            };
            let word = if index + row == 0 { "errors" } else { "" };
            lines.push((word, head.and(Role::Text, part)));
        }
    }
    let room = usize::from(canvas.regions.width).saturating_sub(LABEL);
    let mode = mode_words(host).map(|words| wrapped(&words, room.max(1)));
    for (row, part) in mode.into_iter().flatten().enumerate() {
        let word = if row == 0 { "mode" } else { "" };
        lines.push((word, Ink::of(Role::Text, part)));
    }
    if let Some(progress) = &host.progress
        && progress.sessions_done < progress.sessions_total
    {
        let words = format!(
            "{}/{} sessions, {} of {}, {}/s",
            progress.sessions_done,
            progress.sessions_total,
            progress.bytes_done,
            progress.bytes_total,
            progress.bytes_per_second
        );
        lines.push(("backfill", Ink::say(Role::Text, words)));
    }
    let is_apart = host.offset_nanos().is_some_and(|nanos| nanos != 0);
    if let Some(words) = clock(host).filter(|_| is_apart) {
        lines.push(("clock", Ink::say(Role::Text, words)));
    }
    // How a closed link came to its end stands in the first line.
    if let Some(ended) = host
        .ended
        .as_ref()
        .filter(|_| host.state.link != LinkState::Closed || host.state.reason.is_some())
        .filter(|_| !host.is_closed_by_user())
    {
        lines.push(("ended", Ink::of(Role::Text, ended.clone())));
    }
    for (offset, (word, ink)) in (1..DETAIL).zip(lines) {
        let head = format!("  {word:<width$}", width = LABEL - 2);
        let line = Ink::say(Role::Muted, head).join(ink);
        let line = line.cut(usize::from(canvas.regions.width), canvas.signs.elision);
        canvas.put(0, y + offset, canvas.regions.width, &line, Ground::Page);
    }
}

fn link_words(app: &App, host: &Host) -> Ink {
    let ago =
        |host: &Host| numbers::age(app.now.nanos_since(host.down_since.unwrap_or(host.since)));
    let words = match &host.state.link {
        LinkState::Reconnecting { attempt, next } if !host.was_up => {
            format!(
                "not connected yet, try {attempt} in {}, r tries now",
                numbers::age(next.nanos_since(app.now))
            )
        }
        LinkState::Reconnecting { attempt, next } => {
            format!(
                "lost {} ago, try {attempt} in {}, r tries now",
                ago(host),
                numbers::age(next.nanos_since(app.now))
            )
        }
        LinkState::Lost => format!("lost {} ago, r tries now", ago(host)),
        LinkState::LoginNeeded => "login needed, r asks".to_owned(),
        LinkState::Closed if host.is_closed_by_user() => {
            "closed by you, r connects again".to_owned()
        }
        LinkState::Closed => "closed, r connects again".to_owned(),
        LinkState::Live => {
            let since = numbers::short_time(host.since, &app.settings.zone);
            match host.state.round_trip {
                Some(trip) => {
                    let nanos = u64::try_from(trip.as_nanos()).unwrap_or(u64::MAX);
                    format!("up since {since}, round trip {}", numbers::span(nanos))
                }
                None => format!("up since {since}"),
            }
        }
        _ => host.table_state(&app.settings.signs, app.now).1,
    };
    Ink::say(Role::Text, words)
}

fn shown_words(app: &App, host: &Host) -> Ink {
    let (sessions, frames) = figures(app, host);
    let mut words = format!(
        "{}, {}",
        numbers::plural(sessions, "session", "sessions"),
        numbers::plural(frames, "frame", "frames")
    );
    if host.is_down() && host.was_up {
        let last = app
            .all_sessions()
            .into_iter()
            .filter(|session| session.key().host == host.state.host)
            .filter_map(crate::session::Session::last)
            .max();
        words.push_str(" as last known");
        if let Some(last) = last {
            words = format!(
                "{words}; nothing after {}",
                numbers::short_time(last, &app.settings.zone)
            );
        }
    }
    Ink::say(Role::Text, words)
}

fn mode_words(host: &Host) -> Option<Shown> {
    let words = match host.state.mode? {
        Mode::Socket => "live socket".to_owned(),
        Mode::Log { every } => format!("live log, looked at every {} ms", every.as_millis()),
        Mode::History => "history, no live frames".to_owned(),
    };
    let was = if host.is_down() { "was " } else { "" };
    let words = Shown::row(format!("{was}{words}").as_bytes());
    Some(match host.reason() {
        Some(reason) if !host.is_down() => words.and(&Shown::literal(": ")).and(&reason),
        _ => words,
    })
}
