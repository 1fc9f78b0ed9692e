//! Decoding and folding a log beside `jq -c .seq`, what a frame costs late in a session, and what it holds.

use crate::{
    Outcome, Plan,
    costs::{self, Costs},
    logs,
    measure::median,
    report::{Budget, Figure, Report},
    space::Space,
};

const MIB: u64 = 1 << 20;
const JQ: &str = "jq -c .seq";

/// The median of one figure over the runs.
fn of(runs: &[Costs], figure: impl Fn(&Costs) -> f64) -> f64 {
    median(&runs.iter().map(figure).collect::<Vec<_>>())
}

/// A log of 256 MiB, decoded and folded on one core and on two.
pub(crate) fn measure(plan: &Plan, report: &mut Report) -> Outcome<()> {
    let space = Space::new("ingest")?;
    let log = space.sessions().join("bench-1-000000000001.jsonl");
    let frames = plan.size(256, 16) * MIB / 1024;
    logs::write_mix(&log, "bench", frames, 1024)?;
    let log = log.display().to_string();
    let (mut one, mut two, mut jq) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..plan.size(5, 2) {
        jq.push(costs::of(
            &space,
            1,
            space.command("jq").args(["-c", ".seq", &log]),
        )?);
        one.push(costs::of_mode(&space, 1, &["fold", &log, "1"])?);
        two.push(costs::of_mode(&space, 2, &["fold", &log, "2"])?);
    }
    for run in one.iter().chain(&two) {
        if run.said.first() != Some(&(frames as f64)) {
            return Err(format!("{:?} frames of {frames} were folded", run.said.first()).into());
        }
    }
    let processor = |runs: &[Costs]| of(runs, |run| run.processor);
    let wall = |runs: &[Costs]| of(runs, |run| run.wall);
    // The busiest of two threads sets the pace when nothing else runs.
    let busiest = of(&two, |run| run.said.get(1).copied().unwrap_or(f64::NAN));
    for (name, by_clock, ours, baseline, limit) in [
        (
            "ingest: one core, processor time",
            false,
            processor(&one),
            processor(&jq),
            0.5,
        ),
        (
            "ingest: one core, by the clock",
            true,
            wall(&one),
            wall(&jq),
            0.5,
        ),
        (
            "ingest: two cores, the busiest thread",
            false,
            busiest,
            processor(&jq),
            0.33,
        ),
        (
            "ingest: two cores, by the clock",
            true,
            wall(&two),
            wall(&jq),
            0.33,
        ),
    ] {
        report.add(&Figure {
            name,
            unit: "s",
            ours,
            baseline: Some((JQ, baseline)),
            budget: plan.time_budget(by_clock, Budget::RatioAtMost(limit)),
        });
    }
    report.add(&Figure {
        name: "ingest: peak memory",
        unit: "MiB",
        ours: of(&one, |run| run.peak_mib),
        baseline: None,
        budget: Budget::None,
    });
    pace(plan, &space, report)
}

/// The last tenth of a million frames beside the first.
fn pace(plan: &Plan, space: &Space, report: &mut Report) -> Outcome<()> {
    let (frames, rounds) = plan.size(("1000000", "5"), ("100000", "2"));
    let run = costs::of_mode(space, 1, &["pace", frames, "1024", rounds])?;
    let [first, last] = run.said[..] else {
        return Err(format!("{:?}", run.said).into());
    };
    report.add(&Figure {
        name: "ingest: a frame of the last 100,000 of 1 M",
        unit: "ns",
        ours: last,
        baseline: Some(("of the first 100,000", first)),
        budget: Budget::RatioAtMost(1.2),
    });
    Ok(())
}

/// What a million frames take beside their bodies.
pub(crate) fn measure_memory(plan: &Plan, report: &mut Report) -> Outcome<()> {
    let space = Space::new("memory")?;
    let frames = plan.size("1000000", "100000");
    let run = costs::of_mode(&space, 1, &["hold", frames, "1024"])?;
    let [allocated, resident, bodies] = run.said[..] else {
        return Err(format!("{:?}", run.said).into());
    };
    // A small model is not spread over many frames.
    let limit = plan.size(150.0, 300.0);
    for (name, ours) in [
        ("memory: a frame beside bodies, allocated", allocated),
        ("memory: a frame beside bodies, resident", resident),
    ] {
        report.add(&Figure {
            name,
            unit: "B",
            ours,
            baseline: None,
            budget: Budget::AtMost(limit),
        });
    }
    report.add(&Figure {
        name: "memory: bodies held",
        unit: "MiB",
        ours: bodies,
        baseline: None,
        budget: Budget::AtMost(64.0),
    });
    Ok(())
}
