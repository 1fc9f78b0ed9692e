//! Answers that overtook their requests in an old log (session-model.md 4.4, M6): they have the
//! effect of any other answer, whatever they say.

use super::*;

/// A request, its answer, and what comes after both.
const PAIRS: &[[&str; 3]] = &[
    ["> Q1 ping", "< R1 {}", ""],
    ["> Q1 call t", "< R1 {content:[]}", "@40 < R1 {}"],
    ["> Q1 call t", "< R1 {isError:true}", ""],
    ["> Q1 call t", "< E1 -32601", ""],
    ["> Q1 call t", "< E1 -32603", "@40 > Q2 call t, @50 < R2 {}"],
    ["> Q1 server/discover", "< E1 -32601", ""],
    [
        "> Q1 server/discover [v=2026-07-28]",
        "< E1 -32022 {supported:[2025-11-25]}",
        "@40 > Q2 initialize{protocolVersion:2025-11-25}, @50 < R2 {}",
    ],
    [
        "> Q1 initialize{protocolVersion:2025-11-25}",
        "< R1 {protocolVersion:2025-06-18,serverInfo:{name:s,version:1}}",
        "@40 > Q2 ping, @50 < R2 {}, @60 > Q2 ping",
    ],
    [
        "> Q1 tools/list",
        "< R1 {tools:[a,b]}",
        "@40 > Q2 call a, @50 > Q3 call c",
    ],
    [
        "> Q1 tools/list [v=2026-07-28]",
        "< R1 {resultType:complete,ttlMs:-1,cacheScope:x,tools:[a]}",
        "@40 > Q2 tools/list [v=2026-07-28]",
    ],
    [
        "> Q1 tools/list [v=2026-07-28]",
        "< R1 {resultType:complete,ttlMs:1000,cacheScope:private,tools:[a],nextCursor:p}",
        "@40 > Q2 tools/list {cursor:p} [v=2026-07-28], @50 > Q3 tools/list {cursor:p} [v=2026-07-28]",
    ],
    [
        "> Q1 call b",
        "< R1 IR{k;st=S}",
        "@40 > Q2 retry{k;st=S}, @50 < R2 {}",
    ],
    [
        "> Q1 call b",
        "< R1 IR{login:elicitation;st=S}",
        "@40 > Q2 retry{login: accept;st=T}, @50 < R2 {}",
    ],
    [
        "> Q1 call s",
        "< R1 {resultType:task,taskId:t,status:working}",
        "@40 < N notifications/tasks{t,failed}",
    ],
    [
        "> Q1 call s{task:{}}",
        "< R1 {task:{taskId:t,status:working}}",
        "@40 > Q2 tasks/result{t}, @50 < R2 {isError:true}",
    ],
    ["> Q1 tasks/get{t}", "< R1 {taskId:t,status:completed}", ""],
    [
        "< Q1 elicitation/create{form}",
        "> R1 {action:decline}",
        "@40 > N x",
    ],
    ["< Q1 elicitation/create{form}", "> E1 -1", ""],
    ["< Q1 sampling/createMessage", "> E1 -1", ""],
    [
        "> Q1 subscriptions/listen",
        "< R1 {}",
        "@40 < N tools/list_changed{sub 1}",
    ],
];

/// What must not depend on which of the two came first.
fn known(session: &Session) -> String {
    let mut counters = session.counters().clone();
    counters.dropped_from_memory = 0;
    let calls: Vec<_> = session.calls().map(|call| words_of(&call)).collect();
    let inventory = session.inventory(ListKind::Tools).map(|found| {
        let entries = found.entries();
        let names: Vec<_> = entries.iter().map(|one| one.name().to_owned()).collect();
        (found.complete, names)
    });
    let questions: Vec<_> = session
        .elicitations()
        .into_iter()
        .map(|row| {
            (
                row.key.clone(),
                row.action.clone(),
                row.answer_error,
                row.pending,
            )
        })
        .collect();
    let tasks: Vec<_> = session
        .tasks()
        .into_iter()
        .map(|task| {
            (
                task.id.to_string(),
                task.status.as_deref().map(str::to_owned),
                task.call,
            )
        })
        .collect();
    let codes: Vec<_> = remarks_of(session)
        .into_iter()
        .map(|remark| remark.split('@').next().unwrap_or_default().to_owned())
        .filter(|code| code != "response-after-reuse" && code != "response-duplicate")
        .collect();
    let streams: Vec<_> = session.subscriptions().map(|one| one.end).collect();
    format!(
        "{calls:?}\n{:?} {:?} {:?}\n{inventory:?} {questions:?} {tasks:?} {streams:?}\n{:?} {codes:?} {}",
        session.protocol_version(),
        session.server_info().map(|raw| raw.bytes().clone()),
        session.machine.peers.stated.supported,
        session.usage(),
        counters.errors,
    )
}

