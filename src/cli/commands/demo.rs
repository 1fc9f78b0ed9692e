//! `mcpsnoop demo`: a scripted session, here or on a host inside the program (capture.md 10).

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
    time::Duration,
};

use mcpsnoop::{
    capture::ScriptPlayer,
    feed::{Closed, FeedEvent, FeedReceiver, channel},
    record::StateDir,
    remote::{DemoServer, run_remote},
    reports::RemoteLines,
    tui::FirstScreen,
};

use super::watch::{Sources, beside, require_terminal, viewer_options};
use crate::cli::{
    args::DemoArgs,
    asking::Asking,
    context::Context,
    failure::{Exit, Failure},
    output,
};

/// How long one wait for events lasts before the end of the script is looked at.
const TURN: Duration = Duration::from_millis(50);
/// After the script has ended its last frames must arrive within this time.
const PATIENCE: Duration = Duration::from_secs(20);

/// Plays the demo.
pub(super) fn run(args: &DemoArgs, context: &Context) -> Result<Exit, Failure> {
    if !args.speed.is_finite() || args.speed < 0.0 {
        return Err(
            Failure::usage(format!("--speed {} is no factor", args.speed))
                .hint("0 plays without pauses"),
        );
    }
    if !args.json {
        require_terminal("mcpsnoop demo --remote --json needs none")?;
    }
    let private = tempfile::Builder::new()
        .prefix("mcpsnoop-demo-")
        .tempdir()
        .map_err(|error| {
            Failure::new(Exit::Failed, "cannot make a private directory for the demo")
                .because(&error)
        })?;
    if args.remote {
        over_ssh(args, context, private.path())
    } else {
        here(args, context, private.path())
    }
}

/// The ordinary hub and viewer over a throw-away state directory.
fn here(args: &DemoArgs, context: &Context, private: &Path) -> Result<Exit, Failure> {
    let state = StateDir::at(private);
    let player = player(&state, context)?;
    let (feed, events) = channel();
    let mut sources = Sources::new()?;
    sources.add_hub(&state, None, context, feed);
    let socket = state.socket();
    let script = Script::start(player, args.speed, Some(socket))?;
    let mut options = viewer_options(
        &args.viewer,
        FirstScreen::Stream(None),
        Some(&state),
        context,
    );
    options.elsewhere = None;
    let shown = sources.view(options, events);
    script.stop()?;
    shown
}

/// The whole path of `remote`, to an SSH server inside the program.
fn over_ssh(args: &DemoArgs, context: &Context, private: &Path) -> Result<Exit, Failure> {
    let (near, far) = (private.join("near"), private.join("far"));
    for dir in [&near, &far] {
        std::fs::create_dir(dir).map_err(|error| {
            Failure::new(Exit::Failed, "cannot make a directory for the demo").because(&error)
        })?;
    }
    let mut player = player(&StateDir::at(&far), context)?;
    let frames = player.frames();
    player.play_first_third();
    let mut sources = Sources::new()?;
    let server = sources
        .runtime()
        .block_on(DemoServer::start(&far, &near))
        .map_err(|error| {
            Failure::new(Exit::Failed, "cannot start the demo's SSH server").because(&error)
        })?;
    let (feed, events) = channel();
    let (requests, stop) = sources.ends();
    let prompter = Arc::new(Asking::new(true, false));
    let (target, mut remote) = (server.target(), server.options());
    remote.stays = !args.json;
    let clock = context.clock;
    sources.add(async move {
        let results = run_remote(vec![target], remote, prompter, clock, feed, requests, stop).await;
        results.into_iter().find_map(|(host, result)| {
            result
                .err()
                .map(|error| crate::cli::failure::of_host(&host.0, &error))
        })
    });
    let script = Script::start(player, args.speed, None)?;
    let ended = if args.json {
        lines(args, events, sources, &script, frames)
    } else {
        let mut options = viewer_options(&args.viewer, FirstScreen::Stream(None), None, context);
        options.elsewhere = None;
        sources.view(options, events)
    };
    script.stop()?;
    ended
}

/// `demo --remote --json`: with `--once` exit 0 only if every frame came once.
fn lines(
    args: &DemoArgs,
    mut events: FeedReceiver,
    sources: Sources,
    script: &Script,
    frames: u64,
) -> Result<Exit, Failure> {
    let mut lines = RemoteLines::default();
    let (mut out, mut seen) = (Vec::new(), 0);
    let mut patience: Option<std::time::Instant> = None;
    let signal = super::remote::signals()?;
    loop {
        let taken = match events.wait(1_024, TURN) {
            Ok(taken) => taken,
            Err(Closed) => break,
        };
        for event in &taken {
            seen += u64::from(matches!(event, FeedEvent::Frame(_)));
            lines.write(event, &mut out);
        }
        output::write_bytes(&std::mem::take(&mut out))?;
        if script.is_done() && patience.is_none() {
            patience = Some(std::time::Instant::now() + PATIENCE);
        }
        let late = patience.is_some_and(|until| std::time::Instant::now() > until);
        if args.once && (late || (script.is_done() && seen >= frames))
            || signal.load(Ordering::Relaxed) != 0
        {
            break;
        }
    }
    let failure = sources.finish();
    while let Ok(taken) = events.take(1_024) {
        if taken.is_empty() {
            break;
        }
        for event in &taken {
            seen += u64::from(matches!(event, FeedEvent::Frame(_)));
            lines.write(event, &mut out);
        }
    }
    let complete = !args.once || seen == frames;
    let exit = if failure.is_none() && complete {
        Exit::Done
    } else {
        Exit::Failed
    };
    lines.end("demo", exit.code(), &mut out);
    output::write_bytes(&out)?;
    if !complete {
        return Err(Failure::new(
            Exit::Failed,
            format!("{seen} of {frames} frames arrived"),
        ));
    }
    failure.map_or(Ok(exit), Err)
}

fn player(state: &StateDir, context: &Context) -> Result<ScriptPlayer, Failure> {
    ScriptPlayer::new(state, context.clock)
        .map_err(|error| Failure::new(Exit::Failed, "cannot write the demo's log").because(&error))
}

/// The player at work on a thread of its own.
struct Script {
    stop: Arc<AtomicBool>,
    done: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Script {
    /// Plays what is left of the script, once `socket` accepts (where one is given).
    fn start(
        mut player: ScriptPlayer,
        speed: f64,
        socket: Option<PathBuf>,
    ) -> Result<Self, Failure> {
        let (stop, done) = (
            Arc::new(AtomicBool::new(false)),
            Arc::new(AtomicBool::new(false)),
        );
        let (stopped, finished) = (Arc::clone(&stop), Arc::clone(&done));
        let thread = beside("demo", move || {
            let should_stop = || stopped.load(Ordering::Relaxed);
            while let Some(socket) = &socket
                && !should_stop()
                && std::os::unix::net::UnixStream::connect(socket).is_err()
            {
                std::thread::sleep(Duration::from_millis(10));
            }
            player.play_rest(speed, &should_stop);
            finished.store(true, Ordering::Relaxed);
            while !should_stop() {
                std::thread::park_timeout(Duration::from_millis(200));
            }
        })?;
        Ok(Self { stop, done, thread })
    }

    fn is_done(&self) -> bool {
        self.done.load(Ordering::Relaxed)
    }

    fn stop(self) -> Result<(), Failure> {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.thread().unpark();
        self.thread
            .join()
            .map_err(|_panic| Failure::new(Exit::Failed, "the demo's player broke off"))
    }
}
