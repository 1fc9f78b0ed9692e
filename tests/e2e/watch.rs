//! `mcpsnoop` without a command: the viewer beside shims, other viewers, leftovers, and the terminal it borrows.

#![expect(
    clippy::string_slice,
    reason = "the bounds were found in the same text"
)]

use std::{
    os::unix::{
        fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _},
        net::UnixStream,
    },
    path::Path,
    process::Command,
};

use rustix::process::{Pid, Signal, kill_process};

use crate::{
    open::{Lines, assert_harmless, leave},
    support::{
        home::Home,
        log::read_log,
        parts::need,
        process::{Running, run},
        terminal::Terminal,
        tmux::Tmux,
        wait::wait_for,
    },
};

/// A server that answers every request with an empty result.
const SERVER: [&str; 4] = ["sed", "-u", "-E", r#"s/"method":.*$/"result":{}}/"#];

/// A recorded server and its client, the test.
pub(crate) struct Wrapped {
    /// The recorder.
    pub(crate) shim: Running,
    next: u64,
}

impl Wrapped {
    /// Starts the recorder with this label, or what `change` makes of its command.
    #[track_caller]
    pub(crate) fn start(home: &Home, label: &str, change: impl FnOnce(&mut Command)) -> Self {
        let mut command = home.mcpsnoop();
        command.args(["--label", label]);
        change(&mut command);
        command.arg("--").args(SERVER);
        Self {
            shim: Running::start(&mut command),
            next: 1,
        }
    }

    /// Sends a call of a tool and takes its answer, as every client would.
    #[track_caller]
    pub(crate) fn call(&mut self, tool: &str) {
        let id = self.next;
        self.next += 1;
        self.shim.send(request(id, tool));
        assert_eq!(self.shim.next_line(), answer(id));
    }

    /// How many calls were made.
    pub(crate) const fn calls(&self) -> u64 {
        self.next - 1
    }

    /// Closes standard input and waits for the end.
    #[track_caller]
    pub(crate) fn finish(self) -> String {
        self.shim.wait().expect_code(0).err()
    }
}

/// The line of a call.
pub(crate) fn request(id: u64, tool: &str) -> String {
    format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/call\",\"params\":{{\"name\":\"{tool}\"}}}}\n"
    )
}

/// What the server answers.
pub(crate) fn answer(id: u64) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#)
}

/// The viewer of this home in a terminal of 100 by 30.
#[track_caller]
pub(crate) fn view(home: &Home) -> Terminal {
    Terminal::start(&home.mcpsnoop(), 100, 30)
}

fn is_socket(path: &Path) -> bool {
    path.symlink_metadata()
        .is_ok_and(|found| found.file_type().is_socket())
}

fn kill(id: u32, signal: Signal) {
    let id = i32::try_from(id).ok().and_then(Pid::from_raw);
    kill_process(id.expect("a process id"), signal).expect("a signal that was sent");
}

#[test]
fn the_first_run_says_how_to_begin() {
    let home = Home::new();
    let mut command = home.mcpsnoop();
    command.env("MCPSNOOP_CLIPBOARD", "osc52");
    let mut terminal = Terminal::start(&command, 80, 24);
    let card = terminal.wait_text("hub ready  ~/.local/state/mcpsnoop/hub.sock");
    for words in [
        "waiting for traffic",
        "\"args\": [\"--\"",
        "mcpsnoop remote",
        "mcpsnoop demo",
    ] {
        assert!(card.contains(words), "{words}\n{card}");
    }
    for words in ["wrap", "mcpsnoop http"] {
        assert!(!card.contains(words), "{words} is not built yet\n{card}");
    }
    let socket = home.state().join("hub.sock");
    assert!(is_socket(&socket));
    assert_eq!(socket.metadata().expect("the socket").mode() & 0o777, 0o600);
    assert_eq!(
        home.state().metadata().expect("the folder").mode() & 0o777,
        0o700
    );
    terminal.keys("y");
    terminal.wait_text("to the terminal clipboard");
    let copied = copied(&terminal.bytes());
    let program = env!("CARGO_BIN_EXE_mcpsnoop");
    assert!(
        copied.contains(&format!("\"command\": \"{program}\"")),
        "{copied}"
    );
    leave(&mut terminal);
    assert_harmless(&terminal.bytes());
    assert!(!socket.exists(), "the socket goes with the viewer");
}

