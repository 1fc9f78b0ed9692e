//! Order, budget and loss accounting of the hand-off.

use super::*;

const MIB: usize = 1 << 20;

fn drain(handoff: &HandOff) -> Vec<(Source, String)> {
    std::iter::from_fn(|| handoff.pop())
        .map(|item| {
            let what = match item.what {
                What::Slice(bytes) if bytes.len() > 20 => format!("{} bytes", bytes.len()),
                What::Slice(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
                What::RestOfLine {
                    bytes,
                    ends_with_cr,
                } => format!("rest {bytes} {ends_with_cr}"),
                What::Lost => {
                    let lost = &handoff.observed(item.source).lost;
                    format!("lost {}", lost.swap(0, Ordering::SeqCst))
                }
                What::End => "end".to_owned(),
            };
            (item.source, what)
        })
        .collect()
}

fn texts(handoff: &HandOff) -> Vec<String> {
    drain(handoff).into_iter().map(|(_, what)| what).collect()
}

#[test]
fn one_order_for_all_directions() {
    let handoff = HandOff::new(16 * MIB);
    let mut client = Tap::new(Arc::clone(&handoff), Source::Client);
    let mut server = Tap::new(Arc::clone(&handoff), Source::Server);
    let now = Instant::now();
    client.hand_over(now, &Bytes::from_static(b"ask\n"));
    server.hand_over(now, &Bytes::from_static(b"answer\n"));
    client.end(now);
    let seen = drain(&handoff);
    let expected = [
        (Source::Client, "ask\n".to_owned()),
        (Source::Server, "answer\n".to_owned()),
        (Source::Client, "end".to_owned()),
    ];
    assert_eq!(seen, expected);
    assert_eq!(handoff.budget.held(Stage::Queued), 0);
    assert_eq!(
        handoff
            .observed(Source::Client)
            .bytes
            .load(Ordering::Relaxed),
        4
    );
}

#[test]
fn a_full_budget_counts_lines_and_resumes_with_a_whole_one() {
    let handoff = HandOff::new(16 * MIB);
    let mut tap = Tap::new(Arc::clone(&handoff), Source::Server);
    let now = Instant::now();
    let mut give = |text: &'static [u8]| tap.hand_over(now, &Bytes::from_static(text));
    give(b"open");
    handoff.budget.take(Stage::Encoded, 16 * MIB);
    give(b"rest\r");
    give(b"\nlost 1\n\nlost 2\nlost");
    handoff.budget.give(Stage::Encoded, 16 * MIB);
    give(b" 3");
    give(b" goes on\nkept\nopen again");
    assert_eq!(
        texts(&handoff),
        ["open", "rest 5 true", "lost 3", "kept\nopen again"]
    );
}

#[test]
fn a_loss_at_the_end_is_told() {
    let handoff = HandOff::new(16 * MIB);
    let mut tap = Tap::new(Arc::clone(&handoff), Source::Stderr);
    let now = Instant::now();
    handoff.budget.take(Stage::Assembling, 16 * MIB);
    tap.hand_over(now, &Bytes::from_static(b"\n\nx"));
    assert_eq!(
        handoff.observed(Source::Stderr).lost.load(Ordering::SeqCst),
        2
    );
    tap.end(now);
    assert_eq!(texts(&handoff), ["lost 3", "end"]);
}

#[test]
fn an_open_line_is_torn_until_its_end_is_seen() {
    let handoff = HandOff::new(16 * MIB);
    let mut tap = Tap::new(Arc::clone(&handoff), Source::Client);
    let now = Instant::now();
    let torn = || handoff.observed(Source::Client).torn.load(Ordering::SeqCst);
    tap.hand_over(now, &Bytes::from_static(b"{"));
    handoff.budget.take(Stage::Assembling, 16 * MIB);
    tap.hand_over(now, &Bytes::from_static(b"1"));
    assert_eq!(torn(), 1);
    tap.hand_over(now, &Bytes::from_static(b"}\n"));
    assert_eq!(torn(), 0);
    assert_eq!(texts(&handoff), ["{", "rest 2 false"]);
}

#[test]
fn a_sleeping_recorder_is_woken_by_the_next_slice() {
    for _ in 0..200 {
        let handoff = HandOff::new(16 * MIB);
        let sleeper = std::thread::spawn({
            let handoff = Arc::clone(&handoff);
            move || {
                handoff.attend(std::thread::current());
                handoff.sleep();
                handoff.pop().is_some()
            }
        });
        let mut tap = Tap::new(handoff, Source::Client);
        tap.hand_over(Instant::now(), &Bytes::from_static(b"x\n"));
        tap.wake();
        assert!(sleeper.join().unwrap());
    }
}

#[test]
fn only_the_slice_that_fills_a_mebibyte_wakes_early() {
    let handoff = HandOff::new(16 * MIB);
    let item = || Item {
        source: Source::Client,
        at: Instant::now(),
        what: What::Slice(Bytes::from(vec![b'x'; 300 * 1024])),
    };
    let woken: Vec<_> = (0..5).map(|_| handoff.push(item())).collect();
    assert_eq!(woken, [false, false, false, true, false]);
}
