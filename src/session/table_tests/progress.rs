//! Session-model.md 9: its table as tests, and what looks like its rows.

use super::*;

/// Rows of the page's table that are tests here.
pub(super) const ROWS: &[(&str, usize)] = &[("9", PAGE.len())];

/// Steps of one hop with token "p", and the remarks; the first request is frame 1.
const PAGE: [(&str, &str); 10] = [
    ("50", ""),
    ("50, 20", "progress-not-increasing@3"),
    ("50, 50", "progress-not-increasing@3"),
    ("0.1, 0.2, 1e0", ""),
    ("9007199254740992, 9007199254740993", ""),
    ("50, answer, 60", "progress-after-completion@4"),
    ("50, answer, new request with \"p\", 1", ""),
    ("50, interim answer, linked retry with \"p\", 1", ""),
    (
        "50, core task handle, 60, `notifications/tasks/status` completed, 70",
        "progress-after-completion@6",
    ),
    (
        "request A with \"p\", request B with \"p\", 50, A answered, 10",
        "progress-token-shared@2",
    ),
];

const ASK: &str = "call t{task:{},_meta:{progressToken:\"p\"}}";

/// A row of the page in frames.
fn frames(steps: &str) -> String {
    let mut text = format!("> Q1 {ASK}\n");
    // A is the first request.
    let steps = steps
        .strip_prefix("request A with \"p\", ")
        .unwrap_or(steps);
    for step in steps.split(", ") {
        let line = match step {
            "answer" | "A answered" => "< R1 {}".to_owned(),
            "new request with \"p\"" | "request B with \"p\"" => format!("> Q2 {ASK}"),
            "B answered" => "< R2 {}".to_owned(),
            "cancelled" => "> N cancelled{1}".to_owned(),
            "interim answer" => "< R1 IR{k;st=S}".to_owned(),
            "linked retry with \"p\"" => "> Q2 retry{k;st=S}".to_owned(),
            "core task handle" => "< R1 {task:{taskId:t,status:working}}".to_owned(),
            "extension task handle" => "< R1 {resultType:task,taskId:t,status:working}".to_owned(),
            "`notifications/tasks/status` completed" => {
                "< N notifications/tasks/status{t,completed}".to_owned()
            }
            "`notifications/tasks` completed" => "< N notifications/tasks{t,completed}".to_owned(),
            number => progress("\"p\"", number),
        };
        text.push_str(&line);
        text.push('\n');
    }
    text
}

fn progress(token: &str, number: &str) -> String {
    format!("< N progress{{progressToken:{token},progress:{number}}}")
}

#[track_caller]
fn check_remarks(text: &str, expected: &str) {
    fold(text, Limits::NONE, |session| {
        assert_eq!(own_remarks(session, "progress-"), expected, "{text}");
        check_sums(session);
    });
}

#[test]
fn progress_9() {
    for (steps, expected) in PAGE {
        check_remarks(&frames(steps), expected);
    }
}

#[test]
fn look_alikes_of_values_that_do_not_grow() {
    let cases = [
        // Another token, another type of it, and numbers that only look alike.
        ("50, answer, new request with \"p\", 50", ""),
        ("1e3, 1001", ""),
        ("1e400000, 1.1e400000", ""),
        ("-2, -1.5, 0", ""),
        ("50, \"49\", 51", ""),
        ("50, \"49\", 50", "progress-not-increasing@4"),
        ("50, cancelled, 60", ""),
        ("50, cancelled, 40", "progress-not-increasing@4"),
        // What comes for the cancelled request may be taken for that of the new one.
        ("50, cancelled, new request with \"p\", 60, 1", ""),
        ("50, 20, 30", "progress-not-increasing@3"),
    ];
    for (steps, expected) in cases {
        check_remarks(&frames(steps), expected);
    }
    let two = format!(
        "> Q1 {ASK}\n> Q2 call t{{_meta:{{progressToken:7}}}}\n{}\n{}\n{}",
        progress("\"p\"", "50"),
        progress("7", "20"),
        progress("\"7\"", "1"),
    );
    check_remarks(&two, "");
}

