//! Which sessions recorders bring over the socket right now.

use std::collections::{HashMap, HashSet};

use super::connection::ConnectionId;
use crate::record::SessionKey;

/// Connections and the sessions on them; several connections may bring one session.
#[derive(Debug, Default)]
pub(super) struct Producers {
    connections: HashMap<ConnectionId, HashSet<SessionKey>>,
    sessions: HashMap<SessionKey, usize>,
    /// Sessions whose end record came.
    ended: HashSet<SessionKey>,
}

impl Producers {
    /// A connection brought a line of a session; true when it is its first one.
    pub(super) fn note(&mut self, from: ConnectionId, key: &SessionKey) -> bool {
        let keys = self.connections.entry(from).or_default();
        if keys.contains(key) {
            return false;
        }
        keys.insert(key.clone());
        *self.sessions.entry(key.clone()).or_default() += 1;
        true
    }

    /// The session's end record came.
    pub(super) fn end(&mut self, key: &SessionKey) {
        self.ended.insert(key.clone());
    }

    /// A connection is gone; answers the sessions that nobody brings any more, and whether each has
    /// said that it ended.
    pub(super) fn close(&mut self, from: ConnectionId) -> Vec<(SessionKey, bool)> {
        let mut gone = Vec::new();
        for key in self.connections.remove(&from).unwrap_or_default() {
            if let Some(count) = self.sessions.get_mut(&key) {
                *count -= 1;
                if *count > 0 {
                    continue;
                }
            }
            self.sessions.remove(&key);
            let has_ended = self.ended.remove(&key);
            gone.push((key, has_ended));
        }
        gone
    }

    /// A recorder of the session is connected, whether it has ended or not.
    pub(super) fn has(&self, key: &SessionKey) -> bool {
        self.sessions.contains_key(key)
    }

    /// A recorder of the session is connected and has not said that it ended.
    pub(super) fn is_recording(&self, key: &SessionKey) -> bool {
        self.has(key) && !self.ended.contains(key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::HostName;

    #[test]
    fn a_session_is_gone_with_its_last_connection() {
        let key = |id: &str| SessionKey {
            host: HostName::local(),
            id: id.into(),
        };
        let (first, second) = (ConnectionId(1), ConnectionId(2));
        let mut producers = Producers::default();
        assert!(producers.note(first, &key("a")));
        assert!(!producers.note(first, &key("a")));
        assert!(producers.note(second, &key("a")));
        assert!(producers.note(second, &key("b")));
        producers.end(&key("b"));
        let states = |producers: &Producers| {
            ["a", "b", "c"].map(|id| (producers.has(&key(id)), producers.is_recording(&key(id))))
        };
        let none = (false, false);
        assert_eq!(states(&producers), [(true, true), (true, false), none]);
        assert_eq!(producers.close(second), [(key("b"), true)]);
        assert_eq!(states(&producers), [(true, true), none, none]);
        assert_eq!(producers.close(first), [(key("a"), false)]);
        assert!(producers.close(first).is_empty());
        assert_eq!(states(&producers), [none; 3]);
        // A number that is used again has no end yet.
        producers.note(first, &key("b"));
        assert!(producers.is_recording(&key("b")));
    }
}