/// What was last put into the terminal's clipboard.
pub(crate) fn copied(bytes: &[u8]) -> String {
    use base64::Engine as _;
    let text = String::from_utf8_lossy(bytes);
    let at = text.rfind("\u{1b}]52;c;").expect("a copy") + 7;
    let end = at + text[at..].find('\u{1b}').expect("the end of the copy");
    let copied = base64::engine::general_purpose::STANDARD
        .decode(&text[at..end])
        .expect("base64");
    String::from_utf8(copied).expect("text")
}

#[test]
fn shims_from_before_and_after_the_viewer_are_shown_live() {
    let home = Home::new();
    let mut early = Wrapped::start(&home, "early", |_| {});
    early.call("first_tool");
    let mut terminal = view(&home);
    terminal.wait_text("early");
    let mut late = Wrapped::start(&home, "late", |_| {});
    late.call("other_tool");
    let screen = terminal.wait_screen("both sessions", |screen| {
        screen.contains("early") && screen.contains("late") && screen.contains("2 sessions")
    });
    assert!(
        screen.contains("* live") || screen.contains("● live"),
        "{screen}"
    );
    terminal.keys(":early\r");
    terminal.wait_text("first_tool");
    early.call("second_tool");
    terminal.wait_text("second_tool");
    terminal.wait_text("4 frames");
    // The other session, by its key.
    terminal.keys("[");
    terminal.wait_text("other_tool");
    late.call("third_tool");
    terminal.wait_text("third_tool");
    early.finish();
    late.finish();
    terminal.wait_text("ended");
    leave(&mut terminal);
}

#[test]
fn a_second_viewer_follows_the_logs_and_takes_over() {
    let home = Home::new();
    let mut wrapped = Wrapped::start(&home, "shared", |_| {});
    wrapped.call("first_tool");
    let mut first = view(&home);
    first.wait_text("shared");
    wait_for("the socket", || {
        is_socket(&home.state().join("hub.sock")).then_some(())
    });
    let mut second = view(&home);
    second.wait_text("live (logs)");
    for terminal in [&mut first, &mut second] {
        terminal.keys(":shared\r");
        terminal.wait_text("first_tool");
    }
    wrapped.call("second_tool");
    for terminal in [&first, &second] {
        terminal.wait_text("second_tool");
        let screen = terminal.wait_text("4 frames");
        assert!(!screen.contains("missing"), "{screen}");
    }
    assert!(!first.screen().contains("(logs)"), "{}", first.screen());
    leave(&mut first);
    wait_for("the second viewer's socket", || {
        is_socket(&home.state().join("hub.sock")).then_some(())
    });
    second.wait_screen("live by the socket", |screen| {
        screen.contains("live") && !screen.contains("(logs)")
    });
    wrapped.call("third_tool");
    second.wait_text("third_tool");
    second.wait_text("6 frames");
    leave(&mut second);
    wrapped.finish();
}

#[test]
fn a_killed_viewer_leaves_nothing_that_blocks_the_next() {
    let home = Home::new();
    let socket = home.state().join("hub.sock");
    let mut wrapped = Wrapped::start(&home, "steady", |_| {});
    wrapped.call("first_tool");
    let mut killed = view(&home);
    killed.wait_text("steady");
    wait_for("the socket", || is_socket(&socket).then_some(()));
    kill(killed.id(), Signal::KILL);
    killed.wait();
    assert!(is_socket(&socket), "a killed viewer leaves its socket");
    wrapped.call("second_tool");
    let mut next = view(&home);
    next.wait_text("steady");
    wait_for("a hub that answers", || UnixStream::connect(&socket).ok());
    next.keys(":steady\r");
    next.wait_text("4 frames");
    wrapped.call("third_tool");
    let screen = next.wait_text("6 frames");
    assert!(
        !screen.contains("(logs)") && !screen.contains("missing"),
        "{screen}"
    );
    leave(&mut next);
    assert!(!socket.exists());
    wrapped.finish();
}

#[test]
fn a_path_that_is_too_long_for_a_socket_is_followed() {
    let home = Home::new();
    let long = home.path().join("d".repeat(110));
    let set = |command: &mut Command| {
        command.env("MCPSNOOP_HOME", &long);
    };
    let mut wrapped = Wrapped::start(&home, "deep", set);
    wrapped.call("first_tool");
    let mut command = home.mcpsnoop();
    set(&mut command);
    let mut terminal = Terminal::start(&command, 240, 30);
    terminal.wait_text("live (logs)");
    terminal.keys(":deep\r");
    terminal.wait_text("first_tool");
    wrapped.call("second_tool");
    terminal.wait_text("second_tool");
    terminal.keys(":messages\r");
    terminal.wait_text("bytes, above 103: set a shorter");
    leave(&mut terminal);
    let said = wrapped.finish();
    assert!(said.contains("live view follows the log"), "{said}");
    assert!(!said.contains("incomplete"), "{said}");
}

