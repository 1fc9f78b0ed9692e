//! The calls of a session by index, in blocks, so that appending never moves what is there. Those
//! of rows that were dropped leave holes.

use std::{borrow::Cow, collections::VecDeque};

use super::{
    atoms::Atoms,
    call::{Call, CallId},
    row::RowId,
    settled::Settled,
};

/// Calls in one block.
const BLOCK: usize = 1_024;
/// A full block that holds fewer is kept as a list: the rows of the others were dropped.
const SPARSE: usize = BLOCK / 4;

#[derive(Debug)]
enum Slot {
    Gone,
    /// Open, or too special for the compact form.
    Full(Box<Call>),
    Settled(Settled),
}

#[derive(Debug)]
struct Block {
    slots: Vec<Slot>,
    /// Once few are left, their places in the block, ascending; empty before.
    places: Vec<u16>,
    /// How many slots are not gone.
    held: usize,
}

impl Block {
    fn new(room: usize) -> Self {
        Self {
            slots: Vec::with_capacity(room),
            places: Vec::new(),
            held: 0,
        }
    }

    fn push(&mut self, slot: Slot) {
        self.slots.push(slot);
        self.held += 1;
    }

    /// True when it takes no further call.
    fn is_full(&self) -> bool {
        !self.places.is_empty() || self.slots.len() >= BLOCK
    }

    /// Where the call at a place lies among the slots.
    fn slot_of(&self, place: usize) -> Option<usize> {
        if self.places.is_empty() {
            return Some(place);
        }
        let place = u16::try_from(place).ok()?;
        self.places.binary_search(&place).ok()
    }

    fn get(&self, place: usize) -> Option<&Slot> {
        self.slots.get(self.slot_of(place)?)
    }

    fn get_mut(&mut self, place: usize) -> Option<&mut Slot> {
        let at = self.slot_of(place)?;
        self.slots.get_mut(at)
    }

    /// Its calls with their places, ascending.
    fn iter(&self) -> impl Iterator<Item = (usize, &Slot)> {
        let place = |at: usize| self.places.get(at).map_or(at, |place| usize::from(*place));
        let slots = self.slots.iter().enumerate();
        slots.map(move |(at, slot)| (place(at), slot))
    }

    fn remove(&mut self, place: usize) {
        let Some(slot @ (Slot::Full(_) | Slot::Settled(_))) = self.get_mut(place) else {
            return;
        };
        *slot = Slot::Gone;
        self.held -= 1;
        // Each time half of a list has gone it is made anew, so that a call is moved a few times.
        if self.held > 0 && self.is_full() && self.held <= (self.slots.len() / 2).min(SPARSE) {
            self.thin_out();
        }
    }

    fn thin_out(&mut self) {
        let is_held = |slot: &Slot| !matches!(slot, Slot::Gone);
        let held = self.iter().filter(|(_, slot)| is_held(slot));
        self.places = held
            .filter_map(|(place, _)| u16::try_from(place).ok())
            .collect();
        self.slots.retain(is_held);
        self.slots.shrink_to_fit();
    }
}

/// Calls in request order.
#[derive(Debug, Default)]
pub(super) struct Calls {
    /// Number of blocks that were dropped at the front.
    dropped: usize,
    blocks: VecDeque<Block>,
    opened: u32,
}

impl Calls {
    /// The index that the next call gets.
    pub(super) fn next_id(&self) -> CallId {
        CallId(self.opened)
    }

    /// Adds a call under `next_id`.
    pub(super) fn add(&mut self, call: Call) {
        self.opened = self.opened.saturating_add(1);
        let slot = Slot::Full(Box::new(call));
        match self.blocks.back_mut() {
            Some(block) if !block.is_full() => block.push(slot),
            _ => {
                let room = if self.blocks.is_empty() { 16 } else { BLOCK };
                let mut block = Block::new(room);
                block.push(slot);
                self.blocks.push_back(block);
            }
        }
    }

    /// Calls ever opened.
    pub(super) fn opened(&self) -> u64 {
        self.opened.into()
    }

