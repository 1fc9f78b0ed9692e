//! `mcpsnoop prune`: delete old session logs, never one that is being recorded (history.md 7).

use std::{io::IsTerminal as _, path::Path, time::Duration};

use mcpsnoop::{
    base::{ByteCount, parse_age, quoted},
    record::{LogFile, PrunePlan, StateDir, plan_prune},
};

use crate::cli::{
    args::PruneArgs,
    context::Context,
    failure::{Exit, Failure},
    output,
};

/// Logs that are named before the question.
const NAMED: usize = 10;

/// Chooses, asks, removes.
pub(super) fn run(args: &PruneArgs, context: &Context) -> Result<Exit, Failure> {
    let age = parse_age(&args.older_than).map_err(|error| {
        Failure::usage(format!("--older-than {:?} is {error}", args.older_than))
            .hint("for example 30d or 72h")
    })?;
    let labels: Vec<String> = args
        .label
        .iter()
        .map(|label| label.trim().to_owned())
        .collect();
    if labels.iter().any(String::is_empty) {
        return Err(Failure::usage("--label is blank").hint("leave it out to mean every label"));
    }
    let Some(state) = StateDir::locate(&context.env).dir else {
        output::note("there is no state directory to look in: set MCPSNOOP_HOME");
        return nothing(&args.older_than);
    };
    let choose = |age| {
        plan_prune(&state.sessions(), age, &labels, context.clock.now()).map_err(|error| Failure {
            exit: Exit::Failed,
            ..error.into()
        })
    };
    let plan = choose(age)?;
    mention(&plan);
    if plan.candidates.is_empty() {
        looked_in(&state, context);
        let of_label = choose(Duration::ZERO)?;
        if !labels.is_empty() && of_label.candidates.is_empty() && of_label.kept_live == 0 {
            output::print(&format!("no session has {}\n", named(&labels)))?;
            return Ok(Exit::Done);
        }
        return nothing(&args.older_than);
    }
    let what = summary(&plan.candidates);
    if args.dry_run {
        output::print(&format!(
            "would remove {what}:\n{}",
            paths(&plan.candidates)
        ))?;
        return Ok(Exit::Done);
    }
    if !args.yes {
        if !std::io::stdin().is_terminal() {
            return Err(Failure::new(
                Exit::Failed,
                format!("nobody to ask whether to remove {what}"),
            )
            .hint("pass --yes, or --dry-run to look first"));
        }
        let answer = output::ask(&format!("{}remove {what}? [y/N] ", first(&plan.candidates)));
        if !matches!(answer.to_ascii_lowercase().as_str(), "y" | "yes") {
            output::print("nothing removed\n")?;
            return Ok(Exit::Done);
        }
    }
    remove(&plan, age, context)
}

fn remove(plan: &PrunePlan, age: Duration, context: &Context) -> Result<Exit, Failure> {
    let report = plan.remove(age, context.clock.now());
    for path in &report.kept {
        output::note(&format!(
            "kept {}: it changed or is being recorded",
            shown(path)
        ));
    }
    for (path, error) in &report.failed {
        output::note(&format!("cannot remove {}: {error}", shown(path)));
    }
    output::print(&format!("removed {}\n", summary(&report.removed)))?;
    Ok(if report.failed.is_empty() {
        Exit::Done
    } else {
        Exit::Failed
    })
}

fn nothing(age: &str) -> Result<Exit, Failure> {
    output::print(&format!("nothing older than {age}\n"))?;
    Ok(Exit::Done)
}

/// Says where nothing was found, and where there are sessions if there are none at all.
fn looked_in(state: &StateDir, context: &Context) {
    let sessions = state.sessions();
    let absent = if sessions.exists() {
        ""
    } else {
        ", which does not exist"
    };
    output::note(&format!("looked in {}{absent}", shown(&sessions)));
    if let Some((other, logs)) = context.elsewhere(state) {
        let other = shown(&other);
        let plural = if logs == 1 { "" } else { "s" };
        output::note(&format!(
            "{other} has {logs} session log{plural}: `MCPSNOOP_HOME={other} mcpsnoop prune …`"
        ));
    }
}

fn mention(plan: &PrunePlan) {
    let plural = |count: usize| if count == 1 { "" } else { "s" };
    if plan.kept_live > 0 {
        output::note(&format!(
            "kept {} live session{}",
            plan.kept_live,
            plural(plan.kept_live)
        ));
    }
    if plan.not_regular > 0 {
        let count = plan.not_regular;
        output::note(&format!(
            "left alone {count} name{} that are no regular files",
            plural(count)
        ));
    }
}

fn summary(logs: &[LogFile]) -> String {
    let bytes = ByteCount(logs.iter().map(|log| log.size).sum());
    let plural = if logs.len() == 1 { "" } else { "s" };
    format!("{} session log{plural} ({bytes})", logs.len())
}

/// The label, or the labels, for the end of a sentence.
fn named(labels: &[String]) -> String {
    let labels: Vec<String> = labels.iter().map(|label| quoted(label)).collect();
    let plural = if labels.len() == 1 { "" } else { "s" };
    format!("the label{plural} {}", labels.join(" or "))
}

/// What the question is about: some logs by name, then a count.
fn first(logs: &[LogFile]) -> String {
    let (shown, rest) = logs.split_at(logs.len().min(NAMED));
    let mut lines = paths(shown);
    if !rest.is_empty() {
        let more = format!("  and {} more, --dry-run names all\n", rest.len());
        lines.push_str(&more);
    }
    lines
}

fn paths(logs: &[LogFile]) -> String {
    let mut lines = String::new();
    for log in logs {
        lines.extend(["  ", &shown(&log.path), "\n"]);
    }
    lines
}

fn shown(path: &Path) -> String {
    quoted(&path.to_string_lossy())
}
