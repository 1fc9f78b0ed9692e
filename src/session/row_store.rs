//! The rows of a session, in blocks, so that appending never moves what is there
//! (session-model.md 22).

use std::{collections::VecDeque, path::PathBuf, sync::Arc};

use super::{
    row::RowId,
    stored::{LAST_DIRECTION, Stored},
};
use crate::record::{Direction, Place};

/// Rows in one block.
const BLOCK: usize = 2_048;

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
        row.set_place(u16::try_from(log).unwrap_or(u16::MAX), place.offset);
        row.length = place.length;
    }

    /// Where the line of a row lies.
    pub(super) fn place(&self, row: &Stored) -> Option<Place> {
        let (log, offset) = row.place();
        Some(Place {
            log: Arc::clone(self.logs.get(usize::from(log))?),
            offset,
            length: row.length,
        })
    }

    /// Notes who sent a row; of the words that no format knows, those beyond the bound are one.
    pub(super) fn set_direction(&mut self, row: &mut Stored, direction: &Direction) {
        if self.directions.is_empty() {
            self.directions = vec![
                Direction::ClientToServer,
                Direction::ServerToClient,
                Direction::Stderr,
                Direction::Meta,
            ];
        }
        let known = self.directions.iter().position(|known| known == direction);
        let at = known.unwrap_or_else(|| {
            if self.directions.len() <= usize::from(LAST_DIRECTION) {
                self.directions.push(direction.clone());
            }
            self.directions.len() - 1
        });
        row.set_direction(u8::try_from(at).unwrap_or(LAST_DIRECTION));
    }

    /// Who sent a row.
    pub(super) fn direction(&self, row: &Stored) -> &Direction {
        self.directions
            .get(usize::from(row.direction()))
            .unwrap_or(&Direction::Meta)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{record::Seq, session::row::Kind};

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
}
