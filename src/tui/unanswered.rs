//! What may not be claimed of open calls (tui.md Z1).

use super::app::App;
use crate::record::SessionKey;

impl App {
    /// True while an answer may lie in frames that are not here: the link is down, or only a page of
    /// the session is shown.
    pub(super) fn is_unsure(&self, key: &SessionKey) -> bool {
        self.outside.is_down(&key.host) || self.has_page(key)
    }
}
