//! The next step for each failure: the message table of remote.md 12.

use super::{
    error::{Error, LoginReport, Unconfirmed},
    keywords::USABLE_OPTIONS,
    known_hosts::KnownLine,
};

/// One line a step; empty when there is nothing to do.
pub(super) fn hints(error: &Error) -> Vec<String> {
    match error {
        Error::ConfiguredName { keyword, .. } => {
            vec![format!("correct `{keyword}` in the SSH configuration")]
        }
        Error::UnsupportedKeyword { keyword, .. } => vec![format!(
            "a configuration without `{keyword}` for this host: `-F FILE`, or `-F none` for none"
        )],
        Error::UnsupportedOption {
            nearest: Some(name),
            ..
        } => vec![format!("did you mean `-o {name}=…`?")],
        Error::UnsupportedOption { nearest: None, .. } => {
            let names: Vec<String> = USABLE_OPTIONS.iter().map(|it| format!("`{it}`")).collect();
            vec![format!("supported are {}", names.join(", "))]
        }
        Error::ConfigurationUnreadable { .. } => vec![
            "correct the path behind `-F`; without `-F` ssh's own files are read, with `-F none` none"
                .to_owned(),
        ],
        Error::ConfigurationRefused { message } if message.starts_with("command-line") => {
            vec!["correct what stands behind `-o`".to_owned()]
        }
        Error::ConfigurationRefused { .. } => vec![
            "correct it: `ssh -G HOST` must print the settings; `-F none` reads no file".to_owned(),
        ],
        Error::ConfigurationTimeout => {
            vec!["`ssh -G HOST` shows what takes so long, a `Match exec` perhaps".to_owned()]
        }
        Error::BadValue { keyword, .. } => {
            vec![format!("correct `{keyword}` in the SSH configuration or behind `-o`")]
        }
        Error::KnownHostsUnreadable { .. } => vec![
            "correct its permissions, or name another one with `-o UserKnownHostsFile=FILE`"
                .to_owned(),
        ],
        Error::NoSshProgram { .. } => {
            vec!["install ssh, or pass `-F none` to use no configuration file".to_owned()]
        }
        Error::NoUsableAlgorithm { wanted, known, .. } => vec![
            format!("the configuration wants {}", wanted.join(",")),
            format!("known here: {}", known.join(",")),
        ],
        Error::PinFormat { .. } => {
            vec!["`ssh-keygen -lf FILE` prints the fingerprint of a key".to_owned()]
        }
        Error::NameNotFound { host_name, .. } => vec![format!(
            "the SSH configuration leads to `HostName {host_name}`; `ssh -G HOST` shows it"
        )],
        Error::NoConnection { .. } => {
            vec!["another port with `-p PORT`; a VPN that must be up first".to_owned()]
        }
        Error::NoCommonAlgorithm {
            kind,
            possible: Some(name),
            ..
        } => vec![format!("`-o {kind}=+{name}` would match")],
        Error::HostKeyUnknown {
            fingerprint, why, ..
        } => unknown_key(fingerprint, *why),
        Error::HostKeyChanged {
            name, conflicts, ..
        } => changed_key(name, conflicts),
        Error::LoginRefused { report } => refused(report),
        Error::TooManyAttempts { report } => {
            let mut hints = vec!["`-o IdentitiesOnly=yes -i FILE` offers one key only".to_owned()];
            hints.extend(tried(report));
            hints
        }
        Error::UnsupportedMethods { report } => ignored(report),
        Error::PromptNeeded { report, encrypted } => prompt_needed(report, encrypted.as_deref()),
        Error::LoginTimeout {
            step: "password", ..
        } => vec!["the server may demand a new password: `ssh HOST` shows it".to_owned()],
        Error::Far(error) => error.hints(),
        _ => Vec::new(),
    }
}

fn unknown_key(fingerprint: &str, why: Unconfirmed) -> Vec<String> {
    match why {
        Unconfirmed::NoTerminal => vec![
            format!("compare the fingerprint, then pass `--host-key {fingerprint}`"),
            "or connect once in a terminal and confirm it there".to_owned(),
        ],
        Unconfirmed::Strict => vec![
            "`StrictHostKeyChecking yes` accepts no new key: add it to the known hosts first"
                .to_owned(),
        ],
        Unconfirmed::Declined => vec![
            "nothing was recorded: compare the fingerprint with the host's owner, then answer `yes`"
                .to_owned(),
        ],
    }
}

fn changed_key(name: &str, conflicts: &[KnownLine]) -> Vec<String> {
    let mut files: Vec<String> = conflicts
        .iter()
        .map(|line| line.file.display().to_string())
        .collect();
    files.dedup();
    files
        .iter()
        .map(|file| {
            format!(
                "only after checking the new fingerprint with the host's owner: \
                 `ssh-keygen -R '{name}' -f '{file}'`"
            )
        })
        .collect()
}

fn refused(report: &LoginReport) -> Vec<String> {
    let mut hints = Vec::new();
    if !report.methods.is_empty() {
        hints.push(format!("the server accepts {}", report.methods.join(", ")));
    }
    hints.extend(tried(report));
    hints.extend(ignored(report));
    hints.push("name the key with `-i FILE`, or load it with `ssh-add FILE`".to_owned());
    hints
}

fn prompt_needed(report: &LoginReport, encrypted: Option<&std::path::Path>) -> Vec<String> {
    let mut hints = Vec::new();
    if let Some(file) = encrypted {
        hints.push(format!("unlock the key first: ssh-add {}", file.display()));
    }
    if !report.methods.is_empty() {
        hints.push(format!("the server accepts {}", report.methods.join(", ")));
    }
    hints.extend(tried(report));
    hints
}

fn tried(report: &LoginReport) -> Vec<String> {
    let offered = report.tried.iter().map(|key| format!("tried {key}"));
    let skipped = report.skipped.iter().map(|key| format!("skipped {key}"));
    let words = |(count, what): (u32, &str)| match count {
        1 => format!("tried {what} once (refused)"),
        _ => format!("tried {what} {count} times (refused)"),
    };
    let typed = [
        (report.answers, "an answer to the server's questions"),
        (report.passwords, "a password"),
    ];
    let typed = typed.into_iter().filter(|(count, _)| *count > 0).map(words);
    offered.chain(typed).chain(skipped).collect()
}

fn ignored(report: &LoginReport) -> Vec<String> {
    report
        .ignored
        .iter()
        .map(|keyword| format!("`{keyword}` of the SSH configuration is not supported"))
        .collect()
}
