//! What a host's task tells the viewer: collected, sent in order, and the state only when it
//! changed.

use std::time::Duration;

use super::probe::ClockOffset;
use crate::{
    base::Timestamp,
    feed::{Closed, FeedEvent, FeedSender, HostState, LinkState, Mode, Severity},
    record::HostName,
};

/// Change of the clock offset by a live frame that is worth telling.
const OFFSET_STEP_MS: i64 = 100;

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

    /// There is no link, for this reason alone. Told each time: the viewer dates the newest of equal
    /// errors by it.
    pub(super) fn tell_down(&mut self, link: LinkState, reason: Option<String>) {
        self.state.link = link;
        self.state.reason = reason;
        self.tell_state();
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

    /// The clock offset as it was measured. What the measurement cannot tell from the offset that is
    /// known, or at first from none, changes nothing (remote.md 6.3).
    pub(super) fn measure_clock_offset(&mut self, measured: ClockOffset) {
        let known = self.state.clock_offset_ms.unwrap_or(0);
        if known.abs_diff(measured.millis) > measured.within {
            self.set_clock_offset(measured.millis);
        } else if self.state.clock_offset_ms.is_none() {
            self.set_clock_offset(known);
        }
    }

    /// A live frame was stamped at `stamped` there and arrived at `arrived` here: the host's clock
    /// is not further behind than that (remote.md 9.4.8).
    pub(super) fn bound_clock_offset(&mut self, stamped: Timestamp, arrived: Timestamp) {
        let least = stamped.nanos_since(arrived) / 1_000_000;
        if self
            .state
            .clock_offset_ms
            .is_some_and(|known| known <= least.saturating_sub(OFFSET_STEP_MS))
        {
            self.set_clock_offset(least);
        }
    }

    fn set_clock_offset(&mut self, offset_ms: i64) {
        self.state.clock_offset_ms = Some(offset_ms);
        self.tell_state();
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::feed::channel;

    fn teller() -> Teller {
        let (feed, _receiver) = channel();
        Teller::new(feed, HostName("h".into()), "d@h:22".to_owned())
    }

    #[test]
    fn only_what_a_measurement_can_tell_is_an_offset() {
        let cases: [(&[(i64, u64)], i64); 7] = [
            (&[(0, 500)], 0),
            (&[(-480, 500)], 0),
            (&[(700, 800)], 0),
            (&[(501, 500)], 501),
            (&[(-3_200, 520)], -3_200),
            // The next connection measures anew, and no better.
            (&[(3_200, 520), (2_700, 510)], 3_200),
            (&[(3_200, 520), (0, 510)], 0),
        ];
        for (measured, expected) in cases {
            let mut teller = teller();
            for &(millis, within) in measured {
                teller.measure_clock_offset(ClockOffset { millis, within });
            }
            assert_eq!(teller.clock_offset_ms(), Some(expected), "{measured:?}");
        }
    }

    #[test]
    fn a_live_frame_bounds_a_known_offset() {
        let at = |millis: i64| Timestamp::from_nanos(millis * 1_000_000);
        let mut teller = teller();
        teller.bound_clock_offset(at(5_000), at(0));
        assert_eq!(teller.clock_offset_ms(), None, "nothing is measured yet");
        teller.measure_clock_offset(ClockOffset {
            millis: 0,
            within: 500,
        });
        for (stamped, expected) in [(-50, 0), (99, 0), (300, 300), (200, 300)] {
            teller.bound_clock_offset(at(stamped), at(0));
            assert_eq!(teller.clock_offset_ms(), Some(expected), "{stamped}");
        }
    }
}
