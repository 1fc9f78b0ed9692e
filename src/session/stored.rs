//! One row in compact form, and what is held of its frame (session-model.md 22).

use bytes::Bytes;

use super::{
    call::CallId,
    key::JsonId,
    row::{Body, Kind, RowFlags, RowId},
};
use crate::{
    base::Timestamp,
    record::{Envelope, Seq},
};

/// No entry in a table of names or calls.
const NONE: u32 = u32::MAX;
/// Bits of an offset in a log; what lies behind 256 TiB cannot be read again.
const OFFSET_BITS: u32 = 48;
/// Beside the status: the frame carried a payload.
const HAS_BODY: u16 = 1 << 15;
/// Beside the direction: which of `KINDS` it is.
const KIND_BITS: u8 = 0b111;
/// Number of the last direction that is told apart.
pub(super) const LAST_DIRECTION: u8 = 31;
const KINDS: [Kind; 7] = [
    Kind::Request,
    Kind::Response,
    Kind::Notification,
    Kind::Stderr,
    Kind::Invalid,
    Kind::Transport,
    Kind::Other,
];

/// What is held of a frame until its bytes are released.
#[derive(Debug)]
pub(super) struct Held {
    /// The payload of the row, and whether it is JSON.
    pub(super) body: Option<(Bytes, bool)>,
    /// The whole envelope, on the first row of a frame: what a new fold starts from.
    pub(super) envelope: Option<Envelope>,
    /// Local arrival of a live frame.
    pub(super) arrived: Option<Timestamp>,
    /// Bytes that were charged for it and are given back.
    pub(super) charge: u64,
}

/// One row as it is kept.
#[derive(Debug)]
pub(super) struct Stored {
    seq: u64,
    ts: i64,
    /// Number of the log in the upper 16 bits, offset in it below.
    place: u64,
    pub(super) held: Option<Box<Held>>,
    pub(super) json_id: Option<JsonId>,
    index: u32,
    pub(super) length: u32,
    pub(super) size: u32,
    method: u32,
    call: u32,
    status_and_body: u16,
    flags: u8,
    kind_and_direction: u8,
}

impl Stored {
    /// A row of a frame without anything but what its envelope says.
    pub(super) fn new(id: RowId, ts: Option<Timestamp>, kind: Kind) -> Self {
        let kind = KINDS.iter().position(|known| *known == kind);
        Self {
            seq: id.seq.0,
            index: id.index,
            ts: ts.map_or(i64::MIN, Timestamp::as_nanos),
            place: u64::MAX,
            length: 0,
            held: None,
            json_id: None,
            size: 0,
            method: NONE,
            call: NONE,
            status_and_body: 0,
            flags: 0,
            kind_and_direction: kind.and_then(|kind| u8::try_from(kind).ok()).unwrap_or(0),
        }
    }

    pub(super) fn id(&self) -> RowId {
        RowId {
            seq: Seq(self.seq),
            index: self.index,
        }
    }

    pub(super) fn ts(&self) -> Option<Timestamp> {
        (self.ts != i64::MIN).then(|| Timestamp::from_nanos(self.ts))
    }

    pub(super) fn method(&self) -> Option<u32> {
        (self.method != NONE).then_some(self.method)
    }

    pub(super) fn set_method(&mut self, number: u32) {
        self.method = number;
    }

    pub(super) fn call(&self) -> Option<CallId> {
        (self.call != NONE).then_some(CallId(self.call))
    }

    pub(super) fn set_call(&mut self, call: CallId) {
        self.call = call.0;
    }

    pub(super) fn kind(&self) -> Kind {
        let at = usize::from(self.kind_and_direction & KIND_BITS);
        KINDS.get(at).copied().unwrap_or(Kind::Other)
    }

    /// Which of the directions of the session it has.
    pub(super) fn direction(&self) -> u8 {
        self.kind_and_direction >> KIND_BITS.count_ones()
    }

