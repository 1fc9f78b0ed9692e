//! The SFTP side of the demo's server: what `remote` needs, below one directory and nowhere else.

use std::{
    collections::HashMap,
    io,
    os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _},
    path::{Component, Path, PathBuf},
    sync::Arc,
};

use russh_sftp::{
    protocol::{
        Attrs, Data, File, FileAttributes, Handle, Name, OpenFlags, Packet, Status, StatusCode,
        Version,
    },
    server::Handler,
};
use tokio::io::{AsyncReadExt as _, AsyncSeekExt as _, AsyncWriteExt as _};

/// Longest answer to a read.
const LONGEST_READ: u32 = 255 << 10;
/// Names in one answer to a readdir.
const NAMES_AT_ONCE: usize = 100;
/// Files and directories that may be open.
const OPEN_LIMIT: usize = 100;

/// Something open.
enum OpenFile {
    File(tokio::fs::File),
    /// Entries that were not told yet.
    Directory(Vec<File>),
}

/// One SFTP session of the demo.
pub(super) struct DemoSftp {
    root: Arc<Path>,
    open: HashMap<String, OpenFile>,
    next: u64,
}

impl DemoSftp {
    /// Serves what lies below `root`, a canonical path.
    pub(super) fn new(root: Arc<Path>) -> Self {
        Self {
            root,
            open: HashMap::new(),
            next: 0,
        }
    }

    fn keep(&mut self, id: u32, open: OpenFile) -> Result<Handle, StatusCode> {
        if self.open.len() >= OPEN_LIMIT {
            return Err(StatusCode::Failure);
        }
        self.next += 1;
        let handle = self.next.to_string();
        self.open.insert(handle.clone(), open);
        Ok(Handle { id, handle })
    }

    /// An open file, at this offset.
    async fn file_at(
        &mut self,
        handle: &str,
        offset: u64,
    ) -> Result<&mut tokio::fs::File, StatusCode> {
        let Some(OpenFile::File(file)) = self.open.get_mut(handle) else {
            return Err(StatusCode::Failure);
        };
        let sought = file.seek(io::SeekFrom::Start(offset)).await;
        sought.map_err(|error| code(&error))?;
        Ok(file)
    }

    fn path(&self, path: &str) -> Result<PathBuf, StatusCode> {
        below(&self.root, path).ok_or(StatusCode::PermissionDenied)
    }
}

/// The path, if it lies below `root` whatever links there are.
pub(super) fn below(root: &Path, path: &str) -> Option<PathBuf> {
    let path = Path::new(path);
    let plain = path
        .components()
        .all(|part| matches!(part, Component::RootDir | Component::Normal(_)));
    if !plain || !path.starts_with(root) {
        return None;
    }
    // The deepest directory that exists must really lie there.
    let real = path
        .ancestors()
        .skip(usize::from(path != root))
        .find_map(|parent| parent.canonicalize().ok())?;
    real.starts_with(root).then(|| path.to_owned())
}

fn code(error: &io::Error) -> StatusCode {
    match error.kind() {
        io::ErrorKind::NotFound => StatusCode::NoSuchFile,
        io::ErrorKind::PermissionDenied => StatusCode::PermissionDenied,
        _ => StatusCode::Failure,
    }
}

/// The answer to `stat` and `lstat`.
fn answer(id: u32, metadata: io::Result<std::fs::Metadata>) -> Result<Attrs, StatusCode> {
    let attrs = attributes(&metadata.map_err(|error| code(&error))?);
    Ok(Attrs { id, attrs })
}

fn attributes(metadata: &std::fs::Metadata) -> FileAttributes {
    let kind = metadata.file_type();
    // The crate's own conversion calls everything but a directory a regular file.
    let bits = if kind.is_dir() {
        0o040_000
    } else if kind.is_symlink() {
        0o120_000
    } else if kind.is_socket() {
        0o140_000
    } else if kind.is_file() {
        0o100_000
    } else {
        0o010_000
    };
    FileAttributes {
        size: Some(metadata.len()),
        uid: Some(metadata.uid()),
        gid: Some(metadata.gid()),
        permissions: Some(bits | (metadata.mode() & 0o7_777)),
        atime: u32::try_from(metadata.atime()).ok(),
        mtime: u32::try_from(metadata.mtime()).ok(),
        ..FileAttributes::empty()
    }
}

