//! What can go wrong while a report is written.

use std::io;

use crate::record;

/// A situation that ends a report.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The log cannot be read, or is none.
    #[error(transparent)]
    Log(record::Error),
    /// The log holds no session of that name.
    #[error("the log holds no session `{wanted}`")]
    NoSession {
        /// What was asked for.
        wanted: String,
        /// Some ids that it holds, in order of their first frames.
        held: Vec<String>,
    },
    /// The log could be read once and cannot be read again.
    #[error("cannot read the log again")]
    ReadAgain(#[source] io::Error),
    /// Another frame, or none, lies where one was read before.
    #[error("the log changed while it was read")]
    Changed,
    /// The output cannot be written.
    #[error("the output cannot be written")]
    Write(#[source] io::Error),
}

impl Error {
    /// What a failed second reading means.
    pub(super) fn of_reading(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof => Self::Changed,
            _ => Self::ReadAgain(error),
        }
    }
}
