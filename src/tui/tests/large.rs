//! A body of many megabytes on one line: only what is on screen is made into text (tui.md I6, PF1).

use super::rig::{Log, Rig};
use crate::tui::{
    app::Screen,
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
            rig.line_with("over 1 MiB, shown raw");
        }
    }
    assert!(matches!(rig.app.stack.last(), Some(Screen::Stream(_))));
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
