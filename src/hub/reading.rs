//! What the desk does with walks, looks and pieces of logs (log-format 10.2, 10.4).

use std::{collections::HashSet, sync::Arc};

use super::{
    desk::Desk,
    logs::{Stage, stat_of},
    piece::{LogPath, LogStat, Piece, PieceOutcome},
};
use crate::{
    feed::{FeedEvent, FollowStep, LogState, MergeEvent, Origin, Severity},
    record::{Catalogue, Line, Liveness, Place, SessionKey},
};

/// Listed logs whose liveness is asked for in one job.
const LIVENESS_BATCH: usize = 200;

impl Desk {
    /// Takes a walk of the sessions directory.
    pub(super) fn take_walk(&mut self, catalogue: Result<Catalogue, crate::record::Error>) {
        let catalogue = match catalogue {
            Ok(catalogue) => catalogue,
            Err(error) => {
                let text = std::error::Error::source(&error)
                    .map_or_else(|| error.to_string(), |cause| format!("{error}: {cause}"));
                self.backfill.trouble(text, &mut self.out);
                return;
            }
        };
        if self.backfill.has_begun() {
            self.compare(&catalogue);
        } else {
            self.begin(&catalogue);
        }
        self.tell_listing();
    }

    /// Takes pieces of a log.
    pub(super) fn take_piece(&mut self, piece: Piece) {
        let path = Arc::clone(&piece.log);
        let Some(log) = self.logs.get_mut(&path) else {
            return;
        };
        log.follower = Some(piece.follower);
        if piece.replaced {
            log.damaged = 0;
        }
        log.damaged += piece.damaged;
        self.backfill.read(piece.bytes);
        let mut said = Vec::with_capacity(piece.lines.len());
        for (line, offset) in piece.lines {
            self.offer_logged(&path, line, offset, &mut said);
        }
        self.pass_on(said);
        match piece.outcome {
            PieceOutcome::More => self.logs.queue_last(&path),
            PieceOutcome::End { size, liveness } => self.end_reading(&path, size, liveness),
            PieceOutcome::Gone => self.remove(&path),
            PieceOutcome::Failed(error) => self.fail_reading(&path, &error),
        }
        self.tell(&path);
    }

    /// Takes a look at a log that is known or, in a walk, new.
    pub(super) fn take_stat(&mut self, path: &LogPath, stat: LogStat) {
        let Some(log) = self.logs.get_mut(path) else {
            return;
        };
        let before = std::mem::replace(&mut log.stat, stat);
        let changed = stat.size != before.size || stat.identity != before.identity;
        match log.stage {
            Stage::Read { size } if size != stat.size || changed => {
                // A look that is older than the last reading would make a log seem to have shrunk:
                // what did not simply grow is looked at again by the reading itself.
                let grew = stat.size > size && stat.identity == before.identity;
                let forecast = log
                    .follower
                    .as_mut()
                    .filter(|_| grew)
                    .is_some_and(|follower| {
                        follower.grown(stat.size, Some(stat.identity));
                        follower.step() == FollowStep::Idle
                    });
                if forecast {
                    log.stage = Stage::Read { size: stat.size };
                } else {
                    self.read_on(path);
                }
            }
            Stage::Reading if changed => log.again = true,
            Stage::Listed | Stage::Unreadable if changed => self.choose_first(path),
            _ => {}
        }
        self.tell(path);
    }

    /// Recorders that are gone without an end record: their logs are read to the end.
    pub(super) fn take_gone_recorders(&mut self, states: Vec<(LogPath, Liveness)>) {
        for (path, liveness) in states {
            if liveness != Liveness::Recording {
                self.read_on(&path);
            }
        }
    }

    /// A log is no longer there; what was read of it stays.
    pub(super) fn remove(&mut self, path: &LogPath) {
        let name = self.logs.key_of_name(path);
        let Some(log) = self.logs.remove(path) else {
            return;
        };
        if !log.loaded {
            self.backfill.done(&self.clock);
        }
        for key in log.keys.iter().chain(&log.askers) {
            self.tell_log_state(key, LogState::Absent);
        }
        let mut keys = log.keys;
        if keys.is_empty() {
            keys.insert(name);
        }
        let was_recording = log.liveness == Liveness::Recording;
        for key in keys {
            // What said that somebody writes it is gone (history.md 6.2).
            if was_recording && !self.producers.is_recording(&key) {
                self.tell_without_log(key.clone(), Liveness::Unknown);
            }
            self.out.push(FeedEvent::LogRemoved { key });
        }
    }

    /// Reads a log before the others that wait.
    pub(super) fn choose_first(&mut self, path: &LogPath) {
        self.count_chosen(path);
        self.logs.queue_first(path);
    }

    /// Reads a log after the others that wait.
    pub(super) fn choose_last(&mut self, path: &LogPath) {
        self.count_chosen(path);
        self.logs.queue_last(path);
    }

    /// Reads on in a log, now or after the piece that is being read.
    pub(super) fn read_on(&mut self, path: &LogPath) {
        let Some(log) = self.logs.get_mut(path) else {
            return;
        };
        if log.stage == Stage::Reading {
            log.again = true;
        } else {
            self.choose_first(path);
        }
    }

