//! The far side of `demo --remote`: an SSH server inside the program that gives one throw-away key
//! the probe, SFTP and stream-local forwarding below one directory, and nothing else (capture.md
//! 10.5).

use std::{
    collections::HashMap,
    ffi::OsString,
    io,
    os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
    sync::Arc,
};

use russh::{
    Channel, ChannelId, ChannelMsg, ChannelOpenFailure,
    keys::{Algorithm, PrivateKey, PublicKey, key::safe_rng, ssh_key::LineEnding},
    server::{Auth, ChannelOpenHandle, Config, Handle, Handler, Msg, Session, VerifiedPublicKey},
};
use tokio::{
    io::AsyncWriteExt as _,
    net::{TcpListener, UnixListener, UnixStream},
    task::{AbortHandle, JoinSet},
};

use super::{
    demo_sftp::{DemoSftp, below},
    options::{RemoteOptions, Target},
    probe,
};
use crate::base::{Clock, Env};

/// Name of the only account.
const USER: &str = "demo";
/// Longest script that is looked at.
const SCRIPT_LIMIT: usize = 4 << 10;

/// The running server; it ends with everything that it carries when it is dropped.
#[derive(Debug)]
pub struct DemoServer {
    port: u16,
    known_hosts: PathBuf,
    user_key: PathBuf,
    _tasks: JoinSet<()>,
}

impl DemoServer {
    /// Serves `far` as the state directory of a host, on a free port of 127.0.0.1. The files that
    /// the viewer needs to log in go to `near`.
    ///
    /// # Errors
    /// The system's reason.
    pub async fn start(far: &Path, near: &Path) -> io::Result<Self> {
        let root: Arc<Path> = far.canonicalize()?.into();
        let host_key = new_key()?;
        let user_key = new_key()?;
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let port = listener.local_addr()?.port();
        let public = host_key
            .public_key()
            .to_openssh()
            .map_err(io::Error::other)?;
        let known_hosts = near.join("known_hosts");
        write_private(&known_hosts, &format!("[127.0.0.1]:{port} {public}\n"))?;
        let user_key_path = near.join("demo_key");
        let text = user_key
            .to_openssh(LineEnding::LF)
            .map_err(io::Error::other)?;
        write_private(&user_key_path, &text)?;
        let config = Arc::new(Config {
            keys: vec![host_key],
            nodelay: true,
            window_size: 16 << 20,
            auth_rejection_time_initial: Some(std::time::Duration::ZERO),
            ..Config::default()
        });
        let mut tasks = JoinSet::new();
        tasks.spawn(serve(listener, config, root, user_key.public_key().clone()));
        Ok(Self {
            port,
            known_hosts,
            user_key: user_key_path,
            _tasks: tasks,
        })
    }

    /// The host `demo`.
    pub fn target(&self) -> Target {
        Target {
            typed: USER.to_owned(),
            user: None,
            host: USER.to_owned(),
            port: None,
        }
    }

    /// Options with which the ordinary path leads here: neither the user's configuration nor agent
    /// nor known hosts take part.
    pub fn options(&self) -> RemoteOptions {
        let port = self.port;
        let known_hosts = self.known_hosts.display();
        RemoteOptions {
            ssh_config: Some(OsString::from("none")),
            ssh_options: vec![
                "HostName=127.0.0.1".to_owned(),
                format!("Port={port}"),
                format!("User={USER}"),
                format!("UserKnownHostsFile={known_hosts}"),
                "GlobalKnownHostsFile=/dev/null".to_owned(),
                "IdentityAgent=none".to_owned(),
                "IdentitiesOnly=yes".to_owned(),
            ],
            identities: vec![self.user_key.clone()],
            batch: true,
            env: Env::default(),
            ..RemoteOptions::default()
        }
    }
}

fn new_key() -> io::Result<PrivateKey> {
    PrivateKey::random(&mut safe_rng(), Algorithm::Ed25519).map_err(io::Error::other)
}

fn write_private(path: &Path, text: &str) -> io::Result<()> {
    let mut file = std::fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(path)?;
    io::Write::write_all(&mut file, text.as_bytes())
}

