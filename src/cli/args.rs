//! The command line, as it was typed. Meaning is given by the commands.

use std::{ffi::OsString, path::PathBuf};

use clap::{ArgAction, Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use super::export_args::ExportArgs;

/// What the arguments ask for.
pub(super) enum Read {
    /// Run this.
    Invocation(Box<Invocation>),
    /// Help or version: print it.
    Printed(String),
    /// Asked wrongly: print it on standard error.
    Usage(String),
}

const EXAMPLES: &str = "\
Examples:
  mcpsnoop -- npx -y @modelcontextprotocol/server-everything
                                  record a server: put this into the client's configuration
  mcpsnoop                        watch what is recorded on this machine
  mcpsnoop remote dev@build01     watch what is recorded over there, with its history
  mcpsnoop open files             look at the newest log of the server `files`
  mcpsnoop export files           the same as JSON, for scripts
  mcpsnoop demo                   look around without recording anything";

/// Records the traffic between an MCP client and its servers, and shows it here or over SSH.
///
/// With a command after `--` mcpsnoop runs it, forwards every byte untouched and keeps a copy of
/// every JSON-RPC frame in a session log. Without one it shows the sessions of this machine, live.
/// The dashes may be left out before a program that is called like no subcommand: `mcpsnoop npx ...`.
#[derive(Debug, Parser)]
#[command(
    name = "mcpsnoop",
    version,
    after_help = EXAMPLES,
    subcommand_precedence_over_arg = true,
    max_term_width = 100,
    override_usage = "mcpsnoop [OPTIONS] [--] COMMAND [ARGS]...\n       mcpsnoop [OPTIONS]\n       mcpsnoop <open|export|demo|remote|prune> ..."
)]
pub(super) struct Invocation {
    #[command(flatten)]
    pub(super) shim: ShimArgs,
    #[command(flatten)]
    pub(super) viewer: ViewerArgs,
    /// Newest logs to load at start; 0 for all
    #[arg(
        long,
        value_name = "N",
        allow_negative_numbers = true,
        help_heading = "Options of the viewer"
    )]
    pub(super) history_limit: Option<i64>,
    #[command(subcommand)]
    pub(super) command: Option<Command>,
    /// The server's command and its arguments
    #[arg(trailing_var_arg = true, value_name = "COMMAND")]
    pub(super) server: Vec<OsString>,
    /// The command stands behind `--`, so it is meant as one.
    #[arg(skip)]
    pub(super) dashed: bool,
}

/// What the viewer's look depends on.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Options of the viewer")]
pub(super) struct ViewerArgs {
    /// Draw with ASCII characters only
    #[arg(long)]
    pub(super) ascii: bool,
}

/// Options of a recorded command.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Options of a recorded command")]
pub(super) struct ShimArgs {
    /// Name of the server in every list (default: derived from the command)
    #[arg(long, value_name = "TEXT")]
    pub(super) label: Option<String>,
    /// Write the log there instead, appending
    #[arg(long, value_name = "PATH")]
    pub(super) trace_file: Option<PathBuf>,
    /// Directory for the log under its usual name
    #[arg(long, value_name = "DIR", conflicts_with = "trace_file")]
    pub(super) log_dir: Option<PathBuf>,
    /// Record nothing: become the command
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(super) no_trace: Option<bool>,
    /// Read no `.mcpsnoop.toml`
    #[arg(long)]
    pub(super) no_config: bool,
    /// Memory for what waits to be written, 16 to 4096 MiB (default: 64)
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u16).range(16..=4096))]
    pub(super) trace_buffer: Option<u16>,
    /// Say nothing but losses and errors
    #[arg(long)]
    pub(super) quiet: bool,
}

impl ShimArgs {
    /// The first of these options that was given, for a command that has none of them.
    pub(super) const fn given(&self) -> Option<&'static str> {
        match self {
            Self { label: Some(_), .. } => Some("--label"),
            Self {
                trace_file: Some(_),
                ..
            } => Some("--trace-file"),
            Self {
                log_dir: Some(_), ..
            } => Some("--log-dir"),
            Self {
                no_trace: Some(_), ..
            } => Some("--no-trace"),
            Self {
                no_config: true, ..
            } => Some("--no-config"),
            Self {
                trace_buffer: Some(_),
                ..
            } => Some("--trace-buffer"),
            Self { quiet: true, .. } => Some("--quiet"),
            _ => None,
        }
    }
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Look at one session log, also while it grows
    Open(OpenArgs),
    /// Write one session as one document, for scripts and for handing it on
    Export(ExportArgs),
    /// Look around in a scripted session
    Demo(DemoArgs),
    /// Watch another machine's sessions over SSH, live and with history
    Remote(Box<RemoteArgs>),
    /// Delete old session logs
    Prune(PruneArgs),
}

