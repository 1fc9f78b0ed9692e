//! Which rows of a session a stream lists, in which order; kept up row by row, found anew in
//! slices (tui.md PF3 to PF5, N8, N9).

use std::collections::BTreeSet;

use bytes::Bytes;

use super::{
    sort_keys::{SortKey, key_of, tie},
    unread::Unread,
    wanted::{Order, Wanted},
};
use crate::{
    record::Seq,
    session::{Call, CallId, Fact, RowId, Session},
};

/// Rows looked at in one slice of a search for rows.
pub(super) const SLICE: usize = 2_048;

/// A search for rows that is under way.
#[derive(Clone, Debug)]
struct Run {
    /// Rows below this position are still to be looked at.
    next: usize,
    /// What was found, newest first.
    found: Vec<(SortKey, RowId)>,
    /// Rows that matched and came since the run began.
    fresh: Vec<RowId>,
    /// Rows that matched by a body that was read back meanwhile.
    read: Vec<RowId>,
}

/// The rows that a stream lists.
#[derive(Clone, Debug, Default)]
pub(super) struct Picks {
    wanted: Wanted,
    /// Rows in the order of the screen; unused while all rows are listed.
    ids: Vec<RowId>,
    run: Option<Run>,
    /// Problem rows of the whole session.
    problems: BTreeSet<RowId>,
    /// Problem rows below this position are still to be found.
    problems_left: usize,
    /// The server had failed when they were looked for.
    server_failed: bool,
    /// Something changed since the list was sorted.
    stale: bool,
    /// Rows that only their bodies on disk can tell about.
    unread: Unread,
    /// Rows that matched by a body that was read back, still to be put in their places.
    read: Vec<RowId>,
}

impl Picks {
    /// Starts anew: after entering a session or when its rows were folded anew.
    pub(super) fn restart(&mut self, session: &Session) {
        self.problems.clear();
        self.problems_left = session.row_count();
        self.server_failed = session.server_failed();
        self.unread = Unread::default();
        let wanted = self.wanted.clone();
        self.want(wanted, session);
    }

    /// Asks for other rows; the old list stays until the first of them are found.
    pub(super) fn want(&mut self, wanted: Wanted, session: &Session) {
        if self.wanted.filter == wanted.filter {
            self.unread.begin();
        } else {
            self.unread = Unread::default();
        }
        self.wanted = wanted;
        self.stale = false;
        self.read = Vec::new();
        if self.wanted.is_plain() {
            self.run = None;
            self.ids = Vec::new();
        } else {
            self.run = Some(Run {
                next: session.row_count(),
                found: Vec::new(),
                fresh: Vec::new(),
                read: Vec::new(),
            });
        }
    }

    /// What is asked for.
    pub(super) const fn wanted(&self) -> &Wanted {
        &self.wanted
    }

    /// True while rows are still being looked at.
    pub(super) const fn is_busy(&self) -> bool {
        self.run.is_some()
    }

    /// True while there is work for `work`.
    pub(super) const fn has_work(&self) -> bool {
        self.run.is_some() || self.problems_left > 0
    }

    /// Rows that could not be searched because nobody can read their bodies.
    pub(super) fn unsearched(&self) -> u64 {
        self.unread.lost()
    }

    /// Rows whose bodies are still to be read back.
    pub(super) fn unread(&self) -> u64 {
        self.unread.left()
    }

    /// The next row whose body is needed.
    pub(super) fn next_unread(&mut self) -> Option<RowId> {
        self.unread.next()
    }

    /// The body of this row lies nowhere.
    pub(super) fn unreadable(&mut self, id: RowId) {
        self.unread.failed(id);
    }

    /// No answer came: all that was asked for is needed again.
    pub(super) fn ask_again(&mut self) {
        self.unread.all_wait_again();
    }

    /// Takes the body of a frame; answers how many rows were added. Without a body the rows count as
    /// not searched, or wait again while the link `is_down`.
    pub(super) fn body_came(
        &mut self,
        session: &Session,
        seq: Seq,
        is_down: bool,
        body: impl Fn(RowId) -> Option<(Bytes, bool)>,
    ) -> u64 {
        let mut added = 0;
        for id in self.unread.take_asked(seq) {
            let Some((bytes, json)) = body(id) else {
                if is_down {
                    self.unread.wait_again(id);
                } else {
                    self.unread.failed(id);
                }
                continue;
            };
            let (Some(filter), Some(position)) = (&self.wanted.filter, session.position(id)) else {
                continue;
            };
            let is_there = filter.matches_text(session, position, bytes, json);
            self.unread.found(id, is_there);
            if is_there && self.wanted.takes(session, position) != Some(false) {
                self.take_read(id);
                added += 1;
            }
        }
        added
    }

