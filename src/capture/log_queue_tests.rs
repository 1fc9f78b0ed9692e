//! What waits for a log that takes, refuses, hangs or is gone.

use std::thread;

use super::*;

fn batch(frames: u64, size: usize) -> Batch {
    Batch {
        lines: Bytes::from(vec![b'\n'; size]),
        frames,
    }
}

fn queue() -> (Arc<HandOff>, Arc<LogQueue>) {
    let handoff = HandOff::new(16 << 20);
    let queue = LogQueue::new(Arc::clone(&handoff));
    (handoff, queue)
}

#[test]
fn the_fifth_batch_waits_for_the_writer() {
    let (handoff, queue) = queue();
    let pushing = thread::spawn({
        let queue = Arc::clone(&queue);
        move || (0..50).for_each(|_| queue.push(batch(1, 10)))
    });
    for _ in 0..50 {
        let Next::Batch(batch) = queue.next(Duration::from_secs(5)) else {
            panic!("a batch");
        };
        assert!(queue.lock().waiting.len() <= MOST_WAITING);
        assert_eq!(queue.progress(batch.lines.len()), None);
        queue.written();
    }
    pushing.join().unwrap();
    assert_eq!(
        (
            queue.wait_until_written(),
            handoff.budget.held(Stage::Encoded)
        ),
        (0, 0)
    );
}

#[test]
fn a_failing_log_gathers_half_the_budget_and_then_drops() {
    let (handoff, queue) = queue();
    assert!(!queue.failed(Duration::ZERO));
    for _ in 0..20 {
        queue.push(batch(3, 1 << 20));
    }
    let held = handoff.budget.held(Stage::Encoded) >> 20;
    assert_eq!((held, queue.dropped()), (9, 33));
    assert_eq!(queue.progress(1 << 20), Some(33));
    assert_eq!(queue.lock().mode, Mode::Taking);
}

#[test]
fn an_end_in_a_hurry_drops_and_counts() {
    let (handoff, queue) = queue();
    (0..4).for_each(|_| queue.push(batch(2, 10)));
    queue.finish();
    queue.lock().hurry = Some(Instant::now());
    assert_eq!(queue.wait_until_written(), 8);
    queue.push(batch(5, 10));
    assert_eq!(
        (queue.dropped(), handoff.budget.held(Stage::Encoded)),
        (13, 0)
    );
    assert!(queue.failed(Duration::from_mins(1)));
}

#[test]
fn a_batch_that_the_disk_holds_at_the_end_counts() {
    let (_handoff, queue) = queue();
    queue.push(batch(7, 10));
    queue.push(batch(1, 10));
    assert!(matches!(queue.next(Duration::ZERO), Next::Batch(_)));
    queue.abandon();
    assert_eq!(queue.wait_until_written(), 8);
}

#[test]
fn what_a_log_that_is_gone_does_not_get_is_no_loss() {
    let (handoff, queue) = queue();
    queue.push(batch(2, 10));
    queue.gone();
    queue.push(batch(2, 10));
    queue.abandon();
    assert!(queue.is_gone());
    assert_eq!(
        (
            queue.wait_until_written(),
            handoff.budget.held(Stage::Encoded)
        ),
        (0, 0)
    );
}
