//! One envelope into rows, and each row to the step that its kind asks for
//! (session-model.md 3).

use bytes::Bytes;

use super::{
    call::Call,
    classify::{self, Classified},
    closing::{Closing, LEAST_KEPT},
    exchanges::Told,
    fact::Fact,
    head::Control,
    hops::{ClientKey, Side},
    key::JsonId,
    machine::{At, Machine},
    peers,
    row::{Kind, RowFlags, RowId},
    stored::{Held, Stored},
};
use crate::{
    base::Timestamp,
    record::{Direction, Envelope, HttpFields, Payload, Place, Seq, Transport},
    wire::{is_empty_batch, split_batch},
};

/// Bytes charged for a held frame beside its line: what its envelope and its place in memory take.
const FRAME_COST: u64 = size_of::<Held>() as u64 + 64;
/// Bytes charged beside for what a frame says of HTTP.
const HTTP_COST: u64 = size_of::<HttpFields>() as u64;
/// Exchanges that are remembered as having carried a message of the client.
const MAX_EXCHANGES: usize = 65_536;

/// What comes with an envelope.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival<'a> {
    pub(super) place: Option<&'a Place>,
    pub(super) arrived: Option<Timestamp>,
    /// It comes after frames with higher numbers and could not be sorted in.
    pub(super) out_of_place: bool,
    /// The highest unseen number below its own.
    pub(super) hole: u64,
    /// Its bytes are held, until memory is short.
    pub(super) held: bool,
}

impl Machine {
    /// Folds one envelope that is not a record of the recorder itself; answers what was charged.
    pub(super) fn frame(
        &mut self,
        envelope: &Envelope,
        arrival: Arrival<'_>,
        facts: &mut Vec<Fact>,
    ) -> u64 {
        self.head.take(envelope);
        if let Some(classified) = classify::by_envelope(envelope) {
            let body = match &envelope.payload {
                Payload::Nothing => None,
                Payload::Raw(raw) => Some((raw.bytes().clone(), true)),
                Payload::Text(text) => Some((text.clone(), false)),
            };
            return self.element(envelope, arrival, (0, body), classified, facts);
        }
        let http = envelope.http.as_deref();
        let Payload::Raw(raw) = &envelope.payload else {
            let text = match &envelope.payload {
                Payload::Text(text) => Some(text),
                _ => None,
            };
            let body = text.map(|text| (text.clone(), false));
            let classified = classify::by_text(text.map(|text| &**text), http);
            return self.element(envelope, arrival, (0, body), classified, facts);
        };
        let bytes = raw.bytes();
        if !bytes.starts_with(b"[") || envelope.batch && !is_empty_batch(bytes) {
            let classified = classify::by_payload(bytes, http, envelope.redacted);
            let body = Some((bytes.clone(), true));
            return self.element(envelope, arrival, (0, body), classified, facts);
        }
        self.old_batch(envelope, arrival, bytes, facts)
    }

    /// The whole array in one envelope, as old logs hold it (session-model.md 3.3).
    fn old_batch(
        &mut self,
        envelope: &Envelope,
        arrival: Arrival<'_>,
        bytes: &Bytes,
        facts: &mut Vec<Fact>,
    ) -> u64 {
        let http = envelope.http.as_deref();
        let Some(ranges) = split_batch(bytes) else {
            // Empty, which is no message, or longer than anybody should split.
            let mut classified = classify::by_payload(bytes, http, envelope.redacted);
            if !is_empty_batch(bytes) {
                classified.kind = Kind::Other;
            }
            let body = Some((bytes.clone(), true));
            return self.element(envelope, arrival, (0, body), classified, facts);
        };
        let size = u32::try_from(ranges.len()).unwrap_or(u32::MAX);
        let mut charge = 0;
        for (index, range) in (0..).zip(ranges) {
            let slice = bytes.slice(range);
            let classified = classify::by_payload(&slice, http, envelope.redacted);
            let body = Some((slice.clone(), true));
            charge += self.element(envelope, arrival, (index, body), classified, facts);
        }
        self.note_batch(envelope.seq, 0, size);
        charge
    }

    /// Notes on its first row which place a frame has in a batch of that size.
    fn note_batch(&mut self, seq: Seq, index: u32, size: u32) {
        if let Some(extra) = self.extra_mut(RowId { seq, index: 0 }) {
            extra.batch = Some((index, size));
        }
    }

    /// One row.
    fn element(
        &mut self,
        envelope: &Envelope,
        arrival: Arrival<'_>,
        (index, body): (u32, Option<(Bytes, bool)>),
        mut classified: Classified<'_>,
        facts: &mut Vec<Fact>,
    ) -> u64 {
        let row = RowId {
            seq: envelope.seq,
            index,
        };
        let side = peers::side_of(&envelope.direction);
        let mut at = self.at(row, side.unwrap_or(Side::Server), envelope, arrival);
        if classified.kind == Kind::Response
            && at.truncated
            && classified.parts.id.is_none()
            && !self.names_one(&at)
        {
            (classified.kind, classified.unlinked) = (Kind::Other, true);
        }
        let charge = self.add_row(envelope, arrival, row, body, &classified);
        if envelope.batch && envelope.batch_size > 0 {
            self.note_batch(row.seq, envelope.batch_index, envelope.batch_size);
        }
        facts.push(Fact::NewRow(row));
        self.count_kind(classified.kind, side, &mut at, envelope);
        at.unparsed = classified.unparsed;
        self.judge_frame(&at, envelope, &classified);
        if classified.unlinked {
            self.unlinked_frame(at.side, at.row.seq, facts);
        }
        self.step(&at, envelope.http.as_deref(), &classified, facts);
        charge
    }

