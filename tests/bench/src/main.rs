//! Measures mcpsnoop beside a baseline in the same run: interleaved, medians, ratios against the budgets.
//!
//! `scripts/bench [--quick] [--shared] [GROUP…]` builds and starts it; `GROUPS` are all there is.

mod costs;
mod export;
mod fold;
mod heap;
mod ingest;
mod logs;
mod measure;
mod mix;
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
mod watched;
mod week;

use std::{path::PathBuf, process::ExitCode};

use report::{Budget, Report};

/// What can go wrong in a run: a part is missing, a process failed, a deadline passed.
type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

/// What a run measures, and how long it takes.
struct Plan {
    /// The program under test.
    program: PathBuf,
    /// Small sizes, to see that everything works; the figures mean little.
    quick: bool,
    /// Other work runs on this machine: the clock judges nothing that processor time can judge.
    shared: bool,
}

impl Plan {
    /// The full size, or the small one with `--quick`.
    fn size<T>(&self, full: T, quick: T) -> T {
        if self.quick { quick } else { full }
    }

    /// The budget of a figure that is measured by the clock and by processor time: one of them is judged.
    fn time_budget(&self, by_clock: bool, budget: Budget) -> Budget {
        if by_clock == self.shared {
            Budget::None
        } else {
            budget
        }
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
    ("ingest", ingest::measure),
    ("memory", ingest::measure_memory),
    ("week", week::measure),
    ("export", export::measure),
];

/// What this program does when it is started below itself: one part of a measurement in a process of its own.
type Mode = (&'static str, fn(&[String]) -> Outcome<()>);

const MODES: &[Mode] = &[
    ("server", |_| peer::serve()),
    ("costs", costs::serve),
    ("fold", fold::serve_log),
    ("pace", fold::serve_pace),
    ("hold", fold::serve_hold),
    ("watch", week::serve),
];

#[global_allocator]
static HEAP: heap::Counting = heap::Counting;

fn main() -> ExitCode {
    let mut words: Vec<String> = std::env::args().skip(1).collect();
    if let Some((name, rest)) = words.split_first()
        && let Some((_, serve)) = MODES.iter().find(|(mode, _)| mode == name)
    {
        return ended(serve(rest));
    }
    let mut is_given = |option: &str| {
        let before = words.len();
        words.retain(|word| word != option);
        words.len() < before
    };
    let (quick, shared) = (is_given("--quick"), is_given("--shared"));
    let Some((program, wanted)) = words.split_first() else {
        let names: Vec<_> = GROUPS.iter().map(|(name, _)| format!("[{name}]")).collect();
        eprintln!(
            "usage: scripts/bench [--quick] [--shared] {}",
            names.join(" ")
        );
        return ExitCode::from(2);
    };
    let plan = Plan {
        program: program.into(),
        quick,
        shared,
    };
    ended(run(&plan, wanted))
}

fn run(plan: &Plan, wanted: &[String]) -> Outcome<()> {
    let mut report = Report::start(plan.quick, plan.shared);
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
