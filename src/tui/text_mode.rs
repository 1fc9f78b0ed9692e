//! A body as the texts that people read, with their line breaks (tui.md I2).

use std::{ops::Range, sync::Arc};

use bytes::Bytes;

use super::{
    background::Watch,
    body::{Line, join_path},
    ink::Ink,
    pretty::{PART, Pretty},
    theme::Role,
};
use crate::{base::Shown, wire::json};

/// The strings that people read, with their line breaks; nothing when it is not JSON, or not waited
/// for any more.
pub(super) fn lines(bytes: &Bytes, watch: &Watch) -> Option<Vec<Line>> {
    let mut lines = Vec::new();
    let whole = json::whole_value(bytes)?;
    let mut left = vec![(String::new(), whole)];
    while let Some((path, range)) = left.pop() {
        if !watch.goes_on(range.start, bytes.len()) {
            return None;
        }
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
    Some(lines)
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
    for mut part in text.split('\n') {
        // A line without end would be wrapped whole for every drawing.
        while part.len() > PART {
            let (head, tail) = part.split_at(part.floor_char_boundary(PART));
            lines.push(line(Ink::of(Role::Text, Shown::body(head.as_bytes()))));
            part = tail;
        }
        lines.push(line(Ink::of(Role::Text, Shown::body(part.as_bytes()))));
    }
    if let Some(inner) = pretty_inner(&text) {
        for inner in (0..inner.len()).filter_map(|index| inner.line(index)) {
            lines.push(line(Ink::lit(Role::Faint, "  ").join(inner.ink)));
        }
    }
}

/// A string that is itself a JSON object or array.
fn pretty_inner(text: &str) -> Option<Pretty> {
    let text = text.trim();
    (text.starts_with('{') || text.starts_with('[')).then_some(())?;
    Pretty::new(
        Bytes::copy_from_slice(text.as_bytes()),
        false,
        &Watch::default(),
    )
    .ok()
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
    fn a_text_without_breaks_is_cut_into_lines() {
        let text = format!("a{}", "é".repeat(PART));
        let lines = shown(&format!("{{\"text\":\"{text}\"}}"));
        assert_eq!(lines.len(), 4);
        assert_eq!(lines.get(1..).unwrap().concat(), text);
    }
}
