//! What everybody sees when somebody dies: shim, server, client or viewer killed, hubs restarted, a full disk.

use std::{
    io::Write as _,
    os::unix::process::CommandExt as _,
    path::Path,
    process::Command,
    thread::{JoinHandle, spawn},
};

use rustix::process::{Pid, Signal, kill_process};

use crate::{
    open::leave,
    support::{
        home::Home,
        log::{LogLine, read_log},
        parts,
        process::{Running, run},
        terminal::Terminal,
        wait::wait_for,
    },
    watch::{Wrapped, answer, request, view},
};

/// Frames of one run: enough for every death to fall into the middle.
const FRAMES: u64 = 4_000;

/// A shell that answers as `watch::SERVER` does and says its process number first.
const SERVER: &str = "echo \"{\\\"jsonrpc\\\":\\\"2.0\\\",\\\"method\\\":\\\"pid/$$\\\"}\"; exec sed -u -E 's/\"method\":.*$/\"result\":{}}/'";

/// A pipe that numbered calls are written into until it breaks or all were sent.
fn generate(mut pipe: impl std::io::Write + Send + 'static, count: u64) -> JoinHandle<u64> {
    spawn(move || {
        let mut sent = 0;
        for id in 1..=count {
            if pipe.write_all(request(id, "numbered").as_bytes()).is_err() {
                break;
            }
            sent = id;
        }
        sent
    })
}

/// The numbers of all complete answers in what a client read, which must be in order and without a gap.
#[track_caller]
fn answers(read: &str) -> u64 {
    let mut last = 0;
    for line in read
        .split_inclusive('\n')
        .filter(|line| line.contains("result"))
    {
        if !line.ends_with('\n') {
            break;
        }
        assert_eq!(line.trim_end(), answer(last + 1));
        last += 1;
    }
    last
}

/// The log without a torn tail.
fn whole_lines(path: &Path) -> Vec<LogLine> {
    let bytes = std::fs::read(path).expect("the log");
    let end = bytes
        .iter()
        .rposition(|&byte| byte == b'\n')
        .map_or(0, |at| at + 1);
    let copy = path.with_extension("whole");
    std::fs::write(&copy, &bytes[..end]).expect("a copy");
    let lines = read_log(&copy);
    std::fs::remove_file(copy).expect("a removed copy");
    lines
}

#[track_caller]
fn assert_no_gap(lines: &[LogLine]) {
    for (at, line) in (1..).zip(lines) {
        assert_eq!(line.seq, at, "{:?}", line.value);
    }
}

/// How many calls and answers a log has, each once and in order.
#[track_caller]
fn recorded(lines: &[LogLine]) -> (u64, u64) {
    let numbers = |direction: &str, member: &str| {
        let of = lines
            .iter()
            .filter(|line| line.direction == direction && line.message().get(member).is_some());
        let ids: Vec<u64> = of
            .filter_map(|line| line.message()["id"].as_u64())
            .collect();
        assert!(
            ids.iter().copied().eq(1..=ids.len() as u64),
            "{direction}: {ids:?}"
        );
        ids.len() as u64
    };
    (numbers("c2s", "method"), numbers("s2c", "result"))
}

fn kill(id: u32, signal: Signal) {
    let id = i32::try_from(id).ok().and_then(Pid::from_raw);
    kill_process(id.expect("a process id"), signal).expect("a signal that was sent");
}

/// The end record of a log.
#[track_caller]
fn end_record(lines: &[LogLine]) -> &serde_json::Value {
    let last = lines.last().expect("a line").message();
    assert_eq!(last["event"], "end", "{last}");
    last
}

/// A shim around `SERVER`, fed by a generator; gives the shim, the server's process id and the generator.
fn under_traffic(home: &Home, label: &str) -> (Running, u32, JoinHandle<u64>) {
    let mut command = home.mcpsnoop();
    command.args(["--label", label, "--", "sh", "-c", SERVER]);
    let mut shim = Running::start(&mut command);
    let first = shim.next_line();
    let server = first
        .split("pid/")
        .nth(1)
        .and_then(|rest| rest.trim_end_matches("\"}").parse().ok());
    let generator = generate(shim.take_stdin(), FRAMES);
    (shim, server.expect("the server's process id"), generator)
}