async fn serve(listener: TcpListener, config: Arc<Config>, root: Arc<Path>, user_key: PublicKey) {
    let mut sessions = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                let Ok((stream, _)) = accepted else { continue };
                let handler = DemoSession::new(Arc::clone(&root), user_key.clone());
                let config = Arc::clone(&config);
                sessions.spawn(async move {
                    let running = russh::server::run_stream(config, stream, handler).await;
                    if let Ok(session) = running
                        && session.await.is_err()
                    {
                        // The viewer left without a word.
                    }
                });
            }
            Some(_) = sessions.join_next() => {}
        }
    }
}

/// One connection.
struct DemoSession {
    root: Arc<Path>,
    user_key: PublicKey,
    channels: HashMap<ChannelId, Channel<Msg>>,
    listeners: HashMap<String, AbortHandle>,
    tasks: JoinSet<()>,
}

impl DemoSession {
    fn new(root: Arc<Path>, user_key: PublicKey) -> Self {
        Self {
            root,
            user_key,
            channels: HashMap::new(),
            listeners: HashMap::new(),
            tasks: JoinSet::new(),
        }
    }
}

impl Handler for DemoSession {
    type Error = russh::Error;

    async fn auth_publickey(
        &mut self,
        user: &str,
        key: VerifiedPublicKey<'_>,
    ) -> Result<Auth, russh::Error> {
        let known = user == USER && key.public_key.key_data() == self.user_key.key_data();
        Ok(if known { Auth::Accept } else { Auth::reject() })
    }

    async fn channel_open_session(
        &mut self,
        channel: Channel<Msg>,
        reply: ChannelOpenHandle,
        _session: &mut Session,
    ) -> Result<(), russh::Error> {
        self.channels.insert(channel.id(), channel);
        reply.accept().await;
        Ok(())
    }

    async fn channel_close(
        &mut self,
        channel: ChannelId,
        _session: &mut Session,
    ) -> Result<(), russh::Error> {
        self.channels.remove(&channel);
        Ok(())
    }

    async fn exec_request(
        &mut self,
        channel: ChannelId,
        command: &[u8],
        session: &mut Session,
    ) -> Result<(), russh::Error> {
        let Some(opened) = self.channels.remove(&channel).filter(|_| command == b"sh") else {
            return session.channel_failure(channel);
        };
        session.channel_success(channel)?;
        let root = Arc::clone(&self.root);
        self.tasks.spawn(answer_probe(opened, root));
        Ok(())
    }

    async fn subsystem_request(
        &mut self,
        channel: ChannelId,
        name: &str,
        session: &mut Session,
    ) -> Result<(), russh::Error> {
        let Some(opened) = self.channels.remove(&channel).filter(|_| name == "sftp") else {
            return session.channel_failure(channel);
        };
        session.channel_success(channel)?;
        let sftp = DemoSftp::new(Arc::clone(&self.root));
        russh_sftp::server::run(opened.into_stream(), sftp).await;
        Ok(())
    }

    async fn streamlocal_forward(
        &mut self,
        socket_path: &str,
        session: &mut Session,
    ) -> Result<bool, russh::Error> {
        let Some(path) = below(&self.root, socket_path) else {
            return Ok(false);
        };
        let Ok(listener) = UnixListener::bind(&path) else {
            return Ok(false);
        };
        let private = std::fs::Permissions::from_mode(0o600);
        if std::fs::set_permissions(&path, private).is_err() {
            return Ok(false);
        }
        let forwarding = forward(listener, socket_path.to_owned(), session.handle());
        let listening = self.tasks.spawn(forwarding);
        self.listeners.insert(socket_path.to_owned(), listening);
        Ok(true)
    }

    async fn cancel_streamlocal_forward(
        &mut self,
        socket_path: &str,
        _session: &mut Session,
    ) -> Result<bool, russh::Error> {
        let listening = self.listeners.remove(socket_path);
        Ok(listening.is_some_and(|listening| {
            listening.abort();
            true
        }))
    }

    async fn channel_open_direct_streamlocal(
        &mut self,
        channel: Channel<Msg>,
        socket_path: &str,
        reply: ChannelOpenHandle,
        _session: &mut Session,
    ) -> Result<(), russh::Error> {
        let connected = match below(&self.root, socket_path) {
            Some(path) => UnixStream::connect(path).await.ok(),
            None => None,
        };
        match connected {
            Some(stream) => {
                reply.accept().await;
                self.tasks.spawn(carry(channel, stream));
            }
            None => reply.reject(ChannelOpenFailure::ConnectFailed).await,
        }
        Ok(())
    }
}

