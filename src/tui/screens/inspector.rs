//! One frame in full: its body in three modes, cursor, search, and the frame's pair (tui.md 8, 11).

use std::{ops::Range, sync::Arc};

use bytes::Bytes;

use super::{
    inspector_facts::{facts_of, status, why_invalid},
    inspector_window::Window,
};
use crate::{
    base::Shown,
    record::{Decoder, Place, SessionKey, Transport},
    session::{Body as RowBody, Kind, Row, RowId, Session},
    tui::{
        background::{Laid, Pending, Watch},
        body::{Body, Mode, RAW_FROM, is_slow, lay_out},
        ink::Ink,
        readback::part_of,
        search::MOST_HITS,
        theme::Role,
    },
};

/// Whether the body is at hand (I7).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::tui) enum Load {
    /// It is laid out.
    Ready,
    /// It is being read from the log.
    Reading,
    /// Why it cannot be had.
    Failed(Shown),
}

/// Lines of a body that are searched between two looks at the keys.
const SEARCH_SLICE: usize = 64;

/// State of the panel.
#[derive(Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "facts that do not depend on each other"
)]
pub(in crate::tui) struct State {
    /// Whose frame.
    pub(in crate::tui) key: SessionKey,
    /// Which frame.
    pub(in crate::tui) id: RowId,
    /// Mode of the body.
    pub(in crate::tui) mode: Mode,
    /// Long lines are wrapped.
    pub(in crate::tui) wrap: bool,
    /// First cell on screen when they are not.
    pub(in crate::tui) shift: usize,
    /// Whether the body is at hand.
    pub(in crate::tui) load: Load,
    /// The body laid out.
    pub(in crate::tui) body: Body,
    /// Layouts of a large body in other modes, made in the background.
    pub(in crate::tui) pending: Vec<Pending>,
    /// Show it as soon as it is there.
    pub(in crate::tui) wants_pending: bool,
    /// The body's bytes.
    pub(in crate::tui) source: Bytes,
    /// They are a JSON value.
    pub(in crate::tui) json: bool,
    redacted: bool,
    /// The frame is no message of the protocol.
    invalid: bool,
    /// Why it is none.
    pub(in crate::tui) why_invalid: Option<&'static str>,
    /// What the log line says beside the body.
    pub(in crate::tui) facts: Vec<Ink>,
    /// The line is needed for its facts alone: the body is at hand.
    wants_facts: bool,
    /// What is on screen of the body.
    pub(in crate::tui) window: Window,
    /// Logical line of the cursor.
    pub(in crate::tui) cursor: usize,
    /// What is searched for.
    pub(in crate::tui) search: String,
    /// Its places: logical line and bytes.
    pub(in crate::tui) hits: Vec<(usize, Range<usize>)>,
    /// The current one.
    pub(in crate::tui) hit: usize,
    /// Lines searched so far.
    searched: usize,
    /// The first hit from this line on is still looked for.
    seeks_from: Option<usize>,
    /// Follow was on when the panel was opened (F5).
    pub(in crate::tui) followed: bool,
    chosen_mode: Option<Mode>,
}

impl State {
    /// Opens a frame. Answers with where to read the body when memory has released it.
    pub(in crate::tui) fn open(
        session: &Session,
        id: RowId,
        search: &str,
        followed: bool,
    ) -> (Self, Option<Place>) {
        let mut state = Self {
            key: session.key().clone(),
            id,
            mode: Mode::default(),
            wrap: true,
            shift: 0,
            load: Load::Ready,
            body: Body::default(),
            pending: Vec::new(),
            wants_pending: false,
            source: Bytes::new(),
            json: false,
            redacted: false,
            invalid: false,
            why_invalid: None,
            facts: Vec::new(),
            wants_facts: false,
            window: Window::default(),
            cursor: 0,
            search: search.to_owned(),
            hits: Vec::new(),
            hit: 0,
            searched: 0,
            seeks_from: None,
            followed,
            chosen_mode: None,
        };
        let place = state.go(session, id);
        (state, place)
    }