#[test]
fn a_state_directory_that_cannot_be_made_stops_no_traffic() {
    let home = Home::new();
    home.write(
        ".local/state/mcpsnoop",
        "a file where the directory should be",
    );
    let mut wrapped = Wrapped::start(&home, "blocked", |_| {});
    wrapped.call("first_tool");
    let said = wrapped.finish();
    assert!(said.contains("continuing without file trace"), "{said}");
    let mut terminal = view(&home);
    let code = terminal.wait();
    let screen = terminal.screen();
    assert_eq!(code, 1, "{screen}");
    assert!(
        screen.contains("error: ") && screen.contains("hint: set MCPSNOOP_HOME"),
        "{screen}"
    );
    assert!(terminal.look(|screen| !screen.alternate_screen() && !screen.hide_cursor()));
}

#[test]
fn sessions_in_another_directory_are_named_on_the_first_run() {
    let home = Home::new();
    let lines = Lines::new("files-1-000000000001", "files")
        .call("tool")
        .end();
    home.write(
        ".local/state/mcpsnoop/sessions/files-1-000000000001.jsonl",
        &lines.text,
    );
    let mut command = home.mcpsnoop();
    command.env("MCPSNOOP_HOME", home.path().join("empty"));
    let mut terminal = Terminal::start(&command, 80, 24);
    let card = terminal.wait_text("waiting for traffic");
    let there = home.state().display().to_string();
    assert!(
        card.contains(&format!("no sessions in ~/empty; {there} has 1:")),
        "{card}"
    );
    assert!(
        card.contains(&format!("MCPSNOOP_HOME={there} mcpsnoop")),
        "{card}"
    );
    leave(&mut terminal);
}

/// The viewer below a shell that notes the terminal's settings before and after.
fn framed(home: &Home) -> (Terminal, u32) {
    let mut command = home.command("sh");
    let script = "stty -g >before; \"$0\"; echo \"ended with $?\"; stty -g >after; echo over";
    command.args(["-c", script, env!("CARGO_BIN_EXE_mcpsnoop")]);
    let terminal = Terminal::start(&command, 80, 24);
    terminal.wait_text("waiting for traffic");
    let children = format!("/proc/{0}/task/{0}/children", terminal.id());
    let viewer = wait_for("the viewer's process", || {
        std::fs::read_to_string(&children)
            .ok()?
            .split_whitespace()
            .last()?
            .parse()
            .ok()
    });
    (terminal, viewer)
}

#[test]
fn the_terminal_is_given_back_on_every_way_out() {
    type Leave = fn(&mut Terminal, u32);
    let ways: [(&str, Leave, &str); 6] = [
        (":q", |terminal, _| terminal.keys(":q\r"), "ended with 0"),
        (
            "ctrl-c",
            |terminal, _| terminal.keys("\x03"),
            "ended with 0",
        ),
        ("q", |terminal, _| terminal.keys("qq"), "ended with 0"),
        (
            "SIGTERM",
            |_, viewer| kill(viewer, Signal::TERM),
            "ended with 143",
        ),
        (
            "SIGHUP",
            |_, viewer| kill(viewer, Signal::HUP),
            "ended with 129",
        ),
        (
            "SIGINT",
            |_, viewer| kill(viewer, Signal::INT),
            "ended with 130",
        ),
    ];
    for (way, go, ending) in ways {
        let home = Home::new();
        let (mut terminal, viewer) = framed(&home);
        go(&mut terminal, viewer);
        let screen = terminal.wait_text("over");
        assert!(screen.contains(ending), "{way}: {screen}");
        terminal.wait();
        assert!(
            terminal.look(|screen| !screen.alternate_screen()
                && !screen.hide_cursor()
                && !screen.bracketed_paste()),
            "{way}"
        );
        let settings =
            |name| std::fs::read_to_string(home.path().join(name)).expect("the settings");
        assert_eq!(settings("before"), settings("after"), "{way}");
        assert!(!home.state().join("hub.sock").exists(), "{way}");
        assert_harmless(&terminal.bytes());
    }
}

