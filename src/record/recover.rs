//! What one line of a log yields, whatever is broken in it: objects side by side, glued or
//! pretty-printed ones, runs of NUL (log-format 9.1, 9.2).

use bytes::Bytes;

use super::{
    decode::Decoder,
    place::Line,
    reader::{Damage, DamageReason, LINE_LIMIT, ReadEvent},
    runs::Runs,
};
use crate::wire::json::{self, Scanner};

/// Places in a damaged line at which recovery is tried.
const GLUE_TRIES: usize = 64;

/// A line as it was cut out of the input.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cut<'a> {
    /// Without LF and without NUL bytes before it; empty when it was not held.
    pub(super) bytes: &'a [u8],
    /// Offset of the first of `bytes`.
    pub(super) offset: u64,
    /// Offset of the line.
    pub(super) line_offset: u64,
    /// Number of the line, from 1.
    pub(super) number: u64,
    pub(super) had_nul: bool,
    pub(super) is_too_long: bool,
}

/// An object that began on an earlier line.
#[derive(Debug)]
pub(super) struct Join {
    /// The lines so far, each with its LF.
    bytes: Vec<u8>,
    scanner: Scanner,
    pub(super) offset: u64,
    pub(super) first_line: u64,
}

/// Turns lines into events.
#[derive(Debug, Default)]
pub(super) struct Recovery {
    decoder: Decoder,
    runs: Runs,
    join: Option<Join>,
}

impl Recovery {
    /// The object that is still open.
    pub(super) fn join(&self) -> Option<&Join> {
        self.join.as_ref()
    }

    /// Forgets the object that is still open.
    pub(super) fn forget(&mut self) {
        self.join = None;
    }

    /// Lines were passed over that go on with the present run.
    pub(super) fn skipped(&mut self) {
        self.runs.go_on();
    }

    /// Takes the next line.
    pub(super) fn line(&mut self, cut: Cut<'_>, sink: &mut dyn FnMut(ReadEvent)) {
        let bytes = cut.bytes.strip_suffix(b"\r").unwrap_or(cut.bytes);
        let trimmed = without_nul(bytes);
        let had_nul = cut.had_nul || trimmed.len() < bytes.len();
        let cut = Cut { had_nul, ..cut };
        let is_blank = trimmed.iter().all(|byte| json::is_blank(*byte));
        if cut.is_too_long || had_nul {
            self.give_up(sink);
        }
        if cut.is_too_long {
            report(cut, DamageReason::TooLong, sink);
        } else if is_blank {
            if had_nul {
                report(cut, DamageReason::Nul, sink);
            }
        } else if self.join.is_none() || !self.go_on(cut, trimmed, sink) {
            let reason = self.fresh(cut, trimmed, sink);
            if let Some(reason) = reason.or(had_nul.then_some(DamageReason::Nul)) {
                report(cut, if had_nul { DamageReason::Nul } else { reason }, sink);
            }
        }
    }

    /// True when a last line without LF is complete, alone or as the end of an open object.
    pub(super) fn is_complete(&mut self, bytes: &[u8]) -> bool {
        if let Some(join) = &self.join
            && let Ok(Some(end)) = join.scanner.clone().scan(bytes, 0)
        {
            return json::skip_blanks(bytes, end) == bytes.len();
        }
        let mut at = json::skip_blanks(bytes, 0);
        while at < bytes.len() {
            if bytes.get(at) != Some(&b'{') {
                return false;
            }
            match json::value_end(bytes, at, json::MAX_DEPTH + 1) {
                Ok(end) => at = json::skip_blanks(bytes, end),
                Err(_place) => return false,
            }
        }
        true
    }

    /// The open object will not be completed: each of its lines is damaged.
    pub(super) fn give_up(&mut self, sink: &mut dyn FnMut(ReadEvent)) {
        let Some(join) = self.join.take() else {
            return;
        };
        let mut offset = join.offset;
        for (number, line) in (join.first_line..).zip(join.bytes.split_inclusive(|b| *b == b'\n')) {
            if !line.iter().all(|byte| json::is_blank(*byte)) {
                sink(ReadEvent::Damage(Damage {
                    line: number,
                    offset,
                    reason: DamageReason::Unreadable,
                }));
            }
            offset += line.len() as u64;
        }
    }

