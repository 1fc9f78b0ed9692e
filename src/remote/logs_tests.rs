//! Which logs are read, and what is told of them.

use std::time::Duration;

use super::{
    super::read_queue::{LARGE_AT_ONCE, SMALL_AT_ONCE},
    *,
};
use crate::record::Liveness;

fn listing(logs: &[(&str, u64, i64)]) -> FarListing {
    FarListing {
        logs: logs
            .iter()
            .map(|(name, size, modified)| FarLog {
                name: format!("{name}.jsonl").into(),
                size: *size,
                modified: *modified,
            })
            .collect(),
        ..FarListing::default()
    }
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_nanos(seconds * 1_000_000_000)
}

fn logs(limit: Option<usize>, wanted: &[&str]) -> Logs {
    let wanted = wanted.iter().map(|wanted| (*wanted).to_owned()).collect();
    let mut logs = Logs::new(HostName("h".into()), limit, wanted);
    logs.set_directory("/s/sessions");
    logs
}

/// Names that are read next, in order; each job ends at once without having read anything.
fn reads(logs: &mut Logs) -> Vec<String> {
    let mut names = Vec::new();
    while let Some(reading) = logs.start() {
        names.push(stem(&reading.name).to_owned());
        logs.failed(&reading.name, reading.follower, reading.small, true);
    }
    names
}

#[test]
fn the_newest_are_chosen_up_to_the_limit_and_older_ones_later() {
    let mut logs = logs(Some(2), &[]);
    let all = listing(&[("d", 9, 4), ("c", 9, 3), ("b", 9, 2), ("a", 9, 1)]);
    logs.listed(&all, at(0));
    assert_eq!(logs.totals(), (4, 2, 0));
    assert_eq!(reads(&mut logs), ["d", "c"]);
    logs.load_older(Some(1));
    assert_eq!(reads(&mut logs), ["b"]);
    // Seen to grow: loaded whatever the limit.
    let grown = listing(&[("a", 12, 5), ("d", 9, 4), ("c", 9, 3), ("b", 9, 2)]);
    logs.listed(&grown, at(2));
    assert_eq!(reads(&mut logs), ["a"]);
    assert_eq!(logs.totals(), (4, 4, 0));
}

#[test]
fn wanted_sessions_are_chosen_whatever_the_limit() {
    let mut logs = logs(Some(1), &["web"]);
    let all = listing(&[
        ("fs-1-00000000000a", 9, 4),
        ("web-1-00000000000b", 9, 3),
        ("web-2-00000000000c", 9, 2),
    ]);
    logs.listed(&all, at(0));
    assert_eq!(
        reads(&mut logs),
        ["web-1-00000000000b", "web-2-00000000000c"]
    );
    assert!(logs.wants("web-9") && !logs.wants("fs-1-00000000000a"));
}

#[test]
fn a_log_that_cannot_be_read_waits_for_a_change() {
    let mut logs = logs(None, &[]);
    logs.listed(&listing(&[("a", 9, 1)]), at(0));
    assert_eq!(reads(&mut logs), ["a"]);
    logs.listed(&listing(&[("a", 9, 1)]), at(2));
    assert_eq!(reads(&mut logs), [""; 0]);
    logs.listed(&listing(&[("a", 10, 2)]), at(4));
    assert_eq!(reads(&mut logs), ["a"]);
}

#[test]
fn large_logs_are_few_at_a_time_and_small_ones_pass_them() {
    let mut logs = logs(None, &[]);
    let mut names: Vec<(String, u64, i64)> = (0..6)
        .map(|number| (format!("large{number}"), LARGE + 1, 100 - number))
        .collect();
    names.extend((0..40).map(|number| (format!("small{number}"), 10, 50 - number)));
    let all: Vec<_> = names
        .iter()
        .map(|(name, size, modified)| (name.as_str(), *size, *modified))
        .collect();
    logs.listed(&listing(&all), at(0));
    let mut started = Vec::new();
    while let Some(reading) = logs.start() {
        started.push(reading);
    }
    let large = started.iter().filter(|reading| !reading.small).count();
    assert_eq!(
        (large, started.len()),
        (LARGE_AT_ONCE, LARGE_AT_ONCE + SMALL_AT_ONCE)
    );
    assert!(
        started
            .iter()
            .all(|reading| reading.in_turns != reading.small)
    );
    logs.link_down();
    logs.recover();
    assert_eq!(logs.reading(), 0);
}

