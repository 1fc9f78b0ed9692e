//! The shim as a process (capture.md 13): `bytes` and their numbers, the ends of `streams`, `signals`, the `log` and
//! what it loses.

mod bytes;
mod log;
mod signals;
mod streams;

use std::process::Command;

use serde_json::Value;

use crate::support::{home::Home, process::Running};

/// A home, and the flags of the shim that runs in it.
struct Shim {
    home: Home,
    flags: Vec<String>,
}

impl Shim {
    fn new() -> Self {
        Self {
            home: Home::new(),
            flags: vec!["--label".to_owned(), "t".to_owned()],
        }
    }

    fn with(mut self, flags: &[&str]) -> Self {
        self.flags.extend(flags.iter().map(ToString::to_string));
        self
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = self.home.mcpsnoop();
        command.args(&self.flags).arg("--").args(words);
        command
    }

    fn start(&self, words: &[&str]) -> Running {
        Running::start(&mut self.command(words))
    }

    fn sh(&self, script: &str) -> Running {
        self.start(&["sh", "-c", script])
    }

    /// The only log, line by line.
    fn log(&self) -> Vec<Value> {
        envelopes(&std::fs::read(self.home.only_log()).unwrap())
    }
}

fn envelopes(log: &[u8]) -> Vec<Value> {
    assert!(log.ends_with(b"\n"), "a torn last line");
    let lines = log
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty());
    lines
        .map(|line| serde_json::from_str(&String::from_utf8_lossy(line)).unwrap())
        .collect()
}

fn numbers(log: &[Value], direction: &str) -> Vec<u64> {
    let of = log.iter().filter(|line| line["direction"] == direction);
    of.map(|line| line["seq"].as_u64().unwrap()).collect()
}

fn assert_no_gap(log: &[Value]) {
    let numbers = log.iter().map(|line| line["seq"].as_u64().unwrap());
    assert!(numbers.eq(1..=log.len() as u64));
}

/// The frames of one direction: `raw` or `text`.
fn frames(log: &[Value], direction: &str) -> Vec<String> {
    let of = log.iter().filter(|line| line["direction"] == direction);
    let each = of.map(|line| match (line.get("raw"), line.get("text")) {
        (Some(raw), _) => raw.to_string(),
        (_, Some(text)) => text.as_str().unwrap().to_owned(),
        _ => String::new(),
    });
    each.collect()
}

/// What the end record says.
fn end(log: &[Value]) -> &Value {
    let last = &log.last().unwrap()["raw"];
    assert_eq!(last["event"], "end");
    last
}
