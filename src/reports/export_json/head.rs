//! What stands in front of the calls (export.md 4.1).

use super::Document;
use crate::reports::json_out::Json;

/// Rises only when a member changes its meaning or goes away.
const SCHEMA: &str = "mcpsnoop.export/1";

impl Document<'_> {
    /// The first members of the document.
    pub(super) fn head(&self, json: &mut Json<'_>) {
        json.text("generated_at", &self.options.generated_at.at_offset(0));
        json.text("schema", SCHEMA);
        json.key("generator").object(|json| {
            json.text("name", env!("CARGO_PKG_NAME"));
            json.text("version", env!("CARGO_PKG_VERSION"));
        });
        json.some_text("filter", self.options.filter.map(|(query, _)| query));
        json.key("session").object(|json| self.session(json));
        json.key("summary").object(|json| self.summary(json));
        self.capabilities(json);
    }
}
