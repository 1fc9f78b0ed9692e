//! A folder for the data of one group, with the state directory of the program in it; it goes at the end.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::{Outcome, Plan};

/// The folder. Its path is short, so that a socket below it can be bound.
pub(crate) struct Space {
    folder: PathBuf,
}

impl Space {
    pub(crate) fn new(name: &str) -> Outcome<Self> {
        let folder = std::env::temp_dir().join(format!("mb-{}-{name}", std::process::id()));
        fs::create_dir_all(folder.join("state/sessions"))?;
        Ok(Self { folder })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.folder
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.folder.join("state")
    }

    pub(crate) fn sessions(&self) -> PathBuf {
        self.folder.join("state/sessions")
    }

    /// The program under test, with this folder as its home and state directory.
    pub(crate) fn program(&self, plan: &Plan) -> Command {
        let mut command = self.command(&plan.program);
        command.env("MCPSNOOP_HOME", self.state());
        command
    }

    /// A command with an environment as short as the one that clients give.
    pub(crate) fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("HOME", &self.folder)
            .env("TERM", "xterm-256color")
            .env("LANG", "C.UTF-8");
        command.env(
            "PATH",
            "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        );
        command.stderr(Stdio::null());
        command
    }

    /// The one log that a recorder wrote.
    pub(crate) fn log(&self) -> Outcome<PathBuf> {
        let entries = fs::read_dir(self.sessions())?.collect::<Result<Vec<_>, _>>()?;
        let [entry] = entries.as_slice() else {
            return Err(format!("expected one log, found {}", entries.len()).into());
        };
        Ok(entry.path())
    }

    /// Removes all logs.
    pub(crate) fn clear(&self) -> Outcome<()> {
        fs::remove_dir_all(self.sessions())?;
        Ok(fs::create_dir_all(self.sessions())?)
    }
}

impl Drop for Space {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.folder) {
            eprintln!("bench: {} is left over: {error}", self.folder.display());
        }
    }
}
