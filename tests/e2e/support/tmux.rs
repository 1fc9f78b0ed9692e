//! The program in tmux, the terminal that many users sit in: own server, own socket, known size.

use std::process::Command;

use super::{home::Home, parts::need, process::run, wait::wait_for};

/// A tmux server with one window; it is stopped when this is dropped.
pub(crate) struct Tmux<'home> {
    home: &'home Home,
}

impl<'home> Tmux<'home> {
    /// Runs a command made by `Home::command` in a window of this size; `None` where tmux is missing: return at once.
    pub(crate) fn start(
        home: &'home Home,
        command: &Command,
        columns: u16,
        rows: u16,
    ) -> Option<Self> {
        need("tmux")?;
        let tmux = Self { home };
        let mut words = vec!["exec".to_owned(), "env".to_owned(), "-i".to_owned()];
        for (name, value) in command.get_envs() {
            let value = value.unwrap_or_default().to_string_lossy();
            // tmux names its own terminal, and a program must see that name.
            if name != "TERM" {
                words.push(quoted(&format!("{}={value}", name.to_string_lossy())));
            }
        }
        words.push("TERM=\"$TERM\"".to_owned());
        let program = std::iter::once(command.get_program()).chain(command.get_args());
        words.extend(program.map(|word| quoted(&word.to_string_lossy())));
        let (columns, rows) = (columns.to_string(), rows.to_string());
        let script = words.join(" ");
        tmux.tell(&["new-session", "-d", "-x", &columns, "-y", &rows, &script]);
        Some(tmux)
    }

    /// Sends keys by tmux's names: `["j", "Enter", "C-d"]`.
    #[track_caller]
    pub(crate) fn keys(&self, keys: &[&str]) {
        self.tell(&[&["send-keys"], keys].concat());
    }

    /// The screen's text as it is now.
    #[track_caller]
    pub(crate) fn screen(&self) -> String {
        self.tell(&["capture-pane", "-p"])
    }

    /// The screen with its colours and attributes as escape sequences.
    #[track_caller]
    pub(crate) fn styled_screen(&self) -> String {
        self.tell(&["capture-pane", "-p", "-e"])
    }

    /// Waits until the screen holds this text; gives the screen.
    #[track_caller]
    pub(crate) fn wait_text(&self, wanted: &str) -> String {
        wait_for(&format!("`{wanted}` on the screen"), || {
            Some(self.screen()).filter(|screen| screen.contains(wanted))
        })
    }

    /// Changes the size of the window.
    #[track_caller]
    pub(crate) fn resize(&self, columns: u16, rows: u16) {
        self.tell(&[
            "resize-window",
            "-x",
            &columns.to_string(),
            "-y",
            &rows.to_string(),
        ]);
    }

    #[track_caller]
    fn tell(&self, words: &[&str]) -> String {
        run(self.command().args(words)).expect_code(0).out()
    }

    /// No user's configuration; the socket lies in the home, and the name keeps two servers apart.
    fn command(&self) -> Command {
        let mut command = self.home.command("tmux");
        command.env("TMUX_TMPDIR", self.home.path().join("tmp"));
        command.args(["-u", "-f", "/dev/null", "-L", "test"]);
        command
    }
}

impl Drop for Tmux<'_> {
    fn drop(&mut self) {
        // The server is gone already when its only window has closed.
        run(self.command().arg("kill-server"));
    }
}

fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[test]
fn tmux_shows_and_types() {
    let home = Home::new();
    let mut command = home.command("sh");
    command.args(["-c", "echo \"it's $TERM\"; stty size; printf '\\033[1mbold\\033[0m\\n'; read line; stty size; read line"]);
    let Some(tmux) = Tmux::start(&home, &command, 90, 20) else {
        return;
    };
    let screen = tmux.wait_text("bold");
    assert!(
        screen.starts_with("it's screen") || screen.starts_with("it's tmux"),
        "{screen}"
    );
    assert!(screen.contains("20 90"), "{screen}");
    assert!(tmux.styled_screen().contains("\u{1b}[1mbold"));
    tmux.resize(70, 15);
    tmux.keys(&["x", "Enter"]);
    tmux.wait_text("15 70");
}
