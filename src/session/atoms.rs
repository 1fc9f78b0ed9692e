//! Names that repeat (methods, tools, hosts), kept once and numbered, in bounded number.

use std::{borrow::Cow, sync::Arc};

use sha2::Digest as _;

use super::hash::Map;

/// Names numbered before further ones are kept for each use alone.
const MAX_ATOMS: usize = 16_384;
/// Bytes of a name that are kept (session-model.md 22.3); longer ones end in `…` and their hash.
const MAX_NAME: usize = 1_024;

/// Gives equal names one allocation.
#[derive(Debug, Default)]
pub(super) struct Atoms {
    known: Map<Arc<str>, u32>,
    list: Vec<Arc<str>>,
    /// Uses of names that have no number of their own.
    pub(super) beyond: u64,
}

impl Atoms {
    /// The shared copy of `name`, beyond 1 KiB by its hash.
    pub(super) fn share(&mut self, name: &str) -> Arc<str> {
        let name = &*bounded(Cow::Borrowed(name));
        if let Some((known, _)) = self.known.get_key_value(name) {
            return Arc::clone(known);
        }
        let shared: Arc<str> = name.into();
        if self.list.len() < MAX_ATOMS {
            self.add(&shared);
        }
        shared
    }

    /// The number of `name`; the number of `…` once the table is full.
    pub(super) fn number(&mut self, name: &str) -> u32 {
        let name = &*bounded(Cow::Borrowed(name));
        if let Some(known) = self.known.get(name) {
            return *known;
        }
        let name = if self.list.len() < MAX_ATOMS {
            name
        } else {
            self.beyond += 1;
            "…"
        };
        if let Some(known) = self.known.get(name) {
            return *known;
        }
        self.add(&name.into())
    }

    /// The number of a name, if it has one.
    pub(super) fn find(&self, name: &str) -> Option<u32> {
        self.known.get(name).copied()
    }

    /// The name of a number.
    pub(super) fn name(&self, number: u32) -> Option<&Arc<str>> {
        self.list.get(usize::try_from(number).ok()?)
    }

    fn add(&mut self, name: &Arc<str>) -> u32 {
        let number = u32::try_from(self.list.len()).unwrap_or(u32::MAX);
        self.list.push(Arc::clone(name));
        self.known.insert(Arc::clone(name), number);
        number
    }
}

/// A text as it is kept and compared: beyond 1 KiB by its beginning and its hash (session-model.md
/// 22.3).
pub(super) fn bounded(text: Cow<'_, str>) -> Cow<'_, str> {
    if text.len() <= MAX_NAME {
        return text;
    }
    let hash = sha2::Sha256::digest(text.as_bytes());
    let hash = hash
        .iter()
        .take(16)
        .fold(0_u128, |sum, byte| sum << 8 | u128::from(*byte));
    Cow::Owned(format!("{}…{hash:032x}", clip(&text, MAX_NAME - 64)))
}

/// At most `limit` bytes of `text`, whole characters.
pub(super) fn clip(text: &str, limit: usize) -> &str {
    let mut end = text.len().min(limit);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_names_have_one_number_and_the_table_is_bounded() {
        let mut atoms = Atoms::default();
        let first = atoms.number("ping");
        assert_eq!(atoms.number("ping"), first);
        for at in 0..(MAX_ATOMS * 2) {
            atoms.number(&at.to_string());
        }
        assert_eq!(atoms.name(first).map(|name| &**name), Some("ping"));
        assert!(atoms.list.len() <= MAX_ATOMS + 1);
        let full = atoms.number("another");
        assert_eq!(atoms.name(full).map(|name| &**name), Some("…"));
        assert_eq!(&*atoms.share("kept alone"), "kept alone");
    }

    #[test]
    fn long_texts_are_kept_short_and_told_apart() {
        let long = "ü".repeat(1 << 20);
        let one = bounded(Cow::Borrowed(&long));
        let other = bounded(Cow::Owned(format!("{long}x")));
        assert!(one.len() <= MAX_NAME && one.starts_with("üü") && one != other);
        assert_eq!(one, bounded(Cow::Owned(long.clone())));
        let short = "x".repeat(MAX_NAME);
        assert_eq!(bounded(Cow::Borrowed(&short)), short);
    }

    #[test]
    fn long_names_are_cut_between_characters() {
        assert_eq!(clip("añb", 2), "a");
        assert_eq!(clip("añb", 3), "añ");
        let mut atoms = Atoms::default();
        let (one, other) = ("x".repeat(5_000), "x".repeat(5_001));
        assert!(atoms.share(&one).len() <= MAX_NAME);
        assert_ne!(atoms.share(&one), atoms.share(&other));
        assert_ne!(atoms.number(&one), atoms.number(&other));
    }
}
