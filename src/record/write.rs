//! The fields of a line one by one, in the spelling of log-format 3 and the order of log-format 4.

use super::envelope::{Direction, HttpFields, Peek, Transport};
use crate::wire::json;

pub(super) fn write_direction(out: &mut Vec<u8>, direction: &Direction) {
    let text: &[u8] = match direction {
        Direction::ClientToServer => b",\"direction\":\"c2s\"",
        Direction::ServerToClient => b",\"direction\":\"s2c\"",
        Direction::Stderr => b",\"direction\":\"stderr\"",
        Direction::Meta => b",\"direction\":\"meta\"",
        Direction::Unknown(text) => {
            write_key(out, "direction");
            return json::write_string(out, text);
        }
    };
    out.extend_from_slice(text);
}

pub(super) fn write_transport(out: &mut Vec<u8>, transport: &Transport) {
    let text: &[u8] = match transport {
        Transport::Stdio => b",\"transport\":\"stdio\"",
        Transport::Http => b",\"transport\":\"http\"",
        Transport::Unknown(text) => {
            write_key(out, "transport");
            return json::write_string(out, text);
        }
    };
    out.extend_from_slice(text);
}

pub(super) fn write_key(out: &mut Vec<u8>, key: &str) {
    out.extend_from_slice(b",\"");
    out.extend_from_slice(key.as_bytes());
    out.extend_from_slice(b"\":");
}

pub(super) fn write_true(out: &mut Vec<u8>, key: &str, value: bool) {
    if value {
        write_key(out, key);
        out.extend_from_slice(b"true");
    }
}

pub(super) fn write_count(out: &mut Vec<u8>, key: &str, value: Option<u64>) {
    if let Some(value) = value.filter(|value| *value > 0) {
        write_key(out, key);
        write_number(out, value);
    }
}

pub(super) fn write_some(out: &mut Vec<u8>, key: &str, value: Option<&str>) {
    if let Some(value) = value.filter(|value| !value.is_empty()) {
        write_key(out, key);
        json::write_string(out, value);
    }
}

pub(super) fn write_number(out: &mut Vec<u8>, mut value: u64) {
    let mut digits = [0_u8; 20];
    let mut start = digits.len();
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + u8::try_from(value % 10).unwrap_or(0);
        value /= 10;
        start -= 1;
        if value == 0 {
            break;
        }
    }
    out.extend_from_slice(digits.get(start..).unwrap_or_default());
}

pub(super) fn write_routing(out: &mut Vec<u8>, http: &HttpFields) {
    write_some(out, "mcp_method", http.mcp_method.as_deref());
    write_some(out, "mcp_name", http.mcp_name.as_deref());
    write_some(
        out,
        "mcp_protocol_version",
        http.mcp_protocol_version.as_deref(),
    );
    let Some(params) = http
        .mcp_param_headers
        .as_ref()
        .filter(|all| !all.is_empty())
    else {
        return;
    };
    write_key(out, "mcp_param_headers");
    for (index, param) in params.iter().enumerate() {
        out.extend_from_slice(if index == 0 {
            b"[{\"name\":"
        } else {
            b",{\"name\":"
        });
        json::write_string(out, &param.name);
        write_key(out, "value");
        json::write_string(out, &param.value);
        write_true(out, "redacted", param.redacted);
        out.push(b'}');
    }
    out.push(b']');
}

pub(super) fn write_status(out: &mut Vec<u8>, http: &HttpFields) {
    write_count(out, "status", Some(u64::from(http.status)));
    write_some(out, "auth_challenge", http.auth_challenge.as_deref());
    let Some(headers) = &http.transport_headers else {
        return;
    };
    write_key(out, "transport_headers");
    let start = out.len();
    let fields = [
        ("accept", &headers.accept),
        ("content_type", &headers.content_type),
        ("origin", &headers.origin),
        ("content_encoding", &headers.content_encoding),
    ];
    for (key, value) in fields {
        // A header that was sent empty is not a header that was not sent (log-format 4.2.4).
        if let Some(value) = value {
            write_key(out, key);
            json::write_string(out, value);
        }
    }
    match out.get_mut(start) {
        Some(comma) => *comma = b'{',
        None => out.push(b'{'),
    }
    out.push(b'}');
}

pub(super) fn write_peek(out: &mut Vec<u8>, peek: &Peek) {
    write_key(out, "peek");
    let start = out.len();
    if let Some(id) = &peek.id {
        write_key(out, "id");
        out.extend(id.iter().map(|byte| match byte {
            b'\r' | b'\n' => b' ',
            other => *other,
        }));
    }
    write_some(out, "method", peek.method.as_deref());
    write_some(out, "has", peek.has.as_deref());
    match out.get_mut(start) {
        Some(comma) => *comma = b'{',
        None => out.push(b'{'),
    }
    out.push(b'}');
}

pub(super) fn write_extended(out: &mut Vec<u8>, http: &HttpFields) {
    write_some(out, "peer", http.peer.as_deref());
    write_some(out, "http_method", http.http_method.as_deref());
    write_some(out, "event", http.event.as_deref());
    write_some(out, "event_id", http.event_id.as_deref());
    write_some(out, "proxy_error", http.proxy_error.as_deref());
    write_some(out, "unobserved", http.unobserved.as_deref());
    let Some(seen) = http.seen_headers.as_ref().filter(|all| !all.is_empty()) else {
        return;
    };
    write_key(out, "seen_headers");
    for (index, name) in seen.iter().enumerate() {
        out.push(if index == 0 { b'[' } else { b',' });
        json::write_string(out, name);
    }
    out.push(b']');
}
