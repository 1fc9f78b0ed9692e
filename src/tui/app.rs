//! The state of a viewer: the analyzer, the stack of screens, what is remembered of each session
//! (style.md 4.6).

use std::{
    collections::{HashMap, VecDeque},
    path::PathBuf,
};

use super::{
    bodies::Bodies,
    copying::Awaited,
    dialog::{Dialog, Question},
    event::{Effect, Event},
    ink::Ink,
    keys::Place,
    layout::{LEAST, Tier, drawn_size},
    messages::Messages,
    older::{self, Older},
    options::{FirstScreen, ViewerOptions},
    outside::Outside,
    pausing::{Paused, is_of_sessions},
    prompt::{History, Prompt},
    readback::Readback,
    screens::{hosts, inspector, panel, sessions, stream},
    settings::Settings,
    theme::Role,
    wanted::Order,
};
use crate::{
    base::{Shown, Timestamp},
    feed::{BodyOutcome, FeedEvent, FeedRequest, Severity},
    findings::Analyzer,
    record::{Seq, SessionKey},
    session::{Fact, Limits, Session},
};

/// Nanoseconds after which a session that is not there is missed, when nothing tells how far reading is.
const ABSENT_AFTER: i64 = 2_000_000_000;

/// One layer of the stack; the table of sessions is always the lowest.
#[derive(Debug)]
pub(super) enum Screen {
    /// The frames of a session.
    Stream(SessionKey),
    /// One frame.
    Inspector(Box<inspector::State>),
    /// The hosts.
    Hosts,
    /// The help over a place.
    Help(Place, panel::State),
    /// The messages.
    Messages(panel::State),
}

/// The whole viewer.
pub(super) struct App {
    pub(super) analyzer: Analyzer,
    pub(super) outside: Outside,
    pub(super) settings: Settings,
    pub(super) size: (u16, u16),
    pub(super) now: Timestamp,
    pub(super) stack: Vec<Screen>,
    pub(super) sessions: sessions::State,
    pub(super) streams: HashMap<SessionKey, stream::State>,
    pub(super) hosts: hosts::State,
    pub(super) prompt: Option<Prompt>,
    /// What stands at the right of the prompt, and whether it is an error.
    pub(super) prompt_note: Option<(bool, String)>,
    pub(super) dialog: Option<Dialog>,
    questions: VecDeque<Question>,
    pub(super) messages: Messages,
    pub(super) histories: [History; 3],
    pub(super) paused: Option<Paused>,
    pub(super) effects: Vec<Effect>,
    pub(super) readback: Readback,
    /// Released bodies of rows on screen.
    pub(super) bodies: Bodies,
    /// What is copied once its body was read.
    pub(super) copy_awaits: Option<Awaited>,
    /// Older frames of the session on screen, read back.
    pub(super) older: Option<Older>,
    pub(super) quit_armed: bool,
    pub(super) is_file: bool,
    pub(super) first: Option<FirstScreen>,
    pub(super) started: Timestamp,
    /// It was told that the session to begin with is not there.
    told_absent: bool,
    pub(super) settled: Timestamp,
    /// Sessions directory, base directory and socket, ready to be shown.
    pub(super) sessions_dir: Option<Shown>,
    pub(super) base_dir: Option<Shown>,
    pub(super) socket: Option<Shown>,
    pub(super) home: Option<PathBuf>,
    pub(super) program: Option<PathBuf>,
    pub(super) elsewhere: Option<(PathBuf, usize)>,
    /// `MCPSNOOP_HOME`, when it is set.
    pub(super) moved_home: Option<String>,
}

