//! What keys do to one frame in full (tui.md 8, 17.1).

use super::{
    app::{App, Screen},
    event::Effect,
    keys::Action,
    older,
    screens::{inspector, stream},
};
use crate::{
    feed::{FeedRequest, Severity},
    record::SessionKey,
    session::{RowId, Session},
};

const NO_MORE: &str = "no more frames this way";

impl App {
    /// Opens the selected frame.
    pub(super) fn inspect(&mut self) {
        if let Some(id) = self.with_stream(|state, _| state.selected).flatten() {
            self.inspect_row(id);
        }
    }

    /// Opens a frame; a text filter becomes its search (H8).
    pub(super) fn inspect_row(&mut self, id: RowId) {
        let opened = self.with_stream(|state, session| {
            let filter = state.picks.wanted().filter.as_ref();
            let word =
                filter.and_then(|filter| filter.words().first().map(|word| (*word).to_owned()));
            let opened =
                inspector::State::open(session, id, &word.unwrap_or_default(), state.follow);
            state.touch();
            state.set_follow(false);
            opened
        });
        let Some((state, place)) = opened else { return };
        self.read_body(&state.key.clone(), id, place);
        self.stack
            .retain(|screen| !matches!(screen, Screen::Inspector(_)));
        self.stack.push(Screen::Inspector(Box::new(state)));
    }

    fn read_body(&mut self, key: &SessionKey, id: RowId, place: Option<crate::record::Place>) {
        if let Some(place) = place {
            self.effects.push(Effect::Ask(FeedRequest::ReadBody {
                key: key.clone(),
                seq: id.seq,
                place,
            }));
        }
    }

    pub(super) fn inspector_action(&mut self, action: Action) {
        let by = self.distance(action);
        let Some(Screen::Inspector(state)) = self.stack.last_mut() else {
            return;
        };
        if let Some(by) = by {
            return state.step(by);
        }
        match action {
            Action::BodyMode => state.next_mode(),
            Action::Wrap => state.toggle_wrap(),
            Action::Sideways(by) => state.sideways(by),
            Action::Hit(by) if state.next_hit(by) => {
                self.say(Severity::Info, "search wrapped");
            }
            Action::CopyValue => self.copy_value(),
            Action::TimeMode => self.next_time_mode(),
            Action::Clear => self.effects.push(Effect::Repaint),
            Action::Session(by) => self.switch_session(by),
            Action::Frame(by) => {
                let step = Action::Step(by);
                let next = |state: &stream::State, session: &Session, id| {
                    let at = super::window::moved(state.at, by.into(), state.picks.len(session));
                    let next = state.picks.id_at(session, at).filter(|next| *next != id);
                    next.ok_or_else(|| NO_MORE.to_owned())
                };
                self.other_frame(next, |app| app.act_on_older(step));
            }
            Action::Problem(by) => {
                let next = |state: &stream::State, _: &Session, id| {
                    let target = state.picks.problem_from(Some(id), by);
                    target.ok_or_else(|| state.no_problem(Some(id), by))
                };
                self.other_frame(next, |app| app.problem_among_older(by));
            }
            Action::Pair(by) => {
                let is_page = self.is_page();
                let related = |_: &stream::State, session: &Session, id| {
                    let target = stream::State::related(session, id, by);
                    target.ok_or_else(|| {
                        stream::State::no_related(session, Some(id), is_page).to_owned()
                    })
                };
                self.other_frame(related, |_| false);
            }
            _ => {}
        }
    }

    /// Shows another frame in the inspector and selects it in the list behind. When there is none,
    /// `beyond` may ask for frames that are not held; they are shown when they come.
    fn other_frame(
        &mut self,
        find: impl FnOnce(&stream::State, &Session, RowId) -> Result<RowId, String>,
        beyond: impl FnOnce(&mut Self) -> bool,
    ) {
        let Some(Screen::Inspector(state)) = self.stack.last() else {
            return;
        };
        let (key, shown) = (state.key.clone(), state.id);
        let (Some(list), Some(session)) = (self.streams.get(&key), self.session(&key)) else {
            return;
        };
        let id = match find(list, session, shown) {
            Ok(id) => id,
            Err(nothing) => {
                if !beyond(self) {
                    self.say(Severity::Info, nothing);
                }
                return;
            }
        };
        if session.position(id).is_none() && self.recall_row(id) {
            return;
        }
        let Some(Screen::Inspector(state)) = self.stack.last_mut() else {
            return;
        };
        let (Some(list), Some(session)) = (
            self.streams.get_mut(&key),
            older::shown(self.older.as_ref(), &self.analyzer, &key),
        ) else {
            return;
        };
        list.jump(session, id);
        let place = state.go(session, id);
        self.read_body(&key, id, place);
    }
}
