//! What can go wrong with logs and the state directory.

use std::{io, path::PathBuf};

/// A situation that stops an operation on logs.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The named log does not exist.
    #[error("session log `{name}` not found")]
    NotFound {
        /// What was asked for.
        name: String,
        /// Ids that look like it, nearest first.
        nearest: Vec<String>,
    },
    /// A directory was named where a log is needed.
    #[error("`{}` is a directory", path.display())]
    IsDirectory {
        /// The directory.
        path: PathBuf,
    },
    /// A prefix fits several sessions.
    #[error("`{name}` fits {} sessions", candidates.len() + others)]
    Ambiguous {
        /// What was asked for.
        name: String,
        /// At most ten candidates: id, label, last change.
        candidates: Vec<(String, String, crate::base::Timestamp)>,
        /// How many more there are.
        others: usize,
    },
    /// There is no place where sessions could lie.
    #[error("there is no state directory, so no session can be found")]
    NoStateDir,
    /// There is no log at all.
    #[error("no session logs found in `{}`", dir.display())]
    NoLogs {
        /// The sessions directory.
        dir: PathBuf,
    },
    /// There are logs, but none that can be read.
    #[error("no readable session logs found in `{}`", dir.display())]
    NoReadableLogs {
        /// The sessions directory.
        dir: PathBuf,
    },
    /// The log has no bytes.
    #[error("`{}` has no envelopes", path.display())]
    Empty {
        /// The log.
        path: PathBuf,
    },
    /// The log has bytes but not one envelope.
    #[error("`{}` is not a session log", path.display())]
    NotALog {
        /// The file.
        path: PathBuf,
    },
    /// The system refused.
    #[error("cannot read `{}`", path.display())]
    Read {
        /// The file or directory.
        path: PathBuf,
        /// The system's reason.
        #[source]
        source: io::Error,
    },
}
