//! When a run has ended, and who ended it (capture.md 5.4): facts in, a decision out.

use std::time::{Duration, Instant};

/// After this a process that holds the child's standard output is mentioned, or not waited for.
const DESCENDANT: Duration = Duration::from_secs(2);
/// What standard error may still say after everything else has ended.
const STDERR: Duration = Duration::from_millis(500);

/// What has happened so far, each with its moment.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Facts {
    /// The child was reaped.
    pub(super) child_ended: Option<Instant>,
    /// The path of standard output has ended.
    pub(super) stdout_ended: Option<Instant>,
    /// The path of standard error has ended.
    pub(super) stderr_ended: Option<Instant>,
    /// The path of standard input has ended.
    pub(super) input_ended: Option<Instant>,
    /// A termination signal came.
    pub(super) signalled: Option<Instant>,
}

/// What to do now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Look again when something happens, or at this moment.
    Wait(Option<Instant>),
    /// The run has ended.
    Over,
}

impl Facts {
    /// Decides; deadlines that lie in the past are over.
    pub(super) fn verdict(&self, now: Instant) -> Verdict {
        let Some(child_ended) = self.child_ended else {
            return Verdict::Wait(None);
        };
        let deadline = match (self.stdout_ended, self.stderr_ended) {
            (Some(_), Some(_)) => return Verdict::Over,
            (Some(stdout_ended), None) => Some(child_ended.max(stdout_ended) + STDERR),
            (None, _) => self
                .leaves_descendants(child_ended)
                .map(|since| since + DESCENDANT),
        };
        match deadline {
            Some(at) if at <= now => Verdict::Over,
            Some(at) => Verdict::Wait(Some(at)),
            None => Verdict::Wait(self.mention_at().filter(|at| *at > now)),
        }
    }

    /// When it is due to say that another process holds standard output.
    pub(super) fn mention_at(&self) -> Option<Instant> {
        let holds = self.stdout_ended.is_none();
        self.child_ended
            .filter(|_| holds)
            .map(|ended| ended + DESCENDANT)
    }

    /// Since when nobody needs the output of processes that the child left: nobody can
    /// ask them anything any more, or somebody asked for the end.
    fn leaves_descendants(&self, child_ended: Instant) -> Option<Instant> {
        let asked = [self.input_ended, self.signalled];
        let first = asked.into_iter().flatten().min();
        first.map(|at| at.max(child_ended))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Milliseconds of child, stdout, stderr, input, signal (0: not yet), and of now.
    fn check(facts: [u64; 5], now: u64, expected: Result<Option<u64>, ()>) {
        let zero = Instant::now();
        let at = |ms: u64| zero + Duration::from_millis(ms);
        let some = |ms: u64| (ms > 0).then(|| at(ms));
        let [child, stdout, stderr, input, signal] = facts;
        let facts = Facts {
            child_ended: some(child),
            stdout_ended: some(stdout),
            stderr_ended: some(stderr),
            input_ended: some(input),
            signalled: some(signal),
        };
        let expected = expected.map_or(Verdict::Over, |until| Verdict::Wait(until.map(at)));
        assert_eq!(facts.verdict(at(now)), expected, "{facts:?} at {now}");
    }

    #[test]
    fn a_run_ends_with_child_and_output() {
        check([0, 1, 1, 1, 1], 9_000, Ok(None));
        check([10, 20, 30, 0, 0], 30, Err(()));
        check([10, 20, 0, 0, 0], 30, Ok(Some(520)));
        check([20, 10, 0, 0, 0], 520, Err(()));
    }

    #[test]
    fn a_descendant_with_standard_output_is_waited_for_while_somebody_reads() {
        check([10, 0, 0, 0, 0], 20, Ok(Some(2_010)));
        check([10, 0, 5, 0, 0], 9_000, Ok(None));
        check([10, 0, 0, 5, 0], 20, Ok(Some(2_010)));
        check([10, 0, 0, 500, 0], 600, Ok(Some(2_500)));
        check([10, 0, 0, 0, 500], 2_500, Err(()));
        check([10, 0, 0, 900, 500], 2_499, Ok(Some(2_500)));
    }
}
