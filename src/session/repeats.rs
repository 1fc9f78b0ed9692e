//! Tool calls that a client sent again before it could know the fate of the first
//! (session-model.md 18). Judged anew whenever one of the two calls changes, so that what is read
//! is always what is known by then.

use std::{collections::VecDeque, sync::Arc};

use super::{
    call::{CallId, CallState},
    canonical,
    classify::Parts,
    definition::Page,
    fact::Fact,
    fates::{Fate, Gone, verdict},
    hash::{Map, Set},
    hops::{ClientKey, HopEntry, HopId, Side},
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

/// A call whose fate is unknown.
#[derive(Debug)]
struct Attempt {
    call: CallId,
    /// What is known of it once it left memory.
    gone: Option<Box<Gone>>,
}

/// A report, with the fates of its calls that left memory.
#[derive(Debug)]
struct Report {
    said: RepeatedCall,
    earlier: Option<Fate>,
    repeat: Option<Fate>,
}

/// What is kept to find repeats.
#[derive(Debug)]
pub(super) struct Repeats {
    /// The latest call of each signature while its fate is unknown.
    attempts: Recent<u64, Attempt>,
    /// Their keys by call.
    by_attempt: Map<CallId, u64>,
    reports: VecDeque<Report>,
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
            by_attempt: Map::default(),
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
    fn report(&self, number: u64) -> Option<&Report> {
        let at = usize::try_from(number.checked_sub(self.left)?).ok()?;
        self.reports.get(at)
    }

    /// Repeats that are reported and have left.
    pub(super) fn forgotten(&self) -> u64 {
        let held = self.reports.iter().filter(|report| report.said.is_reported);
        self.count.saturating_sub(held.count() as u64)
    }

    /// Signatures that left at the bound.
    pub(super) fn forgotten_attempts(&self) -> u64 {
        self.attempts.dropped()
    }

    /// The session ended: no repeat follows.
    pub(super) fn release(&mut self) {
        self.attempts.release();
        self.by_attempt = Map::default();
    }

    fn report_mut(&mut self, number: u64) -> Option<&mut Report> {
        let at = usize::try_from(number.checked_sub(self.left)?).ok()?;
        self.reports.get_mut(at)
    }

    /// All reports that are remembered, those that say nothing as things stand included.
    pub(super) fn all(&self) -> impl Iterator<Item = &RepeatedCall> {
        self.reports.iter().map(|report| &report.said)
    }

    fn take_attempt(&mut self, key: u64) -> Option<Attempt> {
        let attempt = self.attempts.remove(&key)?;
        self.by_attempt.remove(&attempt.call);
        Some(attempt)
    }

    pub(super) fn add_attempt(&mut self, key: u64, call: CallId) {
        self.by_attempt.insert(call, key);
        if let Some(left) = self.attempts.insert(key, Attempt { call, gone: None }) {
            self.by_attempt.remove(&left.call);
        }
    }

    /// A call that is looked at no more: what is known of it stays.
    fn leave(&mut self, id: CallId, gone: &Gone) {
        if let Some(key) = self.by_attempt.get(&id)
            && let Some(attempt) = self.attempts.get_mut(key)
        {
            attempt.gone = Some(Box::new(gone.clone()));
        }
        if let Some(number) = self.by_earlier.get(&id).copied()
            && let Some(report) = self.report_mut(number)
        {
            report.earlier = Some(gone.fate);
        }
        if let Some(number) = self.by_repeat.get(&id).copied()
            && let Some(report) = self.report_mut(number)
        {
            report.repeat = Some(gone.fate);
        }
    }

    fn concerns(&self, id: CallId) -> bool {
        self.by_attempt.contains_key(&id)
            || self.by_earlier.contains_key(&id)
            || self.by_repeat.contains_key(&id)
    }

    fn is_harmless(&self, tool: &Arc<str>) -> bool {
        self.harmless.len() >= MAX_HARMLESS || self.harmless.contains(tool)
    }

    fn add(&mut self, said: RepeatedCall, earlier: Option<Fate>) -> u64 {
        let number = self.left + self.reports.len() as u64;
        self.by_earlier.insert(said.earlier, number);
        self.by_repeat.insert(said.call, number);
        self.reports.push_back(Report {
            said,
            earlier,
            repeat: None,
        });
        if self.reports.len() > MAX_REPEATS
            && let Some(oldest) = self.reports.pop_front()
        {
            self.left += 1;
            self.by_earlier.remove(&oldest.said.earlier);
            self.by_repeat.remove(&oldest.said.call);
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
        let Some(signature) = self.hops.get(hop).map(HopEntry::signature) else {
            return;
        };
        if signature == 0 {
            return;
        }
        let key = attempt_key(at.client, signature);
        let earlier = self.repeats.take_attempt(key);
        self.repeats.add_attempt(key, id);
        let Some(earlier) = earlier else { return };
        if let Some((report, fate)) = self.repeat_of(at, &earlier, id) {
            let number = self.repeats.add(report, fate);
            self.judge_repeat(number, facts);
        }
    }

    /// The report, and the fate of an earlier call that left memory.
    fn repeat_of(
        &self,
        at: &At,
        earlier: &Attempt,
        id: CallId,
    ) -> Option<(RepeatedCall, Option<Fate>)> {
        let held = self.call(earlier.call).and_then(|call| Gone::of(&call));
        let first = held.as_ref().or(earlier.gone.as_deref())?;
        // An answer may have gone by unrecorded: then the client knew.
        if !first.fate.is_unknown() || at.hole > first.row.seq.0 {
            return None;
        }
        let call = self.call(id)?;
        let repeat = call.hops.first()?;
        let report = RepeatedCall {
            tool: call.operation.clone()?,
            earlier: earlier.call,
            earlier_row: first.row,
            earlier_id: first.json_id.clone(),
            call: id,
            row: repeat.request,
            id: repeat.json_id.clone(),
            after_cancel: first.fate.is_cancelled(),
            ran_twice: false,
            is_reported: false,
        };
        Some((report, held.is_none().then_some(first.fate)))
    }

    /// A call leaves memory.
    pub(super) fn drop_call(&mut self, id: CallId) {
        if self.repeats.concerns(id)
            && let Some(gone) = self.call(id).and_then(|call| Gone::of(&call))
        {
            self.repeats.leave(id, &gone);
        }
        self.calls.remove(id);
    }

    /// Something became known of a call that had left memory.
    pub(super) fn change_gone(
        &mut self,
        id: CallId,
        change: impl Fn(&mut Fate),
        facts: &mut Vec<Fact>,
    ) {
        let repeats = &mut self.repeats;
        if let Some(key) = repeats.by_attempt.get(&id)
            && let Some(attempt) = repeats.attempts.get_mut(key)
            && let Some(gone) = &mut attempt.gone
        {
            change(&mut gone.fate);
        }
        let numbers = [repeats.by_earlier.get(&id), repeats.by_repeat.get(&id)];
        for number in numbers.map(Option::<&u64>::copied) {
            let Some(report) = number.and_then(|number| repeats.report_mut(number)) else {
                continue;
            };
            let fate = if report.said.earlier == id {
                &mut report.earlier
            } else {
                &mut report.repeat
            };
            if let Some(fate) = fate {
                change(fate);
            }
        }
        self.judge_repeats_of(id, facts);
    }

    /// A hop got its answer: unless it was cancelled, the client knows the fate of its call.
    pub(super) fn attempt_answered(&mut self, hop: HopId) {
        let Some(entry) = self.hops.get(hop).filter(|hop| hop.signature() != 0) else {
            return;
        };
        let (key, call) = (attempt_key(entry.client, entry.signature()), entry.call);
        let latest = self.repeats.attempts.get(&key);
        let is_latest = latest.is_some_and(|attempt| attempt.call == call);
        let cancelled = || {
            self.call(call)
                .is_some_and(|call| call.state == CallState::Cancelled)
        };
        if is_latest && !cancelled() {
            self.repeats.take_attempt(key);
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
        let harmless = self.repeats.is_harmless(&report.said.tool);
        let fate = |id: CallId, gone: Option<Fate>| {
            let held = self.call(id).map(|call| Fate::of(&call));
            held.or(gone)
        };
        let earlier = fate(report.said.earlier, report.earlier);
        let repeat = fate(report.said.call, report.repeat);
        // A call that was forgotten changes no more: what was said of it stays.
        let (Some(earlier), Some(repeat)) = (earlier, repeat) else {
            return;
        };
        let verdict = verdict(earlier, repeat).filter(|_| !harmless);
        self.say(number, verdict, facts);
    }

    /// Sets what is said of a repeat: nothing, or whether it ran twice for certain.
    fn say(&mut self, number: u64, verdict: Option<bool>, facts: &mut Vec<Fact>) {
        let Some(report) = self.repeats.report_mut(number) else {
            return;
        };
        let report = &mut report.said;
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
            .filter(|(_, report)| report.said.is_reported && repeats.is_harmless(&report.said.tool))
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
