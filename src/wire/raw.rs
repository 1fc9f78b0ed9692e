//! One JSON value exactly as it was seen.

use std::fmt;

use bytes::Bytes;

/// The bytes of one complete JSON value, cheap to clone, never written back from a parsed form.
#[derive(Clone, PartialEq, Eq)]
pub struct Raw(Bytes);

impl Raw {
    /// Takes bytes that `json::value_end` accepted.
    pub fn new(bytes: Bytes) -> Self {
        Self(bytes)
    }

    /// The exact bytes.
    pub fn bytes(&self) -> &Bytes {
        &self.0
    }
}

/// Shows the size only: a payload never reaches a debug output (style 3.5.9).
impl fmt::Debug for Raw {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Raw({} bytes)", self.0.len())
    }
}
