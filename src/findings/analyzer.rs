//! The only way into the model.

use std::collections::HashMap;

use crate::{
    feed::{FeedEvent, FeedFrame, LinkState, SessionNews},
    record::{Liveness, SessionKey},
    session::{Fact, Limits, Model, Source},
};

/// What one event changed: enough for a screen to know what to redraw.
#[derive(Clone, Debug, Default)]
pub struct Update {
    /// The session that changed.
    pub key: Option<SessionKey>,
    /// What changed in it.
    pub facts: Vec<Fact>,
}

/// What a source said of a session, kept until its first frame is there.
#[derive(Clone, Copy, Debug)]
struct Told {
    loading: Option<bool>,
    source: Option<Source>,
}

/// Owns the model and, from step C on, the states of the rules.
#[derive(Debug)]
pub struct Analyzer {
    model: Model,
    told: HashMap<SessionKey, Told>,
}

impl Analyzer {
    /// An analyzer without sessions.
    pub fn new(limits: Limits) -> Self {
        Self {
            // A feed tells which numbers are lost; all others may still come.
            model: Model::following(limits),
            told: HashMap::new(),
        }
    }

    /// Takes one event of a feed.
    pub fn ingest(&mut self, event: &FeedEvent) -> Update {
        match event {
            FeedEvent::Frame(frame) => self.frame(frame),
            FeedEvent::Session(news) => self.news(news),
            FeedEvent::NotLoaded { key, pending } => {
                self.tell(key, |told| told.loading = Some(*pending))
            }
            FeedEvent::Gap { key, from, to } => {
                self.model.gap(key, *from, *to);
                self.summary(key)
            }
            FeedEvent::GapFilled { key, from, to } => {
                self.model.gap_filled(key, *from, *to);
                self.summary(key)
            }
            FeedEvent::Conflict { key, seq } => {
                self.model.conflict(key, *seq);
                self.summary(key)
            }
            FeedEvent::LogRemoved { key } => self.summary(key),
            FeedEvent::Host(state) => {
                let up = matches!(state.link, LinkState::Live | LinkState::Backfilling);
                self.model.set_link(&state.host, up);
                Update {
                    key: None,
                    facts: vec![Fact::Summary],
                }
            }
            // What is known of hosts, listings, bodies, older frames and prompts is the viewer's business.
            FeedEvent::Listing(_)
            | FeedEvent::Progress(_)
            | FeedEvent::Body { .. }
            | FeedEvent::Recalled { .. }
            | FeedEvent::Prompt { .. }
            | FeedEvent::Notice { .. }
            | FeedEvent::End(_) => Update::default(),
        }
    }

    fn frame(&mut self, frame: &FeedFrame) -> Update {
        let mut facts = Vec::new();
        let place = frame.place.as_ref();
        let envelope = &frame.line.envelope;
        self.model
            .ingest(&frame.key, envelope, place, frame.arrived, &mut facts);
        if facts.first() == Some(&Fact::NewSession) {
            self.begin(&frame.key);
        }
        Update {
            key: Some(frame.key.clone()),
            facts,
        }
    }

    /// What was told of a session before its first frame.
    fn begin(&mut self, key: &SessionKey) {
        let Some(told) = self.told.get(key) else {
            return;
        };
        self.model.set_loading(key, told.loading.unwrap_or(false));
        self.model.set_source(key, told.source.unwrap_or_default());
    }

    fn news(&mut self, news: &SessionNews) -> Update {
        self.tell(&news.key, |told| {
            told.loading = Some(!news.loaded);
            told.source = Some(match news.liveness {
                Liveness::Recording => Source::Live,
                Liveness::Ended | Liveness::EndedWithoutRecord => Source::Ended,
                Liveness::Unknown => Source::Unknown,
            });
        })
    }

    fn tell(&mut self, key: &SessionKey, change: impl FnOnce(&mut Told)) -> Update {
        let told = self.told.entry(key.clone()).or_insert(Told {
            loading: None,
            source: None,
        });
        change(told);
        if let Some(loading) = told.loading {
            self.model.set_loading(key, loading);
        }
        if let Some(source) = told.source {
            self.model.set_source(key, source);
        }
        self.summary(key)
    }

    fn summary(&self, key: &SessionKey) -> Update {
        let known = self.model.session(key).is_some();
        Update {
            key: Some(key.clone()),
            facts: if known {
                vec![Fact::Summary]
            } else {
                Vec::new()
            },
        }
    }

    /// What is known.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// Takes a session out of the view.
    pub fn remove(&mut self, key: &SessionKey) -> bool {
        self.told.remove(key);
        self.model.remove(key)
    }

    /// Sorts in late frames; called about once a second.
    pub fn settle(&mut self) -> Vec<Fact> {
        let mut facts = Vec::new();
        self.model.settle(&mut facts);
        facts
    }
}

#[cfg(test)]
#[path = "analyzer_tests.rs"]
mod tests;
