//! Fixture R: a server of the library inside the test, for what sshd does not do on demand.

use std::{collections::VecDeque, sync::Mutex};

use russh::{
    MethodKind, MethodSet,
    keys::{PrivateKey, ssh_key::private::Ed25519Keypair},
    server::{self, Auth},
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
    sync::Notify,
    task::JoinSet,
};
use zeroize::Zeroizing;

use super::super::{
    config::resolve,
    error::ExitClass,
    handler::CloseReason,
    options::{RemoteOptions, Target},
    prompt::Question,
};
use super::*;
use crate::base::Env;

/// What the server does.
#[derive(Clone, Default)]
struct Plan {
    /// Methods it lists.
    methods: Vec<MethodKind>,
    /// Right password.
    password: Option<&'static str>,
    /// It never answers to a password, like one that demands a new one.
    hangs_on_password: bool,
    /// Right answers to its questions.
    answers: Vec<&'static str>,
    /// A password is not enough: the questions follow.
    wants_both: bool,
    banner: Option<&'static str>,
}

struct Server {
    plan: Plan,
    /// Outcomes of the channels that it tried to open.
    opened: mpsc::Sender<(&'static str, bool)>,
    /// It waits for this before it opens channels.
    go: Arc<Notify>,
    tasks: JoinSet<()>,
}

impl Server {
    fn reject(&self) -> Auth {
        Auth::Reject {
            proceed_with_methods: Some(MethodSet::from(self.plan.methods.as_slice())),
            partial_success: false,
        }
    }
}

impl server::Handler for Server {
    type Error = russh::Error;

    async fn auth_none(&mut self, user: &str) -> Result<Auth, russh::Error> {
        match user {
            "open" => Ok(Auth::Accept),
            _ => Ok(self.reject()),
        }
    }

    async fn auth_password(&mut self, _user: &str, password: &str) -> Result<Auth, russh::Error> {
        if self.plan.hangs_on_password {
            std::future::pending::<()>().await;
        }
        if self.plan.password != Some(password) {
            return Ok(self.reject());
        }
        if self.plan.wants_both {
            return Ok(Auth::Reject {
                proceed_with_methods: Some(MethodSet::from(
                    [MethodKind::KeyboardInteractive].as_slice(),
                )),
                partial_success: true,
            });
        }
        Ok(Auth::Accept)
    }

    async fn auth_keyboard_interactive<'a>(
        &'a mut self,
        _user: &str,
        _submethods: &str,
        response: Option<server::Response<'a>>,
    ) -> Result<Auth, russh::Error> {
        let Some(response) = response else {
            return Ok(Auth::Partial {
                name: "Name".into(),
                instructions: "Instruction".into(),
                prompts: vec![("First: ".into(), false), ("Second: ".into(), true)].into(),
            });
        };
        let given: Vec<Vec<u8>> = response.map(|answer| answer.to_vec()).collect();
        let wanted: Vec<Vec<u8>> = self
            .plan
            .answers
            .iter()
            .map(|answer| answer.as_bytes().to_vec())
            .collect();
        if given == wanted {
            return Ok(Auth::Accept);
        }
        Ok(self.reject())
    }

    async fn authentication_banner(&mut self) -> Result<Option<String>, russh::Error> {
        Ok(self.plan.banner.map(str::to_owned))
    }

    async fn auth_succeeded(&mut self, session: &mut server::Session) -> Result<(), russh::Error> {
        let handle = session.handle();
        let opened = self.opened.clone();
        let go = Arc::clone(&self.go);
        self.tasks.spawn(async move {
            go.notified().await;
            let private = handle
                .channel_open_forwarded_streamlocal("/private")
                .await
                .is_ok();
            let tries = [
                ("private", private),
                (
                    "public",
                    handle
                        .channel_open_forwarded_streamlocal("/public")
                        .await
                        .is_ok(),
                ),
                ("session", handle.channel_open_session().await.is_ok()),
                ("agent", handle.channel_open_agent().await.is_ok()),
                ("x11", handle.channel_open_x11("a", 1).await.is_ok()),
                (
                    "tcp",
                    handle
                        .channel_open_direct_tcpip("a", 1, "b", 2)
                        .await
                        .is_ok(),
                ),
                (
                    "local",
                    handle.channel_open_direct_streamlocal("/a").await.is_ok(),
                ),
                (
                    "forwarded",
                    handle
                        .channel_open_forwarded_tcpip("a", 1, "b", 2)
                        .await
                        .is_ok(),
                ),
            ];
            for outcome in tries {
                if opened.send(outcome).await.is_err() {
                    return;
                }
            }
            let reason = russh::Disconnect::ByApplication;
            let said = handle.disconnect(reason, "bye".to_owned(), String::new());
            said.await.unwrap();
        });
        Ok(())
    }
}

