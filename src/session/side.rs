//! Who sends: the two sides of a session, and one client among several (session-model.md 4.1).

use std::hash::{Hash, Hasher};

use super::canonical;

/// Who sent a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Side {
    Client,
    Server,
}

impl Side {
    pub(super) fn other(self) -> Self {
        match self {
            Self::Client => Self::Server,
            Self::Server => Self::Client,
        }
    }
}

/// A value for each of the two senders.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PerSide<T> {
    client: T,
    server: T,
}

impl<T> PerSide<T> {
    pub(super) fn get(&self, side: Side) -> &T {
        match side {
            Side::Client => &self.client,
            Side::Server => &self.server,
        }
    }

    pub(super) fn of(&mut self, side: Side) -> &mut T {
        match side {
            Side::Client => &mut self.client,
            Side::Server => &mut self.server,
        }
    }
}

/// One logical client (session-model.md 4.1), by numbers of names; 0 is missing.
/// With a peer, that alone tells clients apart.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ClientKey {
    pub(super) peer: u32,
    pub(super) host: u32,
    pub(super) who: u32,
    /// It said who it is, and redaction took that away: `who` is a guess. Not compared.
    pub(super) hidden: bool,
}

impl PartialEq for ClientKey {
    fn eq(&self, other: &Self) -> bool {
        self.scope() == other.scope()
    }
}

impl Eq for ClientKey {}

impl Hash for ClientKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.scope().hash(state);
    }
}

impl ClientKey {
    fn scope(self) -> (u32, u32, u32) {
        match self.peer {
            0 => (0, self.host, self.who),
            peer => (peer, 0, 0),
        }
    }

    /// Equal, and nothing of it is unknown: unknown values never equal (session-model.md 21).
    pub(super) fn is_surely(self, other: Self) -> bool {
        self == other && !self.is_unsure() && !other.is_unsure()
    }

    /// True when redaction hides what would tell it from others.
    pub(super) fn is_unsure(self) -> bool {
        self.hidden && self.peer == 0
    }

    /// All of it as one number.
    pub(super) fn number(self) -> u64 {
        let (peer, host, who) = self.scope();
        canonical::mix(canonical::mix(peer.into(), host.into()), who.into())
    }

    /// A missing part agrees with any; two peers only when equal.
    pub(super) fn agrees(self, other: Self) -> bool {
        let part = |one: u32, other: u32| one == 0 || other == 0 || one == other;
        if self.peer != 0 && other.peer != 0 {
            return self.peer == other.peer;
        }
        part(self.host, other.host) && part(self.who, other.who)
    }
}
