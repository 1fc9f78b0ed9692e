//! How the table of sessions is drawn (tui.md 5, mock-ups 22.1 and 22.6).

use super::sessions::{Item, State, is_recording};
use crate::{
    base::{Shown, Timestamp},
    record::Transport,
    session::{Session, Source},
    tui::{
        app::{App, counter, sort_words},
        canvas::{Canvas, Column, Extent, Side},
        ink::Ink,
        layout::Tier,
        numbers,
        outside::Host,
        theme::{Ground, Role},
    },
};

/// Cells in front of the columns.
const GUTTER: u16 = 3;
/// Seconds of one cell of the sparkline.
const SPARK_SECS: u32 = 15;

/// Columns of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cell {
    Host,
    Name,
    Client,
    Kind,
    Requests,
    Responses,
    Errors,
    Pending,
    P95,
    Activity,
    Last,
}

/// Cell, head, key, side, width by tier; 0 is absent. NAME takes the rest.
type Row = (Cell, &'static str, Option<char>, Side, [u16; 6]);

const COLUMNS: [Row; 11] = [
    (
        Cell::Host,
        "HOST",
        Some('H'),
        Side::Left,
        [0, 10, 12, 14, 16, 20],
    ),
    (
        Cell::Name,
        "NAME",
        Some('N'),
        Side::Left,
        [1, 1, 1, 1, 1, 1],
    ),
    (
        Cell::Client,
        "CLIENT",
        Some('C'),
        Side::Left,
        [0, 0, 16, 18, 20, 24],
    ),
    (Cell::Kind, "KIND", None, Side::Left, [0, 0, 0, 0, 5, 5]),
    (Cell::Requests, "REQ", Some('R'), Side::Right, [5; 6]),
    (
        Cell::Responses,
        "RESP",
        Some('S'),
        Side::Right,
        [0, 5, 5, 5, 5, 5],
    ),
    (Cell::Errors, "ERR", Some('E'), Side::Right, [4; 6]),
    (Cell::Pending, "PEND", Some('P'), Side::Right, [4; 6]),
    (Cell::P95, "P95", Some('D'), Side::Right, [0, 0, 0, 0, 6, 6]),
    (
        Cell::Activity,
        "ACTIVITY",
        Some('A'),
        Side::Left,
        [0, 8, 8, 8, 8, 16],
    ),
    (Cell::Last, "LAST", Some('L'), Side::Right, [4; 6]),
];

fn columns(width: u16, many_hosts: bool) -> Vec<(Cell, Column)> {
    let tier = Tier::of(width);
    let usable = if width >= 100 { width - 1 } else { width };
    let mut chosen: Vec<_> = COLUMNS
        .iter()
        .filter(|(cell, ..)| match cell {
            Cell::Host => many_hosts,
            Cell::Activity => !(many_hosts && tier == Tier::S),
            Cell::Client => !(many_hosts && tier == Tier::M),
            _ => true,
        })
        .map(|(cell, title, key, side, widths)| {
            let width = widths.get(tier.index()).copied().unwrap_or(0);
            let column = Column {
                title,
                width,
                side: *side,
                key: *key,
            };
            (*cell, column)
        })
        .filter(|(_, column)| column.width > 0)
        .collect();
    let gaps = u16::try_from(chosen.len()).unwrap_or(0).saturating_sub(1);
    let fixed: u16 = chosen
        .iter()
        .filter(|(cell, _)| *cell != Cell::Name)
        .map(|(_, column)| column.width)
        .sum();
    let rest = usable.saturating_sub(GUTTER + gaps + fixed);
    for (cell, column) in &mut chosen {
        if *cell == Cell::Name {
            column.width = rest;
        }
    }
    chosen
}

/// The keys of the columns on screen that can be sorted by, in their order.
pub(in crate::tui) fn sort_keys(width: u16, many_hosts: bool) -> Vec<char> {
    columns(width, many_hosts)
        .iter()
        .filter_map(|(_, column)| column.key)
        .collect()
}

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
                let words = format!(
                    "{} on disk, enter loads 100",
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
    if app.outside.is_down(&session.key().host) {
        return ("?", Role::Muted);
    }
    if app.outside.is_loading(session.key()) && !app.is_file {
        return (signs.backfill, Role::Live);
    }
    match session.source() {
        Source::Live => (signs.recording, Role::Live),
        _ if app.is_file => (" ", Role::Muted),
        Source::Ended => (signs.ended, Role::Muted),
        Source::Unknown => ("?", Role::Muted),
        Source::File => (" ", Role::Muted),
    }
}

/// A session and what surrounds it, ready to be drawn.
struct Facts<'a> {
    app: &'a App,
    session: &'a Session,
    host: Option<&'a Host>,
    down: bool,
    /// Figures are lower bounds.
    floor: bool,
    now: Timestamp,
}

