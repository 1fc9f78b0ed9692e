//! Logs that are damaged, mixed up, of several sessions, or another one meanwhile.

use serde_json::{Value, json};

use super::{
    tests::{Log, document, example, load, text_of},
    *,
};
use crate::{
    record::{KeptLog, LineReader, Scanned},
    reports::{Loader, write_jsonl},
};

fn jsonl(exported: &Exported) -> Vec<u8> {
    let mut out = Vec::new();
    write_jsonl(exported, &mut out).unwrap();
    out
}

#[test]
fn losses_are_told_and_each_counts_once() {
    let log = example()
        .skip()
        .line("{\"session_id\":\"files-1-aa\",\"seq\":3,\"dir")
        .skip()
        .raw(400, "stderr", "1")
        .at(
            500,
            "s2c",
            r#""truncated":true,"text":"{\"jsonrpc\":\"2.0\",\"id\":9,\"resu""#,
        );
    let mut log = log;
    log.text.extend_from_slice(b"{\"session_id\":");
    let document = log.document();
    let session = &document["session"];
    let found = [
        "missing_frames",
        "damaged_lines",
        "truncated_frames",
        "torn_tail",
        "complete",
    ]
    .map(|key| session[key].clone());
    assert_eq!(json!(found), json!([1, 1, 1, true, false]));
    assert_eq!(document["events"][3]["truncated"], true);
}

