//! `mcpsnoop remote` through a real sshd: modes, lists, bytes, exit codes, several hosts, the viewer over a lost link.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::PathBuf,
    process::{Command, Stdio},
};

use rustix::process::Signal;
use serde_json::Value;

use crate::{
    fault_proxy::{Fault, Proxy},
    open::{Lines, leave},
    sshd::{Sshd, keygen, public_half},
    support::{
        home::Home,
        log::read_log,
        process::{Output, Running, run},
        terminal::Terminal,
        wait::wait_for,
    },
    watch::{Wrapped, answer, request},
};

/// A machine to watch: an sshd, and a recorder's state directory that its environment names.
struct Far {
    home: Home,
    sshd: Sshd,
    state: PathBuf,
}

impl Far {
    fn start(extra: &str) -> Option<Self> {
        let home = Home::new();
        let state = home.path().join("far");
        fs::create_dir_all(state.join("sessions")).expect("folders");
        fs::set_permissions(&state, fs::Permissions::from_mode(0o700)).expect("permissions");
        let named = format!("{extra}\nSetEnv MCPSNOOP_HOME={}", state.display());
        let sshd = Sshd::start(&named)?;
        Some(Self { home, sshd, state })
    }

    /// `mcpsnoop remote` with the configuration that leads here, and nothing that could ask.
    fn remote(&self, arguments: &[&str]) -> Command {
        let mut command = self.home.mcpsnoop();
        command
            .args(["remote", "--batch", "-F"])
            .arg(&self.sshd.config)
            .args(arguments);
        command
    }

    /// A recorder over there, with its client.
    fn record(&self, label: &str) -> Wrapped {
        Wrapped::start(&self.home, label, |command| {
            command.env("MCPSNOOP_HOME", &self.state);
        })
    }

    fn put(&self, id: &str, text: &[u8]) -> PathBuf {
        self.home.write(&format!("far/sessions/{id}.jsonl"), text)
    }

    fn only_log(&self) -> PathBuf {
        let mut entries = fs::read_dir(self.state.join("sessions")).expect("logs");
        entries.next().expect("a log").expect("an entry").path()
    }

    /// What lies in the state directory beside the sessions.
    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.state).expect("the state directory");
        let names = entries.map(|entry| {
            entry
                .expect("an entry")
                .file_name()
                .into_string()
                .expect("a name")
        });
        let mut names: Vec<_> = names.filter(|name| name != "sessions").collect();
        names.sort();
        names
    }
}

/// Host and envelope of each frame line, bytes as they were printed.
fn frames(out: &[u8]) -> Vec<(String, Vec<u8>)> {
    let mut frames = Vec::new();
    for line in out.split(|&byte| byte == b'\n') {
        let Some(rest) = line.strip_prefix(b"{\"type\":\"frame\",") else {
            continue;
        };
        let at = memchr::memmem::find(rest, b"\"envelope\":").expect("an envelope");
        let envelope = rest[at + 11..]
            .strip_suffix(b"}")
            .expect("the end of the line")
            .to_vec();
        let head = String::from_utf8_lossy(&rest[..at]).into_owned();
        let host = head.split('"').nth(3).expect("a host").to_owned();
        frames.push((host, envelope));
    }
    frames
}

/// Lines of one `type`.
fn lines_of(out: &str, kind: &str) -> Vec<Value> {
    let values = out
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")));
    values
        .filter(|value: &Value| value["type"] == kind)
        .collect()
}