#[test]
fn the_log_that_matters_comes_first_and_gone_ones_are_told() {
    let mut logs = logs(None, &[]);
    logs.listed(&listing(&[("a", 9, 3), ("b", 9, 2), ("c", 9, 1)]), at(0));
    logs.first("c.jsonl");
    assert_eq!(reads(&mut logs), ["c", "a", "b"]);
    let gone = logs.listed(&listing(&[("a", 9, 3)]), at(2));
    assert_eq!(gone.len(), 2);
    assert_eq!(logs.totals().0, 1);
    assert_eq!(logs.log_of("b"), None);
    assert_eq!(logs.log_of("a").as_deref(), Some("a.jsonl"));
}

#[test]
fn names_that_change_for_ever_are_not_remembered() {
    let mut logs = logs(None, &[]);
    for round in 0..50 {
        let names: Vec<_> = (0..100).map(|number| format!("{round}-{number}")).collect();
        let all: Vec<_> = names.iter().map(|name| (name.as_str(), 9, 1)).collect();
        let gone = logs.listed(&listing(&all), at(round));
        assert_eq!(gone.len(), if round == 0 { 0 } else { 100 });
        assert_eq!(logs.by_name.len(), 100);
    }
    assert_eq!(
        reads(&mut logs).len(),
        100,
        "those that are gone are passed over"
    );
    // One that was read stays, for what is shown of it.
    logs.get_mut("49-7.jsonl").unwrap().read = 9;
    logs.listed(&listing(&[]), at(60));
    assert_eq!((logs.by_name.len(), logs.totals().0), (1, 0));
}

#[test]
fn a_full_directory_costs_no_walk_at_each_turn() {
    let mut logs = logs(None, &[]);
    let names: Vec<_> = (0..100_000).map(|number| number.to_string()).collect();
    let all: Vec<_> = names.iter().map(|name| (name.as_str(), 9, 1)).collect();
    logs.listed(&listing(&all), at(0));
    let mut read = 0;
    while let Some(reading) = logs.start() {
        // What is asked at each turn of the host's task.
        assert!(!logs.clear_doubts(at(1), 1));
        assert_eq!(logs.reading(), 1);
        logs.failed(&reading.name, reading.follower, reading.small, true);
        read += 1;
    }
    assert_eq!(read, 100_000);
}

#[test]
fn sizes_beyond_belief_are_summed_without_harm() {
    let mut logs = logs(None, &[]);
    let names: Vec<_> = (0..3_000).map(|number| number.to_string()).collect();
    let all: Vec<_> = names
        .iter()
        .map(|name| (name.as_str(), 1 << 53, 1))
        .collect();
    logs.listed(&listing(&all), at(0));
    assert_eq!(logs.amounts().bytes_total, u64::MAX);
}

#[test]
fn sessions_of_a_log_without_end_are_not_all_remembered() {
    let mut logs = logs(None, &[]);
    logs.listed(&listing(&[("a", 9, 1)]), at(0));
    for number in 0..10_000 {
        logs.saw(&"a.jsonl".into(), &format!("s-{number}").into());
    }
    assert_eq!(
        logs.get("a.jsonl").unwrap().sessions.len(),
        SESSIONS_IN_A_LOG
    );
}

#[test]
fn liveness_needs_evidence() {
    let mut logs = logs(None, &[]);
    logs.listed(&listing(&[("a", 9, 1_000)]), at(0));
    let told = |logs: &mut Logs, remote_now: Option<i64>| {
        let mut news = Vec::new();
        logs.news_of(&"a.jsonl".into(), remote_now, &mut news);
        news.first().map(|news| news.liveness)
    };
    assert_eq!(told(&mut logs, Some(1_030)), Some(Liveness::Recording));
    assert_eq!(told(&mut logs, Some(1_030)), None, "told once");
    assert_eq!(told(&mut logs, Some(1_100)), Some(Liveness::Unknown));
    logs.saw(&"a.jsonl".into(), &"a".into());
    logs.producer(&"a".into(), 1);
    assert_eq!(told(&mut logs, Some(1_100)), Some(Liveness::Recording));
    logs.producer(&"a".into(), -1);
    assert_eq!(told(&mut logs, None), Some(Liveness::Unknown));
    if let Some(log) = logs.get_mut("a.jsonl") {
        log.ended = true;
    }
    assert_eq!(told(&mut logs, Some(1_000)), Some(Liveness::Ended));
}

#[test]
fn doubts_are_settled_once() {
    let mut logs = logs(None, &[]);
    logs.listed(&listing(&[("a", 9, 1)]), at(0));
    let ten = i64::try_from(Duration::from_secs(10).as_nanos()).unwrap();
    assert!(!logs.clear_doubts(at(100), ten));
    logs.raise_doubt(&"a.jsonl".into(), at(100));
    assert!(!logs.clear_doubts(at(105), ten));
    assert!(logs.clear_doubts(at(111), ten));
    assert!(!logs.clear_doubts(at(200), ten));
}
