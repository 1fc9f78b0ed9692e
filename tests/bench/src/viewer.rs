//! The viewer in a pseudo-terminal: when its first screen stands, and when all frames are in its model.

use std::{
    io::Read,
    process::{Command, Stdio},
    sync::mpsc::{Receiver, RecvTimeoutError, sync_channel},
    time::{Duration, Instant},
};

use crate::{
    Outcome, Plan, logs,
    measure::{median, time},
    report::{Budget, Figure, Report},
    space::Space,
    usage,
};

const DEADLINE: Duration = Duration::from_secs(120);
const MIB: u64 = 1 << 20;

/// One big log: `open` beside `jq -c .seq`.
pub(crate) fn measure_open(plan: &Plan, report: &mut Report) -> Outcome<()> {
    let space = Space::new("open")?;
    let frames = plan.size(1024, 64) * MIB / (1024 + logs::ENVELOPE) / 2 * 2;
    let log = space.sessions().join("bench-1-000000000001.jsonl");
    logs::write(&log, "bench", frames, 1024)?;
    let (mut first, mut all, mut jq, mut memory) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::<f64>::new());
    for _ in 0..plan.size(3, 2) {
        jq.push(seconds_of(
            space.command("jq").args(["-c", ".seq"]).arg(&log),
        )?);
        let opened = [
            plan.program.display().to_string(),
            "open".to_owned(),
            log.display().to_string(),
        ];
        let mut viewer = Viewer::start(&space, &opened, 120, 40)?;
        first.push(viewer.wait("a row of the stream", |screen| screen.contains("tool"))?);
        all.push(viewer.wait("all frames", |screen| has_count(screen, frames, "frames"))?);
        memory.push(usage::peak_mib(viewer.process()?));
        viewer.quit()?;
    }
    let jq = ("jq -c .seq", median(&jq));
    for (name, values, limit) in [
        ("open: first screen", &first, 0.25),
        ("open: all frames in the model", &all, 1.0),
    ] {
        let budget = Budget::RatioAtMost(limit);
        report.add(&Figure {
            name,
            unit: "s",
            ours: median(values),
            baseline: Some(jq),
            budget,
        });
    }
    report.add(&Figure {
        name: "open: peak memory",
        unit: "MiB",
        ours: median(&memory),
        baseline: None,
        budget: Budget::AtMost(256.0),
    });
    Ok(())
}

/// A state directory with many logs: the list, and the newest hundred loaded.
pub(crate) fn measure_list(plan: &Plan, report: &mut Report) -> Outcome<()> {
    let space = Space::new("list")?;
    let count = plan.size(2_000, 200);
    for number in 0..count {
        let label = format!("srv{number:04}");
        let name = format!("{label}-{}-{number:012x}.jsonl", number + 1000);
        logs::write(&space.sessions().join(name), &label, 400, 200)?;
    }
    let (mut list, mut loaded, mut jq) = (Vec::new(), Vec::new(), Vec::new());
    let newest = format!(
        "ls -t {} | head -100 | (cd {} && xargs jq -c .seq)",
        space.sessions().display(),
        space.sessions().display()
    );
    for _ in 0..plan.size(5, 2) {
        jq.push(seconds_of(space.command("sh").args(["-c", &newest]))?);
        // As many rows as sessions, so that every one can be seen to be loaded.
        let mut viewer = Viewer::start(&space, &[plan.program.display().to_string()], 120, 112)?;
        list.push(viewer.wait("the list", |screen| screen.contains("srv"))?);
        loaded.push(viewer.wait("a hundred loaded sessions", |screen| {
            loaded_rows(screen) >= 100
        })?);
        viewer.quit()?;
    }
    let jq = ("jq of the newest 100", median(&jq));
    for (name, values, limit) in [
        ("list: on screen", &list, 0.3),
        ("list: newest hundred loaded", &loaded, 1.0),
    ] {
        let budget = Budget::AtMost(limit);
        report.add(&Figure {
            name,
            unit: "s",
            ours: median(values),
            baseline: Some(jq),
            budget,
        });
    }
    Ok(())
}

