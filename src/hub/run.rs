//! The hub's run: what wakes it, in one list, and how it stops.

use std::{io, time::Duration};

use tokio::{
    net::UnixStream,
    sync::{mpsc, watch},
    task::JoinSet,
    time::{Instant, MissedTickBehavior, interval},
};

use super::{
    connection::{ConnectionId, Incoming, serve},
    desk::Desk,
    error::Error,
    socket::{OwnedSocket, Refused},
};
use crate::{
    base::Clock,
    feed::{FeedEvent, FeedRequest, FeedSender, Mode},
    record::{HostName, StateDir},
};

/// Pause between two looks at logs that grow.
const LOOK: Duration = Duration::from_millis(250);
/// Pause between two walks of the directory (log-format 10.4.1).
const WALK: Duration = Duration::from_secs(1);
/// Pause between two tries to own the socket (log-format 10.4.2).
const CLAIM: Duration = Duration::from_secs(2);
/// Pause after an accept that failed (capture.md 8.5).
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// Batches of lines that wait for the desk; each connection has at most one of them and one more.
const INCOMING: usize = 64;
/// Longest wait for a viewer that does not take the last word.
const LAST_WORD: Duration = Duration::from_millis(200);

/// What a hub is asked to do.
#[derive(Clone, Debug)]
pub struct HubOptions {
    /// Where the sessions are.
    pub state: StateDir,
    /// Name that its sessions go under (`local`).
    pub host: HostName,
    /// Newest logs to load; `None`: all.
    pub history_limit: Option<usize>,
    /// The clock.
    pub clock: Clock,
}

/// How live frames reach the hub; told through `FeedEvent::Host` as well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HubStatus {
    /// It owns the socket.
    Listening,
    /// It follows the logs, because of this.
    Following(String),
}

/// Runs until `stop` turns true, then closes connections, removes its socket and returns within 1 s.
///
/// # Errors
/// When the state directory cannot be used at all.
pub async fn run_hub(
    options: HubOptions,
    feed: FeedSender,
    mut requests: mpsc::Receiver<FeedRequest>,
    mut stop: watch::Receiver<bool>,
) -> Result<HubStatus, Error> {
    let mut hub = Hub::start(options, feed).await?;
    let (mut looks, mut walks, mut claims) = (every(LOOK), every(WALK), every(CLAIM));
    let mut asked = true;
    loop {
        tokio::select! {
            () = stopped(&mut stop) => break,
            () = hub.turn() => {}
            _ = looks.tick() => hub.desk.look(),
            _ = walks.tick() => hub.desk.walk(),
            _ = claims.tick() => hub.claim().await,
            request = requests.recv(), if asked => match request {
                Some(request) => hub.desk.take_request(request),
                None => asked = false,
            },
        }
        tokio::select! {
            () = stopped(&mut stop) => break,
            sent = hub.flush() => if sent.is_err() { break },
        }
    }
    Ok(hub.stop().await)
}

/// The run's parts.
struct Hub {
    desk: Desk,
    feed: FeedSender,
    socket: Option<OwnedSocket>,
    /// Why the socket is not ours.
    reason: String,
    connections: JoinSet<()>,
    last_connection: u64,
    accept_after: Instant,
    incoming: mpsc::Receiver<Incoming>,
    to_desk: mpsc::Sender<Incoming>,
}

impl Hub {
    async fn start(options: HubOptions, feed: FeedSender) -> Result<Self, Error> {
        let created = options.state.create();
        let base = options.state.base().to_owned();
        let (to_desk, incoming) = mpsc::channel(INCOMING);
        let desk = Desk::new(
            options.host,
            options.clock,
            options.state,
            options.history_limit,
        );
        let mut hub = Self {
            desk,
            feed,
            socket: None,
            reason: String::new(),
            connections: JoinSet::new(),
            last_connection: 0,
            accept_after: Instant::now(),
            incoming,
            to_desk,
        };
        match created {
            Ok(()) => hub.claim().await,
            // What is there can be followed all the same.
            Err(error) if base.is_dir() => {
                hub.reason = format!("cannot create `{}`: {error}", base.display());
                hub.claim().await;
            }
            Err(source) => return Err(Error::StateDir { path: base, source }),
        }
        Ok(hub)
    }

