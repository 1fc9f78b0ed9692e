//! A body as lines: pretty, raw or text, with the JSON path of each line (tui.md I2, I4).

use std::{borrow::Cow, ops::Range, sync::Arc};

use bytes::Bytes;

use super::{ink::Ink, raw::Raw, search::find_all, theme::Role};
use crate::{
    base::Shown,
    wire::json::{self, SyntaxError},
};

/// Bodies above this open raw (I6).
pub(super) const RAW_FROM: usize = 1 << 20;
/// Cells of one step of indentation.
const INDENT: usize = 2;

/// Longest path that is told; deeper values have the path of their ancestor.
const PATH_BYTES: usize = 1 << 10;

/// How a body is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Mode {
    /// Source tokens, re-indented.
    #[default]
    Pretty,
    /// As recorded.
    Raw,
    /// Strings with their line breaks.
    Text,
}

impl Mode {
    /// The next one.
    pub(super) const fn next(self) -> Self {
        match self {
            Self::Pretty => Self::Raw,
            Self::Raw => Self::Text,
            Self::Text => Self::Pretty,
        }
    }

    /// Its name.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Pretty => "pretty",
            Self::Raw => "raw",
            Self::Text => "text",
        }
    }
}

/// One logical line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Line {
    /// The stretches.
    pub(super) ink: Ink,
    /// JSON path of the value on it.
    pub(super) path: Option<Arc<str>>,
    /// Bytes of the value on it, in the source.
    pub(super) value: Option<Range<usize>>,
}

/// The lines of a body in a mode; `notice` says why it is not shown in the mode that was asked for.
#[derive(Clone, Debug, Default)]
pub(super) struct Body {
    content: Content,
    /// Why it is not pretty.
    pub(super) notice: Option<String>,
}

#[derive(Clone, Debug)]
enum Content {
    Laid(Vec<Line>),
    Raw(Raw),
}

impl Default for Content {
    fn default() -> Self {
        Self::Laid(Vec::new())
    }
}

impl Body {
    /// Lines.
    pub(super) const fn len(&self) -> usize {
        match &self.content {
            Content::Laid(lines) => lines.len(),
            Content::Raw(raw) => raw.len(),
        }
    }

    /// One line; a raw one is made now.
    pub(super) fn line(&self, index: usize) -> Option<Cow<'_, Line>> {
        match &self.content {
            Content::Laid(lines) => lines.get(index).map(Cow::Borrowed),
            Content::Raw(raw) => raw.line(index).map(Cow::Owned),
        }
    }

    /// The lines that were laid out; a raw body has none.
    pub(super) fn laid(&self) -> &[Line] {
        match &self.content {
            Content::Laid(lines) => lines,
            Content::Raw(_) => &[],
        }
    }

    /// Where a word lies in the text of a line.
    pub(super) fn find(&self, index: usize, word: &str) -> Vec<Range<usize>> {
        match &self.content {
            Content::Laid(lines) => lines
                .get(index)
                .map_or_else(Vec::new, |line| find_all(&line.ink.plain(), word)),
            Content::Raw(raw) => raw.find(index, word),
        }
    }

    const fn of(lines: Vec<Line>, notice: Option<String>) -> Self {
        Self {
            content: Content::Laid(lines),
            notice,
        }
    }
}

/// Lays out a body. `json` says whether it was recorded as a JSON value.
pub(super) fn lay_out(bytes: &Bytes, json: bool, mode: Mode, redacted: bool) -> Body {
    match mode {
        Mode::Raw => raw(bytes, None),
        _ if !json => text_lines(bytes),
        // Reading all of it would hold up the keys.
        _ if bytes.len() > RAW_FROM => raw(bytes, Some("over 1 MiB, shown raw".to_owned())),
        Mode::Text => text_mode(bytes),
        Mode::Pretty => match pretty(bytes, redacted) {
            Ok(lines) => Body::of(lines, None),
            Err(error) => raw(
                bytes,
                Some(format!("not JSON at byte {}, shown raw", error.at)),
            ),
        },
    }
}

fn raw(bytes: &Bytes, notice: Option<String>) -> Body {
    Body {
        content: Content::Raw(Raw::new(bytes.clone())),
        notice,
    }
}

fn text_lines(bytes: &Bytes) -> Body {
    let without_break = bytes.strip_suffix(b"\n").map(|text| bytes.slice_ref(text));
    raw(without_break.as_ref().unwrap_or(bytes), None)
}

