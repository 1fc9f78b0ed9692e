//! One SFTP session over an SSH connection: the requests that this program makes, each with a limit
//! on time without progress and with every answer checked (remote.md 6.1, 10, 14.11).

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, AtomicU64, Ordering},
    },
    time::Duration,
};

use futures_util::FutureExt as _;
use russh::{Channel, ChannelMsg, client::Msg};
use russh_sftp::{
    client::{Config, RawSftpSession, error::Error as CrateError},
    protocol::{FileAttributes, OpenFlags, StatusCode},
};
use tokio::time::Instant;

use super::{far_error::SftpError, link::Connected, window::Window};

/// Largest packet that is read: the largest data reply and its head (remote.md 10).
const PACKET_LIMIT: u32 = (256 << 10) + 1_024;
/// Read length without `limits@openssh.com`.
const PLAIN_READ: u32 = 32 << 10;
/// Longest read that is asked for: OpenSSH's own limit.
const LONGEST_READ: u32 = 255 << 10;
/// Time without any answer before the connection is tested.
const STALL: Duration = Duration::from_secs(30);
/// How long the test may take.
const TEST: Duration = Duration::from_secs(15);
/// How long a server may take to show that it is there at all when SFTP did not start.
pub(super) const LINK_TEST: Duration = Duration::from_secs(5);
/// Time to open the channel and start the subsystem (remote.md 14).
const OPENING: Duration = Duration::from_secs(10);
/// Sizes above this are not believed.
const SIZE_LIMIT: u64 = 1 << 53;

/// What a file is, by the type bits of its mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Regular,
    Directory,
    Socket,
    Symlink,
    Other,
}

/// What the server says of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Attributes {
    pub(super) kind: Kind,
    /// Permission bits.
    pub(super) mode: u32,
    pub(super) uid: Option<u32>,
    pub(super) size: u64,
    /// Seconds since the epoch by the remote clock.
    pub(super) modified: i64,
}

impl Attributes {
    /// `None` when the answer lacks the mode or names an unbelievable size.
    pub(super) fn read(raw: &FileAttributes) -> Option<Self> {
        let mode = raw.permissions?;
        // The helpers of the crate test single bits and take a socket for a file (remote.md 14.11).
        let kind = match mode & 0o170_000 {
            0o100_000 => Kind::Regular,
            0o040_000 => Kind::Directory,
            0o140_000 => Kind::Socket,
            0o120_000 => Kind::Symlink,
            _ => Kind::Other,
        };
        let size = raw.size.unwrap_or(0);
        (size <= SIZE_LIMIT).then(|| Self {
            kind,
            mode: mode & 0o7_777,
            uid: raw.uid,
            size,
            modified: i64::from(raw.mtime.unwrap_or(0)),
        })
    }
}

/// One entry of a directory. The name is untrusted.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) name: String,
    /// `None` when the server did not say.
    pub(super) attributes: Option<Attributes>,
}

/// A file or directory that is open on the far side. It must be given to `Sftp::close`.
#[derive(Clone, Debug)]
pub(super) struct Open(pub(super) Arc<str>);

/// The session. Cheap to share; all requests of one connection may run at the same time.
pub(super) struct Sftp {
    raw: RawSftpSession,
    link: Arc<Connected>,
    read_length: AtomicU32,
    has_limits: bool,
    has_hardlink: bool,
    window: Window,
    /// Milliseconds since `started` of the last answer.
    last_answer: AtomicU64,
    started: Instant,
}

impl std::fmt::Debug for Sftp {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Sftp")
            .field("read_length", &self.read_length())
            .finish_non_exhaustive()
    }
}

impl Sftp {
    /// Opens a session channel and starts the subsystem.
    ///
    /// # Errors
    /// The reason as text for the message (remote.md 12), or that the connection ended.
    pub(super) async fn open(link: &Arc<Connected>) -> Result<Self, SftpError> {
        tokio::time::timeout(OPENING, Self::start(link))
            .await
            .unwrap_or_else(|_| Err(SftpError::Refused("no answer within 10 s".to_owned())))
    }

