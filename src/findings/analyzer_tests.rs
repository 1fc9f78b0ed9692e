//! Each feed event and what it changes.

use std::sync::Arc;

use super::*;
use crate::{
    base::ByteCount,
    feed::{HostState, Origin},
    record::{HostName, Line, Seq, script},
    session::Health,
};

fn key() -> SessionKey {
    SessionKey {
        host: HostName(Arc::from("web1")),
        id: Arc::from("s"),
    }
}

fn frames(text: &str, origin: Origin) -> Vec<FeedEvent> {
    let envelopes = script::session(text).unwrap();
    envelopes
        .into_iter()
        .map(|envelope| {
            FeedEvent::Frame(Box::new(FeedFrame {
                key: key(),
                line: Line {
                    bytes: bytes::Bytes::new(),
                    envelope,
                },
                place: None,
                origin,
                arrived: None,
            }))
        })
        .collect()
}

fn news(loaded: bool, liveness: Liveness) -> FeedEvent {
    FeedEvent::Session(SessionNews {
        key: key(),
        log: None,
        size: ByteCount(0),
        modified: None,
        loaded,
        liveness,
        damaged: 0,
    })
}

fn link(link: LinkState) -> FeedEvent {
    FeedEvent::Host(HostState {
        host: key().host,
        target: String::new(),
        link,
        mode: None,
        reason: None,
        state_dir: None,
        clock_offset_ms: None,
        round_trip: None,
    })
}

fn pending(loaded: bool) -> FeedEvent {
    FeedEvent::NotLoaded {
        key: key(),
        pending: !loaded,
    }
}

fn gap(from: u64, to: u64, filled: bool) -> FeedEvent {
    let (key, from, to) = (key(), Seq(from), Seq(to));
    if filled {
        FeedEvent::GapFilled { key, from, to }
    } else {
        FeedEvent::Gap { key, from, to }
    }
}

/// Missing, not loaded and health after the events.
fn check(events: impl IntoIterator<Item = FeedEvent>, expected: (u64, u64, Health)) {
    let mut analyzer = Analyzer::new(Limits::LIVE);
    for event in events {
        analyzer.ingest(&event);
    }
    let session = analyzer.model().session(&key()).unwrap();
    let found = (
        session.missing_frames(),
        session.not_loaded(),
        session.health(),
    );
    assert_eq!(found, expected);
}

#[test]
fn only_gaps_are_missing_and_nothing_is_pending_while_something_may_come() {
    let all = |more: Vec<FeedEvent>| {
        let mut events = frames("#3 > Q1 call t", Origin::Log);
        events.extend(more);
        events
    };
    let both = || gap(1, 2, false);
    check(all(vec![]), (0, 2, Health::Pending));
    check(all(vec![both()]), (2, 0, Health::Pending));
    check(all(vec![pending(false)]), (0, 2, Health::Ok));
    check(all(vec![pending(false), both()]), (2, 0, Health::Ok));
    check(
        all(vec![pending(false), both(), pending(true)]),
        (2, 0, Health::Pending),
    );
    check(all(vec![both(), link(LinkState::Lost)]), (0, 2, Health::Ok));
    check(
        all(vec![both(), link(LinkState::Lost), link(LinkState::Live)]),
        (2, 0, Health::Pending),
    );
    check(all(vec![both(), gap(2, 2, true)]), (1, 1, Health::Pending));
    check(all(vec![gap(2, 2, true)]), (0, 2, Health::Pending));
}

#[test]
fn what_was_told_before_the_first_frame_counts() {
    let mut events = vec![news(false, Liveness::Recording)];
    events.extend(frames("#3 > Q1 call t", Origin::Log));
    check(events.clone(), (0, 2, Health::Ok));
    let mut analyzer = Analyzer::new(Limits::LIVE);
    for event in &events {
        analyzer.ingest(event);
    }
    let session = analyzer.model().session(&key()).unwrap();
    assert_eq!(session.source(), Source::Live);
    analyzer.ingest(&news(true, Liveness::EndedWithoutRecord));
    let session = analyzer.model().session(&key()).unwrap();
    assert_eq!(
        (session.source(), session.health()),
        (Source::Ended, Health::Pending)
    );
}

#[test]
fn a_session_joined_late_over_a_socket_has_lost_nothing() {
    let mut events = frames("#8 > N x", Origin::Socket);
    check(events.clone(), (0, 7, Health::Ok));
    events.push(pending(true));
    check(events, (0, 7, Health::Ok));
}

#[test]
fn an_update_says_what_to_redraw() {
    let mut analyzer = Analyzer::new(Limits::LIVE);
    let events = frames("> Q1 call t, < R1 {}", Origin::Socket);
    let first = analyzer.ingest(&events[0]);
    assert_eq!(first.key, Some(key()));
    assert_eq!(first.facts[0], Fact::NewSession);
    assert!(
        first
            .facts
            .iter()
            .any(|fact| matches!(fact, Fact::Opened(_)))
    );
    let second = analyzer.ingest(&events[1]);
    assert!(
        second
            .facts
            .iter()
            .any(|fact| matches!(fact, Fact::Changed(_)))
    );
    assert!(
        analyzer.ingest(&events[1]).facts.is_empty(),
        "a repeat changes nothing"
    );
    assert!(analyzer.remove(&key()));
    assert!(!analyzer.remove(&key()));
    assert_eq!(analyzer.model().body_bytes(), 0);
}
