//! One command a file. `run` is the one list that names them.

mod demo;
mod ending;
mod export;
mod export_notes;
mod first_word;
mod naming;
mod open;
mod prune;
mod remote;
mod shim;
mod watch;

use super::{
    args::{Command, Invocation},
    context::Context,
    failure::{Exit, Failure},
};

/// Does what was asked.
pub(super) fn run(invocation: Invocation) -> Result<Exit, Failure> {
    let context = Context::read();
    let Invocation {
        shim: options,
        viewer,
        history_limit,
        command,
        server,
        dashed,
    } = invocation;
    if command.is_none() && !dashed {
        first_word::check(&server, &context.env)?;
    }
    let recorded = match command {
        None if !server.is_empty() => server,
        other => {
            if let Some(option) = options.given() {
                return Err(
                    Failure::usage(format!("`{option}` needs a command to record"))
                        .hint("mcpsnoop [OPTIONS] -- COMMAND [ARGS]..."),
                );
            }
            if other.is_some() && history_limit.is_some() {
                return Err(Failure::usage(
                    "`--history-limit` stands behind the command that it is for",
                ));
            }
            return match other {
                Some(Command::Open(args)) => open::run(args, &context),
                Some(Command::Export(args)) => export::run(&args, &context),
                Some(Command::Demo(args)) => demo::run(&args, &context),
                Some(Command::Remote(args)) => remote::run(&args, &context),
                Some(Command::Prune(args)) => prune::run(&args, &context),
                None => watch::run(&viewer, history_limit, &context),
            };
        }
    };
    if history_limit.is_some() {
        return Err(Failure::usage(
            "`--history-limit` is for the viewer, not for a recorded command",
        ));
    }
    shim::run(options, recorded, &context)
}

/// `--history-limit`: 0 is all, a negative number is refused.
fn history_limit(given: i64) -> Result<Option<usize>, Failure> {
    match usize::try_from(given) {
        Ok(0) => Ok(None),
        Ok(limit) => Ok(Some(limit)),
        Err(_negative) => Err(
            Failure::usage(format!("--history-limit {given} is negative")).hint("0 loads all logs"),
        ),
    }
}
