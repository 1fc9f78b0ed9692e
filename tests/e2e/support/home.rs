//! A temporary home folder, and commands that see nothing of the environment but it.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use mcpsnoop::base::Env;
use tempfile::TempDir;

/// A home folder of one test; it goes when the test ends.
pub(crate) struct Home {
    folder: TempDir,
}

impl Home {
    /// Makes an empty home. The path is short, so that a socket below it can be bound.
    pub(crate) fn new() -> Self {
        let folder = tempfile::Builder::new()
            .prefix("mh")
            .tempdir_in(std::env::temp_dir())
            .expect("a temporary folder");
        std::fs::create_dir(folder.path().join("tmp")).expect("a folder for temporary files");
        Self { folder }
    }

    /// The home folder.
    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The state directory that a command of this home uses.
    pub(crate) fn state(&self) -> PathBuf {
        self.path().join(".local/state/mcpsnoop")
    }

    /// Where a command of this home puts its logs.
    pub(crate) fn sessions(&self) -> PathBuf {
        self.state().join("sessions")
    }

    /// The logs in `sessions`, sorted by name; none if there is no such folder.
    pub(crate) fn logs(&self) -> Vec<PathBuf> {
        let Ok(entries) = std::fs::read_dir(self.sessions()) else {
            return Vec::new();
        };
        let mut logs: Vec<_> = entries
            .map(|entry| entry.expect("an entry").path())
            .collect();
        logs.retain(|path| path.extension().is_some_and(|ending| ending == "jsonl"));
        logs.sort();
        logs
    }

    /// The one log in `sessions`.
    pub(crate) fn only_log(&self) -> PathBuf {
        let logs = self.logs();
        assert_eq!(logs.len(), 1, "expected one log: {logs:?}");
        logs[0].clone()
    }

    /// Writes a file below the home, with its folders.
    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
        std::fs::write(&path, content).expect("a written file");
        path
    }

    /// A command with this home and a cleared environment: `HOME`, `USER`, `PATH`, `TMPDIR`, `TERM`, a UTF-8 locale.
    pub(crate) fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        let path = Env::read().os("PATH").cloned().unwrap_or_default();
        command
            .env_clear()
            .env("HOME", self.path())
            .env("USER", "tester")
            .env("PATH", path)
            .env("TMPDIR", self.path().join("tmp"))
            .env("TERM", "xterm-256color")
            .env("LANG", "C.UTF-8")
            .current_dir(self.path());
        command
    }

    /// The built program with this home.
    pub(crate) fn mcpsnoop(&self) -> Command {
        self.command(env!("CARGO_BIN_EXE_mcpsnoop"))
    }
}

#[test]
fn a_command_sees_only_its_home() {
    let home = Home::new();
    let output = super::process::run(&mut home.command("env"));
    let names: Vec<_> = output
        .out()
        .lines()
        .map(|line| line.split('=').next().unwrap().to_owned())
        .collect();
    assert!(
        !names.iter().any(|name| name.starts_with("CARGO")),
        "{names:?}"
    );
    assert!(
        output
            .out()
            .contains(&format!("HOME={}\n", home.path().display()))
    );
    assert!(Path::new(home.mcpsnoop().get_program()).is_file());
    assert!(home.logs().is_empty());
    home.write(".local/state/mcpsnoop/sessions/a.jsonl", "");
    assert_eq!(home.only_log(), home.sessions().join("a.jsonl"));
}
