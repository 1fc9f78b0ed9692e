//! Session-model.md 15: runs, the view, usage. The rows of the page are read as it writes them.

use std::fmt::Write as _;

use super::*;

pub(super) const ROWS: &[(&str, usize)] = &[("15.4", PAGE.len()), ("22.2", 1), ("21", 1)];

/// Frames; words that are true of the tools afterwards.
const PAGE: [(&str, &str); 16] = [
    (
        "list → [echo,sum,search]; call echo, search",
        "used=echo,search unused=sum",
    ),
    (
        "list → [echo] next p2; list{p2} → [sum]",
        "complete tools=echo,sum",
    ),
    ("list → [echo] next p2", "not-complete tools=echo"),
    (
        "complete [a,b]; list → [a] next p2 (open)",
        "complete tools=a,b refreshing generation=1",
    ),
    (
        "complete [a,b]; list → [a] next p2 (open); list{p2} → [c]",
        "complete tools=a,c not-refreshing generation=2",
    ),
    (
        "complete [echo,sum]; call sum; list → [echo]",
        "unused=echo withdrawn=sum unadvertised=",
    ),
    (
        "complete [echo]; call search",
        "unadvertised=search withdrawn= unused=echo",
    ),
    ("call search before any list", "unadvertised= not-listed"),
    ("complete; list_changed", "stale complete"),
    ("list, list_changed, → [a]", "complete tools=a not-stale"),
    (
        "list → [a,b,c]; id 1 call a answered, id 1 call b answered",
        "used=a,b unused=c",
    ),
    ("list → {tools:[]}", "listed complete tools="),
    (
        "client A list → next a2, client B list → next b2, A list{a2}, B list{b2}",
        "complete generation=2 not-refreshing",
    ),
    ("list{c9}, c9 never issued", "listed tools=x not-complete"),
    (
        "modern: list → [a] nextCursor \"\" ; list{cursor:\"\"} → [b]",
        "complete tools=a,b not-empty_cursor",
    ),
    (
        "legacy: list → [a] nextCursor \"\"",
        "complete tools=a empty_cursor",
    ),
];

/// Reads the shorthand of the page into a script.
fn frames(text: &str) -> String {
    let (era, text) = match text.split_once(": ") {
        Some(("modern", rest)) => ("2026-07-28", rest),
        Some(("legacy", rest)) => ("2025-11-25", rest),
        _ => ("", text),
    };
    let by_client = text.starts_with("client");
    let (mut script, mut id) = (String::new(), 0);
    let mut items: Vec<String> = vec![String::new()];
    let mut depth = 0;
    for symbol in text.chars() {
        depth += i32::from(matches!(symbol, '[' | '{')) - i32::from(matches!(symbol, ']' | '}'));
        match symbol {
            ';' | ',' if depth == 0 => items.push(String::new()),
            symbol => items.last_mut().unwrap().push(symbol),
        }
    }
    for item in &items {
        let item = item
            .trim()
            .trim_start_matches("client ")
            .trim_end_matches(" (open)");
        let (client, item) = match item.split_once(' ') {
            Some((client @ ("A" | "B"), item)) => (client, item),
            _ => ("", item),
        };
        let mut marks = match era {
            "" => String::new(),
            era => format!(" [v={era}]"),
        };
        if by_client {
            marks = format!(" [c={client}:1 peer={client}]");
        }
        let mut call = |name: &str| {
            id += 1;
            writeln!(script, "> Q{id} call {name}\n< R{id} {{}}").unwrap();
        };
        if let Some(name) = item.strip_prefix("call ") {
            call(name.trim_end_matches(" before any list"));
        } else if let Some(rest) = item.strip_prefix("id 1 call ") {
            let name = rest.trim_end_matches(" answered");
            writeln!(script, "> Q1 call {name}\n< R1 {{}}").unwrap();
        } else if item == "search" {
            call(item);
        } else if item == "list_changed" {
            script.push_str("< N tools/list_changed\n");
        } else if item != "c9 never issued" {
            list(&mut script, &mut id, item, &marks);
        }
    }
    script
}

fn list(script: &mut String, id: &mut u32, item: &str, marks: &str) {
    let (asks, gives) = item.split_once('→').unwrap_or((item, ""));
    let (asks, mut gives) = (asks.trim(), gives.trim().to_owned());
    if let Some(tools) = asks.strip_prefix("complete") {
        gives = if tools.is_empty() {
            "[a]".into()
        } else {
            tools.trim().into()
        };
    }
    let cursor = asks
        .strip_prefix("list{")
        .and_then(|rest| rest.strip_suffix('}'));
    if !asks.is_empty() {
        *id += 1;
        let params = match cursor {
            Some(cursor) if cursor.starts_with("cursor:") => format!("{{{cursor}}}"),
            Some(cursor) => format!("{{cursor:{cursor}}}"),
            None => String::new(),
        };
        writeln!(script, "> Q{id} tools/list {params}{marks}").unwrap();
    }
    if gives.is_empty() && (cursor.is_some()) {
        gives = "[x]".into();
    }
    if gives.is_empty() {
        return;
    }
    let gives = gives
        .strip_prefix("{tools:")
        .map_or(gives.clone(), |rest| rest.trim_end_matches('}').to_owned());
    let (tools, next) = match gives.split_once("next") {
        Some((tools, next)) => (tools.trim(), next.trim_start_matches("Cursor").trim()),
        None => (gives.as_str(), ""),
    };
    let tools = if tools.is_empty() { "[]" } else { tools };
    let next = match next {
        "" => String::new(),
        next => format!(",nextCursor:{next}"),
    };
    writeln!(script, "< R{id} {{tools:{tools}{next}}}{marks}").unwrap();
}

