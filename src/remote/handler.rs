//! What a server may start on its own: connections to the sockets that we asked it to listen on,
//! and nothing else (remote.md 8.5, 14.4).

use std::{
    collections::HashSet,
    io::ErrorKind::UnexpectedEof,
    sync::{Arc, Mutex, PoisonError},
};

use russh::{
    Channel, ChannelId, ChannelOpenFailure,
    client::{ChannelOpenHandle, DisconnectReason, Handler, Msg, Session},
    keys::{PublicKey, PublicKeyOrCertificate},
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot, watch};

use super::error::Error;

/// Live connections that one host may have open at a time (remote.md 10).
const MAX_INCOMING: usize = 256;

/// Banner text that is kept for showing (remote.md 5.3).
const MAX_BANNER_BYTES: usize = 8 * 1024;

/// Characters of a server's last words that are kept.
const MAX_GOODBYE: usize = 500;

/// Why a connection ended, as far as it is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum CloseReason {
    /// The server said goodbye. The text is untrusted.
    Disconnected {
        /// What the server wrote.
        message: String,
    },
    /// No answer to the keepalives.
    Silent,
    /// The transport ended or broke.
    Broken(String),
}

/// Tells when and why the connection ended.
#[derive(Clone, Debug)]
pub(super) struct Closed(watch::Receiver<Option<CloseReason>>);

impl Closed {
    /// Waits for the end of the connection.
    pub(super) async fn wait(&mut self) -> CloseReason {
        match self.0.wait_for(Option::is_some).await {
            Ok(reason) => reason.clone().unwrap_or(CloseReason::Silent),
            // The library drops its handler without a word when even the shutdown fails.
            Err(_) => CloseReason::Broken("connection reset".to_owned()),
        }
    }

    /// The reason, if the connection has ended with one.
    pub(super) fn reason(&self) -> Option<CloseReason> {
        self.0.borrow().clone()
    }
}

/// Paths on which the server listens for us. Only connections to these are accepted.
#[derive(Clone, Debug, Default)]
pub(super) struct PrivatePaths(Arc<Mutex<HashSet<String>>>);

impl PrivatePaths {
    /// Accepts connections to `path` from now on. Call it before asking the server to listen.
    pub(super) fn insert(&self, path: &str) {
        self.lock().insert(path.to_owned());
    }

    /// Refuses connections to `path` from now on.
    pub(super) fn remove(&self, path: &str) {
        self.lock().remove(path);
    }

    fn contains(&self, path: &str) -> bool {
        self.lock().contains(path)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashSet<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One connection to a private socket. It counts against the limit until it is dropped.
pub(super) struct Incoming {
    /// The channel, already accepted. It must be read at once and always (remote.md 14.1).
    pub(super) channel: Channel<Msg>,
    /// The private path that was connected to.
    pub(super) path: String,
    /// Room among the 256; keep it as long as the channel.
    pub(super) permit: OwnedSemaphorePermit,
}

impl std::fmt::Debug for Incoming {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Incoming")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

/// A host key that waits for a verdict.
#[derive(Debug)]
pub(super) struct KeyQuestion {
    /// The key that the server proved to hold.
    pub(super) key: PublicKey,
    /// The verdict; no ends the connection.
    pub(super) verdict: oneshot::Sender<bool>,
}

/// The receiving ends of a handler.
#[derive(Debug)]
pub(super) struct HandlerEnds {
    pub(super) keys: mpsc::Receiver<KeyQuestion>,
    pub(super) incoming: mpsc::Receiver<Incoming>,
    pub(super) closed: Closed,
    pub(super) private_paths: PrivatePaths,
    pub(super) banner: Banner,
}

/// Text that the server sent before the login, bounded.
#[derive(Clone, Debug, Default)]
pub(super) struct Banner(Arc<Mutex<BannerState>>);

#[derive(Debug, Default)]
struct BannerState {
    text: String,
    taken_bytes: usize,
}

impl Banner {
    fn push(&self, text: &str) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for character in text.chars() {
            if state.taken_bytes + character.len_utf8() > MAX_BANNER_BYTES {
                return;
            }
            state.taken_bytes += character.len_utf8();
            state.text.push(character);
        }
    }

    /// What came since the last call.
    pub(super) fn take(&self) -> Option<String> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Some(std::mem::take(&mut state.text)).filter(|text| !text.is_empty())
    }
}

/// The handler that every connection runs with.
#[derive(Debug)]
pub(super) struct LinkHandler {
    keys: mpsc::Sender<KeyQuestion>,
    incoming: mpsc::Sender<Incoming>,
    room: Arc<Semaphore>,
    closed: watch::Sender<Option<CloseReason>>,
    private_paths: PrivatePaths,
    banner: Banner,
}

impl LinkHandler {
    /// A handler and the ends that its owner keeps.
    pub(super) fn new() -> (Self, HandlerEnds) {
        let (keys, key_questions) = mpsc::channel(1);
        // One slot a permit, so that a permit always finds room in the queue.
        let (incoming, incoming_ends) = mpsc::channel(MAX_INCOMING);
        let (closed, closed_end) = watch::channel(None);
        let private_paths = PrivatePaths::default();
        let banner = Banner::default();
        let ends = HandlerEnds {
            keys: key_questions,
            incoming: incoming_ends,
            closed: Closed(closed_end),
            private_paths: private_paths.clone(),
            banner: banner.clone(),
        };
        let handler = Self {
            keys,
            incoming,
            room: Arc::new(Semaphore::new(MAX_INCOMING)),
            closed,
            private_paths,
            banner,
        };
        (handler, ends)
    }
}

async fn refuse(reply: ChannelOpenHandle) -> Result<(), Error> {
    reply
        .reject(ChannelOpenFailure::AdministrativelyProhibited)
        .await;
    Ok(())
}

/// Kinds of channels that a server may not open, each with what it would tell of the channel. The
/// library accepts every kind that is not refused here (remote.md 14.4).
macro_rules! refused {
    ($($name:ident($($detail:ty),*);)*) => {$(
        async fn $name(
            &mut self,
            _channel: Channel<Msg>,
            $(_: $detail,)*
            reply: ChannelOpenHandle,
            _session: &mut Session,
        ) -> Result<(), Error> {
            refuse(reply).await
        }
    )*};
}

impl Handler for LinkHandler {
    type Error = Error;