fn known_of(text: &str) -> String {
    fold(text, Limits::NONE, known)
}

#[test]
fn an_answer_ahead_of_its_request_says_all_that_it_says_behind_it() {
    for [request, answer, then] in PAIRS {
        let in_order = known_of(&format!("@10 {request}, @10 {answer}\n{then}"));
        let ahead = known_of(&format!("@10 {answer}, @10 {request}\n{then}"));
        assert_eq!(ahead, in_order, "{request}");
        // Too early, and in a log that numbers both directions in one order, it answers nothing.
        let long_ago = known_of(&format!("@10 {answer}, @31 {request}\n{then}"));
        let ordered = known_of(&format!(
            "meta {{format:7}}, @10 {answer}, @10 {request}\n{then}"
        ));
        for other in [long_ago, ordered] {
            assert_ne!(other, in_order, "{request}");
        }
    }
}

#[test]
fn an_answer_ahead_of_a_request_of_another_client_is_not_its_own() {
    for (of_answer, of_request, completed) in [
        ("peer=p", "peer=p", 1),
        ("peer=p", "peer=q", 0),
        ("c=h:1 peer=p", "c=h:1 peer=q", 0),
        ("c=h:1 peer=p", "c=h:1", 1),
        ("c=h:1", "c=h:1 peer=q", 1),
    ] {
        let text = format!("@10 < R1 {{}} [{of_answer}]\n@10 > Q1 ping [{of_request}]");
        fold(&text, Limits::NONE, |session| {
            assert_eq!(session.counters().completed, completed, "{text}");
        });
    }
}

#[test]
fn a_cut_answer_ahead_of_its_request_stands_when_its_exchange_is_closed() {
    let cut = "< {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{ [trunc x=4]";
    for then in ["", "@10 < N x [x=4]\n"] {
        let request = "> Q1 call t [x=4 v=2026-07-28]";
        let text = format!("@10 {cut}\n{then}@10 {request}\nclosed: server [x=4]");
        fold(&text, Limits::NONE, |session| {
            let counters = session.counters();
            assert_eq!((counters.completed, counters.errors), (1, 0), "{text}");
        });
    }
}

#[test]
fn a_row_that_left_memory_counts_as_one_that_is_held() {
    let limits = Limits {
        body_bytes: Some(1),
        rows: Some(1),
    };
    let figures = |text: &str, limits| {
        fold(text, limits, |session| {
            let counters = session.counters();
            let tools = session.tools();
            let (errors, warnings) = (counters.errors, counters.warnings);
            format!("{errors} {warnings} {} {tools:?}", counters.pending)
        })
    };
    let faulty = "< {\"id\":1,\"result\":{\"resultType\":\"complete\",\"tools\":[]}}\n";
    let more = [
        [faulty, "> Q1 tools/list [v=2026-07-28]"],
        ["< E1 -1,", "> Q1 tasks/result{t}"],
        ["< E1 -1,", "> Q1 ping"],
    ];
    let pairs = PAIRS.iter().map(|[request, answer, _]| [*answer, *request]);
    for [answer, request] in pairs.chain(more) {
        let answer = answer.trim_end_matches(',');
        for before in [
            "",
            "> Q9 call s{task:{}}, < R9 {task:{taskId:t,status:working}}\n",
        ] {
            let text =
                format!("{before}@10 {answer}\n@10 stderr \"x\"\n@10 stderr \"x\"\n@10 {request}");
            assert_eq!(
                figures(&text, limits),
                figures(&text, Limits::NONE),
                "{text}"
            );
        }
    }
}

