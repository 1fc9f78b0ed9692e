//! Operations that wait for their client to come back, and the search for the one that a request
//! continues (session-model.md 11.2, 11.3). A wrong link is worse than none.

use std::{collections::BTreeMap, hash::Hash, sync::Arc};

use smallvec::SmallVec;

use super::{
    call::CallId,
    canonical,
    hash::Map,
    hops::{ClientKey, Side},
    issued::State,
    key_set::KeySet,
    reading::Known,
};
use crate::record::Seq;

/// Candidates of one session (session-model.md 11.6).
const MAX_PARKED: usize = 1_024;

/// What a retry is compared with.
#[derive(Clone, Debug)]
pub(super) struct Shape {
    pub(super) side: Side,
    pub(super) method: Arc<str>,
    pub(super) operation: Option<Arc<str>>,
    /// The method, the name of the operation were redacted: they agree with any.
    pub(super) hidden: (bool, bool),
    pub(super) client: ClientKey,
    /// Keys that were asked for, or that are answered.
    pub(super) keys: Known<KeySet>,
    pub(super) state: Known<[u8; 16]>,
    /// Hash of the parameters that a retry repeats.
    pub(super) base: Option<u64>,
    /// The frame: the interim answer, or the retry.
    pub(super) seq: Seq,
}

impl Shape {
    /// Hash of direction, method and name.
    pub(super) fn operation_hash(&self) -> u64 {
        operation_hash(self.side, &self.method, self.operation.as_deref())
    }

    pub(super) fn is_vague(&self) -> bool {
        self.hidden.0 || self.hidden.1
    }

    fn same_operation(&self, other: &Self) -> bool {
        let method = self.hidden.0 || other.hidden.0 || self.method == other.method;
        let name = self.hidden.1 || other.hidden.1 || self.operation == other.operation;
        self.side == other.side && method && name
    }

    fn same_base(&self, other: &Self) -> bool {
        match (self.base, other.base) {
            (Some(one), Some(other)) => one == other,
            _ => true,
        }
    }

    fn same_presence(&self, other: &Self) -> bool {
        matches!(
            (&self.state, &other.state),
            (Known::Absent, Known::Absent)
                | (Known::Unknown, _)
                | (_, Known::Unknown)
                | (Known::Is(_), Known::Is(_))
        )
    }

    fn same_keys(&self, other: &Self) -> bool {
        matches!((&self.keys, &other.keys), (Known::Is(one), Known::Is(other)) if one == other)
    }

    /// A part of the keys is answered, and no state is involved that could say more.
    fn is_partly_answered_by(&self, retry: &Self) -> bool {
        let part = matches!((&retry.keys, &self.keys), (Known::Is(part), Known::Is(whole)) if part.is_part_of(whole));
        let stateless = matches!((&self.state, &retry.state), (Known::Absent, Known::Absent));
        part && stateless && self.base.is_some() && self.base == retry.base
    }
}

/// Whether a request continues a parked operation.
#[derive(Debug)]
pub(super) enum Continuation {
    /// This one, taken out of the candidates.
    Linked {
        call: CallId,
        parked: Box<Shape>,
        /// The link rests on the state.
        by_state: bool,
    },
    /// None.
    Nothing {
        /// Several fit equally well.
        ambiguous: bool,
        /// Its state is that of another operation of the same client.
        elsewhere: Option<Seq>,
    },
}

/// Places in the order of parking, by something.
type Index<K> = Map<K, SmallVec<[u64; 1]>>;

/// The candidates, oldest first.
#[derive(Debug, Default)]
pub(super) struct Parked {
    next: u64,
    list: BTreeMap<u64, (CallId, Shape)>,
    places: Map<CallId, u64>,
    by_state: Index<[u8; 16]>,
    /// By method and name, and by these and the key set.
    by_operation: Index<u64>,
    by_keys: Index<(u64, u64)>,
    /// How many have a method or name that is not known.
    vague: usize,
}

impl Parked {
    /// Adds a candidate; answers the one that is given up for it.
    pub(super) fn add(&mut self, call: CallId, shape: Shape) -> Option<CallId> {
        self.remove(call);
        let place = self.next;
        self.next += 1;
        let operation = shape.operation_hash();
        if let Known::Is(state) = shape.state {
            self.by_state.entry(state).or_default().push(place);
        }
        if let Known::Is(keys) = &shape.keys {
            let both = (operation, keys.sum);
            self.by_keys.entry(both).or_default().push(place);
        }
        self.by_operation.entry(operation).or_default().push(place);
        self.vague += usize::from(shape.is_vague());
        self.places.insert(call, place);
        self.list.insert(place, (call, shape));
        let oldest = self.list.first_key_value().map(|(_, (call, _))| *call);
        let retired = oldest.filter(|_| self.list.len() > MAX_PARKED)?;
        self.remove(retired);
        Some(retired)
    }

