//! Where the frames of a session lie in its log, and which of several with one number is kept
//! (session-model.md 2.1).

use std::collections::HashSet;

use crate::{
    record::{LinesAt, Place, Seq, says_the_same, takes_precedence},
    reports::Error,
};

/// One line of the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) seq: Seq,
    pub(super) offset: u64,
    pub(super) length: u32,
}

impl Entry {
    /// Where the line lies; `of` is a place in the same log.
    pub(super) fn place(&self, of: &Place) -> Place {
        Place {
            offset: self.offset,
            length: self.length,
            ..of.clone()
        }
    }
}

/// Lines of the session in the order of the file.
#[derive(Debug, Default)]
pub(super) struct Order {
    pub(super) entries: Vec<Entry>,
    last: Option<Seq>,
    /// A number came that is not above all before it.
    is_mixed: bool,
}

/// What a look at lines that came out of order, or twice, found.
#[derive(Debug, Default)]
pub(super) struct Sorted {
    /// What the model is to be folded from anew, by number; empty when the first fold was right.
    pub(super) again: Vec<Entry>,
    /// Numbers with two contents.
    pub(super) conflicts: Vec<Seq>,
    /// Lines that say the same as one before them, by their offsets.
    pub(super) repeats: HashSet<u64>,
}

impl Order {
    /// Notes a line; true when its number is above all before it, so that it can be folded at once.
    pub(super) fn note(&mut self, entry: Entry) -> bool {
        self.entries.push(entry);
        let is_next = self.last.is_none_or(|last| entry.seq > last);
        if is_next {
            self.last = Some(entry.seq);
        } else {
            self.is_mixed = true;
        }
        is_next
    }

    /// Looks at lines that came out of order or twice.
    pub(super) fn sort(&self, lines: &mut LinesAt<'_>, place: &Place) -> Result<Sorted, Error> {
        let mut sorted = Sorted::default();
        if !self.is_mixed {
            return Ok(sorted);
        }
        let mut by_number: Vec<Entry> = self.entries.clone();
        // Stable: of one number that which stands first in the file comes first.
        by_number.sort_by_key(|entry| entry.seq);
        for equal in by_number.chunk_by(|one, two| one.seq == two.seq) {
            if let [first, others @ ..] = equal {
                let kept = keep(*first, others, lines, place, &mut sorted)?;
                sorted.again.push(kept);
            }
        }
        if self.first_fold().eq(sorted.again.iter().copied()) {
            sorted.again.clear();
        }
        Ok(sorted)
    }

    /// The lines that were folded at once.
    fn first_fold(&self) -> impl Iterator<Item = Entry> {
        let mut last = None;
        self.entries.iter().copied().filter(move |entry| {
            let is_next = last.is_none_or(|last| entry.seq > last);
            last = if is_next { Some(entry.seq) } else { last };
            is_next
        })
    }
}

/// One of several lines with one number.
fn keep(
    first: Entry,
    others: &[Entry],
    lines: &mut LinesAt<'_>,
    place: &Place,
    sorted: &mut Sorted,
) -> Result<Entry, Error> {
    if others.is_empty() {
        return Ok(first);
    }
    let mut read = |entry: &Entry| {
        let line = lines.line(entry.seq, &entry.place(place));
        line.map(|line| line.envelope).map_err(Error::of_reading)
    };
    let (mut kept, mut envelope) = (first, read(&first)?);
    let mut conflict = false;
    for other in others {
        let new = read(other)?;
        if says_the_same(&new, &envelope) {
            sorted.repeats.insert(other.offset);
            continue;
        }
        conflict = true;
        if takes_precedence(&new, &envelope) {
            (kept, envelope) = (*other, new);
        }
    }
    if conflict {
        sorted.conflicts.push(first.seq);
    }
    Ok(kept)
}
