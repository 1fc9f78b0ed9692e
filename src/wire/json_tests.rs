//! The scanner beside a parser of the same grammar.

use proptest::prelude::*;

use super::*;

/// Checks extent and acceptance against the grammar.
fn check(text: &[u8], accepted: bool) {
    let shown = String::from_utf8_lossy(text.get(..text.len().min(80)).unwrap()).into_owned();
    assert_eq!(whole_value(text).is_some(), accepted, "{shown}");
}

#[test]
fn accepts_what_the_grammar_accepts() {
    let cases: [&[u8]; 22] = [
        b"null",
        b" true ",
        b"false",
        b"0",
        b"-0",
        b"-12.50e+7",
        b"1e400",
        b"1E-2",
        b"\"\"",
        b"\"\\ud800\"",
        b"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\"",
        b"\"\xff\xfe\x80\"",
        b"\"a\x7fb\"",
        b"[]",
        b"[ ]",
        b"{}",
        b"{ }",
        b"[1,2,[3,{\"a\":[]}]]",
        b"{\"a\":1,\"a\":2}",
        b"\r\n\t{\"a\" : 1 , \"b\" :\n[ true , null ] }\n",
        "\"\u{2028}<>&\"".as_bytes(),
        b"{\"\":{\"\":\"\"}}",
    ];
    for text in cases {
        check(text, true);
    }
}

#[test]
fn refuses_what_the_grammar_refuses() {
    let cases: [&[u8]; 36] = [
        b"",
        b" ",
        b"nul",
        b"nulll",
        b"True",
        b"01",
        b"-",
        b"+1",
        b"1.",
        b".5",
        b"1e",
        b"1e+",
        b"0x1",
        b"NaN",
        b"\"",
        b"\"\\x\"",
        b"\"\\u12g4\"",
        b"\"\\u12\"",
        b"\"\x1f\"",
        b"\"\n\"",
        b"\"\x00aaaaaaaaaaaa\"",
        b"[1,]",
        b"[,1]",
        b"[1 2]",
        b"[1}",
        b"[",
        b"{\"a\":1",
        b"{\"a\":1,}",
        b"{\"a\"}",
        b"{\"a\" 1}",
        b"{a:1}",
        b"{1:1}",
        b"{\"a\":1]",
        b"{} {}",
        b"\xef\xbb\xbf{}",
        b"{\"a\":1}\x00",
    ];
    for text in cases {
        check(text, false);
    }
}

#[test]
fn nesting_is_bounded_and_does_not_recurse() {
    for (depth, accepted) in [(9_999, true), (10_000, false)] {
        let arrays = [vec![b'['; depth], vec![b']'; depth]].concat();
        check(&arrays, accepted);
        let objects = [b"{\"a\":".repeat(depth), b"1".to_vec(), vec![b'}'; depth]].concat();
        check(&objects, accepted);
    }
    let mixed = [
        b"[{\"a\":".repeat(4_000),
        b"0".to_vec(),
        b"}]".repeat(4_000),
    ]
    .concat();
    check(&mixed, true);
    let crossed = [b"[{\"a\":".repeat(100), b"0".to_vec(), b"]}".repeat(100)].concat();
    check(&crossed, false);
}

#[test]
fn tells_where_it_does_not_fit() {
    let cases: [(&[u8], usize); 6] = [
        (b"{\"a\":tru", 8),
        (b"{\"a\":trx}", 7),
        (b"[1,2", 4),
        (b"\"abc", 4),
        (b"\"0123456789\x01\"", 11),
        (b"[[1]", 4),
    ];
    for (text, at) in cases {
        assert_eq!(value_end(text, 0, MAX_DEPTH), Err(SyntaxError { at }));
    }
    assert_eq!(value_end(b"xx[1] ]", 2, 1), Ok(5));
}

