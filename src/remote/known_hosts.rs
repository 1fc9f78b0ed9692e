//! Files of known host keys: lines, names, and the verdict on one key (remote.md 4.1 to 4.5).
//!
//! Bytes are split here; only `TYPE BASE64` goes to the key crate, whose own line reader takes tabs
//! and leading blanks for damage, counts no lines and gives up on a file with one bad line.

use std::{
    fmt, fs, io,
    path::{Path, PathBuf},
};

use base64::{Engine as _, engine::general_purpose};
use hmac::{Hmac, KeyInit as _, Mac as _};
use russh::keys::{
    HashAlg, PublicKey,
    ssh_key::{Algorithm, public::KeyData},
};
use sha1::Sha1;

use super::error::Error;

/// A line that holds a key, for messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownLine {
    /// File.
    pub file: PathBuf,
    /// Line, from 1.
    pub line: usize,
    /// Type of the key.
    pub key_type: String,
    /// `SHA256:…`.
    pub fingerprint: String,
}

impl fmt::Display for KnownLine {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{}:{} ({} {})",
            self.file.display(),
            self.line,
            self.key_type,
            self.fingerprint
        )
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Marker {
    None,
    Authority,
    Revoked,
}

#[derive(Clone, Debug)]
struct Entry {
    marker: Marker,
    hosts: Vec<u8>,
    blob: Vec<u8>,
    place: KnownLine,
}

/// All lines of all files, in order.
#[derive(Clone, Debug, Default)]
pub(super) struct KnownHosts {
    entries: Vec<Entry>,
    /// Places of damaged lines, as `FILE:LINE`.
    pub(super) damaged: Vec<String>,
}

/// What the files say about one key of one host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// This very key is recorded for the name.
    Known,
    /// Nothing is recorded for the name.
    New,
    /// Other keys are recorded, of whatever type.
    Changed(Vec<KnownLine>),
    /// The key is revoked by this line.
    Revoked(KnownLine),
}

/// The name under which a host is looked up and recorded (remote.md 4.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LookupName {
    /// `name` or `[name]:port`.
    pub(super) full: String,
    /// The plain name, if the full one has a port.
    pub(super) plain: Option<String>,
}

impl LookupName {
    /// An alias is taken literally, as ssh does; a host name gets its port unless it is 22.
    pub(super) fn new(alias: Option<&str>, host_name: &str, port: u16) -> Self {
        if let Some(alias) = alias {
            return Self {
                full: alias.to_owned(),
                plain: None,
            };
        }
        let name = host_name.to_ascii_lowercase();
        if port == 22 {
            return Self {
                full: name,
                plain: None,
            };
        }
        Self {
            full: format!("[{name}]:{port}"),
            plain: Some(name),
        }
    }
}

impl KnownHosts {
    /// Reads the files. One that is missing is empty.
    pub(super) fn load(files: &[PathBuf]) -> Result<Self, Error> {
        let mut hosts = Self::default();
        for file in files {
            match fs::read(file) {
                Ok(bytes) => hosts.add(file, &bytes),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(source) => {
                    return Err(Error::KnownHostsUnreadable {
                        file: file.clone(),
                        source,
                    });
                }
            }
        }
        Ok(hosts)
    }

    /// Adds the lines of one file.
    pub(super) fn add(&mut self, file: &Path, bytes: &[u8]) {
        for (index, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
            match read_line(file, index + 1, line) {
                Line::Entry(entry) => self.entries.push(entry),
                Line::Nothing => {}
                Line::Damaged => self
                    .damaged
                    .push(format!("{}:{}", file.display(), index + 1)),
            }
        }
    }

    /// The verdict over all matching lines of all files.
    pub(super) fn judge(&self, name: &LookupName, blob: &[u8]) -> Verdict {
        let names = [Some(name.full.as_str()), name.plain.as_deref()];
        let revoked = self.entries.iter().find(|entry| {
            entry.marker == Marker::Revoked
                && entry.blob == blob
                && names.iter().flatten().any(|name| entry.is_for(name))
        });
        if let Some(entry) = revoked {
            return Verdict::Revoked(entry.place.clone());
        }
        let recorded = self.plain_keys(&name.full);
        if recorded.iter().any(|entry| entry.blob == blob) {
            return Verdict::Known;
        }
        if !recorded.is_empty() {
            return Verdict::Changed(recorded.iter().map(|entry| entry.place.clone()).collect());
        }
        let known_without_port = name.plain.as_deref().is_some_and(|plain| {
            self.plain_keys(plain)
                .iter()
                .any(|entry| entry.blob == blob)
        });
        if known_without_port {
            return Verdict::Known;
        }
        Verdict::New
    }