    async fn start(link: &Arc<Connected>) -> Result<Self, SftpError> {
        let mut channel = link
            .handle
            .channel_open_session()
            .await
            .map_err(|error| link_error(link, &error))?;
        if !starts(&mut channel, link).await? {
            close_quietly(&channel).await;
            return Err(SftpError::Refused("no `sftp` subsystem".to_owned()));
        }
        let config = Config {
            max_packet_len: PACKET_LIMIT,
            // No limit on the age of a request: `ask` counts time without progress.
            request_timeout_secs: u64::MAX,
            ..Config::default()
        };
        let raw = RawSftpSession::new_with_config(channel.into_stream(), config);
        let version = raw.init().await.map_err(|error| match error {
            CrateError::Status(status) => SftpError::Refused(status.error_message),
            _ => SftpError::Refused("it does not speak SFTP (a forced command?)".to_owned()),
        })?;
        let has = |name: &str| version.extensions.contains_key(name);
        let has_hardlink = has("hardlink@openssh.com");
        let has_limits = has("limits@openssh.com");
        Ok(Self {
            raw,
            link: Arc::clone(link),
            read_length: AtomicU32::new(PLAIN_READ),
            has_limits,
            has_hardlink,
            window: Window::new(),
            last_answer: AtomicU64::new(0),
            started: Instant::now(),
        })
    }

    /// Longest single read.
    pub(super) fn read_length(&self) -> u32 {
        self.read_length.load(Ordering::Relaxed)
    }

    /// Asks how long a read may be. Ask beside the first other requests: it costs no round trip then.
    pub(super) async fn learn_limits(&self) {
        if !self.has_limits {
            return;
        }
        // Without an answer reads stay short; what broke the session shows in the next request.
        if let Ok(limits) = self.ask(self.raw.limits()).await {
            let length = u32::try_from(limits.max_read_len).unwrap_or(LONGEST_READ);
            if length > 0 {
                let length = length.min(LONGEST_READ);
                self.read_length.store(length, Ordering::Relaxed);
            }
        }
    }

    /// The budget of outstanding reads.
    pub(super) const fn window(&self) -> &Window {
        &self.window
    }

    /// Resolves a path to an absolute one.
    pub(super) async fn realpath(&self, path: &str) -> Result<String, SftpError> {
        let mut name = self.ask(self.raw.realpath(path)).await?;
        name.files
            .pop()
            .map(|file| file.filename)
            .ok_or(SftpError::Hostile("no name"))
    }

    /// What a path is, without following a symlink.
    pub(super) async fn lstat(&self, path: &str) -> Result<Attributes, SftpError> {
        let attributes = self.ask(self.raw.lstat(path)).await?.attrs;
        Attributes::read(&attributes).ok_or(SftpError::Hostile("attributes without a mode"))
    }

    /// What a path leads to.
    pub(super) async fn stat(&self, path: &str) -> Result<Attributes, SftpError> {
        let attributes = self.ask(self.raw.stat(path)).await?.attrs;
        Attributes::read(&attributes).ok_or(SftpError::Hostile("attributes without a mode"))
    }

    /// Opens a file for reading.
    pub(super) async fn open_file(&self, path: &str) -> Result<Open, SftpError> {
        let opened = self
            .ask(
                self.raw
                    .open(path, OpenFlags::READ, FileAttributes::empty()),
            )
            .await?;
        Ok(Open(opened.handle.into()))
    }

    /// Opens a directory.
    pub(super) async fn open_directory(&self, path: &str) -> Result<Open, SftpError> {
        Ok(Open(self.ask(self.raw.opendir(path)).await?.handle.into()))
    }

    /// The next entries of a directory; `None` at its end.
    pub(super) async fn read_directory(
        &self,
        open: &Open,
    ) -> Result<Option<Vec<Entry>>, SftpError> {
        match self.ask_raw(self.raw.readdir(&*open.0)).await {
            // One that never ends would never reach the limit on names either.
            Ok(names) if names.files.is_empty() => {
                Err(SftpError::Hostile("an empty list of names"))
            }
            Ok(names) => Ok(Some(
                names
                    .files
                    .into_iter()
                    .map(|file| Entry {
                        attributes: Attributes::read(&file.attrs),
                        name: file.filename,
                    })
                    .collect(),
            )),
            Err(CrateError::Status(status)) if status.status_code == StatusCode::Eof => Ok(None),
            Err(error) => Err(self.translate(error)),
        }
    }

