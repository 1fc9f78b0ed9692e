//! Session-model.md 7: its tables as tests.

use super::*;

pub(super) const ROWS: &[(&str, usize)] = &[("7.3", PAGE.len())];

const PAGE: &[(&str, &str)] = &[
    (
        r#"`> Q"j" call t`, `@250 > N cancelled{"j",reason:"x"}`"#,
        "cancelled reason=x no-duration not-late | pending=0 errors=0 cancelled=1 !",
    ),
    (
        r#"… `@1000 < R"j" {}`"#,
        "cancelled late 1000ms | errors=0 late_results=1 ! late-answer@3",
    ),
    (
        r#"… `@2000 < R"j" {}`"#,
        "cancelled late 1000ms | late_results=1 responses=2 ! late-answer@3 response-duplicate@4",
    ),
    (
        "`> Q7 call t`, `> N cancelled{7}`, `< E7 -32603`",
        "cancelled late errored | errors=1 ! late-answer@3",
    ),
    (
        "`> Q7 call t`, `> N cancelled{7}`, `< E7 -32800`",
        "cancelled late not-errored | errors=0 ! late-answer@3",
    ),
    (
        "`> Q7 call t`, `> N cancelled{7}`, `< R7 {isError:true}`",
        "cancelled late tool_error not-errored | errors=0 ! late-answer@3",
    ),
    (
        "`> Q1 tools/list`, `> N cancelled{1}`, `< R1 {tools:[s]}`",
        "cancelled late | errors=0 ! late-answer@3",
    ),
    (
        "`> Q3 call t`, `< R3 {}`, `> N cancelled{3}`",
        "completed | cancelled=0 ! cancel-after-answer@3",
    ),
    (
        "`> Q3 call t`, `> N cancelled{404}`",
        "pending | pending=1 !",
    ),
    (
        "`< Q1 sampling/createMessage`, `> N cancelled{1}`",
        "pending | pending=1 !",
    ),
    (
        "`> Q3 call t`, `< R3 task t1 working`, `> N cancelled{3}`, `< N notifications/tasks{t1,failed}`",
        "failed errored | errors=1 ! cancel-of-task@3",
    ),
    (
        "`> Q5 subscriptions/listen`, `< N cancelled{5}`, `< R5 {}`",
        "cancelled not-late | late_results=0 streaming=0 !",
    ),
    (
        "`> Q3 call t [c=a x=1]`, `> N cancelled{3} [c=b x=2]`",
        "cancelled | !",
    ),
    (
        "`> Q3 call t [c=a]`, `> Q3 call t [c=b]` (same client key), `> N cancelled{3} [c=d]`",
        "pending, pending | ! call-repeated@2 cancel-ambiguous@3",
    ),
];

#[test]
fn cancellation_7_3() {
    for (text, expected) in continued(PAGE) {
        check_later(&text, expected);
    }
}

#[test]
fn what_is_meant_by_a_cancellation() {
    let cases = [
        ("> Q3 call t, > N cancelled{null}", "pending | !"),
        ("> Q3 call t, > N cancelled", "pending | !"),
        ("> Q3 call t, > N cancelled{\"3\"}", "pending | !"),
        // The newest of the connection comes first, then the only one of the client.
        (
            "> Q3 call t [c=a], > Q3 call u [c=b], > N cancelled{3} [c=b]",
            "pending, cancelled | !",
        ),
        (
            "> Q3 call t [c=a peer=p], > Q3 call u [c=b peer=q], > N cancelled{3} [c=d peer=q]",
            "pending, cancelled | !",
        ),
        (
            "> Q3 call t [c=a peer=p], > Q3 call u [c=b peer=q], > N cancelled{3} [c=d peer=r]",
            "pending, pending | ! cancel-ambiguous@3",
        ),
        // Parked: it was answered.
        (
            "> Q1 call t, @400 < R1 IR{k;st=A}, @9000 > N cancelled{1}",
            "input server=400 client=0 | ! cancel-after-answer@3",
        ),
        // The second cancellation of one request names nothing that waits.
        (
            "> Q3 call t, > N cancelled{3}, > N cancelled{3}",
            "cancelled | cancelled=1 !",
        ),
        // A cancellation that carries an id still cancels.
        (
            "> Q3 call t, > Q4 notifications/cancelled{requestId:3}",
            "cancelled, pending | owed=0 !",
        ),
        // An answered request of another client is not the one that is meant.
        (
            "> Q3 x [c=a peer=p], < R3 {} [c=a], > Q3 x [c=b peer=q], < R3 {} [c=b], > N cancelled{3} [c=d peer=r]",
            "completed, completed | !",
        ),
    ];
    for (text, expected) in cases {
        check(text, expected);
    }
}

/// The text of the only remark of a script.
fn text_of(script: &str) -> String {
    let text = |limits| {
        fold(script, limits, |session| {
            let rows = (0..session.row_count()).filter_map(|at| session.row(at));
            let mut texts = rows.filter_map(|row| session.extra(row.id));
            texts.next().unwrap().remarks[0].text.to_string()
        })
    };
    // Whatever left memory.
    let whole = text(Limits::NONE);
    let short = Limits {
        body_bytes: Some(1),
        rows: Some(1),
    };
    assert_eq!(text(short), whole, "{script}");
    whole
}

#[test]
fn distances_are_told_to_the_millisecond() {
    let late = "> Q1 call t, @250 > N cancelled{1}, @1000 < R1 {}";
    assert_eq!(
        text_of(late),
        "server: answered 750 ms after the client cancelled"
    );
    let race = "> Q1 call t, @250 < R1 {}, @262 > N cancelled{1}";
    assert_eq!(
        text_of(race),
        "client: cancelled a request 12 ms after the server had answered it"
    );
    let parked = "> Q1 call t, @250 < R1 IR{k;st=A}, stderr \"x\", @500 > N cancelled{1}";
    assert_eq!(
        text_of(parked),
        "client: cancelled a request 250 ms after the server had answered it"
    );
    let back = "> Q1 call t, @250 < R1 {}, @10 > N cancelled{1}";
    assert_eq!(
        text_of(back),
        "client: cancelled a request that the server had answered"
    );
}

#[test]
fn late_answers_of_every_kind_are_late_once() {
    let cases = [
        (
            "> Q1 call t, > N cancelled{1}, < R1 IR{k;st=A}",
            "cancelled late | parked=0 ! late-answer@3",
        ),
        (
            "> Q1 call t, > N cancelled{1}, < R1 task t working, < N notifications/tasks{t,completed}",
            "cancelled late | late_results=1 ! late-answer@3",
        ),
        ("> Q1 call t, < R1 {}", "completed | !"),
    ];
    for (text, expected) in cases {
        check(text, expected);
    }
}
