//! `mcpsnoop export`: what goes where, what stays as it was, and how it ends.

use std::{fs, process::Command};

use serde_json::Value;

use crate::{
    open::{Lines, age},
    support::{
        home::Home,
        process::{Output, run, run_with},
    },
};

pub(crate) const ID: &str = "files-101-0a0000000001";

pub(crate) fn lines() -> Lines {
    Lines::new(ID, "files")
        .call("first_tool")
        .call("second_tool")
}

pub(crate) fn export(home: &Home, arguments: &[&str]) -> Command {
    let mut command = home.mcpsnoop();
    command.arg("export").args(arguments);
    command
}

/// A shell script whose `$0` is the program.
pub(crate) fn script(home: &Home, script: &str) -> Command {
    let mut command = home.command("sh");
    command.args(["-c", script, env!("CARGO_BIN_EXE_mcpsnoop")]);
    command
}

#[track_caller]
pub(crate) fn document(text: &[u8]) -> Value {
    let mut document: Value = serde_json::from_slice(text).expect("a document");
    let made = document.as_object_mut().expect("an object");
    made.shift_remove("generated_at").expect("a time");
    document
}

#[test]
fn a_session_is_named_as_everywhere_and_announced_on_standard_error() {
    let home = Home::new();
    let path = home.write(
        &format!(".local/state/mcpsnoop/sessions/{ID}.jsonl"),
        lines().end().text,
    );
    age(&path, 100);
    let relative = format!(".local/state/mcpsnoop/sessions/{ID}.jsonl");
    for (arguments, announced) in [
        (&[][..], true),
        (&["files"], true),
        (&["files-1"], true),
        (&[ID], false),
        (&[&*relative], false),
    ] {
        let written = run(&mut export(&home, arguments)).expect_code(0);
        let document = document(&written.stdout);
        assert_eq!(document["session"]["id"], ID);
        assert_eq!(document["session"]["complete"], true);
        let said = if announced {
            format!("session {ID} (1 minute ago)\n")
        } else {
            String::new()
        };
        assert_eq!(written.err(), said, "{arguments:?}");
    }
    let from_pipe = run_with(
        &mut export(&home, &["-", "-T", " JSON "]),
        &lines().end().text,
    );
    assert_eq!(
        document(&from_pipe.expect_code(0).stdout)["session"]["id"],
        ID
    );
}

#[test]
fn what_cannot_be_exported_says_why() {
    let home = Home::new();
    home.write("empty.jsonl", "");
    home.write("text.jsonl", "hello\n");
    home.write("log.jsonl", lines().text);
    home.write("folder/x", "");
    home.write(
        &format!(".local/state/mcpsnoop/sessions/{ID}.jsonl"),
        lines().text,
    );
    let cases: [(&[&str], i32, &str); 13] = [
        (&["none.jsonl"], 1, "not found"),
        (
            &["files-101-0a0000000002"],
            1,
            &format!("mcpsnoop export {ID}"),
        ),
        (&["empty.jsonl"], 1, "is empty"),
        (&["text.jsonl"], 1, "is not a session log"),
        (&["folder"], 1, "is a directory"),
        (&["-"], 1, "nothing came in"),
        (
            &["log.jsonl", "--session", "other"],
            1,
            &format!("it holds {ID}"),
        ),
        (&["log.jsonl", "-o", "folder"], 1, "cannot write `folder`"),
        (&["log.jsonl", "-o", "empty.jsonl/x"], 1, "cannot write"),
        (&["log.jsonl", "-T", "html"], 2, "formats: json, jsonl"),
        (&["log.jsonl", "--filter", "status:nonsense"], 2, "status"),
        (
            &["log.jsonl", "-T", "jsonl", "--filter", "x"],
            2,
            "--filter",
        ),
        (&["log.jsonl", "text.jsonl"], 2, "text.jsonl"),
    ];
    for (arguments, code, word) in cases {
        let refused = run(&mut export(&home, arguments)).expect_code(code);
        assert!(refused.stdout.is_empty(), "{arguments:?}");
        assert!(
            refused.err().contains(word),
            "{arguments:?}: {}",
            refused.err()
        );
    }
    assert!(!home.path().join("empty.jsonl/x").exists());
    let help = run(&mut export(&home, &["--help"])).expect_code(0).out();
    for word in ["html", "otlp", " har", "--redact", "--max-embed"] {
        assert!(!help.contains(word), "{word} is not built yet");
    }
}

