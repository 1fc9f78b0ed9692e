//! The logs of a remote `sessions` directory (remote.md 9.1, 10).

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use futures_util::{
    StreamExt as _,
    stream::{FuturesOrdered, FuturesUnordered},
};

use super::{
    far_error::SftpError,
    names::{claims_log, is_log_name},
    sftp::{Attributes, Entry, Kind, Sftp},
};

/// Names that are looked at; above, the newest of those read are kept.
const NAME_LIMIT: usize = 100_000;
/// Requests for attributes that run at the same time.
const STATS_AT_ONCE: usize = 32;
/// Requests for more names that run at the same time: the last one always finds the end, and need
/// not wait for the others to come back.
const READS_AT_ONCE: usize = 4;
/// Pause between two listings of a directory of up to a thousand names.
pub(super) const LISTING_PAUSE: Duration = Duration::from_secs(2);
/// Longest pause between two listings.
const LONGEST_PAUSE: Duration = Duration::from_secs(15);

/// One log as it was listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FarLog {
    /// File name; passed the rules of remote.md 10.
    pub(super) name: Arc<str>,
    pub(super) size: u64,
    /// Seconds since the epoch by the remote clock.
    pub(super) modified: i64,
}

/// What a directory holds.
#[derive(Clone, Debug, Default)]
pub(super) struct FarListing {
    /// Logs, newest first, ties by name.
    pub(super) logs: Vec<FarLog>,
    /// Names that end in `.jsonl` and are not opened.
    pub(super) skipped: usize,
    /// There were more names than are looked at.
    pub(super) cut: bool,
    /// How long listing took.
    pub(super) took: Duration,
}

impl FarListing {
    /// How long to wait before the next listing: at most a twentieth of the time goes into it.
    pub(super) fn pause(&self) -> Duration {
        if self.logs.len() <= 1_000 {
            return LISTING_PAUSE;
        }
        (self.took * 19).clamp(LISTING_PAUSE, LONGEST_PAUSE)
    }
}

/// Lists the directory.
///
/// # Errors
/// `NotFound` when there is no such directory yet.
pub(super) async fn list(sftp: &Sftp, sessions: &str) -> Result<FarListing, SftpError> {
    let begun = Instant::now();
    let directory = sftp.open_directory(sessions).await?;
    let mut sorter = Sorter::default();
    let outcome = read_entries(sftp, &directory, &mut sorter).await;
    sftp.close_soon(&directory);
    outcome?;
    ask_attributes(sftp, sessions, &mut sorter).await?;
    let mut listing = sorter.finish();
    listing.took = begun.elapsed();
    Ok(listing)
}

async fn read_entries(
    sftp: &Sftp,
    directory: &super::sftp::Open,
    sorter: &mut Sorter,
) -> Result<(), SftpError> {
    let ask = || sftp.read_directory(directory);
    let mut running: FuturesOrdered<_> = std::iter::repeat_with(ask).take(READS_AT_ONCE).collect();
    let mut at_end = false;
    while let Some(entries) = running.next().await {
        let Some(entries) = entries? else {
            // What was asked for besides may still bring names.
            at_end = true;
            continue;
        };
        for entry in entries {
            if !sorter.take(entry) {
                return Ok(());
            }
        }
        if !at_end {
            running.push_back(ask());
        }
    }
    Ok(())
}

/// Asks for what the directory did not say.
async fn ask_attributes(sftp: &Sftp, sessions: &str, sorter: &mut Sorter) -> Result<(), SftpError> {
    let mut names = std::mem::take(&mut sorter.unknown).into_iter();
    let mut running = FuturesUnordered::new();
    loop {
        while running.len() < STATS_AT_ONCE
            && let Some(name) = names.next()
        {
            running.push(async move {
                let path = format!("{sessions}/{name}");
                (sftp.lstat(&path).await, name)
            });
        }
        let Some((answer, name)) = running.next().await else {
            return Ok(());
        };
        match answer {
            Ok(attributes) => sorter.sort(name, attributes),
            Err(error) if error.ends_session() => return Err(error),
            Err(_) => sorter.skipped += 1,
        }
    }
}

/// What is said of names that stand for no log (remote.md 10).
pub(super) fn skipped_names(count: usize) -> String {
    let names = if count == 1 { "name" } else { "names" };
    format!("{count} {names} skipped")
}

