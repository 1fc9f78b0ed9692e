//! What the screens say about where one is and why nothing happens (tui.md 8, 17.1).

use super::{
    rig::{Log, Rig, host},
    samples,
};
use crate::{
    feed::{Ending, FeedEvent, LinkState},
    record::HostName,
    tui::options::FirstScreen,
};

fn in_stream(log: Log) -> Rig {
    let mut rig = Rig::new(100, 24);
    rig.feed([host("local", LinkState::Live, None)]);
    rig.feed(log.events);
    rig.keys("enter");
    rig
}

#[test]
fn the_place_of_a_frame_is_among_the_frames_that_are_counted() {
    let mut rig = in_stream(samples::filesystem());
    rig.keys("G enter");
    rig.line_with("frame 20 of 20");
    rig.keys("ctrl-p");
    rig.line_with("frame 19 of 20");
}

#[test]
fn long_messages_are_wrapped() {
    let mut rig = Rig::new(40, 20);
    rig.type_text(":no-session-has-this-name and the end");
    rig.keys("enter esc");
    rig.type_text(":messages");
    rig.keys("enter");
    let text = rig.text();
    assert!(text.contains("end"), "{text}");
    assert!(!text.contains('~'), "{text}");
}

#[test]
fn without_a_problem_that_way_the_other_way_is_told() {
    let mut rig = in_stream(samples::filesystem());
    rig.keys("}");
    rig.line_with("no more problem rows below, { goes up: 2 above");
    rig.keys("{ { {");
    rig.line_with("no more problem rows above, } goes down: 1 below");
    rig.keys("enter {");
    rig.line_with("no more problem rows above, } goes down: 1 below");
    let mut calm = in_stream(samples::filesystem());
    calm.feed(
        Log::new("calm-1-000000000001", "calm")
            .text("stderr", 0, "x")
            .events,
    );
    calm.type_text(":calm");
    calm.keys("enter }");
    calm.line_with("no problem rows in this session");
    calm.keys("x");
    calm.line_with("no other frame belongs to this one");
    calm.keys("enter x");
    calm.line_with("no other frame belongs to this one");
}

#[test]
fn an_invalid_frame_says_why() {
    let cases = [
        (r#""text":"Listening""#, Some("  not JSON")),
        (
            r#""raw":{"hello":1}"#,
            Some("  JSON without jsonrpc, method, result or error"),
        ),
        (r#""raw":7"#, Some("  JSON, but no object")),
        (
            r#""raw":{"method":7}"#,
            Some("  JSON whose method is no string"),
        ),
        (r#""raw":{"jsonrpc":"2.0","id":1,"method":"ping"}"#, None),
    ];
    for (body, why) in cases {
        let log = Log::new("a-1-000000000001", "a").push("s2c", body, 0);
        let mut rig = in_stream(log);
        rig.keys("enter");
        let lines = rig.lines();
        let at = lines
            .iter()
            .position(|line| line.contains("-- body"))
            .unwrap();
        match why {
            Some(why) => assert_eq!(lines[at + 1].trim_end(), why, "{body}"),
            None => assert!(lines[at + 1].contains(" 1 "), "{lines:?}"),
        }
        assert!(
            lines[at + 1 + usize::from(why.is_some())].contains(" 1 "),
            "{lines:?}"
        );
    }
}

#[test]
fn a_toast_stays_on_the_screen_that_it_is_about() {
    for keys in ["enter", "?"] {
        let mut rig = in_stream(samples::filesystem());
        rig.keys("}");
        assert!(rig.text().contains("no more problem rows"));
        rig.keys(keys);
        assert!(!rig.text().contains("no more problem rows"), "{keys}");
    }
    let mut rig = in_stream(samples::filesystem());
    rig.keys("} }");
    assert!(
        rig.text().contains("no more problem rows"),
        "on the same screen"
    );
}

#[test]
fn a_session_that_is_not_in_the_log_is_told_once() {
    let opened = || {
        let mut rig = Rig::with(100, 24, &[], true);
        rig.app.first = Some(FirstScreen::Stream(Some("other".into())));
        rig.app.started = rig.now;
        rig.feed(
            Log::new("a-1-000000000001", "a")
                .text("stderr", 0, "x")
                .events,
        );
        rig
    };
    let words = "no session other in this log";
    let mut rig = opened();
    rig.wait(1_000);
    assert!(!rig.text().contains(words));
    rig.wait(1_000);
    rig.line_with(words);
    rig.wait(20_000);
    assert!(!rig.text().contains(words));

    let mut rig = opened();
    rig.feed([FeedEvent::End(Ending {
        host: HostName::local(),
        outcome: "read".into(),
        duplicates: 0,
        damaged: 0,
        conflicts: 0,
    })]);
    rig.wait(250);
    rig.line_with(words);

    let mut rig = opened();
    rig.app.first = Some(FirstScreen::Stream(Some("late".into())));
    rig.feed(Log::new("late", "late").text("stderr", 0, "x").events);
    rig.wait(3_000);
    assert!(!rig.text().contains("in this log"));
}