#[test]
fn two_runs_and_a_log_made_of_the_log_give_one_document() {
    let home = Home::new();
    let mut log = lines();
    // Repeats, two objects on a line, and lines out of order.
    let text = String::from_utf8(log.text.clone()).expect("text");
    let mut mixed: Vec<&str> = text.lines().rev().collect();
    mixed.push(mixed[0]);
    log.text = mixed.join("\n").replacen('\n', "  ", 1).into_bytes();
    home.write("log.jsonl", &log.text);
    let one = run(&mut export(&home, &["log.jsonl"])).expect_code(0);
    let two = run(&mut export(&home, &["log.jsonl"])).expect_code(0);
    let without_time = |output: &Output| {
        let text = output.out();
        let time = text
            .lines()
            .find(|line| line.contains("generated_at"))
            .map(ToOwned::to_owned);
        text.replace(&time.expect("a time"), "")
    };
    assert_eq!(without_time(&one), without_time(&two));
    run(&mut export(
        &home,
        &["log.jsonl", "-T", "jsonl", "-o", "again.jsonl"],
    ))
    .expect_code(0);
    let three = run(&mut export(&home, &["again.jsonl"])).expect_code(0);
    assert_eq!(without_time(&one), without_time(&three));
    let again = fs::read_to_string(home.path().join("again.jsonl")).expect("a log");
    let mut sorted: Vec<&str> = again.lines().collect();
    sorted.sort_by_key(|line| text.find(*line));
    assert_eq!(
        sorted,
        text.lines().collect::<Vec<_>>(),
        "byte for byte, each once"
    );
}

#[test]
fn of_two_sessions_the_first_is_written_and_the_other_named() {
    let home = Home::new();
    let other = Lines::new("web-7-0b", "web").call("third_tool");
    home.write("log.jsonl", [lines().text, other.text].concat());
    let first = run(&mut export(&home, &["log.jsonl"])).expect_code(0);
    assert_eq!(document(&first.stdout)["session"]["id"], ID);
    assert_eq!(
        first.err(),
        "note: log holds 1 more session: web-7-0b; use --session\n"
    );
    let second = run(&mut export(&home, &["log.jsonl", "--session", "web-7-0b"])).expect_code(0);
    assert_eq!(
        document(&second.stdout)["summary"]["tools"][0]["name"],
        "third_tool"
    );
    assert_eq!(second.err(), "");
}

#[test]
fn damage_is_told_and_not_hidden() {
    let home = Home::new();
    let text = String::from_utf8(lines().text).expect("text");
    let damaged: Vec<String> = text
        .lines()
        .enumerate()
        .map(|(at, line)| {
            if at == 2 {
                line.chars().take(40).collect::<String>()
            } else {
                line.to_owned()
            }
        })
        .collect();
    let path = home.write("log.jsonl", damaged.join("\n") + "\n{\"session_id\":\"fi");
    age(&path, 600);
    let written = run(&mut export(&home, &["log.jsonl"])).expect_code(0);
    assert_eq!(
        written.err(),
        "note: 1 damaged line (first: line 3)\nnote: last line incomplete\n"
    );
    let session = document(&written.stdout)["session"].clone();
    let found = ["damaged_lines", "missing_frames", "torn_tail", "complete"]
        .map(|key| session[key].to_string());
    assert_eq!(found, ["1", "0", "true", "false"]);
    let lines: Vec<&str> = text.lines().collect();
    home.write(
        "hole.jsonl",
        [lines[0], lines[1], lines[3]].join("\n") + "\n",
    );
    let written = run(&mut export(&home, &["hole.jsonl"])).expect_code(0);
    assert_eq!(written.err(), "note: 1 frame missing\n");
    // Being written: no damage, and not whole either.
    let young = home.write("young.jsonl", text.trim_end_matches("}\n"));
    let lock = fs::File::open(&young).expect("the log");
    rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockExclusive).expect("a lock");
    let written = run(&mut export(&home, &["young.jsonl"])).expect_code(0);
    assert_eq!(written.err(), "");
    let session = document(&written.stdout)["session"].clone();
    assert_eq!(session.get("torn_tail"), None);
    assert_eq!(session["complete"], false);
    let twice = lines[1]
        .replace("second", "another")
        .replace("first", "another");
    assert_ne!(twice, lines[1]);
    home.write(
        "twice.jsonl",
        [lines[0], lines[1], &twice].join("\n") + "\n",
    );
    let written = run(&mut export(&home, &["twice.jsonl"])).expect_code(0);
    assert_eq!(written.err(), "note: 1 number has two contents\n");
}

#[test]
fn a_filter_is_named_in_the_document() {
    let home = Home::new();
    home.write("log.jsonl", lines().text);
    let written = run(&mut export(
        &home,
        &["log.jsonl", "--filter", "tool:second"],
    ))
    .expect_code(0);
    let document = document(&written.stdout);
    assert_eq!(document["filter"], "tool:second");
    assert_eq!(document["calls"].as_array().map(Vec::len), Some(1));
    assert_eq!(document["calls"][0]["index"], 1);
    assert_eq!(document["events"].as_array().map(Vec::len), Some(2));
    assert_eq!(written.err(), "");
    let nothing = run(&mut export(&home, &["log.jsonl", "--filter", "tool:third"])).expect_code(0);
    assert_eq!(nothing.err(), "note: no frame matches the filter\n");
    assert_eq!(document["session"]["requests"], 2);
}
