//! Reading a piece of a local log on a blocking thread, and looking at what the directory holds.

use std::{
    fs::{File, OpenOptions},
    io,
    os::unix::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    sync::Arc,
};

use rustix::fs::OFlags;

use crate::{
    base::{Clock, Timestamp},
    feed::{FollowStep, Follower, Pushed},
    record::{Line, Liveness, ReadEvent, liveness_of},
};

/// A log's path as places and catalogues share it.
pub(super) type LogPath = Arc<PathBuf>;

/// Bytes of one read.
const CHUNK: usize = 1 << 20;
/// Bytes of one piece: what a log may bring before another one has its turn.
pub(super) const PIECE: u64 = 4 << 20;

/// A file whose size promises more than reads give is taken as read after so many tries.
const SHORT_READS: u32 = 3;

/// What reading a piece brought.
#[derive(Debug)]
pub(super) struct Piece {
    pub(super) log: LogPath,
    pub(super) follower: Follower,
    /// Lines with the offsets that they begin at.
    pub(super) lines: Vec<(Line, u64)>,
    pub(super) damaged: u64,
    /// The log was replaced: it was read from its start again, and damage counts anew.
    pub(super) replaced: bool,
    pub(super) bytes: u64,
    pub(super) outcome: PieceOutcome,
}

/// How a piece ended.
#[derive(Debug)]
pub(super) enum PieceOutcome {
    /// There is more to read.
    More,
    /// All of it was read.
    End { size: u64, liveness: Liveness },
    /// There is no regular file of this name.
    Gone,
    /// It cannot be read.
    Failed(io::Error),
}

/// Reads on in a log, up to `PIECE` bytes.
pub(super) fn read_piece(log: LogPath, follower: Follower, clock: &Clock) -> Piece {
    let mut piece = Piece {
        log,
        follower,
        lines: Vec::new(),
        damaged: 0,
        replaced: false,
        bytes: 0,
        outcome: PieceOutcome::Gone,
    };
    piece.outcome = match open_regular(&piece.log) {
        Ok(Some(file)) => piece
            .read(&file, clock)
            .unwrap_or_else(PieceOutcome::Failed),
        Ok(None) => PieceOutcome::Gone,
        Err(error) if error.kind() == io::ErrorKind::NotFound => PieceOutcome::Gone,
        Err(error) => PieceOutcome::Failed(error),
    };
    piece
}

/// Opens a regular file; `None` if it is none.
pub(super) fn open_regular(path: &Path) -> io::Result<Option<File>> {
    let file = open_at_once(path)?;
    Ok(file.metadata()?.is_file().then_some(file))
}

/// Opens for reading without waiting for the other end of a FIFO.
pub(super) fn open_at_once(path: &Path) -> io::Result<File> {
    let flags = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or(0);
    OpenOptions::new().read(true).custom_flags(flags).open(path)
}

impl Piece {
    fn read(&mut self, file: &File, clock: &Clock) -> io::Result<PieceOutcome> {
        let mut buffer = Vec::new();
        let mut short_reads = 0;
        loop {
            let metadata = file.metadata()?;
            let identity = (metadata.dev(), metadata.ino());
            self.follower.grown(metadata.len(), Some(identity));
            if self.follower.step() == FollowStep::Idle || short_reads > SHORT_READS {
                return Ok(self.end(metadata.len(), clock));
            }
            while let FollowStep::Read { offset, length } = self.follower.step() {
                if self.bytes >= PIECE {
                    return Ok(PieceOutcome::More);
                }
                let wanted = usize::try_from(length).map_or(CHUNK, |length| length.min(CHUNK));
                buffer.resize(wanted, 0);
                let count = file.read_at(&mut buffer, offset)?;
                if count == 0 {
                    // It became shorter since its size was asked for.
                    short_reads += 1;
                    break;
                }
                self.bytes += count as u64;
                self.push(buffer.get(..count).unwrap_or_default());
            }
        }
    }

    fn push(&mut self, bytes: &[u8]) {
        let (lines, damaged) = (&mut self.lines, &mut self.damaged);
        let pushed = self.follower.push(bytes, &mut |event| match event {
            ReadEvent::Line { line, offset } => lines.push((line, offset)),
            ReadEvent::Damage(_) => *damaged += 1,
        });
        if pushed == Pushed::Replaced {
            self.replaced = true;
            self.damaged = 0;
        }
    }

    fn end(&mut self, size: u64, clock: &Clock) -> PieceOutcome {
        let liveness = liveness_of(&self.log, clock.now());
        if liveness != Liveness::Recording {
            let lines = &mut self.lines;
            self.follower.finish(&mut |event| {
                if let ReadEvent::Line { line, offset } = event {
                    lines.push((line, offset));
                }
            });
        }
        PieceOutcome::End { size, liveness }
    }
}

/// A log as the directory shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LogStat {
    pub(super) size: u64,
    pub(super) modified: Timestamp,
    pub(super) identity: (u64, u64),
}

/// Looks at one log; `None` when there is no regular file of this name.
pub(super) fn stat_log(path: &Path) -> Option<LogStat> {
    let metadata = std::fs::metadata(path)
        .ok()
        .filter(std::fs::Metadata::is_file)?;
    let nanos = metadata
        .mtime()
        .saturating_mul(1_000_000_000)
        .saturating_add(metadata.mtime_nsec());
    Some(LogStat {
        size: metadata.len(),
        modified: Timestamp::from_nanos(nanos),
        identity: (metadata.dev(), metadata.ino()),
    })
}

/// The same for a log that a start record names: it must be a file of this user (log-format 10.3.5).
pub(super) fn stat_own_log(path: &Path) -> Option<LogStat> {
    let metadata = std::fs::symlink_metadata(path).ok()?;
    let is_own = metadata.is_file() && metadata.uid() == rustix::process::geteuid().as_raw();
    if is_own { stat_log(path) } else { None }
}
