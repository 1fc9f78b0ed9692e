//! One session: summary, rows, calls, figures.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use super::{
    call::{Call, CallId},
    client::{Client, Implementation},
    counters::Counters,
    extra::Extra,
    late::{Late, Metas},
    machine::Machine,
    row::{Kind, Row, RowId},
    seqs::Seqs,
    stats::{Durations, ToolStats},
};
use crate::{
    base::Timestamp,
    record::{Direction, Seq, SessionKey, Transport},
};

/// Whether frames may still come (session-model.md 20); set from outside, never folded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Source {
    /// A producer is connected or its lock is held.
    Live,
    /// An `end` record, or the recorder is gone.
    Ended,
    /// Nothing proves either.
    #[default]
    Unknown,
    /// An opened log.
    File,
}

/// The worst of what a session shows (session-model.md 20).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Health {
    /// Nothing to see.
    Ok,
    /// Open calls that fire the pending signal.
    Pending,
    /// Frames with a warning.
    Warn,
    /// Errors.
    Error,
    /// Invalid frames.
    Bad,
}

/// One session of the model. Read through methods; only ingest writes.
#[derive(Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent marks, not states of one machine"
)]
pub struct Session {
    pub(super) key: SessionKey,
    pub(super) machine: Machine,
    /// Numbers seen, folded or not.
    pub(super) seqs: Seqs,
    /// Numbers that the source gave up.
    pub(super) given_up: Seqs,
    pub(super) conflicts: BTreeSet<u64>,
    pub(super) conflicts_beyond: u64,
    pub(super) late: Late,
    /// Records of the recorder itself, held for a new fold.
    pub(super) metas: Metas,
    /// Bytes of frames are held, until memory is short.
    pub(super) holds: bool,
    /// Every frame that was folded is still held: a new fold is possible.
    pub(super) whole: bool,
    /// The highest number that was folded.
    pub(super) folded: Seq,
    /// No row below has bytes in memory.
    pub(super) next_held: RowId,
    /// Bytes charged for what is held.
    pub(super) held_bytes: u64,
    pub(super) source: Source,
    pub(super) loading: bool,
    /// Only numbers that were given up are missing.
    follows: bool,
    pub(super) link_up: bool,
    pub(super) last_arrival: Option<Timestamp>,
    pub(super) approximate: Vec<&'static str>,
}

impl Session {
    pub(super) fn new(key: SessionKey, link_up: bool, follows: bool, holds: bool) -> Self {
        Self {
            key,
            machine: Machine::default(),
            seqs: Seqs::default(),
            given_up: Seqs::default(),
            conflicts: BTreeSet::new(),
            conflicts_beyond: 0,
            late: Late::default(),
            metas: Metas::default(),
            holds,
            whole: holds,
            folded: Seq(0),
            next_held: RowId::default(),
            held_bytes: 0,
            source: Source::default(),
            loading: false,
            follows,
            link_up,
            last_arrival: None,
            approximate: Vec::new(),
        }
    }

    /// Host and id.
    pub fn key(&self) -> &SessionKey {
        &self.key
    }

    /// Last non-empty label (untrusted).
    pub fn label(&self) -> &Arc<str> {
        &self.machine.head.label
    }

    /// First known transport.
    pub fn transport(&self) -> Option<&Transport> {
        self.machine.head.transport.as_ref()
    }

    /// Process id of the recorder, out of the session id (log-format 2.1).
    pub fn pid(&self) -> Option<u32> {
        let id = self.key.id.split('#').next().unwrap_or_default();
        let (rest, last) = id.rsplit_once('-')?;
        let is_nonce = last.len() == 12 && last.bytes().all(|byte| byte.is_ascii_hexdigit());
        let of_nonce = rest
            .rsplit_once('-')
            .filter(|_| is_nonce)
            .and_then(|(_, pid)| pid.parse().ok());
        of_nonce.or_else(|| last.parse().ok())
    }

