//! Logging in to a real sshd: keys, agents, passphrases, refusals (remote.md 5).

use std::{
    fs,
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::Arc,
};

use mcpsnoop::remote::{Error, ExitClass};

use crate::{
    host_keys::Attempt,
    prompts::Script,
    sshd::{Sshd, authorize, keygen, public_half, public_line},
};

/// A real agent that ends with the test.
struct Agent {
    child: Child,
    socket: PathBuf,
}

impl Agent {
    fn start(dir: &Path) -> Self {
        let socket = dir.join("agent");
        let mut child = Command::new("ssh-agent")
            .arg("-D")
            .arg("-a")
            .arg(&socket)
            .env("SSH_ASKPASS", "/bin/false")
            .env("SSH_ASKPASS_REQUIRE", "force")
            .stdout(Stdio::piped())
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        // It prints its variables once it listens.
        let mut line = String::new();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        output.read_line(&mut line).unwrap();
        assert!(line.contains("SSH_AUTH_SOCK"), "{line}");
        Self { child, socket }
    }

    fn add(&self, key: &Path, arguments: &[&str]) {
        let added = Command::new("ssh-add")
            .arg("-q")
            .args(arguments)
            .arg(key)
            .env("SSH_AUTH_SOCK", &self.socket)
            .stdin(Stdio::null())
            .status()
            .unwrap();
        assert!(added.success());
    }

    fn option(&self) -> String {
        format!("IdentityAgent={}", self.socket.display())
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _already_gone = self.child.kill();
        let _status = self.child.wait();
    }
}

/// Names this key file only, instead of the one that may log in.
fn only_key(sshd: &Sshd, key: &str) {
    let text = fs::read_to_string(&sshd.config).unwrap();
    let old = format!("IdentityFile {}", sshd.user_key.display());
    assert!(text.contains(&old));
    let new = match key {
        "" => String::new(),
        key => format!("IdentityFile {key}"),
    };
    fs::write(&sshd.config, text.replace(&old, &new)).unwrap();
}

fn key_in(sshd: &Sshd, name: &str, kind: &str, passphrase: &str) -> PathBuf {
    let path = sshd.dir.path().join(name);
    keygen(&path, kind, passphrase);
    path
}

#[tokio::test]
async fn key_files_of_every_type_log_in() {
    let Some(sshd) = Sshd::start("") else { return };
    for kind in ["ed25519", "ecdsa", "rsa"] {
        let key = key_in(&sshd, kind, kind, "");
        authorize(&sshd, &key);
        only_key(&sshd, "/nonexistent");
        let mut attempt = Attempt::on(&sshd);
        attempt.identities = vec![key];
        let script = Arc::new(Script::batch());
        let result = attempt.run(&script).await;
        assert!(
            result.is_ok(),
            "{kind}: {:?} {:?}",
            result.err(),
            script.log()
        );
        let text = fs::read_to_string(&sshd.config).unwrap();
        let back = format!("IdentityFile {}", sshd.user_key.display());
        fs::write(
            &sshd.config,
            text.replace("IdentityFile /nonexistent", &back),
        )
        .unwrap();
    }
}

#[tokio::test]
async fn an_agent_logs_in_and_a_named_key_goes_first() {
    let Some(sshd) = Sshd::start("MaxAuthTries 3") else {
        return;
    };
    let agent = Agent::start(sshd.dir.path());
    for number in 0..5 {
        agent.add(
            &key_in(&sshd, &format!("other{number}"), "ed25519", ""),
            &[],
        );
    }
    agent.add(&sshd.user_key, &[]);
    only_key(&sshd, "none");
    let script = Arc::new(Script::of(&[]));
    let error = Attempt::on(&sshd)
        .option(agent.option())
        .run(&script)
        .await
        .unwrap_err();
    let Error::TooManyAttempts { report } = &error else {
        panic!("{error:?} {:?}", script.log());
    };
    assert_eq!(report.tried.len(), 3, "{report:?}");
    assert_eq!(
        (error.class(), error.is_retryable()),
        (ExitClass::Authentication, false)
    );
    assert!(error.hints()[0].contains("IdentitiesOnly=yes -i FILE"));
    // The public half is enough to name a key that the agent holds.
    let mut attempt = Attempt::on(&sshd).option(agent.option());
    attempt.identities = vec![public_half(&sshd.user_key)];
    attempt.run(&script).await.unwrap();
    let attempt = attempt.option("IdentitiesOnly=yes");
    attempt.run(&script).await.unwrap();
}

