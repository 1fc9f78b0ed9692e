//! How the frames of a session are drawn (tui.md 6, mock-ups 22.2 and 22.5).

use super::{
    stream::State,
    stream_cells::{columns, row_cells},
    stream_notes::Note,
};
use crate::{
    session::Session,
    tui::{
        app::{App, counter, sort_words},
        canvas::{Canvas, Extent},
        detail::{Words, with_part},
        ink::Ink,
        layout::Tier,
        numbers,
        theme::{Ground, Role},
        wanted::SortColumn,
    },
};

/// The key that sorts by a column.
pub(in crate::tui) const fn key_of(column: SortColumn) -> char {
    match column {
        SortColumn::Time => 'T',
        SortColumn::Method => 'M',
        SortColumn::Id => 'I',
        SortColumn::Duration => 'D',
        SortColumn::Status => 'S',
    }
}

/// The column that a key sorts by.
pub(in crate::tui) const fn column_of(key: char) -> Option<SortColumn> {
    Some(match key {
        'T' => SortColumn::Time,
        'M' => SortColumn::Method,
        'I' => SortColumn::Id,
        'D' => SortColumn::Duration,
        'S' => SortColumn::Status,
        _ => return None,
    })
}

/// Draws heads and rows.
pub(in crate::tui) fn body(app: &App, canvas: &mut Canvas<'_>, session: &Session, state: &State) {
    let regions = canvas.regions;
    let columns = columns(regions.width);
    canvas.heads(
        regions.body,
        columns.gutter,
        &columns.list,
        state.sort().map(|(column, _)| key_of(column)),
    );
    let first = regions.body + 1;
    let end = first + regions.rows();
    let all = state.picks.len(session);
    let mut y = first;
    let mut index = state.top;
    while y < end && index < all {
        for note in state.notes(session, index, &app.settings.zone) {
            if y >= end {
                break;
            }
            note_line(canvas, y, columns.gutter, &note);
            y += 1;
        }
        if y >= end {
            break;
        }
        let ground = if index == state.at {
            Ground::Selection
        } else {
            Ground::Page
        };
        if ground == Ground::Selection {
            canvas.band(y, ground);
            let mark = Ink::lit(Role::Accent, canvas.signs.selection);
            canvas.put(0, y, 1, &mark, ground);
        }
        if let Some(cells) = row_cells(app, session, state, index, &columns) {
            canvas.cells(y, columns.gutter, &columns.list, &cells, ground);
        }
        y += 1;
        index += 1;
    }
    if all == 0 {
        let room = usize::from(regions.width.saturating_sub(columns.gutter));
        let line = empty(app, session, state).cut(room, canvas.signs.elision);
        canvas.put(columns.gutter, first, regions.width, &line, Ground::Page);
    }
    let extent = Extent {
        top: state.top,
        shown: index - state.top,
        all,
    };
    let marks = if extent.all > extent.shown && regions.width >= 100 {
        problem_lines(session, state)
    } else {
        Vec::new()
    };
    canvas.scrollbar(first, regions.rows(), extent, &marks);
}

/// Places of problem rows, at most as many as could be told apart.
fn problem_lines(session: &Session, state: &State) -> Vec<usize> {
    let every = (state.picks.problems().len() / 512).max(1);
    state
        .picks
        .problems()
        .iter()
        .step_by(every)
        .filter_map(|id| state.picks.index_of(session, *id))
        .collect()
}

fn note_line(canvas: &mut Canvas<'_>, y: u16, x: u16, note: &Note) {
    let (role, words) = match note {
        Note::Missing(count) => (
            Role::Warn,
            format!("{} missing", numbers::plural(*count, "frame", "frames")),
        ),
        Note::NotLoaded(count) => (
            Role::Muted,
            format!(
                "{} not loaded yet",
                numbers::plural(*count, "frame", "frames")
            ),
        ),
        Note::Older(count) => (
            Role::Muted,
            format!(
                "{} on disk",
                numbers::plural(*count, "older frame", "older frames")
            ),
        ),
        Note::Before(seq) => (
            Role::Muted,
            format!("frames up to {} on disk", numbers::grouped(seq.0)),
        ),
        Note::Day(day) => {
            canvas.rule(y, &Ink::say(Role::Muted, day), &Ink::default());
            return;
        }
    };
    canvas.put(
        x,
        y,
        canvas.regions.width,
        &Ink::say(role, words),
        Ground::Page,
    );
}

