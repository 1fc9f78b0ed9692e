//! Calls that were open when a session ended: nobody need wait for them, and nobody is accused
//! (tui.md Z1).

use super::rig::{Log, Rig, host};
use crate::{feed::LinkState, record::Liveness};

const CALL: &str =
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"sum","arguments":{"a":1}}}"#;

/// The stream of a session that is over, or not, with the call selected.
fn stream(end: Option<&str>, liveness: Liveness, loaded: bool) -> Rig {
    let mut log = Log::new("a-1-000000000001", "a").client(0, CALL);
    if let Some(fields) = end {
        let raw = format!(r#""raw":{{"event":"end","dropped":0{fields}}}"#);
        log = log.push("meta", &raw, 10);
    }
    let mut rig = Rig::new(120, 24);
    rig.feed([host("local", LinkState::Live, None)]);
    rig.feed(log.news(liveness, loaded).events);
    rig.keys("enter");
    rig
}

/// A client that closed first owes nobody an answer, whatever the exit code.
const NO_FAULT: &str = "no answer: session ended, exit 143";

/// What row, notice line and inspector say; nothing when the call is still waited for.
#[track_caller]
fn check(mut rig: Rig, row: Option<&str>, notice: &str) {
    let Some(row) = row else {
        let text = rig.text();
        assert!(
            !text.contains("answer") && !text.contains("ended,"),
            "{text}"
        );
        rig.keys("enter");
        let text = rig.text();
        assert!(!text.contains("-- answer"), "{text}");
        return;
    };
    let is_fault = row.starts_with("no answer") && row != NO_FAULT;
    let short = if is_fault {
        row.strip_prefix("no answer: ").unwrap()
    } else if row == NO_FAULT {
        "no answer, session ended . {\"a\":1}"
    } else {
        "answer not known . {\"a\":1}"
    };
    let line = rig.selected();
    let word = if is_fault { "no answer" } else { "pending" };
    let status = line.get(62..).unwrap();
    assert!(status.starts_with(word) && line.contains(short), "{line}");
    assert!(!line.contains('+'), "nothing counts on: {line}");
    rig.line_with(&format!(" {row} . "));
    let lines = rig.lines();
    assert!(lines[1].contains(notice), "{}", lines[1]);
    rig.keys("enter");
    rig.line_with("-- answer ");
    rig.line_with(if row.starts_with("no answer") {
        "req 1 <-> no answer"
    } else {
        "req 1 <-> pending?"
    });
    rig.line_with(&format!("  {row}"));
}

#[test]
fn a_session_that_ended_says_how() {
    check(
        stream(
            Some(r#","exit_code":3,"closed_by":"server""#),
            Liveness::Ended,
            true,
        ),
        Some("no answer: session ended, exit 3"),
        "1 call without an answer: session ended, exit 3",
    );
    check(
        stream(
            Some(r#","signal":"SIGKILL","closed_by":"server""#),
            Liveness::Ended,
            true,
        ),
        Some("no answer: session ended by SIGKILL"),
        "1 call without an answer: session ended by SIGKILL",
    );
    check(
        stream(
            Some(r#","exit_code":143,"closed_by":"client""#),
            Liveness::Ended,
            true,
        ),
        Some(NO_FAULT),
        "1 call without an answer: session ended, exit 143",
    );
}

#[test]
fn without_an_end_record_it_is_not_known() {
    check(
        stream(None, Liveness::EndedWithoutRecord, true),
        Some("not known whether it was answered: the recording stopped without an end record"),
        "1 call perhaps not answered: the recording stopped without an end record",
    );
    check(
        stream(None, Liveness::Unknown, true),
        Some("not known whether it was answered: nothing written since 14:07:00"),
        "nothing written since 14:07:00, a log alone cannot tell whether it goes on",
    );
}

#[test]
fn a_call_that_may_still_be_answered_is_waited_for() {
    check(stream(None, Liveness::Recording, true), None, "");
    check(stream(None, Liveness::EndedWithoutRecord, false), None, "");
    let mut down = stream(None, Liveness::Recording, true);
    down.feed([host("local", LinkState::Lost, Some("gone"))]);
    check(down, None, "");
}

#[test]
fn an_answered_call_of_an_ended_session_says_nothing() {
    let log = Log::new("a-1-000000000001", "a")
        .client(0, CALL)
        .server(5, r#"{"jsonrpc":"2.0","id":1,"result":{}}"#)
        .news(Liveness::Ended, true);
    let mut rig = Rig::new(120, 24);
    rig.feed(log.events);
    rig.keys("enter g");
    let text = rig.text();
    assert!(
        !text.contains("answer:") && !text.contains("not known"),
        "{text}"
    );
}

/// An end record with these fields.
fn ended(fields: &str) -> Rig {
    stream(Some(fields), Liveness::Ended, true)
}

#[test]
fn a_call_that_a_failed_server_left_is_the_first_thing_found() {
    for fields in [
        r#","exit_code":3,"closed_by":"server""#,
        r#","signal":"SIGSEGV","closed_by":"server""#,
    ] {
        let mut rig = ended(fields);
        rig.keys("{");
        let text = rig.text();
        assert!(!text.contains("no problem rows"), "{text}");
        rig.line_with("! problems");
        assert!(rig.selected().contains("call sum"), "{}", rig.selected());
        rig.keys("!");
        rig.line_with("1/1 frame");
        rig.keys("!");
        rig.type_text("/has:problem");
        rig.keys("enter");
        rig.line_with("1/1 frame");
        rig.keys("esc esc !");
        rig.line_with("1/1 session");
    }
}

#[test]
fn a_failed_server_is_told_on_a_low_screen_and_in_the_table() {
    let mut rig = ended(r#","exit_code":3,"closed_by":"server""#);
    rig.app.size = (40, 10);
    let lines = rig.lines();
    assert!(lines[0].ends_with("o ended, exit 3"), "{}", lines[0]);
    rig.line_with("no answer");
    rig.keys("esc");
    assert!(rig.selected().starts_with(">x a"), "{}", rig.selected());
    rig.app.size = (80, 24);
    let line = rig.selected();
    assert!(line.starts_with(">x a  exit 3 "), "{line}");
}

#[test]
fn calls_that_no_failed_server_left_are_no_problem() {
    for fields in [
        r#","exit_code":143,"closed_by":"client""#,
        r#","signal":"SIGTERM","closed_by":"signal""#,
        r#","exit_code":0,"closed_by":"server""#,
        r#","exit_code":3"#,
    ] {
        let mut rig = ended(fields);
        rig.keys("{");
        rig.line_with("no problem rows in this session");
        assert!(rig.selected().contains(" pending "), "{}", rig.selected());
        rig.keys("esc");
        assert!(rig.selected().starts_with(">o a "), "{}", rig.selected());
        rig.keys("!");
        rig.line_with("no session matches");
    }
    let mut rig = stream(None, Liveness::EndedWithoutRecord, true);
    rig.keys("{");
    rig.line_with("no problem rows in this session");
}

#[test]
fn what_the_client_owed_or_what_may_have_been_answered_is_no_problem() {
    let end = r#""raw":{"event":"end","dropped":0,"exit_code":3,"closed_by":"server"}"#;
    let asked = r#"{"jsonrpc":"2.0","id":1,"method":"roots/list"}"#;
    let logs = [
        Log::new("a-1-000000000001", "a").server(0, asked),
        // The answer may lie in the frames that are missing.
        Log::new("a-1-000000000001", "a").client(0, CALL).skip(2),
    ];
    for log in logs {
        let mut rig = Rig::new(120, 24);
        rig.feed([host("local", LinkState::Live, None)]);
        rig.feed(log.push("meta", end, 10).news(Liveness::Ended, true).events);
        rig.keys("enter {");
        rig.line_with("no problem rows in this session");
    }
}

#[test]
fn the_duration_of_an_open_call_never_falls() {
    let mut rig = stream(None, Liveness::Recording, true);
    rig.wait(50_000);
    let before = rig.selected();
    assert!(before.contains("1m03s+"), "{before}");
    // The link is lost: the timer stands, however long.
    let mut down = rig;
    down.feed([host("local", LinkState::Lost, Some("gone"))]);
    down.wait(60_000);
    assert!(down.selected().contains("1m03s+"), "{}", down.selected());
    for liveness in [Liveness::Unknown, Liveness::EndedWithoutRecord] {
        let mut rig = stream(None, Liveness::Recording, true);
        rig.wait(50_000);
        rig.feed(
            Log::new("a-1-000000000001", "a")
                .news(liveness, true)
                .events,
        );
        let line = rig.selected();
        assert!(!line.contains("+ ") && line.contains("pending"), "{line}");
    }
}

#[test]
fn a_silent_log_says_since_when() {
    let mut rig = stream(None, Liveness::Unknown, true);
    let lines = rig.lines();
    assert!(lines[0].ends_with("? silent 13s"), "{}", lines[0]);
    rig.app.size = (80, 24);
    let line = rig.lines()[1].clone();
    assert!(line.ends_with("whether it goes on"), "{line}");
    rig.wait(86_400_000);
    rig.line_with("nothing written since 2026-09-01 14:07:00");
}

#[test]
fn a_recorder_that_was_killed_is_told_without_an_open_call_too() {
    let answered = |liveness| {
        let log = Log::new("a-1-000000000001", "a")
            .client(0, CALL)
            .server(5, r#"{"jsonrpc":"2.0","id":1,"result":{}}"#)
            .news(liveness, true);
        let mut rig = Rig::new(80, 24);
        rig.feed([host("local", LinkState::Live, None)]);
        rig.feed(log.events);
        rig.keys("enter");
        rig.lines()[1].clone()
    };
    let line = answered(Liveness::EndedWithoutRecord);
    assert!(
        line.contains("the recording stopped without an end record"),
        "{line}"
    );
    let line = answered(Liveness::Recording);
    assert!(!line.contains("record"), "{line}");
}
