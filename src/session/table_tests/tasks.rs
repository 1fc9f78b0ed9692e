//! Session-model.md 10: its table as tests, and what looks like its rows.

use super::*;

/// Rows of the page's table that are tests here.
pub(super) const ROWS: &[(&str, usize)] = &[("10.3", PAGE.len())];

const HANDLE: &str = "`> Q1 call s`, `@1 < R1 {resultType:task,taskId:t,status:working}`";
const CORE: &str = "`> Q1 call s{task:{}}`, `@5 < R1 {task:{taskId:t,status:working}}`";

/// The rows; `…` stands for the first one, `same` for the handle of the ninth.
const PAGE: [(&str, &str); 12] = [
    (
        HANDLE,
        "task shown=TaskWorking task=t | pending=1 open_tasks=1",
    ),
    (
        "… `@1000 > Q2 tasks/get{t}`, `@10000 < R2 {taskId:t,status:completed,result:{…}}`",
        "completed 10000ms observed=Poll bytes=2, completed | pending=0 errors=0",
    ),
    (
        "… `@1000 > Q2 tasks/get{t}`, `@10000 < R2 {taskId:t,status:completed,result:{isError:true}}`",
        "failed tool_error, completed | errors=1",
    ),
    (
        "… `< N notifications/tasks{t,failed}`",
        "failed errored observed=Notification shown=Error | errors=1 pending=0",
    ),
    (
        "… `> Q2 tasks/cancel{t}`, `< R2 {}`, `< N notifications/tasks{t,cancelled}`",
        "cancelled word=cancelled shown=TaskCancelled no-duration not-errored, completed | errors=0 pending=0",
    ),
    (
        "… `> Q2 tasks/cancel{t}`, `< R2 {}`",
        "task cancel_requested, completed | pending=1 owed=0",
    ),
    (
        "… `> Q2 tasks/cancel{t}`, `< R2 {}`, `> Q3 tasks/get{t}`, `< R3 completed{}`",
        "completed, completed, completed",
    ),
    (
        "`> Q9 tasks/get{missing}`, `< E9 -32602`",
        "failed | errors=1",
    ),
    (
        "same, `@900 < N notifications/tasks/status{t,completed}`, `@950 > Q2 tasks/result{t}`, `@960 < R2 {content:[…]}`",
        "completed 900ms bytes=14 observed=Notification, completed",
    ),
    (
        "same, `@900 > Q2 tasks/result{t}`, `@5000 < R2 {isError:true}`",
        "failed tool_error 5000ms observed=Result, completed | errors=1",
    ),
    (
        "`< Q1 elicitation/create{task:{}}`, `> R1 {task:{taskId:c,status:working}}`, `< Q2 tasks/result{c}`, `> R2 {action:accept}`",
        "completed observed=Result, completed",
    ),
    (
        "… `> Q2 tasks/get{t}`, `< R2 {taskId:t,status:completed,result:{…}}`, `< N notifications/tasks{t,working}`",
        "completed, completed ! task-left-terminal@5",
    ),
];

/// Words about tasks that may be said of a call.
pub(super) fn words_of(call: &Call) -> Vec<String> {
    let observed = call.end_observed_by.map(|by| format!("{by:?}"));
    let requested = if call.cancel_requested { "" } else { "not-" };
    vec![
        format!("task={}", call.task_id.as_deref().unwrap_or("-")),
        format!("word={}", call.task_status.as_deref().unwrap_or("-")),
        format!("shown={:?}", call.status()),
        format!("observed={}", observed.as_deref().unwrap_or("-")),
        format!("{requested}cancel_requested"),
    ]
}

fn whole(row: &str) -> String {
    match (row.strip_prefix("… "), row.strip_prefix("same, ")) {
        (Some(more), _) => format!("{HANDLE}, {more}"),
        (_, Some(more)) => format!("{CORE}, {more}"),
        _ => row.to_owned(),
    }
}

fn check_all(rows: &[(&str, &str)]) {
    for (row, expected) in rows {
        let (calls, remarks) = expected.split_once(" ! ").unwrap_or((expected, ""));
        fold(&whole(row), Limits::NONE, |session| {
            assert_eq!(own_remarks(session, "task-"), remarks, "{row}");
            let all = remarks_of(session).join(" ");
            check_session(&whole(row), session, &format!("{calls} ! {all}"));
        });
    }
}

#[test]
fn tasks_10_3() {
    check_all(&PAGE);
}

