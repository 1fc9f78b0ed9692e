//! The scanner under `json`: walks over tokens with an explicit stack, so that no nesting can reach
//! the machine stack, and can stop between two tokens and go on with later bytes.

use super::json::SyntaxError;

/// What may come next between two tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expect {
    Value,
    ElementOrEnd,
    KeyOrEnd,
    Key,
    Colon,
    CommaOrEnd,
}

/// The open containers, one bit each: 64 of them without an allocation.
#[derive(Clone, Debug, Default)]
struct Stack {
    depth: usize,
    top: u64,
    below: Vec<u64>,
}

impl Stack {
    fn push(&mut self, is_object: bool) {
        if self.depth > 0 && self.depth.is_multiple_of(64) {
            self.below.push(self.top);
            self.top = 0;
        }
        self.top = self.top << 1 | u64::from(is_object);
        self.depth += 1;
    }

    fn pop(&mut self) {
        self.top >>= 1;
        self.depth = self.depth.saturating_sub(1);
        if self.depth > 0 && self.depth.is_multiple_of(64) {
            self.top = self.below.pop().unwrap_or(0);
        }
    }

    fn top_is_object(&self) -> bool {
        self.top & 1 == 1
    }
}

/// A walk over one JSON value that may arrive in pieces. A piece must not end inside a token; the
/// lines of a log never do, because no token holds a line break.
#[derive(Clone, Debug)]
pub struct Scanner {
    stack: Stack,
    expect: Expect,
    max_depth: usize,
}

impl Scanner {
    /// A scanner in front of a value.
    pub fn new(max_depth: usize) -> Self {
        Self {
            stack: Stack::default(),
            expect: Expect::Value,
            max_depth,
        }
    }

    /// Goes on with `bytes` from `at`; the offset behind the value, or `None` when more is needed.
    ///
    /// # Errors
    /// The first byte that does not fit; the length of `bytes` when they end inside a token.
    pub fn scan(&mut self, bytes: &[u8], mut at: usize) -> Result<Option<usize>, SyntaxError> {
        loop {
            let Some(&byte) = bytes.get(at) else {
                return Ok(None);
            };
            if is_blank(byte) {
                at += 1;
                continue;
            }
            self.expect = match (self.expect, byte) {
                (Expect::CommaOrEnd, b',') if self.stack.top_is_object() => Expect::Key,
                (Expect::CommaOrEnd, b',') | (Expect::Colon, b':') => Expect::Value,
                (Expect::Key | Expect::KeyOrEnd, b'"') => {
                    at = string_end(bytes, at + 1)?;
                    self.expect = Expect::Colon;
                    continue;
                }
                (Expect::Value | Expect::ElementOrEnd, b'{' | b'[') => self.open(byte, at)?,
                (Expect::ElementOrEnd, b']') | (Expect::KeyOrEnd, b'}') => self.close(),
                (Expect::CommaOrEnd, b'}') if self.stack.top_is_object() => self.close(),
                (Expect::CommaOrEnd, b']') if !self.stack.top_is_object() => self.close(),
                (Expect::Value | Expect::ElementOrEnd, _) => {
                    at = scalar_end(bytes, at)?;
                    self.expect = Expect::CommaOrEnd;
                    if self.stack.depth == 0 {
                        return Ok(Some(at));
                    }
                    continue;
                }
                _ => return Err(SyntaxError { at }),
            };
            at += 1;
            if self.stack.depth == 0 {
                return Ok(Some(at));
            }
        }
    }

    fn open(&mut self, byte: u8, at: usize) -> Result<Expect, SyntaxError> {
        if self.stack.depth >= self.max_depth {
            return Err(SyntaxError { at });
        }
        self.stack.push(byte == b'{');
        Ok(match byte {
            b'{' => Expect::KeyOrEnd,
            _ => Expect::ElementOrEnd,
        })
    }

    fn close(&mut self) -> Expect {
        self.stack.pop();
        Expect::CommaOrEnd
    }
}

/// True for the four blanks of JSON.
pub fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\n' | b'\r' | b'\t')
}

