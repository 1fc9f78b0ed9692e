//! How one frame is drawn (tui.md 8, mock-up 22.3).

use super::{
    inspector::{Load, State},
    panel::grounds,
};
use crate::{
    base::{ByteCount, Shown},
    record::Direction,
    session::{Body, Call, DisplayStatus, Kind, Row, RowId, Session},
    tui::{
        answer::answer,
        app::App,
        body::{Mode, RAW_FROM},
        canvas::{Canvas, Extent, cells},
        detail::{Words, held, read},
        ink::Ink,
        numbers,
        source_text::{beginning, compact, without_meta},
        status,
        theme::{Ground, Role},
    },
    wire::json,
};

/// From this height on there is room for more than the body.
const ROOMY: u16 = 14;

/// Lines between the header and the body: facts, sections, the body's rule.
pub(in crate::tui) fn head_lines(app: &App, session: &Session, state: &State, height: u16) -> u16 {
    let why = u16::from(state.why_invalid.is_some());
    if height < ROOMY {
        return 2 + why;
    }
    let half = if other_half(app, session, state.id).is_some() {
        2
    } else {
        0
    };
    2 + cells(fact_lines(state, height).len()) + half + why
}

/// Line 3 and those after it: at most a quarter of the screen.
fn fact_lines(state: &State, height: u16) -> Vec<Ink> {
    let most = usize::from(height / 4);
    if state.facts.len() <= most {
        return state.facts.clone();
    }
    let mut lines: Vec<_> = state.facts.iter().take(most - 1).cloned().collect();
    let more = state.facts.len() - lines.len();
    lines.push(Ink::say(Role::Muted, format!("and {more} more lines")));
    lines
}

/// Draws the panel below its header.
pub(in crate::tui) fn body(app: &App, canvas: &mut Canvas<'_>, session: &Session, state: &State) {
    let Some(row) = session
        .position(state.id)
        .and_then(|position| session.row(position))
    else {
        let line = Ink::lit(Role::Muted, "this frame is not held any more");
        canvas.put(1, 1, canvas.regions.width, &line, Ground::Page);
        return;
    };
    let call = row.call.and_then(|call| session.call(call));
    facts(app, canvas, session, &row, call.as_deref());
    let mut y = 2;
    if canvas.regions.height >= ROOMY {
        for fact in fact_lines(state, canvas.regions.height) {
            let line = Ink::lit(Role::Text, "  ")
                .join(fact)
                .cut(usize::from(canvas.regions.width), canvas.signs.elision);
            canvas.put(0, y, canvas.regions.width, &line, Ground::Page);
            y += 1;
        }
    }
    if canvas.regions.height >= ROOMY
        && let Some((title, line, there)) = other_half(app, session, state.id)
    {
        canvas.rule(y, &title, &Ink::lit(Role::Muted, there));
        let line = Ink::lit(Role::Text, "  ")
            .join(line)
            .cut(usize::from(canvas.regions.width), canvas.signs.elision);
        canvas.put(0, y + 1, canvas.regions.width, &line, Ground::Page);
        y += 2;
    }
    let mode = if state.awaited().is_some() {
        Mode::Raw
    } else {
        state.mode
    };
    let title = Ink::lit(Role::Strong, "body ").and_lit(Role::Text, mode.name());
    let path = state.path().unwrap_or_default();
    let right = match (preparing(app, state), &state.body.notice) {
        (Some(words), _) => Ink::say(Role::Live, words),
        (None, Some(notice)) => Ink::say(Role::Warn, notice),
        (None, None) => Ink::of(Role::Muted, Shown::row(path.as_bytes())),
    };
    canvas.rule(y, &title, &right);
    if let Some(why) = state.why_invalid {
        y += 1;
        let line = Ink::lit(Role::Muted, "  ").and_lit(Role::Muted, why);
        canvas.put(0, y, canvas.regions.width, &line, Ground::Page);
    }
    let height = body_height(app, session, state);
    text(canvas, state, y + 1, height);
}

/// `preparing pretty 42 %`, while the chosen mode is not there yet.
fn preparing(app: &App, state: &State) -> Option<String> {
    let pending = state.awaited()?;
    let done = pending
        .percent(app.now)
        .map_or_else(String::new, |percent| format!(" {percent} %"));
    Some(format!("preparing {}{done}", pending.mode.name()))
}

/// Lines of the body on screen.
pub(in crate::tui) fn body_height(app: &App, session: &Session, state: &State) -> u16 {
    let below = if app.size.1 >= 20 { 2 } else { 1 };
    app.size
        .1
        .saturating_sub(1 + head_lines(app, session, state, app.size.1) + below)
}

