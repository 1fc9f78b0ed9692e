//! Session logs as a recorder writes them, in any size.

use std::{
    fs::File,
    io::{BufWriter, Write},
    path::Path,
};

use crate::Outcome;

/// Writes a log of calls and answers whose frames have about `size` bytes; `frames` is even.
pub(crate) fn write(path: &Path, label: &str, frames: u64, size: usize) -> Outcome<()> {
    let mut out = BufWriter::with_capacity(1 << 20, File::create(path)?);
    let session = path
        .file_stem()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let text = "q".repeat(size.saturating_sub(110));
    for seq in 1..=frames {
        let id = seq.div_ceil(2);
        let micros = seq * 500;
        let (seconds, fraction) = (micros / 1_000_000, micros % 1_000_000);
        let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
        let (direction, raw) = if seq % 2 == 1 {
            let tool = id % 17;
            (
                "c2s",
                format!(
                    "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/call\",\"params\":{{\"name\":\"tool{tool}\",\"arguments\":{{\"q\":\"{text}\"}}}}}}"
                ),
            )
        } else {
            (
                "s2c",
                format!(
                    "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{\"content\":[{{\"type\":\"text\",\"text\":\"{text}\"}}]}}}}"
                ),
            )
        };
        writeln!(
            out,
            "{{\"session_id\":\"{session}\",\"server_label\":\"{label}\",\"seq\":{seq},\"ts\":\"2026-05-28T{hour:02}:{minute:02}:{second:02}.{fraction:06}Z\",\"direction\":\"{direction}\",\"transport\":\"stdio\",\"raw\":{raw}}}"
        )?;
    }
    Ok(out.flush()?)
}

/// Bytes of a line beyond its frame, about.
pub(crate) const ENVELOPE: u64 = 170;
