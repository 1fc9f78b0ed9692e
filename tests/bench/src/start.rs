//! How long a start takes: the first answer behind the shim, and `--version`.

use std::{process::Command, time::Instant};

use crate::{
    Outcome, Plan,
    measure::{median, millis, time},
    peer::{self, Pipe},
    report::{Budget, Figure, Report},
    space::Space,
};

pub(crate) fn measure(plan: &Plan, report: &mut Report) -> Outcome<()> {
    let space = Space::new("start")?;
    let rounds = plan.size(200, 20);
    let (mut bare, mut shim, mut version, mut nothing) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for _ in 0..rounds {
        bare.push(first_answer(&mut peer::bare(&space)?)?);
        shim.push(first_answer(&mut peer::wrapped(&space, plan)?)?);
        version.push(time(space.program(plan).arg("--version"))?);
        nothing.push(time(&mut space.command("true"))?);
    }
    report.add(&Figure {
        name: "start: added to the first answer",
        unit: "ms",
        ours: median(&shim) - median(&bare),
        baseline: None,
        budget: Budget::AtMost(2.5),
    });
    report.add(&Figure {
        name: "start: first answer",
        unit: "ms",
        ours: median(&shim),
        baseline: Some(("bare server", median(&bare))),
        budget: Budget::None,
    });
    report.add(&Figure {
        name: "start: --version",
        unit: "ms",
        ours: median(&version),
        baseline: Some(("true", median(&nothing))),
        budget: Budget::RatioAtMost(2.5),
    });
    Ok(())
}

fn first_answer(command: &mut Command) -> Outcome<f64> {
    let started = Instant::now();
    let mut pipe = Pipe::start(command)?;
    pipe.ask(&peer::call(1, 1024))?;
    let span = millis(started.elapsed());
    pipe.finish()?;
    Ok(span)
}
