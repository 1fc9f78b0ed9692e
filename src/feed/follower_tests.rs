//! Growth, replacement and forecasts of a log, in any chunking.

use bytes::Bytes;
use proptest::prelude::*;

use super::*;
use crate::record::Decoder;

fn text(seq: u64, pad: usize) -> String {
    let pad = "x".repeat(pad);
    format!(
        "{{\"session_id\":\"a\",\"server_label\":\"\",\"seq\":{seq},\"ts\":\"2026-09-01T08:00:00Z\",\
         \"direction\":\"stderr\",\"transport\":\"stdio\",\"text\":\"{pad}\"}}\n"
    )
}

fn line(seq: u64, pad: usize) -> Line {
    let text = text(seq, pad);
    let bytes = Bytes::copy_from_slice(text.trim_end().as_bytes());
    Decoder::default().decode(bytes).unwrap()
}

/// Does what the follower asks for, in reads of at most `chunk` bytes; answers the numbers that
/// came and the bytes that were read.
fn follow(follower: &mut Follower, log: &[u8], identity: u64, chunk: usize) -> (Vec<u64>, usize) {
    let (mut seqs, mut bytes) = (Vec::new(), 0);
    follower.grown(log.len() as u64, Some((1, identity)));
    let mut reads = 0;
    while let FollowStep::Read { offset, length } = follower.step() {
        let offset = usize::try_from(offset).unwrap();
        let end = offset + usize::try_from(length).unwrap();
        assert_eq!(end, log.len());
        for part in log[offset..end].chunks(chunk) {
            bytes += part.len();
            let pushed = follower.push(part, &mut |event| match event {
                ReadEvent::Line { line, .. } => seqs.push(line.envelope.seq.0),
                ReadEvent::Damage(damage) => panic!("{damage:?}"),
            });
            if pushed == Pushed::Replaced {
                break;
            }
        }
        reads += 1;
        assert!(reads < 10, "it never rests");
    }
    (seqs, bytes)
}

#[test]
fn growth_is_read_on_from_where_it_was_left() {
    let (mut follower, mut log) = (Follower::new(), String::new());
    log += &text(1, 10);
    let torn = text(2, 6_000);
    let (front, back) = torn.split_at(40);
    log += front;
    assert_eq!(follow(&mut follower, log.as_bytes(), 1, 100).0, [1]);
    assert_eq!(follower.confirmed(), text(1, 10).len() as u64);
    assert_eq!(follow(&mut follower, log.as_bytes(), 1, 100), (vec![], 0));
    log += back;
    log += &text(3, 0);
    assert_eq!(follow(&mut follower, log.as_bytes(), 1, 7).0, [2, 3]);
    log += &text(4, 0);
    let (seqs, bytes) = follow(&mut follower, log.as_bytes(), 1, 5_000);
    assert_eq!((seqs, bytes), (vec![4], SEAL_BYTES + text(4, 0).len()));
}

#[test]
fn a_shorter_changed_or_other_file_is_read_from_its_start() {
    let log: String = (1..=3).map(|seq| text(seq, 3_000)).collect();
    let changed = log.replace("3,\"ts\":\"2026", "3,\"ts\":\"2025");
    let cases = [
        ("shorter", text(1, 3_000), 1, vec![1]),
        ("another file of that size", log.clone(), 2, vec![1, 2, 3]),
        ("grown", log.clone() + &text(4, 0), 1, vec![4]),
        (
            "changed and grown",
            changed + &text(4, 0),
            1,
            vec![1, 2, 3, 4],
        ),
    ];
    for (name, after, identity, expected) in cases {
        for chunk in [1, 1_000, 100_000] {
            let mut follower = Follower::new();
            assert_eq!(follow(&mut follower, log.as_bytes(), 1, chunk).0, [1, 2, 3]);
            let (seqs, _) = follow(&mut follower, after.as_bytes(), identity, chunk);
            assert_eq!(seqs, expected, "{name}, chunk {chunk}");
        }
    }
}

#[test]
fn live_lines_forecast_the_log() {
    let mut follower = Follower::new();
    let mut log = text(1, 0);
    assert_eq!(follow(&mut follower, log.as_bytes(), 1, 100).0, [1]);
    let offset = log.len() as u64;
    assert_eq!(follower.predicted(&line(1, 0)), None, "a repeat");
    assert_eq!(follower.predicted(&line(2, 5)), Some(offset));
    log += &text(2, 5);
    assert_eq!(follower.predicted(&line(3, 9)), Some(log.len() as u64));
    assert_eq!(follow(&mut follower, log.as_bytes(), 1, 100), (vec![], 0));
    assert_eq!(follower.confirmed(), log.len() as u64);
    log += &text(3, 9);
    assert_eq!(follow(&mut follower, log.as_bytes(), 1, 100), (vec![], 0));
    log += &text(4, 1);
    assert_eq!(follow(&mut follower, log.as_bytes(), 1, 100).0, [4]);
    assert_eq!(follower.predicted(&line(6, 0)), None, "5 did not come live");
    log += &text(5, 1);
    log += &text(6, 0);
    assert_eq!(follow(&mut follower, log.as_bytes(), 1, 100).0, [5, 6]);
    assert!(follower.predicted(&line(7, 0)).is_some());
    follower.distrust();
    log += &text(7, 0);
    assert_eq!(follow(&mut follower, log.as_bytes(), 1, 100).0, [7]);
}

#[test]
fn the_log_of_a_session_that_came_live_from_its_start_is_never_read() {
    let mut follower = Follower::new();
    assert_eq!(follower.predicted(&line(1, 0)), Some(0));
    follower.predicted(&line(2, 0)).unwrap();
    let log = text(1, 0) + &text(2, 0);
    assert_eq!(follow(&mut follower, log.as_bytes(), 1, 100), (vec![], 0));
    let replaced = text(1, 1) + &text(2, 1) + &text(3, 1);
    assert_eq!(
        follow(&mut follower, replaced.as_bytes(), 1, 100).0,
        [1, 2, 3]
    );
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Each line is either read or came live, never neither, whatever came live and whenever the
    /// log was looked at.
    #[test]
    fn nothing_is_skipped_that_did_not_come_live(
        lines in proptest::collection::vec((0_usize..3, any::<bool>(), 0_usize..40), 1..40),
        chunk in 1_usize..300,
    ) {
        let mut follower = Follower::new();
        let (mut log, mut seen) = (Vec::new(), std::collections::BTreeSet::new());
        for (seq, (pad, live, cut)) in (1..).zip(&lines) {
            if *live {
                follower.predicted(&line(seq, *pad));
                seen.insert(seq);
            }
            log.extend_from_slice(text(seq, *pad).as_bytes());
            if *cut < 20 {
                // A look may meet the log in the middle of a line.
                let end = log.len() - cut;
                seen.extend(follow(&mut follower, &log[..end], 1, chunk).0);
            }
        }
        seen.extend(follow(&mut follower, &log, 1, chunk).0);
        prop_assert!(seen.into_iter().eq(1..=lines.len() as u64));
    }
}
