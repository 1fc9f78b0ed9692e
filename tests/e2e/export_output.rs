//! The output of `mcpsnoop export`: put in place whole or not at all, and never over its own input.

use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::{Path, PathBuf},
    process::Command,
};

use rustix::process::Signal;

use crate::{
    export::{ID, document, export, lines, script},
    support::{
        home::Home,
        parts::need,
        process::{Running, run},
        wait::wait_for,
    },
};

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
fn the_log_of_a_recorded_session_is_not_replaced() {
    let home = Home::new();
    home.write("log.jsonl", lines().text);
    let other = home.write("state/sessions/other-1-000000000001.jsonl", "kept");
    let written = home.write("elsewhere.jsonl", "kept");
    symlink(
        "state/sessions/other-1-000000000001.jsonl",
        home.path().join("soft"),
    )
    .expect("a link");
    // As a recorder holds it.
    let lock = fs::File::open(&written).expect("the file");
    rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockExclusive).expect("a lock");
    let state = home.path().join("state");
    for output in [other.clone(), home.path().join("soft"), written.clone()] {
        let mut command = export(&home, &["log.jsonl", "-o"]);
        command.arg(&output).env("MCPSNOOP_HOME", &state);
        let refused = run(&mut command).expect_code(1);
        let said = refused.err();
        assert!(said.contains("is the log of a recorded session"), "{said}");
        assert!(said.contains("hint: name another file"), "{said}");
    }
    assert_eq!(fs::read(&other).expect("the log"), b"kept");
    assert_eq!(fs::read(&written).expect("the file"), b"kept");
    drop(lock);
    let mut command = export(&home, &["log.jsonl", "-o"]);
    command.arg(&written).env("MCPSNOOP_HOME", &state);
    run(&mut command).expect_code(0);
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
    // Much to lay out, so that the signal comes long before the end.
    let mut log = lines();
    let ones = "1,".repeat(128 << 10);
    for id in 1_000..1_016 {
        log.push(
            "c2s",
            &format!(r#""raw":{{"jsonrpc":"2.0","id":{id},"method":"m","params":[{ones}1]}}"#),
        );
    }
    home.write("wide.jsonl", log.text);
    home.write("d/out.json", "old");
    for (signal, code) in [(Signal::TERM, 143), (Signal::INT, 130), (Signal::HUP, 129)] {
        let running = Running::start(&mut export(&home, &["wide.jsonl", "-o", "d/out.json"]));
        wait_for("a temporary file", || {
            (names(&home, "d").len() > 1).then_some(())
        });
        running.signal(signal);
        let ended = running.wait().expect_code(code);
        assert_eq!(ended.err(), "");
        assert_eq!(
            fs::read(home.path().join("d/out.json")).expect("a file"),
            b"old"
        );
        assert_eq!(names(&home, "d"), ["out.json"]);
    }
}

/// A user that no test runs as.
const NOBODY: u32 = 65_534;

/// The program as somebody whom permissions hold: root may write everywhere.
fn as_a_plain_user(home: &Home, owned: &[&Path]) -> Option<Command> {
    if !rustix::process::geteuid().is_root() {
        return Some(home.mcpsnoop());
    }
    let setpriv = need("setpriv")?;
    for path in owned {
        std::os::unix::fs::chown(path, Some(NOBODY), None).expect("a new owner");
    }
    let mut command = home.command(setpriv);
    let program = env!("CARGO_BIN_EXE_mcpsnoop");
    command.args([&format!("--reuid={NOBODY}"), "--clear-groups", program]);
    Some(command)
}

#[test]
fn a_folder_that_cannot_be_written_has_its_file_written_in_place() {
    let home = Home::new();
    let log = home.write("log.jsonl", lines().text);
    let out = home.write("d/out.json", "old ".repeat(10_000));
    let folder = home.path().join("d");
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o500)).expect("a mode");
    let export = |target: &str| {
        let mut command = as_a_plain_user(&home, &[home.path(), &log, &folder, &out])?;
        Some(run(command.args(["export", "log.jsonl", "-o", target])))
    };
    let Some(written) = export("d/out.json") else {
        return;
    };
    let written = written.expect_code(0);
    assert_eq!(
        written.err(),
        "note: not atomic, directory is not writable\n"
    );
    let found = document(&fs::read(&out).expect("a document"));
    assert_eq!(found["session"]["id"], ID);
    let refused = export("d/new.json").expect("as before").expect_code(1);
    assert!(refused.err().contains("cannot write `d/new.json`"));
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).expect("a mode");
    assert_eq!(names(&home, "d"), ["out.json"]);
}
