//! The shim beside a relay of two `cat`: latency, throughput, and a steady load.

use std::{
    fs::File,
    io::{BufRead, BufReader, Write},
    process::Command,
    time::{Duration, Instant},
};

use crate::{
    Outcome, Plan,
    measure::{median, micros, percentile},
    peer::{self, Pipe},
    report::{Budget, Figure, Report},
    space::Space,
    usage,
};

const RELAY: &str = "relay of two cat";
const KIB: usize = 1024;

pub(crate) fn measure(plan: &Plan, report: &mut Report) -> Outcome<()> {
    let space = Space::new("shim")?;
    latency(plan, &space, report)?;
    let names = [
        "shim: throughput of 64 KiB frames",
        "shim: peak memory at 64 KiB frames",
    ];
    throughput(plan, &space, report, plan.size(512, 32), 64 * KIB, names)?;
    let names = [
        "shim: throughput of 1 KiB frames",
        "shim: peak memory at 1 KiB frames",
    ];
    throughput(plan, &space, report, plan.size(256, 16), KIB, names)?;
    steady(plan, &space, report)
}

fn latency(plan: &Plan, space: &Space, report: &mut Report) -> Outcome<()> {
    let (rounds, calls) = plan.size((15, 3_000), (3, 300));
    let (mut ours, mut relay) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        relay.push(calls_of(&mut peer::relay(space)?, calls)?);
        ours.push(calls_of(&mut peer::wrapped(space, plan)?, calls)?);
        space.clear()?;
    }
    for (name, share, limit) in [
        ("shim: 1 KiB call, median", 0.5, 1.25),
        ("shim: 1 KiB call, p99", 0.99, 2.0),
    ] {
        let of = |rounds: &[Vec<f64>]| {
            median(
                &rounds
                    .iter()
                    .map(|round| percentile(round, share))
                    .collect::<Vec<_>>(),
            )
        };
        report.add(&Figure {
            name,
            unit: "us",
            ours: of(&ours),
            baseline: Some((RELAY, of(&relay))),
            budget: Budget::RatioAtMost(limit),
        });
    }
    Ok(())
}

/// The time of each of `calls` calls, one after another, after some to warm up.
fn calls_of(command: &mut Command, calls: u64) -> Outcome<Vec<f64>> {
    let mut pipe = Pipe::start(command)?;
    let mut times = Vec::new();
    for id in 0..200 + calls {
        let call = peer::call(id, KIB);
        let started = Instant::now();
        pipe.ask(&call)?;
        times.push(micros(started.elapsed()));
    }
    pipe.finish()?;
    Ok(times.split_off(200))
}

