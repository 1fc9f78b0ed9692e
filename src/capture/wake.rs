//! A bell that wakes a thread out of `poll`.

use std::{
    io::{self, Read as _, Write as _},
    os::{
        fd::{AsFd as _, BorrowedFd},
        unix::net::UnixStream,
    },
};

/// Rung by any thread, heard by the one that polls it. Never waits, never forgets.
#[derive(Debug)]
pub(super) struct Bell {
    ear: UnixStream,
    rope: UnixStream,
}

impl Bell {
    /// A new bell.
    ///
    /// # Errors
    /// The system has no descriptors left.
    pub(super) fn new() -> io::Result<Self> {
        let (ear, rope) = UnixStream::pair()?;
        ear.set_nonblocking(true)?;
        rope.set_nonblocking(true)?;
        Ok(Self { ear, rope })
    }

    /// Wakes the listener. A full pipe means that it has been rung already.
    pub(super) fn ring(&self) {
        drop((&self.rope).write(&[1]));
    }

    /// What the listener polls.
    pub(super) fn ear(&self) -> BorrowedFd<'_> {
        self.ear.as_fd()
    }

    /// Forgets all rings so far.
    pub(super) fn hush(&self) {
        let mut rings = [0; 64];
        while matches!((&self.ear).read(&mut rings), Ok(count) if count > 0) {}
    }
}
