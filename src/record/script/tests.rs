//! The notation's rows, frame by frame.

use super::*;

/// One line a frame: number, milliseconds, direction, payload, marks.
fn show(text: &str) -> String {
    let frames = session(text).unwrap_or_else(|error| panic!("{error}"));
    let lines: Vec<_> = frames.iter().map(show_one).collect();
    lines.join("\n")
}

fn show_one(frame: &Envelope) -> String {
    let millis = frame.ts.unwrap().nanos_since(START) / 1_000_000;
    let payload = match &frame.payload {
        Payload::Nothing => "-".into(),
        Payload::Raw(raw) => String::from_utf8_lossy(raw.bytes()).into_owned(),
        Payload::Text(text) => format!("text {}", String::from_utf8_lossy(text)),
    };
    let head = format!("{} {millis} {}", frame.seq, frame.direction.as_str());
    let http = frame.http.as_deref().cloned().unwrap_or_default();
    let text = |mark: &str, value: Option<&str>| value.map(|value| format!("{mark}={value}"));
    let number = |mark: &str, value: u64| (value > 0).then(|| format!("{mark}={value}"));
    let peek = frame.peek.as_deref().map(|peek| {
        let id = String::from_utf8_lossy(peek.id.as_deref().unwrap_or_default());
        format!("peek={id},{}", peek.has.as_deref().unwrap_or_default())
    });
    let marks = [
        Some(head),
        Some(payload),
        frame
            .batch
            .then(|| format!("batch {}/{}", frame.batch_index, frame.batch_size)),
        frame.truncated.then(|| "trunc".into()),
        frame.redacted.then(|| "red".into()),
        text("c", http.conn_id.as_deref()),
        text("ch", http.auth_challenge.as_deref()),
        text("v", http.mcp_protocol_version.as_deref()),
        text("event", http.event.as_deref()),
        text("unobserved", http.unobserved.as_deref()),
        number("x", http.exchange),
        number("st", http.status.into()),
        peek,
    ];
    marks.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

fn check(text: &str, expected: &[&str]) {
    assert_eq!(show(text), expected.join("\n"), "{text}");
}

#[test]
fn messages_numbers_and_times() {
    check(
        "> Q1 call t\n@200 < R1 {}\n#7 @201 < E\"a\" -32603\n> N initialized",
        &[
            r#"1 0 c2s {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"}}"#,
            r#"2 200 s2c {"jsonrpc":"2.0","id":1,"result":{}}"#,
            r#"7 201 s2c {"jsonrpc":"2.0","id":"a","error":{"code":-32603,"message":"error"}}"#,
            r#"8 0 c2s {"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        ],
    );
    check(
        "`> Qnull x {\"a\": [1, 2]}`, `< E(null) -32700`, `< R1.0 {}`, `> Q\"a\" ping`, `< R\"\\u0061\" {}`",
        &[
            r#"1 0 c2s {"jsonrpc":"2.0","id":null,"method":"x","params":{"a": [1, 2]}}"#,
            r#"2 0 s2c {"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"error"}}"#,
            r#"3 0 s2c {"jsonrpc":"2.0","id":1.0,"result":{}}"#,
            r#"4 0 c2s {"jsonrpc":"2.0","id":"a","method":"ping"}"#,
            r#"5 0 s2c {"jsonrpc":"2.0","id":"\u0061","result":{}}"#,
        ],
    );
}

#[test]
fn attributes_make_the_session_http() {
    check(
        "`> Q1 call w [x=7 v=2026-07-28]`, `< H401 ch=\"Bearer…\" [x=7]`, `< T \"<html>\" [x=7 st=502]`\n\
         > Q5 … [c=a x=1] (resent)\n< T \"/messages?s=1\" [event=endpoint]\n< H200 unobserved [x=4]",
        &[
            r#"1 0 c2s {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"w"}} v=2026-07-28 x=7"#,
            "2 0 s2c - ch=Bearer… x=7 st=401",
            "3 0 s2c text <html> x=7 st=502",
            r#"4 0 c2s {"jsonrpc":"2.0","id":5,"method":"x"} c=a x=1"#,
            "5 0 s2c text /messages?s=1 event=endpoint",
            "6 0 s2c - unobserved=too large x=4 st=200",
        ],
    );
    assert_eq!(
        session("> Q1 x [x=1]").unwrap()[0].transport,
        Transport::Http
    );
    assert_eq!(session("> Q1 x").unwrap()[0].transport, Transport::Stdio);
    check(
        "> Q1 call t [v=2026-07-28]",
        &[
            r#"1 0 c2s {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#,
        ],
    );
}

#[test]
fn values_texts_batches_and_control_records() {
    check(
        "< T \"Listening on 3000\"\n< {\"hello\":1}\nstderr \"debug\"\n> []\n> [5, Q1 ping, N n]",
        &[
            "1 0 s2c text Listening on 3000",
            r#"2 0 s2c {"hello":1}"#,
            "3 0 stderr text debug",
            "4 0 c2s [] batch 0/0",
            "5 0 c2s 5 batch 0/3",
            r#"6 0 c2s {"jsonrpc":"2.0","id":1,"method":"ping"} batch 1/3"#,
            r#"7 0 c2s {"jsonrpc":"2.0","method":"n"} batch 2/3"#,
        ],
    );
    check(
        "`closed: client [x=4]`, `closed: server, shutdown [x=4]`, `unobserved [x=2]`, `#9 end{dropped:3}`, `meta {\"command\":[\"a\"]}`",
        &[
            r#"1 0 meta {"command":null,"event":"exchange_closed","exchange":4,"closed":"client"}"#,
            r#"2 0 meta {"command":null,"event":"exchange_closed","exchange":4,"closed":"server","reason":"shutdown"}"#,
            r#"3 0 meta {"command":null,"event":"unobserved","exchange":2,"reason":"too large"}"#,
            r#"9 0 meta {"command":null,"event":"end","dropped":3}"#,
            r#"10 0 meta {"command":["a"]}"#,
        ],
    );
}

#[test]
fn cut_frames_keep_their_text() {
    check(
        "`> {\"params\":{\"x\":\"AAA [trunc]`, `< R1 {}`, `< {\"result\":{\"content\":[ [trunc]`, `< T \"…\" [trunc peek={id:1,has:result}]`, `< T \"{\"id\":1,\"result\":{\" [trunc x=4]`",
        &[
            "1 0 c2s text {\"params\":{\"x\":\"AAA trunc",
            r#"2 0 s2c {"jsonrpc":"2.0","id":1,"result":{}}"#,
            "3 0 s2c text {\"result\":{\"content\":[ trunc",
            "4 0 s2c text … trunc peek=1,result",
            "5 0 s2c text {\"id\":1,\"result\":{ trunc x=4",
        ],
    );
}

#[test]
fn interim_results_and_retries() {
    let ask = r#"{"method":"elicitation/create","params":{"mode":"form","message":"m","requestedSchema":{"type":"object","properties":{}}}}"#;
    check(
        "> Q1 call b\n@10 < R1 IR{login;st=S}\n> Q8 call c\n< R8 IR{;st=T}\n@5000 > Q2 retry{login;st=S}\n> Q9 retry{;st=T}",
        &[
            r#"1 0 c2s {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"b"}}"#,
            &format!(
                r#"2 10 s2c {{"jsonrpc":"2.0","id":1,"result":{{"resultType":"input_required","inputRequests":{{"login":{ask}}},"requestState":"S"}}}}"#
            ),
            r#"3 0 c2s {"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"c"}}"#,
            r#"4 0 s2c {"jsonrpc":"2.0","id":8,"result":{"resultType":"input_required","requestState":"T"}}"#,
            r#"5 5000 c2s {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"b","inputResponses":{"login":{"action":"accept","content":{}}},"requestState":"S"}}"#,
            r#"6 0 c2s {"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"c","requestState":"T"}}"#,
        ],
    );
}

#[test]
fn abbreviations_of_the_page() {
    let cases = [
        (
            "N cancelled{\"j\",reason:\"x\"}",
            r#""method":"notifications/cancelled","params":{"requestId":"j","reason":"x"}"#,
        ),
        (
            "N cancelled{1, reason}",
            r#""params":{"requestId":1,"reason":"reason"}"#,
        ),
        (
            "N notifications/tasks/status{t,completed}",
            r#""params":{"taskId":"t","status":"completed"}"#,
        ),
        ("Q2 tasks/get{t}", r#""params":{"taskId":"t"}"#),
        ("Q2 tasks/get{[R]}", r#""params":{"taskId":"[REDACTED]"}"#),
        (
            "Q1 initialize{2026-07-28}",
            r#""params":{"protocolVersion":"2026-07-28"}"#,
        ),
        (
            "Q1 initialize{capabilities:\"[R]\"}",
            r#""capabilities":"[REDACTED]""#,
        ),
        (
            "R1 {2025-11-25}",
            r#""result":{"protocolVersion":"2025-11-25"}"#,
        ),
        (
            "Q1 listen{toolsListChanged}",
            r#""method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true}}"#,
        ),
        (
            "N …/acknowledged{sub \"1\"}",
            r#""method":"notifications/subscriptions/acknowledged","params":{"notifications":{},"_meta":{"io.modelcontextprotocol/subscriptionId":"1"}}"#,
        ),
        (
            "N tools/list_changed{sub 1}",
            r#""method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":1}}"#,
        ),
        ("Q1 call s{task:{}}", r#""params":{"name":"s","task":{}}"#),
        (
            "Q2 call b {st=S}",
            r#""params":{"name":"b","requestState":"S"}"#,
        ),
        (
            "R1 {task:{taskId:t,status:working}}",
            r#""result":{"task":{"taskId":"t","status":"working"}}"#,
        ),
        (
            "R3 task t1 working",
            r#""result":{"resultType":"task","taskId":"t1","status":"working"}"#,
        ),
        (
            "R3 completed{}",
            r#""result":{"status":"completed","result":{}}"#,
        ),
        (
            "R1 {tools:[s]}",
            r#""result":{"tools":[{"name":"s","inputSchema":{"type":"object"}}]}"#,
        ),
        ("R7 {isError:true}", r#""result":{"isError":true}"#),
        (
            "Q1 server/discover{_meta 2026-07-28, clientInfo X}",
            r#""params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"X","version":"1"}}}"#,
        ),
        (
            "R1 {supportedVersions:[…],_meta serverInfo S}",
            r#""result":{"supportedVersions":[],"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"S","version":"1"}}}"#,
        ),
        ("Q[R] call t", r#""id":"[REDACTED]","method":"tools/call""#),
        ("Q5 elicitation/create{form}", r#""params":{"mode":"form"}"#),
        (
            "E1 -32022 {supported:[a]}",
            r#""error":{"code":-32022,"message":"error","data":{"supported":["a"]}}"#,
        ),
    ];
    for (body, expected) in cases {
        let shown = show(&format!("> {body}"));
        assert!(shown.contains(expected), "{body}: {shown}");
    }
    let relaxed = "< {\"error\":{\"message\":\"no route\",…}} [st=404]";
    check(
        relaxed,
        &[r#"1 0 s2c {"error":{"message":"no route"}} st=404"#],
    );
    check(
        "`< {\"id\":1,\"error\":{…}} [st=400]`\n`#9 < T \"\" with trunc`, `#8` never seen",
        &[
            r#"1 0 s2c {"id":1,"error":{"code":-32603,"message":"error"}} st=400"#,
            "9 0 s2c - trunc",
        ],
    );
    let redacted = "> {\"jsonrpc\":\"[R]\",\"id\":1} [red]";
    check(
        redacted,
        &[r#"1 0 c2s {"jsonrpc":"[REDACTED]","id":1} red"#],
    );
}

#[test]
fn rows_of_the_page_are_read_word_for_word() {
    let rows = [
        ("`> [Q1 call a, Q2 call b, N n]` then `< [R2, R1]`", 5),
        (
            "`> {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"big\",\"arguments\":{\"b\":\"AAA [trunc]`, `< R1 {}`",
            2,
        ),
        (
            "`> Q1 ping [c=a]`, `> Q1 ping [c=b]`, `< R1 [c=a]`, `< R1 [c=b]`",
            4,
        ),
        (
            "`< Q5 … [c=a]`, `< Q5 … [c=z]` (other host), `> R5 {} [c=b]` (host of a)",
            3,
        ),
        ("… then `< R1 {}`", 1),
        (
            "`> Q1 call b`, `@400 < R1 IR{k;st=A}`, `@12400 > Q2 retry{k;st=A}`, `@12700 < R2 IR{s;st=B}`, `@37700 > Q3 retry{s;st=B}`, `@38200 < R3 {}`",
            6,
        ),
        ("`> Q1 call w [x=7]`, `< E(null) -32001 [x=7 st=401]`", 2),
        ("`> [Q1 call a, Q2 call b] [x=7]`, `< H503 [x=7]`", 3),
        ("… `> Q1 call t [x=2]` (resent), `< R1 {} [x=2]`", 2),
        (
            "`> Q1 call s`, `@1 < R1 {resultType:task,taskId:t,status:working}`",
            2,
        ),
        (
            "`< Q1 elicitation/create{task:{}}`, `> R1 {task:{taskId:c,status:working}}`, `< Q2 tasks/result{c}`, `> R2 {action:accept}`",
            4,
        ),
        (
            "`> Q1 tasks/get{[R]} [red]`, `> Q2 tasks/get{[R]} [red]`",
            2,
        ),
        ("`> Q[R] call t [red x=4]`, `< R[R] {} [red x=4]`", 2),
        ("`> Q1 tools/list [x=4]`, `< H405 [x=4]`", 2),
        (
            "`> Q1 ping`, `< {\"jsonrpc\":\"2.0\",\"id\":1,\"error\":\"[R]\"} [red]`",
            2,
        ),
    ];
    let more = [
        ("`#4 < R404 {}`, `#1-#3` never seen", 1),
        ("`< T \"\" with trunc`", 1),
        (
            "`< {\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{…}} [st=400]`",
            1,
        ),
    ];
    for (row, count) in rows.into_iter().chain(more) {
        assert_eq!(session(row).map(|frames| frames.len()), Ok(count), "{row}");
    }
}

#[test]
fn what_cannot_be_read_is_named() {
    for (text, expected) in [
        (
            "Q1 ping",
            ScriptError::Beginning {
                item: "Q1 ping".into(),
            },
        ),
        ("> Z", ScriptError::Body { item: "> Z".into() }),
        (
            "> Q1 x {",
            ScriptError::Body {
                item: "> Q1 x {".into(),
            },
        ),
        (
            "> Q1 retry{}",
            ScriptError::Body {
                item: "> Q1 retry{}".into(),
            },
        ),
    ] {
        assert_eq!(session(text), Err(expected));
    }
    assert_eq!(session(" \n// nothing\n"), Ok(vec![]));
}
