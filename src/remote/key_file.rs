//! Private and public key files of the user (remote.md 5.2).

use std::{
    fs, io,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    sync::Arc,
};

use russh::keys::{Algorithm, PrivateKey, PublicKey, decode_secret_key, ssh_key::public::KeyData};
use zeroize::Zeroizing;

/// No key file is larger; a larger one is something else.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// A key file, as far as it could be read without a passphrase.
#[derive(Debug)]
pub(super) struct KeyFile {
    /// Where it is.
    pub(super) path: PathBuf,
    /// The public half, if it is known.
    pub(super) public: Option<PublicKey>,
    /// The private half.
    pub(super) private: Private,
}

/// The private half of a key file.
pub(super) enum Private {
    /// Can be used.
    Open(Arc<PrivateKey>),
    /// Needs a passphrase; the text of the file.
    Locked(Zeroizing<String>),
    /// Not here, for a reason to show: an agent may hold it.
    Absent(String),
}

impl std::fmt::Debug for Private {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::Open(_) => "Open",
            Self::Locked(_) => "Locked",
            Self::Absent(_) => "Absent",
        })
    }
}

impl KeyFile {
    /// Reads a key file and the `.pub` file beside it. `None`: there is neither.
    pub(super) fn read(path: &Path) -> Option<Self> {
        let beside = public_beside(path);
        let text = match read_private(path) {
            Ok(text) => text,
            Err(Unreadable::Missing) => {
                return beside.map(|public| Self {
                    path: path.to_owned(),
                    public: Some(public),
                    private: Private::Absent("there is no private key file".to_owned()),
                });
            }
            Err(Unreadable::Because(why)) => {
                return Some(Self {
                    path: path.to_owned(),
                    public: beside,
                    private: Private::Absent(why),
                });
            }
        };
        let (public, private) = read_text(text);
        Some(Self {
            path: path.to_owned(),
            public: public.or(beside),
            private,
        })
    }
}

enum Unreadable {
    Missing,
    Because(String),
}

fn read_private(path: &Path) -> Result<Zeroizing<String>, Unreadable> {
    let because = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => Unreadable::Missing,
        _ => Unreadable::Because(error.to_string()),
    };
    let metadata = fs::metadata(path).map_err(because)?;
    if !metadata.is_file() || metadata.len() > MAX_FILE_BYTES {
        return Err(Unreadable::Because("not a key file".to_owned()));
    }
    let text = Zeroizing::new(fs::read(path).map_err(because)?);
    let text = Zeroizing::new(String::from_utf8_lossy(&text).into_owned());
    // ssh refuses only the user's own files for their mode.
    let is_ours = metadata.uid() == rustix::process::getuid().as_raw();
    let mode = metadata.mode() & 0o777;
    if is_ours && mode & 0o077 != 0 && text.contains("PRIVATE KEY") {
        return Err(Unreadable::Because(format!(
            "mode {mode:03o} lets group or others read it"
        )));
    }
    Ok(text)
}

fn read_text(text: Zeroizing<String>) -> (Option<PublicKey>, Private) {
    if let Some(public) = read_public(&text) {
        return (
            Some(public),
            Private::Absent("it is a public key".to_owned()),
        );
    }
    // The format of OpenSSH shows the public half also when the rest is encrypted.
    if let Ok(key) = PrivateKey::from_openssh(text.as_bytes()) {
        let public = PublicKey::from(key.public_key().key_data().clone());
        let private = if key.is_encrypted() {
            Private::Locked(text)
        } else {
            Private::Open(Arc::new(key))
        };
        return (Some(public), private);
    }
    match decode_secret_key(&text, None) {
        Ok(key) => {
            let public = PublicKey::from(key.public_key().key_data().clone());
            (Some(public), Private::Open(Arc::new(key)))
        }
        Err(_) if text.contains("ENCRYPTED") => (None, Private::Locked(text)),
        Err(error) => (None, Private::Absent(format!("it cannot be read: {error}"))),
    }
}

fn public_beside(path: &Path) -> Option<PublicKey> {
    let mut name = path.as_os_str().to_owned();
    name.push(".pub");
    let file = fs::metadata(&name)
        .ok()
        .filter(|file| file.len() <= MAX_FILE_BYTES);
    file?;
    read_public(&String::from_utf8_lossy(&fs::read(&name).ok()?))
}

