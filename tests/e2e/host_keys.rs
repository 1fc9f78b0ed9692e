//! Host keys against a real sshd: known, new, changed, revoked, pinned (remote.md 4).

use std::{fs, path::Path, process::Command, sync::Arc};

use mcpsnoop::{
    base::Env,
    remote::{
        Connected, Error, ExitClass, LinkMemory, RemoteOptions, Target, Unconfirmed, connect,
        resolve,
    },
};

use crate::{
    prompts::Script,
    sshd::{Sshd, keygen, public_line},
};

/// One connection to the fixture.
pub(crate) struct Attempt<'a> {
    pub(crate) sshd: &'a Sshd,
    pub(crate) options: Vec<String>,
    pub(crate) identities: Vec<std::path::PathBuf>,
    pub(crate) pin: Option<String>,
    pub(crate) batch: bool,
    pub(crate) memory: Arc<LinkMemory>,
}

impl<'a> Attempt<'a> {
    pub(crate) fn on(sshd: &'a Sshd) -> Self {
        Self {
            sshd,
            options: Vec::new(),
            identities: Vec::new(),
            pin: None,
            batch: false,
            memory: Arc::default(),
        }
    }

    pub(crate) fn option(mut self, option: impl Into<String>) -> Self {
        self.options.push(option.into());
        self
    }

    pub(crate) async fn run(&self, script: &Arc<Script>) -> Result<Connected, Error> {
        let options = RemoteOptions {
            ssh_config: Some(self.sshd.config.clone().into_os_string()),
            ssh_options: self.options.clone(),
            identities: self.identities.clone(),
            host_key: self.pin.clone(),
            batch: self.batch,
            env: Env::of([("PATH", "/usr/bin:/bin")]),
            ..RemoteOptions::default()
        };
        let host = resolve(&Target::parse("web1").unwrap(), &options).await?;
        connect(&host, &self.memory, script).await
    }
}

fn fingerprint(line: &str) -> String {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("k.pub");
    fs::write(&file, format!("{line}\n")).unwrap();
    let answer = Command::new("ssh-keygen")
        .arg("-lf")
        .arg(&file)
        .output()
        .unwrap();
    let text = String::from_utf8(answer.stdout).unwrap();
    text.split(' ').nth(1).unwrap().to_owned()
}

fn another_key(dir: &Path, kind: &str) -> String {
    let path = dir.join(format!("another_{kind}"));
    if !path.exists() {
        keygen(&path, kind, "");
    }
    public_line(&path)
}

fn outcome(result: &Result<Connected, Error>) -> String {
    match result {
        Ok(_) => "connected".to_owned(),
        Err(Error::HostKeyUnknown { why, .. }) => match why {
            Unconfirmed::NoTerminal => "unknown, no terminal".to_owned(),
            Unconfirmed::Strict => "unknown, strict".to_owned(),
            Unconfirmed::Declined => "unknown, declined".to_owned(),
        },
        Err(Error::HostKeyChanged { conflicts, .. }) => {
            let lines: Vec<String> = conflicts.iter().map(|line| line.line.to_string()).collect();
            format!("changed {}", lines.join(","))
        }
        Err(Error::HostKeyRevoked { place, .. }) => format!("revoked {}", place.line),
        Err(Error::PinDiffers { .. }) => "pin differs".to_owned(),
        Err(Error::KnownHostsUnreadable { .. }) => "unreadable".to_owned(),
        Err(other) => format!("{other:?}"),
    }
}

#[tokio::test]
async fn recorded_keys_decide() {
    let Some(sshd) = Sshd::start("") else { return };
    let name = format!("[127.0.0.1]:{}", sshd.port);
    let [ed25519, ecdsa] = [&sshd.host_keys[0], &sshd.host_keys[1]];
    let other = another_key(sshd.dir.path(), "ed25519");
    let other_rsa = another_key(sshd.dir.path(), "rsa");
    let cases = [
        (format!("{name} {ed25519}\n"), "connected"),
        (format!("{name} {ecdsa}\n"), "connected"),
        (format!("\t{name}\t {ecdsa} comment\r\n"), "connected"),
        (format!("[127.0.0.*]:{} {ecdsa}\n", sshd.port), "connected"),
        (format!("127.0.0.1 {ed25519}\n"), "connected"),
        (format!("{name} {other}\n{name} {ed25519}\n"), "connected"),
        (format!("broken line\n{name} {ed25519}\n"), "connected"),
        (format!("{name} {other}\n"), "changed 1"),
        (format!("# comment\n\n{name} {other_rsa}\n"), "changed 3"),
        (format!("127.0.0.1 {other}\n"), "unknown, no terminal"),
        (
            format!("!{name},!127.0.0.1,* {ed25519}\n"),
            "unknown, no terminal",
        ),
        (String::new(), "unknown, no terminal"),
        (
            format!("@revoked * {ed25519}\n{name} {ed25519}\n"),
            "revoked 1",
        ),
        (
            format!("{name} {ed25519}\n@revoked\t*\t{ed25519}\n"),
            "revoked 2",
        ),
    ];
    for (known_hosts, expected) in cases {
        fs::write(&sshd.known_hosts, &known_hosts).unwrap();
        let script = Arc::new(Script::batch());
        let result = Attempt::on(&sshd).run(&script).await;
        assert_eq!(outcome(&result), expected, "{known_hosts}");
        if let Err(error) = result {
            assert_eq!(error.class(), ExitClass::HostKey);
            assert!(!error.is_retryable());
        }
        assert_eq!(fs::read_to_string(&sshd.known_hosts).unwrap(), known_hosts);
    }
}

