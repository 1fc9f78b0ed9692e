//! `mcpsnoop remote`: another machine's sessions, as screens, lists, bytes or JSON lines.

use std::{
    io::IsTerminal as _,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use mcpsnoop::{
    base::{quoted, quoted_bytes},
    feed::{Closed, FeedEvent, FeedReceiver, LinkState, channel},
    record::HostName,
    remote::{
        self, ModeChoice, RemoteLocation, RemoteOptions, Target, cat_session, list_sessions,
        run_remote,
    },
    reports::RemoteLines,
    tui::FirstScreen,
};

use tokio::sync::oneshot;

use super::watch::{DEFAULT_HISTORY, Sources, viewer_options};
use crate::cli::{
    args::RemoteArgs,
    asking::Asking,
    context::Context,
    failure::{Exit, Failure, of_host},
    listing::{json_list, text_list},
    output,
};

/// How long `--json` waits for events before it looks at signals again.
const TURN: Duration = Duration::from_millis(100);
/// Events taken in one turn.
const EVENTS: usize = 2_048;

/// Does what the flags ask for.
pub(super) fn run(args: &RemoteArgs, context: &Context) -> Result<Exit, Failure> {
    let targets = targets(&args.targets)?;
    let options = options(args, context)?;
    if targets.len() > 1 && (args.cat.is_some() || args.host_key.is_some()) {
        let flag = if args.cat.is_some() {
            "--cat"
        } else {
            "--host-key"
        };
        return Err(Failure::usage(format!("{flag} takes exactly one target")));
    }
    for file in &args.identity {
        if let Some(warning) = missing_key(file) {
            output::note(&warning);
        }
    }
    let prompter = Arc::new(Asking::new(args.batch, args.verbose > 0));
    if let Some(session) = &args.cat {
        cat(targets, session, options, prompter)
    } else if args.list {
        list(targets, options, prompter, args.json)
    } else if args.json {
        json(targets, options, prompter, context)
    } else {
        view(args, targets, options, &prompter, context)
    }
}

/// What is said at once about a key file that is not there; the login goes on, as it does with ssh.
fn missing_key(file: &Path) -> Option<String> {
    let error = std::fs::metadata(file).err()?;
    let mut public = file.as_os_str().to_owned();
    public.push(".pub");
    // The public half alone names a key that the agent holds.
    if Path::new(&public).exists() {
        return None;
    }
    Some(format!(
        "warning: the key file {} behind `-i` cannot be used: {error}; the other keys are tried",
        quoted_bytes(file.as_os_str().as_encoded_bytes())
    ))
}

fn targets(typed: &[String]) -> Result<Vec<Target>, Failure> {
    let parse = |text: &String| {
        Target::parse(text).map_err(|error| {
            Failure::usage(format!("the target {} is refused: {error}", quoted(text)))
                .hint("[USER@]HOST[:PORT]")
        })
    };
    typed.iter().map(parse).collect()
}

fn options(args: &RemoteArgs, context: &Context) -> Result<RemoteOptions, Failure> {
    let location = [
        args.remote_home
            .clone()
            .map(|dir| (dir.clone(), RemoteLocation::Home(dir))),
        args.remote_mcpsnoop_home
            .clone()
            .map(|dir| (dir.clone(), RemoteLocation::McpsnoopHome(dir))),
        args.remote_xdg_state_home
            .clone()
            .map(|dir| (dir.clone(), RemoteLocation::XdgStateHome(dir))),
    ];
    let location = location.into_iter().flatten().next();
    if let Some((dir, _)) = &location
        && !is_location(dir)
    {
        return Err(Failure::usage(format!(
            "{} is no absolute path without `..`",
            quoted(dir)
        )));
    }
    Ok(RemoteOptions {
        location: location.map(|(_, location)| location),
        once: args.once,
        sessions: args.session.clone(),
        history_limit: super::history_limit(args.history_limit)?,
        mode: match args.mode.as_str() {
            "socket" => ModeChoice::Socket,
            "log" => ModeChoice::Log,
            "history" => ModeChoice::History,
            _ => ModeChoice::Auto,
        },
        port: args.port,
        identities: args.identity.clone(),
        ssh_config: args.ssh_config.clone(),
        ssh_options: args.option.clone(),
        host_key: args.host_key.clone(),
        batch: args.batch,
        retry: if args.no_reconnect {
            Some(0)
        } else {
            args.retry
        },
        stays: args.cat.is_none() && !args.list && !args.json,
        verbose: args.verbose,
        env: context.env.clone(),
    })
}

/// An absolute path without control characters and `..` segments (remote.md 1.1).
fn is_location(dir: &str) -> bool {
    dir.starts_with('/')
        && !dir.chars().any(char::is_control)
        && !dir.split('/').any(|part| part == "..")
}

fn cat(
    targets: Vec<Target>,
    session: &str,
    options: RemoteOptions,
    prompter: Arc<Asking>,
) -> Result<Exit, Failure> {
    let sources = Sources::new()?;
    let Some(target) = targets.into_iter().next() else {
        return Ok(Exit::Usage);
    };
    let host = target.host.clone();
    let mut out = std::io::stdout();
    let done = sources
        .runtime()
        .block_on(cat_session(target, session, options, prompter, &mut out));
    match done {
        Ok(torn) => {
            if torn {
                output::note("note: last line incomplete, left out");
            }
            Ok(Exit::Done)
        }
        Err(error) => Err(closed_output(&error).unwrap_or_else(|| of_host(&host, &error))),
    }
}

/// A reader that has enough of what `--cat` prints ends it quietly.
fn closed_output(error: &remote::Error) -> Option<Failure> {
    if error.class() != remote::ExitClass::Local {
        return None;
    }
    let mut cause: &dyn std::error::Error = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    cause
        .downcast_ref::<std::io::Error>()
        .filter(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
        .map(output::output_failure)
}

fn list(
    targets: Vec<Target>,
    options: RemoteOptions,
    prompter: Arc<Asking>,
    json: bool,
) -> Result<Exit, Failure> {
    let several = targets.len() > 1;
    let sources = Sources::new()?;
    let answers = sources
        .runtime()
        .block_on(list_sessions(targets, options, prompter));
    let mut exit = Exit::Done;
    let mut rows = Vec::new();
    let mut answered = false;
    for (host, answer) in answers {
        match answer {
            Ok(sessions) => {
                answered = true;
                rows.extend(sessions);
            }
            Err(error) => {
                let failure = of_host(&host.0, &error);
                exit = if exit == Exit::Done {
                    failure.exit
                } else {
                    exit
                };
                output::complain(&failure);
            }
        }
    }
    if !answered {
        return Ok(exit);
    }
    output::print(&if json {
        json_list(&rows)
    } else {
        text_list(&rows, several)
    })?;
    Ok(exit)
}

fn json(
    targets: Vec<Target>,
    options: RemoteOptions,
    prompter: Arc<Asking>,
    context: &Context,
) -> Result<Exit, Failure> {
    let hosts: Vec<String> = targets.iter().map(|target| target.host.clone()).collect();
    let (feed, events) = channel();
    let mut sources = Sources::new()?;
    let (requests, stop) = sources.ends();
    let outcome = start(
        &mut sources,
        run_remote(
            targets,
            options,
            prompter,
            context.clock,
            feed,
            requests,
            stop,
        ),
    );
    let mut lines = RemoteLines::default();
    let ended_by = match print_events(events, &sources, &mut lines) {
        Ok(ended_by) => ended_by,
        Err(failure) => {
            // The far side is left clean also when nobody reads any more.
            drop(sources.finish());
            return Err(failure);
        }
    };
    let results = sources.runtime().block_on(outcome).unwrap_or_default();
    let mut exit = Exit::Done;
    let mut out = Vec::new();
    for (host, result) in &results {
        let code = match result {
            Ok(()) => Exit::Done,
            Err(error) => {
                let failure = of_host(&host.0, error);
                output::complain(&failure);
                failure.exit
            }
        };
        exit = if exit == Exit::Done { code } else { exit };
        lines.end(&host.0, ended_by.unwrap_or(code).code(), &mut out);
    }
    output::write_bytes(&out)?;
    drop(sources.finish());
    if results.is_empty() && !hosts.is_empty() {
        return Err(Failure::new(
            Exit::Failed,
            "the connection broke off in the program itself",
        ));
    }
    Ok(ended_by.unwrap_or(exit))
}

/// Prints every event as it comes, until the sources end or a signal says so.
fn print_events(
    mut events: FeedReceiver,
    sources: &Sources,
    lines: &mut RemoteLines,
) -> Result<Option<Exit>, Failure> {
    let signal = signals()?;
    let mut ended_by = None;
    let mut out = Vec::new();
    loop {
        let number = signal.swap(0, Ordering::Relaxed);
        if number != 0 {
            if ended_by.is_some() {
                return Ok(ended_by);
            }
            ended_by = Some(Exit::Signal(u8::try_from(number).unwrap_or(0)));
            sources.stop();
        }
        let taken = match events.wait(EVENTS, TURN) {
            Ok(taken) => taken,
            Err(Closed) => return Ok(ended_by),
        };
        for event in &taken {
            if let FeedEvent::Notice { host, text, .. } = event {
                output::note(&format!("{host}: {text}"));
            }
            lines.write(event, &mut out);
        }
        if !out.is_empty() {
            let written = output::write_bytes(&out);
            out.clear();
            if let Err(failure) = written {
                sources.stop();
                return Err(failure);
            }
        }
    }
}

/// A cell that holds the number of the last signal that asked the program to end.
pub(super) fn signals() -> Result<Arc<AtomicUsize>, Failure> {
    let cell = Arc::new(AtomicUsize::new(0));
    for number in [
        signal_hook::consts::SIGINT,
        signal_hook::consts::SIGTERM,
        signal_hook::consts::SIGHUP,
    ] {
        let value = usize::try_from(number).unwrap_or_default();
        signal_hook::flag::register_usize(number, Arc::clone(&cell), value).map_err(|error| {
            Failure::new(Exit::Failed, "cannot listen for signals").because(&error)
        })?;
    }
    Ok(cell)
}

/// What became of each target.
type Results = Vec<(HostName, Result<(), remote::Error>)>;

/// Runs the hosts as a source that the end of the program waits for; the answer comes when they end.
fn start(
    sources: &mut Sources,
    run: impl Future<Output = Results> + Send + 'static,
) -> oneshot::Receiver<Results> {
    let (answer, outcome) = oneshot::channel();
    sources.add(async move {
        if answer.send(run.await).is_err() {
            // Nobody asks any more: the viewer has been left.
        }
        None
    });
    outcome
}

fn view(
    args: &RemoteArgs,
    targets: Vec<Target>,
    options: RemoteOptions,
    prompter: &Arc<Asking>,
    context: &Context,
) -> Result<Exit, Failure> {
    if !std::io::stdout().is_terminal() || !std::io::stdin().is_terminal() {
        return Err(Failure::usage("standard input or output is no terminal")
            .hint("--json prints everything as lines, --list what is there"));
    }
    let local = (!args.no_local).then(|| context.state());
    let state = local.as_ref().and_then(|local| local.as_ref().ok());
    let mut shown = viewer_options(&args.viewer, FirstScreen::Sessions, state, context);
    shown.elsewhere = None;
    let count = targets.len();
    let (feed, mut events) = channel();
    let mut sources = Sources::new()?;
    let (requests, stop) = sources.ends();
    let outcome = start(
        &mut sources,
        run_remote(
            targets,
            options,
            Arc::clone(prompter),
            context.clock,
            feed.clone(),
            requests,
            stop,
        ),
    );
    let early = wait_for_logins(&mut events, count);
    prompter.hush();
    let failures = |results: Results| {
        results
            .into_iter()
            .filter_map(|(host, result)| result.err().map(|error| of_host(&host.0, &error)))
    };
    if early.connected == 0 {
        sources.stop();
        let results = sources.runtime().block_on(outcome).unwrap_or_default();
        drop(sources.finish());
        let mut all = failures(results);
        let first = all
            .next()
            .unwrap_or_else(|| Failure::silent(Exit::Unreachable));
        for other in all {
            output::complain(&other);
        }
        return Err(first);
    }
    match local {
        Some(state) => sources.add_local(state, Some(DEFAULT_HISTORY), context, feed),
        None => drop(feed),
    }
    events.put_back(early.events);
    sources.view(shown, events)
}

/// What came before the viewer could take the screen.
struct Early {
    events: Vec<FeedEvent>,
    connected: usize,
}

/// Waits until every host has logged in or failed; prompts appear on the plain terminal meanwhile.
fn wait_for_logins(events: &mut FeedReceiver, hosts: usize) -> Early {
    let mut early = Early {
        events: Vec::new(),
        connected: 0,
    };
    let mut decided = std::collections::BTreeMap::new();
    while decided.len() < hosts {
        let Ok(taken) = events.wait(EVENTS, TURN) else {
            break;
        };
        for event in &taken {
            if let FeedEvent::Host(state) = event {
                match state.link {
                    LinkState::Connecting => None,
                    LinkState::Backfilling | LinkState::Live => {
                        decided.insert(state.host.clone(), true)
                    }
                    _ => decided.insert(state.host.clone(), false),
                };
            }
        }
        early.events.extend(taken);
    }
    early.connected = decided.values().filter(|connected| **connected).count();
    early
}