fn empty(app: &App, session: &Session, state: &State) -> Ink {
    let hidden = u64::try_from(session.row_count()).unwrap_or(u64::MAX);
    if hidden == 0 {
        let words = if app.outside.is_loading(session.key()) {
            "reading…"
        } else {
            "no frame recorded yet"
        };
        return Ink::say(Role::Muted, words);
    }
    if state.picks.is_busy() || state.picks.unread() > 0 {
        return Ink::lit(Role::Muted, "searching");
    }
    let what = if !state.filter_text.is_empty() {
        format!("/{}", state.filter_text)
    } else if state.picks.wanted().problems {
        "! problems".to_owned()
    } else {
        return Ink::say(
            Role::Muted,
            format!("{} hidden by clear, esc restores", numbers::grouped(hidden)),
        );
    };
    Ink::say(
        Role::Muted,
        format!(
            "no frame matches {what} ({} hidden), esc clears",
            numbers::grouped(hidden)
        ),
    )
}

/// `n frames . n err . n bad . n pend . n pend?` (L8).
pub(in crate::tui) fn counters(app: &App, session: &Session, state: &State) -> Vec<Ink> {
    // With a page the rows are of the page, the figures of the session (L8).
    let counters = app.whole(session.key()).unwrap_or(session).counters();
    let wanted = state.picks.wanted();
    let floor = if app.outside.is_loading(session.key()) {
        "+"
    } else {
        ""
    };
    let is_filtered = wanted.filter.is_some() || wanted.problems;
    let of = if is_filtered && app.has_page(session.key()) {
        session.counters().frames
    } else {
        counters.frames
    };
    let total = format!("{}{floor}", numbers::grouped(of));
    let total = if is_filtered {
        let listed = u64::try_from(state.picks.len(session)).unwrap_or(u64::MAX);
        format!("{}/{total}", numbers::grouped(listed))
    } else {
        total
    };
    let noun = if counters.frames == 1 {
        "frame"
    } else {
        "frames"
    };
    let mut parts = vec![Ink::say(Role::Text, format!("{total} {noun}"))];
    let down = app.outside.is_down(&session.key().host);
    let unsure = if down {
        counters.pending
    } else {
        counters.pending_uncertain
    };
    let sure = counters.pending.saturating_sub(unsure);
    for (count, word, role) in [
        (counters.errors, "err", Role::Err),
        (counters.invalid, "bad", Role::Bad),
        (sure, "pend", Role::Live),
        (unsure, "pend?", Role::Muted),
    ] {
        parts.extend(counter(count, word, role));
    }
    parts
}

/// Title and right side of the title rule (6.4).
pub(in crate::tui) fn title(app: &App, session: &Session, state: &State) -> (Ink, Ink) {
    let mut title = Ink::lit(Role::Strong, "stream ").and(Role::Text, app.name_of(session));
    if let Some((from, to)) = app.page_range(session.key()) {
        let (from, to) = (numbers::grouped(from.0), numbers::grouped(to.0));
        title = title.and_say(Role::Live, format!("  frames {from} to {to}"));
    }
    let whole = app.whole(session.key()).unwrap_or(session);
    let times = whole.server_times();
    let mut right = Ink::default();
    if !times.is_empty() {
        let gap = if app.tier() >= Tier::L { "  " } else { " " };
        let calls = numbers::plural(whole.call_count(), "call", "calls");
        let p50 = numbers::span(times.percentile(50));
        let p95 = numbers::span(times.percentile(95));
        right = Ink::say(Role::Text, format!("{calls}{gap}p50 {p50}{gap}p95 {p95}"));
    }
    let part = |line: Ink, part: Ink| {
        if line.is_empty() {
            part
        } else {
            line.and_lit(Role::Muted, "  ").join(part)
        }
    };
    if let Some((column, order)) = state.sort() {
        let name = match column {
            SortColumn::Time => "time",
            SortColumn::Method => "method",
            SortColumn::Id => "id",
            SortColumn::Duration => "dur",
            SortColumn::Status => "status",
        };
        right = if state.picks.is_busy() {
            part(right, Ink::lit(Role::Muted, "sorting…"))
        } else {
            part(right, sort_words(name, order))
        };
    }
    let visible = state
        .picks
        .id_at(session, state.top)
        .and_then(|id| session.row(session.position(id)?)?.ts);
    if let Some(day) = visible.map(|ts| numbers::date(ts, &app.settings.zone))
        && day != numbers::date(app.shown_now(), &app.settings.zone)
    {
        right = part(right, Ink::say(Role::Muted, day));
    }
    (title, right)
}

/// DETAIL of the selected row, whole (L12).
pub(in crate::tui) fn detail(app: &App, session: &Session, state: &State) -> Ink {
    let row = state.selected.and_then(|id| app.row(session, id));
    row.map_or_else(Ink::default, |row| {
        let signs = &app.settings.signs;
        let detail = app.describe(session, &row, Words::Long).detail;
        let call = row.call.and_then(|call| session.call(call));
        match call.and_then(|call| app.no_answer(session, &row, &call)) {
            Some(why) => with_part(Ink::of(Role::Muted, why), detail, signs),
            None => detail,
        }
    })
}
