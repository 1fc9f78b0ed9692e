//! The `raw` of start and end records (log-format 8.1, 8.2).

use std::{ffi::OsString, os::unix::ffi::OsStrExt as _, path::Path};

use base64::{Engine as _, engine::general_purpose::STANDARD};

use crate::wire::json;

/// The field-set level that this program writes (log-format 11).
const FORMAT: u32 = 7;
/// Keys that every control record repeats (log-format 8.2).
const IDENTITY: [&str; 3] = ["command", "cwd", "target"];

/// The `raw` of a start record for stdio (log-format 8.1). `log` is given only when it is not the
/// default log.
pub fn start_record(command: &[OsString], cwd: Option<&Path>, log: Option<&Path>) -> Vec<u8> {
    let mut out = b"{\"command\":".to_vec();
    write_array(&mut out, command, |out, word| {
        json::write_string(out, &word.to_string_lossy());
    });
    if let Some(cwd) = cwd {
        write_member(&mut out, "cwd", &cwd.to_string_lossy());
    }
    out.extend_from_slice(format!(",\"format\":{FORMAT}").as_bytes());
    let writer = concat!("mcpsnoop/", env!("CARGO_PKG_VERSION"));
    write_member(&mut out, "writer", writer);
    if let Some(log) = log {
        write_member(&mut out, "log", &log.to_string_lossy());
    }
    if command.iter().any(|word| word.to_str().is_none()) {
        out.extend_from_slice(b",\"command_b64\":");
        write_array(&mut out, command, |out, word| {
            json::write_string(out, &STANDARD.encode(word.as_bytes()));
        });
    }
    out.push(b'}');
    out
}

/// What an end record says (log-format 8.2).
#[derive(Clone, Debug)]
pub struct End {
    /// Exit code of the child, if it exited.
    pub exit_code: Option<i32>,
    /// Name of the signal that ended it.
    pub signal: Option<String>,
    /// `client`, `server`, `signal` or `proxy`.
    pub closed_by: &'static str,
    /// Frames observed and not written.
    pub dropped: u64,
    /// All bytes read from the client.
    pub c2s_bytes: u64,
    /// All bytes read from the server's standard output.
    pub s2c_bytes: u64,
}

/// The `raw` of an end record: the identity keys of `start`, then what the end says (log-format 8.2).
pub fn end_record(start: &[u8], end: &End) -> Vec<u8> {
    let mut out = b"{".to_vec();
    for key in IDENTITY {
        if let Some(value) = json::member(start, key) {
            json::write_string(&mut out, key);
            out.push(b':');
            out.extend_from_slice(value);
            out.push(b',');
        }
    }
    out.extend_from_slice(b"\"event\":\"end\",\"exit_code\":");
    match end.exit_code {
        Some(code) => out.extend_from_slice(code.to_string().as_bytes()),
        None => out.extend_from_slice(b"null"),
    }
    out.extend_from_slice(b",\"signal\":");
    match &end.signal {
        Some(name) => json::write_string(&mut out, name),
        None => out.extend_from_slice(b"null"),
    }
    write_member(&mut out, "closed_by", end.closed_by);
    for (key, count) in [
        ("dropped", end.dropped),
        ("c2s_bytes", end.c2s_bytes),
        ("s2c_bytes", end.s2c_bytes),
    ] {
        out.extend_from_slice(format!(",\"{key}\":{count}").as_bytes());
    }
    out.push(b'}');
    out
}

fn write_member(out: &mut Vec<u8>, key: &str, value: &str) {
    out.push(b',');
    json::write_string(out, key);
    out.push(b':');
    json::write_string(out, value);
}

fn write_array(out: &mut Vec<u8>, words: &[OsString], write: impl Fn(&mut Vec<u8>, &OsString)) {
    out.push(b'[');
    for (index, word) in words.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write(out, word);
    }
    out.push(b']');
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStringExt as _;

    use super::*;

    #[test]
    fn records_have_the_form_of_the_page() {
        let command: Vec<OsString> = ["node", "srv.js", "--a&b"].map(Into::into).into();
        let start = start_record(&command, Some(Path::new("/w")), None);
        let version = env!("CARGO_PKG_VERSION");
        assert_eq!(
            String::from_utf8(start.clone()).unwrap(),
            format!(
                r#"{{"command":["node","srv.js","--a&b"],"cwd":"/w","format":7,"writer":"mcpsnoop/{version}"}}"#
            )
        );
        let mut end = End {
            exit_code: Some(0),
            signal: None,
            closed_by: "client",
            dropped: 0,
            c2s_bytes: 43,
            s2c_bytes: 15,
        };
        assert_eq!(
            String::from_utf8(end_record(&start, &end)).unwrap(),
            r#"{"command":["node","srv.js","--a&b"],"cwd":"/w","event":"end","exit_code":0,"signal":null,"closed_by":"client","dropped":0,"c2s_bytes":43,"s2c_bytes":15}"#
        );
        (end.exit_code, end.signal) = (None, Some("SIGTERM".into()));
        let record = end_record(b"{}", &end);
        assert_eq!(json::member(&record, "signal"), Some(&b"\"SIGTERM\""[..]));
        assert_eq!(json::member(&record, "exit_code"), Some(&b"null"[..]));
        assert!(json::whole_value(&record).is_some());
    }

    #[test]
    fn words_that_are_not_utf8_are_kept_exactly() {
        let command = [OsString::from("a"), OsString::from_vec(vec![b'b', 0xff])];
        let start = start_record(&command, None, Some(Path::new("/l.jsonl")));
        assert_eq!(
            json::member(&start, "command"),
            Some("[\"a\",\"b\u{fffd}\"]".as_bytes())
        );
        assert_eq!(json::member(&start, "log"), Some(&b"\"/l.jsonl\""[..]));
        assert_eq!(
            json::member(&start, "command_b64"),
            Some(&b"[\"YQ==\",\"Yv8=\"]"[..])
        );
    }
}
