//! A filter over bodies that memory has released (tui.md G7).

use std::collections::VecDeque;

use super::rig::{Log, Rig, at};
use crate::{
    feed::{BodyOutcome, FeedEvent, FeedRequest, LinkState},
    findings::Analyzer,
    record::{Liveness, Seq, SessionKey},
    session::Limits,
    tui::event::Effect,
};

/// Calls of one tool, whose answers say `needle` where `says` holds; memory keeps the last few.
struct Released {
    rig: Rig,
    log: Log,
    asked: VecDeque<FeedRequest>,
}

impl Released {
    fn new(calls: i64, says: impl Fn(i64) -> bool) -> Self {
        let mut rig = Rig::new(100, 24);
        rig.app.analyzer = Analyzer::new(Limits {
            body_bytes: Some(4_000),
            rows: None,
        });
        let mut log = Log::new("big-1-000000000001", "big").recorded();
        for id in 0..calls {
            let text = if says(id) { "a ne\\u0065dle" } else { "hay" };
            log = log
                .client(id, &format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"t","arguments":{{}}}}}}"#))
                .server(id, &format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[{{"type":"text","text":"{text}"}}]}}}}"#));
        }
        log = log.news(Liveness::Ended, true);
        rig.feed(std::mem::take(&mut log.events));
        rig.keys("enter");
        let mut released = Self {
            rig,
            log,
            asked: VecDeque::new(),
        };
        while released.row_answer(&says).is_some() {}
        released
    }

    /// Answers a request of a row on screen; `None` when there is none.
    fn row_answer(&mut self, says: impl Fn(i64) -> bool) -> Option<()> {
        self.rig.wait(1);
        let effects = std::mem::take(&mut self.rig.effects);
        let mut answered = None;
        for effect in effects {
            let Effect::Ask(request @ FeedRequest::ReadBody { .. }) = effect else {
                continue;
            };
            let FeedRequest::ReadBody { key, seq, .. } = &request else {
                continue;
            };
            if self.rig.app.readback.is_asked(key, *seq) {
                self.asked.push_back(request);
                continue;
            }
            let body = self.body(key.clone(), *seq, &says);
            self.rig.feed([body]);
            answered = Some(());
        }
        answered
    }

    /// The requests of the filter; those of rows on screen are answered.
    fn collect(&mut self, says: impl Fn(i64) -> bool) {
        while self.row_answer(&says).is_some() {}
    }

    fn body(&self, key: SessionKey, seq: Seq, says: impl Fn(i64) -> bool) -> FeedEvent {
        let id = i64::try_from((seq.0 - 1) / 2).unwrap();
        let text = if says(id) { "a ne\\u0065dle" } else { "hay" };
        let line = format!(
            r#"{{"session_id":"{}","server_label":"big","seq":{seq},"ts":"{}","direction":"s2c","transport":"stdio","raw":{{"jsonrpc":"2.0","id":{id},"result":{{"content":[{{"type":"text","text":"{text}"}}]}}}}}}"#,
            self.log.id,
            at(id)
        );
        let outcome = BodyOutcome::Line(line.into());
        FeedEvent::Body { key, seq, outcome }
    }

    fn filter(&mut self, text: &str) {
        self.rig.keys("/");
        self.rig.type_text(text);
        self.rig.keys("enter");
        self.rig.wait(1);
        self.collect(every_tenth);
    }

    /// Answers the oldest request; `None` when there is none.
    fn answer(&mut self, reason: Option<&str>, says: impl Fn(i64) -> bool + Copy) -> Option<Seq> {
        let FeedRequest::ReadBody { key, seq, .. } = self.asked.pop_front()? else {
            return None;
        };
        let event = match reason {
            Some(reason) => FeedEvent::Body {
                key,
                seq,
                outcome: BodyOutcome::Unavailable(reason.into()),
            },
            None => self.body(key, seq, says),
        };
        self.rig.feed([event]);
        self.collect(says);
        Some(seq)
    }
}

