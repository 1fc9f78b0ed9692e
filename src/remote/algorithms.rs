//! Which algorithms are offered, in which order (remote.md 14.9), and what a configuration may
//! change about it.

use std::{borrow::Cow, str::FromStr as _};

use russh::{
    Preferred, cipher, compression, kex,
    keys::{Algorithm, EcdsaCurve, HashAlg},
    mac,
};

use super::error::Error;

const KEX: &[kex::Name] = &[
    kex::MLKEM768X25519_SHA256,
    kex::CURVE25519,
    kex::CURVE25519_PRE_RFC_8731,
    kex::ECDH_SHA2_NISTP256,
    kex::ECDH_SHA2_NISTP384,
    kex::ECDH_SHA2_NISTP521,
    kex::DH_G16_SHA512,
    kex::DH_G18_SHA512,
    kex::DH_G14_SHA256,
    kex::DH_GEX_SHA256,
];

/// Offered in every case: they are no algorithms, but say which extensions we understand.
const KEX_EXTENSIONS: &[kex::Name] = &[
    kex::EXTENSION_SUPPORT_AS_CLIENT,
    kex::EXTENSION_OPENSSH_STRICT_KEX_AS_CLIENT,
];

/// Known, but offered only if the configuration asks for them.
const KEX_ON_REQUEST: &[kex::Name] = &[
    kex::DH_G15_SHA512,
    kex::DH_G17_SHA512,
    kex::DH_G14_SHA1,
    kex::DH_G1_SHA1,
    kex::DH_GEX_SHA1,
];

const CIPHERS: &[cipher::Name] = &[
    cipher::AES_256_GCM,
    cipher::AES_128_GCM,
    cipher::CHACHA20_POLY1305,
    cipher::AES_256_CTR,
    cipher::AES_192_CTR,
    cipher::AES_128_CTR,
];

const CIPHERS_ON_REQUEST: &[cipher::Name] = &[
    cipher::AES_256_CBC,
    cipher::AES_192_CBC,
    cipher::AES_128_CBC,
];

const MACS: &[mac::Name] = &[
    mac::HMAC_SHA512_ETM,
    mac::HMAC_SHA256_ETM,
    mac::HMAC_SHA512,
    mac::HMAC_SHA256,
];

const MACS_ON_REQUEST: &[mac::Name] = &[mac::HMAC_SHA1_ETM, mac::HMAC_SHA1];

/// Host key algorithms by name.
const HOST_KEYS: &[&str] = &[
    "ssh-ed25519",
    "ecdsa-sha2-nistp256",
    "ecdsa-sha2-nistp384",
    "ecdsa-sha2-nistp521",
    "rsa-sha2-512",
    "rsa-sha2-256",
];

const HOST_KEYS_ON_REQUEST: &[&str] = &["ssh-rsa"];

/// What is offered to a server.
#[derive(Clone, Debug)]
pub(super) struct Algorithms {
    kex: Vec<kex::Name>,
    ciphers: Vec<cipher::Name>,
    macs: Vec<mac::Name>,
    host_keys: Vec<&'static str>,
}

impl Algorithms {
    /// The lists after the configuration; `configured` answers a keyword's list, if it is set.
    ///
    /// # Errors
    /// Nothing known is left of a list.
    pub(super) fn new(
        configured: impl Fn(&'static str) -> Option<Vec<String>>,
    ) -> Result<Self, Error> {
        Ok(Self {
            kex: choose("KexAlgorithms", &configured, KEX, KEX_ON_REQUEST)?,
            ciphers: choose("Ciphers", &configured, CIPHERS, CIPHERS_ON_REQUEST)?,
            macs: choose("MACs", &configured, MACS, MACS_ON_REQUEST)?,
            host_keys: choose(
                "HostKeyAlgorithms",
                &configured,
                HOST_KEYS,
                HOST_KEYS_ON_REQUEST,
            )?,
        })
    }

    /// The lists as the library takes them. Algorithms of `known_types` come first among the host
    /// keys, so that a server with several keys shows the known one (remote.md 4.5).
    pub(super) fn preferred(&self, known_types: &[String], compress: bool) -> Preferred {
        let mut kex = self.kex.clone();
        kex.extend_from_slice(KEX_EXTENSIONS);
        let mut host_keys = self.host_keys.clone();
        host_keys.sort_by_key(|name| !known_types.iter().any(|known| known == key_type_of(name)));
        let compression: &'static [compression::Name] = if compress {
            &[compression::ZLIB_LEGACY, compression::NONE]
        } else {
            &[compression::NONE]
        };
        Preferred {
            kex: Cow::Owned(kex),
            key: Cow::Owned(
                host_keys
                    .into_iter()
                    .filter_map(host_key_algorithm)
                    .collect(),
            ),
            host_key_certificates: Cow::Borrowed(&[]),
            cipher: Cow::Owned(self.ciphers.clone()),
            mac: Cow::Owned(self.macs.clone()),
            compression: Cow::Borrowed(compression),
        }
    }
}

