//! How far the backfill is, and the state of the host that follows from it.

use std::time::Duration;

use crate::{
    base::{ByteCount, Clock, Timestamp},
    feed::{FeedEvent, HostState, LinkState, Mode, Progress},
    record::HostName,
};

/// Shortest time between two reports of progress.
const REPORT_NANOS: i64 = 200_000_000;

/// Counts of the backfill, and what was told of the host.
#[derive(Debug)]
pub(super) struct Backfill {
    host: HostName,
    begun: bool,
    done: usize,
    total: usize,
    bytes_done: u64,
    bytes_total: u64,
    /// Bytes at the begin of the present second, and when that was.
    second: (u64, Timestamp),
    rate: u64,
    /// What was last reported, and when.
    reported: (usize, usize, Timestamp),
    mode: Mode,
    reason: Option<String>,
    state_dir: String,
    told: Option<(LinkState, Mode, Option<String>)>,
}

impl Backfill {
    pub(super) fn new(host: HostName) -> Self {
        Self {
            host,
            begun: false,
            done: 0,
            total: 0,
            bytes_done: 0,
            bytes_total: 0,
            second: (0, Timestamp::default()),
            rate: 0,
            reported: (0, 0, Timestamp::default()),
            mode: Mode::History,
            reason: None,
            state_dir: String::new(),
            told: None,
        }
    }

    /// How live frames come from now on, and why not better.
    pub(super) fn set_mode(&mut self, mode: Mode, reason: Option<String>, state_dir: String) {
        self.mode = mode;
        self.reason = reason;
        self.state_dir = state_dir;
    }

    pub(super) const fn has_begun(&self) -> bool {
        self.begun
    }

    pub(super) const fn begin(&mut self) {
        self.begun = true;
    }

    /// A log was chosen.
    pub(super) const fn add(&mut self, bytes: u64) {
        self.total += 1;
        self.bytes_total = self.bytes_total.saturating_add(bytes);
    }

    /// Bytes were read.
    pub(super) const fn read(&mut self, bytes: u64) {
        if self.done < self.total {
            self.bytes_done = self.bytes_done.saturating_add(bytes);
        }
    }

    /// A log was read for the first time, or cannot be.
    pub(super) fn done(&mut self, clock: &Clock) {
        self.done = (self.done + 1).min(self.total);
        if self.done == self.total {
            // The last report is due now.
            self.reported.2 = Timestamp::default();
            self.bytes_done = self.bytes_total;
            self.rate = self.rate.max(self.rate_at(clock.now()));
        }
    }

    /// The directory cannot be read.
    pub(super) fn trouble(&mut self, text: String, out: &mut Vec<FeedEvent>) {
        if self.reason.as_ref() != Some(&text) {
            self.reason = Some(text);
            self.tell_host(out);
        }
    }

    /// Tells what changed.
    pub(super) fn tell(&mut self, now: Timestamp, out: &mut Vec<FeedEvent>) {
        self.tell_host(out);
        let (done, total, at) = self.reported;
        let changed = self.begun && (done, total) != (self.done, self.total);
        let reading = self.done < self.total;
        if now.nanos_since(at) < REPORT_NANOS || !(changed || reading) {
            return;
        }
        if now.nanos_since(self.second.1) >= 1_000_000_000 {
            self.rate = self.rate_at(now);
            self.second = (self.bytes_done, now);
        }
        self.reported = (self.done, self.total, now);
        out.push(FeedEvent::Progress(Progress {
            host: self.host.clone(),
            sessions_done: self.done,
            sessions_total: self.total,
            bytes_done: ByteCount(self.bytes_done.min(self.bytes_total)),
            bytes_total: ByteCount(self.bytes_total),
            bytes_per_second: ByteCount(self.rate),
        }));
    }

    fn rate_at(&self, now: Timestamp) -> u64 {
        let nanos = u128::try_from(now.nanos_since(self.second.1)).unwrap_or(0);
        let second = Duration::from_secs(1).as_nanos();
        if self.second.1 == Timestamp::default() || nanos == 0 {
            return self.bytes_done;
        }
        let bytes = u128::from(self.bytes_done.saturating_sub(self.second.0));
        u64::try_from(bytes * second / nanos).unwrap_or(u64::MAX)
    }

    fn tell_host(&mut self, out: &mut Vec<FeedEvent>) {
        let link = if !self.begun {
            LinkState::Connecting
        } else if self.done < self.total {
            LinkState::Backfilling
        } else {
            LinkState::Live
        };
        let news = (link, self.mode, self.reason.clone());
        if self.told.as_ref() == Some(&news) {
            return;
        }
        self.told = Some(news.clone());
        out.push(FeedEvent::Host(HostState {
            host: self.host.clone(),
            target: String::new(),
            link: news.0,
            mode: Some(news.1),
            reason: news.2,
            state_dir: Some(self.state_dir.clone()),
            clock_offset_ms: None,
            round_trip: None,
        }));
    }
}