    pub(super) fn get(&self, id: CallId, atoms: &Atoms) -> Option<Cow<'_, Call>> {
        let (block, at) = self.find(id)?;
        view(self.blocks.get(block)?.get(at)?, id, atoms)
    }

    /// The call to be changed; `settle` makes it compact again.
    pub(super) fn get_mut(&mut self, id: CallId, atoms: &Atoms) -> Option<&mut Call> {
        let slot = self.slot_mut(id)?;
        if let Slot::Settled(settled) = slot {
            *slot = Slot::Full(Box::new(settled.call(id, atoms)?));
        }
        match slot {
            Slot::Full(call) => Some(call),
            Slot::Gone | Slot::Settled(_) => None,
        }
    }

    /// Keeps a call that is over in its compact form, if it fits.
    pub(super) fn settle(&mut self, id: CallId, atoms: &Atoms) {
        if let Some(slot) = self.slot_mut(id)
            && let Slot::Full(call) = slot
            && let Some(settled) = Settled::of(call, atoms)
        {
            *slot = Slot::Settled(settled);
        }
    }

    /// True when the row is the last one that can tell of the call.
    pub(super) fn is_over_with(&self, id: CallId, row: RowId) -> bool {
        let slot = self
            .find(id)
            .and_then(|(block, at)| self.blocks.get(block)?.get(at));
        match slot {
            Some(Slot::Settled(call)) => call.last_row() <= row,
            Some(Slot::Full(call)) => call.is_over() && !call.may_change && call.last_row <= row,
            Some(Slot::Gone) | None => false,
        }
    }

    /// Drops a call; its index stays taken.
    pub(super) fn remove(&mut self, id: CallId) {
        let Some((block, at)) = self.find(id) else {
            return;
        };
        if let Some(block) = self.blocks.get_mut(block) {
            block.remove(at);
        }
        while let Some(block) = self.blocks.front()
            && block.held == 0
            && block.is_full()
        {
            self.blocks.pop_front();
            self.dropped += 1;
        }
    }

    pub(super) fn iter<'a>(&'a self, atoms: &'a Atoms) -> impl Iterator<Item = Cow<'a, Call>> {
        let firsts = (self.dropped * BLOCK..).step_by(BLOCK);
        let slots = firsts
            .zip(&self.blocks)
            .flat_map(|(first, block)| block.iter().map(move |(at, slot)| (first + at, slot)));
        slots.filter_map(|(id, slot)| view(slot, CallId(u32::try_from(id).ok()?), atoms))
    }

    fn slot_mut(&mut self, id: CallId) -> Option<&mut Slot> {
        let (block, at) = self.find(id)?;
        self.blocks.get_mut(block)?.get_mut(at)
    }

    fn find(&self, id: CallId) -> Option<(usize, usize)> {
        let at = usize::try_from(id.0).ok()?;
        Some(((at / BLOCK).checked_sub(self.dropped)?, at % BLOCK))
    }
}

fn view<'a>(slot: &'a Slot, id: CallId, atoms: &Atoms) -> Option<Cow<'a, Call>> {
    match slot {
        Slot::Gone => None,
        Slot::Full(call) => Some(Cow::Borrowed(call)),
        Slot::Settled(settled) => settled.call(id, atoms).map(Cow::Owned),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    use crate::{record::Seq, session::call::CallState};

    #[test]
    fn a_block_with_few_calls_left_is_small_and_finds_them() {
        let mut atoms = Atoms::default();
        let method = atoms.share("tools/call");
        let mut calls = Calls::default();
        let count = u32::try_from(BLOCK * 3 + 7).unwrap();
        for seq in 0..count {
            let id = calls.next_id();
            let call = Call::new(
                id,
                Arc::clone(&method),
                Seq(seq.into()),
                CallState::Completed,
            );
            calls.add(call);
        }
        let stays = |id: u32| id % 100 == 5 || id >= count - 3;
        for id in (0..count).filter(|id| !stays(*id)) {
            calls.remove(CallId(id));
        }
        let expected: Vec<u32> = (0..count).filter(|id| stays(*id)).collect();
        let held: Vec<u32> = calls.iter(&atoms).map(|call| call.id.0).collect();
        assert_eq!(held, expected);
        for id in 0..count {
            let found = calls.get(CallId(id), &atoms).map(|call| call.request_seq);
            assert_eq!(found, stays(id).then_some(Seq(id.into())), "{id}");
        }
        let full = calls.blocks.iter().take(3);
        let room: usize = full.map(|block| block.slots.capacity()).sum();
        assert!(room <= SPARSE, "{room}");
        for id in &expected {
            calls.remove(CallId(*id));
        }
        assert_eq!(calls.iter(&atoms).count(), 0);
        // The last one still takes calls.
        assert_eq!((calls.blocks.len(), calls.dropped), (1, 3));
        assert_eq!(calls.next_id(), CallId(count));
    }
}
