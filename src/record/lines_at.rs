//! Lines of a log read again by their places. Places that follow one another share a read.

use std::io;

use bytes::Bytes;

use super::{
    decode::Decoder,
    envelope::Seq,
    input::KeptLog,
    place::{Line, Place},
};

/// Bytes of one read ahead, where places follow one another.
const AHEAD: usize = 256 << 10;
/// Bytes of one read where they do not.
const APART: usize = 4 << 10;
/// Reads that are kept: requests and their answers are two sequences.
const WINDOWS: usize = 2;

/// Reads lines of one log; one for each thread.
#[derive(Debug)]
pub struct LinesAt<'a> {
    log: &'a KeptLog,
    decoder: Decoder,
    /// Offset and bytes of what was read, that which was used last in front.
    windows: [(u64, Bytes); WINDOWS],
}

impl<'a> LinesAt<'a> {
    /// A reader that holds nothing yet.
    pub fn new(log: &'a KeptLog) -> Self {
        Self {
            log,
            decoder: Decoder::default(),
            windows: Default::default(),
        }
    }

    /// The line of a frame. Of a later run under one id the envelope has the id without `#N`.
    ///
    /// # Errors
    /// The system's reason; `InvalidData` when another or no envelope lies there now.
    pub fn line(&mut self, seq: Seq, place: &Place) -> io::Result<Line> {
        let bytes = self.bytes(place.offset, place.length)?;
        self.decode(seq, bytes)
    }

    /// The same in memory of its own, for those who keep it: what is read ahead is not kept with it.
    ///
    /// # Errors
    /// As `line`.
    pub fn line_to_keep(&mut self, seq: Seq, place: &Place) -> io::Result<Line> {
        let bytes = self.bytes(place.offset, place.length)?;
        self.decode(seq, Bytes::copy_from_slice(&bytes))
    }

    fn decode(&mut self, seq: Seq, bytes: Bytes) -> io::Result<Line> {
        let line = self.decoder.decode(bytes).ok();
        line.filter(|line| line.envelope.seq == seq)
            .ok_or_else(|| io::ErrorKind::InvalidData.into())
    }

    /// The bytes at an offset.
    ///
    /// # Errors
    /// The system's reason; `UnexpectedEof` when the log became shorter.
    pub fn bytes(&mut self, offset: u64, length: u32) -> io::Result<Bytes> {
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        if length > AHEAD {
            return self.log.read(offset, length);
        }
        for at in 0..WINDOWS {
            let held = self.windows.get(at);
            if let Some(bytes) = held.and_then(|window| part(window, offset, length)) {
                self.windows.swap(0, at);
                return Ok(bytes);
            }
        }
        let wanted = if self.goes_on(offset) {
            AHEAD
        } else {
            length.max(APART)
        };
        self.windows.rotate_right(1);
        let old = self.windows.first_mut().map(std::mem::take);
        let old = old.map_or_else(Bytes::new, |(_, bytes)| bytes);
        let window = (offset, self.log.read_again(offset, wanted, old)?);
        let bytes = part(&window, offset, length);
        if let Some(first) = self.windows.first_mut() {
            *first = window;
        }
        bytes.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }

    /// True for a place shortly behind what was read, as it is where places rise.
    fn goes_on(&self, offset: u64) -> bool {
        self.windows.iter().any(|(start, bytes)| {
            let behind = start.saturating_add(bytes.len() as u64);
            (*start..=behind.saturating_add(AHEAD as u64)).contains(&offset)
        })
    }
}

fn part((start, bytes): &(u64, Bytes), offset: u64, length: usize) -> Option<Bytes> {
    let from = usize::try_from(offset.checked_sub(*start)?).ok()?;
    let to = from.checked_add(length)?;
    (to <= bytes.len()).then(|| bytes.slice(from..to))
}

#[cfg(test)]
mod tests {
    use std::{io::Write as _, path::PathBuf, sync::Arc};

    use super::*;

    #[test]
    fn any_place_gives_its_bytes_in_any_order() {
        let content: Vec<u8> = (0..1_000_000_u32).map(|at| (at % 251) as u8).collect();
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&content).unwrap();
        for log in [
            KeptLog::file(file),
            KeptLog::memory(Bytes::from(content.clone())),
        ] {
            let mut lines = LinesAt::new(&log);
            let mut at = 12_345;
            for turn in 0..2_000_u32 {
                let length = if turn % 97 == 0 { 400_000 } else { turn };
                let found = lines.bytes(at.into(), length).unwrap();
                let (from, to) = (at as usize, (at + length) as usize);
                assert_eq!(found, &content[from..to]);
                at = (at + 1_000 + turn * 7_919) % 600_000;
            }
            assert!(lines.bytes(999_999, 2).is_err());
            assert!(lines.bytes(2_000_000, 1).is_err());
        }
    }

    #[test]
    fn a_place_that_holds_another_frame_now_is_noticed() {
        let text = br#"{"session_id":"s","seq":7,"direction":"c2s","raw":{"id":1}}"#;
        let log = KeptLog::memory(Bytes::from_static(text));
        let place = |length: usize| Place {
            log: Arc::new(PathBuf::new()),
            offset: 0,
            length: u32::try_from(length).unwrap(),
        };
        let mut lines = LinesAt::new(&log);
        let line = lines.line(Seq(7), &place(text.len())).unwrap();
        assert_eq!(line.envelope.seq, Seq(7));
        for (seq, length) in [(8, text.len()), (7, text.len() - 1)] {
            let error = lines.line(Seq(seq), &place(length)).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        }
    }
}
