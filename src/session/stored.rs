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
    pub(super) offset: u64,
    pub(super) held: Option<Box<Held>>,
    pub(super) json_id: Option<JsonId>,
    index: u32,
    pub(super) length: u32,
    pub(super) size: u32,
    method: u32,
    call: u32,
    batch_index: u16,
    batch_size: u16,
    pub(super) status: u16,
    pub(super) log: u16,
    flags: u8,
    pub(super) kind: Kind,
    pub(super) direction: u8,
    /// True when the frame carried a payload, held or not.
    pub(super) has_body: bool,
}

impl Stored {
    /// A row of a frame without anything but what its envelope says.
    pub(super) fn new(id: RowId, ts: Option<Timestamp>, kind: Kind) -> Self {
        Self {
            seq: id.seq.0,
            index: id.index,
            ts: ts.map_or(i64::MIN, Timestamp::as_nanos),
            offset: 0,
            length: 0,
            log: u16::MAX,
            held: None,
            json_id: None,
            size: 0,
            method: NONE,
            call: NONE,
            batch_index: 0,
            batch_size: 0,
            status: 0,
            flags: 0,
            kind,
            direction: 0,
            has_body: false,
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

    pub(super) fn batch(&self) -> Option<(u32, u32)> {
        (self.batch_size > 0).then(|| (self.batch_index.into(), self.batch_size.into()))
    }

    pub(super) fn set_batch(&mut self, index: u32, size: u32) {
        self.batch_index = u16::try_from(index).unwrap_or(u16::MAX);
        self.batch_size = u16::try_from(size).unwrap_or(u16::MAX);
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
            None if self.has_body => Body::Released,
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
    fn a_row_takes_at_most_100_bytes() {
        assert!(size_of::<Stored>() <= 100, "{}", size_of::<Stored>());
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