#[test]
fn what_was_sent_recorded_and_printed_agree_in_every_mode() {
    let cases = [
        ("", false, "socket"),
        ("AllowStreamLocalForwarding no", false, "log"),
        ("ForceCommand internal-sftp", true, "socket"),
        (
            "AllowStreamLocalForwarding no\nForceCommand internal-sftp",
            true,
            "log",
        ),
    ];
    for (extra, located, mode) in cases {
        let Some(far) = Far::start(extra) else { return };
        let mut wrapped = far.record("gen");
        for _ in 0..100 {
            wrapped.call("numbered");
        }
        let state = far.state.display().to_string();
        let location = ["--remote-mcpsnoop-home", &state];
        let mut arguments: Vec<&str> = if located {
            location.to_vec()
        } else {
            Vec::new()
        };
        arguments.extend(["--json", "web1"]);
        let mut remote = Running::start(&mut far.remote(&arguments));
        // Calls go on while the link is made, a source found and the history read.
        let live = loop {
            wrapped.call("numbered");
            let line = remote.next_line();
            if line.contains("\"state\":\"live\"") {
                break line;
            }
        };
        assert!(
            live.contains(&format!("\"mode\":\"{mode}\"")),
            "{extra}: {live}\n{}",
            far.sshd.log()
        );
        assert_eq!(
            live.contains("\"reason\""),
            mode == "log",
            "{extra}: {live}"
        );
        for _ in 0..100 {
            wrapped.call("numbered");
        }
        let calls = wrapped.calls();
        wrapped.finish();
        remote.wait_out("\"event\":\"end\"");
        remote.signal(Signal::TERM);
        let output = remote.wait();
        assert_eq!(output.code, Some(143), "{extra}: {}", output.err());
        let log = far.only_log();
        let recorded = fs::read(&log).expect("the log");
        let printed: Vec<u8> = frames(&output.stdout)
            .into_iter()
            .flat_map(|(_, envelope)| [envelope, b"\n".to_vec()].concat())
            .collect();
        assert!(
            printed == recorded,
            "{extra}: printed and recorded differ\n{}",
            output.out()
        );
        let lines = read_log(&log);
        let sent = |direction| {
            lines
                .iter()
                .filter(move |line| line.direction == direction)
                .map(|line| String::from_utf8(line.frame()).expect("text"))
        };
        assert!(
            sent("c2s").eq((1..=calls).map(|id| request(id, "numbered").trim_end().to_owned())),
            "{extra}"
        );
        assert!(sent("s2c").eq((1..=calls).map(answer)), "{extra}");
        let out = output.out();
        assert!(lines_of(&out, "gap").is_empty(), "{extra}");
        let end = &lines_of(&out, "end")[0];
        assert!(
            out.lines()
                .last()
                .is_some_and(|line| line.contains("\"type\":\"end\"")),
            "{extra}: {out}"
        );
        let counts = |name: &str| end[name].as_u64();
        assert_eq!(
            (counts("frames"), counts("damaged"), counts("conflicts")),
            (Some(lines.len() as u64), Some(0), Some(0)),
            "{extra}: {end}"
        );
        assert!(far.names().is_empty(), "{extra}: {:?}", far.names());
    }
}

#[test]
fn a_recorder_that_writes_elsewhere_is_watched_from_its_log() {
    let Some(far) = Far::start("") else { return };
    let log = far.home.path().join("elsewhere.jsonl");
    let mut wrapped = Wrapped::start(&far.home, "gen", |command| {
        command
            .env("MCPSNOOP_HOME", &far.state)
            .arg("--trace-file")
            .arg(&log);
    });
    // More than the recorder keeps for a viewer that is not there yet.
    let long = "x".repeat(200_000);
    for _ in 0..40 {
        wrapped.call(&long);
    }
    let remote = Running::start(&mut far.remote(&["--json", "web1"]));
    // A session that is over before its recorder could connect is known to nobody.
    remote.wait_out("\"type\":\"frame\"");
    for _ in 0..10 {
        wrapped.call("numbered");
    }
    wrapped.finish();
    remote.wait_out("\"event\":\"end\"");
    remote.signal(Signal::TERM);
    let output = remote.wait();
    let recorded = fs::read(&log).expect("the log");
    let printed: Vec<u8> = frames(&output.stdout)
        .into_iter()
        .flat_map(|(_, envelope)| [envelope, b"\n".to_vec()].concat())
        .collect();
    let numbers = |bytes: &[u8]| -> Vec<u64> {
        let lines = bytes
            .split(|byte| *byte == b'\n')
            .filter(|line| !line.is_empty());
        let number = |line| serde_json::from_slice::<Value>(line).ok()?["seq"].as_u64();
        lines.map(|line| number(line).unwrap_or_default()).collect()
    };
    assert_eq!(numbers(&printed), numbers(&recorded));
    assert!(printed == recorded, "printed and recorded differ");
    assert!(lines_of(&output.out(), "gap").is_empty());
    let path = log.display().to_string();
    assert!(
        lines_of(&output.out(), "session")
            .iter()
            .any(|session| session["file"] == *path || session["file"] == "elsewhere.jsonl"),
        "{}",
        output.err()
    );
}