    fn count_chosen(&mut self, path: &LogPath) {
        if let Some(log) = self.logs.get(path)
            && log.stage == Stage::Listed
        {
            self.backfill.add(log.stat.size);
        }
    }

    fn begin(&mut self, catalogue: &Catalogue) {
        let limit = self.history_limit();
        self.logs.begin(catalogue, limit);
        self.backfill.begin();
        let chosen: Vec<_> = self.logs.queue.iter().cloned().collect();
        for path in &chosen {
            if let Some(log) = self.logs.get(path) {
                self.backfill.add(log.stat.size);
            }
        }
        for file in &catalogue.logs {
            self.tell(&file.path);
        }
        let listed = self.logs.listed();
        for paths in listed.chunks(LIVENESS_BATCH) {
            self.ask_liveness(paths.to_vec());
        }
    }

    /// What changed since the walk before.
    fn compare(&mut self, catalogue: &Catalogue) {
        self.logs.skipped = catalogue.skipped;
        let mut present = HashSet::with_capacity(catalogue.logs.len());
        for file in &catalogue.logs {
            present.insert(Arc::clone(&file.path));
            if self.logs.get(&file.path).is_some() {
                self.take_stat(&file.path, stat_of(file));
            } else {
                self.logs.add(Arc::clone(&file.path), stat_of(file), true);
                self.choose_first(&file.path);
                self.tell(&file.path);
            }
        }
        let gone: Vec<_> = self
            .logs
            .iter()
            // A log that became empty is read again when it grows.
            .filter(|log| log.only.is_none() && !present.contains(&log.path))
            .map(|log| Arc::clone(&log.path))
            .collect();
        for path in gone {
            self.remove(&path);
        }
    }

    fn offer_logged(
        &mut self,
        path: &LogPath,
        line: Line,
        offset: u64,
        said: &mut Vec<MergeEvent>,
    ) {
        let key = self.key_of(&line.envelope);
        let Some(log) = self.logs.get(path) else {
            return;
        };
        if log.only.as_ref().is_some_and(|id| **id != *key.id) {
            return;
        }
        let fresh = log.fresh && log.only.is_none();
        let now = self.clock.now();
        if self.logs.note_key(path, &key) {
            if fresh && !self.producers.has(&key) {
                // A session that began after the hub did: all of it is live.
                self.merge.log_state(&key, LogState::ReadToEnd, now, said);
            }
            self.merge.log_state(&key, LogState::Reading, now, said);
            self.tell_found(path, &key);
        }
        let place = Place {
            log: Arc::clone(path),
            offset,
            length: u32::try_from(line.bytes.len()).unwrap_or(u32::MAX),
        };
        self.merge
            .offer(&key, line, Some(place), Origin::Log, now, said);
    }

    /// Tells of a session that was found in a log, and of no other: there may be thousands.
    fn tell_found(&mut self, path: &LogPath, key: &SessionKey) {
        let recording = self.producers.is_recording(key);
        if let Some(log) = self.logs.get_mut(path) {
            if recording {
                log.liveness = Liveness::Recording;
            }
            let news = log.news_of(key.clone());
            self.out.push(FeedEvent::Session(news));
        }
    }

    fn end_reading(&mut self, path: &LogPath, size: u64, liveness: Liveness) {
        let Some(log) = self.logs.get_mut(path) else {
            return;
        };
        log.stage = Stage::Read { size };
        log.liveness = liveness;
        log.stat.size = log.stat.size.max(size);
        let first = !std::mem::replace(&mut log.loaded, true);
        let again = std::mem::take(&mut log.again);
        let keys = log.keys.clone();
        let askers = std::mem::take(&mut log.askers);
        if first {
            self.backfill.done(&self.clock);
        }
        for key in &keys {
            self.tell_log_state(key, self.state_after(key, liveness));
        }
        let strangers: Vec<SessionKey> = askers
            .into_iter()
            .filter(|asker| !keys.contains(asker))
            .collect();
        for key in &strangers {
            self.tell_log_state(key, LogState::Absent);
        }
        if again {
            self.read_on(path);
        }
    }

    fn state_after(&self, key: &SessionKey, liveness: Liveness) -> LogState {
        let over = matches!(liveness, Liveness::Ended | Liveness::EndedWithoutRecord);
        if over && !self.producers.has(key) {
            LogState::Ended
        } else {
            LogState::ReadToEnd
        }
    }

    /// A log cannot be read: nobody waits for it any more.
    pub(super) fn fail_reading(&mut self, path: &LogPath, error: &std::io::Error) {
        let name = self.logs.key_of_name(path);
        let Some(log) = self.logs.get_mut(path) else {
            return;
        };
        log.stage = Stage::Unreadable;
        let first = !std::mem::replace(&mut log.loaded, true);
        let mut keys = std::mem::take(&mut log.askers);
        keys.extend(log.keys.iter().cloned());
        if first {
            self.backfill.done(&self.clock);
        }
        for key in keys {
            self.tell_log_state(&key, LogState::Absent);
        }
        self.out.push(FeedEvent::Notice {
            host: self.host.clone(),
            severity: Severity::Warning,
            text: format!("cannot read the log of {}: {error}", name.id),
        });
    }
}
