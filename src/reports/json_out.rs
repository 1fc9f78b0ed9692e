//! A JSON document written piece by piece, two blanks an indent, each piece handed on when it is
//! large enough.
//!
//! `serde_json` cannot do this: its `RawValue` goes out with the blanks that it came with, and
//! laying a value out anew needs it parsed, which changes numbers, duplicate keys and the order.

use crate::wire::json;

use super::json_raw;

/// A piece is handed on when it is at least this long.
const PIECE: usize = 256 << 10;

/// Takes finished pieces; false when nobody wants more.
pub(super) type Sink<'a> = dyn FnMut(Vec<u8>) -> bool + 'a;

/// A writer inside some object or array.
pub(super) struct Json<'a> {
    out: Vec<u8>,
    sink: &'a mut Sink<'a>,
    depth: usize,
    /// Nothing was written in the innermost object or array.
    fresh: bool,
    closed: bool,
}

impl<'a> Json<'a> {
    /// A writer in front of a document.
    pub(super) fn new(sink: &'a mut Sink<'a>) -> Self {
        Self {
            out: Vec::with_capacity(PIECE + (PIECE >> 2)),
            sink,
            depth: 0,
            fresh: true,
            closed: false,
        }
    }

    /// Goes on inside of an array that another writer began, `depth` deep; `fresh` before its first
    /// element.
    pub(super) fn resume(&mut self, depth: usize, fresh: bool) {
        (self.depth, self.fresh) = (depth, fresh);
    }

    /// True when nobody wants more.
    pub(super) const fn is_closed(&self) -> bool {
        self.closed
    }

    /// Hands on what is left.
    pub(super) fn finish(&mut self) {
        self.hand_on(0);
    }

    /// A line feed behind the document.
    pub(super) fn end_document(&mut self) {
        self.out.push(b'\n');
    }

    /// Begins the next element of an array, or the document; a value follows.
    pub(super) fn element(&mut self) -> &mut Self {
        if self.depth > 0 {
            self.separate();
        }
        self
    }

    /// Begins the next member of an object; a value follows.
    pub(super) fn key(&mut self, name: &str) -> &mut Self {
        self.separate();
        json::write_string(&mut self.out, name);
        self.out.extend_from_slice(b": ");
        self
    }

    fn separate(&mut self) {
        if !self.fresh {
            self.out.push(b',');
        }
        self.fresh = false;
        self.line();
    }

    fn line(&mut self) {
        json_raw::new_line(&mut self.out, self.depth);
        self.hand_on(PIECE);
    }

    /// Hands on what is at least `least` long.
    fn hand_on(&mut self, least: usize) {
        if self.out.len() < least.max(1) {
            return;
        }
        if self.closed {
            self.out.clear();
            return;
        }
        let room = if least == 0 { 0 } else { PIECE + (PIECE >> 2) };
        let piece = std::mem::replace(&mut self.out, Vec::with_capacity(room));
        self.closed = !(self.sink)(piece);
    }

    /// Value: an object.
    pub(super) fn object(&mut self, members: impl FnOnce(&mut Self)) {
        self.open(b'{');
        members(self);
        self.close(b'}');
    }

    /// Value: an array.
    pub(super) fn array(&mut self, elements: impl FnOnce(&mut Self)) {
        self.open(b'[');
        elements(self);
        self.close(b']');
    }

    /// Value: the beginning of an object or array that another writer may go on with.
    pub(super) fn open(&mut self, bracket: u8) {
        self.out.push(bracket);
        self.depth += 1;
        self.fresh = true;
    }

    /// The end of the innermost object or array.
    pub(super) fn close(&mut self, bracket: u8) {
        self.depth = self.depth.saturating_sub(1);
        if !self.fresh {
            json_raw::new_line(&mut self.out, self.depth);
        }
        self.out.push(bracket);
        self.fresh = false;
    }

    /// Value: a string.
    pub(super) fn string(&mut self, text: &str) {
        json::write_string(&mut self.out, text);
    }

    /// Value: a string of bytes; what is not UTF-8 becomes U+FFFD.
    pub(super) fn lossy(&mut self, text: &[u8]) {
        // The answer tells what was cut, and nothing is.
        let _all = json::write_lossy(&mut self.out, text, usize::MAX);
    }

    /// Value: an integer.
    pub(super) fn number(&mut self, number: impl Into<i128>) {
        let number = number.into();
        match u64::try_from(number) {
            Ok(small) => self.digits(small, 1),
            Err(_other) => self.out.extend_from_slice(number.to_string().as_bytes()),
        }
    }

    /// Decimal digits, at least so many; numbers are written by the million.
    fn digits(&mut self, number: u64, least: usize) {
        let mut rest = number;
        let start = self.out.len();
        while rest > 0 || self.out.len() < start + least {
            self.out.push(b'0' + (rest % 10) as u8);
            rest /= 10;
        }
        if let Some(digits) = self.out.get_mut(start..) {
            digits.reverse();
        }
    }

    /// Value: true or false.
    pub(super) fn boolean(&mut self, value: bool) {
        let word: &[u8] = if value { b"true" } else { b"false" };
        self.out.extend_from_slice(word);
    }

