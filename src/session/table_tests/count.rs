//! How many rows of the page's tables are tests here.

use super::{
    cache, cancel, cost, elicitations, http, inventory, kinds, matching, memory, merge, progress,
    redaction, refetch, repeats, resolved, retries, revisions, subscriptions, summary, tasks,
    times, tools,
};

/// Rows of each table of worked examples and verdicts in session-model.md.
const PAGE: &[(&str, usize)] = &[
    ("2.1", 6),
    ("2.3", 7),
    ("3.2", 17),
    ("3.3", 3),
    ("3.4", 6),
    ("4.2", 11),
    ("4.8", 20),
    ("6", 7),
    ("7.3", 14),
    ("8.1", 14),
    ("8.3", 6),
    ("8.4", 7),
    ("9", 10),
    ("10.3", 12),
    ("11.4", 5),
    ("11.6", 19),
    ("12", 11),
    ("13", 7),
    ("14.3", 8),
    ("15.4", 16),
    ("16", 5),
    ("17 percentiles", 3),
    ("17 tools", 7),
    ("18 judged", 7),
    ("18", 12),
    ("19.1", 8),
    ("19.3", 10),
    ("20", 7),
    ("21", 7),
    ("22.2", 5),
];

#[test]
fn every_row_of_the_pages_tables_is_a_test() {
    let all = [
        merge::ROWS,
        kinds::ROWS,
        matching::ROWS,
        times::ROWS,
        cancel::ROWS,
        http::ROWS,
        resolved::ROWS,
        progress::ROWS,
        tasks::ROWS,
        retries::ROWS,
        elicitations::ROWS,
        subscriptions::ROWS,
        revisions::ROWS,
        inventory::ROWS,
        cost::ROWS,
        tools::ROWS,
        repeats::ROWS,
        cache::ROWS,
        refetch::ROWS,
        summary::ROWS,
        redaction::ROWS,
        memory::ROWS,
    ]
    .concat();
    let tested = |section: &str| -> usize {
        let of_section = all.iter().filter(|(known, _)| *known == section);
        of_section.map(|(_, rows)| rows).sum()
    };
    for (section, rows) in PAGE {
        assert_eq!(tested(section), *rows, "{section}");
    }
    let unknown = all
        .iter()
        .filter(|(section, _)| !PAGE.iter().any(|(known, _)| known == section));
    assert_eq!(unknown.count(), 0);
}
