//! `mcpsnoop open` in a terminal: naming a log, damaged and growing logs, hostile text, every size of screen.

#![expect(
    clippy::string_slice,
    reason = "the bounds were found in the same text"
)]

use std::{fs::OpenOptions, io::Write as _, path::Path, process::Command, sync::Arc};

use crate::support::{home::Home, process::run_with, terminal::Terminal, wait::wait_for};

/// Lines of one session, as a recorder writes them.
pub(crate) struct Lines {
    id: String,
    label: String,
    next: u64,
    /// All lines so far.
    pub(crate) text: Vec<u8>,
}

impl Lines {
    /// A session with its start record.
    pub(crate) fn new(id: &str, label: &str) -> Self {
        let mut lines = Self {
            id: id.to_owned(),
            label: label.to_owned(),
            next: 1,
            text: Vec::new(),
        };
        lines.push(
            "meta",
            r#""raw":{"command":["server","--stdio"],"cwd":"/srv","format":7}"#,
        );
        lines
    }

    /// Adds one envelope; `rest` are its fields after `transport`.
    pub(crate) fn push(&mut self, direction: &str, rest: &str) {
        let (id, label) = (json(&self.id), json(&self.label));
        let (seq, second) = (self.next, self.next % 60);
        self.next += 1;
        let line = format!(
            "{{\"session_id\":{id},\"server_label\":{label},\"seq\":{seq},\
             \"ts\":\"2026-03-04T05:06:{second:02}.000000Z\",\"direction\":\"{direction}\",\
             \"transport\":\"stdio\",{rest}}}\n"
        );
        self.text.extend_from_slice(line.as_bytes());
    }

