//! The session: its names, times and counters, and what is known to be missing (export.md 4.2).

use super::Document;
use crate::{
    record::{Transport, stripped_endpoint},
    reports::json_out::Json,
};

/// What is known to be lost.
struct Losses {
    missing_frames: u64,
    truncated_frames: u64,
    damaged_lines: u64,
    declared_dropped: u64,
    conflicts: u64,
    torn_tail: bool,
    /// The last line is not here as a whole, whether it is torn or being written.
    ends_inside_line: bool,
    /// Calls and questions to users that the model gave up at its bounds.
    given_up: bool,
}

impl Losses {
    const fn is_none(&self) -> bool {
        self.missing_frames == 0
            && self.truncated_frames == 0
            && self.damaged_lines == 0
            && self.declared_dropped == 0
            && self.conflicts == 0
            && !self.ends_inside_line
            && !self.given_up
    }
}

impl Document<'_> {
    /// The members of `session`.
    pub(super) fn session(&self, json: &mut Json<'_>) {
        let session = self.session;
        json.text("id", self.exported.id());
        json.text("label", session.label());
        match session.transport() {
            Some(known @ (Transport::Stdio | Transport::Http)) => {
                json.text("transport", known.as_str());
            }
            Some(Transport::Unknown(_)) | None => {}
        }
        let endpoint = session.target().and_then(stripped_endpoint);
        json.some_text("endpoint", endpoint.as_deref());
        self.time("first", session.first(), json);
        self.time("last", session.last(), json);
        let losses = self.losses();
        self.counters(&losses, json);
        self.ending(json);
        json.flag("complete", losses.is_none());
    }

    fn counters(&self, losses: &Losses, json: &mut Json<'_>) {
        let counters = self.session.counters();
        for (name, count) in [
            ("requests", counters.requests),
            ("responses", counters.responses),
            ("notifications", counters.notifications),
            ("errors", counters.errors),
            ("pending", counters.pending),
            ("late_results", counters.late_results),
            ("missing_frames", losses.missing_frames),
        ] {
            json.count(name, count);
        }
        for (name, count) in [
            ("retired_exchanges", counters.retired_exchanges),
            ("invalid", counters.invalid),
            ("stderr_lines", counters.stderr_lines),
            ("warnings", counters.warnings),
            ("cancelled", counters.cancelled),
            ("superseded", counters.superseded),
            ("streaming", counters.streaming),
            ("parked", counters.parked),
            ("open_tasks", counters.open_tasks),
            ("truncated_frames", losses.truncated_frames),
            ("damaged_lines", losses.damaged_lines),
            ("declared_dropped", losses.declared_dropped),
            ("conflicts", losses.conflicts),
        ] {
            json.some_count(name, count);
        }
        json.mark("torn_tail", losses.torn_tail);
        // Rounded percentiles are no loss.
        let is_exact = self.session.approximate().is_empty();
        json.mark("approximate", !is_exact);
        json.text("era", self.session.era().as_str());
        self.revisions(json);
        self.forgotten(json);
    }

    /// What the stores of the model lost at their bounds; absent when none did.
    fn forgotten(&self, json: &mut Json<'_>) {
        let forgotten = self.session.forgotten();
        let mut counts = forgotten.named().peekable();
        if counts.peek().is_none() {
            return;
        }
        json.key("forgotten").object(|json| {
            for (store, count) in counts {
                json.count(store, count);
            }
        });
    }

    /// Requests of the client by revision, in order of first appearance.
    fn revisions(&self, json: &mut Json<'_>) {
        let mut counts = self.session.revisions().peekable();
        if counts.peek().is_none() {
            return;
        }
        json.key("revisions").object(|json| {
            for count in counts {
                json.count(&count.version, count.requests);
            }
        });
    }

    /// What the end record says.
    fn ending(&self, json: &mut Json<'_>) {
        if let Some((Some(code), _)) = self.session.end() {
            json.count("exit_code", code);
        }
        json.some_text("closed_by", self.session.closed_by());
    }

    fn losses(&self) -> Losses {
        let session = self.session;
        let forgotten = session.forgotten();
        Losses {
            missing_frames: self.exported.missing_frames(),
            truncated_frames: session.counters().truncated,
            damaged_lines: self.exported.damaged_lines().0,
            declared_dropped: session.dropped_by_writer().unwrap_or(0),
            conflicts: session.counters().conflicts,
            torn_tail: self.exported.is_torn(),
            ends_inside_line: self.exported.ends_inside_line(),
            given_up: forgotten.calls > 0 || forgotten.elicitations > 0,
        }
    }
}
