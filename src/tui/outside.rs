//! What sources say beside frames: hosts, listings, progress, logs (tui.md 15, 9.4).

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

use super::{glyphs::Signs, ink::Ink, numbers, theme::Role};
use crate::{
    base::{Shown, Timestamp},
    feed::{FeedEvent, HostState, LinkState, Mode, Progress, SessionNews},
    record::{HostName, SessionKey},
};

/// A host's list counts as new for so long after its history was read.
const SETTLING_NANOS: i64 = 2_000_000_000;
/// Errors of a host that are kept for its detail.
const ERRORS_KEPT: usize = 4;

/// One host.
#[derive(Clone, Debug)]
pub(super) struct Host {
    /// The newest word about its link.
    pub(super) state: HostState,
    /// When the link came into this kind of state.
    pub(super) since: Timestamp,
    /// When the link was lost, while it is not up.
    pub(super) down_since: Option<Timestamp>,
    /// Progress of the backfill.
    pub(super) progress: Option<Progress>,
    /// Logs there, and logs chosen.
    pub(super) listed: Option<(usize, usize)>,
    /// Newest errors with their times.
    pub(super) errors: VecDeque<(Timestamp, Shown)>,
    /// How it ended.
    pub(super) ended: Option<Shown>,
    /// The user asked to disconnect.
    is_given_up: bool,
    /// Its link was up at some time.
    pub(super) was_up: bool,
}

impl Host {
    /// True while nothing about its sessions may be claimed beyond the last frame (Z1).
    pub(super) fn is_down(&self) -> bool {
        !matches!(
            self.state.link,
            LinkState::Live | LinkState::Backfilling | LinkState::Connecting
        )
    }

    /// True when the user closed the link; there is no other reason for it then.
    pub(super) fn is_closed_by_user(&self) -> bool {
        self.is_given_up && self.state.link == LinkState::Closed
    }

    /// Nanoseconds to take off its times, when they are worth it (Z4).
    pub(super) fn offset_nanos(&self) -> Option<i64> {
        let millis = self.state.clock_offset_ms?;
        Some(if millis.abs() > 1_000 {
            millis.saturating_mul(1_000_000)
        } else {
            0
        })
    }

    /// The state as the header says it, with its sign (tui.md 15).
    pub(super) fn header(&self, signs: &Signs, now: Timestamp, with_words: bool) -> Ink {
        let (sign, words, role) = self.words(now);
        let words = if with_words {
            words
        } else {
            first_word(&words)
        };
        Ink::of(role, Shown::literal(sign.of(signs))).and_say(role, format!(" {words}"))
    }

    fn words(&self, now: Timestamp) -> (Sign, String, Role) {
        match &self.state.link {
            LinkState::Connecting => (Sign::Connecting, "connecting".into(), Role::Live),
            LinkState::LoginNeeded => (Sign::Unknown, "login needed".into(), Role::Warn),
            LinkState::Backfilling => (Sign::Backfill, self.backfill(), Role::Live),
            LinkState::Live => (Sign::Live, self.live_words(), Role::Live),
            LinkState::Reconnecting { attempt, next } => {
                let wait = numbers::age(next.nanos_since(now));
                let what = if self.was_up {
                    "reconnecting"
                } else {
                    "connecting"
                };
                (
                    Sign::Reconnect,
                    format!("{what}, try {attempt} in {wait}"),
                    Role::Warn,
                )
            }
            LinkState::Lost => {
                let ago = numbers::age(now.nanos_since(self.down_since.unwrap_or(self.since)));
                (Sign::Unknown, format!("lost {ago}"), Role::Err)
            }
            LinkState::Closed if self.is_given_up => {
                (Sign::Ended, "closed by you".into(), Role::Muted)
            }
            LinkState::Closed => (Sign::Ended, "closed".into(), Role::Muted),
        }
    }

    fn backfill(&self) -> String {
        match &self.progress {
            Some(progress) if progress.sessions_total > 0 => {
                format!(
                    "backfill {} of {}",
                    progress.sessions_done, progress.sessions_total
                )
            }
            _ => "backfill".into(),
        }
    }

    fn live_words(&self) -> String {
        match self.state.mode {
            Some(Mode::Log { .. }) if self.is_local() => "live (logs)".into(),
            Some(Mode::Log { .. }) => "live log".into(),
            Some(Mode::History) => "history".into(),
            Some(Mode::Socket) | None => "live".into(),
        }
    }

