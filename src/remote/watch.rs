//! One connection to a host: live source, listing, backfill and following, until it ends
//! (remote.md 2, 7 to 9).

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use tokio::{sync::mpsc, task::JoinSet};

use super::{
    attach::{Attached, Located, locate},
    far_error::{FarError, SftpError},
    handler::CloseReason,
    host::{End, Host},
    jobs::{self, REPORTS, Report, Reports},
    link::Connected,
    live::{LiveEvent, LiveQueue, accept},
    options::ModeChoice,
    place::Nonces,
    probe::{self, Probed},
    sftp::{LINK_TEST, Sftp, answers},
    sleep::Vigil,
    watch_progress::Speed,
};
use crate::feed::{FeedRequest, LinkState, Mode, Severity};

/// Live events that are taken in one turn.
const LIVE_AT_ONCE: usize = 4_096;
/// A log that grows so long without a live line raises doubt about our socket.
pub(super) const DOUBT_NANOS: i64 = 10_000_000_000;
/// Time for cleaning up.
pub(super) const CLEANUP: Duration = Duration::from_secs(3);

/// When something is due next.
#[derive(Debug)]
pub(super) struct Due {
    pub(super) listing: Instant,
    pub(super) sizes: Instant,
    /// Sizes of the logs that no listing tells of.
    pub(super) named: Instant,
    pub(super) ping: Instant,
    pub(super) attach: Option<Instant>,
    pub(super) sftp: Option<Instant>,
    pub(super) progress: Instant,
}

/// Which of the jobs run that there is one of at a time (after a pause a ping runs beside another).
#[expect(
    clippy::struct_excessive_bools,
    reason = "one flag for each kind of job"
)]
#[derive(Debug, Default)]
pub(super) struct Running {
    pub(super) listing: bool,
    pub(super) sizes: bool,
    pub(super) ping: bool,
    pub(super) attach: bool,
    pub(super) test: bool,
    pub(super) sftp: bool,
}

/// The connection and its jobs.
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent facts of one connection"
)]
pub(super) struct Watch<'h> {
    pub(super) host: &'h mut Host,
    pub(super) link: Arc<Connected>,
    pub(super) sftp: Option<Arc<Sftp>>,
    pub(super) sftp_failures: u32,
    pub(super) located: Located,
    pub(super) sessions_dir: Arc<str>,
    pub(super) probed: Option<Probed>,
    pub(super) nonces: Nonces,
    pub(super) queue: Arc<LiveQueue>,
    pub(super) attached: Option<Attached>,
    pub(super) jobs: JoinSet<()>,
    pub(super) reports: Reports,
    pub(super) inbox: mpsc::Receiver<Report>,
    pub(super) due: Due,
    pub(super) running: Running,
    pub(super) began: Instant,
    pub(super) vigil: Vigil,
    pub(super) is_listed: bool,
    pub(super) told_absent: bool,
    pub(super) told_cut: bool,
    pub(super) told_unreadable: Option<SftpError>,
    pub(super) listing_told: (usize, usize, usize),
    pub(super) foreign_told: u64,
    pub(super) unreadable: u64,
    pub(super) speed: Speed,
    pub(super) is_loading: bool,
}

/// Watches a host over one connection.
pub(super) async fn watch(host: &mut Host, mut connected: Connected) -> End {
    // The receiver goes to its own task; the rest is shared.
    let incoming = std::mem::replace(&mut connected.incoming, mpsc::channel(1).1);
    let link = Arc::new(connected);
    host.teller.set_link(LinkState::Backfilling, None);
    if host.teller.flush().await.is_err() {
        return End::Stopped;
    }
    let mut stop = host.stop.clone();
    let first = tokio::select! {
        biased;
        () = stopped(&mut stop) => return End::Stopped,
        first = first_steps(host, &link) => first,
    };
    let (sftp, probed, located) = match first {
        Ok(first) => first,
        Err(end) => return end,
    };
    let mut watch = Watch::new(host, link, sftp, probed, located);
    watch.jobs.spawn(accept(
        incoming,
        Arc::clone(&watch.queue),
        watch.nonces.clone(),
        watch.host.clock,
    ));
    let end = watch.run().await;
    watch.close(&end).await;
    end
}

