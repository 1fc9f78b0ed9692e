//! A file that a command writes: put in place whole or not at all, where the system allows it
//! (export.md 2).

use std::{
    fs::{self, File, OpenOptions, Permissions},
    io::{self, Write},
    os::unix::fs::{FileTypeExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
};

use rustix::io::Errno;
use tempfile::NamedTempFile;

use super::{input::FileIdentity, liveness, private::create_private_dir};

/// Symbolic links that are followed; as many as Linux does.
const MOST_LINKS: usize = 40;
/// How a temporary file is called.
const PREFIX: &str = ".mcpsnoop-export-";

/// What an output path stands for. Nothing is created or opened before `open`.
#[derive(Debug)]
pub struct OutputPath {
    /// Links resolved.
    path: PathBuf,
    kind: Kind,
    identity: Option<FileIdentity>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// A name that stands for nothing yet.
    New,
    /// A regular file of this mode.
    Regular(u32),
    /// A terminal, device, FIFO, or an open descriptor by its name: written as it is.
    Direct,
}

impl OutputPath {
    /// Looks at what is there; a symbolic link is resolved, so that the file behind it is replaced.
    ///
    /// # Errors
    /// A directory, a name without a file, a loop of links, or the system's reason.
    pub fn resolve(path: &Path) -> io::Result<Self> {
        let mut path = path.to_owned();
        for _ in 0..MOST_LINKS {
            if is_descriptor(&path) {
                let identity = fs::metadata(&path)
                    .ok()
                    .map(|found| FileIdentity::of(&found));
                let kind = Kind::Direct;
                return Ok(Self {
                    path,
                    kind,
                    identity,
                });
            }
            let found = match fs::symlink_metadata(&path) {
                Ok(found) => found,
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Self::new(path),
                Err(error) => return Err(error),
            };
            let kind = found.file_type();
            if kind.is_symlink() {
                let to = fs::read_link(&path)?;
                path = path
                    .parent()
                    .map_or_else(|| to.clone(), |parent| parent.join(&to));
                continue;
            }
            if kind.is_dir() {
                return Err(io::ErrorKind::IsADirectory.into());
            }
            let identity = Some(FileIdentity::of(&found));
            let kind = if kind.is_file() {
                Kind::Regular(found.permissions().mode() & 0o7777)
            } else if kind.is_socket() {
                return Err(Errno::NXIO.into());
            } else {
                Kind::Direct
            };
            return Ok(Self {
                path,
                kind,
                identity,
            });
        }
        Err(Errno::LOOP.into())
    }

    fn new(path: PathBuf) -> io::Result<Self> {
        let is_folder = path.as_os_str().as_encoded_bytes().ends_with(b"/");
        if path.file_name().is_none() || is_folder {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        let (kind, identity) = (Kind::New, None);
        Ok(Self {
            path,
            kind,
            identity,
        })
    }

    /// True when it is this file, by whatever name.
    pub fn is(&self, file: FileIdentity) -> bool {
        self.identity == Some(file)
    }

    /// True when a regular file is there that lies in this folder.
    pub fn is_file_in(&self, folder: &Path) -> bool {
        let real = |path: &Path| path.canonicalize().ok();
        let parent = self.path.parent().and_then(real);
        matches!(self.kind, Kind::Regular(_)) && parent.is_some() && parent == real(folder)
    }

    /// True when a regular file is there that a recorder writes.
    pub fn is_locked(&self) -> bool {
        matches!(self.kind, Kind::Regular(_)) && liveness::is_locked(&self.path) == Some(true)
    }

    /// True when writing may wait for somebody who reads: a terminal, device, FIFO or descriptor.
    pub fn is_direct(&self) -> bool {
        self.kind == Kind::Direct
    }

    /// Makes missing folders and begins to write: beside the target, or in place where the folder
    /// lets nothing be made and the file exists.
    ///
    /// # Errors
    /// The system's reason. What was there before is as it was.
    pub fn open(self) -> io::Result<OutputFile> {
        let mode = match self.kind {
            Kind::Direct => {
                // A descriptor that appends goes on behind what it has.
                let file = OpenOptions::new().append(true).open(&self.path)?;
                return Ok(OutputFile(Open::Direct(file)));
            }
            Kind::Regular(mode) => Some(mode),
            Kind::New => None,
        };
        let folder = match self.path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        create_private_dir(folder)?;
        match NamedTempFile::with_prefix_in(PREFIX, folder) {
            Ok(file) => {
                if let Some(mode) = mode {
                    file.as_file()
                        .set_permissions(Permissions::from_mode(mode))?;
                }
                let path = self.path;
                Ok(OutputFile(Open::Beside { file, path }))
            }
            Err(error) if mode.is_some() && is_refusal(&error) => {
                let file = OpenOptions::new()
                    .write(true)
                    .truncate(true)
                    .open(&self.path);
                file.map(|file| OutputFile(Open::InPlace(file)))
            }
            Err(error) => Err(plain(&error)),
        }
    }
}

/// A file that is being written. Dropped before `commit` it leaves nothing behind and what was
/// there before as it was, unless it is written in place.
#[derive(Debug)]
pub struct OutputFile(Open);

#[derive(Debug)]
enum Open {
    Beside { file: NamedTempFile, path: PathBuf },
    InPlace(File),
    Direct(File),
}

impl OutputFile {
    /// True when it takes its place whole; false for one that is written where it lies because its
    /// folder cannot be written.
    pub fn is_atomic(&self) -> bool {
        !matches!(self.0, Open::InPlace(_))
    }

    /// Flushes to disk and puts the file in place.
    ///
    /// # Errors
    /// The system's reason.
    pub fn commit(self) -> io::Result<()> {
        match self.0 {
            Open::Beside { file, path } => {
                file.as_file().sync_all()?;
                file.persist(path).map_err(|error| error.error)?;
                Ok(())
            }
            Open::InPlace(file) => file.sync_all(),
            Open::Direct(mut file) => file.flush(),
        }
    }
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.0 {
            Open::Beside { file, .. } => file.as_file_mut().write(bytes),
            Open::InPlace(file) | Open::Direct(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.0 {
            Open::Beside { file, .. } => file.as_file_mut().flush(),
            Open::InPlace(file) | Open::Direct(file) => file.flush(),
        }
    }
}

/// True for the name of an open descriptor: `/dev/fd/N`, `/proc/PID/fd/N`.
fn is_descriptor(path: &Path) -> bool {
    let Some(folder) = path.parent().and_then(|parent| parent.canonicalize().ok()) else {
        return false;
    };
    let is_process = folder.starts_with("/proc") && folder.ends_with("fd");
    is_process || folder == Path::new("/dev/fd")
}

/// The folder lets no file be made.
fn is_refusal(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem
    )
}

/// The system's reason without the name of the temporary file, which says nothing to anybody.
fn plain(error: &io::Error) -> io::Error {
    let mut inner = error
        .get_ref()
        .map(|inner| inner as &(dyn std::error::Error + 'static));
    let mut code = error.raw_os_error();
    while let (None, Some(cause)) = (code, inner) {
        code = cause
            .downcast_ref::<io::Error>()
            .and_then(io::Error::raw_os_error);
        inner = cause.source();
    }
    code.map_or_else(|| error.kind().into(), io::Error::from_raw_os_error)
}

#[cfg(test)]
#[path = "output_tests.rs"]
mod tests;
