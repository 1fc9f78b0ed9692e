//! How the frames of a session are drawn (tui.md 6, mock-ups 22.2 and 22.5).

use super::stream::{Note, State, TimeMode};
use crate::{
    base::Shown,
    record::Direction,
    session::{Call, DisplayStatus, Kind, Row, Session},
    tui::{
        app::{App, counter, sort_words},
        canvas::{Canvas, Column, Extent, Side, highlight},
        detail::{Words, describe, unquoted},
        ink::Ink,
        layout::Tier,
        numbers,
        theme::{Ground, Role},
        status,
        wanted::SortColumn,
    },
};

/// Columns of a tier, without the gutter; METHOD or DETAIL takes the rest.
struct Columns {
    gutter: u16,
    list: Vec<Column>,
    has_id: bool,
    has_detail: bool,
}

fn columns(width: u16) -> Columns {
    let tier = Tier::of(width);
    let usable = if width >= 100 { width - 1 } else { width };
    let gutter = if tier <= Tier::S { 2 } else { 3 };
    let time = if tier == Tier::Xs { 8 } else { 12 };
    let id = [0, 4, 4, 6, 6, 10].get(tier.index()).copied().unwrap_or(0);
    let duration = if tier == Tier::Xs { 6 } else { 7 };
    let has_detail = tier >= Tier::L;
    let column = |title, width, side, key| Column {
        title,
        width,
        side,
        key,
    };
    let method_head = if tier == Tier::Xs {
        "METHOD/TOOL"
    } else {
        "METHOD / TOOL"
    };
    let mut list = vec![
        column("TIME", time, Side::Left, Some('T')),
        column("", 1, Side::Left, None),
        column(method_head, 0, Side::Left, Some('M')),
    ];
    if id > 0 {
        list.push(column("ID", id, Side::RightTail, Some('I')));
    }
    list.push(column("DUR", duration, Side::Right, Some('D')));
    list.push(column("STATUS", 9, Side::Left, Some('S')));
    if has_detail {
        list.push(column("DETAIL", 0, Side::Left, None));
    }
    let gaps = u16::try_from(list.len()).unwrap_or(1) - 1;
    let fixed: u16 = list.iter().map(|column| column.width).sum();
    let rest = usable.saturating_sub(gutter + gaps + fixed);
    // From L on METHOD has a width of its own; what the waterfall will take goes to DETAIL.
    let method = match tier {
        Tier::L => 24,
        Tier::Xl => 28,
        Tier::Xxl => 36,
        _ => rest,
    };
    for column in &mut list {
        if column.key == Some('M') {
            column.width = method;
        } else if column.title == "DETAIL" {
            column.width = rest.saturating_sub(method);
        }
    }
    Columns {
        gutter,
        list,
        has_id: id > 0,
        has_detail,
    }
}

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
            format!("{} older frames on disk", numbers::grouped(*count)),
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

fn row_cells(
    app: &App,
    session: &Session,
    state: &State,
    index: usize,
    columns: &Columns,
) -> Option<Vec<Ink>> {
    let id = state.picks.id_at(session, index)?;
    let row = session.row(session.position(id)?)?;
    let call = row.call.and_then(|call| session.call(call));
    let call = call.as_deref();
    let words = if columns.has_detail {
        Words::Long
    } else {
        Words::Short
    };
    let mut described = describe(&row, session, words, &app.settings.signs);
    let filter = state.picks.wanted().filter.as_ref();
    if let Some(words) = filter
        .map(crate::session::Filter::words)
        .filter(|words| !words.is_empty())
    {
        described.method = highlight(&described.method, &words, Ground::Match);
        described.detail = highlight(&described.detail, &words, Ground::Match);
    }
    let mut cells = vec![
        time_cell(app, session, state, index, &row),
        direction(app, &row),
    ];
    if columns.has_detail || described.detail.is_empty() {
        cells.push(described.method);
    } else {
        cells.push(
            described
                .method
                .and_lit(Role::Muted, " ")
                .join(described.detail.clone()),
        );
    }
    if columns.has_id {
        cells.push(id_cell(&row, call));
    }
    cells.push(duration_cell(app, session, &row, call));
    cells.push(status_cell(app, session, &row, call));
    if columns.has_detail {
        cells.push(described.detail);
    }
    Some(cells)
}

