//! Bounds, reconnection and drain of the live stream.

use std::{
    io::{BufRead as _, BufReader, Read as _},
    os::unix::net::UnixListener,
    thread,
};

use super::*;

fn batch(text: &str) -> Batch {
    Batch {
        lines: Bytes::copy_from_slice(text.as_bytes()),
        frames: text.lines().count() as u64,
    }
}

fn of_size(size: usize) -> Batch {
    Batch {
        lines: Bytes::from(vec![b'\n'; size]),
        frames: 1,
    }
}

fn held(queue: &LiveQueue) -> (usize, u64) {
    let state = queue.lock();
    (state.bytes, state.frames)
}

#[test]
fn the_oldest_go_first_and_a_hub_makes_more_room() {
    let queue = LiveQueue::default();
    for _ in 0..8 {
        queue.push(of_size(1 << 20));
    }
    assert_eq!(held(&queue), (ALONE, 4));
    queue.set_connected(true);
    for _ in 0..20 {
        queue.push(of_size(1 << 20));
    }
    assert_eq!(queue.lock().bytes, CONNECTED);
    queue.set_connected(false);
    assert_eq!(queue.lock().bytes, ALONE);
    for _ in 0..9_000 {
        queue.push(of_size(1));
    }
    assert_eq!(queue.lock().frames, MOST_FRAMES);
    queue.push(of_size(CONNECTED));
    assert_eq!(held(&queue), (0, 0));
}

#[test]
fn an_interrupted_line_is_sent_again_whole() {
    let lines = batch("one\ntwo\nthree\n");
    for (sent, left, frames) in [
        (0, "one\ntwo\nthree\n", 3),
        (3, "one\ntwo\nthree\n", 3),
        (4, "two\nthree\n", 2),
        (5, "two\nthree\n", 2),
        (13, "three\n", 1),
    ] {
        let rest = unsent(&lines, sent);
        assert_eq!((&rest.lines[..], rest.frames), (left.as_bytes(), frames));
    }
}

#[test]
fn each_connection_begins_with_the_start_record_and_the_end_is_drained() {
    let dir = tempfile::tempdir().unwrap();
    let socket = dir.path().join("hub.sock");
    let queue = Arc::new(LiveQueue::default());
    queue.start(Bytes::from_static(b"start\n"));
    queue.push(batch("early\n"));
    let sender = thread::spawn({
        let (queue, socket) = (Arc::clone(&queue), socket.clone());
        move || send_live(&queue, &socket)
    });
    let listener = UnixListener::bind(&socket).unwrap();
    let lines = |count: usize| -> Vec<String> {
        let (hub, _) = listener.accept().unwrap();
        let reader = BufReader::new(hub);
        reader.lines().take(count).map(Result::unwrap).collect()
    };
    assert_eq!(lines(2), ["start", "early"]);
    // The first hub is gone; the sender finds out and comes back.
    queue.push(batch("lost or sent again\n"));
    let (mut second, _) = listener.accept().unwrap();
    queue.push(batch("late\n"));
    queue.drain();
    sender.join().unwrap();
    let mut rest = String::new();
    second.read_to_string(&mut rest).unwrap();
    assert!(
        rest.starts_with("start\n") && rest.ends_with("late\n"),
        "{rest}"
    );
}

#[test]
fn without_a_hub_the_end_waits_for_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let queue = Arc::new(LiveQueue::default());
    queue.start(Bytes::from_static(b"start\n"));
    queue.push(batch("x\n"));
    let sender = thread::spawn({
        let (queue, socket) = (Arc::clone(&queue), dir.path().join("none"));
        move || send_live(&queue, &socket)
    });
    let begun = Instant::now();
    queue.drain();
    assert!(begun.elapsed() < DRAIN);
    sender.join().unwrap();
}
