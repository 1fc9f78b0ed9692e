//! Questions to the user, as a seam: the plain terminal at first, the viewer on a reconnect.

use zeroize::Zeroizing;

use crate::base::block;

/// One question.
#[derive(Clone, Debug)]
pub struct Question {
    /// Host that the question is about.
    pub host: String,
    /// Text of the server, shown in an indented block. Untrusted.
    pub server_text: Option<String>,
    /// The question itself, ours. Names in it are not escaped.
    pub prompt: String,
    /// Whether the answer may be shown.
    pub echo: bool,
}

/// Text of a server in a form that cannot pass for ours.
pub(super) fn server_block(host: &str, text: &str) -> String {
    let mut shown = format!("  {} wrote:\n", block(host));
    for line in block(text).lines() {
        shown.push_str("  | ");
        shown.push_str(line);
        shown.push('\n');
    }
    shown
}

/// Answers questions one at a time; `None` when it cannot or the user declines.
pub trait Prompter: Send + Sync {
    /// Asks and waits.
    fn ask(&self, question: Question) -> impl Future<Output = Option<Zeroizing<String>>> + Send;

    /// False when no question can be answered: then none is asked, and the error says so.
    fn can_ask(&self) -> bool;

    /// Tells something that is no question (a new key was recorded, waiting for the agent).
    fn tell(&self, host: &str, line: &str);

    /// Shows what the server wrote before the login. Untrusted; shown in an indented block.
    fn show_server_text(&self, host: &str, text: &str);

    /// A line for `-v`. Never a secret.
    fn detail(&self, _host: &str, _line: &str) {}
}

/// What a prompter passes on besides questions. Nothing in it is escaped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Telling<'a> {
    /// A line that everybody should see.
    Notice {
        /// Host.
        host: &'a str,
        /// The line.
        line: &'a str,
    },
    /// A line for `-v`.
    Detail {
        /// Host.
        host: &'a str,
        /// The line.
        line: &'a str,
    },
    /// Text of the server.
    ServerText {
        /// Host.
        host: &'a str,
        /// The text, several lines perhaps.
        text: &'a str,
    },
}

/// Takes what is told.
pub type Listener = Box<dyn Fn(Telling<'_>) + Send + Sync>;

/// Never answers (`--batch`, or no terminal).
pub struct BatchPrompter {
    listener: Listener,
}

impl std::fmt::Debug for BatchPrompter {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("BatchPrompter")
            .finish_non_exhaustive()
    }
}

impl BatchPrompter {
    /// Passes on what is told, and answers nothing.
    pub fn new(listener: Listener) -> Self {
        Self { listener }
    }
}

impl Prompter for BatchPrompter {
    async fn ask(&self, _question: Question) -> Option<Zeroizing<String>> {
        None
    }

    fn can_ask(&self) -> bool {
        false
    }

    fn tell(&self, host: &str, line: &str) {
        (self.listener)(Telling::Notice { host, line });
    }

    fn show_server_text(&self, host: &str, text: &str) {
        (self.listener)(Telling::ServerText { host, text });
    }

    fn detail(&self, host: &str, line: &str) {
        (self.listener)(Telling::Detail { host, line });
    }
}
