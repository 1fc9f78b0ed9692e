//! Session-model.md 19.3: requests for what the client still has a fresh copy of.

use super::{cache::check_remarks, *};

pub(super) const ROWS: &[(&str, usize)] = &[("19.3", REFETCH.len())];

/// Rows of the page; the frames that they stand for; remarks. `V` is the modern revision.
const REFETCH: [(&str, &[(&str, &str)]); 10] = [
    (
        "list, answer ttl 60000, `@10000` list",
        &[("list, ttl 60000, @10000 list", "cache-refetch@3")],
    ),
    (
        "… ttl 1000, `@2000` list; `@1000` list",
        &[
            ("list, ttl 1000, @2000 list", ""),
            ("list, ttl 1000, @1000 list", ""),
            ("list, ttl 1000, @999 list", "cache-refetch@3"),
        ],
    ),
    (
        "list{a} ttl 60000, list{b}",
        &[
            ("list{a}, ttl 60000, list{b}", ""),
            ("list{a}, ttl 60000, list{a}", "cache-refetch@3"),
        ],
    ),
    (
        "list ttl 60000, tools/list_changed, list",
        &[("list, ttl 60000, < N tools/list_changed, list", "")],
    ),
    (
        "list ttl 60000, prompts/list_changed, list",
        &[(
            "list, ttl 60000, < N prompts/list_changed, list",
            "cache-refetch@4",
        )],
    ),
    (
        "read u via retry, answer without ttl",
        &[(
            "> Q read {uri:u} V, < R IR{k;st=S}, > Q retry{k;st=S} V, < R {contents:[],resultType:complete}, > Q read {uri:u} V",
            "",
        )],
    ),
    (
        "list [c=a host 1] ttl 60000, list [c=b host 2]",
        &[
            ("list [c=1:a], ttl 60000 [c=1:a], list [c=2:b]", ""),
            ("list [c=1:a], ttl 60000 [c=1:a], list [c=1:b]", ""),
            (
                "list [c=1:a], ttl 60000 [c=1:a], list [c=1:a]",
                "cache-refetch@3",
            ),
            (
                "list [c=1:a peer=p], ttl 60000 [c=1:a peer=p], list [c=1:b peer=p]",
                "cache-refetch@3",
            ),
        ],
    ),
    (
        "declared 2025-11-25, ttl -5",
        &[(
            "> Q tools/list [v=2025-11-25], < R {tools:[],ttlMs:-5,cacheScope:public}",
            "",
        )],
    ),
    (
        "list, cancel, late answer ttl 60000, list",
        &[("list, > N cancelled{1}, ttl 60000, list", "")],
    ),
    (
        "ttl 9007199254740991, list again",
        &[
            ("list, ttl 9007199254740991, list", "cache-refetch@3"),
            (
                "list, ttl 9223372036854775807, @9000000 list",
                "cache-refetch@3",
            ),
        ],
    ),
];

/// Reads the shorthand: `list`, `ttl N`, `read`, requests and answers numbered in order.
fn frames(text: &str) -> String {
    let mut id = 0;
    let mut lines = Vec::new();
    for item in text.split(", ") {
        let (time, item) = match item.split_once(' ') {
            Some((time, rest)) if time.starts_with(['@', '#']) => (time, rest),
            _ => ("", item),
        };
        let (item, marks) = match item.split_once(" [") {
            Some((item, marks)) => (item, format!(" [{marks}")),
            None => (item, String::new()),
        };
        let declares = |marks: String| match marks.strip_suffix(']') {
            Some(marks) => format!("{marks} v=2026-07-28]"),
            None => " [v=2026-07-28]".into(),
        };
        let line = if let Some(rest) = item.strip_prefix("list") {
            id += 1;
            let cursor = match rest.trim_matches(['{', '}']) {
                "" => String::new(),
                cursor => format!(" {{cursor:{cursor}}}"),
            };
            format!("> Q{id} tools/list{cursor}{}", declares(marks))
        } else if let Some(ttl) = item.strip_prefix("ttl ") {
            let (ttl, next) = ttl.split_once(" next ").unwrap_or((ttl, ""));
            let next = match next {
                "" => String::new(),
                next => format!(",nextCursor:{next}"),
            };
            format!("< R{id} {{tools:[],ttlMs:{ttl},cacheScope:public{next}}}{marks}")
        } else if let Some(rest) = item.strip_prefix("> Q ") {
            id += 1;
            let rest = rest.replace("read {", "resources/read {");
            match rest.strip_suffix(" V") {
                Some(rest) => format!("> Q{id} {rest}{}", declares(marks)),
                None => format!("> Q{id} {rest}{marks}"),
            }
        } else if let Some(rest) = item.strip_prefix("< R ") {
            format!("< R{id} {rest}{marks}")
        } else if let Some(rest) = item.strip_prefix("< E ") {
            format!("< E{id} {rest}{marks}")
        } else {
            format!("{item}{marks}")
        };
        lines.push(format!("{time} {line}"));
    }
    lines.join("\n")
}

#[test]
fn refetches_19_3() {
    for (row, cases) in REFETCH {
        for (text, expected) in cases {
            fold(&frames(text), Limits::NONE, |session| {
                let found = own_remarks(session, "cache-");
                assert_eq!(found, *expected, "{row}: {}", frames(text));
            });
        }
    }
}