/// The source tokens of a JSON value, one member or element a line, as text: for copying.
pub(super) fn pretty_text(bytes: &[u8]) -> Option<String> {
    let lines = pretty(bytes, false).ok()?;
    let text: Vec<_> = lines.iter().map(|line| line.ink.plain()).collect();
    Some(text.join("\n"))
}

fn pretty(bytes: &[u8], redacted: bool) -> Result<Vec<Line>, SyntaxError> {
    let whole = json::whole_value(bytes).ok_or_else(|| error_of(bytes))?;
    let mut printer = Printer {
        source: bytes,
        lines: Vec::new(),
        line: Line::default(),
        redacted,
    };
    printer.walk(whole)?;
    Ok(printer.lines)
}

fn error_of(bytes: &[u8]) -> SyntaxError {
    let start = json::skip_blanks(bytes, 0);
    match json::value_end(bytes, start, json::MAX_DEPTH) {
        Ok(end) => SyntaxError {
            at: json::skip_blanks(bytes, end),
        },
        Err(error) => error,
    }
}

/// A container that is open while its members are printed.
struct Level {
    /// Where its closing bracket lies.
    close: u8,
    /// Path of the container.
    path: String,
    /// Index of the coming element; objects have none.
    index: Option<usize>,
    /// Where reading goes on.
    at: usize,
    /// Where the container begins, and the line that holds its opening bracket.
    start: usize,
    line: usize,
    /// No member was printed yet.
    is_first: bool,
}

struct Printer<'a> {
    source: &'a [u8],
    lines: Vec<Line>,
    line: Line,
    redacted: bool,
}

impl Printer<'_> {
    /// Prints a value without recursion: nesting is foreign.
    fn walk(&mut self, whole: Range<usize>) -> Result<(), SyntaxError> {
        let mut levels: Vec<Level> = Vec::new();
        self.begin(0, "");
        self.value(whole.start, &mut levels, String::new())?;
        while let Some(level) = levels.last_mut() {
            let at = json::skip_blanks(self.source, level.at);
            if self.source.get(at) == Some(&level.close) {
                let (empty, close) = (level.is_first, level.close);
                let path = std::mem::take(&mut level.path);
                let (line, range) = (level.line, level.start..at + 1);
                levels.pop();
                if !empty {
                    self.flush();
                    self.begin(levels.len(), &path);
                }
                self.punctuation(if close == b'}' { "}" } else { "]" });
                let opened = self.lines.get_mut(line).unwrap_or(&mut self.line);
                opened.value = Some(range);
                self.closed(&mut levels, at + 1);
                continue;
            }
            let mut at = at;
            if level.is_first {
                level.is_first = false;
            } else {
                at = json::skip_blanks(self.source, at + 1);
                self.punctuation(",");
            }
            self.flush();
            self.member(&mut levels, at)?;
        }
        self.flush();
        Ok(())
    }

    /// One member or element that begins at `at`.
    fn member(&mut self, levels: &mut Vec<Level>, at: usize) -> Result<(), SyntaxError> {
        let depth = levels.len();
        let Some(level) = levels.last_mut() else {
            return Ok(());
        };
        let (path, at) = if let Some(index) = &mut level.index {
            let path = if level.path.len() < PATH_BYTES {
                format!("{}[{index}]", level.path)
            } else {
                level.path.clone()
            };
            *index += 1;
            self.begin(depth, &path);
            (path, at)
        } else {
            let end = json::value_end(self.source, at, json::MAX_DEPTH)?;
            let key = self.source.get(at..end).unwrap_or_default();
            let name = json::string(key).unwrap_or_default();
            let path = join_path(&level.path, &name);
            self.begin(depth, &path);
            let ink = std::mem::take(&mut self.line.ink);
            self.line.ink = ink
                .and(Role::Accent, Shown::body(key))
                .and_lit(Role::Faint, ": ");
            let colon = json::skip_blanks(self.source, end);
            (path, json::skip_blanks(self.source, colon + 1))
        };
        self.value(at, levels, path)
    }

    /// A value on the line in progress; a container is opened.
    fn value(
        &mut self,
        at: usize,
        levels: &mut Vec<Level>,
        path: String,
    ) -> Result<(), SyntaxError> {
        let (open, close) = match self.source.get(at) {
            Some(b'{') => ("{", b'}'),
            Some(b'[') => ("[", b']'),
            _ => {
                let end = json::value_end(self.source, at, json::MAX_DEPTH)?;
                self.line.value = Some(at..end);
                self.scalar(at..end);
                self.closed(levels, end);
                return Ok(());
            }
        };
        self.punctuation(open);
        levels.push(Level {
            close,
            path,
            index: (close == b']').then_some(0),
            at: at + 1,
            start: at,
            line: self.lines.len(),
            is_first: true,
        });
        Ok(())
    }

    /// A value ended: its container goes on behind it.
    fn closed(&mut self, levels: &mut [Level], at: usize) {
        if let Some(level) = levels.last_mut() {
            level.at = json::skip_blanks(self.source, at);
        }
    }

    fn scalar(&mut self, range: Range<usize>) {
        let text = self.source.get(range).unwrap_or_default();
        let role = if self.redacted && is_redaction_mark(text) {
            Role::Redacted
        } else {
            Role::Text
        };
        let ink = std::mem::take(&mut self.line.ink);
        self.line.ink = ink.and(role, Shown::body(text));
    }

    fn punctuation(&mut self, sign: &'static str) {
        let ink = std::mem::take(&mut self.line.ink);
        self.line.ink = ink.and_lit(Role::Faint, sign);
    }

    fn begin(&mut self, depth: usize, path: &str) {
        self.line = Line {
            ink: Ink::say(Role::Text, " ".repeat(depth.min(64) * INDENT)),
            path: Some(path.into()),
            value: None,
        };
    }

    fn flush(&mut self) {
        self.lines.push(std::mem::take(&mut self.line));
    }
}