fn words(session: &Session) -> Vec<String> {
    let mut words = Vec::new();
    let mut flag = |on: bool, name: &str| {
        words.push(if on {
            name.to_owned()
        } else {
            format!("not-{name}")
        });
    };
    let inventory = session.inventory(ListKind::Tools);
    flag(inventory.is_some(), "listed");
    if let Some(found) = &inventory {
        flag(found.complete, "complete");
        flag(found.refreshing, "refreshing");
        flag(found.stale, "stale");
        flag(found.empty_cursor, "empty_cursor");
        flag(found.cursor_cycle, "cursor_cycle");
        flag(found.overflows, "overflows");
        let names: Vec<_> = found.entries().iter().map(Definition::name).collect();
        words.push(format!("tools={}", names.join(",")));
        words.push(format!("generation={}", found.generation));
        words.push(format!("bytes={}", found.costs().bytes));
    }
    match session.usage() {
        None => words.push("no-usage".into()),
        Some(usage) => {
            words.push(format!("used={}", usage.used.join(",")));
            let unused = usage.unused.map_or("?".into(), |unused| unused.join(","));
            words.push(format!("unused={unused}"));
            words.push(format!("unadvertised={}", usage.unadvertised.join(",")));
            words.push(format!("withdrawn={}", usage.withdrawn.join(",")));
        }
    }
    words
}

#[track_caller]
fn check_tools_within(text: &str, limits: Limits, expected: &str) {
    fold(text, limits, |session| {
        let found = words(session);
        for word in expected.split_whitespace() {
            assert!(
                found.iter().any(|known| known == word),
                "{text}\n{word}: {found:?}"
            );
        }
        assert_eq!(session.counters().warnings, 0, "{text}");
    });
}

#[track_caller]
fn check_tools(text: &str, expected: &str) {
    check_tools_within(text, Limits::NONE, expected);
}

#[test]
fn inventory_15_4() {
    for (row, expected) in PAGE {
        check_tools(&frames(row), expected);
    }
}

#[test]
fn lists_22_2() {
    let limits = Limits {
        body_bytes: Some(1),
        ..Limits::NONE
    };
    let text = frames("list → [a] next p2, list{p2} → [b]");
    check_tools_within(&text, limits, "complete tools=a,b bytes=88");
    let rows = Limits {
        rows: Some(1),
        body_bytes: Some(1),
    };
    let text = frames("complete [a,b]; call a; list → [a] next p2; list{p2} → [c]");
    check_tools_within(&text, rows, "complete tools=a,c used=a generation=2");
}

#[test]
fn runs_15_1() {
    let cases = [
        // An error changes nothing, an answer without the array is no listing.
        ("> Q1 tools/list, < E1 -32603", "not-listed no-usage"),
        ("> Q1 tools/list, < R1 {}", "not-listed"),
        ("> Q1 tools/list, < R1 {tools:{}}", "not-listed"),
        ("< Q1 tools/list, > R1 {tools:[a]}", "not-listed"),
        (
            "> Q1 prompts/list, < R1 {tools:[a],prompts:[]}",
            "not-listed",
        ),
        (
            "> Q1 tools/list {cursor:null}, < R1 {tools:[a],nextCursor:null}",
            "complete tools=a",
        ),
        // A page that is fetched again, its chain going on elsewhere.
        (
            "> Q1 tools/list, < R1 {tools:[a],nextCursor:p2}, > Q2 tools/list {cursor:p2}, < R2 {tools:[b]}, > Q3 tools/list {cursor:p2}, < R3 {tools:[c]}",
            "complete tools=a,c generation=1",
        ),
        (
            "> Q1 tools/list, < R1 {tools:[a],nextCursor:p2}, > Q2 tools/list {cursor:p2}, < R2 {tools:[b]}, > Q3 tools/list {cursor:p2}, < R3 {tools:[c],nextCursor:p3}",
            "complete tools=a,b generation=1",
        ),
        (
            "> Q1 tools/list, < R1 {tools:[a],nextCursor:p2}, > Q2 tools/list {cursor:p2}, < R2 {tools:[b],nextCursor:p2}",
            "not-complete tools=a,b cursor_cycle",
        ),
        (
            "> Q1 tools/list, < R1 {tools:[a],nextCursor:7}",
            "not-complete tools=a not-cursor_cycle",
        ),
        (
            "> Q1 tools/list, < R1 {tools:[a],nextCursor:\"\"}, > Q2 tools/list {cursor:\"\"}, < R2 {tools:[b]}",
            "complete tools=a,b",
        ),
        // A late answer counts, a duplicate does not.
        (
            "> Q1 tools/list, > N cancelled{1}, < R1 {tools:[a]}",
            "complete tools=a",
        ),
        (
            "> Q1 tools/list, < R1 {tools:[a]}, < R1 {tools:[b]}",
            "complete tools=a generation=1",
        ),
        // A cut answer is none.
        (
            "> Q1 tools/list, < {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"tools\":[ [trunc]",
            "not-listed",
        ),
        // Another type of description keeps the tool, no name skips it alone.
        (
            "> Q1 tools/list, < R1 {tools:[{name:a,description:5},{name:7},b]}",
            "tools=a,b",
        ),
        ("> Q1 call t", "not-listed unused=? unadvertised="),
    ];
    for (text, expected) in cases {
        let text = text.replace(
            "< R1 {tools:[a],nextCursor:\"\"}",
            "< R1 {\"tools\":[{\"name\":\"a\"}],\"nextCursor\":\"\"}",
        );
        let mut found = Vec::new();
        fold(&text, Limits::NONE, |session| found = words(session));
        for word in expected.split_whitespace() {
            assert!(
                found.iter().any(|known| known == word),
                "{text}\n{word}: {found:?}"
            );
        }
    }
}

