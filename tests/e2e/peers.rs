//! Published clients and servers of two SDKs, each pair once bare and once through the shim: the client's results are
//! the same, the bytes are the same, and the log holds every frame once, in order.
//!
//! A tee on each side of the shim keeps what the client and the server really sent.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;

use super::support::{
    home::Home,
    log::{LogLine, read_log},
    parts::skip,
    process::run,
    wait::wait_for,
};

/// A client program with its mode.
#[derive(Clone, Copy)]
enum Client {
    Python(&'static str),
    TypeScript(&'static str),
}

/// A server program.
#[derive(Clone, Copy)]
enum Server {
    Everything,
    Python,
}

/// The newest revision that both SDKs speak.
const NEWEST: &str = "2026-07-28";

#[test]
fn python_legacy_with_everything() {
    check(Client::Python("legacy"), Server::Everything);
}

#[test]
fn python_auto_with_everything() {
    check(Client::Python("auto"), Server::Everything);
}

#[test]
fn python_newest_with_everything() {
    check(Client::Python(NEWEST), Server::Everything);
}

#[test]
fn typescript_with_everything() {
    check(Client::TypeScript("sdk"), Server::Everything);
}

#[test]
fn typescript_auto_with_everything() {
    check(Client::TypeScript("auto"), Server::Everything);
}

#[test]
fn python_legacy_with_python() {
    check(Client::Python("legacy"), Server::Python);
}

#[test]
fn python_auto_with_python() {
    check(Client::Python("auto"), Server::Python);
}

#[test]
fn python_newest_with_python() {
    check(Client::Python(NEWEST), Server::Python);
}

#[test]
fn typescript_with_python() {
    check(Client::TypeScript("sdk"), Server::Python);
}

#[test]
fn typescript_newest_with_python() {
    check(Client::TypeScript(NEWEST), Server::Python);
}

/// Runs the pair bare and wrapped, and compares.
fn check(client: Client, server: Server) {
    let Some(peers) = Peers::find() else {
        return;
    };
    let home = Home::new();
    let (outer, inner) = (home.path().join("outer"), home.path().join("inner"));
    let bare = peers.server(server);
    let wrapped = [
        peers.tee(&outer),
        vec![
            env!("CARGO_BIN_EXE_mcpsnoop").into(),
            "--label".into(),
            "peer".into(),
            "--".into(),
        ],
        peers.tee(&inner),
        bare.clone(),
    ]
    .concat();
    let plain = run(peers.client(&home, client).args(bare)).expect_code(0);
    let watched = run(peers.client(&home, client).args(wrapped)).expect_code(0);
    assert_transcripts_equal(&plain.out(), &watched.out());

    let (sent, served) = (Copies::read(&outer), Copies::read(&inner));
    let logs = wait_for("the end of every log", || ended_logs(&home, sent.len()));
    assert_eq!(served.len(), sent.len(), "each shim starts its server once");
    let mut unread = served;
    for outer in &sent {
        let same = unread.iter().position(|inner| inner.stdin == outer.stdin);
        let inner = unread.swap_remove(same.expect("a server that read what the client wrote"));
        assert!(
            outer.stdout == inner.stdout,
            "the client read what the server wrote"
        );
        assert_eq!(
            without_our_lines(&outer.stderr),
            String::from_utf8_lossy(&inner.stderr)
        );
        let truth = Truth {
            c2s: frames(&outer.stdin),
            s2c: frames(&inner.stdout),
            stderr: lines(&inner.stderr),
        };
        let held = logs.iter().any(|log| truth.equals(log));
        assert!(
            held,
            "no log holds exactly what was sent; nearest: {}",
            truth.nearest(&logs)
        );
    }
    for log in &logs {
        assert_in_order(log);
    }
    // Clients that probe start the server twice; the first run ends after one request.
    let longest = sent.iter().map(|copies| frames(&copies.stdin).len()).max();
    assert!(longest > Some(10), "the client spoke: {longest:?} frames");
}

/// The installed packages and this folder's programs.
struct Peers {
    installed: PathBuf,
    programs: PathBuf,
}

impl Peers {
    /// Finds the packages that `scripts/setup` installs; without them the test is skipped.
    fn find() -> Option<Self> {
        let installed = Path::new(env!("CARGO_TARGET_TMPDIR"))
            .parent()?
            .join("peers");
        for part in ["python", "node"] {
            if !installed.join(part).join("stamp").exists() {
                skip(&format!("{part} packages of tests/peers"));
                return None;
            }
        }
        let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/peers");
        Some(Self {
            installed,
            programs,
        })
    }

    fn python(&self) -> PathBuf {
        self.installed.join("python/bin/python")
    }

    /// The client's command up to and with `--`.
    fn client(&self, home: &Home, client: Client) -> Command {
        let (program, driver, mode) = match client {
            Client::Python(mode) => (self.python(), "client.py", mode),
            Client::TypeScript(mode) => ("node".into(), "client.mjs", mode),
        };
        let mut command = home.command(program);
        command.arg(self.programs.join(driver));
        if let Client::TypeScript(_) = client {
            command.arg(self.installed.join("node"));
        }
        command.args([mode, "--"]);
        command
    }

    fn server(&self, server: Server) -> Vec<PathBuf> {
        let everything = "node/node_modules/@modelcontextprotocol/server-everything/dist/index.js";
        match server {
            Server::Everything => vec!["node".into(), self.installed.join(everything)],
            Server::Python => vec![
                self.python(),
                self.programs.join("server.py"),
                "--banner".into(),
            ],
        }
    }

    /// A program that keeps copies of the three pipes in a folder, up to and with `--`.
    fn tee(&self, folder: &Path) -> Vec<PathBuf> {
        vec![
            self.python(),
            self.programs.join("tee.py"),
            folder.into(),
            "--".into(),
        ]
    }
}

/// What one run of the tee kept.
struct Copies {
    stdin: Vec<u8>,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
}

impl Copies {
    /// Reads the copies of every run.
    fn read(folder: &Path) -> Vec<Self> {
        let read = |run: &Path, name| std::fs::read(run.join(name)).expect("a copy");
        let runs = std::fs::read_dir(folder).expect("the folder of the tee");
        runs.map(|run| run.expect("a run").path())
            .map(|run| Self {
                stdin: read(&run, "stdin"),
                stdout: read(&run, "stdout"),
                stderr: read(&run, "stderr"),
            })
            .collect()
    }
}

/// The frames that a log must hold.
struct Truth {
    c2s: Vec<Vec<u8>>,
    s2c: Vec<Vec<u8>>,
    stderr: Vec<Vec<u8>>,
}

impl Truth {
    fn directions(&self) -> [(&str, &Vec<Vec<u8>>); 3] {
        [
            ("c2s", &self.c2s),
            ("s2c", &self.s2c),
            ("stderr", &self.stderr),
        ]
    }

    fn equals(&self, log: &[LogLine]) -> bool {
        self.directions()
            .iter()
            .all(|(direction, frames)| recorded(log, direction) == **frames)
    }

    /// Where the logs differ, for the message.
    fn nearest(&self, logs: &[Vec<LogLine>]) -> String {
        let differences = logs.iter().flat_map(|log| {
            self.directions().into_iter().filter_map(|(direction, sent)| {
                let kept = recorded(log, direction);
                let at = sent.iter().zip(&kept).take_while(|(sent, kept)| sent == kept).count();
                let shown = |frames: &[Vec<u8>]| frames.get(at).map(|frame| String::from_utf8_lossy(frame).into_owned());
                (kept != *sent).then(|| {
                    let (sent_frame, kept_frame) = (shown(sent), shown(&kept));
                    format!("{direction}: {} sent, {} kept, number {at}: {sent_frame:?} / {kept_frame:?}", sent.len(), kept.len())
                })
            })
        });
        differences.collect::<Vec<_>>().join("\n")
    }
}

/// The frames of one direction as the log has them.
fn recorded(log: &[LogLine], direction: &str) -> Vec<Vec<u8>> {
    log.iter()
        .filter(|line| line.direction == direction)
        .map(LogLine::frame)
        .collect()
}

/// The lines of a stream; a last one without its end counts.
fn lines(stream: &[u8]) -> Vec<Vec<u8>> {
    let lines = stream.split_inclusive(|&byte| byte == b'\n');
    lines
        .map(|line| line.strip_suffix(b"\n").unwrap_or(line).to_vec())
        .collect()
}

/// The frames of a stream: empty lines are none, white space around a message is not part of it.
fn frames(stream: &[u8]) -> Vec<Vec<u8>> {
    let frames = lines(stream)
        .into_iter()
        .map(|line| line.trim_ascii().to_vec());
    frames.filter(|frame| !frame.is_empty()).collect()
}

/// Standard error without the lines of the shim.
fn without_our_lines(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    text.split_inclusive('\n')
        .filter(|line| !line.starts_with("mcpsnoop: "))
        .collect()
}

/// All logs, once there are as many as expected and each has its end record.
fn ended_logs(home: &Home, expected: usize) -> Option<Vec<Vec<LogLine>>> {
    let paths = home.logs();
    let ended = |path: &PathBuf| {
        let bytes = std::fs::read(path).expect("a log");
        let last = bytes
            .trim_ascii_end()
            .rsplit(|&byte| byte == b'\n')
            .next()
            .map(<[u8]>::to_vec);
        last.is_some_and(|line| String::from_utf8_lossy(&line).contains(r#""event":"end""#))
    };
    let complete = paths.len() == expected && paths.iter().all(ended);
    complete.then(|| paths.iter().map(|path| read_log(path)).collect())
}

/// Numbers without a hole, and no answer before its request.
fn assert_in_order(log: &[LogLine]) {
    for (line, number) in log.iter().zip(1..) {
        assert_eq!(line.seq, number, "numbers grow by one");
    }
    let mut asked = HashMap::<(&str, String), u64>::new();
    for line in log
        .iter()
        .filter(|line| line.message()["id"] != Value::Null)
    {
        let id = line.message()["id"].to_string();
        if line.message()["method"].is_string() {
            asked.insert((&line.direction, id), line.seq);
        } else {
            let asker = if line.direction == "s2c" {
                "c2s"
            } else {
                "s2c"
            };
            assert!(
                asked.contains_key(&(asker, id)),
                "an answer before its request: {}",
                line.value
            );
        }
    }
}

/// Compares line by line, so that a failure shows the step.
fn assert_transcripts_equal(plain: &str, watched: &str) {
    for (plain, watched) in plain.lines().zip(watched.lines()) {
        assert_eq!(plain, watched);
    }
    assert_eq!(plain.lines().count(), watched.lines().count());
    assert!(
        plain.lines().count() > 10,
        "the client did its work: {plain}"
    );
}
