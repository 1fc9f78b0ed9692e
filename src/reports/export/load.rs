//! The first pass over a log: the model of one session, where its frames lie, and what is wrong
//! with the log.

use std::{collections::HashSet, path::PathBuf, sync::Arc};

use super::{
    offsets::Offsets,
    order::{Entry, Order, Sorted},
};
use crate::{
    base::Timestamp,
    record::{
        Envelope, Error as LogError, HostName, KeptLog, Line, LinesAt, Place, ReadEvent, Scanned,
        SessionKey,
    },
    reports::Error,
    session::{Fact, Limits, Model, Session},
};

/// Sessions of a log that are named.
const MOST_NAMED: usize = 10;

/// Takes what a scan of the log yields.
pub struct Loader {
    wanted: Option<Arc<str>>,
    /// Where every line is, but for its offset.
    place: Place,
    key: Option<SessionKey>,
    /// The session id of the line before and whether it is the chosen one.
    last: Option<(Arc<str>, bool)>,
    model: Model,
    facts: Vec<Fact>,
    order: Order,
    offsets: Offsets,
    others: Others,
    damage: DamageSeen,
}

/// The sessions of the log beside the chosen one.
#[derive(Debug, Default)]
struct Others {
    known: HashSet<Arc<str>>,
    named: Vec<Arc<str>>,
}

#[derive(Debug, Default)]
struct DamageSeen {
    lines: u64,
    first: u64,
    /// Damaged lines behind the last frame of the session.
    open: u64,
    /// Unseen numbers that lie where damaged lines lie.
    explained: u64,
    /// The highest number of the session so far.
    highest: u64,
}

/// One session, ready to be written.
pub struct Exported {
    pub(super) log: KeptLog,
    pub(super) order: Order,
    pub(super) sorted: Sorted,
    model: Model,
    key: SessionKey,
    offsets: Offsets,
    others: Others,
    damage: DamageSeen,
    torn: bool,
    /// The last line was incomplete because it is being written.
    under_way: bool,
}

impl Loader {
    /// A loader of the log of that name; of the session `wanted`, else of the first one.
    pub fn new(path: PathBuf, wanted: Option<&str>) -> Self {
        Self {
            wanted: wanted.map(Into::into),
            place: Place {
                log: Arc::new(path),
                offset: 0,
                length: 0,
            },
            key: None,
            last: None,
            model: Model::new(Limits::FACTS),
            facts: Vec::new(),
            order: Order::default(),
            offsets: Offsets::default(),
            others: Others::default(),
            damage: DamageSeen::default(),
        }
    }

    /// Takes the next event.
    pub fn take(&mut self, event: ReadEvent) {
        match event {
            ReadEvent::Line { line, offset } => {
                if self.is_chosen(&line.envelope.session_id) {
                    self.line(&line, offset);
                }
            }
            ReadEvent::Damage(damage) => {
                if self.damage.lines == 0 {
                    self.damage.first = damage.line;
                }
                self.damage.lines += 1;
                self.damage.open += 1;
            }
        }
    }

    fn is_chosen(&mut self, id: &Arc<str>) -> bool {
        if let Some((last, chosen)) = &self.last
            && Arc::ptr_eq(last, id)
        {
            return *chosen;
        }
        let wanted = self.wanted.get_or_insert_with(|| Arc::clone(id));
        let chosen = **wanted == **id;
        if chosen {
            self.key.get_or_insert_with(|| SessionKey {
                host: HostName::local(),
                id: Arc::clone(id),
            });
        } else {
            self.others.note(id);
        }
        self.last = Some((Arc::clone(id), chosen));
        chosen
    }

    fn line(&mut self, line: &Line, offset: u64) {
        let envelope = &line.envelope;
        let length = u32::try_from(line.bytes.len()).unwrap_or(u32::MAX);
        let seq = envelope.seq;
        self.damage.frame(seq.0);
        if let Some(instant) = envelope.ts {
            self.offsets.take(&line.bytes, instant);
        }
        let entry = Entry {
            seq,
            offset,
            length,
        };
        if self.order.note(entry) {
            let place = entry.place(&self.place);
            self.fold(envelope, &place);
        }
    }

