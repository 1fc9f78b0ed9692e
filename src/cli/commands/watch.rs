//! `mcpsnoop` without a command: hub and viewer; and what the other viewers share with it.

use std::{thread, time::Duration};

use mcpsnoop::{
    feed::{
        FeedEvent, FeedReceiver, FeedRequest, FeedSender, HostState, LinkState, Severity, channel,
    },
    hub::{self, HubOptions, run_hub},
    record::{HostName, StateDir},
    tui::{Ended, FirstScreen, ViewerOptions, run_viewer},
};
use tokio::{
    runtime::{Builder, Runtime},
    sync::{mpsc, watch},
};

use crate::cli::{
    args::ViewerArgs,
    context::Context,
    failure::{Exit, Failure},
    output,
};

/// Requests that may wait for a source; a viewer asks seldom and by hand.
pub(super) const REQUEST_LIMIT: usize = 256;
/// Logs that are loaded at the start unless the user says otherwise (log-format 10.2).
pub(super) const DEFAULT_HISTORY: usize = 100;
/// Tasks get this long to end after the viewer has.
const SHUTDOWN: Duration = Duration::from_secs(4);

/// Watches this machine.
pub(super) fn run(
    viewer: &ViewerArgs,
    limit: Option<i64>,
    context: &Context,
) -> Result<Exit, Failure> {
    let limit = limit.map_or(Ok(Some(DEFAULT_HISTORY)), super::history_limit)?;
    require_terminal(
        "`mcpsnoop open -` reads a log, `mcpsnoop remote --json HOST` needs no terminal",
    )?;
    let state = context.state()?;
    refuse_unusable(&state)?;
    let options = viewer_options(viewer, FirstScreen::Sessions, Some(&state), context);
    let (feed, events) = channel();
    let mut sources = Sources::new()?;
    sources.add_hub(&state, limit, context, feed);
    sources.view(options, events)
}

/// A directory that cannot even be made holds nothing to watch: said before the screen is taken.
fn refuse_unusable(state: &StateDir) -> Result<(), Failure> {
    let path = state.base().to_owned();
    match state.create() {
        Err(source) if !path.is_dir() => Err(hub::Error::StateDir { path, source }.into()),
        _ => Ok(()),
    }
}

/// What a viewer is told of a machine whose sessions cannot be shown: a row and a message.
fn unusable(failure: &Failure) -> Vec<FeedEvent> {
    let host = HostName::local();
    let parts = std::iter::once(&failure.sentence).chain(&failure.causes);
    let reason = parts.cloned().collect::<Vec<_>>().join(": ");
    let next = failure.hints.iter().map(|hint| format!("; {hint}"));
    let text = reason.clone() + &next.collect::<String>();
    vec![
        FeedEvent::Host(HostState {
            host: host.clone(),
            target: String::new(),
            link: LinkState::Lost,
            mode: None,
            reason: Some(reason),
            state_dir: None,
            clock_offset_ms: None,
            round_trip: None,
        }),
        FeedEvent::Notice {
            host,
            severity: Severity::Error,
            text,
        },
    ]
}

/// The tasks behind a viewer, and the way to ask and to stop them.
pub(super) struct Sources {
    runtime: Runtime,
    tasks: tokio::task::JoinSet<Option<Failure>>,
    asks: Vec<mpsc::Sender<FeedRequest>>,
    stop: watch::Sender<bool>,
}

