//! The frames of an ordinary session, in a round of forty: calls with results, progress, listings, reads, prompts, log
//! messages, a question of the server, errors of both kinds.

use std::fmt::{Error as FormatError, Write as _};

/// What one frame of the round is; `u64` numbers the requests of the round.
#[derive(Clone, Copy)]
enum Step {
    Call(u64),
    Answer(u64),
    ToolError(u64),
    Failure(u64),
    Progress(u64),
    List(u64, &'static str),
    Listed(u64, &'static str),
    Read(u64),
    Contents(u64),
    Prompt(u64),
    Messages(u64),
    Log,
    Ask(u64),
    Reply(u64),
    Ping(u64),
    Pong(u64),
}

use Step::*;

/// Calls overlap, as agents make them.
const ROUND: [Step; 40] = [
    List(0, "tools"),
    Listed(0, "tools"),
    Call(1),
    Call(2),
    Answer(1),
    Call(3),
    Progress(2),
    Answer(2),
    Progress(3),
    Progress(3),
    Answer(3),
    Call(4),
    Answer(4),
    Log,
    Call(5),
    Ask(1),
    Reply(1),
    Answer(5),
    Read(6),
    Contents(6),
    Call(7),
    Call(8),
    Failure(7),
    Progress(8),
    Answer(8),
    Prompt(9),
    Messages(9),
    Call(10),
    ToolError(10),
    Ping(11),
    Pong(11),
    Call(12),
    Log,
    Answer(12),
    Call(13),
    Answer(13),
    List(14, "resources"),
    Listed(14, "resources"),
    Call(15),
    Answer(15),
];

/// Requests of the client in a round.
const REQUESTS: u64 = 16;
const TOOLS: u64 = 23;
/// Text as files and pages hold it: some of it has to be escaped.
const PROSE: &str = "The cache is keyed by path and size; see \\\"Caching\\\" below.\\n  let found = map.get(&key); \\u2014 größe ";

/// Writes frame `seq` of a session, about `size` bytes; gives its direction. The first three are the handshake.
pub(crate) fn frame(seq: u64, size: usize, out: &mut String) -> Result<&'static str, FormatError> {
    if let Some(direction) = handshake(seq, out)? {
        return Ok(direction);
    }
    let (round, place) = ((seq - 4) / 40, (seq - 4) % 40);
    let step = ROUND[place as usize];
    let id = |number: u64| round * REQUESTS + number + 1;
    let start = out.len();
    let (direction, tail) = head(step, id, out)?;
    // A list has entries instead of one long text.
    if let Listed(_, kind) = step {
        entries(kind, start + size.saturating_sub(tail.len()), out)?;
    } else if !tail.is_empty() && !matches!(step, Pong(_)) {
        prose(start + size.saturating_sub(tail.len()), out);
    }
    out.push_str(tail);
    Ok(direction)
}

fn handshake(seq: u64, out: &mut String) -> Result<Option<&'static str>, FormatError> {
    let (direction, message) = match seq {
        1 => (
            "c2s",
            r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"sampling":{}},"clientInfo":{"name":"agent","version":"1.2.3"}}}"#,
        ),
        2 => (
            "s2c",
            r#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true},"resources":{},"prompts":{},"logging":{}},"serverInfo":{"name":"files","version":"0.9.0"}}}"#,
        ),
        3 => (
            "c2s",
            r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        ),
        _ => return Ok(None),
    };
    out.push_str(message);
    Ok(Some(direction))
}

