//! What users read when something fails, and every exit code of the program.

use std::{error::Error as StdError, fmt::Display, path::Path};

use mcpsnoop::{base::quoted_bytes, capture, hub, record, remote, tui};

/// Why the process ends. No other file names a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Exit {
    /// Done.
    Done,
    /// It ran, and could not be finished or what it judged did not pass.
    Failed,
    /// Asked wrongly, or nothing could be judged.
    Usage,
    /// A host could not be reached.
    Unreachable,
    /// A host key was unknown, changed or revoked.
    HostKey,
    /// A log-in was refused.
    Authentication,
    /// The far side cannot be used.
    RemoteUnusable,
    /// A connection was lost and not restored.
    Lost,
    /// The shim's command cannot be run.
    NotExecutable,
    /// The shim's command was not found.
    CommandNotFound,
    /// The shim's command ended with this status.
    Child(u8),
    /// Ended by a signal, the shim's command or the program itself.
    Signal(u8),
}

impl Exit {
    /// The number that the shell sees.
    pub(super) const fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Unreachable => 3,
            Self::HostKey => 4,
            Self::Authentication => 5,
            Self::RemoteUnusable => 6,
            Self::Lost => 7,
            Self::NotExecutable => 126,
            Self::CommandNotFound => 127,
            Self::Child(status) => status,
            Self::Signal(number) => number.wrapping_add(128),
        }
    }
}

/// The number of SIGPIPE: standard output was closed by its reader.
pub(super) const CLOSED_OUTPUT: Exit = Exit::Signal(13);

/// The only thing that is printed as an error: what failed, why, and what to do next.
#[derive(Debug)]
pub(super) struct Failure {
    /// How the process ends.
    pub(super) exit: Exit,
    /// What failed; empty when nothing is to be said.
    pub(super) sentence: String,
    /// Why, outermost first.
    pub(super) causes: Vec<String>,
    /// What can be done next, one command or edit each.
    pub(super) hints: Vec<String>,
    /// Where the message appears.
    pub(super) shape: Shape,
}

/// How a failure is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Shape {
    /// `error:`, `caused by:`, `hint:`, a line each.
    #[default]
    Block,
    /// One line with our name in front: it stands in a client's log, between a server's lines.
    Line,
}

impl Failure {
    /// Asked wrongly.
    pub(super) fn usage(sentence: impl Display) -> Self {
        Self::new(Exit::Usage, sentence)
    }

    /// Any other failure.
    pub(super) fn new(exit: Exit, sentence: impl Display) -> Self {
        Self {
            exit,
            sentence: sentence.to_string(),
            causes: Vec::new(),
            hints: Vec::new(),
            shape: Shape::Block,
        }
    }

    /// Ends the process without a word.
    pub(super) const fn silent(exit: Exit) -> Self {
        Self {
            exit,
            sentence: String::new(),
            causes: Vec::new(),
            hints: Vec::new(),
            shape: Shape::Block,
        }
    }

    /// Adds what can be done next.
    pub(super) fn hint(mut self, hint: impl Display) -> Self {
        self.hints.push(hint.to_string());
        self
    }

    /// Adds an error and what lies behind it as causes.
    pub(super) fn because(mut self, error: &dyn StdError) -> Self {
        self.causes.push(error.to_string());
        self.causes.extend(sources(error));
        self
    }

    /// A library's error: its sentence, and what lies behind it as causes.
    fn of(exit: Exit, error: &dyn StdError) -> Self {
        let mut failure = Self::new(exit, error);
        failure.causes = sources(error);
        failure
    }
}

fn sources(error: &dyn StdError) -> Vec<String> {
    let mut causes = Vec::new();
    let mut next = error.source();
    while let Some(cause) = next {
        causes.push(cause.to_string());
        next = cause.source();
    }
    causes
}

/// Commands that look at one session end with 2 when it cannot be found or read (history.md 1).
impl From<record::Error> for Failure {
    fn from(error: record::Error) -> Self {
        Self::of_log(&error, "open", Exit::Usage)
    }
}

