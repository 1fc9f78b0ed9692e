//! Tool calls that a client sent again before it could know the fate of the first
//! (session-model.md 18). Judged anew whenever one of the two calls changes, so that what is read
//! is always what is known by then.

use std::{collections::VecDeque, sync::Arc};

use super::{
    call::{Call, CallId, CallState, WaitingOn},
    canonical,
    classify::Parts,
    definition::Page,
    fact::Fact,
    hash::{Map, Set},
    hops::{ClientKey, HopId, Side},
    key::JsonId,
    machine::{At, Machine},
    reading::{Params, is_redacted},
    recent::Recent,
    row::RowId,
};
use crate::record::Seq;

/// Calls whose fate is unknown, and reports, that are remembered, each (session-model.md 22.3).
const MAX_REPEATS: usize = 4_096;
/// Tools that declare that a second call changes nothing; beyond, nobody is accused.
const MAX_HARMLESS: usize = 16_384;

/// A tool call that was sent again (session-model.md 18).
#[derive(Clone, Debug, PartialEq)]
pub struct RepeatedCall {
    /// The tool (untrusted).
    pub tool: Arc<str>,
    /// The call that was repeated.
    pub earlier: CallId,
    /// Its request frame.
    pub earlier_row: RowId,
    /// Its id, exact JSON text (untrusted).
    pub earlier_id: JsonId,
    /// The repeat.
    pub call: CallId,
    /// Its request frame.
    pub row: RowId,
    /// Its id, exact JSON text (untrusted).
    pub id: JsonId,
    /// The earlier one had been cancelled when the repeat was sent.
    pub after_cancel: bool,
    /// Both were answered with success; else it may have run twice.
    pub ran_twice: bool,
    /// It is reported, as things stand.
    pub(super) is_reported: bool,
}

/// What is kept to find repeats.
#[derive(Debug)]
pub(super) struct Repeats {
    /// The latest call of each signature while its fate is unknown.
    pub(super) attempts: Recent<u64, CallId>,
    pub(super) reports: VecDeque<RepeatedCall>,
    /// Reports that have left.
    left: u64,
    /// Numbers of reports by either of their calls.
    by_earlier: Map<CallId, u64>,
    by_repeat: Map<CallId, u64>,
    /// Repeats that are reported, those that have left included.
    pub(super) count: u64,
    harmless: Set<Arc<str>>,
    /// Declarations for which there was no room.
    pub(super) harmless_beyond: u64,
    /// A tool without a known name was called: any may have been.
    pub(super) unknown_called: bool,
}

impl Default for Repeats {
    fn default() -> Self {
        Self {
            attempts: Recent::new(MAX_REPEATS),
            reports: VecDeque::new(),
            left: 0,
            by_earlier: Map::default(),
            by_repeat: Map::default(),
            count: 0,
            harmless: Set::default(),
            harmless_beyond: 0,
            unknown_called: false,
        }
    }
}

impl Repeats {
    fn report(&self, number: u64) -> Option<&RepeatedCall> {
        let at = usize::try_from(number.checked_sub(self.left)?).ok()?;
        self.reports.get(at)
    }

    /// Repeats that are reported and have left.
    pub(super) fn forgotten(&self) -> u64 {
        let held = self.reports.iter().filter(|report| report.is_reported);
        self.count.saturating_sub(held.count() as u64)
    }

    fn is_harmless(&self, tool: &Arc<str>) -> bool {
        self.harmless.len() >= MAX_HARMLESS || self.harmless.contains(tool)
    }

    fn add(&mut self, report: RepeatedCall) -> u64 {
        let number = self.left + self.reports.len() as u64;
        self.by_earlier.insert(report.earlier, number);
        self.by_repeat.insert(report.call, number);
        self.reports.push_back(report);
        if self.reports.len() > MAX_REPEATS
            && let Some(oldest) = self.reports.pop_front()
        {
            self.left += 1;
            self.by_earlier.remove(&oldest.earlier);
            self.by_repeat.remove(&oldest.call);
        }
        number
    }
}

