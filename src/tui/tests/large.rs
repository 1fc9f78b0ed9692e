//! A body of many megabytes on one line: only what is on screen is made into text (tui.md I6, PF1).

use super::rig::{Log, Rig};
use crate::tui::{
    app::Screen,
    event::{Effect, Event},
    raw::{CONVERTED, RAW_LINE},
};

/// Bytes that are made into text while something is done, drawing included.
fn converted(rig: &mut Rig, what: impl FnOnce(&mut Rig)) -> usize {
    CONVERTED.with(|all| all.set(0));
    what(rig);
    rig.buffer();
    CONVERTED.with(std::cell::Cell::get)
}

fn opened() -> Rig {
    let text = "word ".repeat((8 << 20) / 5);
    let log = Log::new("a-1-000000000001", "a")
        .recorded()
        .server(0, &format!(r#"{{"text":"{text} needle"}}"#));
    let mut rig = Rig::new(100, 24);
    rig.feed(log.events);
    rig.keys("enter");
    rig
}

#[test]
fn opening_paging_and_leaving_convert_the_window_only() {
    let mut rig = opened();
    // A page and the one before it, of lines that take the room of several each.
    let most = 2 * 24 * RAW_LINE;
    for keys in ["enter", "ctrl-d", "j", "G", "k", "ctrl-w", "g", "m", "q"] {
        let made = converted(&mut rig, |rig| rig.keys(keys));
        assert!(made <= most, "{keys}: {made} bytes");
        if keys == "enter" {
            assert!(made > RAW_LINE, "the window is drawn");
            rig.line_with("body raw");
        }
        if keys == "m" {
            rig.line_with("preparing text");
        }
    }
    assert!(matches!(rig.app.stack.last(), Some(Screen::Stream(_))));
}

#[test]
fn a_large_body_is_prepared_in_the_background_while_keys_stay_live() {
    let items: Vec<_> = (0..100_000)
        .map(|item| format!("{{\"item\":{item}}},"))
        .collect();
    let items = items.concat();
    let log = Log::new("a-1-000000000001", "a").recorded().server(
        0,
        &format!(r#"{{"jsonrpc":"2.0","id":1,"result":[{items}7]}}"#),
    );
    let mut rig = Rig::new(100, 24);
    rig.feed(log.events);
    rig.keys("enter enter");
    rig.line_with("body raw");
    rig.keys("m m");
    rig.line_with("preparing pretty");
    rig.wait(1_100);
    let rule = rig.line_with("preparing pretty 0 %");
    assert!(rule.contains("body raw"), "what is shown meanwhile: {rule}");
    rig.keys("j j");
    let line = rig.selected();
    assert!(line.contains("  3  "), "keys are taken: {line}");
    rig.background();
    rig.line_with("body pretty");
    rig.keys("j j j j j");
    let line = rig.selected();
    assert!(line.contains("\"item\": 0"), "{line}");
    rig.line_with("result[0].item");
    // The other modes and back: what was prepared is there at once.
    rig.keys("m m m");
    rig.line_with("body pretty");
    let most = 2 * 24 * RAW_LINE;
    assert!(converted(&mut rig, |rig| rig.keys("G")) <= most);
    rig.line_with("}");
}

#[test]
fn a_frame_that_is_left_gives_its_layout_up() {
    let mut rig = opened();
    rig.keys("enter");
    let job = rig.effects.iter().find_map(|effect| match effect {
        Effect::LayOut(job) => Some(job.clone()),
        _ => None,
    });
    rig.keys("q enter");
    rig.happen(Event::Laid(Box::new(job.unwrap().run())));
    rig.keys("m m");
    rig.line_with("preparing pretty");
}

/// A line of the window that holds a text, wherever it is scrolled to.
fn seen_while(rig: &mut Rig, key: &str, steps: usize, wanted: &str) -> bool {
    (0..steps).any(|_| {
        rig.keys(key);
        rig.text().contains(wanted)
    })
}

#[test]
fn every_row_of_a_line_that_is_higher_than_the_screen_can_be_reached() {
    let words: Vec<_> = (0..300).map(|word| format!("w{word:03} ")).collect();
    let words = words.concat();
    let log = Log::new("a-1-000000000001", "a").recorded().server(
        0,
        &format!(r#"{{"jsonrpc":"2.0","method":"m","params":{{"text":"{words}","z":1}}}}"#),
    );
    let mut rig = Rig::new(40, 12);
    rig.feed(log.events);
    rig.keys("enter enter");
    let mut rows: Vec<String> = Vec::new();
    while !rig.text().contains("\"z\": 1") {
        let lines = rig.lines();
        let new = lines.iter().filter_map(|line| line.get(6..));
        for row in new.filter(|row| row.contains('w')) {
            if !rows.iter().any(|known| known == row.trim_end()) {
                rows.push(row.trim_end().to_owned());
            }
        }
        assert!(rows.len() < 100, "it scrolls on: {rows:?}");
        rig.keys("j");
    }
    let seen = rows.concat().replace(' ', "");
    for word in 0..300 {
        assert!(
            seen.contains(&format!("w{word:03}")),
            "w{word:03} in {rows:?}"
        );
    }
    assert!(seen_while(&mut rig, "k", 20, "w29"), "{}", rig.text());
    assert!(seen_while(&mut rig, "u", 40, "w000"), "{}", rig.text());
    rig.keys("g G");
    rig.line_with("\"z\": 1");
    rig.keys("/");
    rig.type_text("w150");
    rig.keys("enter");
    assert!(rig.text().contains("w150"), "{}", rig.text());
}

#[test]
fn a_search_goes_on_in_slices() {
    let mut rig = opened();
    rig.keys("enter");
    let Some(Screen::Inspector(state)) = rig.app.stack.last_mut() else {
        panic!("the frame is open");
    };
    CONVERTED.with(|all| all.set(0));
    state.find("needle");
    let first = CONVERTED.with(std::cell::Cell::get);
    assert!(first <= 80 * RAW_LINE, "{first} bytes at once");
    assert_eq!(state.match_words().as_deref(), Some("searching"));
    let last = state.body.len() - 1;
    state.find("word");
    assert!(state.is_searching());
    assert_eq!(
        state.cursor, 0,
        "the first hit is shown before the last is found"
    );
    assert!(last > 16_000);
}

#[test]
fn rows_of_a_large_message_show_how_it_begins() {
    let items = r#"{"text":"some words"},"#.repeat((2 << 20) / 22);
    let log = Log::new("a-1-000000000001", "a").recorded();
    let log = log.client(
        0,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"sum"}}"#,
    );
    let log = log.server(
        0,
        &format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"content":[{items}7]}}}}"#),
    );
    let mut rig = Rig::new(100, 24);
    rig.feed(log.events);
    rig.keys("enter");
    let start = r#"{"content":[{"text":"some"#;
    let row = rig.line_with("resp");
    assert!(row.contains("sum") && row.contains(start), "{row}");
    rig.keys("g enter");
    let half = rig.line_with(start);
    assert!(half.starts_with("  {"), "{half}");
}
