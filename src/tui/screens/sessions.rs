//! The table of sessions: order, selection, filter (tui.md 5, N1, N2, N6, N8).

use std::{cmp::Ordering, collections::HashSet};

use crate::{
    base::Timestamp,
    record::SessionKey,
    session::{Filter, Health, Session, Source},
    tui::{
        outside::Outside,
        wanted::Order,
        window::{moved, top_row},
    },
};

/// Shortest time between two re-orderings, and after a movement (N6).
const REORDER_NANOS: i64 = 1_000_000_000;
const STILL_NANOS: i64 = 1_500_000_000;

/// What a line of the table stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::tui) enum Item {
    /// A session.
    Session(SessionKey),
    /// The line that offers older sessions.
    Older,
}

/// State of the screen.
#[derive(Clone, Debug, Default)]
pub(in crate::tui) struct State {
    /// Sessions in the order of the screen.
    pub(in crate::tui) order: Vec<SessionKey>,
    /// Sessions that the filter hides.
    pub(in crate::tui) hidden: usize,
    /// What is selected.
    pub(in crate::tui) selected: Option<Item>,
    /// First line on screen.
    pub(in crate::tui) top: usize,
    /// The filter in force.
    pub(in crate::tui) filter: Option<Filter>,
    /// Its text.
    pub(in crate::tui) filter_text: String,
    /// Only sessions with problems.
    pub(in crate::tui) problems: bool,
    /// Only sessions of this host.
    pub(in crate::tui) sort: Option<(char, Order)>,
    /// Older sessions can be loaded.
    pub(in crate::tui) has_older: bool,
    ordered_at: Option<Timestamp>,
    moved_at: Option<Timestamp>,
    at: usize,
    /// Order anew at once: the user asked for it.
    pub(in crate::tui) is_due: bool,
}

impl State {
    /// Lines of the table.
    pub(in crate::tui) fn len(&self) -> usize {
        self.order.len() + usize::from(self.has_older)
    }

    /// What stands at a line.
    pub(in crate::tui) fn item(&self, index: usize) -> Option<Item> {
        match self.order.get(index) {
            Some(key) => Some(Item::Session(key.clone())),
            None if self.has_older && index == self.order.len() => Some(Item::Older),
            None => None,
        }
    }

    /// Line of the selection.
    pub(in crate::tui) const fn at(&self) -> usize {
        self.at
    }

    /// The selected session.
    pub(in crate::tui) fn session(&self) -> Option<&SessionKey> {
        match &self.selected {
            Some(Item::Session(key)) => Some(key),
            Some(Item::Older) | None => None,
        }
    }

    /// Moves the selection.
    pub(in crate::tui) fn step(&mut self, by: isize, now: Timestamp) {
        self.go(moved(self.at, by, self.len()), now);
    }

    /// Selects a line.
    pub(in crate::tui) fn go(&mut self, index: usize, now: Timestamp) {
        self.moved_at = Some(now);
        self.at = index.min(self.len().saturating_sub(1));
        self.selected = self.item(self.at);
    }

    /// Sorts by a column: natural direction, reversed, off (N8).
    pub(in crate::tui) fn sort_by(&mut self, column: char) {
        let natural = if matches!(column, 'N' | 'C' | 'H' | 'K') {
            Order::Ascending
        } else {
            Order::Descending
        };
        self.sort = match self.sort {
            Some((sorted, order)) if sorted == column => {
                (order == natural).then_some((column, natural.reversed()))
            }
            _ => Some((column, natural)),
        };
        self.is_due = true;
    }

