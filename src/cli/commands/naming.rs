//! The log that a user names to a command (history.md 1): announced when it was found, explained when not.

use std::path::{Path, PathBuf};

use mcpsnoop::{
    base::{Timestamp, quoted},
    record::{self, SessionChoice, StateDir, choose_recorded, choose_session},
};

use super::watch::announce;
use crate::cli::{
    context::Context,
    failure::{Exit, Failure},
};

/// What a user named, and to which command.
pub(super) struct Named<'a> {
    /// The subcommand, for hints.
    pub(super) command: &'static str,
    /// How the command ends when the log cannot be found or read.
    pub(super) exit: Exit,
    /// The session argument.
    pub(super) argument: Option<&'a str>,
}

/// Names the log; `None` is standard input. What was found by label, prefix or as the newest is
/// announced.
pub(super) fn choose(
    argument: Option<&str>,
    state: Option<&StateDir>,
    context: &Context,
) -> Result<Option<PathBuf>, record::Error> {
    Ok(match choose_session(argument, state)? {
        SessionChoice::StandardInput => None,
        SessionChoice::Named(path) => Some(path),
        SessionChoice::Found { path, id, modified } => {
            announce(&id, &ago(modified, context.clock.now()));
            Some(path)
        }
    })
}

/// The failure of a log that was named. A file of that name was taken before any session (history.md
/// 1, rule 2): when it is no log, the sessions of that name are what was meant.
pub(super) fn explained(
    error: &record::Error,
    named: &Named<'_>,
    state: Option<&StateDir>,
    context: &Context,
) -> Failure {
    let is_no_log = matches!(error, record::Error::NotALog { .. });
    let command = named.command;
    let failure = Failure::of_log(error, command, named.exit);
    let has_ending = |name: &str| Path::new(name).extension().is_some_and(|it| it == "jsonl");
    let is_name = |name: &&str| *name != "-" && !name.contains('/') && !has_ending(name);
    let Some(name) = named.argument.filter(is_name).filter(|_| is_no_log) else {
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
            failure.hint(format!(
                "its newest session: mcpsnoop {command} {id}   ({when})"
            ))
        }
        Ok(SessionChoice::Named(path)) => failure.hint(format!(
            "its session: mcpsnoop {command} {}",
            path.display()
        )),
        Err(record::Error::Ambiguous { candidates, .. }) => {
            let open = |(id, ..): &(String, _, _)| format!("mcpsnoop {command} {id}");
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
            let named = Named {
                command: "open",
                exit: Exit::Usage,
                argument: Some(name),
            };
            explained(&error, &named, state, &context)
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
