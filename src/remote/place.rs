//! The remote state directory for publishing: names over SFTP, sockets over the connection.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use russh::ChannelMsg;
use tokio::sync::oneshot;

use super::{
    far_error::SftpError,
    link::Connected,
    probe::random_name,
    publish::{OWNER, Patience, Place},
    sftp::{Attributes, Kind, Sftp, close_quietly},
    verdict::{Contact, OwnerFile, read_answer, subscription},
};
use crate::base::Clock;

/// Time for the server to answer a socket request.
const REQUEST_TIME: Duration = Duration::from_secs(5);
/// Time for the first line of whoever listens.
const LINE_TIME: Duration = Duration::from_secs(2);
/// The same where a valid `hub.owner` says that it is our own, of a lost connection.
const SHORT_LINE_TIME: Duration = Duration::from_millis(500);
/// The same where a valid `hub.owner` says that a viewer, which answers, should be there.
const PATIENT_LINE_TIME: Duration = Duration::from_secs(5);
/// Longest answer that is looked at.
const ANSWER_LIMIT: u32 = 4 << 10;
/// Longest path that every platform can bind, in bytes (log-format 1.2.3).
const SOCKET_PATH_LIMIT: usize = crate::record::SOCKET_PATH_LIMIT;

/// Marks of our own tests that are under way: whoever reads our listener reports them.
#[derive(Clone, Debug, Default)]
pub(super) struct Nonces(Arc<Mutex<HashMap<String, oneshot::Sender<()>>>>);

impl Nonces {
    fn expect(&self, nonce: &str) -> oneshot::Receiver<()> {
        let (sender, receiver) = oneshot::channel();
        self.lock().insert(nonce.to_owned(), sender);
        receiver
    }

    fn forget(&self, nonce: &str) {
        self.lock().remove(nonce);
    }

