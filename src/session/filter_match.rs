//! What the terms of a filter mean for a row and for a session (tui.md 6.2, 10).

use super::{
    call::{Call, DisplayStatus},
    filter::{Field, FilterScope, Test, Value},
    filter_text,
    row::{Kind, Row},
    session::{Session, Source},
};
use crate::record::{Direction, Transport};

pub(super) use filter_text::Folded;

/// A word of `status:`: what it means and whether that is a status of the frame alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wanted {
    /// One of these words in the row; the first is the word itself.
    Status(&'static [DisplayStatus]),
    Bad,
    Http(u16),
}

const ERRORS: &[DisplayStatus] = &[
    DisplayStatus::Error,
    DisplayStatus::ToolError,
    DisplayStatus::TaskFailed,
];

/// Words and aliases of tui.md 6.2.
fn status_word(word: &str) -> Option<Wanted> {
    use DisplayStatus as S;
    Some(match word {
        "pending" | "pend" | "inflight" => Wanted::Status(&[S::Pending]),
        "pending?" | "unknown" => Wanted::Status(&[S::PendingUncertain]),
        "streaming" | "stream" => Wanted::Status(&[S::Streaming]),
        "ok" | "success" => Wanted::Status(&[S::Ok]),
        "resolved" => Wanted::Status(&[S::Resolved]),
        "err" | "error" | "fail" | "failed" => Wanted::Status(ERRORS),
        "toolerr" | "tool-error" => Wanted::Status(&[S::ToolError]),
        "input" | "input_required" => Wanted::Status(&[S::Input]),
        "lost" => Wanted::Status(&[S::Lost]),
        "cancel" | "call_cancelled" | "call-cancelled" => Wanted::Status(&[S::Cancel]),
        "late" | "late_result" | "late-result" => Wanted::Status(&[S::Late]),
        "reused-id" | "superseded" => Wanted::Status(&[S::Superseded]),
        "bad" | "invalid" => Wanted::Bad,
        "t:working" | "working" => Wanted::Status(&[S::TaskWorking]),
        "t:input" => Wanted::Status(&[S::TaskInput]),
        "t:done" | "completed" => Wanted::Status(&[S::TaskDone]),
        "t:failed" => Wanted::Status(&[S::TaskFailed]),
        "t:cancel" | "cancelled" | "canceled" => Wanted::Status(&[S::TaskCancelled]),
        number => Wanted::Http(
            number
                .parse()
                .ok()
                .filter(|code| (100..=999).contains(code))?,
        ),
    })
}

fn kind_word(word: &str) -> Option<&'static str> {
    Some(match word {
        "req" | "request" => "req",
        "resp" | "response" => "resp",
        "notify" | "notification" | "ntf" => "notify",
        "stderr" => "stderr",
        "invalid" | "corrupt" | "bad" => "invalid",
        "http" | "transport" => "http",
        "progress" => "progress",
        "log" => "log",
        "other" => "other",
        _ => return None,
    })
}

fn dir_word(word: &str) -> Option<&'static str> {
    Some(match word {
        "c2s" | "client" | "in" | "req" | "request" | "->" | "→" => "c2s",
        "s2c" | "server" | "out" | "resp" | "response" | "<-" | "←" => "s2c",
        "stderr" | "err" => "stderr",
        _ => return None,
    })
}

/// Refuses values that an enumerated key does not have.
pub(super) fn check_value(field: Field, value: &Value, scope: FilterScope) -> Result<(), String> {
    let word = value.text.text();
    let rows = scope == FilterScope::Rows;
    let (name, known) = match field {
        Field::Kind if rows => ("kind", kind_word(word).is_some()),
        Field::Kind => ("kind", matches!(word, "stdio" | "http")),
        Field::Dir => ("dir", dir_word(word).is_some()),
        Field::Status if rows => ("status", status_word(word).is_some()),
        Field::Status => (
            "status",
            matches!(
                word,
                "err" | "error" | "pending" | "pend" | "bad" | "invalid"
            ),
        ),
        Field::Has => ("has", word == "problem"),
        Field::State => ("state", matches!(word, "live" | "ended" | "unknown")),
        Field::Method | Field::Tool | Field::Id | Field::Session | Field::Host | Field::Client => {
            return Ok(());
        }
    };
    if known {
        Ok(())
    } else {
        Err(format!("unknown {name} \"{word}\""))
    }
}

/// Tests a row; `None` when its released body decides.
pub(super) fn row(test: &Test, session: &Session, row: &Row<'_>) -> Option<bool> {
    let call = row.call.and_then(|call| session.call(call));
    let call = call.as_deref();
    let (field, values) = match test {
        Test::Text(text) => return filter_text::row(text, row, call),
        Test::Field(field, values) => (field, values),
    };
    let any = |fits: &dyn Fn(&Value) -> bool| Some(values.iter().any(fits));
    match field {
        Field::Method => any(&|value| {
            let of_call = call.map(|call| &*call.method);
            let mut all = row.method.into_iter().chain(of_call);
            all.any(|method| matches_name(value, method))
        }),
        Field::Tool => any(&|value| {
            call.filter(|call| call.is_tool).is_some_and(|call| {
                matches_name(value, call.operation.as_deref().unwrap_or_default())
            })
        }),
        Field::Id => any(&|value| matches_id(value, row, call)),
        Field::Kind => {
            any(&|value| kind_word(value.text.text()).is_some_and(|kind| is_kind(kind, row)))
        }
        Field::Dir => {
            any(&|value| dir_word(value.text.text()) == Some(direction_word(row.direction)))
        }
        Field::Status => any(&|value| {
            status_word(value.text.text())
                .is_some_and(|wanted| has_status(wanted, value.exact, row, call))
        }),
        Field::Has => Some(session.is_problem(row)),
        Field::Session | Field::Host | Field::Client | Field::State => Some(false),
    }
}