#[tokio::test]
async fn an_agent_that_refuses_leaves_the_connection_usable() {
    let Some(sshd) = Sshd::start("") else { return };
    let agent = Agent::start(sshd.dir.path());
    let guarded = key_in(&sshd, "guarded", "ed25519", "");
    authorize(&sshd, &guarded);
    // Confirmation goes to a program that always says no.
    agent.add(&guarded, &["-c"]);
    let script = Arc::new(Script::batch());
    let result = Attempt::on(&sshd).option(agent.option()).run(&script).await;
    assert!(result.is_ok(), "{:?} {:?}", result.err(), script.log());
    assert!(script.heard("the agent did not sign"), "{:?}", script.log());
}

#[tokio::test]
async fn an_agent_that_is_not_there_is_no_error() {
    let Some(sshd) = Sshd::start("") else { return };
    let option = format!("IdentityAgent={}/none", sshd.dir.path().display());
    Attempt::on(&sshd)
        .option(option)
        .run(&Arc::new(Script::batch()))
        .await
        .unwrap();
}

#[tokio::test]
async fn an_encrypted_key_asks_once_in_a_run() {
    let Some(sshd) = Sshd::start("") else { return };
    let key = key_in(&sshd, "locked", "ed25519", "open sesame");
    authorize(&sshd, &key);
    only_key(&sshd, &key.display().to_string());
    let attempt = Attempt::on(&sshd);
    let script = Arc::new(Script::of(&["wrong", "open sesame"]));
    attempt.run(&script).await.unwrap();
    let question = format!("asked (hidden): Passphrase for {} (web1): ", key.display());
    let asked: Vec<_> = script.log();
    let asked: Vec<_> = asked.iter().filter(|it| it.starts_with("asked")).collect();
    assert_eq!(asked.len(), 2);
    assert_eq!(*asked[0], question);
    assert!(
        asked[1].contains("does not open the key. Try again.\nPassphrase for "),
        "{asked:?}"
    );
    attempt.run(&script).await.unwrap();
    assert_eq!(script.questions(), 2);
    // In another run nobody can be asked: the message names the key to unlock.
    let error = Attempt::on(&sshd)
        .run(&Arc::new(Script::batch()))
        .await
        .unwrap_err();
    let Error::PromptNeeded { encrypted, .. } = &error else {
        panic!("{error:?}");
    };
    assert_eq!(encrypted.as_deref(), Some(key.as_path()));
    assert_eq!(error.class(), ExitClass::Authentication);
    assert_eq!(
        error.hints()[0],
        format!("unlock the key first: ssh-add {}", key.display())
    );
    // An empty passphrase gives the key up.
    let script = Arc::new(Script::of(&[""]));
    let error = Attempt::on(&sshd).run(&script).await.unwrap_err();
    assert!(matches!(error, Error::LoginRefused { .. }), "{error:?}");
    assert_eq!(script.questions(), 1);
}

#[tokio::test]
async fn an_old_format_needs_its_passphrase_before_it_is_offered() {
    let Some(sshd) = Sshd::start("") else { return };
    let key = sshd.dir.path().join("pem");
    let made = Command::new("ssh-keygen")
        .args([
            "-q", "-t", "rsa", "-b", "2048", "-m", "PEM", "-N", "secret", "-f",
        ])
        .arg(&key)
        .status()
        .unwrap();
    assert!(made.success());
    authorize(&sshd, &key);
    fs::remove_file(public_half(&key)).unwrap();
    only_key(&sshd, &key.display().to_string());
    let error = Attempt::on(&sshd)
        .run(&Arc::new(Script::batch()))
        .await
        .unwrap_err();
    assert!(
        matches!(
            error,
            Error::PromptNeeded {
                encrypted: Some(_),
                ..
            }
        ),
        "{error:?}"
    );
    Attempt::on(&sshd)
        .run(&Arc::new(Script::of(&["secret"])))
        .await
        .unwrap();
}

