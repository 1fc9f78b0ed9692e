//! What a session lacks: when its log is looked at, and when a number is called missing (log-format
//! 10.3, remote.md 9.4).

use super::{
    limits::MergeLimits,
    merge::{LogState, MergeEvent},
    merge_session::SessionMerge,
};
use crate::{base::Timestamp, record::Seq};

/// A search for numbers that are missing.
#[derive(Debug)]
pub(super) struct Round {
    pub(super) started: Timestamp,
    /// Looks made.
    pub(super) looks: usize,
    /// Highest number that was known when it began: holes below it are what is looked for.
    upto: u64,
}

impl SessionMerge {
    /// Looks for what is missing, if anything is.
    pub(super) fn begin_round(&mut self, started: Timestamp, looks: usize) {
        let reading = self.mark.log == Some(LogState::Reading);
        let only_log = self.held.live_frames() == 0;
        if self.round.is_some() || (reading && only_log) {
            return;
        }
        let known_to = self.mark.settled.max(self.mark.head);
        let front = self.mark.delivered.last();
        if !self.held.is_empty()
            || !self
                .mark
                .delivered
                .is_whole_from(known_to.saturating_add(1))
        {
            let highest = self.held.last().unwrap_or(front);
            self.round = Some(Round {
                started,
                looks,
                upto: highest.max(front),
            });
        }
    }

    /// Asks for the log when that is due.
    pub(super) fn look(&mut self, limits: &MergeLimits, now: Timestamp, out: &mut Vec<MergeEvent>) {
        let Some(round) = &mut self.round else { return };
        let mut due = false;
        while let Some(wait) = limits.look(round.looks)
            && after(round.started, wait) <= now
        {
            round.looks += 1;
            due = true;
        }
        if due {
            self.asked += 1;
            self.ask_again(out);
        }
    }

    pub(super) fn ask_again(&mut self, out: &mut Vec<MergeEvent>) {
        let reading = self.mark.log == Some(LogState::Reading);
        if self.served < self.asked && !reading && !self.outstanding {
            self.outstanding = true;
            out.push(MergeEvent::NeedLog(self.key.clone()));
        }
    }

    /// The log was looked at as often as was asked for.
    fn is_looked(&self) -> bool {
        self.served >= self.asked && self.mark.log != Some(LogState::Reading)
    }

    pub(super) fn hold_end(&self, limits: &MergeLimits) -> Option<Timestamp> {
        let live = self.held.live_frames() > 0;
        (live && self.is_looked()).then(|| after(self.held_since, limits.hold))
    }

    /// The highest number that was looked for, when the looking has ended.
    pub(super) fn round_end(&self, limits: &MergeLimits, now: Timestamp) -> Option<u64> {
        let round = self.round.as_ref()?;
        let over = limits.look(round.looks).is_none() && self.is_looked();
        (over && after(round.started, limits.hold) <= now).then_some(round.upto)
    }

    /// What was looked for is here.
    pub(super) fn is_found(&self) -> bool {
        self.round.is_some() && self.held.is_empty() && self.is_whole()
    }

    pub(super) fn is_whole(&self) -> bool {
        let known_to = self.mark.settled.max(self.mark.head);
        self.mark
            .delivered
            .is_whole_from(known_to.saturating_add(1))
    }

    /// Calls missing what is missing up to `upto`.
    pub(super) fn finish(&mut self, upto: u64, out: &mut Vec<MergeEvent>) {
        self.round = None;
        let upto = upto.min(self.mark.delivered.last());
        if !self.mark.was_read && self.mark.settled == 0 {
            self.mark.head = self.head_without_log();
        }
        let from = self.mark.settled.max(self.mark.head).saturating_add(1);
        self.report_holes(from, upto, out);
        self.mark.settled = self.mark.settled.max(upto);
    }

    pub(super) fn report_holes(&self, from: u64, to: u64, out: &mut Vec<MergeEvent>) {
        for (from, to) in self.mark.delivered.holes(from, to) {
            out.push(MergeEvent::Gap {
                key: self.key.clone(),
                from: Seq(from),
                to: Seq(to),
            });
        }
    }

    /// Numbers in front of what a late joiner without a log saw: not available, never missing
    /// (log-format 9.4.5). A recorder repeats its start record on every connection.
    fn head_without_log(&self) -> u64 {
        let mut ranges = self.mark.delivered.lowest();
        match (ranges.next(), ranges.next()) {
            (Some((1, 1)), Some((first, _))) => first - 1,
            (Some((1, _)) | None, _) => 0,
            (Some((first, _)), _) => first - 1,
        }
    }
}

/// The moment `wait` after another.
pub(super) fn after(moment: Timestamp, wait: std::time::Duration) -> Timestamp {
    let nanos = i64::try_from(wait.as_nanos()).unwrap_or(i64::MAX);
    Timestamp::from_nanos(moment.as_nanos().saturating_add(nanos))
}