    /// Brings order, selection and scrolling up to date.
    pub(in crate::tui) fn prepare(
        &mut self,
        sessions: &[&Session],
        outside: &Outside,
        now: Timestamp,
        height: usize,
    ) {
        self.has_older = outside.older_sessions() > 0;
        let fits = |session: &&&Session| self.takes(session);
        let shown: Vec<_> = sessions.iter().filter(fits).copied().collect();
        self.hidden = sessions.len() - shown.len();
        let due = self.is_due
            || self
                .ordered_at
                .is_none_or(|at| now.nanos_since(at) >= REORDER_NANOS);
        // An empty table has nothing that could slip away under the cursor.
        let still = !self.order.is_empty()
            && self
                .moved_at
                .is_some_and(|at| now.nanos_since(at) < STILL_NANOS);
        let keys: HashSet<&SessionKey> = shown.iter().map(|session| session.key()).collect();
        let known =
            keys.len() == self.order.len() && self.order.iter().all(|key| keys.contains(key));
        if self.is_due || (due && !still) || (!known && !still) {
            self.order_anew(shown, outside);
            self.ordered_at = Some(now);
            self.is_due = false;
        } else {
            self.order.retain(|key| keys.contains(key));
        }
        // While the list fills and nobody has chosen, the first row is the selected one.
        if self.moved_at.is_none() && outside.is_settling(now) {
            self.at = 0;
            self.selected = self.item(0);
        }
        self.keep_selection(height);
    }

    /// Sessions that belong on the table.
    fn takes(&self, session: &Session) -> bool {
        (!self.problems || has_problem(session))
            && self
                .filter
                .as_ref()
                .is_none_or(|filter| filter.matches_session(session))
    }

    fn order_anew(&mut self, mut shown: Vec<&Session>, outside: &Outside) {
        shown.sort_by(|a, b| {
            let sorted = self.sort.map_or(Ordering::Equal, |(column, order)| {
                by_column(a, b, column, order)
            });
            sorted.then_with(|| by_default(a, b, outside))
        });
        self.order = shown
            .into_iter()
            .map(|session| session.key().clone())
            .collect();
    }

    fn keep_selection(&mut self, height: usize) {
        let found = match &self.selected {
            Some(Item::Session(key)) => self.order.iter().position(|other| other == key),
            Some(Item::Older) if self.has_older => Some(self.order.len()),
            Some(Item::Older) | None => None,
        };
        let before = self.at;
        self.at = found.unwrap_or_else(|| self.at.min(self.len().saturating_sub(1)));
        self.selected = self.item(self.at);
        // A row that was moved by others keeps its line on the screen.
        let top = if found.is_some() {
            (self.top + self.at).saturating_sub(before)
        } else {
            self.top
        };
        self.top = top_row(top, Some(self.at), self.len(), height, &|_| 1);
    }
}

/// True while the session is being recorded, as far as is known.
pub(in crate::tui) fn is_recording(session: &Session, outside: &Outside) -> bool {
    session.source() == Source::Live && !outside.is_down(&session.key().host)
}

/// True for a session with problems (tui.md U5).
pub(in crate::tui) fn has_problem(session: &Session) -> bool {
    matches!(session.health(), Health::Error | Health::Bad) || session.has_unanswered()
}

fn by_default(a: &Session, b: &Session, outside: &Outside) -> Ordering {
    let live = |session: &Session| is_recording(session, outside);
    let newest = |a: Option<Timestamp>, b: Option<Timestamp>| b.cmp(&a);
    live(b)
        .cmp(&live(a))
        .then_with(|| {
            if live(a) {
                newest(a.first(), b.first())
            } else {
                newest(a.last(), b.last())
            }
        })
        .then_with(|| a.key().cmp(b.key()))
}

fn by_column(a: &Session, b: &Session, column: char, order: Order) -> Ordering {
    let figures = |session: &Session| {
        let counters = session.counters();
        match column {
            'R' => counters.requests,
            'S' => counters.responses,
            'E' => counters.errors,
            'P' => counters.pending,
            'D' => session.server_times().percentile(95),
            _ => 0,
        }
    };
    let texts = |session: &Session| match column {
        'N' => session.label().to_lowercase(),
        'C' => session
            .client()
            .map(|client| client.name.to_lowercase())
            .unwrap_or_default(),
        'H' => session.key().host.to_string(),
        _ => session
            .transport()
            .map(|transport| format!("{transport:?}"))
            .unwrap_or_default(),
    };
    let ascending = match column {
        'N' | 'C' | 'H' | 'K' => texts(a).cmp(&texts(b)),
        'L' | 'A' => a.last().cmp(&b.last()),
        _ => figures(a).cmp(&figures(b)),
    };
    match order {
        Order::Ascending => ascending,
        Order::Descending => ascending.reverse(),
    }
}
