//! Answers that stand before their requests, in logs of recorders that number the two directions
//! independently (session-model.md 4.4, M6). What they say is kept as it came, so that it has the
//! effect of any other answer once the request is there.

use std::collections::VecDeque;

use super::{
    call::CallId,
    classify::Parts,
    extra::Extra,
    fact::Fact,
    hops::{ClientKey, Side},
    key::Key,
    machine::{At, Machine},
    refused::Verdict,
    remark::Code,
    reuse::{ORDERED_FORMAT, OVERTAKING, Shared},
    row::RowId,
    unmatched::PROVISIONAL,
};
use crate::base::Timestamp;

/// Answers that wait for their request.
const MAX_EARLY: usize = 64;
/// Their bytes.
const MAX_EARLY_BYTES: usize = 4 << 20;

/// All that wait, oldest first.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    list: VecDeque<Early>,
    bytes: usize,
    /// Those that were given up at the bounds: they stay answers to nothing.
    beyond: u64,
}

/// An answer that may have overtaken its request (session-model.md 4.4, M6).
#[derive(Debug)]
struct Early {
    at: At,
    key: Key,
    said: Said,
    /// Number of the peer that its HTTP headers name; 0 without.
    peer: u32,
    id: Option<Box<[u8]>>,
    result: Option<Box<[u8]>>,
    error: Option<Box<[u8]>>,
}

/// What was made of an answer that seemed to answer nothing, or to answer again.
#[derive(Debug, Default)]
pub(super) struct Said {
    /// A request that was cut was spent for it.
    pub(super) excused: bool,
    /// A warning about its frame that stays.
    pub(super) faulty: bool,
    /// It was counted in `errors`.
    pub(super) counted: bool,
    /// The warning that it earns when no request of its own comes, nor can have been lost.
    pub(super) owed: Option<(Code, String)>,
    /// The call that had its answer before.
    pub(super) repeats: Option<CallId>,
}

/// Stands in for a row that left memory while its answer is read, so that what is counted once a
/// row is counted once.
#[derive(Debug, Default)]
pub(super) struct Ghost {
    pub(super) row: RowId,
    pub(super) errored: bool,
    pub(super) extra: Extra,
}

impl Early {
    fn len(&self) -> usize {
        let all = [&self.id, &self.result, &self.error];
        all.into_iter().flatten().map(|part| part.len()).sum()
    }

    fn parts(&self) -> Parts<'_> {
        Parts {
            id: self.id.as_deref(),
            result: self.result.as_deref(),
            error: self.error.as_deref(),
            ..Parts::default()
        }
    }
}

impl Waiting {
    fn add(&mut self, early: Early) {
        let length = early.len();
        if length > MAX_EARLY_BYTES {
            self.beyond = self.beyond.saturating_add(1);
            return;
        }
        while self.list.len() >= MAX_EARLY || self.bytes + length > MAX_EARLY_BYTES {
            self.beyond = self.beyond.saturating_add(1);
            self.remove(0);
        }
        self.bytes += length;
        self.list.push_back(early);
    }

    fn remove(&mut self, at: usize) -> Option<Early> {
        let early = self.list.remove(at)?;
        self.bytes = self.bytes.saturating_sub(early.len());
        Some(early)
    }

    /// Those that were given up at the bounds.
    pub(super) fn beyond(&self) -> u64 {
        self.beyond
    }
}

impl Machine {
    /// True in a log where an answer may stand before its request.
    pub(super) fn may_overtake(&self) -> bool {
        self.head.format < ORDERED_FORMAT
    }

