//! Damage at every place and in every chunking; growing logs; runs under one id.

use proptest::prelude::*;

use super::*;
use crate::{
    record::{Direction, Payload},
    wire::{Message, MessageKind},
};

fn envelope(id: &str, seq: u64, rest: &str) -> String {
    format!(
        r#"{{"session_id":"{id}","server_label":"l","seq":{seq},"ts":"2026-09-01T08:00:0{}Z","direction":"c2s","transport":"stdio","raw":{{"n":{seq}}}{rest}}}"#,
        seq % 10
    )
}

fn part(text: &str, length: usize) -> &str {
    text.get(..length).unwrap()
}

/// What reading yields, one word an event: `id:seq@offset`, or `reason:line@offset`; `torn` last.
fn read(input: &[u8], chunk: usize) -> Vec<String> {
    let mut reader = LineReader::default();
    let mut out = Vec::new();
    let mut sink = |event: ReadEvent| {
        out.push(match event {
            ReadEvent::Line { line, offset } => {
                assert!(!line.bytes.contains(&b'\n'));
                format!(
                    "{}:{}@{offset}",
                    line.envelope.session_id, line.envelope.seq
                )
            }
            ReadEvent::Damage(damage) => {
                format!("{:?}:{}@{}", damage.reason, damage.line, damage.offset)
            }
        });
    };
    for part in input.chunks(chunk.max(1)) {
        reader.push(part, &mut sink);
    }
    assert_eq!(reader.position(), input.len() as u64);
    if reader.finish(&mut sink) {
        out.push("torn".into());
    }
    out
}

fn check(input: impl AsRef<[u8]>, expected: &[&str]) {
    let input = input.as_ref();
    for chunk in [usize::MAX, 1, 7, 64] {
        assert_eq!(
            read(input, chunk),
            expected,
            "{}",
            String::from_utf8_lossy(input)
        );
    }
}

#[test]
fn whole_lines_with_any_line_ends() {
    let (one, two) = (envelope("a", 1, ""), envelope("a", 2, ""));
    let second = format!("a:2@{}", one.len() + 1);
    check("", &[]);
    check(format!("{one}\n{two}\n"), &["a:1@0", &second]);
    check(format!("{one}\n{two}"), &["a:1@0", &second]);
    let second = format!("a:2@{}", one.len() + 7);
    check(
        format!("{one}\r\n\n \t\r\n{two}\r\n\n"),
        &["a:1@0", &second],
    );
    let second = format!("a:2@{}", one.len() + 6);
    check(format!("\u{feff}{one} \n {two}\n"), &["a:1@3", &second]);
    check(format!("\u{feff}{one}"), &["a:1@3"]);
}

#[test]
fn a_torn_tail_is_no_damage() {
    let (one, two) = (envelope("a", 1, ""), envelope("a", 2, ""));
    for cut in 1..two.len() {
        check(format!("{one}\n{}", part(&two, cut)), &["a:1@0", "torn"]);
    }
}

#[test]
fn torn_and_foreign_lines_are_counted_and_read_around() {
    let (one, two) = (envelope("a", 1, ""), envelope("a", 2, ""));
    for cut in 1..two.len() {
        let damaged = format!("Unreadable:2@{}", one.len() + 1);
        let next = format!("a:2@{}", one.len() + cut + 2);
        check(
            format!("{one}\n{}\n{two}\n", part(&two, cut)),
            &["a:1@0", &damaged, &next],
        );
    }
    for foreign in [
        "hello",
        "{}",
        "[1,2]",
        "7",
        "{\"level\":\"info\",\"msg\":\"x\"}",
        "}",
        "{{",
    ] {
        let damaged = format!("Unreadable:2@{}", one.len() + 1);
        let next = format!("a:2@{}", one.len() + foreign.len() + 2);
        check(
            format!("{one}\n{foreign}\n{two}\n"),
            &["a:1@0", &damaged, &next],
        );
    }
}

