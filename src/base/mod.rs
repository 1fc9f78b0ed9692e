//! Ground that every room stands on: text that is safe to show, time, sizes and the environment.
//!
//! It knows nothing of MCP, logs or screens. Start with `text`, the only way from foreign bytes to
//! a terminal.

mod clock;
mod env;
mod similar;
mod size;
mod span;
mod text;

pub use clock::{Clock, ClockReading, Timestamp};
pub use env::Env;
pub use similar::edits;
pub use size::ByteCount;
pub use span::{Span, SpanError, parse_age, parse_duration};
pub use text::{
    Keep, Piece, Shown, block, clusters, is_drawable, line, quoted, quoted_bytes, width,
};
