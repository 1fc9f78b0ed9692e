//! Two envelopes with one number while both are at hand (session-model.md 2.1).

use super::event::{FeedFrame, Origin};
use crate::record::{says_the_same, takes_precedence};

/// Keeps one of two frames with one number, and says whether they differ. What is known of where and
/// when either came stays known.
pub(super) fn keep_one(one: Box<FeedFrame>, two: Box<FeedFrame>) -> (Box<FeedFrame>, bool) {
    let differ =
        one.line.bytes != two.line.bytes && !says_the_same(&one.line.envelope, &two.line.envelope);
    let take_two = differ && takes_precedence(&two.line.envelope, &one.line.envelope);
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
