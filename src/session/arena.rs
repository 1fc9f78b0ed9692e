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
    /// How many of them are not gone.
    held: usize,
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
            Some(block) if block.slots.len() < BLOCK => {
                block.slots.push(slot);
                block.held += 1;
            }
            _ => {
                let room = if self.blocks.is_empty() { 16 } else { BLOCK };
                let mut slots = Vec::with_capacity(room);
                slots.push(slot);
                self.blocks.push_back(Block { slots, held: 1 });
            }
        }
    }

    /// Calls ever opened.
    pub(super) fn opened(&self) -> u64 {
        self.opened.into()
    }

    pub(super) fn get(&self, id: CallId, atoms: &Atoms) -> Option<Cow<'_, Call>> {
        let (block, at) = self.find(id)?;
        view(self.blocks.get(block)?.slots.get(at)?, id, atoms)
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
            .and_then(|(block, at)| self.blocks.get(block)?.slots.get(at));
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
        let Some(block) = self.blocks.get_mut(block) else {
            return;
        };
        if let Some(slot @ (Slot::Full(_) | Slot::Settled(_))) = block.slots.get_mut(at) {
            *slot = Slot::Gone;
            block.held -= 1;
        }
        while let Some(block) = self.blocks.front()
            && block.held == 0
            && block.slots.len() >= BLOCK
        {
            self.blocks.pop_front();
            self.dropped += 1;
        }
    }

    pub(super) fn iter<'a>(&'a self, atoms: &'a Atoms) -> impl Iterator<Item = Cow<'a, Call>> {
        let first = u32::try_from(self.dropped * BLOCK).unwrap_or(u32::MAX);
        let slots = self.blocks.iter().flat_map(|block| &block.slots);
        (first..)
            .zip(slots)
            .filter_map(|(id, slot)| view(slot, CallId(id), atoms))
    }

    fn slot_mut(&mut self, id: CallId) -> Option<&mut Slot> {
        let (block, at) = self.find(id)?;
        self.blocks.get_mut(block)?.slots.get_mut(at)
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
