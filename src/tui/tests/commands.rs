//! What is typed behind `:` and what is copied (tui.md 12, 13.1).

use super::{rig::Rig, samples};
use crate::tui::event::Effect;

/// The stream of mock-up 22.2.
fn stream() -> Rig {
    let mut rig = Rig::new(80, 24);
    rig.feed(samples::local());
    rig.keys("g enter");
    while !rig.text().contains("stream filesystem") {
        rig.keys("esc j enter");
    }
    rig
}

fn command(rig: &mut Rig, text: &str) {
    rig.keys(":");
    rig.type_text(text);
    rig.keys("enter");
}

fn copied(rig: &mut Rig, text: &str) -> Option<(String, &'static str)> {
    rig.effects.clear();
    command(rig, text);
    rig.effects.iter().find_map(|effect| match effect {
        Effect::Copy { text, what } => Some((text.clone(), *what)),
        _ => None,
    })
}

#[test]
fn goto_selects_by_number_time_and_id() {
    let mut rig = stream();
    let cases = [
        ("goto 9", "14:07:02.508"),
        ("goto 14:07:10", "14:07:10.212"),
        ("goto 14:07:03.5", "14:07:03.712"),
        ("goto 2026-09-01T14:07:11Z", "14:07:11.300"),
        ("goto id=44", "14:07:04.020"),
        ("goto id=41", "14:07:02.118"),
    ];
    for (text, time) in cases {
        command(&mut rig, text);
        let selected = rig.selected();
        assert!(selected.contains(time), "{text}: {selected}");
    }
    command(&mut rig, "goto 23:00");
    rig.line_with("all frames are older");
    command(&mut rig, "goto id=nothing");
    rig.line_with("no frame with id nothing is held");
    command(&mut rig, "goto when");
    rig.line_with("which frame? :goto NUMBER, 14:07:02 or id=ID");
}

#[test]
fn copy_offers_arguments_and_paths() {
    let mut rig = stream();
    command(&mut rig, "goto id=43");
    let arguments = "{\n  \"sql\": \"select * from users\"\n}";
    let expected = Some((arguments.to_owned(), "arguments"));
    assert_eq!(copied(&mut rig, "copy args"), expected);
    rig.keys("x");
    assert_eq!(copied(&mut rig, "copy args"), expected, "of the answer too");
    assert_eq!(copied(&mut rig, "copy path"), None);
    rig.line_with("there is nothing to copy here");
    rig.keys("esc enter j j j");
    assert_eq!(
        copied(&mut rig, "copy path"),
        Some(("result".into(), "path"))
    );
    command(&mut rig, "goto 9");
    rig.keys("enter j j");
    assert_eq!(copied(&mut rig, "copy value"), Some(("43".into(), "value")));
}

#[test]
fn a_request_shows_its_parameters_without_what_all_carry() {
    let mut rig = Rig::new(120, 40);
    let log = super::rig::Log::new("a-1-000000000001", "a")
        .recorded()
        .client(0, r#"{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"},"uri":"file:///x"}}"#)
        .client(1, r#"{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#);
    rig.feed(log.events);
    rig.keys("enter");
    rig.line_with(r#"{"uri":"file:///x"}"#);
    assert!(!rig.text().contains("_meta"), "{}", rig.text());
}

#[test]
fn what_is_wrong_with_a_filter_is_told_at_every_height() {
    for (width, height) in [(80, 24), (60, 15), (40, 10)] {
        let mut rig = Rig::new(width, height);
        rig.feed(samples::local());
        rig.keys("enter /");
        rig.type_text("status:eror");
        rig.line_with("/status:eror");
        rig.line_with("unknown status \"eror\" (col 8)");
    }
}

#[test]
fn a_filter_that_is_typed_replaces_the_one_in_force() {
    let mut rig = Rig::new(80, 24);
    rig.feed(samples::local());
    rig.type_text(":filesystem-482");
    rig.keys("enter");
    rig.type_text("/status:err");
    rig.keys("enter");
    rig.type_text("/tool:forecast");
    rig.line_with(" /tool:forecast_");
    rig.keys("esc");
    rig.line_with(" /status:err  esc clears");
    // A movement keeps it.
    rig.keys("/ end");
    rig.type_text(" x");
    rig.line_with(" /status:err x_");
    rig.keys("esc");
    rig.keys("/ enter");
    rig.line_with(" /status:err  esc clears");
}

#[test]
fn a_failed_command_says_why_beside_the_prompt_and_typing_replaces_it() {
    let mut rig = Rig::new(80, 24);
    rig.feed(samples::local());
    rig.type_text(":nothing-of-that-name");
    rig.keys("enter");
    let line = rig.lines()[1].clone();
    assert!(line.starts_with(" :nothing-of-that-name_"), "{line}");
    assert!(line.contains("no command or session"), "{line}");
    rig.type_text("q");
    rig.line_with(" :q_");
    rig.keys("enter");
    assert!(matches!(rig.effects.last(), Some(Effect::Quit)));
}
