//! The command line behind `:` (tui.md 12).

use std::path::PathBuf;

use super::{
    app::{App, Screen},
    dialog::{Dialog, Question},
    event::Effect,
    glyphs::Signs,
    options::{Glyphs, ThemeName},
    screens::panel,
    wanted::{Order, SortColumn},
};
use crate::{feed::Severity, record::SessionKey};

impl App {
    /// Runs a command line; false when nothing of that name exists.
    pub(super) fn command(&mut self, text: &str) -> bool {
        let text = text.trim();
        let Some(words) = words(text) else {
            self.say(Severity::Error, "a quote is not closed");
            return false;
        };
        let Some((name, rest)) = words.split_first() else {
            return true;
        };
        let argument = text.strip_prefix(name.as_str()).unwrap_or("").trim();
        match name.as_str() {
            "q" | "quit" | "exit" => self.effects.push(Effect::Quit),
            "help" | "?" => self.toggle_help(),
            "sessions" | "session" | "s" | ".." => self.stack.clear(),
            "stream" | "frames" => self.enter_stream(),
            "hosts" => self.toggle_hosts(),
            "messages" => self.stack.push(Screen::Messages(panel::State {
                at_end: true,
                ..panel::State::default()
            })),
            "filter" => self.set_filter(argument),
            "problems" => self.key("!"),
            "clear" => self.clear_stream(),
            "restore" => drop(self.with_stream(super::screens::stream::State::restore)),
            "pause" => self.toggle_pause(),
            "follow" => self.follow(),
            "redraw" => self.effects.push(Effect::Repaint),
            "version" => self.say(
                Severity::Info,
                concat!("mcpsnoop ", env!("CARGO_PKG_VERSION")),
            ),
            "sort" => return self.sort_command(rest),
            "goto" => return self.goto_command(rest),
            "load" => return self.load_command(rest),
            "copy" => return self.copy_command(rest),
            "set" => return self.set_command(rest),
            "open" => return self.jump_to(argument),
            _ => return self.jump_to(text),
        }
        true
    }

    pub(super) fn refuse(&mut self, words: &str) -> bool {
        self.say(Severity::Error, words);
        false
    }

    fn enter_stream(&mut self) {
        let key = self
            .stream_key()
            .or_else(|| self.sessions.session())
            .cloned();
        match key {
            Some(key) => self.open_stream(key),
            None => self.say(Severity::Info, "no session is selected"),
        }
    }

    fn sort_command(&mut self, words: &[String]) -> bool {
        let Some(column) = words.first() else {
            return self.refuse("which column? :sort COLUMN [asc|desc|off]");
        };
        let order = match words.get(1).map(String::as_str) {
            None => None,
            Some("asc") => Some(Order::Ascending),
            Some("desc") => Some(Order::Descending),
            Some("off") => {
                self.sessions.sort = None;
                self.sessions.is_due = true;
                self.with_stream(|state, session| state.set_sort(session, None));
                return true;
            }
            Some(_) => return self.refuse("the order is asc, desc or off"),
        };
        if self.stack.is_empty() {
            self.sort_sessions(column, order)
        } else {
            self.sort_stream(column, order)
        }
    }

    fn sort_sessions(&mut self, column: &str, order: Option<Order>) -> bool {
        let key = match column.to_ascii_lowercase().as_str() {
            "name" => 'N',
            "host" => 'H',
            "client" => 'C',
            "kind" => 'K',
            "req" => 'R',
            "resp" => 'S',
            "err" => 'E',
            "pend" => 'P',
            "p95" => 'D',
            "activity" => 'A',
            "last" => 'L',
            _ => return self.refuse("no such column"),
        };
        self.sessions.sort = None;
        self.sessions.sort_by(key);
        if let Some(order) = order {
            self.sessions.sort = Some((key, order));
        }
        true
    }

    fn sort_stream(&mut self, column: &str, order: Option<Order>) -> bool {
        let column = match column.to_ascii_lowercase().as_str() {
            "time" => SortColumn::Time,
            "method" | "tool" => SortColumn::Method,
            "id" => SortColumn::Id,
            "dur" => SortColumn::Duration,
            "status" => SortColumn::Status,
            _ => return self.refuse("no such column"),
        };
        self.with_stream(|state, session| {
            state.set_sort(session, None);
            state.sort_by(session, column);
            if let Some(order) = order {
                state.set_sort(session, Some((column, order)));
            }
        });
        true
    }