    fn fold(&mut self, envelope: &Envelope, place: &Place) {
        if let Some(key) = &self.key {
            let place = Some(place);
            self.model
                .ingest(key, envelope, place, None, &mut self.facts);
            self.facts.clear();
        }
    }

    /// The log was read through.
    ///
    /// # Errors
    /// The log has no bytes, no envelope, or no such session, or could not be read again.
    pub fn finish(mut self, scanned: Scanned) -> Result<Exported, Error> {
        if self.last.is_none() {
            let path = self.place.log.to_path_buf();
            return Err(Error::Log(if scanned.has_bytes {
                LogError::NotALog { path }
            } else {
                LogError::Empty { path }
            }));
        }
        let Some(key) = self.key.clone() else {
            return Err(Error::NoSession {
                wanted: self.wanted.unwrap_or_default().to_string(),
                held: self.others.names(),
            });
        };
        let sorted = self.sort(&scanned.log)?;
        Ok(Exported {
            log: scanned.log,
            order: self.order,
            sorted,
            model: self.model,
            key,
            offsets: self.offsets,
            others: self.others,
            damage: self.damage,
            torn: scanned.torn,
            under_way: false,
        })
    }

    /// Folds anew, in the order of numbers, where the file has another order.
    fn sort(&mut self, log: &KeptLog) -> Result<Sorted, Error> {
        self.offsets.sort();
        let mut lines = LinesAt::new(log);
        let sorted = self.order.sort(&mut lines, &self.place)?;
        if !sorted.again.is_empty() {
            self.model = Model::new(Limits::FACTS);
        }
        for entry in &sorted.again {
            let place = entry.place(&self.place);
            let line = lines
                .line_to_keep(entry.seq, &place)
                .map_err(Error::of_reading)?;
            self.fold(&line.envelope, &place);
        }
        if let Some(key) = &self.key {
            for seq in &sorted.conflicts {
                self.model.conflict(key, *seq);
            }
        }
        Ok(sorted)
    }
}

impl Others {
    fn note(&mut self, id: &Arc<str>) {
        if self.known.insert(Arc::clone(id)) && self.named.len() < MOST_NAMED {
            self.named.push(Arc::clone(id));
        }
    }

    fn names(&self) -> Vec<String> {
        self.named.iter().map(ToString::to_string).collect()
    }
}

impl DamageSeen {
    /// A frame came: what is missing below it may have stood on the damaged lines before it.
    fn frame(&mut self, seq: u64) {
        let hole = seq.saturating_sub(self.highest).saturating_sub(1);
        self.explained += hole.min(self.open);
        (self.highest, self.open) = (self.highest.max(seq), 0);
    }
}

impl Exported {
    /// The session; `None` cannot be, since it has a frame.
    pub fn session(&self) -> Option<&Session> {
        self.model.session(&self.key)
    }

    /// Id of the session; of a later run under one id with `#N`.
    pub fn id(&self) -> &str {
        &self.key.id
    }

    /// How many other sessions the log holds, and some of their ids.
    pub fn others(&self) -> (usize, Vec<String>) {
        (self.others.known.len(), self.others.names())
    }

    /// Lines that could not be read, and the number of the first.
    pub fn damaged_lines(&self) -> (u64, u64) {
        (self.damage.lines, self.damage.first)
    }

    /// Numbers that were never seen; one that was lost with a damaged line counts there.
    pub fn missing_frames(&self) -> u64 {
        let missing = self.session().map_or(0, Session::missing_frames);
        missing.saturating_sub(self.damage.explained)
    }

    /// The last line is incomplete.
    pub fn is_torn(&self) -> bool {
        self.torn
    }

    /// The last line is not torn but under way: somebody is writing it.
    pub fn set_recording(&mut self) {
        self.under_way = std::mem::take(&mut self.torn);
    }

    /// The log ended inside a line, torn or under way: something of it is not here.
    pub(in crate::reports) fn ends_inside_line(&self) -> bool {
        self.torn || self.under_way
    }

    /// An instant as it was recorded (export.md 3).
    pub(in crate::reports) fn time(&self, instant: Timestamp) -> String {
        self.offsets.show(instant)
    }
}
