//! Session-model.md 17: its tables as tests.

use std::fmt::Write as _;

use super::*;

pub(super) const ROWS: &[(&str, usize)] = &[
    ("17 percentiles", PERCENTILES.len()),
    ("17 tools", PAGE.len()),
];

/// Durations; p50, p95, p99.
const PERCENTILES: [(&[u64], [u64; 3]); 3] = [
    (&[10, 20, 30, 40, 100], [30, 100, 100]),
    (&[25], [25, 25, 25]),
    (&[], [0, 0, 0]),
];

#[test]
fn percentiles_17() {
    for (durations, expected) in PERCENTILES {
        let mut all = Durations::default();
        for nanos in durations {
            all.add(*nanos);
        }
        assert_eq!([50, 95, 99].map(|at| all.percentile(at)), expected);
    }
}

/// Row, frames, figures of tool `t`.
const PAGE: [(&str, &str, &str); 7] = [
    (
        "25 ms ok; id reused after 1 s",
        "> Q1 call t, @25 < R1 {}, > Q2 call t, @1000 > Q2 call t",
        "calls=3 pending=1 errors=0 p50=25 superseded=1",
    ),
    (
        "ok 25 ms; cancelled after 1 s, no answer",
        "> Q1 call t, @25 < R1 {}, @25 > Q2 call t, @1000 > N cancelled{2}",
        "calls=2 cancelled=1 p50=25 measured=1 slowest=1",
    ),
    (
        "cancelled, answered at 2000 ms",
        "> Q1 call t, > N cancelled{1}, @2000 < R1 {}",
        "p50=2000",
    ),
    (
        "MRTR of three hops",
        "> Q1 call t, < R1 IR{k;st=A}, > Q2 retry{k;st=A}, < R2 IR{k;st=B}, > Q3 retry{k;st=B}, < R3 {}",
        "calls=1 max_round_trips=3",
    ),
    (
        "task failed without error object; task completed with isError",
        "> Q1 call t, < R1 {resultType:task,taskId:a,status:working}, < N notifications/tasks{a,failed}, > Q2 call t, < R2 {resultType:task,taskId:b,status:working}, < N notifications/tasks{b,completed,result:{isError:true}}",
        "errors=2 protocol=1 tool=1",
    ),
    (
        "task cancelled",
        "> Q1 call t, < R1 {resultType:task,taskId:a,status:working}, < N notifications/tasks{a,cancelled}",
        "errors=0 measured=0 slowest=0 cancelled=1",
    ),
    (
        "401 after 3 ms, then ok 80 ms",
        "> Q1 call t [x=1], @3 < H401 [x=1], > Q2 call t [x=2], @80 < R2 {} [x=2]",
        "calls=2 p50=80 measured=1",
    ),
];

fn words(session: &Session) -> Vec<String> {
    let tool = &session.tools()["t"];
    let at = |percent| tool.durations.percentile(percent) / 1_000_000;
    vec![
        format!("calls={}", tool.calls),
        format!("pending={}", tool.pending),
        format!("errors={}", tool.protocol_errors + tool.tool_errors),
        format!("protocol={}", tool.protocol_errors),
        format!("tool={}", tool.tool_errors),
        format!("cancelled={}", tool.cancelled),
        format!("superseded={}", tool.superseded),
        format!("max_round_trips={}", tool.max_round_trips),
        format!("measured={}", tool.durations.len()),
        format!("p50={}", at(50)),
        format!("slowest={}", session.slowest_calls().len()),
        format!("bytes={}", tool.result_bytes),
        format!("max_bytes={}", tool.max_result_bytes),
        format!("approximate={}", tool.bytes_approximate()),
    ]
}

#[test]
fn tools_17() {
    let more = [
        (
            "results count, of errors `isError` alone",
            "> Q1 call t, < R1 {content:[],isError:true}, > Q2 call t, < E2 -1",
            "errors=2 tool=1 bytes=29 max_bytes=29 approximate=false",
        ),
        (
            "a cut result is a floor",
            "> Q1 call t, < {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[ [trunc]",
            "calls=1 errors=0 approximate=true",
        ),
        (
            "a cut result that is taken back is none",
            "> Q1 call t [x=4 v=2026-07-28], < T \"{\"id\":1,\"result\":{\" [trunc x=4], closed: server [x=4]",
            "calls=1 errors=1 bytes=0 approximate=false",
        ),
        (
            "one of two stays a floor",
            "> Q1 call t [x=4 v=2026-07-28], < T \"{\"id\":1,\"result\":{\" [trunc x=4], > Q2 call t [x=5 v=2026-07-28], < T \"{\"id\":2,\"result\":{\" [trunc x=5], closed: server [x=4]",
            "calls=2 errors=1 approximate=true",
        ),
        (
            "a late cut result that is taken back is none",
            "> Q1 call t [x=4 v=2026-07-28], > N cancelled{1} [x=5], < T \"{\"id\":1,\"result\":{\" [trunc x=4], closed: server [x=4]",
            "cancelled=1 errors=0 approximate=false",
        ),
        (
            "a redacted result is an estimate",
            "> Q1 call t, < R1 {content:[\"[R]\"]} [red]",
            "approximate=true",
        ),
        (
            "a cut error is none",
            "> Q1 call t, < {\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"content\":[ [trunc]",
            "errors=1 approximate=false",
        ),
    ];
    for (row, text, expected) in PAGE.into_iter().chain(more) {
        fold(text, Limits::NONE, |session| {
            let found = words(session);
            for word in expected.split_whitespace() {
                assert!(
                    found.iter().any(|known| known == word),
                    "{row}\n{word}: {found:?}"
                );
            }
        });
    }
}

#[test]
fn the_five_slowest_are_in_order_and_keep_their_place_among_all_calls() {
    let mut text = String::from("> Q0 ping, < R0 {}\n");
    for (id, millis) in [(1, 30), (2, 10), (3, 50), (4, 30), (5, 20), (6, 40), (7, 5)] {
        writeln!(
            text,
            "@1000 > Q{id} call t{id}\n@{} < R{id} {{isError:{}}}\n",
            1000 + millis,
            id == 3
        )
        .unwrap();
    }
    let rows = Limits {
        rows: Some(2),
        body_bytes: Some(1),
    };
    for limits in [Limits::NONE, rows] {
        fold(&text, limits, |session| {
            let found: Vec<_> = session
                .slowest_calls()
                .iter()
                .map(|slow| {
                    (
                        slow.call.0,
                        &*slow.id,
                        &*slow.tool,
                        slow.nanos / 1_000_000,
                        slow.is_error,
                    )
                })
                .collect();
            let expected = [
                (3, "3", "t3", 50, true),
                (6, "6", "t6", 40, false),
                (1, "1", "t1", 30, false),
                (4, "4", "t4", 30, false),
                (5, "5", "t5", 20, false),
            ];
            assert_eq!(found, expected);
        });
    }
}