    async fn auth_banner(&mut self, banner: &str, _session: &mut Session) -> Result<(), Error> {
        self.banner.push(banner);
        Ok(())
    }

    async fn check_server_key(&mut self, key: &PublicKeyOrCertificate) -> Result<bool, Error> {
        // Certificates are never asked for, so one that comes anyway is refused.
        let PublicKeyOrCertificate::PublicKey { key, .. } = key else {
            return Ok(false);
        };
        let (verdict, answer) = oneshot::channel();
        let question = KeyQuestion {
            key: key.clone(),
            verdict,
        };
        if self.keys.send(question).await.is_err() {
            return Ok(false);
        }
        Ok(answer.await.unwrap_or(false))
    }

    async fn server_channel_open_forwarded_streamlocal(
        &mut self,
        channel: Channel<Msg>,
        socket_path: &str,
        reply: ChannelOpenHandle,
        _session: &mut Session,
    ) -> Result<(), Error> {
        if !self.private_paths.contains(socket_path) {
            return refuse(reply).await;
        }
        let room = Arc::clone(&self.room).try_acquire_owned();
        let slot = self.incoming.try_reserve();
        let (Ok(permit), Ok(slot)) = (room, slot) else {
            reply.reject(ChannelOpenFailure::ResourceShortage).await;
            return Ok(());
        };
        reply.accept().await;
        slot.send(Incoming {
            channel,
            path: socket_path.to_owned(),
            permit,
        });
        Ok(())
    }

    async fn should_accept_unknown_server_channel(
        &mut self,
        _id: ChannelId,
        _channel_type: &str,
    ) -> bool {
        false
    }

    refused! {
        server_channel_open_session();
        server_channel_open_forwarded_tcpip(&str, u32, &str, u32);
        server_channel_open_direct_tcpip(&str, u32, &str, u32);
        server_channel_open_direct_streamlocal(&str);
        server_channel_open_agent_forward();
        server_channel_open_x11(&str, u32);
    }

    async fn openssh_ext_host_keys_announced(
        &mut self,
        _keys: Vec<PublicKey>,
        _session: &mut Session,
    ) -> Result<(), Error> {
        Ok(())
    }

    async fn disconnected(&mut self, reason: DisconnectReason<Error>) -> Result<(), Error> {
        match reason {
            DisconnectReason::ReceivedDisconnect(info) => {
                let message = info.message.chars().take(MAX_GOODBYE).collect();
                let reason = CloseReason::Disconnected { message };
                self.closed.send_replace(Some(reason));
                Ok(())
            }
            DisconnectReason::Error(error) => {
                let reason = match &error {
                    Error::Ssh(russh::Error::KeepaliveTimeout) => CloseReason::Silent,
                    Error::Ssh(russh::Error::IO(error)) if error.kind() == UnexpectedEof => {
                        CloseReason::Broken("the connection was closed without a word".to_owned())
                    }
                    Error::Ssh(source) => CloseReason::Broken(source.to_string()),
                    other => CloseReason::Broken(other.to_string()),
                };
                self.closed.send_replace(Some(reason));
                Err(error)
            }
        }
    }
}
