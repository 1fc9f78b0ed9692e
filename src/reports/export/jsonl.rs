//! A session as a session log again (export.md 10).

use std::io::{self, BufWriter, Write};

use super::load::Exported;
use crate::{record::LinesAt, reports::Error};

/// Bytes of one write.
const CHUNK: usize = 256 << 10;

/// Writes the lines of the session in the order of its log, byte for byte; what says the same as a
/// line before it is left out. Line breaks within an envelope become blanks.
///
/// # Errors
/// The log cannot be read again, or the output cannot be written.
pub fn write_jsonl(exported: &Exported, out: &mut dyn Write) -> Result<(), Error> {
    let mut lines = LinesAt::new(&exported.log);
    let mut out = BufWriter::with_capacity(CHUNK, out);
    for entry in &exported.order.entries {
        if exported.sorted.repeats.contains(&entry.offset) {
            continue;
        }
        let bytes = lines
            .bytes(entry.offset, entry.length)
            .map_err(Error::of_reading)?;
        // A log that became another one is noticed before it is passed on as this one.
        if bytes.first() != Some(&b'{') || bytes.last() != Some(&b'}') {
            return Err(Error::Changed);
        }
        write_line(&bytes, &mut out).map_err(Error::Write)?;
    }
    out.flush().map_err(Error::Write)
}

/// An envelope that spans lines in its log is one line here.
fn write_line(bytes: &[u8], out: &mut dyn Write) -> io::Result<()> {
    let mut rest = bytes;
    while let Some(at) = memchr::memchr2(b'\n', b'\r', rest) {
        let (head, tail) = rest.split_at_checked(at).unwrap_or((rest, &[]));
        out.write_all(head)?;
        out.write_all(b" ")?;
        rest = tail.get(1..).unwrap_or_default();
    }
    out.write_all(rest)?;
    out.write_all(b"\n")
}
