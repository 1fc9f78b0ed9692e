//! A simulated week of a viewer that watches: what it holds at most, what is left when its sessions are removed, and
//! whether a frame costs more on the last day than on the second.

use std::time::Duration;

use mcpsnoop::{
    record::LineReader,
    session::{Limits, Session},
};

use crate::{
    Outcome, Plan, costs,
    fold::{Folder, thread_time},
    heap,
    measure::median,
    report::{Budget, Figure, Report},
    space::Space,
    watched::Watched,
};

const DAYS: u64 = 7;
const SESSIONS_A_DAY: u64 = 40;
/// Sessions that run at the same time.
const AT_ONCE: u64 = 5;
const MIB: f64 = (1 << 20) as f64;
const DAY_MICROS: u64 = 86_400_000_000;

/// The stated bound: 64 MiB of bodies, 200,000 rows, and a summary of every session.
const BODIES: f64 = 64.0 * MIB;
const ROWS: f64 = 200_000.0 * ROW;
/// Bytes of a row, its call included.
const ROW: f64 = 150.0;
/// Bytes of what stays of a session whose rows are gone: counters, figures of each tool, tasks, clients, and the calls
/// that never ended, which are a twelfth here.
const SUMMARY: f64 = 1280.0 * 1024.0;
/// What may be left of a session that was removed.
const TRACE: f64 = 8.0 * 1024.0;

pub(crate) fn measure(plan: &Plan, report: &mut Report) -> Outcome<()> {
    let space = Space::new("week")?;
    let frames = plan.size("12000", "600");
    let run = costs::of_mode(&space, 1, &["watch", frames])?;
    let [sessions, total, second, last, peak, summaries, left] = run.said[..] else {
        return Err(format!("{:?}", run.said).into());
    };
    report.add(&Figure {
        name: "week: a frame of the last day",
        unit: "ns",
        ours: last,
        baseline: Some(("of the second day", second)),
        budget: Budget::RatioAtMost(1.2),
    });
    let bound = BODIES + ROWS + sessions * SUMMARY;
    for (name, unit, ours, budget) in [
        ("week: frames", "M", total / 1e6, Budget::None),
        (
            "week: peak of the model",
            "MiB",
            peak / MIB,
            Budget::AtMost((bound / MIB).round()),
        ),
        (
            "week: peak of the process",
            "MiB",
            run.peak_mib,
            Budget::None,
        ),
        (
            "week: a session beside rows and bodies",
            "KiB",
            summaries / sessions / 1024.0,
            Budget::AtMost(SUMMARY / 1024.0),
        ),
        (
            "week: left when all sessions are removed",
            "KiB",
            left / 1024.0,
            Budget::AtMost(sessions * TRACE / 1024.0),
        ),
    ] {
        report.add(&Figure {
            name,
            unit,
            ours,
            baseline: None,
            budget,
        });
    }
    Ok(())
}

/// `watch FRAMES`: watches sessions of that many frames each; prints what `measure` reads.
pub(crate) fn serve(words: &[String]) -> Outcome<()> {
    let [frames] = words else {
        return Err("usage: watch FRAMES".into());
    };
    let frames = frames.parse()?;
    let mut block = String::with_capacity(1 << 20);
    heap::start();
    let mut folder = Folder::live(Limits::LIVE);
    let mut days = Vec::new();
    for day in 0..DAYS {
        let mut costs = Vec::new();
        for group in 0..SESSIONS_A_DAY / AT_ONCE {
            costs.push(watch(day, group, frames, &mut block, &mut folder)?);
        }
        days.push(median(&costs));
    }
    let peak = heap::take_peak() as f64;
    let held = heap::live() as f64;
    let model = folder.model();
    let rows: usize = model.sessions().map(Session::row_count).sum();
    // A model that holds more rows than it may shows here as summaries.
    let bodies = model.body_bytes() as f64;
    let summaries = held - bodies - ROW * rows as f64;
    let total = folder.frames;
    let sessions = folder.remove_all();
    let left = heap::live();
    let (Some(second), Some(last)) = (days.get(1), days.last()) else {
        return Err("too few days".into());
    };
    println!("{sessions} {total} {second} {last} {peak} {summaries} {left}");
    eprintln!("days {days:?} rows {rows} bodies {bodies}");
    Ok(())
}

/// Some sessions side by side, each of `frames` frames; gives nanoseconds a frame.
fn watch(
    day: u64,
    group: u64,
    frames: u64,
    block: &mut String,
    folder: &mut Folder,
) -> Outcome<f64> {
    let groups = SESSIONS_A_DAY / AT_ONCE;
    let start = day * DAY_MICROS + group * (DAY_MICROS / groups);
    let mut sessions: Vec<Watched> = (0..AT_ONCE)
        .map(|number| Watched::new(day * SESSIONS_A_DAY + group * AT_ONCE + number, start))
        .collect();
    let mut reader = LineReader::at(0);
    let (mut spent, mut folded) = (Duration::ZERO, 0);
    let before = folder.frames;
    let mut goes_on = true;
    while goes_on {
        block.clear();
        goes_on = sessions.iter().any(|session| session.frames() < frames);
        if goes_on {
            for _ in 0..50 {
                for session in &mut sessions {
                    session.some(block)?;
                }
            }
        } else {
            for session in &mut sessions {
                session.end(block)?;
            }
        }
        let started = thread_time()?;
        reader.push(block.as_bytes(), &mut |event| folder.take(event));
        // A viewer does it about once a second.
        folder.settle();
        spent += thread_time()? - started;
        folded = folder.frames - before;
    }
    Ok(spent.as_nanos() as f64 / folded as f64)
}
