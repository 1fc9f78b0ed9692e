//! Arrays of messages under revisions that have removed them (session-model.md 3.3).

use super::{
    classify::Classified,
    hops::Side,
    machine::{At, Machine},
    reading::Params,
    remark::Code,
    revisions,
    row::Kind,
    wording::shown,
};
use crate::record::{Envelope, Payload};

/// The first revision without batches.
const REMOVED: &str = "2025-06-18";

impl Machine {
    /// Remarks on the first element of an array, when the revision in force forbids them.
    pub(super) fn judge_batch(&mut self, at: &At, envelope: &Envelope, frame: &Classified<'_>) {
        if !self.is_first_element(at, envelope) {
            return;
        }
        let is_message = matches!(
            frame.kind,
            Kind::Request | Kind::Notification | Kind::Response
        );
        if !is_message || at.truncated {
            return;
        }
        let who = at.side.word();
        let forbids = |version: &str| revisions::is_at_least(version, REMOVED) == Some(true);
        let in_meta = frame
            .parts
            .params
            .and_then(|params| Params::read(params, at.redacted).declared);
        let http = envelope.http.as_deref();
        let header = http.and_then(|http| http.mcp_protocol_version.as_deref());
        let declared = in_meta.as_deref().or(header);
        if let Some(version) = declared.filter(|version| forbids(version)) {
            let text = format!(
                "{who}: sent a batch, which revision {} has not",
                shown(version.as_bytes())
            );
            self.remark(at.row, Code::BatchRemoved, text);
            return;
        }
        let client = if at.http && at.side == Side::Client {
            self.peers.sender_key(http, at.conn)
        } else {
            at.client
        };
        let Some(greeted) = self.id_spaces.agreed(client) else {
            return;
        };
        let revisions = &mut self.peers.revisions;
        let negotiated = revisions.effective(client, None);
        let negotiated = revisions.name(negotiated).map(std::sync::Arc::clone);
        if let Some(version) = negotiated.filter(|version| forbids(version)) {
            // What is not seen may be a greeting that agreed on another revision.
            let text = format!(
                "{who}: sent a batch, which the negotiated revision {} has not",
                shown(version.as_bytes())
            );
            self.remark_if_read(at, greeted, Code::BatchRemoved, text);
        }
    }

    /// True for the first element of an array, split by the recorder or by the fold.
    fn is_first_element(&mut self, at: &At, envelope: &Envelope) -> bool {
        if !envelope.batch {
            let array =
                matches!(&envelope.payload, Payload::Raw(raw) if raw.bytes().starts_with(b"["));
            return array && at.row.index == 0;
        }
        if envelope.batch_size > 0 {
            return envelope.batch_index == 0;
        }
        // Recorders of old say only that it is an element of some array.
        let before = std::mem::replace(self.last_element.of(at.side), at.row.seq.0);
        before == 0 || before.saturating_add(1) != at.row.seq.0
    }
}