fn done(id: u32) -> Status {
    Status {
        id,
        status_code: StatusCode::Ok,
        error_message: "Success".to_owned(),
        language_tag: String::new(),
    }
}

impl Handler for DemoSftp {
    type Error = StatusCode;

    fn unimplemented(&self) -> StatusCode {
        StatusCode::OpUnsupported
    }

    async fn init(
        &mut self,
        _version: u32,
        _extensions: HashMap<String, String>,
    ) -> Result<Version, StatusCode> {
        let mut version = Version::new();
        version
            .extensions
            .insert("hardlink@openssh.com".to_owned(), "1".to_owned());
        Ok(version)
    }

    async fn realpath(&mut self, id: u32, path: String) -> Result<Name, StatusCode> {
        let real = if path == "." || path.is_empty() {
            self.root.to_path_buf()
        } else {
            self.path(&path)?
        };
        Ok(Name {
            id,
            files: vec![File::dummy(real.to_string_lossy())],
        })
    }

    async fn stat(&mut self, id: u32, path: String) -> Result<Attrs, StatusCode> {
        let path = self.path(&path)?;
        answer(id, tokio::fs::metadata(path).await)
    }

    async fn lstat(&mut self, id: u32, path: String) -> Result<Attrs, StatusCode> {
        let path = self.path(&path)?;
        answer(id, tokio::fs::symlink_metadata(path).await)
    }

    async fn opendir(&mut self, id: u32, path: String) -> Result<Handle, StatusCode> {
        let path = self.path(&path)?;
        let mut entries = tokio::fs::read_dir(path)
            .await
            .map_err(|error| code(&error))?;
        let mut files = Vec::new();
        while let Ok(Some(entry)) = entries.next_entry().await {
            let Ok(metadata) = tokio::fs::symlink_metadata(entry.path()).await else {
                continue;
            };
            let mut file = File::dummy(entry.file_name().to_string_lossy());
            file.attrs = attributes(&metadata);
            files.push(file);
        }
        self.keep(id, OpenFile::Directory(files))
    }

    async fn readdir(&mut self, id: u32, handle: String) -> Result<Name, StatusCode> {
        let Some(OpenFile::Directory(files)) = self.open.get_mut(&handle) else {
            return Err(StatusCode::Failure);
        };
        if files.is_empty() {
            return Err(StatusCode::Eof);
        }
        let rest = files.split_off(files.len().min(NAMES_AT_ONCE));
        Ok(Name {
            id,
            files: std::mem::replace(files, rest),
        })
    }

    async fn open(
        &mut self,
        id: u32,
        filename: String,
        flags: OpenFlags,
        attrs: FileAttributes,
    ) -> Result<Handle, StatusCode> {
        let path = self.path(&filename)?;
        let mut options = tokio::fs::OpenOptions::new();
        options
            .read(flags.contains(OpenFlags::READ))
            .write(flags.contains(OpenFlags::WRITE))
            .create(flags.contains(OpenFlags::CREATE))
            .truncate(flags.contains(OpenFlags::TRUNCATE))
            .mode(attrs.permissions.unwrap_or(0o600) & 0o777);
        let file = options.open(path).await.map_err(|error| code(&error))?;
        self.keep(id, OpenFile::File(file))
    }

    async fn read(
        &mut self,
        id: u32,
        handle: String,
        offset: u64,
        length: u32,
    ) -> Result<Data, StatusCode> {
        let failed = |error: io::Error| code(&error);
        let file = self.file_at(&handle, offset).await?;
        let mut data = Vec::new();
        let most = u64::from(length.min(LONGEST_READ));
        file.take(most)
            .read_to_end(&mut data)
            .await
            .map_err(failed)?;
        if data.is_empty() {
            return Err(StatusCode::Eof);
        }
        Ok(Data { id, data })
    }

