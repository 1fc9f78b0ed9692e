//! What one page of a listing holds: names, and of tools their definitions with what each costs
//! (session-model.md 15.3, 16).

use std::{borrow::Cow, ops::Range, sync::Arc};

use sha2::Digest as _;

use super::{atoms::bounded, hash::Set, reading::is_redacted};
use crate::wire::json;

/// Entries of one run that are kept (session-model.md 22.3).
pub(super) const MAX_ENTRIES: usize = 10_000;

/// What is listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ListKind {
    /// `tools/list`.
    Tools,
    /// `prompts/list`.
    Prompts,
    /// `resources/list`.
    Resources,
    /// `resources/templates/list`.
    Templates,
}

/// Bytes of a definition in compact JSON text (session-model.md 16); never tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// The whole definition.
    pub bytes: u64,
    /// The value of `description`, quotes included; 0 when absent.
    pub description_bytes: u64,
    /// `inputSchema`.
    pub schema_bytes: u64,
    /// `outputSchema`.
    pub output_schema_bytes: u64,
}

/// One entry of a page.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) name: Arc<str>,
    /// False when redaction took the name away: it is never compared.
    pub(super) is_known: bool,
    /// Where it lies in the text of the page.
    place: Range<usize>,
    /// SHA-256 of the compact text, its first half; zero for what is no tool.
    pub(super) hash: [u8; 16],
    pub(super) cost: Cost,
    /// It declares, or may declare, that a second call changes nothing.
    pub(super) is_harmless: bool,
}

/// One page, kept once however often it is served.
#[derive(Debug)]
pub(super) struct Page {
    /// Hash under which it is found again.
    pub(super) key: u64,
    /// Bytes of its text, kept or not.
    pub(super) length: usize,
    /// Its text, for tools and while there is room.
    text: Option<Box<[u8]>>,
    pub(super) entries: Vec<Entry>,
    /// Further entries than are kept.
    pub(super) surplus: u64,
    /// A name that stands twice on it, and how many entries were left out for that.
    pub(super) repeated: Option<(Arc<str>, u64)>,
    pub(super) redacted: bool,
}

impl Page {
    /// Reads the array of a listing; its text is kept when `keep` says so.
    pub(super) fn read(
        kind: ListKind,
        listed: &[u8],
        redacted: bool,
        keep: bool,
        key: u64,
    ) -> Self {
        let mut page = Self {
            key,
            length: listed.len(),
            text: (keep && kind == ListKind::Tools).then(|| listed.into()),
            entries: Vec::new(),
            surplus: 0,
            repeated: None,
            redacted,
        };
        let mut names = Set::default();
        for place in json::element_ranges(listed) {
            let Some(value) = listed.get(place.clone()) else {
                continue;
            };
            let Some(name) = name_of(value) else { continue };
            let is_known = !is_redacted(name.as_bytes(), redacted);
            let name: Arc<str> = bounded(name).as_ref().into();
            if kind == ListKind::Tools && is_known && !names.insert(Arc::clone(&name)) {
                page.repeated.get_or_insert((name, 0)).1 += 1;
            } else if page.entries.len() < MAX_ENTRIES {
                let entry = Entry::read(kind, name, is_known, value, place, redacted);
                page.entries.push(entry);
            } else {
                page.surplus += 1;
                // A page without end costs no more memory.
                names = Set::default();
            }
        }
        page.entries.shrink_to_fit();
        page
    }

    /// Bytes that its text takes.
    pub(super) fn kept(&self) -> usize {
        self.text.as_ref().map_or(0, |text| text.len())
    }

    /// The exact bytes of an entry.
    pub(super) fn text_of(&self, entry: &Entry) -> Option<&[u8]> {
        self.text.as_ref()?.get(entry.place.clone())
    }
}

/// The name of an entry; an entry without one is skipped alone.
fn name_of(value: &[u8]) -> Option<Cow<'_, str>> {
    if value.first() != Some(&b'{') {
        return None;
    }
    let name = json::member(value, "name").and_then(json::string)?;
    (!name.is_empty()).then_some(name)
}

impl Entry {
    fn read(
        kind: ListKind,
        name: Arc<str>,
        is_known: bool,
        value: &[u8],
        place: Range<usize>,
        redacted: bool,
    ) -> Self {
        let mut entry = Self {
            name,
            is_known,
            place,
            hash: [0; 16],
            cost: Cost::default(),
            is_harmless: false,
        };
        if kind != ListKind::Tools {
            return entry;
        }
        let mut hasher = sha2::Sha256::new();
        for piece in json::compact_pieces(value) {
            hasher.update(piece);
            entry.cost.bytes += piece.len() as u64;
        }
        for (to, from) in entry.hash.iter_mut().zip(hasher.finalize()) {
            *to = from;
        }
        for (key, member) in json::members(value) {
            let is = |name| json::key_is(key, name);
            let length = || json::compact_len(member) as u64;
            if is("description") {
                entry.cost.description_bytes = length();
            } else if is("inputSchema") {
                entry.cost.schema_bytes = length();
            } else if is("outputSchema") {
                entry.cost.output_schema_bytes = length();
            } else if is("annotations") {
                let declares = |name| json::member(member, name) == Some(b"true");
                entry.is_harmless = declares("readOnlyHint")
                    || declares("idempotentHint")
                    || is_redacted(member, redacted);
            }
        }
        entry
    }
}

/// One definition as a reader sees it (untrusted, all of it).
#[derive(Clone, Copy, Debug)]
pub struct Definition<'a> {
    pub(super) page: &'a Page,
    pub(super) entry: &'a Entry,
}

impl<'a> Definition<'a> {
    /// Its name, at most 1 KiB.
    pub fn name(&self) -> &'a str {
        &self.entry.name
    }

    /// What it costs; for tools only.
    pub fn cost(&self) -> Cost {
        self.entry.cost
    }

    /// True when its frame was redacted: the cost is approximate.
    pub fn is_approximate(&self) -> bool {
        self.page.redacted
    }

    /// First half of the SHA-256 of its compact text; for tools only.
    pub fn hash(&self) -> [u8; 16] {
        self.entry.hash
    }

    /// Its exact bytes; `None` for what is no tool, and beyond the room for them (16 MiB a session).
    pub fn json(&self) -> Option<&'a [u8]> {
        self.page.text_of(self.entry)
    }

    /// The exact bytes of a member: `inputSchema`, `outputSchema`, `annotations`, `icons`,
    /// `execution`, `_meta`.
    pub fn member(&self, name: &str) -> Option<&'a [u8]> {
        json::member(self.json()?, name)
    }

    /// Its title; another type reads as empty.
    pub fn title(&self) -> Cow<'a, str> {
        self.text("title")
    }

    /// Its description; another type reads as empty.
    pub fn description(&self) -> Cow<'a, str> {
        self.text("description")
    }

    fn text(&self, name: &str) -> Cow<'a, str> {
        self.member(name).and_then(json::string).unwrap_or_default()
    }
}
