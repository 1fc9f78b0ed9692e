//! Lines out of a byte stream, and messages out of a batch.

use std::ops::Range;

use bytes::Bytes;

use super::json;

/// Content of one line that is kept (log-format 8.3).
pub const LINE_CAP: usize = 16 << 20;
/// Elements of an array that is still split (log-format 8.4).
pub const BATCH_CAP: usize = 10_000;

/// One line of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FramedLine {
    /// What is kept of it, without LF and without the CR before it.
    pub bytes: Bytes,
    /// Its whole length, terminator not counted; above `bytes.len()` when it was cut.
    pub length: u64,
}

impl FramedLine {
    /// True when only a prefix is kept.
    pub fn is_cut(&self) -> bool {
        self.length > self.bytes.len() as u64
    }
}

/// Cuts a byte stream into lines at LF. A line that lies within one chunk is a slice of it; one
/// that spans chunks is assembled. Bytes beyond the cap are only counted.
#[derive(Debug)]
pub struct LineFramer {
    /// The kept beginning of a line whose end has not come yet.
    held: Vec<u8>,
    /// Bytes of that line so far, CR included.
    seen: u64,
    ends_in_cr: bool,
    cap: usize,
}

impl Default for LineFramer {
    fn default() -> Self {
        Self::with_cap(LINE_CAP)
    }
}

impl LineFramer {
    /// A framer that keeps at most `cap` bytes of a line.
    pub fn with_cap(cap: usize) -> Self {
        Self {
            held: Vec::new(),
            seen: 0,
            ends_in_cr: false,
            cap,
        }
    }

    /// Takes the next chunk and hands on the lines that it completes, empty ones too.
    pub fn push(&mut self, chunk: &Bytes, sink: &mut dyn FnMut(FramedLine)) {
        let mut start = 0;
        for end in memchr::memchr_iter(b'\n', chunk) {
            if self.seen == 0 {
                sink(self.whole(chunk.slice(start..end)));
            } else {
                self.hold(chunk.get(start..end).unwrap_or_default());
                sink(self.take());
            }
            start = end + 1;
        }
        self.hold(chunk.get(start..).unwrap_or_default());
    }

    /// The stream has ended: hands on a last line without LF as it stands, a CR at its end included.
    pub fn finish(&mut self, sink: &mut dyn FnMut(FramedLine)) {
        if self.seen > 0 {
            self.ends_in_cr = false;
            sink(self.take());
        }
    }

    /// Bytes held for the line in progress.
    pub fn held(&self) -> usize {
        self.held.len()
    }

    /// True when a line has begun and not ended.
    pub fn is_inside_line(&self) -> bool {
        self.seen > 0
    }

    /// A line that lies within one chunk.
    fn whole(&self, mut bytes: Bytes) -> FramedLine {
        if bytes.last() == Some(&b'\r') {
            bytes.truncate(bytes.len() - 1);
        }
        let length = bytes.len() as u64;
        bytes.truncate(self.cap);
        FramedLine { bytes, length }
    }

    fn hold(&mut self, part: &[u8]) {
        let Some(last) = part.last() else {
            return;
        };
        self.ends_in_cr = *last == b'\r';
        self.seen += part.len() as u64;
        // One more than the cap, for the CR.
        let room = self.cap.saturating_add(1).saturating_sub(self.held.len());
        let room = room.min(part.len());
        self.held
            .extend_from_slice(part.get(..room).unwrap_or_default());
    }

    fn take(&mut self) -> FramedLine {
        let mut bytes = std::mem::take(&mut self.held);
        let length = self.seen - u64::from(self.ends_in_cr);
        bytes.truncate(self.cap.min(usize::try_from(length).unwrap_or(usize::MAX)));
        self.seen = 0;
        self.ends_in_cr = false;
        FramedLine {
            bytes: bytes.into(),
            length,
        }
    }
}

/// The elements of a JSON-RPC batch as ranges of `value`, which is a valid JSON value; `None` when
/// it is no array, is empty, or has more than 10,000 elements (log-format 8.4).
pub fn split_batch(value: &[u8]) -> Option<Vec<Range<usize>>> {
    let ranges: Vec<_> = json::element_ranges(value).take(BATCH_CAP + 1).collect();
    (1..=BATCH_CAP).contains(&ranges.len()).then_some(ranges)
}

