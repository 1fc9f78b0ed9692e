//! The logs of a sessions directory (log-format 9.5, 10.2).

use std::{
    ffi::OsStr,
    fs, io,
    os::unix::{ffi::OsStrExt as _, fs::MetadataExt as _},
    path::{Path, PathBuf},
    sync::Arc,
};

use crate::base::Timestamp;

/// One regular `*.jsonl` file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogFile {
    /// Its path.
    pub path: Arc<PathBuf>,
    /// Its size in bytes.
    pub size: u64,
    /// Its last change.
    pub modified: Timestamp,
    /// Device and file number, so that a replaced file is noticed.
    pub identity: (u64, u64),
}

impl LogFile {
    /// What the file system says of a file, which may be of any kind.
    pub(super) fn of(path: PathBuf, meta: &fs::Metadata) -> Self {
        Self {
            path: Arc::new(path),
            size: meta.len(),
            modified: modified(meta),
            identity: (meta.dev(), meta.ino()),
        }
    }

    /// The session id that its name stands for; lossy where it is no UTF-8.
    pub fn id(&self) -> String {
        let stem = self.path.file_stem().unwrap_or_default();
        stem.to_string_lossy().into_owned()
    }
}

/// What a walk of the directory found.
#[derive(Clone, Debug, Default)]
pub struct Catalogue {
    /// Non-empty logs, newest first, ties by path.
    pub logs: Vec<LogFile>,
    /// Zero-byte logs.
    pub empty: usize,
    /// Names that end in `.jsonl` and are no regular files.
    pub skipped: usize,
}

impl Catalogue {
    /// Walks the directory; a missing one is an empty catalogue. Opens no file.
    ///
    /// # Errors
    /// When the directory cannot be read.
    pub fn walk(sessions: &Path) -> Result<Self, super::Error> {
        let mut catalogue = Self::default();
        for path in names(sessions)? {
            match fs::metadata(&path) {
                Ok(meta) if meta.is_file() && meta.len() == 0 => catalogue.empty += 1,
                Ok(meta) if meta.is_file() => {
                    catalogue.logs.push(LogFile::of(path, &meta));
                }
                _ => catalogue.skipped += 1,
            }
        }
        catalogue
            .logs
            .sort_by(|left, right| newest_first(left).cmp(&newest_first(right)));
        Ok(catalogue)
    }
}

fn newest_first(log: &LogFile) -> (std::cmp::Reverse<Timestamp>, &Path) {
    (std::cmp::Reverse(log.modified), &log.path)
}

/// The last change of a file.
pub(super) fn modified(meta: &fs::Metadata) -> Timestamp {
    let nanos = meta
        .mtime()
        .saturating_mul(1_000_000_000)
        .saturating_add(meta.mtime_nsec());
    Timestamp::from_nanos(nanos)
}

/// The paths of a sessions directory that are named like logs, whatever they are.
pub(super) fn names(sessions: &Path) -> Result<Vec<PathBuf>, super::Error> {
    let fail = |source| super::Error::Read {
        path: sessions.to_owned(),
        source,
    };
    let entries = match fs::read_dir(sessions) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(fail(error)),
    };
    let mut paths = Vec::new();
    for entry in entries {
        let path = entry.map_err(fail)?.path();
        if is_log_name(path.file_name().unwrap_or_default()) {
            paths.push(path);
        }
    }
    Ok(paths)
}

/// True for names that end in `.jsonl`, exactly so.
pub(super) fn is_log_name(name: &OsStr) -> bool {
    name.as_bytes().ends_with(b".jsonl")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_walk_sorts_counts_and_opens_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str, second: u64| {
            let path = folder.path().join(name);
            fs::write(&path, text).unwrap();
            let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(second);
            let file = fs::File::options().append(true).open(&path).unwrap();
            file.set_modified(time).unwrap();
        };
        write("b.jsonl", "x", 100);
        write("a.jsonl", "xy", 100);
        write("new.jsonl", "x", 200);
        write("empty.jsonl", "", 300);
        write("other.JSONL", "x", 400);
        write("other.jsonl.gz", "x", 400);
        fs::create_dir(folder.path().join("folder.jsonl")).unwrap();
        std::os::unix::fs::symlink("/nowhere", folder.path().join("dead.jsonl")).unwrap();
        std::os::unix::fs::symlink("a.jsonl", folder.path().join("link.jsonl")).unwrap();

        let catalogue = Catalogue::walk(folder.path()).unwrap();
        let names: Vec<_> = catalogue.logs.iter().map(LogFile::id).collect();
        assert_eq!(names, ["new", "a", "b", "link"]);
        assert_eq!((catalogue.empty, catalogue.skipped), (1, 2));
        let first = &catalogue.logs[1];
        assert_eq!((first.size, first.modified.as_secs()), (2, 100));

        let missing = Catalogue::walk(&folder.path().join("none")).unwrap();
        assert_eq!(missing.logs, []);
        let file = folder.path().join("a.jsonl");
        assert!(matches!(
            Catalogue::walk(&file),
            Err(super::super::Error::Read { .. })
        ));
    }
}