/// Sorts names into logs, skipped ones, and those whose kind must still be asked for.
#[derive(Debug, Default)]
struct Sorter {
    logs: Vec<FarLog>,
    unknown: Vec<String>,
    skipped: usize,
    seen: usize,
    cut: bool,
}

impl Sorter {
    /// Takes one entry; false when no more are looked at.
    fn take(&mut self, entry: Entry) -> bool {
        if self.seen >= NAME_LIMIT {
            self.cut = true;
            return false;
        }
        self.seen += 1;
        if !claims_log(&entry.name) {
            return true;
        }
        if !is_log_name(&entry.name) {
            self.skipped += 1;
            return true;
        }
        match entry.attributes {
            Some(attributes) => self.sort(entry.name, attributes),
            None => self.unknown.push(entry.name),
        }
        true
    }

    fn sort(&mut self, name: String, attributes: Attributes) {
        if attributes.kind == Kind::Regular {
            self.logs.push(FarLog {
                name: name.into(),
                size: attributes.size,
                modified: attributes.modified,
            });
        } else {
            self.skipped += 1;
        }
    }

    fn finish(mut self) -> FarListing {
        self.logs.sort_by(|left, right| {
            right
                .modified
                .cmp(&left.modified)
                .then_with(|| left.name.cmp(&right.name))
        });
        // A server may name one file twice.
        let mut names = std::collections::HashSet::new();
        self.logs.retain(|log| names.insert(Arc::clone(&log.name)));
        FarListing {
            logs: self.logs,
            skipped: self.skipped,
            cut: self.cut,
            took: Duration::ZERO,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(name: &str, kind: Kind, modified: i64) -> Entry {
        Entry {
            name: name.to_owned(),
            attributes: Some(Attributes {
                kind,
                mode: 0o600,
                uid: Some(0),
                size: 7,
                modified,
            }),
        }
    }

    #[test]
    fn sorts_newest_first_and_counts_what_it_leaves_out() {
        let mut sorter = Sorter::default();
        let entries = [
            entry(".", Kind::Directory, 9),
            entry("..", Kind::Directory, 9),
            entry("b.jsonl", Kind::Regular, 5),
            entry("a.jsonl", Kind::Regular, 5),
            entry("a.jsonl", Kind::Regular, 5),
            entry("c.jsonl", Kind::Regular, 6),
            entry("d.jsonl", Kind::Symlink, 7),
            entry("e.jsonl", Kind::Other, 7),
            entry("f.jsonl", Kind::Directory, 7),
            entry("g.jsonl", Kind::Socket, 7),
            entry("../h.jsonl", Kind::Regular, 7),
            entry("i\u{1b}.jsonl", Kind::Regular, 7),
            entry("notes.txt", Kind::Regular, 7),
        ];
        for entry in entries {
            assert!(sorter.take(entry));
        }
        let listing = sorter.finish();
        let names: Vec<_> = listing.logs.iter().map(|log| &*log.name).collect();
        assert_eq!(names, ["c.jsonl", "a.jsonl", "b.jsonl"]);
        assert_eq!(listing.skipped, 6);
        assert!(!listing.cut);
    }

    #[test]
    fn stops_at_the_limit_of_names() {
        let mut sorter = Sorter::default();
        for number in 0..NAME_LIMIT {
            assert!(sorter.take(entry(&format!("{number}.jsonl"), Kind::Regular, 1)));
        }
        assert!(!sorter.take(entry("last.jsonl", Kind::Regular, 1)));
        assert!(sorter.finish().cut);
    }

    #[test]
    fn large_directories_are_listed_less_often() {
        let log = FarLog {
            name: "a.jsonl".into(),
            size: 1,
            modified: 1,
        };
        for (names, took, pause) in [
            (1, 900, 2_000),
            (1_001, 10, 2_000),
            (1_001, 300, 5_700),
            (1_001, 9_000, 15_000),
        ] {
            let listing = FarListing {
                logs: vec![log.clone(); names],
                took: Duration::from_millis(took),
                ..FarListing::default()
            };
            assert_eq!(listing.pause(), Duration::from_millis(pause));
        }
    }
}