    /// Takes a candidate out: it was continued, or it is over.
    pub(super) fn remove(&mut self, call: CallId) -> Option<Shape> {
        let place = self.places.remove(&call)?;
        let (_, shape) = self.list.remove(&place)?;
        let operation = shape.operation_hash();
        if let Known::Is(state) = &shape.state {
            unlist(&mut self.by_state, state, place);
        }
        if let Known::Is(keys) = &shape.keys {
            unlist(&mut self.by_keys, &(operation, keys.sum), place);
        }
        unlist(&mut self.by_operation, &operation, place);
        self.vague = self.vague.saturating_sub(usize::from(shape.is_vague()));
        Some(shape)
    }

    /// Takes out the one operation that the request continues; `known`: what is known of its state.
    pub(super) fn take(&mut self, retry: &Shape, known: Option<State>) -> Continuation {
        let mut ambiguous = false;
        let of_state = self.of_state(retry);
        let same: Vec<_> = of_state
            .iter()
            .copied()
            .filter(|(_, shape)| shape.same_operation(retry))
            .collect();
        let foreign = |(_, shape): &&(CallId, Shape)| shape.client.is_surely(retry.client);
        let elsewhere = match same.as_slice() {
            [] => of_state.iter().copied().find(foreign),
            _ => None,
        };
        let elsewhere = elsewhere.map(|(_, shape)| shape.seq);
        // A state that was issued for what does not wait any more belongs to nothing that waits.
        let is_over = same.is_empty()
            && known.is_some_and(|known| {
                of_state.is_empty() || !known.is_foreign_to(retry.operation_hash())
            });
        let by_state = narrowed(same, true, retry, &mut ambiguous);
        let found = match by_state {
            None if !is_over => self.of_keys(retry, &mut ambiguous),
            found => found,
        };
        let Some(call) = found else {
            return Continuation::Nothing {
                ambiguous,
                elsewhere,
            };
        };
        match self.remove(call) {
            Some(parked) => Continuation::Linked {
                call,
                parked: Box::new(parked),
                by_state: by_state.is_some(),
            },
            None => Continuation::Nothing {
                ambiguous: false,
                elsewhere: None,
            },
        }
    }

    fn of_state(&self, retry: &Shape) -> Vec<&(CallId, Shape)> {
        let Known::Is(state) = &retry.state else {
            return Vec::new();
        };
        let places = self.by_state.get(state).into_iter().flatten();
        places
            .filter_map(|place| self.list.get(place))
            .filter(|(_, shape)| shape.side == retry.side)
            .collect()
    }

    /// Steps 2 to 4.
    fn of_keys(&self, retry: &Shape, ambiguous: &mut bool) -> Option<CallId> {
        let Known::Is(keys) = &retry.keys else {
            return None;
        };
        let operation = retry.operation_hash();
        let all = self.places_of(retry, self.by_keys.get(&(operation, keys.sum)));
        let fits = |shape: &Shape| {
            shape.same_operation(retry) && shape.same_keys(retry) && shape.same_base(retry)
        };
        let wide: Vec<_> = all.into_iter().filter(|(_, shape)| fits(shape)).collect();
        let mut narrow = wide.clone();
        narrow.retain(|(_, shape)| shape.same_presence(retry));
        let found = narrowed(narrow, false, retry, ambiguous)
            .or_else(|| narrowed(wide, false, retry, ambiguous));
        if found.is_some() || *ambiguous {
            return found;
        }
        let mut part = self.places_of(retry, self.by_operation.get(&operation));
        part.retain(|(_, shape)| shape.same_operation(retry) && shape.is_partly_answered_by(retry));
        narrowed(part, false, retry, ambiguous)
    }

    /// The candidates at some places; all of them where redaction hides what the index needs.
    fn places_of(
        &self,
        retry: &Shape,
        places: Option<&SmallVec<[u64; 1]>>,
    ) -> Vec<&(CallId, Shape)> {
        if retry.is_vague() || self.vague > 0 {
            return self.list.values().collect();
        }
        let places = places.into_iter().flatten();
        places.filter_map(|place| self.list.get(place)).collect()
    }
}

/// Hash of who asks, the method and the name of the operation.
pub(super) fn operation_hash(side: Side, method: &str, operation: Option<&str>) -> u64 {
    let name = |text: &str| canonical::name(text.as_bytes());
    let side = u64::from(side == Side::Client);
    name(method)
        .rotate_left(17)
        .wrapping_add(operation.map_or(0, name))
        .rotate_left(17)
        .wrapping_add(side)
}

fn unlist<K: Hash + Eq>(index: &mut Index<K>, key: &K, place: u64) {
    let Some(places) = index.get_mut(key) else {
        return;
    };
    if let Ok(at) = places.binary_search(&place) {
        places.remove(at);
    }
    if places.is_empty() {
        index.remove(key);
    }
}

/// The only candidate, if need be after further conditions.
fn narrowed(
    mut all: Vec<&(CallId, Shape)>,
    by_base: bool,
    retry: &Shape,
    ambiguous: &mut bool,
) -> Option<CallId> {
    let several = all.len() > 1;
    if several && by_base {
        all.retain(|(_, shape)| shape.same_base(retry));
    }
    if all.len() > 1 {
        all.retain(|(_, shape)| shape.client == retry.client);
    }
    if let [(call, _)] = all.as_slice() {
        return Some(*call);
    }
    *ambiguous |= several;
    None
}
