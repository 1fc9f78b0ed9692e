//! One recorded session, read for writing it in some format: the first pass over its log gives the
//! model and where each frame lies, the second pass reads bodies as they are written (export.md 2.8).

mod frames;
mod jsonl;
mod load;
mod offsets;
mod order;
mod selection;

pub use jsonl::write_jsonl;
pub use load::{Exported, Loader};

pub(super) use frames::{Frame, Frames};
pub(super) use selection::Selection;
