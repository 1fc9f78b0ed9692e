//! Lines that fit a terminal, broken between words. A span in backticks is one word: it is a command
//! or a path that somebody may copy.

use mcpsnoop::base::width;

/// What the lines after a break begin with.
const INDENT: &str = "  ";

/// The text with its lines broken between words where they are wider than `columns`. A word that is
/// wider than that is left to the terminal.
pub(super) fn wrapped(text: &str, columns: usize) -> String {
    let lines: Vec<String> = text.split('\n').map(|line| fill(line, columns)).collect();
    lines.join("\n")
}

fn fill(line: &str, columns: usize) -> String {
    if width(line) <= columns {
        return line.to_owned();
    }
    let mut out = String::new();
    let mut used = 0;
    for (index, word) in words(line).into_iter().enumerate() {
        if index > 0 && used + width(word.trim_end()) > columns {
            out.truncate(out.trim_end().len());
            out.push('\n');
            out.push_str(INDENT);
            used = INDENT.len();
        }
        out.push_str(word);
        used += width(word);
    }
    out
}

/// Words with the blanks behind them; those at the start belong to the first.
fn words(line: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let (mut start, mut quoted, mut in_blanks, mut begun) = (0, false, false, false);
    for (at, character) in line.char_indices() {
        if in_blanks && character != ' ' {
            words.push(line.get(start..at).unwrap_or_default());
            start = at;
        }
        // A backtick that is never closed quotes nothing.
        let closes = || line.get(at + 1..).is_some_and(|rest| rest.contains('`'));
        if character == '`' && (quoted || closes()) {
            quoted = !quoted;
        }
        in_blanks = begun && character == ' ' && !quoted;
        begun |= character != ' ';
    }
    words.push(line.get(start..).unwrap_or_default());
    words
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn lines_break_between_words() {
        let cases = [
            ("short", 20, "short"),
            ("one two three four", 10, "one two\n  three\n  four"),
            ("exactly ten", 11, "exactly ten"),
            (
                "a averyveryverylongword b",
                10,
                "a\n  averyveryverylongword\n  b",
            ),
            ("run `a b c d e f` then", 12, "run\n  `a b c d e f`\n  then"),
            ("one ` two three", 10, "one ` two\n  three"),
            ("日本語 日本語", 8, "日本語\n  日本語"),
            ("a\nlong line here", 9, "a\nlong line\n  here"),
            ("", 10, ""),
        ];
        for (text, columns, expected) in cases {
            assert_eq!(wrapped(text, columns), expected, "{text}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// Nothing but blanks at breaks is lost, and only a word alone is too wide.
        #[test]
        fn words_stay_whole(text in "[a-z`é日]{1,12}( [a-z`é日]{1,12}){0,20}", columns in 20_usize..60) {
            let out = wrapped(&text, columns);
            prop_assert_eq!(out.replace("\n  ", " "), text);
            for line in out.split('\n') {
                let body = line.trim_start();
                prop_assert!(width(line) <= columns || words(body).len() == 1, "{}", line);
            }
        }
    }
}