/// The type in a key's bytes for the name of a signature algorithm.
fn key_type_of(algorithm: &str) -> &str {
    match algorithm {
        "rsa-sha2-512" | "rsa-sha2-256" => "ssh-rsa",
        other => other,
    }
}

fn host_key_algorithm(name: &str) -> Option<Algorithm> {
    let ecdsa = |curve| Algorithm::Ecdsa { curve };
    Some(match name {
        "ecdsa-sha2-nistp256" => ecdsa(EcdsaCurve::NistP256),
        "ecdsa-sha2-nistp384" => ecdsa(EcdsaCurve::NistP384),
        "ecdsa-sha2-nistp521" => ecdsa(EcdsaCurve::NistP521),
        "rsa-sha2-512" => Algorithm::Rsa {
            hash: Some(HashAlg::Sha512),
        },
        "rsa-sha2-256" => Algorithm::Rsa {
            hash: Some(HashAlg::Sha256),
        },
        other => Algorithm::from_str(other).ok()?,
    })
}

fn choose<N: Copy + AsRef<str>>(
    keyword: &'static str,
    configured: &impl Fn(&'static str) -> Option<Vec<String>>,
    usual: &[N],
    on_request: &[N],
) -> Result<Vec<N>, Error> {
    let Some(wanted) = configured(keyword) else {
        return Ok(usual.to_vec());
    };
    let known = || usual.iter().chain(on_request);
    let chosen: Vec<N> = wanted
        .iter()
        .filter_map(|name| known().find(|known| known.as_ref() == name))
        .copied()
        .collect();
    if chosen.is_empty() {
        return Err(Error::NoUsableAlgorithm {
            keyword,
            wanted,
            known: known().map(|name| name.as_ref().to_owned()).collect(),
        });
    }
    Ok(chosen)
}

/// The keyword that sets a list, and the first of `theirs` that could be switched on.
pub(super) fn possible_in_common(
    kind: &russh::AlgorithmKind,
    theirs: &[String],
) -> (&'static str, Option<String>) {
    fn first<N: AsRef<str>>(theirs: &[String], known: &[N]) -> Option<String> {
        let is_known = |name: &&String| known.iter().any(|known| known.as_ref() == name.as_str());
        theirs.iter().find(is_known).cloned()
    }
    match kind {
        russh::AlgorithmKind::Kex => ("KexAlgorithms", first(theirs, KEX_ON_REQUEST)),
        russh::AlgorithmKind::Cipher => ("Ciphers", first(theirs, CIPHERS_ON_REQUEST)),
        russh::AlgorithmKind::Mac => ("MACs", first(theirs, MACS_ON_REQUEST)),
        russh::AlgorithmKind::Key => ("HostKeyAlgorithms", first(theirs, HOST_KEYS_ON_REQUEST)),
        russh::AlgorithmKind::Compression => ("Compression", None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn configured(keyword: &'static str, value: &'static str) -> Result<Algorithms, Error> {
        Algorithms::new(|asked| {
            (asked == keyword).then(|| value.split(',').map(str::to_owned).collect())
        })
    }

    #[test]
    fn unknown_names_are_dropped_and_an_empty_list_is_refused() {
        let algorithms = configured("Ciphers", "x,aes128-ctr,aes256-gcm@openssh.com").unwrap();
        assert_eq!(
            algorithms.ciphers,
            [cipher::AES_128_CTR, cipher::AES_256_GCM]
        );
        let refused = configured("MACs", "umac-64@openssh.com").unwrap_err();
        assert!(matches!(
            refused,
            Error::NoUsableAlgorithm {
                keyword: "MACs",
                ..
            }
        ));
    }

    #[test]
    fn known_key_types_come_first() {
        let algorithms = configured("none", "").unwrap();
        let first = |types: &[&str]| {
            let types: Vec<String> = types.iter().map(|&kind| kind.to_owned()).collect();
            let preferred = algorithms.preferred(&types, false);
            preferred.key.first().unwrap().to_string()
        };
        assert_eq!(first(&[]), "ssh-ed25519");
        assert_eq!(first(&["ssh-rsa"]), "rsa-sha2-512");
        assert_eq!(first(&["ecdsa-sha2-nistp384"]), "ecdsa-sha2-nistp384");
        let all = algorithms.preferred(&[], false);
        assert!(all.key.iter().all(|key| key.to_string() != "ssh-rsa"));
    }
}