    /// A call of a tool and its answer.
    pub(crate) fn call(mut self, tool: &str) -> Self {
        let id = self.next;
        let tool = json(tool);
        self.push("c2s", &format!(r#""raw":{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":{tool},"arguments":{{}}}}}}"#));
        self.push("s2c", &format!(r#""raw":{{"jsonrpc":"2.0","id":{id},"result":{{"content":[{{"type":"text","text":"done"}}]}}}}"#));
        self
    }

    /// Adds an envelope and goes on.
    pub(crate) fn with(mut self, direction: &str, rest: &str) -> Self {
        self.push(direction, rest);
        self
    }

    /// The end record.
    pub(crate) fn end(self) -> Self {
        self.with(
            "meta",
            r#""raw":{"command":["server","--stdio"],"event":"end","exit_code":0,"dropped":0}"#,
        )
    }
}

fn json(text: &str) -> String {
    serde_json::to_string(text).expect("a string")
}

/// A shell that becomes the command with its standard error in a file of the home.
fn apart(home: &Home, arguments: &[&str]) -> Command {
    scripted(home, "exec \"$0\" open \"$@\" 2>errors", arguments)
}

/// A shell script whose `$0` is the program and whose words are the arguments.
fn scripted(home: &Home, script: &str, arguments: &[&str]) -> Command {
    let mut command = home.command("sh");
    command
        .args(["-c", script, env!("CARGO_BIN_EXE_mcpsnoop")])
        .args(arguments);
    command
}

fn open(home: &Home, argument: &Path) -> Command {
    let mut command = home.mcpsnoop();
    command.arg("open").arg(argument);
    command
}

/// Leaves the viewer by the command line and expects a clean end.
#[track_caller]
pub(crate) fn leave(terminal: &mut Terminal) {
    terminal.keys(":q\r");
    let code = terminal.wait();
    assert_eq!(code, 0, "{}", terminal.screen());
}

/// Makes a file look as if it had last changed that many seconds ago.
pub(crate) fn age(path: &Path, seconds: u64) {
    let file = OpenOptions::new().append(true).open(path).expect("a file");
    let now = file
        .metadata()
        .and_then(|found| found.modified())
        .expect("a time");
    file.set_modified(now - std::time::Duration::from_secs(seconds))
        .expect("a time");
}

/// A state directory with two logs of `files` and one of `web`, the newest last.
fn three_logs(home: &Home) {
    let sessions = ".local/state/mcpsnoop/sessions";
    for (id, label, tool, seconds) in [
        ("files-101-0a0000000001", "files", "oldest_tool", 300),
        ("files-202-0b0000000002", "files", "middle_tool", 200),
        ("web-303-0c0000000003", "web", "newest_tool", 100),
    ] {
        let lines = Lines::new(id, label).call(tool).end();
        let path = home.write(&format!("{sessions}/{id}.jsonl"), &lines.text);
        age(&path, seconds);
    }
    // Neither of these may hide the newest capture.
    home.write(&format!("{sessions}/empty-404-0d0000000004.jsonl"), "");
    home.write(
        &format!("{sessions}/failed-505-0e0000000005.jsonl"),
        &Lines::new("failed-505-0e0000000005", "failed").text,
    );
}

#[test]
fn every_name_of_a_session_leads_to_its_log() {
    let home = Home::new();
    three_logs(&home);
    let copy = home.write(
        "copied.jsonl",
        &Lines::new("c-1-000000000001", "copy")
            .call("copied_tool")
            .text,
    );
    let cases: [(&[&str], &str, &str); 6] = [
        (
            &[],
            "newest_tool",
            "session web-303-0c0000000003 (1 minute ago)",
        ),
        (
            &["files"],
            "middle_tool",
            "session files-202-0b0000000002 (3 minutes ago)",
        ),
        (
            &["files-1"],
            "oldest_tool",
            "session files-101-0a0000000001 (5 minutes ago)",
        ),
        (&["files-101-0a0000000001"], "oldest_tool", ""),
        (&[copy.to_str().expect("a path")], "copied_tool", ""),
        (&["./copied.jsonl"], "copied_tool", ""),
    ];
    for (arguments, tool, announced) in cases {
        let mut terminal = Terminal::start(&apart(&home, arguments), 80, 24);
        terminal.wait_text(tool);
        leave(&mut terminal);
        let said = std::fs::read_to_string(home.path().join("errors")).expect("standard error");
        assert_eq!(said.trim_end(), announced, "{arguments:?}");
    }
}

#[test]
fn standard_input_and_pipes_are_read_while_keys_come_from_the_terminal() {
    let home = Home::new();
    let lines = Lines::new("p-1-000000000001", "piped").call("first_tool");
    home.write("some.jsonl", &lines.text);
    let script = "cat some.jsonl | \"$0\" open -";
    let mut terminal = Terminal::start(&scripted(&home, script, &[]), 80, 24);
    terminal.wait_text("first_tool");
    terminal.keys("?");
    terminal.wait_text("help");
    terminal.keys("q");
    leave(&mut terminal);

    let fifo = home.path().join("fifo");
    rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, rustix::fs::Mode::RWXU).expect("a pipe");
    let mut terminal = Terminal::start(&open(&home, &fifo), 80, 24);
    let mut pipe = OpenOptions::new().write(true).open(&fifo).expect("a pipe");
    pipe.write_all(&lines.text).expect("written lines");
    terminal.wait_text("first_tool");
    let before = lines.text.len();
    let lines = lines.call("second_tool");
    pipe.write_all(&lines.text[before..])
        .expect("written lines");
    terminal.wait_text("second_tool");
    drop(pipe);
    leave(&mut terminal);
    assert!(!home.state().exists(), "reading creates nothing");
}

#[test]
fn what_cannot_be_opened_ends_with_two_and_says_what_to_do() {
    let home = Home::new();
    three_logs(&home);
    home.write("empty.jsonl", "");
    home.write("notes.jsonl", "{\"a\":1}\nhello\n");
    home.write("folder/x", "");
    let cases: [(&[&str], &[&str]); 10] = [
        (
            &["files-101-0a0000000009"],
            &[
                "session log `files-101-0a0000000009` not found",
                "mcpsnoop open files-101-0a0000000001",
            ],
        ),
        (
            &["file"],
            &[
                "mcpsnoop open files-101-0a0000000001",
                "mcpsnoop open files-202-0b0000000002",
            ],
        ),
        (&["zzz"], &["session log `zzz` not found"]),
        (&["absent.jsonl"], &["session log `absent.jsonl` not found"]),
        (&["folder"], &["is a directory"]),
        (&["./folder"], &["is a directory"]),
        (&["../../etc/passwd2"], &["not found"]),
        (&["empty.jsonl"], &["`empty.jsonl` is empty"]),
        (&["/dev/null"], &["nothing came in from `/dev/null`"]),
        (&["notes.jsonl"], &["not a session log"]),
    ];
    for (arguments, words) in cases {
        let mut terminal = Terminal::start(&apart(&home, arguments), 80, 24);
        let code = terminal.wait();
        let said = std::fs::read_to_string(home.path().join("errors")).expect("standard error");
        assert_eq!(code, 2, "{arguments:?}: {said}");
        assert!(said.starts_with("error: "), "{arguments:?}: {said}");
        for word in words {
            assert!(
                said.contains(word),
                "{arguments:?}: {word} is not in {said}"
            );
        }
        assert!(
            !terminal.bytes().windows(6).any(|bytes| bytes == b"?1049h"),
            "{arguments:?}: the screen was taken for an error"
        );
    }
    let nothing = Home::new();
    let mut terminal = Terminal::start(&apart(&nothing, &[]), 80, 24);
    assert_eq!(terminal.wait(), 2);
    let said = std::fs::read_to_string(nothing.path().join("errors")).expect("standard error");
    assert!(said.contains("no session logs found"), "{said}");
    assert!(!nothing.state().exists(), "reading creates nothing");
}

#[test]
fn damage_is_read_around_and_told() {
    let home = Home::new();
    let mut lines = Lines::new("d-1-000000000001", "damaged").call("before_tool");
    lines
        .text
        .extend_from_slice(b"not json at all\n\0\0\0\0\0\0\0\0\n");
    // A torn write with a whole envelope glued to it, and one frame that is nowhere.
    lines
        .text
        .extend_from_slice(br#"{"session_id":"d-1-000000000001","se"#);
    lines.push(
        "c2s",
        r#""raw":{"jsonrpc":"2.0","id":"g","method":"glued/method"}"#,
    );
    lines.next += 1;
    let mut lines = lines.call("after_tool");
    lines.text.extend_from_slice(br#"{"session_id":"d-1-0000"#);
    let path = home.write("damaged.jsonl", &lines.text);
    age(&path, 3_600);
    let mut terminal = Terminal::start(&open(&home, &path), 100, 30);
    terminal.wait_text("before_tool");
    let screen = terminal.wait_text("after_tool");
    assert!(screen.contains("glued/method"), "{screen}");
    terminal.wait_text("1 frame missing · 3 damaged lines");
    terminal.keys(":messages\r");
    terminal.wait_text("3 damaged lines (first: line 4)");
    terminal.wait_text("the last line is incomplete");
    leave(&mut terminal);
    assert_eq!(
        std::fs::read(&path).expect("the log"),
        lines.text,
        "reading changes nothing"
    );
}

#[test]
fn a_growing_log_is_followed_unless_it_should_not_be() {
    let home = Home::new();
    let lines = Lines::new("g-1-000000000001", "growing").call("first_tool");
    let path = home.write("growing.jsonl", &lines.text);
    let mut follows = Terminal::start(&open(&home, &path), 80, 24);
    let mut still = home.mcpsnoop();
    still.args(["open", "--no-follow", "growing.jsonl"]);
    let mut stands = Terminal::start(&still, 80, 24);
    follows.wait_text("first_tool");
    stands.wait_text("first_tool");
    let before = lines.text.len();
    let lines = lines.call("second_tool");
    let mut file = OpenOptions::new()
        .append(true)
        .open(&path)
        .expect("the log");
    // Half a line shows nothing, and the other half completes it.
    let (half, rest) = lines.text[before..].split_at(50);
    file.write_all(half).expect("half a line");
    file.write_all(rest).expect("the rest");
    let screen = follows.wait_text("second_tool");
    assert!(!screen.contains("missing"), "{screen}");
    leave(&mut stands);
    assert!(!String::from_utf8_lossy(&stands.bytes()).contains("second_tool"));
    leave(&mut follows);
}

#[test]
fn a_call_that_its_server_never_answered_says_how_the_session_ended() {
    for (server, said) in [
        ("read line; exit 3", "no answer: session ended, exit 3"),
        ("read line; kill -KILL $$", "no answer: session ended by "),
    ] {
        let home = Home::new();
        let mut shim = home.mcpsnoop();
        shim.args(["--quiet", "--", "sh", "-c", server]);
        let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"deploy"}}"#;
        run_with(&mut shim, format!("{call}\n").as_bytes());
        let mut terminal = Terminal::start(&open(&home, &home.only_log()), 80, 24);
        let screen = terminal.wait_text(said);
        assert!(screen.contains("1 call without an answer"), "{screen}");
        terminal.keys("\r");
        terminal.wait_text("no answer");
        terminal.wait_text(&format!("  {said}"));
        leave(&mut terminal);
    }
}

#[test]
fn logs_of_released_versions_open_with_their_counts_and_no_accusation() {
    let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/samples");
    let table = std::fs::read_to_string(samples.join("README.md")).expect("the table");
    let home = Home::new();
    let mut opened = 0;
    for row in table.lines().filter(|line| line.starts_with("| v")) {
        let cells: Vec<_> = row.trim_matches('|').split('|').map(str::trim).collect();
        let number = |at: usize| cells[at].parse::<u64>().expect("a count");
        let frames = number(1) - number(7);
        let errors = number(4) + number(5);
        let mut terminal = Terminal::start(&open(&home, &samples.join(cells[0])), 120, 40);
        let counts = if errors == 0 {
            format!(" {frames} frames")
        } else {
            format!(" {frames} frames · {errors} err")
        };
        let mut screen = terminal.wait_text(&counts);
        if cells[0] == "v0.1.0-http.jsonl" {
            // A log that ends in its handshake, and the only one that lacks numbers.
            screen = terminal
                .wait_text("2 frames missing")
                .replace("missing", "");
        }
        for word in [
            "missing",
            " bad",
            " warn",
            "lost",
            "late",
            "not loaded",
            "floors",
            "damaged",
        ] {
            assert!(!screen.contains(word), "{}: {word}\n{screen}", cells[0]);
        }
        leave(&mut terminal);
        opened += 1;
    }
    assert_eq!(opened, 18);
}

#[test]
fn a_line_of_sixty_four_mebibytes_opens_and_is_inspected() {
    let home = Home::new();
    let mut lines = Lines::new("b-1-000000000001", "big").call("small_tool");
    let body = "x".repeat(64 << 20);
    lines.push("s2c", &format!(r#""raw":{{"jsonrpc":"2.0","method":"notifications/huge","params":{{"data":"{body}"}}}}"#));
    let lines = lines.call("last_tool");
    let path = home.write("big.jsonl", &lines.text);
    let mut terminal = Terminal::start(&open(&home, &path), 80, 24);
    terminal.wait_text("last_tool");
    let screen = terminal.wait_text("5 frames");
    assert!(!screen.contains("missing"), "{screen}");
    terminal.keys("G\r");
    terminal.wait_text("\"text\": \"done\"");
    leave(&mut terminal);
}

/// Every string that a peer can choose, with everything that could drive a terminal.
const HOSTILE: &str = "A\x1b]0;title\x07B\x1b[31mC\u{9b}31mD\u{202e}E\u{200b}F\u{7f}G\u{2028}H\u{e000}I\x1bP1$r\x1b\\J\tK\rL";

#[test]
fn nothing_captured_reaches_the_terminal_raw() {
    let home = Home::new();
    let text = json(HOSTILE);
    let mut lines = Lines::new(HOSTILE, HOSTILE);
    lines.push("c2s", &format!(r#""raw":{{"jsonrpc":"2.0","id":0,"method":"initialize","params":{{"protocolVersion":{text},"clientInfo":{{"name":{text},"version":{text}}},"capabilities":{{}}}}}}"#));
    lines.push("s2c", &format!(r#""raw":{{"jsonrpc":"2.0","id":0,"result":{{"protocolVersion":{text},"serverInfo":{{"name":{text},"version":{text}}},"capabilities":{{}}}}}}"#));
    let mut lines = lines.call(HOSTILE);
    lines.push("stderr", &format!(r#""text":{text}"#));
    lines.push("s2c", &format!(r#""text":{text}"#));
    lines.push(
        "c2s",
        &format!(
            r#""raw":{{"jsonrpc":"2.0","id":{text},"method":{text},"params":{{{text}:{text}}}}}"#
        ),
    );
    lines.push("s2c", &format!(r#""raw":{{"jsonrpc":"2.0","id":{text},"error":{{"code":-1,"message":{text},"data":{text}}}}}"#));
    // Raw bytes, not escaped in the source.
    lines.push("s2c", "\"raw\":{\"jsonrpc\":\"2.0\",\"method\":\"raw\u{202e}\u{9b}31m\u{200b}\",\"params\":{\"x\":\"\u{feff}\u{2066}\"}}");
    lines
        .text
        .extend_from_slice(b"{\"session_id\":\"\x1b]0;x\x07\xff\xfe\n");
    let path = home.write("evil\x1b]0;t\x07\u{202e}.jsonl", &lines.text);
    let shared = Arc::new(path);
    for (columns, rows) in [(120, 40), (40, 10)] {
        let mut terminal = Terminal::start(&open(&home, &shared), columns, rows);
        terminal.wait_text("frames");
        // Every row in the inspector, then every panel and the sessions of the log.
        terminal.keys("g\r");
        for _ in 0..10 {
            terminal.keys("\x0e");
        }
        terminal.keys("q?");
        terminal.wait_text("help");
        terminal.keys("q:messages\r");
        terminal.wait_text("messages");
        terminal.keys("qq");
        terminal.wait_screen("the table", |screen| {
            screen.contains("NAME") || screen.contains("REQ")
        });
        terminal.keys("/\u{202e}\u{9b}\r");
        terminal.wait_text("no session matches");
        leave(&mut terminal);
        assert_harmless(&terminal.bytes());
    }
    // On plain standard error too.
    let mut command = home.mcpsnoop();
    command
        .arg("open")
        .arg(home.path().join("none\x1b]0;t\x07\u{202e}.jsonl"));
    let mut terminal = Terminal::start(&command, 120, 40);
    assert_eq!(terminal.wait(), 2);
    assert!(
        terminal.screen().contains("\\u001b]0;t\\u0007\\u202e"),
        "{}",
        terminal.screen()
    );
    assert_harmless(&terminal.bytes());
}

/// Fails unless everything that went to a terminal is text or one of the sequences of tui.md 18 J10.
#[track_caller]
pub(crate) fn assert_harmless(bytes: &[u8]) {
    let text = std::str::from_utf8(bytes).expect("text in UTF-8");
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        if letter == '\x1b' {
            rest = after_sequence(rest);
            continue;
        }
        let allowed = matches!(letter, '\n' | '\r' | '\x08')
            || !(letter.is_control()
                || matches!(letter, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e000}'..='\u{f8ff}' | '\u{fffd}'));
        assert!(
            allowed,
            "{letter:?} went to the terminal before {:?}",
            beginning(rest)
        );
        rest = &rest[letter.len_utf8()..];
    }
}

/// Checks the sequence that a text begins with, and gives what follows it.
#[track_caller]
fn after_sequence(text: &str) -> &str {
    if let Some(clipboard) = text.strip_prefix("\x1b]52;c;") {
        let end = clipboard.find("\x1b\\").expect("the end of a copy");
        let copied = &clipboard[..end];
        assert!(!copied.contains('?'), "the clipboard was asked for");
        return &clipboard[end + 2..];
    }
    let Some(sequence) = text.strip_prefix("\x1b[") else {
        panic!("{:?} went to the terminal", beginning(text));
    };
    let end = sequence
        .find(|letter: char| letter.is_ascii_alphabetic())
        .expect("a sequence's end");
    let (parameters, last) = (&sequence[..end], &sequence[end..=end]);
    let known = match last {
        "h" | "l" => ["?25", "?1004", "?1049", "?2004", "?2026", "8"].contains(&parameters),
        "m" | "H" | "J" | "K" | "r" => parameters
            .chars()
            .all(|letter| letter.is_ascii_digit() || matches!(letter, ';' | ':')),
        _ => false,
    };
    assert!(known, "{:?} went to the terminal", beginning(text));
    &sequence[end + 1..]
}

fn beginning(text: &str) -> String {
    text.chars().take(40).collect()
}

#[test]
fn every_size_of_screen_shows_the_stream_and_the_table() {
    let home = Home::new();
    let mut lines = Lines::new("s-1-000000000001", "sizes");
    for _ in 0..60 {
        lines = lines.call("some_tool");
    }
    let path = home.write("sizes.jsonl", &lines.end().text);
    let mut terminal = Terminal::start(&open(&home, &path), 80, 24);
    for (columns, rows) in [
        (80, 24),
        (120, 40),
        (40, 10),
        (200, 60),
        (39, 9),
        (1, 1),
        (80, 24),
    ] {
        terminal.resize(columns, rows);
        if columns >= 40 {
            terminal.wait_screen("the counters", |screen| {
                let lines: Vec<_> = screen.lines().collect();
                lines.len() == usize::from(rows)
                    && lines.last().is_some_and(|line| line.contains("120 frames"))
                    && lines.iter().any(|line| {
                        line.contains("some_tool")
                            || line.contains("call some")
                            || line.contains("resp some")
                    })
            });
        } else if columns > 30 {
            terminal.wait_text("too small: 39x9");
        }
    }
    terminal.keys("\x1b");
    terminal.wait_screen("the table", |screen| {
        screen.contains("NAME") && screen.contains("sizes")
    });
    leave(&mut terminal);
}

#[test]
fn a_log_that_goes_away_leaves_what_is_shown() {
    let home = Home::new();
    let lines = Lines::new("w-1-000000000001", "gone").call("first_tool");
    let path = home.write("gone.jsonl", &lines.text);
    let mut terminal = Terminal::start(&open(&home, &path), 80, 24);
    terminal.wait_text("first_tool");
    std::fs::remove_file(&path).expect("a removed log");
    terminal.keys("g");
    let screen = wait_for("the rows", || {
        Some(terminal.screen()).filter(|screen| screen.contains("2 frames"))
    });
    assert!(screen.contains("first_tool"), "{screen}");
    leave(&mut terminal);
}