    /// One read; `None` at the end of the file. Never empty, never longer than asked.
    pub(super) async fn read(
        &self,
        open: &Open,
        offset: u64,
        length: u32,
    ) -> Result<Option<Vec<u8>>, SftpError> {
        match self.ask_raw(self.raw.read(&*open.0, offset, length)).await {
            Ok(data) if data.data.is_empty() => Err(SftpError::Hostile("an empty data reply")),
            Ok(data) if data.data.len() > length as usize => {
                Err(SftpError::Hostile("more data than asked for"))
            }
            Ok(data) => Ok(Some(data.data)),
            Err(CrateError::Status(status)) if status.status_code == StatusCode::Eof => Ok(None),
            Err(error) => Err(self.translate(error)),
        }
    }

    /// Gives a handle back.
    pub(super) async fn close(&self, open: Open) -> Result<(), SftpError> {
        self.ask(self.raw.close(&*open.0)).await.map(drop)
    }

    /// Gives a handle back without waiting for the answer.
    pub(super) fn close_soon(&self, open: &Open) {
        // The first poll sends the request; an answer that nobody waits for is ignored.
        if let Some(Err(_)) = self.raw.close(&*open.0).now_or_never() {
            // The session is over, and its handles with it.
        }
    }

    /// Makes a directory with mode 0700.
    pub(super) async fn make_directory(&self, path: &str) -> Result<(), SftpError> {
        let private = FileAttributes {
            permissions: Some(0o700),
            ..FileAttributes::empty()
        };
        self.ask(self.raw.mkdir(path, private)).await.map(drop)
    }

    /// Gives a file a second name; fails if that name exists.
    pub(super) async fn hard_link(&self, from: &str, to: &str) -> Result<(), SftpError> {
        if !self.has_hardlink {
            return Err(SftpError::Unsupported);
        }
        self.ask(self.raw.hardlink(from, to)).await.map(drop)
    }

    /// Renames; fails if the new name exists (on OpenSSH not atomically for sockets).
    pub(super) async fn rename(&self, from: &str, to: &str) -> Result<(), SftpError> {
        self.ask(self.raw.rename(from, to)).await.map(drop)
    }

    /// Removes a file.
    pub(super) async fn remove(&self, path: &str) -> Result<(), SftpError> {
        self.ask(self.raw.remove(path)).await.map(drop)
    }

    /// Writes a small file anew, mode 0600.
    pub(super) async fn write_small(&self, path: &str, bytes: &[u8]) -> Result<(), SftpError> {
        let flags = OpenFlags::WRITE | OpenFlags::CREATE | OpenFlags::TRUNCATE;
        let private = FileAttributes {
            permissions: Some(0o600),
            ..FileAttributes::empty()
        };
        let opened = self.ask(self.raw.open(path, flags, private)).await?;
        let open = Open(opened.handle.into());
        let written = self
            .ask(self.raw.write(&*open.0, 0, bytes.to_vec()))
            .await
            .map(drop);
        self.close(open).await?;
        written
    }

    /// Reads a small file whole; `None` if it is longer than `most`.
    pub(super) async fn read_small(
        &self,
        path: &str,
        most: u32,
    ) -> Result<Option<Vec<u8>>, SftpError> {
        let open = self.open_file(path).await?;
        let read = self.read(&open, 0, most + 1).await;
        self.close(open).await?;
        let bytes = read?.unwrap_or_default();
        Ok((bytes.len() <= most as usize).then_some(bytes))
    }

    /// Ends the session; pending requests end with it.
    pub(super) fn end(&self) {
        if self.raw.close_session().is_err() {
            // The channel is gone already, which is what was wanted.
        }
    }

    async fn ask<T>(
        &self,
        request: impl Future<Output = Result<T, CrateError>>,
    ) -> Result<T, SftpError> {
        self.ask_raw(request)
            .await
            .map_err(|error| self.translate(error))
    }

