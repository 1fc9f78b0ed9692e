//! A real sshd on loopback with keys and configuration of its own, near and behind the delaying proxy.

use std::{
    fs,
    io::{BufRead, BufReader},
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

use crate::{
    Outcome,
    proxy::{self, Link},
    space::Space,
};

/// 100 ms of round trip, 1 Gbit/s.
const FAR: Link = Link {
    delay: Duration::from_millis(50),
    rate: 125e6,
};

/// The server; it ends when this is dropped.
pub(crate) struct Sshd {
    child: Child,
    /// Client configuration with the hosts `near` and `far`.
    pub(crate) config: PathBuf,
}

impl Sshd {
    pub(crate) fn start(space: &Space) -> Outcome<Self> {
        let folder = space.path();
        for name in ["host_key", "user_key"] {
            succeed(
                Command::new("ssh-keygen")
                    .args(["-q", "-t", "ed25519", "-N", "", "-f"])
                    .arg(folder.join(name)),
            )?;
        }
        // Debian's sshd wants this folder; only root can make it, and only root's sshd needs it.
        if user()? == "root" {
            fs::create_dir_all("/run/sshd")?;
        }
        let port = TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port();
        let child = serve(folder, port)?;
        let far = proxy::start(port, FAR)?;
        let host = fs::read_to_string(folder.join("host_key.pub"))?;
        let known: String = [port, far]
            .map(|port| format!("[127.0.0.1]:{port} {host}"))
            .concat();
        fs::write(folder.join("known_hosts"), known)?;
        let hosts: String = [("near", port), ("far", far)]
            .map(|(name, port)| format!("Host {name}\n  Port {port}\n"))
            .concat();
        let shown = folder.display();
        let config = folder.join("ssh_config");
        let rest = format!(
            "Host *\n  HostName 127.0.0.1\n  User {}\n  IdentityFile {shown}/user_key\n  IdentityAgent none\n  \
             UserKnownHostsFile {shown}/known_hosts\n  GlobalKnownHostsFile /dev/null\n  BatchMode yes\n",
            user()?
        );
        fs::write(&config, hosts + &rest)?;
        Ok(Self { child, config })
    }
}

impl Drop for Sshd {
    fn drop(&mut self) {
        if self.child.kill().is_ok() {
            self.child.wait().ok();
        }
    }
}

/// Starts the server and waits until it listens.
fn serve(folder: &Path, port: u16) -> Outcome<Child> {
    let shown = folder.display();
    let config = folder.join("sshd_config");
    fs::write(
        &config,
        format!(
            "ListenAddress 127.0.0.1\nPort {port}\nHostKey {shown}/host_key\nAuthorizedKeysFile {shown}/user_key.pub\n\
             PidFile none\nStrictModes no\nUsePAM no\nPermitRootLogin yes\nPasswordAuthentication no\n\
             KbdInteractiveAuthentication no\nSubsystem sftp internal-sftp\n"
        ),
    )?;
    let mut child = Command::new("/usr/sbin/sshd")
        .args(["-D", "-e", "-f"])
        .arg(&config)
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()?;
    let log = BufReader::new(child.stderr.take().ok_or("no log")?);
    let mut lines = log.lines().map_while(Result::ok);
    let listening = lines.find(|line| line.contains("Server listening"));
    // Its log must be read on, or it could wait for us.
    std::thread::spawn(move || lines.for_each(drop));
    listening
        .map(|_| child)
        .ok_or_else(|| "sshd did not start".into())
}

fn user() -> Outcome<String> {
    let output = Command::new("id").arg("-un").output()?;
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}

fn succeed(command: &mut Command) -> Outcome<()> {
    let status = command.stdin(Stdio::null()).status()?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("{command:?}: {status}").into())
    }
}