fn is_alive(process: u32) -> bool {
    let state = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    // The state stands behind the name in brackets; a zombie is dead.
    state
        .rsplit(')')
        .next()
        .is_some_and(|rest| !rest.trim().is_empty() && !rest.trim().starts_with('Z'))
}

/// Opens the only log and expects a count of frames and nothing that anybody could be blamed for.
#[track_caller]
fn opens_without_blame(home: &Home, frames: u64) {
    let mut command = home.mcpsnoop();
    command.arg("open").arg(home.only_log());
    let mut terminal = Terminal::start(&command, 100, 30);
    let count = format!(" {} frames", grouped(frames));
    let screen = terminal.wait_text(&count);
    for word in ["missing", " bad", " err", "lost", "late", "damaged"] {
        assert!(!screen.contains(word), "{word}\n{screen}");
    }
    leave(&mut terminal);
}

fn grouped(number: u64) -> String {
    if number < 1_000 {
        number.to_string()
    } else {
        format!("{},{:03}", number / 1_000, number % 1_000)
    }
}

#[test]
fn a_killed_shim_takes_nothing_with_it() {
    let home = Home::new();
    let (mut shim, server, generator) = under_traffic(&home, "shim");
    for id in 1..=500 {
        assert_eq!(shim.next_line(), answer(id));
    }
    // On a loaded machine the recorder may not have had its turn yet.
    wait_for("the first calls in the log", || {
        let log = std::fs::read(home.logs().pop()?).ok()?;
        (log.split(|byte| *byte == b'\n').count() > 3).then_some(())
    });
    shim.signal(Signal::KILL);
    let output = shim.wait();
    assert_eq!(output.signal, Some(9));
    let sent = generator.join().expect("a generator");
    let read = answers(&output.out());
    assert!((500..=sent).contains(&read), "{read} of {sent}");
    wait_for("the end of the server", || {
        (!is_alive(server)).then_some(())
    });
    let lines = whole_lines(&home.only_log());
    assert_no_gap(&lines);
    let (calls, results) = recorded(&lines);
    // What the last 50 ms brought may be missing, at the end only.
    assert!(
        calls >= 1 && results <= read && calls <= FRAMES,
        "{calls} {results}"
    );
    let frames = lines.iter().filter(|line| line.direction != "meta").count() as u64;
    opens_without_blame(&home, frames);
    // A new recorder and a viewer work beside it.
    let mut next = Wrapped::start(&home, "next", |_| {});
    next.call("tool");
    let mut terminal = view(&home);
    let screen = terminal.wait_text("2 sessions");
    assert!(!screen.contains("missing"), "{screen}");
    leave(&mut terminal);
    next.finish();
}

#[test]
fn a_killed_server_is_told_as_it_would_be_unwrapped() {
    let home = Home::new();
    let (mut shim, server, generator) = under_traffic(&home, "server");
    for id in 1..=500 {
        assert_eq!(shim.next_line(), answer(id));
    }
    kill(server, Signal::KILL);
    let output = shim.wait();
    // A shell tells the death by a signal as 128 and its number; the shim dies or answers alike.
    assert!(
        output.code == Some(137) || output.signal == Some(9),
        "{:?} {:?}",
        output.code,
        output.signal
    );
    generator.join().expect("a generator");
    let read = answers(&output.out());
    let lines = read_log(&home.only_log());
    assert_no_gap(&lines);
    let (_, results) = recorded(&lines);
    assert_eq!(
        results, read,
        "every answer that the client has is in the log"
    );
    assert_eq!(end_record(&lines)["dropped"], 0);
}

