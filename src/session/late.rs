//! Frames that came after higher numbers had been folded: collected, then sorted in by a new fold
//! where everything is still held, else folded where they are (session-model.md 2.2).

use std::collections::{BTreeMap, BTreeSet};

use super::{
    fact::Fact,
    frame::{self, Arrival},
    machine::Machine,
    remark::{Code, Remark},
    row::RowId,
    seqs::Seqs,
    session::Session,
};
use crate::{
    base::Timestamp,
    record::{Envelope, Payload, Place, Seq, says_the_same, takes_precedence},
};

/// Late frames that wait for a new fold beside half of what was folded; then it is made at once.
const MAX_LATE: usize = 4_096;
/// Their bytes.
const MAX_LATE_BYTES: u64 = 16 << 20;
/// Bytes charged for a held record of the recorder beside its payload.
const META_COST: u64 = size_of::<Frame>() as u64 + 64;
/// Numbers with two contents that are told apart.
const MAX_CONFLICTS: usize = 4_096;

/// Said when a late frame could not be sorted in.
const OUT_OF_PLACE: &str = "frames came late, after others had left memory";
/// Said when there were too many gaps.
const MANY_GAPS: &str = "too many gaps to tell apart";
/// Said when percentiles come from a histogram.
const ROUNDED: &str = "percentiles are rounded by up to 1 %";
/// Said when open calls were forgotten.
const FORGOTTEN: &str = "too many open calls, the oldest were forgotten";

/// An envelope with what came beside it.
#[derive(Clone, Debug)]
pub(super) struct Frame {
    pub(super) envelope: Envelope,
    pub(super) place: Option<Place>,
    pub(super) arrived: Option<Timestamp>,
}

/// What waits for a new fold.
#[derive(Debug, Default)]
pub(super) struct Late {
    frames: BTreeMap<Seq, Frame>,
    bytes: u64,
    /// Numbers of those that replace a frame that was folded.
    replacing: BTreeSet<Seq>,
}

impl Late {
    /// Bytes of what waits.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    fn push(&mut self, frame: Frame) {
        self.bytes += payload_len(&frame.envelope);
        if let Some(before) = self.frames.insert(frame.envelope.seq, frame) {
            self.bytes = self.bytes.saturating_sub(payload_len(&before.envelope));
        }
    }

    /// No new fold is possible any more: what was folded stays, whatever is better.
    fn replaces_no_more(&mut self) {
        for seq in std::mem::take(&mut self.replacing) {
            let frame = self.frames.remove(&seq);
            let bytes = frame.map_or(0, |frame| payload_len(&frame.envelope));
            self.bytes = self.bytes.saturating_sub(bytes);
        }
    }
}

/// Records of the recorder itself, held for a new fold like the bodies of rows: they are charged, and
/// leave with the first body, since no new fold is possible then (session-model.md 22.1).
#[derive(Debug, Default)]
pub(super) struct Metas {
    frames: BTreeMap<Seq, Frame>,
    charge: u64,
}

impl Metas {
    fn charge_of(frame: &Frame) -> u64 {
        META_COST + payload_len(&frame.envelope)
    }

    /// Adds one; answers what is charged.
    fn add(&mut self, frame: Frame) -> u64 {
        let charge = Self::charge_of(&frame);
        self.charge += charge;
        self.frames.insert(frame.envelope.seq, frame);
        charge
    }

    /// Takes one out; answers what is given back.
    fn remove(&mut self, seq: Seq) -> u64 {
        let frame = self.frames.remove(&seq);
        let charge = frame.map_or(0, |frame| Self::charge_of(&frame));
        self.charge = self.charge.saturating_sub(charge);
        charge
    }

    /// Time of the oldest in nanoseconds, the smallest where it has none; `None` without any.
    pub(super) fn oldest(&self) -> Option<i64> {
        let (_, frame) = self.frames.first_key_value()?;
        Some(frame.envelope.ts.map_or(i64::MIN, Timestamp::as_nanos))
    }
}