    async fn write(
        &mut self,
        id: u32,
        handle: String,
        offset: u64,
        data: Vec<u8>,
    ) -> Result<Status, StatusCode> {
        let failed = |error: io::Error| code(&error);
        let file = self.file_at(&handle, offset).await?;
        file.write_all(&data).await.map_err(failed)?;
        file.flush().await.map_err(failed)?;
        Ok(done(id))
    }

    async fn close(&mut self, id: u32, handle: String) -> Result<Status, StatusCode> {
        match self.open.remove(&handle) {
            Some(_) => Ok(done(id)),
            None => Err(StatusCode::Failure),
        }
    }

    async fn remove(&mut self, id: u32, filename: String) -> Result<Status, StatusCode> {
        let path = self.path(&filename)?;
        tokio::fs::remove_file(path)
            .await
            .map_err(|error| code(&error))?;
        Ok(done(id))
    }

    async fn mkdir(
        &mut self,
        id: u32,
        path: String,
        attrs: FileAttributes,
    ) -> Result<Status, StatusCode> {
        let path = self.path(&path)?;
        let mode = attrs.permissions.unwrap_or(0o700) & 0o777;
        tokio::fs::create_dir(&path)
            .await
            .map_err(|error| code(&error))?;
        let permissions = std::fs::Permissions::from_mode(mode);
        tokio::fs::set_permissions(&path, permissions)
            .await
            .map_err(|error| code(&error))?;
        Ok(done(id))
    }

    async fn rename(&mut self, id: u32, from: String, to: String) -> Result<Status, StatusCode> {
        let (from, to) = (self.path(&from)?, self.path(&to)?);
        // SFTP 3 does not replace.
        if tokio::fs::symlink_metadata(&to).await.is_ok() {
            return Err(StatusCode::Failure);
        }
        tokio::fs::rename(from, to)
            .await
            .map_err(|error| code(&error))?;
        Ok(done(id))
    }

    async fn extended(
        &mut self,
        id: u32,
        request: String,
        data: Vec<u8>,
    ) -> Result<Packet, StatusCode> {
        if request != "hardlink@openssh.com" {
            return Err(StatusCode::OpUnsupported);
        }
        let (from, rest) = text(&data).ok_or(StatusCode::BadMessage)?;
        let (to, _) = text(rest).ok_or(StatusCode::BadMessage)?;
        let (from, to) = (self.path(from)?, self.path(to)?);
        tokio::fs::hard_link(from, to)
            .await
            .map_err(|error| code(&error))?;
        Ok(Packet::Status(done(id)))
    }
}

/// A string with its length in front, and what follows it.
fn text(data: &[u8]) -> Option<(&str, &[u8])> {
    let (length, rest) = data.split_first_chunk::<4>()?;
    let length = usize::try_from(u32::from_be_bytes(*length)).ok()?;
    let (text, rest) = rest.split_at_checked(length)?;
    Some((str::from_utf8(text).ok()?, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_lies_below_the_root() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        std::fs::create_dir(root.join("in")).unwrap();
        std::os::unix::fs::symlink("/", root.join("out")).unwrap();
        let shown = root.to_str().unwrap();
        let good = ["", "/in", "/in/a.jsonl", "/new", "/new/deep", "/out"];
        for path in good {
            assert!(below(&root, &format!("{shown}{path}")).is_some(), "{path}");
        }
        let bad = ["/out/etc", "/../x", "/in/../../x"];
        for path in bad {
            assert!(below(&root, &format!("{shown}{path}")).is_none(), "{path}");
        }
        for path in ["", ".", "/", "/etc/passwd", "relative"] {
            assert!(below(&root, path).is_none(), "{path}");
        }
    }

    #[test]
    fn reads_strings_with_their_lengths() {
        assert_eq!(text(b"\0\0\0\x02abc"), Some(("ab", b"c".as_slice())));
        assert_eq!(text(b"\0\0\0\x05abc"), None);
        assert_eq!(text(b"\0\0"), None);
    }
}
