//! What the viewer of one log is told beside its frames: state, progress, damage.

use std::{sync::Arc, time::Duration};

use super::{opened::Opened, piece::stat_log};
use crate::{
    base::{ByteCount, Timestamp},
    feed::{FeedEvent, HostState, LinkState, Mode, Progress, SessionNews, Severity},
    record::SessionKey,
};

/// Shortest time between two reports of progress.
const REPORT_NANOS: i64 = 150_000_000;
/// Pause between two looks at the file, as `ahead` makes them.
const LOOK: Duration = Duration::from_millis(250);

impl Opened<'_> {
    pub(super) fn tell_problems(&mut self, torn: bool) {
        let mut notices = Vec::new();
        if self.damaged > 0 {
            let lines = if self.damaged == 1 { "line" } else { "lines" };
            notices.push((
                Severity::Warning,
                format!(
                    "{} damaged {lines} (first: line {})",
                    self.damaged, self.first_damage
                ),
            ));
        }
        if torn {
            notices.push((Severity::Info, "the last line is incomplete".to_owned()));
        }
        for (severity, text) in notices {
            let host = self.host.clone();
            self.out.push(FeedEvent::Notice {
                host,
                severity,
                text,
            });
        }
    }

    pub(super) fn tell_session(&mut self, key: SessionKey) {
        let stat = self.is_file.then(|| stat_log(&self.path)).flatten();
        self.out.push(FeedEvent::Session(SessionNews {
            key,
            log: self.is_file.then(|| Arc::clone(&self.path)),
            size: ByteCount(stat.map_or(self.position, |stat| stat.size)),
            modified: stat.map(|stat| stat.modified),
            loaded: self.loaded,
            liveness: self.liveness,
            damaged: self.damaged,
        }));
    }

    pub(super) fn tell_host(&mut self, link: LinkState) {
        let mode = if self.follow {
            Mode::Log { every: LOOK }
        } else {
            Mode::History
        };
        self.out.push(FeedEvent::Host(HostState {
            host: self.host.clone(),
            target: String::new(),
            link,
            mode: Some(mode),
            reason: None,
            state_dir: None,
            clock_offset_ms: None,
            round_trip: None,
        }));
    }

    /// Reports progress until everything was read, then once more.
    pub(super) fn report(&mut self, now: Timestamp) {
        let done = self.loaded && self.reported != Timestamp::default();
        if done || now.nanos_since(self.reported) < REPORT_NANOS {
            return;
        }
        let passed = now.nanos_since(self.second.1);
        if passed >= 1_000_000_000 || self.rate == 0 {
            let nanos = u128::try_from(passed.max(1)).unwrap_or(1);
            let bytes = u128::from(self.position.saturating_sub(self.second.0));
            self.rate = u64::try_from(bytes * 1_000_000_000 / nanos).unwrap_or(u64::MAX);
            self.second = (self.position, now);
        }
        self.reported = now;
        self.out.push(FeedEvent::Progress(Progress {
            host: self.host.clone(),
            sessions_done: usize::from(self.loaded),
            sessions_total: 1,
            bytes_done: ByteCount(self.position),
            bytes_total: ByteCount(self.size),
            bytes_per_second: ByteCount(self.rate),
        }));
    }
}
