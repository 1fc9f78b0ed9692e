//! What the user asked for, before any file or program is used (remote.md 1).

use std::{ffi::OsString, path::PathBuf};

use crate::base::Env;

/// A target as typed: `[USER@]HOST[:PORT]` or `ssh://…`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The text.
    pub typed: String,
    /// User, if given.
    pub user: Option<String>,
    /// Host or alias, brackets removed.
    pub host: String,
    /// Port, if given.
    pub port: Option<u16>,
}

/// Why a target is refused (remote.md 1.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TargetError {
    /// No host or an empty user.
    #[error("no host or an empty user")]
    Empty,
    /// Begins with `-`.
    #[error("host and user must not begin with `-`")]
    Dash,
    /// A character that has no place in a host or user.
    #[error("a character that has no place in a host or user")]
    Character,
    /// Above 255 bytes.
    #[error("longer than 255 bytes")]
    TooLong,
    /// Not 1 to 65535.
    #[error("the port is not 1 to 65535")]
    Port,
    /// An `ssh://` path.
    #[error("an ssh:// address has no path")]
    Path,
}

impl Target {
    /// Reads the grammar of remote.md 1.1.
    ///
    /// # Errors
    /// Why it is refused.
    pub fn parse(text: &str) -> Result<Self, TargetError> {
        let place = match text.strip_prefix("ssh://") {
            Some(address) => without_path(address)?,
            None => text,
        };
        let (user, place) = match place.rsplit_once('@') {
            Some((user, place)) => (Some(user), place),
            None => (None, place),
        };
        let (host, port) = split_port(place)?;
        if let Some(user) = user {
            check_user(user)?;
        }
        check_host(host)?;
        Ok(Self {
            typed: text.to_owned(),
            user: user.map(str::to_owned),
            host: host.to_owned(),
            port: port.map(read_port).transpose()?,
        })
    }
}

fn without_path(address: &str) -> Result<&str, TargetError> {
    match address.split_once('/') {
        None | Some((_, "")) => Ok(address.trim_end_matches('/')),
        Some(_) => Err(TargetError::Path),
    }
}

/// Splits `HOST[:PORT]`, `[HOST][:PORT]` or a bare IPv6 address.
fn split_port(place: &str) -> Result<(&str, Option<&str>), TargetError> {
    if let Some(rest) = place.strip_prefix('[') {
        let (host, after) = rest.split_once(']').ok_or(TargetError::Character)?;
        if after.is_empty() {
            return Ok((host, None));
        }
        let port = after.strip_prefix(':').ok_or(TargetError::Character)?;
        return Ok((host, Some(port)));
    }
    match place.split_once(':') {
        Some((_, rest)) if rest.contains(':') => Ok((place, None)),
        Some((host, port)) => Ok((host, Some(port))),
        None => Ok((place, None)),
    }
}

fn read_port(text: &str) -> Result<u16, TargetError> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match text.parse() {
        Ok(port) if digits && port > 0 => Ok(port),
        _ => Err(TargetError::Port),
    }
}

/// Longest host or user.
const MAX_NAME_BYTES: usize = 255;

/// Characters that have a meaning for a shell; no host needs one.
const SHELL_CHARACTERS: &str = "'`\"$\\;&<>|(){}";

/// Tests a host, from the command line or from a configuration file.
pub(super) fn check_host(host: &str) -> Result<(), TargetError> {
    check_name(host, |character| {
        // Brackets belong to the notation, not to a name.
        SHELL_CHARACTERS.contains(character) || character == '[' || character == ']'
    })
}

/// Tests a user, from the command line or from a configuration file.
pub(super) fn check_user(user: &str) -> Result<(), TargetError> {
    check_name(user, |character| {
        character != '\\' && SHELL_CHARACTERS.contains(character)
    })
}

fn check_name(name: &str, is_refused: impl Fn(char) -> bool) -> Result<(), TargetError> {
    if name.is_empty() {
        return Err(TargetError::Empty);
    }
    if name.starts_with('-') {
        return Err(TargetError::Dash);
    }
    if name.len() > MAX_NAME_BYTES {
        return Err(TargetError::TooLong);
    }
    let is_bad = |character: char| {
        character.is_control() || character.is_whitespace() || is_refused(character)
    };
    if name.chars().any(is_bad) {
        return Err(TargetError::Character);
    }
    Ok(())
}

/// What the screens call each target: the host as typed, made unique with user or port where two
/// targets collide (remote.md 1.1).
pub fn host_names(targets: &[Target]) -> Vec<String> {
    targets
        .iter()
        .map(|target| unique_name(target, targets))
        .collect()
}

fn unique_name(target: &Target, targets: &[Target]) -> String {
    let rivals: Vec<&Target> = targets
        .iter()
        .filter(|other| other.host == target.host && *other != target)
        .collect();
    if rivals.is_empty() {
        return target.host.clone();
    }
    let mut name = target.host.clone();
    if let Some(user) = &target.user
        && rivals.iter().any(|other| other.user != target.user)
    {
        name = format!("{user}@{name}");
    }
    if let Some(port) = target.port
        && rivals.iter().any(|other| other.port != target.port)
    {
        name = format!("{name}:{port}");
    }
    name
}

/// One of the three location flags.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RemoteLocation {
    /// `--remote-home`.
    Home(String),
    /// `--remote-mcpsnoop-home`.
    McpsnoopHome(String),
    /// `--remote-xdg-state-home`.
    XdgStateHome(String),
}

/// Why a location flag is refused (remote.md 1, rule 1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LocationError {
    /// Not absolute.
    #[error("the path is not absolute")]
    Relative,
    /// A control character or NUL.
    #[error("a control character in the path")]
    Control,
    /// A `..` segment.
    #[error("the path has a `..` segment")]
    Parent,
}