    /// Keeps an answer that seems to answer nothing, or to answer again, until a request of its own
    /// can no longer come.
    pub(super) fn note_early(
        &mut self,
        at: &At,
        key: Key,
        (parts, peer): (&Parts<'_>, Option<&str>),
        said: Said,
    ) {
        if !self.may_overtake() {
            return;
        }
        let peer = self.peers.number(peer.unwrap_or_default());
        self.early.add(Early {
            at: *at,
            key,
            said,
            peer,
            id: parts.id.map(Box::from),
            result: parts.result.map(Box::from),
            error: parts.error.map(Box::from),
        });
    }

    /// Judges answers whose request can no longer come: a frame stands at `ts`, or the session ended
    /// then. `hole`: the highest unseen number below; `side`: who sent the frame.
    pub(super) fn drop_early(&mut self, ts: Option<Timestamp>, hole: u64, side: Option<Side>) {
        let Some(now) = ts.filter(|_| !self.early.list.is_empty()) else {
            return;
        };
        let waits = |early: &Early| {
            let near = |ts| now.nanos_since(ts) <= OVERTAKING;
            side == Some(early.at.side) || early.at.ts.is_none_or(near)
        };
        if self.early.list.iter().all(waits) {
            return;
        }
        let all = std::mem::take(&mut self.early.list);
        let (kept, over): (VecDeque<_>, VecDeque<_>) = all.into_iter().partition(waits);
        self.early.bytes = kept.iter().map(Early::len).sum();
        self.early.list = kept;
        for Early { at, said, .. } in over {
            // Its request may be what was lost since.
            if let Some((code, text)) = said.owed.filter(|_| hole < at.row.seq.0) {
                self.warn_late(at.row, code, text, said.faulty);
            }
        }
    }

    /// Says the warning that an observation stood for; `faulty`: its row has another one.
    fn warn_late(&mut self, row: RowId, code: Code, text: String, faulty: bool) {
        if self.rows.by_id(row).is_some() {
            self.withdraw_all(row, &PROVISIONAL, false);
            self.remark(row, code, text);
        } else if !faulty {
            self.counters.warnings += 1;
        }
    }

    /// The answer to this request that was there before it.
    pub(super) fn answer_early(&mut self, at: &At, key: &Key, facts: &mut Vec<Fact>) {
        let fits = |early: &Early| {
            let sender = ClientKey {
                peer: early.peer,
                ..ClientKey::default()
            };
            early.at.side != at.side
                && early.key == *key
                && early.at.conn == at.conn
                && sender.agrees(at.client)
                && (early.at.exchange == at.exchange || early.at.exchange == 0)
        };
        let Some(found) = self.early.list.iter().position(fits) else {
            return;
        };
        let newest = self.hops.with_key(at.side, key).next().map(|(hop, _)| hop);
        let (Some(early), Some(hop)) = (self.early.remove(found), newest) else {
            return;
        };
        let (at, said) = (early.at, &early.said);
        self.withdraw_unmatched(&at, said, facts);
        if self.rows.by_id(at.row).is_none() {
            let extra = Extra {
                more_warnings: said.faulty,
                ..Extra::default()
            };
            self.ghost = Some(Box::new(Ghost {
                row: at.row,
                errored: false,
                extra,
            }));
        }
        if let Some(entry) = self.hops.get_mut(hop)
            && said.owed.is_none()
            && entry.shared.is_none()
        {
            // It may as well be the answer to a request that is not there.
            entry.shared = Some(Box::new(Shared::one()));
        }
        self.take_peer(&at, early.peer, hop);
        let parts = early.parts();
        let verdict = Verdict::read(&at, self.hops.get(hop), &parts);
        self.answered(&at, hop, &parts, &verdict, facts);
        self.ghost = None;
    }

    /// Takes back what was made of an answer that came before its request.
    fn withdraw_unmatched(&mut self, at: &At, said: &Said, facts: &mut Vec<Fact>) {
        if said.excused {
            let cut = self.unlinked.of(at.side.other());
            *cut = cut.saturating_add(1);
        }
        if said.counted {
            self.unmark_errored(at.row);
        }
        if let Some(call) = said.repeats {
            self.unlink_repeated(at, call, facts);
        }
        self.withdraw_all(at.row, &PROVISIONAL, false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::{Limits, table_tests::fold};

    #[test]
    fn what_waits_is_bounded_in_number_and_bytes() {
        let big = "x".repeat(MAX_EARLY_BYTES / 4);
        let text = |count: usize, filling: &str| {
            let answers = (0..count).map(|id| format!("@10 < R{id} {{text:\"{filling}\"}}\n"));
            answers.collect::<String>() + "@11 > Q0 ping\n@11 > Q3 ping"
        };
        for (count, filling, waits, beyond, answered) in [
            (4, "x", 2, 0, 2),
            (MAX_EARLY, "x", MAX_EARLY - 2, 0, 2),
            (MAX_EARLY + 1, "x", MAX_EARLY - 1, 1, 1),
            (4, &*big, 2, 1, 1),
            (1, &*big.repeat(4), 0, 1, 0),
        ] {
            fold(&text(count, filling), Limits::NONE, |session| {
                let early = &session.machine.early;
                assert_eq!(
                    (early.list.len(), early.beyond()),
                    (waits, beyond),
                    "{count}"
                );
                let bytes: usize = early.list.iter().map(Early::len).sum();
                assert!(early.bytes == bytes && bytes <= MAX_EARLY_BYTES);
                assert_eq!(session.counters().completed, answered, "{count}");
                assert_eq!(session.forgotten().early_answers, beyond);
            });
        }
    }
}