/// Bytes of a payload.
fn payload_len(envelope: &Envelope) -> u64 {
    match &envelope.payload {
        Payload::Nothing => 0,
        Payload::Raw(raw) => raw.bytes().len() as u64,
        Payload::Text(text) => text.len() as u64,
    }
}

impl Session {
    /// Takes one envelope, in whatever order.
    pub(super) fn take(
        &mut self,
        envelope: &Envelope,
        place: Option<&Place>,
        arrived: Option<Timestamp>,
        facts: &mut Vec<Fact>,
    ) {
        if !self.seqs.insert(envelope.seq) {
            self.repeat(envelope, place, arrived);
            return;
        }
        self.last_arrival = self.last_arrival.max(arrived);
        if envelope.seq <= self.folded {
            self.late.push(Frame {
                envelope: envelope.clone(),
                place: place.cloned(),
                arrived,
            });
            facts.push(Fact::Summary);
            let room = MAX_LATE.max(self.machine.rows.len() / 2);
            if self.late.frames.len() > room || self.late.bytes > MAX_LATE_BYTES {
                self.settle(facts);
            }
            return;
        }
        let arrival = Arrival {
            place,
            arrived,
            out_of_place: false,
            hole: self.seqs.hole_below(envelope.seq),
            held: self.holds,
        };
        self.fold(envelope, arrival, facts);
        self.after_fold(facts);
    }

    fn fold(&mut self, envelope: &Envelope, arrival: Arrival<'_>, facts: &mut Vec<Fact>) {
        self.folded = self.folded.max(envelope.seq);
        if !arrival.out_of_place {
            // As it was when the frame came in order: a new fold knows numbers that came later.
            self.machine.set_last_hole(arrival.hole, facts);
        }
        if !frame::is_meta(envelope) {
            self.held_bytes += self.machine.frame(envelope, arrival, facts);
            return;
        }
        self.machine.meta(envelope, arrival, facts);
        facts.push(Fact::Summary);
        if self.whole {
            self.held_bytes += self.metas.add(Frame {
                envelope: envelope.clone(),
                place: arrival.place.cloned(),
                arrived: arrival.arrived,
            });
        }
    }

    /// Something of what was folded leaves memory: no new fold is possible any more, and nothing else
    /// reads the records that were held for it.
    pub(super) fn is_whole_no_more(&mut self) {
        self.whole = false;
        self.late.replaces_no_more();
        let metas = std::mem::take(&mut self.metas);
        self.held_bytes = self.held_bytes.saturating_sub(metas.charge);
    }

    fn after_fold(&mut self, facts: &mut Vec<Fact>) {
        let hole = self.seqs.last_hole();
        self.machine.set_last_hole(hole, facts);
        if self.seqs.is_approximate() {
            self.note(MANY_GAPS);
        }
        if !self.machine.times.is_exact() {
            self.note(ROUNDED);
        }
        if self.machine.forgotten.calls > 0 {
            self.note(FORGOTTEN);
        }
    }

    fn note(&mut self, reason: &'static str) {
        if !self.approximate.contains(&reason) {
            self.approximate.push(reason);
        }
    }

    /// Sorts in what waits; true when rows changed.
    pub(super) fn settle(&mut self, facts: &mut Vec<Fact>) -> bool {
        if self.late.is_empty() {
            return false;
        }
        let late = std::mem::take(&mut self.late).frames;
        let mut inner = Vec::new();
        if self.whole {
            let mut frames = self.held_frames();
            frames.extend(late.into_values());
            frames.sort_by_key(|frame| frame.envelope.seq);
            self.machine = Machine::default();
            (self.held_bytes, self.next_held) = (0, RowId::default());
            for frame in &frames {
                inner.clear();
                let arrival = frame.arrival(&self.seqs, self.holds, false);
                self.fold(&frame.envelope, arrival, &mut inner);
            }
        } else {
            self.note(OUT_OF_PLACE);
            for frame in late.values() {
                inner.clear();
                let row = RowId {
                    seq: frame.envelope.seq,
                    index: 0,
                };
                self.next_held = self.next_held.min(row);
                let arrival = frame.arrival(&self.seqs, self.holds, true);
                self.fold(&frame.envelope, arrival, &mut inner);
            }
        }
        inner.clear();
        self.after_fold(&mut inner);
        self.machine.counters.conflicts = self.conflicts.len() as u64;
        facts.push(Fact::Refolded);
        true
    }

