//! The terminal screens (tui.md): state, update and view as pure functions, and the driver that owns
//! the terminal.
//!
//! It knows the model by reading and a source by `FeedEvent` and `FeedRequest`; nothing of sockets or
//! SSH. Start with `app`, then `keys` and `screens`.

mod actions;
mod answer;
mod app;
mod background;
mod bodies;
mod body;
mod canvas;
mod chrome;
mod clipboard;
mod commands;
mod copying;
mod detail;
mod dialog;
mod driver;
mod event;
mod frame_actions;
mod glyphs;
mod goto;
mod header;
mod inbox;
mod ink;
mod keys;
mod layout;
mod messages;
mod naming;
mod notices;
mod numbers;
mod older;
mod options;
mod outside;
mod paging;
mod paint;
mod panel_actions;
mod pausing;
mod picks;
mod preparing;
mod pretty;
mod prompt;
mod prompting;
mod raw;
mod readback;
mod screens;
mod search;
mod settings;
mod signals;
mod sort_keys;
mod source_text;
mod status;
mod terminal;
mod text_mode;
mod theme;
mod unanswered;
mod unread;
mod wanted;
mod window;

pub use driver::{Ended, ViewerError, run_viewer};
pub use options::{FirstScreen, Glyphs, ThemeName, ViewerOptions};

#[cfg(test)]
mod tests;
