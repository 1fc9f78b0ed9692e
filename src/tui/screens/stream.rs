//! The frames of one session: selection, follow, clear, sort, filter (tui.md 3, 4, 6).

use jiff::tz::TimeZone;

use super::stream_notes::Around;
use crate::{
    record::Seq,
    session::{Fact, Filter, RowId, Session},
    tui::{
        numbers,
        picks::{Picks, rows_of},
        wanted::{Order, SortColumn, Wanted},
        window::{moved, top_row},
    },
};

/// What the TIME column shows (T3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::tui) enum TimeMode {
    /// Time of day.
    #[default]
    Clock,
    /// Since the first frame of the session.
    Start,
    /// Since the row above.
    Delta,
}

/// Where more frames of the session may come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::tui) enum Growth {
    /// Its log is still being read.
    Loading,
    /// It is being recorded.
    Recording,
    /// Nowhere, as far as is known.
    Still,
}

/// What is remembered of a session until exit (N11).
#[derive(Clone, Debug, Default)]
pub(in crate::tui) struct State {
    /// The rows listed.
    pub(in crate::tui) picks: Picks,
    /// Text of the filter in force.
    pub(in crate::tui) filter_text: String,
    /// The selected row.
    pub(in crate::tui) selected: Option<RowId>,
    /// Place of the selected row in the list.
    pub(in crate::tui) at: usize,
    /// Place of the first row on screen.
    pub(in crate::tui) top: usize,
    anchor: Option<RowId>,
    /// The newest row is selected as it comes.
    pub(in crate::tui) follow: bool,
    /// Rows added since follow went off.
    pub(in crate::tui) added: u64,
    /// What TIME shows.
    pub(in crate::tui) time: TimeMode,
    /// A key was pressed: the end of reading does not move the selection (E3).
    touched: bool,
    /// Looked up once for each drawing.
    pub(super) around: Around,
}

impl State {
    /// Enters the session: what was there comes back, else the newest row (F1).
    pub(in crate::tui) fn enter(&mut self, session: &Session, recording: bool) {
        self.picks.restart(session);
        if !self.touched {
            self.follow = recording;
        }
    }

    /// Asks for other rows.
    fn want(&mut self, session: &Session, change: impl FnOnce(&mut Wanted)) {
        let mut wanted = self.picks.wanted().clone();
        change(&mut wanted);
        self.picks.want(wanted, session);
    }

    /// Puts a filter in force; the empty text lifts it.
    pub(in crate::tui) fn filter(&mut self, session: &Session, text: &str, filter: Option<Filter>) {
        text.clone_into(&mut self.filter_text);
        self.want(session, |wanted| wanted.filter = filter);
    }

    /// Only problem rows, or all again.
    pub(in crate::tui) fn toggle_problems(&mut self, session: &Session) {
        self.want(session, |wanted| wanted.problems = !wanted.problems);
    }

    /// Hides what is there now; answers whether there was anything (C1).
    pub(in crate::tui) fn clear(&mut self, session: &Session) -> bool {
        let newest = session
            .row_count()
            .checked_sub(1)
            .and_then(|last| session.row(last))
            .map(|row| row.id.seq);
        let more = newest.is_some_and(|seq| {
            self.picks
                .wanted()
                .cleared
                .is_none_or(|cleared| cleared < seq)
        });
        if more {
            self.want(session, |wanted| wanted.cleared = newest);
        }
        more
    }

    /// Shows again what was hidden; answers whether anything was.
    pub(in crate::tui) fn restore(&mut self, session: &Session) -> bool {
        let hidden = self.picks.wanted().cleared.is_some();
        if hidden {
            self.want(session, |wanted| wanted.cleared = None);
        }
        hidden
    }

    /// Rows hidden by clear.
    pub(in crate::tui) fn hidden(&self, session: &Session) -> u64 {
        let Some(seq) = self.picks.wanted().cleared else {
            return 0;
        };
        let next = RowId {
            seq: Seq(seq.0.saturating_add(1)),
            index: 0,
        };
        u64::try_from(crate::tui::picks::lower_bound(session, next)).unwrap_or(u64::MAX)
    }