/// A running server; dropping it ends it.
struct Running {
    port: u16,
    opened: mpsc::Receiver<(&'static str, bool)>,
    go: Arc<Notify>,
    _tasks: JoinSet<()>,
}

async fn serve(plan: Plan) -> Running {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let key = PrivateKey::from(Ed25519Keypair::from_seed(&[7; 32]));
    let config = Arc::new(server::Config {
        auth_rejection_time: Duration::from_millis(1),
        auth_rejection_time_initial: Some(Duration::from_millis(1)),
        keys: vec![key],
        ..server::Config::default()
    });
    let (opened, outcomes) = mpsc::channel(16);
    let go = Arc::new(Notify::new());
    let started = Arc::clone(&go);
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        let mut sessions = Vec::new();
        while let Ok((stream, _)) = listener.accept().await {
            let handler = Server {
                plan: plan.clone(),
                opened: opened.clone(),
                go: Arc::clone(&started),
                tasks: JoinSet::new(),
            };
            if let Ok(session) = server::run_stream(Arc::clone(&config), stream, handler).await {
                sessions.push(session);
            }
        }
    });
    Running {
        port,
        opened: outcomes,
        go,
        _tasks: tasks,
    }
}

#[derive(Default)]
struct Script {
    answers: Mutex<VecDeque<&'static str>>,
    log: Mutex<Vec<String>>,
}

impl Script {
    fn of(answers: &[&'static str]) -> Arc<Self> {
        Arc::new(Self {
            answers: Mutex::new(answers.iter().copied().collect()),
            log: Mutex::default(),
        })
    }

    fn log(&self) -> Vec<String> {
        self.log.lock().unwrap().clone()
    }
}

impl Prompter for Script {
    async fn ask(&self, question: Question) -> Option<Zeroizing<String>> {
        let text = question.server_text.unwrap_or_default();
        let entry = format!("{text}/{}{}", question.prompt, question.echo);
        self.log.lock().unwrap().push(entry);
        let answer = self.answers.lock().unwrap().pop_front();
        answer.map(|answer| Zeroizing::new(answer.to_owned()))
    }

    fn can_ask(&self) -> bool {
        true
    }

    fn tell(&self, _host: &str, _line: &str) {}

