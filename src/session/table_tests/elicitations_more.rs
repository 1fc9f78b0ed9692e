//! Session-model.md 12 beyond its table: channels, what redaction hides, bounds.

use super::{elicitations::check_rows, *};

#[test]
fn requests_of_the_server_name_the_operation_that_they_interrupt() {
    let ask = "< Q9 elicitation/create{form}";
    let cases = [
        // The only open call of the client.
        (format!("> Q1 call b, > Q2 ping, < R2 {{}}, {ask}, > R9 {{action:accept}}"), "request 9@1 form accept 0ms of=1"),
        (format!("> Q1 call b, > Q2 call c, {ask}"), "request 9@1 form pending"),
        // The exchange.
        (format!("> Q1 call b [x=1], > Q2 call c [x=2], {ask} [x=2]"), "request 9@1 form pending of=2"),
        (format!("> [Q1 call b, Q2 call c] [x=2], {ask} [x=2]"), "request 9@1 form pending"),
        // The task.
        (
            r#"> Q1 call b, < R1 task t working, > Q2 call c, < Q9 elicitation/create{"mode":"form","_meta":{"io.modelcontextprotocol/related-task":{"taskId":"t"}}}"#.to_owned(),
            "request 9@1 form pending of=1",
        ),
        // A client that answers with an error gave no action.
        (format!("{ask}, @5 > E9 -32603"), "request 9@1 form code=-32603 5ms"),
        (format!("{ask}, @5 > R9 {{action:7}}"), "request 9@1 form 5ms"),
        (format!("{ask}, @5 > R9 {{action:[R]}} [red]"), "request 9@1 form 5ms"),
        (format!("{ask}, @5 > R9 {{action:[R]}}"), "request 9@1 form [REDACTED] 5ms"),
        // A client that runs it as a task answers later.
        (
            "< Q1 elicitation/create{form,task:{}}, > R1 {task:{taskId:c,status:working}}, < Q2 tasks/result{c}, @8 > R2 {action:accept}".to_owned(),
            "request 1@1 form accept 8ms",
        ),
    ];
    for (text, row) in cases {
        check_rows(&text, &[row]);
    }
    // Neither asks a user.
    check_rows("< Q9 sampling/createMessage, > R9 {action:accept}", &[]);
    check_rows("> Q9 elicitation/create{form}, < R9 {action:accept}", &[]);
}

