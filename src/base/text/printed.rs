//! Text for standard output and standard error: quoted values and escaped blocks (history.md 3).

use super::class::{Class, MOST_MARKS, class_of, write_byte, write_visible};

/// A value on one line of output: as it is when every character is printable, else quoted with
/// JSON-like escapes (history.md 3.1). Empty values and values with blanks at an end are quoted.
pub fn quoted(value: &str) -> String {
    quoted_bytes(value.as_bytes())
}

/// The same for bytes that need not be UTF-8, such as a path: what is not reads `\xff`.
pub fn quoted_bytes(value: &[u8]) -> String {
    if let Ok(text) = std::str::from_utf8(value)
        && !text.is_empty()
        && !text.starts_with(' ')
        && !text.ends_with(' ')
        && is_printable(text)
    {
        return text.to_owned();
    }
    let mut out = String::from("\"");
    write_escaped(&mut out, value, |out, character| {
        let special = matches!(character, '"' | '\\');
        if special {
            out.push('\\');
            out.push(character);
        }
        special
    });
    out.push('"');
    out
}

/// A block of output: unsafe characters escaped in place, newline and tab stay (history.md 3.2).
pub fn block(value: &str) -> String {
    let mut out = String::with_capacity(value.len());
    write_escaped(&mut out, value.as_bytes(), |out, character| {
        let stays = matches!(character, '\n' | '\t');
        let width = match class_of(character) {
            Class::Space(width) => width,
            _ => 0,
        };
        if stays {
            out.push(character);
        }
        out.extend(std::iter::repeat_n(' ', width));
        stays || width > 0
    });
    out
}

/// One line of output: as `block`, and its line breaks and tabs are escaped too.
pub fn line(value: &str) -> String {
    block(value).replace('\n', "\\n").replace('\t', "\\t")
}

fn is_printable(text: &str) -> bool {
    let mut marks = MOST_MARKS;
    text.chars().all(|character| match class_of(character) {
        Class::Plain => {
            marks = 0;
            true
        }
        Class::Mark => {
            marks += 1;
            marks <= MOST_MARKS
        }
        Class::Space(_) | Class::Unsafe => false,
    })
}

/// Writes bytes with unsafe characters escaped, except those that `special` has written itself.
fn write_escaped(out: &mut String, value: &[u8], special: impl Fn(&mut String, char) -> bool) {
    let mut marks = MOST_MARKS;
    for chunk in value.utf8_chunks() {
        for character in chunk.valid().chars() {
            let class = class_of(character);
            marks = match class {
                Class::Plain => 0,
                Class::Mark => marks.saturating_add(1),
                Class::Space(_) | Class::Unsafe => MOST_MARKS,
            };
            if special(out, character) {
                continue;
            }
            if class == Class::Plain || (class == Class::Mark && marks <= MOST_MARKS) {
                out.push(character);
            } else {
                write_visible(out, character);
            }
        }
        for byte in chunk.invalid() {
            write_byte(out, *byte);
            marks = MOST_MARKS;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn values_are_quoted_only_where_needed() {
        let cases: [(&[u8], &str); 12] = [
            (b"files", "files"),
            (b"a \"b\" \\c", "a \"b\" \\c"),
            (b"", "\"\""),
            (b" a", "\" a\""),
            (b"a ", "\"a \""),
            (b"a\nb", "\"a\\nb\""),
            (b"say \"hi\"\\\x1b[2J", "\"say \\\"hi\\\"\\\\\\u001b[2J\""),
            ("a\u{202e}b".as_bytes(), "\"a\\u202eb\""),
            ("tag\u{e0041}".as_bytes(), "\"tag\\u{e0041}\""),
            (b"\xff/x", "\"\\xff/x\""),
            ("naïve 日本 e\u{301}".as_bytes(), "naïve 日本 e\u{301}"),
            ("\u{301}".as_bytes(), "\"\\u0301\""),
        ];
        for (value, text) in cases {
            assert_eq!(quoted_bytes(value), text);
        }
    }

    #[test]
    fn blocks_keep_their_lines() {
        let cases = [
            ("one\n\ttwo\n", "one\n\ttwo\n"),
            ("a\r\nb", "a\\r\nb"),
            ("\u{1b}]0;x\u{7}", "\\u001b]0;x\\u0007"),
            ("a\u{a0}b\u{3000}", "a b  "),
            ("c:\\u001b", "c:\\u001b"),
        ];
        for (value, text) in cases {
            assert_eq!(block(value), text);
        }
    }

    #[test]
    fn lines_are_one() {
        assert_eq!(line("a `b`\n\tc\u{202e}"), "a `b`\\n\\tc\\u202e");
    }

    proptest! {
        /// No control, bidi or invisible character survives.
        #[test]
        fn printed_text_is_harmless(bytes in proptest::collection::vec(any::<u8>(), 0..200),
                                    text in "(?s).{0,60}") {
            for out in [quoted_bytes(&bytes), quoted(&text)] {
                prop_assert!(out.chars().all(|c| matches!(class_of(c), Class::Plain | Class::Mark)));
            }
            for c in block(&text).chars() {
                prop_assert!(matches!(c, '\n' | '\t') || matches!(class_of(c), Class::Plain | Class::Mark));
            }
        }
    }
}