    /// The state as the table of hosts says it: sign, words, role.
    pub(super) fn table_state(
        &self,
        signs: &Signs,
        now: Timestamp,
    ) -> (&'static str, String, Role) {
        let (sign, words, role) = self.words(now);
        let words = match (&self.state.link, self.state.mode) {
            (LinkState::Live, Some(Mode::Socket)) => "live socket".into(),
            (LinkState::Live, Some(Mode::Log { every })) => {
                let hundredths = every.as_millis() / 10;
                let seconds = format!("{}.{:02}", hundredths / 100, hundredths % 100);
                format!(
                    "live log {} s",
                    seconds.trim_end_matches(['0']).trim_end_matches('.')
                )
            }
            (LinkState::Reconnecting { attempt, .. }, _) if !self.was_up => {
                format!("connecting, try {attempt}")
            }
            (LinkState::Reconnecting { next, .. }, _) => {
                format!("reconnecting in {}", numbers::age(next.nanos_since(now)))
            }
            (LinkState::Lost, _) => "lost".into(),
            _ => words,
        };
        (sign.of(signs), words, role)
    }

    /// The last error or reason of a fallback; none for a link that the user closed.
    pub(super) fn reason(&self) -> Option<Shown> {
        let reason = self.state.reason.as_ref();
        reason
            .filter(|_| !self.is_closed_by_user())
            .map(|reason| Shown::row(reason.as_bytes()))
    }

    /// The same for a line of so many cells: where it does not fit, what the system said goes first.
    pub(super) fn reason_within(&self, room: usize) -> Option<Shown> {
        let reason = self.reason()?;
        let cause = self.state.reason.as_ref()?.rsplit_once(": ");
        let cause =
            cause.filter(|(_, last)| last.contains("(os error ") || last.contains("no answer"));
        Some(match cause {
            Some((where_to, what)) if reason.width() > room => {
                let line = format!("{what}; {where_to}");
                Shown::row(line.as_bytes())
            }
            _ => reason,
        })
    }

    fn is_local(&self) -> bool {
        self.state.host == HostName::local()
    }

    /// Worst first, for a header that has no room for all.
    pub(super) fn badness(&self) -> u8 {
        match self.state.link {
            LinkState::LoginNeeded => 0,
            LinkState::Lost => 1,
            LinkState::Reconnecting { .. } => 2,
            LinkState::Closed => 3,
            LinkState::Connecting => 4,
            LinkState::Backfilling => 5,
            LinkState::Live => 6,
        }
    }
}

fn first_word(words: &str) -> String {
    words.split(',').next().unwrap_or(words).to_owned()
}

/// Signs of states.
#[derive(Clone, Copy, Debug)]
enum Sign {
    Connecting,
    Unknown,
    Backfill,
    Live,
    Reconnect,
    Ended,
}

impl Sign {
    const fn of(self, signs: &Signs) -> &'static str {
        match self {
            Self::Connecting => ">",
            Self::Unknown => "?",
            Self::Backfill => signs.backfill,
            Self::Live => signs.recording,
            Self::Reconnect => signs.reconnect,
            Self::Ended => signs.ended,
        }
    }
}

/// Everything that sources said beside frames.
#[derive(Clone, Debug, Default)]
pub(super) struct Outside {
    /// Hosts in the order in which they were first heard of, this machine first.
    hosts: Vec<Host>,
    /// Logs by session.
    news: HashMap<SessionKey, SessionNews>,
    /// Sessions that may still get older frames.
    pending: BTreeMap<SessionKey, bool>,
    /// Sessions whose log went away.
    removed: HashSet<SessionKey>,
}

/// What the user should be told about an event, if anything.
pub(super) type Told = Option<(crate::feed::Severity, Shown)>;

impl Outside {
    /// Takes what is not a frame; answers a toast where the state of a host changed (Z5).
    pub(super) fn take(&mut self, event: &FeedEvent, now: Timestamp) -> Told {
        match event {
            FeedEvent::Host(state) => return self.host_changed(state, now),
            FeedEvent::Listing(listing) => {
                self.entry(&listing.host, now).listed = Some((listing.total, listing.chosen));
            }
            FeedEvent::Progress(progress) => {
                self.entry(&progress.host, now).progress = Some(progress.clone());
            }
            FeedEvent::Session(news) => {
                if news.log.is_some() {
                    self.removed.remove(&news.key);
                }
                self.news.insert(news.key.clone(), news.clone());
            }
            FeedEvent::NotLoaded { key, pending } => {
                self.pending.insert(key.clone(), *pending);
            }
            FeedEvent::LogRemoved { key } => {
                self.removed.insert(key.clone());
            }
            FeedEvent::End(ending) => {
                let outcome = Shown::row(ending.outcome.as_bytes());
                self.entry(&ending.host, now).ended = Some(outcome);
            }
            _ => {}
        }
        None
    }

