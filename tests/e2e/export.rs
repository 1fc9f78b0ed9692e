//! `mcpsnoop export`: what goes where, what stays as it was, and how it ends.

use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use rustix::process::Signal;
use serde_json::Value;

use crate::{
    open::{Lines, age},
    support::{
        home::Home,
        process::{Output, Running, run, run_with},
        wait::wait_for,
    },
};

const ID: &str = "files-101-0a0000000001";

fn lines() -> Lines {
    Lines::new(ID, "files")
        .call("first_tool")
        .call("second_tool")
}

fn export(home: &Home, arguments: &[&str]) -> Command {
    let mut command = home.mcpsnoop();
    command.arg("export").args(arguments);
    command
}

/// A shell script whose `$0` is the program.
fn script(home: &Home, script: &str) -> Command {
    let mut command = home.command("sh");
    command.args(["-c", script, env!("CARGO_BIN_EXE_mcpsnoop")]);
    command
}

#[track_caller]
fn document(text: &[u8]) -> Value {
    let mut document: Value = serde_json::from_slice(text).expect("a document");
    let made = document.as_object_mut().expect("an object");
    made.shift_remove("generated_at").expect("a time");
    document
}

/// What the folder of a test holds, hidden files included.
fn names(home: &Home, folder: &str) -> Vec<String> {
    let entries = fs::read_dir(home.path().join(folder)).expect("a folder");
    let mut names: Vec<_> = entries
        .map(|entry| {
            entry
                .expect("an entry")
                .file_name()
                .into_string()
                .expect("a name")
        })
        .collect();
    names.sort();
    names
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
fn an_output_that_is_the_input_is_refused_by_any_name() {
    let home = Home::new();
    let log = home.write("d/log.jsonl", lines().text);
    let before = fs::read(&log).expect("the log");
    fs::hard_link(&log, home.path().join("d/hard")).expect("a link");
    symlink("log.jsonl", home.path().join("d/soft")).expect("a link");
    symlink("d/log.jsonl", home.path().join("far")).expect("a link");
    for arguments in [
        "export d/log.jsonl -o d/log.jsonl",
        "export d/log.jsonl -o ./d/../d/log.jsonl",
        "export d/log.jsonl -o d/hard",
        "export d/hard -o d/soft -T jsonl",
        "export far -o d/hard",
        "export - -o d/log.jsonl < d/log.jsonl",
        "export d/log.jsonl -o /dev/fd/3 3>> d/log.jsonl",
        "export d/log.jsonl >> d/log.jsonl",
    ] {
        let refused = run(&mut script(&home, &format!("exec \"$0\" {arguments}"))).expect_code(1);
        assert!(
            refused.err().contains("output is the input file"),
            "{arguments}: {}",
            refused.err()
        );
        assert_eq!(fs::read(&log).expect("the log"), before, "{arguments}");
    }
    assert_eq!(names(&home, "d"), ["hard", "log.jsonl", "soft"]);
}

#[test]
fn a_file_is_replaced_whole_keeps_its_mode_and_the_link_to_it() {
    let home = Home::new();
    let log = home.write("log.jsonl", lines().end().text);
    let out = home.write("d/out.json", "old");
    fs::set_permissions(&out, fs::Permissions::from_mode(0o640)).expect("a mode");
    symlink("d/out.json", home.path().join("link")).expect("a link");
    let log = log.to_str().expect("a path");
    run(&mut export(&home, &[log, "-o", "link"])).expect_code(0);
    let mode = |path: &Path| fs::metadata(path).expect("a file").permissions().mode() & 0o7777;
    assert_eq!(
        document(&fs::read(&out).expect("a document"))["session"]["id"],
        ID
    );
    assert_eq!(mode(&out), 0o640);
    assert!(
        fs::symlink_metadata(home.path().join("link"))
            .expect("a link")
            .is_symlink()
    );
    run(&mut export(&home, &[log, "-o", "new/er/out.json"])).expect_code(0);
    assert_eq!(mode(&home.path().join("new/er/out.json")), 0o600);
    assert_eq!(mode(&home.path().join("new")), 0o700);
    assert_eq!(names(&home, "d"), ["out.json"]);
    let through = run(&mut export(&home, &[log, "-o", "/dev/stdout"])).expect_code(0);
    assert_eq!(document(&through.stdout)["session"]["id"], ID);
}

/// A log whose document has a few megabytes.
fn large(home: &Home) -> PathBuf {
    let mut log = lines();
    for id in 1_000..1_400 {
        let text = "x".repeat(4_000);
        log.push(
            "c2s",
            &format!(r#""raw":{{"jsonrpc":"2.0","id":{id},"method":"m","params":["{text}"]}}"#),
        );
    }
    home.write("large.jsonl", log.text)
}

#[test]
fn a_write_that_fails_leaves_what_was_there() {
    let home = Home::new();
    large(&home);
    home.write("d/out.json", "old");
    for target in ["d/out.json", "d/new.json"] {
        let limited = format!("ulimit -f 512; exec \"$0\" export large.jsonl -o {target}");
        let failed = run(&mut script(&home, &limited)).expect_code(1);
        assert!(
            failed.err().contains(&format!("cannot write `{target}`")),
            "{}",
            failed.err()
        );
        assert_eq!(names(&home, "d"), ["out.json"]);
    }
    assert_eq!(
        fs::read(home.path().join("d/out.json")).expect("a file"),
        b"old"
    );
    if Path::new("/dev/full").exists() {
        let failed = run(&mut export(&home, &["large.jsonl", "-o", "/dev/full"])).expect_code(1);
        assert!(failed.err().contains("caused by"), "{}", failed.err());
    }
}

#[test]
fn a_reader_that_has_enough_ends_it_quietly() {
    let home = Home::new();
    large(&home);
    let line = "\"$0\" export large.jsonl; echo $? >&2";
    let piped = run(&mut script(
        &home,
        &format!("({line}) | head -c 100 >/dev/null"),
    ));
    assert_eq!(piped.err(), "141\n");
}

#[test]
fn a_signal_removes_the_temporary_file() {
    let home = Home::new();
    large(&home);
    home.write("d/out.json", "old");
    for (signal, code) in [(Signal::TERM, 143), (Signal::INT, 130), (Signal::HUP, 129)] {
        // The log is larger than what is read ahead, so that the second pass meets a stopped end.
        let mut command = export(&home, &["large.jsonl", "-o", "d/out.json"]);
        command.stdin(Stdio::null());
        let ended = stop_while_writing(&home, &mut command, signal);
        if let Some(ended) = ended {
            assert_eq!(ended.code, Some(code), "{}", ended.err());
            assert_eq!(
                fs::read(home.path().join("d/out.json")).expect("a file"),
                b"old"
            );
        }
        assert_eq!(names(&home, "d"), ["out.json"]);
        home.write("d/out.json", "old");
    }
}

/// Sends the signal as soon as the temporary file is there; `None` when the command was faster.
fn stop_while_writing(home: &Home, command: &mut Command, signal: Signal) -> Option<Output> {
    let mut running = Running::start(command);
    let begun = wait_for("a temporary file", || {
        if names(home, "d").len() > 1 {
            running.signal(signal);
            return Some(true);
        }
        (!running.is_running()).then_some(false)
    });
    let ended = running.wait();
    (begun && ended.code != Some(0)).then_some(ended)
}

#[test]
fn a_folder_that_cannot_be_written_has_its_file_written_in_place() {
    if rustix::process::geteuid().is_root() {
        // Root may write everywhere; the same is tested with a file system that is read-only where one can be made.
        return;
    }
    let home = Home::new();
    home.write("log.jsonl", lines().text);
    home.write("d/out.json", "old");
    let folder = home.path().join("d");
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o500)).expect("a mode");
    let written = run(&mut export(&home, &["log.jsonl", "-o", "d/out.json"])).expect_code(0);
    assert!(
        written
            .err()
            .contains("note: not atomic, directory is not writable")
    );
    assert_eq!(
        document(&fs::read(folder.join("out.json")).expect("a document"))["session"]["id"],
        ID
    );
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).expect("a mode");
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
                line[..40].to_owned()
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
    assert_eq!(document["session"]["requests"], 2);
}
