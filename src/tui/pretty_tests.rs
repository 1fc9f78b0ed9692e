//! A JSON body re-indented: order, spelling, paths, long scalars (tui.md I2, I4).

use super::*;

fn pretty(source: &str, redacted: bool) -> Pretty {
    let source = Bytes::copy_from_slice(source.as_bytes());
    Pretty::new(source, redacted, &Watch::default()).unwrap()
}

fn lines(source: &str) -> Vec<String> {
    let pretty = pretty(source, false);
    (0..pretty.len())
        .map(|index| pretty.line(index).unwrap().ink.plain())
        .collect()
}

#[test]
fn order_spelling_and_duplicates_are_kept() {
    let source = r#"{"b":1.50,"a":[ ],"c":{},"a":[1e2,"\u001b"],"n":null}"#;
    let expected = [
        "{",
        "  \"b\": 1.50,",
        "  \"a\": [],",
        "  \"c\": {},",
        "  \"a\": [",
        "    1e2,",
        "    \"\\u001b\"",
        "  ],",
        "  \"n\": null",
        "}",
    ];
    assert_eq!(lines(source), expected);
    assert_eq!(lines(" 7 "), ["7"]);
    assert_eq!(lines("{ \"a\" : { } }"), ["{", "  \"a\": {}", "}"]);
}

#[test]
fn lines_know_their_path_and_value() {
    let source = r#"{"result":{"content":[{"type":"text","text":"x"}],"a b":1}}"#;
    let pretty = pretty(source, false);
    let told: Vec<_> = (0..pretty.len())
        .map(|index| {
            let path = pretty.path(index);
            let value = pretty.value_at(index).unwrap_or_default();
            (path.as_deref().unwrap_or("").to_owned(), value.len())
        })
        .collect();
    let expected = [
        ("", source.len()),
        ("result", 48),
        ("result.content", 28),
        ("result.content[0]", 26),
        ("result.content[0].type", 6),
        ("result.content[0].text", 3),
        ("result.content[0]", 0),
        ("result.content", 0),
        ("result[\"a b\"]", 1),
        ("result", 0),
        ("", 0),
    ];
    let expected: Vec<_> = expected
        .map(|(path, length)| (path.to_owned(), length))
        .into();
    assert_eq!(told, expected);
}

#[test]
fn a_long_scalar_takes_several_lines_and_a_word_across_them_is_found() {
    let text = format!("{}needle{}", "é".repeat(PART / 2 - 2), "y".repeat(PART));
    let source = format!("{{\"a\":\"{text}\",\"b\":1}}");
    let pretty = pretty(&source, false);
    let shown: String = (1..pretty.len() - 2)
        .map(|index| {
            pretty
                .line(index)
                .unwrap()
                .ink
                .plain()
                .trim_start()
                .to_owned()
        })
        .collect();
    assert_eq!(shown, format!("\"a\": \"{text}\","));
    assert!(pretty.len() > 5);
    let found: Vec<_> = (0..pretty.len())
        .filter(|index| !pretty.find(*index, "NEEDLE").is_empty())
        .collect();
    assert_eq!(found, [1]);
    for index in 1..pretty.len() - 2 {
        assert_eq!(pretty.path(index).as_deref(), Some("a"));
        assert_eq!(pretty.value_at(index).unwrap().len(), text.len() + 2);
    }
}

#[test]
fn copied_text_has_long_scalars_on_one_line() {
    let source = format!("[\"{}\",7]", " ".repeat(PART * 2));
    let expected = format!("[\n  \"{}\",\n  7\n]", " ".repeat(PART * 2));
    assert_eq!(pretty(&source, false).text(), expected);
}

#[test]
fn marks_of_redaction_are_told_apart_only_in_redacted_frames() {
    let source = r#"{"a":"[REDACTED#2]"}"#;
    let role = |redacted| {
        let pretty = pretty(source, redacted);
        let line = pretty.line(1).unwrap();
        (line.ink.spans().last().unwrap().role, pretty.marks())
    };
    assert_eq!(role(true), (Role::Redacted, 1));
    assert_eq!(role(false), (Role::Text, 0));
}

#[test]
fn deep_nesting_does_not_exhaust_the_stack() {
    let deep = "[".repeat(9_000) + &"]".repeat(9_000);
    let pretty = pretty(&deep, false);
    assert_eq!(pretty.len(), 17_999);
    assert!(pretty.path(8_999).unwrap().len() <= PATH_BYTES);
}

#[test]
fn what_nobody_waits_for_is_given_up() {
    let source = Bytes::from("[1,1,1,1]".to_owned());
    let (watch, handle) = Watch::pair();
    drop(handle);
    let given_up = Pretty::new(source, false, &watch);
    assert_eq!(given_up.unwrap_err(), Why::GivenUp);
}
