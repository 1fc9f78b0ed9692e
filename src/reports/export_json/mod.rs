//! A session as one JSON document (export.md 4): streamed, never built as one value. Each file
//! writes one part of it; `parts` cuts the document so that several threads lay it out.

#[cfg(test)]
mod call_tests;
mod calls;
mod capabilities;
mod elicitations;
mod events;
#[cfg(test)]
mod facts_tests;
mod head;
mod interactions;
#[cfg(test)]
mod log_tests;
mod parts;
#[cfg(test)]
mod schema_tests;
mod session;
mod summary;
mod tasks;
#[cfg(test)]
mod tests;
mod words;

use std::{collections::HashMap, io::Write};

use super::{
    Error,
    export::{Exported, Frames, Selection},
    json_out::Json,
};
use crate::{
    base::Timestamp,
    session::{CallId, Filter, RowId, Session},
};
use parts::Part;
use tasks::TaskEnd;

/// What is asked of a document.
#[derive(Clone, Copy, Debug)]
pub struct JsonOptions<'a> {
    /// The instant that it says it was made.
    pub generated_at: Timestamp,
    /// Only frames that match, and the calls that have such a frame; with the query as it was given.
    pub filter: Option<(&'a str, &'a Filter)>,
}

/// What all parts of a document read.
pub(super) struct Document<'a> {
    exported: &'a Exported,
    session: &'a Session,
    options: JsonOptions<'a>,
    selection: Selection,
    /// Where the results of tasks lie.
    task_ends: HashMap<CallId, (RowId, TaskEnd)>,
    /// Calls that are written, in the order of their requests.
    calls: Vec<CallId>,
    /// Positions of the rows that are written.
    rows: Vec<usize>,
}

/// Writes the document; answers how many frames it has.
///
/// # Errors
/// The log cannot be read again or became another one, or the output cannot be written.
pub fn write_json(
    exported: &Exported,
    options: JsonOptions<'_>,
    out: &mut dyn Write,
) -> Result<usize, Error> {
    let session = exported.session().ok_or(Error::Changed)?;
    let filter = options.filter.map(|(_, filter)| filter);
    let selection = Selection::new(exported, session, filter)?;
    let document = Document {
        exported,
        session,
        options,
        task_ends: tasks::ends(session),
        calls: session
            .calls()
            .map(|call| call.id)
            .filter(|call| selection.has_call(*call))
            .collect(),
        rows: (0..session.row_count())
            .filter(|position| selection.has_row(*position))
            .collect(),
        selection,
    };
    let cut = document.cut();
    parts::write(&cut, &document, out)?;
    Ok(document.rows.len())
}

impl Document<'_> {
    /// Writes one part behind those before it.
    fn part(&self, part: &Part, frames: &mut Frames<'_>, json: &mut Json<'_>) -> Result<(), Error> {
        match part {
            Part::Head => {
                json.element().open(b'{');
                self.head(json);
                json.key("calls").open(b'[');
            }
            Part::Calls(range) => {
                json.resume(2, range.start == 0);
                for id in self.calls.get(range.clone()).unwrap_or_default() {
                    self.call(*id, frames, json)?;
                }
            }
            Part::Middle => {
                json.resume(2, self.calls.is_empty());
                json.close(b']');
                json.key("events").open(b'[');
            }
            Part::Events(range) => {
                json.resume(2, range.start == 0);
                for position in self.rows.get(range.clone()).unwrap_or_default() {
                    self.event(*position, frames, json)?;
                }
            }
            Part::Behind => {
                json.resume(2, self.rows.is_empty());
                json.close(b']');
                self.elicitations(json);
                if !self.calls.is_empty() {
                    json.key("interactions").open(b'[');
                }
            }
            Part::Interactions(range) => {
                json.resume(2, range.start == 0);
                for id in self.calls.get(range.clone()).unwrap_or_default() {
                    self.interaction(*id, json);
                }
            }
            Part::End => {
                json.resume(2, false);
                if !self.calls.is_empty() {
                    json.close(b']');
                }
                json.resume(1, false);
                json.close(b'}');
                json.end_document();
            }
        }
        Ok(())
    }

    /// A member that is an instant.
    fn time(&self, name: &str, instant: Option<Timestamp>, json: &mut Json<'_>) {
        if let Some(instant) = instant {
            json.text(name, &self.exported.time(instant));
        }
    }
}
