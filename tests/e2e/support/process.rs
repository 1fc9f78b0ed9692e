//! Processes with a deadline: run to the end, or talk to while they run.

use std::{
    io::{Read, Write as _},
    os::unix::process::ExitStatusExt as _,
    process::{Child, ChildStdin, Command, ExitStatus, Stdio},
    sync::Arc,
    thread::JoinHandle,
};

use rustix::process::{Pid, Signal, kill_process};

use super::wait::{DEADLINE, Watched, wait_for};

/// What a process printed and how it ended.
#[derive(Debug)]
pub(crate) struct Output {
    /// Exit code, if it was not killed.
    pub(crate) code: Option<i32>,
    /// Number of the signal that killed it.
    pub(crate) signal: Option<i32>,
    /// All of its standard output.
    pub(crate) stdout: Vec<u8>,
    /// All of its standard error.
    pub(crate) stderr: Vec<u8>,
}

impl Output {
    /// Standard output as text.
    pub(crate) fn out(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    /// Standard error as text.
    pub(crate) fn err(&self) -> String {
        String::from_utf8_lossy(&self.stderr).into_owned()
    }

    /// Fails with everything printed unless the exit code is this one.
    #[track_caller]
    pub(crate) fn expect_code(self, code: i32) -> Self {
        let (out, err) = (self.out(), self.err());
        assert_eq!(
            self.code,
            Some(code),
            "signal {:?}\nstdout: {out}\nstderr: {err}",
            self.signal
        );
        self
    }
}

/// Runs a command to its end with an empty standard input.
#[track_caller]
pub(crate) fn run(command: &mut Command) -> Output {
    run_with(command, b"")
}

/// Runs a command to its end with this standard input.
#[track_caller]
pub(crate) fn run_with(command: &mut Command, input: &[u8]) -> Output {
    let mut running = Running::start(command);
    let stdin = running.stdin.take();
    std::thread::scope(|scope| {
        // A command that ends without reading its input breaks the pipe: that is no failure of the test.
        scope.spawn(move || stdin.is_some_and(|mut pipe| pipe.write_all(input).is_ok()));
        running.wait()
    })
}

/// Bytes that arrived on one pipe, and whether it has ended.
#[derive(Default)]
struct Arrived {
    bytes: Vec<u8>,
    /// Up to where `next_line` has given lines out.
    taken: usize,
    ended: bool,
}

/// A process with three pipes; it is killed when this is dropped.
pub(crate) struct Running {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: Arc<Watched<Arrived>>,
    stderr: Arc<Watched<Arrived>>,
    readers: Vec<JoinHandle<()>>,
}

impl Running {
    /// Starts the command.
    #[track_caller]
    pub(crate) fn start(command: &mut Command) -> Self {
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command
            .spawn()
            .unwrap_or_else(|error| panic!("cannot start {command:?}: {error}"));
        let stdin = child.stdin.take();
        let stdout = Arc::<Watched<Arrived>>::default();
        let stderr = Arc::<Watched<Arrived>>::default();
        let readers = vec![
            collect(child.stdout.take().expect("a pipe"), Arc::clone(&stdout)),
            collect(child.stderr.take().expect("a pipe"), Arc::clone(&stderr)),
        ];
        Self {
            child,
            stdin,
            stdout,
            stderr,
            readers,
        }
    }

    /// The process id.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Writes to its standard input.
    #[track_caller]
    pub(crate) fn send(&mut self, bytes: impl AsRef<[u8]>) {
        let pipe = self.stdin.as_mut().expect("an open standard input");
        pipe.write_all(bytes.as_ref())
            .expect("a written standard input");
    }

    /// Writes to its standard input; false when nobody reads it any more.
    pub(crate) fn try_send(&mut self, bytes: impl AsRef<[u8]>) -> bool {
        let pipe = self.stdin.as_mut().expect("an open standard input");
        pipe.write_all(bytes.as_ref()).is_ok()
    }

    /// Takes its standard input out, for a thread that writes.
    #[track_caller]
    pub(crate) fn take_stdin(&mut self) -> ChildStdin {
        self.stdin.take().expect("an open standard input")
    }

    /// Closes its standard input.
    pub(crate) fn close_stdin(&mut self) {
        self.stdin = None;
    }

    /// The next line of its standard output, without the line end.
    #[track_caller]
    pub(crate) fn next_line(&mut self) -> String {
        self.next_line_or_end()
            .unwrap_or_else(|| panic!("standard output ended\n{}", self.seen()))
    }

    /// The next line of its standard output; `None` when it has ended.
    #[track_caller]
    pub(crate) fn next_line_or_end(&mut self) -> Option<String> {
        let line = self.stdout.wait(|arrived| {
            let rest = &arrived.bytes[arrived.taken..];
            let length = match rest.iter().position(|&byte| byte == b'\n') {
                Some(at) => at + 1,
                None if arrived.ended => rest.len(),
                None => return None,
            };
            let line = String::from_utf8_lossy(&rest[..length])
                .trim_end_matches('\n')
                .to_owned();
            arrived.taken += length;
            Some((length > 0).then_some(line))
        });
        line.unwrap_or_else(|| panic!("waited {DEADLINE:?} for a line\n{}", self.seen()))
    }

