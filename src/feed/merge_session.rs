//! The merge of one session: what was delivered and what is held. `merge_search` looks for the rest.

use super::{
    conflict,
    event::{FeedFrame, Origin},
    held::{Held, HeldFrames},
    limits::{MergeLimits, Overflow},
    merge::{LogState, MergeEvent, Offered},
    merge_search::{Round, after},
    ranges::Ranges,
};
use crate::{
    base::Timestamp,
    record::{Line, Place, Seq, SessionKey},
};

/// How far a log's own lines may be out of order before they are delivered as they come: an old
/// writer stored a few exchanges crosswise (log-format 9.4.4).
const LOG_WINDOW_FRAMES: usize = 256;
const LOG_WINDOW_BYTES: usize = 1 << 20;

/// A line that was offered.
pub(super) struct Arrival {
    pub(super) line: Line,
    pub(super) place: Option<Place>,
    pub(super) origin: Origin,
    pub(super) now: Timestamp,
}

impl Arrival {
    /// A frame that was held under another key.
    pub(super) fn again(frame: FeedFrame, now: Timestamp) -> Self {
        Self {
            line: frame.line,
            place: frame.place,
            origin: frame.origin,
            now: frame.arrived.unwrap_or(now),
        }
    }
}

/// What remains of a session that was forgotten.
#[derive(Debug, Default)]
pub(super) struct Mark {
    pub(super) delivered: Ranges,
    pub(super) settled: u64,
    pub(super) head: u64,
    start: Option<Timestamp>,
    pub(super) log: Option<LogState>,
    pub(super) was_read: bool,
}

/// One session.
#[derive(Debug)]
pub(super) struct SessionMerge {
    pub(super) key: SessionKey,
    pub(super) mark: Mark,
    active: Timestamp,
    pub(super) held: HeldFrames,
    /// Arrival of the oldest held live frame.
    pub(super) held_since: Timestamp,
    pub(super) round: Option<Round>,
    /// Looks at the log: asked for; asked for when the present reading began; made.
    pub(super) asked: u64,
    serving: u64,
    pub(super) served: u64,
    /// `NeedLog` was sent and not answered.
    pub(super) outstanding: bool,
    log_alone: bool,
    told_pending: bool,
}

impl SessionMerge {
    pub(super) fn new(key: SessionKey, mark: Option<Mark>, now: Timestamp) -> Self {
        Self {
            key,
            mark: mark.unwrap_or_default(),
            active: now,
            held: HeldFrames::default(),
            held_since: now,
            round: None,
            asked: 0,
            serving: 0,
            served: 0,
            outstanding: false,
            log_alone: false,
            told_pending: false,
        }
    }

    pub(super) const fn key(&self) -> &SessionKey {
        &self.key
    }

    pub(super) fn into_mark(self) -> Mark {
        self.mark
    }

    pub(super) const fn touch(&mut self, now: Timestamp) {
        self.active = now;
    }

    pub(super) const fn active(&self) -> Timestamp {
        self.active
    }

    /// Nothing is held, looked for or being read.
    pub(super) fn is_idle(&self) -> bool {
        !self.is_waiting() && self.mark.log != Some(LogState::Reading)
    }

    /// Time can change it.
    pub(super) fn is_waiting(&self) -> bool {
        self.round.is_some() || !self.held.is_empty()
    }

    pub(super) const fn held_bytes(&self) -> usize {
        self.held.live_bytes() + self.held.log_bytes()
    }

    pub(super) const fn live_bytes(&self) -> usize {
        self.held.live_bytes()
    }

    /// More live frames are held than may be.
    pub(super) fn is_above(&self, limits: &MergeLimits) -> bool {
        self.held.live_bytes() > limits.bytes_per_session
            || self.held.live_frames() > limits.frames_per_session
    }

    /// The log was chosen and has not been read to an end yet.
    pub(super) fn is_first_reading(&self) -> bool {
        self.mark.log == Some(LogState::Reading) && !self.mark.was_read
    }

    pub(super) fn has_growing_log(&self) -> bool {
        matches!(self.mark.log, Some(LogState::Reading | LogState::ReadToEnd))
    }

    /// True for a start record that is not the one of this run.
    pub(super) fn is_other_start(&self, ts: Option<Timestamp>) -> bool {
        let known = self.mark.start;
        known.is_some() && ts.is_some() && known != ts && self.mark.delivered.last() > 1
    }

