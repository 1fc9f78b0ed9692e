//! A host without a link: the pauses, the tries, and what the user asks for meanwhile (remote.md 9.5).

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use super::{
    error::{Error, ExitClass},
    far_error::FarError,
    host::{Host, Run},
    link::{Connected, connect},
    prompts::Asked,
    reconnect::{Next, Schedule},
    sleep::rest,
    watch::stopped,
};
use crate::{
    base::Timestamp,
    feed::{BodyOutcome, FeedEvent, FeedRequest, LinkState, Severity},
};

/// Why there is no link, and so what brings it back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Down {
    /// It may pass: it is tried again after a pause.
    Passing(String),
    /// It does not pass by itself: the next try waits for the user.
    Waiting(String),
    /// The same, of a host that gave up: the words say so, too.
    GivenUp(String),
    /// The user disconnected it.
    ByUser,
}

impl Down {
    /// A failure that another try may not change, with what can be done about it.
    pub(super) fn for_good(error: &Error) -> Self {
        let mut words = error.to_string();
        for hint in error.hints() {
            words.push_str("; ");
            words.push_str(&hint);
        }
        Self::GivenUp(words)
    }
}

/// What ended a wait or a try.
enum Ended<T> {
    /// It came to its end.
    With(T),
    /// The run is over.
    Stopped,
    /// The user gave the host up.
    Disconnected,
}

impl Host {
    /// Tries until the link is back; `None` when the end of the run stopped it. What the user
    /// disconnected comes back when the user asks for it.
    pub(super) async fn regain(
        &mut self,
        run: &Run,
        schedule: &mut Schedule,
        mut why: Down,
    ) -> Result<Option<Connected>, Error> {
        let mut took = Duration::ZERO;
        loop {
            let pause = match self.pause(schedule, took, &why) {
                Ok(pause) => pause,
                Err(error) if self.options.stays => {
                    why = Down::for_good(&error);
                    continue;
                }
                Err(error) => return Err(error),
            };
            match self.wait(pause).await {
                Ended::Stopped => return Ok(None),
                Ended::Disconnected => {
                    why = Down::ByUser;
                    continue;
                }
                // The user knows more than the pauses do.
                Ended::With(Woken::ByUser) => schedule.start_over(),
                Ended::With(Woken::InTime) => {}
            }
            let began = Instant::now();
            let error = match self.try_again(run).await {
                Ended::With(Ok(connected)) => return Ok(Some(connected)),
                Ended::With(Err(error)) => error,
                Ended::Stopped => return Ok(None),
                Ended::Disconnected => {
                    why = Down::ByUser;
                    continue;
                }
            };
            took = began.elapsed();
            why = self.after(error)?;
        }
    }

    /// What follows from a try that failed; an error when the run ends with it.
    fn after(&self, error: Error) -> Result<Down, Error> {
        if self.may_pass(&error) {
            return Ok(Down::Passing(error.to_string()));
        }
        // Somebody may be answering for the host, or the run must not hang.
        let is_final = self.was_connected && error.class() == ExitClass::HostKey;
        if is_final || self.options.retry.is_some() {
            if self.options.stays {
                return Ok(Down::for_good(&error));
            }
            return Err(error);
        }
        Ok(Down::Waiting(error.to_string()))
    }

    /// Tells why there is no link and when the next try comes, and answers the pause before it;
    /// `None` waits for the user.
    fn pause(
        &mut self,
        schedule: &mut Schedule,
        took: Duration,
        why: &Down,
    ) -> Result<Option<Duration>, Error> {
        let reason = match why {
            Down::Passing(reason) => reason.clone(),
            Down::Waiting(reason) => {
                self.teller.tell_down(LinkState::Lost, Some(reason.clone()));
                return Ok(None);
            }
            Down::GivenUp(reason) => {
                let words = format!("given up: {reason}; `r` in :hosts tries again");
                self.teller.notice(Severity::Error, words.clone());
                self.teller.tell_down(LinkState::Lost, Some(words));
                return Ok(None);
            }
            Down::ByUser => {
                self.teller.tell_down(LinkState::Closed, None);
                return Ok(None);
            }
        };
        match schedule.next(took, random()) {
            Next::GiveUp => Err(FarError::Lost { reason }.into()),
            Next::Try { attempt, pause } => {
                let nanos = i64::try_from(pause.as_nanos()).unwrap_or(i64::MAX);
                let at = self.clock.now().as_nanos().saturating_add(nanos);
                let next = Timestamp::from_nanos(at);
                self.teller
                    .tell_down(LinkState::Reconnecting { attempt, next }, Some(reason));
                Ok(Some(pause))
            }
            Next::Rarely { pause, .. } => {
                self.teller.tell_down(LinkState::Lost, Some(reason));
                Ok(Some(pause))
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
    async fn wait(&mut self, pause: Option<Duration>) -> Ended<Woken> {
        if self.teller.flush().await.is_err() {
            return Ended::Stopped;
        }
        let until = pause.map(|pause| tokio::time::Instant::now() + pause);
        let clock = self.clock;
        loop {
            tokio::select! {
                biased;
                () = stopped(&mut self.stop) => return Ended::Stopped,
                Some(request) = self.requests.recv() => match request {
                    FeedRequest::Reconnect(_) => return Ended::With(Woken::ByUser),
                    FeedRequest::Disconnect(_) => return Ended::Disconnected,
                    other => self.without_link(other),
                },
                () = rest(until, || clock.reading()) => return Ended::With(Woken::InTime),
            }
            if self.teller.flush().await.is_err() {
                return Ended::Stopped;
            }
        }
    }

    /// One try, with the questions of the login going to the viewer.
    async fn try_again(&mut self, run: &Run) -> Ended<Result<Connected, Error>> {
        let (resolved, memory) = (Arc::clone(&self.resolved), Arc::clone(&self.memory));
        let prompter = Arc::clone(&self.reconnecting);
        let connecting = async move {
            let _room = run.dialling.acquire().await;
            connect(&resolved, &memory, &prompter).await
        };
        let mut connecting = std::pin::pin!(connecting);
        loop {
            if self.teller.flush().await.is_err() {
                return Ended::Stopped;
            }
            tokio::select! {
                biased;
                () = stopped(&mut self.stop) => return Ended::Stopped,
                connected = &mut connecting => return Ended::With(connected),
                Some(asked) = self.desk.asked.recv() => self.asked(asked),
                Some(request) = self.requests.recv() => match request {
                    FeedRequest::Disconnect(_) => return Ended::Disconnected,
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
    pub(super) fn without_link(&mut self, request: FeedRequest) {
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

/// What ended a wait so that a try follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Woken {
    ByUser,
    InTime,
}

fn random() -> u16 {
    let mut bytes = [0; 2];
    match getrandom::fill(&mut bytes) {
        Ok(()) => u16::from_le_bytes(bytes),
        // Without a random source all hosts wait the same time.
        Err(_) => 200,
    }
}
