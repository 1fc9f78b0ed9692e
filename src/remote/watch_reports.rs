//! What the jobs of a connection found, and what follows from it.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use super::{
    attach::{Attached, NoSocket},
    far_error::{FarError, SftpError},
    host::End,
    jobs::{self, Report, Sizes, Stop},
    listing::{FarListing, LISTING_PAUSE},
    names::{self, fits},
    options::ModeChoice,
    sftp::Sftp,
    watch::{DOUBT_NANOS, Watch, lost},
};
use crate::{
    base::Timestamp,
    feed::{BodyOutcome, FeedEvent, Follower, Mode, Severity},
};

/// Pause between two measurements of the round trip.
const PING_PAUSE: Duration = Duration::from_secs(30);
/// Pause before a mode that failed is tried again.
const MODE_PAUSE: Duration = Duration::from_secs(30);
/// The same while another viewer has the socket: it says `busy` at once, and leaves it behind soon.
const LENT_PAUSE: Duration = Duration::from_secs(8);
/// Looks for a directory that does not exist yet: often at first, then rarely.
const ABSENT_PATIENCE: Duration = Duration::from_mins(5);
const ABSENT_PAUSE: Duration = Duration::from_secs(30);
/// Logs that cannot be read, each of which has a message of its own.
const NAMED_ONE_BY_ONE: u64 = 4;
/// SFTP sessions in a row that end at once, before the connection is given up.
const SFTP_TRIES: u32 = 5;

