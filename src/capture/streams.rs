//! The three paths of a run and what they tell the main thread (capture.md 5.2, 5.4).

use std::{
    fs::File,
    io,
    process::{ChildStderr, ChildStdin, ChildStdout},
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU8, Ordering},
    },
    time::Instant,
};

use super::{
    handoff::{HandOff, Source, Tap},
    ignore::ignore,
    notices::Notices,
    pump::{Gone, forward},
    stderr_pump::forward_stderr,
    threads::spawn,
    wake::Bell,
};

/// Who closed first (log-format 8.2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Closer {
    /// The client closed its end of standard input or output.
    Client = 1,
    /// The server closed its standard output, or ended.
    Server = 2,
    /// A termination signal.
    Signal = 3,
}

/// What the paths have told so far.
#[derive(Debug)]
pub(super) struct News {
    /// Wakes the main thread.
    pub(super) bell: Bell,
    closer: AtomicU8,
    /// The path of standard input has ended: the client closed it, or nobody reads it.
    pub(super) input_ended: OnceLock<Instant>,
    /// The path of standard output has ended.
    pub(super) stdout_ended: OnceLock<Instant>,
    /// The path of standard error has ended.
    pub(super) stderr_ended: OnceLock<Instant>,
    /// Our last line on standard error was written or given up.
    pub(super) all_said: OnceLock<Instant>,
}

impl News {
    /// Nothing happened yet.
    ///
    /// # Errors
    /// The system has no descriptors left.
    pub(super) fn new() -> io::Result<Arc<Self>> {
        Ok(Arc::new(Self {
            bell: Bell::new()?,
            closer: AtomicU8::new(0),
            input_ended: OnceLock::new(),
            stdout_ended: OnceLock::new(),
            stderr_ended: OnceLock::new(),
            all_said: OnceLock::new(),
        }))
    }

    /// Somebody closed; only the first counts.
    pub(super) fn closed_by(&self, closer: Closer) {
        let first =
            self.closer
                .compare_exchange(0, closer as u8, Ordering::SeqCst, Ordering::SeqCst);
        ignore(first);
    }

    /// The word for the end record.
    pub(super) fn closer(&self) -> &'static str {
        match self.closer.load(Ordering::SeqCst) {
            1 => "client",
            3 => "signal",
            _ => "server",
        }
    }

    fn tell(&self, what: &OnceLock<Instant>) {
        ignore(what.set(Instant::now()));
        self.bell.ring();
    }
}

/// Our ends of the child's pipes.
#[derive(Debug)]
pub(super) struct Pipes {
    pub(super) stdin: ChildStdin,
    pub(super) stdout: ChildStdout,
    pub(super) stderr: ChildStderr,
}

/// Starts a thread for each path. They are left behind at the end of the run.
///
/// # Errors
/// The system has no threads left.
pub(super) fn start(
    pipes: Pipes,
    handoff: &Arc<HandOff>,
    notices: &Arc<Notices>,
    news: &Arc<News>,
) -> io::Result<()> {
    let Pipes {
        stdin,
        stdout,
        stderr,
    } = pipes;
    let tap = |source| Tap::new(Arc::clone(handoff), source);
    let (client, server, errors) = (
        tap(Source::Client),
        tap(Source::Server),
        tap(Source::Stderr),
    );
    let told = Arc::clone(news);
    spawn("stdin", move || forward_input(stdin, client, &told))?;
    let told = Arc::clone(news);
    spawn("stdout", move || forward_output(stdout, server, &told))?;
    let (told, notices) = (Arc::clone(news), Arc::clone(notices));
    spawn("stderr", move || {
        forward_stderr(stderr, errors, &notices, || told.tell(&told.stderr_ended));
        told.tell(&told.all_said);
    })
}

/// The client's bytes to the child.
fn forward_input(to: ChildStdin, mut tap: Tap, news: &News) {
    match forward(rustix::stdio::stdin(), &to, &mut tap) {
        Gone::Reader => news.closed_by(Closer::Client),
        // The client sees the broken pipe that it would have seen.
        Gone::Writer => close_stdin(),
    }
    drop(to);
    tap.end(Instant::now());
    news.tell(&news.input_ended);
}

/// The child's bytes to the client.
fn forward_output(from: ChildStdout, mut tap: Tap, news: &News) {
    match forward(&from, rustix::stdio::stdout(), &mut tap) {
        Gone::Reader => {
            news.closed_by(Closer::Server);
            close_stdout();
        }
        // The child gets the broken pipe itself, with `from`.
        Gone::Writer => news.closed_by(Closer::Client),
    }
    drop(from);
    tap.end(Instant::now());
    news.tell(&news.stdout_ended);
}

/// Puts `/dev/null` in the place of standard input: no later file gets its number.
pub(super) fn close_stdin() {
    if let Some(nothing) = nothing() {
        ignore(rustix::stdio::dup2_stdin(nothing));
    }
}

/// Puts `/dev/null` in the place of standard output.
pub(super) fn close_stdout() {
    if let Some(nothing) = nothing() {
        ignore(rustix::stdio::dup2_stdout(nothing));
    }
}

fn nothing() -> Option<File> {
    File::options()
        .read(true)
        .write(true)
        .open("/dev/null")
        .ok()
}