#[tokio::test]
async fn a_server_is_asked_for_the_type_that_is_known() {
    let Some(sshd) = Sshd::start_with_keys(&["ed25519", "rsa"], "") else {
        return;
    };
    let name = format!("[127.0.0.1]:{}", sshd.port);
    fs::write(&sshd.known_hosts, format!("{name} {}\n", sshd.host_keys[1])).unwrap();
    let connected = Attempt::on(&sshd)
        .run(&Arc::new(Script::batch()))
        .await
        .unwrap();
    assert_eq!(connected.host_key(), fingerprint(&sshd.host_keys[1]));
    assert!(connected.is_open());
}

#[tokio::test]
async fn a_hashed_name_made_by_ssh_keygen_is_known() {
    let Some(sshd) = Sshd::start("") else { return };
    let hashed = Command::new("ssh-keygen")
        .arg("-Hf")
        .arg(&sshd.known_hosts)
        .output()
        .unwrap();
    assert!(hashed.status.success());
    assert!(
        fs::read_to_string(&sshd.known_hosts)
            .unwrap()
            .starts_with("|1|")
    );
    Attempt::on(&sshd)
        .run(&Arc::new(Script::batch()))
        .await
        .unwrap();
}

#[tokio::test]
async fn a_new_key_is_a_question() {
    let Some(sshd) = Sshd::start_with_keys(&["ed25519"], "") else {
        return;
    };
    let print = fingerprint(&sshd.host_keys[0]);
    let line = format!("[127.0.0.1]:{} {}\n", sshd.port, sshd.host_keys[0]);
    let cases: [(&[&str], &str, &str); 7] = [
        (&["yes"], "connected", &line),
        (&["once"], "connected", ""),
        (&[&print], "connected", &line),
        (&["what?", "YES", "yes"], "connected", &line),
        (&["no"], "unknown, declined", ""),
        (&["", "y", "ja"], "unknown, declined", ""),
        (&[], "unknown, declined", ""),
    ];
    for (answers, expected, recorded) in cases {
        fs::write(&sshd.known_hosts, "").unwrap();
        let script = Arc::new(Script::of(answers));
        let result = Attempt::on(&sshd).run(&script).await;
        assert_eq!(outcome(&result), expected, "{answers:?}");
        assert_eq!(
            fs::read_to_string(&sshd.known_hosts).unwrap(),
            recorded,
            "{answers:?}"
        );
        assert!(
            script.heard(&print) && script.heard("(web1, 127.0.0.1:"),
            "{:?}",
            script.log()
        );
    }
}

#[tokio::test]
async fn an_answer_that_is_none_is_asked_again() {
    let Some(sshd) = Sshd::start_with_keys(&["ed25519"], "") else {
        return;
    };
    fs::write(&sshd.known_hosts, "").unwrap();
    let script = Arc::new(Script::of(&["y", "sure", "nope"]));
    let error = Attempt::on(&sshd).run(&script).await.unwrap_err();
    let asked: Vec<_> = script.log();
    let asked: Vec<_> = asked.iter().filter(|it| it.starts_with("asked")).collect();
    assert_eq!(asked.len(), 3, "{asked:?}");
    assert!(asked[1].contains("`y` is not enough"), "{asked:?}");
    assert!(!asked[2].contains("not enough"), "{asked:?}");
    for again in &asked[1..] {
        assert!(
            again.contains("Please type yes (recorded), once"),
            "{again}"
        );
    }
    assert_eq!(fs::read_to_string(&sshd.known_hosts).unwrap(), "");
    assert!(error.hints()[0].contains("nothing was recorded"));
}

#[tokio::test]
async fn without_a_terminal_only_a_pin_or_a_policy_accepts() {
    let Some(sshd) = Sshd::start_with_keys(&["ed25519"], "") else {
        return;
    };
    let print = fingerprint(&sshd.host_keys[0]);
    let wrong = fingerprint(&another_key(sshd.dir.path(), "ed25519"));
    let line = format!("[127.0.0.1]:{} {}\n", sshd.port, sshd.host_keys[0]);
    let empty = String::new();
    let cases: [(&String, Option<&String>, &str, &str, &str); 7] = [
        (&empty, None, "ask", "unknown, no terminal", ""),
        (&empty, Some(&print), "ask", "connected", &line),
        (&empty, Some(&wrong), "ask", "pin differs", ""),
        (&line, Some(&wrong), "ask", "pin differs", &line),
        (&empty, None, "accept-new", "connected", &line),
        (&empty, None, "no", "connected", &line),
        (&empty, None, "yes", "unknown, strict", ""),
    ];
    for (before, pin, policy, expected, after) in cases {
        fs::write(&sshd.known_hosts, before).unwrap();
        let mut attempt = Attempt::on(&sshd).option(format!("StrictHostKeyChecking={policy}"));
        attempt.pin = pin.cloned();
        attempt.batch = true;
        let script = Arc::new(Script::of(&["yes"]));
        let result = attempt.run(&script).await;
        assert_eq!(outcome(&result), expected, "{pin:?} {policy}");
        assert_eq!(
            fs::read_to_string(&sshd.known_hosts).unwrap(),
            after,
            "{pin:?} {policy}"
        );
        assert_eq!(script.questions(), 0);
        if after != before.as_str() {
            assert!(script.heard(&format!("recorded the new host key ssh-ed25519 {print}")));
        }
        if let Err(
            error @ Error::HostKeyUnknown {
                why: Unconfirmed::NoTerminal,
                ..
            },
        ) = result
        {
            assert!(error.to_string().contains(&print));
            assert!(error.hints()[0].contains(&format!("--host-key {print}")));
        }
    }
}