/// Writes what stands before the text; gives the direction and what stands behind the text.
fn head(
    step: Step,
    id: impl Fn(u64) -> u64,
    out: &mut String,
) -> Result<(&'static str, &'static str), FormatError> {
    out.push_str("{\"jsonrpc\":\"2.0\",");
    match step {
        Call(at) => {
            let (id, tool) = (id(at), id(at) % TOOLS);
            write!(
                out,
                "\"id\":{id},\"method\":\"tools/call\",\"params\":{{\"_meta\":{{\"progressToken\":{id}}},\"name\":\"tool_{tool}\",\"arguments\":{{\"path\":\"/srv/data/{id}.txt\",\"limit\":{at},\"query\":\""
            )?;
            Ok(("c2s", "\"}}}"))
        }
        Answer(at) => {
            write!(
                out,
                "\"id\":{},\"result\":{{\"content\":[{{\"type\":\"text\",\"text\":\"",
                id(at)
            )?;
            Ok(("s2c", "\"}],\"isError\":false}}"))
        }
        ToolError(at) => {
            write!(
                out,
                "\"id\":{},\"result\":{{\"isError\":true,\"content\":[{{\"type\":\"text\",\"text\":\"",
                id(at)
            )?;
            Ok(("s2c", "\"}]}}"))
        }
        Failure(at) => {
            write!(
                out,
                "\"id\":{},\"error\":{{\"code\":-32602,\"message\":\"Invalid params\",\"data\":\"",
                id(at)
            )?;
            Ok(("s2c", "\"}}"))
        }
        Progress(at) => {
            write!(
                out,
                "\"method\":\"notifications/progress\",\"params\":{{\"progressToken\":{},\"progress\":{at},\"total\":40,\"message\":\"",
                id(at)
            )?;
            Ok(("s2c", "\"}}"))
        }
        List(at, kind) => {
            write!(
                out,
                "\"id\":{},\"method\":\"{kind}/list\",\"params\":{{}}}}",
                id(at)
            )?;
            Ok(("c2s", ""))
        }
        Listed(at, kind) => {
            write!(out, "\"id\":{},\"result\":{{\"{kind}\":[", id(at))?;
            Ok(("s2c", "]}}"))
        }
        Read(at) => {
            write!(
                out,
                "\"id\":{},\"method\":\"resources/read\",\"params\":{{\"uri\":\"file:///srv/data/",
                id(at)
            )?;
            Ok(("c2s", "\"}}"))
        }
        Contents(at) => {
            write!(
                out,
                "\"id\":{},\"result\":{{\"contents\":[{{\"uri\":\"file:///srv/data\",\"mimeType\":\"text/plain\",\"text\":\"",
                id(at)
            )?;
            Ok(("s2c", "\"}]}}"))
        }
        Prompt(at) => {
            write!(
                out,
                "\"id\":{},\"method\":\"prompts/get\",\"params\":{{\"name\":\"review\",\"arguments\":{{\"diff\":\"",
                id(at)
            )?;
            Ok(("c2s", "\"}}}"))
        }
        Messages(at) => {
            write!(
                out,
                "\"id\":{},\"result\":{{\"messages\":[{{\"role\":\"user\",\"content\":{{\"type\":\"text\",\"text\":\"",
                id(at)
            )?;
            Ok(("s2c", "\"}}]}}"))
        }
        Log => {
            out.push_str("\"method\":\"notifications/message\",\"params\":{\"level\":\"info\",\"logger\":\"files\",\"data\":\"");
            Ok(("s2c", "\"}}"))
        }
        Ask(at) => {
            write!(
                out,
                "\"id\":{},\"method\":\"sampling/createMessage\",\"params\":{{\"maxTokens\":100,\"messages\":[{{\"role\":\"user\",\"content\":{{\"type\":\"text\",\"text\":\"",
                id(at)
            )?;
            Ok(("s2c", "\"}}]}}"))
        }
        Reply(at) => {
            write!(
                out,
                "\"id\":{},\"result\":{{\"model\":\"m\",\"role\":\"assistant\",\"content\":{{\"type\":\"text\",\"text\":\"",
                id(at)
            )?;
            Ok(("c2s", "\"}}}"))
        }
        Ping(at) => {
            write!(out, "\"id\":{},\"method\":\"ping\"}}", id(at))?;
            Ok(("c2s", ""))
        }
        Pong(at) => {
            write!(out, "\"id\":{},\"result\":{{}}", id(at))?;
            Ok(("s2c", "}"))
        }
    }
}

/// Text up to `end`, whole pieces of the prose and then plain letters.
pub(crate) fn prose(end: usize, out: &mut String) {
    while out.len() + PROSE.len() <= end {
        out.push_str(PROSE);
    }
    while out.len() < end {
        out.push('y');
    }
}

/// Definitions of tools or resources up to `end`.
fn entries(kind: &str, end: usize, out: &mut String) -> Result<(), FormatError> {
    for number in 0.. {
        let start = out.len();
        let comma = if number == 0 { "" } else { "," };
        if kind == "tools" {
            write!(
                out,
                "{comma}{{\"name\":\"tool_{number}\",\"description\":\"Finds \\\"things\\\" in a file.\",\"inputSchema\":{{\"type\":\"object\",\"properties\":{{\"path\":{{\"type\":\"string\",\"description\":\"Where to look\"}},\"limit\":{{\"type\":\"integer\",\"minimum\":1}},\"query\":{{\"type\":\"string\"}}}},\"required\":[\"path\"]}}}}"
            )?;
        } else {
            write!(
                out,
                "{comma}{{\"uri\":\"file:///srv/data/{number}.txt\",\"name\":\"{number}.txt\",\"mimeType\":\"text/plain\",\"size\":{}}}",
                number * 977
            )?;
        }
        if out.len() > end {
            out.truncate(start);
            break;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcpsnoop::wire::json;

    #[test]
    fn every_frame_is_json_of_about_the_size() {
        let mut total = 0;
        for seq in 1..=400 {
            let mut out = String::new();
            let direction = frame(seq, 1024, &mut out).unwrap();
            assert!(json::whole_value(out.as_bytes()).is_some(), "{seq}: {out}");
            assert!(out.len() <= 1024, "{seq}: {}", out.len());
            assert!(matches!(direction, "c2s" | "s2c"));
            total += out.len();
        }
        assert!(total > 400 * 850, "{total}");
    }

    #[test]
    fn every_request_of_a_round_is_answered_once() {
        let count = |fits: fn(&Step) -> bool| ROUND.iter().filter(|step| fits(step)).count();
        let asked = count(|step| {
            matches!(
                step,
                Call(_) | List(..) | Read(_) | Prompt(_) | Ping(_) | Ask(_)
            )
        });
        let answered = count(|step| {
            matches!(
                step,
                Answer(_)
                    | ToolError(_)
                    | Failure(_)
                    | Listed(..)
                    | Contents(_)
                    | Messages(_)
                    | Pong(_)
                    | Reply(_)
            )
        });
        assert_eq!((asked, answered), (17, 17));
    }
}
