//! What is asked of a list of frames: filter, problems, clear mark, order (tui.md N8, 4.4, 10).

use crate::{
    record::Seq,
    session::{Filter, Session},
};

/// Column that rows are sorted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SortColumn {
    /// Time of observation.
    Time,
    /// Method or tool.
    Method,
    /// Request id.
    Id,
    /// Duration.
    Duration,
    /// Rank of the status.
    Status,
}

/// Direction of a sort.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// Smallest first.
    Ascending,
    /// Largest first.
    Descending,
}

impl Order {
    /// The other one.
    pub(super) const fn reversed(self) -> Self {
        match self {
            Self::Ascending => Self::Descending,
            Self::Descending => Self::Ascending,
        }
    }
}

/// What is asked for.
#[derive(Clone, Debug, Default)]
pub(super) struct Wanted {
    /// The filter in force.
    pub(super) filter: Option<Filter>,
    /// Only problem rows.
    pub(super) problems: bool,
    /// Rows up to this number are hidden.
    pub(super) cleared: Option<Seq>,
    /// The sort in force.
    pub(super) sort: Option<(SortColumn, Order)>,
}

impl Wanted {
    /// All rows, in the order of their numbers.
    pub(super) fn is_plain(&self) -> bool {
        self.filter.is_none() && !self.problems && self.sort.is_none()
    }

    /// True when a row belongs on the list; `None` when only its body on disk could tell.
    pub(super) fn takes(&self, session: &Session, position: usize) -> Option<bool> {
        let Some(row) = session.row(position) else {
            return Some(false);
        };
        if self.cleared.is_some_and(|seq| row.id.seq <= seq)
            || (self.problems && !session.is_problem(&row))
        {
            return Some(false);
        }
        self.filter
            .as_ref()
            .map_or(Some(true), |filter| filter.matches_row(session, position))
    }
}
