//! `mcpsnoop demo` as a new user meets it: find the failing call, see why, copy it, leave.

use std::path::PathBuf;

use rustix::process::{Pid, Signal, kill_process};

use crate::{
    open::{assert_harmless, leave},
    support::{home::Home, process::run, terminal::Terminal, tmux::Tmux, wait::wait_for},
    watch::copied,
};

/// The demo's directories below the temporary directory of a home.
fn left_over(home: &Home) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(home.path().join("tmp")).expect("temporary files");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    paths
        .filter(|path| path.to_string_lossy().contains("mcpsnoop-demo"))
        .collect()
}

#[track_caller]
fn assert_nothing_left(home: &Home) {
    let left = left_over(home);
    assert!(left.is_empty(), "{left:?}");
    assert!(!home.state().exists(), "the user's state is not touched");
}

#[test]
fn a_new_user_finds_the_failing_call_and_copies_it() {
    let home = Home::new();
    let mut command = home.mcpsnoop();
    command
        .args(["demo", "--speed", "0"])
        .env("MCPSNOOP_CLIPBOARD", "auto")
        .env("SSH_CONNECTION", "a 1 b 2");
    let mut terminal = Terminal::start(&command, 80, 24);
    terminal.wait_text("toolerr");
    let screen = terminal.wait_text("1 err");
    assert!(screen.contains("! problems"), "{screen}");
    assert_eq!(left_over(&home).len(), 1);
    // From the first row: a line that is no message, then the call that failed.
    terminal.keys("g}}\r");
    let why = terminal.wait_text("isError");
    assert!(why.contains("\"isError\": true"), "{why}");
    terminal.keys("y");
    terminal.wait_text("to the terminal clipboard (OSC 52)");
    let copied: serde_json::Value =
        serde_json::from_str(&copied(&terminal.bytes())).expect("the copied frame");
    assert_eq!(copied["result"]["isError"], true, "{copied}");
    terminal.keys("q");
    terminal.wait_text("toolerr");
    leave(&mut terminal);
    assert_harmless(&terminal.bytes());
    assert_nothing_left(&home);
}

#[test]
fn within_tmux_a_copy_is_in_its_buffer() {
    let home = Home::new();
    let user = rustix::process::geteuid().as_raw();
    let socket = home.path().join(format!("tmp/tmux-{user}/test"));
    let mut command = home.mcpsnoop();
    command
        .args(["demo", "--speed", "0"])
        .env("TMUX_TMPDIR", home.path().join("tmp"))
        .env("TMUX", format!("{},1,0", socket.display()));
    let Some(tmux) = Tmux::start(&home, &command, 80, 24) else {
        return;
    };
    tmux.wait_text("1 err");
    tmux.keys(&["g", "}", "}", "Enter"]);
    tmux.wait_text("isError");
    tmux.keys(&["y"]);
    tmux.wait_text("to the tmux buffer and the terminal");
    let mut show = home.command("tmux");
    show.arg("-S").arg(&socket).arg("show-buffer");
    let copied = run(&mut show).expect_code(0).out();
    assert!(copied.contains("\"isError\": true"), "{copied}");
    tmux.keys(&[":", "q", "Enter"]);
    wait_for("the demo's end", || {
        left_over(&home).is_empty().then_some(())
    });
    assert_nothing_left(&home);
}

#[test]
fn the_private_directory_goes_after_a_signal_too() {
    for (signal, code) in [(Signal::TERM, 143), (Signal::HUP, 129), (Signal::INT, 130)] {
        let home = Home::new();
        let mut command = home.mcpsnoop();
        command.arg("demo");
        let mut terminal = Terminal::start(&command, 80, 24);
        terminal.wait_text("stderr");
        assert_eq!(left_over(&home).len(), 1);
        let id = i32::try_from(terminal.id()).ok().and_then(Pid::from_raw);
        kill_process(id.expect("a process id"), signal).expect("a signal that was sent");
        assert_eq!(terminal.wait(), code, "{signal:?}: {}", terminal.screen());
        assert!(terminal.look(|screen| !screen.alternate_screen() && !screen.hide_cursor()));
        assert_nothing_left(&home);
    }
}

#[test]
fn without_a_terminal_it_refuses_and_leaves_nothing() {
    let home = Home::new();
    let refused = run(home.mcpsnoop().arg("demo")).expect_code(2);
    assert!(refused.out().is_empty());
    assert!(refused.err().contains("hint: "), "{}", refused.err());
    assert_nothing_left(&home);
    // A directory for temporary files that is not there.
    let mut command = home.mcpsnoop();
    command
        .arg("demo")
        .env("TMPDIR", home.path().join("absent"));
    let mut terminal = Terminal::start(&command, 80, 24);
    assert_eq!(terminal.wait(), 1, "{}", terminal.screen());
    assert!(
        terminal.screen().contains("error: "),
        "{}",
        terminal.screen()
    );
}

#[test]
fn the_script_plays_on_every_size_and_shows_what_it_promises() {
    let home = Home::new();
    let mut command = home.mcpsnoop();
    command.args(["demo", "--speed", "0"]);
    let mut terminal = Terminal::start(&command, 120, 40);
    terminal.wait_text("1 err");
    let screen = terminal.wait_text("cancel");
    for words in [
        "stderr",
        "server/discover",
        "tools/list",
        "progress",
        "toolerr",
        "pending",
        "input",
        "invalid",
    ] {
        assert!(screen.contains(words), "{words}\n{screen}");
    }
    assert!(!screen.contains("missing"), "{screen}");
    for (columns, rows) in [(80, 24), (40, 10)] {
        terminal.resize(columns, rows);
        terminal.wait_screen("the counters", |screen| {
            screen.lines().count() == usize::from(rows) && screen.contains("1 err")
        });
    }
    leave(&mut terminal);
    assert_nothing_left(&home);
}
