//! Signals reach the server as they would without the shim (capture.md 5.5).

use std::fs;

use rustix::process::{Pid, Signal, test_kill_process};

use super::{Shim, assert_no_gap, end, frames};
use crate::support::{process::Running, terminal::Terminal, wait::wait_for};

#[test]
fn a_signal_reaches_the_server_and_its_farewell_the_client() {
    let shim = Shim::new();
    let mut run =
        shim.sh("trap 'echo farewell; exit 5' TERM; echo up; while :; do sleep 0.05; done");
    assert_eq!(run.next_line(), "up");
    run.signal(Signal::TERM);
    assert_eq!(run.next_line(), "farewell");
    run.wait().expect_code(5);
    let log = shim.log();
    assert_eq!(frames(&log, "s2c"), ["up", "farewell"]);
    assert_eq!(end(&log)["closed_by"], "signal");
}

#[test]
fn every_repetition_is_passed_on_and_none_ends_the_shim() {
    let shim = Shim::new();
    let script = "trap 'echo usr1' USR1; trap 'echo int' INT; echo up; while read x; do echo $x; done; exit 0";
    let mut run = shim.start(&["bash", "-c", script]);
    assert_eq!(run.next_line(), "up");
    for _ in 0..3 {
        run.signal(Signal::USR1);
        assert_eq!(run.next_line(), "usr1");
    }
    run.signal(Signal::INT);
    assert_eq!(run.next_line(), "int");
    run.wait().expect_code(0);
}

#[test]
fn a_signal_with_a_grandchild_on_standard_output_ends_in_time() {
    let shim = Shim::new();
    let mut run = shim.sh("sleep 120 & echo up; wait");
    assert_eq!(run.next_line(), "up");
    run.signal(Signal::TERM);
    // Standard input is open: it is the signal that ends the wait for the grandchild.
    assert_eq!(run.next_line_or_end(), None);
    run.wait().expect_code(143);
}

#[test]
fn an_ignored_hangup_stays_ignored_in_both() {
    let shim = Shim::new();
    let plain = shim.command(&["sh", "-c", "echo up; read x; echo $x"]);
    let mut command = shim.home.command("sh");
    command
        .args(["-c", "trap '' HUP; exec \"$@\"", "sh"])
        .arg(plain.get_program())
        .args(plain.get_args());
    let mut run = Running::start(&mut command);
    assert_eq!(run.next_line(), "up");
    run.signal(Signal::HUP);
    run.send("survived\n");
    assert_eq!(run.next_line(), "survived");
    run.wait().expect_code(0);
}

#[test]
fn killing_the_shim_kills_the_server() {
    let shim = Shim::new();
    let mut run = shim.sh("echo $$; exec sleep 120");
    let server = run.next_line().parse().unwrap();
    run.signal(Signal::KILL);
    assert_eq!(run.wait().signal, Some(9));
    wait_for("the end of the server", || {
        (!is_running(server)).then_some(())
    });
}

/// False for a zombie too: whoever adopted an orphan may not reap it.
fn is_running(process: i32) -> bool {
    let status = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let state = status.rsplit(')').next().unwrap_or_default();
    test_kill_process(Pid::from_raw(process).unwrap()).is_ok()
        && !state.trim_start().starts_with('Z')
}

#[test]
fn a_killed_shim_leaves_what_was_seen_before() {
    let shim = Shim::new();
    let mut run = shim.start(&["cat"]);
    run.send("1\n2\n3\n");
    for line in ["1", "2", "3"] {
        assert_eq!(run.next_line(), line);
    }
    wait_for("start record and six frames in the log", || {
        let log = fs::read_to_string(shim.home.logs().first()?).ok()?;
        (log.lines().count() == 7).then_some(())
    });
    run.signal(Signal::KILL);
    assert_eq!(run.wait().signal, Some(9));
    let log = shim.log();
    assert_no_gap(&log);
    assert_eq!(frames(&log, "s2c"), ["1", "2", "3"]);
}

#[test]
fn clients_ways_to_end_leave_no_process() {
    // Close standard input, then TERM: a server that ignores the first needs the second.
    let shim = Shim::new();
    let mut run = shim.sh("echo $$; while :; do sleep 0.1; done");
    let server = run.next_line().parse().unwrap();
    run.close_stdin();
    run.signal(Signal::TERM);
    run.wait().expect_code(143);
    assert!(!is_running(server));
}

#[test]
fn an_interrupt_from_the_terminal_reaches_the_server_once() {
    let shim = Shim::new().with(&["--quiet"]);
    let script =
        "trap 'echo int' INT; echo up; while read x; do echo got $x; [ $x = end ] && exit 3; done";
    let mut terminal = Terminal::start(&shim.command(&["bash", "-c", script]), 80, 24);
    terminal.wait_text("up");
    terminal.keys("\u{3}");
    terminal.wait_text("int");
    terminal.keys("end\n");
    terminal.wait_text("got end");
    assert_eq!(terminal.wait(), 3);
    assert_eq!(frames(&shim.log(), "s2c"), ["up", "int", "got end"]);
}