#[test]
fn handles_and_their_look_alikes_10_1() {
    check_all(&[
        // Core: only where the request asked for a task, and only without content.
        ("> Q1 call s, < R1 {task:{taskId:t,status:working}}", "completed task=-"),
        ("> Q1 call s{task:{}}, < R1 {content:[],task:{taskId:t,status:working}}", "completed"),
        ("> Q1 call s{task:{}}, < R1 {task:{taskId:t}}", "completed"),
        ("> Q1 call s{task:{}}, < R1 {task:{taskId:5,status:working}}", "completed"),
        ("> Q1 call s{task:{}}, < R1 {task:t}", "completed"),
        ("> Q1 tools/list{task:{}}, < R1 {task:{taskId:t,status:working}}", "completed"),
        (
            "> {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"s\" [trunc]\n< R1 {task:{taskId:t,status:working}}",
            "task request_truncated",
        ),
        ("same", "task word=working"),
        // Extension: only for `tools/call` of the client, and not under a declared legacy revision.
        ("> Q1 prompts/get, < R1 {resultType:task,taskId:t,status:working}", "completed"),
        ("> Q1 call s, < R1 {resultType:task,taskId:5,status:working}", "completed"),
        ("> Q1 call s, < R1 {resultType:tasks,taskId:t,status:working}", "completed"),
        ("> Q1 call s, < R1 {taskId:t,status:working}", "completed"),
        ("> Q1 call s [v=2025-11-25], < R1 {resultType:task,taskId:t,status:working}", "completed"),
        ("> Q1 call s, < R1 {resultType:task,taskId:t}", "task word=- shown=TaskWorking"),
        ("> Q1 call s, < R1 {resultType:task,taskId:t,status:working,task:1}", "task"),
        // Terminal already: the extension's outcome is still to come, the core's is there.
        (
            "> Q1 call s, < R1 {resultType:task,taskId:t,status:failed}",
            "task shown=TaskFailed not-errored | pending=1 errors=0",
        ),
        ("> Q1 call s, < R1 {resultType:task,taskId:t,status:completed}", "task shown=TaskDone"),
        (
            "> Q1 call s, < R1 {resultType:task,taskId:t,status:completed}, > Q2 tasks/get{t}, < R2 {status:completed,result:{isError:true}}",
            "failed tool_error, completed | errors=1",
        ),
        ("> Q1 call s{task:{}}, < R1 {task:{taskId:t,status:completed}}", "completed observed=-"),
        // A late handle is a late answer, and its frames link.
        (
            "> Q1 call s, > N cancelled{1}, @9 < R1 {resultType:task,taskId:t,status:working}, < N notifications/tasks{t,completed}",
            "cancelled late task=t shown=Late 9ms | late_results=1 errors=0",
        ),
    ]
    .map(|(row, expected)| (if row == "same" { CORE } else { row }, expected)));
}

#[test]
fn what_ends_a_core_task() {
    check_all(&[
        // The answer to `tasks/result` after the end moves the call to tool errors, counted once.
        (
            "same, < N notifications/tasks/status{t,failed}, > Q2 tasks/result{t}, < R2 {isError:true}",
            "failed tool_error errored, completed | errors=1",
        ),
        (
            "same, < N notifications/tasks/status{t,completed}, > Q2 tasks/result{t}, < R2 {isError:true}",
            "failed tool_error bytes=16, completed | errors=1",
        ),
        // Only the first of them counts.
        (
            "same, < N notifications/tasks/status{t,completed}, > Q2 tasks/result{t}, < R2 {content:[]}, > Q3 tasks/result{t}, < R3 {isError:true}",
            "completed bytes=14, completed, completed | errors=0",
        ),
        (
            "same, < N notifications/tasks/status{t,cancelled}, > Q2 tasks/result{t}, < R2 {isError:true}",
            "cancelled not-errored, completed | errors=0",
        ),
        // Errors of `tasks/result`.
        (
            "same, < N notifications/tasks/status{t,failed}, > Q2 tasks/result{t}, < E2 -32602",
            "failed code=-32602 not-tool_error, failed | errors=2",
        ),
        (
            "same, > Q2 tasks/result{t}, < E2 -32602",
            "task, failed | errors=1 pending=1",
        ),
        (
            "same, > Q2 tasks/result{t}, < E2 -32603",
            "failed code=-32603 observed=Result, failed | errors=1",
        ),
        (
            "same, < N notifications/tasks/status{t,completed}, > Q2 tasks/result{t}, < E2 -32603",
            "completed, failed | errors=1",
        ),
        (
            "same, > Q2 tasks/result{t}, < {\"jsonrpc\":\"2.0\",\"id\":2}",
            "task, failed",
        ),
        // Every other frame that tells a status.
        (
            "same, > Q2 tasks/list, < R2 {tasks:[{taskId:other,status:failed},{taskId:t,status:completed}]}",
            "completed observed=Poll, completed | errors=0",
        ),
        (
            "same, > Q2 tasks/cancel{t}, < R2 {taskId:t,status:cancelled}",
            "cancelled cancel_requested, completed | pending=0",
        ),
        (
            "same, > Q2 tasks/cancel{t}, < E2 -32602",
            "task not-cancel_requested, failed | owed=1",
        ),
        (
            "same, > Q2 tasks/get{t}, < R2 {taskId:t,status:paused}",
            "task word=paused, completed",
        ),
        (
            "same, < N notifications/tasks/status{t,[R]} [red]",
            "task word=working",
        ),
        // The side that runs the task counts.
        ("same, > N notifications/tasks/status{t,failed}", "task"),
        (
            "same, < Q2 tasks/get{t}, > R2 {taskId:t,status:failed}",
            "task, completed",
        ),
        // A cancellation of the request changes nothing.
        ("same, > N cancelled{1}", "task | pending=1 cancelled=0"),
        (
            "… < N notifications/tasks{t,failed,error:{code:-32000,message:m}}",
            "failed code=-32000 errored",
        ),
    ]);
}

