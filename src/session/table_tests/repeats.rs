//! Session-model.md 18: tool calls that were sent again.

use std::fmt::Write as _;

use super::*;

pub(super) const ROWS: &[(&str, usize)] = &[("18 judged", JUDGED.len()), ("18", PAGE.len())];

/// Frames; what is reported. Several sessions, and what of each, separated by ` / `.
const PAGE: [(&str, &str); 12] = [
    ("Q1, cancel 1, Q2, R1, R2", "after_cancel, ran_twice"),
    ("Q1, cancel 1, R1, Q2, R2", "after_cancel, ran_twice"),
    ("Q1, cancel 1, Q2, R2", "after_cancel"),
    ("Q1, Q2, R2", "reported"),
    ("Q1, Q2, cancel 1, R1, R2", "ran_twice"),
    ("Q1, Q2, R1, R2", "none"),
    ("Q1, R1, Q2, R2", "none"),
    ("Q1, cancel 1, Q2, R2 isError", "none"),
    (
        "Q1, H401, Q2, R2 / Q1, H502, Q2, R2 / Q1, H502 undelivered, Q2, R2",
        "none / reported / none",
    ),
    ("Q1, interim, Q2, R2 / Q1, handle, Q2, R2", "none / none"),
    ("Q1 of client a, Q2 of client b", "none"),
    ("Q1 redacted, Q2 redacted", "none"),
];

/// Earlier, repeat, reported; each with frames.
const JUDGED: [(&str, &[(&str, &str)]); 7] = [
    (
        "tool declares readOnlyHint true or idempotentHint true | any | no",
        &[
            ("list readOnlyHint, Q1, Q2", "none"),
            ("list idempotentHint, Q1, cancel 1, Q2, R1, R2", "none"),
            ("Q1, Q2, list readOnlyHint", "none"),
            ("list destructiveHint, Q1, Q2", "reported"),
        ],
    ),
    (
        "not cancelled, answered | any | no",
        &[("Q1, Q2, R1", "none"), ("Q1, Q2, R2, R1", "none")],
    ),
    (
        "failed (JSON-RPC error, 4xx, undelivered) | any | no",
        &[
            ("Q1, Q2, E1, R2", "none"),
            ("Q1, E1, Q2, R2", "none"),
            ("Q1, Q2, H401 1, R2", "none"),
        ],
    ),
    (
        "any | failed | no",
        &[
            ("Q1, Q2, E2", "none"),
            ("Q1, cancel 1, Q2, R1, E2", "none"),
            ("Q1, Q2, R2 isError", "none"),
        ],
    ),
    (
        "cancelled, late answer ok | ok | yes, ran twice",
        &[("Q1, cancel 1, Q2, R2, R1", "after_cancel, ran_twice")],
    ),
    (
        "cancelled, late error or no answer | ok or open | yes, may have run twice",
        &[
            ("Q1, cancel 1, Q2", "after_cancel"),
            ("Q1, cancel 1, Q2, E1, R2", "after_cancel"),
            ("Q1, cancel 1, Q2, R1 isError, R2", "after_cancel"),
        ],
    ),
    (
        "never answered | ok or open | yes, may have run twice",
        &[("Q1, Q2", "reported"), ("Q1, Q2, R2", "reported")],
    ),
];

/// Reads the shorthand of the page into a script.
fn frames(text: &str) -> String {
    let http = text.contains('H');
    let mut script = String::new();
    let mut last = "1";
    for item in text.split(", ") {
        let (word, rest) = item.split_once(' ').unwrap_or((item, ""));
        let number = word.get(1..).unwrap_or("");
        let exchange = |id: &str| {
            if http {
                format!(" [c=h:1 x={id}]")
            } else {
                String::new()
            }
        };
        let line = match (word, word.get(..1)) {
            ("cancel", _) => format!("> N cancelled{{{rest}}}"),
            ("interim", _) => "< R1 IR{k;st=S}".into(),
            ("handle", _) => "< R1 {resultType:task,taskId:t,status:working}".into(),
            ("list", _) => format!(
                "> Q\"l\" tools/list\n< R\"l\" {{tools:[{{name:append,annotations:{{{rest}:true}}}}]}}"
            ),
            (_, Some("Q")) => {
                last = number;
                let client = rest.strip_prefix("of client ");
                let marks = match client {
                    Some(client) => format!(" [c={client}:1 peer={client} x={number}]"),
                    None if rest == "redacted" => " [red]".into(),
                    None => exchange(number),
                };
                format!("> Q{number} call append {{arguments:{{x:1}}}}{marks}")
            }
            (_, Some("R")) if rest == "isError" => format!("< R{number} {{isError:true}}"),
            (_, Some("R")) => format!("< R{number} {{content:[]}}{}", exchange(number)),
            (_, Some("E")) => format!("< E{number} -32603"),
            (_, Some("H")) => {
                let to = if rest.len() == 1 { rest } else { last };
                let undelivered = if rest == "undelivered" {
                    " undelivered"
                } else {
                    ""
                };
                format!("< {word} [c=h:1 x={to}{undelivered}]")
            }
            _ => panic!("{item}"),
        };
        writeln!(script, "{line}").unwrap();
    }
    script
}