/// `mcpsnoop open`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  mcpsnoop open                   the newest log
  mcpsnoop open files             the newest log of the server `files`
  mcpsnoop open ./copied.jsonl    a log from anywhere
  xz -dc old.jsonl.xz | mcpsnoop open -")]
pub(super) struct OpenArgs {
    /// Session id, prefix of one (3 characters or more), server label, path of a log, or `-` (default: the newest log)
    pub(super) session: Option<String>,
    /// Show this session of the log first
    #[arg(long = "session", value_name = "ID")]
    pub(super) inner: Option<String>,
    /// Show the log as it stands
    #[arg(long)]
    pub(super) no_follow: bool,
    #[command(flatten)]
    pub(super) viewer: ViewerArgs,
}

/// `mcpsnoop demo`.
#[derive(Debug, Args)]
pub(super) struct DemoArgs {
    /// Play it on a host inside the program, and watch it over SSH
    #[arg(long)]
    pub(super) remote: bool,
    /// With --remote: print JSON lines instead of opening the viewer
    #[arg(long, requires = "remote")]
    pub(super) json: bool,
    /// With --remote --json: end when the script has ended and all of it has arrived
    #[arg(long, requires = "json")]
    pub(super) once: bool,
    /// Multiply the pauses between frames; 0 for none
    #[arg(
        long,
        value_name = "FACTOR",
        default_value_t = 1.0,
        allow_negative_numbers = true
    )]
    pub(super) speed: f64,
    #[command(flatten)]
    pub(super) viewer: ViewerArgs,
}

/// `mcpsnoop remote`.
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
#[derive(Debug, Args)]
#[command(
    disable_version_flag = true,
    after_help = "\
Examples:
  mcpsnoop remote dev@build01               watch it
  mcpsnoop remote build01 edge7:2222        watch two machines and this one
  mcpsnoop remote --list build01            what is there
  mcpsnoop remote --cat files build01 > files.jsonl
  mcpsnoop remote --json --once build01     everything as JSON lines, then end

Nothing is installed over there. Host keys are checked against your known_hosts files, and ssh's own
configuration is used (as `ssh -G` reads it). Logs are found by MCPSNOOP_HOME, XDG_STATE_HOME or the
home directory over there."
)]
pub(super) struct RemoteArgs {
    /// [USER@]HOST[:PORT], an alias of the ssh configuration, or ssh://...
    #[arg(value_name = "TARGET", required = true)]
    pub(super) targets: Vec<String>,
    /// List the sessions, newest first, and exit
    #[arg(long, conflicts_with = "cat")]
    pub(super) list: bool,
    /// Write one log's bytes to standard output and exit
    #[arg(long, value_name = "SESSION")]
    pub(super) cat: Option<String>,
    /// Print JSON lines instead of opening the viewer
    #[arg(long, conflicts_with = "cat")]
    pub(super) json: bool,
    /// With --json: load history, then exit instead of following
    #[arg(long, requires = "json", conflicts_with = "list")]
    pub(super) once: bool,
    /// Only these sessions: id, label or unique prefix of an id (3 characters or more)
    #[arg(long, value_name = "NAME")]
    pub(super) session: Vec<String>,
    /// Newest logs to load per host; 0 for all
    #[arg(
        long,
        value_name = "N",
        default_value_t = 100,
        allow_negative_numbers = true
    )]
    pub(super) history_limit: i64,
    /// Where live frames come from: `socket` (at once), `log` (a look every 250 ms; slower where the
    /// round trip is 100 ms or more), `history` (none), or `auto`: the first that works
    #[arg(long, value_name = "MODE", default_value = "auto", value_parser = ["auto", "socket", "log", "history"])]
    pub(super) mode: String,
    /// Leave this machine's sessions out
    #[arg(long)]
    pub(super) no_local: bool,
    /// Never ask anything
    #[arg(long)]
    pub(super) batch: bool,
    /// The expected host key, SHA256:...; the only way to accept a new one without a terminal
    #[arg(long, value_name = "FINGERPRINT")]
    pub(super) host_key: Option<String>,
    /// Give up after N failed reconnects in a row (default: never)
    #[arg(long, value_name = "N")]
    pub(super) retry: Option<u32>,
    /// Give up after the first loss
    #[arg(long, conflicts_with = "retry")]
    pub(super) no_reconnect: bool,
    /// Port
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub(super) port: Option<u16>,
    /// Key file to try first
    #[arg(short, long, value_name = "FILE")]
    pub(super) identity: Vec<PathBuf>,
    /// Read only this ssh configuration file; `none` for no file
    #[arg(short = 'F', long, value_name = "FILE")]
    pub(super) ssh_config: Option<OsString>,
    /// One ssh configuration keyword, before all others
    #[arg(short, value_name = "KEY=VALUE")]
    pub(super) option: Vec<String>,
    /// Connection log on standard error or in :messages; twice for protocol events
    #[arg(short, action = ArgAction::Count)]
    pub(super) verbose: u8,
    /// Remote home directory
    #[arg(long, value_name = "DIR", group = "location")]
    pub(super) remote_home: Option<String>,
    /// Remote MCPSNOOP_HOME
    #[arg(long, value_name = "DIR", group = "location")]
    pub(super) remote_mcpsnoop_home: Option<String>,
    /// Remote XDG_STATE_HOME
    #[arg(long, value_name = "DIR", group = "location")]
    pub(super) remote_xdg_state_home: Option<String>,
    #[command(flatten)]
    pub(super) viewer: ViewerArgs,
}

