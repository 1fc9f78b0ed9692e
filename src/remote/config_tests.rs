//! Answers of the real `ssh -G` for a corpus of configurations.

use std::fs;

use super::*;

fn path_env() -> Env {
    Env::of([
        ("PATH", "/usr/bin:/bin:/usr/local/bin:/opt/homebrew/bin"),
        ("SSH_AUTH_SOCK", "/agent.sock"),
        ("KEYS", "/keys"),
    ])
}

fn without_program() -> Env {
    Env::of([("PATH", "/nonexistent")])
}

/// Resolves `web` with a configuration file and `-o` values.
async fn resolved(file: &str, o: &[&str]) -> Result<Arc<Resolved>, Error> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("config");
    fs::write(&path, file).unwrap();
    let options = RemoteOptions {
        ssh_config: Some(path.into_os_string()),
        ssh_options: o.iter().map(|&option| option.to_owned()).collect(),
        env: path_env(),
        ..RemoteOptions::default()
    };
    resolve(&Target::parse("web").unwrap(), &options).await
}

/// One field of a resolved target, as text.
type Field = fn(&Resolved) -> String;

async fn check(cases: &[(&str, &[&str], Field, &str)]) {
    for (file, o, field, expected) in cases {
        let text = match resolved(file, o).await {
            Ok(resolved) => field(&resolved),
            Err(error) => format!("error: {error}"),
        };
        assert_eq!(&text, expected, "{file:?} {o:?}");
    }
}

fn names<T: AsRef<Path>>(files: &[T]) -> String {
    let shown: Vec<String> = files
        .iter()
        .map(|file| file.as_ref().display().to_string())
        .collect();
    shown.join("|")
}

fn home() -> String {
    Account::of_this_process(&path_env())
        .unwrap()
        .home
        .display()
        .to_string()
}

#[tokio::test]
async fn targets_follow_the_configuration() {
    let place: Field = |host| format!("{}@{}:{}", host.user, host.host_name, host.port);
    check(&[
        (
            "Host web\nHostName 10.0.0.7\nUser dev\nPort 2200\n",
            &[],
            place,
            "dev@10.0.0.7:2200",
        ),
        (
            "Host web\nHostName %h.example\nUser dev\n",
            &[],
            place,
            "dev@web.example:22",
        ),
        ("Host web\nUser a\nHost *\nUser b\n", &[], place, "a@web:22"),
        (
            "Host web\nUser dev\nPort 1\n",
            &["Port=2", "user ops"],
            place,
            "ops@web:2",
        ),
        (
            "Match host web exec \"true\"\nUser m\nPort 3\n",
            &[],
            place,
            "m@web:3",
        ),
        (
            "Match host web exec \"echo noise; false\"\nPort 3\nHost *\nUser q\n",
            &[],
            place,
            "q@web:22",
        ),
        (
            "HostName -evil\nUser x\n",
            &[],
            place,
            "error: `HostName -evil` of the SSH configuration is refused",
        ),
        (
            "User a;b\n",
            &[],
            place,
            "error: `User a;b` of the SSH configuration is refused",
        ),
    ])
    .await;
}

#[tokio::test]
async fn defaults_do_not_look_like_settings() {
    let host = resolved("", &[]).await.unwrap();
    assert_eq!(host.link.alive_interval, Duration::from_secs(15));
    assert_eq!(host.link.alive_count, 3);
    assert_eq!(host.link.connect_timeout, None);
    assert_eq!(host.link.rekey, (None, None));
    assert!(!host.login.key_files_named);
    let home = home();
    assert_eq!(
        names(&host.login.key_files),
        format!("{home}/.ssh/id_ed25519|{home}/.ssh/id_ecdsa|{home}/.ssh/id_rsa")
    );
    assert_eq!(
        names(&host.host_key.user_files),
        format!("{home}/.ssh/known_hosts|{home}/.ssh/known_hosts2")
    );
    assert_eq!(host.login.agent, AgentPlace::Socket("/agent.sock".into()));
    assert_eq!(host.host_key.new_keys, NewKeys::Ask);
    let preferred = host.link.algorithms.preferred(&[], false);
    assert_eq!(
        preferred.cipher.first().unwrap().as_ref(),
        "aes256-gcm@openssh.com"
    );
}

