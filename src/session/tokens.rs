//! Progress tokens of request frames, and which of them can still be told apart
//! (session-model.md 9).

use smallvec::SmallVec;

use super::{
    decimal::Decimal,
    hops::{HopEntry, HopId, Hops, Side, same_conn},
    key::Key,
};

/// Hops of one token that are looked at.
const MAX_TOKEN: usize = 32;
/// Answered hops whose token is remembered (session-model.md 22.3).
const MAX_ANSWERED: usize = 4_096;

/// How long a token is good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Its request was not answered.
    Live,
    /// A core task holds it until it is over.
    Held,
    /// Whether it is over cannot be known: an extension task, or a redacted answer.
    Quiet,
    /// Its request was answered, or its task is over.
    Ended,
}

/// The last value of a token, and the stream that it came on.
#[derive(Debug)]
pub(super) struct Value {
    pub(super) number: Decimal,
    /// As sent.
    pub(super) text: Box<str>,
    pub(super) conn: u32,
    pub(super) exchange: u64,
}

/// The token of one request frame.
#[derive(Debug)]
pub(super) struct Token {
    pub(super) key: Key,
    pub(super) phase: Phase,
    pub(super) last: Option<Box<Value>>,
    /// More requests than are looked at had this token: nobody is accused.
    pub(super) blurred: bool,
    /// Place among the answered ones; 0 is none.
    stamp: u64,
}

impl Token {
    /// The token of a request that was just sent.
    pub(super) fn new(key: Key) -> Self {
        Self {
            key,
            phase: Phase::Live,
            last: None,
            blurred: false,
            stamp: 0,
        }
    }

    /// True until its request was answered and its task is over.
    pub(super) fn is_open(&self) -> bool {
        self.phase != Phase::Ended
    }
}

/// True when two frames belong to one connection or one peer.
fn is_near(one: &HopEntry, other: &HopEntry, http: bool) -> bool {
    let (peer, other_peer) = (one.client.peer, other.client.peer);
    if peer != 0 && other_peer != 0 {
        return peer == other_peer;
    }
    same_conn(one.conn, other.conn, http)
}

impl Hops {
    /// Hops with a progress token, newest first.
    pub(super) fn with_token<'a>(
        &'a self,
        side: Side,
        token: &'a Key,
    ) -> impl Iterator<Item = (HopId, &'a HopEntry)> + Clone {
        let fits = move |hop: &HopEntry| {
            let key = hop.token.as_ref().map(|token| &token.key);
            hop.side == side && key == Some(token)
        };
        let all = self.by_token.all((side, token));
        all.filter_map(move |id| Some((id, self.get(id).filter(|hop| fits(hop))?)))
    }

    /// Lets a new hop be found by its token; the oldest with the same one gives way at the bound.
    pub(super) fn index_token(&mut self, id: HopId) {
        let Some(hop) = self.get(id) else { return };
        let (side, Some(token)) = (hop.side, &hop.token) else {
            return;
        };
        let key = token.key.clone();
        let mut others: SmallVec<[(HopId, bool, bool); MAX_TOKEN]> = self
            .with_token(side, &key)
            .filter_map(|(hop, entry)| Some((hop, entry.token.as_ref()?)))
            .map(|(hop, token)| (hop, token.is_open(), token.blurred))
            .collect();
        let mut blurred = others.iter().any(|(_, _, blurred)| *blurred);
        if others.len() >= MAX_TOKEN {
            let over = others.iter().rposition(|(_, open, _)| !open);
            // Progress of the one that goes may be taken for that of another from now on.
            blurred |= over.is_none();
            let (surplus, _, _) = others.remove(over.unwrap_or(others.len() - 1));
            self.by_token.remove((side, &key), Some(surplus));
            self.forgotten_tokens += 1;
        }
        self.by_token.add((side, &key), id);
        let all = others.iter().map(|(hop, _, was)| (*hop, *was));
        for (hop, was_blurred) in all.chain([(id, false)]) {
            if blurred
                && !was_blurred
                && let Some(token) = self.token_mut(hop)
            {
                token.blurred = true;
            }
        }
    }

    pub(super) fn token_mut(&mut self, id: HopId) -> Option<&mut Token> {
        self.get_mut(id)?.token.as_deref_mut()
    }

    /// Other requests that use the token of this one and are not over, on its connection or of its
    /// peer.
    pub(super) fn rivals(&self, id: HopId, http: bool) -> impl Iterator<Item = &HopEntry> {
        let hop = self.get(id);
        let token = hop.and_then(|hop| Some((hop, hop.token.as_ref()?)));
        let all = token.map(|(hop, token)| (hop, self.with_token(hop.side, &token.key)));
        all.into_iter()
            .flat_map(|(hop, all)| all.map(move |other| (hop, other)))
            .filter(move |(_, (other, _))| *other != id)
            .filter(move |(hop, (_, other))| {
                let open = other.token.as_ref().is_some_and(|token| token.is_open());
                open && is_near(hop, other, http)
            })
            .map(|(_, (_, other))| other)
    }

    /// Notes in which phase the token of an answered hop is; the one that was not used for longest
    /// is forgotten at the bound.
    pub(super) fn set_phase(&mut self, id: HopId, phase: Phase) {
        let Some(token) = self.token_mut(id) else {
            return;
        };
        token.phase = phase;
        if phase == Phase::Ended {
            // Only values of a token that is good are compared.
            token.last = None;
        }
        self.use_token(id);
    }

    /// Notes that the token of an answered hop was used.
    pub(super) fn use_token(&mut self, id: HopId) {
        self.last_stamp += 1;
        let stamp = self.last_stamp;
        let Some(token) = self.token_mut(id) else {
            return;
        };
        let before = std::mem::replace(&mut token.stamp, stamp);
        self.token_order.remove(&before);
        self.token_order.insert(stamp, id);
        if self.token_order.len() > MAX_ANSWERED
            && let Some((_, oldest)) = self.token_order.pop_first()
        {
            self.forgotten_tokens += 1;
            self.drop_token(oldest);
        }
    }

    fn drop_token(&mut self, id: HopId) {
        let Some(hop) = self.get_mut(id) else { return };
        let side = hop.side;
        if let Some(token) = hop.token.take() {
            self.by_token.remove((side, &token.key), Some(id));
        }
    }

    /// Takes the token of a hop that is forgotten out of every index.
    pub(super) fn forget_token(&mut self, id: HopId, hop: &HopEntry) {
        if let Some(token) = &hop.token {
            self.by_token.remove((hop.side, &token.key), Some(id));
            self.token_order.remove(&token.stamp);
        }
    }
}