impl RemoteLocation {
    /// Tests the path.
    ///
    /// # Errors
    /// Why it is refused.
    pub fn check(&self) -> Result<(), LocationError> {
        let (Self::Home(path) | Self::McpsnoopHome(path) | Self::XdgStateHome(path)) = self;
        if path.chars().any(char::is_control) {
            return Err(LocationError::Control);
        }
        if !path.starts_with('/') {
            return Err(LocationError::Relative);
        }
        if path.split('/').any(|segment| segment == "..") {
            return Err(LocationError::Parent);
        }
        Ok(())
    }
}

/// `--mode`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ModeChoice {
    /// The first that works.
    #[default]
    Auto,
    /// Only the socket.
    Socket,
    /// Only the logs.
    Log,
    /// No live frames.
    History,
}

/// What a remote run is asked to do.
#[derive(Clone, Debug, Default)]
pub struct RemoteOptions {
    /// Where the remote state directory is, instead of probing.
    pub location: Option<RemoteLocation>,
    /// Load history, then end.
    pub once: bool,
    /// Only these sessions (id, label, unique prefix); empty: all.
    pub sessions: Vec<String>,
    /// Newest logs to load per host; `None`: all.
    pub history_limit: Option<usize>,
    /// Source of live frames.
    pub mode: ModeChoice,
    /// `-p`.
    pub port: Option<u16>,
    /// `-i`.
    pub identities: Vec<PathBuf>,
    /// `-F`; `none` as given.
    pub ssh_config: Option<OsString>,
    /// `-o KEY=VALUE`.
    pub ssh_options: Vec<String>,
    /// `--host-key`.
    pub host_key: Option<String>,
    /// Never prompt.
    pub batch: bool,
    /// Give up after so many failed reconnects in a row; `None`: never.
    pub retry: Option<u32>,
    /// A viewer is there whose user can ask for another try: a host that failed for good waits for
    /// that instead of ending.
    pub stays: bool,
    /// 0, 1 or 2 times `-v`.
    pub verbose: u8,
    /// Environment of the program: PATH, HOME, SSH_AUTH_SOCK.
    pub env: Env,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> String {
        match Target::parse(text) {
            Ok(target) => format!(
                "{} | {} | {}",
                target.user.as_deref().unwrap_or("-"),
                target.host,
                target.port.map_or("-".to_owned(), |port| port.to_string())
            ),
            Err(error) => format!("{error:?}"),
        }
    }

    #[test]
    fn targets_are_read() {
        let long = "a".repeat(256);
        let cases = [
            ("web1", "- | web1 | -"),
            ("dev@web1", "dev | web1 | -"),
            ("dev@web1:2222", "dev | web1 | 2222"),
            ("web1:22", "- | web1 | 22"),
            (r"DOMAIN\user@corp@host", r"DOMAIN\user@corp | host | -"),
            ("ssh://dev@web1:22/", "dev | web1 | 22"),
            ("ssh://web1", "- | web1 | -"),
            ("ssh://web1/x", "Path"),
            ("ssh://web1//", "Path"),
            ("::1", "- | ::1 | -"),
            ("fe80::1%eth0", "- | fe80::1%eth0 | -"),
            ("[::1]:2200", "- | ::1 | 2200"),
            ("[::1]", "- | ::1 | -"),
            ("a@[fe80::1%en0]:1", "a | fe80::1%en0 | 1"),
            ("[::1", "Character"),
            ("[::1]x", "Character"),
            ("", "Empty"),
            ("@web1", "Empty"),
            ("dev@", "Empty"),
            (":22", "Empty"),
            ("ssh://", "Empty"),
            ("-oProxyCommand=x", "Dash"),
            ("-l@web1", "Dash"),
            ("dev@-x", "Dash"),
            ("web1:0", "Port"),
            ("web1:65536", "Port"),
            ("web1:", "Port"),
            ("web1:+22", "Port"),
            ("web1:2 2", "Port"),
            ("web 1", "Character"),
            ("web\u{7}1", "Character"),
            ("web\u{a0}1", "Character"),
            ("$(x)", "Character"),
            ("a;b", "Character"),
            ("a`b", "Character"),
            (r"a\b", "Character"),
            ("u$x@web1", "Character"),
            (long.as_str(), "TooLong"),
        ];
        for (text, expected) in cases {
            assert_eq!(read(text), expected, "{text}");
        }
    }

    #[test]
    fn names_of_hosts_are_unique() {
        let cases: [(&[&str], &[&str]); 4] = [
            (&["web1", "dev@web2:22"], &["web1", "web2"]),
            (&["a@web1", "b@web1"], &["a@web1", "b@web1"]),
            (&["web1:1", "web1:2"], &["web1:1", "web1:2"]),
            (&["a@web1:1", "web1", "x"], &["a@web1:1", "web1", "x"]),
        ];
        for (typed, expected) in cases {
            let targets: Vec<Target> = typed
                .iter()
                .map(|text| Target::parse(text).unwrap())
                .collect();
            assert_eq!(host_names(&targets), expected);
        }
    }

    #[test]
    fn locations_are_absolute_and_plain() {
        let cases = [
            ("/home/dev", Ok(())),
            ("home", Err(LocationError::Relative)),
            ("", Err(LocationError::Relative)),
            ("/a/../b", Err(LocationError::Parent)),
            ("/a..b", Ok(())),
            ("/a\0", Err(LocationError::Control)),
        ];
        for (path, expected) in cases {
            assert_eq!(
                RemoteLocation::Home(path.to_owned()).check(),
                expected,
                "{path:?}"
            );
        }
    }
}