/// Takes connections to a socket to the viewer.
async fn forward(listener: UnixListener, path: String, handle: Handle) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                let Ok((stream, _)) = accepted else { continue };
                let opening = handle.channel_open_forwarded_streamlocal(path.clone());
                if let Ok(channel) = opening.await {
                    connections.spawn(carry(channel, stream));
                }
            }
            Some(_) = connections.join_next() => {}
        }
    }
}

/// Carries bytes between a socket and a channel until both have ended, or the viewer has closed the
/// channel. A channel that is read as a stream shows its close as an end of one direction only, and
/// a write would wait for ever for room that nobody gives any more.
async fn carry(channel: Channel<Msg>, stream: UnixStream) {
    let (mut from_viewer, to_viewer) = channel.split();
    let (mut from_socket, mut to_socket) = stream.into_split();
    let up = async {
        let mut writer = to_viewer.make_writer();
        tokio::io::copy(&mut from_socket, &mut writer).await?;
        writer.shutdown().await
    };
    let down = async {
        loop {
            match from_viewer.wait().await {
                Some(ChannelMsg::Data { data }) => to_socket.write_all(&data).await?,
                Some(ChannelMsg::Eof) => to_socket.shutdown().await?,
                None | Some(ChannelMsg::Close) => return Ok::<(), io::Error>(()),
                Some(_) => {}
            }
        }
    };
    tokio::pin!(up, down);
    // Which side left does not matter: there is nobody to tell.
    let carried = tokio::select! {
        ended = &mut down => ended,
        ended = &mut up => match ended {
            Ok(()) => down.await,
            failed => failed,
        },
    };
    if carried.is_err() || to_viewer.close().await.is_err() {
        // One side left.
    }
}

/// Answers the probe's script and nothing else. No shell is run.
async fn answer_probe(mut channel: Channel<Msg>, root: Arc<Path>) {
    let mut input = Vec::new();
    while let Some(message) = channel.wait().await {
        match message {
            ChannelMsg::Data { data } => input.extend_from_slice(&data),
            ChannelMsg::Eof | ChannelMsg::Close => break,
            _ => {}
        }
        if input.len() > SCRIPT_LIMIT {
            break;
        }
    }
    let answer = probe_answer(&input, &root, Clock::start());
    let mut status = 127;
    if let Some(answer) = answer
        && channel.data_bytes(answer.into_bytes()).await.is_ok()
    {
        status = 0;
    }
    let ended = async {
        channel.exit_status(status).await?;
        channel.eof().await?;
        channel.close().await
    };
    if ended.await.is_err() {
        // The viewer left.
    }
}

/// What a shell would print for the script; `None` when it is not exactly the script.
fn probe_answer(input: &[u8], root: &Path, clock: Clock) -> Option<String> {
    let input = str::from_utf8(input).ok()?;
    let token = input.lines().next()?.rsplit(' ').next()?;
    if !token.bytes().all(|byte| byte.is_ascii_alphanumeric()) || input != probe::script(token) {
        return None;
    }
    let state = root.to_str()?;
    let uid = rustix::process::geteuid().as_raw();
    let now = clock.now().to_string();
    let now = now.split('.').next()?;
    Some(format!(
        "\nMCPSNOOP {token} begin\nHOME=\nMCPSNOOP_HOME={state}\nXDG_STATE_HOME=\nuid={uid}\n\
         sys=Demo\nnow={now}Z\nMCPSNOOP {token} end\n"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_exactly_the_script() {
        let root = Path::new("/far");
        let clock = Clock::start();
        let script = probe::script("abc234");
        let answer = probe_answer(script.as_bytes(), root, clock).unwrap();
        let read = probe::read(answer.as_bytes(), "abc234").unwrap().unwrap();
        assert_eq!(read.mcpsnoop_home.as_deref(), Some("/far"));
        assert!(read.now.is_some() && read.home.is_none());
        for other in [
            String::new(),
            "id\n".to_owned(),
            format!("{script}id\n"),
            script.replace("abc234", "$(id)"),
        ] {
            assert_eq!(probe_answer(other.as_bytes(), root, clock), None, "{other}");
        }
    }
}