/// `"[REDACTED]"` or `"[REDACTED#2]"`.
fn is_redaction_mark(text: &[u8]) -> bool {
    text.starts_with(b"\"[REDACTED") && text.ends_with(b"]\"")
}

fn join_path(path: &str, name: &str) -> String {
    if path.len() + name.len() > PATH_BYTES {
        return path.to_owned();
    }
    let simple = !name.is_empty()
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '$'));
    match (path.is_empty(), simple) {
        (true, true) => name.to_owned(),
        (false, true) => format!("{path}.{name}"),
        (_, false) => format!("{path}[\"{name}\"]"),
    }
}

/// The strings that people read, with their line breaks.
fn text_mode(bytes: &Bytes) -> Body {
    let mut lines = Vec::new();
    let Some(whole) = json::whole_value(bytes) else {
        return raw(bytes, Some("not JSON, shown raw".to_owned()));
    };
    let mut left = vec![(String::new(), whole)];
    while let Some((path, range)) = left.pop() {
        let value = bytes.get(range.clone()).unwrap_or_default();
        match value.first() {
            Some(b'{') => {
                let members: Vec<_> = json::members(value)
                    .filter_map(|(key, member)| {
                        let at = offset_in(bytes, member)?;
                        let name = String::from_utf8_lossy(key);
                        Some((join_path(&path, &name), at))
                    })
                    .collect();
                left.extend(members.into_iter().rev());
            }
            Some(b'[') => {
                let elements: Vec<_> = json::elements(value)
                    .enumerate()
                    .filter_map(|(index, element)| {
                        Some((format!("{path}[{index}]"), offset_in(bytes, element)?))
                    })
                    .collect();
                left.extend(elements.into_iter().rev());
            }
            Some(b'"') if is_readable(&path) => string_lines(&mut lines, &path, value, range),
            _ => {}
        }
    }
    let notice = lines
        .is_empty()
        .then(|| "no text in this body, m shows it".to_owned());
    Body::of(lines, notice)
}

fn is_readable(path: &str) -> bool {
    let last = path.rsplit('.').next().unwrap_or(path);
    matches!(
        last,
        "text" | "message" | "data" | "blob" | "reason" | "instructions" | "description"
    )
}

fn string_lines(lines: &mut Vec<Line>, path: &str, value: &[u8], range: Range<usize>) {
    let text = json::string(value).unwrap_or_default();
    let path: Arc<str> = path.into();
    let line = |ink| Line {
        ink,
        path: Some(Arc::clone(&path)),
        value: Some(range.clone()),
    };
    lines.push(line(Ink::of(Role::Accent, Shown::row(path.as_bytes()))));
    if text.len() > 256 && is_base64(&text) {
        let size = crate::base::ByteCount(u64::try_from(text.len() / 4 * 3).unwrap_or(u64::MAX));
        lines.push(line(Ink::say(Role::Muted, format!("[base64 {size}]"))));
        return;
    }
    for part in text.split('\n') {
        lines.push(line(Ink::of(Role::Text, Shown::body(part.as_bytes()))));
    }
    if let Some(inner) = pretty_inner(&text) {
        for inner in inner {
            lines.push(line(Ink::lit(Role::Faint, "  ").join(inner.ink)));
        }
    }
}

