//! The JSON lines of `remote --json` (remote.md 12).

use std::collections::HashMap;

use unicode_general_category::{GeneralCategory, get_general_category};

use crate::{
    feed::{Ending, FeedEvent, FeedFrame, HostState, LinkState, Mode, Origin, SessionNews},
    record::{HostName, Seq, SessionKey},
};

/// Turns feed events into lines and counts what the `end` lines say.
#[derive(Debug, Default)]
pub struct RemoteLines {
    hosts: HashMap<HostName, Counts>,
    sessions: HashMap<SessionKey, SessionCounts>,
}

/// What the `end` line of a host says.
#[derive(Debug, Default)]
struct Counts {
    frames: u64,
    sessions: u64,
    conflicts: u64,
    ending: Option<(u64, u64, u64)>,
}

#[derive(Debug, Default)]
struct SessionCounts {
    frames: u64,
    damaged: u64,
    /// Numbers that nothing delivered.
    gaps: u64,
}

impl RemoteLines {
    /// Appends the lines of one event, each ended by LF; nothing for events that have none.
    pub fn write(&mut self, event: &FeedEvent, out: &mut Vec<u8>) {
        match event {
            FeedEvent::Host(state) => host_line(state, out),
            FeedEvent::Session(news) => self.session_line(news, out),
            FeedEvent::Frame(frame) => self.frame_line(frame, out),
            FeedEvent::Gap { key, from, to } => {
                let counts = self.counts(key);
                counts.gaps = counts.gaps.saturating_add(numbers(*from, *to));
                gap_line("gap", key, *from, *to, out);
            }
            FeedEvent::GapFilled { key, from, to } => {
                let counts = self.counts(key);
                counts.gaps = counts.gaps.saturating_sub(numbers(*from, *to));
                gap_line("gap_filled", key, *from, *to, out);
            }
            FeedEvent::Conflict { key, .. } => {
                self.hosts.entry(key.host.clone()).or_default().conflicts += 1;
            }
            FeedEvent::End(ending) => self.ending(ending),
            FeedEvent::Listing(_)
            | FeedEvent::NotLoaded { .. }
            | FeedEvent::Progress(_)
            | FeedEvent::Body { .. }
            | FeedEvent::Recalled { .. }
            | FeedEvent::Prompt { .. }
            | FeedEvent::Notice { .. }
            | FeedEvent::LogRemoved { .. } => {}
        }
    }

    /// Appends the `end` line of a host.
    pub fn end(&mut self, host: &str, exit: u8, out: &mut Vec<u8>) {
        let name = HostName(host.into());
        let damaged = self
            .sessions
            .iter()
            .filter(|(key, _)| key.host == name)
            .map(|(_, counts)| counts.damaged)
            .sum();
        let counts = self.hosts.entry(name).or_default();
        let (duplicates, damaged, conflicts) =
            counts.ending.unwrap_or((0, damaged, counts.conflicts));
        Fields::begin(out, "end")
            .text("host", host)
            .number("exit", exit)
            .number("frames", counts.frames)
            .number("sessions", counts.sessions)
            .number("duplicates", duplicates)
            .number("damaged", damaged)
            .number("conflicts", conflicts)
            .end();
    }

    fn ending(&mut self, ending: &Ending) {
        let counts = self.hosts.entry(ending.host.clone()).or_default();
        counts.ending = Some((ending.duplicates, ending.damaged, ending.conflicts));
    }

    fn counts(&mut self, key: &SessionKey) -> &mut SessionCounts {
        if !self.sessions.contains_key(key) {
            self.hosts.entry(key.host.clone()).or_default().sessions += 1;
        }
        self.sessions.entry(key.clone()).or_default()
    }

    fn frame_line(&mut self, frame: &FeedFrame, out: &mut Vec<u8>) {
        self.counts(&frame.key).frames += 1;
        if let Some(host) = self.hosts.get_mut(&frame.key.host) {
            host.frames += 1;
        }
        let source = match frame.origin {
            Origin::Log => "log",
            Origin::Socket => "socket",
        };
        Fields::begin(out, "frame")
            .text("host", &frame.key.host.0)
            .text("source", source)
            .bytes("envelope", &frame.line.bytes)
            .end();
    }

