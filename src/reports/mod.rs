//! An analysis or a stream as bytes, one format a file.

mod remote_lines;

pub use remote_lines::{RemoteLines, json_string};