const fn every_tenth(id: i64) -> bool {
    id % 10 == 0
}

#[test]
fn released_bodies_are_read_back_newest_first_and_found() {
    let mut released = Released::new(300, every_tenth);
    released.filter("needle");
    assert_eq!(released.asked.len(), 128, "so many are in flight, no more");
    released.rig.line_with("older frames...");
    let mut read = Vec::new();
    while let Some(seq) = released.answer(None, every_tenth) {
        read.push(seq.0);
        assert!(released.asked.len() <= 128);
    }
    assert!(read.is_sorted_by(|a, b| a > b), "newest first");
    let text = released.rig.text();
    assert!(
        !text.contains("searching") && !text.contains("not searched"),
        "{text}"
    );
    // What is read back says it in requests and answers; what is held, in answers only.
    let matches = |seq: &u64| every_tenth(i64::try_from((seq - 1) / 2).unwrap());
    let held = (1..=600).filter(|seq| seq % 2 == 0 && !read.contains(seq));
    let expected = read.iter().filter(|seq| matches(seq)).count() + held.filter(matches).count();
    released.rig.line_with(&format!(" {expected}/600 frames"));
}

#[test]
fn what_nobody_can_read_is_told_and_never_asked_again() {
    let mut released = Released::new(40, every_tenth);
    released.filter("needle");
    let mut asked = 0;
    while released
        .answer(Some("the log was removed"), every_tenth)
        .is_some()
    {
        asked += 1;
    }
    let line = released.rig.line_with("not searched");
    assert!(
        line.contains(&format!("{asked} frames not searched")),
        "{line}"
    );
    released.rig.keys("T");
    released.rig.wait(1_100);
    released.collect(every_tenth);
    assert!(released.asked.is_empty());
}

#[test]
fn another_filter_gives_the_search_up() {
    let mut released = Released::new(100, every_tenth);
    released.filter("needle");
    let before = released.asked.len();
    assert!(before > 50);
    released.rig.keys("esc");
    released.rig.wait(1);
    released.collect(every_tenth);
    let in_flight = released.asked.len();
    while released.answer(None, every_tenth).is_some() {}
    assert_eq!(in_flight, before, "nothing more was asked for");
    assert!(!released.rig.text().contains("searching"));
    let line = released.rig.line_with("200 frames");
    assert!(!line.contains("/200"), "all are listed: {line}");
}

#[test]
fn what_was_read_is_kept_through_a_sort_and_a_pause_of_the_link() {
    let mut released = Released::new(40, every_tenth);
    released.filter("needle");
    released
        .rig
        .feed([super::rig::host("local", LinkState::Lost, Some("gone"))]);
    let first = released.answer(Some("not connected"), every_tenth).unwrap();
    assert!(released.asked.iter().all(|request| !matches!(
        request,
        FeedRequest::ReadBody { seq, .. } if *seq == first
    )));
    released
        .rig
        .feed([super::rig::host("local", LinkState::Live, None)]);
    released.collect(every_tenth);
    assert!(released.asked.iter().any(|request| matches!(
        request,
        FeedRequest::ReadBody { seq, .. } if *seq == first
    )));
    while released.answer(None, every_tenth).is_some() {}
    let before = released.rig.line_with("80 frames");
    released.rig.keys("D");
    released.rig.wait(1_100);
    released.collect(every_tenth);
    assert!(released.asked.is_empty(), "nothing is read twice");
    assert_eq!(released.rig.line_with("80 frames"), before);
}

#[test]
fn requests_that_nobody_answers_are_made_again() {
    let mut released = Released::new(40, every_tenth);
    released.filter("needle");
    let lost = released.asked.len();
    released.asked.clear();
    released.rig.wait(29_000);
    released.collect(every_tenth);
    assert!(released.asked.is_empty());
    released.rig.wait(2_000);
    released.collect(every_tenth);
    assert_eq!(released.asked.len(), lost);
}
