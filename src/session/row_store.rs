//! Rows in compact form, in blocks, so that appending never moves what is there
//! (session-model.md 22).

use std::{collections::VecDeque, path::PathBuf, sync::Arc};

use bytes::Bytes;

use super::{
    call::CallId,
    key::JsonId,
    row::{Body, Kind, RowFlags, RowId},
};
use crate::{
    base::Timestamp,
    record::{Direction, Envelope, Place, Seq},
};

/// Rows in one block.
const BLOCK: usize = 2_048;
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
    offset: u64,
    pub(super) held: Option<Box<Held>>,
    pub(super) json_id: Option<JsonId>,
    index: u32,
    length: u32,
    pub(super) size: u32,
    method: u32,
    call: u32,
    batch_index: u16,
    batch_size: u16,
    pub(super) status: u16,
    log: u16,
    flags: u8,
    pub(super) kind: Kind,
    direction: u8,
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

/// The rows of one session in order of `RowId`.
#[derive(Debug, Default)]
pub(super) struct Rows {
    blocks: VecDeque<VecDeque<Stored>>,
    /// Position of the first row of each block, counted from the first row ever.
    starts: VecDeque<usize>,
    /// Rows that were dropped at the front.
    dropped: usize,
    len: usize,
    #[expect(
        clippy::rc_buffer,
        reason = "shared with the places that come in, so that none is copied"
    )]
    logs: Vec<Arc<PathBuf>>,
    directions: Vec<Direction>,
}

impl Rows {
    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn last_id(&self) -> Option<RowId> {
        self.blocks.back()?.back().map(Stored::id)
    }

    pub(super) fn get(&self, position: usize) -> Option<&Stored> {
        let (block, at) = self.locate(position)?;
        self.blocks.get(block)?.get(at)
    }

    /// Position of a row.
    pub(super) fn position(&self, id: RowId) -> Option<usize> {
        let (block, at) = self.find(id)?;
        Some(self.starts.get(block)? + at - self.dropped)
    }

    pub(super) fn by_id(&self, id: RowId) -> Option<&Stored> {
        let (block, at) = self.find(id)?;
        self.blocks.get(block)?.get(at)
    }

    pub(super) fn by_id_mut(&mut self, id: RowId) -> Option<&mut Stored> {
        // Nearly always it is the row that was just added.
        if self.last_id() == Some(id) {
            return self.blocks.back_mut()?.back_mut();
        }
        let (block, at) = self.find(id)?;
        self.blocks.get_mut(block)?.get_mut(at)
    }

    /// Adds a row in its place.
    pub(super) fn insert(&mut self, row: Stored) {
        self.len += 1;
        if self.last_id().is_none_or(|last| last < row.id()) {
            self.push(row);
            return;
        }
        let id = row.id();
        let block = self
            .blocks
            .partition_point(|block| block.back().is_some_and(|last| last.id() < id));
        let Some(rows) = self.blocks.get_mut(block) else {
            return;
        };
        let at = rows.partition_point(|known| known.id() < id);
        rows.insert(at, row);
        if rows.len() > BLOCK * 2 {
            let upper = rows.split_off(BLOCK);
            self.blocks.insert(block + 1, upper);
        }
        self.renumber();
    }

    fn push(&mut self, row: Stored) {
        match self.blocks.back_mut() {
            Some(block) if block.len() < BLOCK => block.push_back(row),
            _ => {
                let room = if self.blocks.is_empty() { 16 } else { BLOCK };
                let mut block = VecDeque::with_capacity(room);
                block.push_back(row);
                self.starts.push_back(self.dropped + self.len - 1);
                self.blocks.push_back(block);
            }
        }
    }

    fn renumber(&mut self) {
        let mut next = self.dropped;
        self.starts.clear();
        for block in &self.blocks {
            self.starts.push_back(next);
            next += block.len();
        }
    }

    /// Takes the first row out.
    pub(super) fn pop_front(&mut self) -> Option<Stored> {
        let block = self.blocks.front_mut()?;
        let row = block.pop_front()?;
        self.dropped += 1;
        self.len -= 1;
        if let Some(start) = self.starts.front_mut() {
            *start = self.dropped;
        }
        if block.is_empty() {
            self.blocks.pop_front();
            self.starts.pop_front();
        }
        Some(row)
    }

    /// The first row that is held.
    pub(super) fn first(&self) -> Option<&Stored> {
        self.blocks.front()?.front()
    }

    /// All rows in order.
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Stored> {
        self.blocks.iter_mut().flatten()
    }