    fn session_line(&mut self, news: &SessionNews, out: &mut Vec<u8>) {
        let known = self.sessions.get_mut(&news.key);
        let (frames, gaps) = known.map_or((0, 0), |counts| {
            counts.damaged = news.damaged;
            (counts.frames, counts.gaps)
        });
        let file = news.log.as_ref().map(|log| log.to_string_lossy());
        let modified = news.modified.map(|modified| modified.to_string());
        Fields::begin(out, "session")
            .text("host", &news.key.host.0)
            .text("session_id", &news.key.id)
            .maybe_text("file", file.as_deref())
            .number("size", news.size.0)
            .maybe_text("modified", modified.as_deref())
            .number("frames", frames)
            .number("loaded", news.loaded)
            .number("incomplete", gaps > 0 || news.damaged > 0)
            .end();
    }
}

fn numbers(from: Seq, to: Seq) -> u64 {
    to.0.saturating_sub(from.0).saturating_add(1)
}

fn host_line(state: &HostState, out: &mut Vec<u8>) {
    let link = match state.link {
        LinkState::Connecting => "connecting",
        LinkState::Backfilling => "backfilling",
        LinkState::Live => "live",
        LinkState::Reconnecting { .. } | LinkState::LoginNeeded => "reconnecting",
        LinkState::Lost => "lost",
        LinkState::Closed => "closed",
    };
    let mode = state.mode.map(|mode| match mode {
        Mode::Socket => "socket",
        Mode::Log { .. } => "log",
        Mode::History => "history",
    });
    let mut fields = Fields::begin(out, "host");
    fields
        .text("host", &state.host.0)
        .text("state", link)
        .maybe_text("mode", mode)
        .maybe_text("reason", state.reason.as_deref())
        .maybe_text("state_dir", state.state_dir.as_deref());
    if let Some(offset) = state.clock_offset_ms {
        fields.number("clock_offset_ms", offset);
    }
    fields.end();
}

fn gap_line(kind: &str, key: &SessionKey, from: Seq, to: Seq, out: &mut Vec<u8>) {
    Fields::begin(out, kind)
        .text("host", &key.host.0)
        .text("session_id", &key.id)
        .number("from", from)
        .number("to", to)
        .end();
}

/// One object on one line.
struct Fields<'a> {
    out: &'a mut Vec<u8>,
}

impl<'a> Fields<'a> {
    fn begin(out: &'a mut Vec<u8>, kind: &str) -> Self {
        out.extend_from_slice(b"{\"type\":");
        write_text(out, kind);
        Self { out }
    }

    fn name(&mut self, name: &str) {
        self.out.push(b',');
        write_text(self.out, name);
        self.out.push(b':');
    }

    fn text(&mut self, name: &str, value: &str) -> &mut Self {
        self.name(name);
        write_text(self.out, value);
        self
    }

    fn maybe_text(&mut self, name: &str, value: Option<&str>) -> &mut Self {
        match value {
            Some(value) => self.text(name, value),
            None => self,
        }
    }

    fn number(&mut self, name: &str, value: impl std::fmt::Display) -> &mut Self {
        self.name(name);
        self.out.extend_from_slice(value.to_string().as_bytes());
        self
    }

    /// A JSON value as it is; line feeds, which can only stand between its tokens, become blanks.
    fn bytes(&mut self, name: &str, value: &[u8]) -> &mut Self {
        self.name(name);
        let start = self.out.len();
        self.out.extend_from_slice(value);
        for byte in self.out.iter_mut().skip(start) {
            if *byte == b'\n' {
                *byte = b' ';
            }
        }
        self
    }

    fn end(&mut self) {
        self.out.extend_from_slice(b"}\n");
    }
}

/// A text as a JSON string in which nothing can drive a terminal: controls, format characters and
/// line separators are escaped.
pub fn json_string(text: &str) -> String {
    let mut out = Vec::new();
    write_text(&mut out, text);
    String::from_utf8_lossy(&out).into_owned()
}

fn write_text(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    for symbol in text.chars() {
        match symbol {
            '"' => out.extend_from_slice(b"\\\""),
            '\\' => out.extend_from_slice(b"\\\\"),
            symbol if is_hidden(symbol) => {
                for unit in symbol.encode_utf16(&mut [0; 2]) {
                    out.extend_from_slice(format!("\\u{unit:04x}").as_bytes());
                }
            }
            symbol => out.extend_from_slice(symbol.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    out.push(b'"');
}

fn is_hidden(symbol: char) -> bool {
    !(' '..='~').contains(&symbol)
        && matches!(
            get_general_category(symbol),
            GeneralCategory::Control
                | GeneralCategory::Format
                | GeneralCategory::LineSeparator
                | GeneralCategory::ParagraphSeparator
        )
}

#[cfg(test)]
#[path = "remote_lines_tests.rs"]
mod tests;
