//! Logs that the desk looks for: those that the merge asks for, by their names, and those that a start record names
//! (log-format 10.3.5).

use std::{path::PathBuf, sync::Arc};

use serde::Deserialize;

use super::{
    desk::Desk,
    jobs::{Done, Job},
    logs::Stage,
    piece::{LogPath, LogStat, stat_log, stat_own_log},
};
use crate::{
    feed::LogState,
    record::{Envelope, Payload, SessionKey, is_safe_id},
};

impl Desk {
    /// The merge wants a session's log to be read.
    pub(super) fn answer_need(&mut self, key: &SessionKey) {
        let Some(path) = self.logs.of_key(key) else {
            let id = key.id.rsplit_once('#').map_or(&*key.id, |(id, run)| {
                if run.parse::<u32>().is_ok() {
                    id
                } else {
                    &*key.id
                }
            });
            if is_safe_id(id) {
                let path = self.state.sessions().join(format!("{id}.jsonl"));
                self.seek(key.clone(), Arc::new(path), false);
            } else {
                self.tell_log_state(key, LogState::Absent);
            }
            return;
        };
        let Some(log) = self.logs.get_mut(&path) else {
            return;
        };
        if !log.askers.contains(key) {
            log.askers.push(key.clone());
        }
        if log.stage == Stage::Unreadable {
            log.askers.clear();
            self.tell_log_state(key, LogState::Absent);
            return;
        }
        if let Some(follower) = &mut log.follower {
            follower.distrust();
        }
        self.tell_log_state(key, LogState::Reading);
        self.read_on(&path);
    }

    fn seek(&mut self, key: SessionKey, path: LogPath, elsewhere: bool) {
        self.jobs.start(Job::Seek(key.clone()), move || {
            let stat = if elsewhere {
                stat_own_log(&path)
            } else {
                stat_log(&path)
            };
            Done::Sought {
                key,
                path,
                stat,
                elsewhere,
            }
        });
    }

    pub(super) fn take_sought(
        &mut self,
        key: &SessionKey,
        path: &LogPath,
        stat: Option<LogStat>,
        elsewhere: bool,
    ) {
        // An empty file is no log yet (log-format 9.5.2).
        let Some(stat) = stat.filter(|stat| stat.size > 0) else {
            self.tell_log_state(key, LogState::Absent);
            return;
        };
        if self.logs.get(path).is_none() {
            self.logs.add(Arc::clone(path), stat, true);
        }
        if elsewhere {
            self.logs.note_key(path, key);
            if let Some(log) = self.logs.get_mut(path) {
                log.only = Some(Arc::clone(&key.id));
            }
        }
        self.answer_need(key);
        self.tell_listing();
        self.tell(path);
    }

    /// Start and end records say where a log lies and that a run is over.
    pub(super) fn note_control(&mut self, key: &SessionKey, envelope: &Envelope) {
        #[derive(Deserialize)]
        struct Control {
            #[serde(default)]
            event: Option<String>,
            #[serde(default)]
            log: Option<PathBuf>,
        }
        let Payload::Raw(raw) = &envelope.payload else {
            return;
        };
        let Ok(control) = serde_json::from_slice::<Control>(raw.bytes()) else {
            return;
        };
        if control.event.as_deref() == Some("end") {
            self.producers.end(key);
        }
        if let Some(log) = control.log.filter(|log| log.is_absolute())
            && self.logs.of_key(key).is_none()
        {
            self.seek(key.clone(), Arc::new(log), true);
        }
    }
}
