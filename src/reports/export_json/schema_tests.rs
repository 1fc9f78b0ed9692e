//! Every document fits `tests/fixtures/export.schema.json`: no member that it does not name, none in
//! another order, every value of its kind.

use serde_json::Value;

use super::tests::{Log, document, load};
use crate::base::Timestamp;

const SCHEMA: &str = include_str!("../../../tests/fixtures/export.schema.json");

/// The keywords of JSON Schema that the file uses; one that is not known here fails the test.
struct Schema {
    whole: Value,
}

impl Schema {
    fn read() -> Self {
        Self {
            whole: serde_json::from_str(SCHEMA).unwrap(),
        }
    }

    /// What is wrong with a document.
    fn faults(&self, document: &Value) -> Vec<String> {
        let mut faults = Vec::new();
        self.check(&self.whole, document, "", &mut faults);
        faults
    }

    fn check(&self, schema: &Value, value: &Value, path: &str, faults: &mut Vec<String>) {
        for (keyword, wanted) in schema.as_object().unwrap() {
            let length = || match value {
                Value::Array(list) => list.len() as u64,
                Value::Object(members) => members.len() as u64,
                Value::String(text) => text.chars().count() as u64,
                _ => 0,
            };
            let fits = match keyword.as_str() {
                "$schema" | "title" | "$defs" | "properties" => true,
                "type" => is_of_type(wanted.as_str().unwrap(), value),
                "const" => wanted == value,
                "enum" => wanted.as_array().unwrap().contains(value),
                "minimum" => value.as_f64() >= wanted.as_f64(),
                "minItems" | "minLength" | "minProperties" => length() >= wanted.as_u64().unwrap(),
                "maxItems" => length() <= wanted.as_u64().unwrap(),
                // The only pattern is that of a time.
                "pattern" => is_time(value),
                "required" => {
                    let mut names = wanted.as_array().unwrap().iter();
                    names.all(|name| value.get(name.as_str().unwrap()).is_some())
                }
                "additionalProperties" => {
                    self.members(schema, wanted, value, path, faults);
                    true
                }
                "items" => {
                    for (at, item) in value.as_array().into_iter().flatten().enumerate() {
                        self.check(wanted, item, &format!("{path}/{at}"), faults);
                    }
                    true
                }
                "$ref" => {
                    let pointer = wanted.as_str().unwrap().trim_start_matches('#');
                    self.check(self.whole.pointer(pointer).unwrap(), value, path, faults);
                    true
                }
                other => panic!("the keyword {other} is not checked"),
            };
            if !fits {
                faults.push(format!("{path}: {keyword} {wanted}: {value}"));
            }
        }
    }

    fn members(
        &self,
        schema: &Value,
        others: &Value,
        value: &Value,
        path: &str,
        faults: &mut Vec<String>,
    ) {
        let known = schema.get("properties").and_then(Value::as_object);
        let mut order = 0;
        for (name, member) in value.as_object().into_iter().flatten() {
            let path = format!("{path}/{name}");
            let found = known.and_then(|known| known.iter().position(|(key, _)| key == name));
            match found {
                Some(at) if at < order => faults.push(format!("{path}: in another order")),
                Some(at) => {
                    order = at;
                    self.check(&schema["properties"][name], member, &path, faults);
                }
                None if others.is_object() => self.check(others, member, &path, faults),
                None => faults.push(format!("{path}: has no place")),
            }
        }
    }
}

/// Fails when a document does not fit.
#[track_caller]
pub(super) fn fits(document: &Value) {
    let faults = Schema::read().faults(document);
    assert!(faults.is_empty(), "{faults:#?}");
}

fn is_of_type(kind: &str, value: &Value) -> bool {
    match kind {
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("the type {other} is not checked"),
    }
}

/// As the log writes it, without trailing zeros.
fn is_time(value: &Value) -> bool {
    let Some(text) = value.as_str() else {
        return false;
    };
    let fraction = text.split_once('.').map_or("1", |(_, fraction)| fraction);
    let digits = fraction.split(['Z', '+', '-']).next().unwrap_or_default();
    Timestamp::parse(text).is_some() && !digits.ends_with('0')
}