    /// Shows another frame; mode and search stay, scrolling begins anew (I8, H6).
    pub(in crate::tui) fn go(&mut self, session: &Session, id: RowId) -> Option<Place> {
        self.id = id;
        (self.cursor, self.shift) = (0, 0);
        self.window = Window::default();
        self.body = Body::default();
        (self.pending, self.wants_pending) = (Vec::new(), false);
        self.source = Bytes::new();
        let row = session.row(session.position(id)?)?;
        self.redacted = row.flags.redacted;
        self.invalid = row.kind == Kind::Invalid;
        self.why_invalid = None;
        self.facts = facts_of_row(&row);
        // The model keeps no headers; they are read with the frame's line.
        let has_more = session.transport() == Some(&Transport::Http)
            || row.flags.truncated
            || row.flags.redacted;
        let place = row.place.clone().filter(|_| has_more);
        self.wants_facts = place.is_some();
        match row.body {
            RowBody::Held { bytes, json } => self.take(bytes, json),
            RowBody::Nothing => self.take(Bytes::new(), false),
            RowBody::Released => {
                self.load = Load::Reading;
                if row.place.is_none() {
                    self.load = Load::Failed(Shown::literal(
                        "memory released this body and no log is known that holds it",
                    ));
                }
                self.wants_facts = false;
                return row.place;
            }
        }
        place
    }

    /// True while the line of the frame is awaited.
    pub(in crate::tui) fn is_waiting(&self) -> bool {
        self.load == Load::Reading || self.wants_facts
    }

    /// The frame's line was read from the log.
    pub(in crate::tui) fn arrived(&mut self, line: &Bytes) {
        let has_body = std::mem::take(&mut self.wants_facts);
        let Ok(line) = Decoder::default().decode(line.clone()) else {
            return self.unread("the line in the log is no frame any more", has_body);
        };
        self.facts = facts_of(&line.envelope);
        if has_body {
            return;
        }
        let (bytes, json) = part_of(&line.envelope.payload, self.id);
        self.take(bytes, json);
    }

    /// Why the body cannot be had.
    pub(in crate::tui) fn failed(&mut self, reason: &str) {
        let has_body = std::mem::take(&mut self.wants_facts);
        self.unread(reason, has_body);
    }

    fn unread(&mut self, reason: &str, has_body: bool) {
        let reason = Shown::row(reason.as_bytes());
        if has_body {
            let words = Ink::lit(Role::Muted, "headers not available: ");
            self.facts.push(words.and(Role::Muted, reason));
        } else {
            self.load = Load::Failed(reason);
        }
    }

    fn take(&mut self, bytes: Bytes, json: bool) {
        self.load = Load::Ready;
        self.source = bytes;
        self.json = json;
        self.why_invalid = self
            .invalid
            .then(|| why_invalid(&self.source, json))
            .flatten();
        self.mode = match self.chosen_mode {
            _ if self.source.len() > RAW_FROM => Mode::Raw,
            Some(mode) => mode,
            None => Mode::Pretty,
        };
        self.lay_out();
        if is_slow(self.source.len(), self.json, Mode::Pretty) {
            // It opens raw at once and is read through meanwhile (I6).
            self.ask(Mode::Pretty);
        }
    }

    fn ask(&mut self, mode: Mode) {
        let (source, json, redacted) = (self.source.clone(), self.json, self.redacted);
        self.pending
            .push(Pending::new(source, json, mode, redacted));
    }

    /// The layout in the chosen mode that is being made, or was.
    fn wanted(&self) -> Option<&Pending> {
        self.pending
            .iter()
            .find(|pending| pending.mode == self.mode)
    }

    /// The layout that is waited for.
    pub(in crate::tui) fn awaited(&self) -> Option<&Pending> {
        self.wanted().filter(|_| self.wants_pending)
    }

    fn lay_out(&mut self) {
        self.wants_pending = false;
        if is_slow(self.source.len(), self.json, self.mode) {
            if self.wanted().is_none() {
                self.ask(self.mode);
            }
            self.wants_pending = true;
            return self.show_pending();
        }
        self.show(if self.source.is_empty() {
            Body::default()
        } else {
            let (bytes, watch) = (&self.source, &Watch::default());
            lay_out(bytes, self.json, self.mode, self.redacted, watch)
        });
    }

    /// A layout was made in the background.
    pub(in crate::tui) fn laid(&mut self, laid: &Laid) {
        for pending in &mut self.pending {
            pending.came(laid);
        }
        self.show_pending();
    }

    fn show_pending(&mut self) {
        if let Some(body) = self.awaited().and_then(Pending::body).cloned() {
            self.wants_pending = false;
            self.cursor = 0;
            self.show(body);
        }
    }

    fn show(&mut self, body: Body) {
        self.body = body;
        self.window = Window::default();
        let search = std::mem::take(&mut self.search);
        self.find(&search);
    }

