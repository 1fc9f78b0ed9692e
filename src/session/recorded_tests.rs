//! Recordings of published clients and servers fold with the counts that their README lists, made with jq alone, and
//! the recordings of the traffic of the old logs give the same summary as those.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use super::{
    sample_tests::{confessions, folded},
    table_tests::check_sums,
    *,
};

fn fixtures(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures")
        .join(folder)
}

/// One row of the README's table.
struct Recorded {
    path: PathBuf,
    revision: String,
    /// What follows the five columns of text.
    counts: [u64; 12],
}

/// The rows of the table; there is one for each file.
fn table() -> Vec<Recorded> {
    let folder = fixtures("recorded");
    let readme = std::fs::read_to_string(folder.join("README.md")).unwrap();
    let rows = readme.lines().filter(|line| line.contains(".jsonl |"));
    let rows: Vec<_> = rows
        .map(|line| {
            let cells: Vec<_> = line.trim_matches('|').split('|').map(str::trim).collect();
            let counts: Vec<_> = cells[5..]
                .iter()
                .map(|cell| cell.parse().unwrap())
                .collect();
            Recorded {
                path: folder.join(cells[0]),
                revision: cells[3].to_owned(),
                counts: counts.try_into().unwrap(),
            }
        })
        .collect();
    let files = std::fs::read_dir(&folder).unwrap();
    let logs = files.filter(|file| {
        let path = file.as_ref().unwrap().path();
        path.extension().is_some_and(|ending| ending == "jsonl")
    });
    assert_eq!(logs.count(), rows.len());
    assert!(rows.len() > 10);
    rows
}

#[test]
fn recordings_fold_as_their_readme_says() {
    for Recorded {
        path,
        revision,
        counts,
    } in table()
    {
        let (model, key) = folded(&path);
        let session = model.session(&key).unwrap();
        check_sums(session);
        let counters = session.counters();
        let tool_errors = session.tools().values().map(|tool| tool.tool_errors).sum();
        let probes = session
            .calls()
            .filter(|call| call.resolved.is_some())
            .count() as u64;
        let folded = [
            counters.frames,
            counters.requests,
            counters.responses,
            counters.notifications,
            counters.errors,
            tool_errors,
            probes,
            counters.pending,
            counters.cancelled,
            counters.late_results,
            session.missing_frames(),
            counters.stderr_lines,
        ];
        let file = path.display();
        assert_eq!(folded, counts, "{file}");
        assert_eq!(model.sessions().count(), 1, "{file}");
        assert_eq!((counters.invalid, counters.conflicts), (0, 0), "{file}");
        assert_eq!(counters.superseded, 0, "{file}");
        assert_eq!(session.approximate(), <[&str; 0]>::default(), "{file}");
        let settled = session.protocol_version().unwrap_or("none");
        assert_eq!(settled, revision, "{file}");
    }
}

#[test]
fn nobody_is_accused_in_a_recording() {
    for recorded in table() {
        let (model, key) = folded(&recorded.path);
        let session = model.session(&key).unwrap();
        let file = recorded.path.display();
        let [_, _, _, _, errors, _, probes, _, _, late, ..] = recorded.counts;
        let health = if errors > 0 {
            Health::Error
        } else {
            Health::Ok
        };
        assert_eq!(session.health(), health, "{file}");
        let rows = (0..session.row_count()).filter_map(|at| session.row(at));
        let (mut errored, mut problems) = (Vec::new(), 0);
        for row in rows {
            problems += u64::from(row.flags.problem);
            assert!(!row.flags.duplicate && !row.flags.out_of_place, "{file}");
            if row.flags.errored {
                errored.push(row.id.seq.0);
            }
        }
        // Every error is one that a frame tells of itself; a refused probe is none.
        let told = confessions(&recorded.path);
        assert!(errored.iter().all(|seq| told.contains(seq)), "{file}");
        assert_eq!(told.len() as u64, errors + probes, "{file}");
        assert!(problems <= errors + late, "{file}: {problems} rows");
        for call in session.calls() {
            use DisplayStatus::{
                Bad, Input, Lost, Pending, PendingUncertain, Streaming, Superseded,
            };
            let accused = matches!(call.status(), Bad | Lost | Superseded);
            let open = matches!(
                call.status(),
                Input | Pending | PendingUncertain | Streaming
            );
            assert!(!accused && !open, "{file}: {call:?}");
        }
    }
}

/// What both an old log and a recording carry of the same traffic.
#[derive(Debug, Default, PartialEq, Eq)]
struct Summary {
    /// Requests, answers, notifications, errors, open calls, late answers, lines of standard error.
    figures: [u64; 7],
    /// Calls by method.
    methods: BTreeMap<String, u64>,
    /// Calls, errors of both kinds, reports of progress by tool.
    tools: BTreeMap<String, [u64; 4]>,
}

impl Summary {
    /// Adds what a log carries.
    fn add(&mut self, path: &Path) {
        let (model, key) = folded(path);
        let session = model.session(&key).unwrap();
        let counters = session.counters();
        let figures = [
            counters.requests,
            counters.responses,
            counters.notifications,
            counters.errors,
            counters.pending,
            counters.late_results,
            counters.stderr_lines,
        ];
        for (sum, figure) in self.figures.iter_mut().zip(figures) {
            *sum += figure;
        }
        for call in session.calls() {
            *self.methods.entry(call.method.to_string()).or_default() += 1;
            if let Some(name) = call.operation.as_deref().filter(|_| call.is_tool) {
                self.tools.entry(name.to_owned()).or_default()[3] += u64::from(call.progress_count);
            }
        }
        for (name, tool) in session.tools() {
            let sums = self.tools.entry(name.to_string()).or_default();
            sums[0] += tool.calls;
            sums[1] += tool.protocol_errors;
            sums[2] += tool.tool_errors;
        }
    }

    fn of(paths: &[PathBuf]) -> Self {
        let mut summary = Self::default();
        for path in paths {
            summary.add(path);
        }
        summary
    }
}

#[test]
fn old_logs_and_recordings_of_the_same_traffic_give_the_same_summary() {
    let ours = |kind: &str| fixtures("recorded").join(format!("samples-{kind}.jsonl"));
    for release in [
        "v0.1.0", "v0.3.0", "v0.9.0", "v0.12.0", "v0.15.0", "v0.18.0",
    ] {
        let theirs = |kind: &str| fixtures("samples").join(format!("{release}-{kind}.jsonl"));
        for kind in ["stdio-legacy", "stdio-auto"] {
            let (recorded, old) = (Summary::of(&[ours(kind)]), Summary::of(&[theirs(kind)]));
            assert_eq!(recorded, old, "{release} {kind}");
            assert_eq!(recorded.figures[0], 7);
            assert_eq!(recorded.tools.len(), 4);
        }
        // Over HTTP one log holds both runs, and there is no standard error; this release's proxy could not carry it.
        if release != "v0.1.0" {
            let mut both = Summary::of(&[ours("stdio-legacy"), ours("stdio-auto")]);
            both.figures[6] = 0;
            assert_eq!(both, Summary::of(&[theirs("http")]), "{release} http");
        }
    }
}
