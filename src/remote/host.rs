//! One host over the whole run: connecting, watching, losing and regaining the link (remote.md 2,
//! 9.5).

use std::{
    sync::{Arc, atomic::AtomicU64},
    time::Instant,
};

use tokio::sync::{Semaphore, mpsc, watch as signal};

use super::{
    company::Company,
    error::Error,
    far_error::FarError,
    intake::Intake,
    link::{Connected, connect},
    logs::Logs,
    memory::LinkMemory,
    options::{ModeChoice, RemoteOptions},
    probe::random_name,
    prompt::Prompter,
    prompts::{FeedPrompter, PromptDesk, prompts},
    reconnect::Schedule,
    regain::Down,
    resolved::Resolved,
    teller::Teller,
    watch::{stopped, watch},
};
use crate::{
    base::Clock,
    feed::{Ending, FeedEvent, FeedRequest, FeedSender, LinkState, Severity},
    record::HostName,
};

/// How a connection ended.
#[derive(Debug)]
pub(super) enum End {
    /// The run is to stop, or nobody listens any more.
    Stopped,
    /// The user gave the host up.
    Disconnected,
    /// All was loaded and nothing more was asked for.
    Finished,
    /// The link was lost; the words are untrusted.
    Lost(String),
    /// Something that a reconnect does not change.
    Failed(Error),
}

/// One host. It lives over all its connections.
pub(super) struct Host {
    pub(super) resolved: Arc<Resolved>,
    pub(super) options: Arc<RemoteOptions>,
    pub(super) clock: Clock,
    pub(super) teller: Teller,
    pub(super) intake: Intake,
    pub(super) requests: mpsc::Receiver<FeedRequest>,
    pub(super) stop: signal::Receiver<bool>,
    /// Mark of this run in `hub.owner`: an own socket of a lost connection is known by it.
    pub(super) mark: Arc<str>,
    pub(super) memory: Arc<LinkMemory>,
    pub(super) reconnecting: Arc<FeedPrompter>,
    pub(super) desk: PromptDesk,
    /// It was connected once in this run.
    pub(super) was_connected: bool,
}

/// What all hosts of a run share.
#[derive(Clone, Debug)]
pub(super) struct Run {
    pub(super) options: Arc<RemoteOptions>,
    pub(super) clock: Clock,
    pub(super) feed: FeedSender,
    pub(super) stop: signal::Receiver<bool>,
    /// Room to connect: a shared jump host drops connections beyond a few at a time.
    pub(super) dialling: Arc<Semaphore>,
    pub(super) prompt_ids: Arc<AtomicU64>,
    pub(super) company: Company,
}

impl Host {
    pub(super) fn new(
        run: &Run,
        name: HostName,
        resolved: Arc<Resolved>,
        requests: mpsc::Receiver<FeedRequest>,
    ) -> Self {
        let target = format!("{}@{}:{}", resolved.user, resolved.host_name, resolved.port);
        let options = &run.options;
        let logs = Logs::new(
            name.clone(),
            options.history_limit,
            options.sessions.clone(),
        );
        let (reconnecting, desk) = prompts(&run.prompt_ids, !options.batch);
        Self {
            resolved,
            options: Arc::clone(options),
            clock: run.clock,
            teller: Teller::new(run.feed.clone(), name, target),
            intake: Intake::new(logs),
            requests,
            stop: run.stop.clone(),
            mark: random_name(16).into(),
            memory: Arc::default(),
            reconnecting,
            desk,
            was_connected: false,
        }
    }

    /// Where live frames are to come from: a run that only loads needs none.
    pub(super) fn mode(&self) -> ModeChoice {
        if self.options.once {
            ModeChoice::History
        } else {
            self.options.mode
        }
    }

    /// Runs the host until it ends.
    pub(super) async fn run<P: Prompter + 'static>(
        mut self,
        run: Run,
        prompter: Arc<P>,
    ) -> Result<(), Error> {
        self.teller.tell_state();
        let outcome = self.connections(&run, &prompter).await;
        let words = match &outcome {
            Ok(()) => "closed".to_owned(),
            Err(error) => error.to_string(),
        };
        let link = match &outcome {
            Err(_) if !self.options.once => LinkState::Lost,
            _ => LinkState::Closed,
        };
        let reason = outcome.is_err().then(|| words.clone());
        self.teller.set_link(link, reason);
        self.teller.push(FeedEvent::End(Ending {
            host: self.teller.host().clone(),
            outcome: words.into(),
            duplicates: self.intake.duplicates(),
            damaged: self.intake.damaged,
            conflicts: self.intake.conflicts(),
        }));
        if self.teller.flush().await.is_err() {
            // Nobody listens any more.
        }
        outcome
    }

    async fn connections<P: Prompter + 'static>(
        &mut self,
        run: &Run,
        prompter: &Arc<P>,
    ) -> Result<(), Error> {
        let Some(first) = self.first_connection(run, prompter).await else {
            return Ok(());
        };
        let mut schedule = Schedule::new(self.options.retry);
        let mut connected = match first {
            Ok(connected) => connected,
            Err(error) => self.first_failed(run, &mut schedule, error).await?,
        };
        run.company.connected();
        self.was_connected = true;
        loop {
            let began = Instant::now();
            let why = match watch(self, connected).await {
                End::Stopped | End::Finished => return Ok(()),
                End::Disconnected => Down::ByUser,
                End::Failed(error) if self.options.stays => Down::for_good(&error),
                End::Failed(error) => return Err(error),
                End::Lost(reason) if self.options.once => {
                    return Err(FarError::Lost { reason }.into());
                }
                End::Lost(reason) => Down::Passing(reason),
            };
            schedule.connected(began.elapsed());
            self.lose(&why);
            match self.regain(run, &mut schedule, why).await? {
                Some(again) => connected = again,
                None => return Ok(()),
            }
        }
    }

    /// The link is gone: nothing more is expected of it, and the viewer hears why.
    fn lose(&mut self, why: &Down) {
        let now = self.clock.now();
        self.intake.link_down(now);
        self.intake.deliver(now, &mut self.teller);
        if let Down::Passing(reason) = why {
            self.teller
                .notice(Severity::Warning, format!("connection lost: {reason}"));
        }
    }

    async fn first_connection<P: Prompter + 'static>(
        &mut self,
        run: &Run,
        prompter: &Arc<P>,
    ) -> Option<Result<Connected, Error>> {
        if self.teller.flush().await.is_err() {
            return None;
        }
        let connecting = async {
            let _room = run.dialling.acquire().await;
            connect(&self.resolved, &self.memory, prompter).await
        };
        tokio::select! {
            biased;
            () = stopped(&mut self.stop) => None,
            connected = connecting => Some(connected),
        }
    }

    /// The first connection failed. Beside other hosts this one stays: what may pass is tried
    /// again, and the rest waits for the user (remote.md 2). Answers the first error when nothing
    /// came of it.
    async fn first_failed(
        &mut self,
        run: &Run,
        schedule: &mut Schedule,
        error: Error,
    ) -> Result<Connected, Error> {
        run.company.failed();
        if self.options.once {
            return Err(error);
        }
        let passes = error.is_retryable();
        if !passes && self.options.retry.is_some() && !self.options.stays {
            return Err(error);
        }
        let why = if passes {
            Down::Passing(error.to_string())
        } else {
            Down::Waiting(error.to_string())
        };
        let again = tokio::select! {
            biased;
            () = run.company.all_failed() => None,
            again = self.regain(run, schedule, why) => again.ok().flatten(),
        };
        again.ok_or(error)
    }
}
