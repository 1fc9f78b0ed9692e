//! Evidence tables, real locks and real processes.

use std::time::UNIX_EPOCH;

use super::*;

const NOW: Timestamp = Timestamp::from_nanos(1_788_249_600_000_000_000);

fn ago(seconds: i64) -> Timestamp {
    Timestamp::from_nanos(NOW.as_nanos() - seconds * 1_000_000_000)
}

fn judge(evidence: Evidence) -> Liveness {
    evidence.judge(NOW)
}

#[test]
fn a_connection_a_lock_or_an_end_record_decides() {
    let nothing = Evidence::default();
    let mut evidence = Evidence {
        has_end: true,
        is_connected: true,
        is_locked: Some(true),
        ..nothing
    };
    assert_eq!(judge(evidence), Liveness::Ended);
    evidence.has_end = false;
    evidence.is_locked = Some(false);
    evidence.format = 7;
    assert_eq!(judge(evidence), Liveness::Recording);
    evidence.is_connected = false;
    evidence.modified = Some(ago(1));
    evidence.process_runs = Some(true);
    assert_eq!(judge(evidence), Liveness::EndedWithoutRecord);
    evidence.format = 6;
    assert_eq!(judge(evidence), Liveness::Recording);
    evidence = Evidence {
        is_locked: Some(true),
        modified: Some(ago(9_999)),
        ..nothing
    };
    assert_eq!(judge(evidence), Liveness::Recording);
}

#[test]
fn without_locks_the_process_and_the_last_change_decide() {
    let check = |process_runs: Option<bool>, age: i64, expected: Liveness| {
        let evidence = Evidence {
            format: 7,
            process_runs,
            modified: Some(ago(age)),
            ..Evidence::default()
        };
        assert_eq!(judge(evidence), expected, "{process_runs:?} {age}");
    };
    check(Some(true), 9_999, Liveness::Recording);
    check(Some(false), 9_999, Liveness::Unknown);
    check(None, 60, Liveness::Recording);
    check(None, 61, Liveness::Unknown);
    check(Some(false), -5, Liveness::Recording);
    check(None, -61, Liveness::Unknown);
    check(Some(true), -9_999, Liveness::Recording);
    assert_eq!(judge(Evidence::default()), Liveness::Unknown);
}

fn line(id: &str, seq: u64, raw: &str) -> String {
    format!(r#"{{"session_id":"{id}","seq":{seq},"direction":"meta","raw":{raw}}}"#) + "\n"
}

/// A log that was last changed an hour before `NOW`.
fn old_log(folder: &tempfile::TempDir, text: &str) -> std::path::PathBuf {
    let path = folder.path().join("log.jsonl");
    fs::write(&path, text).unwrap();
    let file = fs::File::options().append(true).open(&path).unwrap();
    let second = u64::try_from(NOW.as_secs() - 3_600).unwrap();
    file.set_modified(UNIX_EPOCH + Duration::from_secs(second))
        .unwrap();
    path
}

#[test]
fn a_log_is_judged_by_its_own_evidence() {
    let folder = tempfile::tempdir().unwrap();
    let start = line("a-1", 1, r#"{"command":["x"],"format":7}"#);
    let old = line("a-1", 1, r#"{"command":["x"]}"#);
    let end = line("a-1", 2, r#"{"command":["x"],"event":"end"}"#);
    let other = line("a-1", 3, r#"{"event":"other"}"#);
    let long = line(
        "a-1",
        2,
        &format!(r#"{{"command":["{}"],"event":"end"}}"#, "x".repeat(200_000)),
    );
    let cases = [
        (format!("{start}{end}"), Liveness::Ended),
        (format!("{start}{long}"), Liveness::Ended),
        (format!("{start}{end}{other}"), Liveness::EndedWithoutRecord),
        (format!("{start}{end}torn"), Liveness::Ended),
        (start.clone(), Liveness::EndedWithoutRecord),
        (old.clone(), Liveness::Unknown),
        ("hello".into(), Liveness::Unknown),
        (String::new(), Liveness::Unknown),
    ];
    for (text, expected) in cases {
        let log = old_log(&folder, &text);
        assert_eq!(
            liveness_of(&log, NOW),
            expected,
            "{}",
            text.get(..60).unwrap_or(&text)
        );
    }
    let log = old_log(&folder, &old);
    let just = modified(&fs::metadata(&log).unwrap());
    assert_eq!(liveness_of(&log, just), Liveness::Recording);
    assert_eq!(
        liveness_of(&folder.path().join("none"), NOW),
        Liveness::Unknown
    );
    assert_eq!(liveness_of(folder.path(), NOW), Liveness::Unknown);
}

#[test]
fn a_held_lock_means_recording_and_the_test_leaves_none() {
    let folder = tempfile::tempdir().unwrap();
    let log = old_log(&folder, &line("a-1", 1, r#"{"format":7}"#));
    assert_eq!(is_locked(&log), Some(false));
    let writer = fs::File::options().append(true).open(&log).unwrap();
    flock(&writer, FlockOperation::NonBlockingLockShared).unwrap();
    assert_eq!(is_locked(&log), Some(true));
    assert_eq!(liveness_of(&log, NOW), Liveness::Recording);
    let second = fs::File::options().append(true).open(&log).unwrap();
    flock(&second, FlockOperation::NonBlockingLockShared).unwrap();
    drop((writer, second));
    assert_eq!(liveness_of(&log, NOW), Liveness::EndedWithoutRecord);
    assert_eq!(is_locked(&folder.path().join("none")), None);
}

#[test]
fn the_process_number_is_read_from_both_forms_of_ids() {
    let of = |id: &str| {
        let text = line(id, 1, "{}");
        let envelope = super::super::Decoder::default()
            .decode_slice(text.as_bytes())
            .unwrap();
        process_of(&envelope)
    };
    let cases = [
        ("files-48213-7f3a1c9e2b04", Some(48_213)),
        ("my-files-48213", Some(48_213)),
        ("files-123456789012", None),
        ("files-7-123456789012", Some(7)),
        ("files", None),
        ("files-0", None),
        ("files-x", None),
    ];
    for (id, number) in cases {
        assert_eq!(of(id), number, "{id}");
    }
}

#[test]
fn a_running_process_of_the_id_means_recording() {
    let folder = tempfile::tempdir().unwrap();
    let id = format!("a-{}", std::process::id());
    let log = folder.path().join("log.jsonl");
    fs::write(&log, line(&id, 1, "{}")).unwrap();
    let file = fs::File::options().append(true).open(&log).unwrap();
    let now = crate::base::Clock::start().now();
    let second = u64::try_from(now.as_secs() + 10).unwrap();
    file.set_modified(UNIX_EPOCH + Duration::from_secs(second))
        .unwrap();
    let later = Timestamp::from_nanos(now.as_nanos() + 600_000_000_000);
    assert_eq!(liveness_of(&log, later), Liveness::Recording);
}
