//! What the model says of single frames on its own (session-model.md 24). Rules outside the model
//! turn these into findings; nothing here decides a state.

use std::borrow::Cow;

use super::{
    extra::MAX_REMARKS,
    machine::{At, Machine},
    row::RowId,
};
use crate::record::Seq;

/// How much a remark weighs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// Deprecation or cache; never fails a check by default.
    Note,
    /// A fact; never fails a check.
    Observation,
    /// A rule of the specification is broken.
    Warning,
}

macro_rules! codes {
    ($($code:ident $name:literal $level:ident,)*) => {
        /// Which of them; the names are stable.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[expect(missing_docs, reason = "each is what its name says, session-model.md 24 has the table")]
        pub enum Code { $($code,)* }

        impl Code {
            /// All of them, in the order of the table.
            pub const ALL: &[Self] = &[$(Self::$code,)*];

            /// The stable name.
            pub fn name(self) -> &'static str {
                match self { $(Self::$code => $name,)* }
            }

            /// The level where nothing is missing.
            pub fn level(self) -> Level {
                match self { $(Self::$code => Level::$level,)* }
            }
        }
    };
}

codes! {
    JsonrpcMissing "jsonrpc-missing" Warning,
    JsonrpcVersion "jsonrpc-version" Warning,
    ErrorShape "error-shape" Warning,
    MethodAndResult "method-and-result" Warning,
    ResponseBoth "response-both" Warning,
    ResponseEmpty "response-empty" Warning,
    BatchRemoved "batch-removed" Warning,
    IdNull "id-null" Warning,
    IdNotInteger "id-not-integer" Warning,
    IdType "id-type" Warning,
    ResultIdNull "result-id-null" Warning,
    ResponseUnmatched "response-unmatched" Warning,
    ResponseIdType "response-id-type" Warning,
    ResponseDuplicate "response-duplicate" Warning,
    IdReusedInFlight "id-reused-in-flight" Warning,
    IdReusedInSession "id-reused-in-session" Warning,
    ProgressNotIncreasing "progress-not-increasing" Warning,
    ProgressAfterCompletion "progress-after-completion" Warning,
    ProgressTokenShared "progress-token-shared" Warning,
    TaskLeftTerminal "task-left-terminal" Warning,
    MrtrStateChanged "mrtr-state-changed" Warning,
    MrtrStateMissing "mrtr-state-missing" Warning,
    MrtrStateInvented "mrtr-state-invented" Warning,
    MrtrStateElsewhere "mrtr-state-elsewhere" Warning,
    MrtrIdReused "mrtr-id-reused" Warning,
    CacheTtlNegative "cache-ttl-negative" Warning,
    CacheTtlType "cache-ttl-type" Warning,
    CacheTtlMissing "cache-ttl-missing" Warning,
    CacheScopeMissing "cache-scope-missing" Warning,
    CacheScope "cache-scope" Warning,
    CacheScopeChanged "cache-scope-changed" Warning,
    UnknownDirection "unknown-direction" Observation,
    MethodType "method-type" Observation,
    SeqConflict "seq-conflict" Observation,
    ResponseUnmatchedGap "response-unmatched-gap" Observation,
    ResponseAmbiguous "response-ambiguous" Observation,
    ResponseForgotten "response-forgotten" Observation,
    ErrorWithoutRequest "error-without-request" Observation,
    ResponseAfterReuse "response-after-reuse" Observation,
    ResponseRedelivered "response-redelivered" Observation,
    CancelAmbiguous "cancel-ambiguous" Observation,
    CancelAfterAnswer "cancel-after-answer" Observation,
    CancelOfTask "cancel-of-task" Observation,
    LateAnswer "late-answer" Observation,
    ClientDisconnected "client-disconnected" Observation,
    ServerDisconnected "server-disconnected" Observation,
    TaskIdDiffers "task-id-differs" Observation,
    MrtrUnlinked "mrtr-unlinked" Observation,
    MrtrStateReplayed "mrtr-state-replayed" Observation,
    MrtrParamsChanged "mrtr-params-changed" Observation,
    ToolNameRepeated "tool-name-repeated" Observation,
    CallRepeated "call-repeated" Observation,
    CacheRefetch "cache-refetch" Note,
    RetiredCode "retired-code" Note,
}

/// One remark on one frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    /// What it is about.
    pub code: Code,
    /// Its weight here: a warning whose evidence may lie in a lost frame is an observation.
    pub level: Level,
    /// The peer that must act, a colon, and one sentence without a full stop (findings.md 1.6); values
    /// of the wire are escaped and clipped.
    pub text: Cow<'static, str>,
}

impl Machine {
    /// Makes a remark on a row.
    pub(super) fn remark(&mut self, row: RowId, code: Code, text: impl Into<Cow<'static, str>>) {
        self.remark_as(row, code, code.level(), text.into());
    }

    /// Makes one that rests on an earlier frame too: an observation when an unseen number lies
    /// between (session-model.md 2.3.5).
    pub(super) fn remark_since(
        &mut self,
        at: &At,
        earlier: Seq,
        code: Code,
        text: impl Into<Cow<'static, str>>,
    ) {
        let level = if at.hole > earlier.0 {
            code.level().min(Level::Observation)
        } else {
            code.level()
        };
        self.remark_as(at.row, code, level, text.into());
    }

    /// Makes one that rests on the absence of an earlier frame: an observation when any number
    /// below is unseen (session-model.md 2.3.5).
    pub(super) fn remark_absence(
        &mut self,
        at: &At,
        code: Code,
        text: impl Into<Cow<'static, str>>,
    ) {
        self.remark_since(at, Seq(0), code, text);
    }

    /// Makes one of a level of its own.
    pub(super) fn remark_as(
        &mut self,
        row: RowId,
        code: Code,
        level: Level,
        text: Cow<'static, str>,
    ) {
        let Some(extra) = self.extra_mut(row) else {
            return;
        };
        let warned = extra.warns();
        if extra.remarks.len() < MAX_REMARKS {
            extra.remarks.push(Remark { code, level, text });
        } else {
            extra.more_remarks = extra.more_remarks.saturating_add(1);
            extra.more_warnings |= level == Level::Warning;
        }
        if !warned && extra.warns() {
            self.counters.warnings += 1;
        }
    }

    /// Takes a remark back: a later frame showed that it does not hold.
    pub(super) fn withdraw(&mut self, row: RowId, code: Code) {
        let Some(extra) = self.extras.get_mut(&row) else {
            return;
        };
        let warned = extra.warns();
        extra.remarks.retain(|remark| remark.code != code);
        if warned && !extra.warns() {
            self.counters.warnings = self.counters.warnings.saturating_sub(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_words_with_dashes_and_all_different() {
        let mut names: Vec<_> = Code::ALL.iter().map(|code| code.name()).collect();
        for name in &names {
            assert!(
                name.bytes()
                    .all(|byte| byte == b'-' || byte.is_ascii_lowercase())
            );
        }
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Code::ALL.len());
    }
}
