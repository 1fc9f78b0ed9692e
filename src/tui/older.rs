//! Frames that memory dropped, read back from the log as a page of their own (tui.md T6): while one is
//! open, the stream and the inspector show its frames instead of the newest ones.

use std::{collections::HashMap, path::PathBuf, sync::Arc};

use super::{
    app::{App, Screen},
    event::Effect,
    numbers,
    picks::lower_bound,
    screens::stream,
};
use crate::{
    base::Shown,
    feed::{FeedEvent, FeedFrame, FeedRequest, Recall, Severity},
    findings::Analyzer,
    record::{HostName, Seq, SessionKey},
    session::{Limits, RowId, Session},
};

/// Bodies of a page that are held; the others are read when they are looked at.
const PAGE_BYTES: u64 = 16 << 20;

/// What is selected once a page is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// The first row.
    First,
    /// The last row.
    Last,
    /// This row, or the one behind its place.
    Row(RowId),
    /// The first problem row.
    FirstProblem,
    /// The last problem row.
    LastProblem,
}

/// Older frames of the session on screen.
#[derive(Debug)]
pub(super) struct Older {
    key: SessionKey,
    page: Option<Page>,
    asked: Option<Asked>,
    /// The log holds no frame below this number.
    floor: Seq,
}

/// The frames that are shown, and what is remembered of the newest ones meanwhile.
#[derive(Debug)]
struct Page {
    analyzer: Analyzer,
    newest: stream::State,
}

/// A page that is being read.
#[derive(Debug)]
struct Asked {
    from: Seq,
    to: Seq,
    target: Target,
    analyzer: Analyzer,
}

/// The session as it is shown: the page that is open, else what the model holds.
pub(super) fn shown<'a>(
    older: Option<&'a Older>,
    analyzer: &'a Analyzer,
    key: &SessionKey,
) -> Option<&'a Session> {
    let page = older
        .filter(|older| older.key == *key)
        .and_then(|older| older.page.as_ref());
    page.map_or(analyzer, |page| &page.analyzer)
        .model()
        .session(key)
}

/// What is remembered of the newest frames of a session, shown or not.
pub(super) fn newest<'a>(
    older: Option<&'a mut Older>,
    streams: &'a mut HashMap<SessionKey, stream::State>,
    key: &SessionKey,
) -> Option<&'a mut stream::State> {
    let page = older
        .filter(|older| older.key == *key)
        .and_then(|older| older.page.as_mut());
    match page {
        Some(page) => Some(&mut page.newest),
        None => streams.get_mut(key),
    }
}

impl App {
    /// True while a page of older frames of this session is shown.
    pub(super) fn has_page(&self, key: &SessionKey) -> bool {
        self.older
            .as_ref()
            .is_some_and(|older| older.key == *key && older.page.is_some())
    }

    /// True while the stream that the screen is about shows such a page.
    pub(super) fn is_page(&self) -> bool {
        self.stream_key().is_some_and(|key| self.has_page(key))
    }

    /// First and last number of the page that is shown.
    pub(super) fn page_range(&self, key: &SessionKey) -> Option<(Seq, Seq)> {
        let session = self.session(key).filter(|_| self.has_page(key))?;
        let last = session.row(session.row_count().checked_sub(1)?)?;
        Some((session.row(0)?.id.seq, last.id.seq))
    }

    /// First and last number of the frames that are being read.
    pub(super) fn page_awaited(&self, key: &SessionKey) -> Option<(Seq, Seq)> {
        let older = self.older.as_ref().filter(|older| older.key == *key)?;
        older.asked.as_ref().map(|asked| (asked.from, asked.to))
    }

    /// The log holds no frame of the session below this number, as far as is known.
    pub(super) fn page_floor(&self, key: &SessionKey) -> Seq {
        let older = self.older.as_ref().filter(|older| older.key == *key);
        older.map_or(Seq(1), |older| older.floor)
    }

    /// Asks for frames; what was asked for before is given up.
    pub(super) fn recall(
        &mut self,
        key: SessionKey,
        (from, to): (u64, u64),
        near: u64,
        target: Target,
    ) -> bool {
        let log = match self.log_with(&key) {
            Ok(log) => log,
            Err(why) => {
                self.say(Severity::Warning, why);
                return true;
            }
        };
        if self.page_awaited(&key) == Some((Seq(from), Seq(to))) {
            if let Some(asked) = self.older.as_mut().and_then(|older| older.asked.as_mut()) {
                asked.target = target;
            }
            return true;
        }
        let mut analyzer = Analyzer::new(Limits {
            body_bytes: Some(PAGE_BYTES),
            rows: None,
        });
        // What lies before and behind the page is not known to it: nothing may be concluded.
        analyzer.ingest(&FeedEvent::NotLoaded {
            key: key.clone(),
            pending: true,
        });
        let asked = Asked {
            from: Seq(from),
            to: Seq(to),
            target,
            analyzer,
        };
        match &mut self.older {
            Some(older) if older.key == key => older.asked = Some(asked),
            _ => {
                self.older = Some(Older {
                    key: key.clone(),
                    page: None,
                    asked: Some(asked),
                    floor: Seq(1),
                });
            }
        }
        self.effects.push(Effect::Ask(FeedRequest::Recall(Recall {
            key,
            log,
            from: Seq(from),
            to: Seq(to),
            near: Seq(near),
        })));
        true
    }