    /// Waits for an answer; `Timeout` when there was none at all for a while and the connection or
    /// the server behind it does not answer a test either.
    async fn ask_raw<T>(
        &self,
        request: impl Future<Output = Result<T, CrateError>>,
    ) -> Result<T, CrateError> {
        tokio::pin!(request);
        let asked = self.started.elapsed();
        let mut tests = 0;
        loop {
            let last = Duration::from_millis(self.last_answer.load(Ordering::Relaxed)).max(asked);
            let deadline = self.started + last + STALL * (tests + 1);
            tokio::select! {
                biased;
                answer = &mut request => {
                    let now = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
                    self.last_answer.store(now, Ordering::Relaxed);
                    return answer;
                }
                () = tokio::time::sleep_until(deadline) => {
                    let seen = Duration::from_millis(self.last_answer.load(Ordering::Relaxed));
                    if seen > last {
                        tests = 0;
                    } else if tests > 0 || !answers(&self.link, TEST).await {
                        return Err(CrateError::Timeout);
                    } else {
                        tests += 1;
                    }
                }
            }
        }
    }

    fn translate(&self, error: CrateError) -> SftpError {
        match error {
            CrateError::Status(status) => match status.status_code {
                StatusCode::NoSuchFile => SftpError::NotFound,
                StatusCode::PermissionDenied => SftpError::Denied,
                StatusCode::OpUnsupported => SftpError::Unsupported,
                _ => SftpError::Refused(shortened(status.error_message)),
            },
            CrateError::Timeout if self.link.is_open() => SftpError::Stalled,
            CrateError::Limited(_) => SftpError::Refused("too many open files".to_owned()),
            CrateError::UnexpectedPacket => SftpError::Hostile("an answer of another kind"),
            CrateError::Timeout | CrateError::IO(_) | CrateError::UnexpectedBehavior(_) => {
                SftpError::Ended
            }
        }
    }
}

/// True when the server answers a request on the connection within `limit`.
pub(super) async fn answers(link: &Connected, limit: Duration) -> bool {
    if !link.is_open() {
        return false;
    }
    let ping = tokio::time::timeout(limit, link.handle.send_ping()).await;
    matches!(ping, Ok(Ok(()))) && link.is_open()
}

/// Requests the subsystem; false when the server refuses it.
async fn starts(channel: &mut Channel<Msg>, link: &Connected) -> Result<bool, SftpError> {
    let requested = channel.request_subsystem(true, "sftp").await;
    requested.map_err(|error| link_error(link, &error))?;
    loop {
        match channel.wait().await {
            Some(ChannelMsg::Success) => return Ok(true),
            Some(ChannelMsg::Failure) => return Ok(false),
            Some(_) => {}
            None => return Err(SftpError::Ended),
        }
    }
}

fn link_error(link: &Connected, error: &russh::Error) -> SftpError {
    match error {
        russh::Error::ChannelOpenFailure(_) => {
            SftpError::Refused("the server opens no session channel".to_owned())
        }
        _ if link.is_open() => SftpError::Refused(error.to_string()),
        _ => SftpError::Ended,
    }
}

/// Closes a channel whose connection may be gone already.
pub(super) async fn close_quietly(channel: &Channel<Msg>) {
    if channel.close().await.is_err() {
        // Nothing is left to close.
    }
}

/// At most 200 characters of a server's words.
fn shortened(mut text: String) -> String {
    if let Some((at, _)) = text.char_indices().nth(200) {
        text.truncate(at);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_come_from_the_type_bits_alone() {
        let cases = [
            (0o100_644, Some(Kind::Regular)),
            (0o140_600, Some(Kind::Socket)),
            (0o120_777, Some(Kind::Symlink)),
            (0o040_700, Some(Kind::Directory)),
            (0o010_600, Some(Kind::Other)),
            (0o020_600, Some(Kind::Other)),
            (0o060_600, Some(Kind::Other)),
            (0, Some(Kind::Other)),
        ];
        for (mode, kind) in cases {
            let raw = FileAttributes {
                permissions: Some(mode),
                ..FileAttributes::empty()
            };
            assert_eq!(
                Attributes::read(&raw).map(|read| read.kind),
                kind,
                "{mode:o}"
            );
        }
        assert_eq!(Attributes::read(&FileAttributes::empty()), None);
        let absurd = FileAttributes {
            permissions: Some(0o100_644),
            size: Some(SIZE_LIMIT + 1),
            ..FileAttributes::empty()
        };
        assert_eq!(Attributes::read(&absurd), None);
    }
}
