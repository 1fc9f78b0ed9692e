//! Copying: through tmux, a program of this machine, or the terminal (tui.md 13.1).

use std::{
    io::{self, Write as _},
    path::Path,
    process::{Command, Stdio},
};

use base64::{Engine as _, engine::general_purpose::STANDARD};

use super::settings::Clipboard;
use crate::{
    base::{ByteCount, Shown},
    feed::Severity,
};

/// Most bytes of one OSC 52 write (A3).
pub(super) const OSC52_BYTES: usize = 74_994;

/// Programs that take a clipboard on their standard input.
const NATIVE: [(&str, &[&str]); 4] = [
    ("pbcopy", &[]),
    ("wl-copy", &[]),
    ("xclip", &["-selection", "clipboard"]),
    ("xsel", &["--clipboard", "--input"]),
];

/// What became of an attempt to copy.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Copied {
    /// Done, or refused: the toast.
    Told(Severity, Shown),
    /// The terminal has to do it.
    ByTerminal,
}

fn size_of(text: &str) -> ByteCount {
    ByteCount(u64::try_from(text.len()).unwrap_or(u64::MAX))
}

fn told(severity: Severity, words: &str) -> Copied {
    Copied::Told(severity, Shown::row(words.as_bytes()))
}

/// Copies by a program; blocks until the program has taken the text, so never called by the loop.
pub(super) fn copy(channel: Clipboard, text: &str, what: &str) -> Copied {
    let size = size_of(text);
    match channel {
        Clipboard::Off => told(
            Severity::Warning,
            "copying is off (MCPSNOOP_CLIPBOARD=off), :copy frame FILE writes it",
        ),
        Clipboard::Osc52 => Copied::ByTerminal,
        Clipboard::Tmux => match pipe("tmux", &["load-buffer", "-w", "-"], text) {
            Ok(()) => told(
                Severity::Good,
                &format!("copied {what} ({size}) to the tmux buffer and the terminal"),
            ),
            Err(_no_tmux) => Copied::ByTerminal,
        },
        Clipboard::Native => {
            let done = NATIVE
                .iter()
                .any(|(program, arguments)| pipe(program, arguments, text).is_ok());
            if done {
                told(Severity::Good, &format!("copied {what} ({size})"))
            } else {
                Copied::ByTerminal
            }
        }
    }
}

fn pipe(program: &str, arguments: &[&str], text: &str) -> io::Result<()> {
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let written = child
        .stdin
        .take()
        .map_or(Ok(()), |mut stdin| stdin.write_all(text.as_bytes()));
    let status = child.wait()?;
    written?;
    if status.success() {
        Ok(())
    } else {
        Err(io::Error::other("the program failed"))
    }
}

/// The sequence that puts a text into the terminal's clipboard, with its toast; only the toast when
/// it is too large.
pub(super) fn osc52(text: &str) -> (Option<Vec<u8>>, Severity, String) {
    if text.len() > OSC52_BYTES {
        return (
            None,
            Severity::Error,
            "74 KiB is the limit, :copy frame FILE writes it".to_owned(),
        );
    }
    let sequence = format!("\x1b]52;c;{}\x1b\\", STANDARD.encode(text));
    let words = format!("sent {} to the terminal clipboard (OSC 52)", size_of(text));
    (Some(sequence.into_bytes()), Severity::Good, words)
}

/// Writes a new file that only its owner can read; never over an existing one.
pub(super) fn write_new(path: &Path, bytes: &[u8]) -> (Severity, Shown) {
    use std::os::unix::fs::OpenOptionsExt as _;
    let shown = crate::base::quoted_bytes(path.as_os_str().as_encoded_bytes());
    let written = std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
        .and_then(|mut file| file.write_all(bytes));
    match written {
        Ok(()) => {
            let size = ByteCount(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
            (
                Severity::Good,
                Shown::row(format!("wrote {size} to {shown}").as_bytes()),
            )
        }
        Err(error) => (
            Severity::Error,
            Shown::row(format!("{shown}: {error}").as_bytes()),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_terminal_gets_at_most_what_it_can_take() {
        let (sequence, _, words) = osc52("hello");
        assert_eq!(sequence.unwrap(), b"\x1b]52;c;aGVsbG8=\x1b\\");
        assert_eq!(words, "sent 5 B to the terminal clipboard (OSC 52)");
        let (sequence, severity, _) = osc52(&"x".repeat(OSC52_BYTES + 1));
        assert_eq!((sequence, severity), (None, Severity::Error));
    }

    #[test]
    fn files_are_new_and_private() {
        use std::os::unix::fs::PermissionsExt as _;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("frame.json");
        assert_eq!(write_new(&path, b"{}").0, Severity::Good);
        assert_eq!(
            std::fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o600
        );
        assert_eq!(write_new(&path, b"other").0, Severity::Error);
        assert_eq!(std::fs::read(&path).unwrap(), b"{}");
    }

    #[test]
    fn copying_can_be_off() {
        assert!(matches!(
            copy(Clipboard::Off, "x", "frame"),
            Copied::Told(Severity::Warning, _)
        ));
        assert_eq!(copy(Clipboard::Osc52, "x", "frame"), Copied::ByTerminal);
    }
}