/// The offset of the first byte from `at` that is no blank; the length when there is none.
pub fn skip_blanks(bytes: &[u8], mut at: usize) -> usize {
    while bytes.get(at).is_some_and(|byte| is_blank(*byte)) {
        at += 1;
    }
    at
}

/// The end of the value that begins at `at` in a text that was found to be JSON before: of
/// containers only brackets and quotes are looked at. In other bytes it is some end within them.
pub(super) fn known_end(bytes: &[u8], at: usize) -> Result<usize, SyntaxError> {
    if !matches!(bytes.get(at), Some(b'{' | b'[' | b'"')) {
        return scalar_end(bytes, at);
    }
    let (mut depth, mut at) = (0_usize, at);
    while let Some(byte) = bytes.get(at) {
        at += 1;
        match byte {
            b'"' => at = known_string_end(bytes, at)?,
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => continue,
        }
        if depth == 0 {
            return Ok(at);
        }
    }
    Err(SyntaxError { at })
}

/// As `string_end`, for a text that was found to be JSON before. Looks for the quote alone, since texts are full of
/// escapes that are none: one with an even number of backslashes before it closes the string.
pub(super) fn known_string_end(bytes: &[u8], start: usize) -> Result<usize, SyntaxError> {
    if let Some(end) = short_string_end(bytes, start) {
        return Ok(end);
    }
    let mut at = start;
    while let Some(found) = memchr::memchr(b'"', bytes.get(at..).unwrap_or_default()) {
        let inner = bytes.get(start..at + found).unwrap_or_default();
        let escapes = inner
            .iter()
            .rev()
            .take_while(|byte| **byte == b'\\')
            .count();
        at += found + 1;
        if escapes.is_multiple_of(2) {
            return Ok(at);
        }
    }
    Err(SyntaxError { at: bytes.len() })
}

/// The end of the string, number or literal that begins at `at`.
pub(super) fn scalar_end(bytes: &[u8], at: usize) -> Result<usize, SyntaxError> {
    match bytes.get(at) {
        Some(b'"') => string_end(bytes, at + 1),
        Some(b'-' | b'0'..=b'9') => number_end(bytes, at),
        Some(b't') => literal_end(bytes, at, b"true"),
        Some(b'f') => literal_end(bytes, at, b"false"),
        Some(b'n') => literal_end(bytes, at, b"null"),
        _ => Err(SyntaxError { at }),
    }
}

/// The end of the string whose opening quote lies just before `at`, closing quote included.
pub(super) fn string_end(bytes: &[u8], mut at: usize) -> Result<usize, SyntaxError> {
    loop {
        at = plain_end(bytes, at);
        match bytes.get(at) {
            Some(b'"') => return Ok(at + 1),
            Some(b'\\') => at = escape_end(bytes, at + 1)?,
            _ => return Err(SyntaxError { at }),
        }
    }
}

/// The first byte from `at` that a JSON string cannot hold as it is: quote, backslash or a control
/// character; the length when there is none. Looks at eight bytes at a time, and at 32 once it is far from the start.
pub(super) fn plain_end(bytes: &[u8], at: usize) -> usize {
    let (near, is_found) = plain_eights(bytes, at, 2);
    if is_found {
        return near;
    }
    let mut at = near;
    while let Some(chunk) = bytes.get(at..).and_then(<[u8]>::first_chunk::<32>) {
        // Without a way out in between, so that the compiler takes all of them at once.
        if chunk.iter().fold(0, |any, byte| any | special_mark(*byte)) != 0 {
            break;
        }
        at += 32;
    }
    let (mut at, is_found) = plain_eights(bytes, at, usize::MAX);
    while !is_found && bytes.get(at).is_some_and(|byte| !is_special(*byte)) {
        at += 1;
    }
    at
}

