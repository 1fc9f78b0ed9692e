//! What every command starts from: environment, clock, state directory.

use mcpsnoop::{
    base::{Clock, Env},
    record::{Catalogue, StateDir},
};

use super::{
    failure::{Exit, Failure},
    output,
};

/// Read once at the start and handed on.
pub(super) struct Context {
    /// The environment.
    pub(super) env: Env,
    /// The clock.
    pub(super) clock: Clock,
}

impl Context {
    /// Reads both.
    pub(super) fn read() -> Self {
        Self {
            env: Env::read(),
            clock: Clock::start(),
        }
    }

    /// The state directory, for commands that cannot work without one; warnings are printed.
    pub(super) fn state(&self) -> Result<StateDir, Failure> {
        let located = StateDir::locate(&self.env);
        for warning in &located.warnings {
            output::note(&format!("mcpsnoop: {warning}"));
        }
        located.dir.ok_or_else(|| {
            Failure::new(
                Exit::Failed,
                "there is no safe place for the state directory",
            )
            .hint("set MCPSNOOP_HOME to a directory that only you can write")
        })
    }

    /// Another candidate directory that has sessions, when this one has none (decisions.md).
    pub(super) fn elsewhere(&self, state: &StateDir) -> Option<(std::path::PathBuf, usize)> {
        let count =
            |dir: &StateDir| Catalogue::walk(&dir.sessions()).map_or(0, |found| found.logs.len());
        if count(state) > 0 {
            return None;
        }
        let others = state.others(&self.env).into_iter();
        others
            .map(|dir| (dir.base().to_owned(), count(&dir)))
            .find(|(_, logs)| *logs > 0)
    }
}