#[test]
fn a_closed_terminal_ends_the_viewer_and_not_the_recorders() {
    let home = Home::new();
    let mut wrapped = Wrapped::start(&home, "lonely", |_| {});
    wrapped.call("first_tool");
    let socket = home.state().join("hub.sock");
    let Some(terminal) = Tmux::start(&home, &home.mcpsnoop(), 100, 30) else {
        return;
    };
    terminal.wait_text("lonely");
    wait_for("the socket", || is_socket(&socket).then_some(()));
    drop(terminal);
    wait_for("the end of the viewer", || (!socket.exists()).then_some(()));
    wrapped.call("second_tool");
    wrapped.finish();
    assert_eq!(read_log(&home.only_log()).len(), 6);
}

#[test]
fn a_suspended_viewer_gives_the_terminal_back_and_returns() {
    if need("bash").is_none() {
        return;
    }
    let home = Home::new();
    let mut command = home.command("bash");
    command
        .args(["--norc", "--noprofile", "-i"])
        .env("PS1", "ready> ");
    let mut terminal = Terminal::start(&command, 80, 24);
    terminal.wait_text("ready>");
    terminal.keys(&format!("{}\r", env!("CARGO_BIN_EXE_mcpsnoop")));
    terminal.wait_text("waiting for traffic");
    terminal.keys("\x1a");
    terminal.wait_text("Stopped");
    assert!(terminal.look(|screen| !screen.alternate_screen() && !screen.hide_cursor()));
    // Traffic goes on, and is there when the viewer returns.
    let mut wrapped = Wrapped::start(&home, "meanwhile", |_| {});
    wrapped.call("first_tool");
    terminal.keys("stty -a | grep -o '.icanon'\r");
    terminal.wait_text(" icanon");
    terminal.resize(100, 30);
    terminal.keys("fg\r");
    terminal.wait_text("meanwhile");
    assert!(terminal.look(vt100::Screen::alternate_screen));
    terminal.keys(":q\r");
    terminal.wait_screen("the shell", |screen| screen.trim_end().ends_with("ready>"));
    wrapped.finish();
    terminal.keys("exit\r");
    terminal.wait();
}

#[test]
fn without_colour_nothing_is_coloured() {
    let home = Home::new();
    let lines = Lines::new("plain-1-000000000001", "plain")
        .call("some_tool")
        .with(
            "c2s",
            r#""raw":{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"bad"}}"#,
        )
        .with(
            "s2c",
            r#""raw":{"jsonrpc":"2.0","id":9,"error":{"code":-32602,"message":"no"}}"#,
        )
        .end();
    home.write(
        ".local/state/mcpsnoop/sessions/plain-1-000000000001.jsonl",
        &lines.text,
    );
    for (name, coloured) in [("NO_COLOR", false), ("UNUSED", true)] {
        let mut command = home.mcpsnoop();
        command.env(name, "1");
        let mut terminal = Terminal::start(&command, 100, 30);
        terminal.wait_text("plain");
        terminal.keys("\r");
        terminal.wait_text("-32602");
        terminal.keys("?");
        terminal.wait_text("help");
        let seen = terminal.look(|screen| {
            let (rows, columns) = screen.size();
            (0..rows)
                .flat_map(|row| (0..columns).map(move |column| (row, column)))
                .any(|(row, column)| {
                    screen.cell(row, column).is_some_and(|cell| {
                        cell.fgcolor() != vt100::Color::Default
                            || cell.bgcolor() != vt100::Color::Default
                    })
                })
        });
        assert_eq!(seen, coloured, "{name}");
        terminal.keys("q");
        leave(&mut terminal);
    }
}

#[test]
fn an_unwritable_directory_of_others_gets_no_socket() {
    let home = Home::new();
    std::fs::create_dir_all(home.sessions()).expect("folders");
    let open = std::fs::Permissions::from_mode(0o777);
    std::fs::set_permissions(home.state(), open).expect("permissions");
    let mut wrapped = Wrapped::start(&home, "shared", |_| {});
    wrapped.call("first_tool");
    let mut terminal = view(&home);
    terminal.wait_text("live (logs)");
    terminal.keys(":shared\r");
    wrapped.call("second_tool");
    terminal.wait_text("second_tool");
    assert!(!home.state().join("hub.sock").exists());
    leave(&mut terminal);
    wrapped.finish();
    assert_eq!(
        run(home.command("ls").arg(home.state()))
            .expect_code(0)
            .out()
            .trim(),
        "sessions"
    );
}
