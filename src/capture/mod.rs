//! The stdio shim: forwards every byte, keeps a copy of every frame (capture.md 1 to 5, 7).
//!
//! Plain threads, no runtime. It knows nothing of viewers. Start with `shim`, then `pump` (the
//! forwarding path), `handoff` (the only thing that both sides touch) and `recorder` (everything
//! that the forwarding path must not do).

mod assembly;
mod budget;
mod ending;
mod error;
mod handoff;
mod ignore;
mod launch;
mod live;
mod log_file;
mod log_queue;
mod log_writer;
mod loss;
mod notices;
mod priority;
mod pump;
mod recorder;
mod scribe;
mod script_player;
mod shim;
mod signals;
mod stderr_pump;
mod streams;
mod threads;
mod wake;

pub use error::Error;
pub use launch::exec_plain;
pub use script_player::ScriptPlayer;
pub use shim::{Finished, ShimOptions, run_shim};
pub use signals::ignored_signals;