#[test]
fn every_member_is_read_on_its_own() {
    let asked = |params: &str, marks: &str| {
        format!(
            r#"> Q1 call b, < R1 IR{{k:{{"method":"elicitation/create","params":{params}}}}}{marks}"#
        )
    };
    let cases = [
        (
            r#"{"mode":"url","url":"https://h.example/","requestedSchema":{"properties":{"a":{"type":"string"}}}}"#,
            "",
            "url host=h.example pending of=1",
        ),
        (r#"{"mode":"URL","url":"no url"}"#, "", "form pending of=1"),
        (
            r#"{"mode":7,"message":[],"url":7,"requestedSchema":[]}"#,
            "",
            "form pending of=1",
        ),
        (
            r#"{"mode":"url","url":"https://h.example/[REDACTED]"}"#,
            " [red]",
            "url pending of=1",
        ),
        (
            r#"{"mode":"url","url":"https://h.example/[REDACTED]"}"#,
            "",
            "url host=h.example pending of=1",
        ),
        (
            r#"{"requestedSchema":{"properties":{"a":{"type":"[REDACTED]"},"b":{"type":["string"]},"c":7}}}"#,
            " [red]",
            "form a:,b:,c: pending of=1",
        ),
        ("7", "", "form pending of=1"),
    ];
    for (params, marks, row) in cases {
        check_rows(&asked(params, marks), &[&format!("mrtr k@1 {row}")]);
    }
    check_rows(
        r#"> Q1 call b, < R1 IR{k:{"method":"[REDACTED]"};st=S} [red]"#,
        &[],
    );
    check_rows(
        r#"> Q1 call b, < R1 {resultType:input_required,inputRequests:"[REDACTED]",requestState:S} [red], > Q2 retry{k: accept;st=S}"#,
        &[],
    );
}

#[test]
fn only_a_linked_retry_answers_and_only_the_newest_round() {
    let asked = "> Q1 call b, < R1 IR{k;st=S}";
    let pending = "mrtr k@1 form pending of=1";
    check_rows(
        &format!("{asked}, @5 > Q2 call c {{st=T,inputResponses:{{k:{{action:accept}}}}}}"),
        &[pending],
    );
    check_rows(
        &format!(r#"{asked}, @5 > Q2 call b {{st=S,inputResponses:"[REDACTED]"}} [red]"#),
        &[pending],
    );
    check_rows(
        &format!(
            "{asked}, @5 > Q2 retry{{k: decline;st=S}}, < R2 {{}}, @9 > Q3 retry{{k: accept;st=S}}"
        ),
        &["mrtr k@1 form decline 5ms of=1"],
    );
    // A second poll of the task repeats the key, a second answer changes nothing.
    let task = r#"> Q1 call b, < R1 task t working, < N notifications/tasks{"taskId":"t","status":"input_required","inputRequests":{"n":{"method":"elicitation/create"}}}"#;
    check_rows(task, &["task n@1 form pending of=1"]);
    check_rows(
        &format!(
            "{task}, @7 > Q2 tasks/update{{t,inputResponses:{{n:{{action:cancel}}}}}}, @9 > Q3 tasks/update{{t,inputResponses:{{n:{{action:accept}}}}}}"
        ),
        &["task n@1 form cancel 7ms of=1"],
    );
}

#[test]
fn no_answer_is_kept_but_its_action() {
    let text = "> Q1 call b, < R1 IR{k;st=S}, > Q2 call b {st=S,inputResponses:{k:{action:accept,content:{password:hunter2}}}}";
    fold(text, Limits::NONE, |session| {
        let kept = format!("{:?} {:?}", session.machine.ledger, session.machine.issued);
        assert!(kept.contains("accept"));
        assert!(!kept.contains("hunter2"));
        let call = session.call(CallId(0)).unwrap();
        assert!(!format!("{call:?}").contains("hunter2"));
    });
}

/// An interim answer with many questions, folded after a call.
fn asked(questions: &str) -> String {
    format!(
        "> Q1 call b\n< {{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{{\"resultType\":\"input_required\",\"inputRequests\":{{{questions}}},\"requestState\":\"S\"}}}}"
    )
}

#[test]
fn the_ledger_is_bounded_by_rows_and_by_bytes() {
    let many: Vec<_> = (0..100_000)
        .map(|at| format!(r#""k{at:06}":{{"method":"elicitation/create"}}"#))
        .collect();
    let text = format!(
        "> Q7 call a, < R7 IR{{old;st=A}}\n> Q8 retry{{old;st=A}}\n{}",
        asked(&many.join(","))
    );
    fold(&text, Limits::NONE, |session| {
        let rows = session.elicitations();
        assert_eq!(rows.len(), 10_000);
        assert_eq!(session.forgotten().elicitations, 90_001);
        // The answered one went first.
        assert!(rows.iter().all(|row| &*row.key != "old" && row.pending));
        assert_eq!(&*rows.last().unwrap().key, "k099999");
    });
    let message = "é".repeat(1 << 19);
    let fields: Vec<_> = (0..300)
        .map(|at| format!(r#""{at}{}":{{"type":"string"}}"#, "n".repeat(900)))
        .collect();
    let question = |key: u32| {
        format!(
            r#""q{key}":{{"method":"elicitation/create","params":{{"message":"{message}","requestedSchema":{{"properties":{{{}}}}}}}}}"#,
            fields.join(",")
        )
    };
    let few: Vec<_> = (0..4).map(question).collect();
    fold(&asked(&few.join(",")), Limits::NONE, |session| {
        for row in session.elicitations() {
            assert_eq!(
                row.message.as_ref().unwrap().len(),
                1_024 + "… (truncated)".len()
            );
            assert_eq!(row.fields.len(), 256);
        }
        assert_eq!(session.elicitations().len(), 4);
    });
    let many: Vec<_> = (0..100)
        .map(|key| question(key).replace(&message, ""))
        .collect();
    fold(&asked(&many.join(",")), Limits::NONE, |session| {
        let rows = session.elicitations();
        let bytes: usize = rows.iter().map(|row| row.weight()).sum();
        assert!(bytes <= 16 << 20 && rows.len() < 80, "{}", rows.len());
        assert_eq!(rows.len() as u64 + session.forgotten().elicitations, 100);
    });
}

#[test]
fn rows_stay_when_everything_else_leaves_memory() {
    let text = "> Q1 call b, @1 < R1 IR{k;st=S}, @5 > Q2 retry{k: accept;st=S}, @6 < R2 {}, @7 > Q3 ping, @8 < R3 {}, @9 > Q4 ping";
    let limits = Limits {
        rows: Some(1),
        body_bytes: Some(1),
    };
    fold(text, limits, |session| {
        assert!(session.call(CallId(0)).is_none());
        let rows: Vec<_> = session
            .elicitations()
            .into_iter()
            .map(elicitations::words)
            .collect();
        assert_eq!(rows, ["mrtr k@1 form accept 4ms of=1"]);
    });
}
