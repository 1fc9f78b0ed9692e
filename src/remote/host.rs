//! One host over the whole run: connecting, watching, losing and regaining the link (remote.md 2,
//! 9.5).

use std::{
    sync::{Arc, atomic::AtomicU64},
    time::{Duration, Instant},
};

use tokio::sync::{Semaphore, mpsc, watch as signal};

use super::{
    company::Company,
    error::{Error, ExitClass},
    far_error::FarError,
    intake::Intake,
    link::{Connected, connect},
    logs::Logs,
    memory::LinkMemory,
    options::{ModeChoice, RemoteOptions},
    probe::random_name,
    prompt::Prompter,
    prompts::{Asked, FeedPrompter, PromptDesk, prompts},
    reconnect::{Next, Schedule},
    resolved::Resolved,
    sleep::rest,
    teller::Teller,
    watch::{stopped, watch},
};
use crate::{
    base::Clock,
    feed::{BodyOutcome, Ending, FeedEvent, FeedRequest, FeedSender, LinkState, Severity},
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
    memory: Arc<LinkMemory>,
    reconnecting: Arc<FeedPrompter>,
    desk: PromptDesk,
    /// It was connected once in this run.
    was_connected: bool,
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
            let reason = match watch(self, connected).await {
                End::Stopped | End::Disconnected | End::Finished => return Ok(()),
                End::Failed(error) => return Err(error),
                End::Lost(reason) => reason,
            };
            if self.options.once {
                return Err(FarError::Lost { reason }.into());
            }
            schedule.connected(began.elapsed());
            let now = self.clock.now();
            self.intake.link_down(now);
            self.intake.deliver(now, &mut self.teller);
            self.teller
                .notice(Severity::Warning, format!("connection lost: {reason}"));
            match self.regain(run, &mut schedule, reason, true).await {
                Ok(Some(again)) => connected = again,
                Ok(None) => return Ok(()),
                Err(error) => return Err(error),
            }
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
        if !passes && self.options.retry.is_some() {
            return Err(error);
        }
        let reason = error.to_string();
        let again = tokio::select! {
            biased;
            () = run.company.all_failed() => None,
            again = self.regain(run, schedule, reason, passes) => again.ok().flatten(),
        };
        again.ok_or(error)
    }

    /// Tries until the link is back; `None` when the user or the end of the run stopped it. Without
    /// `passes` the next try waits for the user.
    async fn regain(
        &mut self,
        run: &Run,
        schedule: &mut Schedule,
        mut reason: String,
        mut passes: bool,
    ) -> Result<Option<Connected>, Error> {
        let mut took = Duration::ZERO;
        loop {
            let pause = if passes {
                Some(self.pause(schedule.next(took, random()), &reason)?)
            } else {
                self.teller.set_link(LinkState::Lost, Some(reason.clone()));
                None
            };
            if self.wait(pause).await == Wait::Over {
                return Ok(None);
            }
            let began = Instant::now();
            let error = match self.try_again(run).await {
                Some(Ok(connected)) => return Ok(Some(connected)),
                None => return Ok(None),
                Some(Err(error)) => error,
            };
            took = began.elapsed();
            passes = self.may_pass(&error);
            // Somebody may be answering for the host, or the run must not hang.
            let is_final = self.was_connected && error.class() == ExitClass::HostKey;
            if !passes && (is_final || self.options.retry.is_some()) {
                return Err(error);
            }
            reason = error.to_string();
        }
    }

    /// Tells when the next try comes, and answers the pause before it.
    fn pause(&mut self, next: Next, reason: &str) -> Result<Duration, Error> {
        let reason = reason.to_owned();
        match next {
            Next::GiveUp => Err(FarError::Lost { reason }.into()),
            Next::Try { attempt, pause } => {
                let nanos = i64::try_from(pause.as_nanos()).unwrap_or(i64::MAX);
                let at = self.clock.now().as_nanos().saturating_add(nanos);
                let next = crate::base::Timestamp::from_nanos(at);
                self.teller
                    .set_link(LinkState::Reconnecting { attempt, next }, Some(reason));
                Ok(pause)
            }
            Next::Rarely { pause, .. } => {
                self.teller.set_link(LinkState::Lost, Some(reason));
                Ok(pause)
            }
        }
    }

    /// True when the next try may succeed. A login that ended without a word counts too where this
    /// host let us in before: the link was cut once more.
    fn may_pass(&self, error: &Error) -> bool {
        let was_cut = matches!(error, Error::LoginEnded { .. });
        error.is_retryable() || (was_cut && self.was_connected)
    }

    /// Waits before the next try: for the pause, until the user asks for it, or until the machine
    /// wakes from sleep.
    async fn wait(&mut self, pause: Option<Duration>) -> Wait {
        if self.teller.flush().await.is_err() {
            return Wait::Over;
        }
        let until = pause.map(|pause| tokio::time::Instant::now() + pause);
        let clock = self.clock;
        loop {
            tokio::select! {
                biased;
                () = stopped(&mut self.stop) => return Wait::Over,
                Some(request) = self.requests.recv() => match request {
                    FeedRequest::Reconnect(_) => return Wait::Now,
                    FeedRequest::Disconnect(_) => return Wait::Over,
                    other => self.without_link(other),
                },
                () = rest(until, || clock.reading()) => return Wait::Now,
            }
            if self.teller.flush().await.is_err() {
                return Wait::Over;
            }
        }
    }

    /// One try, with the questions of the login going to the viewer.
    async fn try_again(&mut self, run: &Run) -> Option<Result<Connected, Error>> {
        let (resolved, memory) = (Arc::clone(&self.resolved), Arc::clone(&self.memory));
        let prompter = Arc::clone(&self.reconnecting);
        let connecting = async move {
            let _room = run.dialling.acquire().await;
            connect(&resolved, &memory, &prompter).await
        };
        let mut connecting = std::pin::pin!(connecting);
        loop {
            if self.teller.flush().await.is_err() {
                return None;
            }
            tokio::select! {
                biased;
                () = stopped(&mut self.stop) => return None,
                connected = &mut connecting => return Some(connected),
                Some(asked) = self.desk.asked.recv() => self.asked(asked),
                Some(request) = self.requests.recv() => match request {
                    FeedRequest::Disconnect(_) => return None,
                    FeedRequest::Answer { id, answer } => {
                        self.desk.answer(id, answer.map(|answer| answer.0));
                    }
                    other => self.without_link(other),
                },
            }
        }
    }

    fn asked(&mut self, asked: Asked) {
        match asked {
            Asked::Question { id, text, echo } => {
                self.teller.set_link(LinkState::LoginNeeded, None);
                let host = self.teller.host().clone();
                self.teller.push(FeedEvent::Prompt {
                    host,
                    id,
                    text,
                    echo,
                });
            }
            Asked::Line(line) => self.teller.notice(Severity::Info, line),
        }
    }

    /// A request that cannot be met without a link.
    fn without_link(&mut self, request: FeedRequest) {
        match request {
            FeedRequest::ReadBody { key, seq, .. } => {
                let outcome = BodyOutcome::Unavailable("not connected".to_owned());
                self.teller.push(FeedEvent::Body { key, seq, outcome });
            }
            FeedRequest::Recall(wanted) => {
                self.teller.push(wanted.failed("not connected".to_owned()));
            }
            FeedRequest::LoadOlder(more) => self.intake.logs.load_older(more),
            _ => {}
        }
    }
}

/// What ended a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wait {
    Now,
    Over,
}

fn random() -> u16 {
    let mut bytes = [0; 2];
    match getrandom::fill(&mut bytes) {
        Ok(()) => u16::from_le_bytes(bytes),
        // Without a random source all hosts wait the same time.
        Err(_) => 200,
    }
}
