//! What the hosts of a run know of each other: a host that could not connect goes on trying only
//! beside one that did (remote.md 2).

use std::sync::Arc;

use tokio::sync::watch;

/// The hosts of a run; cheap to share.
#[derive(Clone, Debug)]
pub(super) struct Company(Arc<watch::Sender<State>>);

#[derive(Clone, Copy, Debug)]
struct State {
    undecided: usize,
    any_connected: bool,
}

impl Company {
    /// A company without members.
    pub(super) fn new() -> Self {
        let state = State {
            undecided: 0,
            any_connected: false,
        };
        Self(Arc::new(watch::Sender::new(state)))
    }

    /// One more member, which has yet to tell what became of its first connection.
    pub(super) fn join(&self) {
        self.0.send_modify(|state| state.undecided += 1);
    }

    /// A member connected for the first time.
    pub(super) fn connected(&self) {
        self.0.send_modify(|state| {
            state.undecided = state.undecided.saturating_sub(1);
            state.any_connected = true;
        });
    }

    /// A member's first connection failed.
    pub(super) fn failed(&self) {
        self.0
            .send_modify(|state| state.undecided = state.undecided.saturating_sub(1));
    }

    /// Ends when every first connection failed.
    pub(super) async fn all_failed(&self) {
        let mut states = self.0.subscribe();
        let failed = states.wait_for(|state| state.undecided == 0 && !state.any_connected);
        if failed.await.is_err() {
            // Cannot be: the sender lives in `self`.
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    #[test]
    fn all_failed_is_known_once_everybody_has_told() {
        let company = Company::new();
        company.join();
        company.join();
        assert_eq!(company.all_failed().now_or_never(), None);
        company.failed();
        assert_eq!(company.all_failed().now_or_never(), None);
        company.failed();
        assert_eq!(company.all_failed().now_or_never(), Some(()));
    }

    #[test]
    fn one_that_connected_keeps_the_others_trying() {
        let company = Company::new();
        company.join();
        company.join();
        company.connected();
        company.failed();
        assert_eq!(company.all_failed().now_or_never(), None);
    }
}