#[tokio::test]
async fn a_refused_login_says_what_was_tried() {
    let Some(sshd) = Sshd::start("") else { return };
    let key = key_in(&sshd, "stranger", "ed25519", "");
    only_key(&sshd, &key.display().to_string());
    let error = Attempt::on(&sshd)
        .run(&Arc::new(Script::of(&[])))
        .await
        .unwrap_err();
    let Error::LoginRefused { report } = &error else {
        panic!("{error:?}");
    };
    assert_eq!(report.methods, ["publickey"]);
    assert_eq!(report.tried.len(), 1);
    assert_eq!(report.tried[0].origin, key.display().to_string());
    assert!(report.tried[0].fingerprint.starts_with("SHA256:"));
    assert_eq!(
        (error.class(), error.is_retryable()),
        (ExitClass::Authentication, false)
    );
    let hints = error.hints().join("\n");
    assert!(
        hints.contains("publickey") && hints.contains("ssh-add FILE"),
        "{hints}"
    );
}

#[tokio::test]
async fn keys_that_cannot_be_used_are_named() {
    use std::os::unix::fs::PermissionsExt as _;
    let Some(sshd) = Sshd::start("") else { return };
    let open = key_in(&sshd, "open", "ed25519", "");
    fs::set_permissions(&open, fs::Permissions::from_mode(0o644)).unwrap();
    only_key(&sshd, &open.display().to_string());
    let mut attempt = Attempt::on(&sshd);
    attempt.identities = vec![sshd.dir.path().join("absent")];
    let error = attempt.run(&Arc::new(Script::of(&[]))).await.unwrap_err();
    let Error::LoginRefused { report } = &error else {
        panic!("{error:?}");
    };
    let skipped = report.skipped.join("\n");
    assert!(
        skipped.contains("absent: there is no such file"),
        "{skipped}"
    );
    assert!(
        skipped.contains("open: mode 644 lets group or others read it"),
        "{skipped}"
    );
    assert!(report.tried.is_empty());
}

#[tokio::test]
async fn two_keys_are_offered_where_the_server_wants_two() {
    let Some(sshd) = Sshd::start("AuthenticationMethods publickey,publickey") else {
        return;
    };
    let second = key_in(&sshd, "second", "ed25519", "");
    authorize(&sshd, &second);
    let mut attempt = Attempt::on(&sshd);
    attempt.run(&Arc::new(Script::batch())).await.unwrap_err();
    attempt.identities = vec![second];
    attempt.run(&Arc::new(Script::batch())).await.unwrap();
}

#[tokio::test]
async fn what_cannot_be_reached() {
    let Some(mut sshd) = Sshd::start("") else {
        return;
    };
    let script = Arc::new(Script::batch());
    let attempt = Attempt::on(&sshd).option("HostName=no-such-host.invalid");
    let error = attempt.run(&script).await.unwrap_err();
    assert!(matches!(error, Error::NameNotFound { .. }), "{error:?}");
    assert_eq!(
        (error.class(), error.is_retryable()),
        (ExitClass::Unreachable, true)
    );
    sshd.stop();
    let error = Attempt::on(&sshd).run(&script).await.unwrap_err();
    assert!(matches!(error, Error::NoConnection { .. }), "{error:?}");
    assert_eq!(
        error.to_string(),
        format!("connection refused (127.0.0.1 port {})", sshd.port)
    );
    assert_eq!(
        (error.class(), error.is_retryable()),
        (ExitClass::Unreachable, true)
    );
}

#[tokio::test]
async fn old_algorithms_only_on_request() {
    let Some(sshd) = Sshd::start("KexAlgorithms diffie-hellman-group14-sha1\nCompression yes")
    else {
        return;
    };
    let script = Arc::new(Script::batch());
    let error = Attempt::on(&sshd).run(&script).await.unwrap_err();
    assert!(
        matches!(error, Error::NoCommonAlgorithm { .. }),
        "{error:?}"
    );
    assert_eq!(
        (error.class(), error.is_retryable()),
        (ExitClass::Unreachable, false)
    );
    assert_eq!(
        error.hints(),
        ["`-o KexAlgorithms=+diffie-hellman-group14-sha1` would match"]
    );
    let attempt = Attempt::on(&sshd)
        .option("KexAlgorithms=+diffie-hellman-group14-sha1")
        .option("Compression=yes");
    attempt.run(&script).await.unwrap();
}

#[test]
fn the_fixture_knows_its_keys() {
    let Some(sshd) = Sshd::start("") else { return };
    let own = public_line(&sshd.user_key);
    let allowed = fs::read_to_string(sshd.dir.path().join("authorized_keys")).unwrap();
    assert!(allowed.starts_with(&own));
    assert!(sshd.log().contains("Server listening"));
}