#[test]
fn look_alikes_of_progress_after_the_end() {
    let cases = [
        ("50, extension task handle, 60, 10", ""),
        (
            "50, extension task handle, `notifications/tasks` completed, 70",
            "",
        ),
        ("50, core task handle, 60, 70", ""),
        ("50, core task handle, 40", "progress-not-increasing@4"),
        ("answer, \"60\"", ""),
        ("50, interim answer, 60", "progress-after-completion@4"),
    ];
    for (steps, expected) in cases {
        check_remarks(&frames(steps), expected);
    }
    let over_http = |answer: u8, told: u8| {
        let ask = format!("> Q1 {ASK} [c=a x=1]\n< R1 {{}} [c=a x={answer}]");
        format!("{ask}\n{} [c=a x={told}]", progress("\"p\"", "1"))
    };
    check_remarks(&over_http(1, 1), "progress-after-completion@3");
    // Separate streams overtake each other.
    check_remarks(&over_http(1, 2), "");
    check_remarks(&over_http(2, 3), "");
}

#[test]
fn a_resumed_stream_repeats_itself_without_blame() {
    let text = format!(
        "> Q1 {ASK} [c=a x=1]\n{told} [c=a x=1]\n{told} [c=a x=2]\n{told} [c=a x=2]",
        told = progress("\"p\"", "50"),
    );
    check_remarks(&text, "progress-not-increasing@4");
}

#[test]
fn look_alikes_of_shared_tokens() {
    let cases = [
        (
            "request B with \"p\", B answered, 10, 5",
            "progress-token-shared@2 progress-not-increasing@5",
        ),
        (
            "request B with \"p\", 50, 20, 10",
            "progress-token-shared@2",
        ),
        (
            "request B with \"p\", A answered, B answered, 10",
            "progress-token-shared@2 progress-after-completion@5",
        ),
        ("answer, new request with \"p\"", ""),
        ("cancelled, new request with \"p\"", ""),
        (
            "core task handle, new request with \"p\"",
            "progress-token-shared@3",
        ),
        ("extension task handle, new request with \"p\"", ""),
        (
            "core task handle, `notifications/tasks/status` completed, new request with \"p\"",
            "",
        ),
        ("interim answer, linked retry with \"p\"", ""),
    ];
    for (steps, expected) in cases {
        check_remarks(&frames(steps), expected);
    }
    let other_connection = format!("> Q1 {ASK} [c=a]\n> Q2 {ASK} [c=b]");
    check_remarks(&other_connection, "");
    let other_side =
        format!("> Q1 {ASK}\n< Q1 sampling/createMessage{{_meta:{{progressToken:\"p\"}}}}");
    check_remarks(&other_side, "");
    let other_peer = format!("> Q1 {ASK} [c=a peer=one]\n> Q2 {ASK} [c=a peer=two]");
    check_remarks(&other_peer, "");
    let one_peer = format!("> Q1 {ASK} [c=a peer=one]\n> Q2 {ASK} [c=b peer=one]");
    check_remarks(&one_peer, "progress-token-shared@2");
}

#[test]
fn a_gap_turns_warnings_into_observations() {
    let ask = format!("#1 > Q1 {ASK}");
    let told = |seq: u8, number: &str| format!("\n#{seq} {}", progress("\"p\"", number));
    check_remarks(
        &format!("{ask}{}{}", told(2, "50"), told(4, "20")),
        "progress-not-increasing@4?",
    );
    check_remarks(
        &format!("{ask}{}{}", told(3, "50"), told(4, "20")),
        "progress-not-increasing@4?",
    );
    check_remarks(
        &format!("{ask}{}{}\n#9 > Q2 ping", told(2, "50"), told(3, "20")),
        "progress-not-increasing@3",
    );
    check_remarks(
        &format!("{ask}\n#2 < R1 {{}}{}", told(4, "20")),
        "progress-after-completion@4?",
    );
    // The first one may have been answered in between: then it shares its token with nobody.
    check_remarks(&format!("{ask}\n#3 > Q2 {ASK}"), "");
}

