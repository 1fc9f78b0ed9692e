//! Lines of one pipe out of the slices that were handed over, with what is held of them on the
//! budget's account.

use std::time::Instant;

use bytes::Bytes;

use super::budget::{Budget, Stage};
use crate::wire::{FramedLine, LineFramer};

/// Kept of a line that was cut by a full budget, or it is dropped (log-format 8.3.3).
const LEAST_KEPT: usize = 64 << 10;

/// The open line of one pipe.
#[derive(Debug, Default)]
pub(super) struct Assembly {
    framer: LineFramer,
    accounted: usize,
    /// When the last byte of the open line was read.
    pub(super) last_read: Option<Instant>,
}

/// What became of a line that the budget cut.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum CutLine {
    /// Enough of it is kept.
    Kept(FramedLine),
    /// Too little: it is a lost frame.
    Lost,
    /// There was no open line.
    Nothing,
}

impl Assembly {
    /// Takes a slice and gives each line that ends in it, blank ones too.
    pub(super) fn take(
        &mut self,
        slice: &Bytes,
        at: Instant,
        budget: &Budget,
        mut each: impl FnMut(FramedLine),
    ) {
        self.framer.push(slice, &mut each);
        self.last_read = Some(at);
        self.account(budget);
    }

    /// The stream ended: what is open is a line as it stands.
    pub(super) fn end(&mut self, budget: &Budget) -> Option<FramedLine> {
        let mut last = None;
        self.framer.finish(&mut |line| last = Some(line));
        self.account(budget);
        last
    }

    /// The open line ended with `missing` bytes that were not handed over.
    pub(super) fn cut(&mut self, missing: u64, ends_with_cr: bool, budget: &Budget) -> CutLine {
        let Some(mut line) = self.end(budget) else {
            return CutLine::Nothing;
        };
        if missing == 0 {
            // Only the line end was missing: the line is whole.
            if line.bytes.last() == Some(&b'\r') && !line.is_cut() {
                line.bytes.truncate(line.bytes.len() - 1);
                line.length -= 1;
            }
            return CutLine::Kept(line);
        }
        line.length += missing - u64::from(ends_with_cr);
        if line.is_cut() && line.bytes.len() < LEAST_KEPT {
            return CutLine::Lost;
        }
        CutLine::Kept(line)
    }

    fn account(&mut self, budget: &Budget) {
        let held = self.framer.held();
        if held > self.accounted {
            budget.take(Stage::Assembling, held - self.accounted);
        } else {
            budget.give(Stage::Assembling, self.accounted - held);
        }
        self.accounted = held;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(kept: &[u8], missing: u64, ends_with_cr: bool) -> Option<(usize, u64)> {
        let budget = Budget::new(64 << 20);
        let mut assembly = Assembly::default();
        let kept = Bytes::copy_from_slice(kept);
        assembly.take(&kept, Instant::now(), &budget, |line| panic!("{line:?}"));
        assert_eq!(budget.held(Stage::Assembling), kept.len());
        let cut = assembly.cut(missing, ends_with_cr, &budget);
        assert_eq!(budget.held(Stage::Assembling), 0);
        match cut {
            CutLine::Kept(line) => Some((line.bytes.len(), line.length)),
            CutLine::Lost => None,
            CutLine::Nothing => panic!(),
        }
    }

    #[test]
    fn a_cut_line_keeps_64_kib_or_is_lost() {
        let much = vec![b'x'; LEAST_KEPT];
        assert_eq!(cut(&much, 5, false), Some((LEAST_KEPT, 65_541)));
        assert_eq!(cut(&much, 5, true), Some((LEAST_KEPT, 65_540)));
        assert_eq!(cut(b"little", 5, false), None);
    }

    #[test]
    fn a_line_that_lacks_only_its_end_is_whole() {
        assert_eq!(cut(b"abc", 0, false), Some((3, 3)));
        assert_eq!(cut(b"abc\r", 0, false), Some((3, 3)));
        assert_eq!(cut(b"abc", 1, true), Some((3, 3)));
        let budget = Budget::new(64 << 20);
        assert_eq!(Assembly::default().cut(0, false, &budget), CutLine::Nothing);
    }

    #[test]
    fn lines_give_their_bytes_back() {
        let budget = Budget::new(64 << 20);
        let mut assembly = Assembly::default();
        let mut lines = Vec::new();
        for part in ["a\nb", "c", "d\n", "e"] {
            let part = Bytes::copy_from_slice(part.as_bytes());
            assembly.take(&part, Instant::now(), &budget, |line| {
                lines.push(line.bytes);
            });
        }
        assert_eq!(lines, ["a", "bcd"]);
        assert_eq!(budget.held(Stage::Assembling), 1);
        assert_eq!(assembly.end(&budget).map(|line| line.length), Some(1));
        assert_eq!(budget.held(Stage::Assembling), 0);
    }
}
