//! Logging in: none, keys, keyboard-interactive, password (remote.md 5.1).

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use russh::{
    MethodKind, MethodSet,
    client::{AuthResult, Handle},
};
use tokio::time::{sleep, timeout};

use super::{
    candidates::Candidates,
    error::{Error, LoginReport},
    handler::{Banner, CloseReason, Closed, LinkHandler},
    memory::LinkMemory,
    prompt::Prompter,
    resolved::{Method, Resolved},
    signing::Asker,
};

/// How long the reason of an ended connection may lag behind its end.
const REASON_LIMIT: Duration = Duration::from_secs(1);

/// What the server said to an attempt.
pub(super) enum Step {
    Done,
    /// Refused; these methods go on.
    Refused(MethodSet),
    /// Accepted, but more is wanted; these methods go on.
    Partly(MethodSet),
}

/// One login on one connection.
pub(super) struct Login<'a, P> {
    pub(super) asker: Asker<'a, P>,
    pub(super) closed: Closed,
    pub(super) banner: Banner,
    pub(super) report: LoginReport,
    /// Loaded when the server first lists `publickey`.
    pub(super) candidates: Option<Candidates>,
    pub(super) methods: MethodSet,
    pub(super) exhausted: Vec<Method>,
    /// A question would have been needed, but could not be asked or was not answered.
    pub(super) needs_answer: bool,
    /// A locked key that the server would have taken.
    pub(super) locked: Option<std::path::PathBuf>,
}

impl<'a, P: Prompter> Login<'a, P> {
    pub(super) fn new(
        host: &'a Resolved,
        memory: &'a LinkMemory,
        prompter: &'a P,
        closed: Closed,
        banner: Banner,
    ) -> Self {
        Self {
            asker: Asker {
                host,
                memory,
                prompter,
                is_asking: AtomicBool::new(false),
            },
            closed,
            banner,
            report: LoginReport {
                user: host.user.clone(),
                ..LoginReport::default()
            },
            candidates: None,
            methods: MethodSet::empty(),
            exhausted: Vec::new(),
            needs_answer: false,
            locked: None,
        }
    }

    /// Logs in with what the server takes.
    ///
    /// # Errors
    /// The server refused everything, or the connection ended.
    pub(super) async fn run(mut self, handle: &mut Handle<LinkHandler>) -> Result<(), Error> {
        let user = self.asker.host.user.clone();
        let attempt = self.step("none", handle.authenticate_none(user)).await?;
        let mut step = self.settle(attempt).await?;
        loop {
            match step {
                Step::Done => return Ok(()),
                Step::Refused(methods) => self.methods = methods,
                Step::Partly(methods) => {
                    self.methods = methods;
                    self.exhausted.clear();
                }
            }
            let Some(method) = self.next_method() else {
                return Err(self.give_up());
            };
            step = match method {
                Method::PublicKey => self.offer_keys(handle).await?,
                Method::KeyboardInteractive => self.converse(handle).await?,
                Method::Password => self.send_passwords(handle).await?,
            };
            self.exhausted.push(method);
        }
    }

    fn next_method(&self) -> Option<Method> {
        let wanted = self.asker.host.login.methods.iter().copied();
        wanted
            .filter(|method| !self.exhausted.contains(method))
            .find(|method| self.methods.contains(&kind_of(*method)))
    }

    /// The error when nothing is left to try.
    fn give_up(mut self) -> Error {
        self.finish_report();
        let ours = self.asker.host.login.methods.iter();
        let any_of_ours = ours
            .into_iter()
            .any(|method| self.methods.contains(&kind_of(*method)));
        let report = Box::new(self.report);
        if self.needs_answer || self.locked.is_some() {
            return Error::PromptNeeded {
                report,
                encrypted: self.locked,
            };
        }
        if !any_of_ours && report.tried.is_empty() {
            return Error::UnsupportedMethods { report };
        }
        Error::LoginRefused { report }
    }

