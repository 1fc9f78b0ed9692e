//! What client and server said of themselves, as they spelled it: capabilities, names, instructions,
//! supported versions, and the extensions that follow (session-model.md 14.2, 14.3).

use std::{collections::BTreeSet, sync::Arc};

use bytes::Bytes;

use super::{
    atoms::clip,
    reading::{RawParams, RawResult, is_redacted},
};
use crate::wire::{Raw, json};

/// Longest value that is kept of a peer, in bytes; a longer one is unknown.
const MAX_STATED: usize = 256 << 10;
/// Instructions that are kept (session-model.md 14.2.6).
const MAX_INSTRUCTIONS: usize = 64 << 10;
/// Versions of one list that are kept.
pub(super) const MAX_SUPPORTED: usize = 256;
/// Longest of them in bytes.
const MAX_VERSION: usize = 64;
/// Extensions that are told apart (session-model.md 22.3).
const MAX_EXTENSIONS: usize = 1_024;

/// What one side says of an extension.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Advert {
    /// Its capabilities were never seen, do not decode, or were redacted.
    #[default]
    Unknown,
    /// Its capabilities are known and do not name it.
    Absent,
    /// It names it.
    Advertised,
}

/// One extension that either side names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extension {
    /// Its name (untrusted).
    pub name: Box<str>,
    /// What the client says.
    pub client: Advert,
    /// What the server says.
    pub server: Advert,
}

/// Everything that was stated.
#[derive(Debug, Default)]
pub(super) struct Stated {
    pub(super) client_capabilities: Option<Raw>,
    pub(super) server_capabilities: Option<Raw>,
    pub(super) client_info: Option<Raw>,
    pub(super) server_info: Option<Raw>,
    /// The text, and whether it was cut.
    pub(super) instructions: Option<(Box<str>, bool)>,
    pub(super) supported: Versions,
    /// Values that were too long to be kept.
    pub(super) too_long: u64,
}

/// A list of versions.
#[derive(Clone, Debug, Default)]
pub(super) struct Versions {
    /// Those that could be read (untrusted).
    pub(super) list: Vec<Arc<str>>,
    /// Those behind the first 256.
    pub(super) more: u64,
}

impl Stated {
    /// Takes what a request of the client carries.
    pub(super) fn hear_client(&mut self, raw: &RawParams<'_>, initializes: bool, redacted: bool) {
        let own = raw.capabilities.filter(|_| initializes);
        if let Some(value) = raw.meta_capabilities.or(own) {
            self.too_long += take(&mut self.client_capabilities, value, redacted);
        }
        if let Some(value) = raw.client_info {
            self.too_long += take(&mut self.client_info, value, redacted);
        }
    }

    /// Takes what a result of the server carries; `greets` for `initialize` and `server/discover`.
    pub(super) fn hear_server(
        &mut self,
        raw: &RawResult<'_>,
        greets: bool,
        in_meta: bool,
        redacted: bool,
    ) {
        if let Some(value) = raw.server_info.filter(|_| greets || in_meta) {
            self.too_long += take(&mut self.server_info, value, redacted);
        }
        if !greets {
            return;
        }
        if let Some(value) = raw.capabilities {
            self.too_long += take(&mut self.server_capabilities, value, redacted);
        }
        if let Some(text) = raw.instructions.and_then(json::string) {
            let kept = clip(&text, MAX_INSTRUCTIONS);
            self.instructions = Some((kept.into(), kept.len() < text.len()));
        }
        if let Some(list) = raw.supported {
            self.supports(versions(list, redacted));
        }
    }

    /// Takes a list of versions that the server supports.
    pub(super) fn supports(&mut self, versions: Versions) {
        if !versions.list.is_empty() {
            self.supported = versions;
        }
    }

    /// Extensions behind the first 1,024 of a side, and of both.
    pub(super) fn extensions_beyond(&self) -> u64 {
        let sides = [&self.client_capabilities, &self.server_capabilities];
        let all = sides.map(|side| names_of(side.as_ref()).unwrap_or_default());
        let named: BTreeSet<&String> = all.iter().flatten().collect();
        let further = sides.map(|side| {
            let extensions = side.as_ref().and_then(|side| extensions(side.bytes()));
            let members = extensions.into_iter().flat_map(json::members);
            members.skip(MAX_EXTENSIONS).count()
        });
        (named.len().saturating_sub(MAX_EXTENSIONS) + further.iter().sum::<usize>()) as u64
    }

    /// The extensions of both sides, by name.
    pub(super) fn extensions(&self) -> Vec<Extension> {
        let client = names_of(self.client_capabilities.as_ref());
        let server = names_of(self.server_capabilities.as_ref());
        let named = client.iter().chain(&server).flatten();
        let all: BTreeSet<&str> = named.map(String::as_str).collect();
        let of = |names: &Option<Vec<String>>, name: &str| match names {
            None => Advert::Unknown,
            Some(names) if names.binary_search_by(|known| (**known).cmp(name)).is_ok() => {
                Advert::Advertised
            }
            Some(_) => Advert::Absent,
        };
        all.into_iter()
            .take(MAX_EXTENSIONS)
            .map(|name| Extension {
                name: name.into(),
                client: of(&client, name),
                server: of(&server, name),
            })
            .collect()
    }
}

/// Replaces a value by a newer one. What does not decode or was redacted erases nothing that is
/// known (session-model.md 14.2.1, 21). Answers 1 when it is too long to be kept.
fn take(slot: &mut Option<Raw>, value: &[u8], redacted: bool) -> u64 {
    if value.len() > MAX_STATED {
        return u64::from(value.first() == Some(&b'{'));
    }
    let same = slot.as_ref().is_some_and(|known| **known.bytes() == *value);
    let is_object = value.first() == Some(&b'{');
    if !same && is_object && !(slot.is_some() && is_redacted(value, redacted)) {
        *slot = Some(Raw::new(Bytes::copy_from_slice(value)));
    }
    0
}

/// The versions of a list, those that cannot be read left out.
pub(super) fn versions(list: &[u8], redacted: bool) -> Versions {
    let mut elements = json::elements(list);
    let first = elements.by_ref().take(MAX_SUPPORTED);
    let readable = first.filter(|value| !is_redacted(value, redacted));
    Versions {
        list: readable
            .filter_map(json::string)
            .map(|version| clip(&version, MAX_VERSION).into())
            .collect(),
        more: elements.count() as u64,
    }
}

/// `extensions`, if there is such a member.
fn extensions(capabilities: &[u8]) -> Option<&[u8]> {
    json::member(capabilities, "extensions")
}

/// Names in `extensions`, at most 1,024; `None` when they are unknown.
fn names_of(capabilities: Option<&Raw>) -> Option<Vec<String>> {
    let capabilities = capabilities?.bytes();
    let Some(extensions) = extensions(capabilities) else {
        return Some(Vec::new());
    };
    if extensions.first() != Some(&b'{') {
        return None;
    }
    let mut names: Vec<String> = json::members(extensions)
        .take(MAX_EXTENSIONS)
        .map(|(name, _)| plain(name))
        .collect();
    names.sort_unstable();
    names.dedup();
    Some(names)
}

/// A member name, unescaped.
fn plain(name: &[u8]) -> String {
    let quoted = [b"\"".as_slice(), name, b"\""].concat();
    match json::string(&quoted) {
        Some(plain) => clip(&plain, 1_024).to_owned(),
        None => String::from_utf8_lossy(name).into_owned(),
    }
}
