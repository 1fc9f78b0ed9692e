//! Labels and session ids (log-format 2, capture.md 5.6).

use std::{ffi::OsString, fmt::Write as _};

/// Longest label in bytes (log-format 2.4).
const LABEL_LIMIT: usize = 200;
/// Longest session id in bytes: with `.jsonl` it is a file name that every file system takes.
const ID_LIMIT: usize = 249;

/// A server label that satisfies log-format 2.4.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label(String);

/// Which rule a given label breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LabelError {
    /// Above 200 bytes.
    #[error("longer than 200 bytes")]
    TooLong,
    /// Holds `/`, `\` or a control character.
    #[error("holds a slash, a backslash or a control character")]
    Character,
    /// Begins with `-`.
    #[error("begins with `-`")]
    Dash,
}

/// Programs that launch the server that a command is about (capture.md 5.6).
const LAUNCHERS: [&str; 17] = [
    "npx", "npm", "pnpm", "yarn", "bunx", "bun", "node", "deno", "python", "python3", "uv", "uvx",
    "pipx", "sh", "bash", "env", "go",
];

impl Label {
    /// Checks a given label; empty is `Ok(None)`: derive one.
    ///
    /// # Errors
    /// The rule that it breaks.
    pub fn given(text: &str) -> Result<Option<Self>, LabelError> {
        check(text, LABEL_LIMIT)?;
        Ok((!text.is_empty()).then(|| Self(text.to_owned())))
    }

    /// Derives the label from a command (capture.md 5.6) and repairs it.
    pub fn derived(command: &[OsString]) -> Self {
        let words: Vec<_> = command.iter().map(|word| word.to_string_lossy()).collect();
        let words: Vec<&str> = words.iter().map(|word| &**word).collect();
        let first = words.first().copied().unwrap_or_default();
        let candidates = candidates(&words);
        let chosen = candidates
            .iter()
            .find(|word| is_telling(word))
            .or(candidates.first())
            .copied()
            .unwrap_or(first);
        let after = chosen.rsplit(['/', '\\']).next().unwrap_or_default();
        Self(repaired(if after.is_empty() {
            last_part(first)
        } else {
            after
        }))
    }

    /// Its text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn candidates<'a>(words: &[&'a str]) -> Vec<&'a str> {
    let mut candidates = Vec::new();
    for word in words {
        let is_launcher = candidates.is_empty() && LAUNCHERS.contains(&last_part(word));
        if !word.starts_with('-') && !matches!(*word, "run" | "exec") && !is_launcher {
            candidates.push(*word);
        }
    }
    candidates
}

fn is_telling(word: &str) -> bool {
    let lower = word.to_lowercase();
    lower.contains("server")
        || lower.contains("mcp")
        || lower.starts_with('@')
        || [".js", ".ts", ".py"].iter().any(|end| lower.ends_with(end))
}

/// The last part of a path that is not empty.
fn last_part(path: &str) -> &str {
    path.rsplit(['/', '\\'])
        .find(|part| !part.is_empty())
        .unwrap_or_default()
}

/// The repairs of log-format 2.5.
fn repaired(text: &str) -> String {
    let mut label: String = text
        .chars()
        .map(|symbol| if is_forbidden(symbol) { '_' } else { symbol })
        .collect();
    if label.starts_with('-') {
        label.replace_range(..1, "_");
    }
    let cut = (0..=LABEL_LIMIT.min(label.len()))
        .rev()
        .find(|at| label.is_char_boundary(*at))
        .unwrap_or(0);
    label.truncate(cut);
    if label.is_empty() {
        label.push_str("server");
    }
    label
}

fn check(text: &str, limit: usize) -> Result<(), LabelError> {
    if text.len() > limit {
        return Err(LabelError::TooLong);
    }
    if text.chars().any(is_forbidden) {
        return Err(LabelError::Character);
    }
    if text.starts_with('-') {
        return Err(LabelError::Dash);
    }
    Ok(())
}

fn is_forbidden(symbol: char) -> bool {
    matches!(symbol, '/' | '\\') || symbol.is_control()
}

