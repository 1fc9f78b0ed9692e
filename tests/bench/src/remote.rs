//! `remote` over a real sshd: a whole log beside `ssh HOST cat`, and the way of one live frame.

use std::{
    fs,
    io::Write,
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use crate::{
    Outcome, Plan, logs,
    measure::{median, millis, percentile, time},
    peer::{self, Pipe},
    report::{Budget, Figure, Report},
    space::Space,
    sshd::Sshd,
};

const MIB: u64 = 1 << 20;
const SESSION: &str = "bench-1-000000000001";

/// One big log, near and far.
pub(crate) fn measure_cat(plan: &Plan, report: &mut Report) -> Outcome<()> {
    let space = Space::new("cat")?;
    let sshd = Sshd::start(&space)?;
    let log = space.sessions().join(SESSION).with_extension("jsonl");
    logs::write(&log, "bench", 1_000, 1024)?;
    let output = ours(plan, &space, &sshd, "near")
        .stdout(Stdio::piped())
        .output()?;
    if output.stdout != fs::read(&log)? {
        return Err(format!(
            "--cat gave other bytes: {} of them, {}",
            output.stdout.len(),
            output.status
        )
        .into());
    }
    let cases = [
        (
            "remote --cat: loopback",
            "near",
            plan.size(1024, 64),
            plan.size(5, 2),
            1.0,
        ),
        (
            "remote --cat: 100 ms of round trip",
            "far",
            plan.size(1024, 16),
            plan.size(2, 1),
            5.0,
        ),
    ];
    for (name, host, mib, rounds, limit) in cases {
        logs::write(&log, "bench", mib * MIB / (1024 + logs::ENVELOPE), 1024)?;
        let bytes = fs::metadata(&log)?.len();
        let (mut mine, mut theirs) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            theirs.push(rate(&mut cat(&space, &sshd, host, &log), bytes)?);
            mine.push(rate(&mut ours(plan, &space, &sshd, host), bytes)?);
        }
        report.add(&Figure {
            name,
            unit: "MiB/s",
            ours: median(&mine),
            baseline: Some(("ssh HOST cat", median(&theirs))),
            budget: Budget::RatioAtLeast(limit),
        });
    }
    logs::write(
        &log,
        "bench",
        plan.size(256, 16) * MIB / (1024 + logs::ENVELOPE),
        1024,
    )?;
    whole_path(plan, &space, &sshd, fs::metadata(&log)?.len(), report)?;
    list(plan, &space, &sshd, report)
}

/// A log through probing, backfill and merge, out as JSON lines.
fn whole_path(
    plan: &Plan,
    space: &Space,
    sshd: &Sshd,
    bytes: u64,
    report: &mut Report,
) -> Outcome<()> {
    let mut rates = Vec::new();
    for _ in 0..plan.size(3, 1) {
        rates.push(rate(
            remote(plan, space, sshd).args(["--json", "--once", "near"]),
            bytes,
        )?);
    }
    report.add(&Figure {
        name: "remote --json --once: loopback",
        unit: "MiB/s",
        ours: median(&rates),
        baseline: None,
        budget: Budget::AtLeast(100.0),
    });
    Ok(())
}

