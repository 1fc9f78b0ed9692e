//! All listings of a session: runs under way, the last complete one of each kind, and which cursor
//! belongs to which (session-model.md 15.1, 15.2, 22.3). Equal pages are kept once, so that a client
//! that lists before every call takes no memory.

use std::{
    collections::VecDeque,
    hash::{BuildHasher as _, Hasher as _},
    sync::Arc,
};

use smallvec::SmallVec;

use super::{
    definition::{ListKind, Page},
    hash::{Map, Set},
    hops::ClientKey,
    listing::{Cursor, Run, RunId, Slot},
    recent::Recent,
};
use crate::record::Seq;

/// Runs that are remembered (session-model.md 22.3); the oldest leaves.
const MAX_RUNS: usize = 64;
/// Cursors that are remembered (session-model.md 22.3).
const MAX_CURSORS: usize = 4_096;
/// Clients that issued one cursor.
const MAX_OF_CURSOR: usize = MAX_RUNS;
/// Bytes of definitions that are kept; pages beyond have facts without their text.
const MAX_TEXT: usize = 16 << 20;
/// Entries of all runs together; the oldest run leaves.
const MAX_ENTRIES_OF_ALL: usize = 65_536;
/// Names of tools that were ever in a complete run.
const MAX_EVER: usize = 65_536;

/// The last complete run of one kind.
#[derive(Debug)]
pub(super) struct View {
    pub(super) run: RunId,
    pub(super) begun: Seq,
    pub(super) answered: Seq,
    pub(super) empty_cursor: bool,
    pub(super) pages: Vec<Arc<Page>>,
}

/// What is kept of one kind of listing.
#[derive(Debug, Default)]
pub(super) struct OfKind {
    pub(super) view: Option<View>,
    /// Complete runs.
    pub(super) generation: u64,
    /// Number of the last `list_changed`.
    pub(super) changed: Seq,
    /// Number of the last first page that could not be read, or not its `nextCursor`.
    pub(super) unread: Seq,
}

/// The clients that got a cursor, each with its newest run.
type Issuers = SmallVec<[(ClientKey, RunId); 1]>;

/// All of them.
#[derive(Debug)]
pub(super) struct Listings {
    runs: VecDeque<Run>,
    next: RunId,
    issued: Recent<(ListKind, Cursor), Issuers>,
    /// Clients that were forgotten as issuers of a cursor.
    issuers_forgotten: u64,
    pages: Map<u64, Arc<Page>>,
    hasher: foldhash::fast::RandomState,
    /// Bytes of text that all pages keep.
    kept: usize,
    /// Entries of all runs.
    entries: usize,
    kinds: [OfKind; 4],
    /// Hashes of the names that were in a complete run of tools.
    pub(super) ever: Set<u64>,
    /// Entries of runs that are counted only.
    pub(super) entries_beyond: u64,
    /// Names for which there was no room among those ever listed.
    pub(super) names_beyond: u64,
    /// Runs that left at a bound.
    pub(super) forgotten: u64,
    /// Pages whose text found no room.
    pub(super) without_text: u64,
}

impl Default for Listings {
    fn default() -> Self {
        Self {
            runs: VecDeque::new(),
            next: 1,
            issued: Recent::new(MAX_CURSORS),
            issuers_forgotten: 0,
            pages: Map::default(),
            hasher: foldhash::fast::RandomState::default(),
            kept: 0,
            entries: 0,
            kinds: Default::default(),
            ever: Set::default(),
            entries_beyond: 0,
            names_beyond: 0,
            forgotten: 0,
            without_text: 0,
        }
    }
}

impl Listings {
    /// What is kept of one kind.
    pub(super) fn of(&self, kind: ListKind) -> &OfKind {
        let [tools, prompts, resources, templates] = &self.kinds;
        match kind {
            ListKind::Tools => tools,
            ListKind::Prompts => prompts,
            ListKind::Resources => resources,
            ListKind::Templates => templates,
        }
    }

    pub(super) fn of_mut(&mut self, kind: ListKind) -> &mut OfKind {
        let [tools, prompts, resources, templates] = &mut self.kinds;
        match kind {
            ListKind::Tools => tools,
            ListKind::Prompts => prompts,
            ListKind::Resources => resources,
            ListKind::Templates => templates,
        }
    }

