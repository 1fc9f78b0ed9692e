//! An endpoint without what may be a credential (log-format 8.6, redaction.md 12.2).

/// What stands for a part that was taken out.
const STRIPPED: &str = "[stripped]";
/// A longer query key without a value is taken for a bare credential.
const LONGEST_BARE_KEY: usize = 16;

/// Scheme, host, port and path of a URL; user information, query values, bare credentials and the
/// fragment taken out. `None` for what is no URL with a host. Stripping twice changes nothing.
pub fn stripped_endpoint(url: &str) -> Option<String> {
    let url = url.trim();
    if url
        .chars()
        .any(|symbol| symbol.is_whitespace() || symbol.is_control())
    {
        return None;
    }
    let (scheme, rest) = url.split_once("://")?;
    let is_scheme = scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
    let rest = rest.split('#').next()?;
    let (address, query) = match rest.split_once('?') {
        Some((address, query)) => (address, Some(query)),
        None => (rest, None),
    };
    let (authority, path) = address
        .find('/')
        .and_then(|slash| address.split_at_checked(slash))
        .unwrap_or((address, ""));
    let (user, host) = match authority.rsplit_once('@') {
        Some((_, host)) => (Some(STRIPPED), host),
        None => (None, authority),
    };
    // Some readers take a backslash for a slash: where the host ends would be a guess.
    if !is_scheme || host.is_empty() || host.starts_with(':') || authority.contains('\\') {
        return None;
    }
    let user = user.map(|user| format!("{user}@")).unwrap_or_default();
    let query = query.map(|query| format!("?{}", stripped_query(query)));
    Some(format!(
        "{scheme}://{user}{host}{path}{}",
        query.unwrap_or_default()
    ))
}

fn stripped_query(query: &str) -> String {
    let parts: Vec<String> = query
        .split('&')
        .map(|part| match part.split_once('=') {
            Some((key, "")) => format!("{key}="),
            Some((key, _)) => format!("{key}={STRIPPED}"),
            None if part.chars().count() > LONGEST_BARE_KEY => STRIPPED.to_owned(),
            None => part.to_owned(),
        })
        .collect();
    parts.join("&")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_may_be_a_secret_stays() {
        let cases = [
            (
                "https://mcp.example.com/mcp",
                Some("https://mcp.example.com/mcp"),
            ),
            (" http://h:8080 ", Some("http://h:8080")),
            (
                "https://user:pw@h/mcp#token",
                Some("https://[stripped]@h/mcp"),
            ),
            ("https://a@b@h/", Some("https://[stripped]@h/")),
            (
                "https://h/p?key=v&empty=&bare&0123456789abcdefg&x=a=b",
                Some("https://h/p?key=[stripped]&empty=&bare&[stripped]&x=[stripped]"),
            ),
            ("https://h?token=1", Some("https://h?token=[stripped]")),
            ("https://h/a@b/c", Some("https://h/a@b/c")),
            ("https://[::1]:7000/x", Some("https://[::1]:7000/x")),
            ("https:///path", None),
            ("https://user@/path", None),
            ("https://:80/", None),
            ("https://a\\@h/", None),
            ("h:8080/x", None),
            ("://h/", None),
            ("1s://h/", None),
            ("https://h/a b", None),
            ("", None),
        ];
        for (url, expected) in cases {
            let found = stripped_endpoint(url);
            assert_eq!(found.as_deref(), expected, "{url}");
            if let Some(found) = found {
                assert_eq!(stripped_endpoint(&found).as_ref(), Some(&found), "{url}");
            }
        }
    }
}
