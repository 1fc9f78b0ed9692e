//! The request that an answer belongs to (session-model.md 4.4, M1 to M5), found through the index of
//! ids, never by a scan.

use super::{
    hops::{ClientKey, HopEntry, HopId, Hops, Side, same_conn},
    key::Key,
};

/// Hops on other connections beyond which an answer is ambiguous (M3).
const MAX_ELSEWHERE: usize = 64;

/// What an answer is known by.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted<'a> {
    /// Who sent the request.
    pub(super) side: Side,
    pub(super) key: Option<&'a Key>,
    pub(super) conn: u32,
    pub(super) exchange: u64,
    pub(super) client: ClientKey,
    pub(super) http: bool,
    /// Its id says nothing: redacted, cut off, or `null` on an error.
    pub(super) nameless: bool,
    /// It is an error with an HTTP status of 400 and above.
    pub(super) refused: bool,
}

/// What was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// The request.
    Hop(HopId),
    /// Several may be it.
    Several,
    /// None.
    Nothing,
}

impl Hops {
    /// The request that an answer belongs to, by M1 to M5.
    pub(super) fn find(&self, wanted: &Wanted<'_>) -> Found {
        let named = wanted
            .key
            .map(|key| self.with_key(wanted.side, key))
            .into_iter()
            .flatten();
        // Those that wait are found even where very many have the id.
        if let Some(key) = wanted.key {
            let has_key = |id: &HopId| self.get(*id).and_then(|hop| hop.key.as_ref()) == Some(key);
            let mut waiting = self.exchanges.with_key(wanted.exchange, wanted.side, key);
            if let Some(id) = waiting.find(has_key) {
                return Found::Hop(id);
            }
        }
        if wanted.exchange != 0
            && let Some((id, _)) = named
                .clone()
                .find(|(_, hop)| hop.exchange == wanted.exchange)
        {
            return Found::Hop(id);
        }
        if let Some((id, _)) = named.clone().find(|(_, hop)| {
            same_conn(hop.conn, wanted.conn, wanted.http) && (!wanted.http || !hop.answered)
        }) {
            return Found::Hop(id);
        }
        if wanted.http {
            let found = elsewhere(named.clone(), wanted.client);
            if found != Found::Nothing {
                return found;
            }
        }
        let unnamed = wanted.nameless || (wanted.refused && named.clone().next().is_none());
        if unnamed && let Some(single) = self.exchanges.only(wanted.exchange, wanted.side) {
            return Found::Hop(single);
        }
        if !wanted.http {
            return Found::Nothing;
        }
        let mut answered = named.filter(|(_, hop)| hop.answered);
        answered
            .clone()
            .find(|(_, hop)| same_conn(hop.conn, wanted.conn, wanted.http))
            .or_else(|| answered.find(|(_, hop)| hop.client == wanted.client))
            .map_or(Found::Nothing, |(id, _)| Found::Hop(id))
    }
}

/// M3: the only unanswered hop of the client, whatever its connection.
fn elsewhere<'a>(
    named: impl Iterator<Item = (HopId, &'a HopEntry)> + Clone,
    client: ClientKey,
) -> Found {
    let fitting = named.filter(|(_, hop)| !hop.answered && hop.client.agrees(client));
    if fitting.clone().nth(MAX_ELSEWHERE).is_some() {
        return Found::Several;
    }
    let equal = fitting.clone().filter(|(_, hop)| hop.client == client);
    if equal.clone().next().is_some() {
        return one_of(equal);
    }
    one_of(fitting)
}

/// The only one, else the only one that waits.
fn one_of<'a>(hops: impl Iterator<Item = (HopId, &'a HopEntry)> + Clone) -> Found {
    if hops.clone().next().is_none() {
        return Found::Nothing;
    }
    let waiting = hops.clone().filter(|(_, hop)| hop.waiting);
    only(hops)
        .or_else(|| only(waiting))
        .map_or(Found::Several, Found::Hop)
}

/// The single element.
pub(super) fn only<'a>(mut hops: impl Iterator<Item = (HopId, &'a HopEntry)>) -> Option<HopId> {
    let (id, _) = hops.next()?;
    hops.next().is_none().then_some(id)
}