    fn take_read(&mut self, id: RowId) {
        match &mut self.run {
            Some(run) => run.read.push(id),
            None if self.wanted.sort.is_some() => self.stale = true,
            None => self.read.push(id),
        }
    }

    /// Puts rows that were read back in their places: once for each drawing, not once for each row.
    fn merge_read(&mut self) {
        if self.run.is_none() && !self.read.is_empty() {
            self.ids.append(&mut self.read);
            self.ids.sort();
            self.ids.dedup();
        }
    }

    /// True when a sorted list should be sorted again.
    pub(super) const fn is_stale(&self) -> bool {
        self.stale && self.run.is_none()
    }

    /// Does one slice of the work that waits.
    pub(super) fn work(&mut self, session: &Session) {
        let from = self.problems_left.saturating_sub(SLICE);
        for position in from..self.problems_left {
            if let Some(row) = session.row(position)
                && session.is_problem(&row)
            {
                self.problems.insert(row.id);
            }
        }
        self.problems_left = from;
        if let Some(mut run) = self.run.take() {
            let done = run.slice(session, &self.wanted, &mut self.unread);
            // A first screenful is shown at once, the rest when it is complete.
            let first =
                self.wanted.sort.is_none() && run.found.len() >= 64 && run.found.len() < 64 + SLICE;
            if done || first {
                self.publish(&run);
            }
            if done && self.wanted.sort.is_none() {
                self.read.append(&mut run.read);
            }
            if !done {
                self.run = Some(run);
            }
        }
    }

    fn publish(&mut self, run: &Run) {
        let Some((_, order)) = self.wanted.sort else {
            self.ids = run
                .found
                .iter()
                .rev()
                .map(|(_, id)| *id)
                .chain(run.fresh.iter().copied())
                .collect();
            return;
        };
        let mut found = run.found.clone();
        found.sort_unstable_by(|a, b| {
            let nothing = |key: &SortKey| *key == SortKey::Nothing;
            let by_key = match order {
                Order::Ascending => a.0.cmp(&b.0),
                Order::Descending => b.0.cmp(&a.0),
            };
            nothing(&a.0)
                .cmp(&nothing(&b.0))
                .then(by_key)
                .then_with(|| tie(a.1, b.1, self.wanted.sort))
        });
        self.stale = !(run.fresh.is_empty() && run.read.is_empty());
        self.ids = found.into_iter().map(|(_, id)| id).collect();
    }

    /// Takes what an envelope changed in this session; answers how many rows were added.
    pub(super) fn changed(&mut self, session: &Session, facts: &[Fact]) -> u64 {
        let mut added = 0;
        for fact in facts {
            match fact {
                Fact::NewRow(id) => added += u64::from(self.new_row(session, *id)),
                Fact::Changed(call) => self.call_changed(session, *call),
                Fact::Refolded => self.restart(session),
                // The end record tells that calls were left without an answer.
                Fact::Summary if session.server_failed() && !self.server_failed => {
                    self.restart(session);
                }
                Fact::NewSession | Fact::Opened(_) | Fact::Summary => {}
            }
        }
        added
    }

    fn new_row(&mut self, session: &Session, id: RowId) -> bool {
        let Some(position) = session.position(id) else {
            return false;
        };
        self.note_problem(session, position, id);
        let takes = self.wanted.takes(session, position);
        if takes.or_else(|| self.unread.answer(id)) != Some(true) {
            return false;
        }
        if self.wanted.is_plain() {
            return true;
        }
        match &mut self.run {
            Some(run) => run.fresh.push(id),
            None if self.wanted.sort.is_some() => self.stale = true,
            None => self.insert(id),
        }
        true
    }

    fn note_problem(&mut self, session: &Session, position: usize, id: RowId) {
        let row = session.row(position);
        if row.is_some_and(|row| session.is_problem(&row)) {
            self.problems.insert(id);
        } else {
            self.problems.remove(&id);
        }
    }

    /// Tests the rows of a call again.
    fn call_changed(&mut self, session: &Session, id: CallId) {
        let Some(call) = session.call(id) else {
            return;
        };
        for id in rows_of(&call) {
            let Some(position) = session.position(id) else {
                continue;
            };
            self.note_problem(session, position, id);
            if self.wanted.sort.is_some() {
                self.stale = true;
            } else if !self.wanted.is_plain() && self.run.is_none() {
                let takes = self.wanted.takes(session, position);
                match takes.or_else(|| self.unread.answer(id)) {
                    Some(true) => self.insert(id),
                    Some(false) => self.remove(id),
                    None => {}
                }
            }
        }
    }

    fn insert(&mut self, id: RowId) {
        if let Err(at) = self.ids.binary_search(&id) {
            self.ids.insert(at, id);
        }
    }

