//! What a running process has used, as Linux tells it.

use std::{fs, time::Duration};

/// The clock tick of `/proc`: 100 a second on every Linux of today.
const TICK: Duration = Duration::from_millis(10);

/// Most memory that the process ever held, in MiB.
pub(crate) fn peak_mib(process: u32) -> f64 {
    status_kib(process, "VmHWM:") / 1024.0
}

/// Memory that the process holds now, in bytes.
pub(crate) fn resident_bytes(process: u32) -> f64 {
    status_kib(process, "VmRSS:") * 1024.0
}

fn status_kib(process: u32, name: &str) -> f64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok())
        .unwrap_or_default()
}

/// Processor time of the process itself, without its children.
pub(crate) fn processor_time(process: u32) -> Duration {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    // The name may hold anything; the fields begin behind the last parenthesis.
    let fields: Vec<&str> = stat
        .rsplit(')')
        .next()
        .unwrap_or_default()
        .split_whitespace()
        .collect();
    let ticks = |at: usize| {
        fields
            .get(at)
            .and_then(|field| field.parse::<u32>().ok())
            .unwrap_or_default()
    };
    TICK * (ticks(11) + ticks(12))
}

/// The children of a process.
pub(crate) fn children(process: u32) -> Vec<u32> {
    let list =
        fs::read_to_string(format!("/proc/{process}/task/{process}/children")).unwrap_or_default();
    list.split_whitespace()
        .filter_map(|id| id.parse().ok())
        .collect()
}
