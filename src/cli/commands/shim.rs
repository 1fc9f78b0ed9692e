//! `mcpsnoop [OPTIONS] -- COMMAND`: record a server.

use std::ffi::OsString;

use mcpsnoop::{
    capture::{self, Finished, ShimOptions},
    record::{Label, StateDir},
};

use crate::cli::{
    args::ShimArgs,
    config::Config,
    context::Context,
    failure::{Exit, Failure},
};

/// Budget of what waits to be written (capture.md 4.3).
const DEFAULT_BUFFER_MIB: u16 = 64;

/// Runs the shim; its exit code is the command's own.
pub(super) fn run(
    args: ShimArgs,
    command: Vec<OsString>,
    context: &Context,
) -> Result<Exit, Failure> {
    if command.first().is_some_and(|program| program.is_empty()) {
        return Err(Failure::usage("the command is empty").hint("mcpsnoop -- COMMAND [ARGS]..."));
    }
    let config = if args.no_config {
        Config::default()
    } else {
        Config::read(&context.env)?
    };
    let label = label(args.label.or(config.label), &command)?;
    if args.no_trace.or(config.no_trace).unwrap_or(false) {
        return Err(capture::exec_plain(&command).into());
    }
    let located = StateDir::locate(&context.env);
    let trace_file = match &args.log_dir {
        Some(_) => None,
        None => args.trace_file.or(config.trace_file),
    };
    let finished = capture::run_shim(ShimOptions {
        command,
        label,
        state: located.dir,
        trace_file,
        log_dir: args.log_dir,
        budget: usize::from(args.trace_buffer.unwrap_or(DEFAULT_BUFFER_MIB)) << 20,
        quiet: args.quiet,
        cwd: context.env.current_dir().cloned(),
        clock: context.clock,
        warnings: located.warnings,
    })?;
    Ok(match finished {
        Finished::Exited(status) => Exit::Child(u8::try_from(status & 0xff).unwrap_or(u8::MAX)),
        Finished::Signalled(number) => Exit::Signal(u8::try_from(number).unwrap_or(0)),
    })
}

fn label(given: Option<String>, command: &[OsString]) -> Result<Label, Failure> {
    let text = given.unwrap_or_default();
    match Label::given(&text) {
        Ok(Some(label)) => Ok(label),
        Ok(None) => Ok(Label::derived(command)),
        Err(error) => Err(
            Failure::usage(format!("the label {text:?} is refused: {error}")).hint("--label NAME"),
        ),
    }
}
