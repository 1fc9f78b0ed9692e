//! What the beginning and the end of a log tell, without reading all of it.

use std::{
    fs::File,
    io::{self, Read, Seek as _, SeekFrom},
    path::Path,
    sync::Arc,
};

use rustix::fs::OFlags;

use super::{
    envelope::{Direction, Envelope, Payload},
    reader::{LineReader, ReadEvent},
};
use crate::wire::json;

/// Bytes of the beginning that are looked at.
const HEAD_BYTES: u64 = 1 << 20;
const CHUNK_BYTES: usize = 16 << 10;
/// Bytes of the end that are looked at first, and at most: an `end` record repeats the command.
const TAIL_BYTES: u64 = 64 << 10;
const MOST_TAIL_BYTES: u64 = 4 << 20;

/// The beginning of a log.
#[derive(Clone, Debug, Default)]
pub(super) struct Head {
    /// An envelope was found.
    pub(super) is_log: bool,
    /// A frame that is no control record was found, or the end was not reached.
    pub(super) may_have_frames: bool,
    /// The first label that is not empty.
    pub(super) label: Option<Arc<str>>,
    /// `format` of the start record.
    pub(super) format: u64,
}

impl Head {
    /// Reads up to the first frame that is no control record.
    pub(super) fn read(file: &mut impl Read) -> io::Result<Self> {
        let mut head = Self::default();
        let mut reader = LineReader::default();
        let mut chunk = vec![0; CHUNK_BYTES];
        let mut left = HEAD_BYTES;
        while !head.may_have_frames && left > 0 {
            let count = file.read(&mut chunk)?;
            let bytes = chunk.get(..count).unwrap_or_default();
            if bytes.is_empty() {
                reader.finish(&mut |event| head.take(&event));
                return Ok(head);
            }
            reader.push(bytes, &mut |event| head.take(&event));
            left = left.saturating_sub(count as u64);
        }
        head.may_have_frames |= head.is_log;
        Ok(head)
    }

    fn take(&mut self, event: &ReadEvent) {
        let ReadEvent::Line { line, .. } = event else {
            return;
        };
        let envelope = &line.envelope;
        self.is_log = true;
        self.may_have_frames |= envelope.direction != Direction::Meta;
        if self.label.is_none() && !envelope.server_label.is_empty() {
            self.label = Some(Arc::clone(&envelope.server_label));
        }
        if self.format == 0
            && let (Direction::Meta, Payload::Raw(raw)) = (&envelope.direction, &envelope.payload)
        {
            self.format = json::member(raw.bytes(), "format")
                .and_then(|value| std::str::from_utf8(value).ok()?.parse().ok())
                .unwrap_or(0);
        }
    }
}

/// The last envelope of a log, if it lies within its last 4 MiB.
pub(super) fn last_envelope(file: &mut File) -> io::Result<Option<Envelope>> {
    let size = file.seek(SeekFrom::End(0))?;
    let mut window = TAIL_BYTES;
    loop {
        let start = size.saturating_sub(window);
        file.seek(SeekFrom::Start(start))?;
        let mut bytes = Vec::new();
        file.take(window).read_to_end(&mut bytes)?;
        // The first line of a window is whole only at the start of the file.
        let skipped = match start {
            0 => 0,
            _ => memchr::memchr(b'\n', &bytes).map_or(bytes.len(), |at| at + 1),
        };
        let mut last = None;
        let mut reader = LineReader::default();
        let mut sink = |event: ReadEvent| {
            if let ReadEvent::Line { line, .. } = event {
                last = Some(line.envelope);
            }
        };
        reader.push(bytes.get(skipped..).unwrap_or_default(), &mut sink);
        reader.finish(&mut sink);
        if last.is_some() || start == 0 || window >= MOST_TAIL_BYTES {
            return Ok(last);
        }
        window = window.saturating_mul(8).min(MOST_TAIL_BYTES);
    }
}

/// True for the control record `end` (log-format 8.2).
pub fn is_end_record(envelope: &Envelope) -> bool {
    let (Direction::Meta, Payload::Raw(raw)) = (&envelope.direction, &envelope.payload) else {
        return false;
    };
    json::member(raw.bytes(), "event") == Some(b"\"end\"")
}

/// Opens a log for reading without ever waiting for a FIFO's other end.
pub(super) fn open(path: &Path, more: OFlags) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY | more;
    let file = rustix::fs::open(path, flags, rustix::fs::Mode::empty())?;
    Ok(File::from(file))
}
