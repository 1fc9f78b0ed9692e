//! Progress: which request it is of, and whether it goes forward (session-model.md 9).

use super::{
    atoms::clip,
    decimal::Decimal,
    fact::Fact,
    hops::{HopEntry, HopId, PerSide, Side, only, same_conn},
    key::Key,
    machine::{At, Machine},
    reading::Params,
    remark::Code,
    tokens::{Phase, Value},
    wording::shown,
};
use crate::{base::Timestamp, record::Seq, wire::json};

/// Bytes of a message, a number or a token that are kept (session-model.md 9).
const MAX_TEXT: usize = 1_024;
/// Bytes of the last value of a token, which a remark quotes.
const MAX_VALUE: usize = 64;

/// What progress was told of a call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// The last value, a JSON number as sent (untrusted).
    pub value: Option<Box<str>>,
    /// The total beside it, as sent (untrusted).
    pub total: Option<Box<str>>,
    /// The message beside it, at most 1 KiB (untrusted), while the call is open: it may be as long as a
    /// body, and of a call that is over it stands in the last of the linked frames.
    pub message: Option<Box<str>>,
    /// When the first notification came.
    pub first_at: Option<Timestamp>,
    /// When the last one came.
    pub last_at: Option<Timestamp>,
}

impl Progress {
    fn take(&mut self, ts: Option<Timestamp>, params: &Params<'_>) {
        self.value = params.raw.progress.and_then(number);
        self.total = params.raw.total.and_then(number);
        let message = params.raw.message.and_then(json::string);
        self.message = message.map(|text| clip(&text, MAX_TEXT).into());
        self.first_at = self.first_at.or(ts);
        self.last_at = ts.or(self.last_at);
    }

    /// The call is over.
    pub(super) fn forget_message(&mut self) {
        self.message = None;
    }
}

/// A number as it was sent.
fn number(value: &[u8]) -> Option<Box<str>> {
    let is_number = matches!(value.first(), Some(b'-' | b'0'..=b'9'));
    let text = std::str::from_utf8(value).ok()?;
    (is_number && text.len() <= MAX_TEXT).then(|| text.into())
}

/// Frames that hide from which request on a token is good, or what an answer says.
#[derive(Debug, Default)]
pub(super) struct Unseen {
    /// A request of a side had a token that was redacted, or cut off.
    tokens: PerSide<bool>,
    /// The last answer whose request is not known, or whose body went by unread.
    pub(super) answer: Seq,
    /// The last frame that was redacted: it may have ended any request or task.
    pub(super) redacted: Seq,
}

impl Machine {
    /// Notes a request of a side whose token, if it has one, is not known.
    pub(super) fn hidden_token(&mut self, side: Side) {
        *self.unseen.tokens.of(side) = true;
    }

    /// Two requests that wait share a token (session-model.md 9.4).
    pub(super) fn watch_token(&mut self, at: &At, hop: HopId) {
        let Some(token) = self.hops.token_mut(hop) else {
            return;
        };
        let blurred = token.blurred;
        let is_active = |other: &HopEntry| {
            let held = other.token.as_ref().map(|token| token.phase) == Some(Phase::Held);
            let unsure = || self.call(other.call).is_some_and(|call| call.uncertain);
            // An answer to a request without an id cannot be known as one.
            let waits = other.waiting && other.key.is_some();
            (waits || held) && other.seq > self.unseen.redacted && !unsure()
        };
        let earlier = self
            .hops
            .rivals(hop, at.http)
            .find(|other| is_active(other));
        let Some(earlier) = earlier.map(|other| other.seq).filter(|_| !blurred) else {
            return;
        };
        let text = format!(
            "{}: each open request needs a progress token of its own; frame {earlier} still uses \
             this one",
            at.side.word(),
        );
        self.remark_since(at, earlier, Code::ProgressTokenShared, text);
    }

    /// A request was answered, and its token is good no longer, unless a task holds it
    /// (session-model.md 9.3, 9.5).
    pub(super) fn answer_token(&mut self, at: &At, hop: HopId) {
        let Some(token) = self.hops.token_mut(hop) else {
            return;
        };
        let phase = match token.phase {
            Phase::Live if at.redacted => Phase::Quiet,
            Phase::Live => Phase::Ended,
            other => other,
        };
        self.set_token(hop, phase);
    }

