//! What client and server declared of themselves (export.md 4.4).

use super::Document;
use crate::{reports::json_out::Json, wire::Raw};

impl Document<'_> {
    /// The member `capabilities`, when anything was declared.
    pub(super) fn capabilities(&self, json: &mut Json<'_>) {
        let session = self.session;
        let version = session.protocol_version();
        let instructions = session.instructions();
        let declared: [(&str, Option<&Raw>); 4] = [
            ("client_info", session.client_info()),
            ("server_info", session.server_info()),
            ("client", session.client_capabilities()),
            ("server", session.server_capabilities()),
        ];
        let is_silent = declared.iter().all(|(_, value)| value.is_none());
        if is_silent && version.is_none() && instructions.is_none() {
            return;
        }
        json.key("capabilities").object(|json| {
            json.some_text("protocol_version", version);
            for (name, value) in declared {
                if let Some(value) = value {
                    json.key(name).raw(value.bytes());
                }
            }
            json.some_text("instructions", instructions.map(|(text, _)| text));
        });
    }
}
