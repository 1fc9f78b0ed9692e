//! Later runs under one session id in one file get names of their own (log-format 9.4.2).

use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    sync::Arc,
};

use super::envelope::{Envelope, Payload, Seq};

/// Session ids whose runs are told apart; what a file holds beyond them keeps its id.
const MOST_IDS: usize = 65_536;

/// What is known of one id.
#[derive(Debug)]
struct Id {
    text: Arc<str>,
    runs: Vec<Run>,
    current: usize,
}

#[derive(Debug)]
struct Run {
    name: Arc<str>,
    /// Fingerprint of its frame 1, once seen.
    first: Option<u64>,
    /// It went beyond frame 1.
    has_more: bool,
}

/// The runs of one file so far.
#[derive(Debug, Default)]
pub(super) struct Runs {
    ids: Vec<Id>,
    by_id: HashMap<Arc<str>, usize>,
    last: usize,
}

impl Runs {
    /// Renames the envelope when it belongs to a later run under its id.
    pub(super) fn assign(&mut self, envelope: &mut Envelope) {
        let Some(id) = self.find(&envelope.session_id) else {
            return;
        };
        if envelope.seq == Seq(1) {
            id.begin(fingerprint(envelope));
        }
        let current = id.current;
        if let Some(run) = id.runs.get_mut(current) {
            run.has_more |= envelope.seq > Seq(1);
            if current > 0 {
                envelope.session_id = Arc::clone(&run.name);
            }
        }
    }

    /// The run that was seen last went on, though the frame was not shown here.
    pub(super) fn go_on(&mut self) {
        if let Some(id) = self.ids.get_mut(self.last)
            && let Some(run) = id.runs.get_mut(id.current)
        {
            run.has_more = true;
        }
    }

    fn find(&mut self, id: &Arc<str>) -> Option<&mut Id> {
        let is_last = self
            .ids
            .get(self.last)
            .is_some_and(|last| Arc::ptr_eq(&last.text, id));
        if !is_last {
            self.last = match self.by_id.get(id) {
                Some(index) => *index,
                None if self.ids.len() >= MOST_IDS => return None,
                None => {
                    self.by_id.insert(Arc::clone(id), self.ids.len());
                    self.ids.push(Id::new(id));
                    self.ids.len() - 1
                }
            };
            // The decoder shares equal ids, so the next look is a comparison of addresses.
            if let Some(known) = self.ids.get_mut(self.last) {
                known.text = Arc::clone(id);
            }
        }
        self.ids.get_mut(self.last)
    }
}

impl Id {
    fn new(id: &Arc<str>) -> Self {
        Self {
            text: Arc::clone(id),
            runs: vec![Run {
                name: Arc::clone(id),
                first: None,
                has_more: false,
            }],
            current: 0,
        }
    }

    /// A frame 1: a repeat goes to the run that it began, one that differs begins a new run if the
    /// present one went on.
    fn begin(&mut self, fingerprint: u64) {
        let known = self
            .runs
            .iter()
            .position(|run| run.first == Some(fingerprint));
        if let Some(index) = known {
            self.current = index;
            return;
        }
        let Some(run) = self.runs.get_mut(self.current) else {
            return;
        };
        if run.first.is_none() {
            run.first = Some(fingerprint);
        } else if run.has_more {
            self.current = self.runs.len();
            self.runs.push(Run {
                name: format!("{}#{}", self.text, self.runs.len() + 1).into(),
                first: Some(fingerprint),
                has_more: false,
            });
        }
    }
}

/// Time and content of a frame 1.
fn fingerprint(envelope: &Envelope) -> u64 {
    let mut hasher = DefaultHasher::new();
    envelope.ts.hash(&mut hasher);
    envelope.direction.as_str().hash(&mut hasher);
    match &envelope.payload {
        Payload::Nothing => {}
        Payload::Raw(raw) => raw.bytes().hash(&mut hasher),
        Payload::Text(text) => text.hash(&mut hasher),
    }
    hasher.finish()
}
