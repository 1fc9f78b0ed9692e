//! Nothing captured may drive the terminal, whatever the keys and sizes (tui.md 18, 23.2, 23.3).

use proptest::prelude::*;
use ratatui::buffer::Buffer;

use super::rig::{Log, NOW_MS, Rig, host};
use crate::{
    base::width,
    feed::{FeedEvent, LinkState},
    record::Liveness,
    tui::{event::Event, paint::paint},
};

/// Reads the bytes of a drawing: only the sequences of J10, and text without controls. Answers the
/// text.
fn parsed(bytes: &[u8]) -> Result<String, String> {
    let text = std::str::from_utf8(bytes).map_err(|error| error.to_string())?;
    let mut out = String::new();
    let mut rest = text;
    while let Some(character) = rest.chars().next() {
        if character != '\u{1b}' {
            if character.is_control() || ('\u{80}'..'\u{a0}').contains(&character) {
                return Err(format!("control {character:?} in the text"));
            }
            out.push(character);
            rest = rest.strip_prefix(character).unwrap();
            continue;
        }
        let body = rest
            .strip_prefix("\u{1b}[")
            .ok_or_else(|| format!("sequence {:?}", rest.chars().take(8).collect::<String>()))?;
        let end = body
            .find(|c: char| c.is_ascii_alphabetic())
            .ok_or("unfinished sequence")?;
        let (arguments, tail) = body.split_at(end);
        let (last, tail) = tail.split_at(1);
        let numbers = arguments.chars().all(|c| c.is_ascii_digit() || c == ';');
        let fine = match last {
            "m" | "H" => numbers,
            "J" => arguments == "2",
            "h" | "l" => arguments == "?2026",
            _ => false,
        };
        if !fine {
            return Err(format!("sequence ESC[{arguments}{last}"));
        }
        rest = tail;
    }
    Ok(out)
}

fn check_buffer(buffer: &Buffer) -> Result<(), TestCaseError> {
    for y in 0..buffer.area.height {
        let cells: usize = (0..buffer.area.width)
            .map(|x| width(buffer.cell((x, y)).unwrap().symbol()))
            .sum();
        prop_assert_eq!(
            cells,
            usize::from(buffer.area.width),
            "line {} is not as wide as the screen",
            y
        );
    }
    Ok(())
}

fn check(rig: &mut Rig) -> Result<(), TestCaseError> {
    let buffer = rig.buffer();
    check_buffer(&buffer)?;
    let mut bytes = Vec::new();
    paint(None, &buffer, &mut bytes);
    if let Err(problem) = parsed(&bytes) {
        return Err(TestCaseError::fail(problem));
    }
    let mut nothing = Vec::new();
    paint(Some(&buffer), &buffer, &mut nothing);
    prop_assert!(nothing.is_empty(), "nothing changed, nothing is written");
    Ok(())
}