/// From the start to the list of sessions, beside the shortest command over ssh.
fn list(plan: &Plan, space: &Space, sshd: &Sshd, report: &mut Report) -> Outcome<()> {
    let (mut mine, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..plan.size(11, 3) {
        theirs.push(time(
            space
                .command("ssh")
                .arg("-F")
                .arg(&sshd.config)
                .args(["near", "true"]),
        )?);
        mine.push(time(remote(plan, space, sshd).args(["--list", "near"]))?);
    }
    report.add(&Figure {
        name: "remote --list: beyond ssh HOST true",
        unit: "ms",
        ours: median(&mine) - median(&theirs),
        baseline: None,
        budget: Budget::AtMost(150.0),
    });
    Ok(())
}

fn ours(plan: &Plan, space: &Space, sshd: &Sshd, host: &str) -> Command {
    let mut command = remote(plan, space, sshd);
    command.args(["--cat", SESSION, host]);
    command
}

fn remote(plan: &Plan, space: &Space, sshd: &Sshd) -> Command {
    let mut command = space.command(&plan.program);
    command
        .args(["remote", "--batch", "-F"])
        .arg(&sshd.config)
        .arg("--remote-mcpsnoop-home")
        .arg(space.state());
    command
}

fn cat(space: &Space, sshd: &Sshd, host: &str, log: &Path) -> Command {
    let mut command = space.command("ssh");
    command
        .arg("-F")
        .arg(&sshd.config)
        .args([host, "cat"])
        .arg(log);
    command
}

fn rate(command: &mut Command, bytes: u64) -> Outcome<f64> {
    let started = Instant::now();
    let status = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .status()?;
    if !status.success() {
        return Err(format!("{command:?}: {status}").into());
    }
    Ok(bytes as f64 / MIB as f64 / started.elapsed().as_secs_f64())
}

/// From the client's write into the shim to the line on the other side, beside `tail -F` over ssh.
pub(crate) fn measure_live(plan: &Plan, report: &mut Report) -> Outcome<()> {
    let space = Space::new("live")?;
    let sshd = Sshd::start(&space)?;
    let mut shim = Pipe::start(&mut peer::wrapped(&space, plan)?)?;
    shim.ask(&peer::call(1, 200))?;

    let mut command = remote(plan, &space, &sshd);
    let mut viewer = Pipe::start(command.args(["--json", "near"]))?;
    let mode = loop {
        let line = String::from_utf8_lossy(viewer.next_line()?).into_owned();
        if line.contains("\"state\":\"live\"") {
            break line
                .split("\"mode\":\"")
                .nth(1)
                .and_then(|rest| rest.split('"').next())
                .unwrap_or("?")
                .to_owned();
        }
    };
    if mode != "socket" {
        return Err(format!("the viewer is live in mode `{mode}`").into());
    }
    let log = space.log()?;
    let mut tail = space.command("ssh");
    let mut tail = Pipe::start(
        tail.arg("-F")
            .arg(&sshd.config)
            .args(["near", "tail", "-n", "+1", "-F"])
            .arg(&log),
    )?;

    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for number in 0..plan.size(1_000, 50) {
        ours.push(way(&mut shim, &mut viewer, number * 2)?);
        theirs.push(way(&mut shim, &mut tail, number * 2 + 1)?);
    }
    for (name, share, budget) in [
        (
            "live frame: shim to viewer, median",
            0.5,
            Budget::AtMost(5.0),
        ),
        ("live frame: shim to viewer, p99", 0.99, Budget::None),
    ] {
        let baseline = Some(("ssh HOST tail -F", percentile(&theirs, share)));
        report.add(&Figure {
            name,
            unit: "ms",
            ours: percentile(&ours, share),
            baseline,
            budget,
        });
    }
    // Both follow until they are told to stop.
    for pipe in [&viewer, &tail] {
        Command::new("kill")
            .arg(pipe.process().to_string())
            .status()?;
    }
    viewer.finish()?;
    tail.finish()?;
    shim.finish()?;
    Ok(())
}

/// Sends one frame and waits until its line comes out, in milliseconds.
fn way(shim: &mut Pipe, reader: &mut Pipe, number: u64) -> Outcome<f64> {
    // Frames come one by one, as in a conversation, not as a flood.
    std::thread::sleep(Duration::from_millis(3));
    let mark = format!("number {number} ");
    let started = Instant::now();
    shim.input.write_all(&peer::notification(number, 1024))?;
    while !contains(reader.next_line()?, mark.as_bytes()) {}
    Ok(millis(started.elapsed()))
}

fn contains(line: &[u8], mark: &[u8]) -> bool {
    line.windows(mark.len()).any(|window| window == mark)
}
