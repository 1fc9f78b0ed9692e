//! Is a process of this user running, and since when? Platform code of the liveness rule.

use crate::base::Timestamp;

/// True when the process `id` belongs to this user, runs, and began before `instant`.
#[cfg(target_os = "linux")]
pub(super) fn ran_before(id: u32, instant: Timestamp) -> bool {
    use std::os::unix::fs::MetadataExt as _;

    let owner = std::fs::metadata(format!("/proc/{id}")).map(|meta| meta.uid());
    owner.is_ok_and(|owner| owner == super::private::user())
        // Where `/proc` does not tell the start, the process counts.
        && start(id).is_none_or(|start| start <= instant)
}

/// Clock ticks a second in `/proc`, which is the same on all platforms that matter.
#[cfg(target_os = "linux")]
const TICKS: i64 = 100;

#[cfg(target_os = "linux")]
fn start(id: u32) -> Option<Timestamp> {
    let status = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    // The name of the program stands in parentheses and may hold anything.
    let (_, fields) = status.rsplit_once(')')?;
    let ticks: i64 = fields.split_whitespace().nth(19)?.parse().ok()?;
    let system = std::fs::read_to_string("/proc/stat").ok()?;
    let boot: i64 = system
        .lines()
        .find_map(|line| line.strip_prefix("btime "))?
        .trim()
        .parse()
        .ok()?;
    let nanos = boot
        .checked_mul(1_000_000_000)?
        .checked_add(ticks.checked_mul(1_000_000_000 / TICKS)?)?;
    Some(Timestamp::from_nanos(nanos))
}

/// Without `/proc` only existence is tested: a session may be taken for one that is still being
/// recorded, never the other way round.
#[cfg(not(target_os = "linux"))]
pub(super) fn ran_before(id: u32, _instant: Timestamp) -> bool {
    i32::try_from(id)
        .ok()
        .and_then(rustix::process::Pid::from_raw)
        .is_some_and(|id| rustix::process::test_kill_process(id).is_ok())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn this_process_runs_since_it_began() {
        let id = std::process::id();
        let now = crate::base::Clock::start().now();
        assert!(ran_before(id, now));
        let start = start(id).unwrap();
        assert!(now.nanos_since(start) >= -1_000_000_000);
        assert!(!ran_before(id, Timestamp::from_nanos(0)));
        assert!(!ran_before(u32::MAX, now));
    }
}
