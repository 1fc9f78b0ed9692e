//! A line that is being typed, and what it is for (tui.md X4, G5, 12).

use std::collections::VecDeque;

/// Most lines that a history holds.
const HISTORY: usize = 50;

/// What a prompt is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PromptKind {
    /// The filter of a table.
    Filter,
    /// The search of a text.
    Search,
    /// The command line.
    Command,
}

/// What a key did to a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Edited {
    /// The text changed.
    Text,
    /// Only the cursor moved, or nothing.
    Cursor,
    /// The key means nothing in a line.
    No,
}

/// A line of text with a cursor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct LineEditor {
    before: Vec<char>,
    after: Vec<char>,
    /// All of it is selected: what is typed replaces it, a movement keeps it.
    is_selected: bool,
}

impl LineEditor {
    /// A line with the cursor at its end.
    pub(super) fn of(text: &str) -> Self {
        Self {
            before: text.chars().collect(),
            after: Vec::new(),
            is_selected: false,
        }
    }

    /// A line that the first typed character replaces, as in an address bar.
    pub(super) fn selected(text: &str) -> Self {
        Self {
            is_selected: !text.is_empty(),
            ..Self::of(text)
        }
    }

    /// True while all of the line is selected.
    pub(super) const fn is_selected(&self) -> bool {
        self.is_selected
    }

    /// Text comes: it replaces what is selected.
    fn replace_selected(&mut self) {
        if std::mem::take(&mut self.is_selected) {
            self.before.clear();
            self.after.clear();
        }
    }

    /// The whole line.
    pub(super) fn text(&self) -> String {
        self.before.iter().chain(self.after.iter().rev()).collect()
    }

    /// The text before the cursor.
    pub(super) fn head(&self) -> String {
        self.before.iter().collect()
    }

    /// The text from the cursor on.
    pub(super) fn tail(&self) -> String {
        self.after.iter().rev().collect()
    }

    /// Adds pasted text; line breaks become spaces (O3).
    pub(super) fn paste(&mut self, text: &str) {
        self.replace_selected();
        let flat = text.chars().map(|character| match character {
            '\n' | '\r' | '\t' => ' ',
            other => other,
        });
        self.before.extend(flat.take(4_096));
    }

    /// Applies a key.
    pub(super) fn key(&mut self, key: &str) -> Edited {
        let mut characters = key.chars();
        if let (Some(character), None) = (characters.next(), characters.next()) {
            self.replace_selected();
            self.before.push(character);
            return Edited::Text;
        }
        if matches!(
            key,
            "space" | "backspace" | "ctrl-h" | "delete" | "ctrl-d" | "ctrl-w" | "alt-backspace"
        ) && self.is_selected
        {
            self.replace_selected();
            if key != "space" {
                return Edited::Text;
            }
        }
        self.is_selected = false;
        match key {
            "space" => self.before.push(' '),
            "backspace" | "ctrl-h" => drop(self.before.pop()),
            "delete" | "ctrl-d" => drop(self.after.pop()),
            "ctrl-u" => self.before.clear(),
            "ctrl-k" => self.after.clear(),
            "ctrl-w" | "alt-backspace" => self.word_back(false),
            "alt-d" => self.word_on(false),
            _ => return self.moved(key),
        }
        Edited::Text
    }

    fn moved(&mut self, key: &str) -> Edited {
        match key {
            "left" | "ctrl-b" => self.after.extend(self.before.pop()),
            "right" | "ctrl-f" => self.before.extend(self.after.pop()),
            "home" | "ctrl-a" => self.after.extend(self.before.drain(..).rev()),
            "end" | "ctrl-e" => self.before.extend(self.after.drain(..).rev()),
            "alt-b" | "ctrl-left" => self.word_back(true),
            "alt-f" | "ctrl-right" => self.word_on(true),
            _ => return Edited::No,
        }
        Edited::Cursor
    }

    fn word_back(&mut self, keep: bool) {
        let mut in_word = false;
        while let Some(character) = self.before.last().copied() {
            let is_word = !character.is_whitespace();
            if in_word && !is_word {
                break;
            }
            in_word |= is_word;
            self.before.pop();
            if keep {
                self.after.push(character);
            }
        }
    }

