//! Questions on the plain terminal, before the viewer takes the screen (remote.md 5.3).
//!
//! Answers come from the terminal device, never from standard input. The terminal's modes are
//! restored whenever a question ends: answered, declined, dropped, or by a signal.

use std::{
    fs::{File, OpenOptions},
    io::{self, Read as _, Write as _},
    os::unix::net::UnixStream,
    sync::{Arc, Mutex, PoisonError},
};

use rustix::{
    event::{PollFd, PollFlags, poll},
    process::{Signal, getpid, kill_process},
    termios::{LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr},
};
use tokio::{
    signal::unix::{self, SignalKind},
    sync::Semaphore,
};
use zeroize::Zeroizing;

use super::prompt::{Listener, Prompter, Question, Telling, server_block};
use crate::base::block;

/// Longest answer. The buffer has this size from the start, so that no copy of it stays behind.
const MAX_ANSWER_BYTES: usize = 4096;

/// Asks on the terminal of this process.
pub struct TerminalPrompter {
    terminal: Arc<File>,
    listener: Listener,
    /// One question at a time.
    turn: Semaphore,
    /// Server text that came while a question was open.
    waiting: Mutex<String>,
}

impl std::fmt::Debug for TerminalPrompter {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("TerminalPrompter")
            .finish_non_exhaustive()
    }
}

impl TerminalPrompter {
    /// Opens the terminal of this process. What is no question goes to `listener`, but for text of
    /// servers, which is shown on the terminal.
    ///
    /// # Errors
    /// There is no terminal.
    pub fn open(listener: Listener) -> io::Result<Self> {
        let terminal = OpenOptions::new().read(true).write(true).open("/dev/tty")?;
        Self::on(terminal, listener)
    }

    /// Asks on the given terminal.
    ///
    /// # Errors
    /// It is no terminal.
    pub fn on(terminal: File, listener: Listener) -> io::Result<Self> {
        tcgetattr(&terminal)?;
        Ok(Self {
            terminal: Arc::new(terminal),
            listener,
            turn: Semaphore::new(1),
            waiting: Mutex::new(String::new()),
        })
    }

    fn write(&self, text: &str) -> io::Result<()> {
        (&*self.terminal).write_all(text.as_bytes())
    }

    fn write_waiting(&self) {
        let text = {
            let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::take(&mut *waiting)
        };
        // A terminal that is gone takes no text; the question itself reports it.
        let _gone = self.write(&text);
    }

    async fn question(&self, question: &Question) -> io::Result<Option<Zeroizing<String>>> {
        let mut signals = Signals::new()?;
        let modes = QuietModes::new(&self.terminal)?;
        if let Some(text) = &question.server_text {
            self.write(&server_block(&question.host, text))?;
        }
        let prompt = block(&question.prompt);
        self.write(&prompt)?;
        // Its other end closes when this future ends in any way; then the reader ends too.
        let (stop, stopped) = UnixStream::pair()?;
        let terminal = Arc::clone(&self.terminal);
        let echo = question.echo;
        let mut reading =
            tokio::task::spawn_blocking(move || read_answer(&terminal, &stopped, echo));
        let answer = loop {
            tokio::select! {
                biased;
                arrived = signals.next() => match arrived {
                    Arrived::End => break Ok(None),
                    Arrived::Stop => {
                        modes.restore()?;
                        kill_process(getpid(), Signal::STOP)?;
                        modes.apply()?;
                        self.write(&prompt)?;
                    }
                },
                answer = &mut reading => break answer.map_err(io::Error::other).flatten(),
            }
        };
        drop(stop);
        drop(modes);
        self.write("\n")?;
        answer
    }
}

impl Prompter for TerminalPrompter {
    async fn ask(&self, question: Question) -> Option<Zeroizing<String>> {
        let _turn = self.turn.acquire().await.ok()?;
        let answer = self.question(&question).await;
        self.write_waiting();
        match answer {
            Ok(answer) => answer,
            Err(error) => {
                let line = format!("the terminal cannot be used: {error}");
                self.tell(&question.host, &line);
                None
            }
        }
    }

    fn can_ask(&self) -> bool {
        true
    }

    fn tell(&self, host: &str, line: &str) {
        (self.listener)(Telling::Notice { host, line });
    }

    fn show_server_text(&self, host: &str, text: &str) {
        self.waiting
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push_str(&server_block(host, text));
        if let Ok(_turn) = self.turn.try_acquire() {
            self.write_waiting();
        }
    }

    fn detail(&self, host: &str, line: &str) {
        (self.listener)(Telling::Detail { host, line });
    }
}

/// The terminal without echo, lines and signal keys, until this is dropped.
struct QuietModes<'a> {
    terminal: &'a File,
    before: Termios,
}

impl<'a> QuietModes<'a> {
    fn new(terminal: &'a File) -> io::Result<Self> {
        let modes = Self {
            terminal,
            before: tcgetattr(terminal)?,
        };
        modes.apply()?;
        Ok(modes)
    }