fn time_cell(app: &App, session: &Session, state: &State, index: usize, row: &Row<'_>) -> Ink {
    let Some(ts) = row.ts else {
        return Ink::lit(Role::Muted, "-");
    };
    let before = index
        .checked_sub(1)
        .and_then(|index| state.picks.id_at(session, index));
    let before = before.and_then(|id| session.row(session.position(id)?)?.ts);
    let back = state.sort().is_none() && before.is_some_and(|before| before > ts);
    let role = if back { Role::Faint } else { Role::Text };
    let offset = app.offset_of(session);
    let text = match state.time {
        TimeMode::Clock if app.tier() == Tier::Xs => {
            numbers::short_time(offset.shift(ts), &app.settings.zone)
        }
        TimeMode::Clock => numbers::time_of_day(offset.shift(ts), &app.settings.zone),
        TimeMode::Start => session
            .first()
            .map_or_else(String::new, |first| numbers::delta(ts.nanos_since(first))),
        TimeMode::Delta => before.map_or_else(String::new, |before| {
            numbers::delta(ts.nanos_since(before)).replacen('+', "^", 1)
        }),
    };
    Ink::say(role, text)
}

fn direction(app: &App, row: &Row<'_>) -> Ink {
    let signs = app.settings.signs;
    let sign = match (row.kind, row.direction) {
        (Kind::Invalid, _) => "!",
        (Kind::Stderr, _) => signs.stderr,
        (Kind::Notification, _) => signs.notification,
        (Kind::Other, _) | (_, Direction::Stderr | Direction::Meta | Direction::Unknown(_)) => "?",
        (_, Direction::ClientToServer) => signs.to_server,
        (_, Direction::ServerToClient) => signs.to_client,
    };
    Ink::lit(Role::Accent, sign)
}

/// The id of the frame, or of the operation that it belongs to.
fn id_cell(row: &Row<'_>, call: Option<&Call>) -> Ink {
    let id = row.json_id.or_else(|| {
        call.and_then(|call| call.hops.first())
            .map(|hop| &*hop.json_id)
    });
    Ink::of(
        Role::Text,
        id.map(|id| Shown::name(unquoted(id).as_bytes()))
            .unwrap_or_default(),
    )
}

fn duration_cell(app: &App, session: &Session, row: &Row<'_>, call: Option<&Call>) -> Ink {
    let Some(call) = call else {
        return Ink::default();
    };
    match row.kind {
        Kind::Response => status::latency(row, call).map_or_else(Ink::default, |nanos| {
            Ink::say(Role::Text, numbers::span(nanos))
        }),
        Kind::Request
            if call.is_open() && call.hops.last().is_some_and(|hop| hop.request == row.id) =>
        {
            let role = if app.outside.is_down(&session.key().host) {
                Role::Muted
            } else {
                Role::Live
            };
            app.open_for(session, call)
                .map_or_else(Ink::default, |nanos| {
                    Ink::say(role, numbers::elapsed(nanos))
                })
        }
        _ => Ink::default(),
    }
}

fn status_cell(app: &App, session: &Session, row: &Row<'_>, call: Option<&Call>) -> Ink {
    let down = app.outside.is_down(&session.key().host);
    let Some(status) = status::of_row(row, call, down) else {
        return Ink::default();
    };
    let (word, role) = status::word(status);
    let role = match (status, call) {
        // Only an open stream ended, nothing was owed (6.2).
        (DisplayStatus::Lost, Some(call)) if !call.errored => Role::Warn,
        _ => role,
    };
    Ink::lit(role, word)
}

/// `n frames . n err . n bad . n pend . n pend?` (L8).
pub(in crate::tui) fn counters(app: &App, session: &Session, state: &State) -> Vec<Ink> {
    let counters = session.counters();
    let wanted = state.picks.wanted();
    let floor = if app.outside.is_loading(session.key()) {
        "+"
    } else {
        ""
    };
    let total = format!("{}{floor}", numbers::grouped(counters.frames));
    let total = if wanted.filter.is_some() || wanted.problems {
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
    let title = Ink::lit(Role::Strong, "stream ").and(Role::Text, app.name_of(session));
    let times = session.server_times();
    let mut right = Ink::default();
    if !times.is_empty() {
        let gap = if app.tier() >= Tier::L { "  " } else { " " };
        let calls = numbers::plural(session.call_count(), "call", "calls");
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
    let row = state
        .selected
        .and_then(|id| session.row(session.position(id)?));
    row.map_or_else(Ink::default, |row| {
        describe(&row, session, Words::Long, &app.settings.signs).detail
    })
}
