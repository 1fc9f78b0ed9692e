//! Runs over one or several hosts: live view and `--list` (remote.md 2, 9, 12).

use std::sync::{Arc, atomic::AtomicU64};

use tokio::{
    sync::{Semaphore, mpsc, watch},
    task::JoinSet,
};

use super::{
    attach::{Located, locate},
    company::Company,
    config::resolve_all,
    error::Error,
    far_error::{FarError, SftpError},
    host::{Host, Run},
    link::{Connected, connect},
    listing::{FarListing, list, skipped_names},
    memory::LinkMemory,
    names::stem,
    options::{RemoteOptions, Target, host_names},
    probe,
    prompt::Prompter,
    resolved::Resolved,
    sftp::{LINK_TEST, Sftp, answers},
    teller::Teller,
};
use crate::{
    base::{ByteCount, Clock, Timestamp},
    feed::{Closed, FeedEvent, FeedRequest, FeedSender, LinkState, Severity},
    record::HostName,
};

/// Hosts that connect at a time (remote.md 2).
const CONNECT_AT_ONCE: usize = 8;
/// Requests of the viewer that wait for a host.
const REQUESTS: usize = 64;

/// A remote log as `--list` shows it. Names are untrusted.
#[derive(Clone, Debug)]
pub struct ListedSession {
    /// Which host.
    pub host: HostName,
    /// Name of the log without `.jsonl`.
    pub session: String,
    /// Size.
    pub size: ByteCount,
    /// Last change by the remote clock.
    pub modified: Timestamp,
}

/// Watches the targets until `stop` turns true (or, with `once`, until all is loaded). Every change
/// goes to `feed`; the answer has one result per target, in their order.
pub async fn run_remote<P: Prompter + 'static>(
    targets: Vec<Target>,
    options: RemoteOptions,
    prompter: Arc<P>,
    clock: Clock,
    feed: FeedSender,
    requests: mpsc::Receiver<FeedRequest>,
    stop: watch::Receiver<bool>,
) -> Vec<(HostName, Result<(), Error>)> {
    let resolved = resolve_all(&targets, &options).await;
    let run = Run {
        options: Arc::new(options),
        clock,
        feed,
        stop,
        dialling: Arc::new(Semaphore::new(CONNECT_AT_ONCE)),
        prompt_ids: Arc::new(AtomicU64::new(1)),
        company: Company::new(),
    };
    // Nobody is to believe itself alone before all have joined.
    run.company.join();
    let mut results: Vec<(HostName, Result<(), Error>)> = host_names(&targets)
        .into_iter()
        .map(|name| (HostName(name.into()), Ok(())))
        .collect();
    let mut hosts = JoinSet::new();
    let mut desks = Vec::new();
    let mut known: Vec<Arc<Resolved>> = Vec::new();
    for (index, resolved) in resolved.into_iter().enumerate() {
        let Some((name, result)) = results.get_mut(index) else {
            continue;
        };
        match resolved {
            Err(error) => {
                let told = tell_unused(&run, name, LinkState::Lost, error.to_string()).await;
                *result = Err(error);
                if told.is_err() {
                    return results;
                }
            }
            Ok(resolved) if is_known(&known, &resolved) => {
                let words = "given twice; one connection serves both".to_owned();
                let notice = FeedEvent::Notice {
                    host: name.clone(),
                    severity: Severity::Info,
                    text: words.clone(),
                };
                let told = run.feed.send(vec![notice]).await;
                let row = tell_unused(&run, name, LinkState::Closed, words).await;
                if told.is_err() || row.is_err() {
                    return results;
                }
            }
            Ok(resolved) => {
                known.push(Arc::clone(&resolved));
                let (sender, receiver) = mpsc::channel(REQUESTS);
                desks.push((name.clone(), sender));
                let host = Host::new(&run, name.clone(), resolved, receiver);
                run.company.join();
                let (run, prompter) = (run.clone(), Arc::clone(&prompter));
                hosts.spawn(async move { (index, host.run(run, prompter).await) });
            }
        }
    }
    run.company.failed();
    drop(run);
    let mut dispatcher = JoinSet::new();
    dispatcher.spawn(dispatch(requests, desks));
    while let Some(ended) = hosts.join_next().await {
        if let Ok((index, outcome)) = ended
            && let Some((_, result)) = results.get_mut(index)
        {
            *result = outcome;
        }
    }
    dispatcher.shutdown().await;
    results
}

