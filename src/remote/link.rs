//! One authenticated SSH connection.

use std::{borrow::Cow, net::SocketAddr, sync::Arc, time::Duration};

use russh::{
    Limits, SshId,
    client::{self, Handle},
    keys::PublicKey,
};
use tokio::{
    sync::mpsc,
    time::{Instant, sleep_until},
};

use super::{
    algorithms::possible_in_common,
    dial::dial,
    error::Error,
    handler::{Closed, HandlerEnds, Incoming, KeyQuestion, LinkHandler, PrivatePaths},
    host_key::Judge,
    known_hosts::fingerprint_of,
    login::Login,
    memory::LinkMemory,
    prompt::Prompter,
    resolved::Resolved,
};

/// An authenticated connection and what was learned on the way. Dropping it ends the connection.
pub struct Connected {
    /// Opens channels, forwards sockets, sends keepalives.
    pub(super) handle: Handle<LinkHandler>,
    /// Connections to the private sockets of `private_paths`. Take them at once, always.
    pub(super) incoming: mpsc::Receiver<Incoming>,
    /// Register a private path here before asking the server to listen on it.
    pub(super) private_paths: PrivatePaths,
    /// Tells when and why the connection ended; clone it freely.
    pub(super) closed: Closed,
    /// Whom we are connected to.
    pub(super) host: Arc<Resolved>,
    /// `SHA256:…` of the accepted host key.
    pub(super) host_key: String,
}

impl std::fmt::Debug for Connected {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Connected")
            .field("host", &self.host.name)
            .field("host_key", &self.host_key)
            .finish_non_exhaustive()
    }
}

impl Connected {
    /// Whom we are connected to.
    pub fn host(&self) -> &Resolved {
        &self.host
    }

    /// `SHA256:…` of the accepted host key.
    pub fn host_key(&self) -> &str {
        &self.host_key
    }

    /// True while the connection stands.
    pub fn is_open(&self) -> bool {
        !self.handle.is_closed()
    }
}

/// Receive window of a channel. It is refilled once half of it is used, so that it must be twice of
/// what may be under way: with 16 MiB of reads outstanding it never stands in their way.
const WINDOW_BYTES: u32 = 32 << 20;

/// Largest packet that we ask for.
const PACKET_BYTES: u32 = 32 << 10;

/// Most bytes that one set of keys may serve.
const MAX_REKEY_BYTES: usize = 1 << 30;

/// Dials, checks the host key and authenticates (remote.md 4, 5). On a reconnect pass the same
/// `memory`: the key must then be the one accepted first, and unlocked keys ask nothing.
///
/// # Errors
/// Whatever stopped it, with its exit class.
pub async fn connect<P: Prompter + 'static>(
    host: &Arc<Resolved>,
    memory: &Arc<LinkMemory>,
    prompter: &Arc<P>,
) -> Result<Connected, Error> {
    let prompter = prompter.as_ref();
    if !host.remarks.is_empty() {
        prompter.detail(&host.name, &host.remarks);
    }
    let judge = Judge::new(host, memory, prompter)?;
    let (stream, address) = dial(host).await?;
    prompter.detail(&host.name, &format!("connected to {address}"));
    let (handler, ends) = LinkHandler::new();
    let HandlerEnds {
        keys,
        incoming,
        closed,
        private_paths,
        banner,
    } = ends;
    let config = Arc::new(client_config(host, &judge.known_types()));
    let connecting = client::connect_stream(config, stream, handler);
    let (mut handle, key) = shake_hands(
        Box::pin(connecting),
        keys,
        &judge,
        address,
        host.link.handshake_limit,
    )
    .await?;
    let host_key = fingerprint_of(&key);
    prompter.detail(&host.name, &format!("host key {host_key} accepted"));
    let login = Login::new(host, memory, prompter, closed.clone(), banner);
    Box::pin(login.run(&mut handle)).await?;
    Ok(Connected {
        handle,
        incoming,
        private_paths,
        closed,
        host: Arc::clone(host),
        host_key,
    })
}

fn client_config(host: &Resolved, known_types: &[String]) -> client::Config {
    let link = &host.link;
    let (rekey_bytes, rekey_time) = link.rekey;
    let mut limits = Limits::default();
    if let Some(bytes) = rekey_bytes {
        limits.rekey_read_limit = bytes.min(MAX_REKEY_BYTES);
        limits.rekey_write_limit = bytes.min(MAX_REKEY_BYTES);
    }
    if let Some(time) = rekey_time {
        limits.rekey_time_limit = time;
    }
    client::Config {
        client_id: SshId::Standard(Cow::Borrowed(concat!(
            "SSH-2.0-mcpsnoop_",
            env!("CARGO_PKG_VERSION")
        ))),
        limits,
        window_size: WINDOW_BYTES,
        maximum_packet_size: PACKET_BYTES,
        keepalive_interval: Some(link.alive_interval),
        keepalive_max: link.alive_count,
        preferred: link.algorithms.preferred(known_types, link.compression),
        nodelay: true,
        ..client::Config::default()
    }
}

/// Waits for the key exchange, and judges the host key on the way. Time spent on the verdict, which
/// may be a question to the user, does not count against the limit.
async fn shake_hands<P: Prompter, F>(
    mut connecting: F,
    mut keys: mpsc::Receiver<KeyQuestion>,
    judge: &Judge<'_, P>,
    address: SocketAddr,
    limit: Duration,
) -> Result<(Handle<LinkHandler>, PublicKey), Error>
where
    F: Future<Output = Result<Handle<LinkHandler>, Error>> + Unpin,
{
    let mut deadline = Instant::now() + limit;
    let mut accepted = None;
    loop {
        tokio::select! {
            biased;
            question = keys.recv(), if accepted.is_none() => {
                let Some(question) = question else {
                    // The handler is gone, so the connection is; its error comes from the other arm.
                    return match connecting.await {
                        Err(error) => Err(handshake_error(error, address)),
                        Ok(_) => Err(Error::Lost),
                    };
                };
                let asked_at = Instant::now();
                let verdict = judge.judge(&question.key, address).await;
                deadline += asked_at.elapsed();
                // A connection that ended meanwhile reports itself below.
                let _gone = question.verdict.send(verdict.is_ok());
                verdict?;
                accepted = Some(question.key);
            }
            outcome = &mut connecting => {
                let handle = outcome.map_err(|error| handshake_error(error, address))?;
                return accepted.map(|key| (handle, key)).ok_or(Error::Lost);
            }
            () = sleep_until(deadline) => {
                return Err(Error::HandshakeTimeout {
                    address: address.to_string(),
                    seconds: limit.as_secs(),
                });
            }
        }
    }
}

fn handshake_error(error: Error, address: SocketAddr) -> Error {
    match error {
        Error::Ssh(russh::Error::NoCommonAlgo { kind, ours, theirs }) => {
            let (kind, possible) = possible_in_common(&kind, &theirs);
            Error::NoCommonAlgorithm {
                kind,
                ours,
                theirs,
                possible,
            }
        }
        Error::Ssh(source) => Error::Handshake {
            address: address.to_string(),
            source: Box::new(source),
        },
        other => other,
    }
}

#[cfg(test)]
#[path = "link_tests.rs"]
mod tests;
