//! One listing as it is read page by page: the chain of cursors from its first page on, and whether
//! it has come to its end (session-model.md 15.1).

use std::sync::Arc;

use super::{
    definition::{ListKind, MAX_ENTRIES, Page},
    hash::Map,
    hops::ClientKey,
};
use crate::record::Seq;

/// Pages of one run (session-model.md 22.3, cursors).
const MAX_PAGES: usize = 4_096;

/// A cursor, by the first half of its SHA-256: servers may make it as long as they like.
pub(super) type Cursor = [u8; 16];
/// Number of a run.
pub(super) type RunId = u64;

/// What a page says of the page behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// There is none.
    Last,
    /// There is none; the empty cursor of an older revision says so, and may be followed all the
    /// same.
    LastUnless(Cursor),
    /// It has this cursor.
    More(Cursor),
    /// It cannot be read: redacted, or of another type.
    Unknown,
}

impl Next {
    /// The cursor that may be asked for next.
    pub(super) fn cursor(self) -> Option<Cursor> {
        match self {
            Self::More(cursor) | Self::LastUnless(cursor) => Some(cursor),
            Self::Last | Self::Unknown => None,
        }
    }
}

/// One page in its place.
#[derive(Clone, Debug)]
pub(super) struct Slot {
    /// The cursor that it was asked with; `None` for page one and for cursors that are unknown.
    pub(super) cursor: Option<Cursor>,
    pub(super) page: Arc<Page>,
    pub(super) next: Next,
    /// When the client's copy of it goes stale, in nanoseconds; the beginning of time when it says
    /// nothing of that.
    pub(super) until: i64,
}

/// One listing.
#[derive(Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent marks, not states of one machine"
)]
pub(super) struct Run {
    pub(super) id: RunId,
    pub(super) kind: ListKind,
    pub(super) client: ClientKey,
    /// Number of the request for its first page.
    pub(super) begun: Seq,
    /// Number of the first answer.
    pub(super) answered: Seq,
    /// `cacheScope` of its first page, if that was seen and could be read.
    pub(super) scope: Option<Arc<str>>,
    /// Nobody knows where its first page is.
    pub(super) is_orphan: bool,
    /// More entries or pages than are kept.
    pub(super) overflows: bool,
    /// A cursor came that had been used before.
    pub(super) has_cycle: bool,
    /// A cursor of it was refused.
    pub(super) cursor_failed: bool,
    /// It was complete before.
    pub(super) was_complete: bool,
    pub(super) chain: Vec<Slot>,
    /// Place of each cursor in the chain.
    places: Map<Cursor, usize>,
    /// Names on its pages, once there are several.
    names: Map<Arc<str>, u32>,
    /// Entries kept.
    pub(super) entries: usize,
    /// Entries that are not.
    pub(super) surplus: u64,
    /// Cursor of the page behind those that are counted only.
    beyond: Option<Cursor>,
}

/// What taking a page did.
#[derive(Debug, Default)]
pub(super) struct Taken {
    /// It has its place.
    pub(super) stands: bool,
    /// It has none and is counted.
    pub(super) counted: bool,
    /// Entries of it that are not kept.
    pub(super) beyond: u64,
    /// A name of it that an earlier page has too, and how many there are.
    pub(super) repeated: Option<(Arc<str>, u64)>,
    /// Pages that left for it.
    pub(super) left: Vec<Arc<Page>>,
}

impl Run {
    /// A run without a page.
    pub(super) fn new(id: RunId, kind: ListKind, client: ClientKey, begun: Seq) -> Self {
        Self {
            id,
            kind,
            client,
            begun,
            answered: Seq(0),
            scope: None,
            is_orphan: false,
            overflows: false,
            has_cycle: false,
            cursor_failed: false,
            was_complete: false,
            chain: Vec::new(),
            places: Map::default(),
            names: Map::default(),
            entries: 0,
            surplus: 0,
            beyond: None,
        }
    }

    /// True when the chain from page one reaches a last page.
    pub(super) fn is_complete(&self) -> bool {
        let ends = self
            .chain
            .last()
            .is_some_and(|slot| matches!(slot.next, Next::Last | Next::LastUnless(_)));
        ends && !self.is_orphan && !self.overflows
    }

    /// True when an older revision's empty cursor ended it.
    pub(super) fn has_empty_cursor(&self) -> bool {
        let last = self.chain.last();
        last.is_some_and(|slot| matches!(slot.next, Next::LastUnless(_)))
    }

