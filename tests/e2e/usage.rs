//! Help, version, wrong arguments, configuration: what the command line itself answers.

use crate::support::{home::Home, process};

#[test]
fn version_and_help_go_to_standard_output() {
    let home = Home::new();
    let version = process::run(home.mcpsnoop().arg("--version")).expect_code(0);
    assert_eq!(
        version.out(),
        format!("mcpsnoop {}\n", env!("CARGO_PKG_VERSION"))
    );
    let help = process::run(home.mcpsnoop().arg("--help")).expect_code(0);
    assert!(help.err().is_empty());
    for word in [
        "-- npx", "remote", "open", "export", "demo", "prune", "--label",
    ] {
        assert!(
            help.out().contains(word),
            "{word} is not in\n{}",
            help.out()
        );
    }
    for word in ["redact", "otlp", "metrics", "--copy", "--jump", "wrap"] {
        assert!(!help.out().contains(word), "{word} is not built yet");
    }
    assert!(!home.state().exists(), "help creates nothing");
}

#[test]
fn wrong_arguments_end_with_two_and_say_what_to_do() {
    let home = Home::new();
    let cases: [(&[&str], &str); 16] = [
        (&["--nonsense"], "--nonsense"),
        (&["--label", "a/b", "--", "true"], "slash"),
        (&["--label", "x"], "needs a command"),
        (&["--"], "no command"),
        (&["--history-limit", "-1"], "negative"),
        (&["--trace-buffer", "8", "--", "true"], "16"),
        (&["remote", "-oProxyCommand=x"], "TARGET"),
        (&["remote", "--json", "-x"], "-x"),
        (&["remote", "--json", "a b"], "refused"),
        (
            &["remote", "--json", "--remote-home", "home", "h"],
            "absolute",
        ),
        (&["remote", "--cat", "s", "a", "b"], "one target"),
        (&["prune"], "--older-than"),
        (&["remte", "build01"], "did you mean `mcpsnoop remote`?"),
        (&["list"], "no such subcommand"),
        (&["version"], "mcpsnoop --version"),
        (&["demo", "--speed", "-1", "--remote", "--json"], "factor"),
    ];
    for (arguments, word) in cases {
        let refused = process::run(home.mcpsnoop().args(arguments)).expect_code(2);
        assert!(
            refused.out().is_empty(),
            "{arguments:?} wrote {}",
            refused.out()
        );
        assert!(
            refused.err().contains(word),
            "{arguments:?} said {}",
            refused.err()
        );
    }
    assert!(!home.state().exists(), "a refusal creates nothing");
}

#[test]
fn a_program_needs_no_dashes_and_what_is_none_says_what_it_is() {
    let home = Home::new();
    process::run(home.mcpsnoop().args(["true", "--help"])).expect_code(0);
    for word in ["remte", "no-such-program"] {
        let behind = process::run(home.mcpsnoop().args(["--", word])).expect_code(127);
        assert!(behind.err().contains(word), "{}", behind.err());
    }
    let log = home.path().join("copied.jsonl");
    std::fs::write(&log, "{}\n").unwrap();
    let refused = process::run(home.mcpsnoop().arg(&log)).expect_code(2);
    let hint = format!("to look at a log: mcpsnoop open {}", log.display());
    assert!(refused.err().contains(&hint), "{}", refused.err());
    process::run(home.mcpsnoop().arg("--").arg(&log)).expect_code(126);
}

#[test]
fn viewers_without_a_terminal_end_with_two_and_name_what_works() {
    let home = Home::new();
    for (arguments, word) in [
        (&[][..], "open -"),
        (&["open", "-"][..], "jq"),
        (&["demo"][..], "--remote --json"),
        (&["remote", "h"][..], "--json"),
    ] {
        let refused = process::run(home.mcpsnoop().args(arguments)).expect_code(2);
        assert!(
            refused.err().contains(word),
            "{arguments:?} said {}",
            refused.err()
        );
    }
}

#[test]
fn a_configuration_file_labels_the_server() {
    let home = Home::new();
    home.write("project/.mcpsnoop.toml", "label = \"from the file\"\n");
    let mut command = home.mcpsnoop();
    command
        .current_dir(home.path().join("project"))
        .args(["--", "true"]);
    process::run(&mut command).expect_code(0);
    let log = std::fs::read_to_string(home.only_log()).expect("the log");
    assert!(log.contains(r#""server_label":"from the file""#), "{log}");
}

#[test]
fn a_setting_that_asks_for_redaction_is_refused_and_nothing_runs() {
    let home = Home::new();
    home.write("project/.mcpsnoop.toml", "redact-key = \"token\"\n");
    let mut command = home.mcpsnoop();
    command
        .current_dir(home.path().join("project"))
        .args(["--", "touch", "ran"]);
    let refused = process::run(&mut command).expect_code(2);
    assert!(
        refused.err().contains("line 1") && refused.err().contains("redact-key"),
        "{}",
        refused.err()
    );
    assert!(!home.path().join("project/ran").exists());

    home.write("project/.mcpsnoop.toml", "lable = x\n");
    let broken = process::run(&mut command).expect_code(1);
    assert!(broken.err().contains("lable"), "{}", broken.err());
}
