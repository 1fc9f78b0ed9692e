//! The signs of tui.md 16.2 in both sets; each is one cell.

use super::options::Glyphs;

/// The signs in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Signs {
    /// Selection mark.
    pub(super) selection: &'static str,
    /// Sent to the server.
    pub(super) to_server: &'static str,
    /// Sent to the client.
    pub(super) to_client: &'static str,
    /// A notification.
    pub(super) notification: &'static str,
    /// A line of standard error.
    pub(super) stderr: &'static str,
    /// A recording session, a live link.
    pub(super) recording: &'static str,
    /// An ended session.
    pub(super) ended: &'static str,
    /// A session whose server failed.
    pub(super) failed: &'static str,
    /// History being read.
    pub(super) backfill: &'static str,
    /// Trying again.
    pub(super) reconnect: &'static str,
    /// Full cell of a progress bar.
    pub(super) bar_full: &'static str,
    /// Empty cell of a progress bar.
    pub(super) bar_empty: &'static str,
    /// Levels of a sparkline.
    pub(super) spark: [&'static str; 8],
    /// Thumb of a scrollbar.
    pub(super) thumb: &'static str,
    /// Track of a scrollbar.
    pub(super) track: &'static str,
    /// Horizontal rule.
    pub(super) rule: &'static str,
    /// Something goes on, in prose.
    pub(super) dots: &'static str,
    /// Something was left out here.
    pub(super) elision: &'static str,
    /// Between the parts of a line.
    pub(super) separator: &'static str,
    /// Between the halves of a pair.
    pub(super) pair: &'static str,
    /// Corners of a dialog, from the upper left one in reading order.
    pub(super) corners: [&'static str; 4],
    /// Vertical edge of a dialog.
    pub(super) edge: &'static str,
}

const UNICODE: Signs = Signs {
    selection: "▌",
    to_server: "→",
    to_client: "←",
    notification: "·",
    stderr: "┆",
    recording: "●",
    ended: "○",
    failed: "✕",
    backfill: "↻",
    reconnect: "↺",
    bar_full: "━",
    bar_empty: "─",
    spark: ["·", "▁", "▂", "▃", "▄", "▅", "▆", "▇"],
    thumb: "█",
    track: "│",
    rule: "─",
    dots: "…",
    elision: "…",
    separator: "·",
    pair: "⇄",
    corners: ["┌", "┐", "└", "┘"],
    edge: "│",
};

const ASCII: Signs = Signs {
    selection: ">",
    to_server: ">",
    to_client: "<",
    notification: ".",
    stderr: "|",
    recording: "*",
    ended: "o",
    failed: "x",
    backfill: "+",
    reconnect: "~",
    bar_full: "=",
    bar_empty: "-",
    spark: ["_", ".", ":", "-", "=", "+", "*", "#"],
    thumb: "#",
    track: "|",
    rule: "-",
    dots: "...",
    elision: "~",
    separator: ".",
    pair: "<->",
    corners: ["+"; 4],
    edge: "|",
};

impl Signs {
    /// The signs of a set.
    pub(super) const fn of(glyphs: Glyphs) -> Self {
        match glyphs {
            Glyphs::Unicode => UNICODE,
            Glyphs::Ascii => ASCII,
        }
    }
}
