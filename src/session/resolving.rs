//! Refusals that a later frame may make good, found by what that frame has to be
//! (session-model.md 8.4, 22.3).

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
    sync::Arc,
};

use smallvec::SmallVec;

use super::{
    call::{CallId, Resolved},
    hash::Map,
    hops::ClientKey,
    refusing::Frames,
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

/// Which refusals a frame makes good, of those that need what it is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Which {
    /// All of them.
    All,
    /// Those before this number: of the refusing frame for an operation, of the request for a greeting.
    Before(Seq),
    /// Those of other exchanges.
    Except(u64),
}

impl Which {
    /// The ranks that it takes.
    fn ranks(self) -> [Range<u64>; 2] {
        match self {
            Self::All => [0..u64::MAX, 0..0],
            Self::Before(seq) => [0..seq.0, 0..0],
            Self::Except(exchange) => [0..exchange, exchange.saturating_add(1)..u64::MAX],
        }
    }
}

/// Where a refusal is listed: what it needs, as what, and of whom. `None` is anybody, so that a client
/// of which a part is missing finds what it agrees with, and no refusal of others is looked at.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Listed {
    need: Need,
    kind: Resolved,
    host: Option<u32>,
    who: Option<u32>,
}

impl Listed {
    /// The four lists that a refusal stands in.
    fn of_refusal((need, kind): &(Need, Resolved), client: ClientKey) -> [Self; 4] {
        let place = |host, who| Self {
            need: need.clone(),
            kind: *kind,
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
    fn of_client(need: &Need, kind: Resolved, client: ClientKey) -> SmallVec<[Self; 4]> {
        let parts = |part: u32| match part {
            0 => [None, None],
            known => [Some(known), Some(0)],
        };
        let mut all = SmallVec::new();
        for host in parts(client.host) {
            for who in parts(client.who) {
                let place = Self {
                    need: need.clone(),
                    kind,
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

impl Refusal {
    /// What decides, among those with one need, which of them a frame makes good.
    fn rank(&self, need: &Need) -> u64 {
        match need {
            Need::Exchange => self.exchange,
            Need::Greeting => self.seq.0,
            Need::Operation(..) | Need::Version(_) => self.row.seq.0,
        }
    }
}

/// All refusals that were not resolved.
#[derive(Debug, Default)]
pub(super) struct Refusals {
    next: u64,
    open: BTreeMap<u64, Refusal>,
    /// Ranks and numbers of refusals.
    lists: Map<Listed, BTreeSet<(u64, u64)>>,
    frames: Frames,
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

    /// Notes that a frame failed a call, or an exchange without a request.
    pub(super) fn failed(&mut self, row: RowId) {
        self.frames.fail(row);
    }

    /// Adds a refusal; answers the one that is given up for it.
    pub(super) fn add(&mut self, refusal: Refusal) -> Option<Refusal> {
        let surplus = (self.open.len() >= MAX_REFUSALS)
            .then(|| self.open.pop_first())
            .flatten();
        if let Some((id, old)) = &surplus {
            self.forgotten = self.forgotten.saturating_add(1);
            self.unlist(*id, old);
            self.frames.leave(old.row, false);
        }
        let id = self.next;
        self.next += 1;
        for need in &refusal.needs {
            let listed = (refusal.rank(&need.0), id);
            for place in Listed::of_refusal(need, refusal.client) {
                self.lists.entry(place).or_default().insert(listed);
            }
        }
        self.frames.remember(refusal.row);
        self.open.insert(id, refusal);
        surplus.map(|(_, old)| old)
    }

    /// Takes out what a client makes good with `need`, as one of `kinds`, in the order of the
    /// refusals. Beside each: true when nothing else is left that its frame failed.
    pub(super) fn take(
        &mut self,
        need: &Need,
        kinds: &[Resolved],
        client: ClientKey,
        which: Which,
    ) -> Vec<(Refusal, Resolved, bool)> {
        let mut found = Vec::new();
        for kind in kinds {
            for place in Listed::of_client(need, *kind, client) {
                let Some(list) = self.lists.get(&place) else {
                    continue;
                };
                for ranks in which.ranks().into_iter().filter(|ranks| !ranks.is_empty()) {
                    let ids = list.range((ranks.start, 0)..(ranks.end, 0));
                    found.extend(ids.map(|(_, id)| (*id, *kind)));
                }
            }
        }
        found.sort_unstable_by_key(|(id, _)| *id);
        let mut taken = Vec::with_capacity(found.len());
        for (id, as_what) in found {
            if let Some(refusal) = self.open.remove(&id) {
                self.unlist(id, &refusal);
                let is_last = self.frames.leave(refusal.row, true);
                taken.push((refusal, as_what, is_last));
            }
        }
        taken
    }

    fn unlist(&mut self, id: u64, refusal: &Refusal) {
        for need in &refusal.needs {
            let listed = (refusal.rank(&need.0), id);
            for place in Listed::of_refusal(need, refusal.client) {
                let Some(list) = self.lists.get_mut(&place) else {
                    continue;
                };
                list.remove(&listed);
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

    const ALL: [Resolved; 3] = [Resolved::Auth, Resolved::Era, Resolved::Session];

    fn add(refusals: &mut Refusals, refusal: Refusal) -> Option<Refusal> {
        refusals.failed(refusal.row);
        refusals.add(refusal)
    }

    #[test]
    fn the_oldest_go_at_the_bound_and_leave_no_trace() {
        let mut refusals = Refusals::default();
        let count = 3 * MAX_REFUSALS as u64;
        for seq in 0..count {
            let given_up = add(&mut refusals, refusal(seq, &format!("t{}", seq % 7)));
            assert_eq!(given_up.is_some(), seq >= MAX_REFUSALS as u64);
        }
        assert_eq!(refusals.open.len(), MAX_REFUSALS);
        assert_eq!(refusals.forgotten(), (count - MAX_REFUSALS as u64, 0));
        let anybody = ClientKey::default();
        let none = refusals.take(&Need::Exchange, &ALL, anybody, Which::All);
        assert!(none.is_empty());
        let none = refusals.take(&Need::Greeting, &[Resolved::Session], anybody, Which::All);
        assert!(none.is_empty());
        let found = refusals.take(&Need::Greeting, &[Resolved::Era], anybody, Which::All);
        assert_eq!(found.len(), MAX_REFUSALS);
        assert!(found.is_sorted_by_key(|(one, _, _)| one.seq));
        assert!(found.iter().all(|(_, _, last)| *last));
        assert!(refusals.is_empty() && refusals.lists.is_empty());
        assert!(refusals.frames.is_empty());
    }

    #[test]
    fn only_those_before_or_of_other_exchanges_are_taken() {
        let taken = |need: Need, which| {
            let mut refusals = Refusals::default();
            for seq in [3, 5, 4] {
                let mut one = refusal(seq, "t");
                one.needs.push((Need::Exchange, Resolved::Auth));
                add(&mut refusals, one);
            }
            let found = refusals.take(&need, &ALL, ClientKey::default(), which);
            let left = refusals.open.len();
            assert_eq!(found.len() + left, 3);
            found
                .iter()
                .map(|(one, _, _)| one.seq.0)
                .collect::<Vec<_>>()
        };
        let operation = || Need::Operation("tools/call".into(), Some("t".into()));
        assert_eq!(taken(Need::Greeting, Which::All), [3, 5, 4]);
        assert_eq!(taken(Need::Greeting, Which::Before(Seq(5))), [3, 4]);
        assert_eq!(taken(operation(), Which::Before(Seq(4))), [3]);
        assert_eq!(taken(operation(), Which::Before(Seq(3))), [0; 0]);
        assert_eq!(taken(Need::Exchange, Which::Except(5)), [3, 4]);
        assert_eq!(taken(Need::Exchange, Which::Except(9)), [3, 5, 4]);
    }

    #[test]
    fn a_frame_stays_errored_for_what_nothing_makes_good() {
        let last = |surplus: bool, unremembered: bool| {
            let mut refusals = Refusals::default();
            add(&mut refusals, refusal(1, "a"));
            if unremembered {
                refusals.failed(refusal(1, "b").row);
            }
            add(&mut refusals, refusal(1, "c"));
            let others = MAX_REFUSALS as u64 - if surplus { 1 } else { 2 };
            for seq in 2..2 + others {
                add(&mut refusals, refusal(seq, "d"));
            }
            let mut last = Vec::new();
            for name in ["a", "c"] {
                let need = Need::Operation("tools/call".into(), Some(name.into()));
                let found = refusals.take(&need, &ALL, ClientKey::default(), Which::All);
                last.extend(found.iter().map(|(_, _, last)| *last));
            }
            last
        };
        assert_eq!(last(false, false), [false, true]);
        assert_eq!(last(false, true), [false, false]);
        assert_eq!(last(true, false), [false]);
    }

    #[test]
    fn clients_find_what_they_agree_with_and_nothing_else() {
        let keys = || (0..3).flat_map(|host| (0..3).map(move |who| (host, who)));
        let key = |(host, who)| ClientKey {
            host,
            who,
            ..ClientKey::default()
        };
        for asking in keys().map(key) {
            let mut refusals = Refusals::default();
            for (seq, refused) in (1..).zip(keys().map(key)) {
                let client = refused;
                let one = Refusal {
                    client,
                    ..refusal(seq, "t")
                };
                add(&mut refusals, one);
            }
            let found = refusals.take(&Need::Greeting, &ALL, asking, Which::All);
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
            add(&mut refusals, refusal(1, name));
        }
        add(&mut refusals, refusal(2, "d"));
        let mut last = |name: &str| {
            let need = Need::Operation("tools/call".into(), Some(name.into()));
            let found = refusals.take(&need, &ALL, ClientKey::default(), Which::All);
            found.iter().map(|(_, _, last)| *last).collect::<Vec<_>>()
        };
        assert_eq!(last("b"), [false]);
        assert_eq!(last("c"), [false]);
        assert_eq!(last("c"), [false; 0]);
        assert_eq!(last("a"), [true]);
        assert_eq!(last("d"), [true]);
    }
}