impl Watch<'_> {
    pub(super) fn report(&mut self, report: Report) -> Option<End> {
        let now = self.host.clock.now();
        match report {
            Report::Lines {
                name,
                events,
                bytes,
            } => {
                self.speed.add(bytes, Instant::now());
                self.host.intake.lines(&name, events, bytes, now);
                None
            }
            Report::Read {
                name,
                follower,
                small,
                outcome,
            } => {
                self.read(&name, *follower, small, outcome, now);
                None
            }
            Report::Listed(number, listing) => self.listed(number, listing, now),
            Report::Sizes(sizes) => {
                self.running.sizes = false;
                self.sized(sizes, now);
                None
            }
            Report::Attached(attached) => {
                self.running.attach = false;
                self.has_attached(attached)
            }
            Report::Tested(ours) => {
                self.running.test = false;
                match ours {
                    Ok(false) => {
                        let text = "hub.sock is not ours any more; attaching again".to_owned();
                        self.host.teller.notice(Severity::Info, text);
                        self.attached = None;
                        self.due.attach = Some(Instant::now());
                    }
                    Err(error) if error.ends_session() => self.sftp_failed(&error),
                    // Where it could not be told, the next doubt asks again.
                    Ok(true) | Err(_) => {}
                }
                None
            }
            Report::Pinged(trip) => {
                self.running.ping = false;
                self.due.ping = Instant::now() + PING_PAUSE;
                let Some(trip) = trip else {
                    return Some(End::Lost("no answer from the server".to_owned()));
                };
                self.host.teller.set_round_trip(trip);
                self.host.intake.set_round_trip(trip);
                None
            }
            Report::Body { key, seq, body } => {
                let outcome = match body {
                    Ok(line) => BodyOutcome::Line(line),
                    Err(reason) => BodyOutcome::Unavailable(reason),
                };
                self.host.teller.push(FeedEvent::Body { key, seq, outcome });
                None
            }
            Report::Recalled(events) => {
                for event in events {
                    self.host.teller.push(event);
                }
                None
            }
            Report::Sftp(sftp) => self.sftp_again(sftp),
        }
    }

    pub(super) fn read(
        &mut self,
        name: &Arc<str>,
        follower: Follower,
        small: bool,
        outcome: Result<Stop, SftpError>,
        now: Timestamp,
    ) {
        match outcome {
            Ok(Stop::End | Stop::Turn) => {
                if self.host.intake.logs.finished(name, follower, small) {
                    if self.attached.is_some()
                        && self
                            .host
                            .intake
                            .last_live(name)
                            .is_none_or(|last| now.nanos_since(last) > DOUBT_NANOS)
                    {
                        self.host.intake.logs.raise_doubt(name, now);
                    }
                    self.host.intake.read_to_end(name, now);
                }
            }
            Ok(Stop::Short) => {
                self.host.intake.logs.failed(name, follower, small, true);
                self.host.intake.read_to_end(name, now);
            }
            Err(error) if error.ends_session() => {
                self.host.intake.logs.failed(name, follower, small, false);
                self.sftp_failed(&error);
            }
            Err(error) if self.host.intake.logs.is_named(name) => {
                self.host.intake.logs.failed(name, follower, small, true);
                self.host.intake.bar(name, now, &mut self.host.teller);
                let text = format!("{name} is not read: {error}");
                self.host.teller.notice(Severity::Warning, text);
            }
            Err(error) => {
                self.host.intake.logs.failed(name, follower, small, true);
                self.host.intake.unreadable(name, now);
                self.unreadable += 1;
                if let Some(text) = unreadable_words(self.unreadable, name, &error) {
                    self.host.teller.notice(Severity::Warning, text);
                }
            }
        }
        let remote_now = self.remote_now();
        let mut news = Vec::new();
        self.host.intake.logs.news_of(name, remote_now, &mut news);
        self.host
            .teller
            .extend(news.into_iter().map(FeedEvent::Session));
    }

    pub(super) fn listed(
        &mut self,
        number: u64,
        listing: Result<FarListing, SftpError>,
        now: Timestamp,
    ) -> Option<End> {
        self.running.listing = false;
        self.due.listing = Instant::now() + LISTING_PAUSE;
        let listing = match listing {
            Ok(listing) => listing,
            Err(SftpError::NotFound) => match self.nothing_yet() {
                None => FarListing::default(),
                Some(end) => return Some(end),
            },
            Err(error) if error.ends_session() => {
                self.sftp_failed(&error);
                return None;
            }
            Err(source) if self.is_listed => {
                // It could be read before: what is shown stays, and it is tried again.
                let text = format!("{} cannot be read now: {source}", self.sessions_dir);
                if self.told_unreadable.as_ref() != Some(&source) {
                    self.told_unreadable = Some(source);
                    self.host.teller.notice(Severity::Warning, text);
                }
                return None;
            }
            Err(source) => {
                return Some(End::Failed(
                    FarError::Unreadable {
                        path: self.sessions_dir.to_string(),
                        user: self.host.resolved.user.clone(),
                        mode: None,
                        source,
                    }
                    .into(),
                ));
            }
        };
        self.sftp_failures = 0;
        self.told_unreadable = None;
        if !listing.logs.is_empty() {
            self.due.listing = Instant::now() + listing.pause();
        }
        if listing.cut && !std::mem::replace(&mut self.told_cut, true) {
            let text = "more than 100,000 names: only the newest of those are shown".to_owned();
            self.host.teller.notice(Severity::Warning, text);
        }
        let gone = self.host.intake.logs.listed(&listing, now);
        for key in gone.iter().flat_map(|name| self.host.intake.keys_of(name)) {
            self.host.teller.push(FeedEvent::LogRemoved { key });
        }
        self.host.intake.listed(number, now, &mut self.host.teller);
        if !std::mem::replace(&mut self.is_listed, true)
            && let Some(end) = self.nothing_chosen(&listing)
        {
            return Some(end);
        }
        self.tell_logs();
        None
    }

    /// The directory does not exist.
    pub(super) fn nothing_yet(&mut self) -> Option<End> {
        if self.host.options.once {
            let dir = self.located.state.to_string();
            return Some(End::Failed(FarError::Nothing { dir }.into()));
        }
        if !std::mem::replace(&mut self.told_absent, true) {
            let text = format!("no mcpsnoop data yet in {}", self.located.state);
            self.host.teller.notice(Severity::Info, text);
        }
        if self.began.elapsed() > ABSENT_PATIENCE {
            self.due.listing = Instant::now() + ABSENT_PAUSE;
        }
        None
    }

    /// A run that only loads has nothing to load.
    pub(super) fn nothing_chosen(&self, listing: &FarListing) -> Option<End> {
        let options = &self.host.options;
        if !options.once {
            return None;
        }
        let stems: Vec<&str> = listing
            .logs
            .iter()
            .map(|log| names::stem(&log.name))
            .collect();
        if stems.is_empty() {
            let dir = self.located.state.to_string();
            return Some(End::Failed(FarError::Nothing { dir }.into()));
        }
        let missing = options
            .sessions
            .iter()
            .find(|wanted| !stems.iter().any(|stem| fits(wanted, stem)))?;
        let nearest = match names::choose(missing, &stems) {
            names::Chosen::None(nearest) => nearest,
            _ => Vec::new(),
        };
        Some(End::Failed(
            FarError::SessionNotFound {
                name: missing.clone(),
                nearest,
            }
            .into(),
        ))
    }

    pub(super) fn sized(&mut self, sizes: Result<Sizes, SftpError>, now: Timestamp) {
        let sizes = match sizes {
            Ok(sizes) => sizes,
            Err(error) => {
                self.sftp_failed(&error);
                return;
            }
        };
        let remote_now = self.remote_now();
        let mut news = Vec::new();
        for (name, attributes) in sizes {
            if self.host.intake.logs.is_named(&name) {
                // Only a file of ours may be read that a start record names (remote.md 9.4.7).
                let Some(user) = self.host.intake.user else {
                    // Who we are there is not known yet: it is asked again beside the next listing.
                    self.host.intake.ask_size.remove(&name);
                    continue;
                };
                if attributes.is_none_or(|found| found.uid != Some(user)) {
                    self.host.intake.bar(&name, now, &mut self.host.teller);
                    continue;
                }
            }
            let asked = self.host.intake.ask_size.remove(&name);
            if let Some(attributes) = attributes {
                self.host
                    .intake
                    .logs
                    .note(&jobs::as_listed(&name, &attributes), now);
            } else {
                // Gone or replaced: the listing tells.
                self.due.listing = Instant::now();
            }
            if asked {
                self.host.intake.sized(&name, now);
            }
            self.host.intake.logs.news_of(&name, remote_now, &mut news);
        }
        self.host.intake.take_queued(now);
        self.host
            .teller
            .extend(news.into_iter().map(FeedEvent::Session));
    }

    pub(super) fn has_attached(
        &mut self,
        attached: Result<Result<Attached, NoSocket>, SftpError>,
    ) -> Option<End> {
        match attached {
            Ok(Ok(attached)) => {
                // sshd made the socket as the user that we are.
                self.host.intake.user = attached.published.attributes.uid.or(self.host.intake.user);
                self.attached = Some(attached);
                self.host.teller.set_mode(Some(Mode::Socket), None);
            }
            Ok(Err(NoSocket { reason, is_lent })) => {
                if self.host.mode() == ModeChoice::Socket {
                    return Some(End::Failed(FarError::NoSocket { reason }.into()));
                }
                self.fall_back(reason, if is_lent { LENT_PAUSE } else { MODE_PAUSE });
            }
            Err(error) => {
                self.fall_back(error.to_string(), MODE_PAUSE);
                if error.ends_session() {
                    self.sftp_failed(&error);
                }
            }
        }
        None
    }

    /// Follows the logs quickly, and tries the socket again later.
    pub(super) fn fall_back(&mut self, reason: String, pause: Duration) {
        self.due.attach = Some(Instant::now() + pause);
        let every = self.poll_pause();
        self.host
            .teller
            .set_mode(Some(Mode::Log { every }), Some(reason));
    }

    /// The server closed the SFTP channel, or broke its rules: another one is opened.
    pub(super) fn sftp_failed(&mut self, error: &SftpError) {
        let Some(sftp) = self.sftp.take() else {
            return;
        };
        sftp.end();
        self.sftp_failures += 1;
        // The first time it may be an idle limit of the server (ChannelTimeout).
        let pause = Duration::from_secs(u64::from(self.sftp_failures - 1));
        self.due.sftp = Some(Instant::now() + pause);
        if self.sftp_failures > 1 && self.link.is_open() {
            let text = format!("SFTP starts anew: {error}");
            self.host.teller.notice(Severity::Warning, text);
        }
        // The socket is tested and left over SFTP: it has to be attached with the new session.
        if let Some(attached) = &mut self.attached {
            attached.published.permitted &= self.link.is_open();
        }
    }

    pub(super) fn sftp_again(&mut self, sftp: Result<Sftp, SftpError>) -> Option<End> {
        self.running.sftp = false;
        match sftp {
            Ok(sftp) => {
                let sftp = Arc::new(sftp);
                if let Some(attached) = &mut self.attached {
                    attached.place = Arc::new(attached.place.with_sftp(&sftp));
                }
                self.sftp = Some(sftp);
                self.due.listing = Instant::now();
                None
            }
            Err(_) if !self.link.is_open() => Some(lost(&self.link)),
            Err(error) => {
                self.sftp_failures += 1;
                if self.sftp_failures > SFTP_TRIES {
                    return Some(End::Lost(format!(
                        "SFTP ended and does not start again: {error}"
                    )));
                }
                let pause = Duration::from_secs(u64::from(self.sftp_failures));
                self.due.sftp = Some(Instant::now() + pause);
                None
            }
        }
    }
}

/// What is said of the so-many-th log that cannot be read: one by one at first, and of a directory
/// full of them ever more rarely.
fn unreadable_words(count: u64, name: &str, error: &SftpError) -> Option<String> {
    if count <= NAMED_ONE_BY_ONE {
        return Some(format!("{name} cannot be read: {error}"));
    }
    count
        .is_power_of_two()
        .then(|| format!("{count} logs cannot be read; {name}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_of_unreadable_logs_is_told_in_few_lines() {
        let said: Vec<_> = (1..=100_000)
            .filter_map(|count| unreadable_words(count, "a.jsonl", &SftpError::Denied))
            .collect();
        assert_eq!(said[0], "a.jsonl cannot be read: permission denied");
        assert_eq!(said[4], "8 logs cannot be read; a.jsonl: permission denied");
        assert_eq!(said.len(), 4 + 14);
    }
}