impl App {
    /// A viewer before anything has happened.
    pub(super) fn new(options: ViewerOptions, settings: Settings, size: (u16, u16)) -> Self {
        let limits = if options.is_file {
            Limits::FILE
        } else {
            Limits::LIVE
        };
        let now = options.clock.now();
        let home = options.env.home();
        let mut app = Self {
            analyzer: Analyzer::new(limits),
            outside: Outside::default(),
            settings,
            size: drawn_size(size),
            now,
            stack: Vec::new(),
            sessions: sessions::State::default(),
            streams: HashMap::new(),
            hosts: hosts::State::default(),
            prompt: None,
            prompt_note: None,
            dialog: None,
            questions: VecDeque::new(),
            messages: Messages::default(),
            histories: [History::default(), History::default(), History::default()],
            paused: None,
            effects: Vec::new(),
            readback: Readback::default(),
            bodies: Bodies::default(),
            copy_awaits: None,
            older: None,
            quit_armed: false,
            is_file: options.is_file,
            first: Some(options.first).filter(|first| *first != FirstScreen::Sessions),
            started: now,
            told_absent: false,
            settled: now,
            sessions_dir: None,
            base_dir: None,
            socket: None,
            home,
            program: options.program,
            elsewhere: options.elsewhere,
            moved_home: options.env.get("MCPSNOOP_HOME").map(str::to_owned),
        };
        if let Some(state) = &options.state {
            app.sessions_dir = Some(app.shown_path(&state.sessions()));
            app.base_dir = Some(app.shown_path(state.base()));
            app.socket = Some(app.shown_path(&state.socket()));
        }
        for warning in app.settings.warnings.clone() {
            app.toast(Severity::Warning, Shown::row(warning.as_bytes()));
        }
        app
    }

    /// Takes what happened; answers what must be done outside.
    pub(super) fn update(&mut self, now: Timestamp, event: Event) -> Vec<Effect> {
        self.now = now;
        match event {
            Event::Key(key) => {
                if let Some(key) = super::keys::spell(&key) {
                    let before = (self.place(), self.stack.len());
                    self.key(&key);
                    if before != (self.place(), self.stack.len()) {
                        self.messages.leave();
                    }
                }
            }
            Event::Paste(text) => self.paste(&text),
            Event::Resize(width, height) => {
                self.size = drawn_size((width, height));
                self.effects.push(Effect::Repaint);
            }
            Event::Feed(event) => self.feed(*event),
            Event::Tick => self.tick(),
            Event::Laid(laid) => {
                if let Some(state) = self.inspector_mut() {
                    state.laid(&laid);
                }
            }
            Event::Done(severity, text) => self.toast(severity, text),
        }
        self.forget_older();
        self.effects()
    }

    /// What must be done outside by now.
    pub(super) fn effects(&mut self) -> Vec<Effect> {
        self.ask_bodies();
        let now = self.now;
        let jobs: Vec<_> = self.inspector_mut().map_or_else(Vec::new, |state| {
            let pending = state.pending.iter_mut();
            pending.filter_map(|pending| pending.begin(now)).collect()
        });
        self.effects.extend(jobs.into_iter().map(Effect::LayOut));
        std::mem::take(&mut self.effects)
    }

    /// The frame that is inspected, other layers above it or not.
    fn inspector_mut(&mut self) -> Option<&mut inspector::State> {
        self.stack.iter_mut().rev().find_map(|screen| match screen {
            Screen::Inspector(state) => Some(&mut **state),
            _ => None,
        })
    }

    fn tick(&mut self) {
        self.messages.expire(self.now);
        if self.paused.is_none() && self.now.nanos_since(self.settled) >= 1_000_000_000 {
            self.settled = self.now;
            if self.analyzer.settle().contains(&Fact::Refolded) {
                for session in self.analyzer.model().sessions() {
                    let key = session.key();
                    let older = self.older.as_mut();
                    if let Some(state) = older::newest(older, &mut self.streams, key) {
                        state.picks.restart(session);
                    }
                }
            }
            self.sort_again();
        }
        self.tell_absent();
        self.ask_bodies_again();
        self.ask_next();
    }