    /// Everything that was folded, out of what is held.
    fn held_frames(&mut self) -> Vec<Frame> {
        let metas = std::mem::take(&mut self.metas);
        let mut frames: Vec<_> = metas.frames.into_values().collect();
        let places: Vec<_> = (0..self.machine.rows.len())
            .map(|at| {
                let row = self.machine.rows.get(at)?;
                self.machine.rows.place(row)
            })
            .collect();
        for (row, place) in self.machine.rows.iter_mut().zip(places) {
            let Some(held) = row.held.take() else {
                continue;
            };
            let arrived = held.arrived;
            if let Some(envelope) = held.envelope {
                frames.push(Frame {
                    envelope,
                    place,
                    arrived,
                });
            }
        }
        frames
    }

    /// A number that was there: compared while both copies are at hand (session-model.md 2.1.2).
    fn repeat(&mut self, envelope: &Envelope, place: Option<&Place>, arrived: Option<Timestamp>) {
        let seq = envelope.seq;
        let known = self.known(seq);
        let Some(known) = known.filter(|known| !says_the_same(known, envelope)) else {
            return;
        };
        let better = takes_precedence(envelope, &known);
        self.conflict(seq);
        if !better {
            return;
        }
        let frame = Frame {
            envelope: envelope.clone(),
            place: place.cloned(),
            arrived,
        };
        if self.late.frames.contains_key(&seq) {
            self.late.push(frame);
            return;
        }
        if !self.whole {
            return;
        }
        // The loser is taken out of what a new fold starts from; the winner comes in with it.
        self.held_bytes = self.held_bytes.saturating_sub(self.metas.remove(seq));
        let row = RowId { seq, index: 0 };
        if let Some(held) = self
            .machine
            .rows
            .by_id_mut(row)
            .and_then(|row| row.held.as_mut())
        {
            held.envelope = None;
        }
        self.late.push(frame);
        self.late.replacing.insert(seq);
    }

    /// The envelope of a number, if it is still held.
    fn known(&self, seq: Seq) -> Option<Envelope> {
        let late = self.late.frames.get(&seq);
        if let Some(frame) = late.or_else(|| self.metas.frames.get(&seq)) {
            return Some(frame.envelope.clone());
        }
        let held = self
            .machine
            .rows
            .by_id(RowId { seq, index: 0 })?
            .held
            .as_ref()?;
        held.envelope.clone()
    }

    /// Notes a number with two contents, once.
    pub(super) fn conflict(&mut self, seq: Seq) {
        if self.conflicts.len() < MAX_CONFLICTS {
            self.conflicts.insert(seq.0);
        } else if !self.conflicts.contains(&seq.0) {
            self.conflicts_beyond += 1;
        }
        self.machine.counters.conflicts = self.conflicts.len() as u64;
    }

    /// What is said of the session as a whole (session-model.md 2.1.2): one remark about numbers with
    /// two contents.
    pub fn remarks(&self) -> Vec<Remark> {
        let Some(first) = self.conflicts.first() else {
            return Vec::new();
        };
        let text = match self.conflicts.len() {
            1 => format!("recorder: wrote two different frames with the number {first}"),
            count => format!(
                "recorder: wrote two different frames with one number, for {count} numbers, the \
                 first is {first}"
            ),
        };
        vec![Remark {
            code: Code::SeqConflict,
            level: Code::SeqConflict.level(),
            text: text.into(),
        }]
    }
}

impl Frame {
    pub(super) fn arrival(&self, seqs: &Seqs, held: bool, out_of_place: bool) -> Arrival<'_> {
        Arrival {
            place: self.place.as_ref(),
            arrived: self.arrived,
            out_of_place,
            hole: seqs.hole_below(self.envelope.seq),
            held,
        }
    }
}