fn reported(session: &Session) -> String {
    let reports: Vec<_> = session.repeated_calls().collect();
    assert_eq!(session.machine.repeats.count, reports.len() as u64);
    let remarks = remarks_of(session);
    let remarks: Vec<_> = remarks
        .iter()
        .filter(|remark| remark.starts_with("call-repeated@"))
        .collect();
    assert_eq!(remarks.len(), reports.len(), "{remarks:?}");
    let [report] = reports.as_slice() else {
        assert!(reports.is_empty(), "{reports:?}");
        return "none".into();
    };
    assert_eq!(&*report.tool, "append");
    assert_eq!((&*report.earlier_id, &*report.id), ("1", "2"));
    assert_eq!(*remarks[0], format!("call-repeated@{}", report.seq().0));
    assert!(report.earlier_seq() < report.seq());
    match (report.after_cancel, report.ran_twice) {
        (true, true) => "after_cancel, ran_twice",
        (true, false) => "after_cancel",
        (false, true) => "ran_twice",
        (false, false) => "reported",
    }
    .into()
}

#[track_caller]
fn check_repeat(script: &str, expected: &str) {
    fold(script, Limits::NONE, |session| {
        assert_eq!(reported(session), expected, "{script}");
        assert_eq!(session.counters().warnings, 0, "{script}");
    });
    check_released(script);
}

/// What is reported does not hang on what is held; noise drives out the rows after every frame.
#[track_caller]
fn check_released(script: &str) {
    let noise = "\nstderr \"x\"\nstderr \"x\"\nstderr \"x\"\n";
    let script: String = script.lines().map(|line| line.to_owned() + noise).collect();
    let said = |limits| {
        fold(&script, limits, |session| {
            let reports: Vec<_> = session.repeated_calls().cloned().collect();
            (session.machine.repeats.count, reports)
        })
    };
    for rows in 1..9 {
        let limits = Limits {
            body_bytes: Some(1),
            rows: Some(rows),
        };
        assert_eq!(said(limits), said(Limits::NONE), "{script}");
    }
}

#[test]
fn repeats_18() {
    for (text, expected) in PAGE {
        for (text, expected) in text.split(" / ").zip(expected.split(" / ")) {
            check_repeat(&frames(text), expected);
        }
    }
}

#[test]
fn a_call_that_left_memory_is_repeated_as_one_that_is_held() {
    let cases = [
        // Superseded: over, and its repeat with the same id.
        ("> Q1 call a\n> Q1 call a\n< R1 {content:[]}", 1),
        ("> Q1 call a\n> Q1 call a\n< E1 -1", 0),
        ("> Q1 call a\n> Q1 call a\n> Q1 call a\n< R1 {}", 2),
        // Its answer shows that it was no repeat.
        (
            "> Q1 call a [c=h:1 x=1]\n> Q1 call b [c=h:1]\n> Q2 call a [c=h:1 x=2]\n< R1 {} [c=h:1]\n< R1 {} [c=h:1 x=1]\n< R2 {} [c=h:1 x=2]",
            0,
        ),
        // Nobody knows which of several was answered.
        (
            "> Q2 call a [c=h:1]\n> Q2 call b [x=2 peer=q]\n> Q2 call b [x=2 peer=q]\n< R2 {}",
            0,
        ),
        (
            "> Q2 call b [x=2 peer=q]\n> Q2 call b [x=2 peer=q]\n< R2 {} [c=h:7]\n< R2 {} [c=h:7]",
            0,
        ),
        (
            "> Q1 call a [c=h:1]\n> Q2 call b [x=2 peer=q]\n> Q2 call b [x=2 peer=q]\n< R2 {resultType:complete,tools:[a,b]} [c=h:7]\n< R2 {resultType:complete,tools:[a,c]} [c=h:7]",
            0,
        ),
        // What HTTP failed stays failed, whatever is answered later.
        (
            "> Q1 call a [c=h:1 x=1]\n< H502 [c=h:1 x=1]\n> Q2 call a [c=h:1 x=2]\n< E1 -1 [c=h:1 x=1 st=404]\n< R2 {} [c=h:1 x=2]",
            1,
        ),
    ];
    for (script, count) in cases {
        let found = fold(script, Limits::NONE, |session| {
            session.machine.repeats.count
        });
        assert_eq!(found, count, "{script}");
        check_released(script);
    }
}