fn read_public(text: &str) -> Option<PublicKey> {
    text.lines()
        .map(str::trim)
        .find(|line| !line.is_empty() && !line.starts_with('#'))
        .filter(|line| !line.contains("-cert-v0"))
        .and_then(|line| PublicKey::from_openssh(line).ok())
}

/// Opens a locked key.
///
/// # Errors
/// The passphrase is wrong, or the file is damaged: the formats do not tell which.
pub(super) fn unlock(text: &str, passphrase: &str) -> Result<PrivateKey, russh::keys::Error> {
    decode_secret_key(text, Some(passphrase))
}

/// Bits of an RSA key.
pub(super) fn rsa_bits(key: &PublicKey) -> Option<u32> {
    let KeyData::Rsa(key) = key.key_data() else {
        return None;
    };
    let bytes = key.n().as_positive_bytes()?;
    let leading = bytes.first()?.leading_zeros();
    Some(u32::try_from(bytes.len()).ok()? * 8 - leading)
}

/// True for a key on a hardware token, which only an agent can use.
pub(super) fn is_hardware_key(key: &PublicKey) -> bool {
    matches!(
        key.algorithm(),
        Algorithm::SkEd25519 | Algorithm::SkEcdsaSha2NistP256
    )
}

#[cfg(test)]
mod tests {
    use std::{os::unix::fs::PermissionsExt as _, process::Command};

    use super::*;

    fn keygen(path: &Path, arguments: &[&str]) {
        let made = Command::new("ssh-keygen")
            .arg("-q")
            .args(arguments)
            .arg("-f")
            .arg(path)
            .status()
            .unwrap();
        assert!(made.success());
    }

    fn describe(path: &Path) -> String {
        match KeyFile::read(path) {
            None => "nothing".to_owned(),
            Some(file) => match &file.private {
                Private::Absent(why) => format!("absent, {} public: {why}", file.public.is_some()),
                other => format!("{other:?}, {} public", file.public.is_some()),
            },
        }
    }

    #[test]
    fn key_files_of_every_kind() {
        let dir = tempfile::tempdir().unwrap();
        let cases: [(&[&str], bool, &str); 6] = [
            (&["-t", "ed25519", "-N", ""], false, "Open, true public"),
            (
                &["-t", "ed25519", "-N", "secret"],
                true,
                "Locked, true public",
            ),
            (
                &["-t", "ecdsa", "-N", "secret"],
                true,
                "Locked, true public",
            ),
            (
                &["-t", "rsa", "-b", "2048", "-m", "PEM", "-N", ""],
                false,
                "Open, true public",
            ),
            (
                &["-t", "rsa", "-b", "2048", "-m", "PEM", "-N", "secret"],
                true,
                "Locked, false public",
            ),
            (
                &["-t", "rsa", "-b", "2048", "-m", "PKCS8", "-N", "secret"],
                true,
                "Locked, false public",
            ),
        ];
        for (index, (arguments, is_locked, expected)) in cases.into_iter().enumerate() {
            let path = dir.path().join(index.to_string());
            keygen(&path, arguments);
            let public = path.with_extension("pub");
            let line = fs::read_to_string(&public).unwrap();
            fs::remove_file(&public).unwrap();
            assert_eq!(describe(&path), expected, "{arguments:?}");
            if is_locked {
                let text = fs::read_to_string(&path).unwrap();
                let key = unlock(&text, "secret").unwrap();
                let wanted = read_public(&line).unwrap();
                assert_eq!(
                    key.public_key().key_data(),
                    wanted.key_data(),
                    "{arguments:?}"
                );
                assert!(unlock(&text, "wrong").is_err(), "{arguments:?}");
            }
        }
    }

    #[test]
    fn what_is_no_private_key_says_why() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("key");
        assert_eq!(describe(&path), "nothing");
        keygen(&path, &["-t", "rsa", "-b", "2048", "-N", ""]);
        let public = KeyFile::read(&path).unwrap().public.unwrap();
        assert_eq!(rsa_bits(&public), Some(2048));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        assert_eq!(
            describe(&path),
            "absent, true public: mode 640 lets group or others read it"
        );
        assert_eq!(
            describe(&path.with_extension("pub")),
            "absent, true public: it is a public key"
        );
        fs::remove_file(&path).unwrap();
        assert_eq!(
            describe(&path),
            "absent, true public: there is no private key file"
        );
        fs::write(&path, "garbage").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        assert!(describe(&path).starts_with("absent, true public: it cannot be read"));
    }
}