/// True for an array without elements, which is recorded as a batch of unknown size.
pub fn is_empty_batch(value: &[u8]) -> bool {
    let open = json::skip_blanks(value, 0);
    value.get(open) == Some(&b'[') && value.get(json::skip_blanks(value, open + 1)) == Some(&b']')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Frames `input` in chunks of `size` bytes.
    fn frame(input: &[u8], size: usize, cap: usize) -> Vec<(Vec<u8>, u64)> {
        let mut framer = LineFramer::with_cap(cap);
        let mut lines = Vec::new();
        let mut sink = |line: FramedLine| lines.push((line.bytes.to_vec(), line.length));
        for chunk in input.chunks(size.max(1)) {
            framer.push(&Bytes::copy_from_slice(chunk), &mut sink);
        }
        framer.finish(&mut sink);
        assert_eq!((framer.held(), framer.is_inside_line()), (0, false));
        lines
    }

    #[test]
    fn lines_end_at_lf_and_lose_one_cr() {
        type Lines<'a> = &'a [(&'a [u8], u64)];
        let cases: [(&[u8], Lines<'_>); 9] = [
            (b"", &[]),
            (b"a\nb\n", &[(b"a", 1), (b"b", 1)]),
            (b"a\r\nb", &[(b"a", 1), (b"b", 1)]),
            (b"a\r\r\n\n\r\n", &[(b"a\r", 2), (b"", 0), (b"", 0)]),
            (b"a\rb\n", &[(b"a\rb", 3)]),
            (b"a\r", &[(b"a\r", 2)]),
            (b"12345\n", &[(b"12345", 5)]),
            (b"12345\r\nx\n", &[(b"12345", 5), (b"x", 1)]),
            (b"1234567\r\n12345678", &[(b"12345", 7), (b"12345", 8)]),
        ];
        for (input, expected) in cases {
            for size in 1..10 {
                let expected: Vec<_> = expected
                    .iter()
                    .map(|(bytes, length)| (bytes.to_vec(), *length))
                    .collect();
                assert_eq!(frame(input, size, 5), expected, "{input:?} by {size}");
            }
        }
    }

    #[test]
    fn a_line_within_a_chunk_is_not_copied() {
        let chunk = Bytes::from_static(b"abc\r\ndef\n");
        let mut lines = Vec::new();
        LineFramer::default().push(&chunk, &mut |line| lines.push(line));
        assert_eq!(lines[1].bytes.as_ptr(), chunk[5..].as_ptr());
        assert_eq!(lines[0].bytes, "abc");
        assert!(!lines[0].is_cut());
    }

    #[test]
    fn batches_are_split_up_to_the_cap() {
        let split = |text: &str| -> Option<Vec<String>> {
            let ranges = split_batch(text.as_bytes())?;
            let part = |range: Range<usize>| text.get(range).unwrap().to_owned();
            Some(ranges.into_iter().map(part).collect())
        };
        assert_eq!(split("[1, {\"a\": [2]}]").unwrap(), ["1", "{\"a\": [2]}"]);
        assert_eq!(split("[]"), None);
        assert_eq!(split("{}"), None);
        let many = |count: usize| format!("[{}]", vec!["1"; count].join(","));
        assert_eq!(split(&many(10_000)).map(|all| all.len()), Some(10_000));
        assert_eq!(split(&many(10_001)), None);
        assert!(is_empty_batch(b"[ ]"));
        assert!(!is_empty_batch(b"[1]") && !is_empty_batch(b"{}"));
    }

    proptest! {
        #[test]
        fn any_chunking_gives_the_same_lines(
            input in "[a\r\n]{0,60}",
            size in 1_usize..20,
        ) {
            let all = frame(input.as_bytes(), usize::MAX, 4);
            prop_assert_eq!(&frame(input.as_bytes(), size, 4), &all);
            let total: u64 = all.iter().map(|(_, length)| length).sum();
            let ends = input.matches('\n').count() + input.matches("\r\n").count();
            prop_assert_eq!(total, (input.len() - ends) as u64);
        }
    }
}
