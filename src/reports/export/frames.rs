//! Frames read again, one at a time, as they are written.

use bytes::Bytes;

use super::load::Exported;
use crate::{
    record::{Envelope, LinesAt, Payload, Seq},
    reports::Error,
    session::{Row, RowId},
    wire::{Raw, split_batch},
};

/// Arrays that are kept taken apart: requests and their answers are read in turn.
const MOST_ARRAYS: usize = 4;

/// Reads the frames of an exported session; one for each thread.
pub(in crate::reports) struct Frames<'a> {
    lines: LinesAt<'a>,
    /// Arrays that old logs hold whole, the last one used first.
    arrays: Vec<Array>,
}

/// A frame that is an array, and its elements: each is a row of its own.
struct Array {
    seq: Seq,
    envelope: Envelope,
    elements: Vec<Bytes>,
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
            arrays: Vec::new(),
        }
    }

    /// Reads the frame of a row.
    pub(in crate::reports) fn read(&mut self, row: &Row<'_>) -> Result<Frame, Error> {
        if row.batch.is_some()
            && let Some(frame) = self.known_element(row.id)
        {
            return Ok(frame);
        }
        let place = row.place.as_ref().ok_or(Error::Changed)?;
        let line = match row.batch {
            Some(_) => self.lines.line_to_keep(row.id.seq, place),
            None => self.lines.line(row.id.seq, place),
        };
        let envelope = line.map_err(Error::of_reading)?.envelope;
        if row.batch.is_some()
            && !envelope.batch
            && let Some(array) = Array::of(row.id.seq, &envelope)
        {
            self.arrays.truncate(MOST_ARRAYS - 1);
            self.arrays.insert(0, array);
            if let Some(frame) = self.known_element(row.id) {
                return Ok(frame);
            }
        }
        let body = envelope.payload.clone();
        Ok(Frame { envelope, body })
    }

    /// An element of an array that was taken apart before.
    fn known_element(&mut self, id: RowId) -> Option<Frame> {
        let at = self.arrays.iter().position(|array| array.seq == id.seq)?;
        // The one used last is the last to go.
        self.arrays.get_mut(..=at)?.rotate_right(1);
        let array = self.arrays.first()?;
        let element = array.elements.get(usize::try_from(id.index).ok()?)?;
        Some(Frame {
            envelope: array.envelope.clone(),
            body: Payload::Raw(Raw::new(element.clone())),
        })
    }
}

impl Array {
    fn of(seq: Seq, envelope: &Envelope) -> Option<Self> {
        let Payload::Raw(raw) = &envelope.payload else {
            return None;
        };
        let bytes = raw.bytes();
        let ranges = split_batch(bytes)?.into_iter();
        Some(Self {
            seq,
            envelope: envelope.clone(),
            elements: ranges.map(|range| bytes.slice(range)).collect(),
        })
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