    fn show_server_text(&self, host: &str, text: &str) {
        self.log
            .lock()
            .unwrap()
            .push(format!("{host} wrote {text}"));
    }
}

async fn host(port: u16, user: &str) -> Resolved {
    let options = RemoteOptions {
        ssh_config: Some("none".into()),
        ssh_options: vec![
            "StrictHostKeyChecking=accept-new".to_owned(),
            "UserKnownHostsFile=/dev/null".to_owned(),
            "GlobalKnownHostsFile=/dev/null".to_owned(),
            "IdentityFile=none".to_owned(),
            "IdentityAgent=none".to_owned(),
            format!("Port={port}"),
        ],
        env: Env::of([("PATH", "/usr/bin:/bin")]),
        ..RemoteOptions::default()
    };
    let target = Target::parse(&format!("{user}@127.0.0.1")).unwrap();
    Arc::unwrap_or_clone(resolve(&target, &options).await.unwrap())
}

async fn log_in(server: &Running, script: &Arc<Script>) -> Result<Connected, Error> {
    let host = Arc::new(host(server.port, "dev").await);
    connect(&host, &Arc::default(), script).await
}

#[tokio::test]
async fn passwords_are_asked_for_up_to_three_times() {
    let plan = Plan {
        methods: vec![MethodKind::Password],
        password: Some("right"),
        banner: Some("hello\u{1b}[2J"),
        ..Plan::default()
    };
    let server = serve(plan).await;
    let script = Script::of(&["wrong", "right"]);
    log_in(&server, &script).await.unwrap();
    let question = "/Password of dev at 127.0.0.1: false".to_owned();
    assert_eq!(
        script.log(),
        [
            "127.0.0.1 wrote hello\u{1b}[2J".to_owned(),
            question,
            "/The server refused that password. Try again.\nPassword of dev at 127.0.0.1: false"
                .to_owned(),
        ]
    );
    let script = Script::of(&["a", "b", "c", "right"]);
    let error = log_in(&server, &script).await.unwrap_err();
    assert!(matches!(error, Error::LoginRefused { .. }), "{error:?}");
    let tried = "tried a password 3 times (refused)".to_owned();
    assert!(error.hints().contains(&tried), "{:?}", error.hints());
    let script = Script::of(&[]);
    let error = log_in(&server, &script).await.unwrap_err();
    assert!(matches!(error, Error::PromptNeeded { .. }), "{error:?}");
    assert_eq!(script.log().len(), 2);
}

#[tokio::test]
async fn questions_of_the_server_are_asked_as_its_own() {
    let plan = Plan {
        methods: vec![MethodKind::KeyboardInteractive],
        answers: vec!["one", "two"],
        ..Plan::default()
    };
    let server = serve(plan).await;
    let script = Script::of(&["one", "no", "one", "two"]);
    log_in(&server, &script).await.unwrap();
    let first = "Name\nInstruction\nFirst: /Answer to 127.0.0.1: false";
    let second = "Second: /Answer to 127.0.0.1: true";
    let again = first.replace(
        "/Answer",
        "/The server refused that answer. Try again.\nAnswer",
    );
    assert_eq!(script.log(), [first, second, again.as_str(), second]);
    let error = log_in(&server, &Script::of(&["one"])).await.unwrap_err();
    assert!(matches!(error, Error::PromptNeeded { .. }), "{error:?}");
}

#[tokio::test]
async fn after_a_partial_success_the_listed_methods_go_on() {
    let plan = Plan {
        methods: vec![MethodKind::Password],
        password: Some("right"),
        answers: vec!["one", "two"],
        wants_both: true,
        ..Plan::default()
    };
    let server = serve(plan).await;
    log_in(&server, &Script::of(&["right", "one", "two"]))
        .await
        .unwrap();
}

#[tokio::test]
async fn a_password_that_is_never_answered_ends() {
    let plan = Plan {
        methods: vec![MethodKind::Password],
        hangs_on_password: true,
        ..Plan::default()
    };
    let server = serve(plan).await;
    let mut host = host(server.port, "dev").await;
    host.link.step_limit = Duration::from_millis(300);
    let script = Script::of(&["old"]);
    let error = connect(&Arc::new(host), &Arc::default(), &script)
        .await
        .unwrap_err();
    assert!(
        matches!(
            error,
            Error::LoginTimeout {
                step: "password",
                ..
            }
        ),
        "{error:?}"
    );
    assert_eq!(error.class(), ExitClass::Authentication);
    assert!(error.hints()[0].contains("new password"));
}

#[tokio::test]
async fn only_what_we_cannot_do() {
    let plan = Plan {
        methods: vec![MethodKind::HostBased],
        ..Plan::default()
    };
    let server = serve(plan).await;
    let error = log_in(&server, &Script::of(&[])).await.unwrap_err();
    assert!(
        matches!(error, Error::UnsupportedMethods { .. }),
        "{error:?}"
    );
    assert_eq!(error.to_string(), "the server accepts only hostbased");
}

/// A server may open connections to our private sockets and nothing else (remote.md 8.5, 14.4).
#[tokio::test]
async fn every_other_channel_is_refused() {
    let mut server = serve(Plan::default()).await;
    let host = Arc::new(host(server.port, "open").await);
    let mut connected = connect(&host, &Arc::default(), &Script::of(&[]))
        .await
        .unwrap();
    connected.private_paths.insert("/private");
    server.go.notify_one();
    let mut outcomes = Vec::new();
    for _ in 0..8 {
        outcomes.push(within(server.opened.recv()).await.unwrap());
    }
    let accepted: Vec<&str> = outcomes
        .iter()
        .filter(|(_, opened)| *opened)
        .map(|(kind, _)| *kind)
        .collect();
    assert_eq!(accepted, ["private"]);
    assert_eq!(
        within(connected.incoming.recv()).await.unwrap().path,
        "/private"
    );
    let reason = within(connected.closed.clone().wait()).await;
    let message = "bye".to_owned();
    assert_eq!(reason, CloseReason::Disconnected { message });
}

/// No test waits for ever.
async fn within<T>(work: impl Future<Output = T>) -> T {
    let limit = Duration::from_secs(20);
    tokio::time::timeout(limit, work)
        .await
        .expect("an end in time")
}

/// Answers nothing, or only these bytes, to one connection after another.
async fn mute(bytes: &'static [u8], hangs_up: bool) -> (u16, JoinSet<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            stream.write_all(bytes).await.unwrap();
            if !hangs_up {
                let mut read = Vec::new();
                stream.read_to_end(&mut read).await.unwrap_or(0);
            }
        }
    });
    (port, tasks)
}

#[tokio::test]
async fn handshakes_that_lead_nowhere_end() {
    let long: &[u8] = &[b'x'; 600];
    let cases: [(&[u8], bool, bool); 5] = [
        (b"", false, true),
        (b"SSH-2.0-x\r\n", false, true),
        (b"SSH-2.0-x\r\n", true, false),
        (b"", true, false),
        (long, false, false),
    ];
    for (bytes, hangs_up, times_out) in cases {
        let bytes: &'static [u8] = bytes.to_vec().leak();
        let (port, _tasks) = mute(bytes, hangs_up).await;
        let mut host = host(port, "dev").await;
        host.link.handshake_limit = Duration::from_millis(300);
        let error = connect(&Arc::new(host), &Arc::default(), &Script::of(&[]))
            .await
            .unwrap_err();
        if times_out {
            assert!(matches!(error, Error::HandshakeTimeout { .. }), "{error:?}");
        } else {
            assert!(matches!(error, Error::Handshake { .. }), "{error:?}");
        }
        assert_eq!(
            (error.class(), error.is_retryable()),
            (ExitClass::Unreachable, true)
        );
    }
}
