//! Two envelopes with one number while both are at hand (session-model.md 2.1).

use std::cmp::Reverse;

use sha2::{Digest as _, Sha256};

use super::event::{FeedFrame, Origin};
use crate::record::{Envelope, Payload};

/// Keeps one of two frames with one number, and says whether they differ. What is known of where and
/// when either came stays known.
pub(super) fn keep_one(one: Box<FeedFrame>, two: Box<FeedFrame>) -> (Box<FeedFrame>, bool) {
    let differ =
        one.line.bytes != two.line.bytes && !is_equal(&one.line.envelope, &two.line.envelope);
    let take_two = differ && rank(&two.line.envelope) < rank(&one.line.envelope);
    let (mut kept, other) = if take_two { (two, one) } else { (one, two) };
    if !differ {
        kept.place = kept.place.take().or(other.place);
    }
    kept.arrived = kept.arrived.or(other.arrived);
    if other.origin == Origin::Socket {
        kept.origin = Origin::Socket;
    }
    (kept, differ)
}

/// True when two envelopes of one number say the same (session-model.md 2.1.1).
pub fn says_the_same(one: &Envelope, two: &Envelope) -> bool {
    is_equal(one, two)
}

/// True when `new` is kept of two envelopes of one number that differ (session-model.md 2.1.2).
pub fn takes_precedence(new: &Envelope, known: &Envelope) -> bool {
    rank(new) < rank(known)
}

/// Equal in every decoded field, but for the name that a reader gave to a later run.
fn is_equal(one: &Envelope, two: &Envelope) -> bool {
    let named = Envelope {
        session_id: std::sync::Arc::clone(&one.session_id),
        ..two.clone()
    };
    *one == named
}

/// What is smaller is kept: redacted first, then the smaller time stamp, then the smaller hash.
type Rank = (
    Reverse<bool>,
    bool,
    Option<crate::base::Timestamp>,
    [u8; 32],
);

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
