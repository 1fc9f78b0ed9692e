//! The program in a pseudo-terminal, whose output a screen parser reads.

use std::{
    io::{Read, Write},
    process::Command,
    sync::Arc,
};

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};

use super::wait::{DEADLINE, Watched, wait_for};

/// So long before the deadline a program that does not end is told, with its screen.
const LAST_LOOK: std::time::Duration = std::time::Duration::from_secs(1);

/// What the terminal holds.
struct Shown {
    parser: vt100::Parser,
    /// All bytes that came, escape sequences included.
    bytes: Vec<u8>,
    ended: bool,
}

/// A process in a pseudo-terminal; it is killed when this is dropped.
pub(crate) struct Terminal {
    child: Box<dyn Child + Send + Sync>,
    master: Box<dyn MasterPty + Send>,
    keyboard: Box<dyn Write + Send>,
    shown: Arc<Watched<Shown>>,
}

impl Terminal {
    /// Starts a command made by `Home::command` or `Home::mcpsnoop`, with a screen of this size.
    #[track_caller]
    pub(crate) fn start(command: &Command, columns: u16, rows: u16) -> Self {
        let pair = native_pty_system()
            .openpty(size(columns, rows))
            .expect("a pseudo-terminal");
        let child = pair
            .slave
            .spawn_command(builder(command))
            .expect("a started command");
        drop(pair.slave);
        let shown = Arc::new(Watched::new(Shown {
            parser: vt100::Parser::new(rows, columns, 0),
            bytes: Vec::new(),
            ended: false,
        }));
        let reader = pair.master.try_clone_reader().expect("a reader");
        let keyboard = pair.master.take_writer().expect("a writer");
        show(reader, Arc::clone(&shown));
        Self {
            child,
            master: pair.master,
            keyboard,
            shown,
        }
    }

    /// Types text or escape sequences: `"j"`, `"\r"`, `"\x1b"`, `"\x1b[A"`.
    #[track_caller]
    pub(crate) fn keys(&mut self, keys: &str) {
        self.keyboard
            .write_all(keys.as_bytes())
            .expect("typed keys");
        self.keyboard.flush().expect("typed keys");
    }

    /// Changes the size; the process gets SIGWINCH.
    #[track_caller]
    pub(crate) fn resize(&mut self, columns: u16, rows: u16) {
        self.shown
            .change(|shown| shown.parser.screen_mut().set_size(rows, columns));
        self.master.resize(size(columns, rows)).expect("a new size");
    }

    /// The screen's text as it is now, one line a row, blanks at the ends of rows removed.
    pub(crate) fn screen(&self) -> String {
        self.shown.change(|shown| text(&shown.parser))
    }

    /// Waits until the screen holds this text; gives the screen.
    #[track_caller]
    pub(crate) fn wait_text(&self, wanted: &str) -> String {
        self.wait_screen(wanted, |screen| screen.contains(wanted))
    }

    /// Waits until the screen pleases; `what` names the wish for the message at the deadline.
    #[track_caller]
    pub(crate) fn wait_screen(&self, what: &str, mut pleases: impl FnMut(&str) -> bool) -> String {
        let found = self.shown.wait(|shown| {
            let screen = text(&shown.parser);
            let pleased = pleases(&screen);
            (pleased || shown.ended).then_some((pleased, screen))
        });
        match found {
            Some((true, screen)) => screen,
            Some((false, screen)) => panic!("the program ended before: {what}\n{screen}"),
            None => panic!("waited {DEADLINE:?} for: {what}\n{}", self.screen()),
        }
    }

    /// Looks at the parsed screen: colours, cursor, alternate screen, modes.
    pub(crate) fn look<R>(&self, look: impl FnOnce(&vt100::Screen) -> R) -> R {
        self.shown.change(|shown| look(shown.parser.screen()))
    }

    /// All bytes that came so far, escape sequences included.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.shown.change(|shown| shown.bytes.clone())
    }

    /// The process id.
    pub(crate) fn id(&self) -> u32 {
        self.child.process_id().expect("a process id")
    }

    /// Waits for the end; gives the exit code (128 and the signal's number are not told apart: see `bytes`).
    #[track_caller]
    pub(crate) fn wait(&mut self) -> u32 {
        let (child, shown) = (&mut self.child, &self.shown);
        let end = std::time::Instant::now() + DEADLINE;
        let status = wait_for("the end of the program", || {
            let status = child.try_wait().expect("a known child");
            let late = status.is_none() && std::time::Instant::now() + LAST_LOOK > end;
            assert!(
                !late,
                "waited for the end of the program\n{}",
                shown.change(|shown| text(&shown.parser))
            );
            status
        });
        self.shown
            .wait(|shown| shown.ended.then_some(()))
            .expect("the end of the output");
        status.exit_code()
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        if self.child.try_wait().is_ok_and(|status| status.is_none()) {
            self.child.kill().expect("a killed child");
            self.child.wait().expect("a reaped child");
        }
    }
}

fn size(columns: u16, rows: u16) -> PtySize {
    PtySize {
        rows,
        cols: columns,
        pixel_width: 0,
        pixel_height: 0,
    }
}

fn text(parser: &vt100::Parser) -> String {
    let (_, columns) = parser.screen().size();
    let rows = parser.screen().rows(0, columns);
    rows.map(|row| row.trim_end().to_owned())
        .collect::<Vec<_>>()
        .join("\n")
}

fn builder(command: &Command) -> CommandBuilder {
    let mut builder = CommandBuilder::new(command.get_program());
    builder.args(command.get_args());
    builder.env_clear();
    for (name, value) in command.get_envs() {
        if let Some(value) = value {
            builder.env(name, value);
        }
    }
    if let Some(folder) = command.get_current_dir() {
        builder.cwd(folder);
    }
    builder
}

fn show(mut reader: Box<dyn Read + Send>, shown: Arc<Watched<Shown>>) {
    std::thread::spawn(move || {
        let mut block = vec![0; 64 * 1024];
        while let Ok(length @ 1..) = reader.read(&mut block) {
            shown.change(|shown| {
                shown.parser.process(&block[..length]);
                shown.bytes.extend_from_slice(&block[..length]);
            });
        }
        shown.change(|shown| shown.ended = true);
    });
}

#[test]
fn a_terminal_shows_types_and_resizes() {
    let home = crate::support::home::Home::new();
    let mut command = home.command("sh");
    command.args(["-c", "stty size; read line; printf '\\033[7mgot %s\\033[0m' \"$line\"; read line; stty size; exit 7"]);
    let mut terminal = Terminal::start(&command, 80, 24);
    terminal.wait_text("24 80");
    assert!(terminal.id() > 1);
    terminal.keys("word\r");
    let screen = terminal.wait_text("got word");
    assert_eq!(screen.split('\n').count(), 24, "{screen}");
    assert!(terminal.look(|screen| screen.cell(2, 0).is_some_and(vt100::Cell::inverse)));
    terminal.resize(100, 30);
    terminal.keys("\r");
    terminal.wait_screen("the new size", |screen| screen.contains("30 100"));
    assert_eq!(terminal.wait(), 7);
    assert_eq!(terminal.screen().lines().next(), Some("24 80"));
    assert!(terminal.bytes().windows(4).any(|bytes| bytes == b"\x1b[7m"));
}
