//! The analyzer, which owns the model, and the rules that judge it. Rules come one a file; there are
//! none yet, and every face already reads `Update`.

mod analyzer;
mod model;

pub use analyzer::{Analyzer, Update};
pub use model::{finding_id, signal};