    fn at(&mut self, row: RowId, side: Side, envelope: &Envelope, arrival: Arrival<'_>) -> At {
        let http = envelope.http.as_deref();
        let conn_id = http
            .and_then(|http| http.conn_id.as_deref())
            .unwrap_or_default();
        At {
            row,
            ts: envelope.ts,
            arrived: arrival.arrived,
            hole: arrival.hole,
            side,
            conn: self.peers.number(conn_id),
            exchange: http.map_or(0, |http| http.exchange),
            client: ClientKey::default(),
            status: classify::status_of(envelope),
            http: http.is_some() || envelope.transport == Transport::Http,
            truncated: envelope.truncated,
            cut: envelope.truncated && is_cut(envelope, side),
            redacted: envelope.redacted,
            challenge: http.is_some_and(|http| is_challenge(http, envelope.redacted)),
            undelivered: http.is_some_and(|http| http.undelivered),
            unparsed: false,
        }
    }

    /// The key of the request that a frame of the server belongs to, else of the last one on its
    /// connection (session-model.md 4.1).
    fn server_client(&mut self, at: &At, http: Option<&HttpFields>) -> ClientKey {
        let hop = self.hops.exchanges.first(at.exchange);
        match hop.and_then(|hop| self.hops.get(hop)) {
            Some(hop) => hop.client,
            None => self.peers.server_key(http, at.conn),
        }
    }

    /// Remarks that a frame earns by itself.
    fn judge_frame(&mut self, at: &At, envelope: &Envelope, frame: &Classified<'_>) {
        self.judge_shape(at, frame);
        self.judge_batch(at, envelope, frame);
        self.judge_direction(at, &envelope.direction);
        if frame.unparsed
            && let Some(extra) = self.extra_mut(at.row)
        {
            extra.unparsed_body = true;
        }
    }

    fn step(
        &mut self,
        at: &At,
        http: Option<&HttpFields>,
        frame: &Classified<'_>,
        facts: &mut Vec<Fact>,
    ) {
        self.give_up_late_answers(facts);
        self.not_the_last(at, facts);
        self.exchange_went_well(at, facts);
        if at.redacted {
            self.unseen.redacted = at.row.seq;
            if matches!(frame.kind, Kind::Invalid | Kind::Other) {
                // It may have been a request, with any token, or an answer.
                self.hidden_token(at.side);
                self.note_nameless(at);
                self.hide_state(at.side, at.row.seq);
            }
        }
        match frame.kind {
            Kind::Request => self.request(at, http, &frame.parts, facts),
            Kind::Response => self.response(at, http, &frame.parts, facts),
            Kind::Notification => self.notification(at, http, &frame.parts, facts),
            Kind::Transport => {
                self.transport(at, http, facts);
                if http.is_some_and(|http| http.unobserved.is_some()) {
                    self.unobserved_answer(at, facts);
                }
            }
            Kind::Stderr | Kind::Invalid | Kind::Other => {}
        }
    }

    fn count_kind(&mut self, kind: Kind, side: Option<Side>, at: &mut At, envelope: &Envelope) {
        let counters = &mut self.counters;
        counters.frames += 1;
        match kind {
            Kind::Request => counters.requests += 1,
            Kind::Response => counters.responses += 1,
            Kind::Notification => counters.notifications += 1,
            Kind::Stderr => counters.stderr_lines += 1,
            Kind::Invalid => {
                counters.invalid += 1;
                self.mark_problem(at.row);
            }
            Kind::Transport | Kind::Other => {}
        }
        if let Some(ts) = envelope.ts {
            self.activity.count(ts);
        }
        self.counters.truncated += u64::from(envelope.truncated);
        let message = matches!(kind, Kind::Request | Kind::Response | Kind::Notification);
        if side == Some(Side::Client) && message && at.exchange != 0 {
            if self.exchanges.len() >= MAX_EXCHANGES {
                self.forgotten.exchanges += self.exchanges.len() as u64;
                self.exchanges.clear();
            }
            self.exchanges.insert(at.exchange);
        }
        if at.http && side == Some(Side::Server) {
            at.client = self.server_client(at, envelope.http.as_deref());
        } else if at.http && side == Some(Side::Client) && kind == Kind::Response {
            let http = envelope.http.as_deref();
            at.client = self.peers.sender_key(http, at.conn);
        }
        self.drop_early(at.ts, at.hole, Some(at.side));
    }