/// Standard error without the remark that the account's own directory has sessions: whoever runs the
/// tests may use the program.
fn said(output: &Output) -> String {
    let err = output.err();
    let others = err
        .lines()
        .filter(|line| !line.is_empty() && !line.ends_with(" has sessions too"));
    others.collect()
}

/// Three finished sessions, the first of them with more than a pipe holds.
fn three_sessions(far: &Far) {
    let mut big = Lines::new("files-101-0a0000000001", "files");
    for _ in 0..600 {
        big = big.call("some_tool");
    }
    far.put("files-101-0a0000000001", &big.end().text);
    for (id, label) in [
        ("files-202-0b0000000002", "files"),
        ("web-303-0c0000000003", "web"),
    ] {
        far.put(id, &Lines::new(id, label).call("small_tool").end().text);
    }
}

#[test]
fn sessions_are_listed_printed_and_loaded_once() {
    let Some(far) = Far::start("") else { return };
    three_sessions(&far);
    let list = run(&mut far.remote(&["--list", "web1"])).expect_code(0);
    assert_eq!(said(&list), "");
    let out = list.out();
    assert!(out.starts_with("SESSION"), "{out}");
    assert_eq!(out.lines().count(), 4, "{out}");
    let listed = run(&mut far.remote(&["--list", "--json", "web1"]))
        .expect_code(0)
        .out();
    assert_eq!(lines_of(&listed, "session").len(), 3, "{listed}");

    let some = run(&mut far.remote(&["--list", "--session", "web", "web1"])).expect_code(0);
    assert_eq!(some.out().lines().count(), 2, "{}", some.out());
    let none = run(&mut far.remote(&["--list", "--session", "zzz", "web1"])).expect_code(6);
    assert_eq!(none.out(), "");
    assert!(
        none.err().contains("web1: session `zzz` not found"),
        "{}",
        none.err()
    );

    let big = fs::read(far.state.join("sessions/files-101-0a0000000001.jsonl")).expect("the log");
    for name in ["files-101", "files-101-0a0000000001"] {
        let cat = run(&mut far.remote(&["--cat", name, "web1"])).expect_code(0);
        assert!(cat.stdout == big, "{name}");
    }
    let by_label = run(&mut far.remote(&["--cat", "web", "web1"])).expect_code(0);
    assert_eq!(by_label.out().lines().count(), 4);

    let once = run(&mut far.remote(&["--json", "--once", "web1"])).expect_code(0);
    let out = once.out();
    assert_eq!(frames(&once.stdout).len(), 1_202 + 4 + 4);
    let last = out.lines().last().expect("a line");
    assert!(
        last.starts_with("{\"type\":\"end\"") && last.contains("\"exit\":0"),
        "{last}"
    );
    let some =
        run(&mut far.remote(&["--json", "--once", "--session", "web", "web1"])).expect_code(0);
    assert_eq!(frames(&some.stdout).len(), 4);
    let newest =
        run(&mut far.remote(&["--json", "--once", "--history-limit", "1", "web1"])).expect_code(0);
    assert_eq!(
        lines_of(&newest.out(), "session")
            .iter()
            .filter(|session| session["loaded"] == true)
            .count(),
        1,
        "{}",
        newest.out()
    );
    assert!(far.names().is_empty(), "{:?}", far.names());
}

/// A script in which `$R` is the program with the words of `remote`.
fn scripted(far: &Far, script: &str) -> Command {
    let mut command = far.home.command("sh");
    let words = format!(
        "'{}' remote --batch -F '{}'",
        env!("CARGO_BIN_EXE_mcpsnoop"),
        far.sshd.config.display()
    );
    command.args([
        "-c",
        &script
            .replace("$R", &words)
            .replace("$0", env!("CARGO_BIN_EXE_mcpsnoop")),
    ]);
    command
}

