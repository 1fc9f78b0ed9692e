//! An analysis or a stream as bytes, one format a file.

mod error;
mod export;
mod export_json;
mod json_out;
mod json_raw;
mod remote_lines;

pub use error::Error;
pub use export::{Exported, Loader, write_jsonl};
pub use export_json::{JsonOptions, write_json};
pub use remote_lines::{RemoteLines, json_string};
