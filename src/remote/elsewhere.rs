//! Logs that lie outside the directory of sessions: a recorder that writes elsewhere names its log in
//! its start record (remote.md 9.4.7, log-format 10.3.5).

use std::{borrow::Cow, sync::Arc};

use serde::Deserialize;

use super::{
    logs::{Log, Logs},
    names::is_log_name,
};
use crate::record::{Direction, Envelope, Payload};

/// Such logs of one host; as many as recorders may be connected (remote.md 10). The sessions of
/// further ones come only through the socket.
const MOST: usize = 256;
/// Longest path, in bytes, that is looked at.
const LONGEST_PATH: usize = 4_096;

/// The path that a start record names, if a log may lie there (remote.md 10). What is there is asked
/// apart.
pub(super) fn named_log(envelope: &Envelope) -> Option<String> {
    #[derive(Deserialize)]
    struct Start<'a> {
        #[serde(borrow, default)]
        log: Option<Cow<'a, str>>,
    }
    let (Direction::Meta, Payload::Raw(raw)) = (&envelope.direction, &envelope.payload) else {
        return None;
    };
    let start: Start<'_> = serde_json::from_slice(raw.bytes()).ok()?;
    start
        .log
        .filter(|path| may_be_looked_at(path))
        .map(Cow::into_owned)
}

fn may_be_looked_at(path: &str) -> bool {
    let strange = |character: char| character.is_control() || character == '\u{fffd}';
    path.starts_with('/')
        && path.len() <= LONGEST_PATH
        && !path.contains(strange)
        && !path.split('/').any(|part| part == "..")
        && path.rsplit('/').next().is_some_and(is_log_name)
}

/// True for the session itself and for its later runs.
pub(super) fn is_run_of(id: &str, session: &str) -> bool {
    id.strip_prefix(session)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('#'))
}

impl Logs {
    /// A session's start record names this log. Answers the name that it goes under from now on;
    /// `None` when the session has a log, or may not have this one. Nothing is read of it before its
    /// owner and kind are known.
    pub(super) fn name_elsewhere(&mut self, session: &Arc<str>, path: &str) -> Option<Arc<str>> {
        if self.log_of(session).is_some() || self.named.len() + self.barred.len() >= MOST {
            return None;
        }
        // Several sessions may write to one file; each is read for itself.
        let name: Arc<str> = format!("{path} of {session}").into();
        if self.barred.contains(&name) {
            return None;
        }
        let log = Log::named(&name, path, session);
        self.by_name.insert(Arc::clone(&name), log);
        self.by_session
            .insert(Arc::clone(session), Arc::clone(&name));
        self.named.push(Arc::clone(&name));
        Some(name)
    }

    /// True for a log outside the directory of sessions.
    pub(super) fn is_named(&self, name: &str) -> bool {
        self.get(name).is_some_and(|log| log.only.is_some())
    }

    /// Logs outside the directory of sessions: no listing tells of them.
    pub(super) fn named(&self) -> &[Arc<str>] {
        &self.named
    }