    fn load_command(&mut self, words: &[String]) -> bool {
        if words.is_empty() && self.load_before() {
            return true;
        }
        let most = match words.first().map(String::as_str) {
            None => Some(100),
            Some("all") => None,
            Some(word) => match word.parse() {
                Ok(most) => Some(most),
                Err(_not_a_number) => return self.refuse("how many? :load [N|all]"),
            },
        };
        self.load_older(most);
        true
    }

    /// A leading `~/` is the home folder (O2).
    pub(super) fn expand(&self, path: &str) -> PathBuf {
        match (path.strip_prefix("~/"), &self.home) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => PathBuf::from(path),
        }
    }

    fn set_command(&mut self, words: &[String]) -> bool {
        let name = words.first().map_or("", String::as_str);
        let value = words.get(1).map_or("", String::as_str);
        match (name, value) {
            ("theme", "dark") => self.settings.theme.name = ThemeName::Dark,
            ("theme", "light") => self.settings.theme.name = ThemeName::Light,
            ("glyphs", "unicode") => self.settings.signs = Signs::of(Glyphs::Unicode),
            ("glyphs", "ascii") => self.settings.signs = Signs::of(Glyphs::Ascii),
            ("tz", "utc") => self.settings.zone = jiff::tz::TimeZone::UTC,
            ("tz", "local") => self.settings.zone = jiff::tz::TimeZone::system(),
            ("wrap", "on" | "off") => {
                if let Some(Screen::Inspector(state)) = self.stack.last_mut()
                    && state.wrap != (value == "on")
                {
                    state.toggle_wrap();
                }
            }
            _ => {
                return self.refuse(
                    ":set theme dark|light, glyphs unicode|ascii, tz local|utc, wrap on|off",
                );
            }
        }
        self.effects.push(Effect::Repaint);
        true
    }

    /// Jumps to a session by its label or id: exact, then prefix, then part, newest first.
    fn jump_to(&mut self, text: &str) -> bool {
        let wanted = text.to_lowercase();
        let mut sessions = self.all_sessions();
        sessions.sort_by_key(|session| std::cmp::Reverse(session.last()));
        let names: Vec<(SessionKey, String, String)> = sessions
            .iter()
            .map(|session| {
                (
                    session.key().clone(),
                    session.label().to_lowercase(),
                    session.key().id.to_lowercase(),
                )
            })
            .collect();
        let tests: [fn(&str, &str) -> bool; 3] = [
            |name, wanted| name == wanted,
            |name, wanted| name.starts_with(wanted),
            |name, wanted| name.contains(wanted),
        ];
        for test in tests {
            let hits: Vec<_> = names
                .iter()
                .filter(|(_, label, id)| {
                    !wanted.is_empty() && (test(label, &wanted) || test(id, &wanted))
                })
                .map(|(key, ..)| key.clone())
                .collect();
            match hits.as_slice() {
                [] => {}
                [key] => {
                    self.open_stream(key.clone());
                    return true;
                }
                several => {
                    self.pick(several);
                    return true;
                }
            }
        }
        self.say(Severity::Error, format!("no command or session \"{text}\""));
        false
    }

    fn pick(&mut self, keys: &[SessionKey]) {
        let offered = keys.iter().take(9).filter_map(|key| {
            let session = self.session(key)?;
            Some((key.clone(), self.name_of(session)))
        });
        let question = Question::Pick(offered.collect());
        self.dialog = Some(Dialog::open(question, self.now));
    }
}

/// Words with shell-like quotes; `None` when a quote is not closed (O2).
fn words(text: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote: Option<char> = None;
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match (quote, character) {
            (Some(open), _) if character == open => quote = None,
            (Some('"') | None, '\\') => word.get_or_insert_default().extend(characters.next()),
            (None, '"' | '\'') => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            (None, ' ' | '\t') => words.extend(word.take()),
            (Some(_) | None, _) => word.get_or_insert_default().push(character),
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_as_in_a_shell() {
        let cases: [(&str, Option<&[&str]>); 6] = [
            ("copy raw \"a b\"", Some(&["copy", "raw", "a b"])),
            ("a\\ b 'c \"d'", Some(&["a b", "c \"d"])),
            ("", Some(&[])),
            ("''", Some(&[""])),
            ("\"open", None),
            ("a\"\\\"\"", Some(&["a\""])),
        ];
        for (text, expected) in cases {
            let expected =
                expected.map(|words| words.iter().map(|word| (*word).to_owned()).collect());
            assert_eq!(words(text), expected, "{text}");
        }
    }
}
