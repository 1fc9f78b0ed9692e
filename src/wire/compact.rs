//! JSON text without the blanks between its tokens; strings and numbers stay as they are spelled
//! (session-model.md 16).

use super::scan::{is_blank, known_string_end, skip_blanks};

/// The pieces of a valid JSON value between its insignificant blanks, in order: joined they are the
/// compact text. One pass, no allocation, no recursion.
pub fn compact_pieces(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut at = 0;
    std::iter::from_fn(move || {
        at = skip_blanks(value, at);
        let start = at;
        while let Some(byte) = value.get(at).filter(|byte| !is_blank(**byte)) {
            at += 1;
            if *byte == b'"' {
                at = known_string_end(value, at).unwrap_or(value.len());
            }
        }
        value.get(start..at).filter(|piece| !piece.is_empty())
    })
}

/// Bytes of the compact text.
pub fn compact_len(value: &[u8]) -> usize {
    compact_pieces(value).map(<[u8]>::len).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_blanks_between_tokens_go() {
        let cases = [
            (
                r#" { "a b" : [ 1 , 2.0 ] , "\u00e9\" \\" : " x " } "#,
                r#"{"a b":[1,2.0],"\u00e9\" \\":" x "}"#,
            ),
            ("\t[\r\n]\n", "[]"),
            ("1e400", "1e400"),
            ("\"\"", "\"\""),
            ("", ""),
        ];
        for (value, compact) in cases {
            let joined: Vec<u8> = compact_pieces(value.as_bytes())
                .flatten()
                .copied()
                .collect();
            assert_eq!(String::from_utf8_lossy(&joined), compact);
            assert_eq!(compact_len(value.as_bytes()), compact.len());
            assert_eq!(compact_len(compact.as_bytes()), compact.len());
        }
    }

    #[test]
    fn what_is_no_json_is_walked_to_its_end() {
        for value in ["\"open", "{\"a\":\"\\", "\"\\\"", "][", "\u{1}"] {
            assert!(compact_len(value.as_bytes()) <= value.len());
        }
    }
}