fn throughput(
    plan: &Plan,
    space: &Space,
    report: &mut Report,
    mib: u64,
    size: usize,
    names: [&'static str; 2],
) -> Outcome<()> {
    let frames = mib * (KIB * KIB / size) as u64;
    let (mut ours, mut relay, mut memory) = (Vec::new(), Vec::new(), Vec::<f64>::new());
    for _ in 0..plan.size(5, 2) {
        relay.push(flood(&mut peer::relay(space)?, frames, size)?.0);
        let (rate, peak) = flood(&mut peer::wrapped(space, plan)?, frames, size)?;
        ours.push(rate);
        memory.push(peak);
        // The frames, the call at the end and its answer.
        expect_frames(space, frames + 2)?;
        space.clear()?;
    }
    report.add(&Figure {
        name: names[0],
        unit: "MiB/s",
        ours: median(&ours),
        baseline: Some((RELAY, median(&relay))),
        budget: Budget::RatioAtLeast(0.5),
    });
    report.add(&Figure {
        name: names[1],
        unit: "MiB",
        ours: percentile(&memory, 1.0),
        baseline: None,
        budget: Budget::AtMost(128.0),
    });
    Ok(())
}

/// Sends the frames as fast as they go; gives MiB a second and the peak of memory.
fn flood(command: &mut Command, frames: u64, size: usize) -> Outcome<(f64, f64)> {
    let mut pipe = Pipe::start(command)?;
    let frame = peer::notification(1, size);
    // One write a frame, as a client does.
    let started = Instant::now();
    for _ in 0..frames {
        pipe.input.write_all(&frame)?;
    }
    pipe.ask(&peer::call(1, 200))?;
    let span = started.elapsed().as_secs_f64();
    let peak = usage::peak_mib(pipe.process());
    pipe.finish()?;
    Ok((
        frames as f64 * size as f64 / (KIB * KIB) as f64 / span,
        peak,
    ))
}

/// 10,000 frames of 1 KiB a second, in bursts of a millisecond.
fn steady(plan: &Plan, space: &Space, report: &mut Report) -> Outcome<()> {
    let seconds = plan.size(30, 3);
    let (relay, _) = load(&mut peer::relay(space)?, seconds, true)?;
    let (ours, peak) = load(&mut peer::wrapped(space, plan)?, seconds, false)?;
    expect_frames(space, seconds * 10_000 + 2)?;
    report.add(&Figure {
        name: "shim: 10,000 frames/s",
        unit: "cores",
        ours,
        baseline: Some((RELAY, relay)),
        budget: Budget::AtMost(0.2),
    });
    report.add(&Figure {
        name: "shim: peak memory at 10,000 frames/s",
        unit: "MiB",
        ours: peak,
        baseline: None,
        budget: Budget::AtMost(20.0),
    });
    Ok(())
}

/// Gives the share of a core that the command used, and its peak of memory.
fn load(command: &mut Command, seconds: u64, children: bool) -> Outcome<(f64, f64)> {
    let mut pipe = Pipe::start(command)?;
    let started = Instant::now();
    let mut number = 0_u64;
    while number < seconds * 10_000 {
        let burst: Vec<u8> = (number..number + 10)
            .flat_map(|number| peer::notification(number, KIB))
            .collect();
        pipe.input.write_all(&burst)?;
        number += 10;
        let due = started + Duration::from_micros(number * 100);
        // The load is a rate: this pause is what is measured, not a wait for something.
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
    }
    pipe.ask(&peer::call(1, 200))?;
    let span = started.elapsed().as_secs_f64();
    let own = usage::processor_time(pipe.process());
    // The relay is a shell with two `cat` and the server between them.
    let ends = usage::children(pipe.process())
        .into_iter()
        .enumerate()
        .filter(|(place, _)| *place != 1);
    let used = if children {
        ends.map(|(_, process)| usage::processor_time(process))
            .sum()
    } else {
        own
    };
    let peak = usage::peak_mib(pipe.process());
    pipe.finish()?;
    Ok((used.as_secs_f64() / span, peak))
}

/// Every frame once, in order: numbers grow by one, and there are as many frames as were sent.
fn expect_frames(space: &Space, expected: u64) -> Outcome<()> {
    let path = space.log()?;
    let mut reader = BufReader::with_capacity(1 << 20, File::open(&path)?);
    let (mut line, mut lines, mut frames) = (Vec::new(), 0_u64, 0_u64);
    while reader.read_until(b'\n', &mut line)? > 0 {
        lines += 1;
        // What the envelope says stands before the frame.
        let head = String::from_utf8_lossy(line.get(..line.len().min(400)).unwrap_or_default())
            .into_owned();
        let number = head
            .split("\"seq\":")
            .nth(1)
            .and_then(|rest| rest.split(',').next()?.parse::<u64>().ok());
        if number != Some(lines) {
            return Err(format!("line {lines} of the log has number {number:?}").into());
        }
        frames += u64::from(!head.contains("\"direction\":\"meta\""));
        line.clear();
    }
    if frames != expected {
        return Err(format!("the log has {frames} frames of {expected}").into());
    }
    Ok(())
}
