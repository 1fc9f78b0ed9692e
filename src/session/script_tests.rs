//! The worked tables of session-model.md as tests: a script in, calls and counters out.

use std::sync::Arc;

use super::*;
use crate::record::{HostName, SessionKey, script};

fn key() -> SessionKey {
    SessionKey {
        host: HostName::local(),
        id: Arc::from("s"),
    }
}

/// Folds a script and hands the session on.
pub(super) fn fold<T>(text: &str, limits: Limits, look: impl FnOnce(&Session) -> T) -> T {
    let mut model = Model::new(limits);
    for envelope in script::session(text).unwrap() {
        model.ingest(&key(), &envelope, None, None, &mut Vec::new());
    }
    model.settle(&mut Vec::new());
    look(model.session(&key()).unwrap())
}

fn word_of(state: CallState) -> &'static str {
    match state {
        CallState::Pending(WaitingOn::Responder) => "pending",
        CallState::Pending(WaitingOn::Client) => "input",
        CallState::Pending(WaitingOn::Task) => "task",
        CallState::Streaming => "streaming",
        CallState::Completed => "completed",
        CallState::Failed => "failed",
        CallState::Cancelled => "cancelled",
        CallState::Superseded => "superseded",
    }
}

/// Every word that may be said of a call.
fn words_of(call: &Call) -> Vec<String> {
    let mut words = vec![
        word_of(call.state).to_owned(),
        format!("hops={}", call.hop_count),
        format!("server={}", call.server_nanos / 1_000_000),
        format!("client={}", call.client_nanos / 1_000_000),
        format!("http={}", call.http_status),
        format!("name={}", call.operation.as_deref().unwrap_or("-")),
        format!("reason={}", call.cancel_reason.as_deref().unwrap_or("-")),
        format!("progress={}", call.progress_count),
        format!("bytes={}", call.result_bytes),
        format!("id={}", &*call.hops[0].json_id),
        match call.duration_nanos() {
            Some(nanos) => format!("{}ms", nanos / 1_000_000),
            None => "no-duration".to_owned(),
        },
    ];
    for (on, word) in [
        (call.errored, "errored"),
        (call.tool_error, "tool_error"),
        (call.late_result, "late"),
        (call.lost, "lost"),
        (call.uncertain, "uncertain"),
        (call.resolved, "resolved"),
        (call.result_truncated, "result_truncated"),
        (call.request_truncated, "request_truncated"),
    ] {
        words.push(if on {
            word.to_owned()
        } else {
            format!("not-{word}")
        });
    }
    words
}

fn figure(session: &Session, name: &str) -> u64 {
    let counters = session.counters();
    match name {
        "frames" => counters.frames,
        "requests" => counters.requests,
        "responses" => counters.responses,
        "notifications" => counters.notifications,
        "invalid" => counters.invalid,
        "stderr" => counters.stderr_lines,
        "errors" => counters.errors,
        "pending" => counters.pending,
        "parked" => counters.parked,
        "uncertain" => counters.pending_uncertain,
        "streaming" => counters.streaming,
        "late_results" => counters.late_results,
        "cancelled" => counters.cancelled,
        "superseded" => counters.superseded,
        "conflicts" => counters.conflicts,
        "missing" => session.missing_frames(),
        "not_loaded" => session.not_loaded(),
        "dropped" => session.dropped_by_writer().unwrap(),
        "owed" => session.machine.owed,
        other => panic!("no figure {other}"),
    }
}

/// Checks a session against `CALL, CALL | FIGURE=N …`: each call is a list of words that are true of
/// it, and there are as many calls as are listed.
#[track_caller]
fn check_session(text: &str, session: &Session, expected: &str) {
    let (calls, figures) = expected.split_once('|').unwrap_or((expected, ""));
    let listed: Vec<&str> = match calls.trim() {
        "" => Vec::new(),
        calls => calls.split(',').collect(),
    };
    let found: Vec<Vec<String>> = session.calls().map(|call| words_of(&call)).collect();
    assert_eq!(found.len(), listed.len(), "{text}\n{found:?}");
    for (words, expected) in found.iter().zip(listed) {
        for word in expected.split_whitespace() {
            assert!(
                words.iter().any(|known| known == word),
                "{text}\n{word}: {words:?}"
            );
        }
    }
    for wanted in figures.split_whitespace() {
        let (name, value) = wanted.split_once('=').unwrap();
        assert_eq!(figure(session, name).to_string(), value, "{text}\n{name}");
    }
    check_sums(session);
}

