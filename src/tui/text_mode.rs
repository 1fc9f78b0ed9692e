//! A body as the texts that people read, with their line breaks (tui.md I2).

use std::{ops::Range, sync::Arc};

use bytes::Bytes;

use super::{
    background::Watch,
    body::Line,
    ink::Ink,
    pretty::{PART, Pretty, Why},
    theme::Role,
};
use crate::{base::Shown, wire::json};

/// Most lines; a body with more stays raw.
const MOST_LINES: usize = 1 << 19;
/// Lines of the body between two looks whether the work is still wanted.
const LOOK: usize = 4_096;

/// The strings that people read, with their line breaks.
///
/// # Errors
/// It is not JSON, has too many lines, or is not waited for any more.
pub(super) fn lines(bytes: &Bytes, watch: &Watch) -> Result<Vec<Line>, Why> {
    let whole = Pretty::new(bytes.clone(), false, watch)?;
    let mut lines = Vec::new();
    for index in 0..whole.len() {
        if index.is_multiple_of(LOOK) && !watch.goes_on(index, whole.len()) {
            return Err(Why::GivenUp);
        }
        let Some((key, range)) = whole.string_member(index) else {
            continue;
        };
        if is_readable(key) {
            let path = whole.path(index).unwrap_or_default();
            let value = bytes.get(range.clone()).unwrap_or_default();
            string_lines(&mut lines, &path, value, range, watch)?;
        }
        if lines.len() > MOST_LINES {
            return Err(Why::TooManyLines);
        }
    }
    Ok(lines)
}

/// True for the keys, in their quotes, under which texts for people stand.
fn is_readable(key: &[u8]) -> bool {
    matches!(
        key,
        b"\"text\""
            | b"\"message\""
            | b"\"data\""
            | b"\"blob\""
            | b"\"reason\""
            | b"\"instructions\""
            | b"\"description\""
    )
}

fn string_lines(
    lines: &mut Vec<Line>,
    path: &Arc<str>,
    value: &[u8],
    range: Range<usize>,
    watch: &Watch,
) -> Result<(), Why> {
    let text = json::string(value).unwrap_or_default();
    let line = |ink| Line {
        ink,
        path: Some(Arc::clone(path)),
        value: Some(range.clone()),
    };
    lines.push(line(Ink::of(Role::Accent, Shown::row(path.as_bytes()))));
    if text.len() > 256 && is_base64(&text) {
        let size = crate::base::ByteCount(u64::try_from(text.len() / 4 * 3).unwrap_or(u64::MAX));
        lines.push(line(Ink::say(Role::Muted, format!("[base64 {size}]"))));
        return Ok(());
    }
    for mut part in text.split('\n') {
        // A line without end would be wrapped whole for every drawing.
        while part.len() > PART {
            let (head, tail) = part.split_at(part.floor_char_boundary(PART));
            lines.push(line(Ink::of(Role::Text, Shown::body(head.as_bytes()))));
            part = tail;
        }
        lines.push(line(Ink::of(Role::Text, Shown::body(part.as_bytes()))));
    }
    let Some(inner) = pretty_inner(&text, watch)? else {
        return Ok(());
    };
    if inner.len() > MOST_LINES {
        return Err(Why::TooManyLines);
    }
    for inner in (0..inner.len()).filter_map(|index| inner.line(index)) {
        lines.push(line(Ink::lit(Role::Faint, "  ").join(inner.ink)));
    }
    Ok(())
}

/// A string that is itself a JSON object or array.
fn pretty_inner(text: &str, watch: &Watch) -> Result<Option<Pretty>, Why> {
    let text = text.trim();
    if !text.starts_with(['{', '[']) {
        return Ok(None);
    }
    match Pretty::new(Bytes::copy_from_slice(text.as_bytes()), false, watch) {
        Ok(inner) => Ok(Some(inner)),
        Err(Why::Syntax(_)) => Ok(None),
        Err(why) => Err(why),
    }
}

fn is_base64(text: &str) -> bool {
    text.bytes().all(|byte| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'-' | b'_')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(source: &str) -> Vec<String> {
        let source = Bytes::copy_from_slice(source.as_bytes());
        let lines = lines(&source, &Watch::default()).unwrap();
        lines.iter().map(|line| line.ink.plain()).collect()
    }

    #[test]
    fn texts_have_their_line_breaks_and_json_in_them_is_indented() {
        let source = r#"{"result":{"content":[{"type":"text","text":"one\ntwo"},{"type":"text","text":"{\"a\":1}"}]}}"#;
        assert_eq!(
            shown(source),
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
    fn a_deep_body_of_many_elements_takes_no_path_for_each() {
        let deep = 9_000;
        let numbers = "0,".repeat(100_000);
        let source = format!(
            "{}{numbers}{{\"text\":\"here\"}}{}",
            "[".repeat(deep),
            "]".repeat(deep)
        );
        let lines = shown(&source);
        assert_eq!(lines.get(1).map(String::as_str), Some("here"));
        assert!(lines.first().unwrap().len() < 2_000);
    }

    #[test]
    fn more_lines_than_can_be_kept_stay_raw_and_a_layout_is_given_up() {
        let text = "\\n".repeat(MOST_LINES + 1);
        let source = Bytes::from(format!("{{\"text\":\"{text}\"}}"));
        let why = |watch: &Watch| lines(&source, watch).unwrap_err();
        assert_eq!(why(&Watch::default()), Why::TooManyLines);
        let (watch, handle) = Watch::pair();
        drop(handle);
        assert_eq!(why(&watch), Why::GivenUp);
    }

    #[test]
    fn a_text_without_breaks_is_cut_into_lines() {
        let text = format!("a{}", "é".repeat(PART));
        let lines = shown(&format!("{{\"text\":\"{text}\"}}"));
        assert_eq!(lines.len(), 4);
        assert_eq!(lines.get(1..).unwrap().concat(), text);
    }
}
