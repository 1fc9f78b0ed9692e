//! What the METHOD and DETAIL cells of a frame say (tui.md 6.1 to 6.3).

use super::{
    answer::{answer, reason_phrase},
    body::RAW_FROM,
    glyphs::Signs,
    ink::Ink,
    numbers,
    source_text::{beginning, compact, without_meta},
    theme::Role,
};
use crate::{
    base::Shown,
    session::{Body, Call, Kind, Row, Session},
    wire::{Message, json},
};

/// Cells of a progress bar.
const BAR: usize = 8;

/// Words for wide columns, or short ones below L.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Words {
    /// `tools/call`, `response`.
    Long,
    /// `call`, `resp`.
    Short,
}

/// The cells of one frame.
#[derive(Clone, Debug, Default)]
pub(super) struct Described {
    /// METHOD / TOOL.
    pub(super) method: Ink,
    /// DETAIL.
    pub(super) detail: Ink,
}

/// Describes a frame.
pub(super) fn describe(row: &Row<'_>, session: &Session, words: Words, signs: &Signs) -> Described {
    let call = row.call.and_then(|id| session.call(id));
    let call = call.as_deref();
    let bytes = held(&row.body);
    let json = bytes.filter(|_| is_json(&row.body));
    let message = json.and_then(read);
    let mut described = match row.kind {
        Kind::Request => request(row, call, message.as_ref(), words),
        Kind::Response => response(row, call, message.as_ref(), session, words),
        Kind::Notification => notification(row, call, message.as_ref(), signs),
        Kind::Stderr => plain("stderr", Role::Muted, bytes),
        Kind::Invalid => plain("invalid rpc", Role::Text, bytes),
        Kind::Transport => transport(row, bytes),
        Kind::Other => other(row, bytes),
    };
    if let Some(bytes) = json.filter(|_| message.is_none())
        && matches!(
            row.kind,
            Kind::Request | Kind::Response | Kind::Notification
        )
    {
        let start = Ink::of(Role::Muted, beginning(bytes));
        described.detail = with_part(described.detail, start, signs);
    }
    if let Some((index, size)) = row.batch {
        let batch = Ink::say(
            Role::Muted,
            format!("batch {}/{size}", u64::from(index) + 1),
        );
        described.detail = with_part(batch, described.detail, signs);
    }
    if row.flags.truncated {
        let at = bytes.map_or_else(String::new, |bytes| {
            let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
            format!(" at {} bytes", numbers::grouped(length))
        });
        let cut = format!("recorded copy cut{at}; the peers got it whole");
        described.detail = with_part(Ink::say(Role::Muted, cut), described.detail, signs);
    }
    described
}

/// The message of a body; a large one is not read through for every drawing (PF1).
pub(super) fn read(bytes: &[u8]) -> Option<Message<'_>> {
    (bytes.len() <= RAW_FROM).then(|| Message::read(bytes))
}

/// The bytes of a body in memory.
pub(super) fn held(body: &Body) -> Option<&[u8]> {
    match body {
        Body::Held { bytes, .. } => Some(bytes),
        Body::Nothing | Body::Released => None,
    }
}

const fn is_json(body: &Body) -> bool {
    matches!(body, Body::Held { json: true, .. })
}

/// Joins two parts by a dot.
pub(super) fn with_part(first: Ink, second: Ink, signs: &Signs) -> Ink {
    match (first.is_empty(), second.is_empty()) {
        (true, _) => second,
        (_, true) => first,
        _ => first
            .and_lit(Role::Muted, " ")
            .and_lit(Role::Muted, signs.separator)
            .and_lit(Role::Muted, " ")
            .join(second),
    }
}

fn plain(method: &'static str, role: Role, bytes: Option<&[u8]>) -> Described {
    Described {
        method: Ink::lit(role, method),
        detail: Ink::of(Role::Muted, Shown::row(bytes.unwrap_or_default())),
    }
}