    /// The next mode (I2).
    pub(in crate::tui) fn next_mode(&mut self) {
        self.mode = self.mode.next();
        self.chosen_mode = Some(self.mode);
        self.lay_out();
        if !self.wants_pending {
            self.cursor = 0;
        }
    }

    /// Wrap on or off (I3).
    pub(in crate::tui) fn toggle_wrap(&mut self) {
        self.wrap = !self.wrap;
        self.shift = 0;
    }

    /// Cells of the line numbers with what stands around them.
    pub(in crate::tui) fn gutter(&self) -> usize {
        self.body.len().max(1).ilog10() as usize + 6
    }

    /// Makes the lines on screen, wrapped for a width, and scrolls so that the cursor is among them.
    pub(in crate::tui) fn prepare(&mut self, screen: usize, height: usize) {
        let room = screen.saturating_sub(self.gutter()).max(1);
        let room = self.wrap.then_some(room);
        self.window.prepare(&self.body, room, height, self.cursor);
    }

    /// Moves the cursor.
    pub(in crate::tui) fn step(&mut self, by: isize) {
        self.seeks_from = None;
        self.cursor = self.window.step(&self.body, self.cursor, by);
    }

    /// Scrolls sideways.
    pub(in crate::tui) fn sideways(&mut self, by: i8) {
        if !self.wrap {
            self.shift = self.shift.saturating_add_signed(isize::from(by) * 8);
        }
    }

    /// Searches from the cursor on (H1, H2): a first slice now, the rest by `search_on`.
    pub(in crate::tui) fn find(&mut self, text: &str) {
        text.clone_into(&mut self.search);
        self.hits.clear();
        (self.hit, self.searched) = (0, 0);
        self.seeks_from = Some(self.cursor);
        self.search_on();
    }

    /// True while lines are left to search.
    pub(in crate::tui) fn is_searching(&self) -> bool {
        !self.search.is_empty() && self.hits.len() < MOST_HITS && self.searched < self.body.len()
    }

    /// Searches the next slice of the body.
    pub(in crate::tui) fn search_on(&mut self) {
        let end = self.searched.saturating_add(SEARCH_SLICE);
        while self.is_searching() && self.searched < end {
            let line = self.searched;
            let places = self.body.find(line, &self.search);
            self.hits
                .extend(places.into_iter().map(|place| (line, place)));
            self.searched += 1;
        }
        let Some(from) = self.seeks_from else { return };
        let first = self.hits.partition_point(|(line, _)| *line < from);
        if first < self.hits.len() || !self.is_searching() {
            self.hit = if first < self.hits.len() { first } else { 0 };
            self.seeks_from = None;
            self.show_hit();
        }
    }

    /// Next hit or previous one; answers whether it went round (H3).
    pub(in crate::tui) fn next_hit(&mut self, direction: i8) -> bool {
        let all = self.hits.len();
        if all == 0 {
            return false;
        }
        self.seeks_from = None;
        let next = if direction > 0 {
            self.hit + 1
        } else {
            self.hit + all - 1
        };
        let wrapped = if direction > 0 {
            next >= all
        } else {
            next < all
        };
        self.hit = next % all;
        self.show_hit();
        wrapped
    }

    fn show_hit(&mut self) {
        if let Some((line, place)) = self.hits.get(self.hit) {
            self.cursor = *line;
            self.window.show_byte(place.start);
        }
    }

    /// `3/17 match`, when there is a search.
    pub(in crate::tui) fn match_words(&self) -> Option<String> {
        let more = if self.hits.len() >= MOST_HITS || self.is_searching() {
            "+"
        } else {
            ""
        };
        match self.hits.len() {
            _ if self.search.is_empty() => None,
            0 if self.is_searching() => Some("searching".to_owned()),
            0 => Some("no match".to_owned()),
            all => Some(format!("{}/{all}{more} match", self.hit + 1)),
        }
    }

    /// Redaction marks in the body as it is laid out (I10).
    pub(in crate::tui) fn redacted_places(&self) -> u64 {
        self.body.marks()
    }

    /// The JSON path at the cursor.
    pub(in crate::tui) fn path(&self) -> Option<Arc<str>> {
        self.body.path(self.cursor).filter(|path| !path.is_empty())
    }

    /// The bytes of the value at the cursor.
    pub(in crate::tui) fn value(&self) -> Option<&[u8]> {
        let range = self.body.value(self.cursor)?;
        self.source.get(range)
    }
}

/// What the model itself knows.
fn facts_of_row(row: &Row<'_>) -> Vec<Ink> {
    let known = (row.status > 0).then(|| status(row.status));
    known.into_iter().collect()
}
