//! The one conversion from foreign text to text that a terminal may be given (tui.md 18,
//! history.md 3).
//!
//! `class` says what a character is, `shown` holds text for screens, `printed` writes text for
//! standard output and standard error.

mod class;
mod printed;
mod shown;

pub use class::is_drawable;
pub use printed::{block, line, quoted, quoted_bytes};
pub use shown::{Keep, Piece, Shown, clusters, width};