    /// The log that holds the older frames of a session.
    #[expect(clippy::rc_buffer, reason = "shared with places and listings")]
    fn log_with(&self, key: &SessionKey) -> Result<Arc<PathBuf>, &'static str> {
        let has_runs = self.all_sessions().iter().any(|other| {
            let rest = other.key().id.strip_prefix(&*key.id);
            other.key().host == key.host && rest.is_some_and(|rest| rest.starts_with('#'))
        });
        if has_runs {
            // Numbers begin anew in each run, so that they cannot be searched for.
            return Err("several runs share this log; mcpsnoop open shows all of it");
        }
        let listed = self.outside.news(key).and_then(|news| news.log.clone());
        let of_row = || Some(self.whole(key)?.row(0)?.place?.log);
        listed
            .or_else(of_row)
            .ok_or("memory dropped the older frames, and no log is known that holds them")
    }

    /// Takes a part of a page.
    pub(super) fn recalled(
        &mut self,
        key: &SessionKey,
        from: Seq,
        frames: Vec<FeedFrame>,
        end: Option<Result<(), String>>,
    ) {
        let Some(older) = self.older.as_mut().filter(|older| older.key == *key) else {
            return;
        };
        let Some(asked) = older.asked.as_mut().filter(|asked| asked.from == from) else {
            return;
        };
        for frame in frames {
            asked.analyzer.ingest(&FeedEvent::Frame(Box::new(frame)));
        }
        let Some(end) = end else { return };
        let Some(asked) = older.asked.take() else {
            return;
        };
        match end {
            Ok(()) => self.open_page(asked),
            Err(reason) => {
                let words = Shown::literal("older frames cannot be read: ");
                self.toast(Severity::Warning, words.and(&Shown::row(reason.as_bytes())));
            }
        }
    }

    /// The link to a host is down: what was asked of it is not answered any more.
    pub(super) fn forget_asked(&mut self, host: &HostName) {
        if let Some(older) = self.older.as_mut().filter(|older| older.key.host == *host) {
            older.asked = None;
        }
    }

    fn open_page(&mut self, asked: Asked) {
        let Some(older) = &mut self.older else { return };
        let rows = asked.analyzer.model().session(&older.key);
        let first = rows.and_then(|session| session.row(0)).map(|row| row.id);
        let (Some(session), Some(first)) = (rows, first) else {
            if asked.from == Seq(1) {
                older.floor = Seq(asked.to.0.saturating_add(1));
            }
            let range = format!(
                "{} to {}",
                numbers::grouped(asked.from.0),
                numbers::grouped(asked.to.0)
            );
            return self.say(
                Severity::Info,
                format!("the log holds none of the frames {range}"),
            );
        };
        if asked.target == Target::First && asked.from == Seq(1) {
            older.floor = first.seq;
        }
        let (index, missed) = asked.target.place(session);
        let mut state = stream::State::default();
        state.enter(session, false);
        state.go(session, index, false);
        let before = self.streams.remove(&older.key).unwrap_or_default();
        state.time = before.time;
        self.streams.insert(older.key.clone(), state);
        let newest = match older.page.take() {
            Some(page) => page.newest,
            None => before,
        };
        older.page = Some(Page {
            analyzer: asked.analyzer,
            newest,
        });
        self.show_selected();
        if let Some(words) = missed {
            self.say(Severity::Info, words);
        }
    }

    /// An open inspector goes with the selection.
    pub(super) fn show_selected(&mut self) {
        if matches!(self.stack.last(), Some(Screen::Inspector(_))) {
            self.inspect();
        }
    }

    /// Back to the newest frames; answers whether a page was open.
    pub(super) fn close_page(&mut self) -> bool {
        let Some(older) = &mut self.older else {
            return false;
        };
        older.asked = None;
        let Some(page) = older.page.take() else {
            return false;
        };
        self.streams.insert(older.key.clone(), page.newest);
        true
    }

    /// A page goes with the stream that it belongs to.
    pub(super) fn forget_older(&mut self) {
        let key = self.stream_key();
        if self
            .older
            .as_ref()
            .is_some_and(|older| Some(&older.key) != key)
        {
            self.close_page();
            self.older = None;
        }
    }
}

impl Target {
    /// The row to select, and what there is to say when it is not the one that was looked for.
    fn place(self, session: &Session) -> (usize, Option<String>) {
        let last = session.row_count().saturating_sub(1);
        let is_problem = |position: &usize| {
            let row = session.row(*position);
            row.is_some_and(|row| session.is_problem(&row))
        };
        let none = |key: &str, at: usize| {
            let seq = |position| session.row(position).map_or(0, |row| row.id.seq.0);
            let range = format!(
                "{} to {}",
                numbers::grouped(seq(0)),
                numbers::grouped(seq(last))
            );
            (
                at,
                Some(format!("no problem row in frames {range}, {key} looks on")),
            )
        };
        match self {
            Self::First => (0, None),
            Self::Last => (last, None),
            Self::Row(id) => {
                let missed = session.position(id).is_none();
                let words = missed.then(|| format!("the log holds no frame {}", id.seq));
                (lower_bound(session, id).min(last), words)
            }
            Self::FirstProblem => (0..=last)
                .find(is_problem)
                .map_or_else(|| none("}", last), |at| (at, None)),
            Self::LastProblem => (0..=last)
                .rev()
                .find(is_problem)
                .map_or_else(|| none("{", 0), |at| (at, None)),
        }
    }
}
