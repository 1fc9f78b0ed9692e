//! A prompter that follows a script and remembers what it was asked and told.

use std::{collections::VecDeque, sync::Mutex};

use mcpsnoop::remote::{Prompter, Question};
use zeroize::Zeroizing;

/// Answers in order; `None` in the script declines, and so does a script that ran out.
#[derive(Default)]
pub(crate) struct Script {
    answers: Mutex<VecDeque<Option<String>>>,
    log: Mutex<Vec<String>>,
    is_terminal: bool,
}

impl Script {
    /// A terminal whose user gives these answers.
    pub(crate) fn of(answers: &[&str]) -> Self {
        let answers = answers.iter().map(|&answer| Some(answer.to_owned()));
        Self {
            answers: Mutex::new(answers.collect()),
            is_terminal: true,
            ..Self::default()
        }
    }

    /// No terminal.
    pub(crate) fn batch() -> Self {
        Self::default()
    }

    /// Everything asked and told so far, one entry each.
    pub(crate) fn log(&self) -> Vec<String> {
        self.log.lock().unwrap().clone()
    }

    /// True when some entry has the text.
    pub(crate) fn heard(&self, text: &str) -> bool {
        self.log().iter().any(|entry| entry.contains(text))
    }

    /// How many questions were asked.
    pub(crate) fn questions(&self) -> usize {
        let log = self.log();
        log.iter()
            .filter(|entry| entry.starts_with("asked"))
            .count()
    }

    fn note(&self, entry: String) {
        self.log.lock().unwrap().push(entry);
    }
}

impl Prompter for Script {
    async fn ask(&self, question: Question) -> Option<Zeroizing<String>> {
        let echo = if question.echo { "shown" } else { "hidden" };
        self.note(format!(
            "asked ({echo}): {}{}",
            question.server_text.unwrap_or_default(),
            question.prompt
        ));
        let answer = self.answers.lock().unwrap().pop_front();
        answer.flatten().map(Zeroizing::new)
    }

    fn can_ask(&self) -> bool {
        self.is_terminal
    }

    fn tell(&self, _host: &str, line: &str) {
        self.note(format!("told: {line}"));
    }

    fn show_server_text(&self, host: &str, text: &str) {
        self.note(format!("{host} wrote: {text}"));
    }

    fn detail(&self, _host: &str, line: &str) {
        self.note(format!("detail: {line}"));
    }
}
