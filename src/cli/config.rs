//! `.mcpsnoop.toml` (capture.md 2.4): a line grammar of its own, in which a quoted value is literal.

use std::{
    fs::{File, OpenOptions},
    io::{self, Read as _},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
};

use mcpsnoop::base::Env;

use super::failure::{Exit, Failure};

/// Largest file that is read.
const SIZE_LIMIT: u64 = 1 << 20;
/// Keys whose features this build has not got: asking for them is refused, never ignored.
const REDACTION_KEYS: &str = "redact";

/// What the files set.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Config {
    /// `label`.
    pub(super) label: Option<String>,
    /// `trace-file`.
    pub(super) trace_file: Option<PathBuf>,
    /// `no-trace`.
    pub(super) no_trace: Option<bool>,
}

/// Which of the two files a line stands in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Origin {
    Project,
    User,
}

/// Why a line cannot be used.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
enum LineError {
    #[error("a section has no meaning here")]
    Section,
    #[error("there is no `=`")]
    NoEquals,
    #[error("`{0}` is no key")]
    UnknownKey(String),
    #[error("`{0}` belongs into a project's .mcpsnoop.toml, not into the user's file")]
    NotForUser(String),
    #[error("`{0}` asks for redaction, which this version cannot do")]
    Redaction(String),
    #[error("the closing quote is missing")]
    Unterminated,
    #[error("something follows the closing quote")]
    Trailing,
    #[error("a `#` in a bare value: put the value in quotes")]
    Hash,
    #[error("`{0}` takes one value, not a list")]
    List(String),
    #[error("`{0}` is neither true nor false")]
    Boolean(String),
    #[error("the file is not UTF-8")]
    Encoding,
}

impl Config {
    /// Reads the project's and the user's file; the project's wins.
    pub(super) fn read(env: &Env) -> Result<Self, Failure> {
        let user = user_file(env).map_or(Ok(Self::default()), |path| {
            Self::read_file(&path, Origin::User)
        })?;
        let project = match env.current_dir() {
            Some(dir) => Self::read_file(&dir.join(".mcpsnoop.toml"), Origin::Project)?,
            None => Self::default(),
        };
        Ok(Self {
            label: project.label,
            trace_file: project.trace_file,
            no_trace: project.no_trace.or(user.no_trace),
        })
    }

    fn read_file(path: &Path, origin: Origin) -> Result<Self, Failure> {
        let unreadable = |error: &io::Error| {
            Failure::new(Exit::Failed, format!("cannot read `{}`", path.display()))
                .because(error)
                .hint("fix it, or pass --no-config")
        };
        let file = match open_at_once(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(unreadable(&error)),
        };
        let refused = |why: &str| {
            Failure::new(Exit::Failed, format!("`{}` is {why}", path.display()))
                .hint("pass --no-config to run without it")
        };
        let found = file.metadata().map_err(|error| unreadable(&error))?;
        if !found.is_file() {
            return Err(refused("no regular file"));
        }
        let mut bytes = Vec::new();
        file.take(SIZE_LIMIT + 1)
            .read_to_end(&mut bytes)
            .map_err(|error| unreadable(&error))?;
        if bytes.len() as u64 > SIZE_LIMIT {
            return Err(refused("larger than 1 MiB"));
        }
        Self::parse(&bytes, origin).map_err(|(line, error)| {
            let exit = if matches!(error, LineError::Redaction(_)) {
                Exit::Usage
            } else {
                Exit::Failed
            };
            Failure::new(exit, format!("`{}` line {line}: {error}", path.display()))
                .hint("fix that line, or pass --no-config to run without the file")
        })
    }

    fn parse(bytes: &[u8], origin: Origin) -> Result<Self, (usize, LineError)> {
        let text = std::str::from_utf8(bytes).map_err(|error| {
            let before = bytes.get(..error.valid_up_to()).unwrap_or_default();
            (
                memchr::memchr_iter(b'\n', before).count() + 1,
                LineError::Encoding,
            )
        })?;
        let mut config = Self::default();
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        for (index, line) in text.lines().enumerate() {
            config
                .take(line.trim(), origin)
                .map_err(|error| (index + 1, error))?;
        }
        Ok(config)
    }

    fn take(&mut self, line: &str, origin: Origin) -> Result<(), LineError> {
        if line.is_empty() || line.starts_with('#') {
            return Ok(());
        }
        if line.starts_with('[') {
            return Err(LineError::Section);
        }
        let (key, value) = line.split_once('=').ok_or(LineError::NoEquals)?;
        let (key, value) = (key.trim(), value.trim());
        let known = matches!(key, "label" | "trace-file" | "no-trace");
        if key.starts_with(REDACTION_KEYS) || key == "require-redaction" {
            return Err(LineError::Redaction(key.to_owned()));
        } else if !known {
            return Err(LineError::UnknownKey(key.to_owned()));
        } else if origin == Origin::User && key != "no-trace" {
            return Err(LineError::NotForUser(key.to_owned()));
        }
        if value.starts_with('[') {
            return Err(LineError::List(key.to_owned()));
        }
        let value = scalar(value)?;
        match key {
            "label" => self.label = Some(value.to_owned()),
            "trace-file" => self.trace_file = Some(PathBuf::from(value)),
            _ => self.no_trace = Some(boolean(value)?),
        }
        Ok(())
    }
}