    /// Position of the first row that is not below `id`.
    pub(super) fn lower_bound(&self, id: RowId) -> usize {
        let block = self
            .blocks
            .partition_point(|block| block.back().is_some_and(|last| last.id() < id));
        let Some(rows) = self.blocks.get(block) else {
            return self.len;
        };
        self.starts.get(block).copied().unwrap_or(0) - self.dropped
            + rows.partition_point(|row| row.id() < id)
    }

    fn locate(&self, position: usize) -> Option<(usize, usize)> {
        let wanted = position.checked_add(self.dropped)?;
        let block = self
            .starts
            .partition_point(|start| *start <= wanted)
            .checked_sub(1)?;
        Some((block, wanted - self.starts.get(block)?))
    }

    fn find(&self, id: RowId) -> Option<(usize, usize)> {
        let block = self
            .blocks
            .partition_point(|block| block.back().is_some_and(|last| last.id() < id));
        let at = self
            .blocks
            .get(block)?
            .binary_search_by_key(&id, Stored::id)
            .ok()?;
        Some((block, at))
    }

    /// Notes where the line of a row lies.
    pub(super) fn set_place(&mut self, row: &mut Stored, place: &Place) {
        let known = self.logs.iter().rposition(|log| *log == place.log);
        let log = known.unwrap_or_else(|| {
            if self.logs.len() < usize::from(u16::MAX) {
                self.logs.push(Arc::clone(&place.log));
            }
            self.logs.len() - 1
        });
        row.log = u16::try_from(log).unwrap_or(u16::MAX);
        row.offset = place.offset;
        row.length = place.length;
    }

    /// Where the line of a row lies.
    pub(super) fn place(&self, row: &Stored) -> Option<Place> {
        Some(Place {
            log: Arc::clone(self.logs.get(usize::from(row.log))?),
            offset: row.offset,
            length: row.length,
        })
    }

    /// Notes who sent a row; at most 250 unknown words are told apart.
    pub(super) fn set_direction(&mut self, row: &mut Stored, direction: &Direction) {
        let known = self.directions.iter().position(|known| known == direction);
        let at = known.unwrap_or_else(|| {
            if self.directions.len() < 254 {
                self.directions.push(direction.clone());
            }
            self.directions.len() - 1
        });
        row.direction = u8::try_from(at).unwrap_or(u8::MAX);
    }

    /// Who sent a row.
    pub(super) fn direction(&self, row: &Stored) -> &Direction {
        self.directions
            .get(usize::from(row.direction))
            .unwrap_or(&Direction::Meta)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(seq: u64) -> Stored {
        let id = RowId {
            seq: Seq(seq),
            index: 0,
        };
        Stored::new(id, None, Kind::Other)
    }

    fn filled(count: u64) -> Rows {
        let mut rows = Rows::default();
        for seq in 1..=count {
            rows.insert(row(seq * 2));
        }
        rows
    }

    fn check(rows: &Rows, expected: &[u64]) {
        assert_eq!(rows.len(), expected.len());
        for (position, seq) in expected.iter().enumerate() {
            let found = rows.get(position).map(Stored::id);
            assert_eq!(found.map(|id| id.seq.0), Some(*seq));
            assert_eq!(found.and_then(|id| rows.position(id)), Some(position));
        }
        assert!(rows.get(expected.len()).is_none());
    }

    #[test]
    fn a_row_takes_at_most_100_bytes() {
        assert!(size_of::<Stored>() <= 100, "{}", size_of::<Stored>());
    }

    #[test]
    fn rows_are_found_by_position_and_by_number_across_blocks() {
        let count = BLOCK as u64 * 3 + 5;
        let mut rows = filled(count);
        let mut expected: Vec<u64> = (1..=count).map(|at| at * 2).collect();
        check(&rows, &expected);
        for _ in 0..(BLOCK + 7) {
            rows.pop_front();
            expected.remove(0);
        }
        check(&rows, &expected);
        for seq in [9_001, 9_003, 5_001, count * 2 + 1] {
            rows.insert(row(seq));
            expected.push(seq);
        }
        expected.sort_unstable();
        check(&rows, &expected);
        let bound = RowId {
            seq: Seq(9_002),
            index: 0,
        };
        let at = expected.partition_point(|seq| *seq < 9_002);
        assert_eq!(rows.lower_bound(bound), at);
    }

    #[test]
    fn many_rows_out_of_place_split_a_block() {
        let mut rows = filled(BLOCK as u64 * 2);
        let mut expected: Vec<u64> = (1..=BLOCK as u64 * 2).map(|at| at * 2).collect();
        for at in 0..(BLOCK as u64 + 50) {
            rows.insert(row(at * 2 + 1));
            expected.push(at * 2 + 1);
        }
        expected.sort_unstable();
        check(&rows, &expected);
    }

    #[test]
    fn marks_survive() {
        let mut stored = row(1);
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
