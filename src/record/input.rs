//! A whole log as commands read it: a regular file, or a stream that is kept while it is read, so
//! that every byte can be read again at its offset.

use std::{
    fs::{self, File},
    io::{self, Read, Write as _},
    os::{
        fd::AsFd as _,
        unix::fs::{FileExt as _, MetadataExt as _},
    },
    path::{Path, PathBuf},
};

use bytes::Bytes;

use super::error::Error;

/// A stream up to this length is kept in memory, a longer one in an unlinked file (export.md 2.8).
const KEPT_IN_MEMORY: usize = 64 << 20;

/// Device and file number: equal for every name of one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileIdentity {
    device: u64,
    number: u64,
}

impl FileIdentity {
    /// The identity of what a file's metadata tells of.
    pub fn of(metadata: &fs::Metadata) -> Self {
        Self {
            device: metadata.dev(),
            number: metadata.ino(),
        }
    }
}

/// A log that is about to be read.
pub struct LogInput {
    pub(super) path: PathBuf,
    pub(super) from: From,
}

/// Where its bytes come from.
pub(super) enum From {
    /// A regular file and the offset at which it begins.
    File(File, u64),
    /// A pipe, a FIFO or a device.
    Stream(Box<dyn Read + Send>),
}

impl LogInput {
    /// Opens the file, FIFO or device of that name; of a FIFO waits for who writes it.
    ///
    /// # Errors
    /// Not found, a directory, or the system's reason.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let failed = |source: io::Error| match source.kind() {
            io::ErrorKind::NotFound => Error::NotFound {
                name: path.to_string_lossy().into_owned(),
                nearest: Vec::new(),
            },
            _ => Error::Read {
                path: path.to_owned(),
                source,
            },
        };
        let file = File::open(path).map_err(failed)?;
        let kind = file.metadata().map_err(failed)?.file_type();
        if kind.is_dir() {
            let path = path.to_owned();
            return Err(Error::IsDirectory { path });
        }
        let from = if kind.is_file() {
            From::File(file, 0)
        } else {
            From::Stream(Box::new(file))
        };
        let path = path.to_owned();
        Ok(Self { path, from })
    }

    /// Standard input from where it stands.
    ///
    /// # Errors
    /// When it is closed.
    pub fn standard_input() -> Result<Self, Error> {
        let path = PathBuf::from("-");
        let failed = |source| Error::Read {
            path: PathBuf::from("-"),
            source,
        };
        let descriptor = io::stdin().as_fd().try_clone_to_owned().map_err(failed)?;
        let mut file = File::from(descriptor);
        let metadata = file.metadata().map_err(failed)?;
        if metadata.is_dir() {
            return Err(Error::IsDirectory { path });
        }
        let from = if metadata.is_file() {
            let start = io::Seek::stream_position(&mut file).map_err(failed)?;
            From::File(file, start)
        } else {
            From::Stream(Box::new(file))
        };
        Ok(Self { path, from })
    }

    /// The file that it is; `None` for a stream.
    pub fn identity(&self) -> Option<FileIdentity> {
        let From::File(file, _) = &self.from else {
            return None;
        };
        file.metadata().ok().map(|found| FileIdentity::of(&found))
    }

    /// How it was named; `-` is standard input.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// A log that was read once and can be read again.
#[derive(Debug)]
pub struct KeptLog(Kept);

#[derive(Debug)]
enum Kept {
    File(File),
    Memory(Bytes),
}

impl KeptLog {
    /// A log in memory.
    pub fn memory(bytes: Bytes) -> Self {
        Self(Kept::Memory(bytes))
    }

    pub(super) fn file(file: File) -> Self {
        Self(Kept::File(file))
    }

    /// Reads exactly the bytes at an offset.
    ///
    /// # Errors
    /// The system's reason; `UnexpectedEof` when there are fewer.
    pub fn read(&self, offset: u64, length: usize) -> io::Result<Bytes> {
        let bytes = self.read_some(offset, length)?;
        if bytes.len() < length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(bytes)
    }

    /// Reads up to `length` bytes at an offset; fewer at the end.
    pub(super) fn read_some(&self, offset: u64, length: usize) -> io::Result<Bytes> {
        self.read_again(offset, length, Bytes::new())
    }

