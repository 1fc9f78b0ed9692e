//! What a command costs: it runs below a process of its own on chosen cores, so that its figures are its alone.

use std::{
    process::{Command, Stdio},
    time::Instant,
};

use nix::{
    sched::{CpuSet, sched_getaffinity, sched_setaffinity},
    sys::resource::{UsageWho, getrusage},
    unistd::Pid,
};

use crate::{Outcome, space::Space};

/// The figures of one run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Costs {
    /// Processor time of all its threads, in seconds.
    pub(crate) processor: f64,
    /// By the clock, in seconds.
    pub(crate) wall: f64,
    /// Most memory that it held, in MiB.
    pub(crate) peak_mib: f64,
    /// The last line that it printed, if it is one of ours.
    pub(crate) said: Vec<f64>,
}

/// Runs a command to its end on `cores` cores, its output thrown away.
pub(crate) fn of(space: &Space, cores: usize, command: &Command) -> Outcome<Costs> {
    run(space, cores, command, "quiet")
}

/// Runs a mode of this program on `cores` cores; keeps the numbers that it prints.
pub(crate) fn of_mode(space: &Space, cores: usize, words: &[&str]) -> Outcome<Costs> {
    let mut command = space.command(std::env::current_exe()?);
    command.args(words);
    run(space, cores, &command, "loud")
}

fn run(space: &Space, cores: usize, command: &Command, voice: &str) -> Outcome<Costs> {
    let mut around = space.command(std::env::current_exe()?);
    around.args(["costs", voice, &cores.to_string()]);
    around.arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        if let Some(value) = value {
            around.env(name, value);
        }
    }
    let output = around.stderr(Stdio::inherit()).output()?;
    if !output.status.success() {
        return Err(format!("{command:?}: {}", output.status).into());
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let mut lines = text.lines().rev().map(numbers);
    let (Some(figures), said) = (lines.next(), lines.next().unwrap_or_default()) else {
        return Err(format!("{command:?}: no figures").into());
    };
    let [processor, wall, peak_mib] = figures[..] else {
        return Err(format!("{command:?}: {figures:?}").into());
    };
    Ok(Costs {
        processor,
        wall,
        peak_mib,
        said,
    })
}

fn numbers(line: &str) -> Vec<f64> {
    line.split_whitespace()
        .filter_map(|word| word.parse().ok())
        .collect()
}

/// The mode: `VOICE CORES COMMAND…`; prints the figures behind what the command prints.
pub(crate) fn serve(words: &[String]) -> Outcome<()> {
    let [voice, cores, program, arguments @ ..] = words else {
        return Err("usage: costs VOICE CORES COMMAND…".into());
    };
    pin(cores.parse()?)?;
    let output = if voice == "quiet" {
        Stdio::null()
    } else {
        Stdio::inherit()
    };
    let started = Instant::now();
    let status = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(output)
        .status()?;
    let wall = started.elapsed().as_secs_f64();
    if !status.success() {
        return Err(format!("{program}: {status}").into());
    }
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let seconds =
        |time: nix::sys::time::TimeVal| time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6;
    let processor = seconds(usage.user_time()) + seconds(usage.system_time());
    println!("{processor} {wall} {}", usage.max_rss() as f64 / 1024.0);
    Ok(())
}

/// Keeps this process and its children on the last `count` cores that it may use; the first ones have most of what
/// else there is to do.
fn pin(count: usize) -> Outcome<()> {
    let own = Pid::from_raw(0);
    let allowed = sched_getaffinity(own)?;
    let cores: Vec<usize> = (0..CpuSet::count())
        .filter(|core| allowed.is_set(*core).unwrap_or(false))
        .collect();
    let mut set = CpuSet::new();
    for core in cores.iter().rev().take(count) {
        set.set(*core)?;
    }
    if cores.len() < count {
        return Err(format!("{count} cores are wanted, {} are there", cores.len()).into());
    }
    Ok(sched_setaffinity(own, &set)?)
}
