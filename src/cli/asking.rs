//! Who answers the questions of a first login: the terminal, or nobody.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use mcpsnoop::remote::{BatchPrompter, Listener, Prompter, Question, Telling, TerminalPrompter};
use zeroize::Zeroizing;

use super::output;

/// Asks on the terminal where there is one and `--batch` is not given.
pub(super) struct Asking {
    who: Who,
    /// Set once the viewer owns the screen: nothing is written on it any more.
    hushed: Arc<AtomicBool>,
}

enum Who {
    Terminal(TerminalPrompter),
    Nobody(BatchPrompter),
}

impl Asking {
    /// Opens the terminal unless `batch`. With `verbose` the connection log goes to standard error.
    pub(super) fn new(batch: bool, verbose: bool) -> Self {
        let hushed = Arc::new(AtomicBool::new(false));
        let nobody =
            |hushed: &Arc<AtomicBool>| Who::Nobody(BatchPrompter::new(listener(hushed, verbose)));
        let who = if batch {
            nobody(&hushed)
        } else {
            TerminalPrompter::open(listener(&hushed, verbose))
                .map_or_else(|_none| nobody(&hushed), Who::Terminal)
        };
        Self { who, hushed }
    }

    /// The viewer takes the screen.
    pub(super) fn hush(&self) {
        self.hushed.store(true, Ordering::Relaxed);
    }
}

fn listener(hushed: &Arc<AtomicBool>, verbose: bool) -> Listener {
    let hushed = Arc::clone(hushed);
    Box::new(move |told| {
        if hushed.load(Ordering::Relaxed) {
            return;
        }
        match told {
            Telling::Notice { host, line } => output::note(&format!("{host}: {line}")),
            Telling::Detail { host, line } if verbose => output::note(&format!("{host}: {line}")),
            Telling::Detail { .. } => {}
            Telling::ServerText { host, text } => {
                output::note(&format!("{host} wrote:"));
                for line in text.lines() {
                    output::note(&format!("  | {line}"));
                }
            }
        }
    })
}

impl Prompter for Asking {
    async fn ask(&self, question: Question) -> Option<Zeroizing<String>> {
        match &self.who {
            Who::Terminal(terminal) => terminal.ask(question).await,
            Who::Nobody(nobody) => nobody.ask(question).await,
        }
    }

    fn can_ask(&self) -> bool {
        match &self.who {
            Who::Terminal(terminal) => terminal.can_ask(),
            Who::Nobody(nobody) => nobody.can_ask(),
        }
    }

    fn tell(&self, host: &str, line: &str) {
        match &self.who {
            Who::Terminal(terminal) => terminal.tell(host, line),
            Who::Nobody(nobody) => nobody.tell(host, line),
        }
    }

    fn show_server_text(&self, host: &str, text: &str) {
        match &self.who {
            Who::Terminal(terminal) => terminal.show_server_text(host, text),
            Who::Nobody(nobody) => nobody.show_server_text(host, text),
        }
    }

    fn detail(&self, host: &str, line: &str) {
        match &self.who {
            Who::Terminal(terminal) => terminal.detail(host, line),
            Who::Nobody(nobody) => nobody.detail(host, line),
        }
    }
}