#[test]
fn members_and_elements_are_exact_slices() {
    let object = b" { \"a\" : 1 ,\"b\":{ \"c\":[1, 2]} , \"a\":\"\\u0031\" } ";
    let found: Vec<_> = members(object).collect();
    let expected: [(&[u8], &[u8]); 3] = [
        (b"a", b"1"),
        (b"b", b"{ \"c\":[1, 2]}"),
        (b"a", b"\"\\u0031\""),
    ];
    assert_eq!(found, expected);
    assert_eq!(member(object, "a"), Some(&b"\"\\u0031\""[..]));
    assert_eq!(member(br#"{"\u0061":7}"#, "a"), Some(&b"7"[..]));
    assert_eq!(member(object, "c"), None);
    let found: Vec<_> = elements(b" [ 1, {\"a\":[2]} ,\"x,y\"] ").collect();
    let expected: [&[u8]; 3] = [b"1", b"{\"a\":[2]}", b"\"x,y\""];
    assert_eq!(found, expected);
    for empty in [&b"[]"[..], b"[ ]", b"{}", b"7", b"\"[1]\""] {
        assert_eq!(elements(empty).count() + members(empty).count(), 0);
    }
}

#[test]
fn strings_are_unescaped_and_repaired() {
    let cases: [(&[u8], &str); 9] = [
        (b"\"\"", ""),
        (b"\"a\\/b\\\"\\\\\"", "a/b\"\\"),
        (b"\"\\b\\f\\n\\r\\t\\u0000\"", "\u{8}\u{c}\n\r\t\0"),
        (b"\"\\ud83d\\ude00!\"", "\u{1f600}!"),
        (b"\"\\ud83dx\"", "\u{fffd}x"),
        (b"\"\\ude00\\ud83d\"", "\u{fffd}\u{fffd}"),
        (b"\"\\ud83d\\u0041\"", "\u{fffd}A"),
        (b"\"a\xffb\"", "a\u{fffd}b"),
        (b"\"\\n\xe2\x82\"", "\n\u{fffd}"),
    ];
    for (value, text) in cases {
        assert_eq!(string(value).as_deref(), Some(text));
    }
    assert_eq!(string(b"7"), None);
    assert!(matches!(
        string(b"\"plain\""),
        Some(std::borrow::Cow::Borrowed("plain"))
    ));
}

#[test]
fn strings_are_written_as_the_log_escapes_them() {
    let mut out = Vec::new();
    write_string(
        &mut out,
        "\"\\/<>&\u{2028}é\n\r\t\u{8}\u{c}\u{1}\u{1f}\u{7f}",
    );
    let expected = "\"\\\"\\\\/<>&\u{2028}é\\n\\r\\t\\b\\f\\u0001\\u001f\u{7f}\"";
    assert_eq!(String::from_utf8(out).unwrap(), expected);
}

#[test]
fn lossy_text_stops_at_its_limit_between_characters() {
    type Case<'a> = (&'a [u8], usize, &'a str, (usize, bool));
    let cases: [Case<'_>; 6] = [
        (b"abc", 100, "\"abc\"", (3, true)),
        (b"a\xffb", 100, "\"a\u{fffd}b\"", (3, false)),
        (b"abcdef", 4, "\"abcd\"", (4, true)),
        ("aéé".as_bytes(), 4, "\"aé\"", (3, true)),
        (b"\x01\x01\x01", 13, "\"\\u0001\\u0001\"", (2, true)),
        (b"ab\xff", 4, "\"ab\"", (2, true)),
    ];
    for (text, limit, expected, result) in cases {
        let mut out = Vec::new();
        assert_eq!(write_lossy(&mut out, text, limit), result);
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }
    let long = "é".repeat(10_000);
    let mut out = Vec::new();
    assert_eq!(write_lossy(&mut out, long.as_bytes(), 9_999), (9_998, true));
    assert_eq!(out.len(), 9_998 + 2);
}

/// JSON values of some depth, written with blanks in places.
fn any_value() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        any::<f64>().prop_map(Into::into),
        ".{0,20}".prop_map(serde_json::Value::from),
    ];
    leaf.prop_recursive(5, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(serde_json::Value::from),
            prop::collection::vec((".{0,6}", inner), 0..6)
                .prop_map(|pairs| pairs.into_iter().collect::<serde_json::Map<_, _>>().into()),
        ]
    })
}

proptest! {
    #[test]
    fn values_are_accepted_whole(value in any_value(), pretty in any::<bool>()) {
        let text = if pretty {
            serde_json::to_string_pretty(&value).unwrap()
        } else {
            value.to_string()
        };
        prop_assert_eq!(whole_value(text.as_bytes()), Some(0..text.len()));
        if let Some(object) = value.as_object() {
            let keys: Vec<String> = members(text.as_bytes())
                .map(|(key, _)| text::unescaped(key).into_owned())
                .collect();
            prop_assert_eq!(keys, object.keys().cloned().collect::<Vec<_>>());
            for (key, inner) in object {
                let slice = member(text.as_bytes(), key).unwrap();
                if !pretty {
                    prop_assert_eq!(String::from_utf8_lossy(slice), inner.to_string());
                }
            }
        }
        if let Some(array) = value.as_array() {
            prop_assert_eq!(elements(text.as_bytes()).count(), array.len());
        }
    }

    #[test]
    fn agrees_with_serde_json_on_damaged_texts(
        value in any_value(),
        at in any::<prop::sample::Index>(),
        byte in 0_u8..128,
    ) {
        let mut text = serde_json::to_vec(&value).unwrap();
        let at = at.index(text.len());
        text[at] = byte;
        let ours = whole_value(&text).is_some();
        let theirs = serde_json::from_slice::<Box<serde_json::value::RawValue>>(&text).is_ok();
        // It checks UTF-8, and this scanner must not.
        if std::str::from_utf8(&text).is_ok() {
            prop_assert_eq!(ours, theirs);
        }
    }

    #[test]
    fn strings_survive_writing_and_reading(text in any::<String>()) {
        let mut out = Vec::new();
        write_string(&mut out, &text);
        prop_assert_eq!(whole_value(&out), Some(0..out.len()));
        prop_assert_eq!(string(&out).unwrap(), text.clone());
        let read: String = serde_json::from_slice(&out).unwrap();
        prop_assert_eq!(&read, &text);
        let theirs = serde_json::to_string(&text).unwrap();
        prop_assert_eq!(string(theirs.as_bytes()).unwrap(), text.clone());
        let mut lossy = Vec::new();
        prop_assert_eq!(write_lossy(&mut lossy, text.as_bytes(), usize::MAX), (text.len(), true));
        prop_assert_eq!(lossy, out);
    }

    #[test]
    fn any_bytes_are_read_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _extent = whole_value(&bytes);
        let _members = members(&bytes).count() + elements(&bytes).count();
        let text = string(&bytes);
        prop_assert!(text.is_none_or(|text| text.len() <= bytes.len() * 3));
    }

    #[test]
    fn a_value_may_arrive_in_lines(value in any_value()) {
        let text = serde_json::to_string_pretty(&value).unwrap();
        let mut scanner = Scanner::new(MAX_DEPTH);
        let mut lines = text.split_inclusive('\n').peekable();
        while let Some(line) = lines.next() {
            let done = scanner.scan(line.as_bytes(), 0).unwrap();
            prop_assert_eq!(done.is_some(), lines.peek().is_none());
        }
    }
}