    /// A subscription with this mark arrived at our own listener; true when it was our own test.
    pub(super) fn arrived(&self, nonce: &str) -> bool {
        let expected = self.lock().remove(nonce);
        expected.is_some_and(|sender| sender.send(()).is_ok())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, oneshot::Sender<()>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The state directory on the far side.
#[derive(Debug)]
pub(super) struct FarPlace {
    pub(super) link: Arc<Connected>,
    pub(super) sftp: Arc<Sftp>,
    /// Absolute path of the state directory.
    pub(super) state: Arc<str>,
    pub(super) nonces: Nonces,
    pub(super) clock: Clock,
    /// Mark of this run in `hub.owner`.
    pub(super) mark: Arc<str>,
    /// Mode of the directory.
    pub(super) directory: Attributes,
}

/// Why no socket may be made below a path, whatever is there (remote.md 8.1).
pub(super) fn path_trouble(state: &str) -> Option<String> {
    let length = state.len() + "/hub.sock".len();
    (length > SOCKET_PATH_LIMIT)
        .then(|| "the path of hub.sock is too long: set a shorter MCPSNOOP_HOME".to_owned())
}

/// Why no socket may be made in a directory (remote.md 8.1).
pub(super) fn directory_trouble(directory: &Attributes, uid: Option<u32>) -> Option<String> {
    if directory.kind != Kind::Directory {
        return Some("the state directory is no directory".to_owned());
    }
    if directory.mode & 0o022 != 0 {
        return Some(format!(
            "the state directory is writable by others (mode {:04o})",
            directory.mode
        ));
    }
    match (directory.uid, uid) {
        (Some(0), _) => None,
        (Some(owner), Some(uid)) if owner != uid => Some(format!(
            "the state directory belongs to user {owner}, not to {uid}"
        )),
        _ => None,
    }
}

impl FarPlace {
    /// The same place through another SFTP session.
    pub(super) fn with_sftp(&self, sftp: &Arc<Sftp>) -> Self {
        Self {
            link: Arc::clone(&self.link),
            sftp: Arc::clone(sftp),
            state: Arc::clone(&self.state),
            nonces: self.nonces.clone(),
            clock: self.clock,
            mark: Arc::clone(&self.mark),
            directory: self.directory,
        }
    }

    fn path(&self, name: &str) -> String {
        format!("{}/{name}", self.state)
    }

    async fn talk(
        &self,
        name: &str,
        nonce: &str,
        patience: Patience,
    ) -> Result<Contact, SftpError> {
        let own = self.nonces.expect(nonce);
        let opening = self
            .link
            .handle
            .channel_open_direct_streamlocal(self.path(name));
        let mut channel = match tokio::time::timeout(REQUEST_TIME, opening).await {
            Ok(Ok(channel)) => channel,
            Ok(Err(_)) if self.link.is_open() => return Ok(Contact::Refused),
            Ok(Err(_)) => return Err(SftpError::Ended),
            Err(_) => return Ok(Contact::Ended),
        };
        let time = match patience {
            Patience::Short => SHORT_LINE_TIME,
            Patience::Usual => LINE_TIME,
            Patience::Long => PATIENT_LINE_TIME,
        };
        let contact = tokio::select! {
            biased;
            arrived = own => if arrived.is_ok() { Contact::Ours } else { Contact::Ended },
            answer = first_answer(&mut channel, nonce) => answer,
            () = tokio::time::sleep(time) => Contact::Silent,
        };
        // An older hub waits on quitting for every open connection.
        close_quietly(&channel).await;
        Ok(contact)
    }
}

/// Sends the test line and reads the first line that comes back.
async fn first_answer(channel: &mut russh::Channel<russh::client::Msg>, nonce: &str) -> Contact {
    if channel.data_bytes(subscription(nonce)).await.is_err() {
        return Contact::Ended;
    }
    let mut answer = Vec::new();
    loop {
        match channel.wait().await {
            Some(ChannelMsg::Data { data }) => answer.extend_from_slice(&data),
            Some(ChannelMsg::Eof | ChannelMsg::Close) | None => return Contact::Ended,
            Some(_) => {}
        }
        if let Some(end) = memchr::memchr(b'\n', &answer) {
            answer.truncate(end);
            return read_answer(&answer);
        }
        if answer.len() > ANSWER_LIMIT as usize {
            return Contact::Ended;
        }
    }
}

impl Place for FarPlace {
    async fn listen(&self, name: &str) -> Result<bool, SftpError> {
        let path = self.path(name);
        self.link.private_paths.insert(&path);
        let request = self.link.handle.streamlocal_forward(path.clone());
        match tokio::time::timeout(REQUEST_TIME, request).await {
            Ok(Ok(())) => return Ok(true),
            Ok(Err(_)) if !self.link.is_open() => return Err(SftpError::Ended),
            Ok(Err(_)) | Err(_) => {}
        }
        self.link.private_paths.remove(&path);
        Ok(false)
    }

    async fn cancel(&self, name: &str) {
        let path = self.path(name);
        let request = self.link.handle.cancel_streamlocal_forward(path.clone());
        if !matches!(
            tokio::time::timeout(REQUEST_TIME, request).await,
            Ok(Ok(()))
        ) {
            // The listener ends with the connection at the latest, and nobody is accepted any more.
        }
        self.link.private_paths.remove(&path);
    }

    async fn look(&self, name: &str) -> Result<Option<Attributes>, SftpError> {
        match self.sftp.lstat(&self.path(name)).await {
            Ok(attributes) => Ok(Some(attributes)),
            Err(SftpError::NotFound) => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn link(&self, from: &str, to: &str) -> Result<(), SftpError> {
        self.sftp.hard_link(&self.path(from), &self.path(to)).await
    }

    async fn rename(&self, from: &str, to: &str) -> Result<(), SftpError> {
        self.sftp.rename(&self.path(from), &self.path(to)).await
    }

    async fn remove(&self, name: &str) -> Result<(), SftpError> {
        self.sftp.remove(&self.path(name)).await
    }

    async fn contact(&self, name: &str, patience: Patience) -> Result<Contact, SftpError> {
        let nonce = random_name(16);
        let contact = self.talk(name, &nonce, patience).await;
        self.nonces.forget(&nonce);
        contact
    }

    async fn owner(&self) -> Result<Option<Vec<u8>>, SftpError> {
        match self.sftp.lstat(&self.path(OWNER)).await {
            Ok(found) if found.kind == Kind::Regular && found.size <= u64::from(ANSWER_LIMIT) => {}
            Err(error) if error.ends_session() => return Err(error),
            _ => return Ok(None),
        }
        let path = self.path(OWNER);
        match self.sftp.read_small(&path, ANSWER_LIMIT).await {
            Ok(bytes) => Ok(bytes),
            Err(error) if error.ends_session() => Err(error),
            Err(_) => Ok(None),
        }
    }

    async fn write_owner(&self, socket_mtime: i64) -> Result<(), SftpError> {
        let owner = OwnerFile {
            kind: "remote-viewer".to_owned(),
            nonce: self.mark.to_string(),
            socket_mtime,
            since: self.clock.now().to_string(),
        };
        let Ok(mut bytes) = serde_json::to_vec(&owner) else {
            return Ok(());
        };
        bytes.push(b'\n');
        // A symlink there would lead the bytes elsewhere.
        match self.sftp.lstat(&self.path(OWNER)).await {
            Ok(found) if found.kind != Kind::Regular => return Ok(()),
            _ => {}
        }
        self.sftp.write_small(&self.path(OWNER), &bytes).await
    }

    fn mark(&self) -> &str {
        &self.mark
    }

    fn keeps_others_out(&self) -> bool {
        self.directory.mode.trailing_zeros() >= 6
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_in_which_no_socket_is_made() {
        let directory = |kind, mode, uid| Attributes {
            kind,
            mode,
            uid: Some(uid),
            size: 0,
            modified: 0,
        };
        let fine = directory(Kind::Directory, 0o700, 1000);
        let cases = [
            (fine, Some(1000), true),
            (fine, None, true),
            (directory(Kind::Directory, 0o755, 0), Some(1000), true),
            (directory(Kind::Directory, 0o700, 7), Some(1000), false),
            (directory(Kind::Directory, 0o770, 1000), Some(1000), false),
            (directory(Kind::Directory, 0o702, 1000), Some(1000), false),
            (directory(Kind::Regular, 0o600, 1000), Some(1000), false),
        ];
        for (attributes, uid, good) in cases {
            assert_eq!(
                directory_trouble(&attributes, uid).is_none(),
                good,
                "{attributes:?}"
            );
        }
        // 94 + `/hub.sock` is 103 bytes.
        assert_eq!(path_trouble(&"x".repeat(94)), None);
        assert!(path_trouble(&"x".repeat(95)).is_some());
    }
}
