//! A body as lines: pretty, raw or text (tui.md I2, I4).

use std::{borrow::Cow, ops::Range, sync::Arc};

use bytes::Bytes;

use super::{
    background::Watch,
    ink::Ink,
    pretty::{Pretty, Why},
    raw::Raw,
    search::find_all,
    text_mode,
};

/// Bodies above this open raw and are laid out in the background (I6).
pub(super) const RAW_FROM: usize = 1 << 20;
/// Bodies above this stay raw (I6).
const RAW_ONLY_FROM: usize = 64 << 20;
/// Cells of one step of indentation.
pub(super) const INDENT: usize = 2;

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

/// Cheap to clone: a layout is kept while another mode is shown.
#[derive(Clone, Debug)]
enum Content {
    Text(Arc<[Line]>),
    Pretty(Arc<Pretty>),
    Raw(Raw),
}

impl Default for Content {
    fn default() -> Self {
        Self::Text(Arc::default())
    }
}

impl Body {
    /// Lines.
    pub(super) fn len(&self) -> usize {
        match &self.content {
            Content::Text(lines) => lines.len(),
            Content::Pretty(pretty) => pretty.len(),
            Content::Raw(raw) => raw.len(),
        }
    }

    /// One line; most are made now.
    pub(super) fn line(&self, index: usize) -> Option<Cow<'_, Line>> {
        match &self.content {
            Content::Text(lines) => lines.get(index).map(Cow::Borrowed),
            Content::Pretty(pretty) => pretty.line(index).map(Cow::Owned),
            Content::Raw(raw) => raw.line(index).map(Cow::Owned),
        }
    }

    /// JSON path of the value on a line.
    pub(super) fn path(&self, index: usize) -> Option<Arc<str>> {
        match &self.content {
            Content::Text(lines) => lines.get(index)?.path.clone(),
            Content::Pretty(pretty) => pretty.path(index),
            Content::Raw(_) => None,
        }
    }

    /// Bytes of the value on a line.
    pub(super) fn value(&self, index: usize) -> Option<Range<usize>> {
        match &self.content {
            Content::Text(lines) => lines.get(index)?.value.clone(),
            Content::Pretty(pretty) => pretty.value_at(index),
            Content::Raw(_) => None,
        }
    }

    /// Marks of redaction that were found.
    pub(super) fn marks(&self) -> u64 {
        match &self.content {
            Content::Pretty(pretty) => pretty.marks(),
            Content::Text(_) | Content::Raw(_) => 0,
        }
    }

    /// Where a word lies in the text of a line.
    pub(super) fn find(&self, index: usize, word: &str) -> Vec<Range<usize>> {
        match &self.content {
            Content::Text(lines) => lines
                .get(index)
                .map_or_else(Vec::new, |line| find_all(&line.ink.plain(), word)),
            Content::Pretty(pretty) => pretty.find(index, word),
            Content::Raw(raw) => raw.find(index, word),
        }
    }
}

/// True when a body of this size takes longer in a mode than a key may wait.
pub(super) const fn is_slow(size: usize, json: bool, mode: Mode) -> bool {
    json && !matches!(mode, Mode::Raw) && size > RAW_FROM && size <= RAW_ONLY_FROM
}

/// Lays out a body. `json` says whether it was recorded as a JSON value.
pub(super) fn lay_out(
    bytes: &Bytes,
    json: bool,
    mode: Mode,
    redacted: bool,
    watch: &Watch,
) -> Body {
    match mode {
        Mode::Raw => raw(bytes, None),
        _ if !json => text_lines(bytes),
        _ if bytes.len() > RAW_ONLY_FROM => raw(bytes, Some("over 64 MiB, shown raw".to_owned())),
        Mode::Text => match text_mode::lines(bytes, watch) {
            Ok(lines) => Body {
                notice: lines
                    .is_empty()
                    .then(|| "no text in this body, m shows it".to_owned()),
                content: Content::Text(lines.into()),
            },
            Err(why) => raw(bytes, Some(words(&why))),
        },
        Mode::Pretty => match Pretty::new(bytes.clone(), redacted, watch) {
            Ok(pretty) => Body {
                content: Content::Pretty(Arc::new(pretty)),
                notice: None,
            },
            Err(why) => raw(bytes, Some(words(&why))),
        },
    }
}

fn words(why: &Why) -> String {
    match why {
        Why::Syntax(error) => format!("not JSON at byte {}, shown raw", error.at),
        Why::TooManyLines => "too many values for a line each, shown raw".to_owned(),
        Why::GivenUp => "shown raw".to_owned(),
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
    let bytes = Bytes::copy_from_slice(bytes);
    let pretty = Pretty::new(bytes, false, &Watch::default()).ok()?;
    Some(pretty.text())
}

/// The path of a member of what lies at `path`.
pub(super) fn join_path(path: &str, name: &str) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn laid(bytes: &[u8], mode: Mode) -> Body {
        let bytes = Bytes::copy_from_slice(bytes);
        lay_out(&bytes, true, mode, false, &Watch::default())
    }

    #[test]
    fn what_is_not_json_falls_back_to_raw_with_its_place() {
        let body = laid(b"{\"a\": oops}", Mode::Pretty);
        assert_eq!(
            body.notice.as_deref(),
            Some("not JSON at byte 6, shown raw")
        );
        assert_eq!(body.len(), 1);
    }

    #[test]
    fn only_large_json_waits_for_the_background() {
        let cases = [
            (RAW_FROM, true, Mode::Pretty, false),
            (RAW_FROM + 1, true, Mode::Pretty, true),
            (RAW_FROM + 1, true, Mode::Text, true),
            (RAW_FROM + 1, true, Mode::Raw, false),
            (RAW_FROM + 1, false, Mode::Pretty, false),
            (RAW_ONLY_FROM + 1, true, Mode::Pretty, false),
        ];
        for (size, json, mode, expected) in cases {
            assert_eq!(
                is_slow(size, json, mode),
                expected,
                "{size} {json} {mode:?}"
            );
        }
    }

    #[test]
    fn a_text_without_a_break_is_one_line() {
        let body = laid(b"\"x\"", Mode::Text);
        assert_eq!(
            body.notice.as_deref(),
            Some("no text in this body, m shows it")
        );
    }
}