    fn word_on(&mut self, keep: bool) {
        let mut in_word = false;
        while let Some(character) = self.after.last().copied() {
            let is_word = !character.is_whitespace();
            if in_word && !is_word {
                break;
            }
            in_word |= is_word;
            self.after.pop();
            if keep {
                self.before.push(character);
            }
        }
    }
}

/// Lines entered before, in memory only.
#[derive(Clone, Debug, Default)]
pub(super) struct History {
    lines: VecDeque<String>,
}

impl History {
    /// Keeps a line.
    pub(super) fn keep(&mut self, line: &str) {
        if line.is_empty() || self.lines.back().is_some_and(|last| last == line) {
            return;
        }
        if self.lines.len() == HISTORY {
            self.lines.pop_front();
        }
        self.lines.push_back(line.to_owned());
    }

    /// The line so many steps back, 1 being the newest.
    pub(super) fn back(&self, steps: usize) -> Option<&str> {
        let index = self.lines.len().checked_sub(steps)?;
        self.lines.get(index).map(String::as_str)
    }
}

/// An open prompt.
#[derive(Clone, Debug)]
pub(super) struct Prompt {
    /// What it is for.
    pub(super) kind: PromptKind,
    /// What is typed.
    pub(super) line: LineEditor,
    /// What was in force before (G5).
    pub(super) before: String,
    /// Steps into the history.
    pub(super) steps: usize,
}

impl Prompt {
    /// Opens a prompt on a text.
    pub(super) fn open(kind: PromptKind, text: &str) -> Self {
        Self {
            kind,
            line: LineEditor::selected(text),
            before: text.to_owned(),
            steps: 0,
        }
    }

    /// The character in front of the line.
    pub(super) const fn sign(&self) -> &'static str {
        match self.kind {
            PromptKind::Filter | PromptKind::Search => "/",
            PromptKind::Command => ":",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(keys: &[&str]) -> (String, String) {
        let mut line = LineEditor::default();
        for key in keys {
            line.key(key);
        }
        (line.head(), line.tail())
    }

    #[test]
    fn lines_are_edited_as_in_a_shell() {
        let cases: [(&[&str], &str, &str); 9] = [
            (&["a", "b", "space", "c"], "ab c", ""),
            (&["a", "b", "left", "x"], "ax", "b"),
            (&["a", "b", "home", "x", "end", "y"], "xaby", ""),
            (&["a", "b", "ctrl-a", "delete"], "", "b"),
            (&["a", "space", "b", "c", "ctrl-w"], "a ", ""),
            (&["a", "space", "b", "alt-b", "ctrl-u"], "", "b"),
            (&["a", "b", "c", "left", "left", "ctrl-k"], "a", ""),
            (&["a", "space", "b", "home", "alt-d"], "", " b"),
            (&["ü", "backspace", "é"], "é", ""),
        ];
        for (keys, head, tail) in cases {
            assert_eq!(typed(keys), (head.to_owned(), tail.to_owned()), "{keys:?}");
        }
    }

    #[test]
    fn what_is_typed_replaces_a_selected_line_and_a_movement_keeps_it() {
        let cases: [(&[&str], &str); 7] = [
            (&["x", "y"], "xy"),
            (&["backspace", "x"], "x"),
            (&["space"], " "),
            (&["left", "x"], "abxc"),
            (&["end", "x"], "abcx"),
            (&["home", "x"], "xabc"),
            (&["ctrl-w", "x"], "x"),
        ];
        for (keys, text) in cases {
            let mut line = LineEditor::selected("abc");
            for key in keys {
                line.key(key);
            }
            assert_eq!(line.text(), text, "{keys:?}");
        }
        let mut line = LineEditor::selected("abc");
        line.paste("tool:x");
        assert_eq!(line.text(), "tool:x");
    }

    #[test]
    fn pasted_line_breaks_are_spaces() {
        let mut line = LineEditor::default();
        line.paste("q\n:quit\n");
        assert_eq!(line.text(), "q :quit ");
    }

    #[test]
    fn history_is_bounded_and_without_repeats() {
        let mut history = History::default();
        for number in 0..60 {
            history.keep(&number.to_string());
            history.keep(&number.to_string());
        }
        assert_eq!(history.back(1), Some("59"));
        assert_eq!(history.back(HISTORY), Some("10"));
        assert_eq!(history.back(HISTORY + 1), None);
    }
}
