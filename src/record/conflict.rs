//! Two envelopes with one number: whether they say the same, and which of them is kept
//! (session-model.md 2.1).

use std::{cmp::Reverse, sync::Arc};

use sha2::{Digest as _, Sha256};

use super::{Encoder, Envelope, Payload};
use crate::base::Timestamp;

/// True when two envelopes of one number say the same: every decoded field, but for the name that a
/// reader gave to a later run (2.1.1).
pub fn says_the_same(one: &Envelope, two: &Envelope) -> bool {
    if one.session_id == two.session_id {
        return one == two;
    }
    let named = Envelope {
        session_id: Arc::clone(&one.session_id),
        ..two.clone()
    };
    *one == named
}

/// True when `new` is kept of two envelopes of one number that differ, whichever came first (2.1.2).
pub fn takes_precedence(new: &Envelope, known: &Envelope) -> bool {
    let order = rank(new).cmp(&rank(known));
    // Equal in all of that, they differ in what stands beside: their lines decide.
    order.then_with(|| line(new).cmp(&line(known))).is_lt()
}

/// What is smaller is kept: redacted first, then the smaller time stamp, then the smaller hash.
type Rank = (Reverse<bool>, bool, Option<Timestamp>, [u8; 32]);

fn rank(envelope: &Envelope) -> Rank {
    let mut hash = Sha256::new();
    match &envelope.payload {
        Payload::Nothing => {}
        Payload::Raw(raw) => hash.update(raw.bytes()),
        Payload::Text(text) => hash.update(text),
    }
    (
        Reverse(envelope.redacted),
        envelope.ts.is_none(),
        envelope.ts,
        hash.finalize().into(),
    )
}

fn line(envelope: &Envelope) -> Vec<u8> {
    let mut line = Vec::new();
    Encoder::new("", &envelope.server_label).encode(envelope, &mut line);
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::script;

    /// Envelopes of one number, the one that is kept first.
    #[test]
    fn one_is_kept_whichever_came_first() {
        let one = |text: &str| script::session(text).unwrap().remove(0);
        let pairs = [
            (one("@9 > N a [red]"), one("@5 > N a")),
            (one("@3 > N b"), one("@5 > N a")),
            (one("@5 > N a"), {
                let mut timeless = one("> N b");
                timeless.ts = None;
                timeless
            }),
        ];
        for (kept, other) in &pairs {
            assert!(takes_precedence(kept, other), "{kept:?}");
            assert!(!takes_precedence(other, kept), "{other:?}");
            assert!(!says_the_same(kept, other));
        }
        let alike = [
            (one("< H401 [x=1]"), one("< H402 [x=1]")),
            (one("> N a [c=a]"), one("> N a [c=b]")),
            (one("> N a"), one("< N a")),
            (one("< T \"5\""), one("< {\"a\":5}")),
        ];
        for (one, other) in &alike {
            assert!(!says_the_same(one, other));
            let forth = takes_precedence(one, other);
            assert_ne!(forth, takes_precedence(other, one), "{one:?} {other:?}");
        }
    }
}
