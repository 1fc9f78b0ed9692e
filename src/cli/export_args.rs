//! The arguments of `mcpsnoop export`.

use std::path::PathBuf;

use clap::Args;

/// `mcpsnoop export`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  mcpsnoop export | jq .summary                  the newest session: figures by tool, slowest calls
  mcpsnoop export files -o files.json            the newest session of the server `files`
  mcpsnoop export files --filter 'tool:search status:err' | jq '.calls[].error'
  mcpsnoop export files -T jsonl -o files.jsonl  that session alone, as a log again
  xz -dc old.jsonl.xz | mcpsnoop export -

Everything but the document goes to standard error. An existing file is replaced as a whole or not at all; where its
directory cannot be written it is written in place, and a note says so. Missing directories of the output are made.
Command line and working directory of the server are left out of json; of jsonl they are a part.")]
pub(super) struct ExportArgs {
    /// Session id, prefix of one (3 characters or more), server label, path of a log, or `-` (default: the newest log)
    pub(super) session: Option<String>,
    /// `json`: calls, events and figures as one document; `jsonl`: a session log again
    #[arg(short = 'T', long, value_name = "FORMAT", default_value = "json")]
    pub(super) format: String,
    /// File to write; `-` for standard output
    #[arg(short, long, value_name = "PATH", default_value = "-")]
    pub(super) output: PathBuf,
    /// This session of a log that holds several (default: the first)
    #[arg(long = "session", value_name = "ID")]
    pub(super) inner: Option<String>,
    /// With json: only frames that match, as the viewer's `/` filters, and their calls; the summary stays whole
    #[arg(long, value_name = "QUERY")]
    pub(super) filter: Option<String>,
}
