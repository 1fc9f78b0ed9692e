//! Refusals that a later frame may make good, found by what that frame has to be
//! (session-model.md 8.4, 22.3).

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
};

use smallvec::SmallVec;

use super::{
    call::{CallId, Resolved},
    hash::Map,
    hops::ClientKey,
    revisions::Counted,
    row::RowId,
};
use crate::record::Seq;

/// Refusals that are remembered (session-model.md 22.3).
const MAX_REFUSALS: usize = 4_096;
/// Clients of which it is known whether they had a success.
const MAX_CLIENTS: usize = 4_096;

/// What resolves a refusal.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Need {
    /// A call of this method and name.
    Operation(Arc<str>, Option<Arc<str>>),
    /// A request under this version.
    Version(Arc<str>),
    /// An `initialize` that completes.
    Greeting,
    /// An exchange that HTTP did not refuse.
    Exchange,
}

/// What may resolve a refusal, and as what.
pub(super) type Needs = SmallVec<[(Need, Resolved); 2]>;

/// One refusal.
#[derive(Clone, Debug)]
pub(super) struct Refusal {
    /// The refused call; `None` for an exchange without a request.
    pub(super) call: Option<CallId>,
    /// The errored frame.
    pub(super) row: RowId,
    /// Number of the request.
    pub(super) seq: Seq,
    pub(super) exchange: u64,
    pub(super) client: ClientKey,
    pub(super) counted: Counted,
    pub(super) needs: Needs,
}

/// What is known of one client, by host and name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Standing {
    succeeded: bool,
    greeted: bool,
}

/// Where a refusal is listed: what it needs, and of whom. `None` is anybody, so that a client of which
/// a part is missing finds what it agrees with, and no refusal of others is looked at.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Listed {
    need: Need,
    host: Option<u32>,
    who: Option<u32>,
}

impl Listed {
    /// The four lists that a refusal stands in.
    fn of_refusal(need: &Need, client: ClientKey) -> [Self; 4] {
        let place = |host, who| Self {
            need: need.clone(),
            host,
            who,
        };
        let (host, who) = (Some(client.host), Some(client.who));
        [
            place(host, who),
            place(host, None),
            place(None, who),
            place(None, None),
        ]
    }

    /// The lists with everything that agrees with a client.
    fn of_client(need: &Need, client: ClientKey) -> SmallVec<[Self; 4]> {
        let parts = |part: u32| match part {
            0 => [None, None],
            known => [Some(known), Some(0)],
        };
        let mut all = SmallVec::new();
        for host in parts(client.host) {
            for who in parts(client.who) {
                let place = Self {
                    need: need.clone(),
                    host,
                    who,
                };
                if !all.contains(&place) {
                    all.push(place);
                }
            }
        }
        all
    }
}

/// All refusals that were not resolved.
#[derive(Debug, Default)]
pub(super) struct Refusals {
    next: u64,
    open: BTreeMap<u64, Refusal>,
    lists: Map<Listed, VecDeque<u64>>,
    standings: Map<(u32, u32), Standing>,
    /// The client whose success was noted last: most answers are of one client.
    newest: Option<(u32, u32)>,
    forgotten: u64,
    standings_forgotten: u64,
}

/// The same client, whatever its HTTP session: a missing part agrees with any
/// (session-model.md 4.1, 8.4).
pub(super) fn is_same_client(one: ClientKey, other: ClientKey) -> bool {
    let nameless = |key: ClientKey| ClientKey { peer: 0, ..key };
    nameless(one).agrees(nameless(other))
}

impl Refusals {
    pub(super) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Refusals that were given up at the bound, and clients that were.
    pub(super) fn forgotten(&self) -> (u64, u64) {
        (self.forgotten, self.standings_forgotten)
    }

    /// Adds a refusal; answers the one that is given up for it.
    pub(super) fn add(&mut self, refusal: Refusal) -> Option<Refusal> {
        let surplus = (self.open.len() >= MAX_REFUSALS)
            .then(|| self.open.pop_first())
            .flatten();
        if let Some((id, old)) = &surplus {
            self.forgotten = self.forgotten.saturating_add(1);
            self.unlist(*id, old);
        }
        let id = self.next;
        self.next += 1;
        for (need, _) in &refusal.needs {
            for place in Listed::of_refusal(need, refusal.client) {
                self.lists.entry(place).or_default().push_back(id);
            }
        }
        self.open.insert(id, refusal);
        surplus.map(|(_, old)| old)
    }

    /// Takes out what a client makes good with `need`, as `kind` and where it fits. Beside each:
    /// true when no other refusal is left that its frame brought.
    pub(super) fn take(
        &mut self,
        need: &Need,
        client: ClientKey,
        kind: impl Fn(Resolved) -> bool,
        fits: impl Fn(&Refusal) -> bool,
    ) -> Vec<(Refusal, Resolved, bool)> {
        let places = Listed::of_client(need, client);
        let lists = places.iter().filter_map(|place| self.lists.get(place));
        let mut found: Vec<(u64, Resolved)> = lists
            .flatten()
            .filter_map(|id| {
                let refusal = self.open.get(id).filter(|refusal| fits(refusal))?;
                let mut needs = refusal.needs.iter();
                let (_, as_what) =
                    needs.find(|(known, as_what)| known == need && kind(*as_what))?;
                Some((*id, *as_what))
            })
            .collect();
        found.sort_unstable_by_key(|(id, _)| *id);
        let mut taken = Vec::with_capacity(found.len());
        for (id, as_what) in found {
            if let Some(refusal) = self.open.remove(&id) {
                self.unlist(id, &refusal);
                let is_last = !self.shares_frame(id, refusal.row);
                taken.push((refusal, as_what, is_last));
            }
        }
        taken
    }

