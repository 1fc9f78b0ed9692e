//! The order of all sessions and who shares a name, kept while they change, so that a look at them
//! costs no sorting.

use std::sync::Arc;

use super::{hash::Map, session::Session};
use crate::{
    base::Timestamp,
    record::{HostName, SessionKey},
};

/// By what a session stands where it does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OrderKey {
    first: Option<Timestamp>,
    key: SessionKey,
    label: Arc<str>,
}

impl OrderKey {
    pub(super) fn new(first: Option<Timestamp>, key: &SessionKey, label: Arc<str>) -> Self {
        Self {
            first,
            key: key.clone(),
            label,
        }
    }

    pub(super) fn of(session: &Session) -> Self {
        Self::new(session.first(), session.key(), Arc::clone(session.label()))
    }

    fn rank(&self) -> (Option<Timestamp>, &SessionKey) {
        (self.first, &self.key)
    }

    fn name(&self) -> Name {
        (self.key.host.clone(), Arc::clone(&self.label))
    }
}

/// Host and label.
type Name = (HostName, Arc<str>);

/// Places of sessions, by first time stamp, then key; and by name.
#[derive(Debug, Default)]
pub(super) struct Order {
    /// Each with its place in the model.
    all: Vec<(OrderKey, usize)>,
    by_name: Map<Name, Vec<usize>>,
}

impl Order {
    pub(super) fn insert(&mut self, standing: OrderKey, at: usize) {
        self.by_name.entry(standing.name()).or_default().push(at);
        let place = self.place(&standing);
        self.all.insert(place, (standing, at));
    }

    pub(super) fn remove(&mut self, standing: &OrderKey) {
        let place = self.place(standing);
        let Some((known, at)) = self.all.get(place) else {
            return;
        };
        if known.key != standing.key {
            return;
        }
        let at = *at;
        self.all.remove(place);
        if let Some(namesakes) = self.by_name.get_mut(&standing.name()) {
            namesakes.retain(|known| *known != at);
            if namesakes.is_empty() {
                self.by_name.remove(&standing.name());
            }
        }
    }

    /// All places, in order.
    pub(super) fn all(&self) -> impl Iterator<Item = usize> {
        self.all.iter().map(|(_, at)| *at)
    }

    /// Places of the sessions with the name of this one, itself included.
    pub(super) fn namesakes(&self, session: &Session) -> &[usize] {
        let name = (session.key().host.clone(), Arc::clone(session.label()));
        self.by_name.get(&name).map_or(&[], Vec::as_slice)
    }

    fn place(&self, standing: &OrderKey) -> usize {
        self.all
            .partition_point(|(known, _)| known.rank() < standing.rank())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::{Limits, Model};

    #[test]
    fn sessions_stand_by_their_first_frame_and_are_found_by_name() {
        let host = HostName("h".into());
        let key = |id: &str| SessionKey {
            host: host.clone(),
            id: id.into(),
        };
        let mut model = Model::new(Limits::NONE);
        let take = |model: &mut Model, id: &str, seq: u64, second: u64, label: &str| {
            let line = format!(
                "{{\"session_id\":\"{id}\",\"server_label\":\"{label}\",\"seq\":{seq},\
                 \"ts\":\"2026-09-01T08:00:{second:02}Z\",\"direction\":\"stderr\",\"text\":\"t\"}}"
            );
            let line = crate::record::Decoder::default()
                .decode(bytes::Bytes::from(line))
                .unwrap();
            model.ingest(&key(id), &line.envelope, None, None, &mut Vec::new());
        };
        let ids = |model: &Model| -> Vec<String> {
            let ids = model.sessions().map(|session| session.key().id.to_string());
            ids.collect()
        };
        let namesakes = |model: &Model, id: &str| {
            let session = model.session(&key(id)).unwrap();
            model.namesakes(session).count()
        };
        take(&mut model, "a", 5, 30, "x");
        take(&mut model, "b", 2, 10, "x");
        take(&mut model, "c", 1, 20, "y");
        assert_eq!(ids(&model), ["b", "c", "a"]);
        assert_eq!((namesakes(&model, "a"), namesakes(&model, "c")), (2, 1));
        // Another label, and an earlier frame that came late.
        take(&mut model, "b", 3, 40, "y");
        take(&mut model, "a", 1, 5, "x");
        model.settle(&mut Vec::new());
        assert_eq!(ids(&model), ["a", "b", "c"]);
        assert_eq!((namesakes(&model, "a"), namesakes(&model, "c")), (1, 2));
        assert!(model.remove(&key("b")));
        assert_eq!(ids(&model), ["a", "c"]);
        assert_eq!(namesakes(&model, "c"), 1);
    }
}
