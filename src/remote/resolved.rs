//! What a connection needs to know about its target, all choices made.

use std::{path::PathBuf, time::Duration};

use super::algorithms::Algorithms;

/// `StrictHostKeyChecking`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NewKeys {
    /// A question decides.
    Ask,
    /// Refused.
    Refuse,
    /// Recorded and announced.
    Accept,
}

/// Where the agent is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum AgentPlace {
    /// `IdentityAgent none`, or no socket in the environment.
    None,
    /// Path of its socket.
    Socket(PathBuf),
}

/// `AddressFamily`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    /// Both.
    Any,
    /// IPv4 only.
    V4,
    /// IPv6 only.
    V6,
}

/// Settings of the login.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LoginSettings {
    /// Key files that were named (`-i`, `IdentityFile`), or else the default ones.
    pub(super) key_files: Vec<PathBuf>,
    /// False for the default files, whose absence is no news.
    pub(super) key_files_named: bool,
    /// `IdentitiesOnly`.
    pub(super) named_keys_only: bool,
    /// `IdentityAgent`.
    pub(super) agent: AgentPlace,
    /// Methods in the order of preference, those switched off left out.
    pub(super) methods: Vec<Method>,
    /// `NumberOfPasswordPrompts`.
    pub(super) password_prompts: u32,
    /// `RequiredRSASize`.
    pub(super) required_rsa_bits: u32,
    /// `PubkeyAcceptedAlgorithms`, if set.
    pub(super) accepted_keys: Option<Vec<String>>,
    /// Settings that are not supported and may explain a refusal, with the method they serve.
    pub(super) ignored: Vec<(String, Option<&'static str>)>,
}

/// A method of logging in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Method {
    PublicKey,
    KeyboardInteractive,
    Password,
}

impl Method {
    /// The method that SSH calls so.
    pub(super) fn named(name: &str) -> Option<Self> {
        match name {
            "publickey" => Some(Self::PublicKey),
            "keyboard-interactive" => Some(Self::KeyboardInteractive),
            "password" => Some(Self::Password),
            _ => None,
        }
    }
}

/// Settings of the host key check.
#[derive(Clone, Debug)]
pub(super) struct HostKeySettings {
    /// `HostKeyAlias`.
    pub(super) alias: Option<String>,
    /// `UserKnownHostsFile`; the first one takes new keys.
    pub(super) user_files: Vec<PathBuf>,
    /// `GlobalKnownHostsFile`.
    pub(super) global_files: Vec<PathBuf>,
    /// `RevokedHostKeys`.
    pub(super) revoked_file: Option<PathBuf>,
    /// `StrictHostKeyChecking`.
    pub(super) new_keys: NewKeys,
    /// `HashKnownHosts`.
    pub(super) hash_names: bool,
    /// `--host-key`.
    pub(super) pin: Option<String>,
}

/// Settings of the transport.
#[derive(Clone, Debug)]
pub(super) struct LinkSettings {
    pub(super) family: Family,
    pub(super) bind_address: Option<String>,
    pub(super) connect_timeout: Option<Duration>,
    pub(super) attempts: u32,
    pub(super) tcp_keepalive: bool,
    pub(super) alive_interval: Duration,
    pub(super) alive_count: usize,
    /// Bytes and time of `RekeyLimit`, if set.
    pub(super) rekey: (Option<usize>, Option<Duration>),
    pub(super) compression: bool,
    pub(super) algorithms: Algorithms,
    /// Identification and key exchange together, without the host key question.
    pub(super) handshake_limit: Duration,
    /// One step of the login, without questions to the user.
    pub(super) step_limit: Duration,
}

/// One target with everything that a connection to it needs.
#[derive(Clone, Debug)]
pub struct Resolved {
    /// What the screens call the host: the text as typed, without user and port.
    pub name: String,
    /// User to log in as.
    pub user: String,
    /// `HostName`: what is dialled.
    pub host_name: String,
    /// Port to dial.
    pub port: u16,
    /// `--batch` or `BatchMode`: no question is asked.
    pub batch: bool,
    /// What ssh remarked on its configuration, for `-v`. Empty: nothing.
    pub remarks: String,
    pub(super) link: LinkSettings,
    pub(super) host_key: HostKeySettings,
    pub(super) login: LoginSettings,
}

impl Resolved {
    /// User, host name and port: the account.
    pub fn identity(&self) -> (&str, &str, u16) {
        (&self.user, &self.host_name, self.port)
    }

    /// True when one connection serves both: the same account, and the same way into it.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.identity() == other.identity() && self.login == other.login
    }
}
