//! The pause: what came since is held, what is shown stands still (tui.md 4.3).

use std::collections::VecDeque;

use super::app::App;
use crate::{base::Timestamp, feed::FeedEvent};

/// Most events and bytes that a pause holds; beyond, sources wait.
const HELD_EVENTS: usize = 200_000;
const HELD_BYTES: usize = 64 << 20;

/// A pause: the clock at its beginning, and what came since (PA1).
#[derive(Debug, Default)]
pub(super) struct Paused {
    pub(super) at: Timestamp,
    held: VecDeque<FeedEvent>,
    bytes: usize,
    pub(super) frames: u64,
}

impl Paused {
    pub(super) fn hold(&mut self, event: FeedEvent) {
        if let FeedEvent::Frame(frame) = &event {
            self.frames += 1;
            self.bytes += frame.line.bytes.len();
        }
        self.held.push_back(event);
    }
}

/// Events that change what a paused screen shows.
pub(super) const fn is_of_sessions(event: &FeedEvent) -> bool {
    matches!(
        event,
        FeedEvent::Session(_)
            | FeedEvent::Frame(_)
            | FeedEvent::Gap { .. }
            | FeedEvent::GapFilled { .. }
            | FeedEvent::NotLoaded { .. }
            | FeedEvent::Conflict { .. }
            | FeedEvent::LogRemoved { .. }
    )
}

impl App {
    /// True while a pause has room: otherwise sources have to wait.
    pub(super) fn wants_feed(&self) -> bool {
        self.paused
            .as_ref()
            .is_none_or(|paused| paused.held.len() < HELD_EVENTS && paused.bytes < HELD_BYTES)
    }

    /// Freezes what is shown, or shows all that came since (4.3).
    pub(super) fn toggle_pause(&mut self) {
        let Some(paused) = self.paused.take() else {
            self.paused = Some(Paused {
                at: self.now,
                ..Paused::default()
            });
            return;
        };
        for event in paused.held {
            if is_of_sessions(&event) {
                self.outside.take(&event, self.now);
            }
            self.ingest(&event);
        }
    }

    /// The clock of what is shown: it stands still during a pause.
    pub(super) fn shown_now(&self) -> Timestamp {
        self.paused.as_ref().map_or(self.now, |paused| paused.at)
    }
}