    /// Says once that the session to begin with is not in the log.
    fn tell_absent(&mut self) {
        let Some(FirstScreen::Stream(Some(id))) = &self.first else {
            return;
        };
        let waited = self.now.nanos_since(self.started) >= ABSENT_AFTER;
        let ended = self.outside.has_ended();
        if self.told_absent || self.outside.is_reading() || !(waited || ended) {
            return;
        }
        let words = Shown::literal("no session ")
            .and(&Shown::name(id.as_bytes()))
            .and(&Shown::literal(" in this log"));
        self.told_absent = true;
        self.toast(Severity::Warning, words);
    }

    /// Sorts lists again in which something changed (N6).
    fn sort_again(&mut self) {
        if let Some(key) = self.stream_key().cloned()
            && let (Some(state), Some(session)) = (
                self.streams.get_mut(&key),
                older::shown(self.older.as_ref(), &self.analyzer, &key),
            )
            && state.picks.is_stale()
        {
            let wanted = state.picks.wanted().clone();
            state.picks.want(wanted, session);
        }
    }

    fn feed(&mut self, event: FeedEvent) {
        match &event {
            FeedEvent::Body { key, seq, outcome } => return self.body_arrived(key, seq.0, outcome),
            FeedEvent::Recalled { .. } => return self.take_recalled(event),
            FeedEvent::Prompt {
                host,
                id,
                text,
                echo,
            } => {
                self.questions.push_back(Question::Login {
                    host: host.clone(),
                    id: *id,
                    text: Shown::row(text.as_bytes()),
                    echo: *echo,
                    line: super::prompt::LineEditor::default(),
                });
                return self.ask_next();
            }
            FeedEvent::Notice {
                host,
                severity,
                text,
            } => {
                let line = Shown::name(host.0.as_bytes())
                    .and(&Shown::literal(": "))
                    .and(&Shown::row(text.as_bytes()));
                self.messages.note(self.now, *severity, line);
                return;
            }
            _ => {}
        }
        let told = if self.paused.is_none() || !is_of_sessions(&event) {
            self.outside.take(&event, self.now)
        } else {
            None
        };
        if let FeedEvent::Host(state) = &event
            && self.outside.is_down(&state.host)
        {
            self.forget_asked(&state.host);
        }
        if let Some((severity, text)) = told
            && !matches!(self.stack.last(), Some(Screen::Hosts))
        {
            self.toast(severity, text);
        }
        match &mut self.paused {
            Some(paused) => paused.hold(event),
            None => self.ingest(&event),
        }
    }

    fn take_recalled(&mut self, event: FeedEvent) {
        if let FeedEvent::Recalled {
            key,
            from,
            frames,
            end,
        } = event
        {
            self.recalled(&key, from, frames, end);
        }
    }

    pub(super) fn ingest(&mut self, event: &FeedEvent) {
        let update = self.analyzer.ingest(event);
        let Some(key) = update.key else { return };
        if let (Some(state), Some(session)) = (
            older::newest(self.older.as_mut(), &mut self.streams, &key),
            self.analyzer.model().session(&key),
        ) {
            state.changed(session, &update.facts);
        }
        if self.first.is_some() && self.analyzer.model().session(&key).is_some() {
            self.enter_first(&key);
        }
    }

    /// `open` and `demo` start in a stream (E3).
    fn enter_first(&mut self, key: &SessionKey) {
        let wanted = match &self.first {
            Some(FirstScreen::Stream(Some(id))) => *id == *key.id,
            Some(FirstScreen::Stream(None)) => true,
            Some(FirstScreen::Sessions) | None => false,
        };
        if wanted {
            self.first = None;
            if self.stack.is_empty() {
                self.open_stream(key.clone());
            }
        }
    }