#[test]
fn what_the_model_forgot_is_told_by_store() {
    let probe = |log: Log, id: u64| {
        let raw = format!(r#"{{"id":{id},"method":"server/discover"}}"#);
        log.raw(id, "c2s", &raw)
    };
    let all = (0..64).fold(Log::new(), probe);
    assert!(all.document()["session"].get("forgotten").is_none());
    let document = (64..67).fold(all, probe).document();
    assert_eq!(document["session"]["forgotten"], json!({"probes": 3}));
    // Every request and answer is there.
    assert_eq!(document["session"]["complete"], true);
}

#[test]
fn order_and_repeats_change_nothing() {
    let log = Log::new()
        .raw(0, "c2s", r#"{"id":1,"method":"a"}"#)
        .raw(10, "s2c", r#"{"id":1,"result":{}}"#)
        .raw(20, "c2s", r#"{"id":1,"method":"b"}"#)
        .raw(30, "s2c", r#"{"id":1,"result":{"x":1}}"#);
    let expected = text_of(&log.load(), None);
    let lines: Vec<&[u8]> = log.text.split_inclusive(|byte| *byte == b'\n').collect();
    for order in [&[3, 2, 1, 0][..], &[0, 2, 1, 3], &[0, 1, 0, 1, 2, 3, 3]] {
        let mixed: Vec<u8> = order.iter().flat_map(|at| lines[*at].to_vec()).collect();
        let exported = load(&mixed, None).unwrap();
        assert_eq!(text_of(&exported, None), expected, "{order:?}");
        let again = load(&jsonl(&exported), None).unwrap();
        assert_eq!(text_of(&again, None), expected, "{order:?}");
        assert_eq!(jsonl(&exported).len(), log.text.len());
    }
}

#[test]
fn of_two_contents_of_one_number_the_earlier_is_kept() {
    let line = |second: u32, method: &str| {
        format!(
            r#"{{"session_id":"s","seq":1,"ts":"2026-09-01T00:00:0{second}Z","direction":"c2s","raw":{{"method":"{method}"}}}}"#
        )
    };
    let log = Log::new().line(&line(2, "later")).line(&line(1, "earlier"));
    let exported = log.load();
    let found = document(&exported, None);
    assert_eq!(found["events"][0]["method"], "earlier");
    assert_eq!(found["session"]["conflicts"], 1);
    assert_eq!(found["session"]["complete"], false);
    let again = load(&jsonl(&exported), None).unwrap();
    assert_eq!(document(&again, None), found);
}

#[test]
fn a_log_of_several_sessions_gives_one() {
    let mut text = example().text;
    text.extend_from_slice(
        br#"{"session_id":"other","seq":1,"direction":"c2s","raw":{"id":1,"method":"x"}}"#,
    );
    let exported = load(&text, None).unwrap();
    assert_eq!(
        (exported.id(), exported.others()),
        ("files-1-aa", (1, vec!["other".to_owned()]))
    );
    assert_eq!(text_of(&exported, None), text_of(&example().load(), None));
    let other = load(&text, Some("other")).unwrap();
    assert_eq!(document(&other, None)["session"]["requests"], 1);
    assert_eq!(jsonl(&other).len(), 77);
    let Err(Error::NoSession { held, .. }) = load(&text, Some("none")) else {
        panic!("there is no such session");
    };
    assert_eq!(held, ["files-1-aa", "other"]);
}

#[test]
fn what_is_no_log_is_refused() {
    let refusal = |text: &[u8]| load(text, None).map(|_| ()).unwrap_err().to_string();
    assert_eq!(refusal(b""), "`log` has no envelopes");
    assert_eq!(refusal(b"hello\n"), "`log` is not a session log");
}

#[test]
fn an_object_over_several_lines_is_one_line_of_jsonl() {
    let pretty = "{\n  \"session_id\": \"s\",\r\n  \"seq\": 1,\n  \"direction\": \"c2s\",\n  \"raw\": {\n    \"method\": \"x\"\n  }\n}\n";
    let exported = load(pretty.as_bytes(), None).unwrap();
    let lines = jsonl(&exported);
    assert_eq!(lines.split(|byte| *byte == b'\n').count(), 2);
    let again = load(&lines, None).unwrap();
    assert_eq!(text_of(&again, None), text_of(&exported, None));
}

#[test]
fn a_log_that_changed_meanwhile_is_noticed() {
    let log = example();
    let mut loader = Loader::new("log".into(), None);
    let mut reader = LineReader::default();
    reader.push(&log.text, &mut |event| loader.take(event));
    let other: Vec<u8> = log.text.iter().rev().copied().collect();
    let exported = loader
        .finish(Scanned {
            log: KeptLog::memory(other.into()),
            has_bytes: true,
            torn: false,
        })
        .unwrap();
    let options = JsonOptions {
        generated_at: Timestamp::default(),
        filter: None,
    };
    let mut out = Vec::new();
    let error = write_json(&exported, options, &mut out).unwrap_err();
    assert!(matches!(error, Error::Changed), "{error}");
    assert!(write_jsonl(&exported, &mut out).is_err());
}

#[test]
fn many_frames_are_written_in_order_by_several_threads() {
    let mut log = Log::new();
    for id in 0..3_000 {
        log = log
            .raw(1, "c2s", &format!(r#"{{"id":{id},"method":"m"}}"#))
            .raw(2, "s2c", &format!(r#"{{"id":{id},"result":{{}}}}"#));
    }
    let exported = log.load();
    let text = text_of(&exported, None);
    assert_eq!(text, text_of(&exported, None));
    let document: Value = serde_json::from_str(&text).unwrap();
    for (list, key, from, count) in [
        ("calls", "index", 0, 3_000),
        ("events", "seq", 1, 6_000),
        ("interactions", "call_index", 0, 3_000),
    ] {
        let found: Vec<u64> = document[list]
            .as_array()
            .unwrap()
            .iter()
            .map(|it| it[key].as_u64().unwrap())
            .collect();
        assert!(found.iter().copied().eq(from..from + count), "{list}");
    }
}

#[test]
fn elements_of_old_arrays_are_those_of_their_frame() {
    let array = |round: usize, member: &str| {
        let elements: Vec<_> = (0..50)
            .map(|at| format!(r#"{{"jsonrpc":"2.0","id":{},{member}}}"#, round * 50 + at))
            .collect();
        format!("[{}]", elements.join(","))
    };
    let mut log = Log::new();
    for round in 0..6 {
        log = log.raw(round as u64, "c2s", &array(round, r#""method":"ping""#));
    }
    for round in 0..6 {
        log = log.raw(10, "s2c", &array(round, r#""result":{}"#));
    }
    let document = log.document();
    let calls = document["calls"].as_array().unwrap();
    assert_eq!(calls.len(), 300);
    for (at, call) in calls.iter().enumerate() {
        let events = document["events"].as_array().unwrap();
        assert_eq!(events[at]["raw"]["id"], at);
        assert_eq!(events[at]["raw"]["method"], "ping");
        assert_eq!(events[300 + at]["raw"]["id"], at);
        assert_eq!(call["id"], at.to_string());
        assert_eq!(call["result"], json!({}));
    }
}