#[tokio::test]
async fn files_and_lists_are_read() {
    let keys: Field = |host| names(&host.login.key_files);
    let known: Field = |host| names(&host.host_key.user_files);
    let agent: Field = |host| format!("{:?}", host.login.agent);
    let home = home();
    let in_home = format!("{home}/a b|/x");
    check(&[
        (
            "IdentityFile %d/../k/%n\nIdentityFile /x\n",
            &[],
            keys,
            &format!("{home}/../k/web|/x"),
        ),
        (
            "IdentityFile \"~/a b\"\nIdentityFile /x\n",
            &[],
            keys,
            &in_home,
        ),
        (
            "IdentityFile ${KEYS}/%r\nUser dev\n",
            &[],
            keys,
            "/keys/dev",
        ),
        ("IdentityFile none\n", &[], keys, ""),
        (
            "IdentityFile ${NOPE}/x\n",
            &[],
            keys,
            "error: `IdentityFile` names `NOPE`, which is not set in the environment",
        ),
        (
            "UserKnownHostsFile \"/tmp/a b\" /x /tmp/%h\n",
            &[],
            known,
            "/tmp/a b|/x|/tmp/web",
        ),
        ("UserKnownHostsFile none\n", &[], known, ""),
        (
            "UserKnownHostsFile /dev/null\n",
            &["UserKnownHostsFile=/y"],
            known,
            "/y",
        ),
        ("IdentityAgent none\n", &[], agent, "None"),
        ("IdentityAgent /a/b\n", &[], agent, "Socket(\"/a/b\")"),
        ("IdentityAgent $KEYS\n", &[], agent, "Socket(\"/keys\")"),
        (
            "IdentityAgent $NOPE\n",
            &[],
            agent,
            "error: `IdentityAgent` names `NOPE`, which is not set in the environment",
        ),
    ])
    .await;
}

#[tokio::test]
async fn policies_are_read() {
    let new: Field = |host| format!("{:?}", host.host_key.new_keys);
    let methods: Field = |host| format!("{:?}", host.login.methods);
    let cipher: Field = |host| {
        let preferred = host.link.algorithms.preferred(&[], false);
        preferred
            .cipher
            .iter()
            .map(|name| name.as_ref().to_owned())
            .collect::<Vec<_>>()
            .join(",")
    };
    let link: Field = |host| {
        format!(
            "{:?} {:?} {:?} {} {:?} {}",
            host.link.family,
            host.link.bind_address,
            host.link.connect_timeout,
            host.link.attempts,
            host.link.rekey,
            host.link.compression
        )
    };
    check(&[
        ("StrictHostKeyChecking yes\n", &[], new, "Refuse"),
        ("StrictHostKeyChecking no\n", &[], new, "Accept"),
        ("StrictHostKeyChecking accept-new\n", &[], new, "Accept"),
        (
            "PasswordAuthentication no\n",
            &[],
            methods,
            "[PublicKey, KeyboardInteractive]",
        ),
        (
            "PreferredAuthentications password,publickey,gssapi-with-mic\n",
            &[],
            methods,
            "[Password, PublicKey]",
        ),
        (
            "PubkeyAuthentication no\n",
            &[],
            methods,
            "[KeyboardInteractive, Password]",
        ),
        (
            "Ciphers aes128-ctr,aes256-gcm@openssh.com\n",
            &[],
            cipher,
            "aes128-ctr,aes256-gcm@openssh.com",
        ),
        (
            "AddressFamily inet6\nBindAddress ::1\nConnectTimeout 7\nConnectionAttempts 2\n\
          RekeyLimit 1G 1h\nCompression yes\n",
            &[],
            link,
            "V6 Some(\"::1\") Some(7s) 2 (Some(1073741824), Some(3600s)) true",
        ),
        (
            "HostKeyAlias Box\n",
            &[],
            |host| format!("{:?}", host.host_key.alias),
            "Some(\"box\")",
        ),
        (
            "BatchMode yes\n",
            &[],
            |host| host.batch.to_string(),
            "true",
        ),
        (
            "HashKnownHosts yes\n",
            &[],
            |host| host.host_key.hash_names.to_string(),
            "true",
        ),
        (
            "GSSAPIAuthentication yes\n",
            &[],
            |host| format!("{:?}", host.login.ignored),
            "[(\"GSSAPIAuthentication\", Some(\"gssapi-with-mic\"))]",
        ),
    ])
    .await;
}

