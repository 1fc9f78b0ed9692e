//! A body as it was recorded, cut into short lines by an index of offsets. Text is made of a line when
//! it is asked for: what is drawn is what is converted (tui.md I6, PF1).

use std::ops::Range;

use bytes::Bytes;

use super::{body::Line, ink::Ink, search::find_in_parts, theme::Role};
use crate::base::Shown;

/// Bytes of one line, give or take a character.
pub(super) const RAW_LINE: usize = 512;

#[cfg(test)]
thread_local! {
    /// Bytes that were made into text on this thread.
    pub(super) static CONVERTED: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// The bytes, and where each line begins.
#[derive(Clone, Debug, Default)]
pub(super) struct Raw {
    source: Bytes,
    starts: Vec<usize>,
}

impl Raw {
    /// Cuts at line breaks, and long lines between two characters.
    pub(super) fn new(source: Bytes) -> Self {
        let mut starts = Vec::new();
        let mut at = 0;
        for end in memchr::memchr_iter(b'\n', &source) {
            cut(&source, at..end, &mut starts);
            at = end + 1;
        }
        cut(&source, at..source.len(), &mut starts);
        Self { source, starts }
    }

    /// Lines.
    pub(super) const fn len(&self) -> usize {
        self.starts.len()
    }

    /// One line as text.
    pub(super) fn line(&self, index: usize) -> Option<Line> {
        Some(Line {
            ink: Ink::of(Role::Text, shown(self.bytes(index)?)),
            ..Line::default()
        })
    }

    /// Where a word lies in the text of a line; one that goes on in the next line counts here.
    pub(super) fn find(&self, index: usize, word: &str) -> Vec<Range<usize>> {
        let Some(bytes) = self.bytes(index) else {
            return Vec::new();
        };
        let next = self.bytes(index + 1).filter(|_| self.goes_on(index));
        find_in_parts(shown(bytes).plain(), next.unwrap_or_default(), word)
    }

    fn bytes(&self, index: usize) -> Option<&[u8]> {
        let start = *self.starts.get(index)?;
        let Some(next) = self.starts.get(index + 1) else {
            return self.source.get(start..);
        };
        let bytes = self.source.get(start..*next)?;
        Some(bytes.strip_suffix(b"\n").unwrap_or(bytes))
    }

    /// True when a line was cut for its length.
    fn goes_on(&self, index: usize) -> bool {
        self.starts
            .get(index + 1)
            .and_then(|next| self.source.get(next.checked_sub(1)?))
            .is_some_and(|last| *last != b'\n')
    }
}

fn shown(bytes: &[u8]) -> Shown {
    #[cfg(test)]
    CONVERTED.with(|all| all.set(all.get() + bytes.len()));
    Shown::body(bytes)
}

fn cut(source: &[u8], line: Range<usize>, starts: &mut Vec<usize>) {
    let mut at = line.start;
    loop {
        starts.push(at);
        let next = character_from(source, at.saturating_add(RAW_LINE).min(line.end));
        if next >= line.end {
            return;
        }
        at = next;
    }
}

/// The first character that begins at this byte or behind it; foreign bytes are passed by threes.
pub(super) fn character_from(bytes: &[u8], at: usize) -> usize {
    let inner = bytes.iter().skip(at).take(3);
    at + inner.take_while(|byte| **byte & 0xC0 == 0x80).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(bytes: &[u8]) -> Vec<String> {
        let raw = Raw::new(Bytes::copy_from_slice(bytes));
        (0..raw.len())
            .map(|index| raw.line(index).unwrap().ink.plain())
            .collect()
    }

    #[test]
    fn lines_end_at_breaks_and_at_a_length() {
        let exact = "x".repeat(RAW_LINE);
        let cases: [(&str, Vec<&str>); 5] = [
            ("", vec![""]),
            ("a\nb", vec!["a", "b"]),
            ("a\n\n", vec!["a", "", ""]),
            (&exact, vec![&exact]),
            (&format!("{exact}\ny"), vec![&exact, "y"]),
        ];
        for (text, expected) in cases {
            assert_eq!(lines(text.as_bytes()), expected, "{text}");
        }
    }

    #[test]
    fn lines_are_cut_between_characters_and_foreign_bytes_are_bounded() {
        let long = format!("a{}", "é".repeat(RAW_LINE * 2));
        assert_eq!(lines(long.as_bytes()).concat(), long);
        let foreign = Raw::new(Bytes::from(vec![0x80; RAW_LINE * 8]));
        assert_eq!(foreign.len(), 8);
    }

    #[test]
    fn a_word_across_two_lines_is_found_once() {
        let text = "x".repeat(RAW_LINE - 3) + "needle and needle";
        let raw = Raw::new(Bytes::from(text));
        let found: Vec<_> = (0..raw.len()).map(|at| raw.find(at, "Needle")).collect();
        let places: Vec<_> = found
            .iter()
            .flatten()
            .map(|hit| (hit.start, hit.end))
            .collect();
        assert_eq!(places, [(RAW_LINE - 3, RAW_LINE + 3), (8, 14)]);
        assert!(found.iter().all(|line| line.len() == 1));
    }
}
