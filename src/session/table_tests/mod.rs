//! The worked tables of session-model.md as tests: a script in; calls, figures and remarks out. One
//! file a section; `ROWS` of each says how many rows of which table are tests there.

mod cache;
mod cancel;
mod cost;
mod count;
mod elicitations;
mod elicitations_more;
mod http;
mod interactions;
mod inventory;
mod kinds;
mod matching;
mod memory;
mod merge;
mod overtaking;
mod progress;
mod redaction;
mod refetch;
mod repeats;
mod resolved;
mod retries;
mod retries_more;
mod reuse;
mod revisions;
mod shapes;
mod states;
mod subscriptions;
mod summary;
mod tasks;
mod times;
mod together;
mod tools;

use std::sync::Arc;

use super::*;
use crate::{
    base::Timestamp,
    record::{HostName, SessionKey, script},
};

fn key() -> SessionKey {
    SessionKey {
        host: HostName::local(),
        id: Arc::from("s"),
    }
}

/// Folds a script and hands the session on.
pub(super) fn fold<T>(text: &str, limits: Limits, look: impl FnOnce(&Session) -> T) -> T {
    let mut model = Model::new(limits);
    for envelope in script::session(text).unwrap() {
        model.ingest(&key(), &envelope, None, None, &mut Vec::new());
    }
    model.settle(&mut Vec::new());
    look(model.session(&key()).unwrap())
}

fn word_of(state: CallState) -> &'static str {
    match state {
        CallState::Pending(WaitingOn::Responder) => "pending",
        CallState::Pending(WaitingOn::Client) => "input",
        CallState::Pending(WaitingOn::Task) => "task",
        CallState::Streaming => "streaming",
        CallState::Completed => "completed",
        CallState::Failed => "failed",
        CallState::Cancelled => "cancelled",
        CallState::Superseded => "superseded",
    }
}

/// Every word that may be said of a call.
fn words_of(call: &Call) -> Vec<String> {
    let mut words = vec![
        word_of(call.state).to_owned(),
        format!("hops={}", call.hop_count),
        format!("server={}", call.server_nanos / 1_000_000),
        format!("client={}", call.client_nanos / 1_000_000),
        format!("http={}", call.http_status),
        format!("name={}", call.operation.as_deref().unwrap_or("-")),
        format!("reason={}", call.cancel_reason.as_deref().unwrap_or("-")),
        format!("progress={}", call.progress_count),
        format!("bytes={}", call.result_bytes),
        format!("resolved={}", resolved_word(call)),
        format!("code={}", call.error_code.unwrap_or_default()),
        format!("id={}", &*call.hops[0].json_id),
        match call.duration_nanos() {
            Some(nanos) => format!("{}ms", nanos / 1_000_000),
            None => "no-duration".to_owned(),
        },
    ];
    words.extend(tasks::words_of(call));
    for (on, word) in [
        (call.errored, "errored"),
        (call.tool_error, "tool_error"),
        (call.late_result, "late"),
        (call.lost, "lost"),
        (call.uncertain, "uncertain"),
        (call.resolved.is_some(), "resolved"),
        (call.undelivered, "undelivered"),
        (call.retired, "retired"),
        (call.result_truncated, "result_truncated"),
        (call.request_truncated, "request_truncated"),
    ] {
        words.push(if on {
            word.to_owned()
        } else {
            format!("not-{word}")
        });
    }
    words
}

fn resolved_word(call: &Call) -> &'static str {
    match call.resolved {
        None => "-",
        Some(kind) => kind.as_str(),
    }
}

fn figure(session: &Session, name: &str) -> u64 {
    let counters = session.counters();
    match name {
        "frames" => counters.frames,
        "requests" => counters.requests,
        "responses" => counters.responses,
        "notifications" => counters.notifications,
        "invalid" => counters.invalid,
        "stderr" => counters.stderr_lines,
        "errors" => counters.errors,
        "warnings" => counters.warnings,
        "pending" => counters.pending,
        "parked" => counters.parked,
        "uncertain" => counters.pending_uncertain,
        "streaming" => counters.streaming,
        "open_tasks" => counters.open_tasks,
        "forgotten_tasks" => session.forgotten().tasks,
        "late_results" => counters.late_results,
        "cancelled" => counters.cancelled,
        "superseded" => counters.superseded,
        "conflicts" => counters.conflicts,
        "forgotten" => session.forgotten().answered_requests,
        "missing" => session.missing_frames(),
        "not_loaded" => session.not_loaded(),
        "dropped" => session.dropped_by_writer().unwrap(),
        "owed" => session.machine.owed,
        "truncated" => counters.truncated,
        "mismatch" => {
            let rows = (0..session.row_count()).filter_map(|at| session.row(at));
            let marked =
                rows.filter(|row| session.extra(row.id).is_some_and(|extra| extra.mismatch));
            marked.count() as u64
        }
        "retired" => counters.retired_exchanges,
        "elicitations" => session.elicitations().len() as u64,
        "elicitations_dropped" => session.forgotten().elicitations,
        other => panic!("no figure {other}"),
    }
}

/// Every text names who must act, and says it in one sentence (findings.md 1.6).
#[track_caller]
fn check_style(text: &str) {
    let said = ["client: ", "server: ", "recorder: "]
        .iter()
        .find_map(|who| text.strip_prefix(who));
    let said = said.unwrap_or_else(|| panic!("{text}"));
    assert!(
        !said.ends_with('.') && !said.starts_with(char::is_uppercase),
        "{text}"
    );
}

