//! A viewer without a terminal: events in, lines of text out.

use bytes::Bytes;
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::{buffer::Buffer, layout::Rect};

use crate::{
    base::{ByteCount, Clock, Env, Timestamp},
    feed::{FeedEvent, FeedFrame, HostState, LinkState, Mode, Origin, SessionNews},
    record::{Decoder, HostName, Liveness, Place, SessionKey, StateDir},
    tui::{
        app::App,
        chrome::view,
        event::{Effect, Event},
        options::{FirstScreen, ViewerOptions},
        paint::text_of,
        settings::Settings,
    },
};

/// 2026-09-01 14:07:00 UTC.
pub(super) const NOON: i64 = 1_788_271_620_000_000_000;

/// The present of most tests: 14:07:13.
pub(super) const NOW_MS: i64 = 13_000;

pub(super) fn at(millis: i64) -> Timestamp {
    Timestamp::from_nanos(NOON + millis * 1_000_000)
}

pub(super) fn key_of(host: &str, id: &str) -> SessionKey {
    SessionKey {
        host: HostName(host.into()),
        id: id.into(),
    }
}

/// A recorded session, frame by frame.
pub(super) struct Log {
    pub(super) host: String,
    pub(super) id: String,
    pub(super) label: String,
    next: u64,
    live: bool,
    pub(super) events: Vec<FeedEvent>,
}

impl Log {
    pub(super) fn new(id: &str, label: &str) -> Self {
        Self::on("local", id, label)
    }

    pub(super) fn on(host: &str, id: &str, label: &str) -> Self {
        Self {
            host: host.into(),
            id: id.into(),
            label: label.into(),
            next: 1,
            live: true,
            events: Vec::new(),
        }
    }

    pub(super) fn key(&self) -> SessionKey {
        key_of(&self.host, &self.id)
    }

    /// Frames from here on come out of the log.
    pub(super) fn recorded(mut self) -> Self {
        self.live = false;
        self
    }

    /// Numbers that are skipped.
    pub(super) fn skip(mut self, count: u64) -> Self {
        self.next += count;
        self
    }

    pub(super) fn start(self, command: &[&str], cwd: &str, millis: i64) -> Self {
        let raw = serde_json::json!({
            "format": 7, "pid": 4711, "command": command, "cwd": cwd, "version": "0.1.0",
            "mcpsnoop": "start",
        });
        self.push("meta", &format!("\"raw\":{raw}"), millis)
    }

    pub(super) fn client(self, millis: i64, raw: &str) -> Self {
        self.push("c2s", &format!("\"raw\":{raw}"), millis)
    }

    pub(super) fn server(self, millis: i64, raw: &str) -> Self {
        self.push("s2c", &format!("\"raw\":{raw}"), millis)
    }

    pub(super) fn text(self, direction: &str, millis: i64, text: &str) -> Self {
        let text = serde_json::to_string(text).unwrap();
        self.push(direction, &format!("\"text\":{text}"), millis)
    }

    pub(super) fn push(self, direction: &str, body: &str, millis: i64) -> Self {
        self.line(
            direction,
            &format!("\"transport\":\"stdio\",{body}"),
            millis,
        )
    }

    /// A frame of the HTTP proxy, with the fields of its line.
    pub(super) fn http(self, direction: &str, millis: i64, body: &str) -> Self {
        self.line(direction, &format!("\"transport\":\"http\",{body}"), millis)
    }

    fn line(mut self, direction: &str, fields: &str, millis: i64) -> Self {
        let line = format!(
            "{{\"session_id\":{},\"server_label\":{},\"seq\":{},\"ts\":\"{}\",\"direction\":\"{direction}\",{fields}}}",
            serde_json::to_string(&self.id).unwrap(),
            serde_json::to_string(&self.label).unwrap(),
            self.next,
            at(millis),
        );
        self.next += 1;
        let line = Decoder::default().decode(Bytes::from(line)).unwrap();
        let place = Place {
            log: std::sync::Arc::new("/state/sessions/x.jsonl".into()),
            offset: self.next * 1_000,
            length: u32::try_from(line.bytes.len()).unwrap(),
        };
        self.events.push(FeedEvent::Frame(Box::new(FeedFrame {
            key: self.key(),
            line,
            place: Some(place),
            origin: if self.live {
                Origin::Socket
            } else {
                Origin::Log
            },
            arrived: self.live.then(|| at(millis)),
        })));
        self
    }

    pub(super) fn news(mut self, liveness: Liveness, loaded: bool) -> Self {
        self.events.push(FeedEvent::Session(SessionNews {
            key: self.key(),
            log: Some(std::sync::Arc::new(
                format!("/state/sessions/{}.jsonl", self.id).into(),
            )),
            size: ByteCount(1_000),
            modified: None,
            loaded,
            liveness,
            damaged: 0,
        }));
        self
    }

    pub(super) fn event(mut self, event: FeedEvent) -> Self {
        self.events.push(event);
        self
    }
}

