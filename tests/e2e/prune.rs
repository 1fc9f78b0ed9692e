//! `mcpsnoop prune` on real files, beside a real recorder.

use std::{
    fs::File,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use rustix::process::Signal;

use crate::support::{home::Home, process, process::Running, terminal::Terminal};

const DAY: Duration = Duration::from_hours(24);

/// Writes a finished log that last changed `age` ago.
fn old_log(home: &Home, id: &str, label: &str, age: Duration) -> PathBuf {
    let line = |seq: u32, direction: &str, raw: &str| {
        format!(
            r#"{{"session_id":"{id}","server_label":"{label}","seq":{seq},"ts":"2026-01-01T00:00:00Z","direction":"{direction}","transport":"stdio","raw":{raw}}}"#
        ) + "\n"
    };
    let start = line(1, "meta", r#"{"command":["x"],"format":7}"#);
    let ping = line(2, "c2s", r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#);
    let end = line(
        3,
        "meta",
        r#"{"command":["x"],"event":"end","exit_code":0,"dropped":0}"#,
    );
    let path = home.write(
        &format!(".local/state/mcpsnoop/sessions/{id}.jsonl"),
        start + &ping + &end,
    );
    age_by(&path, age);
    path
}

fn age_by(path: &Path, age: Duration) {
    let file = File::options().append(true).open(path).expect("the log");
    file.set_modified(system_now() - age).expect("a time stamp");
}

/// Tests make files old relative to the system's clock.
#[expect(
    clippy::disallowed_methods,
    reason = "file times of a test are relative to the real clock"
)]
fn system_now() -> SystemTime {
    SystemTime::now()
}

#[test]
fn prune_removes_old_logs_and_keeps_the_rest() {
    let home = Home::new();
    let old = old_log(&home, "files-1-000000000001", "files", DAY * 40);
    let young = old_log(&home, "files-2-000000000002", "files", DAY * 20);
    let other = home.write(".local/state/mcpsnoop/sessions/notes.txt", "keep me");
    age_by(&other, DAY * 90);
    let elsewhere = home.write("elsewhere.jsonl", "keep me too");
    let link = home.sessions().join("link.jsonl");
    std::os::unix::fs::symlink(&elsewhere, &link).expect("a link");

    let dry =
        process::run(
            home.mcpsnoop()
                .args(["prune", "--older-than", "30d", "--dry-run", "--yes"]),
        )
        .expect_code(0);
    assert!(
        dry.out().starts_with("would remove 1 session log ("),
        "{}",
        dry.out()
    );
    assert!(dry.out().contains("files-1-000000000001.jsonl"));
    assert!(old.exists());

    let done = process::run(
        home.mcpsnoop()
            .args(["prune", "--older-than", "30d", "--yes"]),
    )
    .expect_code(0);
    assert!(
        done.out().starts_with("removed 1 session log ("),
        "{}",
        done.out()
    );
    assert!(!old.exists());
    for kept in [&young, &other, &elsewhere, &link] {
        assert!(kept.exists(), "{kept:?}");
    }
    let again = process::run(
        home.mcpsnoop()
            .args(["prune", "--older-than", "30d", "--yes"]),
    )
    .expect_code(0);
    assert_eq!(again.out(), "nothing older than 30d\n");
    let looked = format!("looked in {}\n", home.sessions().display());
    assert!(again.err().contains(&looked), "{}", again.err());
}

#[test]
fn prune_never_removes_a_session_that_is_being_recorded() {
    let home = Home::new();
    let mut recorder = Running::start(home.mcpsnoop().args(["--label", "idle", "--", "cat"]));
    recorder.send("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n");
    assert!(recorder.next_line().contains("ping"));
    let log = crate::support::wait::wait_for("both frames in the log", || {
        let log = home.logs().into_iter().next()?;
        (std::fs::read_to_string(&log).ok()?.lines().count() == 3).then_some(log)
    });
    age_by(&log, DAY * 60);

    let pruned = process::run(
        home.mcpsnoop()
            .args(["prune", "--older-than", "30d", "--yes"]),
    )
    .expect_code(0);
    assert_eq!(pruned.out(), "nothing older than 30d\n");
    assert!(
        pruned.err().contains("kept 1 live session"),
        "{}",
        pruned.err()
    );
    assert!(log.exists());

    recorder.signal(Signal::KILL);
    drop(recorder);
    age_by(&log, DAY * 60);
    crate::support::wait::wait_for("the lock to go", || {
        process::run(
            home.mcpsnoop()
                .args(["prune", "--older-than", "30d", "--yes"]),
        );
        (!log.exists()).then_some(())
    });
}

#[test]
fn prune_asks_nobody_without_a_terminal() {
    let home = Home::new();
    let old = old_log(&home, "files-1-000000000001", "files", DAY * 40);
    let refused =
        process::run(home.mcpsnoop().args(["prune", "--older-than", "30d"])).expect_code(1);
    assert!(refused.err().contains("--yes"), "{}", refused.err());
    assert!(old.exists());
}

#[test]
fn prune_names_what_it_asks_about() {
    let home = Home::new();
    for number in 0..12 {
        let days = u32::try_from(60 - number).unwrap();
        old_log(&home, &format!("files-1-{number:012}"), "files", DAY * days);
    }
    let mut command = home.mcpsnoop();
    command.args(["prune", "--older-than", "30d"]);
    let mut terminal = Terminal::start(&command, 120, 24);
    let asked = terminal.wait_text("[y/N]");
    for words in [
        "files-1-000000000000.jsonl",
        "files-1-000000000009.jsonl",
        "and 2 more",
    ] {
        assert!(asked.contains(words), "{words} is not in {asked}");
    }
    assert!(!asked.contains("files-1-000000000010"), "{asked}");
    terminal.keys("n\r");
    assert_eq!(terminal.wait(), 0);
    assert_eq!(home.logs().len(), 12);
}

#[test]
fn prune_takes_only_the_labels_that_were_named() {
    let home = Home::new();
    let files = old_log(&home, "files-1-000000000001", "files", DAY * 40);
    let search = old_log(&home, "search-1-000000000002", "search", DAY * 40);
    process::run(home.mcpsnoop().args([
        "prune",
        "--older-than",
        "30d",
        "--label",
        "search",
        "--yes",
    ]))
    .expect_code(0);
    assert!(files.exists());
    assert!(!search.exists());
    let cases = [
        (["30d", "nope"], "no session has the label nope\n"),
        (
            ["30d", "nope,search"],
            "no session has the labels nope or search\n",
        ),
        (["90d", "files"], "nothing older than 90d\n"),
    ];
    for ([age, label], said) in cases {
        let arguments = ["prune", "--older-than", age, "--label", label];
        let out = process::run(home.mcpsnoop().args(arguments)).expect_code(0);
        assert_eq!(out.out(), said);
    }
    process::run(
        home.mcpsnoop()
            .args(["prune", "--older-than", "30d", "--label", " ", "--yes"]),
    )
    .expect_code(2);
    assert!(files.exists());
}

#[test]
fn ages_that_mean_nothing_are_refused_and_nothing_is_created() {
    let home = Home::new();
    for age in ["0", "-1h", "106752d", "1d12h", ""] {
        let refused = process::run(
            home.mcpsnoop()
                .args(["prune", "--older-than", age, "--yes"]),
        )
        .expect_code(2);
        assert!(refused.err().contains("30d"), "{age}: {}", refused.err());
    }
    let nothing =
        process::run(home.mcpsnoop().args(["prune", "--older-than", "30d"])).expect_code(0);
    let looked = format!(
        "looked in {}, which does not exist\n",
        home.sessions().display()
    );
    assert_eq!(nothing.err(), looked);
    assert!(!home.state().exists());
}

#[test]
fn prune_names_another_place_that_has_sessions() {
    let home = Home::new();
    old_log(&home, "files-1-000000000001", "files", DAY * 40);
    let mut command = home.mcpsnoop();
    command.env("XDG_STATE_HOME", home.path().join("moved"));
    let nothing = process::run(command.args(["prune", "--older-than", "30d"])).expect_code(0);
    assert_eq!(nothing.out(), "nothing older than 30d\n");
    let other = format!(
        "{} has 1 session log: `MCPSNOOP_HOME=",
        home.state().display()
    );
    assert!(nothing.err().contains(&other), "{}", nothing.err());
}
