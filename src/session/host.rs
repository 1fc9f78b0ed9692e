//! The host that a URL leads to, as a browser finds it: what stands before an `@` is not the host,
//! and a backslash ends it where a slash does (session-model.md 12.4). Empty rather than guessed.

use std::{borrow::Cow, net::Ipv6Addr};

/// Bytes of a host name; longer ones resolve nowhere.
const MAX_HOST: usize = 1_024;
/// Characters that no host has.
const FORBIDDEN: &[char] = &[
    ' ', '#', '%', '/', '<', '>', '?', '@', '[', '\\', ']', '^', '`', '{', '|', '}', '"', ':',
];
/// Signs that a browser reads as several, one of them forbidden.
const COMPOSED: &[char] = &['\u{2100}', '\u{2101}', '\u{2105}', '\u{2106}', '\u{2a74}'];
/// Schemes whose URLs always have a host.
const WEB: [&str; 5] = ["http", "https", "ws", "wss", "ftp"];

/// The host of a URL as sent; `None` when there is none or the URL does not parse.
pub(super) fn of(url: &str) -> Option<String> {
    let url = url.trim_matches(|c: char| c <= ' ');
    let url: Cow<'_, str> = if url.contains(['\t', '\n', '\r']) {
        url.replace(['\t', '\n', '\r'], "").into()
    } else {
        url.into()
    };
    let (scheme, rest) = url.split_once(':')?;
    let is_web = WEB.iter().any(|web| scheme.eq_ignore_ascii_case(web));
    let letters = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
    if !scheme.starts_with(|c: char| c.is_ascii_alphabetic()) || !scheme.chars().all(letters) {
        return None;
    }
    let rest = if is_web {
        rest.trim_start_matches(['/', '\\'])
    } else {
        rest.strip_prefix("//")?
    };
    let ends = |c: char| matches!(c, '/' | '?' | '#') || is_web && c == '\\';
    let authority = rest.split(ends).next()?;
    let place = authority
        .rsplit_once('@')
        .map_or(authority, |(_, place)| place);
    let host = without_port(place)?;
    is_host(host).then(|| host.to_owned())
}

/// The host without its port, which must be one.
fn without_port(place: &str) -> Option<&str> {
    let (host, port) = match place.strip_prefix('[') {
        Some(rest) => {
            let end = rest.find(']')?;
            let (host, port) = place.split_at_checked(end + 2)?;
            (
                host,
                port.strip_prefix(':')
                    .or_else(|| port.is_empty().then_some(""))?,
            )
        }
        None => place.split_once(':').unwrap_or((place, "")),
    };
    let is_port = port.bytes().all(|byte| byte.is_ascii_digit())
        && (port.is_empty() || port.parse::<u16>().is_ok());
    is_port.then_some(host)
}

fn is_host(host: &str) -> bool {
    if host.is_empty() || host.len() > MAX_HOST {
        return false;
    }
    if let Some(address) = host.strip_prefix('[') {
        let address = address.strip_suffix(']');
        return address.is_some_and(|address| address.parse::<Ipv6Addr>().is_ok());
    }
    host.chars().all(|c| {
        // A browser takes full-width signs for the plain ones.
        let plain = match u32::from(c) {
            wide @ 0xff01..=0xff5e => char::from_u32(wide - 0xfee0).unwrap_or(c),
            _ => c,
        };
        !plain.is_control() && !FORBIDDEN.contains(&plain) && !COMPOSED.contains(&c)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_those_that_a_browser_would_go_to() {
        let cases = [
            ("https://mcp.example.com/x", "mcp.example.com"),
            ("https://bank.example@evil.example/", "evil.example"),
            (
                "https://a:b@c@evil.example:8443?q=@good.example",
                "evil.example",
            ),
            ("https://good.example\\@evil.example/", "good.example"),
            ("https:\\\\evil.example", "evil.example"),
            ("https:evil.example/x", "evil.example"),
            ("https:////evil.example", "evil.example"),
            ("  HTTPS://Evil.Example#x@y", "Evil.Example"),
            ("ht\ntps://ev\til.example", "evil.example"),
            ("https://bücher.example/", "bücher.example"),
            ("https://good.example\u{ff0f}@evil.example", "evil.example"),
            ("http://[::1]:80/", "[::1]"),
            ("http://127.0.0.1", "127.0.0.1"),
            ("app://callback/x", "callback"),
            ("https://h.example:/", "h.example"),
        ];
        for (url, host) in cases {
            assert_eq!(of(url).as_deref(), Some(host), "{url}");
        }
    }

    #[test]
    fn what_does_not_parse_has_no_host() {
        for url in [
            "",
            "no url",
            "/path",
            "https://",
            "https://@",
            "https://h.example:99999",
            "https://h.example:x",
            "https://[::1",
            "https://[x]/",
            "https://a b.example",
            "https://a%2fb.example",
            "https://good.example\u{ff0f}evil.example",
            "https://a\u{2100}b",
            "mailto:a@b.example",
            "javascript:alert(1)",
            "1https://h.example",
            "app:\\\\host",
        ] {
            assert_eq!(of(url), None, "{url}");
        }
        assert_eq!(of(&format!("https://{}", "a".repeat(1 << 20))), None);
    }
}
