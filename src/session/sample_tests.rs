//! The logs of earlier releases fold with the figures that their README lists, and accuse nobody.

use std::{path::Path, sync::Arc};

use bytes::Bytes;

use super::{table_tests::check_sums, *};
use crate::{
    record::{Decoder, Direction, Envelope, HostName, Payload, Seq, SessionKey, script},
    wire::{Raw, json},
};

pub(super) fn folded(path: &Path) -> (Model, SessionKey) {
    let mut model = Model::new(Limits::FILE);
    let mut decoder = Decoder::default();
    let text = std::fs::read(path).unwrap();
    let mut key = None;
    for line in text
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
    {
        let line = decoder.decode(Bytes::copy_from_slice(line)).unwrap();
        let of_line = SessionKey {
            host: HostName::local(),
            id: Arc::clone(&line.envelope.session_id),
        };
        model.ingest(&of_line, &line.envelope, None, None, &mut Vec::new());
        key = Some(of_line);
    }
    model.settle(&mut Vec::new());
    (model, key.unwrap())
}

/// One row of the README's table: file, then its numbers.
fn rows(readme: &str) -> Vec<(&str, Vec<u64>)> {
    let rows = readme.lines().filter(|line| line.starts_with("| v"));
    rows.map(|line| {
        let mut cells = line.split('|').map(str::trim).skip(1);
        let file = cells.next().unwrap();
        (file, cells.map_while(|cell| cell.parse().ok()).collect())
    })
    .collect()
}

#[test]
fn logs_of_earlier_releases_fold_as_their_readme_says() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/samples");
    let readme = std::fs::read_to_string(dir.join("README.md")).unwrap();
    let rows = rows(&readme);
    assert_eq!(rows.len(), 18);
    for (file, numbers) in rows {
        let [
            lines,
            requests,
            results,
            errors,
            tool_errors,
            notes,
            meta,
            stderr,
            other,
        ] = numbers[..].try_into().unwrap();
        let (model, key) = folded(&dir.join(file));
        assert_eq!(model.sessions().count(), 1, "{file}");
        let session = model.session(&key).unwrap();
        let counters = session.counters();
        check_sums(session);
        assert_eq!(counters.frames, lines - meta, "{file}");
        assert_eq!(counters.requests, requests, "{file}");
        assert_eq!(counters.responses, results + errors, "{file}");
        assert_eq!(counters.notifications, notes, "{file}");
        assert_eq!(counters.stderr_lines, stderr, "{file}");
        assert_eq!(counters.errors, errors + tool_errors, "{file}");
        assert_eq!((counters.invalid, counters.conflicts), (0, 0), "{file}");
        let transport = (0..session.row_count()).filter_map(|at| session.row(at));
        let transport = transport.filter(|row| row.kind == Kind::Transport).count();
        assert_eq!(transport as u64, other, "{file}");
        let tools: Vec<_> = session.tools().values().collect();
        assert_eq!(
            tools.iter().map(|tool| tool.tool_errors).sum::<u64>(),
            tool_errors
        );
        if file == "v0.1.0-http.jsonl" {
            // A log that ends in its handshake: what the recorder lost may hold the answers.
            assert_eq!(
                (session.missing_frames(), counters.pending),
                (2, 3),
                "{file}"
            );
            assert_eq!(counters.pending_uncertain, 2, "{file}");
            continue;
        }
        assert_eq!(session.missing_frames(), 0, "{file}");
        assert_eq!((counters.pending, counters.superseded), (0, 0), "{file}");
        assert_eq!(session.call_count(), requests, "{file}");
        assert_eq!(counters.completed, results - tool_errors, "{file}");
        assert_eq!(session.clients().len(), 1, "{file}");
        assert!(session.server().is_some(), "{file}");
        let long = session
            .calls()
            .find(|call| call.operation.as_deref() == Some("trigger-long-running-operation"));
        assert_eq!(long.unwrap().progress_count, 2, "{file}");
        let revision = if file.contains("legacy") {
            "2025-11-25"
        } else {
            "2026-07-28"
        };
        assert_eq!(session.protocol_version(), Some(revision), "{file}");
    }
}

