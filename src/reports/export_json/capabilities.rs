//! What client and server declared of themselves (export.md 4.4).

use super::Document;
use crate::reports::json_out::Json;

impl Document<'_> {
    /// The member `capabilities`, when anything was declared.
    pub(super) fn capabilities(&self, json: &mut Json<'_>) {
        if let Some(version) = self.session.protocol_version() {
            json.key("capabilities").object(|json| {
                json.text("protocol_version", version);
            });
        }
    }
}
