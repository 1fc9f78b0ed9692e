//! Arguments, one command a file, failures. The only room that reads the environment, chooses a
//! runtime, prints and ends the process.

mod args;
mod asking;
mod commands;
mod config;
mod context;
mod export_args;
mod failure;
mod listing;
mod output;
mod wrap;

use std::process::ExitCode;

use failure::{Exit, Failure};

/// Runs the program: arguments in, exit code out.
pub(crate) fn main() -> ExitCode {
    let ended = match args::read(std::env::args_os()) {
        args::Read::Invocation(invocation) => commands::run(*invocation),
        args::Read::Printed(text) => output::print(&text).map(|()| Exit::Done),
        args::Read::Usage(text) => {
            output::complain_raw(&text);
            Ok(Exit::Usage)
        }
    };
    let exit = ended.unwrap_or_else(|failure: Failure| {
        output::complain(&failure);
        failure.exit
    });
    ExitCode::from(exit.code())
}
