//! Which of several clients of one session sent a frame (session-model.md 4.1).

use super::canonical;

/// One logical client (session-model.md 4.1), by numbers of names; 0 is missing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct ClientKey {
    pub(super) peer: u32,
    pub(super) host: u32,
    pub(super) who: u32,
}

impl ClientKey {
    /// A missing part agrees with any; two peers only when equal.
    pub(super) fn agrees(self, other: Self) -> bool {
        let part = |one: u32, other: u32| one == 0 || other == 0 || one == other;
        if self.peer != 0 && other.peer != 0 {
            return self.peer == other.peer;
        }
        part(self.host, other.host) && part(self.who, other.who)
    }

    /// All of it as one number.
    pub(super) fn number(self) -> u64 {
        let one = canonical::mix(self.peer.into(), self.host.into());
        canonical::mix(one, self.who.into())
    }
}