#[test]
fn a_killed_client_ends_the_server_and_the_log_is_whole() {
    let home = Home::new();
    // The client is a process of its own group: what it starts does not die with it.
    let mut client = home.command("sh");
    let script = "i=1; while [ $i -le 100000 ]; do echo '{\"jsonrpc\":\"2.0\",\"id\":'$i',\"method\":\"tools/call\"}'; i=$((i+1)); done | \"$0\" --label client -- sed -u -E 's/\"method\":.*$/\"result\":{}}/' >answers 2>said & echo \"up $!\"; wait";
    client
        .args(["-c", script, env!("CARGO_BIN_EXE_mcpsnoop")])
        .process_group(0);
    let mut client = Running::start(&mut client);
    let up = client.next_line();
    let shim: u32 = up
        .trim_start_matches("up ")
        .parse()
        .expect("the shim's process id");
    let read = || std::fs::read_to_string(home.path().join("answers")).unwrap_or_default();
    wait_for("answers", || (read().lines().count() > 200).then_some(()));
    let children = format!("/proc/{0}/task/{0}/children", client.id());
    let listed = std::fs::read_to_string(children).expect("the client's processes");
    let loops: Vec<u32> = listed
        .split_whitespace()
        .map(|id| id.parse().expect("a process id"))
        .filter(|id| *id != shim)
        .collect();
    kill(client.id(), Signal::KILL);
    for id in loops {
        kill(id, Signal::KILL);
    }
    wait_for("the end of the shim", || (!is_alive(shim)).then_some(()));
    let lines = read_log(&home.only_log());
    assert_no_gap(&lines);
    let (calls, results) = recorded(&lines);
    let answered = answers(&read());
    assert_eq!((calls, results), (answered, answered));
    assert_eq!(end_record(&lines)["exit_code"], 0);
    drop(client.wait());
}

#[test]
fn a_killed_viewer_and_hubs_that_come_and_go_lose_nothing() {
    let home = Home::new();
    let socket = home.state().join("hub.sock");
    let mut wrapped = Wrapped::start(&home, "steady", |_| {});
    wrapped.call("numbered");
    for round in 0..6 {
        let mut terminal = view(&home);
        terminal.wait_text("steady");
        terminal.keys(":steady\r");
        wait_for("the socket", || {
            std::os::unix::net::UnixStream::connect(&socket).ok()
        });
        for _ in 0..200 {
            wrapped.call("numbered");
        }
        let count = format!(" {} frames", grouped(wrapped.calls() * 2));
        let screen = terminal.wait_text(&count);
        assert!(
            !screen.contains("missing") && !screen.contains("not loaded"),
            "{screen}"
        );
        // Calls go on while it dies or leaves.
        for _ in 0..50 {
            wrapped.call("numbered");
        }
        if round % 2 == 0 {
            kill(terminal.id(), Signal::KILL);
            terminal.wait();
        } else {
            leave(&mut terminal);
        }
        for _ in 0..50 {
            wrapped.call("numbered");
        }
    }
    let calls = wrapped.calls();
    let said = wrapped.finish();
    assert!(
        !said.contains("incomplete") && !said.contains("dropped"),
        "{said}"
    );
    let lines = read_log(&home.only_log());
    assert_no_gap(&lines);
    assert_eq!(recorded(&lines), (calls, calls));
    assert_eq!(end_record(&lines)["dropped"], 0);
}

/// Sends calls of 60 KB and takes their answers, so many bytes that no pipe and no queue holds them.
fn exchange_much(wrapped: &mut Wrapped) {
    let tool = "x".repeat(60_000);
    for _ in 0..600 {
        wrapped.call(&tool);
    }
}

#[test]
fn a_stopped_viewer_holds_nobody_up_and_catches_up() {
    let home = Home::new();
    let mut terminal = view(&home);
    let mut wrapped = Wrapped::start(&home, "steady", |_| {});
    wrapped.call("numbered");
    terminal.wait_text("steady");
    kill(terminal.id(), Signal::STOP);
    exchange_much(&mut wrapped);
    let calls = wrapped.calls();
    // It ends while the viewer is stopped, and everything is in the log.
    let said = wrapped.finish();
    assert!(!said.contains("dropped"), "{said}");
    let lines = read_log(&home.only_log());
    assert_no_gap(&lines);
    assert_eq!(recorded(&lines), (calls, calls));
    kill(terminal.id(), Signal::CONT);
    terminal.keys(":steady\r");
    let screen = terminal.wait_text(&format!(" {} frames", grouped(calls * 2)));
    assert!(
        !screen.contains("missing") && !screen.contains("not loaded"),
        "{screen}"
    );
    leave(&mut terminal);
}

