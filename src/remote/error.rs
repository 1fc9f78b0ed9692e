//! What can go wrong with a host, by situation, with what its message needs (remote.md 12).

use std::{fmt, io, path::PathBuf};

use super::{known_hosts::KnownLine, options::TargetError};

/// Characters of a list of names that a message shows.
const MOST_NAMES: usize = 1_000;

/// Class of an error: which exit code it leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitClass {
    /// 1.
    Local,
    /// 2.
    Usage,
    /// 3.
    Unreachable,
    /// 4.
    HostKey,
    /// 5.
    Authentication,
    /// 6.
    RemoteUnusable,
    /// 7.
    Lost,
}

/// Why a new host key was not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unconfirmed {
    /// Nobody could be asked.
    NoTerminal,
    /// `StrictHostKeyChecking yes`.
    Strict,
    /// The user said no, or did not answer.
    Declined,
}

/// A key that was offered to the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TriedKey {
    /// `SHA256:…`.
    pub fingerprint: String,
    /// Where it came from: `agent`, or a file.
    pub origin: String,
    /// What became of it.
    pub outcome: &'static str,
}

impl fmt::Display for TriedKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{} from {} ({})",
            self.fingerprint, self.origin, self.outcome
        )
    }
}

/// What was learned while logging in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoginReport {
    /// User that wanted to log in.
    pub user: String,
    /// Methods that the server still accepts.
    pub methods: Vec<String>,
    /// Keys offered, in order.
    pub tried: Vec<TriedKey>,
    /// Answers to the server's questions that it did not take.
    pub answers: u32,
    /// Passwords that it did not take.
    pub passwords: u32,
    /// Keys that were not offered, and why.
    pub skipped: Vec<String>,
    /// Settings of the configuration that might have helped, but are not supported.
    pub ignored: Vec<String>,
}

