//! Fixture S: a real `sshd` on 127.0.0.1 with keys, accounts and configuration of its own.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    net::TcpListener,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex, mpsc},
    time::Duration,
};

const SSHD: &str = "/usr/sbin/sshd";
const DEADLINE: Duration = Duration::from_secs(20);

/// A running server. It ends when this is dropped; sessions that are open go on until their
/// connection ends.
pub(crate) struct Sshd {
    /// Where it listens on 127.0.0.1.
    pub(crate) port: u16,
    /// Directory of everything below; removed at the end. Its path is short.
    pub(crate) dir: tempfile::TempDir,
    /// Private key (ed25519, not encrypted) that may log in.
    pub(crate) user_key: PathBuf,
    /// `known_hosts` file that holds the server's keys.
    pub(crate) known_hosts: PathBuf,
    /// Client configuration for `-F`: every host name leads to this server.
    pub(crate) config: PathBuf,
    /// Public host keys as `TYPE BASE64`, in the order of their types.
    pub(crate) host_keys: Vec<String>,
    child: Child,
    log: Arc<Mutex<String>>,
}

impl Sshd {
    /// Starts a server with ed25519 and ecdsa host keys. `extra` are further lines of
    /// `sshd_config`; they come first, so they win. `None` when there is no sshd (not with `CI`).
    pub(crate) fn start(extra: &str) -> Option<Self> {
        Self::start_with_keys(&["ed25519", "ecdsa"], extra)
    }

    /// As `start`, with host keys of these types only (names as `ssh-keygen -t` takes them).
    pub(crate) fn start_with_keys(types: &[&str], extra: &str) -> Option<Self> {
        if !Path::new(SSHD).exists() {
            skip("no sshd");
            return None;
        }
        if is_root() {
            fs::create_dir_all("/run/sshd").unwrap();
        }
        let dir = tempfile::Builder::new().prefix("sd").tempdir().unwrap();
        for kind in types {
            keygen(&dir.path().join(format!("host_{kind}")), kind, "");
        }
        let user_key = dir.path().join("user_key");
        keygen(&user_key, "ed25519", "");
        fs::copy(public_half(&user_key), dir.path().join("authorized_keys")).unwrap();
        // Another program may take the port between our look and sshd's bind.
        (0..5)
            .find_map(|_| Self::try_start(types, extra, &dir))
            .map(|(port, child, log)| Self::describe(dir, user_key, types, port, child, log))
            .or_else(|| panic!("sshd did not start, see its configuration and /run/sshd"))
    }

    fn try_start(
        types: &[&str],
        extra: &str,
        dir: &tempfile::TempDir,
    ) -> Option<(u16, Child, Arc<Mutex<String>>)> {
        let port = free_port();
        let config = dir.path().join("sshd_config");
        fs::write(&config, server_config(dir.path(), types, extra)).unwrap();
        let mut child = Command::new(SSHD)
            .args(["-D", "-e", "-f"])
            .arg(&config)
            .args(["-p", &port.to_string()])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let log = Arc::new(Mutex::new(String::new()));
        let (ready, listening) = mpsc::sync_channel(1);
        let stderr = BufReader::new(child.stderr.take().unwrap());
        let kept = Arc::clone(&log);
        std::thread::spawn(move || {
            for line in stderr.lines().map_while(Result::ok) {
                let is_ready = line.starts_with("Server listening on");
                {
                    let mut kept = kept.lock().unwrap();
                    kept.push_str(&line);
                    kept.push('\n');
                }
                if is_ready {
                    let _seen_before = ready.try_send(());
                }
            }
        });
        if listening.recv_timeout(DEADLINE).is_ok() {
            return Some((port, child, log));
        }
        let _already_gone = child.kill();
        let _status = child.wait();
        None
    }