#[test]
fn a_printed_log_feeds_other_programs_and_a_closed_pipe_ends_quietly() {
    let Some(far) = Far::start("") else { return };
    three_sessions(&far);
    let counted = run(&mut scripted(&far, "$R --cat files-101 web1 | wc -l")).expect_code(0);
    assert_eq!(counted.out().trim(), "1202");
    for words in ["--cat files-101 web1", "--json web1"] {
        let script = format!("{{ $R {words}; echo $? >code; }} | head -n 1");
        let output = run(&mut scripted(&far, &script)).expect_code(0);
        assert_eq!(output.out().lines().count(), 1, "{words}");
        let code = fs::read_to_string(far.home.path().join("code")).expect("the exit code");
        assert_eq!(code.trim(), "141", "{words}");
        assert_eq!(said(&output), "", "{words}");
    }
    let mut terminal = Terminal::start(&scripted(&far, "$R --cat web web1 | $0 open -"), 80, 24);
    terminal.wait_text("small_tool");
    leave(&mut terminal);
    // A torn tail is not printed, and told.
    let mut torn = Lines::new("torn-1-000000000001", "torn").call("tool").text;
    torn.extend_from_slice(b"{\"session_id\":\"torn");
    far.put("torn-1-000000000001", &torn);
    let cat = run(&mut far.remote(&["--cat", "torn", "web1"])).expect_code(0);
    assert_eq!(cat.out().lines().count(), 3);
    assert!(cat.err().contains("incomplete"), "{}", cat.err());
}

/// The fingerprint of the server's first host key.
fn fingerprint(sshd: &Sshd) -> String {
    let mut command = Command::new("ssh-keygen");
    command
        .arg("-lf")
        .arg(sshd.dir.path().join("host_ed25519.pub"))
        .stdin(Stdio::null());
    let told = run(&mut command).expect_code(0).out();
    told.split_whitespace()
        .nth(1)
        .expect("a fingerprint")
        .to_owned()
}

#[track_caller]
fn refused(command: &mut Command, code: i32, words: &[&str]) -> String {
    let output = run(command).expect_code(code);
    let said = output.err();
    assert!(said.contains("error: "), "{said}");
    for word in words {
        assert!(said.contains(word), "{word} is not in\n{said}");
    }
    assert!(!said.contains('\u{1b}'), "{said}");
    said
}

#[test]
fn every_refusal_has_its_exit_code_and_names_the_next_step() {
    let Some(far) = Far::start("") else { return };
    three_sessions(&far);
    // 3: nobody there, no such name.
    let nobody = Proxy::start(1);
    let nobody_port = nobody.port.to_string();
    drop(nobody);
    refused(
        &mut far.remote(&["--list", "-p", &nobody_port, "web1"]),
        3,
        &["web1: ", &nobody_port],
    );
    let mut nowhere = far.home.mcpsnoop();
    nowhere.args([
        "remote",
        "--list",
        "--batch",
        "-F",
        "none",
        "nowhere.invalid",
    ]);
    refused(&mut nowhere, 3, &["nowhere.invalid"]);
    // 4: a new key; only its fingerprint lets it in.
    let key = fingerprint(&far.sshd);
    let new = [
        "-o",
        "UserKnownHostsFile=/dev/null",
        "-o",
        "HostKeyAlgorithms=ssh-ed25519",
    ];
    let list = [&new[..], &["--list", "web1"]].concat();
    refused(&mut far.remote(&list), 4, &[&key, "--host-key"]);
    run(&mut far.remote(&[&list[..], &["--host-key", &key]].concat())).expect_code(0);
    let other = format!("SHA256:{}", "A".repeat(43));
    refused(
        &mut far.remote(&[&list[..], &["--host-key", &other]].concat()),
        4,
        &[&key],
    );
    // A changed one.
    let known = far.home.path().join("known");
    let line = format!(
        "[127.0.0.1]:{} {}\n",
        far.sshd.port,
        crate::sshd::public_line(&far.sshd.user_key)
    );
    fs::write(&known, line).expect("known hosts");
    let file = format!("UserKnownHostsFile={}", known.display());
    refused(
        &mut far.remote(&[
            "-o",
            &file,
            "-o",
            "HostKeyAlgorithms=ssh-ed25519",
            "--list",
            "web1",
        ]),
        4,
        &["not the recorded one", "ssh-keygen -R"],
    );
    // 5: a key that may not log in.
    let stranger = far.home.path().join("stranger");
    keygen(&stranger, "ed25519", "");
    assert!(public_half(&stranger).exists());
    let mut config = fs::read_to_string(&far.sshd.config).expect("the configuration");
    config = config.replace(
        &far.sshd.user_key.display().to_string(),
        &stranger.display().to_string(),
    );
    let config = far.home.write("stranger_config", config);
    let mut command = far.home.mcpsnoop();
    command
        .args(["remote", "--batch", "--list", "-F"])
        .arg(config)
        .arg("web1");
    refused(&mut command, 5, &["publickey", "SHA256:", "-i FILE"]);
    // 6: not there, nothing there.
    refused(
        &mut far.remote(&["--cat", "file-101", "web1"]),
        6,
        &["files-101-0a0000000001", "--list"],
    );
    refused(
        &mut far.remote(&["--json", "--once", "--session", "absent", "web1"]),
        6,
        &["absent"],
    );
    let empty = far.home.path().join("empty").display().to_string();
    refused(
        &mut far.remote(&["--list", "--remote-mcpsnoop-home", &empty, "web1"]),
        6,
        &[&empty],
    );
    let Some(bare) = Far::start("ForceCommand /bin/false") else {
        return;
    };
    let state = bare.state.display().to_string();
    refused(
        &mut bare.remote(&["--list", "--remote-mcpsnoop-home", &state, "web1"]),
        6,
        &["sftp"],
    );
}

