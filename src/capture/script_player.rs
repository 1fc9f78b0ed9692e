//! Plays a scripted session through the ordinary recorder, log and socket sinks, without a child
//! (capture.md 10).

use std::{
    io,
    sync::{Arc, OnceLock},
    thread,
    time::{Duration, Instant},
};

use bytes::Bytes;

use super::{
    handoff::{HandOff, Source, Tap},
    live::{LiveQueue, send_live},
    log_file::Target,
    log_queue::LogQueue,
    notices::Notices,
    recorder::{Ending, Identity, Recorder, new_session_id, observe},
    threads::spawn,
};
use crate::{
    base::Clock,
    record::{Label, StateDir},
};

/// One line a frame: pause before it in milliseconds, who says it (`>` client, `<` server, `!`
/// standard error), and the line itself.
const SCRIPT: &str = include_str!("demo.script");
/// The script is short: it never comes near this.
const BUDGET: usize = 16 << 20;
/// How long the first third may take to reach the disk.
const PATIENCE: Duration = Duration::from_secs(5);
/// How often a pause looks whether to stop.
const LOOK: Duration = Duration::from_millis(20);

/// The demo's session on its way into a state directory. Dropping it ends the session.
#[derive(Debug)]
pub struct ScriptPlayer {
    steps: Vec<Step>,
    played: usize,
    taps: [Tap; 3],
    handoff: Arc<HandOff>,
    log: Arc<LogQueue>,
    live: Arc<LiveQueue>,
    ending: Arc<OnceLock<Ending>>,
    recorder: Option<thread::JoinHandle<u64>>,
}

/// One frame of the script.
#[derive(Debug)]
struct Step {
    pause: Duration,
    source: Source,
    line: Bytes,
}

impl ScriptPlayer {
    /// Opens log and socket sinks in `state`; nothing but the start record is played yet.
    ///
    /// # Errors
    /// The system's reason.
    pub fn new(state: &StateDir, clock: Clock) -> io::Result<Self> {
        state.create()?;
        let label = Label::derived(&["demo".into()]);
        let session_id =
            new_session_id(&label).ok_or_else(|| io::Error::other("no random numbers"))?;
        let handoff = HandOff::new(BUDGET);
        let log = LogQueue::new(Arc::clone(&handoff));
        let live = Arc::new(LiveQueue::default());
        let ending = Arc::default();
        let recorder = Recorder {
            handoff: Arc::clone(&handoff),
            target: Some(Target::State(state.clone())),
            log: Arc::clone(&log),
            live: Some(Arc::clone(&live)),
            notices: Notices::new(true)?,
            identity: Identity {
                label,
                session_id,
                command: vec!["field-notes".into(), "--demo".into()],
                cwd: None,
                clock,
                started: Instant::now(),
            },
            ending: Arc::clone(&ending),
        };
        let recorder = thread::Builder::new()
            .name("recorder".to_owned())
            .spawn(move || observe(recorder))?;
        let (sending, socket) = (Arc::clone(&live), state.socket());
        spawn("live", move || send_live(&sending, &socket))?;
        let tap = |source| Tap::new(Arc::clone(&handoff), source);
        Ok(Self {
            steps: steps(SCRIPT),
            played: 0,
            taps: [Source::Client, Source::Server, Source::Stderr].map(tap),
            handoff,
            log,
            live,
            ending,
            recorder: Some(recorder),
        })
    }

    /// Frames that the whole script has, the start record included. The end record, which follows
    /// when the player is dropped, is not.
    pub fn frames(&self) -> u64 {
        self.steps.len() as u64 + 1
    }

    /// Plays the first third without pauses and waits until it is on disk.
    pub fn play_first_third(&mut self) {
        while self.played < self.steps.len() / 3 {
            self.play_next();
        }
        self.log.wait_for_frames(self.played as u64 + 1, PATIENCE);
    }

    /// Plays the rest with pauses scaled by `speed` (0: none) until done or `stop` says so; the
    /// session then stays open until the player is dropped.
    pub fn play_rest(&mut self, speed: f64, stop: &dyn Fn() -> bool) {
        while let Some(step) = self.steps.get(self.played) {
            if stop() || !paused(scaled(step.pause, speed), stop) {
                return;
            }
            self.play_next();
        }
    }

