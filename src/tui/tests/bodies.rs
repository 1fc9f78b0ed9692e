//! Rows on screen whose bodies memory has released are read back (tui.md 6.3, I7, 13.1).

use std::collections::HashSet;

use super::rig::{Log, Rig, host};
use crate::{
    feed::{BodyOutcome, FeedEvent, FeedRequest, LinkState},
    findings::Analyzer,
    record::{Liveness, Seq, SessionKey},
    session::Limits,
    tui::event::Effect,
};

/// A small session whose bodies a big one pushed out of memory, in its stream; the lines of its log.
fn evicted(height: u16, calls: i64) -> (Rig, Vec<FeedEvent>) {
    let mut rig = Rig::new(120, height);
    rig.app.analyzer = Analyzer::new(Limits {
        body_bytes: Some(1),
        rows: None,
    });
    let mut log = Log::new("small-1-000000000001", "small").recorded();
    for id in 0..calls {
        log = log
            .client(id, &format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"sum","arguments":{{"a":{id}}}}}}}"#))
            .server(id, &format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32603,"message":"bad {id}"}}}}"#));
    }
    let big = Log::new("big-2-000000000002", "big")
        .recorded()
        .client(0, r#"{"jsonrpc":"2.0","id":0,"method":"ping"}"#)
        .news(Liveness::Ended, true);
    let log = log.news(Liveness::Ended, true);
    let bodies = log.events.iter().filter_map(|event| match event {
        FeedEvent::Frame(frame) => Some(FeedEvent::Body {
            key: frame.key.clone(),
            seq: frame.line.envelope.seq,
            outcome: BodyOutcome::Line(frame.line.bytes.clone()),
        }),
        _ => None,
    });
    let bodies = bodies.collect();
    rig.feed([host("local", LinkState::Live, None)]);
    rig.feed(log.events);
    rig.feed(big.events);
    rig.type_text(":small");
    rig.keys("enter");
    (rig, bodies)
}

/// What was asked for since the last look.
fn asked(rig: &mut Rig) -> Vec<(SessionKey, Seq)> {
    rig.wait(1);
    let effects = std::mem::take(&mut rig.effects);
    let asks = effects.into_iter().filter_map(|effect| match effect {
        Effect::Ask(FeedRequest::ReadBody { key, seq, .. }) => Some((key, seq)),
        _ => None,
    });
    asks.collect()
}

fn body_of(bodies: &[FeedEvent], wanted: Seq) -> FeedEvent {
    let is_it = |event: &&FeedEvent| matches!(event, FeedEvent::Body { seq, .. } if *seq == wanted);
    bodies.iter().find(is_it).unwrap().clone()
}

/// Answers everything until nothing is asked for; answers how much that was, and the most at once.
fn answer_all(rig: &mut Rig, bodies: &[FeedEvent]) -> (usize, usize) {
    let (mut all, mut most) = (0, 0);
    loop {
        let asks = asked(rig);
        if asks.is_empty() {
            return (all, most);
        }
        all += asks.len();
        most = most.max(asks.len());
        for (_, seq) in asks {
            rig.feed([body_of(bodies, seq)]);
        }
    }
}

#[test]
fn rows_on_screen_say_what_their_bodies_say() {
    let (mut rig, bodies) = evicted(24, 200);
    let before = rig.lines();
    assert!(!rig.text().contains("bad 199"), "{}", rig.text());
    let (all, most) = answer_all(&mut rig, &bodies);
    assert!(all <= 60, "what is on screen and a page around it: {all}");
    assert!(most <= 64, "{most}");
    rig.line_with("{\"a\":199}");
    rig.line_with("-32603 internal error: bad 199");
    assert!(!rig.text().contains("on disk"), "{}", rig.text());
    let places = |lines: &[String]| {
        let rows = lines.iter().take(22);
        let cells = rows.map(|line| line.chars().take(60).collect());
        cells.collect::<Vec<String>>()
    };
    assert_eq!(places(&before), places(&rig.lines()), "nothing moved");
    // A page up was read ahead; what lies beyond it is asked for now, each once.
    rig.keys("pgup");
    rig.line_with("bad 190");
    let (more, _) = answer_all(&mut rig, &bodies);
    assert!(more > 0 && more <= 60, "{more}");
    rig.keys("g");
    let (top, _) = answer_all(&mut rig, &bodies);
    assert!(top > 0);
    rig.line_with("bad 0");
}

#[test]
fn a_row_that_cannot_be_read_says_why_and_waits_for_its_link() {
    let (mut rig, bodies) = evicted(24, 1);
    let asks = asked(&mut rig);
    assert_eq!(asks.len(), 2);
    let fail = |seq, reason: &str| FeedEvent::Body {
        key: asks[0].0.clone(),
        seq,
        outcome: BodyOutcome::Unavailable(reason.into()),
    };
    rig.feed([fail(Seq(1), "the log was removed")]);
    rig.line_with("body not available: the log was removed");
    rig.feed([host("local", LinkState::Lost, Some("gone"))]);
    rig.feed([fail(Seq(2), "not connected")]);
    rig.line_with("body on disk");
    assert!(asked(&mut rig).is_empty());
    rig.feed([host("local", LinkState::Live, None)]);
    let seqs: HashSet<_> = asked(&mut rig).into_iter().map(|(_, seq)| seq).collect();
    assert_eq!(seqs, HashSet::from([Seq(2)]));
    rig.feed([body_of(&bodies, Seq(2))]);
    rig.line_with("bad 0");
}

#[test]
fn the_other_half_of_an_inspected_frame_is_read_too() {
    let (mut rig, bodies) = evicted(24, 1);
    answer_all(&mut rig, &bodies);
    rig.keys("G enter");
    rig.line_with("-- asked in 1");
    rig.line_with("  {\"a\":0}");
}

#[test]
fn a_copy_reads_the_body_first_and_is_of_the_row_that_was_selected() {
    let (mut rig, bodies) = evicted(24, 30);
    rig.effects.clear();
    for (command, seq, part) in [
        ("", 60, "\"message\": \"bad 29\""),
        ("copy raw", 60, "\"message\":\"bad 29\""),
        ("copy args", 59, "\"a\": 29"),
        ("copy frame /tmp/frame.json", 60, "\"message\": \"bad 29\""),
    ] {
        rig.keys("G");
        if command.is_empty() {
            rig.keys("y");
        } else {
            rig.type_text(&format!(":{command}"));
            rig.keys("enter");
        }
        rig.line_with("reading from log...");
        rig.keys("k");
        rig.effects.clear();
        rig.feed([body_of(&bodies, Seq(seq))]);
        let effects = std::mem::take(&mut rig.effects);
        let copied = effects.iter().find_map(|effect| match effect {
            Effect::Copy { text, .. } => Some(text.clone()),
            Effect::Write { bytes, .. } => Some(String::from_utf8(bytes.clone()).unwrap()),
            _ => None,
        });
        let copied = copied.unwrap_or_else(|| panic!("{command}: nothing copied"));
        assert!(copied.contains(part), "{command}: {copied}");
        // The row is on screen: forget what was read, so that the next copy has to read, too.
        rig.app.bodies = crate::tui::bodies::Bodies::default();
    }
}

#[test]
fn a_copy_that_cannot_be_read_says_why() {
    let (mut rig, _) = evicted(24, 1);
    rig.keys("y");
    let key = asked(&mut rig)[0].0.clone();
    rig.feed([FeedEvent::Body {
        key,
        seq: Seq(2),
        outcome: BodyOutcome::Unavailable("the log was removed".into()),
    }]);
    rig.line_with("not copied: the log was removed");
}