#[test]
fn reasons_to_ask_again() {
    let read = "> Q read {uri:file:///a/b} V, < R {contents:[],ttlMs:60000,cacheScope:public}";
    let again = "> Q read {uri:file:///a/b} V";
    let paged = "list, ttl 60000 next p2, list{p2}, ttl 1000, @5000 list";
    let cases = [
        (format!("{read}, {again}"), "cache-refetch@3"),
        (
            format!("{read}, < N notifications/resources/updated {{uri:file:///a/b}}, {again}"),
            "",
        ),
        (
            format!("{read}, < N notifications/resources/updated {{uri:file:///a}}, {again}"),
            "",
        ),
        (
            format!("{read}, < N notifications/resources/updated {{uri:file:///a/b/c}}, {again}"),
            "",
        ),
        (
            format!("{read}, < N notifications/resources/updated {{uri:file:///a/c}}, {again}"),
            "cache-refetch@4",
        ),
        (
            format!("{read}, > N notifications/resources/updated {{uri:file:///a/b}}, {again}"),
            "cache-refetch@4",
        ),
        (
            format!("{read}, > Q read {{uri:x}} V, < E -32602, {again}"),
            "",
        ),
        (
            format!("{read}, > Q read {{uri:x}} V, < E -32603, {again}"),
            "cache-refetch@5",
        ),
        (
            "list, ttl 60000, > Q call t V, < R {isError:true}, list".into(),
            "",
        ),
        (
            "list, ttl 60000, > Q call t V, < R {content:[]}, list".into(),
            "cache-refetch@5",
        ),
        (
            "list, ttl 60000, > Q prompts/get {name:t} V, < E -32602, list".into(),
            "cache-refetch@5",
        ),
        // A page of the run is stale: a snapshot is read from its start.
        (paged.into(), ""),
        (paged.replace("@5000", "@500"), "cache-refetch@5"),
        (
            "list, ttl 60000 next p2, list{p2}, < E -32603, list".into(),
            "",
        ),
        // A notification may be missing.
        ("list, ttl 60000, #9 list".into(), ""),
        // The first answer counts; an answer without lifetime leaves nothing.
        (
            "list, ttl 60000, list, ttl 0, list".into(),
            "cache-refetch@3",
        ),
        ("list, ttl 0, ttl 60000, list".into(), ""),
        ("list, ttl -5, list".into(), "cache-ttl-negative@2"),
        ("list, list, ttl 60000".into(), ""),
        // No cursor and a cursor of `null` are one.
        (
            "list, ttl 60000, > Q tools/list {cursor:null} V".into(),
            "cache-refetch@3",
        ),
        ("list, ttl 60000, > Q tools/list {x:1} V".into(), ""),
        ("list, ttl 60000, > Q tools/list [v=2026-07-29]".into(), ""),
    ];
    for (text, expected) in cases {
        check_remarks(&frames(&text), expected);
    }
    let text = frames("list, ttl 60000, @10000 list");
    fold(&text, Limits::NONE, |session| {
        let row = session.row(2).unwrap().id;
        let said = session.extra(row).unwrap().cache_stale_refetch().unwrap();
        assert_eq!(
            said,
            "client: asked again 10000 ms after an answer that it may use for 60000 ms"
        );
    });
}

/// Conforming listings and reads of the newest revision: no warning, whatever was lost or redacted
/// (P10, P11, P12).
#[test]
fn conforming_captures_accuse_nobody() {
    let text = "> Q1 server/discover [v=2026-07-28]
        < R1 {resultType:complete,ttlMs:60000,cacheScope:public}
        > Q2 tools/list [v=2026-07-28]
        < R2 {resultType:complete,tools:[a],ttlMs:60000,cacheScope:private,nextCursor:p2}
        > Q3 tools/list {cursor:p2} [v=2026-07-28]
        < R3 {resultType:complete,tools:[b],ttlMs:0,cacheScope:private}
        < N tools/list_changed
        > Q4 tools/list [v=2026-07-28]
        < R4 {resultType:complete,tools:[a],ttlMs:60000,cacheScope:public}";
    let text = text.replace("        ", "");
    let all = script::session(&text).unwrap();
    let silent = |frames: &[crate::record::Envelope], what: &str| {
        let mut model = Model::new(Limits::NONE);
        for envelope in frames {
            model.ingest(&key(), envelope, None, None, &mut Vec::new());
        }
        if let Some(session) = model.session(&key()) {
            assert_eq!(
                session.counters().warnings,
                0,
                "{what} {:?}",
                remarks_of(session)
            );
        }
    };
    check_remarks(&text, "");
    for lost in 0..1_u32 << all.len() {
        let kept = (0..).zip(&all).filter(|(at, _)| lost & (1 << at) == 0);
        let kept: Vec<_> = kept.map(|(_, envelope)| envelope.clone()).collect();
        silent(&kept, &format!("{lost:b}"));
    }
    for value in [
        "complete",
        "60000",
        "private",
        "public",
        "p2",
        "a",
        "b",
        "tools/list",
    ] {
        let mut frames = all.clone();
        for frame in &mut frames {
            let crate::record::Payload::Raw(raw) = &frame.payload else {
                panic!();
            };
            let json = String::from_utf8_lossy(raw.bytes()).into_owned();
            let hidden = json
                .replace(&format!(":\"{value}\""), ":\"[REDACTED]\"")
                .replace(&format!(":{value}"), ":\"[REDACTED]\"");
            frame.redacted = hidden != json;
            frame.payload = crate::record::Payload::Raw(crate::wire::Raw::new(hidden.into()));
        }
        silent(&frames, value);
    }
}
