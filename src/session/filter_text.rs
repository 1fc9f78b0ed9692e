//! Text terms of a filter: without regard to case, in what was recorded and in the string values
//! of a body after unescaping (tui.md 10, G1, G6).

use super::{
    call::Call,
    row::{Body, Row},
};
use crate::wire::json;

/// A word in the form in which it is compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Folded {
    text: String,
    ascii: bool,
}

impl Folded {
    pub(super) fn new(text: &str) -> Self {
        let text = fold(text);
        Self {
            ascii: text.is_ascii(),
            text,
        }
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// True when the bytes hold the word.
    fn is_in(&self, bytes: &[u8]) -> bool {
        if self.ascii {
            contains_ascii(bytes, self.text.as_bytes())
                // The Kelvin sign and the long s fold to letters of ASCII.
                || (has_odd_folds(bytes) && fold(&String::from_utf8_lossy(bytes)).contains(&self.text))
        } else {
            fold(&String::from_utf8_lossy(bytes)).contains(&self.text)
        }
    }
}

/// Simple case folding, a character for a character.
pub(super) fn fold(text: &str) -> String {
    let simple = |symbol: char| {
        let mut upper = symbol.to_uppercase();
        let symbol = match (upper.next(), upper.next()) {
            (Some(upper), None) => upper,
            _ => symbol,
        };
        let mut lower = symbol.to_lowercase();
        match (lower.next(), lower.next()) {
            (Some(lower), None) => lower,
            _ => symbol,
        }
    };
    text.chars().map(simple).collect()
}

fn has_odd_folds(bytes: &[u8]) -> bool {
    let finds = |needle: &str| memchr::memmem::find(bytes, needle.as_bytes()).is_some();
    finds("\u{212a}") || finds("\u{17f}") || finds("\u{131}")
}

/// Finds `word`, which is in lower case, whatever the case of the letters in `bytes`.
fn contains_ascii(bytes: &[u8], word: &[u8]) -> bool {
    let Some(first) = word.first() else {
        return true;
    };
    let upper = first.to_ascii_uppercase();
    memchr::memchr2_iter(*first, upper, bytes).any(|at| {
        bytes
            .get(at..at + word.len())
            .is_some_and(|found| found.eq_ignore_ascii_case(word))
    })
}

/// True when `text` is like a pattern with `*` for any characters and `?` for one.
pub(super) fn is_like(text: &str, pattern: &str) -> bool {
    let (text, pattern): (Vec<char>, Vec<char>) =
        (text.chars().collect(), pattern.chars().collect());
    let (mut at, mut in_pattern) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while let Some(symbol) = text.get(at) {
        match pattern.get(in_pattern) {
            Some('*') => {
                star = Some((in_pattern, at));
                in_pattern += 1;
            }
            Some(wanted) if *wanted == '?' || wanted == symbol => {
                (at, in_pattern) = (at + 1, in_pattern + 1);
            }
            _ => {
                let Some((of_star, from)) = star else {
                    return false;
                };
                star = Some((of_star, from + 1));
                (at, in_pattern) = (from + 1, of_star + 1);
            }
        }
    }
    pattern.iter().skip(in_pattern).all(|rest| *rest == '*')
}

/// Tests a row for a word; `None` when its body was released and nothing else holds it.
pub(super) fn row(word: &Folded, row: &Row<'_>, call: Option<&Call>) -> Option<bool> {
    let of_row = [row.method, row.json_id];
    let of_call = call.map(|call| [Some(&*call.method), call.operation.as_deref()]);
    let known = of_row
        .into_iter()
        .chain(of_call.into_iter().flatten())
        .flatten()
        .any(|text| word.is_in(text.as_bytes()));
    if known {
        return Some(true);
    }
    match &row.body {
        Body::Nothing => Some(false),
        Body::Released => None,
        Body::Held { bytes, json } => Some(word.is_in(bytes) || (*json && in_strings(word, bytes))),
    }
}

/// Looks into every string that is written with escapes, without reading the structure around it.
fn in_strings(word: &Folded, bytes: &[u8]) -> bool {
    let mut rest = bytes;
    while let Some(start) = memchr::memchr(b'"', rest) {
        let Some(from) = rest.get(start..) else {
            return false;
        };
        let Some((end, escaped)) = string_end(from) else {
            return false;
        };
        let (string, behind) = from.split_at(end);
        if escaped && json::string(string).is_some_and(|text| word.is_in(text.as_bytes())) {
            return true;
        }
        rest = behind;
    }
    false
}

/// Length of the string that begins the bytes, and whether it holds an escape.
fn string_end(bytes: &[u8]) -> Option<(usize, bool)> {
    let (mut at, mut escaped) = (1, false);
    loop {
        at += memchr::memchr2(b'"', b'\\', bytes.get(at..)?)?;
        if bytes.get(at) == Some(&b'"') {
            return Some((at + 1, escaped));
        }
        escaped = true;
        at += 2;
    }
}
