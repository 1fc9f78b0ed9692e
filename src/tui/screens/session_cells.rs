//! The columns of the table of sessions, and what stands in them (tui.md 5, S4 to S6).

use crate::{
    base::{Shown, Timestamp},
    record::Transport,
    session::Session,
    tui::{
        app::App,
        canvas::{Column, Side},
        ink::Ink,
        layout::Tier,
        numbers,
        outside::Host,
        theme::Role,
    },
};

/// Cells in front of the columns.
pub(super) const GUTTER: u16 = 3;
/// Seconds of one cell of the sparkline.
const SPARK_SECS: u32 = 15;
/// Cells of a name that are kept before words behind it.
const SHORTEST_NAME: usize = 12;

/// Columns of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cell {
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
pub(super) type Row = (Cell, &'static str, Option<char>, Side, [u16; 6]);

pub(super) const COLUMNS: [Row; 11] = [
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

/// The columns at a width.
pub(super) fn columns(width: u16, many_hosts: bool) -> Vec<(Cell, Column)> {
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

/// A session and what surrounds it, ready to be drawn.
pub(super) struct Facts<'a> {
    app: &'a App,
    session: &'a Session,
    host: Option<&'a Host>,
    down: bool,
    /// Figures are lower bounds.
    floor: bool,
    now: Timestamp,
}

impl<'a> Facts<'a> {
    pub(super) fn of(app: &'a App, session: &'a Session) -> Self {
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

    pub(super) fn cell(&self, cell: Cell, column: Column, many: bool) -> Ink {
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
        let role = if counters.pending > counters.parked && !self.app.is_over(self.session) {
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
        let name = Ink::of(Role::Strong, label);
        let room = usize::from(column.width);
        let how = how_it_failed(self.session).map_or_else(Ink::default, |how| {
            Ink::lit(Role::Warn, "  ").and(Role::Warn, how)
        });
        // The mark tells it, too: a name is not cut short for the words.
        let room_for_name = room.saturating_sub(how.width());
        if room_for_name >= name.width().min(SHORTEST_NAME) {
            let elision = self.app.settings.signs.elision;
            return name.cut(room_for_name, elision).join(how);
        }
        name.cut(room, self.app.settings.signs.elision)
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

/// `exit 3` or `SIGKILL`, when the server ended by itself in a way that it should not.
pub(in crate::tui) fn how_it_failed(session: &Session) -> Option<Shown> {
    let (code, signal) = session.end().filter(|_| session.server_failed())?;
    Some(match (signal, code) {
        (Some(signal), _) => Shown::name(signal.as_bytes()),
        (None, code) => Shown::row(format!("exit {}", code.unwrap_or(0)).as_bytes()),
    })
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
