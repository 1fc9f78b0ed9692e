//! What the command line and the environment say about a viewer.

use std::path::PathBuf;

use crate::record::StateDir;

/// What is on screen first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FirstScreen {
    /// The table of sessions.
    Sessions,
    /// The stream of the first session, or of the one with this id.
    Stream(Option<String>),
}

/// `MCPSNOOP_GLYPHS`, locale and `--ascii`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Glyphs {
    /// Box drawing and arrows.
    Unicode,
    /// ASCII only.
    Ascii,
}

/// `MCPSNOOP_THEME`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThemeName {
    /// Dark background.
    Dark,
    /// Light background.
    Light,
}

/// What a viewer is started with.
#[derive(Clone, Debug)]
pub struct ViewerOptions {
    /// What is on screen first.
    pub first: FirstScreen,
    /// True for `open`: sources are files, rows are not bounded.
    pub is_file: bool,
    /// Local state directory, for paths and the first-run card.
    pub state: Option<StateDir>,
    /// Another candidate directory that has sessions, and how many.
    pub elsewhere: Option<(PathBuf, usize)>,
    /// Absolute path of this program, for the first-run card.
    pub program: Option<PathBuf>,
    /// Environment: colours, glyphs, clipboard, time zone.
    pub env: crate::base::Env,
    /// `--ascii`.
    pub ascii: bool,
    /// The clock.
    pub clock: crate::base::Clock,
}