    /// What a start record named is no log of ours: it is not looked at again, and its session comes
    /// only through the socket. One that was read before is only gone. True when it was barred.
    pub(super) fn bar(&mut self, name: &Arc<str>) -> bool {
        let Some(log) = self.by_name.get_mut(name) else {
            return false;
        };
        if log.read > 0 {
            log.removed = true;
            return false;
        }
        let sessions = std::mem::take(&mut log.sessions);
        for session in sessions {
            self.by_session.remove(&session);
        }
        self.by_name.remove(name);
        self.queue.remove(name);
        self.named.retain(|named| named != name);
        self.barred.insert(Arc::clone(name));
        true
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::{
        base::Timestamp,
        record::{Decoder, HostName},
        remote::listing::{FarListing, FarLog},
    };

    fn named(raw: &str) -> Option<String> {
        let line =
            format!("{{\"session_id\":\"a\",\"seq\":1,\"direction\":\"meta\",\"raw\":{raw}}}");
        let line = Decoder::default().decode(Bytes::from(line)).unwrap();
        named_log(&line.envelope)
    }

    #[test]
    fn only_safe_paths_of_logs_are_looked_at() {
        let log = |path: &str| {
            let path = serde_json::to_string(path).unwrap();
            named(&format!("{{\"command\":[\"x\"],\"log\":{path}}}"))
        };
        for path in ["/t/a.jsonl", "/a b/ü.jsonl", "/a..b/x.jsonl"] {
            assert_eq!(log(path).as_deref(), Some(path));
        }
        let long = format!("/{}/a.jsonl", "x/".repeat(2_100));
        for path in [
            "",
            "a.jsonl",
            "./a.jsonl",
            "/etc/passwd",
            "/t/a.jsonl/",
            "/t/../a.jsonl",
            "/t/.a.jsonl",
            "/t/-a.jsonl",
            "/t\u{1b}/a.jsonl",
            "/t/a\n.jsonl",
            "/t\u{fffd}/a.jsonl",
            &long,
        ] {
            assert_eq!(log(path), None, "{path:?}");
        }
        assert_eq!(named("{\"command\":[]}"), None);
        assert_eq!(named("{\"log\":7}"), None);
        assert_eq!(named("[1]"), None);
    }

    fn logs() -> Logs {
        let mut logs = Logs::new(HostName("h".into()), None, Vec::new());
        logs.set_directory("/s/sessions");
        logs
    }

    fn found(name: &Arc<str>, size: u64) -> FarLog {
        FarLog {
            name: Arc::clone(name),
            size,
            modified: 5,
        }
    }

    #[test]
    fn a_named_log_is_read_only_once_its_size_is_known_and_outlives_listings() {
        let mut logs = logs();
        let now = Timestamp::default();
        let name = logs.name_elsewhere(&"a-1".into(), "/t/x.jsonl").unwrap();
        assert_eq!(logs.log_of("a-1"), Some(Arc::clone(&name)));
        assert_eq!(logs.log_of("a-1#2"), Some(Arc::clone(&name)));
        assert!(!logs.check_now(&name), "what it is was not asked yet");
        assert_eq!(logs.take_whole(), [] as [Arc<str>; 0]);
        logs.note(&found(&name, 40), now);
        let reading = logs.start().unwrap();
        assert_eq!(reading.path.to_str(), Some("/t/x.jsonl"));
        assert!(reading.begins_with_envelope);
        logs.finished(&name, reading.follower, reading.small);
        assert_eq!(
            logs.listed(&FarListing::default(), now),
            [] as [Arc<str>; 0]
        );
        assert_eq!(logs.totals(), (1, 1, 0));
        assert_eq!(logs.news(None).len(), 1);
        // The session has its log now; another one may share the file.
        assert_eq!(logs.name_elsewhere(&"a-1".into(), "/t/y.jsonl"), None);
        let other = logs.name_elsewhere(&"b-1".into(), "/t/x.jsonl").unwrap();
        assert_ne!(other, name);
    }

    #[test]
    fn what_is_no_log_of_ours_is_barred() {
        let mut logs = logs();
        let name = logs.name_elsewhere(&"a-1".into(), "/t/x.jsonl").unwrap();
        assert!(logs.bar(&name));
        assert_eq!(logs.log_of("a-1"), None);
        assert_eq!(logs.name_elsewhere(&"a-1".into(), "/t/x.jsonl"), None);
        let name = logs.name_elsewhere(&"a-1".into(), "/t/y.jsonl").unwrap();
        logs.get_mut(&name).unwrap().read = 1;
        assert!(!logs.bar(&name), "it was read before: it is gone");
        assert!(logs.get(&name).unwrap().removed);
    }

    #[test]
    fn a_flood_of_named_logs_ends() {
        let mut logs = logs();
        let named = (0..1_000).filter(|number| {
            let session: Arc<str> = format!("s-{number}").into();
            logs.name_elsewhere(&session, "/t/x.jsonl").is_some()
        });
        assert_eq!(named.count(), MOST);
    }

    #[test]
    fn later_runs_belong_to_their_session() {
        for (id, session, expected) in [
            ("a-1", "a-1", true),
            ("a-1#2", "a-1", true),
            ("a-12", "a-1", false),
            ("a-1", "a-1#2", false),
        ] {
            assert_eq!(is_run_of(id, session), expected, "{id} {session}");
        }
    }
}
