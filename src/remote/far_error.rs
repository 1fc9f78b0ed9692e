//! What can go wrong behind an authenticated connection: SFTP, the state directory, a session that
//! is not there.

use super::error::ExitClass;

/// Why a request over SFTP did not succeed. Text in it is untrusted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SftpError {
    /// The name does not exist.
    #[error("no such file or directory")]
    NotFound,
    /// Not permitted.
    #[error("permission denied")]
    Denied,
    /// The server knows no such request.
    #[error("not supported by the server")]
    Unsupported,
    /// Any other refusal, with the server's words.
    #[error("refused by the server: {0}")]
    Refused(String),
    /// A file that was named as a log begins with something else.
    #[error("it does not begin like a session log")]
    NoLog,
    /// The channel or the connection ended.
    #[error("the SFTP channel ended")]
    Ended,
    /// An answer that breaks the protocol; the channel is not used any more.
    #[error("the server broke the SFTP protocol: {0}")]
    Hostile(&'static str),
    /// No answer although the connection is alive.
    #[error("no answer for a minute")]
    Stalled,
}

impl SftpError {
    /// True when the session cannot be used any more.
    pub(super) const fn ends_session(&self) -> bool {
        matches!(self, Self::Ended | Self::Hostile(_) | Self::Stalled)
    }
}

/// A situation on the far side that stops a run. Text in it is untrusted.
#[derive(Debug, thiserror::Error)]
pub enum FarError {
    /// The server gives no SFTP.
    #[error("SFTP is not available: {reason}")]
    NoSftp {
        /// What happened instead.
        reason: String,
    },
    /// The directory of the logs cannot be read.
    #[error("`{path}` cannot be read as {user}{}", mode.map(|mode| format!(" (mode {:04o})", mode & 0o7777)).unwrap_or_default())]
    Unreadable {
        /// The directory.
        path: String,
        /// Whom we logged in as.
        user: String,
        /// Its permission bits, if they could be seen.
        mode: Option<u32>,
        /// The server's answer.
        #[source]
        source: SftpError,
    },
    /// There is nothing to list, print or load.
    #[error("no mcpsnoop data in `{dir}`")]
    Nothing {
        /// The state directory.
        dir: String,
    },
    /// No log is named like this.
    #[error("session `{name}` not found")]
    SessionNotFound {
        /// What was asked for.
        name: String,
        /// The three names that look most like it.
        nearest: Vec<String>,
    },
    /// Several logs fit.
    #[error("`{name}` fits {} sessions: {}", candidates.len() + others, candidates.join(", "))]
    Ambiguous {
        /// What was asked for.
        name: String,
        /// At most ten of them.
        candidates: Vec<String>,
        /// How many more there are.
        others: usize,
    },
    /// The mode that was demanded is not possible.
    #[error("live frames by socket are not possible: {reason}")]
    NoSocket {
        /// Why.
        reason: String,
    },
    /// The connection was lost and not restored.
    #[error("connection lost: {reason}")]
    Lost {
        /// What was seen of it.
        reason: String,
    },
    /// A request over SFTP failed.
    #[error("reading over SFTP failed")]
    Sftp(#[from] SftpError),
    /// The output cannot be written.
    #[error("the output cannot be written")]
    Output(#[source] std::io::Error),
}

impl FarError {
    /// Which exit code it leads to (remote.md 12).
    pub const fn class(&self) -> ExitClass {
        match self {
            Self::Lost { .. } | Self::Sftp(SftpError::Ended | SftpError::Stalled) => {
                ExitClass::Lost
            }
            Self::Output(_) => ExitClass::Local,
            Self::NoSftp { .. }
            | Self::Unreadable { .. }
            | Self::Nothing { .. }
            | Self::SessionNotFound { .. }
            | Self::Ambiguous { .. }
            | Self::NoSocket { .. }
            | Self::Sftp(_) => ExitClass::RemoteUnusable,
        }
    }

    /// The next steps, one each.
    pub fn hints(&self) -> Vec<String> {
        match self {
            Self::NoSftp { .. } => {
                vec!["ask the administrator of the host for the `sftp` subsystem".to_owned()]
            }
            Self::Unreadable { .. } | Self::Nothing { .. } => vec![
                "if the logs lie elsewhere: --remote-mcpsnoop-home DIR, --remote-xdg-state-home \
                 DIR or --remote-home DIR"
                    .to_owned(),
            ],
            Self::SessionNotFound { nearest, .. } => {
                let mut hints: Vec<_> = (!nearest.is_empty())
                    .then(|| format!("similar names: {}", nearest.join(", ")))
                    .into_iter()
                    .collect();
                hints.push("mcpsnoop remote --list TARGET shows all sessions".to_owned());
                hints
            }
            Self::Ambiguous { .. } => vec!["give more characters of the name".to_owned()],
            Self::NoSocket { .. } => {
                vec!["leave out --mode: the logs are followed instead".to_owned()]
            }
            Self::Lost { .. } | Self::Sftp(_) | Self::Output(_) => Vec::new(),
        }
    }

    /// True when trying again may help (remote.md 9.5.3).
    pub const fn is_retryable(&self) -> bool {
        matches!(
            self,
            Self::Lost { .. }
                | Self::Sftp(SftpError::Ended | SftpError::Stalled | SftpError::Hostile(_))
        )
    }
}
