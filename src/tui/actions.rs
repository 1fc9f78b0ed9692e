//! What keys do: dialog first, then prompt, then the action of the key table (tui.md 3, 17).

use super::{
    app::{App, Screen},
    dialog::{Answer, Question},
    event::Effect,
    keys::{Action, Place, action_of},
    layout::Regions,
    older,
    prompt::{Prompt, PromptKind},
    screens::{session_cells, sessions, stream, stream_view},
};
use crate::{
    feed::{FeedRequest, PromptAnswer, Severity},
    session::{RowId, Session},
};

impl App {
    /// Takes a key.
    pub(super) fn key(&mut self, key: &str) {
        self.messages.key();
        let armed = std::mem::take(&mut self.quit_armed);
        if key == "ctrl-c" {
            return self.effects.push(Effect::Quit);
        }
        if key == "ctrl-z" {
            return self.effects.push(Effect::Suspend);
        }
        if self.dialog.is_some() {
            return self.dialog_key(key);
        }
        if self.prompt.is_some() {
            return self.prompt_key(key);
        }
        let Some(action) = action_of(key, self.place()) else {
            return;
        };
        if self.is_too_small() && !matches!(action, Action::Command | Action::Back) {
            return;
        }
        if action == Action::Back && self.stack.is_empty() && key == "q" && armed {
            return self.effects.push(Effect::Quit);
        }
        self.act(action, key);
    }

    fn act(&mut self, action: Action, key: &str) {
        match action {
            Action::Quit => self.effects.push(Effect::Quit),
            Action::Suspend => self.effects.push(Effect::Suspend),
            Action::Command => self.prompt = Some(Prompt::open(PromptKind::Command, "")),
            Action::Pause => self.toggle_pause(),
            Action::Help => self.toggle_help(),
            Action::Hosts => self.toggle_hosts(),
            Action::Back => self.back(key),
            Action::Slash => self.slash(),
            Action::Copy => self.copy(),
            _ => match self.place() {
                Place::Sessions => self.sessions_action(action),
                Place::Stream => self.stream_action(action),
                Place::Inspector => self.inspector_action(action),
                Place::Hosts => self.hosts_action(action),
                Place::Help | Place::Messages => self.panel_action(action),
            },
        }
    }

    fn dialog_key(&mut self, key: &str) {
        let now = self.now;
        let Some(dialog) = &mut self.dialog else {
            return;
        };
        let answer = dialog.key(key, now);
        if answer == Answer::Wait {
            return;
        }
        let Some(dialog) = self.dialog.take() else {
            return;
        };
        match (dialog.question, answer) {
            (Question::Disconnect(host), Answer::Yes) => {
                self.outside.give_up(&host, now);
                self.effects
                    .push(Effect::Ask(FeedRequest::Disconnect(host)));
            }
            (Question::Pick(sessions), Answer::Picked(index)) => {
                if let Some((key, _)) = sessions.into_iter().nth(index) {
                    self.open_stream(key);
                }
            }
            (Question::Login { id, .. }, answer) => {
                let answer = match answer {
                    Answer::Text(text) => Some(PromptAnswer(zeroize::Zeroizing::new(text))),
                    _ => None,
                };
                self.effects
                    .push(Effect::Ask(FeedRequest::Answer { id, answer }));
            }
            _ => {}
        }
    }

    /// One layer back (N12).
    fn back(&mut self, key: &str) {
        match self.stack.last() {
            None => self.back_in_sessions(key),
            Some(Screen::Stream(_)) => self.back_in_stream(),
            Some(Screen::Inspector(state)) if key == "esc" && !state.search.is_empty() => {
                self.search("");
            }
            Some(Screen::Inspector(_)) => self.close_inspector(),
            Some(Screen::Help(_, state) | Screen::Messages(state))
                if key == "esc" && !state.search.is_empty() =>
            {
                self.search("");
            }
            Some(Screen::Hosts | Screen::Help(..) | Screen::Messages(_)) => drop(self.stack.pop()),
        }
    }

