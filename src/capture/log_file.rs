//! Where the log goes, whether it may, and opening it (capture.md 2.1.3, log-format 2, 3).

use std::{
    fs::{self, File, OpenOptions},
    io::{self, BufRead as _, Read as _},
    os::unix::fs::{
        FileExt as _, FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _,
    },
    path::{Path, PathBuf},
};

use rustix::fs::{FlockOperation, OFlags, fcntl_getfl, fcntl_setfl, flock};

use super::{error::Error, ignore::ignore};
use crate::record::{Decoder, StateDir, create_private_dir};

/// The first line of a log may be this long: an end record with many arguments, not a frame.
const FIRST_LINE: u64 = 32 << 20;

/// Where the log goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// `sessions/` of the state directory, under its usual name.
    State(StateDir),
    /// `--log-dir`, under its usual name.
    Directory(PathBuf),
    /// `--trace-file`, appended to.
    File(PathBuf),
}

/// An opened log.
#[derive(Debug)]
pub(super) struct OpenLog {
    /// Opened for append, locked, ending in LF.
    pub(super) file: File,
    /// Its path.
    pub(super) path: PathBuf,
    /// True when it must be named in the start record.
    pub(super) named: bool,
}

impl Target {
    /// The directory that the start line names.
    pub(super) fn directory(&self) -> PathBuf {
        match self {
            Self::State(state) => state.sessions(),
            Self::Directory(path) => path.clone(),
            Self::File(path) => path.parent().map(Path::to_owned).unwrap_or_default(),
        }
    }

    /// The path for a session id.
    pub(super) fn path(&self, session_id: &str) -> PathBuf {
        match self {
            Self::File(path) => path.clone(),
            Self::State(_) | Self::Directory(_) => {
                self.directory().join(format!("{session_id}.jsonl"))
            }
        }
    }

    /// Opens the log, and locks it.
    ///
    /// # Errors
    /// The system's reason; `AlreadyExists` when another run has this session id.
    pub(super) fn open(&self, session_id: &str) -> io::Result<OpenLog> {
        match self {
            Self::State(state) => state.create()?,
            Self::Directory(path) => create_private_dir(path)?,
            Self::File(path) => {
                let folder = path.parent().filter(|path| !path.as_os_str().is_empty());
                folder.map_or(Ok(()), create_private_dir)?;
            }
        }
        let path = self.path(session_id);
        loop {
            let file = match self {
                Self::File(_) => open_to_continue(&path)?,
                Self::State(_) | Self::Directory(_) => open_new(&path)?,
            };
            // Waits for whoever is testing; file systems without locks are answered by age.
            ignore(flock(&file, FlockOperation::LockShared));
            if !is_deleted(&file) {
                return Ok(OpenLog {
                    file,
                    path,
                    named: !matches!(self, Self::State(_)),
                });
            }
        }
    }
}

/// True when a log that was a file has no name any more.
pub(super) fn is_deleted(file: &File) -> bool {
    file.metadata()
        .is_ok_and(|about| about.is_file() && about.nlink() == 0)
}

/// Refuses a trace file that must not be appended to; nothing is opened for writing.
///
/// # Errors
/// Why it is refused.
pub(super) fn check_trace_file(path: &Path) -> Result<(), Error> {
    let refused = |reason| {
        Err(Error::TraceFile {
            path: path.to_owned(),
            reason,
        })
    };
    // What cannot be looked at now gives a warning after the launch, not a refusal.
    let Ok(about) = fs::metadata(path) else {
        return Ok(());
    };
    if about.is_dir() {
        return refused("is a directory");
    }
    if is_standard_output(&about) {
        return refused("is this program's standard output");
    }
    if about.is_file() && about.len() > 0 && !begins_with_envelope(path) {
        return refused("is not empty and does not begin like a session log");
    }
    Ok(())
}

/// True when the log would go where the protocol goes. `/dev/null` is no such place.
fn is_standard_output(about: &fs::Metadata) -> bool {
    let Ok(ours) = rustix::stdio::stdout().try_clone_to_owned().map(File::from) else {
        return false;
    };
    let bottomless = about.file_type().is_char_device() && !rustix::termios::isatty(&ours);
    ours.metadata()
        .is_ok_and(|ours| (ours.dev(), ours.ino()) == (about.dev(), about.ino()) && !bottomless)
}

