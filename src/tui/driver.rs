//! Owns terminal, ticks and feed; runs the effects that `update` answers.

use std::{
    io,
    sync::{Arc, atomic::Ordering},
    thread::JoinHandle,
    time::{Duration, Instant},
};

use crossterm::event::Event as Input;
use ratatui::{buffer::Buffer, layout::Rect};
use signal_hook::consts::SIGTSTP;

use super::{
    app::App,
    background::Job,
    chrome::view,
    clipboard::{self, Copied},
    event::{Effect, Event},
    inbox::{self, Inbox, Taken},
    layout::drawn_size,
    options::ViewerOptions,
    settings::{Clipboard, Settings},
    signals::Signals,
    terminal::{Screen, Watch, has_terminal},
};
use crate::{
    base::Clock,
    feed::{FeedReceiver, FeedRequest},
};

/// Longest stretch of taking feed events between two looks at the keys.
const INGEST: Duration = Duration::from_millis(8);
/// Shortest time between two drawings after keys, and after frames here and over SSH (4.1).
const FRAME: Duration = Duration::from_millis(16);
const COALESCE: Duration = Duration::from_millis(100);
const COALESCE_SSH: Duration = Duration::from_millis(200);
/// The same while the terminal says that it has lost the focus; keys still show at once.
const UNSEEN: Duration = Duration::from_secs(1);
/// Time between two ticks.
const TICK: Duration = Duration::from_millis(250);
/// Longest wait for helper threads at the end.
const PARTING: Duration = Duration::from_millis(300);

/// Why the viewer cannot run.
#[derive(Debug, thiserror::Error)]
pub enum ViewerError {
    /// Standard output is no terminal, or there is none to read keys from, or `TERM=dumb`.
    #[error("no terminal for the viewer")]
    NoTerminal,
    /// The terminal failed.
    #[error("the terminal failed")]
    Terminal(#[source] io::Error),
}

/// How the viewer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The user left, or the terminal went away.
    Quit,
    /// By the signal with this number: SIGTERM, SIGHUP or SIGINT.
    Signal(i32),
}

/// Runs the viewer on the calling thread until the user quits or a signal says so. `ask` hands
/// requests to the sources; it never blocks.
///
/// # Errors
/// No terminal, or a terminal that failed.
pub fn run_viewer(
    options: ViewerOptions,
    feed: FeedReceiver,
    ask: &mut dyn FnMut(FeedRequest),
) -> Result<Ended, ViewerError> {
    if !has_terminal() || options.env.get("TERM") == Some("dumb") {
        return Err(ViewerError::NoTerminal);
    }
    let signals = Signals::install().map_err(ViewerError::Terminal)?;
    let settings = Settings::read(&options.env, options.ascii);
    let clock = options.clock;
    let size = crossterm::terminal::size().map_err(ViewerError::Terminal)?;
    let app = App::new(options, settings, size);
    let inbox = Arc::new(Inbox::default());
    let screen = Screen::enter().map_err(ViewerError::Terminal)?;
    let watch = Watch::new(Arc::clone(&signals.gone));
    let helpers = inbox::start(&inbox, feed, watch).map_err(ViewerError::Terminal)?;
    let mut driver = Driver {
        app,
        screen,
        inbox,
        signals,
        clock,
        ask,
        copying: None,
        drawn: None,
        is_dirty: true,
        has_focus: true,
        has_news: false,
        ticked: Instant::now(),
    };
    let result = driver.run();
    driver.inbox.stop();
    drop(driver);
    part(helpers);
    result
}

/// Waits a little for the helper threads; one that a dead terminal holds is left behind.
fn part(helpers: [JoinHandle<()>; 2]) {
    let until = Instant::now() + PARTING;
    for helper in helpers {
        while !helper.is_finished() && Instant::now() < until {
            std::thread::park_timeout(Duration::from_millis(5));
        }
        if helper.is_finished() {
            // A helper that panicked was told by the panic hook.
            drop(helper.join());
        }
    }
}

/// Whether the loop goes on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Flow {
    On,
    End,
}