fn request(
    row: &Row<'_>,
    call: Option<&Call>,
    message: Option<&Message<'_>>,
    words: Words,
) -> Described {
    let method = row.method.unwrap_or("");
    let params = message.and_then(|message| message.params);
    let is_tool = method == "tools/call";
    let name = if words == Words::Short && is_tool {
        Ink::lit(Role::Accent, "call")
    } else {
        Ink::of(Role::Accent, Shown::name(method.as_bytes()))
    };
    let tool = params
        .and_then(|params| json::member(params, "name"))
        .and_then(json::string);
    let tool = tool
        .as_deref()
        .or_else(|| call.and_then(|call| call.operation.as_deref()));
    let name = match tool {
        Some(tool) if is_tool => name
            .and_lit(Role::Text, " ")
            .and(Role::Strong, Shown::name(tool.as_bytes())),
        _ => name,
    };
    let detail = match call {
        Some(call) if row.flags.retry => {
            Ink::say(Role::Muted, format!("continues {}", first_id(call)))
        }
        _ => {
            let value = if is_tool {
                params.and_then(|params| json::member(params, "arguments"))
            } else {
                params
            };
            Ink::of(Role::Muted, value.map(without_meta).unwrap_or_default())
        }
    };
    Described {
        method: with_badge(name, row),
        detail,
    }
}

fn first_id(call: &Call) -> String {
    let id = call.hops.first().map_or("", |hop| &*hop.json_id);
    Shown::name(unquoted(id).as_bytes()).plain()
}

/// The id without the quotes of a JSON string (T4).
pub(super) fn unquoted(id: &str) -> std::borrow::Cow<'_, str> {
    json::string(id.as_bytes()).unwrap_or(std::borrow::Cow::Borrowed(id))
}

/// What a call is about: its tool, else its method.
pub(super) fn subject(call: &Call) -> Shown {
    let name = match &call.operation {
        Some(operation) if call.is_tool => operation,
        _ => &call.method,
    };
    Shown::name(name.as_bytes())
}

fn response(
    row: &Row<'_>,
    call: Option<&Call>,
    message: Option<&Message<'_>>,
    session: &Session,
    words: Words,
) -> Described {
    let word = match (row.flags.interim, words) {
        (true, Words::Long) => "input required",
        (true, Words::Short) => "input",
        (false, Words::Long) => "response",
        (false, Words::Short) => "resp",
    };
    let method = Ink::lit(Role::Text, word);
    let method = match call {
        Some(call) => method
            .and_lit(Role::Muted, " ")
            .and(Role::Muted, subject(call)),
        None => method,
    };
    let detail = match message {
        Some(message) => answer(message, row, call, session.protocol_version()),
        None => Shown::default(),
    };
    Described {
        method: with_badge(method, row),
        detail: Ink::of(Role::Muted, detail),
    }
}

fn notification(
    row: &Row<'_>,
    call: Option<&Call>,
    message: Option<&Message<'_>>,
    signs: &Signs,
) -> Described {
    let method = row.method.unwrap_or("");
    let params = message
        .and_then(|message| message.params)
        .unwrap_or_default();
    let about = |word: &'static str| {
        let ink = Ink::lit(Role::Text, word);
        match call {
            Some(call) => ink
                .and_lit(Role::Muted, " ")
                .and(Role::Muted, subject(call)),
            None => ink,
        }
    };
    let text = |name: &str| json::member(params, name).and_then(json::string);
    let (method, detail) = match method {
        "notifications/progress" => (about("progress"), progress(params, signs)),
        "notifications/cancelled" => {
            let reason = text("reason").map(|reason| Shown::row(reason.as_bytes()));
            (
                about("cancelled"),
                Ink::of(Role::Muted, reason.unwrap_or_default()),
            )
        }
        "notifications/message" => {
            let level = text("level").unwrap_or_default();
            let ink = Ink::lit(Role::Text, "log ").and(Role::Muted, Shown::name(level.as_bytes()));
            (ink, log_line(params))
        }
        other => {
            let short = other.strip_prefix("notifications/").unwrap_or(other);
            let ink =
                Ink::lit(Role::Text, "notify ").and(Role::Text, Shown::name(short.as_bytes()));
            (ink, Ink::of(Role::Muted, without_meta(params)))
        }
    };
    Described {
        method: with_badge(method, row),
        detail,
    }
}