    /// The sort in force.
    pub(in crate::tui) fn sort(&self) -> Option<(SortColumn, Order)> {
        self.picks.wanted().sort
    }

    /// Sorts by a column: natural direction, reversed, off (N8).
    pub(in crate::tui) fn sort_by(&mut self, session: &Session, column: SortColumn) {
        let natural = match column {
            SortColumn::Time | SortColumn::Method | SortColumn::Id => Order::Ascending,
            SortColumn::Duration | SortColumn::Status => Order::Descending,
        };
        let sort = match self.sort() {
            Some((sorted, order)) if sorted == column => {
                (order == natural).then_some((column, natural.reversed()))
            }
            _ => Some((column, natural)),
        };
        self.set_sort(session, sort);
    }

    /// Sorts as told.
    pub(in crate::tui) fn set_sort(
        &mut self,
        session: &Session,
        sort: Option<(SortColumn, Order)>,
    ) {
        self.touched = true;
        if sort.is_some_and(|(column, _)| column != SortColumn::Time) {
            self.follow = false;
        }
        self.want(session, |wanted| wanted.sort = sort);
    }

    /// Takes what an envelope changed.
    pub(in crate::tui) fn changed(&mut self, session: &Session, facts: &[Fact]) {
        let added = self.picks.changed(session, facts);
        if !self.follow {
            self.added += added;
        }
    }

    /// Rows in time order with the newest first.
    const fn is_newest_first(sort: Option<(SortColumn, Order)>) -> bool {
        matches!(sort, Some((SortColumn::Time, Order::Descending)))
    }

    fn newest(&self, session: &Session) -> usize {
        if Self::is_newest_first(self.sort()) {
            0
        } else {
            self.picks.len(session).saturating_sub(1)
        }
    }

