//! `export -T json` on two cores beside `jq .` of the same bytes, which uses one.

use crate::{
    Outcome, Plan,
    costs::{self, Costs},
    logs,
    measure::{median, percentile},
    report::{Budget, Figure, Report},
    space::Space,
};

const MIB: u64 = 1 << 20;
const JQ: &str = "jq .";

pub(crate) fn measure(plan: &Plan, report: &mut Report) -> Outcome<()> {
    let space = Space::new("export")?;
    let log = space.sessions().join("bench-1-000000000001.jsonl");
    logs::write_mix(&log, "bench", plan.size(256, 16) * MIB / 1024, 1024)?;
    let log = log.display().to_string();
    let file = space.path().join("out.json").display().to_string();
    let (mut nowhere, mut to_file, mut jq) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..plan.size(5, 2) {
        jq.push(costs::of(&space, 1, space.command("jq").args([".", &log]))?);
        for (runs, out) in [(&mut nowhere, "/dev/null"), (&mut to_file, &*file)] {
            let mut command = space.program(plan);
            command.args(["export", "-T", "json", &log, "-o", out]);
            runs.push(costs::of(&space, 2, &command)?);
        }
    }
    if std::fs::metadata(&file)?.len() < std::fs::metadata(&log)?.len() / 2 {
        return Err("the export is shorter than its log".into());
    }
    let of = |runs: &[Costs], figure: fn(&Costs) -> f64| {
        median(&runs.iter().map(figure).collect::<Vec<_>>())
    };
    for (name, runs, by_clock) in [
        ("export: nowhere, processor time", &nowhere, false),
        ("export: nowhere, by the clock", &nowhere, true),
        ("export: to a file, processor time", &to_file, false),
        ("export: to a file, by the clock", &to_file, true),
    ] {
        let (figure, budget): (fn(&Costs) -> f64, _) = if by_clock {
            let budget = plan.time_budget(true, Budget::RatioAtMost(0.33));
            (|run| run.wall, budget)
        } else {
            (|run| run.processor, Budget::None)
        };
        report.add(&Figure {
            name,
            unit: "s",
            ours: of(runs, figure),
            baseline: Some((JQ, of(&jq, figure))),
            budget,
        });
    }
    let peaks: Vec<f64> = nowhere
        .iter()
        .chain(&to_file)
        .map(|run| run.peak_mib)
        .collect();
    report.add(&Figure {
        name: "export: peak memory",
        unit: "MiB",
        ours: percentile(&peaks, 1.0),
        baseline: Some((JQ, of(&jq, |run| run.peak_mib))),
        budget: Budget::AtMost(320.0),
    });
    Ok(())
}
