//! What keys do to hosts, help and messages, and how prompts are opened (tui.md 9, 17.1).

use super::{
    app::{App, Screen},
    dialog::{Dialog, Question},
    event::Effect,
    keys::Action,
    prompt::{Prompt, PromptKind},
    screens::{help, hosts, messages, panel},
    wanted::Order,
};
use crate::feed::{FeedRequest, Severity};

impl App {
    pub(super) fn hosts_action(&mut self, action: Action) {
        let names = hosts::names(self, self.hosts.sort);
        if let Some(by) = self.distance(action) {
            return self.hosts.step(by, &names);
        }
        let selected = self.hosts.selected.clone();
        match (action, selected) {
            (Action::Open, Some(host)) => {
                self.stack.clear();
                let text = format!("host:{}", host.0);
                self.set_filter(&text);
            }
            (Action::Retry, Some(host)) => {
                self.say(Severity::Info, format!("{}: trying now", host.0));
                self.effects.push(Effect::Ask(FeedRequest::Reconnect(host)));
            }
            (Action::Disconnect, Some(host)) => {
                self.dialog = Some(Dialog::open(Question::Disconnect(host), self.now));
            }
            (Action::SortBeside(by), _) => {
                let all = hosts::column_count(self.size.0);
                let next = match self.hosts.sort {
                    Some((at, _)) => super::window::moved(at, by.into(), all),
                    None => 0,
                };
                self.hosts.sort = match self.hosts.sort {
                    Some((at, order)) if at == next => {
                        (order == Order::Ascending).then_some((at, order.reversed()))
                    }
                    _ => Some((next, Order::Ascending)),
                };
            }
            (Action::Clear, _) => self.effects.push(Effect::Repaint),
            _ => {}
        }
    }

    pub(super) fn panel_action(&mut self, action: Action) {
        if action == Action::Clear {
            return self.effects.push(Effect::Repaint);
        }
        let (by, height) = (self.distance(action), self.text_height());
        let lines = self.panel_lines();
        let Some(Screen::Help(_, state) | Screen::Messages(state)) = self.stack.last_mut() else {
            return;
        };
        if let Some(by) = by {
            return state.step(by, lines.len(), height);
        }
        if let Action::Hit(by) = action
            && state.next(by, &lines, height)
        {
            self.say(Severity::Info, "search wrapped");
        }
    }

    /// The lines of the text panel on screen; typing in the help keeps only lines that match.
    pub(super) fn panel_lines(&self) -> Vec<super::ink::Ink> {
        match self.stack.last() {
            Some(Screen::Help(place, state)) => {
                let lines = help::lines(self, *place);
                let found = |line: &super::ink::Ink| {
                    !super::search::find_all(&line.plain(), &state.search).is_empty()
                };
                if state.search.is_empty() {
                    lines
                } else {
                    lines.into_iter().filter(found).collect()
                }
            }
            Some(Screen::Messages(_)) => messages::lines(self),
            _ => Vec::new(),
        }
    }

    pub(super) fn toggle_help(&mut self) {
        if matches!(self.stack.last(), Some(Screen::Help(..))) {
            self.stack.pop();
        } else {
            let place = self.place();
            self.stack
                .push(Screen::Help(place, panel::State::default()));
        }
    }

    pub(super) fn toggle_hosts(&mut self) {
        if matches!(self.stack.last(), Some(Screen::Hosts)) {
            self.stack.pop();
        } else {
            self.stack.retain(|screen| !matches!(screen, Screen::Hosts));
            self.stack.push(Screen::Hosts);
        }
    }

    pub(super) fn slash(&mut self) {
        let (kind, text) = match self.stack.last() {
            None => (PromptKind::Filter, self.sessions.filter_text.clone()),
            Some(Screen::Stream(key)) => (
                PromptKind::Filter,
                self.streams
                    .get(key)
                    .map(|state| state.filter_text.clone())
                    .unwrap_or_default(),
            ),
            Some(Screen::Inspector(state)) => (PromptKind::Search, state.search.clone()),
            Some(Screen::Help(_, state) | Screen::Messages(state)) => {
                (PromptKind::Search, state.search.clone())
            }
            Some(Screen::Hosts) => return,
        };
        self.prompt = Some(Prompt::open(kind, &text));
    }
}
