//! By what the rows of a stream are sorted (tui.md N8, N9, U3).

use std::cmp::Ordering;

use super::wanted::{Order, SortColumn};
use crate::session::{Call, DisplayStatus, Kind, Row, RowId, Session};

/// A value that rows are sorted by; rows without one come last in both directions.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum SortKey {
    Number(i128),
    Text(Box<str>),
    Nothing,
}

pub(super) fn key_of(row: &Row<'_>, session: &Session, column: SortColumn) -> SortKey {
    let call = row.call.and_then(|id| session.call(id));
    let call = call.as_deref();
    match column {
        SortColumn::Time => row
            .ts
            .map_or(SortKey::Nothing, |ts| SortKey::Number(ts.as_nanos().into())),
        SortColumn::Method => {
            let tool = call
                .filter(|call| call.is_tool)
                .and_then(|call| call.operation.as_deref());
            let text = tool
                .or(row.method)
                .or_else(|| call.map(|call| &*call.method));
            text.map_or(SortKey::Nothing, |text| SortKey::Text(text.into()))
        }
        SortColumn::Id => {
            let id = row.json_id.or_else(|| {
                call.and_then(|call| call.hops.first())
                    .map(|hop| &*hop.json_id)
            });
            id.map_or(SortKey::Nothing, |id| {
                id.parse()
                    .map_or_else(|_text| SortKey::Text(id.into()), SortKey::Number)
            })
        }
        SortColumn::Duration => duration_key(row, call),
        SortColumn::Status => {
            let status = super::status::of_row(row, call, false);
            status.map_or(SortKey::Nothing, |status| {
                SortKey::Number(rank(status).into())
            })
        }
    }
}

/// Answers by what they took; open requests by their start, which orders them like their age.
pub(super) fn duration_key(row: &Row<'_>, call: Option<&Call>) -> SortKey {
    let nanos = match (row.kind, call) {
        (Kind::Response, Some(call)) => super::status::latency(row, call),
        (Kind::Request, Some(call)) if call.is_open() => {
            return call.start.map_or(SortKey::Nothing, |start| {
                SortKey::Number(i128::from(u64::MAX) - i128::from(start.as_nanos()))
            });
        }
        _ => None,
    };
    nanos.map_or(SortKey::Nothing, |nanos| SortKey::Number(nanos.into()))
}

/// Rank of a status, highest for the worst (U3).
pub(super) const fn rank(status: DisplayStatus) -> u8 {
    match status {
        DisplayStatus::Bad => 18,
        DisplayStatus::Error => 17,
        DisplayStatus::Lost => 16,
        DisplayStatus::TaskFailed => 15,
        DisplayStatus::ToolError => 14,
        DisplayStatus::Late => 13,
        DisplayStatus::Superseded => 12,
        DisplayStatus::Cancel => 11,
        DisplayStatus::TaskCancelled => 10,
        DisplayStatus::Input => 9,
        DisplayStatus::TaskInput => 8,
        DisplayStatus::Pending => 7,
        DisplayStatus::PendingUncertain => 6,
        DisplayStatus::Streaming => 5,
        DisplayStatus::TaskWorking => 4,
        DisplayStatus::TaskDone => 3,
        DisplayStatus::Resolved => 2,
        DisplayStatus::Ok => 1,
    }
}

/// Rows with equal keys: in their order, or in reverse for time, whose newest row comes first.
pub(super) fn tie(a: RowId, b: RowId, sort: Option<(SortColumn, Order)>) -> Ordering {
    match sort {
        Some((SortColumn::Time, Order::Descending)) => b.cmp(&a),
        _ => a.cmp(&b),
    }
}
