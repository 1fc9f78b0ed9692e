//! One timeline row: a frame after classification (session-model.md 3). Kept small: a million of
//! them are held (at most 150 bytes each beside bodies).

use bytes::Bytes;

use super::call::CallId;
use crate::{
    base::Timestamp,
    record::{Direction, Place, Seq},
};

/// Identity of a row in its session: number, and position in an array that old logs hold whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RowId {
    /// Sequence number.
    pub seq: Seq,
    /// Index in an unsplit batch, else 0.
    pub index: u32,
}

/// What a frame is (session-model.md 3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// JSON-RPC request.
    Request,
    /// JSON-RPC response.
    Response,
    /// JSON-RPC notification.
    Notification,
    /// A line of standard error.
    Stderr,
    /// No JSON-RPC message where one is required.
    Invalid,
    /// An HTTP answer without a JSON-RPC message.
    Transport,
    /// Anything else, truncated frames that could not be read included.
    Other,
}

/// Marks of a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent marks, not states of one machine"
)]
pub struct RowFlags {
    /// Something went wrong here; counted once in `errors`.
    pub errored: bool,
    /// The row is a problem row (tui.md U5): errored, invalid, or made its call late, lost, reused.
    pub problem: bool,
    /// Only a prefix is recorded.
    pub truncated: bool,
    /// Redaction rewrote it.
    pub redacted: bool,
    /// A retry of a parked operation.
    pub retry: bool,
    /// An interim answer that asks for input.
    pub interim: bool,
    /// A second answer, linked for display only.
    pub duplicate: bool,
    /// Folded after a frame with a higher number had been folded and could not be sorted in.
    pub out_of_place: bool,
}

/// Where the payload of a row is.
#[derive(Clone, Debug)]
pub enum Body {
    /// The frame carried none.
    Nothing,
    /// In memory: exact bytes of the JSON value (`json`) or of the text.
    Held {
        /// The bytes.
        bytes: Bytes,
        /// True for a JSON value, false for text.
        json: bool,
    },
    /// Released; to be read again from the row's place.
    Released,
}

/// One row, as a viewer reads it. A view: built on demand from compact storage.
#[derive(Clone, Debug)]
pub struct Row<'a> {
    /// Identity.
    pub id: RowId,
    /// Instant of observation.
    pub ts: Option<Timestamp>,
    /// Who sent it.
    pub direction: &'a Direction,
    /// What it is.
    pub kind: Kind,
    /// Method of a request or notification (untrusted; at most 1 KiB).
    pub method: Option<&'a str>,
    /// Id as sent, exact JSON text (untrusted; at most 1 KiB).
    pub json_id: Option<&'a str>,
    /// Bytes of the payload as recorded, or of the frame on the wire where that is known.
    pub size: u64,
    /// HTTP status, 0 when none.
    pub status: u16,
    /// Marks.
    pub flags: RowFlags,
    /// The operation that this frame belongs to.
    pub call: Option<CallId>,
    /// The payload.
    pub body: Body,
    /// Where its line lies, if in a log.
    pub place: Option<Place>,
    /// Position in its batch and length of the batch, for elements of one.
    pub batch: Option<(u32, u32)>,
}
