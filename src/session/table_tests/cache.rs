//! Session-model.md 19.1, 19.2: caching hints.

use super::*;

pub(super) const ROWS: &[(&str, usize)] = &[("19.1", HINTS.len())];

/// Row; members of a result and its attributes; hints kept (`-` for none); remarks.
type Case = (&'static str, &'static str, &'static str);

const HINTS: [(&str, &[Case]); 8] = [
    (
        "`ttlMs` an integer by value ≥ 0 | as is; 0 is declared, not absent",
        &[
            (
                "\"ttlMs\":60000,\"cacheScope\":\"public\"",
                "60000 public",
                "",
            ),
            (
                "\"ttlMs\":60000.0,\"cacheScope\":\"public\"",
                "60000 public",
                "",
            ),
            (
                "\"ttlMs\":6e4,\"cacheScope\":\"public\"",
                "60000 public",
                "",
            ),
            ("\"ttlMs\":0,\"cacheScope\":\"public\"", "0 public", ""),
        ],
    ),
    (
        "negative | as is, freshness 0",
        &[(
            "\"ttlMs\":-5,\"cacheScope\":\"public\"",
            "-5 public",
            "cache-ttl-negative",
        )],
    ),
    (
        "not an integer | none",
        &[
            (
                "\"ttlMs\":\"60\",\"cacheScope\":\"public\"",
                "- public",
                "cache-ttl-type",
            ),
            (
                "\"ttlMs\":1.5,\"cacheScope\":\"public\"",
                "- public",
                "cache-ttl-type",
            ),
        ],
    ),
    (
        "absent or null, `resultType` exactly `complete` | none",
        &[
            (
                "\"resultType\":\"complete\",\"cacheScope\":\"public\"",
                "- public",
                "cache-ttl-missing",
            ),
            (
                "\"resultType\":\"complete\",\"ttlMs\":null,\"cacheScope\":\"public\"",
                "- public",
                "cache-ttl-missing",
            ),
            ("\"cacheScope\":\"public\"", "- public", ""),
        ],
    ),
    (
        "`cacheScope` `public`, `private` | as is",
        &[("\"ttlMs\":1,\"cacheScope\":\"private\"", "1 private", "")],
    ),
    (
        "other string / empty / not a string | as is / none / none",
        &[
            (
                "\"ttlMs\":1,\"cacheScope\":\"shared\"",
                "1 shared",
                "cache-scope",
            ),
            ("\"ttlMs\":1,\"cacheScope\":\"\"", "1 -", "cache-scope"),
            ("\"ttlMs\":1,\"cacheScope\":5", "1 -", "cache-scope"),
        ],
    ),
    (
        "absent or null, `resultType` exactly `complete` | none",
        &[
            (
                "\"resultType\":\"complete\",\"ttlMs\":1",
                "1 -",
                "cache-scope-missing",
            ),
            (
                "\"resultType\":\"complete\",\"ttlMs\":1,\"cacheScope\":null",
                "1 -",
                "cache-scope-missing",
            ),
            ("\"ttlMs\":1", "1 -", ""),
        ],
    ),
    (
        "redacted value | none",
        &[
            (
                "\"resultType\":\"complete\",\"ttlMs\":\"[REDACTED]\",\"cacheScope\":\"[REDACTED]\"!",
                "- -",
                "",
            ),
            ("\"resultType\":\"[REDACTED]\"!", "- -", ""),
            (
                "\"ttlMs\":\"[REDACTED]\",\"cacheScope\":\"public\"",
                "- public",
                "cache-ttl-type",
            ),
        ],
    ),
];

#[test]
fn hints_19_1() {
    for (row, cases) in HINTS {
        for (members, hints, remarks) in cases {
            let (members, marks) = match members.strip_suffix('!') {
                Some(members) => (members, " [red]"),
                None => (*members, ""),
            };
            let text = format!(
                "> Q1 prompts/list [v=2026-07-28]\n< {{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{{\"prompts\":[],{members}}}}}{marks}"
            );
            fold(&text, Limits::NONE, |session| {
                let row_id = session.row(1).unwrap().id;
                let extra = session.extra(row_id).cloned().unwrap_or_default();
                let ttl = extra
                    .cache_ttl_ms
                    .map_or("-".to_owned(), |ttl| ttl.to_string());
                let scope = extra.cache_scope.as_deref().unwrap_or("-");
                assert_eq!(format!("{ttl} {scope}"), *hints, "{row}: {text}");
                let expected = match *remarks {
                    "" => String::new(),
                    code => format!("{code}@2"),
                };
                assert_eq!(remarks_of(session).join(" "), expected, "{row}: {text}");
            });
        }
    }
}

#[track_caller]
pub(super) fn check_remarks(text: &str, expected: &str) {
    fold(text, Limits::NONE, |session| {
        assert_eq!(own_remarks(session, "cache-"), expected, "{text}");
    });
}

#[test]
fn who_owes_no_hints_gets_none() {
    let missing = "cache-ttl-missing@2 cache-scope-missing@2";
    let cases = [
        (
            "> Q1 tools/list [v=2026-07-28], < R1 {tools:[],resultType:complete}",
            missing,
        ),
        (
            "> Q1 server/discover [v=2026-07-28], < R1 {resultType:complete}",
            missing,
        ),
        (
            "> Q1 tools/list [v=2025-11-25], < R1 {tools:[],resultType:complete,ttlMs:-1}",
            "",
        ),
        ("> Q1 tools/list, < R1 {tools:[],resultType:complete}", ""),
        (
            "> Q1 tools/list [v=strange], < R1 {tools:[],resultType:complete}",
            "",
        ),
        (
            "> Q1 call t [v=2026-07-28], < R1 {content:[],resultType:complete}",
            "",
        ),
        (
            "> Q1 tools/list [v=2026-07-28], < R1 {resultType:other}",
            "",
        ),
        ("> Q1 tools/list [v=2026-07-28], < E1 -32603", ""),
        (
            "> Q1 resources/read {uri:u} [v=2026-07-28], < R1 IR{k;st=S}, > Q2 retry{k;st=S} [v=2026-07-28], < R2 {contents:[],resultType:complete}",
            "",
        ),
        ("< Q1 tools/list, > R1 {tools:[],resultType:complete}", ""),
        (
            "> Q1 tools/list [v=2026-07-28], < {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"resultType\":\"complete\",\"tools\":[ [trunc]",
            "",
        ),
    ];
    for (text, expected) in cases {
        check_remarks(text, expected);
    }
}

#[test]
fn one_scope_per_run_19_2() {
    let list = |id: u8, cursor: &str| match cursor {
        "" => format!("> Q{id} tools/list [v=2026-07-28]"),
        cursor => format!("> Q{id} tools/list {{cursor:{cursor}}} [v=2026-07-28]"),
    };
    let page = |id: u8, scope: &str, next: &str| {
        let next = match next {
            "" => String::new(),
            next => format!(",nextCursor:{next}"),
        };
        format!("< R{id} {{tools:[],ttlMs:0,cacheScope:{scope}{next}}}")
    };
    let run = |frames: &[String]| frames.join("\n");
    let first = run(&[list(1, ""), page(1, "private", "p2"), list(2, "p2")]);
    let cases = [
        (
            run(&[first.clone(), page(2, "public", "")]),
            "cache-scope-changed@4",
        ),
        (run(&[first.clone(), page(2, "private", "")]), ""),
        (run(&[first.clone(), "< R2 {tools:[],ttlMs:1}".into()]), ""),
        (
            run(&[
                first.clone(),
                "< R2 {tools:[],ttlMs:1,cacheScope:[R]} [red]".into(),
            ]),
            "",
        ),
        (
            run(&[
                list(1, ""),
                page(1, "private", ""),
                list(2, ""),
                page(2, "public", ""),
            ]),
            "",
        ),
        (
            run(&[
                list(1, "p9"),
                page(1, "private", "p2"),
                list(2, "p2"),
                page(2, "public", ""),
            ]),
            "",
        ),
        (
            run(&[
                list(1, ""),
                page(1, "private", "p2"),
                format!("#4 {}", list(2, "p2")),
                page(2, "public", ""),
            ]),
            "cache-scope-changed@5?",
        ),
    ];
    for (text, expected) in cases {
        check_remarks(&text, expected);
    }
}

#[test]
fn a_page_whose_first_page_was_not_read_is_not_compared_with_an_older_run_19_2() {
    const NEW: &str = "> Q3 tools/list [v=2026-07-28 c=h:1 x=3]";
    let list = |id: u8, cursor: &str, conn: &str| {
        format!("> Q{id} tools/list {{{cursor}}} [v=2026-07-28 c={conn} x={id}]")
    };
    let page = |id: u8, scope: &str, next: &str| {
        format!("< R{id} {{tools:[],ttlMs:0,cacheScope:{scope}{next}}} [x={id}]")
    };
    let older = [
        list(1, "", "h:1"),
        page(1, "public", ",nextCursor:p2"),
        list(2, "cursor:p2", "h:1"),
        page(2, "public", ""),
    ]
    .join("\n");
    let then = |between: &[&str]| {
        let last = [list(4, "cursor:p2", "h:1"), page(4, "private", "")].join("\n");
        format!("{older}\n{}\n{last}", between.join("\n"))
    };
    let answer = |result: &str, marks: &str| {
        format!("< {{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{result}}} [{marks} x=3]")
    };
    let hidden = r#"{"resultType":"complete","tools":[],"ttlMs":0,"cacheScope":"private","nextCursor":"[REDACTED]"}"#;
    let no_tools = r#"{"resultType":"complete","tools":"[REDACTED]","ttlMs":0,"cacheScope":"private","nextCursor":"p2"}"#;
    let cases = [
        (
            then(&[NEW, "< T \"…\" [trunc peek={id:3,has:result} x=3]"]),
            "",
        ),
        (then(&[NEW, "< T \"…\" [trunc]"]), ""),
        (then(&[NEW, "< H200 unobserved [x=3]"]), ""),
        (then(&[NEW, &answer(hidden, "red")]), ""),
        (then(&[NEW, &answer(no_tools, "red")]), ""),
        (then(&[NEW, &answer("\"[REDACTED]\"", "red")]), ""),
        (then(&[NEW, &page(9, "private", ",nextCursor:p2")]), ""),
        // Its own first page, and nothing between that could be another.
        (
            then(&["> Q3 ping [c=h:1 x=3]", "< R3 {} [x=3]"]),
            "cache-scope-changed@8",
        ),
        (then(&[NEW, "< E3 -32603 [x=3]"]), "cache-scope-changed@8"),
        (
            then(&[NEW, &page(3, "public", ",nextCursor:p2")]),
            "cache-scope-changed@8",
        ),
        // A later first page of another client that leads to the same cursor.
        (
            [
                list(1, "", "g:1"),
                page(1, "public", ",nextCursor:p2"),
                list(2, "cursor:p2", "h:1"),
                page(2, "private", ""),
            ]
            .join("\n"),
            "",
        ),
    ];
    for (text, expected) in cases {
        fold(&text, Limits::NONE, |session| {
            let own = own_remarks(session, "cache-scope-changed");
            assert_eq!(own, expected, "{text}");
        });
    }
}