/// A target without a connection of its own still has its row, and says why.
async fn tell_unused(
    run: &Run,
    name: &HostName,
    link: LinkState,
    words: String,
) -> Result<(), Closed> {
    let mut teller = Teller::new(run.feed.clone(), name.clone(), name.0.to_string());
    teller.set_link(link, Some(words));
    teller.flush().await
}

fn is_known(known: &[Arc<Resolved>], resolved: &Resolved) -> bool {
    known.iter().any(|known| known.is_same(resolved))
}

/// Hands the viewer's requests to the hosts that they are about.
async fn dispatch(
    mut requests: mpsc::Receiver<FeedRequest>,
    desks: Vec<(HostName, mpsc::Sender<FeedRequest>)>,
) {
    while let Some(request) = requests.recv().await {
        let about = match &request {
            FeedRequest::LoadFirst(key) | FeedRequest::ReadBody { key, .. } => Some(&key.host),
            FeedRequest::Recall(wanted) => Some(&wanted.key.host),
            FeedRequest::Reconnect(host) | FeedRequest::Disconnect(host) => Some(host),
            FeedRequest::LoadOlder(_) | FeedRequest::Answer { .. } => None,
        };
        for (host, desk) in &desks {
            if about.is_none_or(|about| about == host) && desk.send(request.clone()).await.is_err()
            {
                // That host has ended.
            }
        }
    }
}

/// An authenticated connection with SFTP and the state directory found.
pub(super) struct Far {
    pub(super) link: Arc<Connected>,
    pub(super) sftp: Arc<Sftp>,
    pub(super) located: Located,
    pub(super) user: String,
}

/// Connects and finds the state directory, for the runs that only read.
pub(super) async fn reach<P: Prompter + 'static>(
    resolved: &Arc<Resolved>,
    options: &RemoteOptions,
    prompter: &Arc<P>,
    clock: Clock,
) -> Result<Far, Error> {
    let memory = Arc::new(LinkMemory::default());
    let link = Arc::new(connect(resolved, &memory, prompter).await?);
    let location = options.location.as_ref();
    let (sftp, probed) = tokio::join!(Sftp::open(&link), async {
        match location {
            // Nothing of the answer would be used.
            Some(_) => None,
            None => probe::run(&link, clock).await,
        }
    });
    let sftp = match sftp {
        Ok(sftp) => Arc::new(sftp),
        Err(_) if !answers(&link, LINK_TEST).await => {
            return Err(FarError::from(SftpError::Ended).into());
        }
        Err(error) => {
            let reason = error.to_string();
            return Err(FarError::NoSftp { reason }.into());
        }
    };
    let located = locate(&sftp, location, probed.as_ref(), &resolved.user)
        .await
        .map_err(FarError::from)?;
    for notice in &located.notices {
        prompter.tell(&resolved.name, notice);
    }
    Ok(Far {
        link,
        sftp,
        located,
        user: resolved.user.clone(),
    })
}

impl Far {
    /// The logs there; an error when there are none.
    pub(super) async fn list(&self) -> Result<FarListing, FarError> {
        let path = format!("{}/sessions", self.located.state);
        let nothing = || FarError::Nothing {
            dir: self.located.state.to_string(),
        };
        match list(&self.sftp, &path).await {
            Ok(listing) if listing.logs.is_empty() => Err(nothing()),
            Ok(listing) => Ok(listing),
            Err(SftpError::NotFound) => Err(nothing()),
            Err(error) if error.ends_session() => Err(error.into()),
            Err(source) => Err(FarError::Unreadable {
                mode: self.sftp.stat(&path).await.ok().map(|found| found.mode),
                path,
                user: self.user.clone(),
                source,
            }),
        }
    }

