//! `ssh -G` as the reader of the user's SSH configuration (remote.md 3.1).

use std::{
    ffi::{OsStr, OsString},
    io,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use tokio::{process::Command, time::timeout};

use super::{
    error::Error,
    options::{RemoteOptions, Target},
};
use crate::base::Env;

/// `Match exec` and canonical names may take their time; more is a fault (remote.md 3.1).
const TIME_LIMIT: Duration = Duration::from_secs(10);

/// Answer of `ssh -G`: keywords in lower case with their values, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Answer {
    lines: Vec<(String, String)>,
}

impl Answer {
    /// Reads the lines `keyword value`.
    pub(super) fn read(text: &str) -> Self {
        let lines = text
            .lines()
            .filter_map(|line| line.split_once(' '))
            .map(|(keyword, value)| (keyword.to_ascii_lowercase(), value.to_owned()))
            .collect();
        Self { lines }
    }

    /// An answer made of `-o` values alone, where no program reads a configuration. The first value
    /// of a keyword wins, but for key files, which add up.
    pub(super) fn of_options(options: &[String]) -> Self {
        let mut answer = Self::default();
        for option in options {
            let keyword = keyword_of(option);
            let value = option
                .get(keyword.len()..)
                .unwrap_or_default()
                .trim_start_matches([' ', '\t', '='])
                .trim_matches('"');
            if keyword == "identityfile" || answer.first(&keyword).is_none() {
                answer.lines.push((keyword, value.to_owned()));
            }
        }
        answer
    }

    /// The first value of a keyword.
    pub(super) fn first(&self, keyword: &str) -> Option<&str> {
        let found = self.lines.iter().find(|(name, _)| name == keyword);
        found.map(|(_, value)| value.as_str())
    }

    /// All values of a keyword.
    pub(super) fn all<'a>(&'a self, keyword: &'a str) -> impl Iterator<Item = &'a str> {
        self.lines
            .iter()
            .filter(move |(name, _)| name == keyword)
            .map(|(_, value)| value.as_str())
    }

    /// What differs from the defaults: `ssh -G` prints them like settings.
    pub(super) fn without_defaults(&self, defaults: &Self) -> Self {
        let lines = self
            .lines
            .iter()
            .filter(|(keyword, _)| !self.all(keyword).eq(defaults.all(keyword)))
            .cloned()
            .collect();
        Self { lines }
    }
}

/// The keyword of `KEY=VALUE` or `KEY VALUE`, in lower case.
pub(super) fn keyword_of(option: &str) -> String {
    let end = option
        .find(|character: char| character == '=' || character.is_whitespace())
        .unwrap_or(option.len());
    option.get(..end).unwrap_or_default().to_ascii_lowercase()
}

/// What ssh says about a target.
#[derive(Clone, Debug, Default)]
pub(super) struct Reading {
    /// All of it.
    pub(super) answer: Answer,
    /// The same for no configuration and no options.
    pub(super) defaults: Answer,
    /// What ssh wrote beside it.
    pub(super) remarks: String,
}

/// Asks ssh about a target, or reads `-o` alone where no configuration is wanted.
///
/// # Errors
/// A configuration that ssh refuses, or one that nobody can read.
pub(super) async fn read_configuration(
    target: &Target,
    options: &RemoteOptions,
) -> Result<Reading, Error> {
    let wants_none = options.ssh_config.as_deref() == Some(OsStr::new("none"));
    if let Some(file) = options.ssh_config.as_deref().filter(|_| !wants_none) {
        check_readable(Path::new(file))?;
    }
    let Some(program) = find_program(&options.env) else {
        if !wants_none && let Some(file) = existing_configuration(options) {
            return Err(Error::NoSshProgram { file });
        }
        return Ok(Reading {
            answer: Answer::of_options(&options.ssh_options),
            ..Reading::default()
        });
    };
    let wanted = arguments(target, options);
    let plain = ["-T", "-G", "-F", "none", "--", target.host.as_str()].map(OsString::from);
    let (answer, defaults) = tokio::join!(ask(&program, &wanted), ask(&program, &plain));
    let (answer, remarks) = answer?;
    let (defaults, _) = defaults?;
    Ok(Reading {
        answer,
        defaults,
        remarks,
    })
}

/// Tells before ssh does that the one file to read is not there. It is not opened: it may be a pipe.
fn check_readable(file: &Path) -> Result<(), Error> {
    let readable = rustix::fs::access(file, rustix::fs::Access::READ_OK);
    let reason = match readable {
        Err(errno) => errno.into(),
        // ssh itself takes a directory for an empty file.
        Ok(()) if file.is_dir() => io::ErrorKind::IsADirectory.into(),
        Ok(()) => return Ok(()),
    };
    Err(Error::ConfigurationUnreadable {
        file: file.to_owned(),
        source: reason,
    })
}

fn arguments(target: &Target, options: &RemoteOptions) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = vec!["-T".into(), "-G".into()];
    // ssh takes the first value that it meets.
    for option in &options.ssh_options {
        arguments.extend(["-o".into(), option.into()]);
    }
    if let Some(file) = &options.ssh_config {
        arguments.extend(["-F".into(), file.clone()]);
    }
    if let Some(port) = target.port.or(options.port) {
        arguments.extend(["-p".into(), port.to_string().into()]);
    }
    if let Some(user) = &target.user {
        arguments.extend(["-l".into(), user.into()]);
    }
    arguments.extend(["--".into(), target.host.as_str().into()]);
    arguments
}

async fn ask(program: &Path, arguments: &[OsString]) -> Result<(Answer, String), Error> {
    let mut command = Command::new(program);
    command
        .args(arguments)
        .stdin(Stdio::null())
        // A program of `Match exec` that reads the terminal is stopped there, not obeyed.
        .process_group(0)
        .kill_on_drop(true);
    let output = timeout(TIME_LIMIT, command.output())
        .await
        .map_err(|_elapsed| Error::ConfigurationTimeout)?
        .map_err(|source| Error::ConfigurationProgram {
            program: program.to_owned(),
            source,
        })?;
    let remarks = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    if !output.status.success() {
        return Err(Error::ConfigurationRefused { message: remarks });
    }
    let answer = Answer::read(&String::from_utf8_lossy(&output.stdout));
    Ok((answer, remarks))
}

fn find_program(env: &Env) -> Option<PathBuf> {
    std::env::split_paths(env.os("PATH")?)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join("ssh"))
        .find(|program| program.is_file())
}

fn existing_configuration(options: &RemoteOptions) -> Option<PathBuf> {
    match &options.ssh_config {
        Some(file) => Some(PathBuf::from(file)),
        None => super::account::Account::of_this_process(&options.env)
            .map(|account| account.home.join(".ssh/config"))
            .filter(|file| file.exists()),
    }
}