/// Absent, `null` and `{}` are equal.
fn is_empty(arguments: &[u8]) -> bool {
    arguments == b"null"
        || arguments
            .strip_prefix(b"{")
            .and_then(|rest| rest.strip_suffix(b"}"))
            .is_some_and(|inner| inner.iter().all(u8::is_ascii_whitespace))
}

impl Machine {
    /// Tool and arguments of a tool call as one number, out of what was hashed anyway; 0 when
    /// unknown, and for a retry, which continues its operation.
    pub(super) fn signature(
        &mut self,
        at: &At,
        parts: &Parts<'_>,
        params: &Params<'_>,
        hop: Option<u32>,
    ) -> u64 {
        let is_call = at.side == Side::Client && parts.method.as_deref() == Some("tools/call");
        if !is_call {
            return 0;
        }
        let name = params.raw.name;
        let is_known = name.is_some_and(|name| !is_redacted(name, at.redacted));
        self.repeats.unknown_called |= !is_known && (at.redacted || at.truncated);
        if at.redacted || at.truncated || params.name_part == 0 || hop != Some(0) {
            return 0;
        }
        let arguments = match params.raw.arguments {
            Some(value) if !is_empty(value) => params.arguments_part,
            _ => 0,
        };
        canonical::mix(params.name_part, arguments)
    }

    /// Compares a tool call that was just opened with the latest one of its kind.
    pub(super) fn attempted(&mut self, at: &At, id: CallId, hop: HopId, facts: &mut Vec<Fact>) {
        let Some(signature) = self.hops.get(hop).map(|hop| hop.signature) else {
            return;
        };
        if signature == 0 {
            return;
        }
        let key = attempt_key(at.client, signature);
        let earlier = self.repeats.attempts.get(&key).copied();
        self.repeats.attempts.insert(key, id);
        let Some(earlier) = earlier else { return };
        let report = self.repeat_of(at, earlier, id);
        if let Some(report) = report {
            let number = self.repeats.add(report);
            self.judge_repeat(number, facts);
        }
    }

    fn repeat_of(&self, at: &At, earlier: CallId, id: CallId) -> Option<RepeatedCall> {
        let (earlier, call) = (self.call(earlier)?, self.call(id)?);
        let (first, repeat) = (earlier.hops.last()?, call.hops.first()?);
        let unknown = match earlier.state {
            CallState::Pending(on) => on == WaitingOn::Responder,
            CallState::Cancelled | CallState::Superseded => true,
            CallState::Failed => earlier.lost || failed_in_between(&earlier),
            CallState::Streaming | CallState::Completed => false,
        };
        // An answer may have gone by unrecorded: then the client knew.
        if !unknown || earlier.uncertain || at.hole > first.request.seq.0 {
            return None;
        }
        Some(RepeatedCall {
            tool: call.operation.clone()?,
            earlier: earlier.id,
            earlier_row: first.request,
            earlier_id: first.json_id.clone(),
            call: call.id,
            row: repeat.request,
            id: repeat.json_id.clone(),
            after_cancel: earlier.cancelled_at.is_some() || earlier.state == CallState::Cancelled,
            ran_twice: false,
            is_reported: false,
        })
    }

    /// A hop got its answer: unless it was cancelled, the client knows the fate of its call.
    pub(super) fn attempt_answered(&mut self, hop: HopId) {
        let Some(entry) = self.hops.get(hop).filter(|hop| hop.signature != 0) else {
            return;
        };
        let (key, call) = (attempt_key(entry.client, entry.signature), entry.call);
        let is_latest = self.repeats.attempts.get(&key) == Some(&call);
        let cancelled = || {
            self.call(call)
                .is_some_and(|call| call.state == CallState::Cancelled)
        };
        if is_latest && !cancelled() {
            self.repeats.attempts.remove(&key);
        }
    }

    /// A call changed: what is said of it and of its repeat may change.
    pub(super) fn judge_repeats_of(&mut self, id: CallId, facts: &mut Vec<Fact>) {
        if self.repeats.reports.is_empty() {
            return;
        }
        let repeats = &self.repeats;
        let numbers =
            [repeats.by_earlier.get(&id), repeats.by_repeat.get(&id)].map(Option::<&u64>::copied);
        for number in numbers.into_iter().flatten() {
            self.judge_repeat(number, facts);
        }
    }

