//! Lines of the stream that are no frames: holes, older frames, a new day (tui.md T6).

use jiff::tz::TimeZone;

use super::stream::State;
use crate::{record::Seq, session::Session, tui::numbers};

/// A line that is no frame (T6).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::tui) enum Note {
    /// Frames that nothing can deliver any more.
    Missing(u64),
    /// Frames that may still come.
    NotLoaded(u64),
    /// Frames that memory dropped, before those that it holds.
    Older(u64),
    /// Frames up to this number, before those of a page that was read back.
    Before(Seq),
    /// A new calendar day.
    Day(String),
}

/// What the rows of a list do not tell: what lies between and before them.
#[derive(Clone, Debug, Default)]
pub(in crate::tui) struct Around {
    /// Numbers without a frame: first, last, and whether they may still come.
    pub(in crate::tui) holes: Vec<(Seq, Seq, bool)>,
    /// The line above the first row.
    pub(in crate::tui) above: Option<Note>,
}

impl State {
    /// Lines above a row.
    pub(in crate::tui) fn notes(
        &self,
        session: &Session,
        index: usize,
        zone: &TimeZone,
    ) -> Vec<Note> {
        if !self.picks.is_whole() {
            return Vec::new();
        }
        let Some(row) = session.row(index) else {
            return Vec::new();
        };
        let before = index.checked_sub(1).and_then(|index| session.row(index));
        let mut notes = Vec::new();
        if before.is_none() {
            notes.extend(self.around.above.clone());
        }
        let from = before.as_ref().map_or(Seq(0), |row| row.id.seq);
        if row.id.seq.0 > from.0 + 1 && (before.is_some() || self.around.above.is_none()) {
            notes.extend(self.holes_between(from, row.id.seq));
        }
        if let Some((earlier, later)) = before.and_then(|before| before.ts).zip(row.ts)
            && later.as_secs() / 3_600 != earlier.as_secs() / 3_600
        {
            let day = numbers::date(later, zone);
            if day != numbers::date(earlier, zone) {
                notes.push(Note::Day(day));
            }
        }
        notes
    }

    fn holes_between(&self, from: Seq, to: Seq) -> Vec<Note> {
        let sum = |open: bool| -> u64 {
            self.around
                .holes
                .iter()
                .filter(|(first, last, may_come)| *may_come == open && *last > from && *first < to)
                .map(|(first, last, _)| {
                    last.0.min(to.0 - 1).saturating_sub(first.0.max(from.0 + 1)) + 1
                })
                .sum()
        };
        let (missing, coming) = (sum(false), sum(true));
        let mut notes = Vec::new();
        if missing > 0 {
            notes.push(Note::Missing(missing));
        }
        if coming > 0 {
            notes.push(Note::NotLoaded(coming));
        }
        notes
    }
}
