//! A document cut into parts that threads lay out beside one another, and put together in order.
//!
//! Laying out bodies takes more time than writing them. Each thread hands on pieces of bounded size
//! through a queue of bounded length, so what is held does not grow with the session or with a body.

use std::{
    io::Write,
    num::NonZero,
    ops::Range,
    sync::mpsc::{Receiver, SyncSender, sync_channel},
    thread::available_parallelism,
};

use super::Document;
use crate::{
    reports::{Error, export::Frames, json_out::Json},
    session::{CallId, RowId},
};

/// Bytes of lines of one part: its text fits into the pieces that wait, so that no thread waits for
/// another one's part.
const PART_BYTES: u64 = 256 << 10;
/// Frames or calls of one part.
const PART_COUNT: usize = 1_024;
/// Pieces of one thread that wait to be written, 256 KiB each.
const PIECES: usize = 4;
/// More threads than this write no faster than the disk.
const MOST_THREADS: usize = 4;

/// A part of a document. Ranges are of what is written of calls and rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// Everything in front of the first call.
    Head,
    Calls(Range<usize>),
    /// Between calls and events.
    Middle,
    Events(Range<usize>),
    /// Between events and interactions.
    Behind,
    Interactions(Range<usize>),
    End,
}

/// What a thread hands on.
enum News {
    Piece(Vec<u8>),
    /// The part is complete.
    End,
    Failed(Error),
}

impl Document<'_> {
    /// All parts in order.
    pub(super) fn cut(&self) -> Vec<Part> {
        let calls = ranges(self.calls.len(), |at| self.call_bytes(at));
        let events = ranges(self.rows.len(), |at| self.row_bytes(at));
        let interactions = ranges(self.calls.len(), |_| 0);
        let mut parts = vec![Part::Head];
        parts.extend(calls.into_iter().map(Part::Calls));
        parts.push(Part::Middle);
        parts.extend(events.into_iter().map(Part::Events));
        parts.push(Part::Behind);
        parts.extend(interactions.into_iter().map(Part::Interactions));
        parts.push(Part::End);
        parts
    }

    fn call_bytes(&self, at: usize) -> u64 {
        let id = self.calls.get(at).copied().unwrap_or(CallId(0));
        let Some(call) = self.session.call(id) else {
            return 0;
        };
        let hops = [call.hops.first(), call.hops.last()];
        let [first, last] = hops;
        let request = first.map_or(0, |hop| self.length(hop.request));
        let answer = last.and_then(|hop| hop.answer);
        request + answer.map_or(0, |answer| self.length(answer))
    }

    fn length(&self, row: RowId) -> u64 {
        let position = self.session.position(row);
        let row = position.and_then(|position| self.session.row(position));
        row.and_then(|row| row.place)
            .map_or(0, |place| place.length.into())
    }

    fn row_bytes(&self, at: usize) -> u64 {
        let position = self.rows.get(at).copied();
        let row = position.and_then(|position| self.session.row(position));
        row.and_then(|row| row.place)
            .map_or(0, |place| place.length.into())
    }
}

/// Cuts `count` things into ranges of bounded bytes and length.
fn ranges(count: usize, bytes_of: impl Fn(usize) -> u64) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    let (mut start, mut bytes) = (0, 0_u64);
    for at in 0..count {
        bytes = bytes.saturating_add(bytes_of(at));
        if bytes >= PART_BYTES || at + 1 - start >= PART_COUNT {
            ranges.push(start..at + 1);
            (start, bytes) = (at + 1, 0);
        }
    }
    if start < count {
        ranges.push(start..count);
    }
    ranges
}

/// Lays the parts out and writes them in order.
pub(super) fn write(
    parts: &[Part],
    document: &Document<'_>,
    out: &mut dyn Write,
) -> Result<(), Error> {
    let threads = available_parallelism().map_or(1, NonZero::get);
    let threads = threads.clamp(1, MOST_THREADS).min(parts.len());
    std::thread::scope(|scope| {
        let queues: Vec<Receiver<News>> = (0..threads)
            .map(|first| {
                let (to, queue) = sync_channel(PIECES);
                scope.spawn(move || lay_out(parts, first, threads, document, &to));
                queue
            })
            .collect();
        for queue in queues.iter().cycle().take(parts.len()) {
            loop {
                match queue.recv() {
                    Ok(News::Piece(piece)) => out.write_all(&piece).map_err(Error::Write)?,
                    Ok(News::End) => break,
                    Ok(News::Failed(error)) => return Err(error),
                    // The thread panicked, which goes on at the end of the scope.
                    Err(_ended) => return Err(Error::Changed),
                }
            }
        }
        Ok(())
    })
}

/// One thread's parts: every `step`th, from `first` on.
fn lay_out(
    parts: &[Part],
    first: usize,
    step: usize,
    document: &Document<'_>,
    to: &SyncSender<News>,
) {
    let mut frames = Frames::new(document.exported);
    for part in parts.iter().skip(first).step_by(step) {
        let mut sink = |piece| to.send(News::Piece(piece)).is_ok();
        let mut json = Json::new(&mut sink);
        let news = match document.part(part, &mut frames, &mut json) {
            Ok(()) => {
                json.finish();
                News::End
            }
            Err(error) => News::Failed(error),
        };
        let is_over = json.is_closed() || matches!(news, News::Failed(_));
        if to.send(news).is_err() || is_over {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_bounded_and_leave_nothing_out() {
        type Case<'a> = (usize, &'a dyn Fn(usize) -> u64, Vec<Range<usize>>);
        let cases: [Case<'_>; 5] = [
            (0, &|_| 1, vec![]),
            (3, &|_| 1, std::iter::once(0..3).collect()),
            (3, &|_| PART_BYTES, vec![0..1, 1..2, 2..3]),
            (4, &|at| u64::MAX * u64::from(at == 1), vec![0..2, 2..4]),
            (
                PART_COUNT + 1,
                &|_| 0,
                vec![0..PART_COUNT, PART_COUNT..PART_COUNT + 1],
            ),
        ];
        for (count, bytes, expected) in cases {
            assert_eq!(ranges(count, bytes), expected);
        }
    }
}
