//! Session logs read back by rules of the tests' own, so that a fault of the reader cannot hide one of the writer.

use std::path::Path;

use serde::Deserialize;
use serde_json::value::RawValue;

/// One line of a log.
#[derive(Debug)]
pub(crate) struct LogLine {
    /// `seq`.
    pub(crate) seq: u64,
    /// `direction`: `c2s`, `s2c`, `stderr` or `meta`.
    pub(crate) direction: String,
    /// The exact bytes of `raw`, if the line has it.
    pub(crate) raw: Option<Vec<u8>>,
    /// `text`, if the line has it.
    pub(crate) text: Option<String>,
    /// The whole line; invalid UTF-8 is replaced.
    pub(crate) value: serde_json::Value,
}

impl LogLine {
    /// The bytes of the frame: `raw`, else `text`, else nothing.
    pub(crate) fn frame(&self) -> Vec<u8> {
        let text = || self.text.clone().unwrap_or_default().into_bytes();
        self.raw.clone().unwrap_or_else(text)
    }

    /// `raw` as a value; null if there is none.
    pub(crate) fn message(&self) -> &serde_json::Value {
        &self.value["raw"]
    }
}

#[derive(Deserialize)]
struct Fields {
    raw: Option<Box<RawValue>>,
}

/// Reads a log; fails on a line that is not an envelope or is torn.
#[track_caller]
pub(crate) fn read_log(path: &Path) -> Vec<LogLine> {
    let bytes = std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    assert!(
        bytes.is_empty() || bytes.ends_with(b"\n"),
        "a torn last line: {}",
        path.display()
    );
    bytes
        .split_inclusive(|&byte| byte == b'\n')
        .map(parse)
        .collect()
}

fn parse(line: &[u8]) -> LogLine {
    let text = String::from_utf8_lossy(line);
    let value: serde_json::Value =
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    LogLine {
        seq: value["seq"].as_u64().expect("a sequence number"),
        direction: value["direction"].as_str().expect("a direction").to_owned(),
        raw: raw_bytes(line),
        text: value["text"].as_str().map(ToOwned::to_owned),
        value,
    }
}

/// Cuts `raw` out of a line that may hold invalid UTF-8: each byte is read as one character of the same number.
fn raw_bytes(line: &[u8]) -> Option<Vec<u8>> {
    let widened: String = line.iter().map(|&byte| char::from(byte)).collect();
    let fields: Fields = serde_json::from_str(&widened).expect("an envelope");
    let narrow = |letter: char| u8::try_from(letter).expect("a byte");
    Some(fields.raw?.get().chars().map(narrow).collect())
}

#[test]
fn the_bytes_of_a_frame_are_kept() {
    let home = crate::support::home::Home::new();
    let path = home.write("a.jsonl", b"{\"seq\":1,\"direction\":\"c2s\",\"raw\":{ \"a\" : \"\xff\xc3\xa9\\u00e9\"}}\n{\"seq\":2,\"direction\":\"s2c\",\"text\":\"x\"}\n{\"seq\":3,\"direction\":\"s2c\",\"raw\":null}\n");
    let lines = read_log(&path);
    assert_eq!(lines[0].frame(), b"{ \"a\" : \"\xff\xc3\xa9\\u00e9\"}");
    assert_eq!(lines[0].message()["a"], "\u{fffd}\u{e9}\u{e9}");
    assert_eq!(
        (lines[1].frame(), lines[1].seq, lines[1].direction.as_str()),
        (b"x".to_vec(), 2, "s2c")
    );
    assert_eq!(lines.len(), 3);
}