#[test]
fn what_leaves_an_end_and_what_only_seems_to() {
    let done = "> Q2 tasks/get{t}, < R2 {taskId:t,status:completed,result:{}}";
    let cases = [
        (format!("… {done}, < N notifications/tasks{{t,failed}}"), "completed not-errored, completed ! task-left-terminal@5"),
        (format!("… {done}, > Q3 tasks/get{{t}}, < R3 {{status:working}}"), "completed, completed, completed ! task-left-terminal@6"),
        // The same word again, an unknown one, a poll that was sent before.
        (format!("… {done}, < N notifications/tasks{{t,completed}}"), "completed, completed"),
        (format!("… {done}, < N notifications/tasks{{t,archived}}"), "completed, completed"),
        (
            "… > Q3 tasks/get{t}, < N notifications/tasks{t,completed}, < R3 {taskId:t,status:working}".to_owned(),
            "completed, completed",
        ),
        (
            "… > Q3 tasks/get{t}, < N notifications/tasks{t,failed}, < R3 {taskId:t,status:completed}".to_owned(),
            "failed, completed",
        ),
        // Only announced by the handle: the outcome may follow.
        (
            "> Q1 call s, < R1 {resultType:task,taskId:t,status:completed}, < N notifications/tasks{t,completed}".to_owned(),
            "completed",
        ),
        // The id was given to another request: a new task.
        (
            format!("… {done}, > Q3 call s, < R3 {{resultType:task,taskId:t,status:working}}, < N notifications/tasks{{t,working}}"),
            "completed, completed, task",
        ),
        // A frame may be lost in between.
        (
            "#1 > Q1 call s, #2 < R1 task t working, #3 < N notifications/tasks{t,completed}, #5 < N notifications/tasks{t,working}".to_owned(),
            "completed ! task-left-terminal@5?",
        ),
        // Streams overtake each other over HTTP.
        (
            "> Q1 call s [c=a x=1], < R1 task t working [c=a x=1], < N notifications/tasks{t,completed} [c=a x=2], < N notifications/tasks{t,working} [c=a x=3]".to_owned(),
            "completed",
        ),
    ];
    for (row, expected) in &cases {
        check_all(&[(row.as_str(), expected)]);
    }
}

#[test]
fn a_result_about_another_task_is_ignored() {
    check_all(&[
        (
            "… > Q2 tasks/get{t}, < R2 {taskId:u,status:completed,result:{}}",
            "task, completed ! task-id-differs@4",
        ),
        (
            "… > Q2 tasks/cancel{t}, < R2 {taskId:u,status:cancelled}",
            "task not-cancel_requested, completed ! task-id-differs@4",
        ),
        (
            "… > Q2 tasks/get{t}, < R2 {taskId:\"\\u0074\",status:working}",
            "task, completed",
        ),
        (
            "… > Q2 tasks/get{t}, < R2 {taskId:[R],status:working} [red]",
            "task, completed",
        ),
        (
            "… > Q2 tasks/get{t}, < R2 {status:working}",
            "task, completed",
        ),
    ]);
}

