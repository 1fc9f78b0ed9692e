//! The log: where it lies, what it costs when it cannot be written, and what a hub gets of it (capture.md 2.1, 3, 4).

use std::{
    fs::{self, File},
    io::Read as _,
    os::unix::{fs::PermissionsExt as _, net::UnixListener},
    path::Path,
    process::Command,
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use rustix::{
    fs::{FlockOperation, flock},
    process::Signal,
};

use super::{Shim, end, envelopes, frames};
use crate::support::{
    process::run,
    wait::{DEADLINE, wait_for},
};

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn the_banner_names_the_log() {
    let shim = Shim::new();
    let said = run(&mut shim.command(&["sh", "-c", "echo child >&2"]))
        .expect_code(0)
        .err();
    let log = shim.home.only_log();
    let banner = format!(
        "mcpsnoop: tracing \"sh -c echo child >&2\" (session {}, log in {})\n",
        log.file_stem().unwrap().display(),
        shim.home.sessions().display()
    );
    assert_eq!(said, format!("{banner}child\n"));
}

#[test]
fn the_banner_is_safe_to_show() {
    let shim = Shim::new();
    let said = run(&mut shim.command(&["true", "a\u{202e}\u{1b}[1m\nb"]))
        .expect_code(0)
        .err();
    assert!(said.contains("true a\\u202e\\u001b[1m\\nb"), "{said:?}");
    assert_eq!(said.lines().count(), 1);
}

#[test]
fn trace_files_are_appended_to_and_foreign_ones_refused() {
    let shim = Shim::new().with(&["--trace-file", "deep/er/trace.jsonl"]);
    for _ in 0..2 {
        run(&mut shim.command(&["echo", "hi"])).expect_code(0);
    }
    let path = shim.home.path().join("deep/er/trace.jsonl");
    let log = envelopes(&fs::read(&path).unwrap());
    assert_eq!(frames(&log, "s2c"), ["hi", "hi"]);
    assert_eq!(log[0]["raw"]["log"], path.to_str().unwrap());
    assert_eq!(mode(&shim.home.path().join("deep")), 0o700);
    assert_eq!(mode(&path), 0o600);
    fs::write(&path, "alias ls=rm\n").unwrap();
    let refused = run(&mut shim.command(&["echo", "never"])).expect_code(2);
    assert_eq!(refused.out(), "");
    assert_eq!(fs::read_to_string(&path).unwrap(), "alias ls=rm\n");
}

#[test]
fn folders_and_logs_are_private_whatever_the_umask() {
    let shim = Shim::new().with(&["--log-dir", "deep/er"]);
    for mask in ["000", "777"] {
        let plain = shim.command(&["echo", "hi"]);
        let mut command = shim.home.command("sh");
        command
            .args(["-c", &format!("umask {mask}; exec \"$@\""), "sh"])
            .arg(plain.get_program())
            .args(plain.get_args());
        run(&mut command).expect_code(0);
        let folder = shim.home.path().join("deep");
        let logs: Vec<_> = fs::read_dir(folder.join("er")).unwrap().collect();
        assert_eq!(logs.len(), 1);
        assert_eq!((mode(&folder), mode(&folder.join("er"))), (0o700, 0o700));
        assert_eq!(mode(&logs[0].as_ref().unwrap().path()), 0o600);
        fs::remove_dir_all(folder).unwrap();
    }
}

#[test]
fn a_log_that_cannot_be_opened_costs_one_line() {
    let shim = Shim::new().with(&["--log-dir", "file/below"]);
    shim.home.write("file", "");
    let output = run(&mut shim.command(&["sh", "-c", "echo works; exit 6"])).expect_code(6);
    assert_eq!(output.out(), "works\n");
    let said = output.err();
    assert!(
        said.contains("cannot open the log") && said.contains("continuing without file trace"),
        "{said}"
    );
    assert!(!said.contains("incomplete"));
}

#[test]
fn a_trace_file_is_named_once_it_is_opened() {
    let shim = Shim::new().with(&["--trace-file", "file/below.jsonl"]);
    shim.home.write("file", "");
    let said = run(&mut shim.command(&["true"])).expect_code(0).err();
    assert!(said.contains("cannot open the log"), "{said}");
    assert!(
        !said.contains("log in") && !said.contains("the log is"),
        "{said}"
    );
    let shim = Shim::new().with(&["--trace-file", "trace.jsonl"]);
    let said = run(&mut shim.command(&["true"])).expect_code(0).err();
    let line = format!(
        "mcpsnoop: the log is `{}`\n",
        shim.home.path().join("trace.jsonl").display()
    );
    assert!(said.contains(&line) && !said.contains("log in"), "{said}");
}

#[test]
fn a_log_whose_opening_hangs_costs_losses_and_not_the_end() {
    let shim = Shim::new().with(&["--trace-file", "trace.jsonl"]);
    let path = shim.home.write("trace.jsonl", "");
    // Whoever tests the lock drops it at once; one that is stopped in between never does.
    let tester = File::open(&path).unwrap();
    flock(&tester, FlockOperation::LockExclusive).unwrap();
    let output = run(&mut shim.command(&["sh", "-c", "echo one; echo two; exit 5"])).expect_code(5);
    assert_eq!(output.out(), "one\ntwo\n");
    let said = output.err();
    assert!(
        said.contains("dropped 3 envelope(s), the saved trace is incomplete"),
        "{said}"
    );
    assert_eq!(fs::read(&path).unwrap(), b"");
}

#[test]
fn a_deleted_log_ends_recording_and_nothing_else() {
    let shim = Shim::new();
    let mut run = shim.start(&["cat"]);
    run.send("one\n");
    assert_eq!(run.next_line(), "one");
    let log = wait_for("the log", || shim.home.logs().pop());
    fs::remove_file(log).unwrap();
    run.wait_err("was deleted, recording to disk has ended");
    run.send("two\n");
    assert_eq!(run.next_line(), "two");
    let output = run.wait().expect_code(0);
    assert!(shim.home.logs().is_empty());
    assert!(!output.err().contains("incomplete"));
}

#[test]
fn a_hub_gets_every_line_of_the_log() {
    let shim = Shim::new();
    shim.home.write(".local/state/mcpsnoop/sessions/note", "");
    let hub = UnixListener::bind(shim.home.state().join("hub.sock")).unwrap();
    let mut run = shim.start(&["cat"]);
    let (mut peer, _) = hub.accept().unwrap();
    for at in 0..500 {
        run.send(format!("{{\"id\":{at}}}\n"));
    }
    run.close_stdin();
    let mut live = String::new();
    peer.read_to_string(&mut live).unwrap();
    run.wait().expect_code(0);
    assert_eq!(live, fs::read_to_string(shim.home.only_log()).unwrap());
}

#[test]
fn a_trace_pipe_that_hangs_costs_losses_that_are_counted() {
    let shim = Shim::new().with(&["--trace-file", "pipe", "--trace-buffer", "16"]);
    let pipe = shim.home.path().join("pipe");
    let made = Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    // Held open for reading, never read until all has passed.
    let reader = File::options().read(true).write(true).open(&pipe).unwrap();
    let mut run = shim.start(&["cat"]);
    let line = [b"\"".as_slice(), &[b'x'; 1_000], b"\"\n"].concat();
    let sent = 40_000_u64;
    for _ in 0..sent {
        run.send(&line);
    }
    run.send("\"the last\"\n");
    run.wait_out("the last");
    let log = read_to_the_end_record(reader);
    let output = run.wait().expect_code(0);
    assert_eq!(output.stdout.len() as u64, sent * line.len() as u64 + 11);
    let log = envelopes(&log.recv_timeout(DEADLINE).unwrap());
    let dropped = end(&log)["dropped"].as_u64().unwrap();
    let last = log.last().unwrap()["seq"].as_u64().unwrap();
    assert!(dropped > 0);
    assert_eq!(last, 2 * (sent + 1) + 2);
    assert_eq!(last - log.len() as u64, dropped);
    let said = output.err();
    let told = format!("dropped {dropped} envelope(s), the saved trace is incomplete");
    assert!(said.contains(&told), "{said}");
}

/// Reads a pipe until the end record has come.
fn read_to_the_end_record(mut reader: File) -> mpsc::Receiver<Vec<u8>> {
    let (sender, log) = mpsc::sync_channel(1);
    thread::spawn(move || {
        let mut log = Vec::new();
        let mut chunk = vec![0; 1 << 16];
        loop {
            let count = reader.read(&mut chunk).unwrap();
            log.extend_from_slice(&chunk[..count]);
            let tail = &log[log.len().saturating_sub(1 << 16)..];
            let ends = memchr::memmem::find(tail, b"\"event\":\"end\"").is_some();
            if ends && tail.ends_with(b"\n") {
                return sender.send(log).unwrap();
            }
        }
    });
    log
}

#[test]
fn a_full_disk_costs_losses_and_a_signal_shortens_the_end() {
    let shim = Shim::new().with(&["--trace-file", "/dev/full"]);
    let mut run = shim.sh("echo one; echo two; read x; exit 8");
    run.wait_out("two\n");
    run.wait_err("cannot write the log");
    run.send("go\n");
    // The client sees the end of the output before the drain is over.
    while run.next_line_or_end().is_some() {}
    assert!(run.is_running());
    let begun = Instant::now();
    wait_for("the end", || {
        // One that comes before the command was reaped belongs to the command.
        let running = run.is_running();
        if running {
            run.signal(Signal::TERM);
        }
        (!running).then_some(())
    });
    // One second after the signal; without it five after the last progress.
    assert!(begun.elapsed() < Duration::from_secs(4));
    let output = run.wait().expect_code(8);
    let said = output.err();
    assert!(
        said.contains("dropped 4 envelope(s), the saved trace is incomplete"),
        "{said}"
    );
}
