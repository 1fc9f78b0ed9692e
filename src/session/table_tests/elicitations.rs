//! Session-model.md 12: its tables as tests.

use super::*;

/// Rows of the tables of the page that are tests here.
pub(super) const ROWS: &[(&str, usize)] = &[("12", PAGE.len())];

/// A row as `channel key@round mode`, and whatever else it says.
pub(super) fn words(row: &Elicitation) -> String {
    let mut text = format!(
        "{} {}@{} {}",
        row.channel.name(),
        row.key,
        row.round,
        row.mode.name()
    );
    let mut add = |word: String| {
        text.push(' ');
        text.push_str(&word);
    };
    if !row.fields.is_empty() {
        let fields = row.fields.iter();
        let fields: Vec<_> = fields
            .map(|field| format!("{}:{}", field.name, field.kind))
            .collect();
        add(fields.join(","));
    }
    if let Some(host) = &row.host {
        add(format!("host={host}"));
    }
    if let Some(action) = &row.action {
        add(action.to_string());
    }
    if let Some(code) = row.answer_error {
        add(format!("code={code}"));
    }
    if row.pending {
        add("pending".to_owned());
    }
    if let Some(nanos) = row.elapsed_nanos() {
        add(format!("{}ms", nanos / 1_000_000));
    }
    if let Some(operation) = &row.operation {
        add(format!("of={}", &*operation.call_id));
    }
    text
}

/// Checks the rows of the ledger; nobody is accused by them.
#[track_caller]
pub(super) fn check_rows(text: &str, expected: &[&str]) {
    fold(text, Limits::NONE, |session| {
        let found: Vec<_> = session.elicitations().into_iter().map(words).collect();
        assert_eq!(found, expected, "{text}");
        assert_eq!(session.counters().warnings, 0, "{text}");
    });
}

/// 12. Forms of more than a word are written out.
const PAGE: [(&str, &[&str]); 11] = [
    (
        r#"> Q1 call b, @1000 < R1 IR{profile:{"method":"elicitation/create","params":{"mode":"form","message":"m","requestedSchema":{"type":"object","properties":{"name":{"type":"string"},"age":{"type":"number"}}}}};st=S}, @10000 > Q2 retry{profile: accept;st=S}"#,
        &["mrtr profile@1 form age:number,name:string accept 9000ms of=1"],
    ),
    (
        "> Q1 call b, < R1 IR{auth: url https://mcp.example.com/x}, > Q2 retry{auth: accept}",
        &["mrtr auth@1 url host=mcp.example.com accept 0ms of=1"],
    ),
    (
        "> Q1 call b, < R1 IR{auth: url https://bank.example@evil.example/}",
        &["mrtr auth@1 url host=evil.example pending of=1"],
    ),
    (
        "> Q1 call b, @400 < R1 IR{profile;st=S}",
        &["mrtr profile@1 form pending of=1"],
    ),
    (
        "> Q1 call b, < R1 IR{auth:elicitation, s:sampling, r:roots}",
        &["mrtr auth@1 form pending of=1"],
    ),
    (
        "> Q1 call b, < R1 IR{card,who;st=A}, @10 > Q2 retry{who;st=A}, @20 < R2 IR{card;st=B}, @30 > Q3 retry{card: cancel;st=B}",
        &[
            "mrtr card@1 form pending of=1",
            "mrtr who@1 form accept 10ms of=1",
            "mrtr card@2 form cancel 10ms of=1",
        ],
    ),
    (
        "> Q1 call b, < R1 IR{k;st=A}, @5 < R1 IR{k;st=A} (resent)",
        &["mrtr k@1 form pending of=1"],
    ),
    (
        r#"> Q1 call b, < R1 IR{k:{"method":"elicitation/create","params":{"message":"m","requestedSchema":"[REDACTED]"}}} [red]"#,
        &["mrtr k@1 form pending of=1"],
    ),
    (
        r#"> Q1 call b, < R1 IR{k:{"method":"elicitation/create","params":{"requestedSchema":{"properties":{"password":"[REDACTED]","user":{"type":"string"}}}}}} [red]"#,
        &["mrtr k@1 form password:,user:string pending of=1"],
    ),
    (
        "< Q5 elicitation/create{form}, @3000 > R5 {action:decline}",
        &["request 5@1 form decline 3000ms"],
    ),
    (
        r#"> Q1 call b, < R1 task t working, > Q2 tasks/get{t}, < R2 {taskId:t,status:input_required,inputRequests:{name:{"method":"elicitation/create"}}}, > Q3 tasks/get{t}, < R3 {taskId:t,status:input_required,inputRequests:{name:{"method":"elicitation/create"}}}, @70 > Q4 tasks/update{t,inputResponses:{name:{action:accept}}}"#,
        &["task name@1 form accept 70ms of=1"],
    ),
];

#[test]
fn elicitations_12() {
    for (text, rows) in PAGE {
        check_rows(text, rows);
    }
}
