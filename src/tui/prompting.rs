//! What an open prompt does: live filter and search, history, enter and escape (tui.md G4, G5, H1).

use super::{
    app::{App, Screen},
    prompt::{Edited, Prompt, PromptKind},
};
use crate::session::{Filter, FilterScope};

impl App {
    /// A key while a prompt is open.
    pub(super) fn prompt_key(&mut self, key: &str) {
        match key {
            "enter" => return self.prompt_enter(),
            "esc" => return self.prompt_escape(),
            "up" | "down" => return self.prompt_history(key == "up"),
            _ => {}
        }
        let Some(prompt) = &mut self.prompt else {
            return;
        };
        if key == "backspace" && prompt.line.text().is_empty() {
            return self.prompt_escape();
        }
        if prompt.line.key(key) == Edited::Text {
            prompt.steps = 0;
            self.prompt_changed();
        }
    }

    /// Text was pasted; it never runs by itself (O3).
    pub(super) fn paste(&mut self, text: &str) {
        if let Some(dialog) = &mut self.dialog {
            if let super::dialog::Question::Login { line, .. } = &mut dialog.question {
                line.paste(text);
            }
            return;
        }
        if let Some(prompt) = &mut self.prompt {
            prompt.line.paste(text);
            self.prompt_changed();
        }
    }

    fn scope(&self) -> FilterScope {
        if self.stack.is_empty() {
            FilterScope::Sessions
        } else {
            FilterScope::Rows
        }
    }

    /// Applies what is typed while it is typed.
    fn prompt_changed(&mut self) {
        let Some(prompt) = &self.prompt else { return };
        let text = prompt.line.text();
        match prompt.kind {
            PromptKind::Command => self.prompt_note = None,
            PromptKind::Search => self.search(&text),
            PromptKind::Filter => self.live_filter(&text),
        }
    }

    /// A valid filter is in force at once; an invalid one leaves the last valid one (G4).
    fn live_filter(&mut self, text: &str) {
        let typed = without_bare_key(text);
        if typed.trim().is_empty() {
            self.prompt_note = None;
            return self.apply_filter("", None);
        }
        match Filter::parse(typed, self.scope()) {
            Ok(filter) => {
                self.prompt_note = filter
                    .hint()
                    .map(|hint| (false, format!("searching text, {hint}")));
                self.apply_filter(text, Some(filter));
            }
            Err(error) => self.prompt_note = Some((true, error.to_string())),
        }
    }

    /// Puts a filter in force on the screen.
    fn apply_filter(&mut self, text: &str, filter: Option<Filter>) {
        if self.stack.is_empty() {
            text.clone_into(&mut self.sessions.filter_text);
            self.sessions.filter = filter;
            self.sessions.is_due = true;
        } else {
            self.with_stream(|state, session| state.filter(session, text, filter));
        }
    }

    /// Puts a filter in force that was not typed in the prompt; an invalid one is told.
    pub(super) fn set_filter(&mut self, text: &str) {
        if text.trim().is_empty() {
            return self.apply_filter("", None);
        }
        match Filter::parse(text, self.scope()) {
            Ok(filter) => self.apply_filter(text.trim(), Some(filter)),
            Err(error) => self.say(crate::feed::Severity::Error, error.to_string()),
        }
    }

    /// Searches the text on screen.
    pub(super) fn search(&mut self, text: &str) {
        let height = self.text_height();
        let is_help = matches!(self.stack.last(), Some(Screen::Help(..)));
        if is_help && let Some(Screen::Help(_, state)) = self.stack.last_mut() {
            state.top = 0;
            text.clone_into(&mut state.search);
        }
        let lines = self.panel_lines();
        match self.stack.last_mut() {
            Some(Screen::Inspector(state)) => state.find(text),
            Some(Screen::Help(_, state) | Screen::Messages(state)) => {
                state.find(text, &lines, height);
            }
            _ => {}
        }
    }

    fn prompt_enter(&mut self) {
        let is_command = |prompt: &Prompt| prompt.kind == PromptKind::Command;
        if matches!(self.prompt_note, Some((true, _)))
            && !self.prompt.as_ref().is_some_and(is_command)
        {
            return;
        }
        let Some(prompt) = self.prompt.take() else {
            return;
        };
        self.prompt_note = None;
        let text = prompt.line.text();
        if let Some(history) = self.histories.get_mut(prompt.kind as usize) {
            history.keep(&text);
        }
        if prompt.kind == PromptKind::Command && !self.command(&text) {
            // What was not understood stays there to be mended (O1), with the reason beside it.
            self.prompt = Some(Prompt::open(PromptKind::Command, &text));
            let why = self.messages.all().next_back();
            self.prompt_note = why.map(|message| (true, message.text.plain()));
        }
    }

    /// The filter or search that was there before comes back (G5).
    fn prompt_escape(&mut self) {
        let Some(prompt) = self.prompt.take() else {
            return;
        };
        self.prompt_note = None;
        match prompt.kind {
            PromptKind::Filter => self.set_filter(&prompt.before),
            PromptKind::Search => self.search(&prompt.before),
            PromptKind::Command => {}
        }
    }

    fn prompt_history(&mut self, back: bool) {
        let Some(prompt) = &mut self.prompt else {
            return;
        };
        let Some(history) = self.histories.get(prompt.kind as usize) else {
            return;
        };
        let steps = if back {
            prompt.steps + 1
        } else {
            prompt.steps.saturating_sub(1)
        };
        let line = if steps == 0 {
            Some("")
        } else {
            history.back(steps)
        };
        if let Some(line) = line {
            prompt.steps = steps;
            prompt.line = super::prompt::LineEditor::of(line);
            self.prompt_changed();
        }
    }
}

/// A key with nothing behind its colon is ignored while typing (G4).
fn without_bare_key(text: &str) -> &str {
    let last = text.rsplit(' ').next().unwrap_or(text);
    let bare = last.ends_with(':') && !last.starts_with('"');
    if bare {
        text.strip_suffix(last).unwrap_or(text)
    } else {
        text
    }
}
