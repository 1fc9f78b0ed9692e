//! Each event's line, and what hostile text does to it.

use std::{path::PathBuf, sync::Arc, time::Duration};

use bytes::Bytes;

use super::*;
use crate::{
    base::{ByteCount, Timestamp},
    record::{Line, Liveness, script},
};

fn key(id: &str) -> SessionKey {
    SessionKey {
        host: HostName(Arc::from("web1")),
        id: Arc::from(id),
    }
}

fn host(link: LinkState, mode: Option<Mode>, reason: Option<&str>) -> FeedEvent {
    FeedEvent::Host(HostState {
        host: HostName(Arc::from("web1")),
        target: "dev@web1:22".into(),
        link,
        mode,
        reason: reason.map(Into::into),
        state_dir: Some("/home/dev/.local/state/mcpsnoop".into()),
        clock_offset_ms: Some(-12),
        round_trip: None,
    })
}

fn frame(id: &str, line: &'static [u8], origin: Origin) -> FeedEvent {
    let envelope = script::session("> N x").unwrap().remove(0);
    FeedEvent::Frame(Box::new(FeedFrame {
        key: key(id),
        line: Line {
            bytes: Bytes::from_static(line),
            envelope,
        },
        place: None,
        origin,
        arrived: None,
    }))
}

fn news(loaded: bool, damaged: u64) -> FeedEvent {
    FeedEvent::Session(SessionNews {
        key: key("fs-812-0c41"),
        log: Some(Arc::new(PathBuf::from("/s/fs-812-0c41.jsonl"))),
        size: ByteCount(210),
        modified: Timestamp::parse("2026-09-01T08:00:00Z"),
        loaded,
        liveness: Liveness::Recording,
        damaged,
    })
}

fn gap(from: u64, to: u64) -> FeedEvent {
    FeedEvent::Gap {
        key: key("fs-812-0c41"),
        from: Seq(from),
        to: Seq(to),
    }
}

fn check(lines: &mut RemoteLines, event: &FeedEvent, expected: &[&str]) {
    let mut out = Vec::new();
    lines.write(event, &mut out);
    let text = String::from_utf8(out).unwrap();
    assert_eq!(text.lines().collect::<Vec<_>>(), expected);
    for line in text.lines() {
        serde_json::from_str::<serde_json::Value>(line).unwrap();
    }
}

fn end(lines: &mut RemoteLines, host: &str, exit: u8) -> String {
    let mut out = Vec::new();
    lines.end(host, exit, &mut out);
    String::from_utf8(out).unwrap()
}

#[test]
fn lines_are_those_of_the_page() {
    let mut lines = RemoteLines::default();
    check(
        &mut lines,
        &host(LinkState::Live, Some(Mode::Socket), None),
        &[
            r#"{"type":"host","host":"web1","state":"live","mode":"socket","state_dir":"/home/dev/.local/state/mcpsnoop","clock_offset_ms":-12}"#,
        ],
    );
    let polled = Mode::Log {
        every: Duration::from_secs(1),
    };
    check(
        &mut lines,
        &host(
            LinkState::LoginNeeded,
            Some(polled),
            Some("no \u{1b}[31mroute\u{202e}"),
        ),
        &[
            r#"{"type":"host","host":"web1","state":"reconnecting","mode":"log","reason":"no \u001b[31mroute\u202e","state_dir":"/home/dev/.local/state/mcpsnoop","clock_offset_ms":-12}"#,
        ],
    );
    check(
        &mut lines,
        &frame(
            "fs-812-0c41",
            br#"{"session_id":"fs-812-0c41","seq":1,"direction":"meta"}"#,
            Origin::Log,
        ),
        &[
            r#"{"type":"frame","host":"web1","source":"log","envelope":{"session_id":"fs-812-0c41","seq":1,"direction":"meta"}}"#,
        ],
    );
    check(
        &mut lines,
        &gap(2, 4),
        &[r#"{"type":"gap","host":"web1","session_id":"fs-812-0c41","from":2,"to":4}"#],
    );
    check(
        &mut lines,
        &news(true, 0),
        &[
            r#"{"type":"session","host":"web1","session_id":"fs-812-0c41","file":"/s/fs-812-0c41.jsonl","size":210,"modified":"2026-09-01T08:00:00.000000Z","frames":1,"loaded":true,"incomplete":true}"#,
        ],
    );
    check(
        &mut lines,
        &FeedEvent::GapFilled {
            key: key("fs-812-0c41"),
            from: Seq(2),
            to: Seq(4),
        },
        &[r#"{"type":"gap_filled","host":"web1","session_id":"fs-812-0c41","from":2,"to":4}"#],
    );
    check(&mut lines, &FeedEvent::LogRemoved { key: key("x") }, &[]);
}

#[test]
fn an_envelope_keeps_its_bytes_on_one_line() {
    let mut lines = RemoteLines::default();
    let mut out = Vec::new();
    lines.write(
        &frame("s", b"{\"text\":\"\xff\",\n \"a\":1}", Origin::Socket),
        &mut out,
    );
    let expected: &[u8] = b"{\"type\":\"frame\",\"host\":\"web1\",\"source\":\"socket\",\
        \"envelope\":{\"text\":\"\xff\",  \"a\":1}}\n";
    assert_eq!(out, expected);
}

#[test]
fn the_end_counts_what_was_written() {
    let mut lines = RemoteLines::default();
    let mut out = Vec::new();
    for (event, times) in [
        (frame("fs-812-0c41", b"{}", Origin::Log), 3),
        (frame("b", b"{}", Origin::Socket), 1),
        (news(true, 2), 1),
        (
            FeedEvent::Conflict {
                key: key("b"),
                seq: Seq(1),
            },
            1,
        ),
    ] {
        for _ in 0..times {
            lines.write(&event, &mut out);
        }
    }
    assert_eq!(
        end(&mut lines, "web1", 7),
        "{\"type\":\"end\",\"host\":\"web1\",\"exit\":7,\"frames\":4,\"sessions\":2,\
         \"duplicates\":0,\"damaged\":2,\"conflicts\":1}\n"
    );
    lines.write(
        &FeedEvent::End(Ending {
            host: HostName(Arc::from("web1")),
            outcome: Arc::from("quit"),
            duplicates: 5,
            damaged: 1,
            conflicts: 0,
        }),
        &mut out,
    );
    assert_eq!(
        end(&mut lines, "web1", 0),
        "{\"type\":\"end\",\"host\":\"web1\",\"exit\":0,\"frames\":4,\"sessions\":2,\
         \"duplicates\":5,\"damaged\":1,\"conflicts\":0}\n"
    );
    assert!(end(&mut lines, "other", 0).contains("\"frames\":0"));
}
