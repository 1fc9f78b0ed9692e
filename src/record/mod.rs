//! The envelope, its line in the session log, and everything about the logs on disk.
//!
//! It knows where logs lie, how they are written, read, named and pruned; nothing of calls or
//! screens. Start with `envelope`.

mod catalogue;
mod choose;
mod conflict;
mod control;
mod decode;
mod encode;
mod endpoint;
mod envelope;
mod error;
mod fields;
mod head;
mod input;
mod lines_at;
mod liveness;
mod naming;
mod output;
mod place;
mod private;
mod process;
mod prune;
mod reader;
mod recover;
mod runs;
mod scan;
pub mod script;
mod statedir;
mod write;

pub use catalogue::{Catalogue, LogFile};
pub use choose::{SessionChoice, choose_recorded, choose_session};
pub use conflict::{says_the_same, takes_precedence};
pub use control::{End, end_record, start_record};
pub use decode::{Decoder, NotEnvelope};
pub use encode::{BatchPlace, Content, Encoder, Frame};
pub use endpoint::stripped_endpoint;
pub use envelope::{
    Direction, Envelope, HeaderParam, HttpFields, Payload, Peek, Seq, Transport, TransportHeaders,
};
pub use error::Error;
pub use head::is_end_record;
pub use input::{FileIdentity, KeptLog, LogInput};
pub use lines_at::LinesAt;
pub use liveness::{Evidence, Liveness, is_locked, liveness_of};
pub use naming::{Label, LabelError, is_safe_id, session_id};
pub use output::{OutputFile, OutputPath};
pub use place::{HostName, Line, Place, SessionKey};
pub use private::create_private_dir;
pub use prune::{PrunePlan, PruneReport, plan_prune};
pub use reader::{Damage, DamageReason, LineReader, ReadEvent};
pub use scan::{Scanned, scan_log};
pub use statedir::{Located, SOCKET_PATH_LIMIT, StateDir};