/// SFTP, probe and state directory.
async fn first_steps(
    host: &mut Host,
    link: &Arc<Connected>,
) -> Result<(Arc<Sftp>, Option<Probed>, Located), End> {
    // SFTP first: it gets the only session where just one is allowed (remote.md 6).
    let (sftp, probed) = tokio::join!(Sftp::open(link), probe::run(link, host.clock));
    let sftp = match sftp {
        Ok(sftp) => Arc::new(sftp),
        // A link that stalled in this moment is lost; only a server that answers has no SFTP.
        Err(_) if !answers(link, LINK_TEST).await => return Err(lost(link)),
        Err(error) => {
            let reason = error.to_string();
            return Err(End::Failed(FarError::NoSftp { reason }.into()));
        }
    };
    if let Some(offset) = probed.as_ref().and_then(|probed| probed.clock_offset) {
        host.teller.measure_clock_offset(offset);
    }
    let location = host.options.location.as_ref();
    let ((), located) = tokio::join!(
        sftp.learn_limits(),
        locate(&sftp, location, probed.as_ref(), &host.resolved.user)
    );
    let located = located.map_err(|error| match error {
        SftpError::Ended => lost(link),
        error => End::Lost(error.to_string()),
    })?;
    for notice in &located.notices {
        host.teller.notice(Severity::Warning, notice.clone());
    }
    host.teller.set_state_dir(&located.state);
    Ok((sftp, probed, located))
}

/// The end of a connection, with what is known of it.
pub(super) fn lost(link: &Connected) -> End {
    End::Lost(match link.closed.reason() {
        Some(CloseReason::Disconnected { message }) => {
            format!("the server disconnected: {message}")
        }
        Some(CloseReason::Silent) => "no answer to keepalives".to_owned(),
        Some(CloseReason::Broken(text)) => text,
        None => "the connection ended".to_owned(),
    })
}

/// Waits for the signal to stop.
pub(super) async fn stopped(stop: &mut tokio::sync::watch::Receiver<bool>) {
    if stop.wait_for(|stop| *stop).await.is_err() {
        // Whoever could have asked is gone: that is a wish to stop, too.
    }
}

impl<'h> Watch<'h> {
    fn new(
        host: &'h mut Host,
        link: Arc<Connected>,
        sftp: Arc<Sftp>,
        probed: Option<Probed>,
        located: Located,
    ) -> Self {
        let (sender, inbox) = mpsc::channel(REPORTS);
        let now = Instant::now();
        let vigil = Vigil::new(host.clock.reading());
        let sessions_dir: Arc<str> = format!("{}/sessions", located.state).into();
        host.intake.logs.set_directory(&sessions_dir);
        let user = probed.as_ref().and_then(|probed| probed.answer.uid);
        host.intake.user = user.or(host.intake.user);
        Self {
            host,
            link,
            sftp: Some(sftp),
            sftp_failures: 0,
            located,
            sessions_dir,
            probed,
            nonces: Nonces::default(),
            queue: Arc::default(),
            attached: None,
            jobs: JoinSet::new(),
            reports: Reports(sender),
            inbox,
            due: Due {
                listing: now,
                sizes: now,
                named: now,
                ping: now,
                attach: Some(now),
                sftp: None,
                progress: now,
            },
            running: Running::default(),
            began: now,
            vigil,
            is_listed: false,
            told_absent: false,
            told_cut: false,
            told_unreadable: None,
            listing_told: (usize::MAX, 0, 0),
            foreign_told: 0,
            unreadable: 0,
            speed: Speed::new(now),
            is_loading: true,
        }
    }

    async fn run(&mut self) -> End {
        self.choose_source();
        loop {
            self.start_due();
            if let Some(end) = self.settle().await {
                return end;
            }
            if let Some(end) = self.turn().await {
                return end;
            }
            self.take_live();
        }
    }

    /// Without a socket the logs are looked at quickly, or not followed at all.
    fn choose_source(&mut self) {
        let mode = self.host.mode();
        if matches!(mode, ModeChoice::Log | ModeChoice::History) {
            self.due.attach = None;
        }
        match mode {
            ModeChoice::History => self.host.teller.set_mode(Some(Mode::History), None),
            ModeChoice::Log => {
                let every = self.poll_pause();
                self.host.teller.set_mode(Some(Mode::Log { every }), None);
            }
            ModeChoice::Auto | ModeChoice::Socket => {}
        }
    }