/// Hostile text in every place that a peer, a log or a host can fill.
fn hostile(text: &str) -> Vec<FeedEvent> {
    let quoted = serde_json::to_string(text).unwrap();
    // Raw inside JSON too, where JSON allows it.
    let raw: String = text
        .chars()
        .filter(|c| !c.is_control() && !matches!(c, '"' | '\\'))
        .collect();
    let mut events = vec![
        host("local", LinkState::Live, None),
        host(text, LinkState::Lost, Some(text)),
    ];
    let log = Log::on("local", text, text)
        .start(&[text, text], text, 0)
        .client(1, &format!(r#"{{"jsonrpc":"2.0","id":1,"method":"initialize","params":{{"protocolVersion":{quoted},"clientInfo":{{"name":{quoted},"version":{quoted}}}}}}}"#))
        .server(2, &format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"protocolVersion":{quoted},"serverInfo":{{"name":{quoted},"version":{quoted}}}}}}}"#))
        .client(3, &format!(r#"{{"jsonrpc":"2.0","id":{quoted},"method":"tools/call","params":{{"name":{quoted},"arguments":{{"{raw}":"{raw}"}},"_meta":{{"progressToken":{quoted}}}}}}}"#))
        .server(4, &format!(r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{quoted},"progress":1,"total":2,"message":{quoted}}}}}"#))
        .server(5, &format!(r#"{{"jsonrpc":"2.0","method":"notifications/message","params":{{"level":{quoted},"logger":{quoted},"data":{quoted}}}}}"#))
        .server(6, &format!(r#"{{"jsonrpc":"2.0","id":{quoted},"error":{{"code":-1,"message":{quoted}}}}}"#))
        .client(7, &format!(r#"{{"jsonrpc":"2.0","id":2,"method":{quoted},"params":{{}}}}"#))
        .server(8, &format!(r#"{{"jsonrpc":"2.0","id":2,"result":{{"content":[{{"type":"text","text":{quoted}}}]}}}}"#))
        .text("stderr", 9, text)
        .text("s2c", 10, text)
        .news(Liveness::Recording, true);
    events.extend(log.events);
    events.push(FeedEvent::Notice {
        host: crate::record::HostName(text.into()),
        severity: crate::feed::Severity::Error,
        text: text.to_owned(),
    });
    events
}

fn look_everywhere(text: &str, size: (u16, u16), glyphs: &str) -> Result<(), TestCaseError> {
    let mut rig = Rig::with(size.0, size.1, &[("MCPSNOOP_GLYPHS", glyphs)], false);
    rig.feed(hostile(text));
    check(&mut rig)?;
    for keys in [
        "enter", "g", "enter", "m", "m", "ctrl-w", "right", "ctrl-n", "ctrl-n", "ctrl-n", "x",
        "ctrl-n", "esc", "?", "esc", "o", "esc", "T", "M", "I",
    ] {
        rig.keys(keys);
        check(&mut rig)?;
    }
    rig.type_text(":messages");
    rig.keys("enter");
    check(&mut rig)?;
    rig.keys("esc");
    let typed: String = text.chars().take(40).collect();
    rig.type_text(&format!("/{typed}"));
    check(&mut rig)?;
    rig.keys("enter esc enter");
    rig.type_text("/");
    rig.happen(Event::Paste(text.to_owned()));
    check(&mut rig)
}

#[test]
fn the_corpus_of_known_tricks_is_harmless() {
    let tricks = [
        "\u{1b}]52;c;cm0gLXJm\u{7}".to_owned(),
        "\u{1b}]8;;http://x\u{1b}\\link\u{1b}]8;;\u{1b}\\".to_owned(),
        "\u{1b}[2J\u{1b}[H".to_owned(),
        "\u{9b}2J\u{9d}0;title\u{9c}".to_owned(),
        "a\u{202e}b\u{2066}c".to_owned(),
        format!("e{}", "\u{301}".repeat(1_000)),
        format!("{}hit", "Ⱥ".repeat(100)),
        "\u{e0041}\u{e0042}".to_owned(),
        "\0\0".to_owned(),
        "日本語日本語日本語".repeat(12),
        "👩\u{200d}👩\u{200d}👧 🏳\u{fe0f}\u{200d}🌈".to_owned(),
        "क्षत्रिय कर्त्तव्य".repeat(6),
        "x".repeat(5_000),
        "\u{3000}\u{a0}\t\r\n".to_owned(),
    ];
    // Above the 4 KiB that a row looks at, and above the width of every column.
    let sizes = [(80, 24), (40, 10), (101, 16)];
    for (trick, size) in tricks.iter().zip(sizes.into_iter().cycle()) {
        look_everywhere(trick, size, "unicode").unwrap();
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// Any text in any field: the bytes hold only our sequences and drawable text.
    #[test]
    fn whatever_is_captured_only_our_sequences_are_written(text in "(?s).{0,60}|[\\x00-\\x9f]{0,20}|\\PC{0,60}",
                                                           width in 40_u16..130, height in 10_u16..26) {
        look_everywhere(&text, (width, height), "ascii")?;
    }

    /// Any keys and sizes: no panic, every line exactly as wide as the screen.
    #[test]
    fn random_keys_and_sizes_never_panic(steps in proptest::collection::vec((0_usize..60, 0_u16..200, 0_u16..60), 1..50)) {
        const KEYS: [&str; 50] = [
            "j", "k", "g", "G", "d", "u", "space", "ctrl-f", "ctrl-b", "enter", "esc", "q", "x", "X", "{", "}", "[", "]",
            "!", "/", "a", "n", "N", "y", "Y", "t", "m", "f", "p", "o", "r", "?", ":", "T", "M", "I", "D", "S", "E",
            "<", ">", "ctrl-l", "ctrl-n", "ctrl-p", "ctrl-w", "left", "right", "backspace", "up", "down",
        ];
        let mut rig = Rig::new(80, 24);
        rig.feed(super::samples::local());
        let mut log = Log::new("live-1-00000000000f", "live").news(Liveness::Recording, true);
        for (number, (step, width, height)) in steps.into_iter().enumerate() {
            let number = i64::try_from(number).unwrap();
            match step {
                0..50 => rig.keys(KEYS[step]),
                50..54 => rig.happen(Event::Resize(width, height)),
                54..57 => {
                    log = log.client(NOW_MS + number, &format!(r#"{{"jsonrpc":"2.0","id":{number},"method":"tools/call","params":{{"name":"t"}}}}"#));
                    rig.feed(std::mem::take(&mut log.events));
                }
                57 => rig.wait(1_100),
                58 => rig.feed([host("local", LinkState::Lost, Some("why"))]),
                _ => rig.feed([host("local", LinkState::Live, None)]),
            }
            if rig.app.size.0 > 0 && rig.app.size.1 > 0 {
                check(&mut rig)?;
            }
        }
    }
}