    /// Takes a line.
    pub(super) fn offer(
        &mut self,
        arrival: Arrival,
        limits: &MergeLimits,
        out: &mut Vec<MergeEvent>,
    ) -> Offered {
        let number = arrival.line.envelope.seq.0;
        if number == 0 || self.mark.delivered.contains(number) {
            return Offered::Duplicate;
        }
        let (now, origin) = (arrival.now, arrival.origin);
        let frame = self.frame(arrival);
        let known = self.held.get(number).is_some();
        let holds_all = origin == Origin::Socket && self.is_first_reading();
        let next = self.mark.delivered.last().saturating_add(1);
        if number > next || holds_all || known {
            if origin == Origin::Socket && self.log_alone {
                return Offered::Dropped;
            }
            self.hold(number, frame, now, out);
            self.keep_window(out);
        } else if number == next {
            self.deliver(frame, out);
        } else {
            let (from, to) = (Seq(number), Seq(number));
            let key = self.key.clone();
            out.push(MergeEvent::GapFilled { key, from, to });
            self.deliver(frame, out);
        }
        self.advance(limits, now, out);
        let delivered = self.mark.delivered.contains(number);
        match (delivered, known) {
            (true, _) => Offered::Delivered,
            (false, true) => Offered::Duplicate,
            (false, false) => Offered::Held,
        }
    }

    /// Takes what is known of the log.
    pub(super) fn log_state(
        &mut self,
        state: LogState,
        limits: &MergeLimits,
        now: Timestamp,
        out: &mut Vec<MergeEvent>,
    ) {
        self.outstanding = false;
        if state == LogState::Reading {
            self.mark.log = Some(state);
            self.serving = self.asked;
            self.advance(limits, now, out);
            return;
        }
        let was_reading = self.mark.log.replace(state) == Some(LogState::Reading);
        self.served = if was_reading {
            self.serving
        } else {
            self.asked
        };
        if state == LogState::Absent {
            self.served = self.asked;
        } else {
            self.mark.was_read = true;
        }
        self.log_alone &= self.served < self.asked;
        self.release_log(out);
        if self.mark.was_read && self.mark.head > 0 {
            let head = std::mem::take(&mut self.mark.head);
            self.report_holes(1, head, out);
        }
        if state == LogState::Ended {
            self.release(u64::MAX, out);
            self.served = self.asked;
            self.finish(self.mark.delivered.last(), out);
        }
        if was_reading {
            // The reading that just ended was the first look for what it left missing.
            self.drain(out);
            self.begin_round(now, 1);
        }
        self.advance(limits, now, out);
        self.ask_again(out);
    }

    /// The log has to be read again before anything is concluded.
    pub(super) fn read_again(
        &mut self,
        limits: &MergeLimits,
        now: Timestamp,
        out: &mut Vec<MergeEvent>,
    ) {
        self.mark.log = Some(LogState::Reading);
        self.mark.was_read = false;
        self.outstanding = false;
        self.advance(limits, now, out);
    }

    /// Drops the held frames that only a socket brought; the log has to bring them.
    pub(super) fn drop_live(
        &mut self,
        limits: &MergeLimits,
        now: Timestamp,
        out: &mut Vec<MergeEvent>,
    ) {
        drop(self.held.take_live());
        self.log_alone = true;
        self.asked += 1;
        self.advance(limits, now, out);
        self.ask_again(out);
    }

    /// Takes out the held live frames if they begin with the start record of another run than the
    /// log's.
    pub(super) fn take_other_run(&mut self) -> Vec<FeedFrame> {
        let other = self.held.get(1).is_some_and(|held| {
            let ts = held.frame.line.envelope.ts;
            !held.in_log && ts.is_some() && self.mark.start.is_some() && ts != self.mark.start
        });
        if other {
            self.held.take_live()
        } else {
            Vec::new()
        }
    }

    /// Does what is due.
    pub(super) fn advance(
        &mut self,
        limits: &MergeLimits,
        now: Timestamp,
        out: &mut Vec<MergeEvent>,
    ) {
        self.drain(out);
        if !self.is_first_reading() {
            if self.is_found() {
                self.finish(self.mark.delivered.last(), out);
            }
            self.begin_round(now, 0);
            self.tell_pending(out);
            self.look(limits, now, out);
            let full = limits.overflow == Overflow::Deliver && self.is_above(limits);
            if full || self.hold_end(limits).is_some_and(|end| end <= now) {
                self.release(u64::MAX, out);
            }
            if let Some(upto) = self.round_end(limits, now) {
                self.release(upto, out);
                self.finish(upto, out);
                self.begin_round(now, 0);
                self.look(limits, now, out);
            }
        }
        self.tell_pending(out);
    }

