//! `mcpsnoop export` over every recorded log: its counts are those of a script with jq alone, two runs give one
//! document, and so does the log that it writes.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use crate::{
    counts::logs,
    export::export,
    support::{home::Home, parts::need, process::run, process::run_with},
};

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

/// The document without the time that it was made.
#[track_caller]
fn document(home: &Home, log: &str) -> String {
    let written = run(&mut export(home, &[log])).expect_code(0).out();
    let (head, rest) = written.split_once("\"schema\"").expect("a document");
    assert_eq!(head.lines().count(), 3);
    rest.to_owned()
}

fn check(folder: &str, at_least: usize) {
    let home = Home::new();
    let logs = logs(&fixtures().join(folder));
    assert!(logs.len() > at_least);
    let count = need("jq").map(|_| fixtures().join("count"));
    for log in &logs {
        let name = log.to_str().expect("a path");
        let first = document(&home, name);
        assert_eq!(document(&home, name), first, "{name}");
        let again = home.path().join("again.jsonl");
        let again = again.to_str().expect("a path");
        run(&mut export(&home, &[name, "-T", "jsonl", "-o", again])).expect_code(0);
        assert_eq!(document(&home, again), first, "{name}");
        // A log that lost its answers: which of its calls are open is a matter of judgement.
        if let Some(count) = count
            .as_ref()
            .filter(|_| !log.ends_with("v0.1.0-http.jsonl"))
        {
            let document = format!("{{\"schema\"{first}");
            let mut compare = Command::new(count);
            let compared = run_with(compare.arg("--compare").arg(log), document.as_bytes());
            assert_eq!(compared.code, Some(0), "{name}: {}", compared.out());
        }
    }
}

#[test]
fn recordings() {
    check("recorded", 10);
}

#[test]
fn logs_of_earlier_releases() {
    check("samples", 10);
}
