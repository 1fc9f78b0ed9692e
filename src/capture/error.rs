//! Why a shim could not do its work.

use std::{ffi::OsString, io, path::PathBuf};

/// What stops a run; losses of tracing never do (G7).
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No such command.
    #[error("command `{}` not found", program.display())]
    NotFound {
        /// The program.
        program: OsString,
    },
    /// The command is there but cannot be run.
    #[error("command `{}` cannot be run", program.display())]
    NotExecutable {
        /// The program.
        program: OsString,
        /// The system's reason.
        #[source]
        source: io::Error,
    },
    /// `--trace-file` names something that must not be appended to (capture.md 2.1.3).
    #[error("trace file `{}` {reason}", path.display())]
    TraceFile {
        /// The path.
        path: PathBuf,
        /// Why it is refused.
        reason: &'static str,
    },
    /// Something of the system that the shim cannot do without.
    #[error("cannot {action}")]
    System {
        /// What was tried.
        action: &'static str,
        /// The system's reason.
        #[source]
        source: io::Error,
    },
}
