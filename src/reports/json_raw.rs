//! A JSON value with its blanks laid out anew and every token as it is (export.md 3).

use crate::wire::json;

/// Deeper levels are indented no further: a hostile body of 10,000 levels must not write a
/// thousand times its size.
const DEEPEST: usize = 64;
/// A line feed and the blanks of the deepest level.
const BLANKS: [u8; 1 + 2 * DEEPEST] = {
    let mut blanks = [b' '; 1 + 2 * DEEPEST];
    blanks[0] = b'\n';
    blanks
};

/// Appends a line feed and the indentation of a level.
pub(super) fn new_line(out: &mut Vec<u8>, depth: usize) {
    let length = 1 + 2 * depth.min(DEEPEST);
    out.extend_from_slice(BLANKS.get(..length).unwrap_or(&BLANKS));
}

/// A value that is being laid out.
pub(super) struct Layout<'a> {
    value: &'a [u8],
    at: usize,
    depth: usize,
}

impl<'a> Layout<'a> {
    /// Begins with a valid JSON value in UTF-8 that stands `depth` deep.
    pub(super) fn new(value: &'a [u8], depth: usize) -> Self {
        Self {
            value,
            at: 0,
            depth,
        }
    }

    /// Appends tokens until `out` is `enough` long; false when all were written.
    pub(super) fn go_on(&mut self, out: &mut Vec<u8>, enough: usize) -> bool {
        while let Some(byte) = self.value.get(self.at) {
            if out.len() >= enough {
                return true;
            }
            match byte {
                b'"' => self.copy_to(json::known_string_end(self.value, self.at), out),
                b'{' | b'[' => self.open(*byte, out),
                b'}' | b']' => {
                    self.depth = self.depth.saturating_sub(1);
                    new_line(out, self.depth);
                    self.push(*byte, out);
                }
                b',' => {
                    self.push(b',', out);
                    new_line(out, self.depth);
                }
                b':' => {
                    self.push(b':', out);
                    out.push(b' ');
                }
                blank if json::is_blank(*blank) => self.at += 1,
                _ => self.copy_to(scalar_end(self.value, self.at), out),
            }
        }
        false
    }

    fn push(&mut self, byte: u8, out: &mut Vec<u8>) {
        out.push(byte);
        self.at += 1;
    }

    fn copy_to(&mut self, end: usize, out: &mut Vec<u8>) {
        out.extend_from_slice(self.value.get(self.at..end).unwrap_or_default());
        self.at = end;
    }

    /// An empty object or array stays on one line.
    fn open(&mut self, bracket: u8, out: &mut Vec<u8>) {
        out.push(bracket);
        self.at = json::skip_blanks(self.value, self.at + 1);
        if let Some(close @ (b'}' | b']')) = self.value.get(self.at) {
            self.push(*close, out);
        } else {
            self.depth += 1;
            new_line(out, self.depth);
        }
    }
}

/// The end of the number or word that begins at `at`.
fn scalar_end(value: &[u8], at: usize) -> usize {
    let rest = value.get(at..).unwrap_or_default();
    let length = rest
        .iter()
        .position(|byte| matches!(byte, b',' | b'}' | b']') || json::is_blank(*byte));
    length.map_or(value.len(), |length| at + length)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn laid_out(value: &str, depth: usize) -> String {
        let mut out = Vec::new();
        let mut layout = Layout::new(value.as_bytes(), depth);
        assert!(!layout.go_on(&mut out, usize::MAX));
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn only_blanks_change() {
        let cases = [
            ("7", "7"),
            (" 9007199254740993 ", "9007199254740993"),
            ("\"\\u0041\\/ , {\\\"\"", "\"\\u0041\\/ , {\\\"\""),
            ("[ ]", "[]"),
            ("{\n}", "{}"),
            ("[1.0,1e400,-0]", "[\n    1.0,\n    1e400,\n    -0\n  ]"),
            (
                "{\"b\":1 ,\"a\": [null,{}],\"b\":true}",
                "{\n    \"b\": 1,\n    \"a\": [\n      null,\n      {}\n    ],\n    \"b\": true\n  }",
            ),
        ];
        for (value, expected) in cases {
            assert_eq!(laid_out(value, 1), expected);
        }
    }

    #[test]
    fn deep_nesting_does_not_multiply_the_size() {
        let value = format!("{}{}", "[".repeat(9_999), "]".repeat(9_999));
        let text = laid_out(&value, 0);
        assert!(text.len() < value.len() * (2 * DEEPEST + 2));
        let tokens: String = text.chars().filter(|it| !it.is_whitespace()).collect();
        assert_eq!(tokens, value);
    }

    fn any_value() -> impl Strategy<Value = serde_json::Value> {
        let leaf = prop_oneof![
            Just(serde_json::Value::Null),
            any::<i64>().prop_map(Into::into),
            any::<f64>().prop_map(Into::into),
            ".{0,12}".prop_map(serde_json::Value::from),
        ];
        leaf.prop_recursive(4, 30, 5, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(serde_json::Value::from),
                prop::collection::vec((".{0,6}", inner), 0..5)
                    .prop_map(|pairs| pairs.into_iter().collect::<serde_json::Map<_, _>>().into()),
            ]
        })
    }

    proptest! {
        #[test]
        fn the_layout_is_the_usual_one(value in any_value(), enough in 1_usize..40) {
            let usual = serde_json::to_string_pretty(&value).unwrap();
            prop_assert_eq!(&laid_out(&value.to_string(), 0), &usual);
            prop_assert_eq!(&laid_out(&usual, 0), &usual);
            let (mut pieces, mut all) = (Vec::new(), Vec::new());
            let mut layout = Layout::new(usual.as_bytes(), 0);
            while layout.go_on(&mut pieces, enough) {
                all.append(&mut pieces);
            }
            all.append(&mut pieces);
            prop_assert_eq!(String::from_utf8(all).unwrap(), usual);
        }

        #[test]
        fn any_bytes_end(value in prop::collection::vec(any::<u8>(), 0..80)) {
            let mut out = Vec::new();
            prop_assert!(!Layout::new(&value, 0).go_on(&mut out, usize::MAX));
        }
    }
}