    fn play_next(&mut self) {
        let Some(step) = self.steps.get(self.played) else {
            return;
        };
        let [client, server, stderr] = &mut self.taps;
        let tap = match step.source {
            Source::Client => client,
            Source::Server => server,
            Source::Stderr => stderr,
        };
        tap.hand_over(Instant::now(), &step.line);
        tap.wake();
        self.played += 1;
    }
}

/// Ends the session as a run ends: backlog, end record, what a hub still takes.
impl Drop for ScriptPlayer {
    fn drop(&mut self) {
        let ending = Ending {
            exit_code: Some(0),
            signal: None,
            closed_by: "client",
        };
        drop(self.ending.set(ending));
        self.log.finish();
        self.handoff.finish();
        if let Some(recorder) = self.recorder.take() {
            drop(recorder.join());
        }
        self.live.drain();
    }
}

/// A pause of the script; a speed that is no positive number means none.
fn scaled(pause: Duration, speed: f64) -> Duration {
    if speed > 0.0 && speed.is_finite() {
        Duration::try_from_secs_f64(pause.as_secs_f64() / speed).unwrap_or(Duration::MAX)
    } else {
        Duration::ZERO
    }
}

/// Waits; false when `stop` said so.
fn paused(pause: Duration, stop: &dyn Fn() -> bool) -> bool {
    let begun = Instant::now();
    loop {
        let left = pause.saturating_sub(begun.elapsed());
        if left.is_zero() {
            return true;
        }
        if stop() {
            return false;
        }
        thread::sleep(left.min(LOOK));
    }
}

/// Reads the script; a line of another form is left out, which the test would show.
fn steps(script: &str) -> Vec<Step> {
    script.lines().filter_map(step).collect()
}

fn step(line: &str) -> Option<Step> {
    let (pause, rest) = line.split_once(' ')?;
    let (who, words) = rest.split_once(' ')?;
    let source = match who {
        ">" => Source::Client,
        "<" => Source::Server,
        "!" => Source::Stderr,
        _ => return None,
    };
    Some(Step {
        pause: Duration::from_millis(pause.parse().ok()?),
        source,
        line: Bytes::from(format!("{words}\n")),
    })
}

#[cfg(test)]
mod tests {
    use std::{
        collections::HashMap,
        io::{BufRead as _, BufReader},
        os::unix::net::UnixListener,
    };

    use serde_json::Value;

    use super::*;

    /// Messages of the script with their source; what is no JSON is `null`.
    fn messages() -> Vec<(Source, Value)> {
        let each = steps(SCRIPT).into_iter().map(|step| {
            let value = serde_json::from_slice(&step.line).unwrap_or(Value::Null);
            (step.source, value)
        });
        each.collect()
    }

    fn number(value: &Value) -> Option<u64> {
        value["id"].as_u64()
    }

    #[test]
    fn the_script_is_read_whole_and_lasts_10_to_15_seconds() {
        let steps = steps(SCRIPT);
        assert_eq!(steps.len(), SCRIPT.lines().count());
        assert!(
            steps
                .iter()
                .all(|step| (300..=600).contains(&step.pause.as_millis()))
        );
        let total: Duration = steps.iter().map(|step| step.pause).sum();
        assert!((10..=15).contains(&total.as_secs()), "{total:?}");
    }