fn log_line(params: &[u8]) -> Ink {
    let logger = json::member(params, "logger").and_then(json::string);
    let data = json::member(params, "data").unwrap_or_default();
    let data = json::string(data).map_or_else(|| compact(data), |text| Shown::row(text.as_bytes()));
    let line = match logger {
        Some(logger) => Shown::row(logger.as_bytes())
            .and(&Shown::literal(": "))
            .and(&data),
        None => data,
    };
    Ink::of(Role::Muted, line)
}

/// Bar, numbers as sent, message (R3).
fn progress(params: &[u8], signs: &Signs) -> Ink {
    let raw = |name: &str| json::member(params, name);
    let number = |value: &[u8]| std::str::from_utf8(value).ok()?.parse::<f64>().ok();
    let Some((done, done_value)) = raw("progress").and_then(|raw| Some((raw, number(raw)?))) else {
        return Ink::of(Role::Muted, compact(params));
    };
    let total = raw("total").and_then(|raw| Some((raw, number(raw)?)));
    let mut ink = Ink::default();
    let mut figure = Shown::row(done);
    if let Some((total, total_value)) = total {
        ink = bar(done_value / total_value, signs).and_lit(Role::Muted, " ");
        figure = figure.and(&Shown::literal("/")).and(&Shown::row(total));
    }
    ink = ink.and(Role::Muted, figure);
    match raw("message").and_then(json::string) {
        Some(message) => ink
            .and_lit(Role::Muted, " ")
            .and(Role::Muted, Shown::row(message.as_bytes())),
        None => ink,
    }
}

fn bar(ratio: f64, signs: &Signs) -> Ink {
    let ratio = if ratio.is_finite() {
        ratio.clamp(0.0, 1.0)
    } else {
        0.0
    };
    let full = (1..=BAR)
        .filter(|cell| ratio * 8.0 + 0.5 >= f64::from(u8::try_from(*cell).unwrap_or(u8::MAX)))
        .count();
    let mut ink = Ink::lit(Role::Faint, "[");
    for cell in 0..BAR {
        let sign = if cell < full {
            signs.bar_full
        } else {
            signs.bar_empty
        };
        ink = ink.and_lit(Role::Live, sign);
    }
    ink.and_lit(Role::Faint, "]")
}

fn transport(row: &Row<'_>, bytes: Option<&[u8]>) -> Described {
    let reason = reason_phrase(row.status);
    let body = bytes.unwrap_or_default();
    let first = body.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let mut detail = Ink::lit(Role::Muted, reason);
    if !first.is_empty() {
        detail = detail
            .and_lit(Role::Muted, " ")
            .and(Role::Muted, Shown::row(first));
    }
    Described {
        method: Ink::say(Role::Text, format!("http {}", row.status)),
        detail,
    }
}

fn other(row: &Row<'_>, bytes: Option<&[u8]>) -> Described {
    let word = if row.flags.truncated {
        "frame (cut)"
    } else {
        "frame"
    };
    let mut method = Ink::lit(Role::Text, word);
    if let Some(name) = row.method {
        method = method
            .and_lit(Role::Text, " ")
            .and(Role::Text, Shown::name(name.as_bytes()));
    }
    let detail = if row.flags.truncated {
        Ink::default()
    } else {
        Ink::of(Role::Muted, Shown::row(bytes.unwrap_or_default()))
    };
    Described { method, detail }
}

fn with_badge(method: Ink, row: &Row<'_>) -> Ink {
    if row.flags.redacted {
        method.and_lit(Role::Redacted, " [R]")
    } else {
        method
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::options::Glyphs;

    fn signs() -> Signs {
        Signs::of(Glyphs::Ascii)
    }

    #[test]
    fn progress_shows_numbers_as_sent() {
        let cases = [
            (
                r#"{"progress":1,"total":3,"message":"index"}"#,
                "[===-----] 1/3 index",
            ),
            (r#"{"progress":0.2,"total":1}"#, "[==------] 0.2/1"),
            (r#"{"progress":50}"#, "50"),
            (r#"{"progress":9,"total":3}"#, "[========] 9/3"),
            (r#"{"progress":-1,"total":0}"#, "[--------] -1/0"),
            (r#"{"progress":"x"}"#, r#"{"progress":"x"}"#),
        ];
        for (params, text) in cases {
            assert_eq!(progress(params.as_bytes(), &signs()).plain(), text);
        }
    }
}