    pub(super) fn finish_report(&mut self) {
        let names = self
            .methods
            .iter()
            .map(|method| <&str>::from(method).to_owned());
        self.report.methods = names.collect();
        if let Some(candidates) = &mut self.candidates {
            self.report.skipped.append(&mut candidates.skipped);
        }
        let methods = &self.report.methods;
        let ignored = self.asker.host.login.ignored.iter();
        self.report.ignored = ignored
            .filter(|(_, serves)| {
                serves.is_none_or(|method| methods.iter().any(|listed| listed == method))
            })
            .map(|(keyword, _)| keyword.clone())
            .collect();
    }

    /// Runs one step under its limit, which does not run while a question is open. Without a limit
    /// an answer that the library does not pass on, like a demanded change of the password, would
    /// never end (remote.md 14.5).
    pub(super) async fn step<T, E>(
        &mut self,
        name: &'static str,
        work: impl Future<Output = Result<T, E>>,
    ) -> Result<T, Error>
    where
        E: Into<Error>,
    {
        let limit = self.asker.host.link.step_limit;
        let outcome = limited(&self.asker.is_asking, name, limit, work).await?;
        match outcome.map_err(Into::into) {
            Ok(answer) => Ok(answer),
            Err(_ended) => Err(self.ended().await),
        }
    }

    /// Reads the answer to an attempt. An empty list of methods also stands for an ended connection.
    pub(super) async fn settle(&mut self, result: AuthResult) -> Result<Step, Error> {
        if let Some(text) = self.banner.take() {
            let host = &self.asker.host.name;
            self.asker.prompter.show_server_text(host, &text);
        }
        let (methods, partly) = match result {
            AuthResult::Success => return Ok(Step::Done),
            AuthResult::Failure {
                remaining_methods,
                partial_success,
            } => (remaining_methods, partial_success),
        };
        if methods.is_empty() && !self.server_ran_out().await {
            return Err(self.ended().await);
        }
        if partly {
            return Ok(Step::Partly(methods));
        }
        Ok(Step::Refused(methods))
    }

    /// True when the server ended the login by listing no method that the library knows.
    async fn server_ran_out(&mut self) -> bool {
        match timeout(REASON_LIMIT, self.closed.wait()).await {
            Ok(CloseReason::Broken(text)) => text == russh::Error::NoAuthMethod.to_string(),
            Ok(_) => false,
            Err(_elapsed) => true,
        }
    }

    /// The error for a connection that ended under the login.
    pub(super) async fn ended(&mut self) -> Error {
        let reason = timeout(REASON_LIMIT, self.closed.wait()).await;
        let was_refused = self.report.tried.iter().any(|key| key.outcome == REFUSED);
        self.finish_report();
        match reason {
            Ok(CloseReason::Disconnected { message })
                if message.contains("Too many authentication failures") =>
            {
                Error::TooManyAttempts {
                    report: Box::new(std::mem::take(&mut self.report)),
                }
            }
            Ok(CloseReason::Disconnected { message }) => Error::LoginEnded { message },
            // Some servers just hang up after too many attempts; coming again would be punished.
            Ok(CloseReason::Broken(message)) if was_refused => Error::LoginEnded { message },
            Ok(CloseReason::Broken(message)) => Error::LoginBroken { message },
            Ok(CloseReason::Silent) | Err(_) => Error::LoginBroken {
                message: "no answer".to_owned(),
            },
        }
    }
}

pub(super) const REFUSED: &str = "refused";

fn kind_of(method: Method) -> MethodKind {
    match method {
        Method::PublicKey => MethodKind::PublicKey,
        Method::KeyboardInteractive => MethodKind::KeyboardInteractive,
        Method::Password => MethodKind::Password,
    }
}

/// Runs work under a limit that does not run while a question is open.
pub(super) async fn limited<T>(
    is_asking: &AtomicBool,
    step: &'static str,
    limit: Duration,
    work: impl Future<Output = T>,
) -> Result<T, Error> {
    tokio::pin!(work);
    loop {
        tokio::select! {
            biased;
            outcome = &mut work => return Ok(outcome),
            () = sleep(limit) => {}
        }
        if !is_asking.load(Ordering::Relaxed) {
            return Err(Error::LoginTimeout {
                step,
                seconds: limit.as_secs(),
            });
        }
    }
}
