//! What a server offers, as a reader sees it: the listings, what their definitions cost, and which
//! tools are used (session-model.md 15.2 to 15.4, 16).

use std::{cmp::Reverse, collections::HashSet};

use super::{
    accounts::MAX_TOOLS,
    definition::{Cost, Definition, ListKind, Page},
    machine::Machine,
    session::Session,
};

/// One kind of listing.
#[derive(Clone, Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent facts of the page's table"
)]
pub struct Inventory<'a> {
    kind: ListKind,
    pages: Vec<&'a Page>,
    /// The entries come from a complete run.
    pub complete: bool,
    /// A newer run has begun and is not complete.
    pub refreshing: bool,
    /// The server said that the list changed after the run was answered.
    pub stale: bool,
    /// An older revision's empty cursor ended the run.
    pub empty_cursor: bool,
    /// A cursor came twice: the run ends nowhere.
    pub cursor_cycle: bool,
    /// More entries or pages than are kept.
    pub overflows: bool,
    /// Number of complete runs.
    pub generation: u64,
    /// Entries that are counted and not kept.
    pub surplus: u64,
}

impl<'a> Inventory<'a> {
    /// The entries in server order; of tools with one name the first.
    pub fn entries(&self) -> Vec<Definition<'a>> {
        let mut names = HashSet::new();
        let distinct = self.kind == ListKind::Tools && self.pages.len() > 1;
        let all = self.pages.iter().flat_map(|page| {
            page.entries
                .iter()
                .map(move |entry| Definition { page, entry })
        });
        all.filter(|one| !distinct || !one.entry.is_known || names.insert(one.name()))
            .collect()
    }

    /// What the definitions cost; for tools only.
    pub fn costs(&self) -> Costs<'a> {
        let mut per_tool: Vec<_> = self
            .entries()
            .iter()
            .map(|tool| (tool.name(), tool.cost()))
            .collect();
        per_tool.sort_by_key(|(name, cost)| (Reverse(cost.bytes), *name));
        Costs {
            bytes: per_tool.iter().map(|(_, cost)| cost.bytes).sum(),
            complete: self.complete,
            approximate: self.pages.iter().any(|page| page.redacted),
            per_tool,
        }
    }
}

/// What all definitions of tools cost (session-model.md 16).
#[derive(Clone, Debug)]
pub struct Costs<'a> {
    /// Bytes of all of them.
    pub bytes: u64,
    /// False: the sum is a floor.
    pub complete: bool,
    /// A frame was redacted.
    pub approximate: bool,
    /// Each with its name (untrusted), heaviest first, then by name.
    pub per_tool: Vec<(&'a str, Cost)>,
}

/// Which tools were called (session-model.md 15.4); names are untrusted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Usage<'a> {
    /// In the view and called, in server order.
    pub used: Vec<&'a str>,
    /// In the view and never called; `None` where a call may have been of any tool.
    pub unused: Option<Vec<&'a str>>,
    /// Called and in no complete listing; sorted. Empty while there is none.
    pub unadvertised: Vec<&'a str>,
    /// Called, in some complete listing, not in the view; sorted.
    pub withdrawn: Vec<&'a str>,
}

impl Machine {
    fn inventory(&self, kind: ListKind) -> Option<Inventory<'_>> {
        let of_kind = self.listings.of(kind);
        let newest = self.listings.newest(kind);
        let mut found = Inventory {
            kind,
            pages: Vec::new(),
            complete: false,
            refreshing: false,
            stale: false,
            empty_cursor: false,
            cursor_cycle: newest.is_some_and(|run| run.has_cycle),
            overflows: newest.is_some_and(|run| run.overflows),
            generation: of_kind.generation,
            surplus: newest.map_or(0, |run| run.surplus),
        };
        if let Some(view) = &of_kind.view {
            found.complete = true;
            found.pages = view.pages.iter().map(|page| &**page).collect();
            found.refreshing =
                newest.is_some_and(|run| run.begun > view.begun && !run.is_complete());
            found.stale = of_kind.changed > view.answered;
            found.empty_cursor = view.empty_cursor;
        } else {
            let run = newest?;
            found.pages = run.chain.iter().map(|slot| &*slot.page).collect();
            found.stale = of_kind.changed > run.answered;
        }
        Some(found)
    }
}

impl Session {
    /// A kind of listing; `None` when none was observed, which is not "nothing listed".
    pub fn inventory(&self, kind: ListKind) -> Option<Inventory<'_>> {
        self.machine.inventory(kind)
    }

    /// Which tools were called; `None` without a listing and without a call.
    pub fn usage(&self) -> Option<Usage<'_>> {
        let inventory = self.inventory(ListKind::Tools);
        let called = self.tools();
        if inventory.is_none() && called.is_empty() {
            return None;
        }
        let any_may_be_called = self.machine.repeats.unknown_called || called.len() >= MAX_TOOLS;
        let entries = inventory.as_ref().map_or(Vec::new(), Inventory::entries);
        let any_may_be_listed = entries.iter().any(|one| !one.entry.is_known)
            || inventory.as_ref().is_some_and(|found| found.overflows);
        let known = entries.iter().filter(|one| one.entry.is_known);
        let (used, unused): (Vec<_>, Vec<_>) = known
            .map(Definition::name)
            .partition(|name| called.contains_key(*name));
        let mut usage = Usage {
            used,
            unused: (inventory.is_some() && !any_may_be_called).then_some(unused),
            ..Usage::default()
        };
        if !inventory.is_some_and(|found| found.complete) || any_may_be_listed {
            return Some(usage);
        }
        let shown: HashSet<&str> = entries.iter().map(Definition::name).collect();
        let absent = called
            .keys()
            .map(|name| &**name)
            .filter(|name| !name.is_empty() && !shown.contains(name) && !self.is_placeholder(name));
        (usage.withdrawn, usage.unadvertised) =
            absent.partition(|name| self.machine.listings.was_listed(name));
        Some(usage)
    }

    /// True for what stands for several names or for one that redaction took away.
    fn is_placeholder(&self, name: &str) -> bool {
        let redacted = self.machine.repeats.unknown_called && name.contains("[REDACTED]");
        redacted || self.tools().len() >= MAX_TOOLS && name == super::accounts::OTHER_TOOLS
    }

    /// Tool calls that were sent again and are reported, oldest first; at most 4,096 are kept.
    pub fn repeated_calls(&self) -> impl Iterator<Item = &super::repeats::RepeatedCall> {
        let all = self.machine.repeats.all();
        all.filter(|report| report.is_reported)
    }

    /// At most five measured tool calls, slowest first, then by start, then by number.
    pub fn slowest_calls(&self) -> &[super::slowest::SlowCall] {
        &self.machine.slowest.0
    }
}
