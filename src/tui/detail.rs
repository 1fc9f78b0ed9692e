//! What the METHOD and DETAIL cells of a frame say (tui.md 6.1 to 6.3).

use super::{body::RAW_FROM, glyphs::Signs, ink::Ink, numbers, theme::Role};
use crate::{
    base::{ByteCount, Shown},
    session::{Body, Call, Kind, Row, Session},
    wire::{Message, json},
};

/// Most bytes of a body that a row looks at.
const PREVIEW_BYTES: usize = 4 << 10;
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
    if matches!(row.body, Body::Released) {
        described.detail = with_part(
            described.detail,
            Ink::lit(Role::Muted, "body on disk"),
            signs,
        );
    }
    if let Some((index, size)) = row.batch {
        let batch = Ink::say(
            Role::Muted,
            format!("batch {}/{size}", u64::from(index) + 1),
        );
        described.detail = with_part(batch, described.detail, signs);
    }
    if row.flags.truncated {
        let cut = format!(
            "recorded copy cut at {} bytes; the peers got it whole",
            numbers::grouped(u64::try_from(bytes.map_or(0, <[u8]>::len)).unwrap_or(0))
        );
        described.detail = with_part(Ink::say(Role::Muted, cut), described.detail, signs);
    }
    described
}

/// The message of a body; a large one is not read through for every drawing (PF1).
pub(super) fn read(bytes: &[u8]) -> Option<Message<'_>> {
    (bytes.len() <= RAW_FROM).then(|| Message::read(bytes))
}