    /// Command of the start record (untrusted).
    pub fn command(&self) -> Option<&[String]> {
        self.machine.head.command.as_deref()
    }

    /// Working folder of the start record (untrusted).
    pub fn cwd(&self) -> Option<&str> {
        self.machine.head.cwd.as_deref()
    }

    /// Endpoint of the start record (untrusted).
    pub fn target(&self) -> Option<&str> {
        self.machine.head.target.as_deref()
    }

    /// The newest client that declared itself.
    pub fn client(&self) -> Option<&Implementation> {
        self.machine.peers.newest.as_ref()
    }

    /// All of them.
    pub fn clients(&self) -> &[Client] {
        &self.machine.peers.clients
    }

    /// The server, if it declared itself.
    pub fn server(&self) -> Option<&Implementation> {
        self.machine.peers.server.as_ref()
    }

    /// Revision in force (session-model.md 14.2.2).
    pub fn protocol_version(&self) -> Option<&str> {
        self.machine.peers.version()
    }

    /// Smallest time stamp.
    pub fn first(&self) -> Option<Timestamp> {
        self.machine.head.first
    }

    /// Largest time stamp.
    pub fn last(&self) -> Option<Timestamp> {
        self.machine.head.last
    }

    /// Local arrival of the newest live frame.
    pub fn last_arrival(&self) -> Option<Timestamp> {
        self.last_arrival
    }

    /// Counters.
    pub fn counters(&self) -> &Counters {
        &self.machine.counters
    }

    /// Numbers that nothing can deliver any more (session-model.md 2.3): none while the link is
    /// down; with a feed, or while the log is being read, only those that the source gave up.
    pub fn missing_frames(&self) -> u64 {
        self.holes()
            .iter()
            .filter(|(_, _, may_come)| !may_come)
            .map(|(from, to, _)| (to.0 - from.0).saturating_add(1))
            .fold(0, u64::saturating_add)
    }

    /// Unseen numbers that may still come.
    pub fn not_loaded(&self) -> u64 {
        self.unseen().saturating_sub(self.missing_frames())
    }

    fn unseen(&self) -> u64 {
        let (head, inner) = self.seqs.head_and_inner();
        head.saturating_add(inner)
    }

    /// The writer's own count of losses, from its `end` record.
    pub fn dropped_by_writer(&self) -> Option<u64> {
        self.machine.head.dropped
    }

    /// Exit code and signal of the `end` record; `None` without one.
    pub fn end(&self) -> Option<(Option<i32>, Option<&str>)> {
        let (code, signal) = self.machine.head.end.as_ref()?;
        Some((*code, signal.as_deref()))
    }

    /// True when the end record says that the server ended by itself, with an exit code other than 0
    /// or by a signal. When the client closed first or the recorder was told to end, how the server
    /// ended is no news.
    pub fn server_failed(&self) -> bool {
        self.closed_by() == Some("server")
            && self.end().is_some_and(|(code, signal)| {
                signal.is_some() || code.is_some_and(|code| code != 0)
            })
    }

    /// True for a request of the client that such a server still owed an answer to.
    pub fn is_unanswered(&self, row: &Row<'_>) -> bool {
        let is_request = row.kind == Kind::Request && *row.direction == Direction::ClientToServer;
        if !(is_request && self.server_failed()) {
            return false;
        }
        let call = row.call.and_then(|call| self.call(call));
        call.is_some_and(|call| {
            call.is_awaited() && call.hops.last().is_some_and(|hop| hop.request == row.id)
        })
    }

    /// True when such a server owed any answer.
    pub fn has_unanswered(&self) -> bool {
        let counters = self.counters();
        let others = counters.pending_uncertain.saturating_add(counters.parked);
        self.server_failed() && counters.pending > others
    }

    /// True for a problem row (tui.md U5), those without an answer of a server that failed included.
    pub fn is_problem(&self, row: &Row<'_>) -> bool {
        row.flags.problem || self.is_unanswered(row)
    }