/// Rows that show both counts of a log of `measure_list`: 200 requests and 200 responses.
fn loaded_rows(screen: &str) -> usize {
    let loaded = |row: &&str| {
        row.contains("srv") && row.split_whitespace().filter(|word| *word == "200").count() >= 2
    };
    screen.lines().filter(loaded).count()
}

/// Whether the screen says `431 frames`, with or without commas between the digits.
fn has_count(screen: &str, count: u64, unit: &str) -> bool {
    let plain = screen.replace(',', "");
    let wanted = format!("{count} {unit}");
    plain
        .match_indices(&wanted)
        .any(|(at, _)| !plain[..at].ends_with(|letter: char| letter.is_ascii_digit()))
}

fn seconds_of(command: &mut Command) -> Outcome<f64> {
    Ok(time(command)? / 1e3)
}

/// The program in a pseudo-terminal of `script`, and the screen that its output makes.
struct Viewer {
    child: std::process::Child,
    keyboard: std::process::ChildStdin,
    output: Receiver<Vec<u8>>,
    parser: vt100::Parser,
    started: Instant,
}

impl Viewer {
    fn start(space: &Space, words: &[String], columns: u16, rows: u16) -> Outcome<Self> {
        let quoted: Vec<_> = words.iter().map(|word| format!("'{word}'")).collect();
        let line = format!("stty cols {columns} rows {rows}; exec {}", quoted.join(" "));
        let mut command = space.command("script");
        command
            .args(["-qfec", &line, "/dev/null"])
            .env("MCPSNOOP_HOME", space.state())
            .env("SHELL", "/bin/sh");
        let started = Instant::now();
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let (Some(keyboard), Some(mut pipe)) = (child.stdin.take(), child.stdout.take()) else {
            return Err("no pipes".into());
        };
        let (sender, output) = sync_channel(64);
        std::thread::spawn(move || {
            let mut block = vec![0; 64 * 1024];
            while let Ok(length @ 1..) = pipe.read(&mut block) {
                if sender.send(block[..length].to_vec()).is_err() {
                    break;
                }
            }
        });
        let parser = vt100::Parser::new(rows, columns, 0);
        Ok(Self {
            child,
            keyboard,
            output,
            parser,
            started,
        })
    }

    /// Seconds from the start until the screen pleases.
    fn wait(&mut self, what: &str, pleases: impl Fn(&str) -> bool) -> Outcome<f64> {
        loop {
            let screen = self.parser.screen().contents();
            if pleases(&screen) {
                return Ok(self.started.elapsed().as_secs_f64());
            }
            let left = DEADLINE.saturating_sub(self.started.elapsed());
            match self.output.recv_timeout(left) {
                Ok(bytes) => self.parser.process(&bytes),
                Err(RecvTimeoutError::Timeout) => {
                    return Err(format!("waited for {what}; screen:\n{screen}").into());
                }
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(format!("ended before {what}; screen:\n{screen}").into());
                }
            }
        }
    }

    /// The viewer's process: `script` starts a shell that becomes it.
    fn process(&self) -> Outcome<u32> {
        usage::children(self.child.id())
            .first()
            .copied()
            .ok_or_else(|| "no viewer".into())
    }

    fn quit(mut self) -> Outcome<()> {
        use std::io::Write as _;
        self.keyboard.write_all(b"\x03")?;
        let end = Instant::now() + Duration::from_secs(10);
        while self.child.try_wait()?.is_none() {
            if Instant::now() > end {
                return Err("the viewer did not leave at ctrl-c".into());
            }
            // Its output must be read, or it could wait for us.
            if self.output.recv_timeout(Duration::from_millis(20)).is_err() {
                std::thread::yield_now();
            }
        }
        Ok(())
    }
}

impl Drop for Viewer {
    fn drop(&mut self) {
        if self.child.try_wait().is_ok_and(|status| status.is_none()) {
            self.child.kill().ok();
            self.child.wait().ok();
        }
    }
}

#[test]
fn counts_are_found_with_and_without_commas() {
    assert!(has_count("x 48,210 frames . 5 err", 48_210, "frames"));
    assert!(has_count("48210 frames", 48_210, "frames"));
    assert!(!has_count("148,210 frames", 48_210, "frames"));
    assert!(!has_count("48,210+ frames", 48_210, "frames"));
}