    /// A run that is remembered.
    pub(super) fn run(&self, id: RunId) -> Option<&Run> {
        self.runs.iter().rev().find(|run| run.id == id)
    }

    pub(super) fn run_mut(&mut self, id: RunId) -> Option<&mut Run> {
        self.runs.iter_mut().rev().find(|run| run.id == id)
    }

    /// The newest run of a kind.
    pub(super) fn newest(&self, kind: ListKind) -> Option<&Run> {
        let of_kind = self.runs.iter().filter(|run| run.kind == kind);
        of_kind.max_by_key(|run| (run.begun, run.id))
    }

    /// The run that a cursor belongs to (session-model.md 15.1.1): the newest of the client, else the
    /// only one.
    pub(super) fn run_of(
        &mut self,
        kind: ListKind,
        cursor: Cursor,
        client: ClientKey,
    ) -> Option<RunId> {
        let issuers = self.issued.use_of((kind, cursor))?.clone();
        let mut alive = issuers
            .into_iter()
            .filter(|(_, run)| self.run(*run).is_some());
        let own = alive.clone().find(|(known, _)| *known == client);
        let only = alive.next().filter(|_| alive.next().is_none());
        own.or(only).map(|(_, run)| run)
    }

    /// Cursors that were forgotten at the bound.
    pub(super) fn forgotten_cursors(&self) -> u64 {
        self.issued.dropped() + self.issuers_forgotten
    }

    /// A new run; the oldest leave at the bounds.
    pub(super) fn begin(&mut self, kind: ListKind, client: ClientKey, begun: Seq) -> RunId {
        let id = self.next;
        self.next += 1;
        self.runs.push_back(Run::new(id, kind, client, begun));
        self.keep_bounds();
        id
    }

    fn keep_bounds(&mut self) {
        while self.runs.len() > MAX_RUNS || self.runs.len() > 1 && self.entries > MAX_ENTRIES_OF_ALL
        {
            self.forgotten += 1;
            let oldest = self.runs.pop_front();
            self.drop_run(oldest);
        }
    }

    fn drop_run(&mut self, run: Option<Run>) {
        let Some(run) = run else { return };
        self.entries = self.entries.saturating_sub(run.entries);
        for slot in run.chain {
            self.release(slot.page);
        }
    }

    /// The page with this text, read now or before.
    pub(super) fn page(&mut self, kind: ListKind, listed: &[u8], redacted: bool) -> Arc<Page> {
        let mut hasher = self.hasher.build_hasher();
        hasher.write(listed);
        hasher.write_usize(listed.len());
        hasher.write_u8(kind as u8 * 2 + u8::from(redacted));
        let key = hasher.finish();
        let known = self.pages.get(&key);
        if let Some(known) = known.filter(|known| known.length == listed.len()) {
            return Arc::clone(known);
        }
        let is_text = kind == ListKind::Tools;
        let may_fit = is_text && listed.len() <= MAX_TEXT;
        while may_fit && self.kept + listed.len() > MAX_TEXT && self.runs.len() > 1 {
            self.forgotten += 1;
            let oldest = self.runs.pop_front();
            self.drop_run(oldest);
        }
        let fits = self.kept + listed.len() <= MAX_TEXT;
        self.without_text += u64::from(is_text && !fits);
        let page = Arc::new(Page::read(kind, listed, redacted, fits, key));
        self.kept += page.kept();
        self.pages.insert(key, Arc::clone(&page));
        page
    }

    /// Lets a page go; its text goes with its last use.
    pub(super) fn release(&mut self, page: Arc<Page>) {
        let (key, kept) = (page.key, page.kept());
        drop(page);
        let unused = self
            .pages
            .get(&key)
            .is_some_and(|known| Arc::strong_count(known) == 1);
        if unused && self.pages.remove(&key).is_some() {
            self.kept = self.kept.saturating_sub(kept);
        }
    }

