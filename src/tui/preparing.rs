//! What is brought up to date between two drawings: searches, order, selection, scrolling.

use super::{
    app::{App, Screen},
    layout::Regions,
    older,
    screens::{hosts, sessions, stream, stream_notes},
};
use crate::session::Session;

impl App {
    /// Does one slice of the work that waits; answers whether more is left.
    pub(super) fn work(&mut self) -> bool {
        if let Some(Screen::Inspector(state)) = self.stack.last_mut()
            && state.is_searching()
        {
            state.search_on();
        }
        let Some(key) = self.stream_key().cloned() else {
            return self.has_work();
        };
        if let (Some(state), Some(session)) = (
            self.streams.get_mut(&key),
            older::shown(self.older.as_ref(), &self.analyzer, &key),
        ) && state.picks.has_work()
        {
            state.picks.work(session);
        }
        self.has_work()
    }

    /// True while something waits for `work`.
    pub(super) fn has_work(&self) -> bool {
        if let Some(Screen::Inspector(state)) = self.stack.last()
            && state.is_searching()
        {
            return true;
        }
        self.stream_key().is_some_and(|key| {
            self.session(key).is_some()
                && self
                    .streams
                    .get(key)
                    .is_some_and(|state| state.picks.has_work())
        })
    }

    /// Brings order, selection and scrolling up to date before drawing.
    pub(super) fn prepare(&mut self) {
        if self.is_too_small() {
            return;
        }
        let regions = Regions::of(self.size.0, self.size.1);
        let rows = usize::from(regions.rows());
        let shown_now = self.shown_now();
        if self.stack.is_empty() {
            let all: Vec<_> = self.analyzer.model().sessions().collect();
            self.sessions.prepare(&all, &self.outside, shown_now, rows);
        }
        if let Some(key) = self.stream_key().cloned() {
            let recording = self
                .session(&key)
                .is_some_and(|session| sessions::is_recording(session, &self.outside));
            let source = match (self.outside.is_loading(&key), recording) {
                _ if self.has_page(&key) => stream::Growth::Still,
                (true, _) => stream::Growth::Loading,
                (false, true) => stream::Growth::Recording,
                (false, false) => stream::Growth::Still,
            };
            let around = stream_notes::Around {
                holes: self.whole(&key).map(Session::holes).unwrap_or_default(),
                above: self.note_above(&key),
            };
            if let (Some(state), Some(session)) = (
                self.streams.get_mut(&key),
                older::shown(self.older.as_ref(), &self.analyzer, &key),
            ) {
                state.prepare(session, rows, source, around, &self.settings.zone);
            }
        }
        if matches!(self.stack.last(), Some(Screen::Hosts)) {
            let names = hosts::names(self, self.hosts.sort);
            let height = hosts::table_height(self.size.1, regions.rows());
            self.hosts.prepare(&names, height);
        }
        self.prepare_texts();
        self.ask_rows();
    }

    fn prepare_texts(&mut self) {
        let width = usize::from(Regions::of(self.size.0, self.size.1).table_width());
        let height = self.text_height();
        let message_lines = match self.stack.last() {
            Some(Screen::Messages(_)) => self.panel_lines().len(),
            _ => 0,
        };
        match self.stack.last_mut() {
            Some(Screen::Inspector(state)) => state.prepare(width, height),
            Some(Screen::Messages(state)) if state.at_end => {
                state.top = message_lines.saturating_sub(height);
            }
            _ => {}
        }
    }

    /// Lines of the text on screen.
    pub(super) fn text_height(&self) -> usize {
        let regions = Regions::of(self.size.0, self.size.1);
        match self.stack.last() {
            Some(Screen::Inspector(state)) => self.session(&state.key).map_or(1, |session| {
                usize::from(super::screens::inspector_view::body_height(
                    self, session, state,
                ))
            }),
            _ => usize::from(super::chrome::panel_height(&regions)),
        }
    }
}
