//! What `export` says on standard error beside the document (export.md 1, history.md 2).

use mcpsnoop::{base::quoted, reports::Exported};

use crate::cli::output;

/// Names other sessions, when none was chosen, and everything that is missing.
pub(super) fn tell(exported: &Exported, is_chosen: bool) {
    for note in notes(exported, is_chosen) {
        output::note(&format!("note: {note}"));
    }
}

fn notes(exported: &Exported, is_chosen: bool) -> Vec<String> {
    let mut notes = Vec::new();
    let (others, named) = exported.others();
    if others > 0 && !is_chosen {
        let ids: Vec<String> = named.iter().map(|id| quoted(id)).collect();
        let more = if ids.len() < others { ", …" } else { "" };
        let count = plural(others as u64, "more session");
        let ids = ids.join(", ");
        notes.push(format!("log holds {count}: {ids}{more}; use --session"));
    }
    let missing = exported.missing_frames();
    if missing > 0 {
        notes.push(format!("{} missing", plural(missing, "frame")));
    }
    let (damaged, first) = exported.damaged_lines();
    if damaged > 0 {
        let count = plural(damaged, "damaged line");
        notes.push(format!("{count} (first: line {first})"));
    }
    let counters = exported.session().map(|session| {
        let dropped = session.dropped_by_writer().unwrap_or(0);
        (session.counters(), dropped)
    });
    if let Some((counters, dropped)) = counters {
        for (count, one, many) in [
            (
                counters.conflicts,
                "number has two contents",
                "numbers have two contents",
            ),
            (
                dropped,
                "frame was dropped by the recorder",
                "frames were dropped by the recorder",
            ),
            (
                counters.truncated,
                "frame was cut by the recorder",
                "frames were cut by the recorder",
            ),
        ] {
            if count > 0 {
                notes.push(format!("{count} {}", if count == 1 { one } else { many }));
            }
        }
    }
    if exported.is_torn() {
        notes.push("last line incomplete".to_owned());
    }
    notes
}

fn plural(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}