    /// Waits until standard output holds this text; gives all of it so far.
    #[track_caller]
    pub(crate) fn wait_out(&self, text: &str) -> String {
        self.wait_text(&self.stdout, text)
    }

    /// Waits until standard error holds this text; gives all of it so far.
    #[track_caller]
    pub(crate) fn wait_err(&self, text: &str) -> String {
        self.wait_text(&self.stderr, text)
    }

    #[track_caller]
    fn wait_text(&self, pipe: &Watched<Arrived>, text: &str) -> String {
        let found = pipe.wait(|arrived| {
            let seen = String::from_utf8_lossy(&arrived.bytes);
            (arrived.ended || seen.contains(text)).then(|| seen.into_owned())
        });
        let found = found.filter(|seen| seen.contains(text));
        found.unwrap_or_else(|| panic!("no `{text}` came\n{}", self.seen()))
    }

    /// Sends a signal.
    #[track_caller]
    pub(crate) fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.id())
            .ok()
            .and_then(Pid::from_raw)
            .expect("a process id");
        kill_process(pid, signal).expect("a signal that was sent");
    }

    /// Whether it still runs.
    pub(crate) fn is_running(&mut self) -> bool {
        self.child.try_wait().expect("a known child").is_none()
    }

    /// Closes standard input, waits for the end and gives all output.
    #[track_caller]
    pub(crate) fn wait(mut self) -> Output {
        self.stdin = None;
        let status = self.wait_status();
        for reader in self.readers.drain(..) {
            wait_for("the end of the output", || {
                reader.is_finished().then_some(())
            });
            reader.join().expect("a reader without a panic");
        }
        Output {
            code: status.code(),
            signal: status.signal(),
            stdout: self
                .stdout
                .change(|arrived| std::mem::take(&mut arrived.bytes)),
            stderr: self
                .stderr
                .change(|arrived| std::mem::take(&mut arrived.bytes)),
        }
    }

    #[track_caller]
    fn wait_status(&mut self) -> ExitStatus {
        let end = std::time::Instant::now() + DEADLINE;
        loop {
            if let Some(status) = self.child.try_wait().expect("a known child") {
                return status;
            }
            assert!(
                std::time::Instant::now() < end,
                "still runs after {DEADLINE:?}\n{}",
                self.seen()
            );
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
    }

    /// All output so far, for messages.
    fn seen(&self) -> String {
        let text = |pipe: &Watched<Arrived>| {
            pipe.change(|arrived| String::from_utf8_lossy(&arrived.bytes).into_owned())
        };
        format!(
            "stdout: {}\nstderr: {}",
            text(&self.stdout),
            text(&self.stderr)
        )
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.child.try_wait().is_ok_and(|status| status.is_none()) {
            self.child.kill().expect("a killed child");
            self.child.wait().expect("a reaped child");
        }
    }
}

fn collect(mut pipe: impl Read + Send + 'static, arrived: Arc<Watched<Arrived>>) -> JoinHandle<()> {
    std::thread::spawn(move || {
        let mut block = vec![0; 64 * 1024];
        while let Ok(length @ 1..) = pipe.read(&mut block) {
            arrived.change(|arrived| arrived.bytes.extend_from_slice(&block[..length]));
        }
        arrived.change(|arrived| arrived.ended = true);
    })
}

#[test]
fn a_process_is_talked_to_line_by_line() {
    let home = crate::support::home::Home::new();
    let mut cat = Running::start(&mut home.command("cat"));
    assert!(cat.is_running());
    cat.send("one\ntwo\n");
    assert_eq!(cat.next_line(), "one");
    assert_eq!(cat.next_line(), "two");
    cat.send("three");
    assert_eq!(cat.wait_out("three"), "one\ntwo\nthree");
    cat.close_stdin();
    assert_eq!(cat.next_line_or_end().as_deref(), Some("three"));
    assert_eq!(cat.next_line_or_end(), None);
    assert_eq!(cat.wait().expect_code(0).out(), "one\ntwo\nthree");
}

#[test]
fn the_end_of_a_process_is_told() {
    let home = crate::support::home::Home::new();
    let shell = |script: &str| {
        let mut command = home.command("sh");
        command.args(["-c", script]);
        command
    };
    let output = run_with(
        &mut shell("wc -c; echo done >&2; exit 3"),
        &vec![b'x'; 200_000],
    );
    assert_eq!(output.out().trim(), "200000");
    let output = output.expect_code(3);
    assert_eq!((output.err().as_str(), output.signal), ("done\n", None));
    let sleeper = Running::start(&mut shell("echo up >&2; exec sleep 600"));
    sleeper.wait_err("up");
    sleeper.signal(Signal::TERM);
    let output = sleeper.wait();
    assert_eq!((output.code, output.signal), (None, Some(15)));
}