    /// Waits for something and handles it.
    async fn turn(&mut self) -> Option<End> {
        let until = tokio::time::Instant::from_std(self.next_due());
        let mut closed = self.link.closed.clone();
        tokio::select! {
            biased;
            () = stopped(&mut self.host.stop) => return Some(End::Stopped),
            _ = closed.wait() => return Some(lost(&self.link)),
            Some(request) = self.host.requests.recv() => return self.request(request),
            Some(report) = self.inbox.recv() => return self.report(report),
            () = self.queue.ready() => {}
            Some(_) = self.jobs.join_next() => {}
            () = tokio::time::sleep_until(until) => {}
        }
        None
    }

    pub(super) fn remote_now(&self) -> Option<i64> {
        let offset = self.host.teller.clock_offset_ms()?;
        Some(self.host.clock.now().as_secs() + offset / 1_000)
    }

    /// Takes what recorders sent.
    fn take_live(&mut self) {
        let taken = self.queue.take(LIVE_AT_ONCE);
        for event in taken.events {
            match event {
                LiveEvent::Line(line, arrived) => {
                    self.host.intake.live(*line, arrived, &mut self.host.teller);
                }
                LiveEvent::Producer(session, change) => {
                    self.host.intake.logs.producer(&session, change);
                }
            }
        }
        for session in &taken.lost {
            self.host.intake.lost(session);
        }
        if taken.lost_any {
            self.due.listing = Instant::now();
        }
        // A flood of them is told ever more rarely.
        if taken.foreign > self.foreign_told.saturating_mul(2) {
            self.foreign_told = taken.foreign;
            let text = format!(
                "{} connections to the socket sent something else and were closed",
                taken.foreign
            );
            self.host.teller.notice(Severity::Warning, text);
        }
    }

    /// Delivers, tells the progress, and sees whether a run that ends is done.
    async fn settle(&mut self) -> Option<End> {
        let now = self.host.clock.now();
        self.host.intake.tick(now);
        self.host.intake.deliver(now, &mut self.host.teller);
        if self.host.intake.wants_listing() {
            // At most one listing at a time, so this is no flood.
            self.due.listing = Instant::now();
        }
        if let Some(sftp) = self.sftp.clone() {
            self.start_reading(&sftp);
        }
        let end = self.tell_progress(now);
        tokio::select! {
            biased;
            () = stopped(&mut self.host.stop) => Some(End::Stopped),
            sent = self.host.teller.flush() => match sent {
                Ok(()) => end,
                Err(_) => Some(End::Stopped),
            },
        }
    }

    fn request(&mut self, request: FeedRequest) -> Option<End> {
        let now = self.host.clock.now();
        match request {
            FeedRequest::LoadOlder(more) => {
                self.host.intake.logs.load_older(more);
                self.is_loading = true;
            }
            FeedRequest::LoadFirst(key) => {
                if let Some(name) = self.host.intake.logs.log_of(&key.id) {
                    self.host.intake.logs.load(&name);
                    self.host.intake.logs.first(&name);
                    self.is_loading = true;
                }
            }
            FeedRequest::ReadBody { key, seq, place } => {
                if let Some(sftp) = &self.sftp {
                    let sftp = Arc::clone(sftp);
                    let body = jobs::body(sftp, key, seq, place, self.reports.clone());
                    self.jobs.spawn(body);
                } else {
                    let request = FeedRequest::ReadBody { key, seq, place };
                    self.host.without_link(request);
                }
            }
            FeedRequest::Recall(wanted) => {
                if let Some(sftp) = &self.sftp {
                    let recall = jobs::recall(Arc::clone(sftp), wanted, self.reports.clone());
                    self.jobs.spawn(recall);
                } else {
                    self.host.without_link(FeedRequest::Recall(wanted));
                }
            }
            FeedRequest::Reconnect(_) => {
                // The user doubts the connection.
                self.due.ping = Instant::now();
            }
            FeedRequest::Disconnect(_) => return Some(End::Disconnected),
            FeedRequest::Answer { .. } => {}
        }
        self.host.intake.take_queued(now);
        self.tell_logs();
        None
    }
}