#[test]
fn a_hub_whose_directory_is_removed_finds_the_next_one() {
    let home = Home::new();
    let mut terminal = view(&home);
    let mut first = Wrapped::start(&home, "first", |_| {});
    first.call("numbered");
    terminal.wait_text("first");
    std::fs::remove_dir_all(home.state()).expect("a removed directory");
    // The recorder goes on, says that its log is gone, and accuses nobody.
    first.call("numbered");
    first
        .shim
        .wait_err("was deleted, recording to disk has ended");
    let mut second = Wrapped::start(&home, "second", |_| {});
    second.call("numbered");
    let screen = terminal.wait_text("second");
    assert!(!screen.contains("missing"), "{screen}");
    let socket = home.state().join("hub.sock");
    wait_for("the socket", || {
        std::os::unix::net::UnixStream::connect(&socket).ok()
    });
    let said = first.finish();
    assert!(!said.contains("incomplete"), "{said}");
    second.finish();
    leave(&mut terminal);
}

/// A small file system that goes when the test ends.
struct SmallDisk<'home> {
    home: &'home Home,
}

impl<'home> SmallDisk<'home> {
    fn mount(home: &'home Home) -> Option<Self> {
        let mut mount = home.command("mount");
        mount
            .args(["-t", "tmpfs", "-o", "size=1m,mode=0700", "none"])
            .arg(home.path().join("disk"));
        std::fs::create_dir(home.path().join("disk")).expect("a folder");
        if run(&mut mount).code != Some(0) {
            parts::skip("right to mount");
            return None;
        }
        Some(Self { home })
    }
}

impl Drop for SmallDisk<'_> {
    fn drop(&mut self) {
        run(self
            .home
            .command("umount")
            .arg("-l")
            .arg(self.home.path().join("disk")));
    }
}

#[test]
fn a_full_disk_costs_frames_that_are_counted_exactly() {
    let home = Home::new();
    let Some(_disk) = SmallDisk::mount(&home) else {
        return;
    };
    let disk = home.path().join("disk");
    let ballast = disk.join("ballast");
    let mut file = std::fs::File::create(&ballast).expect("a file");
    file.write_all(&vec![0; 700 << 10]).expect("room");
    let mut command: Command = home.mcpsnoop();
    command.env("MCPSNOOP_HOME", &disk).args([
        "--label",
        "full",
        "--trace-buffer",
        "16",
        "--",
        "cat",
    ]);
    let mut shim = Running::start(&mut command);
    let body = "x".repeat(60_000);
    let mut sent = Vec::new();
    let mut exchange = |shim: &mut Running, id: u64| {
        let line = format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"m\",\"params\":{{\"x\":\"{body}\"}}}}"
        );
        shim.send(format!("{line}\n"));
        // The client is served whatever becomes of the log.
        assert_eq!(shim.next_line(), line);
        sent.push(line);
    };
    // 16 MiB of buffer and the disk are full long before the last of these.
    for id in 1..=400 {
        exchange(&mut shim, id);
    }
    shim.wait_err("No space left on device");
    std::fs::remove_file(&ballast).expect("room again");
    let remount = run(home
        .command("mount")
        .args(["-o", "remount,size=128m"])
        .arg(&disk));
    assert_eq!(remount.code, Some(0), "{}", remount.err());
    shim.wait_err("the log is written again");
    for id in 401..=420 {
        exchange(&mut shim, id);
    }
    let output = shim.wait().expect_code(0);
    let said = output.err();
    let log = std::fs::read_dir(disk.join("sessions"))
        .expect("logs")
        .map(|entry| entry.expect("an entry").path())
        .next()
        .expect("a log");
    let lines = read_log(&log);
    let last = lines.last().expect("a line").seq;
    let missing = last - lines.len() as u64;
    let dropped = end_record(&lines)["dropped"].as_u64().expect("a count");
    assert!(missing > 0, "the disk was never full");
    assert_eq!(dropped, missing);
    assert!(
        said.contains(&format!("dropped {dropped} envelope")) && said.contains("incomplete"),
        "{said}"
    );
    // Each frame once, in order, and those of the end again.
    let numbers: Vec<u64> = lines
        .iter()
        .filter(|line| line.direction == "c2s")
        .filter_map(|line| line.message()["id"].as_u64())
        .collect();
    assert!(numbers.is_sorted_by(|one, two| one < two), "{numbers:?}");
    assert!(
        numbers.ends_with(&(401..=420).collect::<Vec<_>>()),
        "{numbers:?}"
    );
    let mut command = home.mcpsnoop();
    command.arg("open").arg(&log);
    let mut terminal = Terminal::start(&command, 120, 40);
    terminal.wait_text(&format!("{} frames missing", grouped(missing)));
    leave(&mut terminal);
}
