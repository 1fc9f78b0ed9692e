//! Session-model.md 10: its tables as tests.

use super::*;

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