#[tokio::test]
async fn what_cannot_be_honoured_is_refused() {
    let any: Field = |_| "accepted".to_owned();
    let not_supported = |setting: &str| {
        format!("error: the SSH configuration sets `{setting}`, which is not supported")
    };
    check(&[
        ("ProxyJump hop\n", &[], any, &not_supported("ProxyJump hop")),
        ("ProxyJump none\n", &[], any, "accepted"),
        (
            "ProxyCommand nc %h %p\n",
            &[],
            any,
            &not_supported("ProxyCommand nc %h %p"),
        ),
        ("ProxyCommand none\n", &[], any, "accepted"),
        (
            "KnownHostsCommand /bin/x %H\n",
            &[],
            any,
            &not_supported("KnownHostsCommand /bin/x %H"),
        ),
        (
            "CertificateFile /c\n",
            &[],
            any,
            &not_supported("CertificateFile /c"),
        ),
        (
            "ForwardAgent yes\nLocalForward 1 a:2\nRemoteCommand x\n",
            &[],
            any,
            "accepted",
        ),
        (
            "MACs umac-64@openssh.com\n",
            &[],
            any,
            "error: `MACs` names no algorithm that is known here",
        ),
        (
            "",
            &["ForwardAgent=yes"],
            any,
            "error: `-o ForwardAgent=yes` names no keyword that is supported",
        ),
        (
            "",
            &["ProxyCommand=x"],
            any,
            "error: `-o ProxyCommand=x` names no keyword that is supported",
        ),
        (
            "",
            &["Port=1\nProxyCommand=x"],
            any,
            "error: `-o Port=1\nProxyCommand=x` names no keyword that is supported",
        ),
    ])
    .await;
    let refused = resolved("NoSuchKeyword x\n", &[]).await.unwrap_err();
    assert!(
        matches!(&refused, Error::ConfigurationRefused { message } if message.contains("config"))
    );
    assert_eq!(refused.class(), super::super::error::ExitClass::Usage);
}

#[tokio::test]
async fn without_ssh_only_an_absent_configuration_is_fine() {
    let target = Target::parse("dev@web:2200").unwrap();
    let options = RemoteOptions {
        ssh_config: Some("none".into()),
        ssh_options: vec!["UserKnownHostsFile=~/k /x".to_owned(), "Port 1".to_owned()],
        identities: vec!["/i".into()],
        env: without_program(),
        ..RemoteOptions::default()
    };
    let host = resolve(&target, &options).await.unwrap();
    assert_eq!(host.identity(), ("dev", "web", 1));
    assert_eq!(names(&host.host_key.user_files), format!("{}/k|/x", home()));
    let there = tempfile::NamedTempFile::new().unwrap();
    let with_file = RemoteOptions {
        ssh_config: Some(there.path().into()),
        env: without_program(),
        ..RemoteOptions::default()
    };
    let refused = resolve(&target, &with_file).await.unwrap_err();
    assert!(matches!(refused, Error::NoSshProgram { .. }));
}

