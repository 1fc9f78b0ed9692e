//! The hosts and their links (tui.md 9.4, 15, mock-up 22.12).

use super::host_detail::{DETAIL, clock, detail};
use crate::{
    base::Shown,
    feed::LinkState,
    record::HostName,
    tui::{
        app::{App, counter},
        canvas::{Canvas, Column, Extent, Side},
        ink::Ink,
        layout::Tier,
        numbers,
        outside::Host,
        theme::{Ground, Role},
        wanted::Order,
        window::{moved, top_row},
    },
};

const GUTTER: u16 = 3;

/// State of the screen.
#[derive(Clone, Debug, Default)]
pub(in crate::tui) struct State {
    /// The selected host.
    pub(in crate::tui) selected: Option<HostName>,
    /// Its place.
    pub(in crate::tui) at: usize,
    /// First row on screen.
    pub(in crate::tui) top: usize,
    /// Column that rows are sorted by, by its place on screen.
    pub(in crate::tui) sort: Option<(usize, Order)>,
}

impl State {
    /// Moves the selection.
    pub(in crate::tui) fn step(&mut self, by: isize, names: &[HostName]) {
        self.at = moved(self.at, by, names.len());
        self.selected = names.get(self.at).cloned();
    }

    /// Brings the selection up to date.
    pub(in crate::tui) fn prepare(&mut self, names: &[HostName], height: u16) {
        let found = self
            .selected
            .as_ref()
            .and_then(|name| names.iter().position(|other| other == name));
        self.at = found.unwrap_or_else(|| self.at.min(names.len().saturating_sub(1)));
        self.selected = names.get(self.at).cloned();
        self.top = top_row(
            self.top,
            Some(self.at),
            names.len(),
            usize::from(height),
            &|_| 1,
        );
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cell {
    Host,
    State,
    Since,
    RoundTrip,
    Sessions,
    Frames,
    Clock,
    Error,
}

fn columns(width: u16) -> Vec<(Cell, Column)> {
    let tier = Tier::of(width);
    let usable = if width >= 100 { width - 1 } else { width };
    let host = if tier >= Tier::Xl { 20 } else { 14 };
    let all = [
        (Cell::Host, "HOST", host, Side::Left, Tier::Xs),
        (Cell::State, "STATE", 18, Side::Left, Tier::Xs),
        (Cell::Since, "SINCE", 5, Side::Right, Tier::Xs),
        (Cell::RoundTrip, "RTT", 6, Side::Right, Tier::M),
        (Cell::Sessions, "SESS", 4, Side::Right, Tier::S),
        (Cell::Frames, "FRAMES", 6, Side::Right, Tier::L),
        (Cell::Clock, "CLOCK", 7, Side::Right, Tier::L),
        (Cell::Error, "LAST ERROR", 0, Side::Left, Tier::M),
    ];
    let mut chosen: Vec<_> = all
        .into_iter()
        .filter(|(.., from)| tier >= *from)
        .map(|(cell, title, width, side, _)| {
            (
                cell,
                Column {
                    title,
                    width,
                    side,
                    key: None,
                },
            )
        })
        .collect();
    let rest_cell = if tier >= Tier::M {
        Cell::Error
    } else {
        Cell::Host
    };
    let gaps = u16::try_from(chosen.len()).unwrap_or(1) - 1;
    let fixed: u16 = chosen
        .iter()
        .filter(|(cell, _)| *cell != rest_cell)
        .map(|(_, column)| column.width)
        .sum();
    for (cell, column) in &mut chosen {
        if *cell == rest_cell {
            column.width = usable.saturating_sub(GUTTER + gaps + fixed);
        }
    }
    chosen
}

/// Number of columns that can be sorted by.
pub(in crate::tui) fn column_count(width: u16) -> usize {
    columns(width).len()
}

/// The hosts in the order of the screen.
pub(in crate::tui) fn names(app: &App, sort: Option<(usize, Order)>) -> Vec<HostName> {
    let mut hosts: Vec<&Host> = app.outside.hosts().iter().collect();
    let columns = columns(app.size.0);
    if let Some(((cell, column), order)) =
        sort.and_then(|(index, order)| Some((columns.get(index)?, order)))
    {
        let key = |host: &Host| match cell {
            Cell::Since => (-host.since.as_nanos(), String::new()),
            Cell::RoundTrip => (
                host.state
                    .round_trip
                    .map_or(0, |trip| i64::try_from(trip.as_micros()).unwrap_or(0)),
                String::new(),
            ),
            Cell::Sessions => (
                i64::try_from(figures(app, host).0).unwrap_or(0),
                String::new(),
            ),
            Cell::Frames => (
                i64::try_from(figures(app, host).1).unwrap_or(0),
                String::new(),
            ),
            Cell::Clock => (host.state.clock_offset_ms.unwrap_or(0), String::new()),
            Cell::Host | Cell::State | Cell::Error => {
                (0, cell_ink(app, host, *cell, *column).plain())
            }
        };
        hosts.sort_by_key(|host| key(host));
        if order == Order::Descending {
            hosts.reverse();
        }
    }
    hosts.iter().map(|host| host.state.host.clone()).collect()
}

/// Rows of the table on screen.
pub(in crate::tui) fn table_height(height: u16, rows: u16) -> u16 {
    if height >= 20 {
        rows.saturating_sub(DETAIL + 1)
    } else {
        rows
    }
}

/// Sessions and frames of a host.
pub(super) fn figures(app: &App, host: &Host) -> (u64, u64) {
    let own = app
        .all_sessions()
        .into_iter()
        .filter(|session| session.key().host == host.state.host);
    own.fold((0, 0), |(sessions, frames), session| {
        (sessions + 1, frames + session.counters().frames)
    })
}

/// Draws the table and the detail of the selected host.
pub(in crate::tui) fn body(app: &App, canvas: &mut Canvas<'_>) {
    let state = &app.hosts;
    let columns = columns(canvas.regions.width);
    let plain: Vec<_> = columns.iter().map(|(_, column)| *column).collect();
    let regions = canvas.regions;
    canvas.heads(regions.body, GUTTER, &plain, None);
    let height = table_height(regions.height, regions.rows());
    let names = names(app, state.sort);
    for line in 0..height {
        let index = state.top + usize::from(line);
        let Some(host) = names.get(index).and_then(|name| app.outside.host(name)) else {
            break;
        };
        let y = regions.body + 1 + line;
        let ground = if index == state.at {
            Ground::Selection
        } else {
            Ground::Page
        };
        if index == state.at {
            canvas.band(y, ground);
            let mark = Ink::lit(Role::Accent, canvas.signs.selection);
            canvas.put(0, y, 1, &mark, ground);
        }
        let (sign, _, role) = host.table_state(&canvas.signs, app.now);
        canvas.put(1, y, 1, &Ink::lit(role, sign), ground);
        let inks: Vec<_> = columns
            .iter()
            .map(|(cell, column)| cell_ink(app, host, *cell, *column))
            .collect();
        canvas.cells(y, GUTTER, &plain, &inks, ground);
    }
    if names.is_empty() {
        canvas.put(
            GUTTER,
            regions.body + 1,
            regions.width,
            &Ink::lit(Role::Muted, "no host is known yet"),
            Ground::Page,
        );
    }
    let extent = Extent {
        top: state.top,
        shown: usize::from(height),
        all: names.len(),
    };
    canvas.scrollbar(regions.body + 1, height, extent, &[]);
    if regions.height >= 20
        && let Some(host) = state
            .selected
            .as_ref()
            .and_then(|name| app.outside.host(name))
    {
        detail(
            app,
            canvas,
            host,
            regions.body + regions.body_height - DETAIL,
        );
    }
}

fn cell_ink(app: &App, host: &Host, cell: Cell, column: Column) -> Ink {
    let (_, words, role) = host.table_state(&app.settings.signs, app.now);
    match cell {
        Cell::Host => Ink::of(Role::Strong, Shown::name(host.state.host.0.as_bytes())),
        Cell::State => {
            Ink::say(role, words).cut(usize::from(column.width), app.settings.signs.elision)
        }
        Cell::Since => Ink::say(Role::Text, numbers::age(app.now.nanos_since(host.since))),
        Cell::RoundTrip => host
            .state
            .round_trip
            .filter(|_| !host.is_down())
            .map_or_else(Ink::default, |trip| {
                Ink::say(
                    Role::Text,
                    numbers::span(u64::try_from(trip.as_nanos()).unwrap_or(u64::MAX)),
                )
            }),
        Cell::Sessions => Ink::say(Role::Text, numbers::count(figures(app, host).0)),
        Cell::Frames => Ink::say(Role::Text, numbers::count(figures(app, host).1)),
        Cell::Clock => clock(host).map_or_else(Ink::default, |words| Ink::say(Role::Text, words)),
        // What made a standing link take a slower way is told below the table.
        Cell::Error if !host.is_down() => Ink::default(),
        Cell::Error => host
            .reason_within(usize::from(column.width))
            .map_or_else(Ink::default, |reason| Ink::of(Role::Text, reason)),
    }
}

/// `4 hosts . 2 live`.
pub(in crate::tui) fn counters(app: &App) -> Vec<Ink> {
    let hosts = app.outside.hosts();
    let live = hosts
        .iter()
        .filter(|host| host.state.link == LinkState::Live)
        .count();
    let number = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
    let mut parts = vec![Ink::say(
        Role::Text,
        numbers::plural(number(hosts.len()), "host", "hosts"),
    )];
    parts.extend(counter(number(live), "live", Role::Live));
    parts
}
