//! Reads and decodes one opened log on a thread of its own, ahead of whoever passes the lines on.

use std::{
    fs::File,
    io,
    os::{
        fd::AsFd,
        unix::fs::{FileExt as _, MetadataExt as _},
    },
    path::PathBuf,
    sync::{
        atomic::{AtomicBool, Ordering},
        mpsc::SyncSender,
    },
    time::Duration,
};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::{
    base::Clock,
    feed::{FollowStep, Follower, Pushed},
    record::{Damage, Line, LineReader, Liveness, ReadEvent, liveness_of},
};

/// Bytes of one read: large enough that the system call does not count.
const CHUNK: usize = 1 << 20;
/// Pause between two looks at a log that may grow, and between two looks at `halt`.
const PAUSE: Duration = Duration::from_millis(250);

/// What one read brought.
#[derive(Debug, Default)]
pub(super) struct Ahead {
    /// Lines with the offsets that they begin at.
    pub(super) lines: Vec<(Line, u64)>,
    pub(super) damage: Vec<Damage>,
    /// Bytes read so far, and the log's size.
    pub(super) position: u64,
    pub(super) size: u64,
    /// The log was replaced and is read from its start again.
    pub(super) replaced: bool,
    pub(super) at: Reached,
}

/// Where the reading is.
#[derive(Debug, Default)]
pub(super) enum Reached {
    /// Within the log.
    #[default]
    Middle,
    /// At its present end.
    End {
        liveness: Liveness,
        /// The last line is incomplete.
        torn: bool,
        /// Nothing more will come.
        last: bool,
    },
    /// Reading failed.
    Failed(io::Error),
}

/// What both kinds of reading share.
pub(super) struct AheadReader<'a> {
    pub(super) path: PathBuf,
    pub(super) clock: Clock,
    pub(super) halt: &'a AtomicBool,
    pub(super) to: SyncSender<Ahead>,
}

impl AheadReader<'_> {
    /// Reads a regular file to its end and, if `follow`, on while it grows.
    pub(super) fn read_file(&self, file: File, follow: bool) {
        let mut follower = Follower::new();
        if let Err(error) = self.try_read_file(file, follow, &mut follower) {
            self.fail(error);
        }
    }

    /// Reads a stream to its end.
    pub(super) fn read_stream(&self, mut stream: impl io::Read + AsFd) {
        let mut reader = LineReader::at(0);
        let mut buffer = vec![0; CHUNK];
        let mut position = 0;
        while !self.is_halted() {
            let count = match read_ready(&mut stream, &mut buffer) {
                Ok(Some(count)) => count,
                Ok(None) => continue,
                Err(error) => return self.fail(error),
            };
            position += count as u64;
            let mut ahead = Ahead {
                position,
                ..Ahead::default()
            };
            if count == 0 {
                let torn = reader.finish(&mut |event| ahead.take(event));
                ahead.at = Reached::End {
                    liveness: Liveness::Unknown,
                    torn,
                    last: true,
                };
                self.send(ahead);
                return;
            }
            let bytes = buffer.get(..count).unwrap_or_default();
            reader.push(bytes, &mut |event| ahead.take(event));
            if !self.send(ahead) {
                return;
            }
        }
    }

    fn try_read_file(&self, file: File, follow: bool, follower: &mut Follower) -> io::Result<()> {
        let mut file = file;
        let mut buffer = Vec::new();
        let mut told_end = None;
        while !self.is_halted() {
            let metadata = file.metadata()?;
            let size = metadata.len();
            follower.grown(size, Some((metadata.dev(), metadata.ino())));
            let mut has_read = false;
            while let FollowStep::Read { offset, length } = follower.step() {
                let wanted = usize::try_from(length).map_or(CHUNK, |length| length.min(CHUNK));
                buffer.resize(wanted, 0);
                let count = file.read_at(&mut buffer, offset)?;
                has_read |= count > 0;
                let bytes = buffer.get(..count).unwrap_or_default();
                if count == 0 || !self.push(follower, bytes, offset, size) {
                    break;
                }
            }
            if self.is_halted() {
                return Ok(());
            }
            let liveness = liveness_of(&self.path, self.clock.now());
            if has_read || told_end != Some(liveness) {
                told_end = Some(liveness);
                if !self.send_end(follower, size, liveness, !follow) || !follow {
                    return Ok(());
                }
            }
            std::thread::park_timeout(PAUSE);
            if let Ok(Some(other)) = super::piece::open_regular(&self.path) {
                // The name may stand for another file now.
                file = other;
            }
        }
        Ok(())
    }

    /// False when nobody takes the lines any more.
    fn push(&self, follower: &mut Follower, bytes: &[u8], offset: u64, size: u64) -> bool {
        let mut ahead = Ahead {
            position: offset + bytes.len() as u64,
            size,
            ..Ahead::default()
        };
        let pushed = follower.push(bytes, &mut |event| ahead.take(event));
        ahead.replaced = pushed == Pushed::Replaced;
        self.send(ahead)
    }

    fn send_end(&self, follower: &mut Follower, size: u64, liveness: Liveness, last: bool) -> bool {
        let mut ahead = Ahead {
            position: size,
            size,
            ..Ahead::default()
        };
        // While a recorder is at work its last line may be under way.
        let torn = (last || liveness != Liveness::Recording)
            && follower.finish(&mut |event| ahead.take(event));
        ahead.at = Reached::End {
            liveness,
            torn,
            last,
        };
        self.send(ahead)
    }

    fn fail(&self, error: io::Error) {
        self.send(Ahead {
            at: Reached::Failed(error),
            ..Ahead::default()
        });
    }

    fn send(&self, ahead: Ahead) -> bool {
        self.to.send(ahead).is_ok()
    }

    fn is_halted(&self) -> bool {
        self.halt.load(Ordering::Relaxed)
    }
}

impl Ahead {
    fn take(&mut self, event: ReadEvent) {
        match event {
            ReadEvent::Line { line, offset } => self.lines.push((line, offset)),
            ReadEvent::Damage(damage) => self.damage.push(damage),
        }
    }
}

/// Reads when something is there; `None` when nothing came within the pause.
fn read_ready(stream: &mut (impl io::Read + AsFd), buffer: &mut [u8]) -> io::Result<Option<usize>> {
    let pause = Timespec::try_from(PAUSE).ok();
    let mut ready = [PollFd::new(stream, PollFlags::IN)];
    match poll(&mut ready, pause.as_ref()) {
        Ok(0) | Err(rustix::io::Errno::INTR) => return Ok(None),
        Ok(_) => {}
        Err(error) => return Err(error.into()),
    }
    match stream.read(buffer) {
        Ok(count) => Ok(Some(count)),
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock
            ) =>
        {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}