impl Failure {
    /// A log that was named to a command and cannot be found or read.
    pub(super) fn of_log(error: &record::Error, command: &str, exit: Exit) -> Self {
        let hints: Vec<String> = match error {
            record::Error::NotFound { nearest, .. } if nearest.is_empty() => {
                vec!["`mcpsnoop` lists the sessions of this machine".to_owned()]
            }
            record::Error::NotFound { nearest, .. } => nearest
                .iter()
                .map(|id| format!("mcpsnoop {command} {id}"))
                .collect(),
            record::Error::Ambiguous { candidates, .. } => candidates
                .iter()
                .map(|(id, label, last)| {
                    format!("mcpsnoop {command} {id}   ({label}, last change {last})")
                })
                .collect(),
            record::Error::IsDirectory { .. } => {
                vec!["name a log in it, or a session id".to_owned()]
            }
            record::Error::NoLogs { .. } | record::Error::NoReadableLogs { .. } => {
                vec!["record one: mcpsnoop -- COMMAND, or look around: mcpsnoop demo".to_owned()]
            }
            record::Error::NoStateDir => {
                vec!["set MCPSNOOP_HOME to the directory that holds `sessions`".to_owned()]
            }
            record::Error::Empty { path } => return of_nothing(path, exit),
            record::Error::NotALog { .. } => {
                vec!["a session log holds one JSON object a line, with session_id, seq and direction".to_owned()]
            }
            record::Error::Read { .. } => vec!["check the path and its permissions".to_owned()],
        };
        Self {
            hints,
            ..Self::of(exit, error)
        }
    }
}

/// A log without a byte. Of a pipe or a device nobody knows who should have written.
fn of_nothing(path: &Path, exit: Exit) -> Failure {
    let shown = match path.to_str() {
        Some("-") => "standard input".to_owned(),
        _ => format!("`{}`", quoted_bytes(path.as_os_str().as_encoded_bytes())),
    };
    if path.is_file() {
        return Failure::new(exit, format!("{shown} is empty"))
            .hint("if it is being recorded: not a message has come yet");
    }
    Failure::new(exit, format!("nothing came in from {shown}"))
        .hint("check what writes into it: a log must come, one JSON object a line")
}

impl From<capture::Error> for Failure {
    fn from(error: capture::Error) -> Self {
        let (exit, hint) = match &error {
            capture::Error::NotFound { .. } => (
                Exit::CommandNotFound,
                "give its absolute path, or check PATH as the client sets it",
            ),
            capture::Error::NotExecutable { .. } => (
                Exit::NotExecutable,
                "check its permissions and its first line",
            ),
            capture::Error::TraceFile { .. } => {
                (Exit::Usage, "name a new file or an existing session log")
            }
            capture::Error::System { .. } => (
                Exit::Failed,
                "`--no-trace` runs the command without tracing",
            ),
        };
        let shape = Shape::Line;
        Self {
            shape,
            ..Self::of(exit, &error).hint(hint)
        }
    }
}

impl From<hub::Error> for Failure {
    fn from(error: hub::Error) -> Self {
        let hub::Error::StateDir { .. } = &error;
        Self::of(Exit::Failed, &error).hint("set MCPSNOOP_HOME to a directory that you can write")
    }
}

impl From<tui::ViewerError> for Failure {
    fn from(error: tui::ViewerError) -> Self {
        match &error {
            tui::ViewerError::NoTerminal => Self::of(Exit::Usage, &error),
            tui::ViewerError::Terminal(_) => Self::of(Exit::Failed, &error),
        }
    }
}

impl From<remote::ExitClass> for Exit {
    fn from(class: remote::ExitClass) -> Self {
        match class {
            remote::ExitClass::Local => Self::Failed,
            remote::ExitClass::Usage => Self::Usage,
            remote::ExitClass::Unreachable => Self::Unreachable,
            remote::ExitClass::HostKey => Self::HostKey,
            remote::ExitClass::Authentication => Self::Authentication,
            remote::ExitClass::RemoteUnusable => Self::RemoteUnusable,
            remote::ExitClass::Lost => Self::Lost,
        }
    }
}

/// A host's failure: `HOST: what failed` (remote.md 12).
pub(super) fn of_host(host: &str, error: &remote::Error) -> Failure {
    let mut failure = Failure::of(error.class().into(), error);
    failure.sentence = format!("{host}: {}", failure.sentence);
    failure.hints = error.hints();
    failure
}