    /// Notes how long a token is good.
    pub(super) fn set_token(&mut self, hop: HopId, phase: Phase) {
        self.hops.set_phase(hop, phase);
    }

    /// Folds a progress notification.
    pub(super) fn progress(&mut self, at: &At, params: &Params<'_>, facts: &mut Vec<Fact>) {
        let Some(token) = &params.progress_token else {
            return;
        };
        let Some(hop) = self.in_progress(at, token) else {
            return;
        };
        let Some(call) = self.hops.get(hop).map(|hop| hop.call) else {
            return;
        };
        self.judge_progress(at, hop, params);
        self.tie(at.row, call);
        self.change(call, facts, |call| {
            call.progress_count = call.progress_count.saturating_add(1);
            let progress = call.progress.get_or_insert_default();
            progress.take(at.ts, params);
            call.link(at.row);
        });
    }

    /// The request that a token names: on the exchange, else on the connection, else the only one of
    /// the client, else the only one. Those that are not over come first, then the newest.
    fn in_progress(&self, at: &At, token: &Key) -> Option<HopId> {
        let named = self.hops.with_token(at.side.other(), token);
        let open = named.clone().filter(|(_, hop)| is_open(hop));
        let first = |fits: &dyn Fn(&HopEntry) -> bool| {
            let found = open.clone().find(|(_, hop)| fits(hop));
            found.or_else(|| named.clone().find(|(_, hop)| fits(hop)))
        };
        let single = |fits: &dyn Fn(&HopEntry) -> bool| {
            only(open.clone().filter(|(_, hop)| fits(hop)))
                .or_else(|| only(named.clone().filter(|(_, hop)| fits(hop))))
        };
        first(&|hop| at.exchange != 0 && hop.exchange == at.exchange)
            .or_else(|| first(&|hop| same_conn(hop.conn, at.conn, at.http)))
            .map(|(hop, _)| hop)
            .or_else(|| single(&|hop| hop.client == at.client))
            .or_else(|| single(&|_| true))
    }

    fn judge_progress(&mut self, at: &At, id: HopId, params: &Params<'_>) {
        let Some(number) = params.raw.progress.and_then(Decimal::read) else {
            return;
        };
        let text = String::from_utf8_lossy(params.raw.progress.unwrap_or_default());
        let text: Box<str> = clip(&text, MAX_VALUE).into();
        let contested = self.hops.rivals(id, at.http).next().is_some();
        let hidden = *self.unseen.tokens.get(at.side.other());
        let Some(hop) = self.hops.get(id) else { return };
        let (asked, exchange) = (hop.seq, hop.exchange);
        let Some(token) = self.hops.token_mut(id) else {
            return;
        };
        let unsure = contested || token.blurred || hidden;
        let value = Value {
            number,
            text,
            conn: at.conn,
            exchange: at.exchange,
        };
        match token.phase {
            Phase::Quiet => {}
            Phase::Ended => {
                let together = !at.http || at.exchange != 0 && at.exchange == exchange;
                self.hops.use_token(id);
                if together && !unsure {
                    self.progress_after_end(at, asked);
                }
            }
            Phase::Live | Phase::Held if unsure => token.last = None,
            Phase::Live | Phase::Held => {
                let last = token.last.replace(Box::new(value));
                let now = token.last.as_deref();
                if let (Some(last), Some(now)) = (last, now)
                    // Streams may overtake each other, and a resumed one repeats itself.
                    && (last.conn, last.exchange) == (now.conn, now.exchange)
                    && !now.number.is_above(&last.number)
                {
                    let text = format!(
                        "{}: progress has to grow; {} follows {}",
                        at.side.word(),
                        shown(now.text.as_bytes()),
                        shown(last.text.as_bytes()),
                    );
                    // A request that was not seen may have had this token too.
                    self.remark_absence(at, Code::ProgressNotIncreasing, text);
                }
            }
        }
    }

    fn progress_after_end(&mut self, at: &At, asked: Seq) {
        let text = format!(
            "{}: sent progress for the request in frame {asked}, which is over",
            at.side.word(),
        );
        self.remark_absence(at, Code::ProgressAfterCompletion, text);
    }
}

fn is_open(hop: &HopEntry) -> bool {
    hop.token.as_ref().is_some_and(|token| token.is_open())
}
