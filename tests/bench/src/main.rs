//! Measures mcpsnoop beside a baseline in the same run: interleaved, medians, ratios against the budgets.
//!
//! `scripts/bench [--quick] [GROUP…]` builds and starts it. Groups: shim, start, open, list, remote, live.

mod logs;
mod measure;
mod peer;
mod proxy;
mod remote;
mod report;
mod shim;
mod space;
mod sshd;
mod start;
mod usage;
mod viewer;

use std::{path::PathBuf, process::ExitCode};

use report::Report;

/// What can go wrong in a run: a part is missing, a process failed, a deadline passed.
type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

/// What a run measures, and how long it takes.
struct Plan {
    /// The program under test.
    program: PathBuf,
    /// Small sizes, to see that everything works; the figures mean little.
    quick: bool,
}

impl Plan {
    /// The full size, or the small one with `--quick`.
    fn size<T>(&self, full: T, quick: T) -> T {
        if self.quick { quick } else { full }
    }
}

type Group = (&'static str, fn(&Plan, &mut Report) -> Outcome<()>);

const GROUPS: &[Group] = &[
    ("start", start::measure),
    ("shim", shim::measure),
    ("open", viewer::measure_open),
    ("list", viewer::measure_list),
    ("remote", remote::measure_cat),
    ("live", remote::measure_live),
];

fn main() -> ExitCode {
    let mut words: Vec<String> = std::env::args().skip(1).collect();
    if words.first().is_some_and(|word| word == "server") {
        return ended(peer::serve());
    }
    let quick = words.iter().position(|word| word == "--quick");
    if let Some(at) = quick {
        words.remove(at);
    }
    let Some((program, wanted)) = words.split_first() else {
        eprintln!("usage: scripts/bench [--quick] [start] [shim] [open] [list] [remote] [live]");
        return ExitCode::from(2);
    };
    let plan = Plan {
        program: program.into(),
        quick: quick.is_some(),
    };
    ended(run(&plan, wanted))
}

fn run(plan: &Plan, wanted: &[String]) -> Outcome<()> {
    let mut report = Report::start(plan.quick);
    if let Some(unknown) = wanted
        .iter()
        .find(|name| !GROUPS.iter().any(|(known, _)| known == name))
    {
        return Err(format!("no group `{unknown}`").into());
    }
    for (name, measure) in GROUPS {
        if wanted.is_empty() || wanted.iter().any(|word| word == name) {
            // A group that cannot run does not keep the others from running.
            if let Err(error) = measure(plan, &mut report) {
                report.failed(name, error.as_ref());
            }
        }
    }
    report.end()
}

fn ended(outcome: Outcome<()>) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench: {error}");
            ExitCode::FAILURE
        }
    }
}
