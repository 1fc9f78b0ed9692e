//! Which jobs of a connection are due, and when the next is (remote.md 9.1).

use std::{
    collections::BTreeSet,
    sync::Arc,
    time::{Duration, Instant},
};

use super::{
    attach::attach,
    jobs,
    listing::LISTING_PAUSE,
    sftp::Sftp,
    watch::{DOUBT_NANOS, Watch},
};
use crate::{base::Timestamp, feed::Mode};

/// How long an answer to a test of the connection may take, also after this machine slept.
const PING_LIMIT: Duration = Duration::from_secs(15);
const WAKE_LIMIT: Duration = Duration::from_secs(3);

impl Watch<'_> {
    /// Starts the jobs that are due.
    pub(super) fn start_due(&mut self) {
        let now = Instant::now();
        let slept = self.vigil.has_slept(self.host.clock.reading());
        if slept || (!self.running.ping && now >= self.due.ping) {
            self.running.ping = true;
            let limit = if slept { WAKE_LIMIT } else { PING_LIMIT };
            let ping = jobs::ping(Arc::clone(&self.link), limit, self.reports.clone());
            self.jobs.spawn(ping);
        }
        if self.due.sftp.is_some_and(|due| now >= due) && !self.running.sftp {
            self.running.sftp = true;
            self.due.sftp = None;
            let reopen = jobs::reopen(Arc::clone(&self.link), self.reports.clone());
            self.jobs.spawn(reopen);
        }
        let Some(sftp) = self.sftp.clone() else {
            return;
        };
        self.start_attach(&sftp, now);
        self.start_listing(&sftp, now);
        self.start_sizes(&sftp, now);
        self.start_reading(&sftp);
        self.doubt(self.host.clock.now());
    }

    pub(super) fn start_attach(&mut self, sftp: &Arc<Sftp>, now: Instant) {
        if self.running.attach || self.due.attach.is_none_or(|due| now < due) {
            return;
        }
        self.due.attach = None;
        self.running.attach = true;
        let work = attach(
            Arc::clone(&self.link),
            Arc::clone(sftp),
            self.located.clone(),
            self.probed.clone(),
            self.nonces.clone(),
            self.host.clock,
            Arc::clone(&self.host.mark),
        );
        self.jobs.spawn(jobs::attach(work, self.reports.clone()));
    }

    pub(super) fn start_listing(&mut self, sftp: &Arc<Sftp>, now: Instant) {
        if self.running.listing || now < self.due.listing {
            return;
        }
        self.running.listing = true;
        let number = self.host.intake.begin_listing();
        let list = jobs::list(
            Arc::clone(sftp),
            Arc::clone(&self.sessions_dir),
            number,
            self.reports.clone(),
        );
        self.jobs.spawn(list);
    }

    pub(super) fn start_sizes(&mut self, sftp: &Arc<Sftp>, now: Instant) {
        let logs = &self.host.intake.logs;
        let asked = !self.host.intake.ask_size.is_empty();
        let named = !logs.named().is_empty() && now >= self.due.named;
        let due = asked || named || now >= self.due.sizes;
        if self.running.sizes || !self.wants_sizes() || !due {
            return;
        }
        let mut names: BTreeSet<_> = self.host.intake.ask_size.iter().cloned().collect();
        if matches!(self.host.teller.mode(), Some(Mode::Log { .. })) {
            names.extend(logs.fresh(self.host.clock.now(), self.remote_now()));
        }
        if named {
            // The listing tells nothing of them.
            names.extend(logs.named().iter().cloned());
            self.due.named = now + LISTING_PAUSE;
        }
        let mut paths = Vec::new();
        let mut gone = Vec::new();
        for name in names {
            match logs.get(&name) {
                Some(log) => paths.push((name, Arc::clone(&log.path))),
                None => gone.push(name),
            }
        }
        let at = self.host.clock.now();
        for name in gone {
            self.host.intake.ask_size.remove(&name);
            self.host.intake.unreadable(&name, at);
        }
        self.due.sizes = now + self.poll_pause();
        if paths.is_empty() {
            return;
        }
        self.running.sizes = true;
        let sizes = jobs::sizes(Arc::clone(sftp), paths, self.reports.clone());
        self.jobs.spawn(sizes);
    }

    pub(super) fn start_reading(&mut self, sftp: &Arc<Sftp>) {
        while let Some(reading) = self.host.intake.logs.start() {
            let at = self.host.clock.now();
            self.host.intake.begins(&reading.name, at);
            let read = jobs::read_log(Arc::clone(sftp), reading, self.reports.clone());
            self.jobs.spawn(read);
        }
    }

    /// A log that grows without any live line: is the socket still ours (remote.md 8.7.4)?
    pub(super) fn doubt(&mut self, now: Timestamp) {
        let Some(attached) = self.attached.clone().filter(|_| !self.running.test) else {
            return;
        };
        let doubtful = self.host.intake.logs.clear_doubts(now, DOUBT_NANOS);
        if doubtful {
            self.running.test = true;
            self.jobs.spawn(jobs::test(attached, self.reports.clone()));
        }
    }

    /// True when single sizes are asked for between the listings.
    pub(super) fn wants_sizes(&self) -> bool {
        self.sftp.is_some()
            && self.is_listed
            && (!self.host.intake.ask_size.is_empty()
                || !self.host.intake.logs.named().is_empty()
                || matches!(self.host.teller.mode(), Some(Mode::Log { .. })))
    }

    /// Pause between two looks at the sizes (remote.md 9.1).
    pub(super) fn poll_pause(&self) -> Duration {
        match self.host.teller.round_trip() {
            Some(trip) if trip >= Duration::from_millis(100) => Duration::from_millis(500) + trip,
            _ => Duration::from_millis(250),
        }
    }

    pub(super) fn next_due(&self) -> Instant {
        let now = Instant::now();
        let mut next = now + Duration::from_secs(5);
        let mut take = |due: Option<Instant>| next = due.map_or(next, |due| next.min(due));
        take((!self.running.listing && self.sftp.is_some()).then_some(self.due.listing));
        if !self.running.sizes && self.wants_sizes() {
            let named_alone = self.host.intake.ask_size.is_empty()
                && !matches!(self.host.teller.mode(), Some(Mode::Log { .. }));
            take(Some(if named_alone {
                self.due.named
            } else {
                self.due.sizes
            }));
        }
        take((!self.running.ping).then_some(self.due.ping));
        take(self.due.attach.filter(|_| !self.running.attach));
        take(self.due.sftp.filter(|_| !self.running.sftp));
        take(self.is_loading.then_some(self.due.progress));
        take(self.host.intake.deadline().map(|at| {
            let wait = at.nanos_since(self.host.clock.now());
            now + Duration::from_nanos(u64::try_from(wait).unwrap_or(0))
        }));
        next
    }
}