    fn body_arrived(&mut self, key: &SessionKey, seq: u64, outcome: &BodyOutcome) {
        self.filter_body(key, Seq(seq), outcome);
        self.row_body(key, Seq(seq), outcome);
        self.copy_body(key, Seq(seq), outcome);
        if let Some(state) = self.inspector_mut()
            && state.key == *key
            && state.id.seq.0 == seq
            && state.is_waiting()
        {
            match outcome {
                BodyOutcome::Line(line) => state.arrived(line),
                BodyOutcome::Unavailable(reason) => state.failed(reason),
            }
        }
    }

    /// Opens the next question that a source has, when no dialog is open.
    fn ask_next(&mut self) {
        if self.dialog.is_none()
            && let Some(question) = self.questions.pop_front()
        {
            self.dialog = Some(Dialog::open(question, self.now));
        }
    }

    /// Shows a toast and keeps it in the messages.
    pub(super) fn toast(&mut self, severity: Severity, text: Shown) {
        self.messages.toast(self.now, severity, text);
    }

    /// Shows a toast that the program put together.
    pub(super) fn say(&mut self, severity: Severity, text: impl AsRef<str>) {
        self.toast(severity, Shown::row(text.as_ref().as_bytes()));
    }

    /// One session as it is shown: a page of older frames while one is open.
    pub(super) fn session(&self, key: &SessionKey) -> Option<&Session> {
        older::shown(self.older.as_ref(), &self.analyzer, key)
    }

    /// One session with all its figures and its newest frames.
    pub(super) fn whole(&self, key: &SessionKey) -> Option<&Session> {
        self.analyzer.model().session(key)
    }

    /// All sessions.
    pub(super) fn all_sessions(&self) -> Vec<&Session> {
        self.analyzer.model().sessions().collect()
    }

    /// The session that the screen is about: the topmost stream of the stack.
    pub(super) fn stream_key(&self) -> Option<&SessionKey> {
        self.stack.iter().rev().find_map(|screen| match screen {
            Screen::Stream(key) => Some(key),
            _ => None,
        })
    }

    /// Where keys go.
    pub(super) fn place(&self) -> Place {
        match self.stack.last() {
            None => Place::Sessions,
            Some(Screen::Stream(_)) => Place::Stream,
            Some(Screen::Inspector(_)) => Place::Inspector,
            Some(Screen::Hosts) => Place::Hosts,
            Some(Screen::Help(..)) => Place::Help,
            Some(Screen::Messages(_)) => Place::Messages,
        }
    }

    /// Opens the stream of a session.
    pub(super) fn open_stream(&mut self, key: SessionKey) {
        self.close_page();
        let recording = self
            .session(&key)
            .is_some_and(|session| sessions::is_recording(session, &self.outside));
        let Some(session) = self.analyzer.model().session(&key) else {
            return;
        };
        self.streams
            .entry(key.clone())
            .or_default()
            .enter(session, recording);
        if self.outside.is_loading(&key) {
            self.effects
                .push(Effect::Ask(FeedRequest::LoadFirst(key.clone())));
        }
        self.stack
            .retain(|screen| !matches!(screen, Screen::Stream(_) | Screen::Inspector(_)));
        self.stack.push(Screen::Stream(key));
    }

    /// True below the smallest size (L3).
    pub(super) const fn is_too_small(&self) -> bool {
        self.size.0 < LEAST.0 || self.size.1 < LEAST.1
    }

    /// Tier of the width.
    pub(super) const fn tier(&self) -> Tier {
        Tier::of(self.size.0)
    }
}

/// `sort err desc`.
pub(super) fn sort_words(name: &str, order: Order) -> Ink {
    let direction = match order {
        Order::Ascending => "asc",
        Order::Descending => "desc",
    };
    Ink::say(Role::Muted, format!("sort {name} {direction}"))
}

/// `n word`; nothing for zero.
pub(super) fn counter(count: u64, word: &'static str, role: Role) -> Option<Ink> {
    let number = format!("{} ", super::numbers::grouped(count));
    (count > 0).then(|| Ink::say(Role::Text, number).and_lit(role, word))
}