fn text(canvas: &mut Canvas<'_>, state: &State, y: u16, height: u16) {
    let line = match &state.load {
        Load::Reading => Some(Ink::say(
            Role::Muted,
            format!("reading from log{}", canvas.signs.dots),
        )),
        Load::Failed(reason) => {
            Some(Ink::lit(Role::Err, "not available: ").and(Role::Text, reason.clone()))
        }
        Load::Ready if state.source.is_empty() => Some(Ink::lit(Role::Muted, "no body")),
        Load::Ready => None,
    };
    if let Some(line) = line {
        canvas.put(2, y, canvas.regions.width, &line, Ground::Page);
        return;
    }
    let gutter = state.gutter();
    for offset in 0..height {
        let Some(piece) = state.window.pieces.get(usize::from(offset)) else {
            break;
        };
        let Some(line) = state.window.line(piece.line) else {
            break;
        };
        if piece.line == state.cursor {
            let mark = Ink::lit(Role::Accent, canvas.signs.selection);
            canvas.put(0, y + offset, 1, &mark, Ground::Page);
        }
        if piece.bytes.start == 0 {
            let number = Ink::say(
                Role::Faint,
                format!("{:>width$}", piece.line + 1, width = gutter - 2),
            );
            canvas.put(0, y + offset, cells(gutter), &number, Ground::Page);
            if piece.line == state.cursor {
                let mark = Ink::lit(Role::Accent, canvas.signs.selection);
                canvas.put(0, y + offset, 1, &mark, Ground::Page);
            }
        }
        let own: Vec<_> = state
            .hits
            .iter()
            .enumerate()
            .filter(|(_, (at, _))| *at == piece.line)
            .map(|(number, (_, range))| {
                (
                    range.clone(),
                    if number == state.hit {
                        Ground::MatchNow
                    } else {
                        Ground::Match
                    },
                )
            })
            .collect();
        let shown = part(&grounds(&line.ink, &own), piece.bytes.clone(), state.shift);
        canvas.put(
            cells(gutter),
            y + offset,
            canvas.regions.table_width().saturating_sub(cells(gutter)),
            &shown,
            Ground::Page,
        );
    }
    let (top, shown) = state.window.extent();
    let extent = Extent {
        top,
        shown,
        all: state.body.len(),
    };
    canvas.scrollbar(y, height, extent, &[]);
}

/// Some bytes of a line, without its first cells.
fn part(ink: &Ink, bytes: std::ops::Range<usize>, shift: usize) -> Ink {
    let mut out = Ink::default();
    let (mut at, mut skip) = (0, shift);
    for span in ink.spans() {
        let length = span.text.plain().len();
        let start = bytes.start.saturating_sub(at).min(length);
        let end = bytes.end.saturating_sub(at).min(length).max(start);
        let mut text = span.text.between(start..end);
        if skip > 0 {
            let width = text.width();
            let plain = text.plain();
            let first = text
                .breaks(skip)
                .first()
                .copied()
                .unwrap_or(if width <= skip { plain.len() } else { 0 });
            skip = skip.saturating_sub(width);
            text = text.between(first..plain.len());
        }
        out = out.and_on(span.role, span.ground, text);
        at += length;
    }
    out
}

/// Direction, kind, subject, id, size, duration, status; time and distance on the right.
fn facts(
    app: &App,
    canvas: &mut Canvas<'_>,
    session: &Session,
    row: &Row<'_>,
    call: Option<&Call>,
) {
    let signs = canvas.signs;
    let sign = match row.direction {
        Direction::ClientToServer => signs.to_server,
        Direction::ServerToClient => signs.to_client,
        Direction::Stderr => signs.stderr,
        Direction::Meta | Direction::Unknown(_) => "?",
    };
    let mut left = Ink::lit(Role::Accent, sign)
        .and_lit(Role::Text, " ")
        .join(app.describe(session, row, Words::Long).method);
    if let Some(id) = row.json_id {
        left = left
            .and_lit(Role::Muted, "  id ")
            .and(Role::Text, Shown::name(id.as_bytes()));
    }
    if row.status > 0 && row.kind != Kind::Transport && canvas.regions.height < ROOMY {
        left = left.and_say(Role::Muted, format!("  http {}", row.status));
    }
    left = left.and_say(Role::Text, format!("  {}", ByteCount(row.size)));
    if let Some(nanos) = call
        .filter(|_| row.kind == Kind::Response)
        .and_then(|call| status::latency(row, call))
    {
        left = left.and_say(Role::Text, format!("  {}", numbers::span(nanos)));
    }
    let unsure = app.is_unsure(session.key());
    if session.is_unanswered(row) {
        left = left.and_lit(Role::Warn, "  no answer");
    } else if let Some((word, role)) = status::of_row(row, call, unsure).map(status::word) {
        left = left.and_lit(role, "  ").and_lit(role, word);
    }
    let mut right = Ink::default();
    if let Some(ts) = row.ts {
        right = Ink::say(
            Role::Text,
            numbers::time_of_day(app.offset_of(session).shift(ts), &app.settings.zone),
        );
        let before = session
            .position(row.id)
            .and_then(|at| at.checked_sub(1))
            .and_then(|at| session.row(at)?.ts);
        if let Some(before) = before {
            right = right.and_say(
                Role::Muted,
                format!(" {}", numbers::delta(ts.nanos_since(before))),
            );
        }
    }
    let room = usize::from(canvas.regions.width).saturating_sub(3);
    let fits = left.width() + right.width() < room;
    if fits {
        canvas.put_right(canvas.regions.width, 1, &right);
    }
    canvas.put(
        1,
        1,
        canvas.regions.width,
        &left.cut(room, signs.elision),
        Ground::Page,
    );
}