impl Sources {
    /// A runtime with two workers (style 3.6).
    pub(super) fn new() -> Result<Self, Failure> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .map_err(|error| {
                Failure::new(Exit::Failed, "cannot start worker threads").because(&error)
            })?;
        let (stop, _) = watch::channel(false);
        Ok(Self {
            runtime,
            tasks: tokio::task::JoinSet::new(),
            asks: Vec::new(),
            stop,
        })
    }

    /// A way for a new source to be asked and stopped.
    pub(super) fn ends(&mut self) -> (mpsc::Receiver<FeedRequest>, watch::Receiver<bool>) {
        let (ask, requests) = mpsc::channel(REQUEST_LIMIT);
        self.asks.push(ask);
        (requests, self.stop.subscribe())
    }

    /// Runs a source until it ends or is stopped.
    pub(super) fn add(&mut self, source: impl Future<Output = Option<Failure>> + Send + 'static) {
        self.tasks.spawn_on(source, self.runtime.handle());
    }

    /// This machine's sessions; a directory that cannot be used fails the run.
    pub(super) fn add_hub(
        &mut self,
        state: &StateDir,
        limit: Option<usize>,
        context: &Context,
        feed: FeedSender,
    ) {
        let hub = self.hub(state, limit, context, feed);
        self.add(async move { hub.await.err() });
    }

    /// This machine's sessions beside those of others: what stops them is told in their row and in
    /// the messages, and fails nothing (remote.md 12).
    pub(super) fn add_local(
        &mut self,
        state: Result<StateDir, Failure>,
        limit: Option<usize>,
        context: &Context,
        feed: FeedSender,
    ) {
        let hub = state.map(|state| self.hub(&state, limit, context, feed.clone()));
        self.add(async move {
            let ended = match hub {
                Ok(hub) => hub.await,
                Err(failure) => Err(failure),
            };
            if let Err(failure) = ended
                && feed.send(unusable(&failure)).await.is_err()
            {
                // The viewer has been left: nobody reads why.
            }
            None
        });
    }

    fn hub(
        &mut self,
        state: &StateDir,
        limit: Option<usize>,
        context: &Context,
        feed: FeedSender,
    ) -> impl Future<Output = Result<(), Failure>> + Send + use<> {
        let (requests, stop) = self.ends();
        let options = HubOptions {
            state: state.clone(),
            host: HostName::local(),
            history_limit: limit,
            clock: context.clock,
        };
        async move {
            run_hub(options, feed, requests, stop).await?;
            Ok(())
        }
    }

    /// The runtime, for what runs before the viewer.
    pub(super) const fn runtime(&self) -> &Runtime {
        &self.runtime
    }

    /// Hands a request to every source; one that is busy or gone does not hold up the others.
    pub(super) fn ask(&self, request: &FeedRequest) {
        for ask in &self.asks {
            if ask.try_send(request.clone()).is_err() {
                // A source that is gone or has 256 requests waiting answers none of them.
            }
        }
    }

    /// Tells the sources to end.
    pub(super) fn stop(&self) {
        self.stop.send_replace(true);
    }

    /// Waits for the sources to end; the first failure is the answer.
    pub(super) fn finish(mut self) -> Option<Failure> {
        self.stop();
        let tasks = &mut self.tasks;
        let failure = self.runtime.block_on(async {
            let mut first = None;
            let all = async {
                while let Some(ended) = tasks.join_next().await {
                    first = first.take().or(ended.ok().flatten());
                }
            };
            if tokio::time::timeout(SHUTDOWN, all).await.is_err() {
                tasks.abort_all();
            }
            first
        });
        self.runtime.shutdown_background();
        failure
    }

    /// Shows the viewer until the user leaves, then ends the sources.
    pub(super) fn view(
        self,
        options: ViewerOptions,
        events: FeedReceiver,
    ) -> Result<Exit, Failure> {
        let shown = run_viewer(options, events, &mut |request| self.ask(&request));
        let failure = self.finish();
        let exit = exit_of(shown?);
        failure.map_or(Ok(exit), Err)
    }
}

/// The exit that says how the viewer ended.
pub(super) fn exit_of(ended: Ended) -> Exit {
    match ended {
        Ended::Quit => Exit::Done,
        Ended::Signal(number) => Exit::Signal(u8::try_from(number).unwrap_or(0)),
    }
}

/// Refuses to start a viewer without a terminal, before anything else is done.
pub(super) fn require_terminal(instead: &str) -> Result<(), Failure> {
    use std::io::IsTerminal as _;
    if std::io::stdout().is_terminal() {
        return Ok(());
    }
    Err(Failure::usage("standard output is no terminal").hint(instead))
}

/// What every viewer is started with.
pub(super) fn viewer_options(
    args: &ViewerArgs,
    first: FirstScreen,
    state: Option<&StateDir>,
    context: &Context,
) -> ViewerOptions {
    ViewerOptions {
        first,
        is_file: false,
        state: state.cloned(),
        elsewhere: state.and_then(|state| context.elsewhere(state)),
        program: std::env::current_exe().ok(),
        env: context.env.clone(),
        ascii: args.ascii,
        clock: context.clock,
    }
}

/// Runs `work` on a thread of its own while the caller shows what it yields.
pub(super) fn beside<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<thread::JoinHandle<T>, Failure> {
    thread::Builder::new()
        .name(name.to_owned())
        .spawn(work)
        .map_err(|error| Failure::new(Exit::Failed, "cannot start a thread").because(&error))
}

/// Says on standard error which session was chosen for the user (history.md 1).
pub(super) fn announce(id: &str, age: &str) {
    output::note(&format!("session {} ({age})", mcpsnoop::base::quoted(id)));
}
