//! Tests of the conversion: the table of tui.md J3, marks, widths and cuts.

use proptest::prelude::*;

use super::*;
use crate::base::text::class::{Class as Kind, class_of as kind_of};

fn marked(shown: &Shown) -> String {
    let parts = shown.pieces().iter().map(|piece| {
        if piece.escaped {
            format!("<{}>", piece.text)
        } else {
            piece.text.clone()
        }
    });
    parts.collect()
}

#[test]
fn every_kind_of_character_has_its_form() {
    let cases: [(&[u8], &str, &str, &str); 18] = [
        (b"plain text", "plain text", "plain text", "plain text"),
        (
            b"a\tb\nc\r",
            "a<\\t>b<\\n>c<\\r>",
            "a<\\t>b<\\n>c<\\r>",
            "a    b<\\n>c<\\r>",
        ),
        (
            b"\x1b]52;c;cm0\x07 ok",
            "<\\u001b>]52;c;cm0<\\u0007> ok",
            "<\\u001b>]52;c;cm0<\\u0007> ok",
            "<\\u001b>]52;c;cm0<\\u0007> ok",
        ),
        (
            b"\0\x7f",
            "<\\u0000\\u007f>",
            "<\\u0000\\u007f>",
            "<\\u0000\\u007f>",
        ),
        (
            "\u{9b}2J".as_bytes(),
            "<\\u009b>2J",
            "<\\u009b>2J",
            "<\\u009b>2J",
        ),
        (
            b"\xff\xc3(",
            "<\\xff\\xc3>(",
            "<\\xff\\xc3>(",
            "<\\xff\\xc3>(",
        ),
        (
            "a\u{202e}b".as_bytes(),
            "a<\\u202e>b",
            "a<\\u202e>b",
            "a<\\u202e>b",
        ),
        (
            "delete\u{200b}_file".as_bytes(),
            "delete<\\u200b>_file",
            "delete<\\u200b>_file",
            "delete<\\u200b>_file",
        ),
        (
            "\u{e0041}".as_bytes(),
            "<\\u{e0041}>",
            "<\\u{e0041}>",
            "<\\u{e0041}>",
        ),
        (
            "\u{2028}\u{2029}".as_bytes(),
            "<\\u2028\\u2029>",
            "<\\u2028\\u2029>",
            "<\\u2028\\u2029>",
        ),
        ("a\u{a0}b".as_bytes(), "a<\\u00a0>b", "a b", "a b"),
        ("\u{3000}x".as_bytes(), "<\\u3000>x", "  x", "  x"),
        (
            "\u{e000}\u{ffff}\u{378}".as_bytes(),
            "<\\ue000\\uffff\\u0378>",
            "<\\ue000\\uffff\\u0378>",
            "<\\ue000\\uffff\\u0378>",
        ),
        (
            b"\xed\xa0\x80",
            "<\\xed\\xa0\\x80>",
            "<\\xed\\xa0\\x80>",
            "<\\xed\\xa0\\x80>",
        ),
        ("日本 ü é".as_bytes(), "日本 ü é", "日本 ü é", "日本 ü é"),
        (
            "\u{301}a".as_bytes(),
            "\u{25cc}\u{301}a",
            "\u{25cc}\u{301}a",
            "\u{25cc}\u{301}a",
        ),
        (
            "👩\u{200d}🚀\u{fe0f}".as_bytes(),
            "👩<\\u200d>🚀<\\ufe0f>",
            "👩<\\u200d>🚀<\\ufe0f>",
            "👩<\\u200d>🚀<\\ufe0f>",
        ),
        (
            b"{\"data\":\"a\\u202eb\"}",
            "{\"data\":\"a\\u202eb\"}",
            "{\"data\":\"a\\u202eb\"}",
            "{\"data\":\"a\\u202eb\"}",
        ),
    ];
    for (input, name, row, body) in cases {
        assert_eq!(marked(&Shown::name(input)), name);
        assert_eq!(marked(&Shown::row(input)), row);
        assert_eq!(marked(&Shown::body(input)), body);
    }
}

