//! Counting lines that are not recorded: a byte search and nothing else (capture.md 4.3).

/// Counts the lines of a byte stream in any chunking.
#[derive(Debug)]
pub(super) struct LineCounter {
    /// True while the line that was being recorded has not ended.
    in_open_line: bool,
    /// Whether blank lines are frames, as on standard error (capture.md 5.3).
    blank_counts: bool,
    line_bytes: u64,
    ends_with_cr: bool,
    rest: Option<(u64, bool)>,
    lines: u64,
}

impl LineCounter {
    /// Starts at a line's beginning, or in a line that is already partly recorded.
    pub(super) const fn new(in_open_line: bool, blank_counts: bool) -> Self {
        Self {
            in_open_line,
            blank_counts,
            line_bytes: 0,
            ends_with_cr: false,
            rest: None,
            lines: 0,
        }
    }

    /// Counts a chunk.
    pub(super) fn count(&mut self, chunk: &[u8]) {
        let mut rest = chunk;
        while let Some(end) = memchr::memchr(b'\n', rest) {
            let (line, tail) = rest.split_at_checked(end).unwrap_or((rest, &[]));
            self.grow(line);
            self.finish_line(true);
            rest = tail.get(1..).unwrap_or(&[]);
        }
        self.grow(rest);
    }

    /// The stream ended: an unfinished line is a line as it stands.
    pub(super) const fn end(&mut self) {
        if self.in_open_line || self.line_bytes > 0 {
            self.finish_line(false);
        }
    }

    /// True when no line is open.
    pub(super) const fn is_at_line_start(&self) -> bool {
        !self.in_open_line && self.line_bytes == 0
    }

    /// Bytes of the line that was open at the start, once it has ended, and whether they end in CR.
    pub(super) const fn take_rest(&mut self) -> Option<(u64, bool)> {
        self.rest.take()
    }

    /// Bytes seen of the line that was open at the start, while it has not ended.
    pub(super) const fn missing_so_far(&self) -> u64 {
        if self.in_open_line {
            self.line_bytes
        } else {
            0
        }
    }

    /// Whole lines since the last call.
    pub(super) const fn take_lines(&mut self) -> u64 {
        std::mem::replace(&mut self.lines, 0)
    }

    fn grow(&mut self, part: &[u8]) {
        if let Some(last) = part.last() {
            self.line_bytes += part.len() as u64;
            self.ends_with_cr = *last == b'\r';
        }
    }

    /// One CR directly before the LF is not part of the frame; at the end of the stream it is.
    const fn finish_line(&mut self, by_newline: bool) {
        let cr = by_newline && self.ends_with_cr;
        if self.in_open_line {
            self.in_open_line = false;
            self.rest = Some((self.line_bytes, cr));
        } else if self.blank_counts || self.line_bytes > cr as u64 {
            self.lines += 1;
        }
        self.line_bytes = 0;
        self.ends_with_cr = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(open: bool, blank: bool, bytes: &[u8], rest: Option<(u64, bool)>, lines: u64) {
        for size in 1..=bytes.len().max(1) {
            let mut counter = LineCounter::new(open, blank);
            for chunk in bytes.chunks(size) {
                counter.count(chunk);
            }
            counter.end();
            let seen = (counter.take_rest(), counter.take_lines());
            assert_eq!(seen, (rest, lines), "{bytes:?} in chunks of {size}");
        }
    }

    #[test]
    fn counts_lines_in_any_chunking() {
        check(false, false, b"", None, 0);
        check(false, false, b"a\nb\n", None, 2);
        check(false, false, b"a\n\n\r\nb", None, 2);
        check(false, true, b"a\n\n\r\nb", None, 4);
        check(false, false, b" \n", None, 1);
        check(false, false, b"\r", None, 1);
        check(true, false, b"rest\na\n", Some((4, false)), 1);
        check(true, false, b"rest\r\na\n", Some((5, true)), 1);
        check(true, false, b"\n", Some((0, false)), 0);
        check(true, true, b"rest", Some((4, false)), 0);
    }
}