/// How a large message begins: its result or its parameters, where they stand near the front.
pub(super) fn beginning(bytes: &[u8]) -> Shown {
    let head = bytes.get(..PREVIEW_BYTES).unwrap_or(bytes);
    let value = [&b"\"result\":"[..], b"\"params\":"]
        .into_iter()
        .find_map(|name| Some(memchr::memmem::find(head, name)? + name.len()));
    compact(bytes.get(value.unwrap_or(0)..).unwrap_or(bytes))
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
fn with_part(first: Ink, second: Ink, signs: &Signs) -> Ink {
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
        detail: Ink::of(Role::Muted, preview(bytes.unwrap_or_default())),
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

/// Error text or summary of an answer (R4 to R6).
pub(super) fn answer(
    message: &Message<'_>,
    row: &Row<'_>,
    call: Option<&Call>,
    revision: Option<&str>,
) -> Shown {
    if let Some(error) = message.error.filter(|error| *error != b"null") {
        return error_text(error, revision);
    }
    let Some(result) = message.result else {
        return Shown::default();
    };
    if row.flags.interim {
        return asks(result);
    }
    let method = call.map_or("", |call| &*call.method);
    for (listed, member, one, many) in LISTS {
        if method == listed
            && let Some(list) = json::member(result, member)
        {
            let number = u64::try_from(json::elements(list).count()).unwrap_or(u64::MAX);
            let size = ByteCount(u64::try_from(result.len()).unwrap_or(u64::MAX));
            let text = format!("{} {size}", numbers::plural(number, one, many));
            return Shown::row(text.as_bytes());
        }
    }
    first_block(result).unwrap_or_else(|| without_meta(result))
}

const LISTS: [(&str, &str, &str, &str); 4] = [
    ("tools/list", "tools", "tool", "tools"),
    ("prompts/list", "prompts", "prompt", "prompts"),
    ("resources/list", "resources", "resource", "resources"),
    (
        "resources/templates/list",
        "resourceTemplates",
        "template",
        "templates",
    ),
];

/// The first text of a result's content, else the type and size of its first block.
fn first_block(result: &[u8]) -> Option<Shown> {
    let content = json::member(result, "content").or_else(|| json::member(result, "contents"))?;
    let mut texts = json::elements(content).filter_map(|block| json::member(block, "text"));
    if let Some(text) = texts.find_map(json::string) {
        return Some(Shown::row(text.as_bytes()));
    }
    let block = json::elements(content).next()?;
    let block = json::member(block, "resource").unwrap_or(block);
    let kind = json::member(block, "mimeType").or_else(|| json::member(block, "type"));
    let kind = kind.and_then(json::string)?;
    let data = json::member(block, "data").or_else(|| json::member(block, "blob"));
    let size = data.map_or(block.len(), |data| data.len().saturating_sub(2) / 4 * 3);
    let size = ByteCount(u64::try_from(size).unwrap_or(u64::MAX));
    Some(
        Shown::literal("[")
            .and(&Shown::row(kind.as_bytes()))
            .and(&Shown::row(format!(" {size}]").as_bytes())),
    )
}

/// `asks elicitation/create` of an interim result.
fn asks(result: &[u8]) -> Shown {
    let requests = json::member(result, "inputRequests").unwrap_or_default();
    let mut methods: Vec<_> = json::members(requests)
        .filter_map(|(_, request)| json::member(request, "method"))
        .filter_map(json::string)
        .collect();
    methods.dedup();
    if methods.is_empty() {
        return Shown::literal("asks for input");
    }
    Shown::literal("asks ").and(&Shown::row(methods.join(", ").as_bytes()))
}

/// `code name: message` of an error object.
pub(super) fn error_text(error: &[u8], revision: Option<&str>) -> Shown {
    let code = json::member(error, "code");
    let message = json::member(error, "message").and_then(json::string);
    let name = code
        .and_then(|code| std::str::from_utf8(code).ok()?.parse().ok())
        .and_then(|code| code_name(code, revision));
    let mut shown = Shown::row(code.unwrap_or_default());
    if let Some(name) = name {
        shown = shown.and(&Shown::literal(" ")).and(&Shown::literal(name));
    }
    match message {
        Some(message) if shown.is_empty() => Shown::row(message.as_bytes()),
        Some(message) => shown
            .and(&Shown::literal(": "))
            .and(&Shown::row(message.as_bytes())),
        None if shown.is_empty() => compact(error),
        None => shown,
    }
}

/// The name of an error code where a revision gives it one (findings.md 2.6).
fn code_name(code: i64, revision: Option<&str>) -> Option<&'static str> {
    let modern = revision.is_some_and(|revision| revision >= "2026-07-28");
    let known = revision.is_some();
    Some(match code {
        -32_700 => "parse error",
        -32_600 => "invalid request",
        -32_601 => "method not found",
        -32_602 => "invalid params",
        -32_603 => "internal error",
        -32_002 if known && !modern => "resource not found",
        -32_042 if revision == Some("2025-11-25") => "URL elicitation required",
        -32_020 if modern => "header mismatch",
        -32_021 if modern => "missing required client capability",
        -32_022 if modern => "unsupported protocol version",
        -1 if matches!(revision, Some("2025-06-18" | "2025-11-25")) => "user rejected",
        _ => return None,
    })
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

/// The phrase of an HTTP status.
pub(super) const fn reason_phrase(status: u16) -> &'static str {
    match status {
        200 => "OK",
        202 => "Accepted",
        204 => "No Content",
        301 => "Moved Permanently",
        302 => "Found",
        307 => "Temporary Redirect",
        308 => "Permanent Redirect",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        406 => "Not Acceptable",
        408 => "Request Timeout",
        409 => "Conflict",
        413 => "Content Too Large",
        415 => "Unsupported Media Type",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        _ => "",
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
        Ink::of(Role::Muted, preview(bytes.unwrap_or_default()))
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

/// The beginning of a text, on one line.
fn preview(bytes: &[u8]) -> Shown {
    Shown::row(bytes)
}

/// A JSON value without the blanks between its tokens, up to the bytes that a row looks at.
pub(super) fn compact(value: &[u8]) -> Shown {
    if value == b"{}" {
        return Shown::default();
    }
    let mut out = Vec::with_capacity(value.len().min(PREVIEW_BYTES));
    let (mut in_string, mut escaped) = (false, false);
    for byte in value.iter().copied() {
        if out.len() >= PREVIEW_BYTES {
            break;
        }
        if in_string {
            in_string = escaped || byte != b'"';
            escaped = !escaped && byte == b'\\';
        } else if json::is_blank(byte) {
            continue;
        } else {
            in_string = byte == b'"';
        }
        out.push(byte);
    }
    Shown::row(&out)
}

/// An object without what every modern message carries: `_meta`, and that a result is complete.
/// Nothing when nothing else is left.
pub(super) fn without_meta(value: &[u8]) -> Shown {
    let is_envelope = |key: &[u8], member: &[u8]| {
        key == b"_meta" || (key == b"resultType" && member == b"\"complete\"")
    };
    if !json::members(value).any(|(key, member)| is_envelope(key, member)) {
        return compact(value);
    }
    let mut rest = Vec::new();
    for (key, member) in json::members(value).filter(|(key, member)| !is_envelope(key, member)) {
        rest.push(if rest.is_empty() { b'{' } else { b',' });
        rest.push(b'"');
        rest.extend_from_slice(key);
        rest.extend_from_slice(b"\":");
        // More is not looked at anyway.
        rest.extend(member.iter().take(PREVIEW_BYTES));
        if rest.len() > PREVIEW_BYTES {
            return compact(&rest);
        }
    }
    if rest.is_empty() {
        return Shown::default();
    }
    rest.push(b'}');
    compact(&rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::options::Glyphs;

    fn signs() -> Signs {
        Signs::of(Glyphs::Ascii)
    }

    #[test]
    fn blanks_between_tokens_go() {
        let shown = compact(b"{ \"a b\" :\t[1, 2 ],\n\"c\\\" d\": \"\\\\\" , \"e\": 1 }");
        assert_eq!(
            shown.plain(),
            "{\"a b\":[1,2],\"c\\\" d\":\"\\\\\",\"e\":1}"
        );
    }

    #[test]
    fn what_every_message_carries_is_left_out() {
        let cases = [
            (
                r#"{"_meta":{"a":1},"uri":"x","n":[1, 2]}"#,
                r#"{"uri":"x","n":[1,2]}"#,
            ),
            (r#"{"_meta":{"a":1}}"#, ""),
            (r#"{"resultType":"complete","ttlMs":0}"#, r#"{"ttlMs":0}"#),
            (r#"{"resultType":"other"}"#, r#"{"resultType":"other"}"#),
            (r#"{"a\"b":1,"_meta":{}}"#, r#"{"a\"b":1}"#),
            ("[1, 2]", "[1,2]"),
        ];
        for (value, expected) in cases {
            assert_eq!(without_meta(value.as_bytes()).plain(), expected, "{value}");
        }
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

    #[test]
    fn codes_have_names_only_where_the_revision_gives_them() {
        let error = |code: i64, revision| {
            error_text(
                format!("{{\"code\":{code},\"message\":\"m\"}}").as_bytes(),
                revision,
            )
            .plain()
        };
        assert_eq!(error(-32_601, None), "-32601 method not found: m");
        assert_eq!(
            error(-32_002, Some("2025-06-18")),
            "-32002 resource not found: m"
        );
        assert_eq!(error(-32_002, Some("2026-07-28")), "-32002: m");
        assert_eq!(error(-32_002, None), "-32002: m");
        assert_eq!(
            error(-32_020, Some("2026-07-28")),
            "-32020 header mismatch: m"
        );
        assert_eq!(error(-32_005, Some("2026-07-28")), "-32005: m");
        assert_eq!(error_text(b"\"boom\"", None).plain(), "\"boom\"");
    }

    #[test]
    fn blocks_are_told_by_text_or_by_type_and_size() {
        let cases = [
            (r#"{"content":[{"type":"text","text":"a\nb"}]}"#, "a\\nb"),
            (
                r#"{"content":[{"type":"image","mimeType":"image/png","data":"AAAAAAAA"}]}"#,
                "[image/png 6 B]",
            ),
            (
                r#"{"content":[{"type":"image","mimeType":"image/png","data":"AAAA"},{"type":"text","text":"seen"}]}"#,
                "seen",
            ),
            (
                r#"{"content":[{"type":"resource","resource":{"uri":"u","mimeType":"a/b","blob":"AAAA"}}]}"#,
                "[a/b 3 B]",
            ),
        ];
        for (result, text) in cases {
            assert_eq!(first_block(result.as_bytes()).unwrap().plain(), text);
        }
        assert!(first_block(b"{\"content\":[]}").is_none());
        assert_eq!(
            asks(br#"{"inputRequests":{"k":{"method":"elicitation/create"}}}"#).plain(),
            "asks elicitation/create"
        );
    }
}