/// Passes over at most that many times eight plain bytes; true when the byte that it stands at then is none.
fn plain_eights(bytes: &[u8], mut at: usize, most: usize) -> (usize, bool) {
    for _ in 0..most {
        let Some(chunk) = bytes.get(at..).and_then(<[u8]>::first_chunk::<8>) else {
            break;
        };
        let found = special(u64::from_le_bytes(*chunk));
        if found != 0 {
            return (at + (found.trailing_zeros() / 8) as usize, true);
        }
        at += 8;
    }
    (at, false)
}

fn is_special(byte: u8) -> bool {
    special_mark(byte) != 0
}

/// 1 for a special byte; as a number, because the compiler takes many of these at once and no truth values.
fn special_mark(byte: u8) -> u8 {
    u8::from(byte < 0x20) | u8::from(byte == b'"') | u8::from(byte == b'\\')
}

const ONES: u64 = 0x0101_0101_0101_0101;

/// The top bit of each byte that is special; bits above the lowest one may be wrong (a borrow).
fn special(word: u64) -> u64 {
    let control = word.wrapping_sub(ONES * 0x20) & !word & (ONES * 0x80);
    control | quotes(word)
}

/// The same for quotes and backslashes alone.
fn quotes(word: u64) -> u64 {
    let quote = word ^ (ONES * 0x22);
    let backslash = word ^ (ONES * 0x5c);
    let quote = quote.wrapping_sub(ONES) & !quote;
    let backslash = backslash.wrapping_sub(ONES) & !backslash;
    (quote | backslash) & (ONES * 0x80)
}

/// The end of a string of at most 32 bytes without an escape, as most are: a search that is made for
/// long texts takes longer to begin than to find it.
fn short_string_end(bytes: &[u8], start: usize) -> Option<usize> {
    let mut at = start;
    for _ in 0..4 {
        let chunk = bytes.get(at..)?.first_chunk::<8>()?;
        let found = quotes(u64::from_le_bytes(*chunk));
        if found != 0 {
            at += (found.trailing_zeros() / 8) as usize;
            return (bytes.get(at) == Some(&b'"')).then_some(at + 1);
        }
        at += 8;
    }
    None
}

/// The end of the escape whose backslash lies just before `at`.
fn escape_end(bytes: &[u8], at: usize) -> Result<usize, SyntaxError> {
    match bytes.get(at) {
        Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => Ok(at + 1),
        Some(b'u') => {
            let end = digits_end(bytes, at + 1, at + 5, u8::is_ascii_hexdigit);
            if end < at + 5 {
                return Err(SyntaxError { at: end });
            }
            Ok(end)
        }
        _ => Err(SyntaxError { at }),
    }
}

fn literal_end(bytes: &[u8], at: usize, literal: &[u8]) -> Result<usize, SyntaxError> {
    let rest = bytes.get(at..).unwrap_or_default();
    let same = rest
        .iter()
        .zip(literal)
        .take_while(|(left, right)| left == right)
        .count();
    if same < literal.len() {
        return Err(SyntaxError { at: at + same });
    }
    Ok(at + same)
}

fn number_end(bytes: &[u8], at: usize) -> Result<usize, SyntaxError> {
    let mut at = at + usize::from(bytes.get(at) == Some(&b'-'));
    at = match bytes.get(at) {
        Some(b'0') => at + 1,
        _ => some_digits(bytes, at)?,
    };
    if bytes.get(at) == Some(&b'.') {
        at = some_digits(bytes, at + 1)?;
    }
    if let Some(b'e' | b'E') = bytes.get(at) {
        let signed = matches!(bytes.get(at + 1), Some(b'+' | b'-'));
        at = some_digits(bytes, at + 1 + usize::from(signed))?;
    }
    Ok(at)
}

fn some_digits(bytes: &[u8], at: usize) -> Result<usize, SyntaxError> {
    match digits_end(bytes, at, usize::MAX, u8::is_ascii_digit) {
        end if end > at => Ok(end),
        _ => Err(SyntaxError { at }),
    }
}

fn digits_end(bytes: &[u8], mut at: usize, most: usize, fits: fn(&u8) -> bool) -> usize {
    while at < most && bytes.get(at).is_some_and(fits) {
        at += 1;
    }
    at
}