    /// Says goodbye.
    pub(super) async fn close(self) {
        self.sftp.end();
        let goodbye = self
            .link
            .handle
            .disconnect(russh::Disconnect::ByApplication, "", "en");
        if goodbye.await.is_err() {
            // It is closed already.
        }
    }
}

/// `--list`: the sessions of every target, newest first.
///
/// # Errors
/// One result per target, in their order.
pub async fn list_sessions<P: Prompter + 'static>(
    targets: Vec<Target>,
    options: RemoteOptions,
    prompter: Arc<P>,
) -> Vec<(HostName, Result<Vec<ListedSession>, Error>)> {
    let resolved = resolve_all(&targets, &options).await;
    let options = Arc::new(options);
    let dialling = Arc::new(Semaphore::new(CONNECT_AT_ONCE));
    let mut results: Vec<_> = host_names(&targets)
        .into_iter()
        .map(|name| (HostName(name.into()), Ok(Vec::new())))
        .collect();
    let mut lists = JoinSet::new();
    let mut known: Vec<Arc<Resolved>> = Vec::new();
    for (index, resolved) in resolved.into_iter().enumerate() {
        let Some((name, result)) = results.get_mut(index) else {
            continue;
        };
        match resolved {
            Err(error) => *result = Err(error),
            Ok(resolved) if is_known(&known, &resolved) => {
                prompter.tell(&name.0, "given twice; one connection serves both");
            }
            Ok(resolved) => {
                known.push(Arc::clone(&resolved));
                let (options, prompter) = (Arc::clone(&options), Arc::clone(&prompter));
                let (name, dialling) = (name.clone(), Arc::clone(&dialling));
                lists.spawn(async move {
                    let _room = dialling.acquire().await;
                    (index, list_one(&name, &resolved, &options, &prompter).await)
                });
            }
        }
    }
    while let Some(ended) = lists.join_next().await {
        if let Ok((index, outcome)) = ended
            && let Some((_, result)) = results.get_mut(index)
        {
            *result = outcome;
        }
    }
    results
}

async fn list_one<P: Prompter + 'static>(
    name: &HostName,
    resolved: &Arc<Resolved>,
    options: &RemoteOptions,
    prompter: &Arc<P>,
) -> Result<Vec<ListedSession>, Error> {
    let far = reach(resolved, options, prompter, Clock::start()).await?;
    let listing = far.list().await;
    far.close().await;
    let listing = listing?;
    if listing.skipped > 0 {
        prompter.tell(&name.0, &skipped_names(listing.skipped));
    }
    let wanted = |session: &str| {
        options.sessions.is_empty()
            || options
                .sessions
                .iter()
                .any(|wanted| super::names::fits(wanted, session))
    };
    let stems: Vec<&str> = listing.logs.iter().map(|log| stem(&log.name)).collect();
    if let Some(first) = options.sessions.first()
        && !stems.iter().any(|session| wanted(session))
    {
        let nearest = match super::names::choose(first, &stems) {
            super::names::Chosen::None(nearest) => nearest,
            _ => Vec::new(),
        };
        let name = first.clone();
        return Err(FarError::SessionNotFound { name, nearest }.into());
    }
    let sessions = listing
        .logs
        .into_iter()
        .filter(|log| wanted(stem(&log.name)))
        .map(|log| ListedSession {
            host: name.clone(),
            session: stem(&log.name).to_owned(),
            size: ByteCount(log.size),
            modified: Timestamp::from_nanos(log.modified.saturating_mul(1_000_000_000)),
        })
        .collect();
    Ok(sessions)
}