#[test]
fn redaction_21_hides_tokens_and_accuses_nobody() {
    let hidden = "> Q1 call t{_meta:{progressToken:[R]}} [red]";
    let told =
        |number: &str| format!("\n< N progress{{progressToken:[R],progress:{number}}} [red]");
    fold(
        &format!("{hidden}{}{}", told("50"), told("20")),
        Limits::NONE,
        |session| {
            assert_eq!(own_remarks(session, "progress-"), "");
            assert_eq!(session.call(CallId(0)).unwrap().progress, None);
        },
    );
    // The same text on frames that are not marked is an ordinary token.
    let plain = "> Q1 call t{_meta:{progressToken:[R]}}";
    let told = "\n< N progress{progressToken:[R],progress:5}";
    check_remarks(&format!("{plain}{told}{told}"), "progress-not-increasing@3");
    let silent = [
        // The token of a later request was redacted: the value may be of that one.
        format!(
            "> Q1 {ASK}\n< R1 {{}}\n> Q2 call t{{_meta:{{progressToken:[R]}}}} [red]\n{}",
            progress("\"p\"", "1")
        ),
        format!(
            "> Q1 {ASK}\n< R1 {{}}\n> Q2 call t{{_meta:[R]}} [red]\n{}",
            progress("\"p\"", "1")
        ),
        format!(
            "> Q1 {ASK}\n{}\n> Q2 call t{{_meta:{{progressToken:[R]}}}} [red]\n{}",
            progress("\"p\"", "50"),
            progress("\"p\"", "1")
        ),
        // The answer that ended the first use has no id any more.
        format!("> Q1 {ASK}\n< R[R] {{}} [red]\n> Q2 {ASK}"),
        // Whether it was the handle of a task cannot be seen.
        format!(
            "> Q1 {ASK}\n< R1 {{task:[R]}} [red]\n{}",
            progress("\"p\"", "1")
        ),
        format!(
            "> Q1 {ASK}\n< R1 {{resultType:[R],taskId:[R]}} [red]\n{}",
            progress("\"p\"", "1")
        ),
    ];
    for text in silent {
        check_remarks(&text, "");
    }
}

#[test]
fn a_call_keeps_what_was_told_last() {
    let text = "> Q1 call t{_meta:{progressToken:1}}\n\
                @10 < N progress{progressToken:1.0,progress:0.2,total:1,message:\"index\"}\n\
                @30 < N progress{progressToken:1,progress:4e-1,message:\"rank\"}";
    fold(text, Limits::NONE, |session| {
        let call = session.call(CallId(0)).unwrap();
        let told = call.progress.as_deref().unwrap();
        assert_eq!(told.value.as_deref(), Some("4e-1"));
        assert_eq!(told.total.as_deref(), None);
        assert_eq!(told.message.as_deref(), Some("rank"));
        let millis = |ts: Option<Timestamp>| ts.unwrap().nanos_since(script::START) / 1_000_000;
        assert_eq!((millis(told.first_at), millis(told.last_at)), (10, 30));
        assert_eq!(call.progress_count, 2);
    });
    let over = format!(
        "{text}\n@40 < R1 {{}}\n@50 < N progress{{progressToken:1,progress:2,message:\"late\"}}"
    );
    fold(&over, Limits::NONE, |session| {
        let call = session.call(CallId(0)).unwrap();
        let told = call.progress.as_deref().unwrap();
        assert_eq!(
            (told.value.as_deref(), told.message.as_deref()),
            (Some("2"), None)
        );
        let last = session.position(*call.linked.last().unwrap()).unwrap();
        assert_eq!(
            session.row(last).unwrap().method,
            Some("notifications/progress")
        );
    });
    let long = format!(
        "> Q1 call t{{_meta:{{progressToken:1}}}}\n< N progress{{progressToken:1,progress:1,message:\"{}\"}}",
        "ü".repeat(5_000)
    );
    fold(&long, Limits::NONE, |session| {
        let call = session.call(CallId(0)).unwrap();
        let message = call.progress.as_deref().unwrap().message.as_deref();
        assert_eq!(message.unwrap(), "ü".repeat(512));
    });
}

#[test]
fn remarks_name_the_peer_and_escape_what_was_sent() {
    let text = format!(
        "> Q1 {ASK}\n{}\n{}",
        progress("\"p\"", "50"),
        progress("\"p\"", "5e1")
    );
    fold(&text, Limits::NONE, |session| {
        let last = session.row(2).unwrap().id;
        let remark = &session.extra(last).unwrap().remarks[0];
        assert_eq!(remark.text, "server: progress has to grow; 5e1 follows 50");
    });
}