    /// Notes which one it has, at most `LAST_DIRECTION`.
    pub(super) fn set_direction(&mut self, at: u8) {
        self.kind_and_direction =
            at << KIND_BITS.count_ones() | self.kind_and_direction & KIND_BITS;
    }

    /// HTTP status, 0 when none.
    pub(super) fn status(&self) -> u16 {
        self.status_and_body & !HAS_BODY
    }

    /// True when the frame carried a payload, held or not.
    pub(super) fn has_body(&self) -> bool {
        self.status_and_body & HAS_BODY != 0
    }

    pub(super) fn set_status(&mut self, status: u16, has_body: bool) {
        let body = if has_body { HAS_BODY } else { 0 };
        self.status_and_body = status.min(HAS_BODY - 1) | body;
    }

    /// Number of the log and offset in it.
    pub(super) fn place(&self) -> (u16, u64) {
        let log = u16::try_from(self.place >> OFFSET_BITS).unwrap_or(u16::MAX);
        (log, self.place & ((1 << OFFSET_BITS) - 1))
    }

    pub(super) fn set_place(&mut self, log: u16, offset: u64) {
        let offset = offset.min((1 << OFFSET_BITS) - 1);
        self.place = u64::from(log) << OFFSET_BITS | offset;
    }

    pub(super) fn body(&self) -> Body {
        match &self.held {
            Some(held) => held
                .body
                .as_ref()
                .map_or(Body::Nothing, |(bytes, json)| Body::Held {
                    bytes: bytes.clone(),
                    json: *json,
                }),
            None if self.has_body() => Body::Released,
            None => Body::Nothing,
        }
    }

    pub(super) fn flags(&self) -> RowFlags {
        let is = |bit: u8| self.flags & (1 << bit) != 0;
        RowFlags {
            errored: is(0),
            problem: is(1),
            truncated: is(2),
            redacted: is(3),
            retry: is(4),
            interim: is(5),
            duplicate: is(6),
            out_of_place: is(7),
        }
    }

    pub(super) fn set_flags(&mut self, flags: RowFlags) {
        self.flags = [
            flags.errored,
            flags.problem,
            flags.truncated,
            flags.redacted,
            flags.retry,
            flags.interim,
            flags.duplicate,
            flags.out_of_place,
        ]
        .iter()
        .enumerate()
        .fold(0, |bits, (bit, on)| bits | (u8::from(*on) << bit));
    }

    /// Changes marks.
    pub(super) fn mark(&mut self, change: impl FnOnce(&mut RowFlags)) {
        let mut flags = self.flags();
        change(&mut flags);
        self.set_flags(flags);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_stays_small() {
        assert!(size_of::<Stored>() <= 72, "{}", size_of::<Stored>());
    }

    #[test]
    fn what_shares_a_field_is_kept_apart() {
        for kind in KINDS {
            let mut stored = Stored::new(RowId::default(), None, kind);
            assert_eq!(stored.place().0, u16::MAX);
            stored.set_direction(LAST_DIRECTION);
            stored.set_place(7, 1 << 40);
            stored.set_status(404, true);
            assert_eq!((stored.kind(), stored.direction()), (kind, LAST_DIRECTION));
            assert_eq!(stored.place(), (7, 1 << 40));
            assert_eq!((stored.status(), stored.has_body()), (404, true));
            stored.set_direction(0);
            stored.set_place(3, u64::MAX);
            stored.set_status(u16::MAX, false);
            assert_eq!((stored.kind(), stored.direction()), (kind, 0));
            assert_eq!(stored.place(), (3, (1 << 48) - 1));
            assert_eq!((stored.status(), stored.has_body()), (0x7fff, false));
        }
    }

    #[test]
    fn marks_survive() {
        let id = RowId {
            seq: Seq(1),
            index: 0,
        };
        let mut stored = Stored::new(id, None, Kind::Other);
        stored.mark(|flags| flags.problem = true);
        stored.mark(|flags| flags.out_of_place = true);
        let flags = RowFlags {
            problem: true,
            out_of_place: true,
            ..RowFlags::default()
        };
        assert_eq!(stored.flags(), flags);
    }
}