#[test]
fn repeats_18_judged() {
    for (row, cases) in JUDGED {
        for (text, expected) in cases {
            fold(&frames(text), Limits::NONE, |session| {
                assert_eq!(reported(session), *expected, "{row}: {text}");
            });
            check_released(&frames(text));
        }
    }
}

#[test]
fn signatures_compare_by_meaning_and_numbers_by_spelling() {
    let cases = [
        (
            "{\"name\":\"append\",\"arguments\":{\"a\":1,\"b\":[2]}}",
            "{\"arguments\": {\"b\":[ 2 ],\"\\u0061\":1},\"name\":\"append\",\"_meta\":{\"x\":1}}",
            true,
        ),
        (
            "{\"name\":\"append\"}",
            "{\"name\":\"append\",\"arguments\":{ }}",
            true,
        ),
        (
            "{\"name\":\"append\",\"arguments\":null}",
            "{\"name\":\"append\",\"arguments\":{}}",
            true,
        ),
        (
            "{\"name\":\"append\",\"arguments\":{\"a\":1}}",
            "{\"name\":\"append\",\"arguments\":{\"a\":1.0}}",
            false,
        ),
        (
            "{\"name\":\"append\",\"arguments\":{\"a\":{}}}",
            "{\"name\":\"append\",\"arguments\":{\"a\":null}}",
            false,
        ),
        ("{\"name\":\"append\"}", "{\"name\":\"apprehend\"}", false),
        (
            "{\"name\":\"append\",\"arguments\":[]}",
            "{\"name\":\"append\"}",
            false,
        ),
        ("{\"arguments\":{}}", "{\"arguments\":{}}", false),
    ];
    for (one, other, equal) in cases {
        let call = |id: u8, params: &str| {
            format!(
                "> {{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/call\",\"params\":{params}}}"
            )
        };
        let script = format!("{}\n{}", call(1, one), call(2, other));
        check_repeat(&script, if equal { "reported" } else { "none" });
    }
}

#[test]
fn look_alikes_stay_silent() {
    let cases = [
        // The answer may have gone by unrecorded.
        "#1 > Q1 call append, #3 > Q2 call append",
        "#1 > Q1 call append, #2 > Q2 call append, #9 < R2 {}",
        "> Q1 call append\n< {\"result\":{\"x\":\"AAA [trunc]\n> Q1 call append\n< R1 {}",
        // Only a client calls tools.
        "< Q1 tools/call {name:append}, < Q2 tools/call {name:append}",
        "> Q1 prompts/get {name:append}, > Q2 prompts/get {name:append}",
        // The first one parked or became a task before it was sent again.
        "> Q1 call append, < R1 IR{k;st=S}, > N cancelled{1}, > Q2 call append",
        // Redacted hints may be any.
        "> Q9 tools/list, < R9 {tools:[{name:append,annotations:{readOnlyHint:[R]}}]} [red], > Q1 call append, > Q2 call append",
    ];
    for script in cases {
        check_repeat(script, "none");
    }
    // Silence is told to whoever shows the frame: the hint came last.
    let text = frames("Q1, Q2, list readOnlyHint");
    let mut model = Model::new(Limits::NONE);
    let mut facts = Vec::new();
    for envelope in script::session(&text).unwrap() {
        facts.clear();
        model.ingest(&key(), &envelope, None, None, &mut facts);
    }
    assert!(facts.contains(&Fact::Changed(CallId(1))));
    check_repeat(
        "> Q9 tools/list, < R9 {tools:[{name:append,annotations:{readOnlyHint:false}}]}, > Q1 call append, > Q2 call append",
        "reported",
    );
}
