//! `mcpsnoop open`: one log in the viewer.

use std::{
    io::IsTerminal as _,
    os::unix::fs::FileTypeExt as _,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    time::{Duration, Instant},
};

use mcpsnoop::{
    base::{Timestamp, quoted},
    feed::{Closed, FeedEvent, FeedReceiver, channel},
    hub::{OpenedLog, OpenedSource, run_opened},
    record::{self, SessionChoice, StateDir, choose_recorded, choose_session},
    tui::{FirstScreen, run_viewer},
};

use super::watch::{REQUEST_LIMIT, announce, beside, exit_of, require_terminal, viewer_options};
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
    let failed = |error| explained(error, args.session.as_deref(), state.as_ref(), context);
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

/// The failure of a log that was named. A file of that name was taken before any session (history.md
/// 1, rule 2): when it is no log, the sessions of that name are what was meant.
fn explained(
    error: record::Error,
    argument: Option<&str>,
    state: Option<&StateDir>,
    context: &Context,
) -> Failure {
    let is_no_log = matches!(error, record::Error::NotALog { .. });
    let failure = Failure::from(error);
    let has_ending = |name: &str| Path::new(name).extension().is_some_and(|it| it == "jsonl");
    let is_name = |name: &&str| *name != "-" && !name.contains('/') && !has_ending(name);
    let Some(name) = argument.filter(is_name).filter(|_| is_no_log) else {
        return failure;
    };
    let mut failure = Failure {
        causes: vec![format!(
            "the file {} in this directory comes before sessions of that name",
            quoted(name)
        )],
        hints: Vec::new(),
        ..failure
    };
    match choose_recorded(name, state) {
        Ok(SessionChoice::Found { id, modified, .. }) => {
            let when = ago(modified, context.clock.now());
            failure.hint(format!("its newest session: mcpsnoop open {id}   ({when})"))
        }
        Ok(SessionChoice::Named(path)) => {
            failure.hint(format!("its session: mcpsnoop open {}", path.display()))
        }
        Err(record::Error::Ambiguous { candidates, .. }) => {
            let open = |(id, ..): &(String, _, _)| format!("mcpsnoop open {id}");
            failure.hints = candidates.iter().map(open).collect();
            failure
        }
        Ok(SessionChoice::StandardInput) | Err(_) => {
            failure
                .causes
                .push("no session id, label or prefix is called so either".to_owned());
            failure.hint("`mcpsnoop` lists the sessions; another log is named by its path")
        }
    }
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
    let path = match choose_session(argument, state)? {
        SessionChoice::StandardInput => return Ok(OpenedSource::StandardInput),
        SessionChoice::Named(path) => path,
        SessionChoice::Found { path, id, modified } => {
            announce(&id, &ago(modified, context.clock.now()));
            path
        }
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

/// `2 minutes ago`, for people.
fn ago(then: Timestamp, now: Timestamp) -> String {
    let seconds = now.nanos_since(then).max(0) / 1_000_000_000;
    let (count, unit) = match seconds {
        0..60 => (seconds, "second"),
        60..3_600 => (seconds / 60, "minute"),
        3_600..172_800 => (seconds / 3_600, "hour"),
        _ => (seconds / 86_400, "day"),
    };
    format!("{count} {unit}{} ago", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use mcpsnoop::base::{Clock, Env};

    use super::*;

    #[test]
    fn a_file_that_is_no_log_says_what_else_has_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let state = StateDir::at(folder.path());
        state.create().unwrap();
        let line = |id: &str, label: &str| {
            format!(r#"{{"session_id":"{id}","server_label":"{label}","seq":1,"direction":"c2s"}}"#)
        };
        for (id, label) in [("srv.py-7-aa", "srv.py"), ("two-1", "x"), ("two-2", "x")] {
            let path = state.sessions().join(format!("{id}.jsonl"));
            std::fs::write(path, line(id, label)).unwrap();
        }
        let context = Context {
            env: Env::of([("HOME", "/nonexistent")]),
            clock: Clock::start(),
        };
        let failure = |name: &str, state| {
            let error = record::Error::NotALog { path: name.into() };
            explained(error, Some(name), state, &context)
        };
        let cases = [
            ("srv.py", "mcpsnoop open srv.py-7-aa   ("),
            ("two", "mcpsnoop open two-2"),
            ("other.py", "`mcpsnoop` lists the sessions"),
        ];
        for (name, hint) in cases {
            let failure = failure(name, Some(&state));
            assert_eq!(failure.sentence, format!("`{name}` is not a session log"));
            assert!(failure.causes[0].contains(name), "{failure:?}");
            assert!(failure.hints.concat().contains(hint), "{failure:?}");
            let nothing_else = failure.causes.len() == 2;
            assert_eq!(nothing_else, name == "other.py", "{failure:?}");
        }
        assert_eq!(failure("srv.py", None).causes.len(), 2);
        // A path can mean nothing but the file.
        for path in ["./srv.py", "srv.jsonl"] {
            assert!(failure(path, Some(&state)).causes.is_empty());
        }
    }
}
