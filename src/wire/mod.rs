//! Bytes to frames and frames to messages.
//!
//! It knows JSON's grammar, JSON-RPC's members and MCP's revisions; nothing of logs or sessions.
//! Start with `json`, the one pass over bytes that everything else uses.

mod codes;
mod compact;
mod framing;
mod id;
pub mod json;
mod message;
mod prefix;
mod raw;
mod scan;
mod text;

pub use codes::error_name;
pub use framing::{BATCH_CAP, FramedLine, LINE_CAP, LineFramer, is_empty_batch, split_batch};
pub use id::IdKey;
pub use message::{Message, MessageKind};
pub use prefix::{Answer, Prefix, peek_prefix, prefix_members};
pub use raw::Raw;