    /// Why figures are floors or estimates; empty when exact.
    pub fn approximate(&self) -> &[&'static str] {
        &self.approximate
    }

    /// Whether frames may still come.
    pub fn source(&self) -> Source {
        self.source
    }

    /// True while something of the session may still come from a log, or its link is down: nothing
    /// may be called missing or unanswered.
    pub fn is_loading(&self) -> bool {
        self.loading || !self.link_up
    }

    /// The worst of what it shows.
    pub fn health(&self) -> Health {
        let counters = self.counters();
        if counters.invalid > 0 {
            Health::Bad
        } else if counters.errors > 0 {
            Health::Error
        } else if counters.warnings > 0 {
            Health::Warn
        } else if self.machine.owed > 0 && !self.is_loading() {
            Health::Pending
        } else {
            Health::Ok
        }
    }

    /// Frames in `n` equal buckets over `span_secs` up to `now`, oldest first (session-model.md 20).
    pub fn activity(&self, n: usize, span_secs: u32, now: Timestamp) -> Vec<u64> {
        self.machine.activity.buckets(n, span_secs, now)
    }

    /// Rows held, in order of `RowId`.
    pub fn row_count(&self) -> usize {
        self.machine.rows.len()
    }

    /// The row at a position.
    pub fn row(&self, position: usize) -> Option<Row<'_>> {
        let rows = &self.machine.rows;
        let row = rows.get(position)?;
        let method = row
            .method()
            .and_then(|number| self.machine.atoms.name(number));
        Some(Row {
            id: row.id(),
            ts: row.ts(),
            direction: rows.direction(row),
            kind: row.kind(),
            method: method.map(|method| &**method),
            json_id: row.json_id.as_deref(),
            size: row.size.into(),
            status: row.status(),
            flags: row.flags(),
            call: row.call(),
            body: row.body(),
            place: rows.place(row),
            batch: self.batch(row.id()),
        })
    }

    fn batch(&self, id: RowId) -> Option<(u32, u32)> {
        let first = RowId { index: 0, ..id };
        let (at, size) = self.extra(first)?.batch?;
        Some((at.saturating_add(id.index), size))
    }

    /// What only some rows have; `None` for the others.
    pub fn extra(&self, id: RowId) -> Option<&Extra> {
        self.machine.extras.get(&id).map(Box::as_ref)
    }

    /// Position of a row.
    pub fn position(&self, id: RowId) -> Option<usize> {
        self.machine.rows.position(id)
    }

    /// Ranges of missing or not loaded numbers: first, last, and whether they may still come.
    pub fn holes(&self) -> Vec<(Seq, Seq, bool)> {
        let mut holes = Vec::new();
        for (from, to) in self.seqs.holes() {
            if !self.link_up {
                holes.push((Seq(from), Seq(to), true));
            } else if self.loading || self.follows {
                self.given_up.split(from, to, &mut |from, to, lost| {
                    holes.push((Seq(from), Seq(to), !lost));
                });
            } else {
                holes.push((Seq(from), Seq(to), false));
            }
        }
        holes
    }

    /// A call by its index; `None` when it was settled long ago and forgotten.
    pub fn call(&self, id: CallId) -> Option<Cow<'_, Call>> {
        self.machine.call(id)
    }

    /// All calls held, in request order.
    pub fn calls(&self) -> Box<dyn Iterator<Item = Cow<'_, Call>> + '_> {
        Box::new(self.machine.calls.iter(&self.machine.atoms))
    }

    /// Durations of finished calls of the client: the server's share (tui.md 6.4).
    pub fn server_times(&self) -> &Durations {
        &self.machine.times
    }

    /// Number of calls ever opened.
    pub fn call_count(&self) -> u64 {
        self.machine.calls.opened()
    }

    /// Figures by tool name (untrusted).
    pub fn tools(&self) -> &BTreeMap<Box<str>, ToolStats> {
        &self.machine.tools
    }
}