#[test]
fn what_cannot_be_meant_on_the_command_line_is_told_at_once() {
    let Some(far) = Far::start("") else { return };
    three_sessions(&far);
    let mut absent = far.home.mcpsnoop();
    absent.args(["remote", "--list", "-F", "/nonexistent", "web1"]);
    refused(
        &mut absent,
        2,
        &[
            "`/nonexistent` cannot be read",
            "caused by: No such file",
            "hint: correct the path behind `-F`",
        ],
    );
    refused(
        &mut far.remote(&["--list", "-o", "Portt=1", "web1"]),
        2,
        &["`-o Portt=1`", "hint: did you mean `-o Port=…`?"],
    );
    // As with ssh: a warning, and the login goes on with the other keys.
    let warned = run(&mut far.remote(&["--list", "-i", "/nonexistent", "web1"])).expect_code(0);
    let warning = "warning: the key file /nonexistent behind `-i` cannot be used: No such file";
    assert!(warned.err().starts_with(warning), "{}", warned.err());
}

#[test]
fn a_lost_connection_ends_with_seven_where_it_is_not_restored() {
    let Some(far) = Far::start("") else { return };
    three_sessions(&far);
    let proxy = Proxy::start(far.sshd.port);
    let port = proxy.port.to_string();
    let key = fingerprint(&far.sshd);
    let pinned = [
        "-o",
        "HostKeyAlgorithms=ssh-ed25519",
        "--host-key",
        &key,
        "-p",
        &port,
    ];
    let remote = Running::start(
        &mut far.remote(&[&pinned[..], &["--json", "--no-reconnect", "web1"]].concat()),
    );
    remote.wait_out("\"state\":\"live\"");
    proxy.strike(Fault::Reset);
    let output = remote.wait().expect_code(7);
    assert!(output.err().contains("error: web1: "), "{}", output.err());
    assert!(
        output
            .out()
            .lines()
            .last()
            .is_some_and(|line| line.contains("\"exit\":7")),
        "{}",
        output.out()
    );
    // Restored: everything once, and the wait was told.
    let remote = Running::start(&mut far.remote(&[&pinned[..], &["--json", "web1"]].concat()));
    remote.wait_out("\"state\":\"live\"");
    proxy.refuse(true);
    proxy.strike(Fault::Cut);
    let told = remote.wait_out("\"state\":\"reconnecting\"");
    assert!(
        told.contains("the connection was closed without a word"),
        "{told}"
    );
    let mut wrapped = far.record("meanwhile");
    wrapped.call("tool");
    proxy.refuse(false);
    remote.wait_out("{\"session_id\":\"meanwhile");
    wrapped.call("tool");
    wrapped.finish();
    remote.wait_out("\"exit_code\":0,\"dropped\":0}}}\n");
    wait_for("the end record", || {
        remote
            .wait_out("meanwhile")
            .contains("\"event\":\"end\"")
            .then_some(())
    });
    remote.signal(Signal::INT);
    let output = remote.wait().expect_code(130);
    let mut printed = frames(&output.stdout);
    let all = printed.len();
    printed.sort();
    printed.dedup();
    assert_eq!(printed.len(), all, "something came twice");
    assert!(lines_of(&output.out(), "gap").is_empty());
}