    fn back_in_sessions(&mut self, key: &str) {
        if self.sessions.problems {
            self.sessions.problems = false;
        } else if self.sessions.filter.is_some() {
            self.sessions.filter = None;
            self.sessions.filter_text.clear();
        } else {
            self.quit_armed = key == "q";
            return self.say(Severity::Info, "q again, :q or ctrl-c quits");
        }
        self.sessions.is_due = true;
    }

    fn back_in_stream(&mut self) {
        let lifted = self.with_stream(|state, session| {
            if state.picks.wanted().problems {
                state.toggle_problems(session);
                true
            } else if state.picks.wanted().filter.is_some() {
                state.filter(session, "", None);
                true
            } else {
                state.restore(session)
            }
        });
        if lifted != Some(true) && !self.close_page() {
            self.stack.pop();
        }
    }

    fn close_inspector(&mut self) {
        let followed =
            matches!(self.stack.last(), Some(Screen::Inspector(state)) if state.followed);
        self.stack.pop();
        if followed && self.is_growing() {
            self.with_stream(|state, _| state.set_follow(true));
        }
    }

    /// Runs something on the stream that the screen is about.
    pub(super) fn with_stream<T>(
        &mut self,
        run: impl FnOnce(&mut stream::State, &Session) -> T,
    ) -> Option<T> {
        let key = self.stream_key()?.clone();
        let session = older::shown(self.older.as_ref(), &self.analyzer, &key)?;
        Some(run(self.streams.get_mut(&key)?, session))
    }

    /// True while the shown session may still get frames.
    pub(super) fn is_growing(&self) -> bool {
        let session = self.stream_key().and_then(|key| self.session(key));
        session.is_some_and(|session| sessions::is_recording(session, &self.outside))
    }

    fn page(&self) -> isize {
        let rows = match self.place() {
            Place::Sessions | Place::Stream | Place::Hosts => {
                usize::from(Regions::of(self.size.0, self.size.1).rows())
            }
            _ => self.text_height(),
        };
        isize::try_from(rows.saturating_sub(1).max(1)).unwrap_or(1)
    }

    /// Rows that a movement goes, if the action is one.
    pub(super) fn distance(&self, action: Action) -> Option<isize> {
        Some(match action {
            Action::Step(by) => by.into(),
            Action::Half(halves) => self.page() * isize::from(halves) / 2,
            Action::First => isize::MIN / 2,
            Action::Last => isize::MAX / 2,
            _ => return None,
        })
    }

    fn sessions_action(&mut self, action: Action) {
        if let Some(by) = self.distance(action) {
            return self.sessions.step(by, self.now);
        }
        match action {
            Action::Session(by) => self.sessions.step(by.into(), self.now),
            Action::Open => match self.sessions.selected.clone() {
                Some(sessions::Item::Session(key)) => self.open_stream(key),
                Some(sessions::Item::Older) => self.load_older(Some(100)),
                None => {}
            },
            Action::Problems => {
                self.sessions.problems = !self.sessions.problems;
                self.sessions.is_due = true;
            }
            Action::Sort(column) => self.sessions.sort_by(column),
            Action::SortBeside(by) => {
                let keys = session_cells::sort_keys(self.size.0, self.outside.hosts().len() > 1);
                let next = beside(&keys, self.sessions.sort.map(|(key, _)| key), by);
                if let Some(next) = next {
                    self.sessions.sort = None;
                    self.sessions.sort_by(next);
                }
            }
            Action::Clear => self.effects.push(Effect::Repaint),
            _ => {}
        }
    }

    /// Asks for older sessions.
    pub(super) fn load_older(&mut self, most: Option<usize>) {
        self.effects.push(Effect::Ask(FeedRequest::LoadOlder(most)));
        self.say(Severity::Info, "loading older sessions");
    }