#[test]
fn an_answer_is_accused_only_when_its_request_can_come_no_more() {
    let end = "meta {\"event\":\"end\"}";
    let cases = [
        // The log ends, or goes on without the other side, before the time is over.
        (
            "@1 > Q0 ping, @2 < R0 {}, @10 < R1 {}",
            "completed | warnings=0 ! response-unmatched-gap@3",
        ),
        (
            "@10 < R1 {}, @30 > N x, @900 < N y",
            "| warnings=0 ! response-unmatched-gap@1",
        ),
        (
            "@10 < R1 {}, @31 > N x",
            "| warnings=1 ! response-unmatched@1",
        ),
        (
            "@10 > Q\"1\" x, @10 < R1 {}",
            "pending | warnings=0 ! response-id-type@2?",
        ),
        (
            "@10 > Q\"1\" x, @10 < R1 {}, @31 > N x",
            "pending | warnings=1 ! response-id-type@2",
        ),
        // An end that is told: everything was written by then.
        (
            &*format!("@10 < R1 {{}}\n@31 {end}"),
            "| warnings=1 ! response-unmatched@1",
        ),
        (
            &*format!("@10 < R1 {{}}\n@30 {end}"),
            "| warnings=0 ! response-unmatched-gap@1",
        ),
        // Its request may be what is missing behind it, but not behind the time.
        (
            "#1 @10 < R1 {}, #3 @31 > N x",
            "| warnings=0 ! response-unmatched-gap@1",
        ),
        (
            "#1 @10 > Q\"1\" x, #2 @10 < R1 {}, #4 @31 > N x",
            "pending | warnings=0 ! response-id-type@2?",
        ),
        (
            "#1 @10 < R1 {}, #2 @31 > N x, #4 @32 > N x",
            "| warnings=1 ! response-unmatched@1",
        ),
        // The same for an answer that seems to come again.
        (
            "> Q1 x, < R1 {}, @10 < R1 {}",
            "completed | warnings=0 ! response-duplicate@3?",
        ),
        (
            "> Q1 x, < R1 {}, @10 < R1 {}, @31 > N x",
            "completed | warnings=1 ! response-duplicate@3",
        ),
        (
            "#1 > Q1 x, #2 < R1 {}, #3 @10 < R1 {}, #5 @31 > N x",
            "completed | warnings=0 ! response-duplicate@3?",
        ),
        (
            "meta {format:7}, > Q1 x, < R1 {}, @10 < R1 {}",
            "completed | warnings=1 ! response-duplicate@4",
        ),
        (
            "meta {format:7}, @10 < R1 {}",
            "| warnings=1 ! response-unmatched@2",
        ),
    ];
    for (text, expected) in cases {
        check(text, expected);
    }
}

#[test]
fn an_answer_that_seems_to_come_again_is_that_of_a_request_right_behind_it() {
    for (text, expected) in [
        (
            "@1 < R1 {}, @0 > Q1 call a, @111 < R1 {}, @110 > Q1 call b, @200 > N x",
            "completed, completed | pending=0 warnings=0 !",
        ),
        (
            "@1 > Q1 call a, @2 < R1 {}, @111 < E1 -1, @110 > Q1 call b, @200 > N x",
            "completed, failed errored | errors=1 warnings=0 !",
        ),
        // Too late, of another id, of a log in one order.
        (
            "@1 > Q1 call a, @2 < R1 {}, @111 < R1 {}, @132 > Q1 call b",
            "completed, pending | ! response-duplicate@3",
        ),
        (
            "@1 > Q1 call a, @2 < R1 {}, @111 < R1 {}, @110 > Q2 call b, @200 > N x",
            "completed, pending | ! response-duplicate@3",
        ),
        (
            "meta {format:7}, @1 > Q1 call a, @2 < R1 {}, @111 < R1 {}, @110 > Q1 call b",
            "completed, pending | ! response-duplicate@4",
        ),
        // What was there before may have been the answer of either.
        (
            "@1 > Q1 call a, @1 > N cancelled{1}, @1 > Q1 call b, @2 < R1 {}, @3 < R1 {}, @3 > Q1 call c, @4 < R1 {}, @200 > N x",
            "cancelled, completed, completed | warnings=0 ! response-after-reuse@7",
        ),
    ] {
        check(text, expected);
    }
    // It is tied to that request's call alone.
    let text = "@1 > Q1 call a, @2 < R1 {}, @111 < R1 {}, @110 > Q1 call b";
    fold(text, Limits::NONE, |session| {
        let row = session.row(2).unwrap();
        let calls: Vec<_> = session
            .calls()
            .map(|call| (call.id, call.linked.clone()))
            .collect();
        assert!(!row.flags.duplicate && row.call == Some(calls[1].0));
        assert!(calls.iter().all(|(_, linked)| linked.is_empty()));
    });
}
