//! Which older frames are read, and when: movements past the first row, `g`, `{ }`, `x`, `:goto` and
//! `:load` (tui.md T6).

use super::{app::App, keys::Action, older::Target, screens::stream_notes::Note};
use crate::{
    record::{Seq, SessionKey},
    session::RowId,
};

/// Frames that are read at once.
const PAGE: u64 = 10_000;

impl App {
    /// What stands above the first row: that more frames lie before it.
    pub(super) fn note_above(&self, key: &SessionKey) -> Option<Note> {
        if let Some((first, _)) = self.page_range(key) {
            return self
                .has_before(key)
                .then(|| Note::Before(Seq(first.0.saturating_sub(1))));
        }
        let dropped = self.whole(key)?.counters().dropped_from_memory;
        (dropped > 0).then_some(Note::Older(dropped))
    }

    /// The number of the first row that is shown, if frames before it may be on disk.
    fn before(&self, key: &SessionKey) -> Option<Seq> {
        let first = self.session(key)?.row(0)?.id.seq;
        let floor = self.page_floor(key);
        let dropped = self.whole(key)?.counters().dropped_from_memory;
        (dropped > 0 && first > floor && first > Seq(1)).then_some(first)
    }

    fn has_before(&self, key: &SessionKey) -> bool {
        self.before(key).is_some()
    }

    /// Does what an action means where older frames lie; false when it means what it always does.
    pub(super) fn act_on_older(&mut self, action: Action) -> bool {
        let Some(key) = self.stream_key().cloned() else {
            return false;
        };
        let has_page = self.has_page(&key);
        let (Some(session), Some(state)) = (self.session(&key), self.streams.get(&key)) else {
            return false;
        };
        let (at, all) = (state.at, state.picks.len(session));
        // A filter and another order show what is held, and say so.
        let is_whole = state.picks.is_whole();
        let by = self.distance(action);
        match (action, by) {
            (Action::First, _) if is_whole && self.has_before(&key) => {
                self.recall(key, (1, PAGE), 1, Target::First)
            }
            (Action::Last | Action::Follow | Action::Clear, _) if has_page => {
                self.close_page();
                false
            }
            (_, Some(..=-1)) if is_whole && at == 0 => self.previous_page(key, Target::Last),
            (_, Some(1..)) if is_whole && has_page && at + 1 >= all => {
                self.next_page(key, Target::First)
            }
            _ => false,
        }
    }

    /// `:load` in a stream: the frames before those shown.
    pub(super) fn load_before(&mut self) -> bool {
        let key = self.stream_key().cloned();
        key.is_some_and(|key| self.previous_page(key, Target::Last))
    }

    /// The next problem row lies on disk, if anywhere.
    pub(super) fn problem_among_older(&mut self, direction: i8) -> bool {
        let Some(key) = self.stream_key().cloned() else {
            return false;
        };
        if direction < 0 {
            self.previous_page(key, Target::LastProblem)
        } else {
            self.has_page(&key) && self.next_page(key, Target::FirstProblem)
        }
    }

    /// Goes to a row that is not among those shown; false when nothing can bring it.
    pub(super) fn recall_row(&mut self, id: RowId) -> bool {
        let Some(key) = self.stream_key().cloned() else {
            return false;
        };
        let Some(whole) = self.whole(&key) else {
            return false;
        };
        let first = whole.row(0).map(|row| row.id);
        if first.is_some_and(|first| id >= first) {
            let is_held = whole.position(id).is_some();
            if is_held && self.has_page(&key) {
                self.close_page();
                let listed = self.with_stream(|state, session| state.jump(session, id));
                self.show_selected();
                return listed == Some(true);
            }
            return false;
        }
        let from = id.seq.0.saturating_sub(PAGE / 2).max(1);
        whole.counters().dropped_from_memory > 0
            && self.recall(
                key,
                (from, from.saturating_add(PAGE - 1)),
                id.seq.0,
                Target::Row(id),
            )
    }

    fn previous_page(&mut self, key: SessionKey, target: Target) -> bool {
        let Some(first) = self.before(&key) else {
            return false;
        };
        let to = first.0 - 1;
        let from = to.saturating_sub(PAGE - 1).max(1);
        self.recall(key, (from, to), to, target)
    }

    fn next_page(&mut self, key: SessionKey, target: Target) -> bool {
        let Some((_, last)) = self.page_range(&key) else {
            return false;
        };
        let from = last.0.saturating_add(1);
        let held = self
            .whole(&key)
            .and_then(|whole| whole.row(0))
            .map(|row| row.id);
        if let Some(first) = held
            && first.seq.0 > from
        {
            let to = (from.saturating_add(PAGE - 1)).min(first.seq.0 - 1);
            return self.recall(key, (from, to), from, target);
        }
        self.close_page();
        self.with_stream(|state, session| {
            let problem = state
                .problem_from(None, 1)
                .filter(|_| target == Target::FirstProblem);
            let index = problem.and_then(|id| state.picks.index_of(session, id));
            state.go(session, index.unwrap_or(0), false);
        });
        self.show_selected();
        true
    }
}
