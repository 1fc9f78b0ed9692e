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
    let short = if row.starts_with("no answer") {
        "no answer, session ended . {\"a\":1}"
    } else {
        "answer not known . {\"a\":1}"
    };
    let line = rig.selected();
    assert!(line.contains("pending") && line.contains(short), "{line}");
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
        stream(Some(r#","exit_code":3"#), Liveness::Ended, true),
        Some("no answer: session ended, exit 3"),
        "1 call without an answer: session ended, exit 3",
    );
    check(
        stream(Some(r#","signal":"SIGKILL""#), Liveness::Ended, true),
        Some("no answer: session ended by SIGKILL"),
        "1 call without an answer: session ended by SIGKILL",
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
        Some("not known whether it was answered: there is no end record"),
        "1 call perhaps not answered: there is no end record",
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