    /// Goes on with an open object. False when the line is to be read on its own.
    fn go_on(&mut self, cut: Cut<'_>, bytes: &[u8], sink: &mut dyn FnMut(ReadEvent)) -> bool {
        if self.is_envelope(bytes) {
            self.give_up(sink);
            return false;
        }
        let Some(join) = &mut self.join else {
            return false;
        };
        let fits = join.bytes.len() + cut.bytes.len() < LINE_LIMIT;
        let end = match join.scanner.scan(cut.bytes, 0) {
            Ok(None) if fits => {
                join.bytes.extend_from_slice(cut.bytes);
                join.bytes.push(b'\n');
                return true;
            }
            Ok(Some(end)) if fits => end,
            _ => {
                self.give_up(sink);
                return false;
            }
        };
        let (last, rest) = cut.bytes.split_at_checked(end).unwrap_or((cut.bytes, &[]));
        let mut whole = join.bytes.clone();
        whole.extend_from_slice(last);
        // Between tokens a line break is a blank, and what is passed on as a line must hold none.
        for byte in &mut whole {
            if matches!(byte, b'\r' | b'\n') {
                *byte = b' ';
            }
        }
        let offset = join.offset;
        let whole = Bytes::from(whole);
        if let Ok((Some(envelope), end)) = self.decoder.object(&whole, 0) {
            self.join = None;
            self.emit(&whole, 0..end, envelope, offset, sink);
        } else {
            join_lines(&mut self.join, last);
            self.give_up(sink);
        }
        if !rest.iter().all(|byte| json::is_blank(*byte)) {
            let rest = Cut {
                bytes: rest,
                offset: cut.offset + end as u64,
                ..cut
            };
            if let Some(reason) = self.fresh(rest, rest.bytes, sink) {
                report(cut, reason, sink);
            }
        }
        true
    }

    fn is_envelope(&mut self, bytes: &[u8]) -> bool {
        bytes.get(json::skip_blanks(bytes, 0)) == Some(&b'{')
            && self.decoder.decode_slice(bytes).is_ok()
    }

    /// Reads a line that stands on its own; answers what is wrong with it.
    fn fresh(
        &mut self,
        cut: Cut<'_>,
        bytes: &[u8],
        sink: &mut dyn FnMut(ReadEvent),
    ) -> Option<DamageReason> {
        let line = Bytes::copy_from_slice(bytes);
        let mut at = json::skip_blanks(&line, 0);
        let mut reason = None;
        while at < line.len() {
            match self.decoder.object(&line, at) {
                Ok((Some(envelope), end)) => {
                    self.emit(&line, at..end, envelope, cut.offset, sink);
                    at = json::skip_blanks(&line, end);
                }
                Ok((None, end)) => {
                    reason = Some(DamageReason::Unreadable);
                    at = json::skip_blanks(&line, end);
                }
                Err(_place) if self.glued(&line, at, cut.offset, sink) => {
                    return Some(DamageReason::Glued);
                }
                Err(_place)
                    if reason.is_none() && !cut.had_nul && self.begin_join(cut, &line, at) =>
                {
                    return None;
                }
                Err(_place) => return Some(DamageReason::Unreadable),
            }
        }
        reason
    }

    /// The last `{"session_id":` behind `at` from which the rest of the line parses.
    fn glued(
        &mut self,
        line: &Bytes,
        at: usize,
        offset: u64,
        sink: &mut dyn FnMut(ReadEvent),
    ) -> bool {
        let broken = line.get(at + 1..).unwrap_or_default();
        let places = memchr::memmem::rfind_iter(broken, b"{\"session_id\":");
        for place in places.take(GLUE_TRIES) {
            let start = at + 1 + place;
            if let Ok((Some(envelope), end)) = self.decoder.object(line, start)
                && json::skip_blanks(line, end) == line.len()
            {
                self.emit(line, start..end, envelope, offset, sink);
                return true;
            }
        }
        false
    }

    /// Opens an object when the line ends between two of its tokens.
    fn begin_join(&mut self, cut: Cut<'_>, line: &Bytes, at: usize) -> bool {
        let mut scanner = Scanner::new(json::MAX_DEPTH + 1);
        if line.get(at) != Some(&b'{') || scanner.scan(line, at) != Ok(None) {
            return false;
        }
        let mut bytes = cut.bytes.get(at..).unwrap_or_default().to_vec();
        bytes.push(b'\n');
        self.join = Some(Join {
            bytes,
            scanner,
            offset: cut.offset + at as u64,
            first_line: cut.number,
        });
        true
    }

    fn emit(
        &mut self,
        line: &Bytes,
        range: std::ops::Range<usize>,
        mut envelope: super::envelope::Envelope,
        offset: u64,
        sink: &mut dyn FnMut(ReadEvent),
    ) {
        self.runs.assign(&mut envelope);
        let offset = offset + range.start as u64;
        let bytes = line.slice(range);
        sink(ReadEvent::Line {
            line: Line { bytes, envelope },
            offset,
        });
    }
}

fn join_lines(join: &mut Option<Join>, last: &[u8]) {
    if let Some(join) = join {
        join.bytes.extend_from_slice(last);
        join.bytes.push(b'\n');
    }
}

fn without_nul(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().rposition(|byte| *byte != 0);
    bytes
        .get(..end.map_or(0, |last| last + 1))
        .unwrap_or_default()
}

fn report(cut: Cut<'_>, reason: DamageReason, sink: &mut dyn FnMut(ReadEvent)) {
    sink(ReadEvent::Damage(Damage {
        line: cut.number,
        offset: cut.line_offset,
        reason,
    }));
}