    /// Those of one frame stand side by side.
    fn shares_frame(&self, id: u64, row: RowId) -> bool {
        let before = self.open.range(..id).next_back();
        let after = self.open.range(id..).next();
        [before, after]
            .into_iter()
            .flatten()
            .any(|(_, other)| other.row == row)
    }

    fn unlist(&mut self, id: u64, refusal: &Refusal) {
        for (need, _) in &refusal.needs {
            for place in Listed::of_refusal(need, refusal.client) {
                let Some(list) = self.lists.get_mut(&place) else {
                    continue;
                };
                if let Ok(at) = list.binary_search(&id) {
                    list.remove(at);
                }
                if list.is_empty() {
                    self.lists.remove(&place);
                }
            }
        }
    }

    /// Notes that a client got a result.
    pub(super) fn succeeded(&mut self, client: ClientKey) {
        let who = (client.host, client.who);
        if self.newest != Some(who) {
            self.newest = Some(who);
            self.standing_mut(who).succeeded = true;
        }
    }

    /// Notes that its `initialize` completed.
    pub(super) fn greeted(&mut self, client: ClientKey) {
        self.standing_mut((client.host, client.who)).greeted = true;
    }

    fn standing_mut(&mut self, who: (u32, u32)) -> &mut Standing {
        if self.standings.len() >= MAX_CLIENTS {
            // Who is not known had no success: its refusals may be resolved, which accuses nobody.
            self.standings_forgotten += self.standings.len() as u64;
            self.standings.clear();
            self.newest = None;
        }
        self.standings.entry(who).or_default()
    }

    fn has(&self, client: ClientKey, what: impl Fn(&Standing) -> bool) -> bool {
        let whole = (client.host, client.who);
        [whole, (client.host, 0)]
            .iter()
            .filter_map(|who| self.standings.get(who))
            .any(what)
    }

    /// True when the client had a result.
    pub(super) fn had_success(&self, client: ClientKey) -> bool {
        self.has(client, |standing| standing.succeeded)
    }

    /// True when its `initialize` completed.
    pub(super) fn was_greeted(&self, client: ClientKey) -> bool {
        self.has(client, |standing| standing.greeted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(seq: u64, name: &str) -> Refusal {
        let mut needs = Needs::new();
        needs.push((
            Need::Operation("tools/call".into(), Some(name.into())),
            Resolved::Auth,
        ));
        needs.push((Need::Greeting, Resolved::Era));
        Refusal {
            call: None,
            row: RowId {
                seq: Seq(seq),
                index: 0,
            },
            seq: Seq(seq),
            exchange: seq,
            client: ClientKey::default(),
            counted: Counted::default(),
            needs,
        }
    }

    #[test]
    fn the_oldest_go_at_the_bound_and_leave_no_trace() {
        let mut refusals = Refusals::default();
        let count = 3 * MAX_REFUSALS as u64;
        for seq in 0..count {
            let given_up = refusals.add(refusal(seq, &format!("t{}", seq % 7)));
            assert_eq!(given_up.is_some(), seq >= MAX_REFUSALS as u64);
        }
        assert_eq!(refusals.open.len(), MAX_REFUSALS);
        assert_eq!(refusals.forgotten(), (count - MAX_REFUSALS as u64, 0));
        let anybody = ClientKey::default();
        let none = refusals.take(&Need::Exchange, anybody, |_| true, |_| true);
        assert!(none.is_empty());
        let is_era = |kind| kind == Resolved::Era;
        let found = refusals.take(&Need::Greeting, anybody, is_era, |_| true);
        assert_eq!(found.len(), MAX_REFUSALS);
        assert!(refusals.is_empty() && refusals.lists.is_empty());
    }

    #[test]
    fn clients_find_what_they_agree_with_and_nothing_else() {
        let keys = || (0..3).flat_map(|host| (0..3).map(move |who| (host, who)));
        let key = |(host, who)| ClientKey { peer: 0, host, who };
        for asking in keys().map(key) {
            let mut refusals = Refusals::default();
            for (seq, refused) in (1..).zip(keys().map(key)) {
                let client = refused;
                refusals.add(Refusal {
                    client,
                    ..refusal(seq, "t")
                });
            }
            let found = refusals.take(&Need::Greeting, asking, |_| true, |_| true);
            let found: Vec<_> = found.iter().map(|(one, _, _)| one.client).collect();
            let agree = |one: &ClientKey| is_same_client(*one, asking);
            let expected: Vec<_> = keys().map(key).filter(agree).collect();
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn a_frame_is_free_when_its_last_refusal_goes() {
        let mut refusals = Refusals::default();
        for name in ["a", "b", "c"] {
            refusals.add(refusal(1, name));
        }
        refusals.add(refusal(2, "d"));
        let mut last = |name: &str| {
            let need = Need::Operation("tools/call".into(), Some(name.into()));
            let found = refusals.take(&need, ClientKey::default(), |_| true, |_| true);
            found.iter().map(|(_, _, last)| *last).collect::<Vec<_>>()
        };
        assert_eq!(last("b"), [false]);
        assert_eq!(last("c"), [false]);
        assert_eq!(last("c"), [false; 0]);
        assert_eq!(last("a"), [true]);
        assert_eq!(last("d"), [true]);
    }
}