    fn judge_repeat(&mut self, number: u64, facts: &mut Vec<Fact>) {
        let Some(report) = self.repeats.report(number) else {
            return;
        };
        let harmless = self.repeats.is_harmless(&report.tool);
        // A call that was forgotten changes no more: what was said of it stays.
        let (Some(earlier), Some(repeat)) = (self.call(report.earlier), self.call(report.call))
        else {
            return;
        };
        let verdict = verdict(&earlier, &repeat).filter(|_| !harmless);
        drop((earlier, repeat));
        self.say(number, verdict, facts);
    }

    /// Sets what is said of a repeat: nothing, or whether it ran twice for certain.
    fn say(&mut self, number: u64, verdict: Option<bool>, facts: &mut Vec<Fact>) {
        let Some(at) = number
            .checked_sub(self.repeats.left)
            .and_then(|at| usize::try_from(at).ok())
        else {
            return;
        };
        let Some(report) = self.repeats.reports.get_mut(at) else {
            return;
        };
        let before = report.is_reported.then_some(report.ran_twice);
        if before == verdict {
            return;
        }
        report.is_reported = verdict.is_some();
        report.ran_twice = verdict == Some(true);
        let report = report.clone();
        if before.is_some() {
            self.repeats.count = self.repeats.count.saturating_sub(1);
            self.withdraw_repeat(report.row);
        }
        if verdict.is_some() {
            self.repeats.count += 1;
            self.remark_repeat(&report);
        }
        let told = Fact::Changed(report.call);
        if !facts.iter().rev().take(8).any(|fact| *fact == told) {
            facts.push(told);
        }
    }

    /// Remembers tools that declare that a second call changes nothing, once and for all.
    pub(super) fn note_hints(&mut self, page: &Page, facts: &mut Vec<Fact>) {
        let repeats = &mut self.repeats;
        let before = repeats.harmless.len();
        for entry in page.entries.iter().filter(|entry| entry.is_harmless) {
            if repeats.harmless.len() < MAX_HARMLESS {
                repeats.harmless.insert(Arc::clone(&entry.name));
            } else if !repeats.harmless.contains(&entry.name) {
                repeats.harmless_beyond += 1;
            }
        }
        if repeats.harmless.len() == before || repeats.reports.is_empty() {
            return;
        }
        let excused: Vec<u64> = (repeats.left..)
            .zip(&repeats.reports)
            .filter(|(_, report)| report.is_reported && repeats.is_harmless(&report.tool))
            .map(|(number, _)| number)
            .collect();
        for number in excused {
            self.say(number, None, facts);
        }
    }
}

fn attempt_key(client: ClientKey, signature: u64) -> u64 {
    canonical::mix(signature, client.number())
}

/// A failure of HTTP that says nothing of whether the tool ran.
fn failed_in_between(call: &Call) -> bool {
    call.http_status >= 500 && !call.undelivered
}

/// `None` when nothing is to be said; else whether both ran for certain.
fn verdict(earlier: &Call, repeat: &Call) -> Option<bool> {
    if repeat.state == CallState::Failed || repeat.errored || earlier.uncertain {
        return None;
    }
    let answered = earlier.hops.last().is_some_and(|hop| hop.answer.is_some());
    let cancelled =
        earlier.cancelled_at.is_some() || earlier.state == CallState::Cancelled && !answered;
    let known = match earlier.state {
        CallState::Failed => !(earlier.lost || failed_in_between(earlier)),
        CallState::Completed | CallState::Streaming => true,
        CallState::Pending(on) => on != WaitingOn::Responder,
        CallState::Cancelled | CallState::Superseded => answered && !cancelled,
    };
    (!known).then(|| ran_well(earlier) && ran_well(repeat))
}

/// Answered with success, be it late.
fn ran_well(call: &Call) -> bool {
    !call.errored && !call.tool_error && (call.state == CallState::Completed || call.late_result)
}

impl RepeatedCall {
    /// Number of the request frame of the repeat.
    pub fn seq(&self) -> Seq {
        self.row.seq
    }

    /// Number of the request frame of the earlier call.
    pub fn earlier_seq(&self) -> Seq {
        self.earlier_row.seq
    }
}
