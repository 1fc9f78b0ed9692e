//! Session-model.md 16: what definitions cost.

use super::*;

pub(super) const ROWS: &[(&str, usize)] = &[("16", PAGE.len())];

/// Definition; bytes, description, schema.
const PAGE: [(&str, [u64; 3]); 5] = [
    (
        r#"{"name":"ping","description":"Ping.","inputSchema":{"type":"object"}}"#,
        [69, 7, 17],
    ),
    (
        "{\n  \"name\": \"ping\",\n  \"description\": \"Ping.\",\n  \"inputSchema\": {\n    \"type\": \"object\"\n  }\n}",
        [69, 7, 17],
    ),
    (
        r#"{"name":"ping","inputSchema":{"type":"object"}}"#,
        [47, 0, 17],
    ),
    (
        r#"{"name":"x","description":"\u00e9","inputSchema":{}}"#,
        [52, 8, 2],
    ),
    (
        r#"{"name":"x","description":{"a":1},"inputSchema":{}}"#,
        [51, 7, 2],
    ),
];

fn listing(tools: &str, more: &str, attributes: &str) -> Vec<crate::record::Envelope> {
    let mut frames = script::session(&format!("> Q1 tools/list, < R1 {{}} {attributes}")).unwrap();
    let json = format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{{\"tools\":[{tools}]{more}}}}}");
    frames[1].payload = crate::record::Payload::Raw(crate::wire::Raw::new(json.into()));
    frames
}

fn with<T>(frames: &[crate::record::Envelope], look: impl FnOnce(&Session) -> T) -> T {
    let mut model = Model::new(Limits::NONE);
    for envelope in frames {
        model.ingest(&key(), envelope, None, None, &mut Vec::new());
    }
    look(model.session(&key()).unwrap())
}

#[test]
fn costs_16() {
    for (definition, [bytes, description, schema]) in PAGE {
        with(&listing(definition, "", ""), |session| {
            let inventory = session.inventory(ListKind::Tools).unwrap();
            let tools = inventory.entries();
            let cost = Cost {
                bytes,
                description_bytes: description,
                schema_bytes: schema,
                output_schema_bytes: 0,
            };
            assert_eq!(tools[0].cost(), cost, "{definition}");
            assert_eq!(tools[0].json(), Some(definition.as_bytes()));
            assert!(!tools[0].is_approximate() && inventory.costs().complete);
        });
    }
}

#[test]
fn definitions_keep_their_members_and_the_hash_ignores_blanks() {
    let definition = r#"{ "name":"t", "title":"T", "description":"d", "outputSchema":{ "a":[ 1 ] }, "annotations":{}, "inputSchema":1, "inputSchema":{"x":2} }"#;
    let compact = r#"{"name":"t","title":"T","description":"d","outputSchema":{"a":[1]},"annotations":{},"inputSchema":1,"inputSchema":{"x":2}}"#;
    let hash = |text: &str| {
        with(&listing(text, "", ""), |session| {
            session.inventory(ListKind::Tools).unwrap().entries()[0].hash()
        })
    };
    assert_eq!(hash(definition), hash(compact));
    assert_ne!(hash(definition), hash(r#"{"name":"t"}"#));
    with(&listing(definition, "", ""), |session| {
        let inventory = session.inventory(ListKind::Tools).unwrap();
        let tool = inventory.entries()[0];
        assert_eq!((&*tool.title(), &*tool.description()), ("T", "d"));
        assert_eq!(tool.member("inputSchema"), Some(&br#"{"x":2}"#[..]));
        assert_eq!(tool.member("icons"), None);
        assert_eq!(tool.cost().output_schema_bytes, 9);
        assert_eq!(tool.cost().bytes, compact.len() as u64);
    });
}

#[test]
fn totals_are_floors_until_the_listing_ends_and_estimates_when_redacted() {
    let tools = r#"{"name":"a"},{"name":"bb"},{"name":"cc"},5,{"name":1},{"name":""},{}"#;
    with(&listing(tools, ",\"nextCursor\":\"p2\"", ""), |session| {
        let inventory = session.inventory(ListKind::Tools).unwrap();
        let costs = inventory.costs();
        assert!(!costs.complete && !costs.approximate);
        let names: Vec<_> = costs.per_tool.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, ["bb", "cc", "a"]);
        assert_eq!(costs.bytes, 13 + 13 + 12);
    });
    with(&listing(r#"{"name":"a"}"#, "", "[red]"), |session| {
        let inventory = session.inventory(ListKind::Tools).unwrap();
        assert!(inventory.costs().approximate && inventory.entries()[0].is_approximate());
    });
    with(&listing("", "", ""), |session| {
        assert!(session.inventory(ListKind::Prompts).is_none());
    });
}
