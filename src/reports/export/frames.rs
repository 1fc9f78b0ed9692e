//! Frames read again, one at a time, as they are written.

use bytes::Bytes;

use super::load::Exported;
use crate::{
    record::{Envelope, LinesAt, Payload},
    reports::Error,
    session::Row,
    wire::split_batch,
};

/// Reads the frames of an exported session; one for each thread.
pub(in crate::reports) struct Frames<'a> {
    lines: LinesAt<'a>,
}

/// A frame as it was recorded.
pub(in crate::reports) struct Frame {
    /// The envelope.
    pub(in crate::reports) envelope: Envelope,
    /// The message: of an array that an old log holds whole, the row's element.
    pub(in crate::reports) body: Payload,
}

impl<'a> Frames<'a> {
    /// A reader.
    pub(in crate::reports) fn new(exported: &'a Exported) -> Self {
        Self {
            lines: LinesAt::new(&exported.log),
        }
    }

    /// Reads the frame of a row.
    pub(in crate::reports) fn read(&mut self, row: &Row<'_>) -> Result<Frame, Error> {
        let place = row.place.as_ref().ok_or(Error::Changed)?;
        let line = self.lines.line(row.id.seq, place);
        let envelope = line.map_err(Error::of_reading)?.envelope;
        let body = match &envelope.payload {
            Payload::Raw(raw) if row.batch.is_some() && !envelope.batch => {
                let index = usize::try_from(row.id.index).unwrap_or(usize::MAX);
                element(raw.bytes(), index).map_or_else(
                    || envelope.payload.clone(),
                    |bytes| Payload::Raw(crate::wire::Raw::new(bytes)),
                )
            }
            other => other.clone(),
        };
        Ok(Frame { envelope, body })
    }
}

impl Frame {
    /// The message, if it is a JSON value.
    pub(in crate::reports) fn json(&self) -> Option<&[u8]> {
        match &self.body {
            Payload::Raw(raw) => Some(raw.bytes()),
            Payload::Text(_) | Payload::Nothing => None,
        }
    }
}

fn element(array: &Bytes, index: usize) -> Option<Bytes> {
    let range = split_batch(array)?.into_iter().nth(index)?;
    Some(array.slice(range))
}
