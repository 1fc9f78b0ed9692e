//! Signals as flags that the loop looks at (tui.md TL1).

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGTERM, SIGTSTP};

/// What signals said.
pub(super) struct Signals {
    /// Number of the signal that asked the program to end; 0 when none has.
    end: Arc<AtomicUsize>,
    /// The process is to stop.
    pub(super) stop: Arc<AtomicBool>,
    /// It goes on.
    pub(super) continued: Arc<AtomicBool>,
    /// The terminal is gone.
    pub(super) gone: Arc<AtomicBool>,
    ids: Vec<signal_hook::SigId>,
}

impl Signals {
    /// Takes the signals; dropping gives them back.
    pub(super) fn install() -> io::Result<Self> {
        let mut signals = Self {
            end: Arc::default(),
            stop: Arc::default(),
            continued: Arc::default(),
            gone: Arc::default(),
            ids: Vec::new(),
        };
        for signal in [SIGTERM, SIGHUP, SIGINT] {
            signals.ids.push(signal_hook::flag::register_usize(
                signal,
                Arc::clone(&signals.end),
                usize::try_from(signal).unwrap_or(0),
            )?);
        }
        signals.ids.push(signal_hook::flag::register(
            SIGTSTP,
            Arc::clone(&signals.stop),
        )?);
        signals.ids.push(signal_hook::flag::register(
            SIGCONT,
            Arc::clone(&signals.continued),
        )?);
        Ok(signals)
    }

    /// The signal that asked for an end.
    pub(super) fn ended_by(&self) -> Option<i32> {
        let number = i32::try_from(self.end.load(Ordering::SeqCst)).ok()?;
        (number != 0).then_some(number)
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        for id in self.ids.drain(..) {
            signal_hook::low_level::unregister(id);
        }
    }
}