/// Numbers of the frames that tell of an error in their own bytes: an error answer, or a result with
/// `isError`. Read without the model.
pub(super) fn confessions(path: &Path) -> Vec<u64> {
    let text = std::fs::read_to_string(path).unwrap();
    let lines = text.lines().map(serde_json::from_str::<serde_json::Value>);
    let mut seqs: Vec<u64> = lines
        .map(Result::unwrap)
        .filter(|line| {
            let raw = &line["raw"];
            raw.get("error").is_some() || raw["result"]["isError"] == true
        })
        .map(|line| line["seq"].as_u64().unwrap())
        .collect();
    seqs.sort_unstable();
    seqs
}

#[test]
fn nobody_is_accused_in_a_log_of_an_earlier_release() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/samples");
    let readme = std::fs::read_to_string(dir.join("README.md")).unwrap();
    for (file, _) in rows(&readme) {
        let path = dir.join(file);
        let (model, key) = folded(&path);
        let session = model.session(&key).unwrap();
        let rows = (0..session.row_count()).filter_map(|at| session.row(at));
        let problems: Vec<u64> = rows
            .filter(|row| row.flags.problem || row.flags.errored || row.flags.duplicate)
            .map(|row| row.id.seq.0)
            .collect();
        assert_eq!(problems, confessions(&path), "{file}");
        assert_eq!(session.counters().warnings, 0, "{file}");
        assert!(session.remarks().is_empty(), "{file}");
        for call in session.calls() {
            use DisplayStatus::{Error, Ok, Pending, PendingUncertain, ToolError};
            let harmless = matches!(
                call.status(),
                Ok | Error | ToolError | Pending | PendingUncertain
            );
            assert!(harmless, "{file}: {call:?}");
        }
    }
}

#[test]
fn a_request_whose_answer_may_be_lost_is_not_called_reused() {
    use DisplayStatus::{Pending, PendingUncertain};
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/samples");
    let (model, key) = folded(&dir.join("v0.1.0-http.jsonl"));
    let calls = model.session(&key).unwrap().calls();
    let words: Vec<_> = calls.map(|call| call.status()).collect();
    assert_eq!(words, [PendingUncertain, PendingUncertain, Pending]);
}

/// One line a frame of the demo: pause, who says it, and the line itself.
fn demo() -> Vec<Envelope> {
    let lines = include_str!("../capture/demo.script").lines();
    let frames = lines.zip(1..).map(|(line, seq)| {
        let (_, line) = line.split_once(' ').unwrap();
        let (who, text) = line.split_once(' ').unwrap();
        let mut frame = script::session("> T \"x\"").unwrap().remove(0);
        (frame.seq, frame.ts) = (Seq(seq), Some(script::START));
        frame.direction = match who {
            ">" => Direction::ClientToServer,
            "<" => Direction::ServerToClient,
            _ => Direction::Stderr,
        };
        let text = Bytes::from_static(text.as_bytes());
        frame.payload = match json::whole_value(&text) {
            Some(_) => Payload::Raw(Raw::new(text)),
            None => Payload::Text(text),
        };
        frame
    });
    frames.collect()
}

#[test]
fn the_demo_has_what_it_shows_and_no_warning() {
    let mut model = Model::new(Limits::NONE);
    let key = SessionKey {
        host: HostName::local(),
        id: "s".into(),
    };
    for frame in demo() {
        model.ingest(&key, &frame, None, None, &mut Vec::new());
    }
    let session = model.session(&key).unwrap();
    check_sums(session);
    let counters = session.counters();
    assert_eq!((counters.warnings, counters.invalid), (0, 1));
    assert!(counters.errors > 0 && counters.cancelled > 0);
}