    /// Discards what was typed before the question was there.
    fn apply(&self) -> io::Result<()> {
        let mut quiet = self.before.clone();
        quiet.local_modes -= LocalModes::ECHO
            | LocalModes::ECHONL
            | LocalModes::ICANON
            | LocalModes::ISIG
            | LocalModes::IEXTEN;
        quiet.special_codes[SpecialCodeIndex::VMIN] = 1;
        quiet.special_codes[SpecialCodeIndex::VTIME] = 0;
        tcsetattr(self.terminal, OptionalActions::Flush, &quiet)?;
        Ok(())
    }

    fn restore(&self) -> io::Result<()> {
        tcsetattr(self.terminal, OptionalActions::Flush, &self.before)?;
        Ok(())
    }
}

impl Drop for QuietModes<'_> {
    fn drop(&mut self) {
        // Nothing can be done for a terminal that is gone.
        let _gone = self.restore();
    }
}

/// Signals that must not leave the terminal without echo.
struct Signals {
    interrupt: unix::Signal,
    terminate: unix::Signal,
    hang_up: unix::Signal,
    stop: unix::Signal,
}

impl Signals {
    fn new() -> io::Result<Self> {
        Ok(Self {
            interrupt: unix::signal(SignalKind::interrupt())?,
            terminate: unix::signal(SignalKind::terminate())?,
            hang_up: unix::signal(SignalKind::hangup())?,
            stop: unix::signal(SignalKind::from_raw(Signal::TSTP.as_raw()))?,
        })
    }

    async fn next(&mut self) -> Arrived {
        tokio::select! {
            _ = self.interrupt.recv() => Arrived::End,
            _ = self.terminate.recv() => Arrived::End,
            _ = self.hang_up.recv() => Arrived::End,
            _ = self.stop.recv() => Arrived::Stop,
        }
    }
}

/// What a signal asks for.
enum Arrived {
    /// The end of the question; what more it means is the program's affair.
    End,
    /// A pause of the program.
    Stop,
}

/// Reads one line, on a thread of its own. `None`: declined, or the question was given up.
fn read_answer(
    mut terminal: &File,
    stopped: &UnixStream,
    echo: bool,
) -> io::Result<Option<Zeroizing<String>>> {
    let mut line = Line::new();
    loop {
        let mut sources = [
            PollFd::new(stopped, PollFlags::IN),
            PollFd::new(terminal, PollFlags::IN),
        ];
        match poll(&mut sources, None) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let [stop, keys] = sources.map(|source| !source.revents().is_empty());
        if stop {
            return Ok(None);
        }
        if !keys {
            continue;
        }
        let mut byte = Zeroizing::new([0_u8; 1]);
        if terminal.read(byte.as_mut())? == 0 {
            return Ok(None);
        }
        let [key] = *byte;
        match line.take(key) {
            Key::Character if echo => terminal.write_all(byte.as_ref())?,
            Key::Erased(count) if echo => {
                terminal.write_all("\u{8} \u{8}".repeat(count).as_bytes())?;
            }
            Key::Character | Key::Erased(_) | Key::Nothing => {}
            Key::Enter => return Ok(line.text()),
            Key::Declined => return Ok(None),
        }
    }
}

/// What a key did to the line.
#[derive(Debug, PartialEq, Eq)]
enum Key {
    Character,
    /// So many characters are gone.
    Erased(usize),
    Nothing,
    Enter,
    Declined,
}

/// A line being typed.
struct Line {
    bytes: Zeroizing<Vec<u8>>,
}

impl Line {
    fn new() -> Self {
        Self {
            bytes: Zeroizing::new(Vec::with_capacity(MAX_ANSWER_BYTES)),
        }
    }

    fn take(&mut self, key: u8) -> Key {
        const CTRL_C: u8 = 3;
        const CTRL_D: u8 = 4;
        const BACKSPACE: u8 = 8;
        const CTRL_U: u8 = 21;
        const DELETE: u8 = 127;
        match key {
            b'\n' | b'\r' => Key::Enter,
            CTRL_C => Key::Declined,
            CTRL_D if self.bytes.is_empty() => Key::Declined,
            BACKSPACE | DELETE => self.erase_one(),
            CTRL_U => {
                let mut count = 0;
                while self.erase_one() != Key::Nothing {
                    count += 1;
                }
                Key::Erased(count)
            }
            0..=31 => Key::Nothing,
            _ if self.bytes.len() == MAX_ANSWER_BYTES => Key::Nothing,
            _ => {
                self.bytes.push(key);
                Key::Character
            }
        }
    }

    fn erase_one(&mut self) -> Key {
        // The bytes after the first of a character are all of the form 10xxxxxx.
        while let Some(byte) = self.bytes.pop() {
            if byte & 0b1100_0000 != 0b1000_0000 {
                return Key::Erased(1);
            }
        }
        Key::Nothing
    }

    /// The text; bytes that are no UTF-8 cannot be sent.
    fn text(&self) -> Option<Zeroizing<String>> {
        let text = std::str::from_utf8(&self.bytes).ok()?;
        Some(Zeroizing::new(text.to_owned()))
    }
}

#[cfg(test)]
#[path = "terminal_tests.rs"]
mod tests;