    /// Types of the keys that are recorded for the name, to ask the server for them first.
    pub(super) fn key_types(&self, name: &LookupName) -> Vec<String> {
        let mut entries = self.plain_keys(&name.full);
        if entries.is_empty()
            && let Some(plain) = &name.plain
        {
            entries = self.plain_keys(plain);
        }
        entries
            .iter()
            .map(|entry| entry.place.key_type.clone())
            .collect()
    }

    /// Other names in the files that have this key, as they are written. Hashed ones stay unknown.
    pub(super) fn other_names(&self, blob: &[u8]) -> Vec<String> {
        self.entries
            .iter()
            .filter(|entry| entry.marker == Marker::None && entry.blob == blob)
            .filter(|entry| !entry.hosts.starts_with(b"|"))
            .map(|entry| String::from_utf8_lossy(&entry.hosts).into_owned())
            .collect()
    }

    fn plain_keys(&self, name: &str) -> Vec<&Entry> {
        self.entries
            .iter()
            .filter(|entry| entry.marker == Marker::None && entry.is_for(name))
            .collect()
    }
}

impl Entry {
    fn is_for(&self, name: &str) -> bool {
        if self.hosts.starts_with(b"|") {
            return is_hash_of(&self.hosts, name);
        }
        let mut found = false;
        for pattern in self.hosts.split(|byte| *byte == b',') {
            match pattern.strip_prefix(b"!") {
                Some(refused) if pattern_matches(refused, name) => return false,
                Some(_) => {}
                None => found |= pattern_matches(pattern, name),
            }
        }
        found
    }
}

enum Line {
    Nothing,
    Damaged,
    Entry(Entry),
}

fn read_line(file: &Path, number: usize, line: &[u8]) -> Line {
    let mut fields = line
        .split(|byte| matches!(byte, b' ' | b'\t' | b'\r'))
        .filter(|field| !field.is_empty())
        .peekable();
    let marker = match fields.peek() {
        None => return Line::Nothing,
        Some(field) if field.starts_with(b"#") => return Line::Nothing,
        Some(field) if field.starts_with(b"@") => match *field {
            b"@cert-authority" => Marker::Authority,
            b"@revoked" => Marker::Revoked,
            _ => return Line::Damaged,
        },
        Some(_) => Marker::None,
    };
    if marker != Marker::None {
        fields.next();
    }
    let (Some(hosts), Some(kind), Some(key)) = (fields.next(), fields.next(), fields.next()) else {
        return Line::Damaged;
    };
    match read_key(kind, key) {
        Some((key_type, blob)) => Line::Entry(Entry {
            marker,
            hosts: hosts.to_vec(),
            place: KnownLine {
                file: file.to_owned(),
                line: number,
                key_type,
                fingerprint: fingerprint(&blob),
            },
            blob,
        }),
        None => Line::Damaged,
    }
}

/// Reads `TYPE BASE64`. A type that the key crate does not know is kept: it is another key all the
/// same (remote.md 4.4).
fn read_key(kind: &[u8], key: &[u8]) -> Option<(String, Vec<u8>)> {
    let kind = std::str::from_utf8(kind).ok()?;
    let blob = general_purpose::STANDARD
        .decode(key)
        .or_else(|_| general_purpose::STANDARD_NO_PAD.decode(key))
        .ok()?;
    let (length, rest) = blob.split_first_chunk::<4>()?;
    let length = usize::try_from(u32::from_be_bytes(*length)).ok()?;
    if rest.get(..length)? != kind.as_bytes() {
        return None;
    }
    if is_readable_type(kind) {
        use russh::keys::ssh_encoding::Decode as _;
        KeyData::decode(&mut blob.as_slice()).ok()?;
    }
    Some((kind.to_owned(), blob))
}

