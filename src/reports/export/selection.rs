//! Which frames and calls a filter leaves in a document (export.md 1).

use super::{Exported, Frames};
use crate::{
    record::Payload,
    reports::Error,
    session::{CallId, Filter, Session},
};

/// What is written of a session.
#[derive(Debug, Default)]
pub(in crate::reports) struct Selection {
    /// A mark for each row and call; `None`: all.
    chosen: Option<Chosen>,
}

#[derive(Debug)]
struct Chosen {
    rows: Vec<bool>,
    calls: Vec<bool>,
}

impl Selection {
    /// Tests every frame; reads those again whose text decides.
    pub(in crate::reports) fn new(
        exported: &Exported,
        session: &Session,
        filter: Option<&Filter>,
    ) -> Result<Self, Error> {
        let Some(filter) = filter else {
            return Ok(Self::default());
        };
        let mut frames = Frames::new(exported);
        let calls = usize::try_from(session.call_count()).unwrap_or(0);
        let mut chosen = Chosen {
            rows: vec![false; session.row_count()],
            calls: vec![false; calls],
        };
        for (position, mark) in chosen.rows.iter_mut().enumerate() {
            *mark = match filter.matches_row(session, position) {
                Some(known) => known,
                None => matches_body(filter, session, position, &mut frames)?,
            };
            let row = session.row(position).filter(|_| *mark);
            if let Some(CallId(call)) = row.and_then(|row| row.call)
                && let Some(call) = chosen.calls.get_mut(call as usize)
            {
                *call = true;
            }
        }
        Ok(Self {
            chosen: Some(chosen),
        })
    }

    /// True when the row at this position is written.
    pub(in crate::reports) fn has_row(&self, position: usize) -> bool {
        let all = self.chosen.as_ref();
        all.is_none_or(|all| all.rows.get(position).copied().unwrap_or(false))
    }

    /// True when the call is written.
    pub(in crate::reports) fn has_call(&self, call: CallId) -> bool {
        let all = self.chosen.as_ref();
        all.is_none_or(|all| all.calls.get(call.0 as usize).copied().unwrap_or(false))
    }
}

fn matches_body(
    filter: &Filter,
    session: &Session,
    position: usize,
    frames: &mut Frames<'_>,
) -> Result<bool, Error> {
    let Some(row) = session.row(position) else {
        return Ok(false);
    };
    let (bytes, json) = match frames.read(&row)?.body {
        Payload::Raw(raw) => (raw.bytes().clone(), true),
        Payload::Text(text) => (text, false),
        Payload::Nothing => return Ok(false),
    };
    Ok(filter.matches_text(session, position, bytes, json))
}
