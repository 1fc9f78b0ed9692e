//! What all command tests share: a home of their own, processes with a deadline, logs read back, terminals.
//!
//! Nothing here waits for a span of time: every wait is for a condition, and gives up at `wait::DEADLINE` with all
//! that was seen so far. Start reading at `home`.

pub(crate) mod home;
pub(crate) mod log;
pub(crate) mod parts;
pub(crate) mod process;
pub(crate) mod terminal;
pub(crate) mod tmux;
pub(crate) mod wait;