    /// Waits for the next thing that happens and hands it to the desk.
    async fn turn(&mut self) {
        let due = self.desk.merge.deadline().map(|due| {
            let nanos = due.nanos_since(self.desk.clock.now());
            Instant::now() + Duration::from_nanos(u64::try_from(nanos).unwrap_or(0))
        });
        tokio::select! {
            accepted = accept(self.socket.as_ref(), self.accept_after) => match accepted {
                Ok(stream) => self.connect(stream),
                Err(_) => self.accept_after = Instant::now() + ACCEPT_PAUSE,
            },
            Some(incoming) = self.incoming.recv() => self.desk.take_incoming(incoming),
            Some(ended) = self.desk.jobs.next() => self.desk.take_ended(ended),
            Some(_) = self.connections.join_next() => {}
            () = at(due) => {}
        }
    }

    /// Sends what the desk has to say.
    async fn flush(&mut self) -> Result<(), crate::feed::Closed> {
        self.desk.settle();
        let events = std::mem::take(&mut self.desk.out);
        if events.is_empty() {
            return Ok(());
        }
        self.feed.send(events).await
    }

    fn connect(&mut self, stream: UnixStream) {
        let peer = stream.peer_cred().map(|peer| peer.uid());
        let own = rustix::process::geteuid().as_raw();
        if !peer.is_ok_and(|peer| peer == own || peer == 0) {
            return;
        }
        self.last_connection += 1;
        let id = ConnectionId(self.last_connection);
        self.connections
            .spawn(serve(stream, id, self.to_desk.clone()));
    }

    /// Tries to own the socket, or finds out that it is lost.
    async fn claim(&mut self) {
        if self.socket.as_ref().is_some_and(OwnedSocket::is_ours) {
            return;
        }
        // Dropping the listener leaves the file alone: it is not ours any more.
        self.socket = None;
        match OwnedSocket::claim(&self.desk.state).await {
            Ok(socket) => {
                self.socket = Some(socket);
                self.reason.clear();
            }
            Err(refused) => self.follow(why(&refused)),
        }
        let (mode, reason) = match &self.socket {
            Some(_) => (Mode::Socket, None),
            None => (Mode::Log { every: LOOK }, Some(self.reason.clone())),
        };
        let state_dir = self.desk.state.base().to_string_lossy().into_owned();
        self.desk.backfill.set_mode(mode, reason, state_dir);
    }

    /// Remembers why the logs are followed; each new reason is told once.
    fn follow(&mut self, reason: String) {
        if reason == self.reason {
            return;
        }
        self.desk.out.push(FeedEvent::Notice {
            host: self.desk.host.clone(),
            severity: crate::feed::Severity::Info,
            text: format!("the logs are followed: {reason}"),
        });
        self.reason = reason;
    }

    async fn stop(mut self) -> HubStatus {
        self.connections.shutdown().await;
        let status = match self.socket.take() {
            Some(socket) => {
                if let Err(error) = socket.release() {
                    self.desk.out.push(FeedEvent::Notice {
                        host: self.desk.host.clone(),
                        severity: crate::feed::Severity::Warning,
                        text: format!("cannot remove the socket: {error}"),
                    });
                }
                HubStatus::Listening
            }
            None => HubStatus::Following(self.reason),
        };
        let mut events = std::mem::take(&mut self.desk.out);
        events.push(self.desk.ending());
        // A viewer that takes nothing any more does not keep the hub from stopping.
        drop(tokio::time::timeout(LAST_WORD, self.feed.send(events)).await);
        status
    }
}

fn why(refused: &Refused) -> String {
    refused.to_string()
}

fn every(pause: Duration) -> tokio::time::Interval {
    let mut interval = interval(pause);
    interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
    interval
}

/// The next connection; never without a socket, and not before `after`.
async fn accept(socket: Option<&OwnedSocket>, after: Instant) -> io::Result<UnixStream> {
    let Some(socket) = socket else {
        return std::future::pending().await;
    };
    tokio::time::sleep_until(after).await;
    socket.listener().accept().await.map(|(stream, _)| stream)
}

async fn at(due: Option<Instant>) {
    match due {
        Some(due) => tokio::time::sleep_until(due).await,
        None => std::future::pending().await,
    }
}

async fn stopped(stop: &mut watch::Receiver<bool>) {
    // An error says that nobody can stop it any more: that is a stop too.
    drop(stop.wait_for(|stop| *stop).await);
}
