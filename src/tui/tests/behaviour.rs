//! Rules of selection, follow, pause, clear, filters and links (tui.md 3, 4, 10, 15).

use super::{
    rig::{Log, Rig, host, key_of},
    samples,
};
use crate::{
    feed::{BodyOutcome, FeedEvent, FeedRequest, LinkState},
    findings::Analyzer,
    record::{Liveness, Seq},
    session::Limits,
    tui::event::Effect,
};

fn ping(log: Log, id: u32, millis: i64) -> Log {
    log.client(
        millis,
        &format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"t{id}"}}}}"#
        ),
    )
}

fn pong(log: Log, id: u32, millis: i64) -> Log {
    log.server(
        millis,
        &format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#),
    )
}

fn recording(rows: u32) -> (Rig, Log) {
    let mut rig = Rig::new(80, 24);
    let mut log = Log::new("files-1-000000000001", "files").news(Liveness::Recording, true);
    for id in 0..rows {
        log = ping(log, id, i64::from(id));
    }
    rig.feed([host("local", LinkState::Live, None)]);
    rig.feed(std::mem::take(&mut log.events));
    rig.keys("enter");
    (rig, log)
}

fn more(rig: &mut Rig, log: Log, ids: std::ops::Range<u32>) -> Log {
    let mut log = ids.fold(log, |log, id| ping(log, id, i64::from(id)));
    rig.feed(std::mem::take(&mut log.events));
    log
}

#[test]
fn follow_shows_the_newest_until_a_movement() {
    let (mut rig, log) = recording(50);
    assert!(rig.selected().contains("t49"));
    let log = more(&mut rig, log, 50..53);
    assert!(rig.selected().contains("t52"));
    assert!(rig.text().contains("follow  * live"));
    rig.keys("k k");
    let log = more(&mut rig, log, 53..60);
    assert!(rig.selected().contains("t50"));
    assert!(rig.text().contains("+7 below  * live"), "{}", rig.text());
    rig.keys("G");
    let _log = more(&mut rig, log, 60..61);
    assert!(rig.selected().contains("t60"));
}

#[test]
fn the_first_row_stands_still_while_rows_arrive() {
    let (mut rig, log) = recording(60);
    rig.keys("u u");
    let before = rig.lines()[4].clone();
    let _log = more(&mut rig, log, 60..100);
    assert_eq!(rig.lines()[4], before);
}

#[test]
fn the_first_row_of_a_live_stream_is_the_end_of_the_way_up() {
    let (mut rig, _log) = recording(50);
    rig.keys("g");
    let before = rig.text();
    rig.keys("k");
    assert_eq!(rig.text(), before);
}

#[test]
fn follow_in_descending_order_shows_the_newest_on_top() {
    let (mut rig, log) = recording(40);
    rig.keys("T T f");
    let _log = more(&mut rig, log, 40..45);
    rig.wait(1_000);
    assert!(rig.lines()[4].contains("t44"), "{}", rig.text());
    assert!(rig.lines()[4].starts_with('>'));
}

#[test]
fn follow_under_another_sort_goes_back_to_time() {
    let (mut rig, _log) = recording(5);
    rig.keys("M");
    assert!(rig.text().contains("sort method asc"));
    rig.keys("f");
    assert!(!rig.text().contains("sort method"));
    assert!(rig.text().contains("back to time order to follow"));
}

#[test]
fn sorts_go_natural_reversed_off() {
    let (mut rig, log) = recording(2);
    let log = pong(pong(log, 1, 100), 0, 900);
    rig.feed(log.events);
    rig.keys("D");
    assert!(rig.lines()[4].contains("900ms"), "{}", rig.text());
    rig.keys("D");
    assert!(rig.lines()[4].contains("99ms"), "{}", rig.text());
    rig.keys("D");
    assert!(!rig.text().contains("sort"));
}

#[test]
fn a_pause_shows_nothing_of_what_comes_after() {
    let (mut rig, log) = recording(30);
    rig.wait(500);
    rig.keys("p");
    let frozen = rig.lines();
    let log = pong(log, 29, 20_000);
    let log = more(&mut rig, log, 30..67);
    rig.wait(5_000);
    let now = rig.lines();
    assert!(now[0].contains("paused +38"), "{}", now[0]);
    assert_eq!(now[3..], frozen[3..]);
    rig.type_text("/tool:t6");
    rig.keys("enter");
    assert!(rig.text().contains("1/30 frames"), "{}", rig.text());
    rig.keys("esc p");
    assert!(rig.text().contains("68 frames"), "{}", rig.text());
    drop(log);
}