#[test]
fn several_hosts_are_told_apart_and_the_first_failure_decides() {
    let (Some(one), Some(two)) = (Far::start(""), Far::start("")) else {
        return;
    };
    three_sessions(&one);
    two.put(
        "db-1-000000000001",
        &Lines::new("db-1-000000000001", "db")
            .call("tool")
            .end()
            .text,
    );
    let both = both_hosts(&one, &two, two.sshd.port);
    let mut command = one.home.mcpsnoop();
    command
        .args(["remote", "--batch", "--json", "--once", "-F"])
        .arg(&both);
    let output = run(command.args(["web1", "web2"])).expect_code(0);
    let of = |host: &str| {
        frames(&output.stdout)
            .iter()
            .filter(|(name, _)| name == host)
            .count()
    };
    assert_eq!((of("web1"), of("web2")), (1_210, 4));
    assert_eq!(lines_of(&output.out(), "end").len(), 2);
    let mut list = one.home.mcpsnoop();
    list.args(["remote", "--batch", "--list", "-F"])
        .arg(&both)
        .args(["web1", "web2"]);
    let listed = run(&mut list).expect_code(0).out();
    assert!(
        listed
            .lines()
            .next()
            .is_some_and(|head| head.contains("HOST")),
        "{listed}"
    );
    assert_eq!(listed.lines().count(), 5, "{listed}");
    // One of them is not there: the other is printed all the same.
    let nobody = Proxy::start(1).port;
    let broken = both_hosts(&one, &two, nobody);
    let mut command = one.home.mcpsnoop();
    command
        .args(["remote", "--batch", "--json", "--once", "-F"])
        .arg(&broken);
    let output = run(command.args(["web1", "web2"])).expect_code(3);
    assert_eq!(frames(&output.stdout).len(), 1_210);
    assert!(output.err().contains("error: web2: "), "{}", output.err());
}

/// A configuration in which `web1` and `web2` lead to two machines.
fn both_hosts(one: &Far, two: &Far, second_port: u16) -> PathBuf {
    let block = |name: &str, far: &Far, port: u16| {
        let text = fs::read_to_string(&far.sshd.config).expect("the configuration");
        let alias = format!("  HostKeyAlias [127.0.0.1]:{}\n", far.sshd.port);
        text.replace("Host *", &format!("Host {name}"))
            .replace(&format!("Port {}", far.sshd.port), &format!("Port {port}"))
            + &alias
    };
    let text = block("web1", one, one.sshd.port) + &block("web2", two, second_port);
    one.home.write(&format!("both_{second_port}"), text)
}

