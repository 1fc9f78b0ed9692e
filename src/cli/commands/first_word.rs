//! A first word without dashes before it: a program to record, or a slip in the name of a subcommand.

use std::{
    ffi::{OsStr, OsString},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use mcpsnoop::base::{Env, edits, quoted_bytes};

use crate::cli::failure::Failure;

/// Subcommands that a slip may have meant.
const SUBCOMMANDS: [&str; 5] = ["open", "export", "demo", "remote", "prune"];
/// Letters that a slip may have changed.
const SLIP: usize = 2;

/// Refuses a word that is neither a program nor a path of one. Behind `--` nothing is refused: there
/// the words are a command, whatever they are called.
pub(super) fn check(command: &[OsString], env: &Env) -> Result<(), Failure> {
    let Some(word) = command.first().filter(|word| !word.is_empty()) else {
        return Ok(());
    };
    let has_slash = word.as_encoded_bytes().contains(&b'/');
    if is_program(word, has_slash, env) {
        return Ok(());
    }
    let shown = format!("`{}`", quoted_bytes(word.as_encoded_bytes()));
    if is_log(word) {
        return Err(Failure::usage(format!(
            "no such subcommand: {shown} is a file, and no program"
        ))
        .hint(format!(
            "to look at a log: mcpsnoop open {}",
            shell_word(word)
        )));
    }
    if has_slash {
        // Nobody writes a subcommand so: the launch says what is wrong with it.
        return Ok(());
    }
    let failure = Failure::usage(format!(
        "no such subcommand: {shown}, and no program of that name is on PATH"
    ));
    let failure = match (near(word), word.to_str()) {
        (_, Some("version")) => failure.hint("mcpsnoop --version"),
        (_, Some("list" | "ls")) => failure.hint(
            "`mcpsnoop` alone lists the sessions of this machine, `mcpsnoop remote --list HOST` those of another",
        ),
        (Some(name), _) => failure.hint(format!("did you mean `mcpsnoop {name}`?")),
        (None, _) => failure.hint("subcommands: open, export, demo, remote, prune"),
    };
    Err(failure.hint("a command to record: mcpsnoop -- COMMAND [ARGS]..."))
}

fn is_program(word: &OsStr, has_slash: bool, env: &Env) -> bool {
    if has_slash {
        return is_executable(Path::new(word));
    }
    match env.os("PATH") {
        Some(path) => std::env::split_paths(path).any(|dir| is_executable(&dir.join(word))),
        // The system has a path of its own then.
        None => true,
    }
}

fn is_executable(path: &Path) -> bool {
    std::fs::metadata(path)
        .is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
}

fn is_log(word: &OsStr) -> bool {
    let path = PathBuf::from(word);
    path.extension().is_some_and(|ending| ending == "jsonl") && path.is_file()
}

/// The subcommand that looks most like the word.
fn near(word: &OsStr) -> Option<&'static str> {
    let word = word.to_str()?.to_ascii_lowercase();
    SUBCOMMANDS
        .into_iter()
        .map(|name| (edits(&word, name), name))
        .filter(|(count, name)| *count <= SLIP && *count < name.len() / 2 + 1)
        .min()
        .map(|(_, name)| name)
}

/// A path as a shell reads it.
fn shell_word(word: &OsStr) -> String {
    let text = quoted_bytes(word.as_encoded_bytes());
    let is_plain = |sign: char| sign.is_ascii_alphanumeric() || "@%_+=:,./-".contains(sign);
    if text.chars().all(is_plain) {
        return text;
    }
    format!("'{}'", text.replace('\'', "'\"'\"'"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_told_from_programs() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, mode: u32| {
            let path = folder.path().join(name);
            std::fs::write(&path, "").unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            path
        };
        file("watch", 0o755);
        file("plain", 0o644);
        let log = file("a log.jsonl", 0o600);
        let tool = file("tool.jsonl", 0o700);
        let env = Env::of([("PATH", folder.path().as_os_str())]);
        let refused = |word: &OsStr| {
            let failure = check(&[word.to_owned()], &env).err()?;
            assert!(
                failure.sentence.starts_with("no such subcommand: "),
                "{failure:?}"
            );
            Some(failure.hints.join(" | "))
        };
        let cases = [
            ("remte", Some("did you mean `mcpsnoop remote`?")),
            ("prnue", Some("did you mean `mcpsnoop prune`?")),
            ("Demo", Some("did you mean `mcpsnoop demo`?")),
            ("list", Some("`mcpsnoop` alone lists")),
            ("version", Some("mcpsnoop --version")),
            ("plain", Some("subcommands: open")),
            ("watch", None),
            ("./nowhere/srv", None),
            ("", None),
        ];
        for (word, hint) in cases {
            let hints = refused(OsStr::new(word));
            let fits = match (&hints, hint) {
                (Some(hints), Some(hint)) => hints.contains(hint),
                (hints, hint) => hints.is_none() && hint.is_none(),
            };
            assert!(fits, "{word}: {hints:?}");
        }
        assert!(
            refused(log.as_os_str())
                .unwrap()
                .contains("mcpsnoop open '/")
        );
        assert_eq!(refused(tool.as_os_str()), None);
    }
}