/// Opens for reading without waiting for the other end of a FIFO, and without taking a terminal.
fn open_at_once(path: &Path) -> io::Result<File> {
    let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY;
    OpenOptions::new()
        .read(true)
        .custom_flags(flags.bits().cast_signed())
        .open(path)
}

/// The user's file: `mcpsnoop/config.toml` under `XDG_CONFIG_HOME`, else `~/.config`.
fn user_file(env: &Env) -> Option<PathBuf> {
    let base = env
        .os("XDG_CONFIG_HOME")
        .map(PathBuf::from)
        .filter(|path| path.is_absolute())
        .or_else(|| Some(env.home()?.join(".config")))?;
    Some(base.join("mcpsnoop").join("config.toml"))
}

/// A quoted value is literal up to the next quote of its kind: no escapes.
fn scalar(value: &str) -> Result<&str, LineError> {
    for quote in ['"', '\''] {
        let Some(inside) = value.strip_prefix(quote) else {
            continue;
        };
        let (text, rest) = inside.split_once(quote).ok_or(LineError::Unterminated)?;
        let rest = rest.trim_start();
        return if rest.is_empty() || rest.starts_with('#') {
            Ok(text)
        } else {
            Err(LineError::Trailing)
        };
    }
    if value.contains('#') {
        Err(LineError::Hash)
    } else {
        Ok(value)
    }
}

fn boolean(value: &str) -> Result<bool, LineError> {
    match value {
        "1" | "t" | "T" | "true" | "True" | "TRUE" => Ok(true),
        "0" | "f" | "F" | "false" | "False" | "FALSE" => Ok(false),
        other => Err(LineError::Boolean(other.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Config, (usize, LineError)> {
        Config::parse(text.as_bytes(), Origin::Project)
    }

    #[test]
    fn the_grammar_reads_quotes_literally_and_ignores_comments() {
        let label = |text: &str| parse(text).map(|config| config.label.unwrap());
        let cases = [
            ("label = files", "files"),
            ("  label=\"a \\w+ # b\"  # comment", "a \\w+ # b"),
            ("label = 'say \"hi\"'\r\n# next\r\n\r\n", "say \"hi\""),
            ("\u{feff}label = x", "x"),
            ("label = a\nlabel = b", "b"),
            ("label = a = b", "a = b"),
        ];
        for (text, value) in cases {
            assert_eq!(label(text), Ok(value.to_owned()), "{text:?}");
        }
        let both = parse("trace-file = \"t.jsonl\"\nno-trace = F").unwrap();
        assert_eq!(both.trace_file, Some(PathBuf::from("t.jsonl")));
        assert_eq!(both.no_trace, Some(false));
    }

    #[test]
    fn what_cannot_be_used_is_refused_with_its_line() {
        let cases = [
            ("\n[server]", 2, LineError::Section),
            ("label", 1, LineError::NoEquals),
            ("lable = x", 1, LineError::UnknownKey("lable".into())),
            ("label = \"x", 1, LineError::Unterminated),
            ("label = \"x\" y", 1, LineError::Trailing),
            ("label = x # y", 1, LineError::Hash),
            ("label = [ \"a\" ]", 1, LineError::List("label".into())),
            ("no-trace = yes", 1, LineError::Boolean("yes".into())),
            (
                "redact = [\"token\"]",
                1,
                LineError::Redaction("redact".into()),
            ),
            (
                "redact-key = token",
                1,
                LineError::Redaction("redact-key".into()),
            ),
        ];
        for (text, line, error) in cases {
            assert_eq!(parse(text), Err((line, error)), "{text:?}");
        }
        assert_eq!(
            Config::parse(b"label = x\n\xff", Origin::Project),
            Err((2, LineError::Encoding))
        );
        let user = Config::parse(b"label = x", Origin::User);
        assert_eq!(user, Err((1, LineError::NotForUser("label".into()))));
    }

    #[test]
    fn what_is_no_regular_file_is_refused_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        let made = std::process::Command::new("mkfifo")
            .arg(&pipe)
            .status()
            .unwrap();
        assert!(made.success());
        for path in [pipe, "/dev/zero".into(), folder.path().to_owned()] {
            let (tell, told) = std::sync::mpsc::sync_channel(1);
            let asked = path.clone();
            std::thread::spawn(move || tell.send(Config::read_file(&asked, Origin::Project)));
            let answer = told.recv_timeout(std::time::Duration::from_secs(10));
            let failure = answer.expect("it does not wait").unwrap_err();
            assert_eq!(
                failure.sentence,
                format!("`{}` is no regular file", path.display())
            );
            assert_eq!(failure.exit, Exit::Failed);
        }
        let large = folder.path().join("large");
        std::fs::write(&large, vec![b'\n'; (1 << 20) + 1]).unwrap();
        let failure = Config::read_file(&large, Origin::Project).unwrap_err();
        assert!(failure.sentence.ends_with("is larger than 1 MiB"));
        let absent = Config::read_file(&folder.path().join("absent"), Origin::Project);
        assert_eq!(absent.unwrap(), Config::default());
    }
}
