//! Session-model.md 7: its tables as tests.

use super::*;

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