impl<'a> Facts<'a> {
    fn of(app: &'a App, session: &'a Session) -> Self {
        let host = app.outside.host(&session.key().host);
        Self {
            app,
            session,
            host,
            down: host.is_some_and(Host::is_down),
            floor: app.outside.is_loading(session.key()) || !session.approximate().is_empty(),
            now: app.shown_now(),
        }
    }

    fn cell(&self, cell: Cell, column: Column, many: bool) -> Ink {
        let counters = self.session.counters();
        match cell {
            Cell::Host => Ink::of(
                Role::Text,
                Shown::name(self.session.key().host.0.as_bytes()),
            ),
            Cell::Name => self.name(column, many),
            Cell::Client => match self.session.client() {
                Some(client) => {
                    let version = Shown::name(client.version.as_bytes());
                    Ink::of(
                        Role::Text,
                        Shown::name(client.name.as_bytes())
                            .and(&Shown::literal(" "))
                            .and(&version),
                    )
                }
                None => Ink::lit(Role::Muted, "-"),
            },
            Cell::Kind => match self.session.transport() {
                Some(Transport::Stdio) => Ink::lit(Role::Text, "stdio"),
                Some(Transport::Http) => Ink::lit(Role::Text, "http"),
                Some(Transport::Unknown(_)) | None => Ink::lit(Role::Muted, "-"),
            },
            Cell::Requests => self.figure(counters.requests, Role::Text),
            Cell::Responses => self.figure(counters.responses, Role::Text),
            Cell::Errors => self.figure(
                counters.errors,
                if counters.errors > 0 {
                    Role::Err
                } else {
                    Role::Text
                },
            ),
            Cell::Pending => self.pending(),
            Cell::P95 => match self.session.server_times().percentile(95) {
                _ if self.session.server_times().is_empty() => Ink::lit(Role::Muted, "-"),
                nanos => Ink::say(Role::Text, numbers::span(nanos)),
            },
            Cell::Activity => self.activity(column),
            Cell::Last => self.last(),
        }
    }

    fn figure(&self, value: u64, role: Role) -> Ink {
        let sign = if self.floor { "+" } else { "" };
        Ink::say(role, format!("{}{sign}", numbers::count(value)))
    }

    fn pending(&self) -> Ink {
        let counters = self.session.counters();
        let role = if counters.pending > counters.parked {
            Role::Live
        } else {
            Role::Muted
        };
        if self.down && counters.pending > 0 {
            return Ink::say(
                Role::Muted,
                format!("{}?", numbers::count(counters.pending)),
            );
        }
        self.figure(counters.pending, role)
    }

    fn name(&self, column: Column, many: bool) -> Ink {
        let label = self.app.name_of(self.session);
        if many && self.app.tier() == Tier::Xs {
            let host = Shown::name(self.session.key().host.0.as_bytes());
            return Ink::of(Role::Strong, host.and(&Shown::literal("/")).and(&label));
        }
        Ink::of(Role::Strong, label).cut(usize::from(column.width), self.app.settings.signs.elision)
    }

    fn activity(&self, column: Column) -> Ink {
        let cells = usize::from(column.width);
        let number = u32::try_from(cells).unwrap_or(8);
        let buckets = self.session.activity(cells, number * SPARK_SECS, self.now);
        let unknown = self
            .host
            .filter(|_| self.down)
            .and_then(|host| host.down_since)
            .map_or(0, |since| {
                let gone =
                    self.now.nanos_since(since).max(0) / (i64::from(SPARK_SECS) * 1_000_000_000);
                usize::try_from(gone)
                    .unwrap_or(cells)
                    .saturating_add(1)
                    .min(cells)
            });
        let mut ink = Ink::default();
        for (index, count) in buckets.into_iter().enumerate() {
            let sign = if index + unknown >= cells {
                "?"
            } else {
                spark(count, self.app.settings.signs.spark)
            };
            ink = ink.and_lit(if count > 0 { Role::Live } else { Role::Faint }, sign);
        }
        ink
    }

    fn last(&self) -> Ink {
        let offset = self.host.and_then(Host::offset_nanos).unwrap_or(0);
        let recorded = self
            .session
            .last()
            .map(|last| self.now.nanos_since(last).saturating_add(offset));
        let arrived = self
            .session
            .last_arrival()
            .map(|arrived| self.now.nanos_since(arrived));
        match arrived.or(recorded) {
            Some(age) => {
                let role = if age > 1_800_000_000_000 {
                    Role::Faint
                } else {
                    Role::Text
                };
                Ink::say(role, numbers::age(age))
            }
            None => Ink::lit(Role::Muted, "-"),
        }
    }
}

/// Absolute levels, so that rows compare (S5).
fn spark(count: u64, signs: [&'static str; 8]) -> &'static str {
    let level = match count {
        0 => 0,
        1..3 => 1,
        3..10 => 2,
        10..30 => 3,
        30..100 => 4,
        100..300 => 5,
        300..1_000 => 6,
        _ => 7,
    };
    signs.get(level).copied().unwrap_or("?")
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