struct Driver<'a> {
    app: App,
    screen: Screen,
    inbox: Arc<Inbox>,
    signals: Signals,
    clock: Clock,
    ask: &'a mut dyn FnMut(FeedRequest),
    copying: Option<JoinHandle<()>>,
    drawn: Option<Instant>,
    /// A key, a resize or a toast changed the screen.
    is_dirty: bool,
    has_focus: bool,
    /// Frames or time changed the screen.
    has_news: bool,
    ticked: Instant,
}

impl Driver<'_> {
    fn run(&mut self) -> Result<Ended, ViewerError> {
        loop {
            if let Some(signal) = self.signals.ended_by() {
                return Ok(Ended::Signal(signal));
            }
            if self.signals.stop.swap(false, Ordering::SeqCst) {
                self.suspend()?;
            }
            if self.signals.continued.swap(false, Ordering::SeqCst) {
                self.app_resized();
            }
            let taken = self.inbox.take(self.patience(), self.app.wants_feed());
            if taken.input_failed {
                // A terminal that goes away takes the input and sends SIGHUP.
                return Ok(self.signals.ended_by().map_or(Ended::Quit, Ended::Signal));
            }
            if self.turn(taken)? == Flow::End {
                return Ok(Ended::Quit);
            }
            self.draw_if_due()?;
        }
    }

    /// How long nothing need be done.
    fn patience(&self) -> Duration {
        if self.app.has_work() {
            return Duration::ZERO;
        }
        let tick = TICK.saturating_sub(self.ticked.elapsed());
        if self.is_dirty || self.has_news {
            tick.min(self.until_draw())
        } else {
            tick
        }
    }

    fn until_draw(&self) -> Duration {
        let pause = match (self.is_dirty, self.has_focus, self.app.settings.over_ssh) {
            (true, ..) => FRAME,
            (false, false, _) => UNSEEN,
            (false, true, false) => COALESCE,
            (false, true, true) => COALESCE_SSH,
        };
        self.drawn.map_or(Duration::ZERO, |drawn| {
            pause.saturating_sub(drawn.elapsed())
        })
    }

    fn turn(&mut self, taken: Taken) -> Result<Flow, ViewerError> {
        for input in taken.keys {
            let event = match input {
                Input::Key(key) => Event::Key(key),
                Input::Paste(text) => Event::Paste(text),
                Input::Resize(width, height) => Event::Resize(width, height),
                Input::FocusGained | Input::FocusLost => {
                    self.has_focus = input == Input::FocusGained;
                    continue;
                }
                Input::Mouse(_) => continue,
            };
            self.is_dirty = true;
            // The next key may depend on what this one selected.
            self.app.prepare();
            if self.happen(event)? == Flow::End {
                return Ok(Flow::End);
            }
        }
        for text in taken.uncopied {
            self.is_dirty = true;
            self.copy_by_terminal(&text)?;
        }
        for (severity, text) in taken.done {
            self.is_dirty = true;
            self.happen(Event::Done(severity, text))?;
        }
        for laid in taken.laid {
            self.is_dirty = true;
            self.happen(Event::Laid(Box::new(laid)))?;
        }
        for event in taken.batch {
            self.has_news = true;
            self.happen(Event::Feed(Box::new(event)))?;
        }
        if self.ticked.elapsed() >= TICK {
            self.ticked = Instant::now();
            self.has_news = true;
            self.happen(Event::Tick)?;
        }
        let began = Instant::now();
        while self.app.has_work() && began.elapsed() < INGEST {
            self.app.work();
            self.has_news = true;
        }
        let effects = self.app.effects();
        self.effects(effects)
    }

    fn happen(&mut self, event: Event) -> Result<Flow, ViewerError> {
        let effects = self.app.update(self.clock.now(), event);
        self.effects(effects)
    }

    fn effects(&mut self, effects: Vec<Effect>) -> Result<Flow, ViewerError> {
        for effect in effects {
            if self.effect(effect)? == Flow::End {
                return Ok(Flow::End);
            }
        }
        Ok(Flow::On)
    }

    fn effect(&mut self, effect: Effect) -> Result<Flow, ViewerError> {
        match effect {
            Effect::Quit => return Ok(Flow::End),
            Effect::Ask(request) => (self.ask)(request),
            Effect::Repaint => self.screen.forget(),
            Effect::Suspend => self.suspend()?,
            Effect::LayOut(job) => self.lay_out(job),
            Effect::Copy { text, what } => self.copy(text, what)?,
            Effect::Write { path, bytes } => {
                let inbox = Arc::clone(&self.inbox);
                self.off_the_loop(move || {
                    let (severity, text) = clipboard::write_new(&path, &bytes);
                    inbox.done(severity, text);
                });
            }
        }
        Ok(Flow::On)
    }

    /// Lays a body out beside the loop; one that nobody waits for any more ends by itself.
    fn lay_out(&mut self, job: Job) {
        let inbox = Arc::clone(&self.inbox);
        let thread = std::thread::Builder::new().name("layout".into());
        if let Err(error) = thread.spawn(move || inbox.laid(job.run())) {
            self.app.say(
                crate::feed::Severity::Error,
                format!("cannot lay this body out: {error}"),
            );
        }
    }

    /// Runs something that may block on a thread of its own, one at a time (PF11).
    fn off_the_loop(&mut self, run: impl FnOnce() + Send + 'static) {
        if self
            .copying
            .as_ref()
            .is_some_and(|copying| !copying.is_finished())
        {
            self.app.say(
                crate::feed::Severity::Warning,
                "the last copy is still being made",
            );
            return;
        }
        match std::thread::Builder::new().name("copy".into()).spawn(run) {
            Ok(handle) => self.copying = Some(handle),
            Err(error) => self.app.say(
                crate::feed::Severity::Error,
                format!("cannot copy: {error}"),
            ),
        }
    }

    fn copy(&mut self, text: String, what: &'static str) -> Result<(), ViewerError> {
        let channel = self.app.settings.clipboard;
        if channel == Clipboard::Osc52 {
            return self.copy_by_terminal(&text);
        }
        let inbox = Arc::clone(&self.inbox);
        self.off_the_loop(move || match clipboard::copy(channel, &text, what) {
            Copied::Told(severity, words) => inbox.done(severity, words),
            Copied::ByTerminal => inbox.not_copied(text),
        });
        Ok(())
    }

    /// Copies by OSC 52: asked for, or because no program could (A2).
    fn copy_by_terminal(&mut self, text: &str) -> Result<(), ViewerError> {
        let (sequence, severity, words) = clipboard::osc52(text);
        if let Some(sequence) = sequence {
            self.screen
                .write(&sequence)
                .map_err(ViewerError::Terminal)?;
        }
        self.app.say(severity, words);
        Ok(())
    }

    fn draw_if_due(&mut self) -> Result<(), ViewerError> {
        if !(self.is_dirty || self.has_news) || !self.until_draw().is_zero() {
            return Ok(());
        }
        self.app.prepare();
        // Rows that came on screen may need their bodies.
        let effects = self.app.effects();
        self.effects(effects)?;
        let (width, height) = self.app.size;
        let mut buffer = Buffer::empty(Rect::new(0, 0, width, height));
        view(&self.app, &mut buffer);
        self.screen.draw(buffer).map_err(ViewerError::Terminal)?;
        (self.is_dirty, self.has_news) = (false, false);
        self.drawn = Some(Instant::now());
        Ok(())
    }

    /// Gives the terminal back, stops, and takes it again when continued (TL1).
    fn suspend(&mut self) -> Result<(), ViewerError> {
        self.inbox.still.store(true, Ordering::SeqCst);
        self.screen.release();
        let stopped = signal_hook::low_level::emulate_default_handler(SIGTSTP);
        self.inbox.still.store(false, Ordering::SeqCst);
        self.signals.stop.store(false, Ordering::SeqCst);
        self.screen.resume().map_err(ViewerError::Terminal)?;
        self.app_resized();
        stopped.map_err(ViewerError::Terminal)
    }

    fn app_resized(&mut self) {
        if let Ok(size) = crossterm::terminal::size() {
            self.app.size = drawn_size(size);
        }
        self.screen.forget();
        self.is_dirty = true;
    }
}