/// `<label>-<pid>-<nonce>` with the file-name replacements of log-format 2.6.
pub fn session_id(label: &Label, pid: u32, nonce: [u8; 6]) -> String {
    let mut id = label
        .as_str()
        .replace([':', '*', '?', '"', '<', '>', '|'], "_");
    // Writing to a string cannot fail.
    let mut written = write!(id, "-{pid}-");
    for byte in nonce {
        written = written.and_then(|()| write!(id, "{byte:02x}"));
    }
    debug_assert!(written.is_ok());
    id
}

/// True when an id out of a log may be used to build a path (log-format 2.7).
pub fn is_safe_id(id: &str) -> bool {
    !matches!(id, "" | "." | "..") && check(id, ID_LIMIT).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn given_labels_are_checked_and_never_rewritten() {
        let most = "é".repeat(100);
        for text in ["files", "a b", "..", "a:b*", "é", "a-", &most] {
            assert_eq!(Label::given(text).unwrap().unwrap().as_str(), text);
        }
        assert_eq!(Label::given(""), Ok(None));
        let long = format!("{most}x");
        for (text, error) in [
            (long.as_str(), LabelError::TooLong),
            ("a/b", LabelError::Character),
            ("a\\b", LabelError::Character),
            ("a\0", LabelError::Character),
            ("a\n", LabelError::Character),
            ("a\u{85}", LabelError::Character),
            ("-a", LabelError::Dash),
        ] {
            assert_eq!(Label::given(text), Err(error), "{text:?}");
        }
    }

    #[test]
    fn labels_are_derived_as_the_table_says() {
        let cases = [
            ("npx -y @scope/server-files /data", "server-files"),
            ("node build/index.js", "index.js"),
            ("python3 -m my_mcp_tool", "my_mcp_tool"),
            ("uv run fetcher --fast", "fetcher"),
            ("docker run -i --rm -e KEY mcp/github", "github"),
            ("/opt/bin/thing serve", "thing"),
            ("npx -y", "npx"),
            ("/usr/bin/node /srv/My-SERVER/main.mjs", "main.mjs"),
            ("uvx --from git+x tool", "git+x"),
            ("thing node", "thing"),
            ("node", "node"),
            ("env node a.JS b.js", "a.JS"),
            ("bash -c @x", "@x"),
            ("npm exec plain", "plain"),
            ("/opt/mcp/", "mcp"),
            ("C:\\tools\\server.exe", "server.exe"),
            ("- -", "_"),
            ("/", "server"),
            ("npx a/-b", "_b"),
            ("", "server"),
        ];
        for (command, label) in cases {
            let words: Vec<OsString> = command.split(' ').map(Into::into).collect();
            assert_eq!(Label::derived(&words).as_str(), label, "{command}");
        }
        let derive = |word: &str| Label::derived(&[word.into()]).as_str().to_owned();
        assert_eq!(derive("a\u{1}b\u{9f}"), "a_b_");
        assert_eq!(derive(&"é".repeat(150)), "é".repeat(100));
        assert_eq!(derive(&format!("x{}", "é".repeat(150))).len(), 199);
        assert_eq!(Label::derived(&[]).as_str(), "server");
    }

    #[test]
    fn ids_are_file_names_everywhere() {
        let label = Label::given("a:b*c?d\"e<f>g|h é").unwrap().unwrap();
        let id = session_id(&label, 48_213, [0x7f, 0x3a, 0x1c, 0x9e, 0x2b, 0x04]);
        assert_eq!(id, "a_b_c_d_e_f_g_h é-48213-7f3a1c9e2b04");
        assert!(is_safe_id(&id));
        let long = Label::given(&"x".repeat(200)).unwrap().unwrap();
        assert!(is_safe_id(&session_id(&long, u32::MAX, [255; 6])));
        for unsafe_id in [
            "",
            ".",
            "..",
            "a/b",
            "../a",
            "a\\b",
            "a\0",
            "-a",
            &"x".repeat(250),
        ] {
            assert!(!is_safe_id(unsafe_id), "{unsafe_id:?}");
        }
        for safe in ["...", "a b", "files-1", "ID#2"] {
            assert!(is_safe_id(safe));
        }
    }
}
