//! `mcpsnoop open`: one log in the viewer.

use std::{
    io::IsTerminal as _,
    os::unix::fs::FileTypeExt as _,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    time::{Duration, Instant},
};

use mcpsnoop::{
    feed::{Closed, FeedEvent, FeedReceiver, channel},
    hub::{OpenedLog, OpenedSource, run_opened},
    record::{self, StateDir},
    tui::{FirstScreen, run_viewer},
};

use super::{
    naming,
    watch::{REQUEST_LIMIT, beside, exit_of, require_terminal, viewer_options},
};
use crate::cli::{
    args::OpenArgs,
    context::Context,
    failure::{Exit, Failure},
    output,
};

/// A file that cannot be opened at all says so within this time; else the screen comes up.
const REFUSAL: Duration = Duration::from_millis(80);
/// One wait for the first words of a log.
const LOOK: Duration = Duration::from_millis(10);
/// Events taken in one wait.
const EVENTS: usize = 256;
/// Longest wait without a word.
const SILENCE: Duration = Duration::from_secs(1);

/// Opens the log and shows it.
pub(super) fn run(args: OpenArgs, context: &Context) -> Result<Exit, Failure> {
    let state = StateDir::locate(&context.env).dir;
    let source = choose(args.session.as_deref(), state.as_ref(), context)?;
    require_terminal("`jq . LOG` reads a log without one")?;
    if source == OpenedSource::StandardInput && std::io::stdin().is_terminal() {
        return Err(Failure::usage("standard input is the terminal itself")
            .hint("pipe a log into it: xz -dc old.jsonl.xz | mcpsnoop open -"));
    }
    let is_file = matches!(source, OpenedSource::File(_));
    let mut options = viewer_options(
        &args.viewer,
        FirstScreen::Stream(args.inner),
        state.as_ref(),
        context,
    );
    (options.is_file, options.elsewhere) = (true, None);
    let (feed, mut events) = channel();
    let (ask, requests) = mpsc::sync_channel(REQUEST_LIMIT);
    let stopped = Arc::new(AtomicBool::new(false));
    let stop = Arc::clone(&stopped);
    let log = OpenedLog {
        source,
        follow: !args.no_follow,
        clock: context.clock,
    };
    let (refuse, refused) = mpsc::sync_channel(1);
    let reader = beside("reader", move || {
        let ended = run_opened(&log, &feed, &requests, &|| stop.load(Ordering::Relaxed));
        if let Err(error) = ended
            && refuse.send(error).is_err()
        {
            // The viewer has been left: nobody waits for the reason.
        }
    })?;
    let named = naming::Named {
        command: "open",
        exit: Exit::Usage,
        argument: args.session.as_deref(),
    };
    let failed = |error| naming::explained(&error, &named, state.as_ref(), context);
    let early = first_words(&mut events, &refused, is_file).map_err(failed)?;
    events.put_back(early);
    let shown = run_viewer(options, events, &mut |request| {
        if ask.try_send(request).is_err() {
            // The reader has ended or is busy with 256 requests: the viewer says `unavailable`.
        }
    });
    stopped.store(true, Ordering::Relaxed);
    drop(ask);
    let refusal = refused.try_recv().ok();
    if reader.is_finished() && reader.join().is_err() {
        return Err(Failure::new(
            Exit::Failed,
            "the reader of the log broke off",
        ));
    }
    let exit = exit_of(shown?);
    refusal.map_or(Ok(exit), |error| Err(failed(error)))
}

/// Waits for the first frame or for the reason why there is none. A file is given a moment only; a
/// pipe as long as it takes, because whoever fills it may still be asking for a password.
fn first_words(
    events: &mut FeedReceiver,
    refused: &mpsc::Receiver<record::Error>,
    is_file: bool,
) -> Result<Vec<FeedEvent>, record::Error> {
    let started = Instant::now();
    let mut early = Vec::new();
    let mut told = is_file;
    loop {
        let closed = match events.wait(EVENTS, LOOK) {
            Ok(taken) => {
                early.extend(taken);
                false
            }
            Err(Closed) => true,
        };
        if let Ok(error) = refused.try_recv() {
            return Err(error);
        }
        let begun = early
            .iter()
            .any(|event| matches!(event, FeedEvent::Frame(_)));
        if begun || closed || (is_file && started.elapsed() > REFUSAL) {
            return Ok(early);
        }
        if !told && started.elapsed() > SILENCE {
            told = true;
            output::note("waiting for the first line of the log");
        }
    }
}

/// Names the log (history.md 1).
fn choose(
    argument: Option<&str>,
    state: Option<&StateDir>,
    context: &Context,
) -> Result<OpenedSource, Failure> {
    let Some(path) = naming::choose(argument, state, context)? else {
        return Ok(OpenedSource::StandardInput);
    };
    let stream = std::fs::metadata(&path).is_ok_and(|found| {
        let kind = found.file_type();
        kind.is_fifo() || kind.is_char_device()
    });
    Ok(if stream {
        OpenedSource::Stream(path)
    } else {
        OpenedSource::File(path)
    })
}