#[test]
fn documents_of_every_released_version_fit() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/samples");
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|ending| ending != "jsonl") {
            continue;
        }
        let exported = load(&std::fs::read(&path).unwrap(), None).unwrap();
        fits(&document(&exported, None));
        count += 1;
    }
    assert_eq!(count, 18);
}

#[test]
fn documents_of_every_kind_of_frame_fit() {
    let log = Log::new()
        .raw(
            0,
            "meta",
            r#"{"command":["x"],"cwd":"/","target":"http://h/","format":7}"#,
        )
        .raw(
            1,
            "c2s",
            r#"{"id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}"#,
        )
        .raw(
            2,
            "s2c",
            r#"{"id":1,"result":{"protocolVersion":"2025-11-25"}}"#,
        )
        .raw(
            3,
            "c2s",
            r#"[{"id":2,"method":"tools/call","params":{"name":"a"}},{"method":"n"}]"#,
        )
        .raw(
            4,
            "s2c",
            r#"{"id":2,"error":{"code":-32603,"message":"m"}}"#,
        )
        .raw(
            5,
            "c2s",
            r#"{"id":3,"method":"tools/call","params":{"name":"b"}}"#,
        )
        .raw(
            6,
            "c2s",
            r#"{"method":"notifications/cancelled","params":{"requestId":3,"reason":"r"}}"#,
        )
        .raw(7, "s2c", r#"{"id":3,"result":{"isError":true}}"#)
        .raw(8, "s2c", r#"{"id":4,"method":"roots/list"}"#)
        .raw(9, "c2s", r#"{"id":4,"result":{}}"#)
        .raw(10, "c2s", r#"{"id":5,"method":"x"}"#)
        .raw(11, "c2s", r#"{"id":5,"method":"x"}"#)
        .raw(12, "s2c", r#"{"id":99,"error":{"code":1,"message":"m"}}"#)
        .raw(13, "s2c", "7")
        .at(14, "s2c", r#""text":"no JSON""#)
        .at(15, "stderr", r#""text":"a line""#)
        .at(16, "stderr", r#""wire_bytes":0"#)
        .at(17, "s2c", r#""status":202,"exchange":9,"mcp_name":"n""#)
        .at(18, "sideways", r#""raw":{"id":1}"#)
        .at(
            19,
            "c2s",
            r#""truncated":true,"text":"{\"id\":6,\"method\":\"x\",\"par""#,
        )
        .raw(
            20,
            "meta",
            r#"{"event":"end","exit_code":-1,"closed_by":"client","dropped":1}"#,
        );
    fits(&log.document());
}

/// What is broken, and how.
type Change = (&'static str, fn(&mut Value));

#[test]
fn the_check_finds_faults() {
    let schema = Schema::read();
    let mut whole = Log::new()
        .raw(0, "c2s", r#"{"id":1,"method":"x"}"#)
        .document();
    assert!(schema.faults(&whole).is_empty());
    let changes: [Change; 6] = [
        ("/session/extra: has no place", |all| {
            all["session"]["extra"] = 1.into();
        }),
        ("/calls/0: required", |all| {
            all["calls"][0]
                .as_object_mut()
                .unwrap()
                .shift_remove("measured");
        }),
        ("/calls/0/direction: enum", |all| {
            all["calls"][0]["direction"] = "x".into();
        }),
        ("/events/0/seq: minimum", |all| {
            all["events"][0]["seq"] = 0.into();
        }),
        ("/events/0/timestamp: pattern", |all| {
            all["events"][0]["timestamp"] = "2026-09-01T00:00:00.10Z".into();
        }),
        ("/session/label: in another order", |all| {
            let session = all["session"].as_object_mut().unwrap();
            let label = session.shift_remove("label").unwrap();
            session.insert("label".to_owned(), label);
        }),
    ];
    for (fault, change) in changes {
        let kept = whole.clone();
        change(&mut whole);
        let faults = schema.faults(&whole);
        assert!(
            faults.iter().any(|it| it.starts_with(fault)),
            "{fault}: {faults:?}"
        );
        whole = kept;
    }
}