/// P8 of session-model.md 23.
#[track_caller]
pub(super) fn check_sums(session: &Session) {
    let counters = session.counters();
    let hops: u64 = session.calls().map(|call| u64::from(call.hop_count)).sum();
    if counters.dropped_from_memory == 0 && counters.forgotten_calls == 0 {
        assert_eq!(counters.requests, hops);
        let rows = (0..session.row_count()).filter_map(|at| session.row(at));
        let errored = rows.filter(|row| row.flags.errored).count() as u64;
        assert_eq!(counters.errors, errored);
    }
    let sum = counters.pending
        + counters.streaming
        + counters.completed
        + counters.failed
        + counters.cancelled
        + counters.superseded;
    assert_eq!(session.call_count() - counters.forgotten_calls, sum);
    let open = session.calls().filter(|call| call.is_open()).count() as u64;
    assert_eq!(counters.pending + counters.streaming, open);
    for call in session.calls() {
        let status = call.status();
        assert!(call.errored || status != DisplayStatus::Error, "{call:?}");
        if let Some(nanos) = call.duration_nanos() {
            assert_eq!(nanos, call.server_nanos + call.client_nanos);
        }
    }
}

#[track_caller]
fn check(text: &str, expected: &str) {
    fold(text, Limits::NONE, |session| {
        check_session(text, session, expected);
    });
}

#[track_caller]
fn check_kind(text: &str, kind: Kind) {
    fold(text, Limits::NONE, |session| {
        let last = session.row(session.row_count() - 1).unwrap();
        assert_eq!(last.kind, kind, "{text}");
        let bad = u64::from(kind == Kind::Invalid);
        assert_eq!(session.counters().invalid, bad, "{text}");
    });
}

#[test]
fn merging_2_1_and_2_3() {
    check("#1 > N a, #1 > N a", "| frames=1 conflicts=0");
    check("#1 > N a, #2 > N b, #5 > N c", "| missing=2");
    check(
        "#1 > N a, #2 > N b, #5 > N c, #4 > N d",
        "| missing=1 frames=4",
    );
    check(
        "#1 > N a, #2 > N b, #5 > N c, #4 > N d, #3 > N e, #3 > N e",
        "| missing=0 frames=5",
    );
    check("#3 > N a, #4 > N b", "| missing=2 not_loaded=0");
    check(
        "#1 > N a, #2 > N b, #6 end{dropped:3}",
        "| missing=3 dropped=3 frames=2",
    );
    check("#2 > N a, #1 > N b, #4 > N c, #3 > N d", "| missing=0");
}

#[test]
fn two_contents_of_one_number_leave_one_that_order_does_not_choose() {
    let cases = [
        ("#1 @5 > N a", "#1 @3 > N b", "b"),
        ("#1 @3 > N a", "#1 @5 > N b [red]", "b"),
        ("#1 @3 > N a", "#1 @3 > Q1 b", "?"),
    ];
    for (one, other, winner) in cases {
        let method = |text: &str| {
            fold(text, Limits::NONE, |session| {
                assert_eq!(session.counters().conflicts, 1, "{text}");
                assert_eq!(session.row_count(), 1);
                check_sums(session);
                session.row(0).unwrap().method.unwrap().to_owned()
            })
        };
        let forth = method(&format!("{one}\n{other}\n{other}"));
        let back = method(&format!("{other}\n{one}\n{one}"));
        assert_eq!(forth, back);
        assert!(winner == "?" || winner == forth);
    }
}

