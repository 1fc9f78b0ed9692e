//! The columns of the stream, and what stands in them (tui.md 6, 6.2).

use super::stream::{State, TimeMode};
use crate::{
    base::Shown,
    record::Direction,
    session::{Call, DisplayStatus, Kind, Row, Session},
    tui::{
        app::App,
        canvas::{Column, Side, highlight},
        detail::{Described, Words, unquoted, with_part},
        ink::Ink,
        layout::Tier,
        numbers, status,
        theme::{Ground, Role},
    },
};

/// Columns of a tier, without the gutter; METHOD or DETAIL takes the rest.
pub(super) struct Columns {
    pub(super) gutter: u16,
    pub(super) list: Vec<Column>,
    pub(super) has_id: bool,
    pub(super) has_detail: bool,
}

/// The columns at a width.
pub(super) fn columns(width: u16) -> Columns {
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

/// A row in words, with what is to be said of an answer that will not come.
fn described(
    app: &App,
    session: &Session,
    row: &Row<'_>,
    call: Option<&Call>,
    words: Words,
) -> Described {
    let signs = &app.settings.signs;
    let mut described = app.describe(session, row, words);
    if let Some(why) = call.and_then(|call| app.no_answer_in_short(session, row, call)) {
        described.detail = with_part(Ink::of(Role::Muted, why), described.detail, signs);
    }
    described
}

/// The cells of a row.
pub(super) fn row_cells(
    app: &App,
    session: &Session,
    state: &State,
    index: usize,
    columns: &Columns,
) -> Option<Vec<Ink>> {
    let id = state.picks.id_at(session, index)?;
    let row = app.row(session, id)?;
    let call = row.call.and_then(|call| session.call(call));
    let call = call.as_deref();
    let words = if columns.has_detail {
        Words::Long
    } else {
        Words::Short
    };
    let mut described = described(app, session, &row, call, words);
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
        (Kind::Stderr, _) => signs.stderr,
        (Kind::Notification, _) => signs.notification,
        (_, Direction::Stderr | Direction::Meta | Direction::Unknown(_)) => "?",
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
            let role = if app.is_unsure(session.key()) || app.is_over(session) {
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
    if session.is_unanswered(row) {
        return Ink::lit(Role::Warn, "no answer");
    }
    let unsure = app.is_unsure(session.key());
    let Some(status) = status::of_row(row, call, unsure) else {
        return Ink::default();
    };
    let (word, role) = status::word(status);
    let role = match (status, call) {
        (
            DisplayStatus::Pending
            | DisplayStatus::Input
            | DisplayStatus::TaskWorking
            | DisplayStatus::TaskInput,
            Some(call),
        ) if app.no_answer(session, row, call).is_some() => Role::Muted,
        // Only an open stream ended, nothing was owed (6.2).
        (DisplayStatus::Lost, Some(call)) if !call.errored => Role::Warn,
        _ => role,
    };
    Ink::lit(role, word)
}