/// A failure, with what its message needs. Remote text in it is untrusted and unescaped.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A name out of the configuration is refused like a typed one.
    #[error("`{keyword} {value}` of the SSH configuration is refused")]
    ConfiguredName {
        /// Keyword.
        keyword: &'static str,
        /// Its value.
        value: String,
        /// Why.
        #[source]
        source: TargetError,
    },
    /// The SSH configuration needs something that this build lacks.
    #[error("the SSH configuration sets `{keyword} {value}`, which is not supported")]
    UnsupportedKeyword {
        /// Keyword.
        keyword: String,
        /// Its value.
        value: String,
    },
    /// A keyword after `-o` that is not supported.
    #[error("`-o {given}` names no keyword that is supported")]
    UnsupportedOption {
        /// What stands behind `-o`.
        given: String,
        /// A supported keyword that looks like it.
        nearest: Option<&'static str>,
    },
    /// The file behind `-F` is not there or may not be read.
    #[error("the SSH configuration `{}` cannot be read", file.display())]
    ConfigurationUnreadable {
        /// The file.
        file: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// ssh refused its configuration.
    #[error("ssh cannot read its configuration: {message}")]
    ConfigurationRefused {
        /// What ssh wrote.
        message: String,
    },
    /// ssh did not print its configuration in time.
    #[error("`ssh -G` gave no answer within 10 s")]
    ConfigurationTimeout,
    /// ssh could not be started.
    #[error("`{}` cannot be started", program.display())]
    ConfigurationProgram {
        /// The program.
        program: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// There is a configuration, but nothing that reads it.
    #[error("`{}` cannot be read without an ssh program", file.display())]
    NoSshProgram {
        /// The configuration.
        file: PathBuf,
    },
    /// A token in a value that is not known.
    #[error("`{keyword} {value}` has the unknown token `{token}`")]
    UnknownToken {
        /// Keyword.
        keyword: String,
        /// Its value.
        value: String,
        /// The token.
        token: String,
    },
    /// An environment variable in a value that is not set.
    #[error("`{keyword}` names `{variable}`, which is not set in the environment")]
    UnsetVariable {
        /// Keyword.
        keyword: String,
        /// Name of the variable.
        variable: String,
    },
    /// A value that cannot be read.
    #[error("`{keyword} {value}` cannot be read")]
    BadValue {
        /// Keyword.
        keyword: String,
        /// Its value.
        value: String,
    },
    /// No algorithm of a configured list is known here.
    #[error("`{keyword}` names no algorithm that is known here")]
    NoUsableAlgorithm {
        /// Keyword.
        keyword: &'static str,
        /// What the configuration wants.
        wanted: Vec<String>,
        /// What is known here.
        known: Vec<String>,
    },
    /// `--host-key` is no fingerprint.
    #[error("`--host-key {given}` is not a fingerprint `SHA256:…`")]
    PinFormat {
        /// As given.
        given: String,
    },
    /// The name has no address.
    #[error("`{host_name}` has no address")]
    NameNotFound {
        /// `HostName`.
        host_name: String,
        /// What the resolver said.
        #[source]
        source: io::Error,
    },
    /// No address took the connection.
    #[error("{attempts}")]
    NoConnection {
        /// What happened, and in brackets the addresses and the port where.
        attempts: String,
    },
    /// The server did not finish the key exchange in time.
    #[error("the server at {address} did not finish the SSH handshake within {seconds} s")]
    HandshakeTimeout {
        /// Address and port.
        address: String,
        /// The limit.
        seconds: u64,
    },
    /// The server speaks no algorithm of ours.
    #[error("no common {kind}: we offer {ours}; the server offers {theirs}", ours = names(ours), theirs = names(theirs))]
    NoCommonAlgorithm {
        /// Keyword of the list.
        kind: &'static str,
        /// Ours.
        ours: Vec<String>,
        /// Theirs.
        theirs: Vec<String>,
        /// One of theirs that could be switched on.
        possible: Option<String>,
    },
    /// The connection ended before the key exchange was done.
    #[error("the connection to {address} ended during the SSH handshake")]
    Handshake {
        /// Address and port.
        address: String,
        /// What the library says.
        #[source]
        source: Box<russh::Error>,
    },
    /// A new key that nobody confirmed.
    #[error("the host key of `{name}` is not known: {key_type} {fingerprint}")]
    HostKeyUnknown {
        /// Look-up name.
        name: String,
        /// Type of the key.
        key_type: String,
        /// `SHA256:…`.
        fingerprint: String,
        /// Why it was not accepted.
        why: Unconfirmed,
    },
    /// Another key than the recorded one.
    #[error(
        "the host key of `{name}` is {key_type} {fingerprint}, not the recorded one: somebody may be \
         intercepting the connection, or the host was reinstalled; recorded: {conflicts}",
        conflicts = list(conflicts)
    )]
    HostKeyChanged {
        /// Look-up name.
        name: String,
        /// Type of the key that was offered.
        key_type: String,
        /// Its fingerprint.
        fingerprint: String,
        /// The lines with other keys.
        conflicts: Vec<KnownLine>,
    },
    /// A key that is marked as revoked.
    #[error("the host key {fingerprint} of `{name}` is revoked in {place}")]
    HostKeyRevoked {
        /// Look-up name.
        name: String,
        /// Its fingerprint.
        fingerprint: String,
        /// The line that revokes it.
        place: Box<KnownLine>,
    },
    /// Not the key of `--host-key`.
    #[error("the host key of `{name}` is {fingerprint}, but --host-key expects {expected}")]
    PinDiffers {
        /// Look-up name.
        name: String,
        /// Of the key that was offered.
        fingerprint: String,
        /// As given.
        expected: String,
    },
    /// Another key than at the first connection of this run.
    #[error("the host key of `{name}` changed while running: first {first}, now {fingerprint}")]
    HostKeyReplaced {
        /// Look-up name.
        name: String,
        /// Of the key accepted first.
        first: String,
        /// Of the key offered now.
        fingerprint: String,
    },
    /// A file with host keys exists but cannot be read.
    #[error("`{}` cannot be read", file.display())]
    KnownHostsUnreadable {
        /// The file.
        file: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The server refused everything we had.
    #[error("the server refused the login of `{user}`", user = report.user)]
    LoginRefused {
        /// What was tried.
        report: Box<LoginReport>,
    },
    /// The server gave up because of too many attempts.
    #[error("the server ended the login of `{user}` after too many attempts", user = report.user)]
    TooManyAttempts {
        /// What was tried.
        report: Box<LoginReport>,
    },
    /// The server wants only what we cannot do.
    #[error("the server accepts only {methods}", methods = report.methods.join(", "))]
    UnsupportedMethods {
        /// What was tried.
        report: Box<LoginReport>,
    },
    /// An answer was needed, and nobody could be asked or nobody answered.
    #[error("the login of `{user}` needs an answer that nobody gave", user = report.user)]
    PromptNeeded {
        /// What was tried.
        report: Box<LoginReport>,
        /// Encrypted key that would have been used.
        encrypted: Option<PathBuf>,
    },
    /// One step of the login took too long.
    #[error("no answer to the login step `{step}` within {seconds} s")]
    LoginTimeout {
        /// Method.
        step: &'static str,
        /// The limit.
        seconds: u64,
    },
    /// The server said goodbye during the login.
    #[error("the server ended the connection during the login: {message}")]
    LoginEnded {
        /// What it wrote.
        message: String,
    },
    /// The connection broke during the login.
    #[error("the connection broke during the login: {message}")]
    LoginBroken {
        /// What is known.
        message: String,
    },
    /// What the SSH library reports.
    #[error("the SSH protocol broke")]
    Ssh(#[from] russh::Error),
    /// The connection was lost.
    #[error("connection lost")]
    Lost,
    /// What happened behind the authenticated connection.
    #[error(transparent)]
    Far(#[from] super::far_error::FarError),
}

/// Names of a server's list, which may be as long as a packet.
fn names(names: &[String]) -> String {
    let mut text = names.join(",");
    if let Some((end, _)) = text.char_indices().nth(MOST_NAMES) {
        text.truncate(end);
        text.push('…');
    }
    text
}

fn list(lines: &[KnownLine]) -> String {
    let parts: Vec<String> = lines.iter().map(ToString::to_string).collect();
    parts.join("; ")
}

impl Error {
    /// Which exit code it leads to.
    pub fn class(&self) -> ExitClass {
        match self {
            Self::ConfiguredName { .. }
            | Self::UnsupportedKeyword { .. }
            | Self::UnsupportedOption { .. }
            | Self::ConfigurationUnreadable { .. }
            | Self::ConfigurationRefused { .. }
            | Self::ConfigurationTimeout
            | Self::ConfigurationProgram { .. }
            | Self::NoSshProgram { .. }
            | Self::UnknownToken { .. }
            | Self::UnsetVariable { .. }
            | Self::BadValue { .. }
            | Self::NoUsableAlgorithm { .. }
            | Self::PinFormat { .. } => ExitClass::Usage,
            Self::NameNotFound { .. }
            | Self::NoConnection { .. }
            | Self::HandshakeTimeout { .. }
            | Self::NoCommonAlgorithm { .. }
            | Self::Handshake { .. }
            | Self::LoginBroken { .. } => ExitClass::Unreachable,
            Self::HostKeyUnknown { .. }
            | Self::HostKeyChanged { .. }
            | Self::HostKeyRevoked { .. }
            | Self::PinDiffers { .. }
            | Self::HostKeyReplaced { .. }
            | Self::KnownHostsUnreadable { .. } => ExitClass::HostKey,
            Self::LoginRefused { .. }
            | Self::TooManyAttempts { .. }
            | Self::UnsupportedMethods { .. }
            | Self::PromptNeeded { .. }
            | Self::LoginTimeout { .. }
            | Self::LoginEnded { .. } => ExitClass::Authentication,
            Self::Ssh(_) | Self::Lost => ExitClass::Lost,
            Self::Far(error) => error.class(),
        }
    }

    /// The next steps, one each.
    pub fn hints(&self) -> Vec<String> {
        super::hints::hints(self)
    }

    /// True when trying again may help (remote.md 9.5.3): the network, never a refused key or login.
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::NameNotFound { .. }
            | Self::NoConnection { .. }
            | Self::HandshakeTimeout { .. }
            | Self::Handshake { .. }
            | Self::LoginBroken { .. }
            | Self::Ssh(_)
            | Self::Lost => true,
            Self::Far(error) => error.is_retryable(),
            _ => false,
        }
    }
}