#[test]
fn clear_hides_what_is_there_and_escape_restores() {
    let (mut rig, log) = recording(10);
    rig.keys("ctrl-l");
    assert!(
        rig.text().contains("10 hidden by clear, esc restores"),
        "{}",
        rig.text()
    );
    let _log = more(&mut rig, log, 10..12);
    assert!(rig.lines()[4].contains("t10"));
    assert!(rig.text().contains("12 frames"));
    rig.keys("esc");
    assert!(rig.lines()[4].contains("t0"));
    rig.keys("ctrl-l ctrl-l");
    assert!(rig.text().contains("no frames to clear"));
}

#[test]
fn a_filter_is_live_and_escape_gives_the_earlier_one_back() {
    let (mut rig, log) = recording(20);
    rig.type_text("/tool:t7");
    assert!(rig.text().contains("1/20"));
    rig.keys("enter");
    let log = more(&mut rig, log, 70..72);
    assert!(rig.text().contains("3/22 frames"), "{}", rig.text());
    rig.type_text("/x");
    rig.keys("esc");
    assert!(rig.text().contains("3/22 frames"));
    assert!(rig.text().contains("/tool:t7"));
    rig.keys("esc");
    assert!(rig.text().contains("22 frames"));
    drop(log);
}

#[test]
fn a_filter_that_cannot_be_used_leaves_the_last_one_and_says_why() {
    let (mut rig, _log) = recording(20);
    rig.type_text("/status:pend status:eror");
    let line = rig.lines()[1].clone();
    assert!(line.contains("status") && line.contains("(col"), "{line}");
    rig.keys("enter");
    assert!(rig.app.prompt.is_some());
}

#[test]
fn nothing_found_says_how_many_are_hidden() {
    let (mut rig, _log) = recording(20);
    rig.type_text("/nothing-like-it");
    rig.keys("enter");
    assert!(
        rig.text()
            .contains("no frame matches /nothing-like-it (20 hidden), esc clears"),
        "{}",
        rig.text()
    );
}

#[test]
fn the_selection_is_an_identity() {
    let (mut rig, log) = recording(20);
    rig.keys("g j j j");
    assert!(rig.selected().contains("t3"));
    rig.keys("M M");
    assert!(rig.selected().contains("t3"));
    let _log = more(&mut rig, log, 20..40);
    rig.wait(1_500);
    assert!(rig.selected().contains("t3"), "{}", rig.text());
}