/// `mcpsnoop prune`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  mcpsnoop prune --older-than 30d --dry-run
  mcpsnoop prune --older-than 72h --label files --yes

Sessions that are being recorded are never removed.")]
pub(super) struct PruneArgs {
    /// Remove logs that did not change for this long: 30d, 2w, 72h, 1h30m
    #[arg(long, value_name = "AGE", allow_hyphen_values = true)]
    pub(super) older_than: String,
    /// Only logs of this server label
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub(super) label: Vec<String>,
    /// Say what would be removed, and touch nothing
    #[arg(long)]
    pub(super) dry_run: bool,
    /// Do not ask
    #[arg(long)]
    pub(super) yes: bool,
}

/// Reads the arguments.
pub(super) fn read(arguments: impl IntoIterator<Item = OsString>) -> Read {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    if arguments.len() > 1 && arguments.last().is_some_and(|last| last == "--") {
        let usage = Invocation::command().render_usage();
        return Read::Usage(format!("error: no command behind `--`\n\n{usage}\n"));
    }
    let parsed = Invocation::command()
        .try_get_matches_from(&arguments)
        .and_then(|matches| Invocation::from_arg_matches(&matches));
    match parsed {
        Ok(mut invocation) => {
            let before = arguments.len().checked_sub(invocation.server.len() + 1);
            let before = before.and_then(|before| arguments.get(before));
            invocation.dashed = before.is_some_and(|before| before == "--");
            Read::Invocation(Box::new(invocation))
        }
        Err(error) if error.use_stderr() => Read::Usage(error.render().to_string()),
        Err(error) => Read::Printed(error.render().to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split_whitespace().map(OsString::from).collect()
    }

    #[test]
    fn the_definition_is_consistent() {
        Invocation::command().debug_assert();
    }

    #[test]
    fn everything_behind_the_command_belongs_to_it() {
        let cases = [
            ("mcpsnoop -- node srv.js --label x", "node srv.js --label x"),
            ("mcpsnoop --label y -- open --help", "open --help"),
            (
                "mcpsnoop --label y node srv.js -- --help",
                "node srv.js -- --help",
            ),
            ("mcpsnoop -- -x", "-x"),
        ];
        for (line, command) in cases {
            let Read::Invocation(read) = read(words(line)) else {
                panic!("{line}")
            };
            assert!(read.command.is_none(), "{line}");
            assert_eq!(read.server, words(command), "{line}");
            let dashed = !line.contains("y node");
            assert_eq!(read.dashed, dashed, "{line}");
        }
    }

    #[test]
    fn a_name_of_ours_is_a_command_of_ours_only_before_the_dashes() {
        let Read::Invocation(read) = read(words("mcpsnoop open x")) else {
            panic!("not read")
        };
        assert!(matches!(read.command, Some(Command::Open(_))));
    }

    #[test]
    fn wrong_arguments_are_usage_errors() {
        for line in [
            "mcpsnoop --nonsense",
            "mcpsnoop remote",
            "mcpsnoop remote --list --cat x h",
            "mcpsnoop remote --once h",
            "mcpsnoop remote --remote-home /a --remote-mcpsnoop-home /b h",
            "mcpsnoop remote -p 0 h",
            "mcpsnoop prune",
            "mcpsnoop demo --json",
            "mcpsnoop --trace-buffer 15 -- x",
            "mcpsnoop --log-dir a --trace-file b -- x",
        ] {
            assert!(matches!(read(words(line)), Read::Usage(_)), "{line}");
        }
    }
}
