//! Reading a frame's line, or a stretch of frames, back from its log.

use std::{fs::File, io, os::unix::fs::FileExt as _};

use bytes::Bytes;

use super::piece::open_regular;
use crate::{
    feed::{BodyOutcome, FeedEvent, Recall, RecallStep, Recalling},
    record::{Decoder, Line, LineReader, Place, ReadEvent, Seq, SessionKey},
};

/// Bytes of one read while a line is looked for.
const CHUNK: usize = 1 << 20;

/// Reads a line back; the answer is always an event.
pub(super) fn read_body(key: SessionKey, seq: Seq, place: &Place) -> FeedEvent {
    let outcome = match line_at(&key, seq, place) {
        Ok(Some(line)) => BodyOutcome::Line(line),
        Ok(None) => BodyOutcome::Unavailable("the log no longer holds this frame".to_owned()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            BodyOutcome::Unavailable("the log was removed".to_owned())
        }
        Err(error) => BodyOutcome::Unavailable(format!("the log cannot be read: {error}")),
    };
    FeedEvent::Body { key, seq, outcome }
}

fn line_at(key: &SessionKey, seq: Seq, place: &Place) -> io::Result<Option<Bytes>> {
    let Some(file) = open_regular(&place.log)? else {
        return Ok(None);
    };
    let mut bytes = vec![0; usize::try_from(place.length).unwrap_or(0)];
    if file.read_exact_at(&mut bytes, place.offset).is_ok() {
        let line = Decoder::default().decode(Bytes::from(bytes));
        if let Ok(line) = line
            && is_wanted(&line, key, seq)
        {
            return Ok(Some(line.bytes));
        }
    }
    // A live frame's place is a forecast, and a log may have been replaced by a longer one.
    search(&file, key, seq)
}

/// Reads frames back; the answer is always events.
pub(super) fn recall(wanted: &Recall) -> Vec<FeedEvent> {
    let read = || -> io::Result<Vec<FeedEvent>> {
        let file = open_regular(&wanted.log)?.ok_or(io::ErrorKind::NotFound)?;
        let mut recalling = Recalling::new(wanted.clone(), file.metadata()?.len());
        let mut buffer = Vec::new();
        while let RecallStep::Read { offset, length } = recalling.step() {
            buffer.resize(
                usize::try_from(length).map_or(CHUNK, |length| length.min(CHUNK)),
                0,
            );
            let count = file.read_at(&mut buffer, offset)?;
            recalling.push(buffer.get(..count).unwrap_or_default());
        }
        Ok(recalling.finish())
    };
    read().unwrap_or_else(|error| {
        let reason = if error.kind() == io::ErrorKind::NotFound {
            "the log was removed".to_owned()
        } else {
            format!("the log cannot be read: {error}")
        };
        vec![wanted.failed(reason)]
    })
}

fn search(file: &File, key: &SessionKey, seq: Seq) -> io::Result<Option<Bytes>> {
    let mut reader = LineReader::at(0);
    let mut buffer = vec![0; CHUNK];
    let mut offset = 0;
    let mut found = None;
    loop {
        let count = file.read_at(&mut buffer, offset)?;
        let mut look = |event| {
            if let ReadEvent::Line { line, .. } = event
                && found.is_none()
                && line.envelope.session_id == key.id
                && line.envelope.seq == seq
            {
                found = Some(Bytes::copy_from_slice(&line.bytes));
            }
        };
        if count == 0 {
            reader.finish(&mut look);
            return Ok(found);
        }
        reader.push(buffer.get(..count).unwrap_or_default(), &mut look);
        if found.is_some() {
            return Ok(found);
        }
        offset += count as u64;
    }
}

/// The line of that frame; the id in the bytes lacks the number of a later run.
fn is_wanted(line: &Line, key: &SessionKey, seq: Seq) -> bool {
    let id = &line.envelope.session_id;
    let of_run = || {
        let run = key
            .id
            .strip_prefix(&**id)
            .and_then(|rest| rest.strip_prefix('#'));
        run.is_some_and(|run| run.parse::<u32>().is_ok())
    };
    line.envelope.seq == seq && (**id == *key.id || of_run())
}