#[test]
fn objects_side_by_side_and_glued_ones_are_recovered() {
    let (one, two) = (envelope("a", 1, ""), envelope("a", 2, ""));
    let second = format!("a:2@{}", one.len());
    check(format!("{one}{two}\n"), &["a:1@0", &second]);
    check(format!("{one}{two}"), &["a:1@0", &second]);
    for cut in 1..one.len() {
        let second = format!("a:2@{cut}");
        check(
            format!("{}{two}\n", part(&one, cut)),
            &[&second, "Glued:1@0"],
        );
    }
    // An envelope inside a payload is not taken for a glued one.
    let inner = envelope("x", 9, "");
    let carrier = envelope("a", 1, &format!(r#","text":"t","z":[{inner},{inner}]"#));
    let second = format!("a:2@{}", carrier.len() - 2);
    let torn = part(&carrier, carrier.len() - 2);
    check(format!("{torn}{two}\n"), &[&second, "Glued:1@0"]);
    check(format!("{{\"x\":1}}{two}\n"), &["a:2@7", "Unreadable:1@0"]);
}

#[test]
fn runs_of_nul_are_one_damaged_line() {
    let (one, two) = (envelope("a", 1, ""), envelope("a", 2, ""));
    let nul = "\0".repeat(5_000);
    let damaged = format!("Nul:2@{}", one.len() + 1);
    let second = format!("a:2@{}", one.len() + 5_002);
    check(
        format!("{one}\n{nul}\n{two}\n"),
        &["a:1@0", &damaged, &second],
    );
    let second = format!("a:2@{}", one.len() + 5_001);
    check(
        format!("{one}\n{nul}{two}\n"),
        &["a:1@0", &second, &damaged],
    );
    check(
        format!("{one}\n{}{nul}\n", part(&two, 50)),
        &["a:1@0", &damaged],
    );
    check(format!("{one}\n{nul}"), &["a:1@0", "torn"]);
}

#[test]
fn pretty_printed_objects_are_joined() {
    let pretty = |text: &str| {
        let value: serde_json::Value = serde_json::from_str(text).unwrap();
        serde_json::to_string_pretty(&value).unwrap()
    };
    let (one, two) = (envelope("a", 1, ""), envelope("a", 2, ""));
    let (first, second) = (pretty(&one), pretty(&two));
    let place = format!("a:2@{}", first.len() + 1);
    check(format!("{first}\n{second}\n"), &["a:1@0", &place]);
    check(format!("{first}\n{second}"), &["a:1@0", &place]);
    check(
        format!("{first}\r\n{}\r\n", second.replace('\n', "\r\n")),
        &["a:1@0", &format!("a:2@{}", first.len() + 2)],
    );
    check(
        format!("{first}\n\n{two}\n"),
        &["a:1@0", &format!("a:2@{}", first.len() + 2)],
    );

    // A line that is an envelope by itself ends what was begun, and each begun line is damaged.
    let torn = "{\n\"session_id\":\n";
    let place = format!("a:2@{}", torn.len());
    check(
        format!("{torn}{two}\n"),
        &["Unreadable:1@0", "Unreadable:2@2", &place],
    );
    check("{\n\"a\": [\n", &["Unreadable:1@0", "Unreadable:2@2"]);
    check("{\n\"a\": [", &["torn"]);
    check(
        "{\n\"a\": 1\n}\n",
        &["Unreadable:1@0", "Unreadable:2@2", "Unreadable:3@9"],
    );
    let place = format!("a:2@{}", first.len());
    check(format!("{first}{second}\n"), &["a:1@0", &place]);

    let mut reader = LineReader::default();
    let mut seen = Vec::new();
    reader.push(format!("{first}\n").as_bytes(), &mut |event| {
        seen.push(event);
    });
    let [ReadEvent::Line { line, .. }] = &seen[..] else {
        panic!("{seen:?}");
    };
    let Payload::Raw(raw) = &line.envelope.payload else {
        panic!("{line:?}");
    };
    assert_eq!(raw.bytes(), "{     \"n\": 1   }");
}

#[test]
fn a_line_above_the_limit_is_skipped_without_holding_it() {
    let one = envelope("a", 1, "");
    let chunk = vec![b'x'; 1 << 20];
    let mut reader = LineReader::default();
    let mut events = Vec::new();
    let mut sink = |event| events.push(event);
    for _ in 0..130 {
        reader.push(&chunk, &mut sink);
    }
    assert_eq!(reader.held(), 0);
    reader.push(format!("\n{one}\n").as_bytes(), &mut sink);
    assert_eq!(reader.confirmed(), (130 << 20) + one.len() as u64 + 2);
    let [ReadEvent::Damage(damage), ReadEvent::Line { offset, .. }] = &events[..] else {
        panic!("{events:?}");
    };
    assert_eq!((damage.line, damage.reason), (1, DamageReason::TooLong));
    assert_eq!(*offset, (130 << 20) + 1);
}

#[test]
fn later_runs_under_one_id_are_renamed() {
    let first = envelope("a", 1, "");
    let other = envelope("a", 1, ",\"text\":\"x\"").replace("\"n\":1", "\"n\":7");
    let third = other.replace("\"n\":7", "\"n\":8");
    let two = envelope("a", 2, "");
    let names = |lines: &[&str]| -> Vec<String> {
        let events = read(lines.join("\n").as_bytes(), usize::MAX);
        let name = |event: String| event.split('@').next().unwrap().to_owned();
        events.into_iter().map(name).collect()
    };
    assert_eq!(
        names(&[&first, &two, &other, &two, &third, &first, &two]),
        ["a:1", "a:2", "a#2:1", "a#2:2", "a#3:1", "a:1", "a:2"]
    );
    // Repeats, conflicts without higher numbers, and logs that store 2 before 1 are no restarts.
    assert_eq!(
        names(&[&first, &first, &two, &first]),
        ["a:1", "a:1", "a:2", "a:1"]
    );
    assert_eq!(names(&[&first, &other, &two]), ["a:1", "a:1", "a:2"]);
    assert_eq!(names(&[&two, &first, &two]), ["a:2", "a:1", "a:2"]);
    let b = envelope("b", 2, "");
    assert_eq!(
        names(&[&first, &b, &other, &two, &b]),
        ["a:1", "b:2", "a:1", "a:2", "b:2"]
    );
}

#[test]
fn a_growing_log_is_followed_without_repeats() {
    let (one, two) = (envelope("a", 1, ""), envelope("a", 2, ""));
    let mut reader = LineReader::at(100);
    let mut seen = Vec::new();
    let mut sink = |event: ReadEvent| {
        if let ReadEvent::Line { line, offset } = event {
            seen.push((line.envelope.seq.0, offset));
        }
    };
    reader.push(&one.as_bytes()[..10], &mut sink);
    assert!(reader.finish(&mut sink));
    assert_eq!((reader.confirmed(), reader.position()), (100, 110));
    reader.rewind();
    assert_eq!((reader.confirmed(), reader.position()), (100, 100));
    reader.push(one.as_bytes(), &mut sink);
    assert!(!reader.finish(&mut sink));
    assert!(!reader.finish(&mut sink));
    let end = 100 + one.len() as u64;
    assert_eq!((reader.confirmed(), reader.lines()), (end, 1));
    reader.push(b"\n", &mut sink);
    assert_eq!((reader.confirmed(), reader.lines()), (end + 1, 1));
    reader.push(format!("{two}\n{{\n").as_bytes(), &mut sink);
    let end = end + 2 + two.len() as u64;
    assert_eq!((reader.confirmed(), reader.lines()), (end, 3));
    assert_eq!(reader.position(), end + 2);
    reader.rewind();
    assert_eq!((reader.position(), reader.lines()), (end, 2));
    assert_eq!(seen, [(1, 100), (2, end - 1 - two.len() as u64)]);
}

/// The columns of the table in the fixtures' page.
fn count(name: &str) -> [usize; 9] {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/samples");
    let bytes = std::fs::read(folder.join(name)).unwrap();
    let mut counts = [0; 9];
    let mut reader = LineReader::default();
    let mut sink = |event: ReadEvent| {
        let ReadEvent::Line { line, .. } = event else {
            panic!("{event:?}");
        };
        counts[0] += 1;
        let Payload::Raw(raw) = &line.envelope.payload else {
            let is_stderr = line.envelope.direction == Direction::Stderr;
            counts[if is_stderr { 7 } else { 8 }] += 1;
            return;
        };
        if line.envelope.direction == Direction::Meta {
            counts[6] += 1;
            return;
        }
        let message = Message::read(raw.bytes());
        let is_error = message
            .result
            .is_some_and(|result| crate::wire::json::member(result, "isError") == Some(b"true"));
        counts[4] += usize::from(is_error);
        counts[match message.kind {
            MessageKind::Request => 1,
            MessageKind::Response if message.error.is_none() => 2,
            MessageKind::Response => 3,
            MessageKind::Notification => 5,
            _ => 8,
        }] += 1;
    };
    reader.push(&bytes, &mut sink);
    assert!(!reader.finish(&mut sink));
    counts
}

#[test]
fn logs_of_earlier_releases_load_with_their_counts() {
    let page = include_str!("../../tests/fixtures/samples/README.md");
    let mut logs = 0;
    for row in page.lines().filter(|line| line.starts_with("| v")) {
        let cells: Vec<_> = row.split('|').map(str::trim).collect();
        let expected: Vec<usize> = cells[2..11]
            .iter()
            .map(|cell| cell.parse().unwrap())
            .collect();
        assert_eq!(count(cells[1]).to_vec(), expected, "{}", cells[1]);
        logs += 1;
    }
    assert_eq!(logs, 18);
}

proptest! {
    #[test]
    fn any_chunking_reads_the_same(
        parts in prop::collection::vec(
            prop_oneof![
                (1_u64..4, prop_oneof![Just("a"), Just("b")])
                    .prop_map(|(seq, id)| envelope(id, seq, "")),
                (1_u64..4).prop_map(|seq| part(&envelope("a", seq, ""), 40).to_owned()),
                Just("\n".to_owned()),
                Just("\n".to_owned()),
                Just("\r\n".to_owned()),
                Just("\0\0\0".to_owned()),
                Just("{".to_owned()),
                Just("}".to_owned()),
                "[ -~]{0,6}",
            ],
            0..12,
        ),
        chunk in 1_usize..50,
    ) {
        let input = parts.concat();
        prop_assert_eq!(read(input.as_bytes(), chunk), read(input.as_bytes(), usize::MAX));
    }

    #[test]
    fn any_bytes_are_read_without_panic(input in prop::collection::vec(any::<u8>(), 0..300)) {
        let events = read(&input, 16);
        prop_assert!(events.len() <= input.len() + 1);
    }
}