    fn host_changed(&mut self, state: &HostState, now: Timestamp) -> Told {
        let host = self.entry(&state.host, now);
        let before = host.state.link.clone();
        let changed = std::mem::discriminant(&before) != std::mem::discriminant(&state.link);
        if before == LinkState::Closed && state.link != LinkState::Closed {
            host.is_given_up = false;
        }
        host.state = state.clone();
        host.was_up |= matches!(state.link, LinkState::Live | LinkState::Backfilling);
        if changed {
            host.since = now;
        }
        if !host.is_down() {
            host.down_since = None;
        } else if host.down_since.is_none() {
            host.down_since = Some(now);
        }
        if host.is_down()
            && let Some(reason) = host.reason()
        {
            // An error that comes again is told once, with its newest time.
            if host.errors.back().is_some_and(|(_, last)| *last == reason) {
                host.errors.pop_back();
            }
            if host.errors.len() == ERRORS_KEPT {
                host.errors.pop_front();
            }
            host.errors.push_back((now, reason));
        }
        let worth = changed && before != LinkState::Connecting && !host.is_local();
        worth.then(|| host.told(now))
    }

    /// The user asked to give a host up.
    pub(super) fn give_up(&mut self, name: &HostName, now: Timestamp) {
        self.entry(name, now).is_given_up = true;
    }

    fn entry(&mut self, name: &HostName, now: Timestamp) -> &mut Host {
        let index = self.hosts.iter().position(|host| host.state.host == *name);
        let index = index.unwrap_or_else(|| {
            // This machine stands before those of the command line, whoever speaks first.
            let place = if *name == HostName::local() {
                0
            } else {
                self.hosts.len()
            };
            self.hosts.insert(place, Host::first_heard(name, now));
            place
        });
        #[expect(
            clippy::indexing_slicing,
            reason = "the index was just found or filled"
        )]
        &mut self.hosts[index]
    }

    /// All hosts.
    pub(super) fn hosts(&self) -> &[Host] {
        &self.hosts
    }

    /// One host.
    pub(super) fn host(&self, name: &HostName) -> Option<&Host> {
        self.hosts.iter().find(|host| host.state.host == *name)
    }

    /// True when nothing may be claimed about sessions of this host.
    pub(super) fn is_down(&self, name: &HostName) -> bool {
        self.host(name).is_some_and(Host::is_down)
    }

    /// What is known of a session's log.
    pub(super) fn news(&self, key: &SessionKey) -> Option<&SessionNews> {
        self.news.get(key)
    }

    /// True while older or missing frames of the session may still come from its log.
    pub(super) fn is_loading(&self, key: &SessionKey) -> bool {
        self.pending.get(key).copied().unwrap_or(false)
            || self.news.get(key).is_some_and(|news| !news.loaded)
    }

    /// True when the session's log went away.
    pub(super) fn is_removed(&self, key: &SessionKey) -> bool {
        self.removed.contains(key)
    }

    /// True while a log is known to be read only in part.
    pub(super) fn is_reading(&self) -> bool {
        !self.has_ended()
            && self.hosts.iter().any(|host| {
                let progress = host.progress.as_ref();
                progress.is_some_and(|read| read.bytes_done < read.bytes_total)
            })
    }

    /// True while hosts connect or list what they have, and a moment longer.
    pub(super) fn is_settling(&self, now: Timestamp) -> bool {
        self.hosts.iter().any(|host| {
            let is_new = matches!(
                host.state.link,
                LinkState::Connecting | LinkState::Backfilling
            );
            is_new || now.nanos_since(host.since) < SETTLING_NANOS
        })
    }

    /// True when a source came to its end.
    pub(super) fn has_ended(&self) -> bool {
        self.hosts.iter().any(|host| host.ended.is_some())
    }

    /// Logs that were listed but not loaded, over all hosts.
    pub(super) fn older_sessions(&self) -> usize {
        let older = self.hosts.iter().filter_map(|host| host.listed);
        older
            .map(|(total, chosen)| total.saturating_sub(chosen))
            .sum()
    }
}

impl Host {
    fn first_heard(name: &HostName, now: Timestamp) -> Self {
        Self {
            state: HostState {
                host: name.clone(),
                target: String::new(),
                link: LinkState::Connecting,
                mode: None,
                reason: None,
                state_dir: None,
                clock_offset_ms: None,
                round_trip: None,
            },
            since: now,
            down_since: None,
            progress: None,
            listed: None,
            errors: VecDeque::new(),
            ended: None,
            is_given_up: false,
            was_up: false,
        }
    }

    fn told(&self, now: Timestamp) -> (crate::feed::Severity, Shown) {
        let (_, words, _) = self.words(now);
        let line = Shown::name(self.state.host.0.as_bytes())
            .and(&Shown::row(format!(": {words}").as_bytes()));
        let line = match self.reason() {
            Some(reason) if self.is_down() => line.and(&Shown::literal(", ")).and(&reason),
            _ => line,
        };
        (crate::feed::Severity::Warning, line)
    }
}