    /// Puts a page in its place: at the end of the chain, or instead of what its cursor gave before.
    /// Another `nextCursor` then makes what stood behind it unreachable.
    pub(super) fn take(&mut self, slot: Slot) -> Taken {
        let known = match &slot.cursor {
            Some(cursor) => self.places.get(cursor).copied(),
            None => (!self.chain.is_empty()).then_some(0),
        };
        let mut taken = Taken::default();
        if let Some(at) = known {
            self.replace(at, slot, &mut taken);
        } else if self.beyond.is_some() && self.beyond == slot.cursor {
            self.count(slot, &mut taken);
        } else if self.follows(&slot) {
            self.push(slot, &mut taken);
        } else {
            taken.left.push(slot.page);
        }
        self.has_cycle = self.chain.last().is_some_and(|slot| match slot.next {
            Next::More(cursor) => self.places.contains_key(&cursor),
            _ => false,
        });
        taken
    }

    fn follows(&self, slot: &Slot) -> bool {
        match self.chain.last() {
            None => true,
            Some(last) => slot.cursor.is_some() && last.next.cursor() == slot.cursor,
        }
    }

    fn push(&mut self, slot: Slot, taken: &mut Taken) {
        let more = slot.page.entries.len();
        if self.chain.len() >= MAX_PAGES || self.entries + more > MAX_ENTRIES {
            self.count(slot, taken);
            return;
        }
        taken.beyond = slot.page.surplus;
        self.surplus = self.surplus.saturating_add(taken.beyond);
        self.overflows |= slot.page.surplus > 0;
        taken.stands = true;
        if self.chain.len() == 1 && self.names.is_empty() {
            let first = self.chain.first().map(|slot| Arc::clone(&slot.page));
            if let Some(page) = first {
                self.add_names(&page, &mut None);
            }
        }
        if !self.chain.is_empty() {
            self.add_names(&slot.page, &mut taken.repeated);
        }
        self.entries += more;
        if let Some(cursor) = slot.cursor {
            self.places.insert(cursor, self.chain.len());
        }
        self.chain.push(slot);
    }

    /// Counts a page beyond the bounds: the run is never complete.
    fn count(&mut self, slot: Slot, taken: &mut Taken) {
        let entries = slot.page.entries.len() as u64;
        taken.beyond = slot.page.surplus.saturating_add(entries);
        self.surplus = self.surplus.saturating_add(taken.beyond);
        self.overflows = true;
        self.beyond = slot.next.cursor();
        taken.counted = true;
        taken.left.push(slot.page);
    }

    fn replace(&mut self, at: usize, slot: Slot, taken: &mut Taken) {
        let Some(old) = self.chain.get(at) else {
            return;
        };
        let others = self.entries.saturating_sub(old.page.entries.len());
        if slot.page.surplus > 0 || others + slot.page.entries.len() > MAX_ENTRIES {
            self.overflows = true;
            taken.beyond = slot.page.surplus + slot.page.entries.len() as u64;
            taken.left.push(slot.page);
            return;
        }
        taken.stands = true;
        if slot.next != old.next {
            self.cut(at + 1, taken);
        }
        let page = Arc::clone(&slot.page);
        let Some(place) = self.chain.get_mut(at) else {
            return;
        };
        let old = std::mem::replace(place, slot);
        if !self.names.is_empty() && !Arc::ptr_eq(&old.page, &page) {
            self.remove_names(&old.page);
            self.add_names(&page, &mut taken.repeated);
        }
        self.entries = self.entries.saturating_sub(old.page.entries.len()) + page.entries.len();
        taken.left.push(old.page);
    }

    /// Drops the pages from `at` on.
    fn cut(&mut self, at: usize, taken: &mut Taken) {
        for slot in self.chain.split_off(at.min(self.chain.len())) {
            if let Some(cursor) = slot.cursor {
                self.places.remove(&cursor);
            }
            self.remove_names(&slot.page);
            self.entries = self.entries.saturating_sub(slot.page.entries.len());
            taken.left.push(slot.page);
        }
    }

    fn add_names(&mut self, page: &Page, repeated: &mut Option<(Arc<str>, u64)>) {
        if self.kind != ListKind::Tools {
            return;
        }
        for entry in page.entries.iter().filter(|entry| entry.is_known) {
            let count = self.names.entry(Arc::clone(&entry.name)).or_default();
            *count += 1;
            if *count > 1 {
                let name = || (Arc::clone(&entry.name), 0);
                repeated.get_or_insert_with(name).1 += 1;
            }
        }
    }

    fn remove_names(&mut self, page: &Page) {
        for entry in page.entries.iter().filter(|entry| entry.is_known) {
            let Some(count) = self.names.get_mut(&entry.name) else {
                continue;
            };
            *count -= 1;
            if *count == 0 {
                self.names.remove(&entry.name);
            }
        }
    }
}
