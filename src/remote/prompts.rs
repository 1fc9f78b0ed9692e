//! Questions of a reconnect: they go to the viewer as events and come back as requests, so that
//! nothing pops up on the terminal that it owns (remote.md 5.3).

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use tokio::sync::{mpsc, oneshot};
use zeroize::Zeroizing;

use super::prompt::{Prompter, Question, server_block};

/// What the prompter passes to the host's task.
#[derive(Debug)]
pub(super) enum Asked {
    /// A question, and the number of its answer.
    Question { id: u64, text: String, echo: bool },
    /// A line for `:messages`.
    Line(String),
}

/// Lines and questions that wait for the host's task.
const WAITING: usize = 32;

/// Answers that are waited for.
type Open = Arc<Mutex<HashMap<u64, oneshot::Sender<Option<Zeroizing<String>>>>>>;

/// The prompter of a reconnect.
#[derive(Debug)]
pub(super) struct FeedPrompter {
    asked: mpsc::Sender<Asked>,
    open: Open,
    ids: Arc<AtomicU64>,
    can_ask: bool,
}

/// The other end: the host's task.
#[derive(Debug)]
pub(super) struct PromptDesk {
    pub(super) asked: mpsc::Receiver<Asked>,
    open: Open,
}

/// Both ends. `ids` makes numbers differ over all hosts of a run.
pub(super) fn prompts(ids: &Arc<AtomicU64>, can_ask: bool) -> (Arc<FeedPrompter>, PromptDesk) {
    let (sender, asked) = mpsc::channel(WAITING);
    let open = Open::default();
    let prompter = FeedPrompter {
        asked: sender,
        open: Arc::clone(&open),
        ids: Arc::clone(ids),
        can_ask,
    };
    (Arc::new(prompter), PromptDesk { asked, open })
}

impl PromptDesk {
    /// The user answered, or declined.
    pub(super) fn answer(&self, id: u64, answer: Option<Zeroizing<String>>) {
        let waiting = self
            .open
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(&id);
        if let Some(waiting) = waiting
            && waiting.send(answer).is_err()
        {
            // The login ended before the answer came.
        }
    }
}

impl FeedPrompter {
    fn pass(&self, line: &str) {
        if self.asked.try_send(Asked::Line(line.to_owned())).is_err() {
            // A line for the messages is not worth waiting for.
        }
    }
}

impl Prompter for FeedPrompter {
    async fn ask(&self, question: Question) -> Option<Zeroizing<String>> {
        if !self.can_ask {
            return None;
        }
        let id = self.ids.fetch_add(1, Ordering::Relaxed);
        let (sender, answer) = oneshot::channel();
        self.open
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(id, sender);
        let text = match question.server_text {
            Some(server) => server_block(&question.host, &server) + &question.prompt,
            None => question.prompt,
        };
        let echo = question.echo;
        self.asked
            .send(Asked::Question { id, text, echo })
            .await
            .ok()?;
        answer.await.ok().flatten()
    }

    fn can_ask(&self) -> bool {
        self.can_ask
    }

    fn tell(&self, _host: &str, line: &str) {
        self.pass(line);
    }

    fn show_server_text(&self, _host: &str, text: &str) {
        self.pass(text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_servers_words_cannot_pass_for_ours() {
        let (prompter, mut desk) = prompts(&Arc::new(AtomicU64::new(1)), true);
        let question = Question {
            host: "web1".to_owned(),
            server_text: Some("Code:\nPassword of dev at local: ".to_owned()),
            prompt: "Answer to web1: ".to_owned(),
            echo: false,
        };
        let asking = prompter.ask(question);
        let answering = async {
            let Some(Asked::Question { id, text, .. }) = desk.asked.recv().await else {
                panic!("no question");
            };
            desk.answer(id, Some(Zeroizing::new("42".to_owned())));
            text
        };
        let (answer, text) = tokio::join!(asking, answering);
        assert_eq!(answer.unwrap().as_str(), "42");
        assert_eq!(
            text,
            "  web1 wrote:\n  | Code:\n  | Password of dev at local: \nAnswer to web1: "
        );
    }
}
