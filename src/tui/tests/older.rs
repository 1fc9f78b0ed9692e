//! Frames that memory dropped are read back from the log (tui.md T6).

use super::rig::{Log, Rig, host};
use crate::{
    feed::{FeedEvent, FeedRequest, LinkState, Recall, RecallStep, Recalling},
    findings::Analyzer,
    record::Liveness,
    session::Limits,
    tui::event::Effect,
};

/// A session of which memory holds the last hundred frames, and its log.
struct Dropped {
    rig: Rig,
    bytes: Vec<u8>,
}

impl Dropped {
    /// So many calls, each a request and an answer; the answer to `failed` is an error.
    fn new(calls: i64, failed: i64) -> Self {
        let mut rig = Rig::new(100, 24);
        rig.app.analyzer = Analyzer::new(Limits {
            body_bytes: None,
            rows: Some(100),
        });
        let mut log = Log::new("busy-1-000000000001", "busy");
        for id in 1..=calls {
            let answer = if id == failed {
                r#""error":{"code":-32601,"message":"no"}"#
            } else {
                r#""result":{}"#
            };
            log = log
                .client(
                    id,
                    &format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#),
                )
                .server(id, &format!(r#"{{"jsonrpc":"2.0","id":{id},{answer}}}"#));
        }
        log = log.news(Liveness::Recording, true);
        let mut bytes = Vec::new();
        for event in &log.events {
            if let FeedEvent::Frame(frame) = event {
                bytes.extend_from_slice(&frame.line.bytes);
                bytes.push(b'\n');
            }
        }
        rig.feed(log.events);
        rig.keys("enter");
        rig.effects.clear();
        Self { rig, bytes }
    }

    fn asked(&mut self) -> Option<Recall> {
        let effects = std::mem::take(&mut self.rig.effects);
        let recalls = effects.into_iter().filter_map(|effect| match effect {
            Effect::Ask(FeedRequest::Recall(wanted)) => Some(wanted),
            _ => None,
        });
        recalls.last()
    }

    /// Reads what was asked for.
    #[track_caller]
    fn read(&mut self) {
        let wanted = self.asked().expect("older frames are asked for");
        let mut recalling = Recalling::new(wanted, self.bytes.len() as u64);
        while let RecallStep::Read { offset, length } = recalling.step() {
            let start = usize::try_from(offset).unwrap();
            let end = (start + usize::try_from(length).unwrap()).min(self.bytes.len());
            let part = self.bytes[start.min(end)..end].to_vec();
            recalling.push(&part);
        }
        self.rig.feed(recalling.finish());
    }

    #[track_caller]
    fn selected_id(&mut self, id: i64) {
        let line = self.rig.selected();
        let has_id = line.split_whitespace().any(|word| word == id.to_string());
        assert!(has_id, "{id}: {line}");
    }
}

#[test]
fn moving_up_past_the_first_row_reads_the_page_before() {
    let mut dropped = Dropped::new(200, 0);
    dropped.rig.line_with("300 older frames on disk");
    for _ in 0..40 {
        if dropped.rig.effects.is_empty() {
            dropped.rig.keys("u");
        }
    }
    dropped.rig.line_with("reading frames 1 to 300...");
    dropped.read();
    dropped.rig.line_with("frames 1 to 300");
    dropped.rig.line_with("older frames from the log");
    dropped.selected_id(150);
    // Statuses are those of the frames, and figures those of the session.
    let line = dropped.rig.selected();
    assert!(line.contains("resp") && line.contains("ok"), "{line}");
    dropped.rig.line_with("400 frames");
    dropped.rig.keys("g");
    dropped.selected_id(1);
    assert!(
        dropped.asked().is_none(),
        "nothing lies before the first frame"
    );
    dropped.rig.keys("k");
    assert!(dropped.asked().is_none());
    // The inspector shows its frames; moving on leads back to the newest ones.
    dropped.rig.keys("enter");
    dropped.rig.line_with("\"method\": \"ping\"");
    dropped.rig.line_with("req 1 <-> resp 2");
    dropped.rig.keys("q");
    dropped.rig.type_text(":goto 300");
    dropped.rig.keys("enter");
    dropped.selected_id(150);
    dropped.rig.keys("j");
    dropped.selected_id(151);
    assert!(!dropped.rig.text().contains("frames 1 to 300"));
    dropped.rig.keys("G");
    dropped.selected_id(200);
}

#[test]
fn g_goes_to_the_first_frame_and_esc_back() {
    let mut dropped = Dropped::new(200, 0);
    dropped.selected_id(200);
    dropped.rig.keys("g");
    dropped.read();
    dropped.selected_id(1);
    let feed = Log::new("busy-1-000000000001", "busy")
        .skip(400)
        .client(900, r#"{"jsonrpc":"2.0","id":201,"method":"ping"}"#);
    dropped.rig.feed(feed.events);
    dropped.selected_id(1);
    dropped.rig.line_with("401 frames");
    dropped.rig.keys("esc");
    dropped.selected_id(201);
}

#[test]
fn goto_and_problems_find_frames_on_disk() {
    let mut dropped = Dropped::new(200, 7);
    dropped.rig.type_text(":goto 100");
    dropped.rig.keys("enter");
    dropped.read();
    dropped.selected_id(50);
    dropped.rig.keys("G {");
    dropped.read();
    let line = dropped.rig.selected();
    assert!(line.contains("method not found"), "{line}");
    dropped.selected_id(7);
    dropped.rig.keys("x");
    let line = dropped.rig.selected();
    assert!(line.contains("ping") && !line.contains("resp"), "{line}");
}

#[test]
fn an_answer_leads_to_its_request_on_disk() {
    let mut dropped = Dropped::new(40, 0);
    let slow = Log::new("busy-1-000000000001", "busy").skip(80);
    let mut log = slow.client(
        100,
        r#"{"jsonrpc":"2.0","id":"slow","method":"tools/list"}"#,
    );
    for id in 41..=140 {
        log = log.client(
            id,
            &format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#),
        );
    }
    log = log.server(
        400,
        r#"{"jsonrpc":"2.0","id":"slow","result":{"tools":[]}}"#,
    );
    for event in &log.events {
        if let FeedEvent::Frame(frame) = event {
            dropped.bytes.extend_from_slice(&frame.line.bytes);
            dropped.bytes.push(b'\n');
        }
    }
    dropped.rig.feed(log.events);
    dropped.rig.keys("G x");
    dropped.read();
    let line = dropped.rig.selected();
    assert!(
        line.contains("tools/list") && line.contains("slow"),
        "{line}"
    );
}

#[test]
fn what_lies_beyond_a_page_is_not_concluded() {
    let mut dropped = Dropped::new(30, 0);
    let mut log = Log::new("busy-1-000000000001", "busy").skip(60).client(
        100,
        r#"{"jsonrpc":"2.0","id":"open","method":"tools/list"}"#,
    );
    for id in 31..=160 {
        log = log.client(
            id,
            &format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#),
        );
    }
    for event in &log.events {
        if let FeedEvent::Frame(frame) = event {
            dropped.bytes.extend_from_slice(&frame.line.bytes);
            dropped.bytes.push(b'\n');
        }
    }
    dropped.rig.feed(log.events);
    dropped.rig.type_text(":goto 61");
    dropped.rig.keys("enter");
    dropped.read();
    let line = dropped.rig.selected();
    assert!(line.contains("pending?"), "{line}");
    dropped
        .rig
        .line_with("its answer is not among the frames shown");
    assert!(
        !dropped.rig.text().contains("missing"),
        "{}",
        dropped.rig.text()
    );
    assert!(
        !dropped.rig.text().contains("not loaded"),
        "{}",
        dropped.rig.text()
    );
}

#[test]
fn a_filter_says_what_it_does_not_search() {
    let mut dropped = Dropped::new(200, 0);
    dropped.rig.keys("/");
    dropped.rig.type_text("ping");
    dropped.rig.keys("enter");
    dropped.rig.line_with("300 older frames not searched");
    dropped.rig.keys("g k");
    assert!(dropped.asked().is_none());
}

#[test]
fn a_log_that_cannot_be_read_says_why() {
    let mut dropped = Dropped::new(200, 0);
    dropped.rig.keys("g");
    let wanted = dropped.asked().unwrap();
    dropped
        .rig
        .feed([wanted.failed("the log was \u{1b}removed".to_owned())]);
    dropped
        .rig
        .line_with("older frames cannot be read: the log was \\u001bremoved");
    dropped.selected_id(200);
}

#[test]
fn an_answer_at_the_edge_of_a_page_is_no_fault() {
    let mut dropped = Dropped::new(200, 0);
    dropped.rig.keys("g");
    let mut wanted = dropped.asked().unwrap();
    // As if the page began behind the request of the first answer.
    wanted.from = crate::record::Seq(50);
    let mut recalling = Recalling::new(wanted, dropped.bytes.len() as u64);
    while let RecallStep::Read { .. } = recalling.step() {
        let bytes = dropped.bytes.clone();
        recalling.push(&bytes);
    }
    let mut events = recalling.finish();
    for event in &mut events {
        if let FeedEvent::Recalled { from, .. } = event {
            *from = crate::record::Seq(1);
        }
    }
    dropped.rig.feed(events);
    let line = dropped.rig.selected();
    assert!(line.contains("resp") && line.contains(" 25 "), "{line}");
    dropped.rig.keys("x");
    dropped
        .rig
        .line_with("its other half is not among the frames shown");
    dropped.rig.keys("!");
    dropped.rig.line_with("no frame matches ! problems");
}

#[test]
fn a_page_whose_host_went_down_is_asked_for_again_and_a_new_target_counts() {
    let mut dropped = Dropped::new(200, 0);
    dropped.rig.keys("g");
    assert!(dropped.asked().is_some());
    // The same page is not read twice, but another row of it is wanted now.
    dropped.rig.keys(": g o t o space 1 0 1 enter");
    assert!(dropped.asked().is_none());
    dropped.rig.feed([host("local", LinkState::Lost, None)]);
    dropped.rig.feed([host("local", LinkState::Live, None)]);
    dropped.rig.keys("g");
    assert!(
        dropped.asked().is_some(),
        "its answer was lost with the link"
    );
}
