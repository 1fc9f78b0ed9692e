//! Session-model.md 13: its table as tests, and what looks like its rows.

use super::*;

/// Rows of the page's table that are tests here.
pub(super) const ROWS: &[(&str, usize)] = &[("13", PAGE.len())];

/// Frames, calls and figures, and words of each subscription.
const PAGE: [(&str, &str, &str); 7] = [
    (
        "`> Q1 listen{toolsListChanged}`, `< N …/acknowledged{sub 1}`, `< N tools/list_changed{sub 1}`, `< R1 {}`",
        "completed | errors=0",
        "Graceful acknowledged delivered=1 tools=Yes",
    ),
    (
        "`> Q1 listen`",
        "streaming | streaming=1 pending=0 owed=0",
        "Open not-acknowledged",
    ),
    (
        "`> Q1 listen`, `< N cancelled{1, reason}`",
        "cancelled reason=reason | pending=0 late_results=0",
        "Cancelled",
    ),
    (
        "`> Q1 listen [x=3]`, `< H500 [x=3]`",
        "failed | errors=1",
        "Failed",
    ),
    (
        "`> Q1 listen`, `< N …/acknowledged{sub \"1\"}`",
        "streaming",
        "Open not-acknowledged delivered=0",
    ),
    (
        "`> Q1 listen [c=a]`, `> Q1 listen [c=b]`, `< N …/acknowledged{sub 1} [c=b]`",
        "streaming, streaming",
        "not-acknowledged, acknowledged",
    ),
    (
        "`> Q1 listen [c=a]`, `< N tools/list_changed{} [c=b]`",
        "streaming",
        "Open delivered=0 rows=0",
    ),
];

fn words_of(session: &Session, told: &Subscription) -> Vec<String> {
    let not = |on: bool, word: &str| {
        if on {
            word.to_owned()
        } else {
            format!("not-{word}")
        }
    };
    let count: u64 = told.delivered.iter().map(|(_, count)| count).sum();
    let rows = (0..session.row_count()).filter_map(|at| session.row(at));
    let rows = rows.filter(|row| row.call == Some(told.call) && row.kind == Kind::Notification);
    let filter = &told.requested;
    let mut words = vec![
        format!("{:?}", told.end),
        not(told.acknowledged.is_some(), "acknowledged"),
        format!("delivered={}", count + told.delivered_more),
        format!("rows={}", rows.count()),
        format!("tools={:?}", filter.tools),
        format!("prompts={:?}", filter.prompts),
        format!("updates={:?}", filter.resource_updates),
        format!("uris={}", filter.uris.join("+")),
        format!("tasks={}", filter.task_ids.join("+")),
        format!("more={}", filter.more),
    ];
    let methods = told.delivered.iter();
    words.extend(methods.map(|(method, count)| format!("{method}={count}")));
    words
}

#[track_caller]
fn check_streams(text: &str, calls: &str, streams: &str) {
    fold(text, Limits::NONE, |session| {
        let all = remarks_of(session).join(" ");
        check_session(text, session, &format!("{calls} ! {all}"));
        assert_eq!(session.counters().warnings, 0, "{text}");
        let found: Vec<_> = session
            .subscriptions()
            .map(|told| words_of(session, told))
            .collect();
        let listed: Vec<&str> = streams
            .split(", ")
            .filter(|words| !words.is_empty())
            .collect();
        assert_eq!(found.len(), listed.len(), "{text}");
        for (words, expected) in found.iter().zip(listed) {
            for word in expected.split_whitespace() {
                assert!(
                    words.iter().any(|known| known == word),
                    "{text}\n{word}: {words:?}"
                );
            }
        }
    });
}

#[test]
fn subscriptions_13() {
    for (text, calls, streams) in PAGE {
        check_streams(text, calls, streams);
    }
}