#[test]
fn a_base_carries_three_marks_and_no_more() {
    let text = format!("e{}", "\u{301}".repeat(5));
    let shown = Shown::row(text.as_bytes());
    assert_eq!(marked(&shown), "e\u{301}\u{301}\u{301}<\\u0301\\u0301>");
    assert_eq!(shown.width(), 13);
    let thousand = format!("a{}", "\u{301}".repeat(1_000));
    assert_eq!(Shown::row(thousand.as_bytes()).width(), 1 + 997 * 6);
}

#[test]
fn wide_characters_count_two_cells_and_are_never_halved() {
    let shown = Shown::row("日本語".as_bytes());
    assert_eq!(shown.width(), 6);
    let cut = |width, keep| shown.cut(width, keep, "~").plain();
    assert_eq!(cut(6, Keep::Head), "日本語");
    assert_eq!(cut(5, Keep::Head), "日本~");
    assert_eq!(cut(4, Keep::Head), "日~");
    assert_eq!(cut(4, Keep::Tail), "~語");
    assert_eq!(cut(1, Keep::Head), "~");
    assert_eq!(cut(0, Keep::Head), "");
}

#[test]
fn cuts_keep_the_end_that_tells() {
    let id = Shown::name(b"request-000041");
    assert_eq!(id.cut(6, Keep::Tail, "~").plain(), "~00041");
    assert_eq!(id.cut(6, Keep::Head, "~").plain(), "reque~");
    assert_eq!(id.cut(14, Keep::Tail, "~"), id);
}

#[test]
fn long_text_is_taken_in_up_to_its_bound() {
    let long = "é".repeat(10 << 10);
    assert_eq!(Shown::row(long.as_bytes()).width(), ROW_BYTES / 2);
    let odd = format!("x{long}");
    let shown = Shown::row(odd.as_bytes());
    assert!(shown.pieces().iter().all(|piece| !piece.escaped));
    assert_eq!(Shown::body(&vec![b'x'; 10 << 20]).width(), BODY_BYTES);
}

#[test]
fn parts_never_take_a_mark_from_its_base() {
    let shown = Shown::row("ae\u{301}b\u{1b}c".as_bytes());
    assert_eq!(shown.plain(), "ae\u{301}b\\u001bc");
    let parts = |at: usize| (shown.between(0..at).plain(), shown.between(at..99).plain());
    assert_eq!(parts(2), ("ae\u{301}".to_owned(), "b\\u001bc".to_owned()));
    assert_eq!(parts(1), ("a".to_owned(), "e\u{301}b\\u001bc".to_owned()));
    assert_eq!(shown.between(4..11).pieces().len(), 2);
}

#[test]
fn korean_parts_lie_on_their_first() {
    let shown = Shown::name("\u{1112}\u{1161}\u{11ab}".as_bytes());
    assert_eq!(shown.width(), 2);
    assert_eq!(clusters(&shown.plain()).count(), 1);
}

proptest! {
    /// Whatever comes in, only drawable characters come out, each unit one or two cells wide.
    #[test]
    fn shown_text_is_drawable(bytes in proptest::collection::vec(any::<u8>(), 0..200),
                              text in "\\PC{0,40}|(?s).{0,40}") {
        for input in [bytes.as_slice(), text.as_bytes()] {
            for shown in [Shown::name(input), Shown::row(input), Shown::body(input)] {
                for piece in shown.pieces() {
                    for unit in clusters(&piece.text) {
                        prop_assert!(crate::base::text::is_drawable(unit), "{unit:?}");
                        prop_assert!((1..=2).contains(&unit.width()), "{unit:?}");
                    }
                    prop_assert!(piece.text.chars().all(|c| matches!(kind_of(c), Kind::Plain | Kind::Mark)));
                }
            }
        }
    }

    /// A cut is never wider than asked for and never narrower by more than one cell.
    #[test]
    fn cuts_have_the_width_asked_for(text in "(?s).{0,40}", width in 0_usize..30) {
        let shown = Shown::row(text.as_bytes());
        for keep in [Keep::Head, Keep::Tail] {
            let cut = shown.cut(width, keep, "~").width();
            prop_assert!(cut <= width);
            prop_assert!(cut + 1 >= width.min(shown.width()), "{cut} {width}");
        }
    }
}