    fn remove(&mut self, id: RowId) {
        if let Ok(at) = self.ids.binary_search(&id) {
            self.ids.remove(at);
        }
    }

    /// Drops rows that the model no longer holds.
    pub(super) fn prune(&mut self, session: &Session) {
        self.merge_read();
        let Some(first) = session.row(0).map(|row| row.id) else {
            self.ids.clear();
            self.problems.clear();
            return;
        };
        self.unread.prune(first);
        if self.problems.first().is_some_and(|id| *id < first) {
            self.problems = self.problems.split_off(&first);
        }
        if self.wanted.sort.is_some() {
            if self.ids.iter().any(|id| *id < first) {
                self.ids.retain(|id| *id >= first);
            }
        } else if self.ids.first().is_some_and(|id| *id < first) {
            let gone = self.ids.partition_point(|id| *id < first);
            self.ids.drain(..gone);
        }
    }

    /// First position of the session that is listed while all rows are.
    fn from(&self, session: &Session) -> usize {
        self.wanted.cleared.map_or(0, |seq| {
            lower_bound(
                session,
                RowId {
                    seq: Seq(seq.0.saturating_add(1)),
                    index: 0,
                },
            )
        })
    }

    /// Rows listed.
    pub(super) fn len(&self, session: &Session) -> usize {
        if self.wanted.is_plain() {
            session.row_count().saturating_sub(self.from(session))
        } else {
            self.ids.len()
        }
    }

    /// The row at a place of the list.
    pub(super) fn id_at(&self, session: &Session, index: usize) -> Option<RowId> {
        if self.wanted.is_plain() {
            session.row(self.from(session) + index).map(|row| row.id)
        } else {
            self.ids.get(index).copied()
        }
    }

    /// The place of a row, or of the row that would follow it.
    pub(super) fn index_near(&self, session: &Session, id: RowId) -> usize {
        if self.wanted.is_plain() {
            return lower_bound(session, id).saturating_sub(self.from(session));
        }
        if self.wanted.sort.is_none() {
            return self.ids.partition_point(|other| *other < id);
        }
        self.ids.iter().position(|other| *other == id).unwrap_or(0)
    }

    /// The place of a row that is listed.
    pub(super) fn index_of(&self, session: &Session, id: RowId) -> Option<usize> {
        let index = self.index_near(session, id);
        (self.id_at(session, index) == Some(id)).then_some(index)
    }

    /// The nearest problem row in a direction.
    pub(super) fn problem_from(&self, id: Option<RowId>, direction: i8) -> Option<RowId> {
        use std::ops::Bound::{Excluded, Unbounded};
        let Some(id) = id else {
            return if direction > 0 {
                self.problems.first()
            } else {
                self.problems.last()
            }
            .copied();
        };
        if direction > 0 {
            self.problems
                .range((Excluded(id), Unbounded))
                .next()
                .copied()
        } else {
            self.problems.range(..id).next_back().copied()
        }
    }

    /// Problem rows of the session.
    pub(super) const fn problems(&self) -> &BTreeSet<RowId> {
        &self.problems
    }

    /// True when rows lie in the order of their numbers and none is left out.
    pub(super) fn is_whole(&self) -> bool {
        self.wanted.is_plain() && self.wanted.cleared.is_none()
    }
}

impl Run {
    /// Looks at one slice, newest first; answers whether all rows were looked at.
    fn slice(&mut self, session: &Session, wanted: &Wanted, unread: &mut Unread) -> bool {
        let from = self.next.saturating_sub(SLICE);
        for position in (from..self.next.min(session.row_count())).rev() {
            let takes = wanted.takes(session, position);
            if takes == Some(false) {
                continue;
            }
            let Some(row) = session.row(position) else {
                continue;
            };
            if takes.or_else(|| unread.answer(row.id)) == Some(true) {
                let key = wanted.sort.map_or(SortKey::Nothing, |(column, _)| {
                    key_of(&row, session, column)
                });
                self.found.push((key, row.id));
            }
        }
        self.next = from;
        from == 0
    }
}

/// The rows of a call.
pub(super) fn rows_of(call: &Call) -> Vec<RowId> {
    let hops = call
        .hops
        .iter()
        .flat_map(|hop| std::iter::once(hop.request).chain(hop.answer));
    hops.chain(call.linked.iter().copied()).collect()
}

/// First position whose row is not before `id`.
pub(super) fn lower_bound(session: &Session, id: RowId) -> usize {
    let (mut low, mut high) = (0, session.row_count());
    while low < high {
        let middle = low + (high - low) / 2;
        if session.row(middle).is_some_and(|row| row.id < id) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}
