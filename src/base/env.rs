//! The environment, read once at the start and handed on.

use std::{collections::HashMap, ffi::OsString, path::PathBuf};

/// A snapshot of the environment variables and the working folder.
#[derive(Clone, Debug, Default)]
pub struct Env {
    variables: HashMap<OsString, OsString>,
    current_dir: Option<PathBuf>,
}

impl Env {
    /// Reads the process environment.
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place that reads the environment"
    )]
    pub fn read() -> Self {
        Self {
            variables: std::env::vars_os().collect(),
            current_dir: std::env::current_dir().ok(),
        }
    }

    /// Builds an environment for a test or for the demo.
    pub fn of<K: Into<OsString>, V: Into<OsString>>(
        pairs: impl IntoIterator<Item = (K, V)>,
    ) -> Self {
        let variables = pairs
            .into_iter()
            .map(|(name, value)| (name.into(), value.into()))
            .collect();
        Self {
            variables,
            current_dir: None,
        }
    }

    /// The same environment in another working folder.
    #[must_use]
    pub fn within(mut self, current_dir: impl Into<PathBuf>) -> Self {
        self.current_dir = Some(current_dir.into());
        self
    }

    /// A variable that is set and not empty, as it is.
    pub fn os(&self, name: &str) -> Option<&OsString> {
        self.variables
            .get(&OsString::from(name))
            .filter(|value| !value.is_empty())
    }

    /// A variable that is set, not empty and valid UTF-8.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.os(name)?.to_str()
    }

    /// The home folder: `HOME`, if it is set and absolute.
    pub fn home(&self) -> Option<PathBuf> {
        self.os("HOME")
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    }

    /// The working folder, if the system could tell.
    pub fn current_dir(&self) -> Option<&PathBuf> {
        self.current_dir.as_ref()
    }
}