#[test]
fn the_table_keeps_its_selection_when_sessions_come() {
    let mut rig = Rig::new(80, 24);
    rig.feed(samples::local());
    rig.keys("g j");
    let before = rig.selected();
    rig.wait(3_000);
    rig.feed(
        Log::new("new-9-00000000000a", "aaa")
            .client(12_900, r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#)
            .news(Liveness::Recording, true)
            .events,
    );
    rig.wait(3_000);
    assert!(rig.text().contains("aaa"));
    assert_eq!(
        rig.selected().split_whitespace().nth(1),
        before.split_whitespace().nth(1)
    );
}

#[test]
fn escape_pops_one_layer_and_two_q_quit() {
    let (mut rig, _log) = recording(5);
    rig.type_text("/t3");
    rig.keys("enter enter");
    assert!(rig.text().contains("frame 4 of 5"));
    rig.keys("esc esc");
    assert!(rig.text().contains("1/5 frames"), "{}", rig.text());
    rig.keys("esc esc");
    assert!(rig.text().contains("-- sessions 1"), "{}", rig.text());
    rig.keys("esc");
    assert!(rig.text().contains("q again, :q or ctrl-c quits"));
    rig.keys("q q");
    assert!(matches!(rig.effects.last(), Some(Effect::Quit)));
}

#[test]
fn pairs_lead_to_each_other() {
    let mut rig = Rig::new(80, 24);
    rig.feed(samples::local());
    rig.type_text(":filesystem 48213");
    rig.keys("enter esc esc");
    rig.type_text(":filesystem-482");
    rig.keys("enter");
    rig.type_text(":goto 7");
    rig.keys("enter");
    assert!(rig.selected().contains("call run_query"));
    rig.keys("x");
    assert!(rig.selected().contains("resp run_query"));
    rig.keys("x");
    assert!(rig.selected().contains("call run_query"));
    rig.keys("enter x");
    assert!(rig.text().contains("req 7 <-> resp 9"), "{}", rig.text());
    assert!(rig.text().contains("frame 9 of 21"));
}

#[test]
fn problems_are_stops_and_can_be_all_there_is() {
    let mut rig = Rig::new(80, 24);
    rig.feed(samples::local());
    rig.type_text(":filesystem-482");
    rig.keys("enter {");
    assert!(rig.selected().contains("invalid rpc"));
    rig.keys("{");
    assert!(rig.selected().contains("resp run_query"));
    rig.keys("!");
    assert!(rig.text().contains("! problems only"));
    assert!(rig.text().contains("2/20 frames"), "{}", rig.text());
}

#[test]
fn holes_are_missing_only_when_nothing_can_fill_them() {
    let mut rig = Rig::new(80, 24);
    let log = Log::new("files-1-000000000001", "files").recorded();
    let log = ping(ping(log, 1, 0).skip(3), 2, 10);
    let key = log.key();
    rig.feed([host("local", LinkState::Live, None)]);
    let log = log
        .news(Liveness::Ended, false)
        .event(FeedEvent::NotLoaded {
            key: key.clone(),
            pending: true,
        });
    rig.feed(log.events);
    rig.keys("enter");
    assert!(!rig.text().contains("missing"), "{}", rig.text());
    assert!(
        rig.text().contains("3 frames not loaded yet"),
        "{}",
        rig.text()
    );
    let rest = Log::new("files-1-000000000001", "files")
        .news(Liveness::Ended, true)
        .event(FeedEvent::NotLoaded {
            key: key.clone(),
            pending: false,
        });
    rig.feed(rest.events);
    rig.feed([FeedEvent::Gap {
        key,
        from: Seq(2),
        to: Seq(4),
    }]);
    assert!(
        rig.line_with("missing").starts_with("   3 frames missing")
            || rig.text().contains(" 3 frames missing")
    );
    assert!(
        rig.lines()
            .iter()
            .filter(|line| line.contains("3 frames missing"))
            .count()
            == 2,
        "{}",
        rig.text()
    );
}

#[test]
fn nothing_is_claimed_about_a_host_whose_link_is_down() {
    let mut rig = Rig::new(80, 24);
    rig.feed([host("edge7", LinkState::Live, None)]);
    let log = ping(
        Log::on("edge7", "sensor-1-000000000001", "sensor"),
        1,
        12_000,
    )
    .news(Liveness::Recording, true);
    rig.feed(log.events);
    rig.wait(100);
    rig.keys("enter");
    assert!(rig.text().contains("pending"), "{}", rig.text());
    rig.feed([host(
        "edge7",
        LinkState::Lost,
        Some("connection reset by peer"),
    )]);
    rig.wait(1_000);
    let before = rig.line_with("pending?");
    assert!(rig.text().contains("1 pend?"), "{}", rig.text());
    rig.wait(60_000);
    assert_eq!(rig.line_with("pending?"), before, "timers stand still");
    assert!(rig.text().contains("? lost 1m"));
    rig.keys("esc");
    assert!(rig.text().contains("1?"), "{}", rig.text());
    assert!(rig.line_with("sensor").contains('?'));
    assert!(!rig.text().contains("missing"));
}

#[test]
fn a_released_body_is_read_from_the_log() {
    let mut rig = Rig::new(80, 24);
    rig.app.analyzer = Analyzer::new(Limits {
        body_bytes: Some(16 << 10),
        rows: None,
    });
    rig.feed([host("local", LinkState::Live, None)]);
    let mut log = Log::new("big-1-000000000001", "big").recorded();
    for id in 0..80_u32 {
        let text = "x".repeat(1 << 10);
        log = log.server(i64::from(id), &format!(r#"{{"jsonrpc":"2.0","method":"notifications/message","params":{{"data":"{id} {text}"}}}}"#));
    }
    let log = log.news(Liveness::Ended, true);
    let bytes = log.events.iter().find_map(|event| match event {
        FeedEvent::Frame(frame) => Some(frame.line.bytes.clone()),
        _ => None,
    });
    rig.feed(log.events);
    rig.keys("enter g enter");
    let released = rig
        .app
        .session(&key_of("local", "big-1-000000000001"))
        .unwrap();
    let held = (0..released.row_count())
        .filter(|at| {
            matches!(
                released.row(*at).unwrap().body,
                crate::session::Body::Held { .. }
            )
        })
        .count();
    assert!((5..40).contains(&held), "{held} are held");
    assert!(rig.text().contains("reading from log..."), "{}", rig.text());
    let asked = rig.effects.iter().any(|effect| {
        matches!(
            effect,
            Effect::Ask(FeedRequest::ReadBody { seq: Seq(1), .. })
        )
    });
    assert!(asked);
    let key = key_of("local", "big-1-000000000001");
    rig.feed([FeedEvent::Body {
        key: key.clone(),
        seq: Seq(1),
        outcome: BodyOutcome::Line(bytes.unwrap()),
    }]);
    assert!(rig.text().contains("\"data\": \"0 x"), "{}", rig.text());
    rig.keys("esc j enter");
    rig.feed([FeedEvent::Body {
        key,
        seq: Seq(2),
        outcome: BodyOutcome::Unavailable("log removed".into()),
    }]);
    assert!(
        rig.text().contains("not available: log removed"),
        "{}",
        rig.text()
    );
}

#[test]
fn an_opened_log_says_how_far_it_is_and_claims_nothing() {
    let mut rig = Rig::with(80, 24, &[], true);
    rig.feed([host("local", LinkState::Backfilling, None)]);
    let mut log = Log::new("files-1-000000000001", "files")
        .recorded()
        .news(Liveness::Unknown, false);
    for id in 0..40 {
        log = ping(log, id, 0);
    }
    rig.feed(std::mem::take(&mut log.events));
    rig.feed([FeedEvent::Progress(crate::feed::Progress {
        host: crate::record::HostName::local(),
        sessions_done: 0,
        sessions_total: 1,
        bytes_done: crate::base::ByteCount(34),
        bytes_total: crate::base::ByteCount(100),
        bytes_per_second: crate::base::ByteCount(1),
    })]);
    rig.keys("enter");
    assert!(
        rig.text().contains("reading 34 %, 40 frames"),
        "{}",
        rig.text()
    );
    assert!(rig.text().contains("40+ frames"), "{}", rig.text());
    assert!(rig.lines()[0].ends_with("file"));
    let log = (40..80).fold(log, |log, id| ping(log, id, 0));
    rig.feed(log.events);
    assert!(
        rig.selected().contains("t79"),
        "the last frame while no key was pressed"
    );
}

#[test]
fn copying_gives_indented_json_without_control_characters() {
    let (mut rig, log) = recording(1);
    rig.feed(
        log.server(
            5,
            "{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{\"a\":\"b\u{202e}c\"}}",
        )
        .events,
    );
    rig.keys("G y");
    let text = rig.effects.iter().find_map(|effect| match effect {
        Effect::Copy { text, .. } => Some(text.clone()),
        _ => None,
    });
    assert_eq!(
        text.unwrap(),
        "{\n  \"jsonrpc\": \"2.0\",\n  \"id\": 0,\n  \"result\": {\n    \"a\": \"b\\u202ec\"\n  }\n}"
    );
}

#[test]
fn unknown_commands_stay_to_be_mended() {
    let (mut rig, _log) = recording(1);
    rig.type_text(":nosuch");
    rig.keys("enter");
    assert!(
        rig.text().contains("no command or session \"nosuch\""),
        "{}",
        rig.text()
    );
    assert!(rig.app.prompt.is_some());
    rig.keys("ctrl-u");
    rig.type_text("sessions");
    rig.keys("enter");
    assert!(rig.text().contains("-- sessions 1"));
}

#[test]
fn the_help_names_only_keys_that_work_here() {
    let (mut rig, _log) = recording(1);
    rig.keys("?");
    let text = rig.text();
    assert!(text.contains("follow the newest"));
    for later in [
        "export",
        "replay",
        "preview",
        "waterfall",
        "delete",
        "capabilities",
    ] {
        assert!(!text.contains(later), "{later}");
    }
    rig.type_text("/pause");
    assert!(rig.text().contains("pause, resume"));
    assert!(!rig.text().contains("follow the newest"));
}

#[test]
fn a_login_is_asked_for_and_answered() {
    let (mut rig, _log) = recording(1);
    rig.feed([FeedEvent::Prompt {
        host: crate::record::HostName("edge7".into()),
        id: 7,
        text: "Password:".into(),
        echo: false,
    }]);
    rig.wait(300);
    rig.type_text("se y");
    assert!(rig.text().contains("Password:"));
    assert!(!rig.text().contains("se y"), "{}", rig.text());
    rig.keys("enter");
    let answered = rig.effects.iter().any(|effect| match effect {
        Effect::Ask(FeedRequest::Answer {
            id: 7,
            answer: Some(answer),
        }) => *answer.0 == "se y",
        _ => false,
    });
    assert!(answered);
}

#[test]
fn too_small_a_screen_says_so_and_nothing_is_lost() {
    let (mut rig, _log) = recording(50);
    rig.keys("u");
    let before = rig.text();
    for size in [(39, 9), (1, 1), (0, 0), (39, 24)] {
        rig.happen(crate::tui::event::Event::Resize(size.0, size.1));
        rig.buffer();
        rig.keys("j");
        rig.buffer();
        rig.keys("k");
    }
    assert!(rig.text().contains("terminal too small: 39x24, need"));
    rig.happen(crate::tui::event::Event::Resize(80, 24));
    assert_eq!(rig.text(), before);
}