#[test]
fn the_viewer_shows_two_hosts_and_survives_a_lost_link() {
    let (Some(one), Some(two)) = (Far::start(""), Far::start("")) else {
        return;
    };
    let mut near = one.record("alpha");
    let mut far = two.record("bravo");
    near.call("first_tool");
    far.call("other_tool");
    let proxy = Proxy::start(two.sshd.port);
    let config = both_hosts(&one, &two, proxy.port);
    let mut command = one.home.mcpsnoop();
    command
        .args(["remote", "--no-local", "-F"])
        .arg(&config)
        .args(["web1", "web2"]);
    let mut terminal = Terminal::start(&command, 120, 40);
    let screen = terminal.wait_screen("sessions of both", |screen| {
        screen.contains("alpha") && screen.contains("bravo") && screen.contains("2 * live")
            || screen.contains("2 ● live") && screen.contains("alpha") && screen.contains("bravo")
    });
    assert!(
        screen.contains("HOST") && screen.contains("web1") && screen.contains("web2"),
        "{screen}"
    );
    terminal.keys(":hosts\r");
    terminal.wait_screen("both live", |screen| {
        screen.matches("live socket").count() >= 2 && screen.contains("2 live")
    });
    // Recorded to its end while it is watched: nothing of it is left to read after the loss.
    let mut done = two.record("charlie");
    done.call("third_tool");
    done.finish();
    terminal.keys("q");
    terminal.wait_screen("the ended session", |screen| {
        screen.contains("charlie") && screen.contains('○')
    });
    terminal.keys(":hosts\r");
    proxy.refuse(true);
    proxy.strike(Fault::Reset);
    let screen = terminal.wait_text("reconnecting");
    assert!(
        screen.contains("live socket"),
        "the other host is not disturbed\n{screen}"
    );
    // What the lost host records meanwhile is not called missing, and comes later.
    far.call("meanwhile_tool");
    near.call("second_tool");
    terminal.keys("q:alpha\r");
    terminal.wait_text("second_tool");
    terminal.keys(":bravo\r");
    let screen = terminal.wait_text("other_tool");
    assert!(
        !screen.contains("missing") && !screen.contains("ended"),
        "{screen}"
    );
    proxy.refuse(false);
    terminal.keys(":hosts\rr");
    terminal.wait_screen("both live again", |screen| screen.contains("2 live"));
    terminal.keys("q");
    terminal.wait_text("meanwhile_tool");
    far.call("last_tool");
    terminal.wait_text("last_tool");
    let screen = terminal.wait_text(" 6 frames");
    assert!(!screen.contains("missing"), "{screen}");
    terminal.keys(":sessions\r");
    terminal.wait_screen("sessions without a reading mark", |screen| {
        screen.contains("charlie") && !screen.contains('↻')
    });
    leave(&mut terminal);
    near.finish();
    far.finish();
    // The name and its note go with the viewer; sshd keeps nothing.
    assert!(one.names().is_empty(), "{:?}", one.names());
    assert!(two.names().is_empty(), "{:?}", two.names());
}

#[test]
fn an_unusable_local_directory_is_a_row_and_no_failure() {
    let Some(far) = Far::start("") else { return };
    three_sessions(&far);
    far.home
        .write(".local/state/mcpsnoop", "a file in its place");
    let mut command = far.home.mcpsnoop();
    command.args(["remote", "-F"]).arg(&far.sshd.config);
    let mut terminal = Terminal::start(command.arg("web1"), 120, 40);
    terminal.wait_text("files");
    terminal.keys(":hosts\r");
    terminal.wait_screen("both hosts with their states", |screen| {
        let row = |host: &str, state: &str| {
            screen
                .lines()
                .any(|line| line.contains(host) && line.contains(state))
        };
        row("web1", "live") && row("local", "lost") && row("local", "cannot use the state")
    });
    terminal.keys("q:messages\r");
    terminal.wait_text("MCPSNOOP_HOME");
    terminal.keys("q");
    leave(&mut terminal);
}

#[test]
fn on_a_terminal_messages_break_between_words() {
    let home = Home::new();
    let mut command = home.mcpsnoop();
    command.args([
        "remote",
        "--list",
        "-F",
        "none",
        "-o",
        "ForwardAgent=yes",
        "h",
    ]);
    let mut terminal = Terminal::start(&command, 60, 40);
    assert_eq!(terminal.wait(), 2);
    let screen = terminal.screen();
    for word in [
        "`ChallengeResponseAuthentication`,",
        "`PubkeyAcceptedAlgorithms`,",
    ] {
        assert!(screen.contains(word), "{screen}");
    }
    assert!(
        screen.lines().any(|line| line.starts_with("  `")),
        "{screen}"
    );
    // Whoever reads a pipe gets whole lines.
    let piped = run(&mut command).expect_code(2);
    assert_eq!(piped.err().lines().count(), 2, "{}", piped.err());
}
