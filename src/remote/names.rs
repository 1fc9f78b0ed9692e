//! Which names of a remote directory are logs (remote.md 10), and which log a user's words name.

use crate::base::edits;

/// Ending of a log's name.
pub(super) const LOG_ENDING: &str = ".jsonl";
/// Longest name of a log, in bytes.
const LONGEST_NAME: usize = 255;

/// True when a file of this name may be opened as a log. What kind of file it is, is asked apart.
pub(super) fn is_log_name(name: &str) -> bool {
    name.ends_with(LOG_ENDING)
        && name.len() <= LONGEST_NAME
        && !name.starts_with(['.', '-'])
        // U+FFFD stands for bytes that were no UTF-8: such a name cannot be asked for again.
        && !name
            .chars()
            .any(|character| matches!(character, '/' | '\\' | '\u{fffd}') || character.is_control())
}

/// True when a name claims to be a log, so that leaving it out is worth a count.
pub(super) fn claims_log(name: &str) -> bool {
    name.ends_with(LOG_ENDING)
}

/// The session that a log's name stands for.
pub(super) fn stem(name: &str) -> &str {
    name.strip_suffix(LOG_ENDING).unwrap_or(name)
}

/// The label in a session id `LABEL-PID-NONCE` or, from older releases, `LABEL-PID`.
pub(super) fn label_of(id: &str) -> &str {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_nonce = |text: &str| {
        text.len() == 12
            && text
                .bytes()
                .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    };
    if let Some((head, nonce)) = id.rsplit_once('-')
        && is_nonce(nonce)
        && let Some((label, pid)) = head.rsplit_once('-')
        && is_number(pid)
    {
        return label;
    }
    match id.rsplit_once('-') {
        Some((label, pid)) if is_number(pid) => label,
        _ => id,
    }
}

/// What a user's words for a session fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Chosen {
    /// This one.
    One(String),
    /// Several, in their order.
    Several(Vec<String>),
    /// None; the three that look most like it.
    None(Vec<String>),
}

/// Chooses among session ids, newest first, by id, label or unique prefix of three characters or
/// more (history.md 1, rules 4 to 7).
pub(super) fn choose(wanted: &str, newest_first: &[&str]) -> Chosen {
    let one = |id: &&str| Chosen::One((*id).to_owned());
    if let Some(id) = newest_first.iter().find(|id| **id == wanted) {
        return one(id);
    }
    if let Some(id) = newest_first.iter().find(|id| label_of(id) == wanted) {
        return one(id);
    }
    if wanted.chars().count() >= 3 {
        let fitting: Vec<_> = newest_first
            .iter()
            .filter(|id| id.starts_with(wanted))
            .collect();
        match fitting.as_slice() {
            [] => {}
            [id] => return one(id),
            _ => {
                return Chosen::Several(fitting.into_iter().map(|id| (*id).to_owned()).collect());
            }
        }
    }
    let mut near: Vec<_> = newest_first
        .iter()
        .map(|id| (edits(wanted, id), *id))
        .collect();
    near.sort_by_key(|(distance, _)| *distance);
    Chosen::None(
        near.into_iter()
            .take(3)
            .map(|(_, id)| id.to_owned())
            .collect(),
    )
}

/// True when the words name this session: id, label, or a prefix of three characters or more.
pub(super) fn fits(wanted: &str, id: &str) -> bool {
    id == wanted
        || label_of(id) == wanted
        || (wanted.chars().count() >= 3 && id.starts_with(wanted))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opens_only_names_that_are_logs() {
        let long = format!("{}.jsonl", "x".repeat(249));
        let too_long = format!("{}.jsonl", "x".repeat(250));
        let good = [
            "a.jsonl",
            "files-812-0a1b2c3d4e5f.jsonl",
            "a b.jsonl",
            "ü.jsonl",
            &long,
        ];
        for name in good {
            assert!(is_log_name(name), "{name}");
        }
        let bad = [
            "",
            ".",
            "..",
            "a",
            "a.json",
            ".jsonl",
            ".a.jsonl",
            "-a.jsonl",
            "../a.jsonl",
            "a/b.jsonl",
            "a\\b.jsonl",
            "a\0.jsonl",
            "a\n.jsonl",
            "a\u{1b}[2J.jsonl",
            "a\u{85}.jsonl",
            "a\u{fffd}.jsonl",
            "a.jsonl.gz",
            &too_long,
        ];
        for name in bad {
            assert!(!is_log_name(name), "{name:?}");
        }
    }

    #[test]
    fn reads_labels_out_of_ids() {
        let cases = [
            ("files-812-0a1b2c3d4e5f", "files"),
            ("my-files-812-0a1b2c3d4e5f", "my-files"),
            ("files-812", "files"),
            ("files", "files"),
            ("a-b", "a-b"),
            ("x-12-0A1B2C3D4E5F", "x-12-0A1B2C3D4E5F"),
        ];
        for (id, label) in cases {
            assert_eq!(label_of(id), label, "{id}");
        }
    }

    #[test]
    fn chooses_by_id_then_label_then_prefix() {
        let ids = [
            "fs-9-00000000000b",
            "fs-8-00000000000a",
            "web-1-00000000000c",
            "fs",
        ];
        let one = |id: &str| Chosen::One(id.to_owned());
        let cases = [
            ("fs-8-00000000000a", one("fs-8-00000000000a")),
            ("fs", one("fs")),
            ("web", one("web-1-00000000000c")),
            ("fs-9", one("fs-9-00000000000b")),
            (
                "fs-",
                Chosen::Several(vec![ids[0].to_owned(), ids[1].to_owned()]),
            ),
        ];
        for (wanted, chosen) in cases {
            assert_eq!(choose(wanted, &ids), chosen, "{wanted}");
        }
        let Chosen::None(nearest) = choose("wab-1-00000000000c", &ids) else {
            panic!("nothing is called like this");
        };
        assert_eq!(
            nearest.first().map(String::as_str),
            Some("web-1-00000000000c")
        );
        assert_eq!(nearest.len(), 3);
    }
}