    /// Value: nanoseconds as milliseconds, without trailing zeros.
    pub(super) fn millis(&mut self, nanos: u64) {
        let (whole, rest) = (nanos / 1_000_000, nanos % 1_000_000);
        self.digits(whole, 1);
        if rest > 0 {
            self.out.push(b'.');
            self.digits(rest, 6);
            while self.out.last() == Some(&b'0') {
                self.out.pop();
            }
        }
    }

    /// Value: a valid JSON value token for token, its blanks laid out anew. False when it held bytes
    /// that are not UTF-8, each part of which became U+FFFD.
    pub(super) fn raw(&mut self, value: &[u8]) -> bool {
        let (value, exact) = match std::str::from_utf8(value) {
            Ok(_) => (std::borrow::Cow::Borrowed(value), true),
            Err(_invalid) => {
                let text = String::from_utf8_lossy(value).into_owned();
                (std::borrow::Cow::Owned(text.into_bytes()), false)
            }
        };
        let mut layout = json_raw::Layout::new(&value, self.depth);
        while layout.go_on(&mut self.out, PIECE) {
            self.hand_on(PIECE);
        }
        exact
    }
}

/// Members that are left out when there is nothing to say.
impl Json<'_> {
    /// A member that is a string.
    pub(super) fn text(&mut self, name: &str, text: &str) {
        self.key(name).string(text);
    }

    /// A string, if there is one.
    pub(super) fn some_text(&mut self, name: &str, text: Option<&str>) {
        if let Some(text) = text {
            self.text(name, text);
        }
    }

    /// A member that is an integer.
    pub(super) fn count(&mut self, name: &str, count: impl Into<i128>) {
        self.key(name).number(count);
    }

    /// An integer, if it is not 0.
    pub(super) fn some_count(&mut self, name: &str, count: impl Into<i128>) {
        let count = count.into();
        if count != 0 {
            self.count(name, count);
        }
    }

    /// A member that is true or false.
    pub(super) fn flag(&mut self, name: &str, value: bool) {
        self.key(name).boolean(value);
    }

    /// `true`, or nothing.
    pub(super) fn mark(&mut self, name: &str, value: bool) {
        if value {
            self.flag(name, true);
        }
    }
}

/// What a test reads: everything that `write` writes.
#[cfg(test)]
pub(super) fn written(write: impl FnOnce(&mut Json<'_>)) -> String {
    let mut out = Vec::new();
    let mut sink = |piece: Vec<u8>| {
        out.extend(piece);
        true
    };
    let mut json = Json::new(&mut sink);
    write(&mut json);
    json.finish();
    String::from_utf8(out).unwrap()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_is_laid_out_as_usual() {
        let text = written(|json| {
            json.element().object(|json| {
                json.text("a\"", "x\n<&>\u{2028}");
                json.key("list").array(|json| {
                    json.element().number(1);
                    json.element().array(|_| {});
                    json.element().object(|_| {});
                });
                json.some_count("zero", 0);
                json.some_text("none", None);
                json.mark("no", false);
                json.mark("yes", true);
                json.count("big", u64::MAX);
            });
            json.end_document();
        });
        let expected = "{\n  \"a\\\"\": \"x\\n<&>\u{2028}\",\n  \"list\": [\n    1,\n    [],\n    {}\n  ],\n  \"yes\": true,\n  \"big\": 18446744073709551615\n}\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn milliseconds_have_no_trailing_zeros() {
        let cases = [
            (0, "0"),
            (1, "0.000001"),
            (750_000, "0.75"),
            (1_250_000_000, "1250"),
            (10_000_000, "10"),
            (u64::MAX, "18446744073709.551615"),
        ];
        for (nanos, expected) in cases {
            assert_eq!(written(|json| json.millis(nanos)), expected);
        }
    }

    #[test]
    fn pieces_are_handed_on_and_can_be_refused() {
        let mut pieces = Vec::new();
        let mut sink = |piece: Vec<u8>| {
            pieces.push(piece.len());
            pieces.len() < 2
        };
        let mut json = Json::new(&mut sink);
        json.element().array(|json| {
            while !json.is_closed() {
                json.element().string("some text that is written");
            }
            json.element().raw(b"[1,2]");
        });
        json.finish();
        assert_eq!(pieces.len(), 2);
        assert!(
            pieces
                .iter()
                .all(|piece| (PIECE..PIECE * 2).contains(piece))
        );
    }

    #[test]
    fn a_large_value_is_never_held_whole() {
        let value = format!("[{}1]", "1,".repeat(1_000_000));
        let mut largest = 0;
        let mut all = Vec::new();
        let mut sink = |piece: Vec<u8>| {
            largest = largest.max(piece.len());
            all.extend(piece);
            true
        };
        let mut json = Json::new(&mut sink);
        assert!(json.element().raw(value.as_bytes()));
        json.finish();
        assert!(largest < PIECE * 2, "{largest}");
        all.retain(|byte| !json::is_blank(*byte));
        assert_eq!(all, value.as_bytes());
    }
}
