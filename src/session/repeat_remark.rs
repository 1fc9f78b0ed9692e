//! What the frame of a repeated call says (session-model.md 18, 24).

use super::{machine::Machine, remark::Code, repeats::RepeatedCall, row::RowId, wording::shown};

impl Machine {
    pub(super) fn remark_repeat(&mut self, report: &RepeatedCall) {
        let when = if report.after_cancel {
            "which it had cancelled"
        } else {
            "whose answer it did not have"
        };
        let how = if report.ran_twice {
            "it ran twice"
        } else {
            "it may have run twice"
        };
        let said = format!(
            "client: tools/call {} repeats the call with the id {}, {when}; {how}",
            shown(report.tool.as_bytes()),
            shown(report.earlier_id.as_bytes()),
        );
        self.remark(report.row, Code::CallRepeated, said);
    }

    /// Takes the remark back; a frame without any other keeps nothing of it.
    pub(super) fn withdraw_repeat(&mut self, row: RowId) {
        self.withdraw(row, Code::CallRepeated);
        let empty = self
            .extras
            .get(&row)
            .is_some_and(|extra| **extra == super::extra::Extra::default());
        if empty {
            self.extras.remove(&row);
        }
    }
}
