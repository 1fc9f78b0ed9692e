//! Session-model.md 6: its table as tests, and the shares of tasks.

use super::*;

/// Rows of the page's table that are tests here.
pub(super) const ROWS: &[(&str, usize)] = &[("6", PAGE.len())];

const PAGE: [(&str, &str); 7] = [
    (
        "`> Q1 call b`, `@400 < R1 IR{k;st=A}`, `@12400 > Q2 retry{k;st=A}`, `@12700 < R2 IR{s;st=B}`, `@37700 > Q3 retry{s;st=B}`, `@38200 < R3 {}`",
        "completed server=1200 client=37000 38200ms hops=3",
    ),
    (
        "`> Q1 call b`, `@400 < R1 IR{k;st=A}`, `@12400 > Q2 retry{k;st=A}`, `@12700 < R2 IR{s;st=B}`",
        "input server=700 client=12000 no-duration hops=2",
    ),
    (
        "`> Q1 call t`, `@5000 < R1 IR{k;st=A}`, `@3000 > Q2 retry{k;st=A}`, `@10000 < R2 {}`",
        "completed server=10000 client=0 10000ms hops=2",
    ),
    (
        "`> Q1 call t`, `@400 < R1 IR{;st=A}`, `@9000 < R1 IR{;st=A}` (resent), `@20000 > Q2 retry{;st=A}`, `@20500 < R2 {}`",
        "completed server=900 client=19600 20500ms hops=2",
    ),
    (
        "`> Q1 call t`, `@2000 > N cancelled{1}`, `@9000 < R1 {}`",
        "cancelled late server=9000 client=0 9000ms hops=1",
    ),
    (
        "`< Q1 sampling/createMessage`, `@3000 > R1 {}`",
        "completed server=0 client=3000 3000ms hops=1",
    ),
    (
        "`> Q1 call t`, `@400 < R1 IR{k;st=A}`, `@9000 > N cancelled{1}`",
        "input server=400 client=0 no-duration hops=1",
    ),
];

/// The calls and figures alone: what is remarked is the business of other tables.
#[track_caller]
fn check_times(text: &str, expected: &str) {
    fold(text, Limits::NONE, |session| {
        let all = remarks_of(session).join(" ");
        check_session(text, session, &format!("{expected} ! {all}"));
    });
}

#[test]
fn times_6() {
    for (text, expected) in PAGE {
        check_times(text, expected);
    }
}

#[test]
fn a_task_that_waits_for_input_runs_on_the_time_of_the_client_6_3() {
    let extension =
        "> Q1 call s, @100 < R1 task t working, @1000 < N notifications/tasks{t,input_required}";
    let core = "> Q1 call s{task:{}}, @100 < R1 {task:{taskId:t,status:working}}, @1000 < N notifications/tasks/status{t,input_required}";
    let meta = "_meta:{\"io.modelcontextprotocol/related-task\":{taskId:t}}";
    let done = "@9000 < N notifications/tasks{t,completed}";
    let cases = [
        (extension.to_owned(), "task server=1000 client=0 shown=TaskInput no-duration"),
        (
            format!("{extension}, @5000 > Q2 tasks/update{{t}}, {done}"),
            "completed server=5000 client=4000 9000ms hops=1, pending",
        ),
        // Told twice it is one wait; what ends it without an answer that was seen is the next status.
        (
            format!("{extension}, @3000 < N notifications/tasks{{t,input_required}}, @5000 < N notifications/tasks{{t,working}}, {done}"),
            "completed server=5000 client=4000",
        ),
        (format!("{extension}, {done}"), "completed server=1000 client=8000 9000ms"),
        (
            format!("{core}, @2000 < Q9 elicitation/create{{mode:form,{meta}}}, @5000 > R9 {{action:accept}}, @9000 < N notifications/tasks/status{{t,completed}}"),
            "completed server=5000 client=4000 9000ms, completed server=0 client=3000",
        ),
        // Another task, and a question without a link to this one.
        (
            format!("{core}, @2000 < Q9 elicitation/create{{mode:form}}, @5000 > R9 {{action:accept}}, @9000 < N notifications/tasks/status{{t,completed}}"),
            "completed server=1000 client=8000, completed",
        ),
        (format!("{extension}, @5000 > Q2 tasks/update{{u}}, {done}"), "completed server=1000 client=8000, pending"),
        (format!("{extension}, @5000 > Q2 tasks/get{{t}}, {done}"), "completed server=1000 client=8000, pending"),
        // Run by the client the shares swap.
        (
            "< Q1 sampling/createMessage{task:{}}, @100 > R1 {task:{taskId:t,status:working}}, @1000 > N notifications/tasks/status{t,input_required}, @9000 > N notifications/tasks/status{t,completed}".to_owned(),
            "completed server=8000 client=1000 9000ms",
        ),
    ];
    for (text, expected) in &cases {
        check_times(text, expected);
    }
}

#[test]
fn shares_of_operations_that_end_otherwise() {
    let cases = [
        // A cancellation while the server works is the server's time, the wait before it the client's.
        (
            "> Q1 call t, @400 < R1 IR{k;st=A}, @1000 > Q2 retry{k;st=A}, @1500 > N cancelled{2}",
            "cancelled server=900 client=600 no-duration hops=2",
        ),
        (
            "> Q1 call t, @400 < R1 IR{k;st=A}, @1000 > Q2 retry{k;st=A}, @1500 > N cancelled{2}, @2000 < R2 {}",
            "cancelled late server=1400 client=600 2000ms hops=2",
        ),
        (
            "> Q1 call t, @400 < R1 IR{k;st=A}, @1000 > Q2 retry{k;st=A}, @1500 < E2 -32603",
            "failed server=900 client=600 1500ms hops=2",
        ),
        // A late interim result is a late answer, and does not park.
        (
            "> Q1 call t, @400 > N cancelled{1}, @1000 < R1 IR{k;st=A}",
            "cancelled late server=1000 client=0 1000ms hops=1 | parked=0",
        ),
    ];
    for (text, expected) in cases {
        check(text, expected);
    }
}
