//! Exit codes, launches, and the ends of streams (capture.md 2.3, 5.1, 5.4): each row of its table.

use std::{
    io::{Read as _, Write as _},
    process::Stdio,
};

use super::{Shim, end, frames};
use crate::support::{process::run, wait::wait_for};

#[test]
fn exit_codes_are_the_commands() {
    for (script, code, exit_code, signal) in [
        ("exit 0", 0, Some(0), None),
        ("exit 3", 3, Some(3), None),
        ("kill -TERM $$", 143, None, Some("SIGTERM")),
        ("kill -KILL $$", 137, None, Some("SIGKILL")),
        ("kill -SEGV $$", 139, None, Some("SIGSEGV")),
    ] {
        let shim = Shim::new();
        // Standard input stays open until the server has ended.
        let mut run = shim.sh(script);
        assert_eq!(run.next_line_or_end(), None);
        run.wait().expect_code(code);
        let log = shim.log();
        assert_eq!(end(&log)["exit_code"].as_i64(), exit_code);
        assert_eq!(end(&log)["signal"].as_str(), signal);
        assert_eq!(end(&log)["closed_by"], "server");
    }
}

#[test]
fn a_failed_launch_says_one_line_and_leaves_no_log() {
    let shim = Shim::new();
    let plain = shim.home.write("plain", "x");
    let plain = plain.to_str().unwrap();
    for (program, shown, code) in [
        ("no-such-program", "no-such-program", 127),
        (plain, plain, 126),
        ("no\nsuch\u{202e}", "no\\nsuch\\u202e", 127),
    ] {
        let said = run(&mut shim.command(&[program])).expect_code(code).err();
        assert!(
            said.lines().count() == 1 && said.starts_with("mcpsnoop: ") && said.contains(shown),
            "{said}"
        );
        assert!(shim.home.logs().is_empty());
    }
}

#[test]
fn the_client_closes_its_end_and_the_server_ends() {
    let shim = Shim::new();
    let mut run = shim.sh("cat >/dev/null; echo bye");
    run.send("unfinished");
    assert_eq!(run.wait().expect_code(0).out(), "bye\n");
    let log = shim.log();
    assert_eq!(frames(&log, "c2s"), ["unfinished"]);
    assert_eq!(end(&log)["closed_by"], "client");
}

#[test]
fn a_server_that_closes_its_input_breaks_the_clients_pipe() {
    let shim = Shim::new();
    let mut run = shim.sh("exec <&-; echo closed; exec sleep 120");
    assert_eq!(run.next_line(), "closed");
    wait_for("the broken pipe", || {
        (!run.try_send("into the void\n")).then_some(())
    });
    assert!(run.is_running());
    run.signal(rustix::process::Signal::TERM);
    run.wait().expect_code(143);
}

#[test]
fn a_server_that_closes_its_output_ends_the_clients_reading() {
    let shim = Shim::new();
    let mut run = shim.sh("echo last; exec >&-; read x; exit 4");
    assert_eq!(run.next_line(), "last");
    assert_eq!(run.next_line_or_end(), None);
    run.send("go\n");
    run.wait().expect_code(4);
    assert_eq!(frames(&shim.log(), "c2s"), ["go"]);
}

#[test]
fn a_client_that_stops_reading_breaks_the_servers_pipe() {
    let shim = Shim::new();
    let mut child = shim
        .command(&[
            "sh",
            "-c",
            "trap '' PIPE; while echo line; do :; done; exit 7",
        ])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut stdout = child.stdout.take().unwrap();
    stdout.read_exact(&mut [0; 100]).unwrap();
    drop(stdout);
    let status = wait_for("the end", || child.try_wait().unwrap());
    assert_eq!(status.code(), Some(7));
    assert_eq!(end(&shim.log())["closed_by"], "client");
}

#[test]
fn a_client_that_closes_standard_error_loses_no_record() {
    let shim = Shim::new();
    let script = "read x; echo one >&2; echo two >&2; read y; echo three >&2";
    let mut child = shim
        .command(&["sh", "-c", script])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stderr.take());
    child.stdin.as_mut().unwrap().write_all(b"a\nb\n").unwrap();
    let status = wait_for("the end", || child.try_wait().unwrap());
    assert!(status.success());
    assert_eq!(frames(&shim.log(), "stderr"), ["one", "two", "three"]);
}

#[test]
fn a_descendant_with_standard_output_is_kept_until_the_client_closes() {
    let shim = Shim::new();
    let mut run = shim.sh("exec 3<&0; (read go; echo late; exec sleep 120) <&3 & exit 0");
    run.wait_err("another process still holds its standard output");
    run.send("go\n");
    assert_eq!(run.next_line(), "late");
    assert!(run.is_running());
    run.wait().expect_code(0);
    assert_eq!(frames(&shim.log(), "s2c"), ["late"]);
}

#[test]
fn a_helper_that_cannot_be_asked_does_not_hold_the_end_up() {
    let shim = Shim::new();
    let mut run = shim.sh("sleep 120 <&- & exit 9");
    run.wait_err("another process still holds its standard output");
    // Nobody reads it: the shim closes its standard input, and that ends the wait.
    wait_for("the broken pipe", || {
        (!run.try_send("hello?\n")).then_some(())
    });
    assert_eq!(run.next_line_or_end(), None);
    run.wait().expect_code(9);
}