    /// Says when the session begins or ceases to lack something that may still come.
    fn tell_pending(&mut self, out: &mut Vec<MergeEvent>) {
        let looks_for = self.round.is_some() || self.log_alone || !self.is_whole();
        let pending = self.is_first_reading() || looks_for;
        if pending != self.told_pending {
            self.told_pending = pending;
            let key = self.key.clone();
            out.push(MergeEvent::Pending { key, pending });
        }
    }

    /// When `advance` has something to do next.
    pub(super) fn deadline(&self, limits: &MergeLimits) -> Option<Timestamp> {
        if self.is_first_reading() {
            return None;
        }
        let look = self.round.as_ref().and_then(|round| {
            let due = limits.look(round.looks)?;
            Some(after(round.started, due))
        });
        look.into_iter().chain(self.hold_end(limits)).min()
    }

    fn frame(&self, arrival: Arrival) -> Box<FeedFrame> {
        let mut line = arrival.line;
        line.envelope.session_id = std::sync::Arc::clone(&self.key.id);
        // What a log gained after it was read once was written just now.
        let is_live = arrival.origin == Origin::Socket || self.mark.was_read;
        Box::new(FeedFrame {
            key: self.key.clone(),
            line,
            place: arrival.place,
            origin: arrival.origin,
            arrived: is_live.then_some(arrival.now),
        })
    }

    fn deliver(&mut self, frame: Box<FeedFrame>, out: &mut Vec<MergeEvent>) {
        let seq = frame.line.envelope.seq;
        self.mark.delivered.insert(seq.0);
        if seq == Seq(1) {
            self.mark.start = frame.line.envelope.ts;
        }
        out.push(MergeEvent::Frame(frame));
    }

    /// Holds a frame; of two with one number one is kept (session-model.md 2.1.2).
    fn hold(
        &mut self,
        number: u64,
        mut frame: Box<FeedFrame>,
        now: Timestamp,
        out: &mut Vec<MergeEvent>,
    ) {
        let mut in_log = frame.origin == Origin::Log;
        if let Some(other) = self.held.remove(number) {
            if in_log && number == 1 && is_other_run(&other, &frame) {
                // Not a conflict: the socket's frame is of a later run and stays for `take_other_run`.
                self.held.insert(number, other);
                self.deliver(frame, out);
                return;
            }
            in_log |= other.in_log;
            let (kept, differ) = conflict::keep_one(other.frame, frame);
            frame = kept;
            if differ {
                let (key, seq) = (self.key.clone(), Seq(number));
                out.push(MergeEvent::Conflict { key, seq });
            }
        }
        if !in_log && self.held.live_bytes() == 0 {
            self.held_since = now;
        }
        self.held.insert(number, Held { frame, in_log });
    }

    /// Delivers what continues the delivered frames.
    fn drain(&mut self, out: &mut Vec<MergeEvent>) {
        loop {
            let Some((number, held)) = self.held.first() else {
                return;
            };
            let continues = number <= self.mark.delivered.last().saturating_add(1);
            // During the first reading the log's own copy comes soon, with its place.
            if !continues || (self.is_first_reading() && !held.in_log) {
                return;
            }
            self.release(number, out);
        }
    }

    /// Delivers all held frames up to `upto`, in order.
    fn release(&mut self, upto: u64, out: &mut Vec<MergeEvent>) {
        while let Some((number, _)) = self.held.first() {
            if number > upto {
                return;
            }
            let Some(held) = self.held.remove(number) else {
                return;
            };
            if number < self.mark.delivered.last() && !self.mark.delivered.contains(number) {
                let (from, to) = (Seq(number), Seq(number));
                let key = self.key.clone();
                out.push(MergeEvent::GapFilled { key, from, to });
            }
            if !self.mark.delivered.contains(number) {
                self.deliver(held.frame, out);
            }
        }
    }

    /// Delivers what the log's lines are held for, once they are too many.
    fn keep_window(&mut self, out: &mut Vec<MergeEvent>) {
        if self.held.log_frames() > LOG_WINDOW_FRAMES || self.held.log_bytes() > LOG_WINDOW_BYTES {
            self.release_log(out);
        }
    }

    /// Delivers held frames up to the highest one that the log has.
    fn release_log(&mut self, out: &mut Vec<MergeEvent>) {
        if let Some(upto) = self.held.last_in_log() {
            self.release(upto, out);
        }
    }
}

/// True when a log's start record and a socket's are of two runs under one id.
fn is_other_run(live: &Held, log: &FeedFrame) -> bool {
    let (live_ts, log_ts) = (live.frame.line.envelope.ts, log.line.envelope.ts);
    !live.in_log && live_ts.is_some() && log_ts.is_some() && live_ts != log_ts
}
