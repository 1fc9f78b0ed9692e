//! Finding text without regard to case; positions stay those of the original text (tui.md H1, H5).

use std::ops::Range;

use super::raw::character_from;
use crate::base::Shown;

/// Most hits that are counted (H7).
pub(super) const MOST_HITS: usize = 10_000;

/// A character folded simply: its lower case, where that is one character.
fn fold(character: char) -> char {
    if character.is_ascii() {
        return character.to_ascii_lowercase();
    }
    let mut lower = character.to_lowercase();
    match (lower.next(), lower.next()) {
        (Some(one), None) => one,
        _ => character,
    }
}

/// Every place of any of the words, in order and without overlaps.
pub(super) fn hits(text: &str, words: &[&str]) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = words.iter().flat_map(|word| find_all(text, word)).collect();
    found.sort_unstable_by_key(|hit| (hit.start, std::cmp::Reverse(hit.end)));
    let mut end = 0;
    found.retain(|hit| {
        let free = hit.start >= end;
        if free {
            end = hit.end;
        }
        free
    });
    found
}

/// Every place of a word, without overlaps.
pub(super) fn find_all(text: &str, word: &str) -> Vec<Range<usize>> {
    let wanted: Vec<char> = word.chars().map(fold).collect();
    let mut found = Vec::new();
    let Some(first) = wanted.first().copied() else {
        return found;
    };
    let mut free_from = 0;
    for (at, character) in text.char_indices() {
        if at < free_from || fold(character) != first {
            continue;
        }
        if let Some(end) = matches_at(text, at, &wanted) {
            found.push(at..end);
            free_from = end;
            if found.len() == MOST_HITS {
                break;
            }
        }
    }
    found
}

/// Where a word lies in a text that goes on with other bytes; one that ends there counts here.
pub(super) fn find_in_parts(mut text: String, next: &[u8], word: &str) -> Vec<Range<usize>> {
    let length = text.len();
    let wanted = word.len().saturating_mul(4).min(next.len());
    let head = next.get(..character_from(next, wanted)).unwrap_or(next);
    text.push_str(&Shown::body(head).plain());
    let mut found = find_all(&text, word);
    found.retain(|hit| hit.start < length);
    found
}

fn matches_at(text: &str, at: usize, wanted: &[char]) -> Option<usize> {
    let mut rest = text.get(at..)?.char_indices();
    for want in wanted {
        let (_, character) = rest.next()?;
        if fold(character) != *want {
            return None;
        }
    }
    Some(at + rest.offset())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Text, word, and where it lies.
    type Case = (&'static str, &'static str, &'static [(usize, usize)]);

    fn pairs(places: Vec<Range<usize>>) -> Vec<(usize, usize)> {
        places
            .into_iter()
            .map(|place| (place.start, place.end))
            .collect()
    }

    #[test]
    fn case_does_not_matter_and_positions_are_of_the_original() {
        let cases: [Case; 7] = [
            ("Read users, USERS", "users", &[(5, 10), (12, 17)]),
            ("aaa", "aa", &[(0, 2)]),
            ("Größe", "GRÖSSE", &[]),
            ("STRASSE straße", "strasse", &[(0, 7)]),
            ("x", "", &[]),
            ("ÀÀ", "à", &[(0, 2), (2, 4)]),
            ("ȺȺx", "x", &[(4, 5)]),
        ];
        for (text, word, places) in cases {
            assert_eq!(pairs(find_all(text, word)), places, "{text} {word}");
        }
        let grows = "Ⱥ".repeat(100) + "hit";
        assert_eq!(pairs(find_all(&grows, "HIT")), [(200, 203)]);
    }

    #[test]
    fn hits_of_several_words_do_not_overlap() {
        assert_eq!(pairs(hits("abcabc", &["bc", "abc"])), [(0, 3), (3, 6)]);
    }
}
