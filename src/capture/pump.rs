//! The forwarding path: read, hand over a reference, write onward. It waits for nothing that
//! observing holds, but for the bounded rests of capture.md 4.3.

use std::{
    os::fd::AsFd,
    thread,
    time::{Duration, Instant},
};

use bytes::{Bytes, BytesMut};
use rustix::{
    event::{PollFd, PollFlags, poll},
    io::{self, Errno},
};

use super::handoff::Tap;

/// Size of a block that a pipe's thread reads into.
const BLOCK: usize = 256 * 1024;
/// What is read at once; a block with less room left is given up.
const READ: usize = 64 * 1024;
/// One rest before a read.
const REST: Duration = Duration::from_millis(2);
/// All rests of a pipe until the backlog has been small again.
const ALL_RESTS: Duration = Duration::from_secs(1);

/// Which end of a path is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gone {
    /// Nothing more can be read.
    Reader,
    /// Nobody takes what is written.
    Writer,
}

/// Forwards until one end is gone.
pub(super) fn forward(from: impl AsFd, to: impl AsFd, tap: &mut Tap) -> Gone {
    let mut intake = Intake::new();
    let mut rests = Rests::new();
    loop {
        rests.before_read(tap);
        let Some(chunk) = intake.read(&from) else {
            return Gone::Reader;
        };
        tap.hand_over(Instant::now(), &chunk);
        let written = write_all(&to, &chunk);
        tap.wake();
        drop(chunk);
        intake.renew();
        if written.is_err() {
            return Gone::Writer;
        }
    }
}

/// Reads into a block, so that forwarding and observing share the bytes. The way into the block is
/// a copy of what was read: to clear a block ahead of reading costs more.
#[derive(Debug)]
pub(super) struct Intake {
    block: BytesMut,
    /// Where the system reads to.
    landing: Box<[u8]>,
}

impl Intake {
    /// Starts with a block.
    pub(super) fn new() -> Self {
        Self {
            block: BytesMut::with_capacity(BLOCK),
            landing: vec![0; READ].into_boxed_slice(),
        }
    }

    /// Reads what there is, at most `READ` bytes; `None` at the end of the stream. A connection
    /// that was reset and a terminal that went away are ends too (capture.md 5.4.1).
    pub(super) fn read(&mut self, from: &impl AsFd) -> Option<Bytes> {
        loop {
            match io::read(from, &mut *self.landing) {
                Ok(0) => return None,
                Ok(count) => {
                    let read = self.landing.get(..count).unwrap_or_default();
                    self.block.extend_from_slice(read);
                    return Some(self.block.split().freeze());
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => wait_for(from, PollFlags::IN),
                Err(_gone) => return None,
            }
        }
    }

    /// Takes a new block when the tail is small; called when nobody waits for bytes.
    pub(super) fn renew(&mut self) {
        if self.block.capacity() < READ {
            self.block = BytesMut::with_capacity(BLOCK);
        }
    }
}

/// Writes everything. The descriptor may be non-blocking: its flags are the client's (5.1.5).
///
/// # Errors
/// The peer is gone.
pub(super) fn write_all(to: &impl AsFd, bytes: &[u8]) -> Result<(), Errno> {
    let mut rest = bytes;
    while !rest.is_empty() {
        match io::write(to, rest) {
            Ok(count) => rest = rest.get(count..).unwrap_or_default(),
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => wait_for(to, PollFlags::OUT),
            Err(gone) => return Err(gone),
        }
    }
    Ok(())
}

/// Waits until a non-blocking descriptor is ready. An error is found out by the next call on it.
fn wait_for(fd: &impl AsFd, flags: PollFlags) {
    let mut fds = [PollFd::new(fd, flags)];
    if poll(&mut fds, None).is_err() {
        thread::yield_now();
    }
}

/// The rests that slow a flood down to what the log takes (capture.md 4.3).
#[derive(Debug)]
pub(super) struct Rests {
    left: Duration,
}

impl Rests {
    /// All rests are left.
    pub(super) const fn new() -> Self {
        Self { left: ALL_RESTS }
    }

    /// Rests while a quarter of the budget waits for the log, a second in all.
    pub(super) fn before_read(&mut self, tap: &Tap) {
        if let Some(rest) = self.due(tap.budget().presses()) {
            let begun = Instant::now();
            thread::sleep(rest);
            self.left = self.left.saturating_sub(begun.elapsed());
        }
    }

    /// The rest that is due now.
    fn due(&mut self, presses: bool) -> Option<Duration> {
        if !presses {
            self.left = ALL_RESTS;
            return None;
        }
        let rest = self.left.min(REST);
        (!rest.is_zero()).then_some(rest)
    }
}

#[cfg(test)]
mod tests {
    use std::{io::Write as _, os::unix::net::UnixStream, sync::Arc};

    use super::*;
    use crate::capture::handoff::{HandOff, Source, What};

    fn observed(handoff: &HandOff) -> Vec<u8> {
        let mut bytes = Vec::new();
        while let Some(item) = handoff.pop() {
            if let What::Slice(slice) = item.what {
                bytes.extend_from_slice(&slice);
            }
        }
        bytes
    }

    #[test]
    fn what_goes_out_is_what_came_in_and_what_was_seen() {
        let (mut client, ours) = UnixStream::pair().unwrap();
        let (server_end, server) = UnixStream::pair().unwrap();
        server.set_nonblocking(true).unwrap();
        server_end.set_nonblocking(true).unwrap();
        ours.set_nonblocking(true).unwrap();
        let handoff = HandOff::new(64 << 20);
        let mut tap = Tap::new(Arc::clone(&handoff), Source::Client);
        let sent: Vec<u8> = (0..3_000_000_u32)
            .map(|i| (i * 7 + i / 251).to_le_bytes()[0])
            .collect();
        let copy = sent.clone();
        let writer = thread::spawn(move || client.write_all(&copy).unwrap());
        let pump = thread::spawn(move || forward(&ours, &server_end, &mut tap));
        let mut intake = Intake::new();
        let mut got = Vec::new();
        while let Some(chunk) = intake.read(&server) {
            got.extend_from_slice(&chunk);
            intake.renew();
        }
        writer.join().unwrap();
        assert_eq!(pump.join().unwrap(), Gone::Reader);
        assert!(got == sent);
        assert!(observed(&handoff) == sent);
    }

    #[test]
    fn a_reader_that_went_away_ends_the_path() {
        let (mut client, ours) = UnixStream::pair().unwrap();
        let (server_end, server) = UnixStream::pair().unwrap();
        drop(server);
        client.write_all(b"lost on the way\n").unwrap();
        let handoff = HandOff::new(64 << 20);
        let mut tap = Tap::new(Arc::clone(&handoff), Source::Client);
        assert_eq!(forward(&ours, &server_end, &mut tap), Gone::Writer);
        assert_eq!(observed(&handoff), b"lost on the way\n");
    }

    #[test]
    fn rests_add_up_to_a_second_until_the_backlog_was_small() {
        let mut rests = Rests::new();
        let mut spent = Duration::ZERO;
        while let Some(rest) = rests.due(true) {
            spent += rest;
            rests.left -= rest;
        }
        assert_eq!(spent, ALL_RESTS);
        assert_eq!(rests.due(true), None);
        assert_eq!(rests.due(false), None);
        assert_eq!(rests.due(true), Some(REST));
    }
}