#[test]
fn names_that_repeat_15_3() {
    let cases = [
        (
            "> Q1 tools/list, < R1 {tools:[a,b,a]}",
            "tool-name-repeated@2",
        ),
        (
            "> Q1 tools/list, < R1 {tools:[a],nextCursor:p2}, > Q2 tools/list {cursor:p2}, < R2 {tools:[b,a]}",
            "tool-name-repeated@4",
        ),
        ("> Q1 tools/list, < R1 {tools:[a,A]}", ""),
        (
            "> Q1 tools/list, < R1 {tools:[a]}, > Q2 tools/list, < R2 {tools:[a]}",
            "",
        ),
        (
            "> Q1 tools/list, < R1 {tools:[a],nextCursor:p2}, > Q2 tools/list {cursor:p2}, < R2 {tools:[b]}, > Q3 tools/list {cursor:p2}, < R3 {tools:[b]}",
            "",
        ),
        ("> Q1 prompts/list, < R1 {prompts:[{name:a},{name:a}]}", ""),
        (
            "> Q1 tools/list, < R1 {tools:[{name:\"[R]\"},{name:\"[R]\"}]} [red]",
            "",
        ),
    ];
    for (text, expected) in cases {
        fold(text, Limits::NONE, |session| {
            assert_eq!(remarks_of(session).join(" "), expected, "{text}");
            if let Some(found) = session.inventory(ListKind::Tools) {
                let mut names: Vec<_> = found.entries().iter().map(Definition::name).collect();
                names.retain(|name| *name != "[REDACTED]");
                let all = names.len();
                names.sort_unstable();
                names.dedup();
                assert_eq!(names.len(), all, "{text}");
            }
        });
    }
}

#[test]
fn redaction_21() {
    let cases = [
        (
            "> Q1 tools/list, < R1 {tools:[a]}, > Q2 tools/list{cursor:\"[R]\"} [red], < R2 {tools:[b]}",
            "complete tools=a",
        ),
        (
            "> Q1 tools/list, < R1 {tools:[a],nextCursor:[R]} [red]",
            "not-complete tools=a",
        ),
        // A name that is gone may be any.
        (
            "> Q1 tools/list, < R1 {tools:[a]}, > Q2 call [REDACTED] [red]",
            "used= unused=? unadvertised= withdrawn=",
        ),
        (
            "> Q1 tools/list, < R1 {tools:[a,{name:\"[R]\"}]} [red], > Q2 call t",
            "unadvertised= withdrawn= unused=a",
        ),
        // The same words where nothing was taken away.
        (
            "> Q1 tools/list, < R1 {tools:[a]}, > Q2 call [REDACTED]",
            "unadvertised=[REDACTED] unused=a",
        ),
    ];
    for (text, expected) in cases {
        check_tools(text, expected);
    }
}

#[test]
fn other_lists_have_names_only() {
    let text = "> Q1 resources/templates/list, < R1 {resourceTemplates:[{name:r,uriTemplate:u},{name:r}],nextCursor:c}, < N resources/list_changed";
    fold(text, Limits::NONE, |session| {
        let found = session.inventory(ListKind::Templates).unwrap();
        let entries = found.entries();
        assert_eq!(
            (entries.len(), entries[0].name(), entries[0].json()),
            (2, "r", None)
        );
        assert!(found.stale && !found.complete);
        assert!(session.inventory(ListKind::Resources).is_none());
    });
}
