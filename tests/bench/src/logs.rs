//! Session logs as a recorder writes them, in any size.

use std::{
    fmt::Write as _,
    fs::File,
    io::{BufWriter, Write},
    path::Path,
};

use crate::{Outcome, mix};

/// Writes a log of calls and answers whose frames have about `size` bytes; `frames` is even.
pub(crate) fn write(path: &Path, label: &str, frames: u64, size: usize) -> Outcome<()> {
    let text = "q".repeat(size.saturating_sub(110));
    write_frames(path, label, frames, |seq, raw| {
        let id = seq.div_ceil(2);
        if seq % 2 == 1 {
            let tool = id % 17;
            write!(
                raw,
                "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/call\",\"params\":{{\"name\":\"tool{tool}\",\"arguments\":{{\"q\":\"{text}\"}}}}}}"
            )?;
            return Ok("c2s");
        }
        write!(
            raw,
            "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{\"content\":[{{\"type\":\"text\",\"text\":\"{text}\"}}]}}}}"
        )?;
        Ok("s2c")
    })
}

/// Writes a log of all that a session holds (`mix`), `frames` of about `size` bytes.
pub(crate) fn write_mix(path: &Path, label: &str, frames: u64, size: usize) -> Outcome<()> {
    write_frames(path, label, frames, |seq, raw| mix::frame(seq, size, raw))
}

/// Writes the frames that `frame` makes of their numbers: it writes the message and tells its direction.
fn write_frames(
    path: &Path,
    label: &str,
    frames: u64,
    frame: impl Fn(u64, &mut String) -> Result<&'static str, std::fmt::Error>,
) -> Outcome<()> {
    let mut out = BufWriter::with_capacity(1 << 20, File::create(path)?);
    let session = path
        .file_stem()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let (mut raw, mut text) = (String::new(), String::new());
    for seq in 1..=frames {
        raw.clear();
        text.clear();
        let direction = frame(seq, &mut raw)?;
        let line = Line {
            session: &session,
            label,
            seq,
            micros: instant(seq),
            direction,
            transport: "stdio",
            payload: ("raw", &raw),
            more: "",
        };
        line.write(&mut text)?;
        out.write_all(text.as_bytes())?;
    }
    Ok(out.flush()?)
}

/// When frame `seq` of a session comes: about two a millisecond, never at the same pace.
pub(crate) fn instant(seq: u64) -> u64 {
    seq * 500 + seq.wrapping_mul(0x9e37_79b9_7f4a_7c15) % 480
}

/// One line of a log.
#[derive(Clone, Copy)]
pub(crate) struct Line<'a> {
    pub(crate) session: &'a str,
    pub(crate) label: &'a str,
    pub(crate) seq: u64,
    /// Time since the start of June 2026, less than a month.
    pub(crate) micros: u64,
    pub(crate) direction: &'a str,
    pub(crate) transport: &'a str,
    /// `raw` with a JSON value, or `text` with a JSON string.
    pub(crate) payload: (&'a str, &'a str),
    /// Further fields, each with a comma before it.
    pub(crate) more: &'a str,
}

impl Line<'_> {
    /// Writes it, line end included.
    pub(crate) fn write(&self, out: &mut String) -> std::fmt::Result {
        let (seconds, fraction) = (self.micros / 1_000_000, self.micros % 1_000_000);
        let (day, hour) = (seconds / 86_400 + 1, seconds / 3_600 % 24);
        let (minute, second) = (seconds / 60 % 60, seconds % 60);
        let (name, payload) = self.payload;
        writeln!(
            out,
            "{{\"session_id\":\"{}\",\"server_label\":\"{}\",\"seq\":{},\"ts\":\"2026-06-{day:02}T{hour:02}:{minute:02}:{second:02}.{fraction:06}Z\",\"direction\":\"{}\",\"transport\":\"{}\",\"{name}\":{payload}{}}}",
            self.session, self.label, self.seq, self.direction, self.transport, self.more
        )
    }
}

/// Bytes of a line beyond its frame, about.
pub(crate) const ENVELOPE: u64 = 170;
