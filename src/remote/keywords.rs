//! What becomes of the keywords of ssh_config (remote.md 3): those that `-o` may set, those that are
//! refused, those that are ignored.

use super::{error::Error, ssh_program::keyword_of};
use crate::base::edits;

/// Keywords that `-o` may set.
pub(super) const USABLE_OPTIONS: &[&str] = &[
    "AddressFamily",
    "BatchMode",
    "BindAddress",
    "ChallengeResponseAuthentication",
    "Ciphers",
    "Compression",
    "ConnectionAttempts",
    "ConnectTimeout",
    "GlobalKnownHostsFile",
    "HashKnownHosts",
    "HostKeyAlgorithms",
    "HostKeyAlias",
    "HostName",
    "IdentitiesOnly",
    "IdentityAgent",
    "IdentityFile",
    "KbdInteractiveAuthentication",
    "KexAlgorithms",
    "MACs",
    "NumberOfPasswordPrompts",
    "PasswordAuthentication",
    "Port",
    "PreferredAuthentications",
    "PubkeyAcceptedAlgorithms",
    "PubkeyAcceptedKeyTypes",
    "PubkeyAuthentication",
    "RekeyLimit",
    "RequiredRSASize",
    "RevokedHostKeys",
    "ServerAliveCountMax",
    "ServerAliveInterval",
    "StrictHostKeyChecking",
    "TCPKeepAlive",
    "User",
    "UserKnownHostsFile",
];

/// Changed letters up to which a keyword counts as mistyped.
const MISTYPED: usize = 2;

/// Refuses an option that would be ignored or obeyed wrongly.
///
/// # Errors
/// `UnsupportedOption`, with the keyword that was meant.
pub(super) fn check_options(options: &[String]) -> Result<(), Error> {
    for option in options {
        let keyword = keyword_of(option);
        let is_usable = USABLE_OPTIONS
            .iter()
            .any(|name| name.eq_ignore_ascii_case(&keyword));
        if !is_usable || option.contains(['\n', '\r', '\0']) {
            return Err(Error::UnsupportedOption {
                given: option.clone(),
                nearest: nearest(&keyword),
            });
        }
    }
    Ok(())
}

/// The supported keyword that differs in few letters.
fn nearest(keyword: &str) -> Option<&'static str> {
    USABLE_OPTIONS
        .iter()
        .map(|name| (edits(keyword, &name.to_ascii_lowercase()), *name))
        .filter(|(distance, _)| (1..=MISTYPED).contains(distance))
        .min()
        .map(|(_, name)| name)
}

/// Keywords that cannot be honoured yet: ignoring them would dial wrongly, skip a revocation or
/// leave out a credential.
pub(super) const REFUSED: &[(&str, &str)] = &[
    ("proxyjump", "ProxyJump"),
    ("proxycommand", "ProxyCommand"),
    ("proxyusefdpass", "ProxyUseFdpass"),
    ("knownhostscommand", "KnownHostsCommand"),
    ("certificatefile", "CertificateFile"),
    ("bindinterface", "BindInterface"),
];

/// Keywords that are ignored, and named if the login fails, with the method that they serve.
pub(super) const IGNORED: &[(&str, &str, Option<&str>)] = &[
    (
        "gssapiauthentication",
        "GSSAPIAuthentication",
        Some("gssapi-with-mic"),
    ),
    (
        "hostbasedauthentication",
        "HostbasedAuthentication",
        Some("hostbased"),
    ),
    ("pkcs11provider", "PKCS11Provider", None),
    ("securitykeyprovider", "SecurityKeyProvider", None),
];