/// A string that is itself a JSON object or array.
fn pretty_inner(text: &str) -> Option<Vec<Line>> {
    let text = text.trim();
    (text.starts_with('{') || text.starts_with('[')).then_some(())?;
    pretty(text.as_bytes(), false).ok()
}

fn is_base64(text: &str) -> bool {
    text.bytes().all(|byte| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'-' | b'_')
    })
}

/// Where a slice of `whole` lies in it.
fn offset_in(whole: &[u8], part: &[u8]) -> Option<Range<usize>> {
    let start = (part.as_ptr() as usize).checked_sub(whole.as_ptr() as usize)?;
    let end = start.checked_add(part.len())?;
    (end <= whole.len()).then_some(start..end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn laid(bytes: &[u8], mode: Mode, redacted: bool) -> Body {
        lay_out(&Bytes::copy_from_slice(bytes), true, mode, redacted)
    }

    fn lines(text: &str, mode: Mode) -> Vec<String> {
        laid(text.as_bytes(), mode, false)
            .laid()
            .iter()
            .map(|line| line.ink.plain())
            .collect()
    }

    #[test]
    fn pretty_keeps_order_spelling_and_duplicates() {
        let source = r#"{"b":1.50,"a":[ ],"c":{},"a":[1e2,"\u001b"],"n":null}"#;
        let expected = [
            "{",
            "  \"b\": 1.50,",
            "  \"a\": [],",
            "  \"c\": {},",
            "  \"a\": [",
            "    1e2,",
            "    \"\\u001b\"",
            "  ],",
            "  \"n\": null",
            "}",
        ];
        assert_eq!(lines(source, Mode::Pretty), expected);
        assert_eq!(lines(" 7 ", Mode::Pretty), ["7"]);
    }

    #[test]
    fn lines_know_their_path() {
        let source = br#"{"result":{"content":[{"type":"text","text":"x"}],"a b":1}}"#;
        let body = laid(source, Mode::Pretty, false);
        let paths: Vec<_> = body
            .laid()
            .iter()
            .map(|line| line.path.as_deref().unwrap_or(""))
            .collect();
        assert_eq!(
            paths,
            [
                "",
                "result",
                "result.content",
                "result.content[0]",
                "result.content[0].type",
                "result.content[0].text",
                "result.content[0]",
                "result.content",
                "result[\"a b\"]",
                "result",
                ""
            ]
        );
    }

    #[test]
    fn what_is_not_json_falls_back_to_raw_with_its_place() {
        let body = laid(b"{\"a\": oops}", Mode::Pretty, false);
        assert_eq!(
            body.notice.as_deref(),
            Some("not JSON at byte 6, shown raw")
        );
        assert_eq!(body.len(), 1);
    }

    #[test]
    fn text_mode_shows_what_people_read() {
        let source = r#"{"result":{"content":[{"type":"text","text":"one\ntwo"},{"type":"text","text":"{\"a\":1}"}]}}"#;
        assert_eq!(
            lines(source, Mode::Text),
            [
                "result.content[0].text",
                "one",
                "two",
                "result.content[1].text",
                "{\"a\":1}",
                "  {",
                "    \"a\": 1",
                "  }"
            ]
        );
    }

    #[test]
    fn redaction_marks_are_told_apart_only_in_redacted_frames() {
        let source = br#"{"a":"[REDACTED#2]"}"#;
        let role = |redacted| {
            let body = laid(source, Mode::Pretty, redacted);
            body.laid()[1].ink.spans().last().unwrap().role
        };
        assert_eq!(role(true), Role::Redacted);
        assert_eq!(role(false), Role::Text);
    }

    #[test]
    fn deep_nesting_does_not_exhaust_the_stack() {
        let deep = "[".repeat(9_000) + &"]".repeat(9_000);
        assert!(laid(deep.as_bytes(), Mode::Pretty, false).notice.is_none());
    }
}
