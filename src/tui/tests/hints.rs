//! What the screens say about where one is and why nothing happens (tui.md 8, 17.1).

use super::{
    rig::{Log, Rig, host},
    samples,
};
use crate::{
    feed::{Ending, FeedEvent, LinkState},
    record::{HostName, Liveness},
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
fn a_frame_is_called_by_its_number_in_the_log_everywhere() {
    let mut rig = in_stream(samples::filesystem());
    rig.keys("G enter");
    rig.line_with("frame 21 of 21");
    rig.keys("ctrl-p");
    rig.line_with("frame 20 of 21");
    rig.type_text(":goto 9");
    rig.keys("enter enter");
    let line = rig.line_with("frame 9 of 21");
    assert!(line.ends_with("req 7 <-> resp 9"), "{line}");
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

#[test]
fn hints_keep_their_places_while_figures_grow() {
    let hints = |rig: &mut Rig| {
        let lines = rig.lines();
        let part = |line: &String| {
            let (_, rest) = line.split_once("enter inspect")?;
            Some(rest.to_owned())
        };
        let footer: String = lines[23].split("? help").next().unwrap().trim().to_owned();
        (footer, part(&lines[1]))
    };
    let mut rig = Rig::new(80, 24);
    rig.feed([host("local", LinkState::Live, None)]);
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let log = Log::new("a-1-000000000001", "a").client(0, ping);
    rig.feed(log.news(Liveness::Recording, true).events);
    rig.keys("enter");
    let (footer, notice) = hints(&mut rig);
    assert_eq!(footer, "/ filter");
    let mut log = Log::new("a-1-000000000001", "a").skip(1);
    for id in 2..1_200 {
        log = log.client(
            0,
            &format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#),
        );
    }
    rig.feed(log.text("s2c", 0, "debug").events);
    let (later, row) = hints(&mut rig);
    assert_eq!(later, "! problems  / filter");
    assert_eq!(row, notice, "what stands above stays there");
    rig.line_with("1,200 frames . 1 bad . 1,199 pend");
}

#[test]
fn a_terminal_that_is_too_small_says_all_of_it() {
    for (width, height) in [(39, 12), (20, 9), (12, 9), (80, 5)] {
        let mut rig = Rig::new(width, height);
        let words: Vec<_> = rig
            .lines()
            .iter()
            .map(|line| line.trim().to_owned())
            .collect();
        let said = words
            .join(" ")
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ");
        assert_eq!(
            said,
            format!("terminal too small: {width}x{height}, need 40x10")
        );
    }
}

#[test]
fn older_sessions_are_offered_as_many_as_there_are() {
    for (older, words) in [
        (1, "1 older session on disk, enter loads it"),
        (5, "5 older sessions on disk, enter loads them"),
        (247, "247 older sessions on disk, enter loads 100"),
    ] {
        let mut rig = Rig::new(80, 24);
        rig.feed(samples::local());
        rig.feed([FeedEvent::Listing(crate::feed::Listing {
            host: HostName::local(),
            total: 4 + older,
            chosen: 4,
            skipped: 0,
        })]);
        rig.line_with(words);
    }
}

#[test]
fn the_detail_of_a_host_says_each_thing_once() {
    let mut rig = Rig::new(100, 30);
    rig.feed([
        host("local", LinkState::Live, None),
        host("build01", LinkState::Connecting, None),
        host("build01", LinkState::Live, None),
    ]);
    rig.keys("o j");
    let lines = rig.lines();
    let told: Vec<_> = lines.iter().filter(|line| line.starts_with("  ")).collect();
    let sockets = told
        .iter()
        .filter(|line| line.contains("live socket"))
        .count();
    assert_eq!(sockets, 1, "{}", lines.join("\n"));
    rig.line_with("  link      up since 14:07:13, round trip 23ms");
}

#[test]
fn the_first_row_is_selected_while_the_list_fills() {
    let mut rig = Rig::new(80, 24);
    rig.feed([host("local", LinkState::Backfilling, None)]);
    rig.feed(samples::ended("old-1-000000000001", "old", -720_000).events);
    rig.feed(samples::ended("new-2-000000000002", "new", -1_000).events);
    rig.wait(1_100);
    assert!(rig.selected().contains("new"), "{}", rig.selected());
    rig.keys("j");
    rig.feed(samples::ended("newest-3-000000000003", "newest", 0).events);
    rig.wait(3_000);
    assert!(rig.selected().contains("old"), "{}", rig.selected());
}

#[test]
fn an_error_of_a_host_is_told_in_full() {
    let mut rig = Rig::new(80, 24);
    let why = "no connection to `127.0.0.1` port 2221 after 10 s: the network that leads there \
               is not reachable from here (os error 101)";
    rig.feed([
        host("edge7", LinkState::Live, None),
        host("edge7", LinkState::Lost, Some(why)),
    ]);
    rig.keys("o");
    let text = rig.text();
    let words: Vec<_> = text.split_whitespace().collect();
    assert!(
        words
            .join(" ")
            .contains("the network that leads there is not reachable from here (os error 101)"),
        "{text}"
    );
    rig.line_with("  errors    14:07:13  no connection");
}

#[test]
fn the_keys_of_a_frame_stay_on_screen_beside_a_long_notice() {
    let mut rig = in_stream(samples::filesystem());
    rig.app.size = (80, 24);
    let before = rig.lines();
    assert!(before[1].contains("enter inspect"), "{}", before[1]);
    let reason = "cannot reach it: a reason that takes all of the line and more than that, too";
    rig.feed([host("local", LinkState::Lost, Some(reason))]);
    let footer = rig.lines()[23].clone();
    for part in ["o hosts, r retry", "enter x y", "? help"] {
        assert!(footer.contains(part), "{footer}");
    }
    rig.feed([host("local", LinkState::Live, None)]);
    assert_eq!(rig.lines()[23], before[23], "back in the usual order");
    // A long notice alone: there is room for their words.
    let mut rig = in_stream(
        samples::filesystem()
            .push("meta", r#""raw":{"event":"x"}"#, 20)
            .news(Liveness::Unknown, true),
    );
    rig.app.size = (80, 24);
    let footer = rig.lines()[23].clone();
    for part in ["enter inspect", "x pair", "y copy", "? help"] {
        assert!(footer.contains(part), "{footer}");
    }
    rig.keys("esc");
    rig.feed([host("local", LinkState::Lost, Some(reason))]);
    let footer = rig.lines()[23].clone();
    for part in ["o hosts, r retry", "enter open", "? help"] {
        assert!(footer.contains(part), "{footer}");
    }
}

#[test]
fn the_inspector_says_how_to_leave_and_where_help_is() {
    for size in [(80, 24), (40, 10)] {
        let mut rig = in_stream(samples::filesystem());
        rig.app.size = size;
        rig.keys("enter");
        let footer = rig.lines()[usize::from(size.1) - 1].clone();
        assert!(
            footer.contains("esc close") && footer.contains("? help"),
            "{footer}"
        );
    }
}

const REFUSED: &str = "no connection to `build01.lan` port 2222 after 10 s: 10.0.0.7 port 2222: Connection refused (os error 111)";

#[test]
fn a_host_that_the_user_closed_gives_no_other_reason() {
    let mode = "another remote viewer has hub.sock";
    let mut rig = Rig::new(80, 24);
    rig.feed([
        host("local", LinkState::Live, None),
        host("build01", LinkState::Live, Some(mode)),
    ]);
    for (id, label, liveness, end) in [
        ("done-1-000000000001", "done", Liveness::Ended, true),
        ("open-2-000000000002", "open", Liveness::Recording, false),
    ] {
        let mut log =
            Log::on("build01", id, label).client(0, r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#);
        if end {
            log = log.push(
                "meta",
                r#""raw":{"event":"end","exit_code":0,"closed_by":"client"}"#,
                9,
            );
        }
        rig.feed(log.news(liveness, true).events);
    }
    rig.keys("o j x");
    rig.wait(1_000);
    rig.keys("y");
    rig.feed([host("build01", LinkState::Closed, Some(mode))]);
    rig.line_with("closed by you, r connects again");
    rig.line_with(" build01        closed by you");
    let text = rig.text();
    assert!(!text.contains(mode), "{text}");
    rig.keys("o");
    let text = rig.text();
    assert!(!text.contains(mode), "{text}");
    let row = |rig: &mut Rig, name: &str| rig.line_with(&format!(" {name} ")).chars().nth(1);
    assert_eq!(row(&mut rig, "done"), Some('o'), "its end was read");
    assert_eq!(row(&mut rig, "open"), Some('?'));
    // Connected again, and lost: the reason counts again.
    rig.feed([
        host("build01", LinkState::Live, None),
        host("build01", LinkState::Lost, Some(REFUSED)),
    ]);
    let banner = rig.lines()[1].clone();
    assert!(
        banner.starts_with(" build01: Connection refused (os error 111); no connection"),
        "{banner}"
    );
    rig.keys("o");
    rig.line_with(" Connection refuse");
}

#[test]
fn a_host_that_never_connected_is_not_reconnecting() {
    let mut rig = Rig::new(80, 24);
    let link = |attempt| LinkState::Reconnecting {
        attempt,
        next: crate::tui::tests::rig::at(20_000),
    };
    rig.feed([host("local", LinkState::Live, None)]);
    rig.feed([host("build01", link(2), Some(REFUSED))]);
    rig.wait(3_000);
    rig.feed([host("build01", link(3), Some(REFUSED))]);
    rig.keys("o j");
    rig.line_with(" build01        connecting, try 3");
    rig.line_with("not connected yet, try 3 in 4s, r tries now");
    rig.line_with("errors    14:07:16  no connection");
    assert!(!rig.text().contains("as last known"), "{}", rig.text());
}

#[test]
fn the_mode_of_a_host_is_told_in_full() {
    let mut rig = Rig::new(80, 24);
    rig.feed([host("local", LinkState::Live, None)]);
    rig.feed([host(
        "build01",
        LinkState::Live,
        Some(
            "the server refuses to forward its sockets, so that the logs are looked at: to the end",
        ),
    )]);
    rig.keys("o j");
    rig.line_with("to the end");
}
