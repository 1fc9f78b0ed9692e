//! Recording stands behind forwarding.

/// Lets the threads that forward go first: the calling thread, and those that it starts, run with
/// less weight from now on. Where the system knows no priority of single threads nothing changes.
pub(super) fn stand_back() {
    #[cfg(target_os = "linux")]
    {
        use rustix::{process, thread::gettid};
        let this = Some(gettid());
        let nice = process::getpriority_process(this).unwrap_or(0);
        if process::setpriority_process(this, nice + BEHIND).is_err() {
            // It then competes as an equal, which costs a late call some microseconds.
        }
    }
}

/// How far behind: twice of it gains nothing and starves on a busy machine.
#[cfg(target_os = "linux")]
const BEHIND: i32 = 5;

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::thread;

    use rustix::{process::getpriority_process, thread::gettid};

    use super::*;

    #[test]
    fn a_thread_and_its_children_stand_back_and_no_other() {
        let nice = || getpriority_process(Some(gettid())).unwrap();
        let before = nice();
        let behind = thread::spawn(move || {
            stand_back();
            (nice(), thread::spawn(nice).join().unwrap())
        });
        let expected = (before + BEHIND).min(19);
        assert_eq!(behind.join().unwrap(), (expected, expected));
        assert_eq!(nice(), before);
    }
}
