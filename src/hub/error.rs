//! Why a hub could not work at all.

use std::{io, path::PathBuf};

/// What stops a hub; a taken socket or a damaged log never does.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The state directory cannot be made or read.
    #[error("cannot use the state directory `{}`", path.display())]
    StateDir {
        /// Which one.
        path: PathBuf,
        /// The system's reason.
        #[source]
        source: io::Error,
    },
}
