//! Who owns the hub socket: the lock, the probe of a socket that is there, binding, removal
//! (capture.md 8.2, 8.6).

use std::{
    fs::{File, Metadata, OpenOptions, Permissions},
    io,
    os::unix::fs::{FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
    time::Duration,
};

use rustix::{
    fs::{FlockOperation, flock},
    io::Errno,
};
use tokio::net::{UnixListener, UnixStream};

use crate::record::StateDir;

/// A listener on this machine answers at once or not at all.
const PROBE_TIMEOUT: Duration = Duration::from_millis(500);

/// The socket while it is ours; `release` gives it back.
#[derive(Debug)]
pub(super) struct OwnedSocket {
    listener: UnixListener,
    path: PathBuf,
    identity: (u64, u64),
    /// Held as long as the socket is ours.
    _lock: File,
}

/// Why the socket is not ours.
#[derive(Debug, thiserror::Error)]
pub(super) enum Refused {
    #[error("another mcpsnoop is the hub here")]
    Locked,
    #[error("the socket belongs to another hub or to a remote viewer")]
    Answered,
    #[error("`{}` is not a socket of this user", .0.display())]
    NotOurs(PathBuf),
    #[error("{0}")]
    Trouble(String),
    #[error("cannot {what} `{}`: {source}", path.display())]
    System {
        what: &'static str,
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

impl OwnedSocket {
    /// Takes the lock, clears a stale socket away and binds.
    pub(super) async fn claim(state: &StateDir) -> Result<Self, Refused> {
        if let Some(trouble) = state.socket_trouble() {
            return Err(Refused::Trouble(trouble));
        }
        let lock = take_lock(&state.base().join("hub.lock"))?;
        let path = state.socket();
        clear_stale(&path).await?;
        let failed = |what| {
            let path = path.clone();
            move |source| Refused::System { what, path, source }
        };
        let listener = UnixListener::bind(&path).map_err(|source| match source.kind() {
            io::ErrorKind::AddrInUse => Refused::Answered,
            _ => failed("bind")(source),
        })?;
        std::fs::set_permissions(&path, Permissions::from_mode(0o600))
            .map_err(failed("protect"))?;
        let identity = identity_of(&path).ok_or(Refused::Answered)?;
        Ok(Self {
            listener,
            path,
            identity,
            _lock: lock,
        })
    }

    pub(super) const fn listener(&self) -> &UnixListener {
        &self.listener
    }

    /// False when somebody removed or replaced the file.
    pub(super) fn is_ours(&self) -> bool {
        identity_of(&self.path) == Some(self.identity)
    }

    /// Removes the file if it is still the one that was made here, and gives the lock back.
    pub(super) fn release(self) -> io::Result<()> {
        if self.is_ours() {
            return std::fs::remove_file(&self.path);
        }
        Ok(())
    }
}

fn take_lock(path: &Path) -> Result<File, Refused> {
    let failed = |source: io::Error| Refused::System {
        what: "lock",
        path: path.to_owned(),
        source,
    };
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(path)
        .map_err(failed)?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Err(Errno::WOULDBLOCK) => Err(Refused::Locked),
        // Without locks on this file system binding still has one winner.
        Ok(()) | Err(Errno::NOTSUP | Errno::NOLCK | Errno::NOSYS) => Ok(file),
        Err(error) => Err(failed(error.into())),
    }
}

/// Removes a socket that nobody listens on, and a remote viewer's note beside it.
async fn clear_stale(path: &Path) -> Result<(), Refused> {
    let before = match std::fs::symlink_metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(source) => return Err(cannot("examine", path, source)),
    };
    if !before.file_type().is_socket() || !is_own(&before) {
        return Err(Refused::NotOurs(path.to_owned()));
    }
    let probe = tokio::time::timeout(PROBE_TIMEOUT, UnixStream::connect(path)).await;
    match probe {
        Ok(Err(error)) if error.kind() == io::ErrorKind::ConnectionRefused => {}
        Ok(Err(error)) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        // It answered, or its queue is full: somebody listens.
        _ => return Err(Refused::Answered),
    }
    if identity_of(path) != Some((before.dev(), before.ino())) {
        return Err(Refused::Answered);
    }
    std::fs::remove_file(path).map_err(|source| cannot("remove the stale", path, source))?;
    let note = path.with_file_name("hub.owner");
    let is_left_over = std::fs::symlink_metadata(&note)
        .is_ok_and(|metadata| metadata.is_file() && is_own(&metadata));
    if is_left_over {
        std::fs::remove_file(&note).map_err(|source| cannot("remove the stale", &note, source))?;
    }
    Ok(())
}

fn cannot(what: &'static str, path: &Path, source: io::Error) -> Refused {
    let path = path.to_owned();
    Refused::System { what, path, source }
}

fn is_own(metadata: &Metadata) -> bool {
    metadata.uid() == rustix::process::geteuid().as_raw()
}

/// Device and file number of a socket of this user.
fn identity_of(path: &Path) -> Option<(u64, u64)> {
    let metadata = std::fs::symlink_metadata(path).ok()?;
    let is_ours = metadata.file_type().is_socket() && is_own(&metadata);
    is_ours.then(|| (metadata.dev(), metadata.ino()))
}