fn begins_with_envelope(path: &Path) -> bool {
    let Ok(file) = File::open(path) else {
        return true;
    };
    let mut line = Vec::new();
    let mut reader = io::BufReader::new(file.take(FIRST_LINE));
    let read = reader.read_until(b'\n', &mut line);
    if line.last() == Some(&b'\n') {
        line.pop();
    }
    read.is_ok() && is_envelope(line)
}

fn is_envelope(line: Vec<u8>) -> bool {
    Decoder::default().decode(line.into()).is_ok()
}

fn open_new(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new()
        .append(true)
        .create_new(true)
        .mode(0o600)
        .open(path)?;
    // The mode does not depend on the umask (log-format 1.2.1).
    file.set_permissions(fs::Permissions::from_mode(0o600))?;
    Ok(file)
}

fn open_to_continue(path: &Path) -> io::Result<File> {
    let existed = path.exists();
    // A FIFO without a reader answers ENXIO instead of waiting.
    let flags = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or(0);
    let mut options = OpenOptions::new();
    options
        .append(true)
        .create(true)
        .mode(0o600)
        .custom_flags(flags);
    let is_pipe = fs::metadata(path).is_ok_and(|about| about.file_type().is_fifo());
    let file = if is_pipe {
        options.open(path)?
    } else {
        let readable = options.clone().read(true).open(path);
        readable.or_else(|_unreadable| options.open(path))?
    };
    let flags = fcntl_getfl(&file)?;
    fcntl_setfl(&file, flags.difference(OFlags::NONBLOCK))?;
    if !existed {
        file.set_permissions(fs::Permissions::from_mode(0o600))?;
    }
    end_last_line(&file)?;
    Ok(file)
}

/// A log that is continued and does not end in LF gets one first (log-format 3.2).
fn end_last_line(mut file: &File) -> io::Result<()> {
    let about = file.metadata()?;
    let mut last = [b'\n'];
    if about.is_file()
        && about.len() > 0
        && file.read_exact_at(&mut last, about.len() - 1).is_ok()
        && last != [b'\n']
    {
        io::Write::write_all(&mut file, b"\n")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reason(path: &Path) -> Option<&'static str> {
        match check_trace_file(path) {
            Err(Error::TraceFile { reason, .. }) => Some(reason),
            _ => None,
        }
    }

    #[test]
    fn foreign_files_and_directories_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let file = |name: &str, content: &str| {
            let path = dir.path().join(name);
            fs::write(&path, content).unwrap();
            path
        };
        let envelope = r#"{"session_id":"s","server_label":"l","seq":1,"ts":"2026-09-01T08:00:00Z","direction":"meta","transport":"stdio","raw":{}}"#;
        assert_eq!(reason(dir.path()), Some("is a directory"));
        assert_eq!(reason(&dir.path().join("new/one")), None);
        assert_eq!(reason(&file("empty", "")), None);
        assert_eq!(reason(&file("log", &format!("{envelope}\nx"))), None);
        assert_eq!(reason(&file("torn", envelope)), None);
        let foreign = Some("is not empty and does not begin like a session log");
        assert_eq!(reason(&file("rc", "alias ls=rm\n")), foreign);
        assert_eq!(reason(&file("json", "{}\n")), foreign);
    }

    #[test]
    fn logs_are_private_locked_and_opened_once() {
        let dir = tempfile::tempdir().unwrap();
        let target = Target::Directory(dir.path().join("a/b"));
        let log = target.open("s-1").unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&log.path), 0o600);
        assert_eq!(mode(&dir.path().join("a")), 0o700);
        let again = target.open("s-1").map(drop).unwrap_err();
        assert_eq!(again.kind(), io::ErrorKind::AlreadyExists);
        let other = File::open(&log.path).unwrap();
        assert!(flock(&other, FlockOperation::NonBlockingLockExclusive).is_err());
        assert!(!is_deleted(&log.file));
        fs::remove_file(&log.path).unwrap();
        assert!(is_deleted(&log.file));
    }

    #[test]
    fn a_continued_log_gets_its_last_line_end() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        for (before, after) in [("", ""), ("x", "x\n"), ("x\n", "x\n")] {
            fs::write(&path, before).unwrap();
            drop(Target::File(path.clone()).open("any").unwrap());
            assert_eq!(fs::read_to_string(&path).unwrap(), after);
        }
    }

    #[test]
    fn a_fifo_without_a_reader_is_not_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("fifo");
        let made = std::process::Command::new("mkfifo").arg(&path).status();
        assert!(made.unwrap().success());
        assert!(Target::File(path).open("any").is_err());
    }
}
