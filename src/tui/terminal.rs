//! The terminal: taken by a guard, given back on every way out (tui.md 20).

use std::{
    io::{self, Write as _},
    sync::{
        Arc, Once,
        atomic::{AtomicBool, Ordering},
    },
};

use crossterm::terminal;
use ratatui::buffer::Buffer;
use rustix::{event::PollFd, fd::AsFd};

use super::paint::paint;

/// Alternate screen, bracketed paste, focus events, hidden cursor.
const ENTER: &[u8] = b"\x1b[?1049h\x1b[?2004h\x1b[?1004h\x1b[?25l";
/// The same undone in reverse order, colours reset.
const LEAVE: &[u8] = b"\x1b[0m\x1b[?25h\x1b[?1004l\x1b[?2004l\x1b[?1049l";

/// True while the screen is ours; read by the panic hook.
static TAKEN: AtomicBool = AtomicBool::new(false);
static HOOK: Once = Once::new();

/// The screen, from entering to leaving.
#[derive(Debug)]
pub(super) struct Screen {
    before: Option<Buffer>,
    out: Vec<u8>,
}

impl Screen {
    /// Takes the terminal. What was switched on is switched off again when a later step fails (TL2).
    ///
    /// # Errors
    /// The terminal's reason.
    pub(super) fn enter() -> io::Result<Self> {
        install_hook();
        take()?;
        Ok(Self {
            before: None,
            out: Vec::new(),
        })
    }

    /// Draws what changed, in one write.
    ///
    /// # Errors
    /// The terminal's reason.
    pub(super) fn draw(&mut self, after: Buffer) -> io::Result<()> {
        self.out.clear();
        paint(self.before.as_ref(), &after, &mut self.out);
        self.before = Some(after);
        self.send()
    }

    /// The next drawing begins with a cleared screen.
    pub(super) fn forget(&mut self) {
        self.before = None;
    }

    /// Writes a sequence that is not part of a drawing.
    ///
    /// # Errors
    /// The terminal's reason.
    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.out.clear();
        self.out.extend_from_slice(bytes);
        self.send()
    }

    fn send(&mut self) -> io::Result<()> {
        if self.out.is_empty() {
            return Ok(());
        }
        let mut stdout = io::stdout().lock();
        stdout.write_all(&self.out)?;
        stdout.flush()
    }

    /// Gives the terminal back for a while.
    pub(super) fn release(&mut self) {
        give_back();
        self.before = None;
    }

    /// Takes it again.
    ///
    /// # Errors
    /// The terminal's reason.
    pub(super) fn resume(&mut self) -> io::Result<()> {
        take()?;
        self.before = None;
        Ok(())
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        give_back();
    }
}

fn take() -> io::Result<()> {
    terminal::enable_raw_mode()?;
    TAKEN.store(true, Ordering::SeqCst);
    let mut stdout = io::stdout().lock();
    let entered = stdout.write_all(ENTER).and_then(|()| stdout.flush());
    drop(stdout);
    if entered.is_err() {
        give_back();
    }
    entered
}

/// Leaves in reverse order. A terminal that is gone cannot be restored, and nothing is left to say it to.
fn give_back() {
    if !TAKEN.swap(false, Ordering::SeqCst) {
        return;
    }
    let mut stdout = io::stdout().lock();
    let left = stdout.write_all(LEAVE).and_then(|()| stdout.flush());
    drop(stdout);
    let cooked = terminal::disable_raw_mode();
    debug_assert!(
        left.is_ok() || cooked.is_ok() || !has_terminal(),
        "the terminal was not restored"
    );
}

/// Restores the terminal before a panic is told (style 4.4).
fn install_hook() {
    HOOK.call_once(|| {
        let default = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            give_back();
            default(info);
        }));
    });
}

/// True when standard output is a terminal and keys can be read from one.
pub(super) fn has_terminal() -> bool {
    let stdin = rustix::termios::isatty(rustix::stdio::stdin());
    rustix::termios::isatty(rustix::stdio::stdout())
        && (stdin || std::fs::File::open("/dev/tty").is_ok())
}

/// Says whether the terminal that keys come from has gone away.
#[derive(Debug)]
pub(super) struct Watch {
    tty: Option<std::fs::File>,
    gone: Arc<AtomicBool>,
}

impl Watch {
    /// Watches standard input, or the controlling terminal when that is something else.
    pub(super) fn new(gone: Arc<AtomicBool>) -> Self {
        let tty = if rustix::termios::isatty(rustix::stdio::stdin()) {
            None
        } else {
            std::fs::File::open("/dev/tty").ok()
        };
        Self { tty, gone }
    }

    /// Looks once, without waiting.
    pub(super) fn is_gone(&self) -> bool {
        use rustix::event::{PollFlags, poll};
        let stdin = rustix::stdio::stdin();
        let fd = self.tty.as_ref().map_or(stdin, AsFd::as_fd);
        let mut fds = [PollFd::from_borrowed_fd(fd, PollFlags::IN)];
        let now = rustix::event::Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        let looked = poll(&mut fds, Some(&now));
        let [fd] = &fds;
        let hung = fd
            .revents()
            .intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL);
        let gone = looked.is_ok() && hung;
        if gone {
            self.gone.store(true, Ordering::SeqCst);
        }
        gone
    }
}