    fn describe(
        dir: tempfile::TempDir,
        user_key: PathBuf,
        types: &[&str],
        port: u16,
        child: Child,
        log: Arc<Mutex<String>>,
    ) -> Self {
        let host_keys: Vec<String> = types
            .iter()
            .map(|kind| public_line(&dir.path().join(format!("host_{kind}"))))
            .collect();
        let known_hosts = dir.path().join("known_hosts");
        let lines: Vec<String> = host_keys
            .iter()
            .map(|key| format!("[127.0.0.1]:{port} {key}\n"))
            .collect();
        fs::write(&known_hosts, lines.concat()).unwrap();
        let user = user_name();
        let config = dir.path().join("ssh_config");
        let text = format!(
            "Host *\n  HostName 127.0.0.1\n  Port {port}\n  User {user}\n  IdentityFile {}\n  \
             IdentityAgent none\n  UserKnownHostsFile {}\n  GlobalKnownHostsFile /dev/null\n",
            user_key.display(),
            known_hosts.display()
        );
        fs::write(&config, text).unwrap();
        Self {
            port,
            dir,
            user_key,
            known_hosts,
            config,
            host_keys,
            child,
            log,
        }
    }

    /// What the server wrote so far, for the message of a failed test.
    pub(crate) fn log(&self) -> String {
        self.log.lock().unwrap().clone()
    }

    /// Ends the server; sessions that are open go on.
    pub(crate) fn stop(&mut self) {
        let _already_gone = self.child.kill();
        let _status = self.child.wait();
    }
}

impl Drop for Sshd {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Makes a key pair; `passphrase` may be empty.
pub(crate) fn keygen(path: &Path, kind: &str, passphrase: &str) {
    let made = Command::new("ssh-keygen")
        .args(["-q", "-t", kind, "-N", passphrase, "-C", "test", "-f"])
        .arg(path)
        .stdin(Stdio::null())
        .status()
        .unwrap();
    assert!(made.success());
}

/// The file of the public half.
pub(crate) fn public_half(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".pub");
    PathBuf::from(name)
}

/// The public half as `TYPE BASE64`.
pub(crate) fn public_line(path: &Path) -> String {
    let text = fs::read_to_string(public_half(path)).unwrap();
    text.split_whitespace()
        .take(2)
        .collect::<Vec<_>>()
        .join(" ")
}

/// Adds a public key to those that may log in.
pub(crate) fn authorize(sshd: &Sshd, key: &Path) {
    let file = sshd.dir.path().join("authorized_keys");
    let mut text = fs::read_to_string(&file).unwrap();
    text.push_str(&public_line(key));
    text.push('\n');
    fs::write(&file, text).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
}

fn server_config(dir: &Path, types: &[&str], extra: &str) -> String {
    let dir = dir.display();
    let keys: Vec<String> = types
        .iter()
        .map(|kind| format!("HostKey {dir}/host_{kind}\n"))
        .collect();
    let keys = keys.concat();
    format!(
        "{extra}\n{keys}ListenAddress 127.0.0.1\nAuthorizedKeysFile {dir}/authorized_keys\n\
         PidFile none\nStrictModes no\nUsePAM no\nPermitRootLogin yes\nPasswordAuthentication no\n\
         KbdInteractiveAuthentication no\nSubsystem sftp internal-sftp\nMaxStartups 100\n\
         LogLevel DEBUG1\n"
    )
}

/// Notes that a test could not run; with `CI` that is a failure.
#[expect(
    clippy::disallowed_methods,
    clippy::print_stderr,
    reason = "a test reads its own environment and reports what it could not do"
)]
fn skip(why: &str) {
    assert!(
        std::env::var_os("CI").is_none(),
        "{why}, and CI allows no skipped test"
    );
    eprintln!("skipped: {why}");
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

fn user_name() -> String {
    let answer = Command::new("id").arg("-un").output().unwrap();
    String::from_utf8(answer.stdout).unwrap().trim().to_owned()
}

#[test]
fn a_real_client_logs_in() {
    let Some(sshd) = Sshd::start("") else { return };
    let answer = Command::new("ssh")
        .arg("-F")
        .arg(&sshd.config)
        .args(["-o", "BatchMode=yes", "web1", "echo hello"])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert_eq!(
        String::from_utf8_lossy(&answer.stdout),
        "hello\n",
        "{}",
        String::from_utf8_lossy(&answer.stderr)
    );
}