    /// `below`, or `above` when the newest row comes first (F6).
    pub(in crate::tui) fn added_where(&self) -> &'static str {
        if Self::is_newest_first(self.sort()) {
            "above"
        } else {
            "below"
        }
    }

    /// Moves the selection (N5, F3).
    pub(in crate::tui) fn step(&mut self, session: &Session, by: isize, grows: bool) {
        self.go(session, moved(self.at, by, self.picks.len(session)), grows);
    }

    /// Selects a place of the list.
    pub(in crate::tui) fn go(&mut self, session: &Session, index: usize, grows: bool) {
        self.touched = true;
        self.at = index.min(self.picks.len(session).saturating_sub(1));
        self.selected = self.picks.id_at(session, self.at);
        let in_time = self
            .sort()
            .is_none_or(|(column, _)| column == SortColumn::Time);
        self.set_follow(grows && in_time && self.at == self.newest(session));
    }

    /// Selects a row; answers whether it is listed.
    pub(in crate::tui) fn jump(&mut self, session: &Session, id: RowId) -> bool {
        self.touched = true;
        self.set_follow(false);
        let index = self.picks.index_of(session, id);
        if let Some(index) = index {
            self.at = index;
            self.selected = Some(id);
        }
        index.is_some()
    }

    /// Follow on or off.
    pub(in crate::tui) const fn set_follow(&mut self, follow: bool) {
        self.follow = follow;
        if follow {
            self.added = 0;
        }
    }

    /// Counts as touched: follow stays as the user left it.
    pub(in crate::tui) const fn touch(&mut self) {
        self.touched = true;
    }

    /// Turns follow on; answers whether another sort was given up for it (F4).
    pub(in crate::tui) fn start_follow(&mut self, session: &Session) -> bool {
        let other = self
            .sort()
            .is_some_and(|(column, _)| column != SortColumn::Time);
        if other {
            self.want(session, |wanted| wanted.sort = None);
        }
        self.set_follow(true);
        other
    }

    /// The nearest problem row in a direction, from the selection.
    pub(in crate::tui) fn problem(&self, direction: i8) -> Option<RowId> {
        self.picks.problem_from(self.selected, direction)
    }

    /// The nearest problem row in a direction, from a row or from the end that lies opposite.
    pub(in crate::tui) fn problem_from(&self, id: Option<RowId>, direction: i8) -> Option<RowId> {
        self.picks.problem_from(id, direction)
    }

    /// What there is to say when no problem row lies in a direction: which lie in the other one.
    pub(in crate::tui) fn no_problem(&self, from: Option<RowId>, direction: i8) -> String {
        use std::ops::Bound::{Excluded, Unbounded};
        let problems = self.picks.problems();
        let (other, here, key, way, there) = if direction > 0 {
            let above = from.map_or(0, |id| problems.range(..id).count());
            (above, "below", "{", "up", "above")
        } else {
            let below = from.map_or(0, |id| problems.range((Excluded(id), Unbounded)).count());
            (below, "above", "}", "down", "below")
        };
        match other {
            0 if problems.is_empty() => "no problem rows in this session".to_owned(),
            0 => "no other problem rows in this session".to_owned(),
            _ => {
                let other = numbers::grouped(u64::try_from(other).unwrap_or(u64::MAX));
                format!("no more problem rows {here}, {key} goes {way}: {other} {there}")
            }
        }
    }

    /// What there is to say when a frame has no related one.
    pub(in crate::tui) fn no_related(
        session: &Session,
        id: Option<RowId>,
        is_page: bool,
    ) -> &'static str {
        if is_page {
            return "its other half is not among the frames shown";
        }
        let row = id.and_then(|id| session.row(session.position(id)?));
        if row.is_some_and(|row| row.call.is_some()) {
            "this frame has no other half"
        } else {
            "no other frame belongs to this one"
        }
    }

    /// The next related frame of the selected one, or the previous (I1).
    pub(in crate::tui) fn related(session: &Session, id: RowId, direction: i8) -> Option<RowId> {
        let row = session.row(session.position(id)?)?;
        let call = session.call(row.call?)?;
        let mut rows = rows_of(&call);
        rows.sort_unstable();
        rows.dedup();
        let pairs: Vec<_> = call
            .hops
            .iter()
            .flat_map(|hop| std::iter::once(hop.request).chain(hop.answer))
            .collect();
        // A progress frame leads to its request, everything else goes round the pairs.
        let ring = if pairs.contains(&id) { pairs } else { rows };
        let at = ring.iter().position(|other| *other == id)?;
        let next = if direction > 0 {
            at + 1
        } else {
            at + ring.len() - 1
        };
        ring.get(next % ring.len())
            .copied()
            .filter(|other| *other != id)
    }

    /// Brings selection and scrolling up to date.
    pub(in crate::tui) fn prepare(
        &mut self,
        session: &Session,
        height: usize,
        source: Growth,
        around: Around,
        zone: &TimeZone,
    ) {
        let loading = source == Growth::Loading;
        if source == Growth::Recording && !self.touched {
            self.follow = true;
        }
        self.picks.prune(session);
        self.around = around;
        let all = self.picks.len(session);
        if all == 0 {
            (self.at, self.top) = (0, 0);
            return;
        }
        let to_end = self.selected.is_none() || (loading && !self.touched);
        if self.follow || to_end {
            self.at = if self.follow || !loading {
                self.newest(session)
            } else {
                all - 1
            };
            self.added = 0;
        } else if let Some(id) = self.selected {
            self.at = self.picks.index_of(session, id).unwrap_or_else(|| {
                if self.sort().is_some() {
                    self.at
                } else {
                    self.picks.index_near(session, id)
                }
            });
            self.at = self.at.min(all - 1);
        }
        self.selected = self.picks.id_at(session, self.at);
        if let Some(anchor) = self.anchor.filter(|_| self.sort().is_none()) {
            self.top = self.picks.index_near(session, anchor);
        }
        let cost = |index: usize| 1 + self.notes(session, index, zone).len();
        self.top = top_row(self.top, Some(self.at), all, height, &cost);
        self.anchor = self.picks.id_at(session, self.top);
    }
}
