//! Bytes pass unchanged and at once; their frames are numbered in the order in which they were seen.

use std::{io::Read as _, os::unix::net::UnixStream, process::Stdio};

use super::{Shim, assert_no_gap, end, frames, numbers};
use crate::support::{process::run_with, wait::wait_for};

/// Bytes that look random and hold everything: NUL, lone CR, LF, invalid UTF-8.
fn noise(length: usize) -> Vec<u8> {
    let mut state = 0x2545_F491_4F6C_DD1D_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()[3]
    };
    (0..length).map(|_| next()).collect()
}

fn through_cat(shim: &Shim, sent: &[u8]) {
    let output = run_with(&mut shim.command(&["cat"]), sent).expect_code(0);
    assert!(output.stdout == sent);
}

#[test]
fn any_bytes_pass_both_ways_unchanged() {
    let mut long = vec![b'x'; 20 << 20];
    long.extend(noise(1 << 20));
    for sent in [noise(1 << 20), long] {
        let shim = Shim::new();
        through_cat(&shim, &sent);
        let log = shim.log();
        assert_no_gap(&log);
        assert_eq!(end(&log)["dropped"], 0);
        assert_eq!(end(&log)["c2s_bytes"], sent.len());
        assert_eq!(end(&log)["s2c_bytes"], sent.len());
        through_cat(&Shim::new().with(&["--no-trace"]), &sent);
    }
}

#[test]
fn a_line_above_the_cap_is_recorded_as_its_start() {
    let shim = Shim::new();
    let sent = [vec![b'y'; (16 << 20) + 5], b"\nnext\n".to_vec()].concat();
    through_cat(&shim, &sent);
    let log = shim.log();
    let cut: Vec<_> = log
        .iter()
        .filter(|line| line["truncated"] == true)
        .collect();
    assert_eq!(cut.len(), 2);
    for line in cut {
        assert_eq!(line["wire_bytes"], (16 << 20) + 5);
        assert_eq!(line["text"].as_str().unwrap().len(), 16 << 20);
    }
    assert_eq!(frames(&log, "c2s")[1], "next");
}

#[test]
fn a_prompt_without_a_line_end_is_seen() {
    let shim = Shim::new().with(&["--quiet"]);
    let mut run = shim.sh("printf 'name? '; printf 'pass? ' >&2; read x; echo \"got $x\"");
    run.wait_out("name? ");
    run.wait_err("pass? ");
    run.send("me\n");
    let output = run.wait().expect_code(0);
    assert_eq!(output.out(), "name? got me\n");
    assert_eq!(output.err(), "pass? ");
    assert_eq!(frames(&shim.log(), "s2c"), ["name? got me"]);
}

#[test]
fn a_slow_client_with_a_non_blocking_pipe_loses_nothing() {
    let shim = Shim::new();
    let (mut ours, theirs) = UnixStream::pair().unwrap();
    theirs.set_nonblocking(true).unwrap();
    let script = "i=0; while [ $i -lt 20000 ]; do echo line $i; i=$((i+1)); done; echo done >&2";
    let mut command = shim.command(&["sh", "-c", script]);
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::from(std::os::fd::OwnedFd::from(theirs)))
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    drop(command);
    // The client begins to read when there is something; the shim has to wait for it from then on.
    let mut pending = [rustix::event::PollFd::new(
        &ours,
        rustix::event::PollFlags::IN,
    )];
    rustix::event::poll(&mut pending, None).unwrap();
    let mut seen = String::new();
    ours.read_to_string(&mut seen).unwrap();
    let mut lines = seen.lines().enumerate();
    assert!(lines.all(|(at, line)| line == format!("line {at}")));
    assert_eq!(seen.lines().count(), 20_000);
    let status = wait_for("the end", || child.try_wait().unwrap());
    assert!(status.success());
    assert_eq!(frames(&shim.log(), "s2c").len(), 20_000);
}

#[test]
fn no_answer_has_a_lower_number_than_its_request() {
    let shim = Shim::new();
    let mut run = shim.sh("while read x; do echo $x; done");
    for id in 0..5_000 {
        run.send(format!("{id}\n"));
        assert_eq!(run.next_line(), id.to_string());
    }
    run.wait().expect_code(0);
    let log = shim.log();
    assert_no_gap(&log);
    let (asked, answered) = (numbers(&log, "c2s"), numbers(&log, "s2c"));
    assert_eq!((asked.len(), answered.len()), (5_000, 5_000));
    let mut pairs = asked.iter().zip(&answered);
    assert!(pairs.all(|(ask, answer)| ask < answer));
}