#[tokio::test]
async fn no_policy_accepts_a_changed_key() {
    let Some(sshd) = Sshd::start_with_keys(&["ed25519"], "") else {
        return;
    };
    let print = fingerprint(&sshd.host_keys[0]);
    let name = format!("[127.0.0.1]:{}", sshd.port);
    let other = another_key(sshd.dir.path(), "ecdsa");
    fs::write(&sshd.known_hosts, format!("{name} {other}\n")).unwrap();
    for policy in ["no", "accept-new", "ask", "yes"] {
        let mut attempt = Attempt::on(&sshd).option(format!("StrictHostKeyChecking={policy}"));
        attempt.pin = Some(print.clone());
        let error = attempt
            .run(&Arc::new(Script::of(&["yes"])))
            .await
            .unwrap_err();
        let text = error.to_string();
        assert!(
            text.contains(&print) && text.contains(&fingerprint(&other)),
            "{text}"
        );
        assert!(
            text.contains(&format!("{}:1 ", sshd.known_hosts.display())),
            "{text}"
        );
        let removal = format!(
            "`ssh-keygen -R '{name}' -f '{}'`",
            sshd.known_hosts.display()
        );
        assert!(error.hints()[0].ends_with(&removal), "{:?}", error.hints());
    }
}

#[tokio::test]
async fn the_key_must_stay_the_same_within_a_run() {
    let Some(first) = Sshd::start_with_keys(&["ed25519"], "") else {
        return;
    };
    let Some(second) = Sshd::start_with_keys(&["ed25519"], "") else {
        return;
    };
    let memory = Arc::<LinkMemory>::default();
    fs::write(&first.known_hosts, "").unwrap();
    let mut attempt = Attempt::on(&first);
    attempt.memory = Arc::clone(&memory);
    let script = Arc::new(Script::of(&["once"]));
    attempt.run(&script).await.unwrap();
    attempt.run(&script).await.unwrap();
    assert_eq!(script.questions(), 1, "{:?}", script.log());
    let mut attempt = Attempt::on(&second);
    attempt.memory = memory;
    let error = attempt.run(&script).await.unwrap_err();
    assert!(matches!(error, Error::HostKeyReplaced { .. }), "{error}");
    assert_eq!(
        (error.class(), error.is_retryable()),
        (ExitClass::HostKey, false)
    );
}

#[tokio::test]
async fn files_of_revoked_and_known_keys() {
    let Some(sshd) = Sshd::start_with_keys(&["ed25519"], "") else {
        return;
    };
    let list = sshd.dir.path().join("revoked");
    let other = another_key(sshd.dir.path(), "ed25519");
    let attempt = || {
        let file = list.display();
        Attempt::on(&sshd).option(format!("RevokedHostKeys={file}"))
    };
    let script = Arc::new(Script::batch());
    fs::write(&list, format!("{other}\n")).unwrap();
    assert_eq!(outcome(&attempt().run(&script).await), "connected");
    fs::write(&list, format!("{other}\n{}\n", sshd.host_keys[0])).unwrap();
    assert_eq!(outcome(&attempt().run(&script).await), "revoked 2");
    fs::write(&list, b"SSHKRL\n\0").unwrap();
    let refused = attempt().run(&script).await.unwrap_err();
    assert_eq!(refused.class(), ExitClass::Usage, "{refused}");
    fs::remove_file(&list).unwrap();
    assert_eq!(outcome(&attempt().run(&script).await), "unreadable");
    let folder = format!("UserKnownHostsFile={}", sshd.dir.path().display());
    let result = Attempt::on(&sshd).option(folder).run(&script).await;
    assert_eq!(outcome(&result), "unreadable");
}

#[tokio::test]
async fn an_alias_is_looked_up_without_a_port() {
    let Some(sshd) = Sshd::start_with_keys(&["ed25519"], "") else {
        return;
    };
    fs::write(&sshd.known_hosts, format!("box {}\n", sshd.host_keys[0])).unwrap();
    let attempt = Attempt::on(&sshd).option("HostKeyAlias=Box");
    attempt.run(&Arc::new(Script::batch())).await.unwrap();
}
