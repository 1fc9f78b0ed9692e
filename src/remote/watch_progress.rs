//! How far loading is, and what is told of it (remote.md 9.2).

use std::time::{Duration, Instant};

use super::{host::End, listing::skipped_names, watch::Watch};
use crate::{
    base::{ByteCount, Timestamp},
    feed::{FeedEvent, LinkState, Listing, Progress, Severity},
};

/// Pause between two tellings of the progress.
const PROGRESS_PAUSE: Duration = Duration::from_millis(200);

/// Bytes of the last second.
#[derive(Debug)]
pub(super) struct Speed {
    since: Instant,
    bytes: u64,
    rate: u64,
}

impl Speed {
    pub(super) const fn new(now: Instant) -> Self {
        Self {
            since: now,
            bytes: 0,
            rate: 0,
        }
    }

    pub(super) fn add(&mut self, bytes: u64, now: Instant) {
        self.bytes += bytes;
        let passed = now.saturating_duration_since(self.since);
        if passed >= Duration::from_secs(1) {
            let rate = u128::from(self.bytes) * 1_000 / passed.as_millis().max(1);
            self.rate = u64::try_from(rate).unwrap_or(u64::MAX);
            self.since = now;
            self.bytes = 0;
        }
    }
}

impl Watch<'_> {
    /// Tells how far loading is, and what follows when it is done.
    pub(super) fn tell_progress(&mut self, now: Timestamp) -> Option<End> {
        if !self.is_loading {
            return None;
        }
        let waits_for_socket = self.running.attach
            || self.due.attach.is_some()
                && self.attached.is_none()
                && self.host.teller.mode().is_none();
        let done = self.is_listed
            && self.host.intake.logs.is_idle()
            && self.host.intake.ask_size.is_empty()
            && !waits_for_socket;
        if done || Instant::now() >= self.due.progress {
            self.due.progress = Instant::now() + PROGRESS_PAUSE;
            let amounts = self.host.intake.logs.amounts();
            let progress = Progress {
                host: self.host.teller.host().clone(),
                sessions_done: amounts.sessions_done,
                sessions_total: amounts.sessions_total,
                bytes_done: ByteCount(amounts.bytes_done),
                bytes_total: ByteCount(amounts.bytes_total),
                bytes_per_second: ByteCount(self.speed.rate),
            };
            self.host.teller.push(FeedEvent::Progress(progress));
        }
        if !done {
            return None;
        }
        self.is_loading = false;
        if self.host.options.once {
            let torn = self.host.intake.close_all(now);
            if torn > 0 {
                let text = format!("{torn} logs end in an incomplete line");
                self.host.teller.notice(Severity::Info, text);
            }
            self.host.intake.deliver(now, &mut self.host.teller);
            self.tell_logs();
            return Some(End::Finished);
        }
        self.host.teller.set_link(LinkState::Live, None);
        None
    }

    /// Tells what changed of the logs.
    pub(super) fn tell_logs(&mut self) {
        let remote_now = self.remote_now();
        let news = self.host.intake.logs.news(remote_now);
        self.host
            .teller
            .extend(news.into_iter().map(FeedEvent::Session));
        let totals = self.host.intake.logs.totals();
        if totals != self.listing_told {
            let skipped = totals.2;
            if skipped > 0 && skipped != self.listing_told.2 {
                let words = skipped_names(skipped);
                self.host.teller.notice(Severity::Info, words);
            }
            self.listing_told = totals;
            let (total, chosen, skipped) = totals;
            let listing = Listing {
                host: self.host.teller.host().clone(),
                total,
                chosen,
                skipped,
            };
            self.host.teller.push(FeedEvent::Listing(listing));
        }
    }
}