    /// Puts a page into a run; answers a name that stands twice, and how many do.
    pub(super) fn take(&mut self, id: RunId, slot: Slot) -> Option<(Arc<str>, u64)> {
        let Some(run) = self.run_mut(id) else {
            self.release(slot.page);
            return None;
        };
        let (kind, client, next, before) = (run.kind, run.client, slot.next, run.entries);
        let taken = run.take(slot);
        let (after, complete) = (run.entries, taken.stands && run.is_complete());
        self.entries_beyond = self.entries_beyond.saturating_add(taken.beyond);
        self.entries = (self.entries + after).saturating_sub(before);
        if (taken.stands || taken.counted)
            && let Some(cursor) = next.cursor()
        {
            self.issue(kind, cursor, client, id);
        }
        if complete {
            self.completed(id);
        }
        for page in taken.left {
            self.release(page);
        }
        self.keep_bounds();
        taken.repeated
    }

    fn issue(&mut self, kind: ListKind, cursor: Cursor, client: ClientKey, id: RunId) {
        let Some(issuers) = self.issued.use_of((kind, cursor)) else {
            self.issued
                .insert((kind, cursor), smallvec::smallvec![(client, id)]);
            return;
        };
        if let Some(known) = issuers.iter_mut().find(|(known, _)| *known == client) {
            known.1 = id;
            return;
        }
        if issuers.len() >= MAX_OF_CURSOR {
            issuers.remove(0);
            self.issuers_forgotten += 1;
        }
        issuers.push((client, id));
    }

    /// A run has come to its end: it is what the view shows from now on.
    fn completed(&mut self, id: RunId) {
        let Some(run) = self.run_mut(id) else { return };
        let first = !std::mem::replace(&mut run.was_complete, true);
        let view = View {
            run: id,
            begun: run.begun,
            answered: run.answered,
            empty_cursor: run.has_empty_cursor(),
            pages: run
                .chain
                .iter()
                .map(|slot| Arc::clone(&slot.page))
                .collect(),
        };
        let (kind, client, begun) = (run.kind, run.client, run.begun);
        let of_kind = self.of_mut(kind);
        if !first && of_kind.view.as_ref().is_some_and(|known| known.run != id) {
            // A page of an older listing was fetched again; the view is newer.
            for page in view.pages {
                self.release(page);
            }
            return;
        }
        of_kind.generation += u64::from(first);
        let old = of_kind.view.replace(view);
        let old = old.map(|old| old.pages).unwrap_or_default();
        if kind == ListKind::Tools {
            self.note_names(&old);
        }
        for page in old {
            self.release(page);
        }
        let outdated = |run: &Run| {
            run.kind == kind && run.client == client && run.was_complete && run.begun < begun
        };
        while let Some(at) = self.runs.iter().position(outdated) {
            let run = self.runs.remove(at);
            self.drop_run(run);
        }
    }

    /// Remembers the names of a complete run; those of pages that were there before are known.
    fn note_names(&mut self, old: &[Arc<Page>]) {
        let [tools, ..] = &self.kinds;
        let pages = tools.view.iter().flat_map(|view| view.pages.iter());
        let fresh = pages
            .enumerate()
            .filter(|(at, page)| old.get(*at).is_none_or(|old| !Arc::ptr_eq(old, page)));
        for (_, page) in fresh {
            for entry in page.entries.iter().filter(|entry| entry.is_known) {
                let name = self.hasher.hash_one(&*entry.name);
                if self.ever.len() < MAX_EVER {
                    self.ever.insert(name);
                } else if !self.ever.contains(&name) {
                    self.names_beyond += 1;
                }
            }
        }
    }

    /// True when the name was in a complete run of tools; also when that is no longer known.
    pub(super) fn was_listed(&self, name: &str) -> bool {
        self.ever.len() >= MAX_EVER || self.ever.contains(&self.hasher.hash_one(name))
    }
}

#[cfg(test)]
impl Listings {
    /// Runs, distinct pages, bytes of text and entries that are kept.
    pub(super) fn weight(&self) -> [usize; 4] {
        let texts: usize = self.pages.values().map(|page| page.kept()).sum();
        assert_eq!(self.kept, texts);
        let entries: usize = self.runs.iter().map(|run| run.entries).sum();
        assert_eq!(self.entries, entries);
        [self.runs.len(), self.pages.len(), self.kept, self.entries]
    }
}