#[test]
fn how_a_stream_ends_5_2() {
    let cases = [
        (
            "> Q1 listen, < E1 -32603",
            "failed errored | errors=1",
            "Failed",
        ),
        (
            "> Q1 listen, > N cancelled{1}, < R1 {}",
            "cancelled not-late",
            "Cancelled",
        ),
        (
            "> Q1 listen, > Q1 ping",
            "superseded, pending",
            "Superseded",
        ),
        ("> Q1 listen, < R1 {}, < R1 {}", "completed", "Graceful"),
        // The server's own request of this name is no subscription, and nor is another method.
        ("< Q1 listen", "streaming", ""),
        ("> Q1 resources/subscribe{uri:u}", "pending", ""),
    ];
    for (text, calls, streams) in cases {
        fold(text, Limits::NONE, |session| {
            let all = remarks_of(session).join(" ");
            check_session(text, session, &format!("{calls} ! {all}"));
            let ends: Vec<_> = session
                .subscriptions()
                .map(|told| format!("{:?}", told.end))
                .collect();
            assert_eq!(ends.join(", "), streams, "{text}");
        });
    }
}

#[test]
fn what_belongs_to_a_stream() {
    let listen = "> {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"subscriptions/listen\",\"params\":{\"notifications\":\
                  {\"toolsListChanged\":true,\"promptsListChanged\":false,\"resourceSubscriptions\":[\"a:b\",5,\"c:d\"],\"taskIds\":[\"t\"]}}}";
    let streaming = "streaming";
    check_streams(
        listen,
        streaming,
        "tools=Yes prompts=No updates=Yes uris=a:b+c:d tasks=t more=1",
    );
    let cases = [
        (
            "< N tools/list_changed{sub 1}, < N tools/list_changed{sub 1.0}, < N x{sub 1}",
            "delivered=3 notifications/tools/list_changed=2 x=1 rows=3",
        ),
        ("< N tools/list_changed", "delivered=0"),
        (
            "< N tools/list_changed{sub \"1\"}, < N tools/list_changed{sub 2}",
            "delivered=0",
        ),
        ("> N tools/list_changed{sub 1}", "delivered=0"),
        ("< N tools/list_changed{sub [R]} [red]", "delivered=0"),
        ("< N message{subscriptionId:1}", "delivered=0"),
        (
            "< N …/acknowledged{sub 1}, < N …/acknowledged{sub 1}",
            "delivered=0 acknowledged rows=2",
        ),
    ];
    for (more, expected) in cases {
        check_streams(&format!("> Q1 listen, {more}"), streaming, expected);
    }
    // Over HTTP the exchange names the stream where the id is missing, for what streams bring.
    let http = |more: &str| format!("> Q1 listen [c=a x=3], > Q1 listen [c=b x=4], {more}");
    let cases = [
        (
            "< N tools/list_changed [c=a x=3]",
            "delivered=1, delivered=0",
        ),
        (
            "< N …/acknowledged [c=b x=4]",
            "not-acknowledged, acknowledged",
        ),
        (
            "< N tools/list_changed{sub [R]} [c=b x=4 red]",
            "delivered=0, delivered=1",
        ),
        ("< N message{data:x} [c=a x=3]", "delivered=0, delivered=0"),
        (
            "< N tools/list_changed{sub 1} [c=a x=4]",
            "delivered=0, delivered=1",
        ),
        (
            "< N tools/list_changed{sub 1} [c=z x=9]",
            "delivered=0, delivered=0",
        ),
    ];
    for (more, expected) in cases {
        check_streams(&http(more), "streaming, streaming", expected);
    }
}

#[test]
fn a_redacted_filter_is_unknown_21() {
    let text = "> {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"subscriptions/listen\",\"params\":{\"notifications\":\
                {\"toolsListChanged\":\"[REDACTED]\",\"resourceSubscriptions\":[\"[REDACTED]\"],\"promptsListChanged\":true}}} [red]";
    check_streams(
        text,
        "streaming",
        "tools=Unknown prompts=Yes updates=Yes uris= more=1",
    );
    let whole = "> {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"subscriptions/listen\",\"params\":{\"notifications\":\"[REDACTED]\"}} [red]";
    check_streams(
        whole,
        "streaming",
        "tools=Unknown prompts=Unknown updates=Unknown",
    );
}
