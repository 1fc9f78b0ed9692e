//! What is chosen, what is kept, and what changed in between.

use std::{os::unix::fs::symlink, time::UNIX_EPOCH};

use rustix::fs::{FlockOperation, flock};

use super::*;

const DAY: u64 = 86_400;
const SECOND: u64 = 1_788_249_600;
const NOW: Timestamp = Timestamp::from_nanos(1_788_249_600_000_000_000);
const WEEK: Duration = Duration::from_secs(7 * DAY);

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// A log of a label; `format` 7 logs whose lock is free have ended.
    fn log(&self, name: &str, label: &str, format: u64, age: u64) -> PathBuf {
        let path = self.path(name);
        let text = format!(
            "{{\"session_id\":\"x\",\"server_label\":\"{label}\",\"seq\":1,\"direction\":\"meta\",\"raw\":{{\"format\":{format}}}}}\n"
        );
        fs::write(&path, text).unwrap();
        self.touch(name, age);
        path
    }

    fn touch(&self, name: &str, age: u64) {
        let file = fs::File::options()
            .append(true)
            .open(self.path(name))
            .unwrap();
        file.set_modified(UNIX_EPOCH + Duration::from_secs(SECOND - age))
            .unwrap();
    }

    fn plan(&self, labels: &[&str], older_than: Duration) -> (Vec<String>, usize, usize) {
        let labels: Vec<String> = labels.iter().map(|label| (*label).to_owned()).collect();
        let plan = plan_prune(self.0.path(), older_than, &labels, NOW).unwrap();
        let ids = plan.candidates.iter().map(LogFile::id).collect();
        (ids, plan.kept_live, plan.not_regular)
    }
}

#[test]
fn old_regular_logs_are_chosen_oldest_first() {
    let folder = Folder::new();
    folder.log("b.jsonl", "web", 7, 8 * DAY);
    folder.log("a.jsonl", "files", 7, 9 * DAY);
    folder.log("new.jsonl", "files", 7, 6 * DAY);
    folder.log("edge.jsonl", "files", 7, 7 * DAY);
    folder.log("notes.txt", "files", 7, 99 * DAY);
    fs::write(folder.path("empty.jsonl"), "").unwrap();
    folder.touch("empty.jsonl", 20 * DAY);
    fs::create_dir(folder.path("folder.jsonl")).unwrap();
    symlink(folder.path("a.jsonl"), folder.path("link.jsonl")).unwrap();

    let ids = |all: &[&str]| all.iter().map(|id| (*id).to_owned()).collect::<Vec<_>>();
    assert_eq!(folder.plan(&[], WEEK), (ids(&["empty", "a", "b"]), 0, 2));
    assert_eq!(folder.plan(&["web", "x"], WEEK).0, ids(&["b"]));
    assert_eq!(folder.plan(&["x"], WEEK).0, ids(&[]));
    assert_eq!(folder.plan(&[], WEEK * 1_000).0, ids(&[]));
    assert_eq!(folder.plan(&[], Duration::MAX).0, ids(&[]));
    let missing = plan_prune(&folder.path("none"), WEEK, &[], NOW).unwrap();
    assert_eq!(missing.candidates, []);
}

#[test]
fn logs_that_are_or_may_be_recorded_are_spared() {
    let folder = Folder::new();
    let hour = Duration::from_hours(1);
    let locked = folder.log("locked.jsonl", "l", 7, 9 * DAY);
    folder.log("unknown-recent.jsonl", "l", 6, DAY - 1);
    folder.log("unknown-old.jsonl", "l", 6, DAY + 1);
    let writer = fs::File::options().append(true).open(locked).unwrap();
    flock(&writer, FlockOperation::NonBlockingLockShared).unwrap();
    assert_eq!(
        folder.plan(&[], hour),
        (vec!["unknown-old".to_owned()], 2, 0)
    );
    drop(writer);
    assert_eq!(folder.plan(&[], hour).1, 1);
}

#[test]
fn each_log_is_examined_again_before_it_goes() {
    let folder = Folder::new();
    for name in [
        "gone", "plain", "touched", "replaced", "locked", "linked", "empty",
    ] {
        folder.log(&format!("{name}.jsonl"), "l", 7, 9 * DAY);
    }
    fs::write(folder.path("empty.jsonl"), "").unwrap();
    folder.touch("empty.jsonl", 9 * DAY);
    let plan = plan_prune(folder.0.path(), WEEK, &[], NOW).unwrap();
    assert_eq!(plan.candidates.len(), 7);

    fs::remove_file(folder.path("gone.jsonl")).unwrap();
    folder.touch("touched.jsonl", DAY);
    folder.log("other", "l", 7, 9 * DAY);
    fs::rename(folder.path("other"), folder.path("replaced.jsonl")).unwrap();
    fs::rename(folder.path("linked.jsonl"), folder.path("aside")).unwrap();
    symlink(folder.path("aside"), folder.path("linked.jsonl")).unwrap();
    let writer = fs::File::options()
        .append(true)
        .open(folder.path("locked.jsonl"))
        .unwrap();
    flock(&writer, FlockOperation::NonBlockingLockShared).unwrap();

    let report = plan.remove(WEEK, NOW);
    let removed: Vec<_> = report.removed.iter().map(LogFile::id).collect();
    assert_eq!(removed, ["empty", "plain"]);
    let mut kept: Vec<_> = report
        .kept
        .iter()
        .map(|path| path.file_stem().unwrap().display().to_string())
        .collect();
    kept.sort();
    assert_eq!(kept, ["linked", "locked", "replaced", "touched"]);
    assert!(report.failed.is_empty());
    assert!(!folder.path("plain.jsonl").exists());
    for name in [
        "touched.jsonl",
        "replaced.jsonl",
        "locked.jsonl",
        "linked.jsonl",
        "aside",
    ] {
        assert!(folder.path(name).exists(), "{name}");
    }
}