/// The state of a host.
pub(super) fn host(name: &str, link: LinkState, reason: Option<&str>) -> FeedEvent {
    FeedEvent::Host(HostState {
        host: HostName(name.into()),
        target: if name == "local" {
            String::new()
        } else {
            format!("deploy@{name}.lan:2222")
        },
        link,
        mode: Some(Mode::Socket),
        reason: reason.map(str::to_owned),
        state_dir: Some("/home/deploy/.local/state/mcpsnoop".into()),
        clock_offset_ms: (name != "local").then_some(0),
        round_trip: (name != "local").then(|| std::time::Duration::from_millis(23)),
    })
}

/// The viewer and its clock.
pub(super) struct Rig {
    pub(super) app: App,
    pub(super) now: Timestamp,
    pub(super) effects: Vec<Effect>,
}

impl Rig {
    pub(super) fn new(width: u16, height: u16) -> Self {
        Self::with(width, height, &[], false)
    }

    pub(super) fn with(width: u16, height: u16, env: &[(&str, &str)], is_file: bool) -> Self {
        let base = [
            ("TZ", "UTC"),
            ("MCPSNOOP_GLYPHS", "ascii"),
            ("HOME", "/home/u"),
            ("MCPSNOOP_COLOR", "truecolor"),
        ];
        let env = Env::of(base.iter().chain(env).copied());
        let options = ViewerOptions {
            first: FirstScreen::Sessions,
            is_file,
            state: Some(StateDir::at("/home/u/.local/state/mcpsnoop")),
            elsewhere: None,
            program: Some("/usr/bin/mcpsnoop".into()),
            env: env.clone(),
            ascii: false,
            clock: Clock::start(),
        };
        let settings = Settings::read(&env, false);
        let mut rig = Self {
            app: App::new(options, settings, (width, height)),
            now: at(NOW_MS),
            effects: Vec::new(),
        };
        rig.app.now = rig.now;
        rig.app.settled = rig.now;
        rig
    }

    pub(super) fn happen(&mut self, event: Event) {
        let effects = self.app.update(self.now, event);
        self.effects.extend(effects);
        self.settle();
    }

    /// Does what was put off to the background.
    pub(super) fn background(&mut self) {
        let effects = std::mem::take(&mut self.effects);
        for effect in effects {
            match effect {
                Effect::LayOut(job) => self.happen(Event::Laid(Box::new(job.run()))),
                other => self.effects.push(other),
            }
        }
    }

    /// Does all the work that waits.
    pub(super) fn settle(&mut self) {
        while self.app.work() {}
        self.app.prepare();
    }

    pub(super) fn feed(&mut self, events: impl IntoIterator<Item = FeedEvent>) {
        for event in events {
            self.happen(Event::Feed(Box::new(event)));
        }
    }

    pub(super) fn wait(&mut self, millis: i64) {
        self.now = Timestamp::from_nanos(self.now.as_nanos() + millis * 1_000_000);
        self.happen(Event::Tick);
    }

    /// Presses keys: `j`, `ctrl-l`, `enter`; a word in quotes is typed.
    pub(super) fn keys(&mut self, keys: &str) {
        for key in keys.split(' ').filter(|key| !key.is_empty()) {
            self.press(key);
        }
    }

    pub(super) fn type_text(&mut self, text: &str) {
        for character in text.chars() {
            let code = KeyCode::Char(character);
            self.happen(Event::Key(KeyEvent::new(code, KeyModifiers::NONE)));
        }
    }

    fn press(&mut self, key: &str) {
        let (modifiers, word) = match key.strip_prefix("ctrl-") {
            Some(word) => (KeyModifiers::CONTROL, word),
            None => (KeyModifiers::NONE, key),
        };
        let code = match word {
            "enter" => KeyCode::Enter,
            "esc" => KeyCode::Esc,
            "up" => KeyCode::Up,
            "down" => KeyCode::Down,
            "left" => KeyCode::Left,
            "right" => KeyCode::Right,
            "home" => KeyCode::Home,
            "end" => KeyCode::End,
            "pgup" => KeyCode::PageUp,
            "pgdn" => KeyCode::PageDown,
            "backspace" => KeyCode::Backspace,
            "space" => KeyCode::Char(' '),
            word => KeyCode::Char(word.chars().next().unwrap()),
        };
        self.happen(Event::Key(KeyEvent::new(code, modifiers)));
    }

    pub(super) fn buffer(&mut self) -> Buffer {
        self.settle();
        let (width, height) = self.app.size;
        let mut buffer = Buffer::empty(Rect::new(0, 0, width, height));
        view(&self.app, &mut buffer);
        buffer
    }

    pub(super) fn lines(&mut self) -> Vec<String> {
        text_of(&self.buffer())
    }

    pub(super) fn text(&mut self) -> String {
        self.lines().join("\n")
    }

    /// The line that holds a text.
    #[track_caller]
    pub(super) fn line_with(&mut self, part: &str) -> String {
        let lines = self.lines();
        lines
            .iter()
            .find(|line| line.contains(part))
            .cloned()
            .unwrap_or_else(|| panic!("no {part:?} in\n{}", lines.join("\n")))
    }

    /// The selected line.
    #[track_caller]
    pub(super) fn selected(&mut self) -> String {
        let lines = self.lines();
        lines
            .iter()
            .skip(2)
            .find(|line| line.starts_with('>'))
            .cloned()
            .unwrap_or_else(|| panic!("nothing selected in\n{}", lines.join("\n")))
    }
}
