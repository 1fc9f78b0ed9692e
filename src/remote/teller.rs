//! What a host's task tells the viewer: collected, sent in order, and the state only when it
//! changed.

use std::time::Duration;

use crate::{
    base::Timestamp,
    feed::{Closed, FeedEvent, FeedSender, HostState, LinkState, Mode, Severity},
    record::HostName,
};

/// Change of the clock offset that is worth telling.
const OFFSET_STEP_MS: u64 = 100;

/// The end of the feed that one host has.
#[derive(Debug)]
pub(super) struct Teller {
    feed: FeedSender,
    state: HostState,
    waiting: Vec<FeedEvent>,
}

impl Teller {
    pub(super) fn new(feed: FeedSender, host: HostName, target: String) -> Self {
        Self {
            feed,
            state: HostState {
                host,
                target,
                link: LinkState::Connecting,
                mode: None,
                reason: None,
                state_dir: None,
                clock_offset_ms: None,
                round_trip: None,
            },
            waiting: Vec::new(),
        }
    }

    pub(super) const fn host(&self) -> &HostName {
        &self.state.host
    }

    pub(super) const fn mode(&self) -> Option<Mode> {
        self.state.mode
    }

    pub(super) const fn clock_offset_ms(&self) -> Option<i64> {
        self.state.clock_offset_ms
    }

    pub(super) const fn round_trip(&self) -> Option<Duration> {
        self.state.round_trip
    }

    /// Tells the state as it is.
    pub(super) fn tell_state(&mut self) {
        let event = FeedEvent::Host(self.state.clone());
        self.waiting.push(event);
    }

    pub(super) fn set_link(&mut self, link: LinkState, reason: Option<String>) {
        if self.state.link != link || (reason.is_some() && self.state.reason != reason) {
            self.state.link = link;
            self.state.reason = reason.or(self.state.reason.take());
            self.tell_state();
        }
    }

    /// The way live frames come, and why not a better one.
    pub(super) fn set_mode(&mut self, mode: Option<Mode>, reason: Option<String>) {
        if self.state.mode == mode && self.state.reason == reason {
            return;
        }
        if let Some(reason) = reason.as_ref().filter(|_| self.state.reason != reason) {
            self.notice(Severity::Info, reason.clone());
        }
        self.state.mode = mode;
        self.state.reason = reason;
        self.tell_state();
    }

    pub(super) fn set_state_dir(&mut self, state: &str) {
        if self.state.state_dir.as_deref() != Some(state) {
            self.state.state_dir = Some(state.to_owned());
            self.tell_state();
        }
    }

    /// The clock offset as it was measured, or a bound on it that a live frame shows.
    pub(super) fn set_clock_offset(&mut self, offset_ms: i64) {
        let step = self
            .state
            .clock_offset_ms
            .map_or(u64::MAX, |known| known.abs_diff(offset_ms));
        if step >= OFFSET_STEP_MS {
            self.state.clock_offset_ms = Some(offset_ms);
            self.tell_state();
        }
    }

    /// A live frame was stamped at `stamped` there and arrived at `arrived` here: the host's clock
    /// is not further behind than that (remote.md 9.4.8).
    pub(super) fn bound_clock_offset(&mut self, stamped: Timestamp, arrived: Timestamp) {
        let least = stamped.nanos_since(arrived) / 1_000_000;
        if self
            .state
            .clock_offset_ms
            .is_some_and(|known| known < least)
        {
            self.set_clock_offset(least);
        }
    }

    pub(super) fn set_round_trip(&mut self, trip: Duration) {
        let known = self.state.round_trip.unwrap_or_default();
        self.state.round_trip = Some(trip);
        let changed = known.abs_diff(trip);
        if changed > Duration::from_millis(5) && changed > known / 4 {
            self.tell_state();
        }
    }

    pub(super) fn notice(&mut self, severity: Severity, text: String) {
        let host = self.state.host.clone();
        self.waiting.push(FeedEvent::Notice {
            host,
            severity,
            text,
        });
    }

    pub(super) fn push(&mut self, event: FeedEvent) {
        self.waiting.push(event);
    }

    pub(super) fn extend(&mut self, events: impl IntoIterator<Item = FeedEvent>) {
        self.waiting.extend(events);
    }

    /// Hands everything over.
    ///
    /// # Errors
    /// When nobody listens any more.
    pub(super) async fn flush(&mut self) -> Result<(), Closed> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        self.feed.send(std::mem::take(&mut self.waiting)).await
    }
}