/// The other half of the call: a title, one line of it, how to get there. Where none will come, why.
fn other_half(app: &App, session: &Session, id: RowId) -> Option<(Ink, Ink, &'static str)> {
    let row = session.row(session.position(id)?)?;
    let call = session.call(row.call?)?;
    if let Some(why) = app.no_answer(session, &row, &call) {
        let title = Ink::lit(Role::Strong, "answer");
        return Some((title, Ink::of(Role::Text, why), ""));
    }
    let hop = call
        .hops
        .iter()
        .find(|hop| hop.request == id || hop.answer == Some(id))?;
    let other = if hop.request == id {
        hop.answer?
    } else {
        hop.request
    };
    let other = app.row(session, other)?;
    let bytes = held(&other.body);
    let is_answer = other.kind == Kind::Response;
    if matches!(other.body, Body::Released) {
        let absent = app.absent(session, &other);
        return Some((title(is_answer, &other), absent, "x goes there"));
    }
    let line = match bytes.map(|bytes| read(bytes).ok_or(bytes)) {
        Some(Err(large)) => beginning(large),
        Some(Ok(message)) if is_answer => {
            answer(&message, &other, Some(&call), session.protocol_version())
        }
        Some(Ok(message)) => {
            let params = message.params.unwrap_or_default();
            json::member(params, "arguments").map_or_else(|| without_meta(params), compact)
        }
        None => Shown::default(),
    };
    let mut ink = Ink::of(Role::Muted, line);
    if call.hop_count > 1 {
        ink = ink.and_say(
            Role::Muted,
            format!(" (one of {} requests)", call.hop_count),
        );
    }
    if call.progress_count > 0 {
        ink = ink.and_say(Role::Muted, format!(" ({} progress)", call.progress_count));
    }
    Some((title(is_answer, &other), ink, "x goes there"))
}

/// `answered in 318`, `asked in 316`.
fn title(is_answer: bool, other: &Row<'_>) -> Ink {
    let words = if is_answer {
        "answered in "
    } else {
        "asked in "
    };
    Ink::lit(Role::Strong, words).and_say(Role::Text, other.id.seq.to_string())
}

/// `req 316 <-> resp 318`, the current one strong (I1).
pub(in crate::tui) fn pair(app: &App, session: &Session, id: RowId) -> Ink {
    let alone = || Ink::say(Role::Muted, format!("seq {}", id.seq));
    let row = session
        .position(id)
        .and_then(|position| session.row(position));
    let Some(call) = row
        .as_ref()
        .and_then(|row| row.call)
        .and_then(|call| session.call(call))
    else {
        return alone();
    };
    let Some(hop) = call
        .hops
        .iter()
        .find(|hop| hop.request == id || hop.answer == Some(id))
    else {
        return alone();
    };
    let role = |own: RowId| if own == id { Role::Strong } else { Role::Muted };
    let left = Ink::say(role(hop.request), format!("req {}", hop.request.seq))
        .and_lit(Role::Faint, " ")
        .and_lit(Role::Faint, app.settings.signs.pair)
        .and_lit(Role::Faint, " ");
    if let Some(answer) = hop.answer {
        left.and_say(role(answer), format!("resp {}", answer.seq))
    } else if let Some(word) = row.and_then(|row| app.no_answer_word(session, &row, &call)) {
        left.and_lit(Role::Muted, word)
    } else {
        let unsure = app.is_unsure(session.key());
        let status = match call.status() {
            DisplayStatus::Pending if unsure => DisplayStatus::PendingUncertain,
            other => other,
        };
        let (word, role) = status::word(status);
        left.and_lit(role, word)
    }
}

/// The frame as indented JSON, or its text in visible form: for copying (13.1, A5).
pub(in crate::tui) fn copy_text(bytes: &[u8], is_json: bool) -> String {
    (is_json && bytes.len() <= RAW_FROM)
        .then(|| crate::tui::body::pretty_text(bytes))
        .flatten()
        .unwrap_or_else(|| crate::base::block(&String::from_utf8_lossy(bytes)))
}