fn direction_word(direction: &Direction) -> &'static str {
    match direction {
        Direction::ClientToServer => "c2s",
        Direction::ServerToClient => "s2c",
        Direction::Stderr => "stderr",
        Direction::Meta | Direction::Unknown(_) => "other",
    }
}

/// Contains, equals after `=`, or with `*` and `?` the whole name.
fn matches_name(value: &Value, name: &str) -> bool {
    let folded = filter_text::fold(name);
    let wanted = value.text.text();
    if !value.quoted && wanted.contains(['*', '?']) {
        return filter_text::is_like(&folded, wanted);
    }
    if value.exact {
        folded == wanted
    } else {
        folded.contains(wanted)
    }
}

/// Equals a request id of the operation, with or without its JSON quotes.
fn matches_id(value: &Value, row: &Row<'_>, call: Option<&Call>) -> bool {
    let of_call = call.into_iter().flat_map(|call| &call.hops);
    let all = row
        .json_id
        .into_iter()
        .chain(of_call.map(|hop| &*hop.json_id));
    let wanted = value.text.text();
    let mut all = all;
    all.any(|id| {
        let folded = filter_text::fold(id);
        let bare = folded
            .strip_prefix('"')
            .and_then(|rest| rest.strip_suffix('"'));
        folded == wanted || bare == Some(wanted)
    })
}

fn is_kind(kind: &str, row: &Row<'_>) -> bool {
    match row.kind {
        Kind::Request => kind == "req",
        Kind::Response => kind == "resp",
        Kind::Notification => match row.method {
            Some("notifications/progress") => matches!(kind, "progress" | "notify"),
            Some("notifications/message") => matches!(kind, "log" | "notify"),
            _ => kind == "notify",
        },
        Kind::Stderr => kind == "stderr",
        Kind::Invalid => kind == "invalid",
        Kind::Transport => kind == "http",
        Kind::Other => kind == "other",
    }
}

fn has_status(wanted: Wanted, exact: bool, row: &Row<'_>, call: Option<&Call>) -> bool {
    match wanted {
        Wanted::Bad => row.kind == Kind::Invalid,
        Wanted::Http(code) => row.status == code,
        Wanted::Status(words) => {
            let words = if exact {
                words.get(..1).unwrap_or(words)
            } else {
                words
            };
            status_of(row, call).is_some_and(|status| words.contains(&status))
                // A late answer that carried an error is found under both (session-model.md 5.3).
                || (words.contains(&DisplayStatus::Error)
                    && call.is_some_and(|call| call.late_result && call.errored))
        }
    }
}

/// The word in the row: of its call, or of the frame alone.
fn status_of(row: &Row<'_>, call: Option<&Call>) -> Option<DisplayStatus> {
    if let Some(call) = call {
        return Some(call.status());
    }
    match row.kind {
        Kind::Invalid => Some(DisplayStatus::Bad),
        _ if row.flags.errored => Some(DisplayStatus::Error),
        Kind::Transport => Some(DisplayStatus::Ok),
        _ => None,
    }
}

/// Tests a session.
pub(super) fn session(test: &Test, session: &Session) -> bool {
    let host = &*session.key().host.0;
    let (field, values) = match test {
        Test::Text(text) => return session_text(text, session),
        Test::Field(field, values) => (field, values),
    };
    let any = |fits: &dyn Fn(&Value) -> bool| values.iter().any(fits);
    match field {
        Field::Session => any(&|value| {
            matches_name(value, session.label()) || matches_name(value, &session.key().id)
        }),
        Field::Host => any(&|value| matches_name(value, host)),
        Field::Client => any(&|value| {
            let mut clients = session.clients().iter();
            clients.any(|client| matches_name(value, &client.implementation.name))
        }),
        Field::Kind => any(&|value| {
            let kind = match session.transport() {
                Some(Transport::Stdio) => "stdio",
                Some(Transport::Http) => "http",
                _ => "",
            };
            value.text.text() == kind
        }),
        Field::State => any(&|value| {
            let state = match session.source() {
                Source::Live => "live",
                Source::Ended => "ended",
                Source::Unknown => "unknown",
                Source::File => "file",
            };
            value.text.text() == state
        }),
        Field::Status => any(&|value| {
            let counters = session.counters();
            match value.text.text() {
                "err" | "error" => counters.errors > 0,
                "bad" | "invalid" => counters.invalid > 0,
                _ => counters.pending > 0,
            }
        }),
        // tui.md U5: a session with errors; invalid frames are errors of the stream.
        Field::Has => session.counters().errors > 0 || session.counters().invalid > 0,
        Field::Method | Field::Tool | Field::Id | Field::Dir => false,
    }
}

fn session_text(text: &Folded, session: &Session) -> bool {
    let key = session.key();
    let command = session.command().unwrap_or_default().join(" ");
    let fixed = [
        &**session.label(),
        &*key.id,
        &*key.host.0,
        &command,
        session.target().unwrap_or_default(),
    ];
    let clients = session.clients().iter();
    fixed
        .into_iter()
        .chain(clients.map(|client| &*client.implementation.name))
        .any(|known| filter_text::fold(known).contains(text.text()))
}