    fn add_row(
        &mut self,
        envelope: &Envelope,
        arrival: Arrival<'_>,
        row: RowId,
        body: Option<(Bytes, bool)>,
        frame: &Classified<'_>,
    ) -> u64 {
        let mut stored = Stored::new(row, envelope.ts, frame.kind);
        let length = body.as_ref().map_or(0, |(bytes, _)| bytes.len());
        let size = envelope.wire_bytes.unwrap_or(length as u64);
        stored.size = u32::try_from(size).unwrap_or(u32::MAX);
        stored.set_status(classify::status_of(envelope), body.is_some());
        stored.set_flags(RowFlags {
            truncated: envelope.truncated,
            redacted: envelope.redacted,
            out_of_place: arrival.out_of_place,
            ..RowFlags::default()
        });
        if let Some(method) = &frame.parts.method {
            stored.set_method(self.atoms.number(method));
        }
        stored.json_id = frame
            .parts
            .id
            .map(|id| JsonId::new(&String::from_utf8_lossy(id)));
        self.rows.set_direction(&mut stored, &envelope.direction);
        if let Some(place) = arrival.place {
            self.rows.set_place(&mut stored, place);
        }
        let line = arrival.place.map_or(0, |place| u64::from(place.length));
        // The first row of a frame is charged for its line, further elements share it.
        let line = if row.index == 0 {
            line.max(length as u64)
        } else {
            0
        };
        if !arrival.held {
            self.rows.insert(stored);
            return 0;
        }
        let http = envelope.http.as_ref().map_or(0, |_| HTTP_COST);
        let charge = FRAME_COST + http + line;
        stored.held = Some(Box::new(Held {
            body,
            envelope: (row.index == 0).then(|| envelope.clone()),
            arrived: arrival.arrived,
            charge,
        }));
        self.rows.insert(stored);
        charge
    }

    /// Folds a record of the recorder itself: it has no row.
    pub(super) fn meta(
        &mut self,
        envelope: &Envelope,
        arrival: Arrival<'_>,
        facts: &mut Vec<Fact>,
    ) {
        self.head.take(envelope);
        let had_ended = self.head.end.is_some();
        match self.head.control(envelope) {
            Control::None if self.head.end.is_some() && !had_ended => {
                self.drop_early(envelope.ts, arrival.hole, None);
                self.release();
            }
            Control::None => {}
            Control::Unobserved => self.unlinked_frame(Side::Client, envelope.seq, facts),
            Control::Closed { exchange, by } => {
                let closing = Closing {
                    exchange,
                    seq: envelope.seq,
                    by,
                    ts: envelope.ts,
                    hole: arrival.hole,
                };
                self.exchange_closed(&closing, facts);
            }
        }
    }

    /// The session ended, and no frame follows: forgets what only further ones are compared with.
    fn release(&mut self) {
        self.hops.release();
        self.repeats.release();
        self.caches.release();
    }

    /// Counts a frame that could not be linked to anything.
    fn unlinked_frame(&mut self, sender: Side, seq: Seq, facts: &mut Vec<Fact>) {
        let count = self.unlinked.of(sender);
        *count = count.saturating_add(1);
        // It may have been a request.
        self.hidden_token(sender);
        self.hide_state(sender, seq);
        self.unlinked_answer(sender, seq, facts);
    }

    /// A response whose body went by unread (session-model.md 3.4).
    fn unobserved_answer(&mut self, at: &At, facts: &mut Vec<Fact>) {
        if at.exchange == 0 {
            self.unlinked_frame(at.side, at.row.seq, facts);
            return;
        }
        let mut hidden = Vec::new();
        for side in [Side::Client, Side::Server] {
            let exchanges = &mut self.hops.exchanges;
            let waiting = exchanges.tell(at.exchange, side, Told::Unobserved, at.row.seq);
            hidden.extend_from_slice(&waiting);
            for hop in waiting {
                if let Some(call) = self.hops.get(hop).map(|hop| hop.call) {
                    self.change(call, facts, Call::set_maybe_lost);
                }
            }
        }
        self.hide_states_of(&hidden);
        self.unseen.answer = at.row.seq;
    }
}

/// An answer over HTTP of which less is there than a recorder keeps (session-model.md 8.3).
fn is_cut(envelope: &Envelope, side: Side) -> bool {
    let length = match &envelope.payload {
        Payload::Nothing => 0,
        Payload::Raw(raw) => raw.bytes().len(),
        Payload::Text(text) => text.len(),
    };
    let exchange = envelope.http.as_deref().map_or(0, |http| http.exchange);
    side == Side::Server && exchange != 0 && length < LEAST_KEPT
}

/// A refusal that says what is needed to go on (session-model.md 8.4).
fn is_challenge(http: &HttpFields, redacted: bool) -> bool {
    let challenge = http.auth_challenge.as_deref().unwrap_or_default();
    match http.status {
        401 => !challenge.is_empty(),
        // What redaction took away may have named it.
        403 => {
            challenge.contains("insufficient_scope") || redacted && challenge.contains("[REDACTED]")
        }
        _ => false,
    }
}

/// True for records of the recorder itself.
pub(super) fn is_meta(envelope: &Envelope) -> bool {
    envelope.direction == Direction::Meta
}
