//! The envelope, its line in the session log, and everything about the logs on disk.
//!
//! It knows where logs lie, how they are written, read, named and pruned; nothing of calls or
//! screens. Start with `envelope`.

mod catalogue;
mod choose;
mod control;
mod decode;
mod encode;
mod envelope;
mod error;
mod fields;
mod head;
mod liveness;
mod naming;
mod place;
mod private;
mod process;
mod prune;
mod reader;
mod recover;
mod runs;
pub mod script;
mod statedir;
mod write;

pub use catalogue::{Catalogue, LogFile};
pub use choose::{SessionChoice, choose_recorded, choose_session};
pub use control::{End, end_record, start_record};
pub use decode::{Decoder, NotEnvelope};
pub use encode::{BatchPlace, Content, Encoder, Frame};
pub use envelope::{
    Direction, Envelope, HeaderParam, HttpFields, Payload, Peek, Seq, Transport, TransportHeaders,
};
pub use error::Error;
pub use head::is_end_record;
pub use liveness::{Evidence, Liveness, is_locked, liveness_of};
pub use naming::{Label, LabelError, is_safe_id, session_id};
pub use place::{HostName, Line, Place, SessionKey};
pub use private::create_private_dir;
pub use prune::{PrunePlan, PruneReport, plan_prune};
pub use reader::{Damage, DamageReason, LineReader, ReadEvent};
pub use statedir::{Located, SOCKET_PATH_LIMIT, StateDir};