    fn stream_action(&mut self, action: Action) {
        if self.act_on_older(action) {
            return;
        }
        let grows = self.is_growing();
        if let Some(by) = self.distance(action) {
            self.with_stream(|state, session| state.step(session, by, grows));
            return;
        }
        match action {
            Action::Open => self.inspect(),
            Action::Problems => drop(self.with_stream(stream::State::toggle_problems)),
            Action::Sort(key) => {
                if let Some(column) = stream_view::column_of(key) {
                    self.with_stream(|state, session| state.sort_by(session, column));
                }
            }
            Action::SortBeside(by) => {
                let keys: &[char] = if self.size.0 < 60 {
                    &['T', 'M', 'D', 'S']
                } else {
                    &['T', 'M', 'I', 'D', 'S']
                };
                self.with_stream(|state, session| {
                    let now = state.sort().map(|(column, _)| stream_view::key_of(column));
                    if let Some(column) = beside(keys, now, by).and_then(stream_view::column_of) {
                        state.set_sort(session, None);
                        state.sort_by(session, column);
                    }
                });
            }
            Action::Follow => self.follow(),
            Action::TimeMode => self.next_time_mode(),
            Action::Clear => self.clear_stream(),
            Action::Problem(by) => {
                let target = self.with_stream(|state, _| {
                    let target = state.problem(by);
                    target.ok_or_else(|| state.no_problem(state.selected, by))
                });
                let is_last = matches!(target, Some(Err(_)));
                if !(is_last && self.problem_among_older(by)) {
                    self.select_or_say(target);
                }
            }
            Action::Pair(by) => {
                let is_page = self.is_page();
                let target = self.with_stream(|state, session| {
                    let target = state
                        .selected
                        .and_then(|id| stream::State::related(session, id, by));
                    target.ok_or_else(|| {
                        stream::State::no_related(session, state.selected, is_page).to_owned()
                    })
                });
                self.select_or_say(target);
            }
            Action::Session(by) => self.switch_session(by),
            _ => {}
        }
    }

    /// Goes to a row, or says why there is none.
    fn select_or_say(&mut self, target: Option<Result<RowId, String>>) {
        let id = match target {
            Some(Ok(id)) => id,
            Some(Err(nothing)) => return self.say(Severity::Info, nothing),
            None => return,
        };
        let is_held = self.with_stream(|_, session| session.position(id).is_some());
        if is_held == Some(false) && self.recall_row(id) {
            return;
        }
        let listed = self.with_stream(|state, session| state.jump(session, id));
        if listed == Some(false) {
            // A filter or clear hides it: it can still be looked at (C4, G9).
            self.inspect_row(id);
        }
    }

    pub(super) fn next_time_mode(&mut self) {
        self.with_stream(|state, _| {
            state.time = match state.time {
                stream::TimeMode::Clock => stream::TimeMode::Start,
                stream::TimeMode::Start => stream::TimeMode::Delta,
                stream::TimeMode::Delta => stream::TimeMode::Clock,
            };
        });
    }

    /// Follow on, in time order (F4).
    pub(super) fn follow(&mut self) {
        if self.with_stream(stream::State::start_follow) == Some(true) {
            self.say(Severity::Info, "back to time order to follow");
        }
    }

    /// Hides what is there (C1).
    pub(super) fn clear_stream(&mut self) {
        self.effects.push(Effect::Repaint);
        if self.with_stream(stream::State::clear) == Some(false) {
            self.say(Severity::Info, "no frames to clear");
        }
    }

    /// Another session in the order of the table; the filter goes with it (G10).
    pub(super) fn switch_session(&mut self, by: i8) {
        let Some(key) = self.stream_key().cloned() else {
            return;
        };
        let order = &self.sessions.order;
        let Some(at) = order.iter().position(|other| *other == key) else {
            return;
        };
        let next = super::window::moved(at, by.into(), order.len());
        let Some(next) = order.get(next).cloned().filter(|next| *next != key) else {
            return self.say(Severity::Info, "no more sessions this way");
        };
        let filter = self.streams.get(&key).map(|state| {
            (
                state.filter_text.clone(),
                state.picks.wanted().filter.clone(),
            )
        });
        self.open_stream(next);
        if let Some((text, filter)) = filter {
            self.with_stream(|state, session| state.filter(session, &text, filter));
        }
    }
}

/// The sortable column beside the one in force.
fn beside(keys: &[char], now: Option<char>, by: i8) -> Option<char> {
    let at = now.and_then(|now| keys.iter().position(|key| *key == now));
    let next = match at {
        Some(at) => super::window::moved(at, by.into(), keys.len()),
        None => 0,
    };
    keys.get(next).copied()
}