#[test]
fn frames_link_to_their_task_10_2() {
    let links = |text: &str| {
        fold(text, Limits::NONE, |session| {
            let rows = (0..session.row_count()).filter_map(|at| session.row(at));
            let links: Vec<String> = rows
                .map(|row| match session.extra(row.id) {
                    Some(extra) => format!(
                        "{}:{}",
                        extra.task_id.as_deref().unwrap_or("-"),
                        extra
                            .task_call
                            .map_or("-".to_owned(), |call| call.0.to_string())
                    ),
                    None => "-".to_owned(),
                })
                .collect();
            links.join(" ")
        })
    };
    let meta = "_meta:{\"io.modelcontextprotocol/related-task\":{taskId:t}}";
    let slashes = r#""_meta":{"io.modelcontextprotocol\/related-task":{"taskId":"t"}}"#;
    let cases = [
        (
            "> Q1 call s\n< R1 task t working\n> Q2 tasks/get{t}\n< R2 {status:working}\n> Q3 tasks/update{t}\n< R3 {}\n< N notifications/tasks{t,completed}".to_owned(),
            "- t:0 t:0 t:0 t:0 t:0 t:0",
        ),
        // Without its handle the frames still name the task; another side's id is another task.
        ("> Q2 tasks/get{t}\n< R2 {status:working}\n< N notifications/tasks{t,failed}".to_owned(), "t:- t:- t:-"),
        (
            format!("{CORE}\n< N message{{data:x,{meta}}}\n< Q7 elicitation/create{{mode:form,{meta}}}\n> R7 {{action:accept,{meta}}}\n> Q2 tasks/result{{t}}\n< R2 {{content:[],{meta}}}"),
            "- t:0 t:0 t:0 t:0 t:0 t:0",
        ),
        (
            format!("< {{\"jsonrpc\":\"2.0\",\"method\":\"x\",\"params\":{{{slashes}}}}}"),
            "t:-",
        ),
        (format!("< N x{{{meta}}} [red]\n< N x{{_meta:{{\"io.modelcontextprotocol/related-task\":{{taskId:[R]}}}}}} [red]"), "t:- -"),
        ("> Q1 tasks/get{[R]} [red]\n> Q2 tasks/get{[R]} [red]".to_owned(), "- -"),
        // Members of these names that are no links.
        ("< N x{taskId:t,task:t}\n> Q1 call s{taskId:t}\n< R1 {taskId:t}".to_owned(), "- - -"),
    ];
    for (text, expected) in &cases {
        assert_eq!(links(text), *expected, "{text}");
    }
}

#[test]
fn a_redacted_handle_links_nothing_and_owes_nothing_21() {
    check_all(&[
        (
            "> Q1 call s{task:{}}, < R1 {task:{taskId:[R],status:working}} [red], < N notifications/tasks/status{[R],failed} [red]",
            "task uncertain task=- | pending=1 owed=0",
        ),
        (
            "> Q1 call s{task:{}}, < R1 {task:[R]} [red]",
            "task uncertain | owed=0",
        ),
        (
            "> Q1 call s, < R1 {resultType:task,taskId:[R],status:working} [red]",
            "task uncertain | owed=0",
        ),
        (
            "> Q1 call s{task:{}}, < R1 {task:{taskId:t,status:[R]}} [red]",
            "task task=t word=- | owed=1",
        ),
        // Unmarked, it is a task with a strange name.
        (
            "> Q1 call s, < R1 {resultType:task,taskId:[R],status:working}",
            "task not-uncertain task=[REDACTED]",
        ),
        (
            "> Q1 tasks/get{[R]} [red], > Q2 tasks/get{[R]} [red]",
            "pending, pending",
        ),
        (
            "same, > Q2 tasks/result{t}, < {\"jsonrpc\":\"2.0\",\"id\":2,\"error\":{\"code\":\"[R]\",\"message\":\"m\"}} [red]",
            "task, failed",
        ),
    ]);
}

#[test]
fn tasks_can_be_read() {
    let text =
        format!("{CORE}, < N notifications/tasks/status{{t,completed}}, > Q2 tasks/get{{u}}");
    fold(&text, Limits::NONE, |session| {
        let tasks = session.tasks();
        let words: Vec<_> = tasks
            .iter()
            .map(|task| (&*task.id, task.call, task.dialect, task.status.as_deref()))
            .collect();
        let core = Some(TaskDialect::Core);
        assert_eq!(
            words,
            [
                ("t", Some(CallId(0)), core, Some("completed")),
                ("u", None, None, None)
            ]
        );
        assert_eq!(
            session.task(true, "t").unwrap().ended_at,
            Some(script::START)
        );
        assert!(session.task(false, "t").is_none());
    });
}
