//! The model counts a log as a script with jq alone does, which knows nothing of it: all recordings and old logs.

use std::{
    path::{Path, PathBuf},
    process::Command,
    sync::Arc,
};

use bytes::Bytes;
use mcpsnoop::{
    record::{Decoder, HostName, SessionKey},
    session::{Limits, Model, Session},
};
use serde_json::{Value, json};

use super::support::{parts::need, process::run};

#[test]
fn recordings() {
    assert!(check("recorded") > 10);
}

#[test]
fn logs_of_earlier_releases() {
    assert!(check("samples") > 10);
}

/// Compares the counts of every log of a folder; gives the number of logs. Without jq there is nothing to compare.
fn check(folder: &str) -> usize {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let logs = logs(&fixtures.join(folder));
    if need("jq").is_none() {
        return logs.len();
    }
    for log in &logs {
        // A log that lost its answers: which of its calls are open is a matter of judgement, not of counting.
        if log.ends_with("v0.1.0-http.jsonl") {
            continue;
        }
        let counted = run(Command::new(fixtures.join("count")).arg(log)).expect_code(0);
        let mut counted: Value = serde_json::from_str(&counted.out()).expect("JSON");
        let frames = counted["frames"].take();
        let expected = json!({ "frames": frames, "session": counted["session"], "tools": counted["summary"]["tools"] });
        assert_eq!(model(log), expected, "{}", log.display());
    }
    logs.len()
}

/// The logs of a folder, sorted by name.
pub(crate) fn logs(folder: &Path) -> Vec<PathBuf> {
    let files = std::fs::read_dir(folder).expect("a folder of fixtures");
    let mut logs: Vec<_> = files.map(|file| file.expect("a file").path()).collect();
    logs.retain(|path| path.extension().is_some_and(|ending| ending == "jsonl"));
    logs.sort();
    logs
}

/// What the model counts, under the names of the script.
fn model(log: &Path) -> Value {
    let mut model = Model::new(Limits::FILE);
    let mut decoder = Decoder::default();
    let bytes = std::fs::read(log).expect("a log");
    for line in bytes
        .split(|&byte| byte == b'\n')
        .filter(|line| !line.is_empty())
    {
        let line = decoder
            .decode(Bytes::copy_from_slice(line))
            .expect("an envelope");
        let key = SessionKey {
            host: HostName::local(),
            id: Arc::clone(&line.envelope.session_id),
        };
        model.ingest(&key, &line.envelope, None, None, &mut Vec::new());
    }
    model.settle(&mut Vec::new());
    let mut sessions = model.sessions();
    let counts = counts(sessions.next().expect("a session"));
    assert!(sessions.next().is_none(), "one session");
    counts
}

fn counts(session: &Session) -> Value {
    let counters = session.counters();
    let tools = session.tools().iter().map(|(name, tool)| {
        let errors = tool.protocol_errors + tool.tool_errors;
        json!({ "name": name, "calls": tool.calls, "errors": errors, "tool_errors": tool.tool_errors })
    });
    json!({
        "frames": counters.frames,
        "session": {
            "requests": counters.requests, "responses": counters.responses, "notifications": counters.notifications,
            "errors": counters.errors, "pending": counters.pending, "late_results": counters.late_results,
            "missing_frames": session.missing_frames(), "stderr_lines": counters.stderr_lines,
            "cancelled": counters.cancelled,
        },
        "tools": tools.collect::<Vec<_>>(),
    })
}
