//! What can happen to a viewer, and what it asks to be done outside (style.md 3.3).

use std::path::PathBuf;

use crossterm::event::KeyEvent;

use super::background::{Job, Laid};
use crate::feed::{FeedEvent, FeedRequest};

/// What happened.
#[derive(Clone, Debug)]
pub(super) enum Event {
    /// A key was pressed.
    Key(KeyEvent),
    /// Text was pasted.
    Paste(String),
    /// The terminal has this size now.
    Resize(u16, u16),
    /// A source said something.
    Feed(Box<FeedEvent>),
    /// Time has passed.
    Tick,
    /// A body was laid out in the background.
    Laid(Box<Laid>),
    /// What an effect came to: a toast.
    Done(crate::feed::Severity, crate::base::Shown),
}

/// What must be done outside.
#[derive(Clone, Debug)]
pub(super) enum Effect {
    /// Ask a source.
    Ask(FeedRequest),
    /// Copy text; `what` names it in the toast.
    Copy {
        /// The text.
        text: String,
        /// `frame`, `panel`, `path`.
        what: &'static str,
    },
    /// Write bytes to a new file.
    Write {
        /// Where.
        path: PathBuf,
        /// What.
        bytes: Vec<u8>,
    },
    /// Lay a body out on a thread of its own.
    LayOut(Job),
    /// Clear the terminal and draw everything.
    Repaint,
    /// Stop the process until it is continued.
    Suspend,
    /// Leave.
    Quit,
}