/// All remarks in order of their rows, `code@number`; those below their usual level end in `?`. Those
/// of the session itself come last, without a number.
fn remarks_of(session: &Session) -> Vec<String> {
    let rows = (0..session.row_count()).filter_map(|at| session.row(at));
    let of_session = session.remarks();
    let of_session = of_session.iter().map(|remark| {
        check_style(&remark.text);
        remark.code.name().to_owned()
    });
    rows.flat_map(|row| {
        let remarks = session
            .extra(row.id)
            .map_or(Vec::new(), |extra| extra.remarks.to_vec());
        remarks.into_iter().map(move |remark| {
            let mark = if remark.level < remark.code.level() {
                "?"
            } else {
                ""
            };
            check_style(&remark.text);
            format!("{}@{}{mark}", remark.code.name(), row.id.seq.0)
        })
    })
    .chain(of_session)
    .collect()
}

/// Texts of rows whose script begins with `…`: they go on where the row before ended.
fn continued<'a>(rows: &'a [(&str, &'a str)]) -> impl Iterator<Item = (String, &'a str)> {
    let mut before = String::new();
    rows.iter().map(move |(text, expected)| {
        before = match text.strip_prefix('…') {
            Some(more) => format!(
                "{before}, {}",
                more.trim_start().trim_start_matches("then ")
            ),
            None => (*text).to_owned(),
        };
        (before.clone(), *expected)
    })
}

/// Those of the remarks whose code begins so.
fn own_remarks(session: &Session, beginning: &str) -> String {
    let mut own = remarks_of(session);
    own.retain(|remark| remark.starts_with(beginning));
    own.join(" ")
}

/// Checks a session against `CALL, CALL | FIGURE=N … ! CODE@ROW …`: each call is a list of words that
/// are true of it, and there are as many calls as are listed; the remarks are exactly those listed.
/// Without `!` there are no warnings, whatever else is remarked.
#[track_caller]
fn check_session(text: &str, session: &Session, expected: &str) {
    let (expected, listed) = match expected.split_once('!') {
        Some((rest, listed)) => (rest, Some(listed)),
        None => (expected, None),
    };
    let found = remarks_of(session);
    match listed {
        Some(listed) => {
            let listed: Vec<&str> = listed.split_whitespace().collect();
            assert_eq!(found, listed, "{text}");
        }
        None => assert_eq!(session.counters().warnings, 0, "{text}\n{found:?}"),
    }
    let (calls, figures) = expected.split_once('|').unwrap_or((expected, ""));
    let listed: Vec<&str> = match calls.trim() {
        "" => Vec::new(),
        calls => calls.split(',').collect(),
    };
    let found: Vec<Vec<String>> = session.calls().map(|call| words_of(&call)).collect();
    assert_eq!(found.len(), listed.len(), "{text}\n{found:?}");
    for (words, expected) in found.iter().zip(listed) {
        for word in expected.split_whitespace() {
            assert!(
                words.iter().any(|known| known == word),
                "{text}\n{word}: {words:?}"
            );
        }
    }
    for wanted in figures.split_whitespace() {
        let (name, value) = wanted.split_once('=').unwrap();
        assert_eq!(figure(session, name).to_string(), value, "{text}\n{name}");
    }
    check_sums(session);
}

/// P8 of session-model.md 23.
#[track_caller]
pub(super) fn check_sums(session: &Session) {
    let counters = session.counters();
    let hops: u64 = session.calls().map(|call| u64::from(call.hop_count)).sum();
    let forgotten = session.forgotten().calls;
    if counters.dropped_from_memory == 0 && forgotten == 0 {
        assert_eq!(counters.requests, hops);
        let rows = (0..session.row_count()).filter_map(|at| session.row(at));
        let errored = rows.filter(|row| row.flags.errored).count() as u64;
        assert_eq!(counters.errors, errored);
    }
    let sum = counters.pending
        + counters.streaming
        + counters.completed
        + counters.failed
        + counters.cancelled
        + counters.superseded;
    assert_eq!(session.call_count() - forgotten, sum);
    let open = session.calls().filter(|call| call.is_open()).count() as u64;
    assert_eq!(counters.pending + counters.streaming, open);
    for call in session.calls() {
        let status = call.status();
        assert!(call.errored || status != DisplayStatus::Error, "{call:?}");
        if let Some(nanos) = call.duration_nanos() {
            assert_eq!(nanos, call.server_nanos + call.client_nanos);
        }
    }
}

#[track_caller]
fn check(text: &str, expected: &str) {
    fold(text, Limits::NONE, |session| {
        check_session(text, session, expected);
    });
}

/// Checks a session in which both sides say something long after: in a log that numbers the two
/// directions independently, what came before its time is judged by then (session-model.md 4.4, M6).
#[track_caller]
fn check_later(text: &str, expected: &str) {
    check(&later(text), expected);
}

fn later(text: &str) -> String {
    format!("{text}\n@99000 > N z\n@99000 < N z")
}

#[track_caller]
fn check_kind(text: &str, kind: Kind, remarks: &str) {
    for text in text.split("` / `") {
        fold(text, Limits::NONE, |session| {
            let last = session.row(session.row_count() - 1).unwrap();
            assert_eq!(last.kind, kind, "{text}");
            let bad = u64::from(kind == Kind::Invalid);
            assert_eq!(session.counters().invalid, bad, "{text}");
        });
        fold(&later(text), Limits::NONE, |session| {
            let expected: Vec<&str> = remarks.split_whitespace().collect();
            assert_eq!(remarks_of(session), expected, "{text}");
        });
    }
}
