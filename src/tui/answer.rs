//! What an answer says in one line: error text, or a summary of the result (tui.md R4 to R6).

use super::{
    numbers,
    source_text::{compact, without_meta},
};
use crate::{
    base::{ByteCount, Shown},
    session::{Call, Row},
    wire::{Message, json},
};

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

#[cfg(test)]
mod tests {
    use super::*;

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
