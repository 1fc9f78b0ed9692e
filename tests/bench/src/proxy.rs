//! A TCP proxy on loopback that makes a link long and narrow: each byte comes later, and not all at once.

use std::{
    io::{Read, Write},
    net::{Shutdown, TcpListener, TcpStream},
    sync::mpsc::{Receiver, SyncSender, sync_channel},
    time::{Duration, Instant},
};

use crate::Outcome;

/// Blocks in flight in one direction: a second at full rate, so that the proxy is never the narrow place.
const IN_FLIGHT: usize = 8192;
const BLOCK: usize = 32 * 1024;

/// What the link is like.
#[derive(Clone, Copy)]
pub(crate) struct Link {
    /// One way.
    pub(crate) delay: Duration,
    /// Bytes a second in one direction.
    pub(crate) rate: f64,
}

/// Starts the proxy; it ends with the program. Gives its port.
pub(crate) fn start(target: u16, link: Link) -> Outcome<u16> {
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    let port = listener.local_addr()?.port();
    std::thread::spawn(move || {
        for near in listener.incoming().map_while(Result::ok) {
            if let Err(error) = connect(near, target, link) {
                eprintln!("bench: the delaying proxy lost a connection: {error}");
            }
        }
    });
    Ok(port)
}

fn connect(near: TcpStream, target: u16, link: Link) -> std::io::Result<()> {
    let far = TcpStream::connect(("127.0.0.1", target))?;
    near.set_nodelay(true)?;
    far.set_nodelay(true)?;
    carry(near.try_clone()?, far.try_clone()?, link);
    carry(far, near, link);
    Ok(())
}

fn carry(mut from: TcpStream, mut to: TcpStream, link: Link) {
    let (sender, receiver): (SyncSender<(Instant, Vec<u8>)>, Receiver<_>) = sync_channel(IN_FLIGHT);
    std::thread::spawn(move || {
        let mut block = vec![0; BLOCK];
        let mut free = Instant::now();
        while let Ok(length @ 1..) = from.read(&mut block) {
            free = free.max(Instant::now()) + Duration::from_secs_f64(length as f64 / link.rate);
            if sender
                .send((free + link.delay, block[..length].to_vec()))
                .is_err()
            {
                break;
            }
        }
    });
    std::thread::spawn(move || {
        for (due, bytes) in receiver {
            // The delay is what this proxy is for.
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            if to.write_all(&bytes).is_err() {
                break;
            }
        }
        // The other side may have closed already.
        to.shutdown(Shutdown::Write).ok();
    });
}
