//! How sessions, times and paths are called on every screen (tui.md S2, Z4).

use std::path::Path;

use super::{app::App, outside::Host};
use crate::{
    base::{Shown, Timestamp},
    record::HostName,
    session::{Call, Session, Source},
};

/// How much the recorded times of a host are to be corrected (Z4).
#[derive(Clone, Copy, Debug)]
pub(super) struct Offset(Option<i64>);

impl Offset {
    /// A recorded instant by the viewer's clock.
    pub(super) fn shift(self, at: Timestamp) -> Timestamp {
        Timestamp::from_nanos(at.as_nanos().saturating_sub(self.0.unwrap_or(0)))
    }
}

impl App {
    /// The name of a session, with its process where another one has the same (S2).
    pub(super) fn name_of(&self, session: &Session) -> Shown {
        let label = session.label();
        let name = if label.is_empty() {
            Shown::name(session.key().id.as_bytes())
        } else {
            Shown::name(label.as_bytes())
        };
        let others = || {
            let namesakes = self.analyzer.model().namesakes(session);
            namesakes.filter(|other| other.key() != session.key())
        };
        if others().next().is_none() {
            return name;
        }
        let pid = session.pid();
        let mut suffix = pid.map_or_else(String::new, |pid| format!(" {pid}"));
        if (pid.is_none() || others().any(|other| other.pid() == pid))
            && let Some(first) = session.first()
        {
            suffix = format!(
                "{suffix} {}",
                super::numbers::short_time(first, &self.settings.zone)
            );
        }
        name.and(&Shown::row(suffix.as_bytes()))
    }

    /// How much the times of a session are to be corrected.
    pub(super) fn offset_of(&self, session: &Session) -> Offset {
        Offset(
            self.outside
                .host(&session.key().host)
                .and_then(Host::offset_nanos),
        )
    }

    /// Nanoseconds that an open call has taken so far, where that may be said (Z1, Z4).
    pub(super) fn open_for(&self, session: &Session, call: &Call) -> Option<u64> {
        if self.has_page(session.key()) {
            return None;
        }
        let start = call.hops.last().and_then(|hop| hop.sent).or(call.start)?;
        let host = self.outside.host(&session.key().host);
        if session.source() != Source::Live {
            // Nobody counts on: what the last frame tells would be less than what stood here before.
            return None;
        }
        // With the link down the timers stand where they stood.
        let now = host
            .filter(|host| host.is_down())
            .and_then(|host| host.down_since)
            .map_or(self.shown_now(), |since| since.min(self.shown_now()));
        let until = match call.arrived {
            Some(arrived) => return u64::try_from(now.nanos_since(arrived)).ok(),
            None if session.key().host == HostName::local() => now,
            None => {
                let offset = host.and_then(Host::offset_nanos)?;
                Timestamp::from_nanos(now.as_nanos().saturating_add(offset))
            }
        };
        u64::try_from(until.nanos_since(start)).ok()
    }

    /// A path with the home folder as `~`, ready to be shown.
    pub(super) fn shown_path(&self, path: &Path) -> Shown {
        let inside = self
            .home
            .as_ref()
            .and_then(|home| path.strip_prefix(home).ok());
        match inside {
            Some(rest) => {
                Shown::literal("~/").and(&Shown::name(rest.as_os_str().as_encoded_bytes()))
            }
            None => Shown::name(path.as_os_str().as_encoded_bytes()),
        }
    }

    /// A recorded folder with the home folder as `~`.
    pub(super) fn tilde(&self, path: &str) -> Shown {
        self.shown_path(Path::new(path))
    }
}