fn is_readable_type(kind: &str) -> bool {
    matches!(
        Algorithm::new(kind),
        Ok(Algorithm::Ed25519 | Algorithm::Ecdsa { .. } | Algorithm::Rsa { .. })
    )
}

/// The bytes by which keys are compared.
pub(super) fn blob_of(key: &PublicKey) -> Vec<u8> {
    use russh::keys::PublicKeyBase64 as _;
    key.public_key_bytes()
}

/// `SHA256:…` of the bytes of a key, as ssh-keygen prints it.
pub(super) fn fingerprint(blob: &[u8]) -> String {
    use sha2::{Digest as _, Sha256};
    let hash = Sha256::digest(blob);
    format!("SHA256:{}", general_purpose::STANDARD_NO_PAD.encode(hash))
}

/// `SHA256:…` of a key.
pub(super) fn fingerprint_of(key: &PublicKey) -> String {
    key.fingerprint(HashAlg::Sha256).to_string()
}

/// `|1|SALT|HASH` of a name.
pub(super) fn hash_name(name: &str, salt: &[u8]) -> Option<String> {
    let hash = keyed_hash(name, salt)?;
    let encode = |bytes: &[u8]| general_purpose::STANDARD.encode(bytes);
    Some(format!("|1|{}|{}", encode(salt), encode(&hash)))
}

fn is_hash_of(field: &[u8], name: &str) -> bool {
    let mut parts = field.split(|byte| *byte == b'|').skip(1);
    let (Some(b"1"), Some(salt), Some(hash), None) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return false;
    };
    let decode = |text: &[u8]| general_purpose::STANDARD.decode(text).ok();
    let (Some(salt), Some(hash)) = (decode(salt), decode(hash)) else {
        return false;
    };
    keyed_hash(name, &salt).is_some_and(|expected| expected == hash)
}

fn keyed_hash(name: &str, salt: &[u8]) -> Option<Vec<u8>> {
    let mut mac = Hmac::<Sha1>::new_from_slice(salt).ok()?;
    mac.update(name.as_bytes());
    Some(mac.finalize().into_bytes().to_vec())
}

/// Matches `*` and `?`, without case.
fn pattern_matches(pattern: &[u8], name: &str) -> bool {
    let (mut pattern, mut name) = (pattern, name.as_bytes());
    // Where to go on when the last `*` must take one more character.
    let mut retry: Option<(&[u8], &[u8])> = None;
    loop {
        match (pattern.split_first(), name.split_first()) {
            (Some((b'*', after)), _) => {
                pattern = after;
                retry = Some((after, name));
            }
            (None, None) => return true,
            (Some((wanted, after)), Some((found, rest)))
                if *wanted == b'?' || wanted.eq_ignore_ascii_case(found) =>
            {
                pattern = after;
                name = rest;
            }
            _ => match retry.take() {
                Some((after, [_, rest @ ..])) => {
                    pattern = after;
                    name = rest;
                    retry = Some((after, rest));
                }
                _ => return false,
            },
        }
    }
}

/// True when the file is a binary revocation list, which is not supported.
pub(super) fn is_binary_revocation_list(bytes: &[u8]) -> bool {
    bytes.starts_with(b"SSHKRL\n\0")
}

/// Finds a key in a plain list of revoked keys (`RevokedHostKeys`).
pub(super) fn find_revoked(file: &Path, bytes: &[u8], blob: &[u8]) -> Option<KnownLine> {
    bytes
        .split(|byte| *byte == b'\n')
        .enumerate()
        .find_map(|(index, line)| {
            let fields: Vec<&[u8]> = line
                .split(|byte| matches!(byte, b' ' | b'\t' | b'\r'))
                .filter(|field| !field.is_empty())
                .collect();
            let (key_type, found) = fields.windows(2).find_map(|pair| match pair {
                [kind, key] => read_key(kind, key),
                _ => None,
            })?;
            (found == blob).then(|| KnownLine {
                file: file.to_owned(),
                line: index + 1,
                key_type,
                fingerprint: fingerprint(blob),
            })
        })
}

#[cfg(test)]
#[path = "known_hosts_tests.rs"]
mod tests;