#[test]
fn kinds_3_2() {
    let cases = [
        (r#"< T "Listening on 3000""#, Kind::Invalid),
        (r#"< {"hello":1}"#, Kind::Invalid),
        (r#"< {"id":1}"#, Kind::Invalid),
        (r#"< {"jsonrpc":"2.0","id":100}"#, Kind::Response),
        (r#"> {"id":1,"method":"tools/list"}"#, Kind::Request),
        (
            r#"> {"jsonrpc":"2.0","ID":1,"method":"x"}"#,
            Kind::Notification,
        ),
        (
            r#"< {"jsonrpc":"2.0","id":1,"result":null}"#,
            Kind::Response,
        ),
        (
            r#"< {"jsonrpc":"2.0","id":1,"error":"boom"}"#,
            Kind::Response,
        ),
        (r#"< {"error":"invalid_token"} [st=401]"#, Kind::Transport),
        (
            r#"< {"error":{"message":"no route"}} [st=404]"#,
            Kind::Transport,
        ),
        (r#"< T "<html>" [st=502]"#, Kind::Transport),
        (r#"< T "Accepted" [st=202]"#, Kind::Transport),
        (r#"< T "<html>" [st=200]"#, Kind::Invalid),
        (
            r#"< {"jsonrpc":"2.0","id":1,"error":{"code":-1}} [st=400]"#,
            Kind::Response,
        ),
        ("< H202", Kind::Transport),
        ("< H401", Kind::Transport),
        (r#"< T "/messages?s=1" [event=endpoint]"#, Kind::Other),
        (r#"stderr "debug""#, Kind::Stderr),
        (r#"< T "" [trunc]"#, Kind::Other),
        ("> []", Kind::Invalid),
    ];
    for (text, kind) in cases {
        check_kind(text, kind);
    }
    check(r#"stderr "debug""#, "| stderr=1 errors=0");
}

#[test]
fn batches_3_3() {
    check(
        "> [Q1 call a, Q2 call b, N n]\n< [R2, R1]",
        "completed name=a, completed name=b | requests=2 responses=2 notifications=1 missing=0",
    );
    check("> [5, Q1 ping]", "pending | invalid=1 requests=1");
    let whole = r#"> {"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    check(whole, "pending");
}

#[test]
fn truncated_3_4() {
    check(
        "> {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"big\",\"arguments\":{\"b\":\"AAA [trunc]\n< R1 {}",
        "completed name=big request_truncated | invalid=0 errors=0",
    );
    check(
        "> {\"params\":{\"x\":\"AAA [trunc]\n< R1 {}\n< R99 {}",
        "| errors=0 invalid=0",
    );
    check(
        "> Q1 call t\n< {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[ [trunc]",
        "completed result_truncated | pending=0",
    );
    check(
        "> Q1 call t\n< {\"result\":{\"content\":[ [trunc]",
        "pending uncertain | pending=1 uncertain=1 owed=0",
    );
    check(
        "> Q1 call t\n< T \"…\" [trunc peek={id:1,has:result}]",
        "completed result_truncated",
    );
    check(
        "> Q1 call t [x=4]\n< H200 [unobserved x=4]",
        "pending uncertain | pending=1 errors=0",
    );
}

#[test]
fn correlation_4_8() {
    let cases = [
        ("> Q1 call t, @200 < R1 {}", "completed 200ms"),
        ("> Q1 call t, < R1.0 {}", "completed"),
        ("> Q1 call t, < R\"1\" {}", "pending | pending=1"),
        ("> Q\"a\" ping, < R\"\\u0061\" {}", "completed"),
        (
            "> Q1 ping, < Q1 sampling/createMessage, > R1 {}, < R1 {}",
            "completed, completed",
        ),
        (
            "> Qnull call a, > Qnull call b, < E(null) -32700",
            "pending, pending | errors=1",
        ),
        ("< R(null) {}", "| errors=0"),
        ("< R404 {}", "| errors=0 responses=1"),
        ("#4 < R404 {}", "| missing=3"),
        (
            "> Q1 call a, > Q1 call b, < R1 {}",
            "superseded name=a, completed name=b | pending=0",
        ),
        (
            "> Q1 call a, > Q1 call b, < R1 {}, < R1 {}",
            "superseded, completed | pending=0 responses=2",
        ),
        (
            "> Q7 subscriptions/listen, > Q7 tools/list, < R7 {}",
            "superseded, completed | pending=0 streaming=0",
        ),
        (
            "> Q1 ping [c=a], > Q1 ping [c=b], < R1 {} [c=a], < R1 {} [c=b]",
            "completed, completed",
        ),
        (
            "> Q1 ping [c=a], > Q1 ping [c=a]",
            "superseded, pending | superseded=1",
        ),
        ("< Q5 roots/list [c=a x=1], > R5 {} [c=b x=2]", "completed"),
        (
            "< Q5 roots/list [c=10.0.0.1:1], < Q5 roots/list [c=10.0.0.2:1], > R5 {} [c=10.0.0.1:2]",
            "completed, pending",
        ),
        (
            "> Q1 call t, < R1 {}, < R1 {}",
            "completed | responses=2 pending=0",
        ),
        (
            "#1 > Q1 call t, #2 < R1 {}, #4 < R1 {}",
            "completed | missing=1",
        ),
        (
            "> Q7 x, < E7 -32601, < E7 -32601",
            "failed errored | errors=1",
        ),
        (
            "> Q[R] a [red], > Q[R] b [red]",
            "pending, pending | superseded=0",
        ),
        // A number that was not seen between the two may be the answer to the first.
        (
            "#1 > Q1 call a, #3 > Q1 call b",
            "pending uncertain, pending not-uncertain | superseded=0 uncertain=1 missing=1",
        ),
        (
            "#1 > Q1 call a, #3 > Q1 call b, #4 < R1 {}",
            "pending uncertain, completed | superseded=0 owed=0",
        ),
        (
            "#1 > Q1 call a, #3 > Q1 call b, #2 < R1 {}",
            "completed, pending | superseded=0",
        ),
        (
            "#1 > Q1 call a, #3 > Q1 call b, #2 > N a",
            "superseded, pending | superseded=1",
        ),
        (
            "#2 > Q1 call a, #3 > Q1 call b, #5 > N a",
            "superseded, pending uncertain | superseded=1 missing=2",
        ),
        (
            "#1 > Q1 call a, #3 > Q1 call b, #4 > Q1 call c",
            "pending uncertain, superseded, pending | superseded=1",
        ),
        (
            "> Q1 call a [x=1], > Q1 call b [x=2], < R1 {} [x=1], < R1 {} [x=2]",
            "completed, completed",
        ),
    ];
    for (text, expected) in cases {
        check(text, expected);
    }
}

#[test]
fn an_answer_that_overtook_its_request_in_an_old_log() {
    check(
        "@10 < R1 {}, @11 > Q1 ping",
        "completed no-duration | pending=0 errors=0",
    );
    check(
        "@10 < E1 -32601, @11 > Q1 ping",
        "failed errored | errors=1 pending=0",
    );
    check("@10 < R1 {}, @40 > Q1 ping", "pending | pending=1");
    check("meta {format:7}, @10 < R1 {}, @11 > Q1 ping", "pending");
}

#[test]
fn times_6() {
    let rounds =
        "> Q1 call b, @400 < R1 IR{k;st=A}, @12400 > Q2 retry{k;st=A}, @12700 < R2 IR{s;st=B}";
    check(rounds, "input server=700 client=12000 no-duration hops=2");
    check(
        &format!("{rounds}, @37700 > Q3 retry{{s;st=B}}, @38200 < R3 {{}}"),
        "completed server=1200 client=37000 38200ms hops=3",
    );
    let cases = [
        (
            "> Q1 call t, @5000 < R1 IR{k;st=A}, @3000 > Q2 retry{k;st=A}, @10000 < R2 {}",
            "completed server=10000 client=0 10000ms hops=2",
        ),
        (
            "> Q1 call t, @400 < R1 IR{;st=A}, @9000 < R1 IR{;st=A} (resent), @20000 > Q2 retry{;st=A}, @20500 < R2 {}",
            "completed server=900 client=19600 20500ms hops=2",
        ),
        (
            "> Q1 call t, @2000 > N cancelled{1}, @9000 < R1 {}",
            "cancelled late server=9000 client=0 9000ms hops=1",
        ),
        (
            "< Q1 sampling/createMessage, @3000 > R1 {}",
            "completed server=0 client=3000 3000ms hops=1",
        ),
        (
            "> Q1 call t, @400 < R1 IR{k;st=A}, @9000 > N cancelled{1}",
            "input server=400 client=0 no-duration hops=1",
        ),
    ];
    for (text, expected) in cases {
        check(text, expected);
    }
}

#[test]
fn cancellation_7_3() {
    let job = "> Q\"j\" call t, @250 > N cancelled{\"j\",reason:\"x\"}";
    check(
        job,
        "cancelled reason=x no-duration not-late | pending=0 errors=0 cancelled=1",
    );
    let late = format!("{job}, @1000 < R\"j\" {{}}");
    check(&late, "cancelled late 1000ms | errors=0 late_results=1");
    check(
        &format!("{late}, @2000 < R\"j\" {{}}"),
        "cancelled late 1000ms | late_results=1 responses=2",
    );
    let cases = [
        (
            "> Q7 call t, > N cancelled{7}, < E7 -32603",
            "cancelled late errored | errors=1",
        ),
        (
            "> Q7 call t, > N cancelled{7}, < E7 -32800",
            "cancelled late not-errored | errors=0",
        ),
        (
            "> Q7 call t, > N cancelled{7}, < R7 {isError:true}",
            "cancelled late tool_error | errors=1",
        ),
        (
            "> Q1 tools/list, > N cancelled{1}, < R1 {tools:[s]}",
            "cancelled late | errors=0",
        ),
        (
            "> Q3 call t, < R3 {}, > N cancelled{3}",
            "completed | cancelled=0",
        ),
        ("> Q3 call t, > N cancelled{404}", "pending | pending=1"),
        (
            "< Q1 sampling/createMessage, > N cancelled{1}",
            "pending | pending=1",
        ),
        (
            "> Q3 call t, < R3 task t1 working, > N cancelled{3}, < N notifications/tasks{t1,failed}",
            "failed errored | errors=1",
        ),
        (
            "> Q5 subscriptions/listen, < N cancelled{5}, < R5 {}",
            "cancelled not-late | late_results=0 streaming=0",
        ),
        (
            "> Q3 call t [c=a x=1], > N cancelled{3} [c=b x=2]",
            "cancelled",
        ),
        (
            "> Q3 call t [c=a], > Q3 call t [c=b], > N cancelled{3} [c=d]",
            "pending, pending",
        ),
    ];
    for (text, expected) in cases {
        check(text, expected);
    }
}

#[test]
fn http_8_1() {
    let cases = [
        (
            "> Q1 call w [x=7], < H401 [x=7]",
            "failed http=401 | pending=0 errors=1",
        ),
        (
            "> Q1 call w [x=7], < T \"<html>\" [x=7 st=502]",
            "failed http=502 | errors=1",
        ),
        (
            "> Q1 call w [x=7], < E(null) -32001 [x=7 st=401]",
            "failed | errors=1",
        ),
        (
            "> Q1 call w [x=7], < E\"server-error\" -32600 [x=7 st=400]",
            "failed | errors=1",
        ),
        (
            "> Q1 call w [x=7], < E(null) -32600 [x=7 st=200]",
            "failed | errors=1",
        ),
        (
            "> [Q1 call a, Q2 call b] [x=7], < H503 [x=7]",
            "failed, failed | errors=1",
        ),
        (
            "> Q1 call w [c=a], < H401 [c=a]",
            "pending | pending=1 errors=1",
        ),
        (
            "> Q1 call w [x=5], < H202 [x=5]",
            "pending | pending=1 errors=0",
        ),
        (
            "> Q1 call w [x=5], < H503 [x=8]",
            "pending | pending=1 errors=1",
        ),
        (
            "> Q1 call w [x=5], < E1 -32020 [x=5 st=400]",
            "failed | errors=1",
        ),
        (
            "> Q1 call b [x=1], < R1 IR{k;st=A} [x=1], > Q2 retry{k;st=A} [x=2], < H502 [x=2]",
            "failed http=502 hops=2 | pending=0",
        ),
        ("< H204", "| errors=0"),
        ("< H405 [x=3]", "| errors=0"),
        ("< E(null) -32000 [x=3 st=405]", "| errors=0"),
        ("< H405 [c=a]", "| errors=0"),
        ("> Q1 tools/list [c=a], < H405 [c=a]", "pending | errors=1"),
        (
            "> Q1 tools/list [x=4], < H405 [x=4]",
            "failed http=405 | errors=1",
        ),
        (
            "> N notifications/initialized [x=5], < H400 [x=5]",
            "| errors=1",
        ),
    ];
    for (text, expected) in cases {
        check(text, expected);
    }
}

#[test]
fn probes_8_4() {
    let greeting = "> Q2 initialize{}, < R2 {protocolVersion:2025-11-25}";
    let probe = "> Q1 server/discover, < E1 -32601";
    check(probe, "failed resolved | errors=0");
    check(
        &format!("{probe}, {greeting}"),
        "failed resolved, completed | errors=0",
    );
    check(
        &format!("{probe}, > Q2 ping"),
        "failed errored, pending | errors=1",
    );
    check(
        "> Q1 server/discover [x=1], < E1 -32601 [x=1]",
        "failed errored | errors=1",
    );
    check(
        &format!("> Q1 server/discover, {greeting}"),
        "pending resolved, completed | owed=0 errors=0",
    );
    check(
        "> Q1 server/discover [x=1], < H405 [x=1], > Q2 initialize{} [x=2], < R2 {} [x=2]",
        "failed resolved http=405, completed | errors=0",
    );
    check(
        &format!("> Q0 ping, < R0 {{}}, > Q1 server/discover, < E1 -32022, {greeting}"),
        "completed, failed errored, completed | errors=1",
    );
}

#[test]
fn progress_9_is_tied_to_its_call() {
    check(
        "> Q1 call t{_meta:{progressToken:\"p\"}}\n< N progress{progressToken:\"p\",progress:50}\n< N progress{progressToken:\"p\",progress:20}\n< R1 {}",
        "completed progress=2",
    );
}

#[test]
fn tasks_10_3() {
    let task = "> Q1 call s, @1 < R1 {resultType:task,taskId:t,status:working}";
    check(task, "task | pending=1");
    let cases = [
        (
            "@1000 > Q2 tasks/get{t}, @10000 < R2 {taskId:t,status:completed,result:{content:[]}}",
            "completed 10000ms, completed | pending=0 errors=0",
        ),
        (
            "@1000 > Q2 tasks/get{t}, @10000 < R2 {taskId:t,status:completed,result:{isError:true}}",
            "failed tool_error, completed | errors=1",
        ),
        (
            "< N notifications/tasks{t,failed}",
            "failed errored | errors=1 pending=0",
        ),
        (
            "> Q2 tasks/cancel{t}, < R2 {}, < N notifications/tasks{t,cancelled}",
            "cancelled, completed | errors=0 pending=0",
        ),
        (
            "> Q2 tasks/cancel{t}, < R2 {}",
            "task, completed | pending=1",
        ),
        (
            "> Q2 tasks/cancel{t}, < R2 {}, > Q3 tasks/get{t}, < R3 {taskId:t,status:completed,result:{}}",
            "completed, completed, completed",
        ),
    ];
    for (more, expected) in cases {
        check(&format!("{task}, {more}"), expected);
    }
    check("> Q9 tasks/get{missing}, < E9 -32602", "failed | errors=1");
    let core = "> Q1 call s{task:{}}, @5 < R1 {task:{taskId:t,status:working}}";
    check(
        &format!(
            "{core}, @900 < N notifications/tasks/status{{t,completed}}, @950 > Q2 tasks/result{{t}}, @960 < R2 {{content:[]}}"
        ),
        "completed 900ms bytes=14, completed",
    );
    check(
        &format!("{core}, @900 > Q2 tasks/result{{t}}, @5000 < R2 {{isError:true}}"),
        "failed tool_error 5000ms, completed | errors=1",
    );
    check(
        "< Q1 elicitation/create{task:{}}, > R1 {task:{taskId:c,status:working}}, < Q2 tasks/result{c}, > R2 {action:accept}",
        "completed, completed",
    );
}

#[test]
fn retries_11() {
    let asked = "> Q1 call b, @10 < R1 IR{login;st=S}";
    let retried = |retry: &str| format!("{asked}, @5000 > Q2 {retry}, @6000 < R2 {{}}");
    check(
        &retried("retry{login;st=S}"),
        "completed 6000ms hops=2 server=1010 client=4990 | requests=2",
    );
    check(&retried("retry{login;st=T}"), "completed hops=2");
    check(&retried("retry{login}"), "completed hops=2");
    let cases = [
        (
            "> Q1 call b, < R1 IR{login}, > Q2 retry{login;st=S}, < R2 {}",
            "completed hops=2",
        ),
        (
            "> Q1 call b, < R1 IR{login;st=S1}, > Q2 call b, < R2 IR{login;st=S2}, > Q3 retry{login;st=unknown}",
            "input, input, pending",
        ),
        (
            "> Q1 call b, < R1 IR{login}, > Q2 call b, < R2 IR{login}, > Q3 retry{login}",
            "input, input, pending",
        ),
        (
            "> Q1 call b, < R1 IR{;st=S}, > Q2 retry{;st=T}",
            "input, pending",
        ),
        (
            "> Q1 call b, < R1 IR{k;st=S}, > Q1 retry{k;st=S}, < R1 {}",
            "completed hops=2",
        ),
        (
            "> Q1 call b, < R1 IR{k;st=A}, > Q2 retry{k;st=A}, < R2 IR{k;st=B}, > Q3 retry{k;st=B}, < R3 {}",
            "completed hops=3",
        ),
        ("> Q1 call b [v=2025-11-25], < R1 IR{k;st=A}", "completed"),
        (
            "> Q1 call b, < R1 IR{k;st=A}, > Q2 call other",
            "input name=b, pending name=other | parked=1 owed=1",
        ),
    ];
    for (text, expected) in cases {
        check(text, expected);
    }
}

#[test]
fn a_retry_repeats_parameters_by_their_meaning() {
    let request = |id: u8, params: &str| {
        format!(r#"> {{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{params}}}"#)
    };
    let first = request(
        1,
        r#"{"name":"b","arguments":{"x":1,"y":[2,{"p":0,"q":"é"}]}}"#,
    );
    let second = request(
        2,
        r#"{"name":"b","arguments":{"x":1,"y":[3,{"p":0,"q":"é"}]}}"#,
    );
    let asked = format!("{first}\n< R1 IR{{login}}\n{second}\n< R2 IR{{login}}\n");
    let answers = r#""inputResponses":{"login":{}}"#;
    let cases = [
        (
            r#""arguments":{"x":1,"y":[3,{"p":0,"q":"é"}]}"#,
            "input, pending hops=2",
        ),
        (
            r#""arguments": {"y":[3, {"q":"\u00e9","p":0}],"x" : 1}"#,
            "input, pending hops=2",
        ),
        // Look-alikes of both, which are neither.
        (
            r#""arguments":{"x":1.0,"y":[3,{"p":0,"q":"é"}]}"#,
            "input, input, pending",
        ),
        (
            r#""arguments":{"x":1,"y":[{"p":0,"q":"é"},3]}"#,
            "input, input, pending",
        ),
        (
            r#""arguments":{"x":"1","y":[3,{"p":0,"q":"é"}]}"#,
            "input, input, pending",
        ),
    ];
    for (arguments, expected) in cases {
        let retry = request(3, &format!(r#"{{{answers},"name":"b",{arguments}}}"#));
        check(&format!("{asked}{retry}"), expected);
    }
}

#[test]
fn revisions_14_3() {
    let version = |text: &str, expected: Option<&str>| {
        fold(text, Limits::NONE, |session| {
            assert_eq!(session.protocol_version(), expected, "{text}");
        });
    };
    let initialize =
        "> Q1 initialize{protocolVersion:2026-07-28}, < R1 {protocolVersion:2025-11-25}";
    version(initialize, Some("2025-11-25"));
    version(
        "> Q1 server/discover [v=2026-07-28], < E1 -32601, > Q2 initialize{}, < R2 {protocolVersion:2025-11-25}, > Q3 ping",
        Some("2025-11-25"),
    );
    version(
        "> Q1 server/discover{}, < R1 {supportedVersions:[A,B],serverInfo:{name:S,version:1}}",
        Some("A"),
    );
    version("> Q1 call t, < R1 {}", None);
}

#[test]
fn tools_17() {
    let tool = |text: &str, look: fn(&ToolStats)| {
        fold(text, Limits::NONE, |session| look(&session.tools()["t"]));
    };
    tool(
        "> Q1 call t, @25 < R1 {}, > Q2 call t, @1000 > Q2 call t",
        |tool| {
            assert_eq!((tool.calls, tool.pending, tool.protocol_errors), (3, 1, 0));
            assert_eq!(tool.durations.percentile(50), 25_000_000);
            assert_eq!(tool.superseded, 1);
        },
    );
    tool(
        "> Q1 call t, @25 < R1 {}, @25 > Q2 call t, @1000 > N cancelled{2}",
        |tool| {
            assert_eq!((tool.calls, tool.cancelled), (2, 1));
            assert_eq!(tool.durations.percentile(50), 25_000_000);
            assert_eq!(tool.durations.len(), 1);
        },
    );
    tool("> Q1 call t, > N cancelled{1}, @2000 < R1 {}", |tool| {
        assert_eq!(tool.durations.percentile(50), 2_000_000_000);
    });
    tool(
        "> Q1 call t, < R1 IR{k;st=A}, > Q2 retry{k;st=A}, < R2 IR{k;st=B}, > Q3 retry{k;st=B}, < R3 {}",
        |tool| assert_eq!((tool.calls, tool.max_round_trips), (1, 3)),
    );
    tool(
        "> Q1 call t [x=1], @3 < H401 [x=1], > Q2 call t [x=2], @80 < R2 {} [x=2]",
        |tool| {
            assert_eq!((tool.calls, tool.durations.len()), (2, 1));
            assert_eq!(tool.durations.percentile(50), 80_000_000);
        },
    );
    tool("> Q1 call t, < R1 {content:[],isError:true}", |tool| {
        assert_eq!((tool.tool_errors, tool.protocol_errors), (1, 0));
        assert_eq!((tool.result_bytes, tool.max_result_bytes), (29, 29));
    });
}

#[test]
fn health_20() {
    let health = |text: &str, expected: Health| {
        fold(text, Limits::NONE, |session| {
            assert_eq!(session.health(), expected, "{text}");
        });
    };
    health("< T \"x\", > Q1 a, < E1 -1", Health::Bad);
    health("> Q1 a, < E1 -1, > Q2 b", Health::Error);
    health("> Q1 a", Health::Pending);
    health("> Q1 call b, < R1 IR{k;st=A}", Health::Ok);
    health("> Q1 subscriptions/listen", Health::Ok);
    health("#1 > Q1 a, #3 > N b", Health::Ok);
    health("> Q1 notifications/initialized", Health::Ok);
}

#[test]
fn redaction_21() {
    let cases = [
        (
            r#"> {"jsonrpc":"[REDACTED]","id":1,"method":"ping"} [red]"#,
            "pending",
        ),
        (
            r#"> Q1 ping, < {"jsonrpc":"2.0","id":1,"error":"[REDACTED]"} [red]"#,
            "failed errored",
        ),
        ("> Q[R] call t [red x=4], < R[R] {} [red x=4]", "completed"),
        (
            "> Q1 tasks/get{[R]} [red], > Q2 tasks/get{[R]} [red]",
            "pending, pending",
        ),
    ];
    for (text, expected) in cases {
        check(text, expected);
    }
}

#[test]
fn memory_22_2() {
    let rows = |rows| Limits {
        rows: Some(rows),
        ..Limits::NONE
    };
    let bodies = |bytes| Limits {
        body_bytes: Some(bytes),
        ..Limits::NONE
    };
    let text = "> Q1 call t, > Q2 ping, < R2 {}, @500 < R1 {isError:true}";
    fold(text, rows(2), |session| {
        let tool = &session.tools()["t"];
        assert_eq!((tool.calls, tool.tool_errors), (1, 1));
        assert_eq!(tool.durations.percentile(50), 500_000_000);
        assert_eq!(session.row_count(), 2);
        assert_eq!(
            (session.counters().pending, session.counters().errors),
            (0, 1)
        );
        assert_eq!(session.counters().dropped_from_memory, 2);
        check_sums(session);
    });
    let text = "> Q1 call b, @400 < R1 IR{k;st=S}, @5000 > Q2 retry{k;st=S}, @5100 < R2 {}";
    fold(text, bodies(1), |session| {
        check_session(text, session, "completed server=500 client=4600 hops=2");
        let bodies: Vec<_> = (0..4).map(|at| session.row(at).unwrap().body).collect();
        assert!(matches!(bodies[0], Body::Released));
        assert!(matches!(bodies[3], Body::Held { .. }));
    });
}

#[test]
fn the_newest_body_is_held_whatever_its_size() {
    let limits = Limits {
        body_bytes: Some(1 << 20),
        ..Limits::NONE
    };
    let mut model = Model::new(limits);
    let big = format!("> N x{{\"a\":\"{}\"}}", "y".repeat(10 << 20));
    let frames = script::session(&format!("{big}\n> N small")).unwrap();
    let facts = &mut Vec::new();
    model.ingest(&key(), &frames[0], None, None, facts);
    assert!(model.body_bytes() > 10 << 20);
    model.ingest(&key(), &frames[1], None, None, facts);
    assert!(model.body_bytes() < 1_000);
    let session = model.session(&key()).unwrap();
    assert!(matches!(session.row(0).unwrap().body, Body::Released));
    assert!(model.remove(&key()));
    assert_eq!(model.body_bytes(), 0);
}