    #[test]
    fn the_script_shows_what_the_page_asks_for() {
        let messages = messages();
        let of = |wanted: Source| messages.iter().filter(move |(source, _)| *source == wanted);
        let requests: HashMap<u64, &Value> = of(Source::Client)
            .filter_map(|(_, value)| Some((number(value)?, value)))
            .collect();
        let results: HashMap<u64, &Value> = of(Source::Server)
            .filter_map(|(_, value)| Some((number(value)?, &value["result"])))
            .collect();
        assert_eq!(messages[0].0, Source::Stderr);
        assert_eq!(
            of(Source::Server)
                .filter(|(_, value)| value.is_null())
                .count(),
            1
        );
        let progress = |value: &Value| value["method"] == "notifications/progress";
        assert_eq!(
            of(Source::Server)
                .filter(|(_, value)| progress(value))
                .count(),
            3
        );
        let open: Vec<_> = requests
            .keys()
            .filter(|id| !results.contains_key(id))
            .collect();
        let cancelled = of(Source::Client)
            .find_map(|(_, value)| value["params"]["requestId"].as_u64())
            .unwrap();
        assert!(open.len() == 2 && open.contains(&&cancelled), "{open:?}");
        assert_eq!(
            results
                .values()
                .filter(|result| result["isError"] == true)
                .count(),
            1
        );
        let longest = |result: &&Value| -> usize {
            let text = result["content"][0]["text"].as_str().unwrap_or_default();
            text.split_whitespace().map(str::len).max().unwrap_or(0)
        };
        assert!(results.values().map(longest).max() > Some(1_000));
        let (asked, interim) = results
            .iter()
            .find(|(_, result)| result["resultType"] == "input_required")
            .unwrap();
        let retry = requests
            .values()
            .find(|request| request["params"]["requestState"] == interim["requestState"])
            .unwrap();
        let keys = |value: &Value| {
            value
                .as_object()
                .unwrap()
                .keys()
                .cloned()
                .collect::<Vec<_>>()
        };
        assert_eq!(
            keys(&interim["inputRequests"]),
            keys(&retry["params"]["inputResponses"])
        );
        assert_eq!(requests[asked]["params"]["name"], retry["params"]["name"]);
        assert_eq!(
            requests[asked]["params"]["arguments"],
            retry["params"]["arguments"]
        );
    }

    #[test]
    fn every_message_has_what_the_revision_demands() {
        for (source, value) in messages() {
            let Some(_) = number(&value) else {
                continue;
            };
            let meta = &value["params"]["_meta"];
            let name = |key: &str| format!("io.modelcontextprotocol/{key}");
            match source {
                Source::Client => {
                    assert_eq!(meta[name("protocolVersion")], "2026-07-28");
                    assert!(meta[name("clientInfo")]["version"].is_string());
                    assert!(meta[name("clientCapabilities")]["elicitation"].is_object());
                }
                Source::Server => assert!(value["result"]["resultType"].is_string()),
                Source::Stderr => panic!("standard error has no messages"),
            }
        }
    }

    #[test]
    fn what_is_played_reaches_the_log_and_the_hub_once() {
        let dir = tempfile::tempdir().unwrap();
        let state = StateDir::at(dir.path());
        let mut player = ScriptPlayer::new(&state, Clock::start()).unwrap();
        player.play_first_third();
        let log = std::fs::read_dir(state.sessions()).unwrap().next().unwrap();
        let log = log.unwrap().path();
        let lines = || std::fs::read_to_string(&log).unwrap();
        assert_eq!(lines().lines().count(), 9);
        let hub = UnixListener::bind(state.socket()).unwrap();
        let (peer, _) = hub.accept().unwrap();
        let reading = thread::spawn(move || {
            BufReader::new(peer)
                .lines()
                .map(Result::unwrap)
                .collect::<Vec<_>>()
        });
        let frames = player.frames();
        player.play_rest(0.0, &|| false);
        drop(player);
        let lines = lines();
        assert_eq!(lines.lines().count() as u64, frames + 1);
        assert!(lines.lines().last().unwrap().contains("\"event\":\"end\""));
        let seen = reading.join().unwrap();
        assert!(
            seen.iter().map(String::as_str).eq(lines.lines()),
            "{seen:?}"
        );
    }

    #[test]
    fn a_stop_ends_the_play_within_a_pause() {
        let dir = tempfile::tempdir().unwrap();
        let mut player = ScriptPlayer::new(&StateDir::at(dir.path()), Clock::start()).unwrap();
        let begun = Instant::now();
        player.play_rest(0.001, &|| begun.elapsed() > Duration::from_millis(50));
        assert_eq!(player.played, 0);
    }
}
