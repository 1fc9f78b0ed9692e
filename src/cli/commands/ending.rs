//! Signals while a temporary file exists: it is removed before the process ends by them
//! (export.md 2.3).

use std::{
    io::{self, Write},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use mcpsnoop::capture::ignored_signals;
use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ},
    flag,
};

use crate::cli::failure::Exit;

/// Notes the first signal that asks for an end.
pub(super) struct Endings {
    by: Arc<AtomicUsize>,
}

impl Endings {
    /// Sets the handlers, for good: the process ends after the file that they are set for. What was
    /// ignored at the start stays ignored.
    pub(super) fn install() -> io::Result<Self> {
        let by = Arc::new(AtomicUsize::new(0));
        let ignored = ignored_signals();
        for signal in [SIGHUP, SIGINT, SIGTERM] {
            if ignored & (1_u64 << (signal - 1)) == 0 {
                let number = usize::try_from(signal).unwrap_or(0);
                flag::register_usize(signal, Arc::clone(&by), number)?;
            }
        }
        // A file size limit is an error of the write then, not the end of the process.
        flag::register(SIGXFSZ, Arc::default())?;
        Ok(Self { by })
    }

    /// The signal that came.
    pub(super) fn ended_by(&self) -> Option<i32> {
        i32::try_from(self.by.load(Ordering::SeqCst))
            .ok()
            .filter(|signal| *signal != 0)
    }

    /// A writer that refuses when a signal came.
    pub(super) fn guard<'a>(&'a self, out: &'a mut dyn Write) -> impl Write + 'a {
        Guard { endings: self, out }
    }
}

struct Guard<'a> {
    endings: &'a Endings,
    out: &'a mut dyn Write,
}

impl Write for Guard<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.endings.ended_by().is_some() {
            return Err(io::Error::other("ended by a signal"));
        }
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// How the process ends by that signal.
pub(super) fn end_by(signal: i32) -> Exit {
    Exit::Signal(u8::try_from(signal).unwrap_or(0))
}