    /// As `read_some`, into the memory of an earlier read that nobody holds any more.
    pub(super) fn read_again(&self, offset: u64, length: usize, old: Bytes) -> io::Result<Bytes> {
        match &self.0 {
            Kept::Memory(bytes) => {
                let start = usize::try_from(offset)
                    .unwrap_or(usize::MAX)
                    .min(bytes.len());
                Ok(bytes.slice(start..start.saturating_add(length).min(bytes.len())))
            }
            Kept::File(file) => {
                let mut buffer = old.try_into_mut().unwrap_or_default();
                buffer.resize(length, 0);
                let mut filled = 0;
                while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
                    match file.read_at(rest, offset + filled as u64) {
                        Ok(0) => break,
                        Ok(count) => filled += count,
                        Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                        Err(error) => return Err(error),
                    }
                }
                buffer.truncate(filled);
                Ok(buffer.freeze())
            }
        }
    }
}

/// Keeps what was read of a stream.
pub(super) struct Spool {
    memory: Vec<u8>,
    file: Option<File>,
    folder: PathBuf,
    most: usize,
}

impl Spool {
    /// An empty one; a long stream goes to a file in `folder`.
    pub(super) fn new(folder: &Path) -> Self {
        Self::with_most(folder, KEPT_IN_MEMORY)
    }

    fn with_most(folder: &Path, most: usize) -> Self {
        Self {
            memory: Vec::new(),
            file: None,
            folder: folder.to_owned(),
            most,
        }
    }

    /// Keeps the next bytes.
    pub(super) fn push(&mut self, bytes: &[u8]) -> io::Result<()> {
        if let Some(file) = &mut self.file {
            return file.write_all(bytes);
        }
        if self.memory.len() + bytes.len() <= self.most {
            self.memory.extend_from_slice(bytes);
            return Ok(());
        }
        let mut file = tempfile::tempfile_in(&self.folder)?;
        file.write_all(&self.memory)?;
        file.write_all(bytes)?;
        self.memory = Vec::new();
        self.file = Some(file);
        Ok(())
    }

    /// What was kept.
    pub(super) fn finish(self) -> KeptLog {
        match self.file {
            Some(file) => KeptLog::file(file),
            None => KeptLog::memory(self.memory.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_is_kept_in_memory_and_then_in_a_file_without_a_name() {
        let folder = tempfile::tempdir().unwrap();
        let mut spool = Spool::with_most(folder.path(), 6);
        for piece in [&b"abcd"[..], b"ef", b"ghi", b"jk"] {
            spool.push(piece).unwrap();
        }
        let kept = spool.finish();
        assert!(matches!(kept.0, Kept::File(_)));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        assert_eq!(&kept.read(3, 5).unwrap()[..], b"defgh");
        assert_eq!(&kept.read_some(9, 50).unwrap()[..], b"jk");
        let early = kept.read(9, 3).map_err(|error| error.kind());
        assert_eq!(early, Err(io::ErrorKind::UnexpectedEof));

        let mut spool = Spool::with_most(folder.path(), 6);
        spool.push(b"abcdef").unwrap();
        let kept = spool.finish();
        assert!(matches!(kept.0, Kept::Memory(_)));
        assert_eq!(&kept.read(2, 2).unwrap()[..], b"cd");
        assert!(kept.read(7, 1).is_err());
    }

    #[test]
    fn one_file_has_one_identity_whatever_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        fs::write(&path, "x").unwrap();
        fs::hard_link(&path, folder.path().join("b")).unwrap();
        std::os::unix::fs::symlink(&path, folder.path().join("c")).unwrap();
        let identity = |name: &str| {
            LogInput::open(&folder.path().join(name))
                .unwrap()
                .identity()
        };
        assert!(identity("a").is_some());
        assert_eq!(identity("a"), identity("b"));
        assert_eq!(identity("a"), identity("c"));
        fs::write(folder.path().join("d"), "x").unwrap();
        assert_ne!(identity("a"), identity("d"));
        assert!(matches!(
            LogInput::open(folder.path()),
            Err(Error::IsDirectory { .. })
        ));
    }
}