#[tokio::test]
async fn a_key_file_that_is_not_there_takes_no_others_place() {
    let dir = tempfile::tempdir().unwrap();
    let key = dir.path().join("key");
    let keys = |file: &Path| {
        let options = RemoteOptions {
            ssh_config: Some("none".into()),
            identities: vec![file.to_owned()],
            env: without_program(),
            ..RemoteOptions::default()
        };
        async move {
            let target = Target::parse("web").unwrap();
            let host = resolve(&target, &options).await.unwrap();
            names(&host.login.key_files)
        }
    };
    let defaults = ["id_ed25519", "id_ecdsa", "id_rsa"].map(|it| format!("{}/.ssh/{it}", home()));
    let both = format!("{}|{}", key.display(), defaults.join("|"));
    assert_eq!(keys(&key).await, both);
    fs::write(dir.path().join("key.pub"), "").unwrap();
    assert_eq!(keys(&key).await, key.display().to_string());
    fs::write(&key, "").unwrap();
    assert_eq!(keys(&key).await, key.display().to_string());
}

#[tokio::test]
async fn a_mistyped_option_names_the_one_that_was_meant() {
    let hints = |option: &str| {
        let error = check_options(&[option.to_owned()]).unwrap_err();
        assert_eq!(error.class(), super::super::error::ExitClass::Usage);
        error.hints().join("\n")
    };
    assert_eq!(hints("Portt=1"), "did you mean `-o Port=…`?");
    assert_eq!(hints("hostnam x"), "did you mean `-o HostName=…`?");
    let all = hints("ForwardAgent=yes");
    assert!(all.starts_with("supported are `AddressFamily`"), "{all}");
    assert!(check_options(&["PORT=1".to_owned()]).is_ok());
}

#[tokio::test]
async fn a_configuration_that_is_not_there_is_told_before_ssh_is_asked() {
    for (file, reason) in [("/nonexistent", "No such file"), ("/", "is a directory")] {
        let options = RemoteOptions {
            ssh_config: Some(file.into()),
            env: path_env(),
            ..RemoteOptions::default()
        };
        let target = Target::parse("web").unwrap();
        let error = resolve(&target, &options).await.unwrap_err();
        let words = format!("the SSH configuration `{file}` cannot be read");
        assert_eq!(error.to_string(), words);
        let source = std::error::Error::source(&error).unwrap().to_string();
        assert!(source.contains(reason), "{source}");
        assert!(error.hints()[0].contains("-F none"));
    }
    let bad = resolved("", &["Port=abc"]).await.unwrap_err();
    assert_eq!(bad.hints(), ["correct what stands behind `-o`"]);
}

#[tokio::test]
async fn flags_win_over_files_and_options_over_flags() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("config");
    fs::write(&path, "Host *\nPort 1\nUser filed\nIdentityFile /f\n").unwrap();
    let options = |o: &[&str]| RemoteOptions {
        ssh_config: Some(path.clone().into_os_string()),
        ssh_options: o.iter().map(|&option| option.to_owned()).collect(),
        port: Some(2),
        identities: vec!["/i".into()],
        env: path_env(),
        ..RemoteOptions::default()
    };
    let plain = Target::parse("web").unwrap();
    let full = Target::parse("typed@web:3").unwrap();
    let host = resolve(&plain, &options(&[])).await.unwrap();
    assert_eq!(host.identity(), ("filed", "web", 2));
    assert_eq!(names(&host.login.key_files), "/i|/f");
    let host = resolve(&full, &options(&[])).await.unwrap();
    assert_eq!(host.identity(), ("typed", "web", 3));
    let host = resolve(&full, &options(&["Port=4", "User=o"]))
        .await
        .unwrap();
    assert_eq!(host.identity(), ("o", "web", 4));
    let all = resolve_all(&[plain, full], &options(&[])).await;
    let shown: Vec<&str> = all
        .iter()
        .map(|host| host.as_ref().unwrap().name.as_str())
        .collect();
    assert_eq!(shown, ["web", "typed@web:3"]);
}
